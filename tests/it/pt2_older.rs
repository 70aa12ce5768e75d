//! Archives of PyTorch 2.5 to 2.9 read as their PyTorch loads them, and are written as archives of today.
//!
//! `AIRLOCK_CORPUS=DIR` runs this over the archives in `DIR/models/older` too.

use std::path::{Path, PathBuf};

use crate::common::archive::{Entries, entries, read, zipped};
use airlock::formats::{pt2, text};
use airlock::graph::{Bytes, InputKind, Model};
use airlock::ops::Registry;

fn older() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/older")
}

/// Every archive of an older PyTorch, in order.
fn archives() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![older()];
    match std::env::var_os("AIRLOCK_CORPUS") {
        Some(corpus) => folders.push(Path::new(&corpus).join("models/older")),
        None => eprintln!("AIRLOCK_CORPUS is not set: only the archives of the repository are read"),
    }
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "pt2") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// What the PyTorch that wrote an archive prints after loading it. Of a node without a trace older versions print an empty comment.
fn printed(path: &Path) -> String {
    let loaded = path.with_extension("loaded.fx");
    let print = std::fs::read_to_string(if loaded.exists() { loaded } else { path.with_extension("fx") }).unwrap();
    let line = |l: &str| {
        if l.trim() == "#" { format!("{l}No stacktrace found for following nodes\n") } else { format!("{l}\n") }
    };
    print.lines().map(line).collect()
}

/// The lines of a program without what versions print differently: indentation, empty lines, and the signature's form.
fn program_lines(print: &str) -> Vec<&str> {
    print.lines().map(str::trim).filter(|l| !l.is_empty()).take_while(|l| !l.starts_with("Graph signature:")).collect()
}

#[test]
fn every_older_archive_prints_as_its_pytorch_prints_it_after_loading() {
    let ops = Registry::standard();
    let archives = archives();
    assert!(archives.len() >= 34, "only {} found", archives.len());
    for path in archives {
        let model = pt2::read(&path, &ops).unwrap_or_else(|e| panic!("{e}"));
        let (ours, theirs) = (text::write(&model.graph), printed(&path));
        assert_eq!(program_lines(&ours), program_lines(&theirs), "{}", path.display());
        // Signature and ranges, in the one form that we write.
        let name = path.display().to_string();
        let reread =
            text::read(&theirs, &text::ReadOptions::of_file(&name)).unwrap_or_else(|e| panic!("{}", e.render()));
        assert_eq!(ours, text::write(&reread), "{}", path.display());
    }
}

#[test]
fn every_older_archive_is_written_as_one_of_today_with_the_same_weights() {
    let ops = Registry::standard();
    for path in archives() {
        let model = pt2::read(&path, &ops).unwrap();
        let back = again(&model, &ops);
        assert_eq!(text::write(&model.graph), text::write(&back.graph), "{}", path.display());
        for (name, weight) in model.weights.state.iter().chain(&model.weights.constants) {
            let (there, bytes) = back.weights.find(name).unwrap();
            assert_eq!((&weight.ty, weight.is_param), (&there.ty, there.is_param), "{}: {name}", path.display());
            assert_eq!(model.weights.find(name).unwrap().1.as_slice(), bytes.as_slice(), "{}: {name}", path.display());
        }
        let names: Vec<&str> = back.envelope.entries.iter().map(|(n, _)| n.as_str()).collect();
        assert_eq!(names, ["data/sample_inputs/model.pt"], "{}", path.display());
    }
}

