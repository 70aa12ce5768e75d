//! The order in which sympy prints the terms of a sum, the factors of a product and the operands of `Max`, `Min`, `And` and `Or`.
//!
//! Follows `Expr.sort_key` and `Expr.as_ordered_terms` of sympy 1.13 and 1.14: sums go lexicographically by powers over the factors in
//! key order, with one exception for a positive number minus a multiple. Keys compare what sympy's tuples compare.
//!
//! Promise: one walk, in which the key of each node is made once and shared; so the work is near linear in the tree, whatever its nesting.

use std::cmp::Ordering;
use std::rc::Rc;

use super::expr::Comparison;
use super::tree::Tree;

/// Which order the operands of `Max` and `Min` are in: sympy prints them in another one than it keeps them in.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Operands {
    AsPrinted,
    AsKept,
}

/// The tree with all operands in order.
pub(super) fn arranged(tree: Tree, operands: Operands) -> Tree {
    arrange(tree, operands).tree
}

/// What an expression is by itself: class, then operands (fewer first).
#[derive(PartialEq, PartialOrd, Debug)]
struct Own {
    class: (u8, u32, String),
    count: usize,
    parts: Vec<Part>,
}

#[derive(PartialEq, PartialOrd, Debug)]
enum Part {
    Text(String),
    Key(Rc<Key>),
}

/// A sort key: what stands below a power and beside a coefficient, then these two.
#[derive(PartialEq, PartialOrd, Debug)]
struct Key {
    own: Rc<Own>,
    /// `None` for numbers, which have none.
    exponent: Option<Rc<Key>>,
    coefficient: f64,
}

/// An ordered tree with what its parent orders it by.
struct Arranged {
    tree: Tree,
    own: Rc<Own>,
    key: Rc<Key>,
    /// How many nodes it has.
    nodes: usize,
    /// Its factors but for numbers: bases with their integer powers.
    powers: Vec<(Rc<Key>, i64)>,
}

fn own(class: (u8, u32, &str), parts: Vec<Part>) -> Rc<Own> {
    Rc::new(Own { class: (class.0, class.1, class.2.to_owned()), count: parts.len(), parts })
}

fn number_key(value: f64) -> Rc<Key> {
    Rc::new(Key { own: own((1, 0, "Number"), Vec::new()), exponent: None, coefficient: value })
}

fn keys(operands: &[Arranged]) -> Vec<Part> {
    operands.iter().map(|operand| Part::Key(operand.key.clone())).collect()
}

impl Arranged {
    /// Of what is no number, product or power.
    fn plain(tree: Tree, own: Rc<Own>, nodes: usize) -> Arranged {
        let key = Rc::new(Key { own: own.clone(), exponent: Some(number_key(1.0)), coefficient: 1.0 });
        Arranged { tree, own, nodes, powers: vec![(key.clone(), 1)], key }
    }

    fn number(tree: Tree, value: f64) -> Arranged {
        let key = number_key(value);
        Arranged { tree, own: key.own.clone(), key, nodes: 1, powers: Vec::new() }
    }
}

fn arrange(tree: Tree, how: Operands) -> Arranged {
    if let Some(value) = tree.number() {
        return Arranged::number(tree, value);
    }
    match tree {
        Tree::Symbol(name) => {
            let own = own((2, 0, "Symbol"), vec![Part::Text(name.clone())]);
            Arranged::plain(Tree::Symbol(name), own, 1)
        }
        Tree::Add(terms) => sum(terms, how),
        Tree::Mul(factors) => product(factors, how),
        Tree::Pow(base, exponent) => power(*base, *exponent, how),
        Tree::Call(name, operands) => call(name, operands, how),
        Tree::And(operands) => junction("And", operands, how, Tree::And),
        Tree::Or(operands) => junction("Or", operands, how, Tree::Or),
        Tree::Not(operand) => junction("Not", vec![*operand], how, not),
        Tree::Compare(comparison, a, b) => {
            let (a, b) = (arrange(*a, how), arrange(*b, how));
            let nodes = a.nodes.saturating_add(b.nodes).saturating_add(1);
            let own = own((5, 0, class_of(comparison)), vec![Part::Key(a.key), Part::Key(b.key)]);
            Arranged::plain(Tree::compare(comparison, a.tree, b.tree), own, nodes)
        }
        Tree::Bool(value) => {
            let class = if value { "BooleanTrue" } else { "BooleanFalse" };
            Arranged::plain(tree, own((5, 0, class), Vec::new()), 1)
        }
        Tree::Infinite(negative) => Arranged::number(tree, if negative { f64::NEG_INFINITY } else { f64::INFINITY }),
        Tree::Int(_) | Tree::Rational(..) | Tree::Float(_) => Arranged::number(tree, f64::NAN),
    }
}

