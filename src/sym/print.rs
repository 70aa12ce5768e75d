//! Trees as text: what Python's `str` gives for them in PyTorch, character by character.
//!
//! Follows sympy's `StrPrinter` and the `_sympystr` and `precedence` of PyTorch's own functions: `FloorDiv` prints as `(a//b)`, and
//! binds so loosely that it gets a second pair of parentheses inside a sum.

use std::fmt::Write as _;

use super::expr::Comparison;
use super::order::{Operands, arranged};
use super::tree::Tree;

// sympy's precedences, doubled where it has halves.
const OR: u32 = 20;
const AND: u32 = 30;
const LOOSE: u32 = 35;
const BIT_OR: u32 = 36;
const BIT_XOR: u32 = 37;
const BIT_AND: u32 = 38;
const ADD: u32 = 40;
const MUL: u32 = 50;
const POW: u32 = 60;
const CALL: u32 = 70;
const NOT: u32 = 100;
const ATOM: u32 = 1000;

/// The text of a tree.
pub(super) fn python(tree: Tree) -> String {
    match arranged(tree, Operands::AsPrinted) {
        // At the top, and only there, sympy pads a float to 15 digits.
        Tree::Float(value) => float_text(value, 15, Zeros::Keep),
        tree => text(&tree),
    }
}

fn text(tree: &Tree) -> String {
    match tree {
        Tree::Int(value) => value.to_string(),
        Tree::Rational(p, q) => format!("{p}/{q}"),
        Tree::Float(value) => float_text(*value, 15, Zeros::Strip),
        Tree::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        Tree::Infinite(negative) => if *negative { "-int_oo" } else { "int_oo" }.to_owned(),
        Tree::Symbol(name) => name.clone(),
        Tree::Add(terms) => sum(terms),
        Tree::Mul(_) => product(tree),
        Tree::Pow(base, exponent) => power(base, exponent),
        Tree::Compare(comparison, a, b) => relation(*comparison, a, b),
        Tree::And(operands) => joined(operands, " & ", BIT_AND),
        Tree::Or(operands) => joined(operands, " | ", BIT_OR),
        Tree::Not(operand) => format!("~{}", guarded(operand, NOT)),
        Tree::Call(name, operands) => call(name, operands),
    }
}

fn call(name: &str, operands: &[Tree]) -> String {
    match (name, operands) {
        ("FloorDiv" | "CleanDiv", [a, b]) => {
            format!("({}//{})", guarded(a, ATOM.saturating_sub(1)), guarded(b, ATOM.saturating_sub(1)))
        }
        // PyTorch prints what an identity holds in parentheses, and sympy a branch of `Piecewise` as a tuple.
        ("Identity" | "ExprCondPair", _) => format!("({})", listed(operands)),
        _ => format!("{name}({})", listed(operands)),
    }
}

