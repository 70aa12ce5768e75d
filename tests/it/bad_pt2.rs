//! A bad `.pt2` file gives one error that says what is wrong and where, and never a panic.

use std::path::{Path, PathBuf};

use crate::common::archive::{self, Entries, read, zipped};
use airlock::formats::pt2;
use airlock::graph::{Arg, BodyId, Bytes, Model, NewNode, NodeKind, ValueType, View};
use airlock::ops::Registry;

/// The entries of an archive, by name with the root folder.
fn path(model: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models").join(model).join("core.pt2")
}

fn entries(model: &str) -> Entries {
    archive::entries(&std::fs::read(path(model)).unwrap())
}

fn read_entries(entries: &Entries) -> Result<Model, String> {
    read(zipped(entries, zip::CompressionMethod::Stored))
}

/// Returns the error of an archive in which one entry is changed.
fn error_of(model: &str, entry: &str, change: impl Fn(&str) -> String) -> String {
    let mut all = entries(model);
    let (_, content) = all.iter_mut().find(|(n, _)| n.ends_with(entry)).unwrap();
    let changed = change(std::str::from_utf8(content).unwrap());
    assert_ne!(changed.as_bytes(), content, "the change did not apply");
    *content = changed.into_bytes();
    read_entries(&all).expect_err("the change should be an error")
}

fn json_error(from: &str, to: &str) -> String {
    error_of("torchair_doc_model", "models/model.json", |json| json.replacen(from, to, 1))
}

#[track_caller]
fn says(error: &str, parts: &[&str]) {
    assert!(error.starts_with("m.pt2: "), "{error}");
    for part in parts {
        assert!(error.contains(part), "{error}\nlacks: {part}");
    }
}

#[test]
fn archives_of_other_zip_writers_read_stored_or_deflated() {
    for method in [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated] {
        for model in ["cond_while", "dtypes_literals"] {
            let plain = read(zipped(&entries(model), method)).unwrap();
            let ops = Registry::standard();
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            pt2::write_to(&plain, "ours", &mut ours, &ops).unwrap();
            pt2::write_to(&pt2::read(&path(model), &ops).unwrap(), "theirs", &mut theirs, &ops).unwrap();
            assert_eq!(ours, theirs);
        }
    }
}

#[test]
fn a_truncated_archive_says_so_wherever_it_ends() {
    let whole = std::fs::read(path("kv_cache_update")).unwrap();
    for end in (0..whole.len()).step_by(97).chain(whole.len() - 30..whole.len()) {
        let error = read(whole[..end].to_vec()).expect_err("a part of an archive is no archive");
        says(&error, &["not a whole zip archive", "truncated"]);
    }
}

#[test]
fn each_missing_entry_is_named() {
    let needed = [
        "data/weights/model_weights_config.json",
        "data/constants/model_constants_config.json",
        "data/weights/weight_0",
        "models/model.json",
        "archive_format",
        "archive_version",
    ];
    for entry in needed {
        let mut all = entries("add_rms_norm");
        let before = all.len();
        all.retain(|(name, _)| !name.ends_with(&format!("/{entry}")));
        assert_eq!(all.len() + 1, before);
        says(&read_entries(&all).expect_err(entry), &[&format!("no entry `{entry}`")]);
    }
}

#[test]
fn json_nested_100000_deep_is_refused_wherever_it_stands() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let places: [(&str, &str); 4] = [
        ("{\"graph_module\"", "{\"unknown\": DEEP, \"graph_module\""),
        ("\"metadata\": {", "\"metadata\": {\"custom\": DEEP, "),
        ("\"guards_code\": [", "\"guards_code\": [DEEP, "),
        ("{\"as_tensor\": {\"name\": \"x\"}}", "{\"as_tensors\": DEEP}"),
    ];
    for (from, to) in places {
        says(
            &json_error(from, &to.replace("DEEP", &deep)),
            &["models/model.json", "column", "nested deeper than 127 levels"],
        );
    }
    for whole in [deep.clone(), "{\"a\":".repeat(100_000), "[".repeat(3_000_000)] {
        let error = error_of("torchair_doc_model", "models/model.json", |_| whole.clone());
        says(&error, &["nested deeper than 127 levels"]);
    }
}

