//! Attacks on what looks at a component and on its compiler: too large, too deep, of other worlds, or no component at all.

use super::{Attack, INPUT, LIVES};
use crate::components::{component, encode, hostile};
use wit_component::StringEncoding;

const RUN: &str = "(func (export \"airlock:pass/pass@0.1.0#run\") (param i32 i32) (result i32)";

pub fn attacks() -> Vec<Attack> {
    let mut all = compilers();
    all.extend(parts());
    all.extend(worlds());
    all.extend(features());
    all.extend(no_components());
    all
}

/// Returns a run with that many locals and that inside, which it never reaches: it has been compiled then.
fn never(locals: usize, inside: &str) -> Vec<u8> {
    let locals = if locals == 0 { String::new() } else { format!("(local {})", "i64 ".repeat(locals)) };
    component(&format!("{RUN} {locals} (if (i32.const 0) (then {inside})) (i32.const 2048))"))
}

fn bomb(name: &str, what: &str, ends: &str, bytes: Vec<u8>) -> Attack {
    // What a worker that compiles may take.
    let mut attack = Attack::new(LIVES, name, what, ends, bytes);
    (attack.seconds, attack.mebibytes) = (35, 2048);
    attack
}

fn within(limits: &str, attack: Attack) -> Attack {
    Attack { limits: format!("{limits}\n"), ..attack }
}

/// What is small as a file and large to compile.
fn compilers() -> Vec<Attack> {
    let refused =
        |name, what, key: &str, bytes| Attack::new(LIVES, name, what, &format!("refused: limits.{key}"), bytes);
    let alive = |n: usize| {
        let load = |i: usize| format!("(i64.load offset={} (i32.const 0)) ", i % 60_000);
        (0..n).map(load).collect::<String>() + &"(i64.add) ".repeat(n - 1) + "(drop)"
    };
    let sum = |n: usize| {
        (2..n + 2).map(|i| format!("(local.set {i} (i64.add (local.get {i}) (i64.const 1)))")).collect::<String>()
    };
    vec![
        refused(
            "bomb_of_locals_and_ifs",
            "10,000 locals and 20,000 ifs",
            "function_locals_times_blocks",
            never(10_000, &"(if (i32.const 1) (then)) ".repeat(20_000)),
        ),
        refused(
            "bomb_of_locals_and_loops",
            "1,000 locals and 1,990 nested loops",
            "function_locals_times_loops",
            never(1_000, &format!("{}{}", "(loop ".repeat(1_990), ")".repeat(1_990))),
        ),
        refused(
            "bomb_of_nesting",
            "50,000 nested blocks",
            "function_nesting",
            never(0, &format!("{}{}", "(block ".repeat(50_000), ")".repeat(50_000))),
        ),
        refused(
            "bomb_of_branches",
            "branch tables of 200,000 targets",
            "function_branches",
            never(0, &format!("(br_table {} (i32.const 0))", "0 ".repeat(200_000))),
        ),
        refused("bomb_of_values", "40,000 values alive at once", "function_stack", never(0, &alive(40_000))),
        within(
            "functions = 10000",
            refused(
                "bomb_of_functions",
                "10,001 functions where 10,000 may be",
                "functions",
                component(&"(func)".repeat(10_001)),
            ),
        ),
        within(
            "function_bytes = 100000",
            refused(
                "bomb_of_one_function",
                "a function of 10% more than may be",
                "function_bytes",
                never(0, &"(drop (i64.const 1234567890123))".repeat(15_000)),
            ),
        ),
        refused(
            "bomb_of_many_functions",
            "300 functions of 300 locals and 700 blocks each",
            "locals_times_blocks",
            component(&format!("(func (local {}) {})", "i64 ".repeat(300), "(block)".repeat(700)).repeat(300)),
        ),
        bomb(
            "bomb_within_limits_stack",
            "4,000 values alive at once: as much as may be",
            "unchanged",
            never(0, &alive(4_000)),
        ),
        bomb(
            "bomb_within_limits_blocks",
            "150 locals that change in 12,000 ifs: as much as may be",
            "unchanged",
            never(
                150,
                &format!("(if (i32.const 1) (then {})) ", "(local.set 3 (i64.add (local.get 3) (i64.const 1)))")
                    .repeat(12_000),
            ),
        ),
        bomb(
            "bomb_within_limits_loops",
            "150 locals that change in 1,200 loops",
            "unchanged",
            never(150, &format!("(loop {} (br_if 0 (i32.const 0)))", sum(3)).repeat(1_200)),
        ),
        bomb(
            "bomb_of_straight_code",
            "one function of a megabyte of additions",
            "unchanged",
            never(
                2,
                &"(local.set 2 (i64.mul (i64.add (local.get 2) (local.get 3)) (i64.const 123456789)))".repeat(40_000),
            ),
        ),
        bomb(
            "bomb_of_block_results",
            "5,000 blocks that hand on 1,000 values each",
            "refused: limits.function_block_values",
            handed_on(1_000, "block", 5_000),
        ),
        bomb(
            "bomb_of_loop_parameters",
            "1,500 loops that hand on 1,000 values each",
            "refused: limits.function_block_values",
            handed_on(1_000, "loop", 1_500),
        ),
        bomb("bomb_of_calls", "3,000 calls that hand over 1,000 values each", "unchanged", calls(1_000, 3_000)),
        refused(
            "bomb_of_instances",
            "3 kB of components in each other: 2^30 instances",
            "definitions",
            wat::parse_str(format!("(component {})", nested(30, "(core module $m) (core instance (instantiate $m))")))
                .unwrap(),
        ),
        refused(
            "bomb_of_empty_instances",
            "5 kB of empty components in each other: 2^60 instances",
            "definitions",
            wat::parse_str(format!("(component {})", nested(60, ""))).unwrap(),
        ),
        Attack::new(LIVES, "bomb_of_types", "types of 2^30 parts", "refused: ", types(30)),
        Attack::new(LIVES, "bomb_of_depth", "900 components in each other", "refused: ", deep(900)),
    ]
}

