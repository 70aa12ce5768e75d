//! The GE graph of a recorded case is the same as TorchAir's own, the host's side included.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use airlock::formats::text;
use airlock::graph::Graph;
use airlock::lower::ge::compare::{Host, compare_host};
use airlock::lower::ge::{Format, LowerError, Options, compare, draft, encode, lower, read_file};
use airlock::ops::Registry;

#[derive(serde::Deserialize)]
pub struct Meta {
    pub kind: String,
    #[serde(default)]
    pub defect: Option<String>,
    #[serde(default)]
    options: BTreeMap<String, toml::Value>,
}

pub fn read(case: &Path) -> Result<Graph, String> {
    let file = ["opt.fx", "in.fx"].iter().map(|f| case.join(f)).find(|f| f.exists()).ok_or("no .fx")?;
    let bytes = std::fs::read(&file).map_err(|e| e.to_string())?;
    let options = text::ReadOptions::of_file(&file.display().to_string());
    text::read_bytes(&bytes, &options).map_err(|e| e.to_string())
}

pub fn options(meta: &Meta) -> Options {
    let flag = |name: &str, default| {
        meta.options.get(&format!("experimental_config.{name}")).and_then(toml::Value::as_bool).unwrap_or(default)
    };
    Options {
        enable_view_optimize: flag("enable_view_optimize", true),
        enable_ref_data: flag("enable_ref_data", false),
        decompose: false,
        ..Options::default()
    }
}

/// Returns how the case differs; nothing if it is the same.
fn differences(case: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(case.join("meta.toml")).map_err(|e| e.to_string())?;
    let meta: Meta = toml::from_str(&text).map_err(|e| e.to_string())?;
    let draft = draft(&read(case)?, &options(&meta), &Registry::standard()).map_err(|e| e.to_string())?;
    let written = draft.graph.encode(Format::Bin);
    let lowered = draft.into_def();
    let reference = read_file(&case.join("ge.bin")).map_err(|e| e.to_string())?;
    let host = Host::from_toml(&text).map_err(|e| e.to_string())?;
    let mut differences = compare(&lowered.graph, &reference).differences;
    differences.extend(compare_host(&lowered.host, &host));
    if written != encode(&lowered.graph, Format::Bin) {
        differences.push("the bytes are not those of the messages".into());
    }
    Ok(differences)
}

pub fn meta(case: &Path) -> Meta {
    toml::from_str(&std::fs::read_to_string(case.join("meta.toml")).unwrap()).unwrap()
}

pub fn cases(root: &Path) -> Vec<PathBuf> {
    let mut cases = Vec::new();
    for kind in std::fs::read_dir(root).into_iter().flatten().flatten().filter(|e| e.path().is_dir()) {
        for case in std::fs::read_dir(kind.path()).into_iter().flatten().flatten() {
            if case.path().join("meta.toml").exists() {
                cases.push(case.path());
            }
        }
    }
    cases.sort();
    cases
}

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/torchair")
}

/// Recorded cases whose graph here is another on purpose; the table in `docs/lowering.md` says why.
const OTHERS: [&str; 1] = ["select_backward_default"];

#[test]
fn the_graphs_of_the_small_models_operators_are_torchairs() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in cases(&here()) {
        if meta(&case).defect.is_some() {
            continue;
        }
        count += 1;
        match differences(&case) {
            Ok(d) if d.is_empty() != OTHERS.iter().any(|o| case.ends_with(o)) => {}
            other => wrong.push(format!("{}: {other:?}", case.display())),
        }
    }
    println!("{} of {count} cases are the same", count - wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 45);
}

