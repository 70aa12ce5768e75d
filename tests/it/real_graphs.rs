//! What exports of real models ran into, reduced to a few calls each (`tests/real`).

use crate::e2e::{airlock, file, json, text};

fn graph(name: &str) -> std::path::PathBuf {
    file(&format!("tests/real/{name}.fx"))
}

fn succeeds(args: &[&str], name: &str) -> std::process::Output {
    let run = airlock().args(args).arg(graph(name)).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{args:?} {name}: {}{}", text(&run.stdout), text(&run.stderr));
    run
}

#[test]
fn every_graph_is_equal_to_itself() {
    let folder = std::fs::read_dir(file("tests/real")).unwrap();
    let mut seen = 0;
    for path in folder.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "fx")) {
        // Under autocast calls have other types than their rules give; nothing is said of such a graph.
        if path.ends_with("autocast.fx") {
            continue;
        }
        let run = airlock().arg("verify").args([&path, &path]).output().unwrap();
        assert_eq!(run.status.code(), Some(0), "{}: {}{}", path.display(), text(&run.stdout), text(&run.stderr));
        seen += 1;
    }
    assert!(seen >= 12, "{seen}");
}

#[test]
fn two_views_that_change_nothing_go_in_one_run() {
    let run = succeeds(&["run", "--format", "json"], "noop-chain");
    let pass = &json(&run)["builtin"][0];
    assert_eq!(pass["outcome"], "accepted", "{pass}");
    assert_eq!(pass["edits"]["erased"], 2, "{pass}");
}

#[test]
fn inputs_lie_as_they_are_stated() {
    succeeds(&["exec"], "input-strides");
    succeeds(&["inspect"], "input-strides");
}

#[test]
fn a_view_that_only_an_assumption_forbids_is_no_contradiction() {
    let run = succeeds(&["inspect"], "channels-last-text");
    assert!(!text(&run.stdout).contains("problem"), "{}", text(&run.stdout));
    let exec = airlock().arg("exec").arg(graph("channels-last-text")).output().unwrap();
    assert!(text(&exec.stderr).contains("use reshape or contiguous"), "{}", text(&exec.stderr));
}

#[test]
fn products_of_unsigned_and_signed_bytes_are_32_bits() {
    let run = succeeds(&["exec", "--format", "json"], "int-mm-u8-i8");
    assert_eq!(json(&run)["tensors"][0]["dtype"], "i32", "{}", text(&run.stdout));
}

#[test]
fn every_operator_that_stops_lowering_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("ge.bin");
    let run = airlock().arg("lower").arg(graph("lower-counts-one")).arg("-o").arg(&out).output().unwrap();
    assert_eq!(run.status.code(), Some(2));
    let said = text(&run.stderr);
    assert!(said.contains("aten.lgamma.default") && said.contains("1 of the graph's nodes"), "{said}");
    assert!(!out.exists());
}

#[test]
fn a_scan_runs_its_body_along_the_first_dimension() {
    let source = "\
class GraphModule(torch.nn.Module):
    def forward(self, xs: \"f32[3, 2]\", init: \"f32[2]\"):
        body = self.body
        scan = torch.ops.higher_order.scan(body, [init], [xs], []);  body = None
        last: \"f32[2]\" = scan[0]
        all_1: \"f32[3, 2]\" = scan[1]
        return (last, all_1)

    class body(torch.nn.Module):
        def forward(self, carried: \"f32[2]\", x: \"f32[2]\"):
            add: \"f32[2]\" = torch.ops.aten.add.Tensor(carried, x)
            neg: \"f32[2]\" = torch.ops.aten.neg.default(add)
            return [add, neg]
";
    let folder = tempfile::tempdir().unwrap();
    let (path, plain) = (folder.path().join("scan.fx"), folder.path().join("plain.fx"));
    std::fs::write(&path, source).unwrap();
    let unrolled = "\
class GraphModule(torch.nn.Module):
    def forward(self, xs: \"f32[3, 2]\", init: \"f32[2]\"):
        cumsum: \"f32[3, 2]\" = torch.ops.aten.cumsum.default(xs, 0)
        sums: \"f32[3, 2]\" = torch.ops.aten.add.Tensor(cumsum, init)
        last: \"f32[2]\" = torch.ops.aten.select.int(sums, 0, 2)
        all_1: \"f32[3, 2]\" = torch.ops.aten.neg.default(sums)
        return (last, all_1)
";
    std::fs::write(&plain, unrolled).unwrap();
    let compare = airlock().arg("exec").arg(&path).arg("--all-nodes").arg(&plain).output().unwrap();
    assert_eq!(compare.status.code(), Some(0), "{}{}", text(&compare.stdout), text(&compare.stderr));
}

#[test]
fn a_map_and_an_associative_scan_run_their_bodies_on_each_slice() {
    let source = "\
class GraphModule(torch.nn.Module):
    def forward(self, xs: \"f32[4, 2]\", k: \"f32[2]\"):
        body = self.body
        m = torch.ops.higher_order.map_impl(body, [xs], [k])
        a: \"f32[4, 2]\" = m[0]
        two = self.two
        s = torch.ops.higher_order.associative_scan(two, [xs], [])
        b: \"f32[4, 2]\" = s[0]
        return (a, b)

    class body(torch.nn.Module):
        def forward(self, x: \"f32[2]\", k: \"f32[2]\"):
            mul: \"f32[2]\" = torch.ops.aten.mul.Tensor(x, k)
            return [mul]

    class two(torch.nn.Module):
        def forward(self, p: \"f32[2]\", q: \"f32[2]\"):
            add: \"f32[2]\" = torch.ops.aten.add.Tensor(p, q)
            return [add]
";
    let plain = "\
class GraphModule(torch.nn.Module):
    def forward(self, xs: \"f32[4, 2]\", k: \"f32[2]\"):
        a: \"f32[4, 2]\" = torch.ops.aten.mul.Tensor(xs, k)
        b: \"f32[4, 2]\" = torch.ops.aten.cumsum.default(xs, 0)
        return (a, b)
";
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = [("one.fx", source), ("other.fx", plain)].map(|(name, text)| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    });
    let compare = airlock().arg("exec").arg(&one).arg("--all-nodes").arg(&other).output().unwrap();
    assert_eq!(compare.status.code(), Some(0), "{}{}", text(&compare.stdout), text(&compare.stderr));
    assert!(text(&compare.stdout).contains("2 nodes of the same name"), "{}", text(&compare.stdout));
}
