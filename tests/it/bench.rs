//! `airlock bench` tells what a pass costs: figures that agree with what a run reports, and pictures of where fuel goes.

use crate::e2e::{airlock, component, file, json, listing, model, text};
use crate::sandbox_workers::released;

#[test]
fn a_pass_is_measured_and_its_figures_are_those_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let (pass, model, out) = (released("dedup"), model("llama_prefill_eager", "core"), folder.path().join("out.pt2"));
    let mut command = airlock();
    let run =
        command.args(["--format", "json", "run", "--no-builtin", "-o"]).arg(out).arg(&model).arg("--pass").arg(&pass);
    let ran = json(&run.output().unwrap());
    let mut command = airlock();
    let bench = command.args(["--format", "json", "bench", "--rounds", "3"]).arg(&pass).arg(&model);
    let told = json(&bench.output().unwrap());
    assert_eq!(told["here"]["fuel"], ran["passes"][0]["fuel"]);
    assert_eq!(told["here"]["calls"], ran["passes"][0]["calls"]);
    assert_eq!(told["bytes"]["kept_by_host"], ran["passes"][0]["host_bytes"]);
    let of_contract = told["calls"].as_array().unwrap().iter().filter(|c| c["function"] != "(engine)");
    let calls: u64 = of_contract.map(|c| c["calls"].as_u64().unwrap()).sum();
    assert_eq!(told["here"]["calls"], calls, "{told}");
    let functions: Vec<&str> =
        told["calls"].as_array().unwrap().iter().map(|c| c["function"].as_str().unwrap()).collect();
    assert!(functions.contains(&"graph.read-columns") && functions.contains(&"graph.apply"), "{functions:?}");
    for (group, key) in [("here", "instantiate_us"), ("here", "run_ms"), ("worker", "start_ms"), ("worker", "run_ms")] {
        assert!(told[group][key].as_f64().unwrap() > 0.0, "{group}.{key}: {told}");
    }
    for key in ["graph_to_worker", "edits_from_worker"] {
        assert!(told["bytes"][key].as_u64().unwrap() > 50, "{told}");
    }
    assert_eq!(told["native"], serde_json::Value::Null);
}

/// Two functions, one of which does a hundred times as much.
const HOT: &str = r#"
(func $spin (param i32) (loop $again (br_if $again (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
(func $hot (call $spin (i32.const 20000000)) (call $nodes (i32.const 0) (i32.const 4200)))
(func $cold (call $spin (i32.const 200000)) (call $nodes (i32.const 0) (i32.const 4200)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (call $cold) (call $hot) (i32.const 2048))"#;

#[test]
fn fuel_is_drawn_by_function() {
    let folder = tempfile::tempdir().unwrap();
    let (svg, pass) = (folder.path().join("hot.svg"), folder.path().join("hot.wasm"));
    let nodes = r#"(import "airlock:pass/graph@0.1.0" "nodes" (func $nodes (param i32 i32)))"#;
    std::fs::write(&pass, crate::components::component(&format!("{nodes}{HOT}"))).unwrap();
    let mut command = airlock();
    let bench = command.args(["--format", "json", "bench", "--rounds", "1", "--flame"]).arg(&svg).arg(&pass);
    let told = json(&bench.arg(file("tests/hostile/model.fx")).output().unwrap());
    assert_eq!(listing(folder.path()), ["hot.folded", "hot.svg", "hot.wasm"]);
    let folded = std::fs::read_to_string(folder.path().join("hot.folded")).unwrap();
    let fuel = |of: &str| -> u64 {
        let lines = folded.lines().filter(|l| l.contains(of));
        lines.map(|l| l.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum()
    };
    // What is spent after the last look is not seen.
    let (all, used) = (fuel(""), told["here"]["fuel"].as_u64().unwrap());
    assert!(all <= used && all > used - 1_000, "{all} of {used}");
    assert!(fuel("hot") > 50 * fuel("cold") && fuel("cold") > used / 200, "{folded}");
    let picture = std::fs::read_to_string(&svg).unwrap();
    assert!(picture.starts_with("<?xml") && picture.contains("hot, fuel by function"), "{picture:.200}");
}

#[test]
fn a_pass_is_compared_with_the_built_in_one_of_its_name() {
    let Some(pass) = component("dead-code") else { return };
    let told = json(
        &airlock()
            .args(["--format", "json", "bench", "--rounds", "2"])
            .arg(pass)
            .arg(model("bert", "core"))
            .output()
            .unwrap(),
    );
    assert_eq!(told["native"]["pass"], "remove_dead_code");
    assert!(
        told["native"]["run_ms"].as_f64().unwrap() > 0.0 && told["native"]["times"].as_f64().unwrap() > 0.0,
        "{told}"
    );
}

#[test]
fn what_faults_or_is_no_pass_is_told() {
    let model = file("tests/hostile/model.fx");
    let ran = |pass: &str, more: &[&str]| {
        let mut command = airlock();
        let output = command.arg("bench").arg(pass).arg(&model).args(more).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let endless = released("endless");
    let (code, said) = ran(endless.to_str().unwrap(), &[]);
    assert!(code == Some(3) && said.contains("its fuel is used up"), "{said}");
    assert!(matches!(ran("/no/such.wasm", &[]), (Some(2), said) if said.contains("/no/such.wasm")));
    assert!(matches!(ran(endless.to_str().unwrap(), &["--flame", "x.png"]), (Some(2), said) if said.contains(".svg")));
    assert!(
        matches!(ran(endless.to_str().unwrap(), &["--native", "x"]), (Some(2), said) if said.contains("remove_dead_code"))
    );
}
