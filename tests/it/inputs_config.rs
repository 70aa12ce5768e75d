//! What `airlock.toml` says of inputs and streams holds for every judgement, and verdicts name what they take for granted.

use std::path::Path;
use std::process::Command;

const COPY: &str = "class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[2, 2]\"):
        c: \"f32[2, 2]\" = torch.ops.aten.contiguous.default(x)
        return (c,)
";
const NONE: &str = "class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[2, 2]\"):
        return (x,)
";
const INDEX: &str = "class GraphModule(torch.nn.Module):
    def forward(self, i: \"i64[4]\"):
        c: \"i64[4]\" = torch.ops.aten.clamp.default(i, 0, 9)
        return (c,)
";
const CLAMPED: &str = "class GraphModule(torch.nn.Module):
    def forward(self, i: \"i64[4]\"):
        c: \"i64[4]\" = torch.ops.aten.clone.default(i)
        return (c,)
";
const WRITES: &str = "class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[2]\", y: \"f32[2]\"):
        a: \"f32[2]\" = torch.ops.aten.add_.Tensor(x, 1)
        m: \"f32[2]\" = torch.ops.aten.mul.Tensor(y, 2)
        return (m,)
";
const LATER: &str = "class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[2]\", y: \"f32[2]\"):
        m: \"f32[2]\" = torch.ops.aten.mul.Tensor(y, 2)
        a: \"f32[2]\" = torch.ops.aten.add_.Tensor(x, 1)
        return (m,)
";

/// Judges two texts under a configuration; returns the exit code and what was printed.
fn verify(before: &str, after: &str, config: &str) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
    };
    file("before.fx", before);
    file("after.fx", after);
    file("airlock.toml", config);
    run(folder.path(), &["verify", "before.fx", "after.fx"])
}

fn run(folder: &Path, args: &[&str]) -> (i32, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_airlock")).args(args).current_dir(folder).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap() + &String::from_utf8(out.stderr).unwrap();
    (out.status.code().unwrap(), text)
}

#[test]
fn inputs_without_strides_are_contiguous_unless_the_host_says_that_they_lie_anyhow() {
    let (code, text) = verify(COPY, NONE, "");
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("assumes: inputs without stated strides are contiguous"), "{text}");
    let (code, text) = verify(COPY, NONE, "[inputs]\nlayout = 'any'\n");
    assert_eq!(code, 1, "{text}");
    assert!(!text.contains("contiguous ("), "{text}");
    assert_eq!(verify(COPY, COPY, "[inputs]\nlayout = 'any'\n").0, 0);
}

#[test]
fn what_inputs_hold_is_what_the_host_says_and_the_verdict_names_it() {
    assert_eq!(verify(INDEX, CLAMPED, "").0, 1);
    let (code, text) = verify(INDEX, CLAMPED, "[inputs.values]\ni = 'int(0,9)'\n");
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("assumes: `i` holds int(0,9)"), "{text}");
    assert_eq!(verify(INDEX, CLAMPED, "[inputs.values]\ni = 'int(0,10)'\n").0, 1);
    let (code, text) = verify(INDEX, CLAMPED, "[inputs.values]\nj = 'int(0,9)'\n");
    assert!(code == 1 && text.contains("names `j`: the model has no such input"), "{text}");
    let (code, text) = verify(INDEX, CLAMPED, "[inputs.values]\ni = 'small'\n");
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("inputs.values = \"small\"") && text.contains("int(-5,4)"), "{text}");
}

const SUMS: &str = "class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[4]\", y: \"f32[4]\", z: \"f32[4]\"):
        a: \"f32[4]\" = torch.ops.aten.add.Tensor(x, y)
        b: \"f32[4]\" = torch.ops.aten.add.Tensor(a, z)
        return (b,)
";
const OTHERWISE: &str = "class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[4]\", y: \"f32[4]\", z: \"f32[4]\"):
        a: \"f32[4]\" = torch.ops.aten.add.Tensor(y, z)
        b: \"f32[4]\" = torch.ops.aten.add.Tensor(x, a)
        return (b,)
";

#[test]
fn inputs_share_memory_only_where_the_host_says_so_and_the_verdict_names_it() {
    let (code, text) = verify(WRITES, LATER, "");
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("assumes: no inputs but those of `inputs.may_alias` share memory"), "{text}");
    assert_eq!(verify(WRITES, LATER, "[inputs]\nmay_alias = [['x', 'y']]\n").0, 1);
}

#[test]
fn a_certificate_holds_under_the_configuration_of_its_verdict_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    file("before.fx", INDEX);
    file("after.fx", CLAMPED);
    file("airlock.toml", "[inputs.values]\ni = 'int(0,9)'\n");
    let run = |args: &[&str]| run(folder.path(), args);
    assert_eq!(run(&["verify", "before.fx", "after.fx", "--certificate", "c.json"]).0, 0);
    let check = ["check-certificate", "c.json", "before.fx", "after.fx"];
    let (code, text) = run(&check);
    assert_eq!(code, 0, "{text}");
    file("airlock.toml", "");
    let (code, text) = run(&check);
    assert_eq!(code, 1, "{text}");
}

#[test]
fn a_certificate_is_held_to_the_mode_and_the_policy_that_the_configuration_states() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    file("before.fx", SUMS);
    file("after.fx", OTHERWISE);
    let run = |args: &[&str]| run(folder.path(), args);
    assert_eq!(run(&["verify", "before.fx", "after.fx", "--certificate", "c.json"]).0, 0);
    let check = ["check-certificate", "c.json", "before.fx", "after.fx"];
    assert_eq!(run(&check).0, 0);
    for (stated, why) in
        [("mode = 'reduce-overhead'\n", "the mode is reduce-overhead"), ("policy = 'strict'\n", "the policy strict")]
    {
        file("airlock.toml", stated);
        let (code, text) = run(&check);
        assert!(code == 1 && text.contains(why), "{code}: {text}");
    }
    file("airlock.toml", "mode = 'max-autotune'\npolicy = 'advisory'\n");
    assert_eq!(run(&check).0, 0);
}
