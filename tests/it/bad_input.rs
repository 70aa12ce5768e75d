//! Bad input: one clear error that says what and where, exit 2, nothing written, no panic.

use std::path::{Path, PathBuf};

use crate::common::archive::rezipped;
use crate::e2e::{airlock, file, listing, model, text};

/// Converts a file that must be refused; returns what is said.
fn refused(folder: &Path, input: &Path) -> String {
    let before = listing(folder);
    let output = airlock().arg("convert").arg(input).arg(folder.join("out.pt2")).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(output.stdout.is_empty() && !said.contains("panicked"), "{said}");
    assert_eq!(said.matches("error:").count(), 1, "{said}");
    assert_eq!(listing(folder), before, "nothing is written");
    said
}

/// An archive made of a good one: entries as `change` leaves them.
fn archive(folder: &Path, change: impl Fn(&str, Vec<u8>) -> Option<Vec<u8>>) -> PathBuf {
    let path = folder.join("bad.pt2");
    std::fs::write(&path, rezipped(&model("mlp_inplace_relu", "core"), change)).unwrap();
    path
}

#[test]
fn a_truncated_archive() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(model("mlp_inplace_relu", "core")).unwrap();
    let path = folder.path().join("bad.pt2");
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(refused(folder.path(), &path).contains("bad.pt2"));
}

#[test]
fn an_archive_with_a_missing_entry() {
    let folder = tempfile::tempdir().unwrap();
    for missing in ["models/model.json", "data/weights/model_weights_config.json", "archive_format"] {
        let path = archive(folder.path(), |name, bytes| (!name.ends_with(missing)).then_some(bytes));
        let said = refused(folder.path(), &path);
        assert!(said.contains(missing) || missing == "archive_format", "{said}");
    }
}

#[test]
fn json_nested_a_hundred_thousand_deep() {
    let folder = tempfile::tempdir().unwrap();
    let deep = format!("{{\"graph_module\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let path = archive(folder.path(), |name, bytes| {
        Some(if name.ends_with("models/model.json") { deep.clone().into_bytes() } else { bytes })
    });
    assert!(refused(folder.path(), &path).contains("model.json"));
}

#[test]
fn a_node_that_uses_a_later_node() {
    let folder = tempfile::tempdir().unwrap();
    let path = archive(folder.path(), |name, bytes| {
        if !name.ends_with("models/model.json") {
            return Some(bytes);
        }
        let json = String::from_utf8(bytes).unwrap();
        let changed = json.replacen(
            "\"arg\": {\"as_tensor\": {\"name\": \"relu\"}}",
            "\"arg\": {\"as_tensor\": {\"name\": \"addmm_2\"}}",
            1,
        );
        assert_ne!(json, changed);
        Some(changed.into_bytes())
    });
    assert!(refused(folder.path(), &path).contains("addmm_2"));
    let printed = std::fs::read_to_string(file("tests/models/torchair_doc_model/core.fx")).unwrap();
    let path = folder.path().join("bad.fx");
    std::fs::write(&path, printed.replace("abs.default(mm)", "abs.default(sub)")).unwrap();
    let said = refused(folder.path(), &path);
    assert!(said.contains("sub") && said.contains("abs_1"), "{said}");
}

#[test]
fn a_weight_file_that_is_too_short() {
    let folder = tempfile::tempdir().unwrap();
    let path = archive(folder.path(), |name, mut bytes| {
        if name.ends_with("data/weights/weight_0") {
            bytes.truncate(5);
        }
        Some(bytes)
    });
    let said = refused(folder.path(), &path);
    assert!(said.contains("weight_0") && said.contains('5'), "{said}");
}

#[test]
fn text_that_is_not_the_text_form_shows_the_line_and_a_caret() {
    let folder = tempfile::tempdir().unwrap();
    let printed = std::fs::read_to_string(file("tests/models/torchair_doc_model/core.fx")).unwrap();
    let path = folder.path().join("bad.fx");
    std::fs::write(&path, printed.replace("abs.default(mm)", "abs.default(mm]")).unwrap();
    let said = refused(folder.path(), &path);
    assert!(said.contains('^') && said.contains("abs.default(mm]") && said.contains("bad.fx:8"), "{said}");
}

#[test]
fn a_file_that_is_not_there_and_an_output_that_nothing_can_be_written_to() {
    let folder = tempfile::tempdir().unwrap();
    assert!(refused(folder.path(), Path::new("/no/such/model.pt2")).contains("/no/such/model.pt2"));
    let output = airlock()
        .arg("convert")
        .arg(model("torchair_doc_model", "core"))
        .arg(folder.path().join("out.onnx"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(".pt2 or .fx"));
}

#[cfg(feature = "sandbox")]
mod passes {
    use super::*;

    /// Runs a file as a pass that must be refused before anything runs.
    fn refused_pass(bytes: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let pass = folder.path().join("bad.wasm");
        std::fs::write(&pass, bytes).unwrap();
        let before = listing(folder.path());
        let output = airlock()
            .arg("run")
            .arg(model("torchair_doc_model", "core"))
            .arg("--pass")
            .arg(&pass)
            .arg("-o")
            .arg(folder.path().join("out.pt2"))
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(listing(folder.path()), before);
        said
    }

    #[test]
    fn a_file_that_is_no_component() {
        assert!(refused_pass(b"MZ this is not wasm").contains("bad"));
        assert!(refused_pass(b"").contains("bad"));
        assert!(refused_pass(&wat::parse_str("(module)").unwrap()).contains("component"));
    }

    #[test]
    fn a_component_that_imports_wasi() {
        let component = wat::parse_str(
            "(component (import \"wasi:cli/environment@0.2.0\" (instance (export \"get-arguments\" (func (result (list string)))))))",
        );
        assert!(refused_pass(&component.unwrap()).contains("wasi:cli/environment@0.2.0"));
    }
}
