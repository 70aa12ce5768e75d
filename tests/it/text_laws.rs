//! Laws of the text form: reading what was written gives the same graph, for any graph; no text makes the reader panic.

use crate::common;
use airlock::analysis::form::check_form;
use airlock::formats::text::{self, ReadOptions};
use airlock::graph::{
    Arg, BodyId, Device, Dtype, Graph, InputKind, InputSpec, Layout, MemoryFormat, NewNode, NodeId, NodeKind,
    OutputKind, OutputSpec, Signature, TensorType, ValueType, View,
};
use airlock::sym::{Dim, Range};
use proptest::prelude::*;

/// An argument as a recipe: nodes are numbers, taken modulo how many there are.
#[derive(Clone, Debug)]
enum Recipe {
    Node(usize),
    Literal(Arg),
    List(Vec<Recipe>),
    Tuple(Vec<Recipe>),
    Dict(Vec<(String, Recipe)>),
}

impl Recipe {
    fn cook(&self, nodes: &[NodeId]) -> Arg {
        let all = |items: &[Recipe]| items.iter().map(|r| r.cook(nodes)).collect();
        match self {
            Recipe::Node(n) => Arg::Node(nodes[n % nodes.len()]),
            Recipe::Literal(arg) => arg.clone(),
            Recipe::List(items) => Arg::List(all(items)),
            Recipe::Tuple(items) => Arg::Tuple(all(items)),
            Recipe::Dict(entries) => {
                Arg::Dict(entries.iter().map(|(k, r)| (k.as_str().into(), r.cook(nodes))).collect())
            }
        }
    }
}

fn literal() -> impl Strategy<Value = Arg> {
    prop_oneof![
        Just(Arg::None),
        any::<bool>().prop_map(Arg::Bool),
        any::<i64>().prop_map(Arg::Int),
        prop::num::f64::ANY.prop_map(|v| Arg::Float(if v.is_nan() { f64::NAN } else { v })),
        prop_oneof![Just(1e-6), Just(1e16), Just(-0.0), Just(f64::INFINITY), Just(f64::NEG_INFINITY)]
            .prop_map(Arg::Float),
        (prop::num::f64::NORMAL | prop::num::f64::ZERO, prop::num::f64::NORMAL | prop::num::f64::ZERO)
            .prop_map(|(re, im)| Arg::Complex(re, im)),
        any::<String>().prop_map(|s| Arg::Str(s.into())),
        "['\"\\\\\n\t a]{0,6}".prop_map(|s| Arg::Str(s.into())),
        prop::sample::select(Dtype::ALL).prop_map(Arg::Dtype),
        (prop::sample::select(&["cpu", "npu", "cuda", "meta"][..]), prop::option::of(0..16_i64))
            .prop_map(|(kind, index)| Arg::Device(Device { kind: kind.into(), index })),
        Just(Arg::Layout(Layout::Strided)),
        Just(Arg::MemoryFormat(MemoryFormat::ChannelsLast)),
        Just(Arg::Operator("aten.add.Tensor".into())),
        Just(Arg::Other("torch.per_tensor_affine".into())),
    ]
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let leaf = prop_oneof![any::<usize>().prop_map(Recipe::Node), literal().prop_map(Recipe::Literal)];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Recipe::List),
            prop::collection::vec(inner.clone(), 0..5).prop_map(Recipe::Tuple),
            prop::collection::vec((any::<String>(), inner), 0..3).prop_map(Recipe::Dict),
        ]
    })
}

