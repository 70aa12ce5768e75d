//! Forms of arguments: numbers beside other types, dimensions from the end, empty lists, masks. Each is lowered, read back and judged, and what is
//! said is on record; and a definition that is new refuses its operator when that is made otherwise.

use std::fmt::Write as _;
use std::path::PathBuf;

use airlock::formats::text;
use airlock::graph::Graph;
use airlock::lower::ge::proto::{AttrDef, Value as Attr};
use airlock::lower::ge::{self, Format, LowerError, Lowered, Options};
use airlock::ops::Registry;
use airlock::pipeline::{Judged, judge_lowered};
use airlock::verify::{Budget, Finding, JudgeOptions};

fn judged(graph: &Graph, lowered: &Lowered, registry: &Registry) -> Judged {
    let budget = Budget { time_ms: 60_000, ..Budget::searching() };
    let options = JudgeOptions { budget, ..JudgeOptions::default() };
    judge_lowered(&ge::encode(&lowered.graph, Format::Bin), &lowered.host, graph, registry, &options)
}

/// What is said of a form, in a word; and why, where it is not shown.
fn said(program: &str, registry: &Registry) -> String {
    let graph = text::read(program, &text::ReadOptions::of_file("t.fx")).unwrap();
    match ge::lower_with(&graph, &Options::default(), registry) {
        Err(LowerError::Unsupported { nodes }) => format!("not lowered, {}", nodes[0].target),
        Err(error) => format!("not lowered, {error}"),
        Ok(lowered) => {
            let verdict = judged(&graph, &lowered, registry).verdict;
            match (verdict.verdict, verdict.level) {
                (Finding::Proved, Some(level)) => format!("proved {level:?}").to_lowercase(),
                (finding, _) => format!("{finding:?}").to_lowercase(),
            }
        }
    }
}

#[test]
fn what_is_said_of_each_form_is_on_record() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/torchair/forms.txt");
    let file = std::fs::read_to_string(&path).unwrap();
    let registry = Registry::standard();
    let (head, forms) = file.split_once("=== ").unwrap();
    let mut found = head.to_string();
    for form in forms.split("=== ") {
        let (title, program) = form.split_once('\n').unwrap();
        let (name, _) = title.split_once(": ").unwrap();
        write!(found, "=== {name}: {}\n{program}", said(program, &registry)).unwrap();
    }
    if std::env::var_os("AIRLOCK_UPDATE").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let titles = |text: &str| text.lines().filter(|l| l.starts_with("===")).map(String::from).collect::<Vec<_>>();
    assert_eq!(titles(&found), titles(&file));
    let proved = titles(&found).iter().filter(|t| t.contains(": proved")).count();
    assert!(proved * 10 >= titles(&found).len() * 8, "{proved}");
}

