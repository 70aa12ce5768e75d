//! What is no pass is refused before anything of it runs, with an error that says what and where.

use crate::components::{component, encode, hostile};
use airlock::contract::{Limits, LoadError};
use airlock::sandbox::{Engine, FaultKind, Pass};
use wit_component::StringEncoding;

fn refused_with(bytes: &[u8], limits: &Limits) -> LoadError {
    let engine = Engine::new(limits).unwrap();
    match Pass::load("p", bytes, &engine, limits) {
        Err(error) => error,
        Ok(_) => panic!("loaded"),
    }
}

fn refused(bytes: &[u8]) -> LoadError {
    refused_with(bytes, &Limits::default())
}

fn text(component: &str) -> Vec<u8> {
    wat::parse_str(component).unwrap()
}

#[test]
fn what_is_no_component_is_told_apart() {
    assert!(matches!(refused(b""), LoadError::Empty { .. }));
    assert!(matches!(refused(&text("(module)")), LoadError::CoreModule { .. }));
    assert!(matches!(refused(b"\x7fELF\x02\x01\x01\x00rest"), LoadError::Artifact { .. }));
    let error = refused(b"PK\x03\x04 a zip");
    assert_eq!(error.to_string(), "p: not a WebAssembly component (it begins with `PK\\u{3}\\u{4} a z`)");
    assert!(refused(b"  (component)").to_string().contains("text form"));
    let whole = hostile("quiet");
    for cut in [9, whole.len() / 2, whole.len() - 1] {
        let error = refused(&whole[..cut]);
        assert!(matches!(error, LoadError::Malformed { .. } | LoadError::MissingExport { .. }), "{cut}: {error}");
    }
}

#[test]
fn no_byte_of_a_component_can_be_changed_into_a_panic() {
    let whole = hostile("lying");
    let limits = Limits::default();
    for at in (8..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        // Refused or not: it comes back.
        let _ = airlock::contract::check("p", &bytes, &limits);
    }
}

#[test]
fn imports_from_outside_the_contract_are_named() {
    let wasi = r#"(component (import "wasi:cli/environment@0.2.0"
        (instance (export "get-arguments" (func (result (list string)))))))"#;
    let error = refused(&text(wasi));
    assert!(matches!(&error, LoadError::ForeignImport { import, .. } if import == "wasi:cli/environment@0.2.0"));
    assert!(error.to_string().contains("wasm32-unknown-unknown"), "{error}");
    for foreign in [
        r#"(component (import "log" (func)))"#,
        r#"(component (import "airlock:other/graph@0.1.0" (instance)))"#,
        r#"(component (import "airlock:pass/graph@0.1.0" (func)))"#,
    ] {
        assert!(matches!(refused(&text(foreign)), LoadError::ForeignImport { .. }), "{foreign}");
    }
}

#[test]
fn items_that_this_host_does_not_have_are_named_with_both_versions() {
    let colour = r#"(component (import "airlock:pass/graph@0.1.2" (instance (export "colour" (func)))))"#;
    assert_eq!(
        refused(&text(colour)).to_string(),
        "p: needs `graph.colour` of airlock:pass@0.1.2; this Airlock offers airlock:pass@0.1.1, which does not have it: \
         build the pass against 0.1.1, or use a newer Airlock"
    );
    let files = r#"(component (import "airlock:pass/files@0.1.0" (instance)))"#;
    assert!(matches!(refused(&text(files)), LoadError::MissingItem { item, .. } if item == "files"));
    let resource =
        r#"(component (import "airlock:pass/types@0.1.0" (instance (export "node" (type (sub resource))))))"#;
    assert!(matches!(refused(&text(resource)), LoadError::MissingItem { item, .. } if item == "types.node"));
    let newer = r#"(component (import "airlock:pass/graph@0.2.0" (instance)))"#;
    assert_eq!(
        refused(&text(newer)).to_string(),
        "p: needs `graph` of airlock:pass@0.2.0; this Airlock offers airlock:pass@0.1.1, which is another contract: \
         build the pass against 0.1.1"
    );
}

#[test]
fn a_component_without_the_exports_of_a_pass_is_none() {
    let error = refused(&text("(component)"));
    assert!(
        matches!(&error, LoadError::MissingExport { export, .. } if export == "airlock:pass/pass@0.1.1"),
        "{error}"
    );
}

#[test]
fn a_function_of_another_type_does_not_fit() {
    // Its exports are plain functions of the right names, so that only its import is wrong.
    let of_stage = |result: &str| {
        text(&format!(
            r#"(component
            (import "airlock:pass/host@0.1.0" (instance (export "stage" (func (result {result})))))
            (core module $m (func (export "f") (result i32) i32.const 0))
            (core instance $i (instantiate $m))
            (func $f (result u32) (canon lift (core func $i "f")))
            (instance $e (export "describe" (func $f)) (export "run" (func $f)))
            (export "airlock:pass/pass@0.1.0" (instance $e)))"#
        ))
    };
    let error = refused(&of_stage("u32"));
    assert!(matches!(&error, LoadError::Mismatch { message, .. } if message.contains("stage")), "{error}");
    let (engine, limits) = (Engine::new(&Limits::default()).unwrap(), Limits::default());
    let pass = Pass::load("p", &of_stage("string"), &engine, &limits).unwrap();
    let fault = pass.describe(&limits).unwrap_err();
    assert_eq!((fault.kind, fault.function), (FaultKind::Contract, "start"), "{fault}");
}

