//! The order in which sympy prints the terms of a sum, the factors of a product and the operands of `Max` and `Min`.
//!
//! Follows `Expr.sort_key` and `Expr.as_ordered_terms` of sympy 1.13 and 1.14: sums go lexicographically by powers over the factors in
//! key order, with one exception for a positive number minus a multiple. Keys compare what sympy's tuples compare.

use std::cmp::Ordering;

use super::expr::Comparison;
use super::tree::Tree;

/// A sort key: class, then operands (fewer first), then exponent, then coefficient.
#[derive(Clone, PartialEq, PartialOrd, Debug)]
struct Key {
    class: (u8, u32, String),
    count: usize,
    parts: Vec<Part>,
    /// `None` for numbers, which have none.
    exponent: Option<Box<Key>>,
    coefficient: f64,
}

#[derive(Clone, PartialEq, PartialOrd, Debug)]
enum Part {
    Text(String),
    Key(Key),
}

fn number_key(value: f64) -> Key {
    Key { class: (1, 0, "Number".to_owned()), count: 0, parts: Vec::new(), exponent: None, coefficient: value }
}

fn key(tree: &Tree) -> Key {
    if let Some(value) = tree.number() {
        return number_key(value);
    }
    let (coefficient, rest) = tree.split_coefficient();
    let many = |class: (u8, u32, &str), parts: Vec<Part>, exponent: Key| Key {
        class: (class.0, class.1, class.2.to_owned()),
        count: parts.len(),
        parts,
        exponent: Some(Box::new(exponent)),
        coefficient,
    };
    let [base] = rest.as_slice() else {
        let ordered = sorted_by_key(rest.iter().copied());
        return many((3, 0, "Mul"), keys(ordered), number_key(1.0));
    };
    let (base, exponent) = match base {
        Tree::Pow(base, exponent) => (&**base, key(exponent)),
        other => (*other, number_key(1.0)),
    };
    match base {
        Tree::Symbol(name) => many((2, 0, "Symbol"), vec![Part::Text(name.clone())], exponent),
        Tree::Add(_) => many((3, 1, "Add"), keys(ordered_terms(base)), exponent),
        Tree::Mul(factors) => many((3, 0, "Mul"), keys(sorted_by_key(factors)), exponent),
        Tree::Pow(a, b) => many((3, 2, "Pow"), keys([&**a, &**b]), exponent),
        Tree::Call(name, operands) if name == "Max" || name == "Min" => {
            many((5, 0, name), keys(sorted_by_key(operands)), exponent)
        }
        Tree::Call(name, operands) if name == "Piecewise" => many((4, 0, name), keys(operands), exponent),
        Tree::Call(name, operands) if name == "ExprCondPair" => many((5, 0, name), keys(operands), exponent),
        Tree::Call(name, operands) => many((4, 10_000, name), keys(operands), exponent),
        Tree::Compare(comparison, a, b) => many((5, 0, class_of(*comparison)), keys([&**a, &**b]), exponent),
        Tree::And(operands) => many((5, 0, "And"), keys(operands), exponent),
        Tree::Or(operands) => many((5, 0, "Or"), keys(operands), exponent),
        Tree::Not(operand) => many((5, 0, "Not"), keys([&**operand]), exponent),
        Tree::Bool(value) => many((5, 0, if *value { "BooleanTrue" } else { "BooleanFalse" }), Vec::new(), exponent),
        Tree::Infinite(_) => many((1, 0, "Number"), Vec::new(), exponent),
        Tree::Int(_) | Tree::Rational(..) | Tree::Float(_) => many((1, 0, "Number"), Vec::new(), exponent),
    }
}

fn keys<'t>(trees: impl IntoIterator<Item = &'t Tree>) -> Vec<Part> {
    trees.into_iter().map(|tree| Part::Key(key(tree))).collect()
}

/// The name of sympy's class for a comparison.
pub(super) fn class_of(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "Equality",
        Comparison::NotEqual => "Unequality",
        Comparison::Less => "StrictLessThan",
        Comparison::LessOrEqual => "LessThan",
        Comparison::Greater => "StrictGreaterThan",
        Comparison::GreaterOrEqual => "GreaterThan",
    }
}