fn again(model: &Model, ops: &Registry) -> Model {
    let mut bytes = Vec::new();
    pt2::write_to(model, "again.pt2", &mut bytes, ops).unwrap_or_else(|e| panic!("{e}"));
    pt2::read_bytes("again.pt2", Bytes::new(bytes), ops).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn pickled_weights_stay_in_the_file() {
    let ops = Registry::standard();
    for version in ["torch-2.5.1", "torch-2.8.0"] {
        let file = Bytes::new(std::fs::read(older().join(version).join("add_rms_norm/core.pt2")).unwrap());
        let model = pt2::read_bytes("m.pt2", file.clone(), &ops).unwrap();
        let span = file.as_slice().as_ptr_range();
        assert!(!model.weights.storages.is_empty());
        for (name, bytes) in &model.weights.storages {
            assert!(span.contains(&bytes.as_slice().as_ptr()), "{version}: `{name}` was copied");
        }
        let signature = model.graph.signature.as_ref().unwrap();
        let parameter = signature.inputs.iter().find(|i| i.kind == InputKind::Parameter).unwrap();
        let (weight, _) = model.weights.find(parameter.target.as_deref().unwrap()).unwrap();
        assert!(weight.is_param && weight.ty.requires_grad);
    }
}

#[test]
fn every_storage_type_stride_offset_and_sharing_survives() {
    let ops = Registry::standard();
    for version in ["torch-2.5.1", "torch-2.8.0"] {
        let model = pt2::read(&older().join(version).join("dynamic_dtypes/core.pt2"), &ops).unwrap();
        let shown = |name: &str| {
            let (weight, bytes) = model.weights.find(name).unwrap();
            let dims = |d: &[airlock::sym::Dim]| d.iter().map(|d| d.fixed().unwrap()).collect::<Vec<_>>();
            let ty = &weight.ty;
            (
                ty.dtype.short(),
                dims(&ty.sizes),
                dims(ty.strides.as_ref().unwrap()),
                ty.offset.fixed().unwrap(),
                bytes.len(),
            )
        };
        assert_eq!(shown("weight"), ("f32", vec![4, 3], vec![1, 4], 0, 48));
        assert_eq!(shown("left"), ("f32", vec![4, 4], vec![4, 1], 2, 160));
        assert_eq!(shown("right"), ("f32", vec![4], vec![1], 10, 160));
        assert_eq!(shown("one"), ("f32", vec![3], vec![0], 0, 4));
        assert_eq!(shown("f64"), ("f64", vec![], vec![], 0, 8));
        assert_eq!(shown("empty"), ("f32", vec![0, 3], vec![3, 1], 0, 0));
        for (name, bytes) in [
            ("f16", 6),
            ("bf16", 6),
            ("i8", 3),
            ("i16", 6),
            ("i32", 12),
            ("i64", 24),
            ("u8", 3),
            ("c64", 24),
            ("c128", 48),
        ] {
            assert_eq!(shown(name), (name, vec![3], vec![1], 0, bytes));
        }
        assert_eq!(shown("mask"), ("b8", vec![3], vec![1], 0, 3));
        let storage = |name: &str| model.weights.find(name).unwrap().0.storage.clone();
        assert_eq!(storage("left"), storage("right"));
        assert_eq!(storage("weight"), storage("tied"));
        let flags = |name: &str| {
            let weight = model.weights.find(name).unwrap().0;
            (weight.is_param, weight.ty.requires_grad)
        };
        assert_eq!((flags("weight"), flags("frozen"), flags("left")), ((true, true), (true, false), (false, false)));
    }
}

const STORED: zip::CompressionMethod = zip::CompressionMethod::Stored;
const DEFLATED: zip::CompressionMethod = zip::CompressionMethod::Deflated;

/// Reads the archive of PyTorch 2.6 with its state dict changed.
fn with_state(change: impl FnOnce(&mut Entries)) -> Result<Model, String> {
    let mut all = entries(&std::fs::read(older().join("torch-2.6.0/add_rms_norm/core.pt2")).unwrap());
    let (_, state) = all.iter_mut().find(|(n, _)| n == "serialized_state_dict.pt").unwrap();
    let mut inner = entries(state);
    change(&mut inner);
    *state = zipped(&inner, STORED);
    read(zipped(&all, STORED))
}

fn entry<'e>(entries: &'e mut Entries, name: &str) -> &'e mut Vec<u8> {
    &mut entries.iter_mut().find(|(n, _)| n == name).unwrap().1
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|w| w == from).unwrap();
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

#[track_caller]
fn says(error: &str, parts: &[&str]) {
    assert!(error.starts_with("m.pt2: "), "{error}");
    for part in parts {
        assert!(error.contains(part), "{error}\nlacks: {part}");
    }
}

