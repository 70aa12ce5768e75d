//! What is known of an operator stands in files of its family's name: type rule, needs, decomposition, kernel, converter.
//!
//! The family of an operator is the file of its type rule. A large family has parts, each with one name wherever it stands.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The parts of families, beside a file of the family's own name.
const PARTS: &[(&str, &[&str])] = &[
    ("attention", &["encoder", "recurrent"]),
    ("compare", &["elementary", "logic", "select", "unary"]),
    ("conv", &["gradient_window"]),
    ("create", &["copy", "random"]),
    ("einsum", &["contract"]),
    ("fourier", &["fft"]),
    (
        "gradient",
        &["activation", "class_loss", "dropout", "gradient_window", "loss", "matmul", "pad", "pool", "sample_back"],
    ),
    ("matmul", &["contract", "distance"]),
    ("movement", &["index", "pad", "slices", "unfold"]),
    ("norm", &["batch_norm", "gradient_norm", "group_norm", "softmax", "weight_norm"]),
    ("npu", &["npu_cache", "npu_dequant", "npu_grouped", "npu_matmul", "npu_norm", "npu_quant"]),
    ("npu_quant", &["npu", "npu_dequant", "npu_matmul"]),
    (
        "pointwise",
        &[
            "activation",
            "arithmetic",
            "binary",
            "bitwise",
            "complex",
            "contract",
            "division",
            "dropout",
            "elementary",
            "logic",
            "loss",
            "power",
            "quant",
            "quantized",
            "random",
            "select",
            "ternary",
            "unary",
        ],
    ),
    ("pool", &["gradient_window", "grid_sample", "pool_fractional", "resample"]),
    ("random", &["distributions", "dropout"]),
    ("reduce", &["class_loss", "extrema", "loss", "moments", "scan", "sort", "ternary"]),
    ("sort", &["search", "unique"]),
    ("split", &["fourier", "view"]),
    ("symbolic", &["compare", "python"]),
    ("view", &["complex", "slices", "split"]),
];

/// Files that hold operators of any family, since what they share is how: gradients, other names, lists, what TorchAir has no converter for.
const ACROSS: &[&str] = &["beyond", "foreach", "gradient", "renamed", "value"];

/// Operators of which something stands in a file of another family, and which.
const ELSEWHERE: &[(&str, &str)] = &[
    // Typed as new tensors are; they see a memory in other sizes.
    ("aten.resize_.default", "view"),
    ("aten.set_.default", "view"),
    ("aten.set_.source_Tensor", "view"),
    ("aten.set_.source_Tensor_storage_offset", "view"),
    // Triangles, as indices.
    ("aten.tril_indices.default", "movement"),
    ("aten.triu_indices.default", "movement"),
    // Of one operand: `nonzero_numpy`.
    ("aten.where.default", "sort"),
];

/// Operators of tables in the sources below a folder: each with the file, or the folder of the mechanism, in which it stands.
fn stated(folder: &str) -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let files: Vec<_> = match path.is_dir() {
            true => fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()).collect(),
            false => vec![path],
        };
        for text in files.iter().map(|file| fs::read_to_string(file).unwrap()) {
            for target in tables(&text) {
                found.entry(target).or_default().insert(name.clone());
            }
        }
    }
    found
}

/// The targets of the tables of a source text: what stands in the list of an entry, or first in one.
fn tables(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("const ") {
        let Some((declared, table)) = text[at..].split_once('=') else { continue };
        if !(declared.ends_with(": &[Entry] ") || declared.ends_with(": &[Line] ")) {
            continue;
        }
        let (mut open, mut last) = (String::new(), ' ');
        for (number, piece) in table.split('"').enumerate() {
            if number % 2 == 1 {
                if open == "[([" || open == "[(" && last == '(' {
                    found.push(piece.to_string());
                }
                continue;
            }
            for c in piece.chars().filter(|c| !c.is_whitespace()) {
                match c {
                    '[' | '(' | '{' => open.push(c),
                    ']' | ')' | '}' => drop(open.pop()),
                    _ => {}
                }
                last = c;
                if open.is_empty() && c == ';' {
                    break;
                }
            }
            if open.is_empty() && last == ';' {
                break;
            }
        }
    }
    found
}

#[test]
fn what_is_known_of_an_operator_stands_in_files_of_its_familys_name() {
    let rules = stated("ops/families");
    assert!(rules.len() > 900, "{} rules", rules.len());
    let parts: BTreeMap<&str, &[&str]> = PARTS.iter().copied().collect();
    let (mut wrong, mut elsewhere) = (Vec::new(), ELSEWHERE.iter().copied().collect::<BTreeSet<_>>());
    for folder in ["ops/families/needs", "ops/decompose", "exec/kernels", "lower/ge/convert"] {
        let known = stated(folder);
        assert!(known.len() > 300, "{} in {folder}", known.len());
        for (target, files) in known {
            let Some(family) = rules.get(&target).and_then(|f| f.iter().find(|f| *f != "needs")) else { continue };
            for file in &files {
                let is_part = parts.get(family.as_str()).is_some_and(|parts| parts.contains(&file.as_str()));
                if file == family || is_part || ACROSS.contains(&file.as_str()) {
                    continue;
                }
                elsewhere.retain(|(t, f)| (*t, *f) != (target.as_str(), file.as_str()));
                if !ELSEWHERE.contains(&(target.as_str(), file.as_str())) {
                    wrong.push(format!("{target} of {family}: src/{folder}/{file}"));
                }
            }
        }
    }
    assert!(elsewhere.is_empty(), "these stand with their family: {elsewhere:?}");
    assert!(wrong.is_empty(), "move these, or name the part of the family in PARTS:\n{}", wrong.join("\n"));
}

#[test]
fn an_operator_stands_once_in_each_mechanism() {
    let mut twice = Vec::new();
    for folder in ["ops/families/needs", "ops/decompose", "exec/kernels", "lower/ge/convert"] {
        for (target, files) in stated(folder).into_iter().filter(|(_, files)| files.len() > 1) {
            twice.push(format!("{target}: src/{folder}/{files:?}"));
        }
    }
    assert!(twice.is_empty(), "the later one hides the other:\n{}", twice.join("\n"));
}

#[test]
fn no_part_is_named_that_no_file_has() {
    let folders = ["ops/families", "ops/families/needs", "ops/decompose", "exec/kernels", "lower/ge/convert"];
    let files: BTreeSet<String> = folders.iter().flat_map(|f| stated(f)).flat_map(|(_, files)| files).collect();
    let absent: Vec<&&str> = PARTS.iter().flat_map(|(_, parts)| *parts).filter(|p| !files.contains(**p)).collect();
    assert!(absent.is_empty(), "{absent:?}");
}

#[test]
fn targets_are_read_from_tables_alone() {
    let text = r#"pub(super) const TABLE: &[Entry] = &[
    (|c| each(c, "aten.sub.Tensor"), &["aten.add.Tensor"]),
    ("aten.b.c", By(|c| d("x y."))),
];
let a = "aten.e.f";"#;
    assert_eq!(tables(text), ["aten.add.Tensor", "aten.b.c"]);
}