#[test]
fn a_use_before_the_definition_names_both_nodes() {
    // mm reads x: let it read sub, which comes last.
    let error = json_error(
        "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"x\"}}",
        "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"sub\"}}",
    );
    says(&error, &["node `mm`", "argument `self`", "uses `sub`", "defined only later"]);
    let error = json_error(
        "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"x\"}}",
        "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"nobody\"}}",
    );
    says(&error, &["node `mm`", "uses `nobody`", "which nothing defines"]);
    let error = json_error(
        "\"outputs\": [{\"as_tensor\": {\"name\": \"add\"}}",
        "\"outputs\": [{\"as_tensor\": {\"name\": \"gone\"}}",
    );
    says(&error, &["node `output`", "argument `0`", "uses `gone`"]);
}

#[test]
fn a_name_defined_twice_or_without_a_type_is_named() {
    let error = json_error(
        "\"outputs\": [{\"as_tensor\": {\"name\": \"abs_1\"}}]",
        "\"outputs\": [{\"as_tensor\": {\"name\": \"mm\"}}]",
    );
    says(&error, &["`mm`", "defined already"]);
    let error = json_error("\"tensor_values\": {\"x\"", "\"tensor_values\": {\"y\"");
    says(&error, &["value `x`", "no entry in tensor_values"]);
}

#[test]
fn a_weight_record_that_is_too_short_is_named_with_both_sizes() {
    for (cut, found) in [(10, "has 10"), (0, "has 0")] {
        let mut all = entries("add_rms_norm");
        all.iter_mut().find(|(n, _)| n.ends_with("weight_0")).unwrap().1.truncate(cut);
        says(&read_entries(&all).unwrap_err(), &["weight `weight`", "needs 64 bytes", "data/weights/weight_0", found]);
    }
    let mut all = entries("add_rms_norm");
    all.iter_mut().find(|(n, _)| n.ends_with("weight_0")).unwrap().1.extend([0; 3]);
    says(&read_entries(&all).unwrap_err(), &["67 bytes", "multiple of the 4 bytes"]);
    let error = error_of("add_rms_norm", "model_weights_config.json", |json| {
        json.replace("\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": 9223372036854775807}")
    });
    says(&error, &["weight `weight`", "needs 18446744073709551615 bytes"]);
}

#[test]
fn other_versions_of_schema_and_archive_are_refused() {
    for version in ["7, \"minor\": 3", "9, \"minor\": 0"] {
        let error = json_error("\"major\": 8, \"minor\": 20", &format!("\"major\": {version}"));
        says(&error, &["schema version", "only major version 8"]);
    }
    // A newer file may have another form altogether: the version is the reason that counts.
    let error = error_of("torchair_doc_model", "models/model.json", |_| {
        "{\"schema_version\": {\"major\": 12, \"minor\": 1}, \"modules\": []}".to_string()
    });
    says(&error, &["schema version 12.1"]);
    let error = error_of("torchair_doc_model", "archive_version", |_| "1".to_string());
    says(&error, &["`archive_version` says `1`, expected `0`"]);
    // The minor version grows with what is added: it reads.
    let mut all = entries("torchair_doc_model");
    let (_, json) = all.iter_mut().find(|(n, _)| n.ends_with("model.json")).unwrap();
    *json = String::from_utf8(json.clone()).unwrap().replace("\"minor\": 20", "\"minor\": 99, \"new\": 1").into_bytes();
    read_entries(&all).unwrap();
}

