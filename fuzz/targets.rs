//! What is fuzzed: one function a reader or a judge of what strangers send, over any bytes.
//!
//! A function panics where a promise does not hold: what is read is printed and read again as the same, an undone edit leaves nothing, a
//! graph means what it means. Everything else that bytes can do must end in an error. The fuzzers of this folder and the replay of their corpus in
//! every test run (`tests/it/fuzz_corpus.rs`) share these functions.
#![allow(dead_code)]

use std::sync::{Arc, OnceLock};

use airlock::analysis::form::check_form;
use airlock::contract::{self, Limits};
use airlock::editor::{Editor, NewCall, Point};
use airlock::formats::text::{self, ReadOptions, case};
use airlock::formats::{pickle as pickles, pt2 as archives};
use airlock::graph::{Arg, BodyId, Bytes, Graph, NodeId, View};
use airlock::lower::ge as lowered;
use airlock::ops::{Registry, Schema};
use airlock::verify::{JudgeOptions, judge_editor, judge_pair};

/// Takes any bytes.
pub type Target = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: &[(&str, Target)] = &[
    ("text", text),
    ("pt2", pt2),
    ("pickle", pickle),
    ("schema", schema),
    ("operators", operators),
    ("ge", ge),
    ("component", component),
    ("edits", edits),
    ("journal", journal),
    ("judge", judge),
];

/// The operators that everything here is of.
pub fn registry() -> Arc<Registry> {
    static REGISTRY: OnceLock<Arc<Registry>> = OnceLock::new();
    REGISTRY.get_or_init(|| Arc::new(Registry::standard())).clone()
}

/// A program: what is written of it is read as the same, unless no command takes it, since it is not well formed.
pub fn text(data: &[u8]) {
    let Ok(mut graph) = text::read_bytes(data, &ReadOptions::default()) else { return };
    let written = text::write(&graph);
    let again = text::read(&written, &ReadOptions::default());
    if !check_form(&graph).is_empty() {
        return;
    }
    let again = again.unwrap_or_else(|e| panic!("{}\n{written}", e.render()));
    assert_eq!(text::write(&again), written, "printed, read and printed");
    let _ = registry().check_types(&mut graph);
}

/// An archive of `torch.export`.
pub fn pt2(data: &[u8]) {
    let _ = archives::read_bytes("fuzz.pt2", Bytes::new(data.to_vec()), &registry());
}

/// A pickle of an older archive.
pub fn pickle(data: &[u8]) {
    let _ = pickles::read(data);
}

/// A schema in PyTorch's spelling: what is printed of it is read as the same.
pub fn schema(data: &[u8]) {
    let Ok(line) = std::str::from_utf8(data) else { return };
    let Ok(schema) = Schema::parse(line) else { return };
    let printed = schema.to_string();
    assert_eq!(Schema::parse(&printed).map(|s| s.to_string()), Ok(printed));
}

/// A file of operators.
pub fn operators(data: &[u8]) {
    let Ok(file) = std::str::from_utf8(data) else { return };
    let _ = (*registry()).clone().extend_file("fuzz.toml", file);
}

/// A GE graph: what is written of it is read as the same.
pub fn ge(data: &[u8]) {
    let Ok(graph) = lowered::decode(data) else { return };
    let written = lowered::encode(&graph, lowered::Format::Bin);
    let again = lowered::decode(&written).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(lowered::encode(&again, lowered::Format::Bin), written);
}

/// A component: looked at, and with the engine compiled.
pub fn component(data: &[u8]) {
    let _ = contract::check("fuzz", data, &Limits::default());
    #[cfg(feature = "sandbox")]
    {
        let limits = Limits::default();
        let engine = airlock::sandbox::Engine::new(&limits).unwrap_or_else(|e| panic!("{e}"));
        let _ = airlock::sandbox::Pass::load("fuzz", data, &engine, &limits);
    }
}

