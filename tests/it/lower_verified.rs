//! What is lowered is read back, raised by GE operators' own definitions, and judged against the graph.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use airlock::formats::pt2;
use airlock::graph::Graph;
use airlock::lower::ge::{self, Format, Lowered, Options};
use airlock::ops::Registry;
use airlock::pipeline::{Judged, judge_lowered};
use airlock::verify::{Budget, Finding, JudgeOptions};

use super::exec_models::programs;
use super::lower_torchair::{cases, meta, options, read};

fn judge_options() -> JudgeOptions {
    JudgeOptions { budget: Budget { time_ms: 16_000, ..Budget::searching() }, ..JudgeOptions::default() }
}

fn judged(graph: &Graph, lowered: &Lowered, registry: &Registry) -> Judged {
    if std::env::var_os("AIRLOCK_SHOW").is_some() {
        let mut settled = graph.clone();
        let _ = registry.check_types(&mut settled);
        println!("{}", airlock::formats::text::write(&ge::comparable(settled.clone(), registry)));
        println!("{}", String::from_utf8_lossy(&ge::encode(&lowered.graph, Format::Py)));
        if let Ok(raised) = ge::raise(&ge::Written::of(&lowered.graph), &lowered.host, &settled, registry) {
            println!("{}", airlock::formats::text::write(&raised.graph));
        }
    }
    let bytes = ge::encode(&lowered.graph, Format::Bin);
    judge_lowered(&bytes, &lowered.host, graph, registry, &judge_options())
}

/// One line a case: what is said of it.
fn line(judged: &Judged) -> String {
    let v = &judged.verdict;
    if v.accepted {
        return format!("{:?} {:?}", v.verdict, v.level);
    }
    let reason = v.reason.replace('\n', " | ");
    let shown = v.differing.as_ref().map(|d| format!(" [{} <> {}]", d.before, d.after)).unwrap_or_default();
    format!("REFUSED {:?} {:?}: {reason}{shown} {}", v.verdict, v.open, v.obstacle.clone().unwrap_or_default())
}

fn corpus() -> Option<PathBuf> {
    std::env::var_os("AIRLOCK_CORPUS").map(PathBuf::from)
}

#[derive(Default)]
struct Tally {
    counts: BTreeMap<String, usize>,
    report: String,
}

impl Tally {
    fn add(&mut self, name: &str, judged: &Judged) {
        let v = &judged.verdict;
        let word =
            if v.accepted { format!("{:?} {:?}", v.verdict, v.level) } else { format!("refused {:?}", v.verdict) };
        *self.counts.entry(word).or_default() += 1;
        if !v.accepted {
            self.report += &format!("{name}: {}\n", line(judged));
        }
    }

    fn print(&self) {
        println!("{}", self.report);
        for (word, count) in &self.counts {
            println!("{word}: {count}");
        }
    }
}

fn torchair(root: &Path, only: Option<&str>) -> Tally {
    let registry = Registry::standard();
    let mut tally = Tally::default();
    for case in cases(root) {
        let meta = meta(&case);
        let name = format!("{}/{}", meta.kind, case.file_name().unwrap().to_string_lossy());
        if meta.defect.is_some() || meta.kind == "error" || only.is_some_and(|o| !name.contains(o)) {
            continue;
        }
        let graph = read(&case).unwrap();
        let Ok(lowered) = ge::lower(&graph, &options(&meta)) else { continue };
        tally.add(&name, &judged(&graph, &lowered, &registry));
    }
    tally
}

#[test]
fn the_recorded_corpus_is_judged() {
    let Some(corpus) = corpus() else {
        eprintln!("AIRLOCK_CORPUS is not set: skipped");
        return;
    };
    let only = std::env::var("AIRLOCK_CASE").ok();
    torchair(&corpus.join("cases/torchair"), only.as_deref()).print();
}

/// What is not proved of the models, and why; all others are.
const UNPROVED: &[(&str, &str)] = &[("cond_while", "control flow is not lowered")];