#[test]
fn a_broken_type_is_named_with_its_value_and_what_of_it() {
    let broken = "\"tensor_values\": {\"x\": {\"dtype\": \"seven\"";
    let error = json_error("\"tensor_values\": {\"x\": {\"dtype\": 7", broken);
    says(&error, &["graph_module.graph.tensor_values", "dtype", "seven", "i64"]);
    let error = json_error("\"tensor_values\": {\"x\": {\"dtype\": 7,", "\"tensor_values\": {\"x\": {");
    says(&error, &["graph_module.graph.tensor_values", "missing field `dtype`"]);
}

#[test]
fn unknown_numbers_are_named_with_their_place() {
    let error = json_error("\"tensor_values\": {\"x\": {\"dtype\": 7", "\"tensor_values\": {\"x\": {\"dtype\": 14");
    says(&error, &["value `x`", "dtype number 14 is unknown"]);
    let error =
        error_of("add_rms_norm", "model_weights_config.json", |json| json.replace("\"layout\": 7", "\"layout\": 70"));
    says(&error, &["weight `weight`", "layout number 70"]);
    let error = error_of("dtypes_literals", "model.json", |json| {
        json.replacen("{\"as_scalar_type\": 7}", "{\"as_scalar_type\": 27}", 1)
    });
    says(&error, &["argument `dtype`", "dtype number 27"]);
}

#[test]
fn single_pickled_weights_and_containers_that_are_not_whole_are_refused_by_name() {
    let error = error_of("add_rms_norm", "model_weights_config.json", |json| {
        json.replace("\"use_pickle\": false", "\"use_pickle\": true")
    });
    says(&error, &["weight `weight` is pickled", "data/weights/weight_0", "not supported yet"]);

    let json = std::str::from_utf8(&entries("add_rms_norm").iter().find(|(n, _)| n.ends_with("model.json")).unwrap().1)
        .unwrap()
        .to_string();
    let flat: Entries =
        vec![("serialized_exported_program.json".into(), json.into_bytes()), ("version".into(), b"8.2".to_vec())];
    says(&read_entries(&flat).unwrap_err(), &["no entry `serialized_state_dict.pt`"]);

    let mut all = entries("add_rms_norm");
    for (name, _) in &mut all {
        *name = name.replace("model_weights_config.json", "model.pt");
    }
    says(&read_entries(&all).unwrap_err(), &["in entry `data/weights/model.pt`", "not a whole zip archive"]);
}

#[test]
fn what_is_no_archive_of_torch_export_is_told_apart() {
    says(&read(b"hello".to_vec()).unwrap_err(), &["not a whole zip archive"]);
    says(&read(Vec::new()).unwrap_err(), &["not a whole zip archive"]);
    says(&read_entries(&Vec::new()).unwrap_err(), &["not of torch.export.save", "empty"]);
    let loose: Entries = vec![("notes.txt".into(), Vec::new())];
    says(&read_entries(&loose).unwrap_err(), &["`notes.txt` lies in no folder"]);
    let two: Entries = vec![("a/x".into(), Vec::new()), ("b/x".into(), Vec::new())];
    says(&read_entries(&two).unwrap_err(), &["several folders, `a`, `b`"]);
    let mut other = entries("add_rms_norm");
    for (name, _) in &mut other {
        *name = name.replace("models/model.json", "models/encoder.json");
    }
    says(&read_entries(&other).unwrap_err(), &["`models/encoder.json`", "named `model`"]);
}

#[test]
fn broken_json_says_where_in_the_document() {
    let error = json_error("\"target\": \"torch.ops.aten.abs.default\"", "\"target\": 3");
    says(&error, &["models/model.json", "line 1, column", "graph_module.graph.nodes[1].target", "near"]);
    says(&json_error("\"nodes\": [", "\"nodes\": [,"), &["line 1, column", "near"]);
    let error = json_error("{\"as_tensor\": {\"name\": \"x\"}}", "{}");
    says(&error, &["graph_module.graph.inputs[0]", "expected an argument"]);
    let error = json_error("\"strides\": [{\"as_int\": 3}, {\"as_int\": 1}]", "\"strides\": [{\"as_int\": 3}]");
    says(&error, &["2 sizes, but 1 strides"]);
    let error = error_of("dynamic_batch", "model.json", |json| json.replacen("Symbol('s17'", "Symbole('s17'", 1));
    says(&error, &["Symbole"]);
    let error = error_of("dynamic_batch", "model.json", |json| json.replacen("\"min_val\": 2", "\"min_val\": 2000", 1));
    says(&error, &["range_constraints", "s17"]);
}