const EDITED: &str = "def forward(self, x: \"f32[4, 4]\", n: \"Sym(s0)\"):
    a = torch.ops.aten.relu.default(x)
    b = torch.ops.aten.add.Tensor(a, x)
    c = torch.ops.aten.view.default(b, [16])
    d = torch.ops.aten.mul.Tensor(c, 2)
    e = torch.ops.aten.add_.Tensor(d, 1)
    f = torch.ops.aten.split.Tensor(c, 4)
    g = f[1]
    return (e, g)
";

/// The program that edits are made on.
pub fn edited() -> Graph {
    let mut graph = text::read(EDITED, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}", e.render()));
    let problems = registry().check_types(&mut graph);
    assert!(problems.is_empty(), "{problems:?}");
    graph
}

/// A script of edits, four bytes each: refused or made, judged, and undone without a trace.
pub fn edits(data: &[u8]) {
    let mut editor = Editor::new(edited(), registry());
    let before = text::write(editor.graph());
    for step in data.chunks_exact(4).take(64) {
        let [kind, a, b, c] = *step else { return };
        edit(&mut editor, kind, a, b, c);
    }
    let verdict = judge_editor(&editor, &JudgeOptions::default());
    assert!(editor.changes().is_empty() <= verdict.accepted, "nothing was changed, and it is refused: {verdict:?}");
    editor.undo();
    assert_eq!(text::write(editor.graph()), before, "undone");
}

const TARGET_NAMES: [&str; 8] = [
    "aten.relu.default",
    "aten.add.Tensor",
    "aten.view.default",
    "aten.mul.Tensor",
    "aten.sum.dim_IntList",
    "aten.copy_.default",
    "demo.unknown.default",
    "_operator.getitem",
];

fn edit(editor: &mut Editor, kind: u8, a: u8, b: u8, c: u8) {
    let nodes: Vec<NodeId> = editor.graph().nodes(BodyId::ROOT).collect();
    let pick = |n: u8| nodes.get(usize::from(n) % nodes.len().max(1)).copied();
    let (Some(x), Some(y)) = (pick(a), pick(b)) else { return };
    let at = if c.is_multiple_of(2) { Point::Before(y) } else { Point::After(y) };
    let target = TARGET_NAMES.get(usize::from(c) % TARGET_NAMES.len()).copied().unwrap_or_default();
    let number = Arg::Int(i64::from(c.cast_signed()));
    let _ = match kind % 7 {
        0 => editor
            .insert(at, NewCall { target: target.into(), args: vec![Arg::Node(x)], ..NewCall::default() })
            .map(drop),
        1 => {
            let args = vec![Arg::Node(x), Arg::List([number].into())];
            editor.insert(at, NewCall { target: target.into(), args, ..NewCall::default() }).map(drop)
        }
        2 => editor.set_args(x, vec![Arg::Node(y), number], Vec::new()),
        3 => editor.set_target(x, target),
        4 => editor.replace_uses(x, y, None).map(drop),
        5 => editor.move_node(x, at),
        _ => editor.erase(x),
    };
}

/// A journal of edits, as a worker sends it: made or refused, well formed after each, and undone without a trace.
#[cfg(feature = "sandbox")]
pub fn journal(data: &[u8]) {
    let limits = Limits { host_bytes: 1 << 20, ..Limits::default() };
    let mut editor = Editor::new(edited(), registry());
    let before = text::write(editor.graph());
    if airlock::sandbox::journals::replay(data, &mut editor, &limits).is_ok() {
        let problems = airlock::analysis::form::check_form(editor.graph());
        assert!(problems.is_empty(), "made again, and not well formed: {problems:?}");
    }
    editor.undo();
    assert_eq!(text::write(editor.graph()), before, "undone");
}

/// A journal of edits: only a host of workers reads one.
#[cfg(not(feature = "sandbox"))]
pub fn journal(_: &[u8]) {}

/// A pair of programs: each means what it means, whatever is said of the two.
pub fn judge(data: &[u8]) {
    let Ok(file) = std::str::from_utf8(data) else { return };
    let Ok(case) = case::read(file, &ReadOptions::default()) else { return };
    let registry = registry();
    let (mut before, mut after) = (case.before, case.after);
    let _ = (registry.check_types(&mut before), registry.check_types(&mut after));
    let _ = judge_pair(&before, &after, &registry, &JudgeOptions::default());
}