#[test]
fn every_model_that_lowers_is_proved() {
    let registry = Registry::standard();
    let only = std::env::var("AIRLOCK_CASE").ok();
    let mut unproved = Vec::new();
    for (name, path, _) in programs().into_iter().filter(|(n, ..)| only.as_ref().is_none_or(|o| n.contains(o))) {
        let listed = UNPROVED.iter().find(|(model, _)| name.starts_with(model));
        let graph = pt2::read(&path, &registry).unwrap().graph;
        let found = match ge::lower(&graph, &Options::default()) {
            Err(e) => Err(e.to_string()),
            Ok(lowered) => {
                let judged = judged(&graph, &lowered, &registry);
                let is_proved = judged.verdict.verdict == Finding::Proved;
                if is_proved { Ok(()) } else { Err(line(&judged)) }
            }
        };
        match (found, listed) {
            (Err(reason), None) => unproved.push(format!("{name}: {reason}")),
            (Ok(()), Some((_, reason))) => unproved.push(format!("{name} is proved, and listed: {reason}")),
            _ => {}
        }
    }
    assert!(unproved.is_empty(), "{unproved:#?}");
}

/// Those that are not accepted are listed, each with what it waits for.
#[test]
fn the_small_recorded_cases_are_accepted_but_for_those_that_are_listed() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/torchair");
    let tally = torchair(&root, None);
    let refused: Vec<&str> = tally.report.lines().filter_map(|l| l.split_once(": ")).map(|(n, _)| n).collect();
    let listed = std::fs::read_to_string(root.join("unproved.txt")).unwrap();
    let listed: Vec<&str> =
        listed.lines().filter(|l| !l.starts_with('#')).filter_map(|l| l.split_once(": ")).map(|(n, _)| n).collect();
    assert_eq!(refused, listed, "{}", tally.report);
}

fn read_program(text: &str) -> Graph {
    use airlock::formats::text::{ReadOptions, read};
    let mut graph = read(text, &ReadOptions::of_file("t.fx")).unwrap();
    assert!(Registry::standard().check_types(&mut graph).is_empty());
    graph
}