#[test]
fn the_recorded_corpus_by_kind() {
    let Some(corpus) = std::env::var_os("AIRLOCK_CORPUS") else {
        eprintln!("AIRLOCK_CORPUS is not set: skipped");
        return;
    };
    let mut tally: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut report = String::new();
    for case in cases(&PathBuf::from(corpus).join("cases/torchair")) {
        let meta = meta(&case);
        if meta.defect.is_some() {
            continue;
        }
        let name = format!("{}/{}", meta.kind, case.file_name().unwrap().to_string_lossy());
        let entry = tally.entry(meta.kind.clone()).or_default();
        entry.1 += 1;
        if meta.kind == "error" {
            match read(&case).map(|g| lower(&g, &options(&meta))) {
                Ok(Ok(_)) => report += &format!("ACCEPTED {name}\n"),
                other => {
                    entry.0 += 1;
                    report +=
                        &format!("refused {name}: {}\n", other.map_or_else(|e| e, |r| r.unwrap_err().to_string()));
                }
            }
            continue;
        }
        match differences(&case) {
            Ok(d) if d.is_empty() => entry.0 += 1,
            Ok(d) => report += &format!("DIFFERS {name}: {}\n", d.join("\n    ")),
            Err(e) => report += &format!("ERROR {name}: {e}\n"),
        }
    }
    println!("{report}");
    for (kind, (same, count)) in tally {
        println!("{kind}: {same} of {count}");
    }
}

#[test]
fn every_node_without_a_ge_form_is_named() {
    let text = "\
class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[2]\"):
        a: \"f32[2]\" = torch.ops.demo.one.default(x)
        b: \"f32[2]\" = torch.ops.aten.abs.default(a)
        c: \"f32[2]\" = torch.ops.demo.two.default(x)
        return (b, c)
";
    let graph = text::read(text, &text::ReadOptions::of_file("t.fx")).unwrap();
    let Err(LowerError::Unsupported { nodes }) = lower(&graph, &Options::default()) else { panic!("accepted") };
    let names: Vec<_> = nodes.iter().map(|n| (n.node.as_str(), n.target.as_str())).collect();
    assert_eq!(names, [("a", "demo.one.default"), ("c", "demo.two.default")]);
}

#[test]
fn the_small_exported_models_have_ge_graphs() {
    let models =
        ["torchair_doc_model", "add_rms_norm", "quantize_chain", "mlp_inplace_relu", "bf16_mlp", "dynamic_batch"];
    for name in models {
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(name).join("core.fx");
        let text = std::fs::read_to_string(&file).unwrap();
        let graph = text::read(&text, &text::ReadOptions::of_file(name)).unwrap();
        let lowered = lower(&graph, &Options::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let on_npu = &lowered.graph.attr["_input_placements"].as_list().unwrap().i;
        assert!(!on_npu.is_empty() && on_npu.iter().all(|p| *p == 1), "{name}: {on_npu:?}");
        assert_eq!(on_npu.len(), lowered.host.ge_inputs.len(), "{name}");
        assert!(
            lowered.host.fx_outputs.iter().all(|o| o.starts_with("ge:") || o.starts_with("sym:")),
            "{name}: {:?}",
            lowered.host.fx_outputs
        );
    }
}

#[test]
fn fifty_thousand_nodes_are_lowered_and_compared() {
    use std::fmt::Write;
    let mut text = String::from("class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4, 6]\"):\n");
    let mut last = "x".to_string();
    for i in 0..17_000 {
        writeln!(text, "        t{i}: \"f32[6, 4]\" = torch.ops.aten.t.default({last})").unwrap();
        writeln!(text, "        a{i}: \"f32[6, 4]\" = torch.ops.aten.add.Tensor(t{i}, 1)").unwrap();
        writeln!(text, "        r{i}: \"f32[4, 6]\" = torch.ops.aten.reshape.default(a{i}, [4, 6])").unwrap();
        last = format!("r{i}");
    }
    writeln!(text, "        return ({last},)").unwrap();
    let graph = text::read(&text, &text::ReadOptions::of_file("large")).unwrap();
    let lowered = lower(&graph, &Options::default()).unwrap();
    // Each round is Transpose, Add and Reshape with a constant each, and the Data and the NetOutput.
    assert_eq!(lowered.graph.op.len(), 17_000 * 6 + 2);
    let same = compare(&lowered.graph, &lowered.graph);
    assert!(same.same, "{:?}", same.differences);
}
