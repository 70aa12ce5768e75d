//! GE graphs survive the way through a file, and their text is byte for byte what Python's protobuf prints.

use std::path::{Path, PathBuf};

use airlock::lower::ge::{Format, compare, decode, encode, read_file};

use crate::lower_torchair;

/// The folders below a root that hold a recorded graph.
pub fn cases(root: &Path) -> Vec<PathBuf> {
    lower_torchair::cases(root).into_iter().filter(|case| case.join("ge.bin").exists()).collect()
}

fn roots() -> Vec<PathBuf> {
    let mut roots = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/torchair")];
    match std::env::var_os("AIRLOCK_CORPUS") {
        Some(corpus) => roots.push(PathBuf::from(corpus).join("cases/torchair")),
        None => eprintln!("AIRLOCK_CORPUS is not set: only the cases in tests/torchair are read"),
    }
    roots
}

#[test]
fn serialized_graphs_come_out_as_they_went_in() {
    let mut count = 0;
    for case in roots().iter().flat_map(|r| cases(r)) {
        let graph = read_file(&case.join("ge.bin")).unwrap();
        let again = decode(&encode(&graph, Format::Bin)).unwrap();
        assert!(again == graph, "{}", case.display());
        count += 1;
    }
    assert!(count >= 40, "{count} cases");
}

#[test]
fn text_is_what_protobuf_prints() {
    let mut count = 0;
    for case in roots().iter().flat_map(|r| cases(r)) {
        let Ok(expected) = std::fs::read_to_string(case.join("ge.pbtxt")) else { continue };
        let graph = read_file(&case.join("ge.bin")).unwrap();
        let text = String::from_utf8(encode(&graph, Format::Txt)).unwrap();
        assert!(text == expected, "{}", case.display());
        count += 1;
    }
    assert!(count >= 9, "{count} cases");
}

#[test]
fn every_recorded_graph_is_the_same_as_itself_renamed_and_reordered() {
    for case in roots().iter().flat_map(|r| cases(r)) {
        let graph = read_file(&case.join("ge.bin")).unwrap();
        let mut twin = graph.clone();
        twin.op.reverse();
        for op in &mut twin.op {
            op.name = format!("twin/{}", op.name);
            op.input.iter_mut().filter(|i| !i.is_empty()).for_each(|i| *i = format!("twin/{i}"));
        }
        let result = compare(&graph, &twin);
        assert!(result.same, "{}: {:?}", case.display(), result.differences);
    }
}

#[test]
fn python_calls_name_every_operator() {
    let case = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/torchair/scope/doc_passed/ge.bin");
    let text = String::from_utf8(encode(&read_file(&case).unwrap(), Format::Py)).unwrap();
    let expected = "\
arg0_1_0 = ge.Data(index=0, dtype=0, shape=[3, 3], format=\"ND\", placement=\"NPU\", node_name=\"arg0_1\")
MatMul_0 = ge.MatMul(arg0_1_0, arg0_1_0, None, node_name=\"MatMul\")
MatMul_0.node.attr[\"_user_stream_label\"].s = \"stream_1\"
Abs_0 = ge.Abs(MatMul_0, node_name=\"Abs\")
Abs_0.node.attr[\"_user_stream_label\"].s = \"stream_1\"
Add_0 = ge.Add(Abs_0, ge.Const(1, dtype=0), node_name=\"Add\")
Sub_0 = ge.Sub(arg0_1_0, MatMul_0, node_name=\"Sub\")
Sub_0.node.input.append(\"Abs:-1\")
_ = ge.NetOutput([Add_0, Sub_0], node_name=\"NetOutput\")
";
    assert!(text.ends_with(expected), "{text}");
}
