//! Trees as sympy's `srepr`, which `torch.export.load` reads.

use super::order::{Operands, arranged, class_of};
use super::print::{Zeros, float_text};
use super::tree::Tree;

/// The `srepr` of a tree.
pub(super) fn srepr(tree: Tree) -> String {
    text(&arranged(tree, Operands::AsKept))
}

fn text(tree: &Tree) -> String {
    match tree {
        Tree::Int(value) => format!("Integer({value})"),
        Tree::Rational(p, q) => format!("Rational({p}, {q})"),
        Tree::Float(value) => format!("Float('{}', precision=53)", float_text(*value, 17, Zeros::Strip)),
        Tree::Bool(value) => if *value { "true" } else { "false" }.to_owned(),
        Tree::Infinite(negative) => if *negative { "-int_oo" } else { "int_oo" }.to_owned(),
        Tree::Symbol(name) => symbol(name),
        Tree::Add(operands) => call("Add", operands),
        Tree::Mul(operands) => call("Mul", operands),
        Tree::Pow(base, exponent) => call("Pow", [&**base, &**exponent]),
        Tree::Compare(comparison, a, b) => call(class_of(*comparison), [&**a, &**b]),
        Tree::And(operands) => call("And", operands),
        Tree::Or(operands) => call("Or", operands),
        Tree::Not(operand) => call("Not", [&**operand]),
        Tree::Call(name, operands) => call(name, operands),
    }
}

fn call<'t>(name: &str, operands: impl IntoIterator<Item = &'t Tree>) -> String {
    let operands: Vec<String> = operands.into_iter().map(text).collect();
    format!("{name}({})", operands.join(", "))
}

/// With the assumptions that PyTorch makes: sizes are positive, what an operator computes (`u0`) is any integer, `zf0` is a float.
fn symbol(name: &str) -> String {
    let kind = if name.starts_with("zf") || name.starts_with("zuf") {
        "real=True"
    } else if is_unbacked(name) {
        "integer=True"
    } else {
        "positive=True, integer=True"
    };
    format!("Symbol('{name}', {kind})")
}

/// Whether a symbol stands for a value that is only known when running: `u0`, `u1`.
pub fn is_unbacked(name: &str) -> bool {
    name.strip_prefix('u').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}