/// A pass that does nothing, with that many instances of another module.
fn beside(module: &str, times: usize) -> Vec<u8> {
    let mut bytes = hostile("quiet");
    let modules = wasmparser::Parser::new(0)
        .parse_all(&bytes)
        .filter(|part| matches!(part, Ok(wasmparser::Payload::ModuleSection { .. })))
        .count();
    let module = wat::parse_str(module).unwrap();
    bytes.push(1);
    leb(&mut bytes, module.len());
    bytes.extend(module);
    let mut instances = Vec::new();
    leb(&mut instances, times);
    (0..times).for_each(|_| instances.extend([0, modules as u8, 0]));
    bytes.push(2);
    leb(&mut bytes, instances.len());
    bytes.extend(instances);
    bytes
}

/// What a component has many of.
fn parts() -> Vec<Attack> {
    [
        ("instances_70", "70 instances", "fault host-limit in start: resource limit exceeded", "(module)", 70),
        ("memories_5", "5 memories", "fault host-limit in start: resource limit exceeded", "(module (memory 1))", 5),
        ("memories_of_40_mib", "2 memories of 40 MiB each", "fault memory in start: its memory would grow", "(module (memory 640))", 2),
        ("tables_20", "20 tables", "fault host-limit in start: resource limit exceeded", "(module (table 1 funcref))", 20),
        ("tables_of_40000", "3 tables of 40,000 elements each", "fault memory in start: its tables would grow", "(module (table 40000 funcref))", 3),
        ("start_of_a_second_module", "a second module whose start function loops", "fault fuel in start: its fuel is used up", "(module (func $f (loop (br 0))) (start $f))", 1),
        ("start_of_30_modules", "30 modules whose start functions each use a tenth of the fuel", "fault fuel in start: its fuel is used up",
         "(module (func $f (local i32) (local.set 0 (i32.const 100000)) (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))) (start $f))", 30),
    ]
    .into_iter()
    .map(|(name, what, ends, module, times)| Attack::new(LIVES, name, what, ends, beside(module, times)))
    .collect()
}

/// Blocks (or loops) that each take so many values and hand them on.
fn handed_on(values: usize, block: &str, times: usize) -> Vec<u8> {
    let types = "i64 ".repeat(values);
    let blocks = format!("({block} (type $same))").repeat(times);
    let (pushed, dropped) = ("(i64.const 1)".repeat(values), "(drop)".repeat(values));
    component(&format!(
        "(type $same (func (param {types}) (result {types})))\n\
         {RUN} (if (i32.const 0) (then {pushed} {blocks} {dropped})) (i32.const 2048))"
    ))
}

