//! `airlock.toml` takes the options that users of TorchAir know: they act, are handed on beside the graph, or are refused.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MODEL: &str = "\
class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[2, 4]\"):
        a: \"f32[2, 4]\" = torch.ops.aten.relu6.default(x)
        w: \"f32[2, 4]\" = torch.ops.aten.copy_.default(x, a)
        return (a,)
";

struct Place(tempfile::TempDir);

impl Place {
    fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("model.fx"), MODEL).unwrap();
        std::fs::write(folder.path().join("airlock.toml"), config).unwrap();
        Place(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn airlock(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_airlock"));
        command.args(args).current_dir(self.0.path()).env_remove("TORCH_COMPILE_DEBUG").output().unwrap()
    }

    fn lower(&self) -> Output {
        self.airlock(&["lower", "model.fx", "-o", "out.txt"])
    }

    fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&std::fs::read_to_string(self.path(name)).unwrap()).unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn options_of_the_device_and_the_hosts_side_stand_beside_the_graph() {
    let place = Place::new("experimental_config.topology_sorting_strategy = 'BFS'\n[ge_config]\noo_level = 'O3'\n");
    let output = place.lower();
    assert!(output.status.success(), "{}", said(&output));
    let options = place.json("out.txt.options.json");
    for (name, value) in [
        ("ge.topoSortingMode", "0"),
        ("ge.oo.level", "O3"),
        ("ge.exec.staticMemoryPolicy", "2"),
        ("ge.exec.outputReuseInputMemIndexes", "0,0"),
        ("ge.inputHintShape", "0:[2, 4]"),
    ] {
        assert_eq!(options[name], value, "{options}");
    }
    let host = place.json("out.txt.host.json");
    assert_eq!((&host["ge_inputs"][0], &host["output_ref_input"]["0"]), (&"fx:0".into(), &0.into()), "{host}");
}

#[test]
fn options_of_the_graph_change_it_and_flags_go_over_them() {
    let place = Place::new("[experimental_config]\nenable_ref_data = true\n");
    place.lower();
    assert!(std::fs::read_to_string(place.path("out.txt")).unwrap().contains("RefData"));
    let plain = Place::new("");
    plain.lower();
    assert!(!std::fs::read_to_string(plain.path("out.txt")).unwrap().contains("RefData"));
    plain.airlock(&["lower", "model.fx", "-o", "out.txt", "--enable-ref-data"]);
    assert!(std::fs::read_to_string(plain.path("out.txt")).unwrap().contains("RefData"));
}

#[test]
fn what_is_not_there_and_what_nobody_knows_is_an_error_and_nothing_is_written() {
    for (config, words) in [
        ("pattern_fusion_pass = true", "the fusions by patterns"),
        ("[experimental_config]\nnpu_fx_pass = true", "npu_fx_pass"),
        ("[ge_config]\noo_levl = 'O1'", "oo_level"),
        ("[ge_config]\noo_level = 'O2'", "one of O1, O3"),
        ("[torch_aie]\nrequire_full_compilation = false", "require_full_compilation"),
        ("mode = 'npugraph_ex'", "launch plan"),
    ] {
        let place = Place::new(config);
        let output = place.lower();
        assert_eq!(output.status.code(), Some(2), "{config}");
        assert!(said(&output).contains(words), "{config}: {}", said(&output));
        assert_eq!(names(place.0.path()), ["airlock.toml", "model.fx"], "{config}");
    }
}

#[test]
fn options_of_the_other_mode_are_told_and_left() {
    let place = Place::new("capture_limit = 3\nclone_output = true\n");
    let output = place.lower();
    assert!(output.status.success());
    let words = "these options do not take effect in max-autotune mode: debug.aclgraph.enable_output_clone";
    assert!(said(&output).contains(words), "{}", said(&output));
}

#[test]
fn a_dump_is_torchairs_folder() {
    let place = Place::new("");
    let output = place.airlock(&["lower", "model.fx", "--dump", "dump"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(
        names(&place.path("dump")),
        [
            "dynamo_optimized_graph_0_rank_0_pid_0_ts_0.pbtxt",
            "dynamo_original_graph_0_rank_0_pid_0_ts_0.pbtxt",
            "dynamo_out_graph.txt",
            "forward"
        ]
    );
    let forward = names(&place.path("dump/forward"));
    let expected = [
        "000_aot_forward_graph.txt",
        "001_aot_forward_graph_after_decompose.txt",
        "002_aot_forward_original_ge_graph.pbtxt",
        "003_aot_forward_graph_after_optimize_sym_pack.pbtxt",
    ];
    assert_eq!(forward[..4], expected);
    assert!(forward.last().unwrap().ends_with("_aot_forward_optimized_ge_graph.pbtxt"), "{forward:?}");
    let text = std::fs::read_to_string(place.path("dump/forward/000_aot_forward_graph.txt")).unwrap();
    assert!(text.starts_with("class GraphModule"), "{text}");
}

#[test]
fn graph_dump_keeps_both_graphs_in_its_form() {
    let place = Place::new("debug.graph_dump.type = 'py'\ndebug.graph_dump.path = 'kept'\n");
    assert!(place.lower().status.success());
    let kept = names(&place.path("kept"));
    assert_eq!(kept[0], "dynamo_optimized_graph_0_rank_0_pid_0_ts_0.py", "{kept:?}");
    assert!(std::fs::read_to_string(place.path("kept").join(&kept[1])).unwrap().contains("ge."));
}

#[test]
fn a_precision_that_the_device_chooses_is_in_what_the_verdict_assumes() {
    let place = Place::new("[torch_aie]\nprecision_policy = 'FP16'\ntruncate_long_and_double = true\n");
    let output = place.airlock(&["lower", "model.fx", "-o", "out.txt", "--format", "json"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("precision_policy = FP16") && text.contains("truncate_long_and_double"), "{text}");
    assert_eq!(place.json("out.txt.options.json")["torch_aie.precision_policy"], "FP16");
}

#[cfg(feature = "sandbox")]
#[test]
fn what_run_lowers_is_judged_as_what_lower_writes() {
    let place = Place::new("");
    let output = place.airlock(&["run", "model.fx", "--lower", "out.txt", "--format", "json"]);
    assert!(output.status.success(), "{}", said(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let lowering = &report["outputs"]["lowering"];
    assert_eq!(lowering["verdict"]["verdict"], "proved", "{lowering}");
    assert_eq!(
        names(place.0.path()),
        ["airlock.toml", "model.fx", "out.txt", "out.txt.host.json", "out.txt.options.json"]
    );
}

#[cfg(feature = "sandbox")]
#[test]
fn what_run_lowers_is_not_written_where_it_is_refused() {
    // The indices of this pool are not what TorchAir's graph returns.
    let place = Place::new("");
    let text = "\
class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[1, 3, 8, 8]\"):
        p = torch.ops.aten.max_pool2d_with_indices.default(x, [1, 1], [1, 1])
        v: \"f32[1, 3, 8, 8]\" = p[0]
        i: \"i64[1, 3, 8, 8]\" = p[1]
        return (v, i)
";
    std::fs::write(place.path("model.fx"), text).unwrap();
    let output = place.airlock(&["run", "model.fx", "--lower", "out.txt", "-o", "out.fx"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert_eq!(names(place.0.path()), ["airlock.toml", "model.fx", "out.fx"]);
}
