//! GE graphs that do not mean what the graph beside them means, each of which once was taken: none is.

use std::path::Path;

use airlock::formats::text;
use airlock::lower::ge::compare::Host;
use airlock::ops::Registry;
use airlock::pipeline::judge_lowered;
use airlock::verify::{Budget, JudgeOptions};

#[test]
fn no_wrong_ge_graph_is_taken() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/torchair/wrong");
    let registry = Registry::standard();
    let budget = Budget { trials: 20, time_ms: 2_000, ..Budget::searching() };
    let options = JudgeOptions { budget, ..JudgeOptions::default() };
    let (mut judged, mut taken) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|e| e != "fx") {
            continue;
        }
        let name = file.file_stem().unwrap().to_string_lossy().to_string();
        let beside = |ending: &str| std::fs::read(file.with_file_name(format!("{name}.{ending}"))).unwrap();
        let read = text::ReadOptions::of_file(&name);
        let mut graph = text::read(&std::fs::read_to_string(&file).unwrap(), &read).unwrap();
        let problems = registry.check_types(&mut graph);
        assert!(problems.is_empty(), "{name}: {problems:?}");
        let host: Host = serde_json::from_slice(&beside("host.json")).unwrap();
        let verdict = judge_lowered(&beside("ge.bin"), &host, &graph, &registry, &options).verdict;
        println!("{name}: {:?}: {}", verdict.verdict, verdict.reason);
        judged += 1;
        if verdict.accepted {
            taken.push(name);
        }
    }
    assert_eq!(taken, Vec::<String>::new());
    assert!(judged > 5);
}