#[derive(Clone, Debug)]
enum Step {
    Call { target: &'static str, args: Vec<Recipe>, kwargs: Vec<(&'static str, Recipe)> },
    Unary(&'static str, usize),
    Binary(&'static str, usize, Recipe),
    Item(usize, i64),
}

fn step() -> impl Strategy<Value = Step> {
    let targets =
        &["aten.add.Tensor", "aten._softmax.default", "npu.npu_rms_norm", "torch.sym_max", "math.trunc", "round"][..];
    let keys = &["dim", "dtype", "memory_format", "alpha"][..];
    let unary = &["_operator.neg", "_operator.pos", "_operator.invert"][..];
    let binary = &["_operator.mul", "_operator.floordiv", "_operator.ge", "_operator.pow", "_operator.and_"][..];
    let operand =
        prop_oneof![any::<usize>().prop_map(Recipe::Node), any::<i64>().prop_map(|v| Recipe::Literal(Arg::Int(v)))];
    prop_oneof![
        4 => (
            prop::sample::select(targets),
            prop::collection::vec(recipe(), 0..4),
            prop::sample::subsequence(keys, 0..3),
            prop::collection::vec(recipe(), 3),
        )
            .prop_map(|(target, args, keys, values)| {
                let kwargs = keys.into_iter().zip(values).collect();
                Step::Call { target, args, kwargs }
            }),
        1 => (prop::sample::select(unary), any::<usize>()).prop_map(|(t, n)| Step::Unary(t, n)),
        1 => (prop::sample::select(binary), any::<usize>(), operand).prop_map(|(t, n, o)| Step::Binary(t, n, o)),
        1 => (any::<usize>(), -3..9_i64).prop_map(|(n, i)| Step::Item(n, i)),
    ]
}

#[derive(Clone, Debug)]
struct Program {
    inputs: usize,
    steps: Vec<(Step, u8, Option<u8>)>,
    exported: bool,
    inner: bool,
}

fn program() -> impl Strategy<Value = Program> {
    let steps = prop::collection::vec((step(), any::<u8>(), prop::option::of(0..3_u8)), 1..12);
    (1..4_usize, steps, any::<bool>(), any::<bool>()).prop_map(|(inputs, steps, exported, inner)| Program {
        inputs,
        steps,
        exported,
        inner,
    })
}

/// Makes a type of a number: sizes fixed and symbolic, symbolic scalars, none.
fn type_of(graph: &mut Graph, number: u8) -> ValueType {
    let symbol = graph.symbols.symbol("s77");
    let twice = graph.symbols.mul(Dim::Fixed(2), symbol).unwrap();
    let half = graph.symbols.floordiv(symbol, Dim::Fixed(2)).unwrap();
    let tensor = |dtype, sizes: Vec<Dim>| ValueType::tensor(TensorType::new(dtype, sizes, Device::cpu()));
    match number % 6 {
        0 => tensor(Dtype::F32, vec![symbol, Dim::Fixed(3)]),
        1 => tensor(Dtype::Bool, vec![]),
        2 => tensor(Dtype::F8E4m3fn, vec![twice, half]),
        3 => ValueType::SymInt(twice),
        4 => tensor(Dtype::I64, vec![Dim::Fixed(i64::from(number))]),
        _ => ValueType::Unknown,
    }
}

fn add(
    graph: &mut Graph,
    body: BodyId,
    kind: NodeKind,
    name: &str,
    target: &str,
    args: Vec<Arg>,
    ty: ValueType,
) -> NodeId {
    let target = graph.texts.intern(target);
    graph.push(body, name, NewNode { kind, target, args: args.into(), kwargs: Box::default(), ty })
}

fn input(graph: &mut Graph, body: BodyId, name: &str) -> NodeId {
    let sizes = [Dim::Fixed(2), Dim::Fixed(3)];
    let ty = TensorType {
        strides: Some([Dim::Fixed(3), Dim::Fixed(1)].into_iter().collect()),
        ..TensorType::new(Dtype::F32, sizes, Device::cpu())
    };
    add(graph, body, NodeKind::Placeholder, name, name, vec![], ValueType::tensor(ty))
}

fn build(program: &Program) -> Graph {
    let mut graph = Graph::new();
    let root = BodyId::ROOT;
    let mut nodes: Vec<NodeId> = (0..program.inputs).map(|i| input(&mut graph, root, &format!("x{i}"))).collect();
    if program.inner {
        let body = graph.add_body(root, "true_graph_0");
        let x = input(&mut graph, body, "x0");
        add(&mut graph, body, NodeKind::Output, "output", "output", vec![x.into()], ValueType::Unknown);
        nodes.push(add(
            &mut graph,
            root,
            NodeKind::GetAttr,
            "true_graph_0",
            "true_graph_0",
            vec![],
            ValueType::Body(body),
        ));
    }
    for (step, ty, trace) in &program.steps {
        let ty = type_of(&mut graph, *ty);
        let (target, args, kwargs) = match step {
            Step::Call { target, args, kwargs } => {
                (*target, args.iter().map(|r| r.cook(&nodes)).collect(), kwargs.clone())
            }
            Step::Unary(target, n) => (*target, vec![Recipe::Node(*n).cook(&nodes)], vec![]),
            Step::Binary(target, n, right) => {
                (*target, vec![Recipe::Node(*n).cook(&nodes), right.cook(&nodes)], vec![])
            }
            Step::Item(n, index) => {
                ("_operator.getitem", vec![Recipe::Node(*n).cook(&nodes), Arg::Int(*index)], vec![])
            }
        };
        let node = add(&mut graph, root, NodeKind::Call, &format!("n{}", nodes.len()), target, args, ty);
        let keyed: Vec<_> = kwargs.iter().map(|(k, r)| (graph.texts.intern(k), r.cook(&nodes))).collect();
        let args = graph.args(node).into();
        graph.set_args(node, args, keyed.into());
        if let Some(line) = trace {
            graph.annotate(
                node,
                "stack_trace",
                Some(&format!("File \"m.py\", line {line}, in f\n    y = f(x), code: g")),
            );
        }
        nodes.push(node);
    }
    let results: Vec<Arg> = vec![Arg::Node(nodes[nodes.len() - 1]), Arg::Int(3), Arg::None];
    add(&mut graph, root, NodeKind::Output, "output", "output", vec![Arg::Tuple(results.into())], ValueType::Unknown);
    if program.exported {
        let spec =
            |i| InputSpec { kind: InputKind::UserInput, name: format!("x{i}").into(), target: None, persistent: None };
        let result = OutputSpec { kind: OutputKind::UserOutput, target: None };
        graph.signature = Some(Signature { inputs: (0..program.inputs).map(spec).collect(), outputs: vec![result; 3] });
        graph.symbols.set_range("s77", Range::new(2, None)).unwrap();
        if let Some(Dim::Expr(id)) = graph.symbols.find_symbol("s77") {
            graph.range_constraints.push(id);
        }
    }
    graph
}

fn options() -> ReadOptions {
    ReadOptions { device: Some(Device::cpu()), ..ReadOptions::of_file("t.fx") }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reading_what_was_written_gives_the_same_graph(program in program()) {
        let graph = build(&program);
        prop_assert_eq!(check_form(&graph), []);
        let printed = text::write(&graph);
        let again = text::read(&printed, &options()).map_err(|e| TestCaseError::fail(format!("{}\n{printed}", e.render())))?;
        prop_assert_eq!(common::describe(&graph), common::describe(&again), "{}", printed);
        prop_assert_eq!(&printed, &text::write(&again));
        prop_assert_eq!(check_form(&again), []);
    }

    #[test]
    fn no_text_makes_the_reader_panic(which in any::<usize>(), edits in prop::collection::vec((any::<usize>(), ".{0,3}", 0..4_usize), 1..6)) {
        let files = TEXTS;
        let mut chars: Vec<char> = files[which % files.len()].chars().collect();
        for (at, put, cut) in edits {
            let at = at % (chars.len() + 1);
            let end = (at + cut).min(chars.len());
            chars.splice(at..end, put.chars());
        }
        let broken: String = chars.into_iter().collect();
        match text::read(&broken, &options()) {
            Ok(graph) => {
                check_form(&graph);
                let _ = text::read(&text::write(&graph), &options());
            }
            Err(error) => {
                let shown = error.render();
                prop_assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "{shown:?}");
            }
        }
    }
}

const TEXTS: &[&str] = &[
    include_str!("../models/cond_while/core.fx"),
    include_str!("../models/asserts_symint/core.fx"),
    include_str!("../models/dtypes_literals/core.fx"),
    include_str!("../fx/older/kv_cache_update_core_torch_2.5.1.fx"),
    include_str!("../fx/torchair/doc_pre_pass_opt.fx"),
];
