//! How a program is called, which PyTorch's print leaves out: kept in a text by `--calling`, taken from a model by `--like`.

use std::path::{Path, PathBuf};

use crate::e2e::{airlock, json, text};

/// What PyTorch prints of a program with a constant input; the print does not say which constant.
const PRINTED: &str = "\
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, x: \"f32[2, 3]\", use_cache, scale):
            mul: \"f32[2, 3]\" = torch.ops.aten.mul.Tensor(x, scale);  x = scale = None
            return (mul,)

Graph signature:
    # inputs
    x: USER_INPUT
    use_cache: USER_INPUT
    scale: USER_INPUT

    # outputs
    mul: USER_OUTPUT

Range constraints: {}
";

const CALLED: &str = r#"Calling convention: {"constants": {"use_cache":"False","scale":"0.5"}, "module_call_graph": [{"fqn": "", "signature": null}], "treespec_namedtuple_fields": {}}"#;

fn write(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn convert(from: &Path, to: &Path, more: &[&str]) -> (Option<i32>, String) {
    let run = airlock().arg("convert").args([from, to]).args(more).output().unwrap();
    (run.status.code(), text(&run.stderr))
}

#[test]
fn a_constant_inputs_value_goes_through_a_text_that_says_how_the_program_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let whole = write(folder.path(), "whole.fx", &format!("{PRINTED}\n{CALLED}\n"));
    let (model, back) = (folder.path().join("m.pt2"), folder.path().join("back.fx"));
    assert_eq!(convert(&whole, &model, &[]).0, Some(0), "{}", convert(&whole, &model, &[]).1);
    assert_eq!(convert(&model, &back, &["--calling"]).0, Some(0));
    let back = std::fs::read_to_string(&back).unwrap();
    assert_eq!(back.lines().last(), Some(CALLED), "{back}");
    let plain = folder.path().join("plain.fx");
    assert_eq!(convert(&model, &plain, &[]).0, Some(0));
    assert!(!std::fs::read_to_string(&plain).unwrap().contains("Calling"), "PyTorch's print has no such line");
}

#[test]
fn what_a_print_leaves_out_is_taken_from_a_model_of_the_same_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let whole = write(folder.path(), "whole.fx", &format!("{PRINTED}\n{CALLED}\n"));
    let printed = write(folder.path(), "printed.fx", PRINTED);
    let (model, made) = (folder.path().join("m.pt2"), folder.path().join("made.pt2"));
    assert_eq!(convert(&whole, &model, &[]).0, Some(0));
    let (code, said) = convert(&printed, &made, &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--like"), "{said}");
    let like = model.display().to_string();
    assert_eq!(convert(&printed, &made, &["--like", &like]).0, Some(0));
    let shown = airlock().arg("convert").arg(&made).args(["-", "--calling"]).output().unwrap();
    assert_eq!(text(&shown.stdout).lines().last(), Some(CALLED));
    let run = airlock().args(["verify", "--format", "json"]).args([&model, &made]).output().unwrap();
    assert_eq!(json(&run)["level"], "exact", "{}", text(&run.stdout));
}

#[test]
fn a_model_that_is_called_otherwise_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = write(folder.path(), "whole.fx", &format!("{PRINTED}\n{CALLED}\n"));
    let model = folder.path().join("m.pt2");
    assert_eq!(convert(&whole, &model, &[]).0, Some(0));
    let like = model.display().to_string();
    for (from, to, said) in [
        ("use_cache", "cache", "input 1 is USER_INPUT `use_cache` in the model, and USER_INPUT `cache` in the text"),
        ("    use_cache: USER_INPUT\n", "", "inputs"),
        ("mul: USER_OUTPUT", "mul: LOSS_OUTPUT", "output 0"),
    ] {
        let other = write(folder.path(), "other.fx", &PRINTED.replace(from, to).replace("x, scale;", "x, 2.0;"));
        let (code, error) = convert(&other, &folder.path().join("no.pt2"), &["--like", &like]);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(said), "{error}");
        assert!(!folder.path().join("no.pt2").exists());
    }
}

#[test]
fn a_line_that_says_nonsense_of_the_call_is_an_error_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for line in ["Calling convention: {", "Calling convention: {\"constant\": {}}", "Calling convention: []"] {
        let bad = write(folder.path(), "bad.fx", &format!("{PRINTED}\n{line}\n"));
        let (code, error) = convert(&bad, &folder.path().join("no.pt2"), &[]);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains("how the program is called cannot be read") && error.contains(":18:"), "{error}");
    }
}
