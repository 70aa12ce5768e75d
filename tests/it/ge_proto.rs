//! The messages of GE are those of `ge.proto`, for us and for Python's protobuf.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use airlock::lower::ge::proto::DataType;
use airlock::lower::ge::{Format, GraphDef, encode, read_file};
use prost::Message as _;

use crate::common::committed;
use crate::lower_ge_files::cases;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/lower/ge/files");

#[test]
fn the_generated_messages_are_those_of_the_proto_file() {
    let made = tempfile::tempdir().unwrap();
    let files = protox::compile(["ge.proto"], [FOLDER]).unwrap();
    prost_build::Config::new()
        .btree_map(["."])
        .extern_path(".ge.proto.DataType", "crate::lower::ge::proto::DataType")
        .out_dir(made.path())
        .compile_fds(files)
        .unwrap();
    let made = std::fs::read_to_string(made.path().join("ge.proto.rs")).unwrap();
    committed::hold(Path::new(FOLDER).join("generated.rs"), made);
}

#[test]
fn element_types_have_the_names_and_numbers_of_the_proto_file() {
    let files = protox::compile(["ge.proto"], [FOLDER]).unwrap();
    let types = files.file.iter().flat_map(|f| &f.enum_type).find(|e| e.name() == "DataType").unwrap();
    let stated: Vec<(&str, i32)> = types.value.iter().map(|v| (v.name(), v.number())).collect();
    let known: Vec<(&str, i32)> = DataType::ALL.iter().map(|t| (t.name(), *t as i32)).collect();
    assert_eq!(stated, known);
}

/// A Python that has protobuf: the one that `AIRLOCK_PYTHON` names, else the system's.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("AIRLOCK_PYTHON").map_or_else(|| "python3".into(), PathBuf::from);
    let mut asked = Command::new(&python);
    asked.args(["-c", "import google.protobuf"]).stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success()).then_some(python)
}

/// Whether every attribute has a value: protobuf writes an empty one for those that have none, prost nothing.
fn is_whole(graph: &GraphDef) -> bool {
    let of_ops = graph.op.iter().flat_map(|op| {
        let descriptors = op.input_desc.iter().chain(&op.output_desc);
        op.attr.values().chain(descriptors.flat_map(|d| d.attr.values()))
    });
    of_ops.chain(graph.attr.values()).all(|a| a.value.is_some())
}

#[test]
fn pythons_protobuf_reads_our_binary_by_our_proto_file_and_gives_the_same_bytes_back() {
    let Some(python) = python() else {
        eprintln!("skipped: no Python with protobuf; AIRLOCK_PYTHON names one");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let descriptors = folder.path().join("ge.desc");
    std::fs::write(&descriptors, protox::compile(["ge.proto"], [FOLDER]).unwrap().encode_to_vec()).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut files, mut whole) = (Vec::new(), 0);
    let cases = cases(&root.join("tests/torchair"));
    assert!(cases.len() >= 40, "{} graphs", cases.len());
    for (number, case) in cases.iter().enumerate() {
        let recorded = case.join("ge.bin");
        let ours = folder.path().join(format!("{number}.bin"));
        let graph = read_file(&recorded).unwrap();
        whole += usize::from(is_whole(&graph));
        std::fs::write(&ours, encode(&graph, Format::Bin)).unwrap();
        files.extend([ours, recorded]);
    }
    let ended =
        Command::new(python).arg(root.join("tests/torchair/reserialize.py")).arg(descriptors).args(&files).output();
    let ended = ended.unwrap();
    let (said, errors) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{said}{errors}");
    assert_eq!(said.trim(), format!("{} graphs, {whole} to the byte", cases.len()));
    assert!(whole >= 40, "{whole} graphs have a value in each attribute");
}
