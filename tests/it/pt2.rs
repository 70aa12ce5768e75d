//! Every exported model reads from its `.pt2`.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use airlock::formats::{pt2, text};
use airlock::graph::{Arg, BodyId, Bytes, Device, Dtype, Graph, Model, NewNode, NodeKind, TensorType, ValueType, View};
use airlock::ops::Registry;

use crate::e2e::{airlock, text as utf8};

/// Every `.pt2` of the models, in order.
fn archives() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let mut found = Vec::new();
    for model in std::fs::read_dir(root).unwrap().flatten() {
        for form in ["core", "train"] {
            let path = model.path().join(form).with_extension("pt2");
            if path.exists() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_model_reads_with_the_names_and_the_order_of_pytorchs_loader() {
    let ops = Registry::standard();
    let archives = archives();
    assert_eq!(archives.len(), 60);
    for path in archives {
        let model = pt2::read(&path, &ops).unwrap_or_else(|e| panic!("{e}"));
        let printed = std::fs::read_to_string(loaded(&path)).unwrap();
        let mut at = 0;
        for node in model.graph.nodes(BodyId::ROOT) {
            let name = model.graph.name(node);
            if model.graph.kind(node) == NodeKind::Call {
                let found =
                    printed[at..].find(&format!(" {name}: ")).or_else(|| printed[at..].find(&format!(" {name} = ")));
                at += found.unwrap_or_else(|| panic!("{}: {name}", path.display()));
            }
        }
    }
}

#[test]
fn every_model_prints_as_pytorch_prints_it_after_loading() {
    let ops = Registry::standard();
    let mut wrong = Vec::new();
    for path in archives() {
        let model = pt2::read(&path, &ops).unwrap();
        let printed = text::write(&model.graph);
        let expected = std::fs::read_to_string(loaded(&path)).unwrap();
        if printed != expected {
            let line = printed.lines().zip(expected.lines()).position(|(a, b)| a != b);
            let at = |t: &str| line.and_then(|l| t.lines().nth(l)).unwrap_or("(end)").to_string();
            wrong.push(format!("{}:{line:?}\n  ours:   {}\n  theirs: {}", path.display(), at(&printed), at(&expected)));
        }
    }
    assert!(wrong.is_empty(), "{} of 60 differ\n{}", wrong.len(), wrong.join("\n"));
}

/// The print of the program as PyTorch loads it.
fn loaded(path: &Path) -> PathBuf {
    let loaded = path.with_extension("loaded.fx");
    if loaded.exists() { loaded } else { path.with_extension("fx") }
}

/// The entries of an archive by name below the root folder.
fn entries(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
    (0..zip.len())
        .map(|i| {
            let mut entry = zip.by_index(i).unwrap();
            let name = entry.name().unwrap().split_once('/').unwrap().1.to_string();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (name, content)
        })
        .collect()
}

#[test]
fn an_unedited_model_is_written_byte_for_byte_as_it_was() {
    let ops = Registry::standard();
    let dir = tempfile::tempdir().unwrap();
    for path in archives() {
        let model = pt2::read(&path, &ops).unwrap();
        let copy = dir.path().join(path.file_name().unwrap());
        pt2::write(&model, &copy, &ops).unwrap_or_else(|e| panic!("{e}"));
        let (before, after) = (std::fs::read(&path).unwrap(), std::fs::read(&copy).unwrap());
        for (old, new) in entries(&before).iter().zip(&entries(&after)) {
            assert_eq!(old.0, new.0, "{}", path.display());
            // PyTorch's id is a hash of another kind.
            if old.1 != new.1 && old.0 != ".data/serialization_id" {
                let at = old.1.iter().zip(&new.1).position(|(a, b)| a != b).unwrap_or(old.1.len().min(new.1.len()));
                let cut = |b: &[u8]| {
                    String::from_utf8_lossy(&b[at.saturating_sub(150)..(at + 150).min(b.len())]).into_owned()
                };
                panic!("{}: {}\nbefore: {}\nafter:  {}", path.display(), old.0, cut(&old.1), cut(&new.1));
            }
        }
        assert_eq!(before.len(), after.len(), "{}", path.display());
        let differing = before.iter().zip(&after).filter(|(a, b)| a != b).count();
        assert!(differing <= 40 + 8, "{}: {differing} bytes differ beyond the id", path.display());
    }
}

#[test]
fn an_archive_reads_whatever_its_name_and_the_length_of_it() {
    let ops = Registry::standard();
    let dir = tempfile::tempdir().unwrap();
    let model =
        pt2::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/add_rms_norm/core.pt2"), &ops).unwrap();
    for length in 1..80 {
        let path = dir.path().join("m".repeat(length)).with_extension("pt2");
        pt2::write(&model, &path, &ops).unwrap();
        pt2::read(&path, &ops).unwrap_or_else(|e| panic!("{length}: {e}"));
    }
}

fn call(graph: &mut Graph, target: &str, args: Vec<Arg>, ty: ValueType) -> NewNode {
    NewNode { kind: NodeKind::Call, target: graph.texts.intern(target), args: args.into(), kwargs: Box::default(), ty }
}

fn again(model: &Model, ops: &Registry) -> Model {
    let mut bytes = Vec::new();
    pt2::write_to(model, "edited.pt2", &mut bytes, ops).unwrap_or_else(|e| panic!("{e}"));
    pt2::read_bytes("edited.pt2", Bytes::new(bytes), ops).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn edited_programs_read_again_as_they_were_left() {
    let ops = Registry::standard();
    for path in archives() {
        let mut model = pt2::read(&path, &ops).unwrap();
        let graph = &mut model.graph;
        let nodes: Vec<_> = graph.nodes(BodyId::ROOT).collect();
        for node in nodes {
            if !matches!(graph.ty(node), ValueType::Tensor(_)) || graph.kind(node) != NodeKind::Call {
                continue;
            }
            // A scope, an event and a waiter around every third node, and a copy of its result under the name that FX would give.
            if !graph.slot_of(node).is_multiple_of(3) || graph.target(node) == "_operator.getitem" {
                continue;
            }
            let words = |w: &str| Arg::list([w]);
            let enter =
                call(graph, "air.scope_enter.default", vec![words("_user_stream_label"), words("s")], ValueType::None);
            let name = graph.free_name(BodyId::ROOT, "scope_enter");
            graph.insert(BodyId::ROOT, Some(node), &name, enter);
            let after = graph.next(node);
            // Getitems stand right behind their node in the file.
            let record = call(
                graph,
                "air.record.default",
                vec![],
                ValueType::tensor(TensorType::new(Dtype::F32, [], Device::cpu())),
            );
            let name = graph.free_name(BodyId::ROOT, "record");
            let record = graph.insert(BodyId::ROOT, after, &name, record);
            let exit = call(graph, "air.scope_exit.default", vec![], ValueType::None);
            let name = graph.free_name(BodyId::ROOT, "scope_exit");
            graph.insert(BodyId::ROOT, after, &name, exit);
            let wait = call(graph, "air.wait.default", vec![Arg::list([record])], ValueType::None);
            let name = graph.free_name(BodyId::ROOT, "wait");
            let wait = graph.insert(BodyId::ROOT, after, &name, wait);
            graph.annotate(wait, "custom", Some("{\"stream\": \"é\"}"));
            let ty = graph.ty(node).clone();
            let clone = call(graph, "aten.clone.default", vec![Arg::Node(node)], ty);
            let name = graph.free_name(BodyId::ROOT, "clone");
            graph.insert(BodyId::ROOT, after, &name, clone);
        }
        let back = again(&model, &ops);
        assert_eq!(text::write(&back.graph), text::write(&model.graph), "{}", path.display());
        assert_eq!(back.weights.state.len(), model.weights.state.len());
    }
}

#[test]
fn a_printed_program_becomes_an_archive_with_the_weights_of_another() {
    let ops = Registry::standard();
    let mut constants = Vec::new();
    for path in archives() {
        let printed = std::fs::read_to_string(loaded(&path)).unwrap();
        let mut graph = text::read(&printed, &text::ReadOptions::of_file("m.fx")).unwrap();
        let problems = ops.check_types(&mut graph);
        assert!(problems.is_empty(), "{}: {:?}", path.display(), problems.first());
        let weights = pt2::read(&path, &ops).unwrap().weights;
        let model = Model { graph, weights, ..Model::default() };
        let mut bytes = Vec::new();
        match pt2::write_to(&model, "m.pt2", &mut bytes, &ops) {
            Ok(()) => {
                let back = pt2::read_bytes("m.pt2", Bytes::new(bytes), &ops).unwrap();
                assert_eq!(text::write(&back.graph), text::write(&model.graph), "{}", path.display());
            }
            Err(e) if e.to_string().contains("constant input, and its value is not known") => {
                constants.push(path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned());
            }
            Err(e) => panic!("{}: {e}", path.display()),
        }
    }
    // The text does not hold the values of constant inputs, and nothing is invented.
    constants.dedup();
    assert_eq!(constants, ["dtypes_literals", "nested_io"]);
}

#[test]
fn two_getitems_of_one_result_become_one() {
    let ops = Registry::standard();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/moe_block/core.pt2");
    let mut model = pt2::read(&path, &ops).unwrap();
    let graph = &mut model.graph;
    let getitem = graph.nodes(BodyId::ROOT).find(|n| graph.target(*n) == "_operator.getitem").unwrap();
    let user = graph.users_in_order(getitem)[0];
    let (args, ty) = (graph.args(getitem).to_vec(), graph.ty(getitem).clone());
    let second = call(graph, "_operator.getitem", args, ty);
    let second = graph.insert(BodyId::ROOT, Some(user), "second", second);
    let args = graph.args(user).iter().map(|a| a.map_nodes(&mut |n| if n == getitem { second } else { n })).collect();
    let kwargs = graph.kwargs(user).into();
    graph.set_args(user, args, kwargs);

    let back = again(&model, &ops).graph;
    assert_eq!(back.len() + 1, model.graph.len());
    let (first, user) = (model.graph.name(getitem), model.graph.name(user));
    let user = back.find_name(BodyId::ROOT, user).unwrap();
    assert!(back.operands(user).any(|n| back.name(n) == first));
}

/// The least that PyTorch loads: no kinds, no names of nodes, no optional fields; plain zip.
fn minimal(nodes: &str, values: &[&str]) -> Vec<u8> {
    let meta = r#"{"dtype": 7, "sizes": [{"as_int": 2}, {"as_int": 3}], "requires_grad": false, "device": {"type": "cpu"},
        "strides": [{"as_int": 3}, {"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}"#;
    let table: Vec<String> = values.iter().map(|v| format!("{v:?}: {meta}")).collect();
    let json = format!(
        r#"{{"graph_module": {{"graph": {{
            "inputs": [{{"as_tensor": {{"name": "p_w"}}}}, {{"as_tensor": {{"name": "x"}}}}],
            "outputs": [{{"as_tensor": {{"name": "y"}}}}],
            "nodes": [{nodes}],
            "tensor_values": {{{}}}, "sym_int_values": {{}}, "sym_bool_values": {{}}}},
          "signature": {{"input_specs": [{{"parameter": {{"arg": {{"name": "p_w"}}, "parameter_name": "w"}}}},
                                       {{"user_input": {{"arg": {{"as_tensor": {{"name": "x"}}}}}}}}],
                        "output_specs": [{{"user_output": {{"arg": {{"as_tensor": {{"name": "y"}}}}}}}}]}},
          "module_call_graph": []}},
         "opset_version": {{}}, "range_constraints": {{}}, "schema_version": {{"major": 8, "minor": 1}}}}"#,
        table.join(", ")
    );
    let weights = format!(
        r#"{{"config": {{"w": {{"path_name": "w", "is_param": true, "use_pickle": false, "tensor_meta": {meta}}}}}}}"#
    );
    let entries: [(&str, &[u8]); 8] = [
        ("m/archive_format", b"pt2"),
        ("m/archive_version", b"0"),
        ("m/.data/version", b"6\n"),
        ("m/data/sample_inputs/model.pt", b""),
        ("m/data/constants/model_constants_config.json", b"{\"config\": {}}"),
        ("m/data/weights/w", &[0; 24]),
        ("m/data/weights/model_weights_config.json", weights.as_bytes()),
        ("m/models/model.json", json.as_bytes()),
    ];
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in entries {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn lines_of(archive: Vec<u8>) -> Vec<String> {
    let ops = Registry::standard();
    let model = pt2::read_bytes("m.pt2", Bytes::new(archive), &ops).unwrap_or_else(|e| panic!("{e}"));
    let back = again(&model, &ops);
    assert_eq!(text::write(&back.graph), text::write(&model.graph));
    let printed = text::write(&model.graph);
    printed
        .lines()
        .filter(|l| l.contains(" = torch.ops") || l.contains('['))
        .map(|l| l.trim().to_string())
        .skip(1)
        .collect()
}

#[test]
fn derived_dimensions_keep_their_range_in_both_forms() {
    let node = r#"{"target": "torch.ops.aten.mul.Tensor", "inputs": [
        {"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
        {"name": "other", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}],
        "outputs": [{"as_tensor": {"name": "y"}}], "metadata": {}, "name": "y"}"#;
    let derived = "Mul(Integer(2), Symbol('s39', positive=True, integer=True))";
    let mut all = entries(&minimal(node, &["p_w", "x", "y"]));
    let json = &mut all.iter_mut().find(|(n, _)| n == "models/model.json").unwrap().1;
    let changed = String::from_utf8(json.clone())
        .unwrap()
        .replace(r#"{"as_int": 2}"#, &format!(r#"{{"as_expr": {{"expr_str": "{derived}", "hint": null}}}}"#))
        .replace(
            r#""range_constraints": {}"#,
            r#""range_constraints": {"2*s39": {"min_val": 4, "max_val": 100}, "s39": {"min_val": 2, "max_val": 50}, "2*s1": {}}"#,
        );
    *json = changed.into_bytes();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in &all {
        zip.start_file(format!("m/{name}"), zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    let ops = Registry::standard();
    let bytes = Bytes::new(zip.finish().unwrap().into_inner());
    let model = pt2::read_bytes("m.pt2", bytes, &ops).unwrap();
    let printed = text::write(&model.graph);
    assert!(printed.ends_with("Range constraints: {2*s39: VR[4, 100], s39: VR[2, 50]}\n\n"), "{printed}");
    assert_eq!(printed, text::write(&again(&model, &ops).graph));
    let reread = text::read(&printed, &text::ReadOptions::of_file("m.fx")).unwrap_or_else(|e| panic!("{}", e.render()));
    assert_eq!(printed, text::write(&reread));
}

#[test]
fn operands_without_kinds_are_positional_where_the_schema_has_no_default() {
    // PyTorch's own order of operands does not count either.
    let node = r#"{"target": "torch.ops.aten.add.Tensor", "inputs": [
        {"name": "alpha", "arg": {"as_int": 2}},
        {"name": "other", "arg": {"as_tensor": {"name": "p_w"}}},
        {"name": "self", "arg": {"as_tensor": {"name": "x"}}}],
        "outputs": [{"as_tensor": {"name": "y"}}], "metadata": {}}"#;
    assert_eq!(
        lines_of(minimal(node, &["p_w", "x", "y"])),
        [r#"y: "f32[2, 3]" = torch.ops.aten.add.Tensor(x, p_w, alpha = 2);  x = p_w = None"#]
    );
}

#[test]
fn a_node_of_several_results_without_a_name_is_named_after_its_target() {
    let node = r#"{"target": "torch.ops.aten.split.Tensor", "inputs": [
        {"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
        {"name": "split_size", "arg": {"as_int": 2}, "kind": 1}],
        "outputs": [{"as_tensors": [{"name": "y"}, {"name": "z"}]}], "metadata": {}}"#;
    assert_eq!(
        lines_of(minimal(node, &["p_w", "x", "y", "z"])),
        [
            "split_tensor = torch.ops.aten.split.Tensor(x, 2);  x = None",
            r#"y: "f32[2, 3]" = split_tensor[0]"#,
            r#"z: "f32[2, 3]" = split_tensor[1];  split_tensor = z = None"#,
        ]
    );
}

#[test]
fn an_operator_nobody_knows_is_carried_through_with_the_names_of_its_parameters() {
    let node = r#"{"target": "torch.ops.mine.fuse.default", "inputs": [
        {"name": "first", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
        {"name": "second", "arg": {"as_new_thing": {"deep": [1, "é"]}}, "kind": 1},
        {"name": "how", "arg": {"as_strings": ["a", "b"]}, "kind": 2}],
        "outputs": [{"as_tensors": [{"name": "y"}]}], "metadata": {}, "name": "fuse"}"#;
    let archive = minimal(node, &["p_w", "x", "y"]);
    let ops = Registry::standard();
    let model = pt2::read_bytes("m.pt2", Bytes::new(archive), &ops).unwrap();
    let mut written = Vec::new();
    pt2::write_to(&model, "m.pt2", &mut written, &ops).unwrap();
    let all = entries(&written);
    let json = String::from_utf8(all.iter().find(|(n, _)| n == "models/model.json").unwrap().1.clone()).unwrap();
    for part in [
        r#"{"name": "first", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}"#,
        r#"{"name": "second", "arg": {"as_new_thing": {"deep": [1, "é"]}}, "kind": 1}"#,
        r#"{"name": "how", "arg": {"as_strings": ["a", "b"]}, "kind": 2}"#,
        r#""outputs": [{"as_tensors": [{"name": "y"}]}]"#,
    ] {
        assert!(json.contains(part), "{json}");
    }
}