/// What is made otherwise of a GE operator.
enum Fault {
    /// Its first two inputs are exchanged.
    Inputs,
    /// An attribute has another value.
    Attribute(&'static str, Attr),
    /// Another operator is made of the same.
    Kind(&'static str),
}

fn spoil(lowered: &mut Lowered, kind: &str, fault: &Fault) {
    let op = lowered.graph.op.iter_mut().rev().find(|op| op.r#type == kind).unwrap_or_else(|| panic!("{kind}"));
    match fault {
        Fault::Inputs => op.input.swap(0, 1),
        Fault::Attribute(name, value) => {
            let old = op.attr.insert((*name).to_string(), AttrDef { value: Some(value.clone()) });
            assert_ne!(old.and_then(|a| a.value).as_ref(), Some(value), "{kind}: {name}");
        }
        Fault::Kind(other) => op.r#type = (*other).to_string(),
    }
}

const FAULTS: &[(&str, &str, &str, Fault)] = &[
    ("x: \"f32[3, 4]\"", "f32[3, 4] = rsub.Scalar(x, 1.5, 2)", "Sxpy", Fault::Inputs),
    (
        "x: \"f32[3, 4]\"",
        "f32[3] = linalg_vector_norm.default(x, inf, [1])",
        "LpNormV2",
        Fault::Attribute("p", Attr::F(2.0)),
    ),
    (
        "x: \"f32[3, 4]\"",
        "f32[3] = var.correction(x, [1], correction = 0)",
        "ReduceStdV2Update",
        Fault::Attribute("correction", Attr::I(1)),
    ),
    (
        "x: \"f32[3, 4]\"",
        "f32[3] = var.correction(x, [1], correction = 0)",
        "ReduceStdV2Update",
        Fault::Attribute("if_std", Attr::B(true)),
    ),
    (
        "x: \"f32[3, 4]\", m: \"b8[3]\"",
        "f32[u0, 4] = index.Tensor(x, [m])",
        "NonZero",
        Fault::Attribute("transpose", Attr::B(true)),
    ),
    (
        "x: \"f32[3, 4]\", j: \"i64[2]\", v: \"f32[2, 4]\"",
        "f32[3, 4] = index_put.default(x, [j], v)",
        "Less",
        Fault::Kind("Greater"),
    ),
    (
        "x: \"f32[3, 4]\", j: \"i64[2, 4]\"",
        "f32[3, 4] = scatter.value(x, 0, j, 2.5)",
        "ScatterElements",
        Fault::Attribute("axis", Attr::I(1)),
    ),
    ("x: \"f32[3, 4]\", y: \"f32[3, 4]\"", "f32[3, 4] = atan2.default(x, y)", "Atan2", Fault::Inputs),
    ("x: \"f32[3, 4]\"", "f32[3, 4] = cumprod.default(x, 1)", "Cumprod", Fault::Attribute("reverse", Attr::B(true))),
    (
        "x: \"f32[3, 4]\", b: \"f32[5]\"",
        "i64[3, 4] = bucketize.Tensor(x, b)",
        "SearchSorted",
        Fault::Attribute("right", Attr::B(true)),
    ),
    (
        "x: \"f32[3, 4]\", m: \"b8[3, 4]\", s: \"f32[12]\"",
        "f32[3, 4] = masked_scatter.default(x, m, s)",
        "MaskedScatter",
        Fault::Kind("MaskedFill"),
    ),
    ("x: \"i64[3, 4]\"", "b8[3, 4] = lt.Scalar(x, 2.5)", "Less", Fault::Inputs),
    ("g: \"f32[3, 4]\", x: \"f32[3, 4]\"", "f32[3, 4] = gelu_backward.default(g, x)", "GeluGrad", Fault::Inputs),
    (
        "x: \"bf16[3, 4]\"",
        "i64[3, 1] = argmax.default(x, -1, True)",
        "ArgMaxWithValue",
        Fault::Attribute("dimension", Attr::I(0)),
    ),
];

fn program(inputs: &str, call: &str) -> String {
    let (ty, call) = call.split_once(" = ").unwrap();
    format!(
        "class GraphModule(torch.nn.Module):\n    def forward(self, {inputs}):\n        y: \"{ty}\" = torch.ops.aten.{call}\n        return (y,)\n"
    )
}

#[test]
fn an_operator_that_is_made_otherwise_is_not_taken_for_the_call() {
    let registry = Registry::standard();
    for (inputs, call, kind, fault) in FAULTS {
        let graph = text::read(&program(inputs, call), &text::ReadOptions::of_file("t.fx")).unwrap();
        let mut lowered = ge::lower_with(&graph, &Options::default(), &registry).unwrap();
        let whole = judged(&graph, &lowered, &registry).verdict;
        assert_eq!(whole.verdict, Finding::Proved, "{call}: {}", whole.reason);
        spoil(&mut lowered, kind, fault);
        let spoilt = judged(&graph, &lowered, &registry).verdict;
        assert_ne!(spoilt.verdict, Finding::Proved, "{call}: {kind} made otherwise");
    }
}

/// What GE sees by strides is the operand as it is there, dense, and not the memory of which PyTorch's operand is a view.
#[test]
fn strides_are_those_of_the_dense_operand() {
    let seen = |operand: &str| {
        let text = format!(
            "class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[3, 4]\"):
        r: \"f32[3, 4]\" = torch.ops.aten.relu.default(x)
        p: \"f32[4, 3]\" = torch.ops.aten.permute.default(r, [1, 0])
        y: \"f32[2, 2]\" = torch.ops.aten.as_strided.default({operand}, [2, 2], [2, 1], 0)
        z: \"f32[2, 2]\" = torch.ops.aten.sin.default(y)
        return (z,)
"
        );
        let registry = Registry::standard();
        let mut graph = text::read(&text, &text::ReadOptions::of_file("t.fx")).unwrap();
        assert!(registry.check_types(&mut graph).is_empty());
        let lowered = ge::lower_with(&graph, &Options::default(), &registry).unwrap();
        judged(&graph, &lowered, &registry).verdict.verdict
    };
    assert_eq!(seen("r"), Finding::Proved);
    assert_eq!(seen("p"), Finding::Refuted);
}