#[test]
fn a_state_dict_that_asks_for_more_than_tensors_is_refused_by_name() {
    let error = with_state(|inner| {
        *entry(inner, "archive/data.pkl") = b"\x80\x02cos\nsystem\n(X\x02\x00\x00\x00lstR.".to_vec();
    });
    says(&error.unwrap_err(), &["`serialized_state_dict.pt`", "`data.pkl`", "`os.system`", "only tensors are read"]);
    let error = with_state(|inner| {
        *entry(inner, "archive/data.pkl") =
            replaced(entry(inner, "archive/data.pkl"), b"_rebuild_parameter", b"_import_dotted_name");
    });
    says(&error.unwrap_err(), &["`torch._utils._import_dotted_name`"]);
}

#[test]
fn what_a_state_dict_must_hold_is_named_where_it_is_not_there() {
    let missing = with_state(|inner| inner.retain(|(n, _)| n != "archive/data/0"));
    says(&missing.unwrap_err(), &["in entry `serialized_state_dict.pt`", "no entry `data/0`"]);
    let short = with_state(|inner| entry(inner, "archive/data/0").truncate(60));
    says(&short.unwrap_err(), &["storage `data/0`", "16 elements of 4 bytes", "60 bytes"]);
    let big = with_state(|inner| *entry(inner, "archive/byteorder") = b"big".to_vec());
    says(&big.unwrap_err(), &["`byteorder` says `big`", "`little`"]);
    let no_pickle = with_state(|inner| inner.retain(|(n, _)| n != "archive/data.pkl"));
    says(&no_pickle.unwrap_err(), &["no entry `data.pkl`"]);
    let list = with_state(|inner| *entry(inner, "archive/data.pkl") = b"\x80\x02].".to_vec());
    says(&list.unwrap_err(), &["expected a dictionary of tensors, found a list"]);
    let number = with_state(|inner| *entry(inner, "archive/data.pkl") = b"\x80\x02}X\x01\x00\x00\x00wK\x01s.".to_vec());
    says(&number.unwrap_err(), &["weight `w`", "expected a tensor, found the integer 1"]);
    let empty = with_state(|inner| *entry(inner, "archive/data.pkl") = b"\x80\x02}.".to_vec());
    says(&empty.unwrap_err(), &["no weight named `weight`"]);
}