#[test]
fn strings_are_utf8() {
    let import = r#"(import "airlock:pass/host@0.1.0" "log" (func (param i32 i32 i32)))"#;
    for encoding in [StringEncoding::UTF16, StringEncoding::CompactUTF16] {
        let error = refused(&encode(import, encoding));
        assert!(matches!(&error, LoadError::Convention { .. }), "{error}");
    }
}

#[test]
fn what_is_too_large_to_compile_is_refused_by_name() {
    let small = Limits {
        component_bytes: 100_000,
        functions: 50,
        function_bytes: 2_000,
        function_locals: 100,
        function_nesting: 20,
        function_branches: 30,
        function_locals_times_loops: 500,
        function_stack: 40,
        function_block_values: 400,
        function_locals_times_blocks: 900,
        locals_times_blocks: 2_000,
        values_squared: 30_000,
        ..Limits::default()
    };
    let (consts, drops) = (|n: usize| "i32.const 1 ".repeat(n), |n: usize| "drop ".repeat(n));
    let loops = |n: usize| "(loop ".repeat(n) + &")".repeat(n);
    for (key, inside) in [
        ("component_bytes", format!("(data (i32.const 5000) \"{}\")", "x".repeat(100_000))),
        ("functions", "(func)".repeat(60)),
        ("function_bytes", format!("(func {})", "nop ".repeat(3_000))),
        ("function_locals", format!("(func (local {}))", "i32 ".repeat(101))),
        ("function_nesting", format!("(func {})", loops(21))),
        ("function_branches", format!("(func (br_table {} (i32.const 0)))", "0 ".repeat(40))),
        ("function_locals_times_loops", format!("(func (local {}) {})", "i32 ".repeat(90), "(loop) ".repeat(6))),
        // Parameters count, and ifs and branches.
        ("function_locals_times_loops", format!("(func (param {}) {})", "i32 ".repeat(90), "(loop) ".repeat(6))),
        (
            "function_block_values",
            format!(
                "(func {}{}{})",
                consts(30),
                "(block (param {}) (result {}))".replace("{}", &"i32 ".repeat(30)).repeat(5),
                drops(30)
            ),
        ),
        (
            "function_block_values",
            format!(
                "(func (result {0}) {1}{2}{1} (br 0))",
                "i32 ".repeat(30),
                consts(30),
                "(br_if 0 (i32.const 0))".repeat(8) + &drops(30)
            ),
        ),
        ("function_stack", format!("(func {}{})", "i32.const 1 ".repeat(41), "drop ".repeat(41))),
        ("function_locals_times_blocks", format!("(func (param {}) {})", "i32 ".repeat(90), "(block) ".repeat(10))),
        (
            "function_locals_times_blocks",
            format!("(func (local {}) {})", "i32 ".repeat(90), "(if (i32.const 1) (then)) ".repeat(10)),
        ),
        (
            "function_locals_times_blocks",
            format!("(func (local {}) {})", "i32 ".repeat(90), "(br_if 0 (i32.const 1)) ".repeat(10)),
        ),
        ("locals_times_blocks", format!("(func (local {}) {})", "i32 ".repeat(80), "(block) ".repeat(9)).repeat(3)),
        ("values_squared", format!("(func (local {}))", "i32 ".repeat(99)).repeat(4)),
    ] {
        let error = refused_with(&component(&inside), &small);
        assert!(
            matches!(&error, LoadError::TooLarge { key: k, found, limit, .. } if *k == key && found > limit),
            "{error}"
        );
    }
}

/// Components in each other, each instantiating the one within it that many times.
fn nested(levels: usize, times: usize, innermost: &str) -> String {
    let mut text = format!("(component $c0 {innermost})");
    for level in 1..=levels {
        let inner = level - 1;
        text = format!("(component $c{level} {text} {})", format!("(instance (instantiate $c{inner}))").repeat(times));
    }
    format!("{text} (instance (instantiate $c{levels}))")
}

#[test]
fn parts_count_as_often_as_they_are_instantiated() {
    let by_alias = |levels: usize| {
        let mut text = "(component $c0)".to_string();
        for level in 1..=levels {
            let twice =
                format!("(alias outer $top $c{0} (component $d)) (instance (instantiate $d))", level - 1).repeat(2);
            text += &format!("(component $c{level} {})", twice.replacen("$d", "$e", 2));
        }
        format!("(component $top {text} (instance (instantiate $c{levels})))")
    };
    for text in [
        format!("(component {})", nested(30, 2, "")),
        format!("(component {})", nested(60, 2, "(core module $m) (core instance (instantiate $m))")),
        by_alias(40),
    ] {
        let error = refused(&wat::parse_str(&text).unwrap());
        assert!(matches!(&error, LoadError::TooLarge { key: "definitions", .. }), "{error}");
    }
    // What stands in each other without being instantiated so often is no trouble of this kind.
    let error = refused(&wat::parse_str(format!("(component {})", nested(60, 1, ""))).unwrap());
    assert!(matches!(&error, LoadError::MissingExport { .. }), "{error}");
}

#[test]
fn a_part_that_is_an_argument_or_comes_out_of_an_instance_is_refused() {
    for text in [
        "(component (component $a (import \"c\" (component))))",
        "(component (component $a (component $b) (export \"b\" (component $b))) (instance $i (instantiate $a)) \
         (alias export $i \"b\" (component $c)))",
    ] {
        let error = refused(&wat::parse_str(text).unwrap());
        assert!(matches!(&error, LoadError::Convention { .. }), "{error}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let limits = Limits::default();
    let engine = Engine::new(&limits).unwrap();
    let error = Pass::load_file(std::path::Path::new("no/such/pass.wasm"), &engine, &limits).err().unwrap();
    assert!(error.to_string().starts_with("cannot read no/such/pass.wasm: "), "{error}");
}