/// Calls that each take so many values and give as many.
fn calls(values: usize, times: usize) -> Vec<u8> {
    let types = "i64 ".repeat(values);
    let same: String = (0..values).map(|i| format!("(local.get {i})")).collect();
    let (pushed, dropped) = ("(i64.const 1)".repeat(values), "(drop)".repeat(values));
    let inside = format!("{pushed} {} {dropped}", "(call $same)".repeat(times));
    component(&format!(
        "(func $same (param {types}) (result {types}) {same})\n{RUN} (if (i32.const 0) (then {inside})) (i32.const 2048))"
    ))
}

/// Components in each other, each instantiating the one within it twice.
fn nested(levels: usize, innermost: &str) -> String {
    let mut text = format!("(component $c0 {innermost})");
    for level in 1..=levels {
        let inner = level - 1;
        text = format!("(component $c{level} {text} {})", format!("(instance (instantiate $c{inner}))").repeat(2));
    }
    format!("{text} (instance (instantiate $c{levels}))")
}

fn deep(levels: usize) -> Vec<u8> {
    let mut bytes = wat::parse_str("(component)").unwrap();
    for _ in 0..levels {
        let mut outer = wat::parse_str("(component)").unwrap();
        outer.push(4);
        leb(&mut outer, bytes.len());
        outer.extend(bytes);
        bytes = outer;
    }
    bytes
}