fn not(mut operands: Vec<Tree>) -> Tree {
    Tree::Not(Box::new(operands.pop().unwrap_or(Tree::Bool(true))))
}

fn all(operands: Vec<Tree>, how: Operands) -> Vec<Arranged> {
    operands.into_iter().map(|operand| arrange(operand, how)).collect()
}

fn trees(operands: Vec<Arranged>) -> Vec<Tree> {
    operands.into_iter().map(|operand| operand.tree).collect()
}

fn node_count(operands: &[Arranged]) -> usize {
    operands.iter().fold(1, |sum, operand| sum.saturating_add(operand.nodes))
}

fn compare_keys(a: &Arranged, b: &Arranged) -> Ordering {
    a.key.partial_cmp(&b.key).unwrap_or(Ordering::Equal)
}

/// As sympy keeps the operands of what commutes: fewer nodes first, then by key.
fn compare_kept(a: &Arranged, b: &Arranged) -> Ordering {
    a.nodes.cmp(&b.nodes).then_with(|| compare_keys(a, b))
}

fn junction(class: &str, operands: Vec<Tree>, how: Operands, build: fn(Vec<Tree>) -> Tree) -> Arranged {
    let mut operands = all(operands, how);
    operands.sort_by(compare_kept);
    let (own, nodes) = (own((5, 0, class), keys(&operands)), node_count(&operands));
    Arranged::plain(build(trees(operands)), own, nodes)
}

fn call(name: String, operands: Vec<Tree>, how: Operands) -> Arranged {
    let mut operands = all(operands, how);
    let class = match name.as_str() {
        "Max" | "Min" | "ExprCondPair" => (5, 0, name.as_str()),
        "Piecewise" => (4, 0, name.as_str()),
        _ => (4, 10_000, name.as_str()),
    };
    let nodes = node_count(&operands);
    let own = if matches!(name.as_str(), "Max" | "Min") {
        operands.sort_by(compare_keys);
        let own = own(class, keys(&operands));
        if how == Operands::AsKept {
            operands.sort_by(compare_kept);
        }
        own
    } else {
        own(class, keys(&operands))
    };
    Arranged::plain(Tree::Call(name, trees(operands)), own, nodes)
}

fn power(base: Tree, exponent: Tree, how: Operands) -> Arranged {
    let (base, exponent) = (arrange(base, how), arrange(exponent, how));
    let nodes = base.nodes.saturating_add(exponent.nodes).saturating_add(1);
    let key = Rc::new(Key { own: base.own, exponent: Some(exponent.key.clone()), coefficient: 1.0 });
    let powers = match exponent.tree {
        Tree::Int(power) => vec![(base.key.clone(), power)],
        _ => vec![(key.clone(), 1)],
    };
    let own = own((3, 2, "Pow"), vec![Part::Key(base.key), Part::Key(exponent.key)]);
    Arranged { tree: Tree::pow(base.tree, exponent.tree), own, key, nodes, powers }
}