#[test]
fn a_tensor_outside_its_storage_is_refused_however_it_gets_there() {
    // Sizes (16,), strides (1,): `K\x10\x85`, `K\x01\x85`; offset `K\x00`.
    let at = |from: &'static [u8], to: &'static [u8]| {
        with_state(|inner| {
            *entry(inner, "archive/data.pkl") = replaced(entry(inner, "archive/data.pkl"), from, to);
        })
        .unwrap_err()
    };
    says(&at(b"QK\x00", b"QK\x01"), &["weight `weight` needs 68 bytes", "which has 64"]);
    says(&at(b"K\x10\x85", b"K\x11\x85"), &["needs 68 bytes"]);
    says(&at(b"K\x10\x85", b"J\xff\xff\xff\xff\x85"), &["sizes", "not negative", "-1"]);
    says(&at(b"K\x01\x85", b"J\xff\xff\xff\xff\x85"), &["strides", "not negative", "-1"]);
    says(&at(b"K\x10\x85", b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85"), &["weight `weight` needs"]);
    says(
        &at(b"K\x10t", b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7ft"),
        &["storage `data/0`", "9223372036854775807 elements"],
    );
    says(&at(b"K\x10\x85", b"K\x10K\x01\x86"), &["2 sizes, 1 strides"]);
}

#[test]
fn archives_of_other_zip_writers_read_and_cannot_blow_up_memory() {
    let bytes = std::fs::read(older().join("torch-2.7.1/kv_cache_update/core.pt2")).unwrap();
    let plain = read(bytes.clone()).unwrap();
    let mut all = entries(&bytes);
    for (name, content) in &mut all {
        if name.ends_with(".pt") {
            *content = zipped(&entries(content), DEFLATED);
        }
    }
    let deflated = read(zipped(&all, DEFLATED)).unwrap();
    assert_eq!(text::write(&plain.graph), text::write(&deflated.graph));
    for ((_, a), (_, b)) in plain.weights.storages.iter().zip(&deflated.weights.storages) {
        assert_eq!(a.as_slice(), b.as_slice());
    }

    // 200 MB inside an archive inside an archive: the bound is the outer file's.
    let state = all.iter_mut().find(|(n, _)| n == "serialized_state_dict.pt").unwrap();
    let mut inner = entries(&state.1);
    *entry(&mut inner, "archive/data/0") = vec![0; 200 << 20];
    state.1 = zipped(&inner, DEFLATED);
    let bomb = zipped(&all, DEFLATED);
    assert!(bomb.len() < 1 << 20);
    says(&read(bomb).unwrap_err(), &["serialized_state_dict.pt", "data/0", "inflates to more than"]);
}

#[test]
fn what_the_user_gave_along_is_carried_and_the_rest_of_the_container_is_not() {
    let mut all = entries(&std::fs::read(older().join("torch-2.6.0/add_rms_norm/core.pt2")).unwrap());
    all.push(("extra_files/notes.txt".into(), b"hello".to_vec()));
    all.push(("archive_format".into(), b"not pt2".to_vec()));
    let model = read(zipped(&all, STORED)).unwrap();
    let names: Vec<&str> = model.envelope.entries.iter().map(|(n, _)| n.as_str()).collect();
    assert_eq!(names, ["data/sample_inputs/model.pt", "extra/notes.txt"]);
    assert_eq!(again(&model, &Registry::standard()).envelope.entries.len(), 2);
}

#[test]
fn an_empty_pickle_entry_is_an_empty_table_and_a_missing_one_is_an_error() {
    let mut all = entries(&std::fs::read(older().join("torch-2.6.0/torchair_doc_model/core.pt2")).unwrap());
    entry(&mut all, "serialized_state_dict.pt").clear();
    entry(&mut all, "serialized_example_inputs.pt").clear();
    let model = read(zipped(&all, STORED)).unwrap();
    assert!(model.weights.state.is_empty());
    for name in ["serialized_state_dict.pt", "serialized_constants.pt"] {
        let mut less = all.clone();
        less.retain(|(n, _)| n != name);
        says(&read(zipped(&less, STORED)).unwrap_err(), &[&format!("no entry `{name}`")]);
    }
}

#[test]
fn infinities_as_pytorch_2_5_writes_them_are_bounds_and_values() {
    let mut all = entries(&std::fs::read(older().join("torch-2.5.1/torchair_doc_model/core.pt2")).unwrap());
    let json = entry(&mut all, "serialized_exported_program.json");
    *json = replaced(
        json,
        b"\"range_constraints\": {}",
        b"\"range_constraints\": {\"s0\": {\"min_val\": 2, \"max_val\": Infinity}}",
    );
    // One size of one value, as 2.5 spells it.
    *json = replaced(
        json,
        b"\"sizes\": [{\"as_int\": ",
        b"\"sizes\": [{\"as_expr\": {\"expr_str\": \"(s0//2)\", \"hint\": {\"as_int\": 2}}}, {\"as_int\": ",
    );
    *json = replaced(json, b"\"strides\": [", b"\"strides\": [{\"as_int\": 1}, ");
    let model = read(zipped(&all, STORED)).unwrap();
    let print = text::write(&model.graph);
    assert!(print.contains("[(s0//2), ") && print.contains("{s0: VR[2, int_oo]}"), "{print}");
    // Later versions take `//` apart as something else: it is written in the form that means one thing.
    let srepr: Vec<&str> = model.envelope.symbolic.values().map(|t| &*t.srepr).collect();
    assert_eq!(srepr, ["FloorDiv(Symbol('s0', positive=True, integer=True), Integer(2))"]);
    assert_eq!(print, text::write(&again(&model, &Registry::standard()).graph));
}
