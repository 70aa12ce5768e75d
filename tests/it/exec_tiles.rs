//! Calls that run together, some rows at a time, give what they give one by one, bit for bit; others are left alone.

use airlock::exec::{self, Kernels, Observer, Session, Step, Value};
use airlock::formats::text::{self, ReadOptions};
use airlock::graph::Graph;
use airlock::ops::Registry;

/// Two heads of 700 queries and 760 keys, 9 wide: no multiple of any block.
const ATTENTION: &str = "def forward(self, q: \"f32[1, 2, 700, 9]\", k: \"f32[1, 2, 9, 760]\", v: \"f32[1, 2, 760, 7]\", mask: \"f32[1, 1, 700, 760]\"):
    view: \"f32[2, 700, 9]\" = torch.ops.aten.view.default(q, [2, 700, 9])
    view_1: \"f32[2, 9, 760]\" = torch.ops.aten.view.default(k, [2, 9, 760])
    bmm: \"f32[2, 700, 760]\" = torch.ops.aten.bmm.default(view, view_1)
    view_2: \"f32[1, 2, 700, 760]\" = torch.ops.aten.view.default(bmm, [1, 2, 700, 760])
    mul: \"f32[1, 2, 700, 760]\" = torch.ops.aten.mul.Scalar(view_2, 0.3333)
    masked: \"f32[1, 2, 700, 760]\" = torch.ops.aten.add.Tensor(mul, mask)
    _softmax: \"f32[1, 2, 700, 760]\" = torch.ops.aten._softmax.default(masked, 3, False)
    eq: \"b8[1, 2, 700, 760]\" = torch.ops.aten.eq.Scalar(masked, -inf)
    logical_not: \"b8[1, 2, 700, 760]\" = torch.ops.aten.logical_not.default(eq)
    any_1: \"b8[1, 2, 700, 1]\" = torch.ops.aten.any.dim(logical_not, -1, True)
    logical_not_1: \"b8[1, 2, 700, 1]\" = torch.ops.aten.logical_not.default(any_1)
    full_like: \"f32[1, 2, 700, 760]\" = torch.ops.aten.full_like.default(_softmax, 0, pin_memory = False, memory_format = torch.preserve_format)
    where: \"f32[1, 2, 700, 760]\" = torch.ops.aten.where.self(logical_not_1, full_like, _softmax)
    expand: \"f32[1, 2, 700, 760]\" = torch.ops.aten.expand.default(where, [1, 2, 700, 760])
    view_3: \"f32[2, 700, 760]\" = torch.ops.aten.view.default(expand, [2, 700, 760])
    view_4: \"f32[2, 760, 7]\" = torch.ops.aten.view.default(v, [2, 760, 7])
    bmm_1: \"f32[2, 700, 7]\" = torch.ops.aten.bmm.default(view_3, view_4)
    return (bmm_1,)
";

/// Is told of each call.
struct Sees;

impl Observer for Sees {
    fn computed(&mut self, _: &Step<'_>) {}
}

/// Every seventh query may look at no key, the others at all but every third.
fn some_hidden(i: usize) -> bool {
    (i / 760).is_multiple_of(7) || (i % 760).is_multiple_of(3)
}

/// Returns the bits of each output, and the most bytes that lived at once.
fn run(graph: &Graph, alone: bool, hidden: fn(usize) -> bool) -> (Vec<Vec<u32>>, usize) {
    let (registry, kernels) = (Registry::standard(), Kernels::standard());
    let mut session = Session::new(&registry, &kernels, 7);
    let mut given = exec::seeded(graph, 7).unwrap();
    if let Some(Value::Tensor(mask)) = given.get_mut(3) {
        let values: Vec<f32> = (0..700 * 760).map(|i| if hidden(i) { f32::NEG_INFINITY } else { 0.25 }).collect();
        let mut content = mask.storage.write().unwrap();
        content.bytes_mut().copy_from_slice(bytemuck::cast_slice(&values));
    }
    let observer: &mut dyn Observer = if alone { &mut Sees } else { &mut () };
    let outputs = exec::run_on(graph, &given, &mut session, observer).unwrap();
    let bits = |v: &Value| v.as_tensor().unwrap().lanes::<f32>().unwrap().iter().map(|v| v.to_bits()).collect();
    (outputs.iter().map(bits).collect(), session.meter().peak())
}

fn both(program: &str) -> (usize, usize) {
    both_with(program, some_hidden)
}

fn both_with(program: &str, hidden: fn(usize) -> bool) -> (usize, usize) {
    let graph = text::read(program, &ReadOptions::default()).unwrap();
    let ((alone, most), (together, at_once)) = (run(&graph, true, hidden), run(&graph, false, hidden));
    assert!(alone == together, "some bits differ");
    assert!(alone.iter().flatten().any(|b| f32::from_bits(*b) != 0.0));
    (most, at_once)
}

#[test]
fn attention_by_rows_is_attention_and_takes_less_memory() {
    let (most, at_once) = both(ATTENTION);
    // The mask alone takes 2 MB; of the four matrices of 4 MB no two live at once.
    assert!(at_once < most / 2, "{at_once} bytes lived at once, call by call {most}");
}

#[test]
fn what_is_read_outside_is_whole() {
    let shown = ATTENTION.replace("return (bmm_1,)", "return (bmm_1, _softmax)");
    let (most, at_once) = both(&shown);
    assert!(at_once > most / 2);
}

#[test]
fn a_write_between_is_seen_as_before() {
    let written = ATTENTION.replace(
        "    view_4:",
        "    add_: \"f32[1, 1, 700, 760]\" = torch.ops.aten.add_.Tensor(mask, 1.5)\n    view_4:",
    );
    let (most, at_once) = both(&written);
    assert_eq!(most, at_once);
    let earlier = ATTENTION
        .replace("    view:", "    add_: \"f32[1, 1, 700, 760]\" = torch.ops.aten.add_.Tensor(mask, 1.5)\n    view:");
    let (most, at_once) = both(&earlier);
    assert!(at_once < most / 2);
}

#[test]
fn a_sum_over_queries_is_no_row() {
    let over = ATTENTION.replace("any.dim(logical_not, -1, True)", "any.dim(logical_not, -2, True)");
    both(&over.replace("b8[1, 2, 700, 1]", "b8[1, 2, 1, 760]"));
    let soft = ATTENTION.replace("_softmax.default(masked, 3, False)", "_softmax.default(masked, 2, False)");
    both(&soft);
}

#[test]
fn a_choice_that_is_one_for_many_rows_is_the_choice_of_each() {
    let filled = ATTENTION.replace("full_like.default(_softmax, 0,", "full_like.default(_softmax, 0.25,");
    for program in [ATTENTION, &filled, &filled.replace("self(logical_not_1, full_like,", "self(any_1, full_like,")] {
        both_with(program, |_| false);
        // From the first row of a piece on, and from amid one.
        both_with(program, |i| i / 760 >= 352);
        both_with(program, |i| i / 760 < 500);
    }
    let row = filled.replace("full_like.default(_softmax", "full_like.default(any_1");
    both_with(&row.replace("full_like: \"f32[1, 2, 700, 760]\"", "full_like: \"b8[1, 2, 700, 1]\""), |i| i / 760 < 500);
}