fn product(factors: Vec<Tree>, how: Operands) -> Arranged {
    let mut factors = all(factors, how);
    // The number in front stays there; sympy has one at most.
    let first = factors.first().and_then(|first| first.tree.number());
    let numbers = usize::from(first.is_some());
    if let Some((_, rest)) = factors.split_at_mut_checked(numbers) {
        rest.sort_by(compare_keys);
    }
    let nodes = node_count(&factors);
    let coefficient = first.unwrap_or(1.0);
    let whole = own((3, 0, "Mul"), keys(&factors));
    let key = match factors.get(numbers..) {
        Some([only]) => Key { own: only.key.own.clone(), exponent: only.key.exponent.clone(), coefficient },
        Some(rest) if first.is_some() => {
            Key { own: own((3, 0, "Mul"), keys(rest)), exponent: Some(number_key(1.0)), coefficient }
        }
        _ => Key { own: whole.clone(), exponent: Some(number_key(1.0)), coefficient },
    };
    let powers = factors.iter().flat_map(|factor| factor.powers.iter().cloned()).collect();
    Arranged { tree: Tree::Mul(trees(factors)), own: whole, key: Rc::new(key), nodes, powers }
}

fn sum(terms: Vec<Tree>, how: Operands) -> Arranged {
    let terms = in_print_order(all(terms, how));
    let (own, nodes) = (own((3, 1, "Add"), keys(&terms)), node_count(&terms));
    Arranged::plain(Tree::Add(trees(terms)), own, nodes)
}

fn in_print_order(mut terms: Vec<Arranged>) -> Vec<Arranged> {
    if is_number_minus_multiple(&terms) {
        terms.sort_by_key(|term| term.tree.number().is_none());
        return terms;
    }
    let order = |a: &Rc<Key>, b: &Rc<Key>| a.partial_cmp(b).unwrap_or(Ordering::Equal);
    let mut bases: Vec<Rc<Key>> =
        terms.iter().flat_map(|term| term.powers.iter().map(|(base, _)| base.clone())).collect();
    bases.sort_by(order);
    bases.dedup_by(|a, b| order(a, b).is_eq());
    let place = |base: &Rc<Key>| bases.binary_search_by(|other| order(other, base)).unwrap_or(usize::MAX);
    let mut placed: Vec<(Vec<(usize, i64)>, Arranged)> = terms
        .into_iter()
        .map(|term| {
            let mut powers: Vec<(usize, i64)> = term.powers.iter().map(|(base, power)| (place(base), *power)).collect();
            powers.sort_unstable();
            (powers, term)
        })
        .collect();
    let coefficient = |term: &Arranged| term.key.coefficient;
    placed.sort_by(|(p, a), (q, b)| {
        compare_powers(p, q).then(coefficient(a).partial_cmp(&coefficient(b)).unwrap_or(Ordering::Equal))
    });
    placed.into_iter().map(|(_, term)| term).collect()
}

/// `8 - 3*x`, not `-3*x + 8`: sympy's exception.
fn is_number_minus_multiple(terms: &[Arranged]) -> bool {
    let [a, b] = terms else { return false };
    let (number, multiple) = if a.tree.number().is_some() { (a, b) } else { (b, a) };
    let negative = match &multiple.tree {
        Tree::Mul(factors) => factors.len() == 2 && multiple.key.coefficient < 0.0,
        _ => false,
    };
    negative && number.tree.number().is_some_and(|value| value > 0.0)
}

/// Higher powers of earlier bases come first; a base that is missing has power 0.
fn compare_powers(a: &[(usize, i64)], b: &[(usize, i64)]) -> Ordering {
    let (mut left, mut right) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    loop {
        let next = match (left.peek(), right.peek()) {
            (None, None) => return Ordering::Equal,
            (Some((i, _)), None) | (None, Some((i, _))) => *i,
            (Some((i, _)), Some((j, _))) => *i.min(j),
        };
        let p = left.next_if(|(i, _)| *i == next).map_or(0, |(_, power)| power);
        let q = right.next_if(|(i, _)| *i == next).map_or(0, |(_, power)| power);
        if p != q {
            return q.cmp(&p);
        }
    }
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