#[test]
fn two_models_of_one_graph_that_hold_other_constants_are_not_the_same() {
    let ops = Registry::standard();
    let dir = tempfile::tempdir().unwrap();
    let path = crate::e2e::model("scatter_gather", "core");
    let mut model = pt2::read(&path, &ops).unwrap();
    let storage = model.weights.find("lifted_tensor_0").unwrap().0.storage.clone();
    let mut content = model.weights.storages[&storage].as_slice().to_vec();
    content[0] ^= 1;
    model.weights.storages.insert(storage, Bytes::new(content));
    let (other, certificate) = (dir.path().join("other.pt2"), dir.path().join("c.json"));
    pt2::write(&model, &other, &ops).unwrap_or_else(|e| panic!("{e}"));
    let verify = |after: &Path| {
        airlock().arg("verify").args([&path, after, "--certificate".as_ref(), &certificate]).output().unwrap()
    };
    let output = verify(&other);
    assert_eq!(output.status.code(), Some(1), "{}", utf8(&output.stdout));
    assert!(utf8(&output.stdout).contains("tensor `lifted_tensor_0` holds"), "{}", utf8(&output.stdout));
    assert!(verify(&path).status.success() && certificate.is_file());
    let diff = airlock().arg("diff").args([&path, &other]).output().unwrap();
    assert_eq!(diff.status.code(), Some(1));
    assert!(utf8(&diff.stdout).contains("tensor `lifted_tensor_0` holds"), "{}", utf8(&diff.stdout));
    let check = |after: &Path| airlock().arg("check-certificate").args([&certificate, &path, after]).output().unwrap();
    assert!(check(&path).status.success());
    assert!(utf8(&check(&other).stdout).contains("tensor `lifted_tensor_0` holds"));
}
