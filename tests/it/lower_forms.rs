//! Forms of arguments: numbers beside other types, dimensions from the end, empty lists, masks. Each is lowered, read back and judged, and what is
//! said is on record; and a definition that is new refuses its operator when that is made otherwise.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::common::committed;
use airlock::formats::text;
use airlock::graph::Graph;
use airlock::lower::ge::proto::{AttrDef, DataType, Value as Attr};
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
    if committed::is_updated() {
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
    /// A text attribute has another value.
    Text(&'static str, &'static str),
    /// Another operator is made of the same.
    Kind(&'static str),
    /// Two of its inputs are exchanged.
    Between(usize, usize),
    /// It is passed over: who reads it reads its first input.
    PassedOver,
}

fn spoil(lowered: &mut Lowered, kind: &str, fault: &Fault) {
    let op = lowered.graph.op.iter_mut().rev().find(|op| op.r#type == kind).unwrap_or_else(|| panic!("{kind}"));
    match fault {
        Fault::Inputs => op.input.swap(0, 1),
        Fault::Attribute(name, value) => {
            let old = op.attr.insert((*name).to_string(), AttrDef { value: Some(value.clone()) });
            assert_ne!(old.and_then(|a| a.value).as_ref(), Some(value), "{kind}: {name}");
        }
        Fault::Text(name, value) => {
            let old = op.attr.insert((*name).to_string(), Attr::S(value.as_bytes().to_vec()).into());
            assert!(old.is_some(), "{kind}: {name}");
        }
        Fault::Kind(other) => op.r#type = (*other).to_string(),
        Fault::Between(a, b) => op.input.swap(*a, *b),
        Fault::PassedOver => {
            let (own, first) = (format!("{}:0", op.name), op.input[0].clone());
            let readers = lowered.graph.op.iter_mut().flat_map(|op| op.input.iter_mut());
            readers.filter(|input| **input == own).for_each(|input| input.clone_from(&first));
        }
    }
}

const FAULTS: &[(&str, &str, &str, Fault)] = &[
    (
        "g: \"f32[1, 1, 4, 4]\"",
        "f32[1, 1, 2, 2] = upsample_nearest2d_backward.default(g, [4, 4], [1, 1, 2, 2], 2, 2)",
        "ResizeNearestNeighborV2Grad",
        Fault::Attribute("align_corners", Attr::B(true)),
    ),
    (
        "x: \"f32[2, 3]\"",
        "f32[4] = new_empty.default(x, [4])",
        "Empty",
        Fault::Attribute("dtype", Attr::Dt(DataType::Float16 as i64)),
    ),
    (
        "g: \"f32[2, 3]\", x: \"f32[2, 3]\", b: \"f32[0]\"",
        "f32[2, 3] = log_sigmoid_backward.default(g, x, b)",
        "LogSigmoidGrad",
        Fault::Inputs,
    ),
    (
        "x: \"f32[4]\", y: \"f32[4]\"",
        "f32[4] = div.Tensor_mode(x, y, rounding_mode = 'floor')",
        "FloorDiv",
        Fault::Inputs,
    ),
    ("x: \"f32[4, 3]\"", "f32[4, 3] = bernoulli.p(x, 0.25)", "StatelessBernoulli", Fault::Inputs),
    (
        "x: \"f32[4]\"",
        "f32[4] = rand.default([4], device = device(type='cpu'))",
        "StatelessRandomUniformV2",
        Fault::Kind("StatelessRandomNormalV2"),
    ),
    (
        "x: \"f32[4]\"",
        "f32[4] = randn.default([4], device = device(type='cpu'))",
        "StatelessRandomNormalV2",
        Fault::Attribute("dtype", Attr::Dt(DataType::Float16 as i64)),
    ),
    ("x: \"f32[4]\"", "i64[4] = randint.low(-3, 10, [4], device = device(type='cpu'))", "Add", Fault::Kind("Sub")),
    (
        "x: \"f32[4, 6]\"",
        "i64[4, 2] = multinomial.default(x, 2)",
        "MultinomialWithReplacement",
        Fault::Attribute("numsamples", Attr::I(3)),
    ),
    ("x: \"f32[4]\"", "f32[4] = uniform.default(x, -1.0, 2.0)", "Sub", Fault::Inputs),
    ("x: \"f16[3, 4]\", y: \"i8[3, 4]\"", "b8[3, 4] = gt.Tensor(x, y)", "Greater", Fault::Inputs),
    (
        "x: \"f32[20]\", y: \"f32[20]\"",
        "f32[20] = div.Tensor_mode(x, y, rounding_mode = 'trunc')",
        "Trunc",
        Fault::Kind("Floor"),
    ),
    (
        "g: \"f32[2, 3]\", x: \"f32[2, 6]\"",
        "f32[2, 6] = glu_backward.default(g, x, 1)",
        "GLUGrad",
        Fault::Attribute("dim", Attr::I(0)),
    ),
    (
        "g: \"f32[1, 2, 4, 4]\", x: \"f32[1, 2, 2, 2]\"",
        "f32[1, 2, 2, 2] = reflection_pad2d_backward.default(g, x, [1, 1, 1, 1])",
        "PadV3Grad",
        Fault::Text("mode", "edge"),
    ),
    (
        "x: \"f32[1, 2, 4, 4, 4]\"",
        "f32[1, 2, 2, 2, 2] = avg_pool3d.default(x, [3, 3, 3], [2, 2, 2], [1, 1, 1])",
        "AvgPool3D",
        Fault::Attribute("count_include_pad", Attr::B(false)),
    ),
    (
        "x: \"f32[3, 4]\", j: \"i64[3, 4]\", v: \"f32[3, 4]\"",
        "f32[3, 4] = scatter_reduce.two(x, 0, j, v, 'amax')",
        "TensorScatterMax",
        Fault::Kind("TensorScatterMin"),
    ),
    (
        "x: \"f32[3, 4]\", j: \"i64[3, 4]\", v: \"f32[3, 4]\"",
        "f32[3, 4] = scatter_reduce.two(x, 0, j, v, 'amax')",
        "Pack",
        Fault::Inputs,
    ),
    (
        "x: \"f32[3, 3]\", b: \"f32[3, 2]\"",
        "f32[3, 2] = linalg_solve_triangular.default(x, b, upper = True)",
        "MatrixTriangularSolve",
        Fault::Attribute("lower", Attr::B(true)),
    ),
    ("x: \"f32[3]\", q: \"f32[3]\"", "f32[3] = special_zeta.default(x, q)", "Zeta", Fault::Inputs),
    ("x: \"f32[3]\", q: \"f32[3]\"", "f32[3] = igamma.default(x, q)", "Igamma", Fault::Kind("Igammac")),
    ("x: \"f32[3]\", q: \"f32[3]\"", "f32[3] = nextafter.default(x, q)", "NextAfter", Fault::Inputs),
    (
        "x: \"f32[1, 2, 3, 3, 3]\", w: \"f32[2, 4, 2, 2, 2]\"",
        "f32[1, 4, 6, 6, 6] = convolution.default(x, w, None, [2, 2, 2], [0, 0, 0], [1, 1, 1], True, [0, 0, 0], 1)",
        "Conv3DTranspose",
        Fault::Attribute("groups", Attr::I(2)),
    ),
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
    ("x: \"i64[5]\", w: \"f32[5]\"", "f32[u0] = bincount.default(x, w, 4)", "Bincount", Fault::Inputs),
    ("x: \"i64[5]\"", "i64[u0] = bincount.default(x, None, 4)", "Maximum", Fault::Kind("Minimum")),
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
    (
        "x: \"f32[1, 2, 4, 4]\"",
        "f32[1, 2, 8, 8] = upsample_bicubic2d.default(x, [8, 8], False)",
        "Resize",
        Fault::Text("coordinate_transformation_mode", "align_corners"),
    ),
    (
        "x: \"f32[1, 2, 4, 4]\", g: \"f32[1, 3, 3, 2]\"",
        "f32[1, 2, 3, 3] = grid_sampler_2d.default(x, g, 0, 0, True)",
        "GridSampler2D",
        Fault::Attribute("align_corners", Attr::B(false)),
    ),
    (
        "x: \"u8[4, 8]\", y: \"i8[8, 5]\"",
        "i32[4, 5] = _int_mm.default(x, y)",
        "MatMulV2",
        Fault::Attribute("transpose_x2", Attr::B(true)),
    ),
    (
        "x: \"bf16[8, 16]\", w: \"bf16[2, 16, 8]\", o: \"i32[2]\"",
        "bf16[8, 8] = _grouped_mm.default(x, w, o)",
        "GroupedMatmul",
        Fault::Attribute("group_list_type", Attr::I(1)),
    ),
    (
        "x: \"bf16[8, 16]\", w: \"bf16[2, 16, 8]\", o: \"i32[2]\"",
        "bf16[8, 8] = _grouped_mm.default(x, w, o)",
        "GroupedMatmul",
        Fault::Attribute("split_item", Attr::I(2)),
    ),
    (
        "x: \"f32[5, 4]\", t: \"i64[5]\", w: \"f32[4]\"",
        "f32[5, 4] = mse_loss.default(x, x, 0)",
        "MseLoss",
        Fault::Text("reduction", "sum"),
    ),
    (
        "x: \"f32[s, 4]\", j: \"i64[2]\", v: \"f32[]\"",
        "f32[s, 4] = index_put.default(x, [j], v)",
        "SelectV2",
        Fault::Inputs,
    ),
    (
        "x: \"f32[2, 4, 7]\", w: \"f32[4]\", b: \"f32[4]\", m: \"f32[4]\", v: \"f32[4]\"",
        "f32[2, 4, 7] = batch_norm.default(x, w, b, m, v, False, 0.1, 1e-05, False)",
        "BNInfer",
        Fault::Attribute("epsilon", Attr::F(0.5)),
    ),
    (
        "g: \"f32[1, 2, 3, 3]\", x: \"f32[1, 2, 6, 6]\"",
        "f32[1, 2, 6, 6] = avg_pool2d_backward.default(g, x, [3, 3], [2, 2], [1, 1], False, True, None)",
        "AvgPoolV2Grad",
        Fault::Attribute("exclusive", Attr::B(true)),
    ),
    (
        "g: \"f32[1, 2, 3, 3]\", x: \"f32[1, 2, 6, 6]\"",
        "f32[1, 2, 6, 6] = avg_pool2d_backward.default(g, x, [2, 2], [2, 2], [0, 0], False, True, None)",
        "AvgPoolV2Grad",
        Fault::Attribute("divisor_override", Attr::I(3)),
    ),
    ("x: \"i32[12]\"", "i32[12] = lt_.Scalar(x, -2)", "Less", Fault::Inputs),
    ("x: \"i32[12]\"", "i32[12] = lt_.Scalar(x, -2)", "Cast", Fault::Attribute("dst_type", Attr::Dt(9))),
    ("x: \"f16[5, 3]\"", "f16[] = std.default(x)", "ReduceStdWithMean", Fault::Attribute("correction", Attr::I(0))),
    ("x: \"f16[5, 3]\"", "f16[5] = std.dim(x, [1])", "ReduceMean", Fault::Attribute("keep_dims", Attr::B(true))),
    ("x: \"f32[4, 5]\"", "f32[3] = diag.default(x, 2)", "AsStrided", Fault::Inputs),
    (
        "x: \"f16[3, 4]\"",
        "f32[3, 4] = _softmax.default(x, -1, True)",
        "SoftmaxV2",
        Fault::Attribute("half_to_float", Attr::B(false)),
    ),
    (
        "x: \"bf16[3, 4]\"",
        "f32[3, 4] = _log_softmax.default(x, 0, True)",
        "Cast",
        Fault::Attribute("dst_type", Attr::Dt(1)),
    ),
    (
        "x: \"f32[5]\", v: \"f32[5]\", s: \"i64[5]\"",
        "i64[5] = searchsorted.Tensor(x, v, sorter = s)",
        "SearchSorted",
        Fault::Inputs,
    ),
    (
        "x: \"f32[5]\", v: \"f32[5]\", s: \"i64[5]\"",
        "i64[5] = searchsorted.Tensor(x, v, right = True, sorter = s)",
        "SearchSorted",
        Fault::Attribute("right", Attr::B(false)),
    ),
    (
        "x: \"f32[1, 2, 6, 6]\"",
        "f32[1, 2, 3, 3] = upsample_nearest2d_backward.default(x, [6, 6], [1, 2, 3, 3], 2.0, 2.0)",
        "ResizeNearestNeighborV2Grad",
        Fault::Attribute("half_pixel_centers", Attr::B(true)),
    ),
    ("x: \"i32[3, 4]\"", "f32[3, 4] = clamp_min.default(x, 2.5)", "ClipByValueV2", Fault::Between(1, 2)),
    (
        "x: \"f32[4, 6]\"",
        "i64[4, 2] = multinomial.default(x, 2, True)",
        "MultinomialWithReplacement",
        Fault::Attribute("replacement", Attr::B(false)),
    ),
    ("x: \"f16[3, 4]\"", "f16[3, 4] = uniform.default(x, -1.0, 2.0)", "Sub", Fault::Inputs),
    ("x: \"f32[3, 4]\"", "f32[3, 4] = exponential.default(x, 1.5)", "Maximum", Fault::Kind("Minimum")),
    ("x: \"f32[3, 4]\"", "f32[3, 4] = exponential.default(x, 1.5)", "Mul", Fault::Kind("Add")),
    ("x: \"f32[3, 4]\"", "f32[3, 4] = exponential.default(x, 1.5)", "Log", Fault::Attribute("base", Attr::F(2.0))),
    (
        "x: \"f32[3, 4]\"",
        "f32[3, 4] = normal_.default(x, 1.0, 2.0)",
        "StatelessRandomNormalV2",
        Fault::Kind("StatelessRandomUniformV2"),
    ),
    ("x: \"f32[3, 4]\"", "f32[3, 4] = normal_.default(x, 1.0, 2.0)", "Add", Fault::Kind("Mul")),
    ("x: \"i64[3, 4]\"", "i64[3, 4] = randint_like.low_dtype(x, -3, 10)", "Add", Fault::Kind("Sub")),
    ("x: \"f32[3, 4]\"", "f32[3, 4] = bernoulli_.float(x, 0.25)", "StatelessBernoulli", Fault::Inputs),
    (
        "x: \"f32[3, 4]\", m: \"b8[4]\", s: \"f32[12]\"",
        "f32[3, 4] = masked_scatter.default(x, m, s)",
        "MaskedScatter",
        Fault::Inputs,
    ),
    ("x: \"f32[3, 4]\", y: \"f32[4]\"", "f32[3] = matmul.default(x, y)", "MatMul", Fault::Inputs),
    ("x: \"i64[3, 5]\"", "i64[1, 5] = argmin.default(x, 0, True)", "ArgMin", Fault::Kind("ArgMaxV2")),
    (
        "g: \"f32[1, 2, 3, 3]\", x: \"f32[1, 2, 6, 6]\", i: \"i64[1, 2, 3, 3]\"",
        "f32[1, 2, 6, 6] = _adaptive_avg_pool2d_backward.default(g, x)",
        "AdaptiveAvgPool2dGrad",
        Fault::Kind("AvgPoolV2Grad"),
    ),
    (
        "x: \"f32[1, 2, 4]\"",
        "f32[1, 2, 7] = replication_pad1d.default(x, [1, 2])",
        "PadV3",
        Fault::Text("mode", "reflect"),
    ),
    ("x: \"f32[2, 4]\"", "f32[2, 7] = replication_pad1d.default(x, [1, 2])", "PadV3", Fault::Text("mode", "reflect")),
    (
        "r: \"i64[4]\"",
        "i64[10] = repeat_interleave.Tensor(r, output_size = 10)",
        "SearchSorted",
        Fault::Attribute("right", Attr::B(false)),
    ),
    ("x: \"f32[4, 5]\"", "i64[6, 2] = nonzero_static.default(x, size = 6)", "LessEqual", Fault::Inputs),
    ("x: \"f32[3, 4]\", m: \"b8[4]\"", "f32[u0] = masked_select.default(x, m)", "MaskedSelect", Fault::Inputs),
    ("x: \"i64[3]\", a: \"i64[3]\"", "i64[3] = clamp.Tensor(x, a)", "ClipByValueV2", Fault::Between(1, 2)),
    (
        "x: \"f32[3, 4]\", j: \"i64[2, 4]\", v: \"f32[2, 4]\"",
        "f32[3, 4] = scatter_reduce.two(x, 0, j, v, 'sum')",
        "ScatterElements",
        Fault::Text("reduction", "mul"),
    ),
    (
        "x: \"i64[3, 4]\", j: \"i64[2, 4]\", v: \"i64[2, 4]\"",
        "i64[3, 4] = scatter_reduce.two(x, 0, j, v, 'amin')",
        "TensorScatterMin",
        Fault::Kind("TensorScatterMax"),
    ),
    (
        "x: \"f32[1, 2, 4, 4]\"",
        "f32[1, 2, 6, 6] = upsample_bilinear2d.default(x, [6, 6], True, 1.7, 1.7)",
        "ResizeBilinearV2",
        Fault::Attribute("half_pixel_centers", Attr::B(true)),
    ),
    (
        "x: \"f32[3, 4]\"",
        "f32[3, 4] = normal.float_float(1.0, 2.0, [3, 4], device = device(type='npu', index=0))",
        "Add",
        Fault::Kind("Mul"),
    ),
    // What is put within: not brought back, at the front, or as it lies.
    (PUT, "f32[3, 3] = index_put.default(x, [None, j], v)", "Transpose", Fault::PassedOver),
    (PUT, "f32[3, 3] = index_put.default(x, [None, j], v)", "ScatterNdUpdate", Fault::Kind("ScatterNdAdd")),
    (PUT, "f32[3, 3] = index_put.default(x, [None, j], v, True)", "ScatterNdAdd", Fault::Kind("ScatterNdUpdate")),
    (PUT, "f32[3, 3] = index_put.default(x, [None, j], v)", "Add", Fault::Kind("Sub")),
    // A row that is put in the place of another: a column, or added.
    ("x: \"f32[3, 3]\", r: \"f32[3]\"", SELECTED, "ScatterElements", Fault::Attribute("axis", Attr::I(1))),
    ("x: \"f32[3, 3]\", r: \"f32[3]\"", SELECTED, "ScatterElements", Fault::Text("reduction", "add")),
    // What is chosen by a mask: the other one, or what the mask does not hold.
    ("x: \"f32[3, 3]\"", "f32[3, 3] = nan_to_num.default(x, 1.0)", "NotEqual", Fault::Kind("Equal")),
    ("m: \"b8[3, 3]\", x: \"f32[3, 3]\", y: \"f32[3, 3]\"", CHOSEN, "SelectV2", Fault::Between(1, 2)),
    ("x: \"f32[3, 3]\", j: \"i64[3, 3]\"", "f32[3, 3] = gather.default(x, 0, j)", "GatherElements", {
        Fault::Attribute("dim", Attr::I(1))
    }),
    ("x: \"f32[3, 3]\", j: \"i64[]\"", "f32[3, 1] = index_select.default(x, 1, j)", "Unsqueeze", Fault::PassedOver),
    // The inverse transform by none, or another, of its scales.
    ("x: \"c64[2, 8]\"", "c64[2, 8] = _fft_c2c.default(x, [1], 2, False)", "IFFT", Fault::Kind("FFT")),
    // Numbers of other types, and quotients that are rounded.
    ("x: \"i64[3]\", y: \"i32[3]\"", "i64[3] = sub.Tensor(x, y, alpha = 2)", "Mul", Fault::Kind("Add")),
    ("x: \"f16[3]\", y: \"f32[]\"", "f16[3] = div.Tensor(x, y)", "RealDiv", Fault::Inputs),
    ("x: \"f16[3]\", y: \"f32[]\"", "f16[3] = div.Tensor(x, y)", "Cast", Fault::Attribute("dst_type", Attr::Dt(27))),
    ("x: \"f16[3]\"", "b8[3] = le.Scalar(x, 2.5)", "LessEqual", Fault::Kind("Less")),
    ("x: \"f16[3]\"", "b8[3] = le.Scalar(x, 2.5)", "LessEqual", Fault::Inputs),
    ("x: \"i64[3]\", y: \"i64[3]\"", TRUNCATED, "TruncateDiv", Fault::Kind("FloorDiv")),
    ("x: \"i64[3]\", y: \"i64[3]\"", TRUNCATED, "TruncateDiv", Fault::Inputs),
    ("x: \"f32[1, 2, 3, 3, 3]\"", VOLUME, "UpsampleTrilinear3d", Fault::Attribute("align_corners", Attr::B(true))),
    ("x: \"f16[3]\"", "f16[3] = div.Tensor_mode(x, 0.3, rounding_mode = 'trunc')", "Trunc", Fault::PassedOver),
    (
        "x: \"f16[3, 4]\"",
        "f16[3] = var.correction(x, [1])",
        "ReduceStdV2Update",
        Fault::Attribute("correction", Attr::I(0)),
    ),
    ("x: \"f32[s0, 4]\"", "f32[s0, 4] = roll.default(x, [1], [0])", "ConcatV2", Fault::Inputs),
    ("x: \"f32[3, 3]\", m: \"b8[3]\", s: \"f32[]\"", "f32[3, 3] = index_put.default(x, [None, m], s)", "MaskedFill", {
        Fault::Between(1, 2)
    }),
    ("x: \"f32[2, 4, 4, 4, 4]\"", "f32[2, 4, 2, 2, 2] = avg_pool3d.default(x, [2, 2, 2])", "AvgPool3D", {
        Fault::Attribute("divisor_override", Attr::I(3))
    }),
    ("x: \"i64[3]\"", "f32[3] = exp.default(x)", "Cast", Fault::Attribute("dst_type", Attr::Dt(1))),
    ("x: \"i64[3]\"", "f32[3] = log2.default(x)", "Log", Fault::Attribute("base", Attr::F(10.0))),
];

const PUT: &str = "x: \"f32[3, 3]\", j: \"i64[3]\", v: \"f32[3, 3]\"";
const SELECTED: &str = "f32[3, 3] = select_scatter.default(x, r, 0, 1)";
const VOLUME: &str = "f32[1, 2, 6, 6, 6] = upsample_trilinear3d.default(x, [6, 6, 6], False, 2.0, 2.0, 2.0)";
const CHOSEN: &str = "f32[3, 3] = where.self(m, x, y)";
const TRUNCATED: &str = "i64[3] = div.Tensor_mode(x, y, rounding_mode = 'trunc')";

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

/// The gradients of a convolution that keeps its sizes, of as many channels out as in: whatever is exchanged has the same type.
const GRADIENTS: &str = r#"class GraphModule(torch.nn.Module):
    def forward(self, g: "f32[3, 3, 3, 3]", x: "f32[3, 3, 3, 3]", w: "f32[3, 3, 3, 3]"):
        convolution_backward = torch.ops.aten.convolution_backward.default(g, x, w, [3], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True])
        getitem: "f32[3, 3, 3, 3]" = convolution_backward[0]
        getitem_1: "f32[3, 3, 3, 3]" = convolution_backward[1]
        getitem_2: "f32[3]" = convolution_backward[2]
        return (getitem, getitem_1, getitem_2)
"#;

/// The gradient of a maximum, by the places that the pool found.
const OF_LARGEST: &str = r#"class GraphModule(torch.nn.Module):
    def forward(self, g: "f32[1, 2, 3, 3]", x: "f32[1, 2, 6, 6]"):
        max_pool2d_with_indices = torch.ops.aten.max_pool2d_with_indices.default(x, [2, 2], [2, 2])
        getitem: "f32[1, 2, 3, 3]" = max_pool2d_with_indices[0]
        getitem_1: "i64[1, 2, 3, 3]" = max_pool2d_with_indices[1]
        max_pool2d_with_indices_backward: "f32[1, 2, 6, 6]" = torch.ops.aten.max_pool2d_with_indices_backward.default(g, x, [2, 2], [2, 2], [0, 0], [1, 1], False, getitem_1)
        return (getitem, max_pool2d_with_indices_backward)
"#;

#[test]
fn a_gradient_of_other_operands_is_not_taken_for_the_call() {
    let registry = Registry::standard();
    let faults = [
        (GRADIENTS, "Conv2DBackpropInput", (1, 2)),
        (GRADIENTS, "Conv2DBackpropFilter", (0, 2)),
        (OF_LARGEST, "MaxPoolGradWithArgmaxV1", (0, 2)),
        (OF_LARGEST, "MaxPoolGradWithArgmaxV1", (1, 2)),
    ];
    for (program, kind, (a, b)) in faults {
        let graph = text::read(program, &text::ReadOptions::of_file("t.fx")).unwrap();
        let mut lowered = ge::lower_with(&graph, &Options::default(), &registry).unwrap();
        let whole = judged(&graph, &lowered, &registry).verdict;
        assert_eq!(whole.verdict, Finding::Proved, "{kind}: {}", whole.reason);
        let op = lowered.graph.op.iter_mut().find(|op| op.r#type == kind).unwrap();
        op.input.swap(a, b);
        let spoilt = judged(&graph, &lowered, &registry).verdict;
        assert_ne!(spoilt.verdict, Finding::Proved, "{kind} of other operands");
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

/// Strides that are those of windows are windows, and of other windows no others.
#[test]
fn windows_are_seen_by_strides() {
    let text = "class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[2, 9]\"):
        y: \"f32[2, 4, 3]\" = torch.ops.aten.unfold.default(x, 1, 3, 2)
        z: \"f32[2, 4, 3]\" = torch.ops.aten.sin.default(y)
        return (z,)
";
    let registry = Registry::standard();
    let graph = text::read(text, &text::ReadOptions::of_file("t.fx")).unwrap();
    let mut lowered = ge::lower_with(&graph, &Options::default(), &registry).unwrap();
    assert_eq!(judged(&graph, &lowered, &registry).verdict.verdict, Finding::Proved);
    let seen = lowered.graph.op.iter().find(|op| op.r#type == "AsStrided").unwrap();
    let strides = seen.input[2].trim_end_matches(":0").to_string();
    let strides = lowered.graph.op.iter_mut().find(|op| op.name == strides).unwrap();
    let Some(Some(Attr::T(tensor))) = strides.attr.get_mut("value").map(|a| &mut a.value) else {
        panic!("no constant")
    };
    assert_eq!(tensor.data[8], 2);
    tensor.data[8] = 1;
    assert_ne!(judged(&graph, &lowered, &registry).verdict.verdict, Finding::Proved);
}

fn run_alike(program: &str) {
    use airlock::verify::Question;
    let registry = Registry::standard();
    let mut graph = text::read(program, &text::ReadOptions::of_file("t.fx")).unwrap();
    assert!(registry.check_types(&mut graph).is_empty());
    let mut lowered = ge::lower_with(&graph, &Options::default(), &registry).unwrap();
    let verdict = judged(&graph, &lowered, &registry).verdict;
    assert_eq!(
        (verdict.verdict, verdict.open.as_slice()),
        (Finding::Unknown, &[Question::Values][..]),
        "{}",
        verdict.reason
    );
    // A weight that is another is found by running both.
    let weights = lowered.graph.op.iter_mut().find_map(|op| match op.attr.get_mut("value").map(|a| &mut a.value) {
        Some(Some(Attr::T(tensor))) if tensor.desc.as_ref().is_some_and(|d| d.dtype == DataType::Float as i32) => {
            Some(tensor)
        }
        _ => None,
    });
    let weights = &mut weights.unwrap().data;
    let weighs = weights.chunks_exact(4).position(|w| w[3] & 0x7f > 0x38).unwrap();
    weights[4 * weighs + 3] ^= 0x80;
    assert_eq!(judged(&graph, &lowered, &registry).verdict.verdict, Finding::Refuted);
}

/// What a smooth filter weighs is a constant: nobody shows that, and both graphs give the same where they are run.
#[test]
fn a_smooth_filter_is_a_product_with_what_it_weighs() {
    for name in ["_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"] {
        for (to, corners) in [("[3, 2]", "False"), ("[7, 9]", "False"), ("[3, 4]", "True")] {
            let sizes = to.trim_matches(['[', ']']);
            run_alike(&program(
                "x: \"f32[1, 2, 6, 5]\"",
                &format!("f32[1, 2, {sizes}] = {name}.default(x, {to}, {corners})"),
            ));
        }
    }
}

/// What one call lacks the others behind it lack too: a chain of them is taken apart at once, as long as it may be.
#[test]
fn a_long_chain_of_operators_without_converter_is_taken_apart() {
    let mut lines = String::new();
    for i in 0..60 {
        let before = if i == 0 { "x".to_string() } else { format!("r{}", i - 1) };
        writeln!(lines, "        r{i}: \"f32[4]\" = torch.ops.aten.relu6.default({before})").unwrap();
    }
    let text = format!(
        "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4]\"):\n{lines}        return (r59,)\n"
    );
    let graph = text::read(&text, &text::ReadOptions::of_file("t.fx")).unwrap();
    assert!(ge::lower_with(&graph, &Options::default(), &Registry::standard()).is_ok());
}

/// Two results of one call that have the same type.
fn pair(call: &str) -> String {
    format!(
        "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"i64[3, 3]\"):\n        both = torch.ops.aten.{call}\n        getitem: \"{}\" = both[0]\n        getitem_1: \"{}\" = both[1]\n        return (getitem, getitem_1)\n",
        of_pair(call),
        of_pair(call)
    )
}

fn of_pair(call: &str) -> &'static str {
    if call.contains("topk") {
        "i64[3, 2]"
    } else if call.starts_with("max") || call.starts_with("min") || call.starts_with("kth") {
        "i64[3]"
    } else {
        "i64[3, 3]"
    }
}

#[test]
fn values_and_places_of_a_pair_are_not_taken_for_each_other() {
    let registry = Registry::standard();
    let calls = [
        "sort.default(x, 0)",
        "sort.stable(x, stable = True, descending = True)",
        "topk.default(x, 2)",
        "topk.default(x, 2, 1, False)",
        "max.dim(x, 1)",
        "min.dim(x, 0)",
        "cummax.default(x, 1)",
        "kthvalue.default(x, 2)",
    ];
    for call in calls {
        let graph = text::read(&pair(call), &text::ReadOptions::of_file("t.fx")).unwrap();
        let mut lowered = ge::lower_with(&graph, &Options::default(), &registry).unwrap();
        let end = lowered.graph.op.iter_mut().find(|op| op.r#type == "NetOutput").unwrap();
        end.input.swap(0, 1);
        let spoilt = judged(&graph, &lowered, &registry).verdict;
        assert_eq!(spoilt.verdict, Finding::Refuted, "{call}: {}", spoilt.reason);
    }
}

/// Results of one type may be exchanged without anything that types show.
#[test]
fn results_of_attention_stand_in_their_places() {
    let program = "class GraphModule(torch.nn.Module):
    def forward(self, q: \"f32[2, 4, 8, 8]\", k: \"f32[2, 4, 8, 8]\", v: \"f32[2, 4, 8, 8]\"):
        c = torch.ops.npu.npu_fusion_attention.default(q, k, v, 4, 'BNSD', scale = 0.25)
        a: \"f32[2, 4, 8, 8]\" = c[0]
        m: \"f32[2, 4, 8, 8]\" = c[1]
        s: \"f32[2, 4, 8, 8]\" = c[2]
        return (a, m, s)
";
    let registry = Registry::standard();
    let graph = text::read(program, &text::ReadOptions::of_file("t.fx")).unwrap();
    let lowered = ge::lower_with(&graph, &Options::default(), &registry).unwrap();
    let whole = judged(&graph, &lowered, &registry).verdict;
    assert!(whole.accepted && whole.verdict == Finding::Proved, "{}", whole.reason);
    for (a, b) in [(0, 1), (1, 2), (0, 2)] {
        let mut spoilt = lowered.clone();
        spoil(&mut spoilt, "NetOutput", &Fault::Between(a, b));
        assert_ne!(judged(&graph, &spoilt, &registry).verdict.verdict, Finding::Proved, "{a} and {b}");
    }
}