/// What is said of a graph as it is lowered, and after an operator of a kind has had its first two inputs exchanged.
fn judged_and_spoilt(graph: &Graph, kind: &str) -> (Judged, Judged) {
    let registry = Registry::standard();
    let mut lowered = ge::lower_with(graph, &Options::default(), &registry).unwrap();
    let whole = judged(graph, &lowered, &registry);
    let op = lowered.graph.op.iter_mut().rev().find(|op| op.r#type == kind).unwrap();
    op.input.swap(0, 1);
    (whole, judged(graph, &lowered, &registry))
}

#[test]
fn an_operator_that_ge_lacks_is_held_to_its_definition_and_to_nothing_else() {
    let graph = read_program(
        "class GraphModule(torch.nn.Module):
    def forward(self, q: \"f32[2, 4, 4]\", k: \"f32[2, 4, 4]\", v: \"f32[2, 4, 4]\", m: \"b8[4, 4]\"):
        s: \"f32[2, 4, 4]\" = torch.ops.aten.scaled_dot_product_attention.default(q, k, v, m)
        return (s,)
",
    );
    let (whole, spoilt) = judged_and_spoilt(&graph, "BatchMatMul");
    assert_eq!(whole.verdict.level, Some(airlock::verify::Level::Real), "{}", line(&whole));
    let assumed: Vec<String> = whole.verdict.assumes.iter().map(|a| a.text()).collect();
    assert!(assumed.iter().any(|a| a.contains("scaled_dot_product_attention")), "{assumed:?}");
    assert!(!spoilt.verdict.accepted, "{}", line(&spoilt));
}

#[test]
fn a_definition_that_is_exact_leaves_the_proof_exact() {
    let graph = read_program(
        "class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[2, 4, 8, 8]\", y: \"f32[2, 4, 4, 4]\"):
        p: \"f32[2, 4, 4, 4]\" = torch.ops.aten.max_pool2d.default(x, [2, 2], [2, 2], [0, 0], [1, 1])
        s: \"f32[2, 4, 4, 4]\" = torch.ops.aten.sub.Tensor(p, y)
        return (s,)
",
    );
    let (whole, spoilt) = judged_and_spoilt(&graph, "Sub");
    assert_eq!(whole.verdict.level, Some(airlock::verify::Level::Exact), "{}", line(&whole));
    assert!(!spoilt.verdict.accepted, "{}", line(&spoilt));
}

/// A graph of two integers that are asked for the numbers that they are, `a` and `b`.
fn of_two_numbers(calls: &str, returned: &str) -> Graph {
    read_program(&format!(
        "class GraphModule(torch.nn.Module):
    def forward(self, n: \"i64[]\", m: \"i64[]\", x: \"f32[s0, 3]\", i: \"i64[6]\"):
        a: \"Sym(u0)\" = torch.ops.aten._local_scalar_dense.default(n)
        b: \"Sym(u1)\" = torch.ops.aten._local_scalar_dense.default(m)
{calls}        return ({returned})
Range constraints: {{u0: VR[1, 8], u1: VR[1, 8]}}
"
    ))
}

#[test]
fn sizes_that_the_graph_computes_are_proved() {
    let calls = [
        "r: \"f32[u0, u1]\" = torch.ops.aten.full.default([a, b], 2.0)",
        "r: \"f32[u1, u0]\" = torch.ops.aten.full.default([b, a], 2.0)",
        "r: \"i64[u0]\" = torch.ops.aten.arange.default(a)",
        "r: \"f32[u0]\" = torch.ops.aten.arange.default(a, dtype = torch.float32)",
        "c: \"Sym(u0 + u1)\" = a + b
        r: \"f32[u0 + u1]\" = torch.ops.aten.full.default([c], 2.0)",
        "c: \"Sym(u0//2)\" = a // 2
        r: \"f32[u0//2]\" = torch.ops.aten.full.default([c], 2.0)",
        "t: \"i64[]\" = torch.ops.aten.add.Tensor(n, m)
        c: \"Sym(u2)\" = torch.ops.aten._local_scalar_dense.default(t)
        r: \"f32[u2]\" = torch.ops.aten.full.default([c], 2.0)",
        "t: \"i64[]\" = torch.ops.aten.sum.default(i)
        c: \"Sym(u2)\" = torch.ops.aten._local_scalar_dense.default(t)
        r: \"f32[u2, 2]\" = torch.ops.aten.full.default([c, 2], 2.0)",
        "s: \"Sym(s0)\" = torch.ops.aten.sym_size.int(x, 0)
        r: \"f32[u0, s0]\" = torch.ops.aten.full.default([a, s], 2.0)",
        "r: \"f32[s0, 3]\" = torch.ops.aten.mul.Tensor(x, a)",
    ];
    let registry = Registry::standard();
    for calls in calls {
        let graph = of_two_numbers(&format!("        {calls}\n"), "r,");
        let lowered = ge::lower_with(&graph, &Options::default(), &registry).unwrap();
        let whole = judged(&graph, &lowered, &registry);
        assert_eq!(whole.verdict.verdict, Finding::Proved, "{calls}: {}", line(&whole));
    }
}

#[test]
fn sizes_that_are_exchanged_are_not_proved() {
    let graph = of_two_numbers("        r: \"f32[u0, u1]\" = torch.ops.aten.full.default([a, b], 2.0)\n", "r,");
    let (whole, spoilt) = judged_and_spoilt(&graph, "Pack");
    assert_eq!(whole.verdict.verdict, Finding::Proved, "{}", line(&whole));
    assert_ne!(spoilt.verdict.verdict, Finding::Proved, "{}", line(&spoilt));
}

#[test]
fn a_number_is_asked_for_where_it_is_read_though_it_is_written_afterwards() {
    let graph = |of: &str| {
        of_two_numbers(
            &format!(
                "        w: \"i64[]\" = torch.ops.aten.copy_.default(n, m)
        c: \"Sym(u2)\" = torch.ops.aten._local_scalar_dense.default(n)
        r: \"f32[{of}]\" = torch.ops.aten.full.default([{}], 2.0)\n",
                if of == "u0" { "a" } else { "c" }
            ),
            "r,",
        )
    };
    let registry = Registry::standard();
    let [early, late] = ["u0", "u2"].map(graph);
    for (read, told) in [(&early, &early), (&late, &late), (&early, &late), (&late, &early)] {
        let Ok(lowered) = ge::lower_with(read, &Options::default(), &registry) else { continue };
        let found = judged(told, &lowered, &registry);
        let is_own = std::ptr::eq(read, told);
        assert!(is_own || found.verdict.verdict != Finding::Proved, "{}", line(&found));
    }
}

#[test]
fn what_runs_without_gradients_is_judged_as_it_stands() {
    let graph = read_program(
        "class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[4]\", y: \"f32[4]\"):
        b = self.b
        w = torch.ops.higher_order.wrap_with_set_grad_enabled(False, b, x, y)
        g: \"f32[4]\" = w[0]
        r: \"f32[4]\" = torch.ops.aten.relu.default(g)
        return (r,)
    class b(torch.nn.Module):
        def forward(self, p: \"f32[4]\", q: \"f32[4]\"):
            t: \"f32[4]\" = torch.ops.aten.sub.Tensor(q, p)
            return (t,)
",
    );
    let (whole, spoilt) = judged_and_spoilt(&graph, "Sub");
    assert_eq!(whole.verdict.level, Some(airlock::verify::Level::Exact), "{}", line(&whole));
    assert!(!spoilt.verdict.accepted, "{}", line(&spoilt));
}

fn lowered_and_judged(inputs: &str, calls: &str, returned: &str) -> (Lowered, Judged) {
    let text = format!(
        "class GraphModule(torch.nn.Module):\n    def forward(self, {inputs}):\n{calls}        return ({returned},)\n"
    );
    let (graph, registry) = (read_program(&text), Registry::standard());
    let lowered = ge::lower_with(&graph, &Options::default(), &registry).unwrap();
    let judged = judged(&graph, &lowered, &registry);
    (lowered, judged)
}

#[test]
fn a_range_that_is_longer_by_its_numbers_in_f32_is_not_proved() {
    let range = |step: &str, end: &str, size: usize| {
        let call = format!(
            "        a: \"f32[{size}]\" = torch.ops.aten.arange.start_step(0, {end}, {step}, dtype = torch.float32, device = device(type='cpu'), pin_memory = False)\n        b: \"f32[{size}]\" = torch.ops.aten.add.Tensor(a, x)\n"
        );
        lowered_and_judged("x: \"f32[]\"", &call, "b").1
    };
    let whole = range("0.5", "2.0", 4);
    assert_eq!(whole.verdict.verdict, Finding::Proved, "{}", line(&whole));
    // Four of them in f64, three in f32.
    let fewer = range("0.7", "2.1", 4);
    assert_eq!(fewer.verdict.verdict, Finding::Unknown, "{}", line(&fewer));
}

#[test]
fn a_class_beyond_32_bits_that_is_left_out_is_not_proved() {
    let loss = |ignored: i64| {
        let call = format!(
            "        c = torch.ops.aten.nll_loss_forward.default(x, t, None, 1, {ignored})\n        a: \"f32[]\" = c[0]\n"
        );
        lowered_and_judged("x: \"f32[2, 3]\", t: \"i64[2]\"", &call, "a").1
    };
    assert_eq!(loss(-100).verdict.verdict, Finding::Proved, "{}", line(&loss(-100)));
    assert_eq!(loss(1 << 32).verdict.verdict, Finding::Unknown, "{}", line(&loss(1 << 32)));
}

#[test]
fn what_is_sent_is_cut_to_the_sizes_of_its_indices() {
    let sent = |columns: usize| {
        let inputs = format!("x: \"f32[4, 2]\", i: \"i64[3, 2]\", y: \"f32[4, {columns}]\"");
        let call = "        v: \"f32[4, 2]\" = torch.ops.aten.scatter_add.default(x, 0, i, y)\n";
        lowered_and_judged(&inputs, call, "v").0
    };
    let cuts = |lowered: &Lowered| lowered.graph.op.iter().filter(|op| op.r#type == "StridedSliceV2").count();
    assert_eq!((cuts(&sent(2)), cuts(&sent(3))), (1, 2));
}

#[test]
fn what_the_host_cannot_make_of_an_input_by_sizes_and_strides_is_made_by_ge() {
    let returned = |call: &str, dtype: &str| {
        let call = format!("        a: \"{dtype}\" = torch.ops.aten.{call}\n");
        let (lowered, judged) = lowered_and_judged("x: \"c64[2, 3]\"", &call, "a");
        (lowered.host.fx_outputs[0].to_string(), judged.verdict.verdict)
    };
    let moved = returned("permute.default(x, [1, 0])", "c64[3, 2]");
    assert_eq!(moved, ("view-of-input:0".to_string(), Finding::Proved));
    // It has memory of its own then, which the graph does not say.
    for (call, dtype) in [("_conj.default(x)", "c64[2, 3]"), ("imag.default(x)", "f32[2, 3]")] {
        assert_eq!(returned(call, dtype), ("ge:0".to_string(), Finding::Refuted), "{call}");
    }
}

#[test]
fn the_host_shows_all_of_an_input_in_pairs_and_no_part_of_it() {
    let shown = |input: &str, calls: &[&str], said: Option<&str>| {
        let calls: String = calls.iter().map(|call| format!("        {call}\n")).collect();
        let text = format!(
            "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"{input}\"):\n{calls}        return (a,)\n"
        );
        let (graph, registry) = (read_program(&text), Registry::standard());
        let mut lowered = ge::lower_with(&graph, &Options::default(), &registry).unwrap();
        lowered.host.fx_outputs[0] = said.map_or(lowered.host.fx_outputs[0].clone(), Into::into);
        let verdict = judged(&graph, &lowered, &registry).verdict.verdict;
        (lowered.host.fx_outputs[0].to_string(), verdict)
    };
    let real = ["a: \"f32[2, 3, 2]\" = torch.ops.aten.view_as_real.default(x)"];
    let complex = ["a: \"c64[2, 3]\" = torch.ops.aten.view_as_complex.default(x)"];
    let proved = ("view-of-input:0".to_string(), Finding::Proved);
    assert_eq!(shown("c64[2, 3]", &real, None), proved);
    assert_eq!(shown("f32[2, 3, 2]", &complex, None), proved);
    // The host shows all of the input, whatever the graph makes of it.
    let turned = [
        "r: \"f32[2, 3, 2]\" = torch.ops.aten.view_as_real.default(x)",
        "a: \"f32[3, 2, 2]\" = torch.ops.aten.permute.default(r, [1, 0, 2])",
    ];
    assert_eq!(shown("c64[2, 3]", &turned, None).0, "ge:0");
    assert_eq!(shown("c64[2, 3]", &turned, Some("view-of-input:0")).1, Finding::Unknown);
}

/// What is said of a call that GE's operator would write an operand of, and of the same where `spoil` changes the GE graph.
fn rotated(after: &str, returned: &str, spoil: impl Fn(&mut Lowered)) -> Judged {
    let text = format!(
        "class GraphModule(torch.nn.Module):
    def forward(self, q: \"f16[1, 2, 2, 64]\", k: \"f16[1, 2, 2, 64]\", c: \"f16[1, 2, 1, 64]\", s: \"f16[1, 2, 1, 64]\"):
        r = torch.ops.npu.npu_apply_rotary_pos_emb.default(q, k, c, s)
        a: \"f16[1, 2, 2, 64]\" = r[0]
        b: \"f16[1, 2, 2, 64]\" = r[1]
{after}        return ({returned},)
"
    );
    let (graph, registry) = (read_program(&text), Registry::standard());
    let mut lowered = ge::lower_with(&graph, &Options::default(), &registry).unwrap();
    spoil(&mut lowered);
    judged(&graph, &lowered, &registry)
}

#[test]
fn what_a_call_overwrites_in_silence_is_given_as_a_copy_and_read_by_nobody() {
    let whole = rotated("", "a, b", |_| {});
    assert_eq!(whole.verdict.verdict, Finding::Proved, "{}", line(&whole));
    let assumed: Vec<String> = whole.verdict.assumes.iter().map(|a| a.text()).collect();
    let leaves = "nobody reads what npu.npu_apply_rotary_pos_emb.default leaves in its `query`";
    assert!(assumed.iter().any(|a| a.contains(leaves)), "{assumed:?}");
    let read = rotated("        m: \"f16[1, 2, 2, 64]\" = torch.ops.aten.abs.default(q)\n", "a, b, m", |_| {});
    assert_ne!(read.verdict.verdict, Finding::Proved, "{}", line(&read));
    let exchanged = rotated("", "a, b", |lowered| {
        let copies: Vec<usize> =
            (0..lowered.graph.op.len()).filter(|at| lowered.graph.op[*at].r#type == "TensorMove").collect();
        let other = lowered.graph.op[copies[1]].input.clone();
        lowered.graph.op[copies[0]].input = other;
    });
    assert_ne!(exchanged.verdict.verdict, Finding::Proved, "{}", line(&exchanged));
}

#[test]
fn what_a_call_does_not_write_is_copied_before_an_operator_that_is_held_writes_it() {
    let graph = read_program(
        "class GraphModule(torch.nn.Module):
    def forward(self, kv: \"f16[2, 1, 4, 576]\", g: \"f16[512]\", c: \"f16[2, 1, 4, 64]\", s: \"f16[2, 1, 4, 64]\", i: \"i64[8]\", k: \"f16[2, 1, 32, 64]\", v: \"f16[2, 1, 32, 512]\"):
        r = torch.ops.npu.npu_kv_rmsnorm_rope_cache_v2_functional.default(kv, g, c, s, i, k, v)
        a: \"f16[2, 1, 4, 64]\" = r[0]
        b: \"f16[2, 1, 32, 64]\" = r[2]
        return (a, b)
",
    );
    let registry = Registry::standard();
    let mut lowered = ge::lower_with(&graph, &Options::default(), &registry).unwrap();
    let whole = judged(&graph, &lowered, &registry);
    assert_eq!(whole.verdict.verdict, Finding::Proved, "{}", line(&whole));
    let copies: Vec<_> = lowered.graph.op.iter().filter(|op| op.r#type == "TensorMove").cloned().collect();
    for op in &mut lowered.graph.op {
        for input in &mut op.input {
            if let Some(copy) = copies.iter().find(|copy| format!("{}:0", copy.name) == *input) {
                input.clone_from(&copy.input[0]);
            }
        }
    }
    let written = judged(&graph, &lowered, &registry);
    assert_eq!(written.verdict.verdict, Finding::Unknown, "{}", line(&written));
}

#[test]
fn a_copy_of_an_input_that_the_host_writes_afterwards_is_told() {
    let calls = "        c: \"f32[2]\" = torch.ops.aten.clone.default(x)\n        a: \"f32[2]\" = torch.ops.aten.add.Tensor(x, y)\n        w: \"f32[2]\" = torch.ops.aten.copy_.default(x, a)\n";
    let (lowered, judged) = lowered_and_judged("x: \"f32[2]\", y: \"f32[2]\"", calls, "c");
    assert!(lowered.graph.op.iter().any(|op| op.r#type == "Identity"));
    assert_eq!(judged.verdict.verdict, Finding::Proved, "{}", line(&judged));
    let assumed: Vec<String> = judged.verdict.assumes.iter().map(|a| a.text()).collect();
    assert!(assumed.iter().any(|a| a.starts_with("output 0, which Identity passes on of input 0")), "{assumed:?}");
}

#[test]
fn vectors_without_elements_are_no_parts_of_what_is_joined() {
    let joined = |tensors: &str, dim: i64, to: &str| {
        let call = format!("        a: \"{to}\" = torch.ops.aten.cat.default([{tensors}], {dim})\n");
        let (lowered, judged) = lowered_and_judged("e: \"f32[0]\", x: \"f32[3, 4]\", v: \"f32[2]\"", &call, "a");
        let join = lowered.graph.op.iter().find(|op| op.r#type == "ConcatV2").unwrap();
        (join.input_desc.len(), judged.verdict.verdict)
    };
    assert_eq!(joined("x, e, x", 1, "f32[3, 8]"), (3, Finding::Proved));
    assert_eq!(joined("e, x", 0, "f32[3, 4]"), (2, Finding::Proved));
    assert_eq!(joined("e, v", 0, "f32[2]"), (3, Finding::Proved));
}

#[test]
fn lists_of_several_types_are_cast_or_not_proved() {
    let inputs = "x: \"f32[3]\", y: \"i32[3]\"";
    let (stacked, judged) =
        lowered_and_judged(inputs, "        s: \"f32[2, 3]\" = torch.ops.aten.stack.default([x, y])\n", "s");
    assert!(stacked.graph.op.iter().any(|op| op.r#type == "Cast"));
    assert_eq!(judged.verdict.verdict, Finding::Proved, "{}", line(&judged));
    let added = |other: &str| {
        let calls = format!(
            "        l = torch.ops.aten._foreach_add.List([x, x], [{other}, {other}])\n        a: \"f32[3]\" = l[0]\n"
        );
        lowered_and_judged(inputs, &calls, "a").1
    };
    assert_eq!(added("x").verdict.verdict, Finding::Proved, "{}", line(&added("x")));
    assert_eq!(added("y").verdict.verdict, Finding::Unknown, "{}", line(&added("y")));
}