fn listed<'t>(operands: impl IntoIterator<Item = &'t Tree>) -> String {
    operands.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

fn joined(operands: &[Tree], separator: &str, level: u32) -> String {
    operands.iter().map(|operand| guarded(operand, level)).collect::<Vec<_>>().join(separator)
}

/// The text, in parentheses unless it binds tighter than `level`.
fn guarded(tree: &Tree, level: u32) -> String {
    if precedence(tree) <= level { format!("({})", text(tree)) } else { text(tree) }
}

fn precedence(tree: &Tree) -> u32 {
    match tree {
        Tree::Int(value) => {
            if *value < 0 {
                ADD
            } else {
                ATOM
            }
        }
        Tree::Rational(p, _) => {
            if *p < 0 {
                ADD
            } else {
                MUL
            }
        }
        Tree::Float(value) => {
            if *value < 0.0 {
                ADD
            } else {
                ATOM
            }
        }
        Tree::Infinite(negative) => {
            if *negative {
                ADD
            } else {
                ATOM
            }
        }
        Tree::Bool(_) | Tree::Symbol(_) => ATOM,
        Tree::Add(_) => ADD,
        Tree::Mul(factors) => {
            let loose = |factor: &Tree| matches!(factor, Tree::Call(name, _) if call_precedence(name) < MUL);
            if !factors.iter().any(loose) && tree.split_coefficient().0 < 0.0 { ADD } else { MUL }
        }
        Tree::Pow(..) => POW,
        Tree::Compare(Comparison::Equal | Comparison::NotEqual, ..) => MUL,
        Tree::Compare(..) => LOOSE,
        Tree::And(_) => AND,
        Tree::Or(_) => OR,
        Tree::Not(_) => NOT,
        Tree::Call(name, _) => call_precedence(name),
    }
}

fn call_precedence(name: &str) -> u32 {
    match name {
        "FloorDiv" | "CleanDiv" | "Mod" | "PythonMod" | "ModularIndexing" | "Where" | "IntTrueDiv" | "FloatTrueDiv" => {
            LOOSE
        }
        "Identity" => 10,
        "BitwiseFn_bitwise_or" => BIT_OR,
        "BitwiseFn_bitwise_xor" => BIT_XOR,
        "BitwiseFn_bitwise_and" => BIT_AND,
        "PowByNatural" => MUL,
        "FloatPow" => POW,
        "Max" | "Min" => ATOM,
        _ => CALL,
    }
}

fn sum(terms: &[Tree]) -> String {
    let mut out = String::new();
    for (index, term) in terms.iter().enumerate() {
        let printed = text(term);
        let (sign, body) = match printed.strip_prefix('-') {
            Some(rest) => ('-', rest),
            None => ('+', printed.as_str()),
        };
        match (index, sign) {
            (0, '-') => out.push('-'),
            (0, _) => {}
            _ => {
                out.push(' ');
                out.push(sign);
                out.push(' ');
            }
        }
        if precedence(term) < ADD {
            // Writing to a string does not fail.
            let _ = write!(out, "({body})");
        } else {
            out.push_str(body);
        }
    }
    out
}

fn product(tree: &Tree) -> String {
    let Tree::Mul(factors) = tree else { return text(tree) };
    let level = precedence(tree);
    let (coefficient, rest) = tree.split_coefficient();
    let number = factors.first().filter(|first| first.number().is_some());
    let sign = if coefficient < 0.0 { "-" } else { "" };
    let positive = number.map(|number| if coefficient < 0.0 { number.clone().negated() } else { number.clone() });
    let shown = positive
        .as_ref()
        .filter(|number| number.number() != Some(1.0) || matches!(number, Tree::Float(_)) || rest.is_empty());
    let mut above = Vec::new();
    let mut below = Vec::new();
    if let Some(Tree::Rational(p, q)) = shown {
        if *p != 1 {
            above.push(p.to_string());
        }
        below.push(q.to_string());
    } else if let Some(number) = shown {
        above.push(guarded(number, level));
    }
    for factor in rest {
        match negative_power(factor) {
            Some(inverse) => below.push(guarded(&inverse, level)),
            None => above.push(guarded(factor, level)),
        }
    }
    if above.is_empty() {
        above.push("1".to_owned());
    }
    let above = above.join("*");
    match below.as_slice() {
        [] => format!("{sign}{above}"),
        [one] => format!("{sign}{above}/{one}"),
        many => format!("{sign}{above}/({})", many.join("*")),
    }
}

/// What stands below the line for a factor with a negative number as exponent.
fn negative_power(factor: &Tree) -> Option<Tree> {
    let Tree::Pow(base, exponent) = factor else { return None };
    let value = exponent.number()?;
    if value >= 0.0 {
        return None;
    }
    Some(if value == -1.0 { (**base).clone() } else { Tree::pow((**base).clone(), (**exponent).clone().negated()) })
}

fn power(base: &Tree, exponent: &Tree) -> String {
    match exponent {
        Tree::Rational(1, 2) => format!("sqrt({})", text(base)),
        Tree::Rational(-1, 2) => format!("1/sqrt({})", text(base)),
        Tree::Int(-1) => format!("1/{}", guarded(base, POW)),
        _ => format!("{}**{}", guarded(base, POW), guarded(exponent, POW)),
    }
}

fn relation(comparison: Comparison, a: &Tree, b: &Tree) -> String {
    let operator = match comparison {
        Comparison::Equal => return format!("Eq({}, {})", text(a), text(b)),
        Comparison::NotEqual => return format!("Ne({}, {})", text(a), text(b)),
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    };
    format!("{} {operator} {}", guarded(a, LOOSE), guarded(b, LOOSE))
}

/// Whether zeros at the end of a fraction are written.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Zeros {
    Keep,
    Strip,
}

/// A float with so many significant digits, as mpmath writes it.
pub(super) fn float_text(value: f64, digits: usize, zeros: Zeros) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-oo" } else { "oo" }.to_owned();
    }
    if value == 0.0 {
        return if zeros == Zeros::Keep { "0".to_owned() } else { "0.0".to_owned() };
    }
    let scientific = format!("{:.*e}", digits.saturating_sub(1), value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let all: String = mantissa.chars().filter(|c| *c != '.').collect();
    let fixed_from = i64::try_from(digits).unwrap_or(15).wrapping_div(3).saturating_neg().min(-5);
    let fixed = fixed_from < exponent && exponent < i64::try_from(digits).unwrap_or(15);
    let mut body = if !fixed {
        pointed(&all, 1)
    } else if exponent < 0 {
        let zeros = usize::try_from(exponent.saturating_neg().saturating_sub(1)).unwrap_or(0);
        format!("0.{}{all}", "0".repeat(zeros))
    } else {
        pointed(&all, usize::try_from(exponent.saturating_add(1)).unwrap_or(1))
    };
    if zeros == Zeros::Strip {
        let stripped = body.trim_end_matches('0').len();
        body.truncate(stripped);
        if body.ends_with('.') {
            body.push('0');
        }
    }
    let sign = if value < 0.0 { "-" } else { "" };
    match (fixed, exponent) {
        (true, _) => format!("{sign}{body}"),
        (false, exponent) if exponent < 0 => format!("{sign}{body}e{exponent}"),
        (false, exponent) => format!("{sign}{body}e+{exponent}"),
    }
}

fn pointed(digits: &str, before: usize) -> String {
    let (whole, fraction) = digits.split_at_checked(before).unwrap_or((digits, ""));
    format!("{whole}.{fraction}")
}