#[test]
fn a_signature_that_does_not_fit_is_refused() {
    let error = json_error(
        "\"input_specs\": [{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"x\"}}}}]",
        "\"input_specs\": []",
    );
    says(&error, &["the signature has 0 inputs, the graph has 1"]);
    let error = error_of("add_rms_norm", "model.json", |json| {
        json.replace("\"parameter_name\": \"weight\"", "\"parameter_name\": \"wait\"")
    });
    says(&error, &["no weight named `wait`"]);
}

#[test]
fn an_output_spec_of_another_value_than_the_graphs_is_refused() {
    let spec = |name: &str| format!("{{\"user_output\": {{\"arg\": {{\"as_tensor\": {{\"name\": \"{name}\"}}}}}}}}");
    let error = json_error(&spec("add"), &spec("sub"));
    says(&error, &["output spec 0: expected `add`, the graph's output there, found `sub`"]);
    let three = "{\"user_output\": {\"arg\": {\"as_int\": 3}}}";
    let error = error_of("nested_io", "model.json", |json| json.replace(three, &three.replace('3', "4")));
    says(&error, &["output spec 4: expected 3, the graph's output there, found 4"]);
}

#[test]
fn a_compressed_entry_cannot_blow_up_memory() {
    let mut all = entries("add_rms_norm");
    all.iter_mut().find(|(n, _)| n.ends_with("weight_0")).unwrap().1 = vec![0; 200 << 20];
    let bytes = zipped(&all, zip::CompressionMethod::Deflated);
    assert!(bytes.len() < 1 << 20);
    says(&read(bytes).unwrap_err(), &["data/weights/weight_0", "inflates to more than", "64 times the file"]);
}

#[test]
fn damaged_bytes_never_panic() {
    // A small generator of our own: the same bytes at every run.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap()
    };
    let ops = Registry::standard();
    let older = ["older/torch-2.5.1/add_rms_norm", "older/torch-2.8.0/kv_cache_update"];
    for model in ["torchair_doc_model", "nested_io", "kv_cache_update", "cond_while"].into_iter().chain(older) {
        let whole = std::fs::read(path(model)).unwrap();
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..=random() % 4 {
                let at = random() % bytes.len();
                bytes[at] = u8::try_from(random() % 256).unwrap();
            }
            if let Ok(model) = pt2::read_bytes("m.pt2", Bytes::new(bytes), &ops) {
                let _ = pt2::write_to(&model, "out.pt2", &mut std::io::sink(), &ops);
            }
        }
    }
}

#[test]
fn what_cannot_be_written_is_named_and_nothing_is_written() {
    let ops = Registry::standard();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.pt2");
    let mut model = pt2::read(&path("torchair_doc_model"), &ops).unwrap();
    let graph = &mut model.graph;
    let mm = graph.find_name(BodyId::ROOT, "mm").unwrap();
    let sub = graph.find_name(BodyId::ROOT, "sub").unwrap();
    let target = graph.texts.intern("mine.f.default");
    let ty = graph.ty(mm).clone();
    let new = NewNode { kind: NodeKind::Call, target, args: Box::new([Arg::Node(mm)]), kwargs: Box::default(), ty };
    let f = graph.insert(BodyId::ROOT, Some(sub), "f", new);
    let error = pt2::write(&model, &out, &ops).unwrap_err().to_string();
    assert!(error.contains("node `f`, argument `0`: `mm`") && error.contains("operator file"), "{error}");

    model.graph.remove(f);
    model.graph.set_type(mm, ValueType::Unknown);
    let error = pt2::write(&model, &out, &ops).unwrap_err().to_string();
    assert!(error.contains("node `mm`") && error.contains("its type is not known"), "{error}");

    let mut model = pt2::read(&path("torchair_doc_model"), &ops).unwrap();
    let abs = model.graph.find_name(BodyId::ROOT, "abs_1").unwrap();
    model.graph.move_before(abs, model.graph.find_name(BodyId::ROOT, "mm"));
    let error = pt2::write(&model, &out, &ops).unwrap_err().to_string();
    assert!(error.contains("node `abs_1`") && error.contains("uses `mm`") && error.contains("only later"), "{error}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing may be left behind");

    let model = pt2::read(&path("torchair_doc_model"), &ops).unwrap();
    let error = pt2::write(&model, &dir.path().join("no/such/folder.pt2"), &ops).unwrap_err().to_string();
    assert!(error.contains("cannot write it"), "{error}");
}

