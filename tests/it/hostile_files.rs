//! Files made to hurt: each ends soon, in a result or in one error that is no longer than a screen, and leaves nothing behind.
//!
//! Larger than the tests of single limits, which stand beside the code that has them; all small enough to be played each time.

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use crate::common::archive::rezipped;
use crate::e2e::{airlock, model, text};

const LINE: &str = "        ";

fn program(inputs: &str, body: &str) -> String {
    format!("class GraphModule(torch.nn.Module):\n    def forward(self, {inputs}):\n{body}")
}

fn returning(calls: &str) -> String {
    format!("{calls}{LINE}return (x,)\n")
}

/// Plays a command on a file of that content.
fn play(command: &str, name: &str, content: &[u8], more: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    let begun = Instant::now();
    let output = airlock().arg(command).arg(&path).args(more).current_dir(folder.path()).output().unwrap();
    // A machine that does much else at once is slow; what these were without their limits took minutes, or all memory.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let said = text(&output.stderr);
    assert!(said.len() < 8_000 && !said.contains("panicked"), "{said}");
    output
}

#[track_caller]
fn refused(output: &Output, what: &str) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(what), "{said}");
}

#[track_caller]
fn done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// The model `add_rms_norm`, its program changed.
fn changed(folder: &Path, change: impl Fn(String) -> String) -> PathBuf {
    let path = folder.join("changed.pt2");
    let program = |name: &str, bytes: Vec<u8>| match name.ends_with("models/model.json") {
        true => Some(change(String::from_utf8(bytes).unwrap()).into_bytes()),
        false => Some(bytes),
    };
    std::fs::write(&path, rezipped(&model("add_rms_norm", "core"), program)).unwrap();
    path
}

/// A call without results, of that name, so many times.
fn calls_named(name: &str, count: usize) -> String {
    let call = format!(
        "{{\"target\": \"torch.ops.aten._assert_tensor_metadata.default\", \"inputs\": [{{\"name\": \"a\", \"arg\": \
         {{\"as_tensor\": {{\"name\": \"x\"}}}}, \"kind\": 1}}], \"outputs\": [], \"metadata\": {{}}, \
         \"is_hop_single_tensor_return\": null, \"name\": \"{name}\"}}, "
    );
    call.repeat(count)
}

#[test]
fn names_that_end_in_large_numbers_are_made_free() {
    for number in ["4294967295", "4611686018427387903", "18446744073709551615", "99999999999999999999"] {
        let call = format!("{LINE}mm_{number} = torch.ops.aten.relu.default(x)\n");
        let twice = program("x: \"f32[2]\"", &returning(&call.repeat(3)));
        play("inspect", "twice.fx", twice.as_bytes(), &[]);
        let folder = tempfile::tempdir().unwrap();
        let path = changed(folder.path(), |json| {
            json.replacen("\"nodes\": [", &format!("\"nodes\": [{}", calls_named(&format!("mm_{number}"), 3)), 1)
        });
        done(&play("inspect", "again.pt2", &std::fs::read(path).unwrap(), &[]));
    }
}

#[test]
fn many_nodes_of_one_name_are_named_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = changed(folder.path(), |json| {
        json.replacen("\"nodes\": [", &format!("\"nodes\": [{}", calls_named("n", 8_000)), 1)
    });
    done(&play("inspect", "one_name.pt2", &std::fs::read(path).unwrap(), &[]));
}