/// By key: factors, and the operands of `Max` and `Min` where they are printed.
pub(super) fn sorted_by_key<'t>(trees: impl IntoIterator<Item = &'t Tree>) -> Vec<&'t Tree> {
    let mut keyed: Vec<(Key, &Tree)> = trees.into_iter().map(|tree| (key(tree), tree)).collect();
    keyed.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
    keyed.into_iter().map(|(_, tree)| tree).collect()
}

/// The order in which sympy keeps operands of `And`, `Or`, `Max` and `Min`: fewer nodes first, then by key.
pub(super) fn in_argument_order(trees: &[Tree]) -> Vec<&Tree> {
    let mut ordered = sorted_by_key(trees);
    ordered.sort_by_cached_key(|tree| nodes(tree));
    ordered
}

fn nodes(tree: &Tree) -> usize {
    let pair = |a: &Tree, b: &Tree| nodes(a).saturating_add(nodes(b)).saturating_add(1);
    match tree {
        Tree::Int(_) | Tree::Rational(..) | Tree::Float(_) | Tree::Bool(_) | Tree::Infinite(_) | Tree::Symbol(_) => 1,
        Tree::Pow(a, b) | Tree::Compare(_, a, b) => pair(a, b),
        Tree::Not(operand) => nodes(operand).saturating_add(1),
        Tree::Add(operands)
        | Tree::Mul(operands)
        | Tree::And(operands)
        | Tree::Or(operands)
        | Tree::Call(_, operands) => operands.iter().fold(1, |sum, operand| sum.saturating_add(nodes(operand))),
    }
}

/// The terms of a sum in the order of printing; anything else is its own only term.
pub(super) fn ordered_terms(tree: &Tree) -> Vec<&Tree> {
    let Tree::Add(terms) = tree else { return vec![tree] };
    if let Some(pair) = number_minus_multiple(terms) {
        return pair;
    }
    let powers: Vec<Vec<(&Tree, i64)>> = terms.iter().map(powers_of).collect();
    let mut generators: Vec<(Key, &Tree)> = Vec::new();
    for (base, _) in powers.iter().flatten() {
        if !generators.iter().any(|(_, seen)| seen == base) {
            generators.push((key(base), base));
        }
    }
    generators.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
    let exponents = |powers: &[(&Tree, i64)]| -> Vec<i64> {
        generators
            .iter()
            .map(|(_, generator)| powers.iter().find(|(base, _)| base == generator).map_or(0, |(_, power)| *power))
            .collect()
    };
    let mut keyed: Vec<(Vec<i64>, f64, &Tree)> =
        terms.iter().zip(&powers).map(|(term, powers)| (exponents(powers), term.split_coefficient().0, term)).collect();
    keyed.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.partial_cmp(&b.1).unwrap_or(Ordering::Equal)));
    keyed.into_iter().map(|(_, _, term)| term).collect()
}

/// `8 - 3*x`, not `-3*x + 8`: sympy's exception.
fn number_minus_multiple(terms: &[Tree]) -> Option<Vec<&Tree>> {
    let [a, b] = terms else { return None };
    let (number, multiple) = if a.number().is_some() { (a, b) } else { (b, a) };
    let Tree::Mul(factors) = multiple else { return None };
    let negative = factors.len() == 2 && multiple.split_coefficient().0 < 0.0;
    (number.number()? > 0.0 && negative).then_some(vec![number, multiple])
}

/// The bases of a term with their integer powers; another power counts as a base of its own.
fn powers_of(term: &Tree) -> Vec<(&Tree, i64)> {
    let (_, factors) = term.split_coefficient();
    factors
        .into_iter()
        .filter(|factor| factor.number().is_none())
        .map(|factor| match factor {
            Tree::Pow(base, exponent) => match **exponent {
                Tree::Int(power) => (&**base, power),
                _ => (factor, 1),
            },
            other => (other, 1),
        })
        .collect()
}
