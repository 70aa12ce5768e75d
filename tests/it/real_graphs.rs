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
        let run = airlock().arg("verify").args([&path, &path]).output().unwrap();
        assert_eq!(run.status.code(), Some(0), "{}: {}{}", path.display(), text(&run.stdout), text(&run.stderr));
        seen += 1;
    }
    assert!(seen >= 13, "{seen}");
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

#[test]
fn under_autocast_operands_are_cast_before_the_call_and_types_are_what_that_gives() {
    let source = "\
class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[4, 8]\", w: \"f32[8, 8]\"):
        body = self.body
        region = torch.ops.higher_order.wrap_with_autocast('cpu', torch.bfloat16, True, None, body, x, w)
        p: \"bf16[4, 8]\" = region[0]
        c: \"f32[8, 8]\" = region[1]
        l: \"f32[]\" = region[2]
        return (p, c, l)

    class body(torch.nn.Module):
        def forward(self, x: \"f32[4, 8]\", w: \"f32[8, 8]\"):
            p: \"bf16[4, 8]\" = torch.ops.aten.mm.default(x, w)
            c: \"f32[8, 8]\" = torch.ops.aten.cat.default([p, x])
            l: \"f32[]\" = torch.ops.aten.mse_loss.default(p, p)
            return (p, c, l)
";
    let cast = "\
class GraphModule(torch.nn.Module):
    def forward(self, x: \"f32[4, 8]\", w: \"f32[8, 8]\"):
        xc: \"bf16[4, 8]\" = torch.ops.aten._to_copy.default(x, dtype = torch.bfloat16)
        wc: \"bf16[8, 8]\" = torch.ops.aten._to_copy.default(w, dtype = torch.bfloat16)
        p: \"bf16[4, 8]\" = torch.ops.aten.mm.default(xc, wc)
        pf: \"f32[4, 8]\" = torch.ops.aten._to_copy.default(p, dtype = torch.float32)
        c: \"f32[8, 8]\" = torch.ops.aten.cat.default([pf, x])
        l: \"f32[]\" = torch.ops.aten.mse_loss.default(pf, pf)
        return (p, c, l)
";
    assert_computes_alike(source, cast);
    let off = source.replace("bf16", "f32").replace("True, None, body", "False, None, body");
    let plain = cast.replace("bfloat16", "float32").replace("bf16", "f32");
    assert_computes_alike(&off, &plain);
    // Without the cast the product is another one.
    let (folder, [one, other]) = written([
        source,
        &plain
            .replace("p: \"f32", "q: \"f32")
            .replace("return (p,", "return (pb,")
            .replace(
                "        pf:",
                "        pb: \"bf16[4, 8]\" = torch.ops.aten._to_copy.default(q, dtype = torch.bfloat16)\n        pf:",
            )
            .replace("default(p, dtype", "default(q, dtype"),
    ]);
    let compare = airlock().arg("exec").arg(&one).arg("--all-nodes").arg(&other).output().unwrap();
    assert_eq!(compare.status.code(), Some(1), "{}{}", text(&compare.stdout), text(&compare.stderr));
    drop(folder);
    let device = source.replace("'cpu'", "'cuda'");
    let (_folder, [path]) = written([&device]);
    let run = airlock().arg("exec").arg(&path).output().unwrap();
    assert!(text(&run.stderr).contains("autocast of another device"), "{}", text(&run.stderr));
}

#[test]
fn lists_of_tensors_are_updated_one_by_one() {
    let source = "\
class GraphModule(torch.nn.Module):
    def forward(self, a: \"f32[4, 8]\", b: \"f32[8]\", k: \"f32[]\"):
        ca: \"f32[4, 8]\" = torch.ops.aten.clone.default(a)
        cb: \"f32[8]\" = torch.ops.aten.clone.default(b)
        _foreach_mul_ = torch.ops.aten._foreach_mul_.Tensor([ca, cb], k)
        _foreach_addcmul_ = torch.ops.aten._foreach_addcmul_.ScalarList([ca, cb], [a, b], [a, b], [0.5, 2.0])
        _foreach_lerp_ = torch.ops.aten._foreach_lerp_.Scalar([ca, cb], [a, b], 0.25)
        _foreach_norm = torch.ops.aten._foreach_norm.Scalar([ca, cb])
        n: \"f32[]\" = _foreach_norm[0]
        _foreach_max = torch.ops.aten._foreach_max.default([ca, cb])
        m: \"f32[]\" = _foreach_max[1]
        _foreach_copy_ = torch.ops.aten._foreach_copy_.default([ca, cb], [a, b])
        _foreach_zero_ = torch.ops.aten._foreach_zero_.default([cb])
        return (n, m, ca, cb)
";
    let plain = "\
class GraphModule(torch.nn.Module):
    def forward(self, a: \"f32[4, 8]\", b: \"f32[8]\", k: \"f32[]\"):
        ma: \"f32[4, 8]\" = torch.ops.aten.mul.Tensor(a, k)
        mb: \"f32[8]\" = torch.ops.aten.mul.Tensor(b, k)
        aa: \"f32[4, 8]\" = torch.ops.aten.addcmul.default(ma, a, a, value = 0.5)
        ab: \"f32[8]\" = torch.ops.aten.addcmul.default(mb, b, b, value = 2.0)
        la: \"f32[4, 8]\" = torch.ops.aten.lerp.Scalar(aa, a, 0.25)
        lb: \"f32[8]\" = torch.ops.aten.lerp.Scalar(ab, b, 0.25)
        n: \"f32[]\" = torch.ops.aten.linalg_vector_norm.default(la)
        m: \"f32[]\" = torch.ops.aten.max.default(lb)
        ya: \"f32[4, 8]\" = torch.ops.aten.clone.default(a)
        yb: \"f32[8]\" = torch.ops.aten.zeros_like.default(b)
        return (n, m, ya, yb)
";
    assert_computes_alike(source, plain);
}

/// Writes programs into a folder that lasts as long as it is kept.
fn written<const N: usize>(programs: [&str; N]) -> (tempfile::TempDir, [std::path::PathBuf; N]) {
    let folder = tempfile::tempdir().unwrap();
    let mut number = 0;
    let paths = programs.map(|text| {
        number += 1;
        let path = folder.path().join(format!("{number}.fx"));
        std::fs::write(&path, text).unwrap();
        path
    });
    (folder, paths)
}

fn assert_computes_alike(one: &str, other: &str) {
    let (_folder, [one, other]) = written([one, other]);
    let compare = airlock().arg("exec").arg(&one).arg("--all-nodes").arg(&other).output().unwrap();
    assert_eq!(compare.status.code(), Some(0), "{}{}", text(&compare.stdout), text(&compare.stderr));
}