fn leb(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A type of two of a type of two ...
fn types(levels: usize) -> Vec<u8> {
    let mut text = String::from("(type $t0 (tuple u8 u8))");
    for level in 1..=levels {
        text += &format!("(type $t{level} (tuple $t{0} $t{0}))", level - 1);
    }
    wat::parse_str(format!("(component {text} (import \"f\" (func (param \"x\" $t{levels}))))")).unwrap()
}

/// Components that ask for what there is not.
fn worlds() -> Vec<Attack> {
    let rows: [(&str, &str, &str, &str); 15] = [
        (
            "wasi_environment",
            "asks for the environment",
            "wasi:cli/environment@0.2.0",
            r#"(import "wasi:cli/environment@0.2.0" (instance (export "get-arguments" (func (result (list string))))))"#,
        ),
        (
            "wasi_files",
            "asks for files",
            "wasi:filesystem/preopens@0.2.0",
            r#"(import "wasi:filesystem/preopens@0.2.0" (instance))"#,
        ),
        (
            "wasi_sockets",
            "asks for sockets",
            "wasi:sockets/tcp@0.2.0",
            r#"(import "wasi:sockets/tcp@0.2.0" (instance))"#,
        ),
        (
            "wasi_clock",
            "asks for the clock",
            "wasi:clocks/monotonic-clock@0.2.0",
            r#"(import "wasi:clocks/monotonic-clock@0.2.0" (instance (export "now" (func (result u64)))))"#,
        ),
        (
            "wasi_random",
            "asks for randomness",
            "wasi:random/random@0.2.0",
            r#"(import "wasi:random/random@0.2.0" (instance (export "get-random-u64" (func (result u64)))))"#,
        ),
        (
            "wasi_http",
            "asks for the network",
            "wasi:http/outgoing-handler@0.2.0",
            r#"(import "wasi:http/outgoing-handler@0.2.0" (instance))"#,
        ),
        ("import_of_a_function", "asks for a function", "import", r#"(import "log" (func))"#),
        ("import_of_a_module", "asks for a core module", "import", r#"(import "m" (core module))"#),
        ("import_of_a_component", "asks for a component", "component", r#"(import "c" (component))"#),
        (
            "import_of_files",
            "asks for an interface that the contract has not",
            "needs `files` of airlock:pass@0.1.0",
            r#"(import "airlock:pass/files@0.1.0" (instance))"#,
        ),
        (
            "newer_contract",
            "asks for version 0.9.0",
            "airlock:pass@0.9.0",
            r#"(import "airlock:pass/graph@0.9.0" (instance))"#,
        ),
        (
            "newer_item",
            "asks for an item of version 0.1.99",
            "graph.colour",
            r#"(import "airlock:pass/graph@0.1.99" (instance (export "colour" (func))))"#,
        ),
        (
            "two_worlds",
            "asks for the contract and for another world's interface",
            "other:world/host@1.0.0",
            r#"(import "airlock:pass/host@0.1.0" (instance)) (import "other:world/host@1.0.0" (instance))"#,
        ),
        (
            "wrong_type",
            "asks for `host.mode` of another type",
            "airlock:pass",
            r#"(import "airlock:pass/host@0.1.0" (instance (export "mode" (func (result u32)))))"#,
        ),
        ("no_exports", "is no pass", "does not export", ""),
    ];
    let mut all: Vec<Attack> = rows
        .into_iter()
        .map(|(name, what, says, text)| {
            Attack::new(
                INPUT,
                name,
                what,
                &format!("refused: {says}"),
                wat::parse_str(format!("(component {text})")).unwrap(),
            )
        })
        .collect();
    let log = r#"(import "airlock:pass/host@0.1.0" "log" (func (param i32 i32 i32)))"#;
    all.push(Attack::new(INPUT, "utf16", "speaks UTF-16", "refused: ", encode(log, StringEncoding::UTF16)));
    all.push(Attack::new(
        INPUT,
        "latin1",
        "speaks Latin-1 or UTF-16",
        "refused: ",
        encode(log, StringEncoding::CompactUTF16),
    ));
    all
}

/// What the engine has switched off.
fn features() -> Vec<Attack> {
    let core: [(&str, &str, &str); 8] = [
        ("simd", "SIMD", "(func (result v128) (v128.const i64x2 0 0))"),
        (
            "relaxed_simd",
            "relaxed SIMD",
            "(func (param v128) (result v128) (f32x4.relaxed_madd (local.get 0) (local.get 0) (local.get 0)))",
        ),
        ("tail_calls", "tail calls", "(func $f (return_call $f))"),
        ("memory64", "a memory of 64 bits", "(memory i64 1)"),
        ("threads", "shared memory", "(memory 1 1 shared)"),
        ("exceptions", "exceptions", "(tag)"),
        ("two_memories", "two memories in a module", "(memory 1) (memory 1)"),
        ("gc", "garbage collection", "(type (struct))"),
    ];
    let mut all: Vec<Attack> = core
        .into_iter()
        .map(|(name, what, inside)| {
            let bytes = wat::parse_str(format!("(component (core module {inside}))")).unwrap();
            Attack::new(INPUT, name, &format!("uses {what}"), "refused: ", bytes)
        })
        .collect();
    for (name, what, text) in [
        ("task_return", "uses `task.return`", "(core func (canon task.return))"),
        ("error_context", "uses an error context", "(core func (canon error-context.drop))"),
        ("streams", "uses a stream", "(type $s (stream u8)) (core func (canon stream.new $s))"),
        ("backpressure", "uses back-pressure", "(core func (canon backpressure.inc))"),
    ] {
        all.push(Attack::new(INPUT, name, what, "refused: ", wat::parse_str(format!("(component {text})")).unwrap()));
    }
    all
}

/// Files that hold no component.
fn no_components() -> Vec<Attack> {
    let whole = hostile("quiet");
    let artifact = b"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00 an engine's own code".to_vec();
    let lengths = [whole.get(..8).unwrap(), &[1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]].concat();
    [
        ("nothing", "a file without a byte", "empty", Vec::new()),
        ("module", "a core module", "a core WebAssembly module", wat::parse_str("(module)").unwrap()),
        ("artifact", "code that an engine has compiled", "compiled", artifact),
        ("archive", "a zip", "not a WebAssembly component", b"PK\x03\x04 and so on".to_vec()),
        ("text_form", "the text of a component", "text form", b"(component)".to_vec()),
        ("half", "half a component", "", whole[..whole.len() / 2].to_vec()),
        ("section_of_4_gib", "a section that says it has 4 GiB", "", lengths),
        ("zeros", "a megabyte of zeros", "not a WebAssembly component", vec![0; 1 << 20]),
    ]
    .into_iter()
    .map(|(name, what, says, bytes)| Attack::new(INPUT, name, what, &format!("refused: {says}"), bytes))
    .collect()
}