#[test]
fn a_long_expression_is_an_error_that_shows_a_part_of_it() {
    let long = format!("x: \"Sym({})\"", vec!["s".repeat(20); 60_000].join("+"));
    refused(&play("inspect", "long.fx", program(&long, &returning("")).as_bytes(), &[]), "... (");
    let name = format!("x: \"f32[{}]\"", "s".repeat(1_000_000) + "(");
    refused(&play("inspect", "name.fx", program(&name, &returning("")).as_bytes(), &[]), "... (");
    let toml = format!("x = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    let folder = tempfile::tempdir().unwrap();
    let ops = folder.path().join("deep.toml");
    std::fs::write(&ops, toml).unwrap();
    let tiny = program("x: \"f32[2]\"", &returning(""));
    refused(&play("inspect", "tiny.fx", tiny.as_bytes(), &["--ops", ops.to_str().unwrap()]), "operator file");
}

#[test]
fn ranges_that_are_given_twice_are_read_once() {
    let given = |most: usize| (0..20_000).map(move |i| format!("s{i}: VR[2, {most}]"));
    let ranges: Vec<String> = given(9).chain(given(8)).collect();
    let body = returning("") + "\nRange constraints: {" + &ranges.join(", ") + "}\n";
    done(&play("inspect", "ranges.fx", program("x: \"f32[2]\"", &body).as_bytes(), &[]));
    // The same through expressions of the symbols, which come before them.
    let derived = (0..5_000).map(|i| format!("2*s{i}: VR[4, 18], s{i}: VR[2, 9]"));
    let body = returning("") + "\nRange constraints: {" + &derived.collect::<Vec<_>>().join(", ") + "}\n";
    done(&play("inspect", "derived.fx", program("x: \"f32[2]\"", &body).as_bytes(), &[]));
}

#[test]
fn an_empty_range_is_an_error_where_it_stands() {
    let body = returning("") + "\nRange constraints: {s0: VR[2, 9], s1: VR[5, 4]}\n";
    refused(
        &play("inspect", "empty.fx", program("x: \"f32[2]\"", &body).as_bytes(), &[]),
        "the range of `s1` is empty",
    );
}

#[test]
fn results_of_calls_are_bounded_in_all() {
    let calls: String = (0..200).map(|i| format!("{LINE}u{i} = torch.ops.aten.unbind.int(x)\n")).collect();
    let output = play("inspect", "unbind.fx", program("x: \"f32[65536]\"", &returning(&calls)).as_bytes(), &[]);
    assert!((text(&output.stdout) + &text(&output.stderr)).contains("split into fewer pieces"));
}

#[test]
fn tensors_have_64_dimensions_at_most() {
    let of = |rank: usize| program(&format!("x: \"f32[{}]\"", ["1"].repeat(rank).join(", ")), &returning(""));
    done(&play("inspect", "64.fx", of(64).as_bytes(), &[]));
    refused(&play("inspect", "65.fx", of(65).as_bytes(), &[]), "65 dimensions");
    refused(&play("inspect", "100000.fx", of(100_000).as_bytes(), &[]), "100000 dimensions");
    let view = format!("{LINE}y = torch.ops.aten.view.default(x, [{}])\n", ["1"].repeat(100).join(", "));
    let output = play("convert", "view.fx", program("x: \"f32[1]\"", &returning(&view)).as_bytes(), &["out.pt2"]);
    refused(&output, "dimensions of the result: 100");
}

#[test]
fn sizes_below_zero_are_refused() {
    for size in ["-1", "2, -9223372036854775808"] {
        let text = program(&format!("x: \"f32[{size}]\""), &returning(""));
        refused(&play("inspect", "negative.fx", text.as_bytes(), &[]), "sizes are 0 or more");
    }
}

/// Sub-graphs, each of which uses the one within it so many times.
fn nested(depth: usize, calls: usize) -> String {
    let mut out = String::new();
    for i in 0..=depth {
        let pad = "    ".repeat(i);
        let name = if i == 0 { "GraphModule".to_string() } else { format!("t{}", i - 1) };
        out +=
            &format!("{pad}class {name}(torch.nn.Module):\n{pad}    def forward(self, p: \"b8[]\", x: \"f32[2]\"):\n");
        if i == depth {
            out += &format!("{pad}        y: \"f32[2]\" = torch.ops.aten.neg.default(x)\n{pad}        return (y,)\n");
            continue;
        }
        out += &format!("{pad}        t = self.t{i}\n");
        for j in 0..calls {
            out += &format!("{pad}        c{j} = torch.ops.higher_order.cond(p, t, t, (p, x))\n");
            out += &format!("{pad}        g{j}: \"f32[2]\" = c{j}[0]\n");
        }
        out += &format!("{pad}        return (g0,)\n");
    }
    out
}

#[test]
fn sub_graphs_that_use_each_other_many_times_are_not_written_out() {
    done(&play("convert", "few.fx", nested(3, 2).as_bytes(), &["out.pt2"]));
    refused(&play("convert", "many.fx", nested(15, 4).as_bytes(), &["out.pt2"]), "each use of a sub-graph");
}

#[test]
fn a_window_larger_than_its_input_costs_what_lies_within() {
    let inputs = "x: \"f32[1, 3, 8, 8]\"";
    for call in [
        "avg_pool2d.default(x, [4, 1099511627776], ceil_mode = True)",
        "avg_pool2d.default(x, [1099511627776, 4], ceil_mode = True, count_include_pad = False)",
        "max_pool2d.default(x, [4, 1099511627776], ceil_mode = True)",
        "max_pool2d_with_indices.default(x, [1099511627776, 2], ceil_mode = True)",
    ] {
        let calls = format!("{LINE}y0 = torch.ops.aten.{call}\n");
        let output = play("exec", "window.fx", program(inputs, &returning(&calls)).as_bytes(), &[]);
        assert!(matches!(output.status.code(), Some(0 | 2)), "{}", text(&output.stderr));
    }
}

#[test]
fn an_input_that_has_no_name_in_python_is_not_written_as_text() {
    for name in ["<script>alert(1)</script>", "a\\nb\\n", "a, b", "a: int = 1, c", "x y"] {
        let folder = tempfile::tempdir().unwrap();
        let path = changed(folder.path(), |json| {
            json.replace("{\"name\": \"x\"}", &format!("{{\"name\": \"{name}\"}}"))
                .replace("\"x\": {\"dtype\"", &format!("\"{name}\": {{\"dtype\""))
        });
        for target in ["out.fx", "-"] {
            let output = play("convert", "named.pt2", &std::fs::read(&path).unwrap(), &[target]);
            refused(&output, "has no text form");
            assert!(output.stdout.is_empty());
        }
    }
}
