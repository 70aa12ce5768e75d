//! Expressions as they are written, between text and the arena: what sympy calls a tree, not made canonical.
//!
//! Promise: a tree that was read or built is no deeper than [`MAX_TREE_DEPTH`], so what walks one may recurse. `python` reads trees from
//! PyTorch's text and from `srepr`, `print` and `srepr` write them, `convert` goes to and from interned values.

use super::expr::Comparison;

/// More nesting than the arena allows, since a polynomial is one level there and three here.
pub(super) const MAX_TREE_DEPTH: usize = 200;

/// A node of a tree, with the name that sympy has for it.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Tree {
    Int(i64),
    Rational(i64, i64),
    Float(f64),
    Bool(bool),
    /// `int_oo`, or with `true` `-int_oo`.
    Infinite(bool),
    Symbol(String),
    Add(Vec<Tree>),
    Mul(Vec<Tree>),
    Pow(Box<Tree>, Box<Tree>),
    Compare(Comparison, Box<Tree>, Box<Tree>),
    And(Vec<Tree>),
    Or(Vec<Tree>),
    Not(Box<Tree>),
    Call(String, Vec<Tree>),
}

impl Tree {
    pub(super) fn call(name: &str, operands: impl IntoIterator<Item = Tree>) -> Tree {
        Tree::Call(name.to_owned(), operands.into_iter().collect())
    }

    pub(super) fn pow(base: Tree, exponent: Tree) -> Tree {
        Tree::Pow(Box::new(base), Box::new(exponent))
    }

    pub(super) fn compare(comparison: Comparison, a: Tree, b: Tree) -> Tree {
        Tree::Compare(comparison, Box::new(a), Box::new(b))
    }

    /// The sum, with nested sums opened.
    pub(super) fn add(operands: Vec<Tree>) -> Tree {
        let mut terms = Vec::new();
        for operand in operands {
            match operand {
                // The first keeps its memory: a long run read left to right stays linear.
                Tree::Add(inner) if terms.is_empty() => terms = inner,
                Tree::Add(inner) => terms.extend(inner),
                other => terms.push(other),
            }
        }
        single(terms, Tree::Add)
    }

    /// The product, with nested products opened.
    pub(super) fn mul(operands: Vec<Tree>) -> Tree {
        let mut factors = Vec::new();
        for operand in operands {
            match operand {
                // The first keeps its memory: a long run read left to right stays linear.
                Tree::Mul(inner) if factors.is_empty() => factors = inner,
                Tree::Mul(inner) => factors.extend(inner),
                other => factors.push(other),
            }
        }
        single(factors, Tree::Mul)
    }

    pub(super) fn negated(self) -> Tree {
        match self {
            Tree::Float(value) => Tree::Float(-value),
            Tree::Infinite(negative) => Tree::Infinite(!negative),
            Tree::Int(value) => value.checked_neg().map_or(Tree::Mul(vec![Tree::Int(-1), Tree::Int(value)]), Tree::Int),
            Tree::Rational(p, q) => {
                p.checked_neg().map_or(Tree::Mul(vec![Tree::Int(-1), Tree::Rational(p, q)]), |p| Tree::Rational(p, q))
            }
            other => Tree::mul(vec![Tree::Int(-1), other]),
        }
    }

    /// The number in front and what it multiplies: sympy's `as_coeff_Mul`.
    pub(super) fn split_coefficient(&self) -> (f64, Vec<&Tree>) {
        match self {
            Tree::Mul(factors) => match factors.split_first() {
                Some((first, rest)) if first.number().is_some() => {
                    (first.number().unwrap_or(1.0), rest.iter().collect())
                }
                _ => (1.0, factors.iter().collect()),
            },
            _ => match self.number() {
                Some(number) => (number, Vec::new()),
                None => (1.0, vec![self]),
            },
        }
    }

    /// The value of a number, near enough to order by.
    pub(super) fn number(&self) -> Option<f64> {
        match self {
            Tree::Int(value) => Some(*value as f64),
            Tree::Rational(p, q) => Some(*p as f64 / *q as f64),
            Tree::Float(value) => Some(*value),
            _ => None,
        }
    }
}

fn single(mut operands: Vec<Tree>, many: impl FnOnce(Vec<Tree>) -> Tree) -> Tree {
    match operands.pop() {
        Some(only) if operands.is_empty() => only,
        Some(last) => {
            operands.push(last);
            many(operands)
        }
        None => many(operands),
    }
}