#[test]
fn what_pytorch_binds_by_name_has_one_meaning() {
    // The last one of a name stands there.
    let error = json_error(
        "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1}, {\"name\": \"mat2\"",
        "{\"name\": \"mat2\", \"arg\": {\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1}, {\"name\": \"mat2\"",
    );
    says(&error, &["node `mm`", "given `mat2` twice"]);
    let error = error_of("cond_while", "model.json", |json| json.replace("false_graph_0", "true_graph_0"));
    says(&error, &["another sub-graph", "`true_graph_0`"]);
}

#[test]
fn a_float_is_written_as_one() {
    for written in ["1", "-0"] {
        let error = error_of("cond_while", "model.json", |json| {
            json.replacen("{\"as_float\": 1.0}", &format!("{{\"as_float\": {written}}}"), 1)
        });
        says(&error, &["expected a number with a point or an exponent", &format!("found {written}")]);
    }
}

#[test]
fn operands_of_an_operator_that_nobody_describes_have_the_same_names_in_each_call() {
    let mm = "torch.ops.aten.mm.default";
    let unknown = |json: &str| json.replacen(mm, "torch.ops.mylib.foo.default", 1);
    let model = |change: &dyn Fn(&str) -> String| {
        let mut all = entries("torchair_doc_model");
        let (_, content) = all.iter_mut().find(|(n, _)| n.ends_with("model.json")).unwrap();
        *content = change(&unknown(std::str::from_utf8(content).unwrap())).into_bytes();
        read_entries(&all).unwrap()
    };
    let swapped = |json: &str| {
        let (head, tail) = json.split_at(json.find("mylib.foo").unwrap());
        let tail = tail.replacen("\"name\": \"self\"", "\"name\": \"first\"", 1);
        format!(
            "{head}{}",
            tail.replacen("\"name\": \"mat2\"", "\"name\": \"self\"", 1).replacen("\"first\"", "\"mat2\"", 1)
        )
    };
    let (before, after) = (model(&str::to_string), model(&swapped));
    assert_eq!(airlock::verify::unlike_models(&before, &before), None);
    let reason = airlock::verify::unlike_models(&before, &after).unwrap();
    assert!(reason.contains("`mylib.foo.default`") && reason.contains("is given `mat2`"), "{reason}");
}

#[test]
fn a_model_that_no_longer_says_how_it_is_called_is_another() {
    let mut all = entries("torchair_doc_model");
    let before = read_entries(&all).unwrap();
    let (_, content) = all.iter_mut().find(|(n, _)| n.ends_with("model.json")).unwrap();
    let mut json: serde_json::Value = serde_json::from_slice(content).unwrap();
    json["graph_module"]["module_call_graph"] = serde_json::json!([]);
    *content = serde_json::to_vec(&json).unwrap();
    let after = read_entries(&all).unwrap();
    let reason = airlock::verify::unlike_models(&before, &after).unwrap();
    assert!(reason.contains("no longer says how it is called"), "{reason}");
}
