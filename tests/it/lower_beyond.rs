//! What is lowered where TorchAir has no converter, what is said of it, and what is refused.

use airlock::formats::text;
use airlock::graph::Graph;
use airlock::lower::ge::proto::{AttrDef, OpDef, Value as Attr};
use airlock::lower::ge::{self, Format, LowerError, Lowered, Options, lower};
use airlock::ops::Registry;
use airlock::pipeline::judge_lowered;
use airlock::verify::{Finding, JudgeOptions};

fn graph(inputs: &str, lines: &[&str], returned: &str) -> Graph {
    let body: String = lines.iter().map(|l| format!("        {l}\n")).collect();
    let text = format!(
        "class GraphModule(torch.nn.Module):\n    def forward(self, {inputs}):\n{body}        return ({returned},)\n"
    );
    text::read(&text, &text::ReadOptions::of_file("t.fx")).unwrap()
}

fn kinds(lowered: &Lowered) -> Vec<&str> {
    lowered.graph.op.iter().map(|op| op.r#type.as_str()).collect()
}

fn refused(graph: &Graph, options: &Options) -> Vec<(String, String)> {
    match lower(graph, options) {
        Err(LowerError::Unsupported { nodes }) => nodes.into_iter().map(|n| (n.node, n.reason)).collect(),
        other => panic!("{:?}", other.map(|l| kinds(&l).join(" "))),
    }
}

#[test]
fn an_operator_without_converter_is_taken_apart_and_that_is_said() {
    let g = graph("x: \"f32[2, 4]\"", &["y: \"f32[2, 4]\" = torch.ops.aten.relu6.default(x)"], "y");
    let lowered = lower(&g, &Options::default()).unwrap();
    assert!(kinds(&lowered).len() > 2, "{:?}", kinds(&lowered));
    assert_eq!(lowered.remarks.len(), 1);
    assert!(lowered.remarks[0].what.starts_with("has no converter; taken apart into aten."), "{:?}", lowered.remarks);
    let stops = refused(&g, &Options { decompose: false, ..Options::default() });
    assert_eq!(stops[0].0, "y");
}

#[test]
fn what_core_graphs_hold_is_converted_and_that_is_said() {
    let g = graph("x: \"f32[2, 4]\"", &["y: \"f32[2]\" = torch.ops.aten.amax.default(x, [1])"], "y");
    let lowered = lower(&g, &Options::default()).unwrap();
    assert!(kinds(&lowered).contains(&"ReduceMax"));
    assert_eq!(lowered.remarks[0].what, "TorchAir has no converter for it");
    assert_eq!(refused(&g, &Options { decompose: false, ..Options::default() }).len(), 1);
}

#[test]
fn every_node_that_cannot_be_lowered_is_named_also_behind_another() {
    let lines = [
        "a: \"f32[2]\" = torch.ops.demo.one.default(x)",
        "b: \"f32[2]\" = torch.ops.demo.two.default(a)",
        "c: \"f32[2]\" = torch.ops.aten.relu.default(b)",
    ];
    let found = refused(&graph("x: \"f32[2]\"", &lines, "c"), &Options::default());
    assert_eq!(found.iter().map(|(node, _)| node.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert!(found[0].1.contains("operator file"), "{found:?}");
}

#[test]
fn an_argument_that_no_parameter_takes_is_refused() {
    let line = "y: \"f16[2, 4]\" = torch.ops.npu.npu_swiglu.default(x, dim = -1, more = 2)";
    let found = refused(&graph("x: \"f16[2, 8]\"", &[line], "y"), &Options::default());
    assert_eq!(found[0].1, "argument more is not supported");
}

#[test]
fn a_users_operator_is_lowered_by_its_name() {
    let line = "r: \"f32[2]\" = torch.ops.mine.real_div.default(x, y)";
    let lowered = lower(&graph("x: \"f32[2]\", y: \"f32[2]\"", &[line], "r"), &Options::default()).unwrap();
    let made: Vec<&OpDef> = lowered.graph.op.iter().filter(|op| op.r#type == "RealDiv").collect();
    assert_eq!(made[0].input, ["x:0", "y:0"]);
    assert_eq!(lowered.remarks[0].what, "lowered by its name to GE's RealDiv");
    let line = "r: \"f32[2]\" = torch.ops.mine.real_div.default(x)";
    assert!(refused(&graph("x: \"f32[2]\"", &[line], "r"), &Options::default())[0].1.contains("with 1 tensors"));
}

#[test]
fn who_reads_after_a_write_reads_what_was_written() {
    let lines = [
        "a: \"f32[2]\" = torch.ops.aten.relu.default(y)",
        "w: \"f32[2]\" = torch.ops.aten.copy_.default(x, a)",
        "s: \"f32[2]\" = torch.ops.aten.sin.default(x)",
    ];
    let lowered = lower(&graph("x: \"f32[2]\", y: \"f32[2]\"", &lines, "s"), &Options::default()).unwrap();
    let sin = lowered.graph.op.iter().find(|op| op.r#type == "Sin").unwrap();
    assert_eq!(sin.input, ["Relu:0"]);
    assert!(lowered.host.output_ref_input.values().any(|i| *i == 0), "{:?}", lowered.host);
}

#[test]
fn what_is_written_by_another_name_is_written_too_and_a_part_is_read_again() {
    let written = |view: &str, out: &str| {
        let lines = [
            view,
            "w: \"f32[2]\" = torch.ops.aten.copy_.default(x, y)",
            "s: \"f32[2]\" = torch.ops.aten.sin.default(x)",
            out,
        ];
        lower(&graph("x: \"f32[2]\", y: \"f32[2]\"", &lines, "s, t"), &Options::default())
    };
    let alias = "v: \"f32[2]\" = torch.ops.aten.alias.default(x)";
    let lowered = written(alias, "t: \"f32[2]\" = torch.ops.aten.sin.default(v)").unwrap();
    let of: Vec<_> = lowered.graph.op.iter().filter(|op| op.r#type == "Sin").map(|op| op.input[0].as_str()).collect();
    assert_eq!(of, ["y:0", "y:0"]);
    let part = "v: \"f32[]\" = torch.ops.aten.select.int(x, 0, 1)";
    let lowered = written(part, "t: \"f32[]\" = torch.ops.aten.sin.default(v)").unwrap();
    let op = |name: &str| lowered.graph.op.iter().find(|op| op.name == name).unwrap();
    let of: Vec<_> = lowered.graph.op.iter().filter(|op| op.r#type == "Sin").map(|op| op.input[0].as_str()).collect();
    assert_eq!(of[0], "y:0");
    assert_eq!(op(of[1].trim_end_matches(":0")).input[0], "y:0", "the part is taken of what was written");
}

#[test]
fn the_device_decides_which_operator_is_made() {
    let inputs = "x: \"f16[1, 2, 3, 64]\", r1: \"f16[1, 2, 3, 64]\", r2: \"f16[1, 2, 3, 64]\"";
    let line = "y: \"f16[1, 2, 3, 64]\" = torch.ops.npu.npu_rotary_mul.default(x, r1, r2)";
    let g = graph(inputs, &[line], "y");
    assert!(kinds(&lower(&g, &Options::default()).unwrap()).contains(&"RotaryMul"));
    let newer = Options { soc_version: Some("Ascend950PR".into()), ..Options::default() };
    assert!(kinds(&lower(&g, &newer).unwrap()).contains(&"RotaryPositionEmbedding"));
}

#[test]
fn from_cann_8_2_on_equal_parts_in_order_are_exchanged_by_an_operator_of_their_own() {
    let made = |counts: &str, starts: &str, version: Option<&str>| {
        let line = format!(
            "y: \"f32[8, 4]\" = torch.ops.npu_define.all_to_all_single_npu.default(x, {counts}, {starts}, [8, 8, 8, 8], [0, 8, 16, 24], \
             '', [0, 1, 2, 3], 4)"
        );
        let options = Options { cann_version: version.map(Into::into), ..Options::default() };
        let lowered = lower(&graph("x: \"f32[8, 4]\"", &[&line], "y"), &options).unwrap();
        kinds(&lowered).iter().find(|kind| kind.starts_with("Hcom")).unwrap().to_string()
    };
    let (counts, starts) = ("[8, 8, 8, 8]", "[0, 8, 16, 24]");
    for version in ["8.2.RC1", "8.10", "9.0"] {
        assert_eq!(made(counts, starts, Some(version)), "HcomAllToAll");
        assert_eq!(made(counts, "[8, 0, 16, 24]", Some(version)), "HcomAllToAllV", "in another order");
        assert_eq!(made("[8, 8, 4, 12]", starts, Some(version)), "HcomAllToAllV", "parts that differ");
        assert_eq!(made("[4, 4, 4, 4]", starts, Some(version)), "HcomAllToAllV", "half of each part");
    }
    for version in [None, Some("8.1.RC1"), Some("7.9")] {
        assert_eq!(made(counts, starts, version), "HcomAllToAllV");
    }
}

/// One exchange of four ranks: what is sent and received, and where it begins.
fn exchange(counts: &str, starts: &str, received: &str) -> Graph {
    let line = format!(
        "y: \"f32[8, 4]\" = torch.ops.npu_define.all_to_all_single_npu.default(x, {counts}, {starts}, {received}, [0, 8, 16, 24], '', \
         [0, 1, 2, 3], 4)"
    );
    graph("x: \"f32[8, 4]\"", &[&line], "y")
}

#[test]
fn an_exchange_of_equal_parts_in_order_is_proved_and_stands_for_no_other() {
    let (counts, starts) = ("[8, 8, 8, 8]", "[0, 8, 16, 24]");
    let options = Options { cann_version: Some("8.2.RC1".into()), ..Options::default() };
    let lowered = lower(&exchange(counts, starts, counts), &options).unwrap();
    assert!(kinds(&lowered).contains(&"HcomAllToAll"));
    let registry = Registry::standard();
    let verdict = |graph: &Graph, lowered: &Lowered| {
        let bytes = ge::encode(&lowered.graph, Format::Bin);
        judge_lowered(&bytes, &lowered.host, graph, &registry, &JudgeOptions::default()).verdict
    };
    let own = verdict(&exchange(counts, starts, counts), &lowered);
    assert!(own.accepted && own.verdict == Finding::Proved, "{}", own.reason);
    for (counts, starts, received) in [
        ("[8, 8, 4, 12]", starts, counts),
        (counts, starts, "[8, 8, 4, 12]"),
        (counts, "[8, 0, 16, 24]", counts),
        ("[4, 4, 4, 4]", starts, "[4, 4, 4, 4]"),
    ] {
        let other = verdict(&exchange(counts, starts, received), &lowered);
        assert!(other.verdict != Finding::Proved, "{counts} from {starts}, {received} received");
    }
    let mut elsewhere = lowered.clone();
    for op in elsewhere.graph.op.iter_mut().filter(|op| op.r#type == "HcomAllToAll") {
        op.attr.insert("group".into(), AttrDef { value: Some(Attr::S(b"another".to_vec())) });
    }
    assert!(verdict(&exchange(counts, starts, counts), &elsewhere).verdict != Finding::Proved, "another group");
}

#[test]
fn a_gradient_by_a_scale_that_places_otherwise_is_refused() {
    let made = |scale: &str| {
        let line = format!(
            "y: \"f32[1, 2, 3, 3]\" = torch.ops.aten.upsample_nearest2d_backward.default(x, [5, 5], [1, 2, 3, 3], {scale}, 1.7)"
        );
        lower(&graph("x: \"f32[1, 2, 5, 5]\"", &[&line], "y"), &Options::default())
    };
    assert!(made("1.7").is_ok(), "the same samples as by the sizes");
    assert!(made("2.5").unwrap_err().to_string().contains("scales_h is not the ratio of the sizes"));
}

#[test]
fn results_of_operators_that_write_caches_are_those_of_the_call() {
    let tensors: Vec<String> =
        ["qkv", "qg", "kg", "c", "s", "i", "qo", "kc", "vc"].map(|n| format!("{n}: \"f16[2, 4]\"")).into();
    let lines = [
        "r = torch.ops.npu.npu_qkv_rms_norm_rope_cache.default(qkv, qg, kg, c, s, i, qo, kc, vc, [1, 1, 1, 1], [1, 1, 1])",
        "a: \"f16[2, 4]\" = r[0]",
        "b: \"f16[2, 4]\" = r[2]",
    ];
    let lowered = lower(&graph(&tensors.join(", "), &lines, "a, b"), &Options::default()).unwrap();
    let output = lowered.graph.op.iter().find(|op| op.r#type == "NetOutput").unwrap();
    let places: Vec<_> = output.input.iter().filter_map(|i| i.rsplit_once(':')).map(|(_, place)| place).collect();
    assert_eq!(places, ["3", "5"], "q_out, k_cache and v_cache come first");
}

#[test]
fn all_draws_share_one_input_of_offsets() {
    let lines =
        ["a: \"f32[2]\" = torch.ops.aten.rand.default([2])", "b: \"f32[2]\" = torch.ops.aten.randn.default([2])"];
    let lowered = lower(&graph("x: \"f32[2]\"", &lines, "a, b"), &Options::default()).unwrap();
    let offsets: Vec<_> = lowered.graph.op.iter().filter(|op| op.r#type == "Data").collect();
    assert_eq!(offsets.len(), 1);
    assert_eq!(offsets[0].output_desc[0].shape.as_ref().unwrap().dim, [2]);
    assert_eq!(lowered.host.ge_inputs, ["rng-offsets"]);
}

#[test]
fn a_transposed_weight_and_scale_are_transposed_by_the_product() {
    let inputs = "x: \"f8e4m3fn[4, 64]\", w: \"f8e4m3fn[8, 64]\", s: \"u8[8, 2]\", p: \"u8[4, 2]\"";
    let lines = [
        "wt: \"f8e4m3fn[64, 8]\" = torch.ops.aten.t.default(w)",
        "st: \"u8[2, 8]\" = torch.ops.aten.t.default(s)",
        "y: \"f16[4, 8]\" = torch.ops.npu.npu_quant_matmul.default(x, wt, st, pertoken_scale = p, output_dtype = 5, x2_dtype = 292, \
         scale_dtype = 293, pertoken_scale_dtype = 293)",
    ];
    let newer = Options { soc_version: Some("Ascend950PR".into()), ..Options::default() };
    let lowered = lower(&graph(inputs, &lines, "y"), &newer).unwrap();
    assert!(!kinds(&lowered).contains(&"Transpose"), "{:?}", kinds(&lowered));
    let product = lowered.graph.op.iter().find(|op| op.r#type == "QuantBatchMatmulV4").unwrap();
    assert!(matches!(product.attr["transpose_x2"].value, Some(airlock::lower::ge::proto::Value::B(true))));
}

#[test]
fn a_view_of_symbolic_sizes_does_not_lose_the_transposition_before_it() {
    let lines = [
        "p: \"f32[s, 17, 64]\" = torch.ops.aten.permute.default(c, [1, 0, 2])",
        "v: \"f32[s, 17, 4, 16]\" = torch.ops.aten.view.default(p, [n, 17, 4, 16])",
        "r: \"f32[s, 17, 64]\" = torch.ops.aten.view.default(v, [n, 17, 64])",
        "a: \"f32[s, 17, 64]\" = torch.ops.aten.abs.default(r)",
    ];
    let lowered = lower(&graph("n: \"Sym(s)\", c: \"f32[17, s, 64]\"", &lines, "a"), &Options::default()).unwrap();
    assert!(kinds(&lowered).contains(&"Transpose"), "{:?}", kinds(&lowered));
}

#[test]
fn the_last_of_two_writes_is_what_an_input_holds() {
    let lines = [
        "a: \"f32[2]\" = torch.ops.aten.mul_.Tensor(x, y)",
        "b: \"f32[2]\" = torch.ops.aten.add_.Tensor(a, y)",
        "s: \"f32[2]\" = torch.ops.aten.sin.default(x)",
    ];
    let lowered = lower(&graph("x: \"f32[2]\", y: \"f32[2]\"", &lines, "s"), &Options::default()).unwrap();
    let op = |kind: &str| lowered.graph.op.iter().find(|op| op.r#type == kind).unwrap();
    assert_eq!(op("Sin").input, ["Add:0"]);
    let written: Vec<_> = lowered.host.output_ref_input.iter().collect();
    assert_eq!(written, [(&"1".to_string(), &0)]);
    assert_eq!(op("NetOutput").input[1], "Add:0");
}

#[test]
fn a_write_through_a_view_goes_into_what_it_is_a_view_of() {
    let inputs = "x: \"f32[2, 3]\", y: \"f32[3]\"";
    let through = |first: &str, later: &str| {
        let lines = [
            first,
            "v: \"f32[3]\" = torch.ops.aten.select.int(m, 0, 0)",
            "w: \"f32[3]\" = torch.ops.aten.copy_.default(v, y)",
            later,
        ];
        lower(&graph(inputs, &lines, "s"), &Options::default())
    };
    let of_input = "m: \"f32[2, 3]\" = torch.ops.aten.alias.default(x)";
    let fresh = "m: \"f32[2, 3]\" = torch.ops.aten.relu.default(x)";
    let reads_all = "s: \"f32[2, 3]\" = torch.ops.aten.sin.default(m)";
    let reads_part = "s: \"f32[3]\" = torch.ops.aten.sin.default(v)";
    for reads in [reads_part, reads_all] {
        let lowered = through(of_input, reads).unwrap();
        assert!(lowered.host.output_ref_input.values().any(|i| *i == 0), "{:?}", lowered.host);
        assert!(lowered.remarks.iter().any(|r| r.what.contains("writes are taken out")));
        assert!(through(fresh, reads).unwrap().host.output_ref_input.is_empty());
    }
}
