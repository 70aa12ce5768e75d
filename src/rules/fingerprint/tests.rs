//! What agrees, and the nearest that does not.

use smallvec::SmallVec;

use super::{Over, Secret, agree};
use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Fold, Form, Op, Source};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::table::{Real, target};
use crate::sym::{Dim, Symbols};

const F32: Dtype = Dtype::F32;

/// A tensor of 4 by 6, and others over it.
struct Lab {
    e: Elements,
}

impl Lab {
    fn new() -> Self {
        Lab { e: Elements::new(Symbols::default(), Default::default(), 1_000_000) }
    }

    fn var(&mut self, k: u32, size: i64) -> IndexId {
        self.e.var(k, Dim::Fixed(size))
    }

    fn bound(&mut self, level: u32, size: i64) -> IndexId {
        self.e.place(Place::Bound(level, Dim::Fixed(size)))
    }

    fn load(&mut self, name: &str, at: &[IndexId]) -> ExprId {
        let source = Source::Call { target: name.into(), tokens: [].into(), kids: [].into(), item: 0 };
        let source = self.e.source(source);
        self.e.load(F32, source, SmallVec::from_slice(at)).unwrap()
    }

    fn x(&mut self) -> ExprId {
        let at = [self.var(0, 4), self.var(1, 6)];
        self.load("x", &at)
    }

    fn y(&mut self) -> ExprId {
        let at = [self.var(0, 4), self.var(1, 6)];
        self.load("y", &at)
    }

    fn number(&mut self, v: f64) -> ExprId {
        self.e.rounded(F32, v).unwrap()
    }

    fn op(&mut self, op: Op, kids: &[ExprId]) -> ExprId {
        self.e.raw(op, F32, kids).unwrap()
    }

    fn real(&mut self, function: Real, x: ExprId) -> ExprId {
        self.e.named(F32, Form::Named(target(function).into(), [].into()), &[x]).unwrap()
    }

    fn sum(&mut self, level: u32, size: i64, body: ExprId) -> ExprId {
        let form = Form::Reduce(Fold::Sum, level, [Dim::Fixed(size)].into());
        self.e.named(F32, form, &[body]).unwrap()
    }

    fn agrees(&mut self, over: Over, a: ExprId, b: ExprId) -> bool {
        let sizes = [Dim::Fixed(4), Dim::Fixed(6)];
        let chance = agree(&mut self.e, &sizes, [a, b], over, (&mut Secret::fixed(3), &mut 1_000_000));
        assert!(chance.is_none_or(|c| c <= -50.0), "{chance:?}");
        chance.is_some()
    }

    fn over_reals(&mut self, a: ExprId, b: ExprId) -> bool {
        assert!(a != b);
        self.agrees(Over::Reals, a, b)
    }
}

#[test]
fn a_square_of_a_sum_is_multiplied_out_and_its_mixed_term_counts_twice() {
    let mut l = Lab::new();
    let (x, y) = (l.x(), l.y());
    let sum = l.op(Op::Add, &[x, y]);
    let square = l.op(Op::Mul, &[sum, sum]);
    let [xx, yy, xy] = [[x, x], [y, y], [x, y]].map(|kids| l.op(Op::Mul, &kids));
    let ends = l.op(Op::Add, &[xx, yy]);
    let twice = l.op(Op::Add, &[xy, xy]);
    let (right, wrong) = (l.op(Op::Add, &[ends, twice]), l.op(Op::Add, &[ends, xy]));
    assert!(l.over_reals(square, right) && !l.over_reals(square, wrong));
    // Bit by bit each of them rounds elsewhere.
    assert!(!l.agrees(Over::Bits, square, right));
}

#[test]
fn bit_by_bit_operands_of_a_sum_may_be_swapped_and_those_of_a_difference_may_not() {
    let mut l = Lab::new();
    let (x, y) = (l.x(), l.y());
    let [a, b, c, d] =
        [(Op::Add, [x, y]), (Op::Add, [y, x]), (Op::Sub, [x, y]), (Op::Sub, [y, x])].map(|(op, k)| l.op(op, &k));
    assert!(l.agrees(Over::Bits, a, b) && !l.agrees(Over::Bits, c, d) && !l.over_reals(c, d));
}

#[test]
fn a_sum_in_two_parts_is_the_sum_and_without_its_last_element_it_is_not() {
    let mut l = Lab::new();
    let row = l.var(0, 4);
    let mut part = |from: i64, size: i64, level: u32| {
        let at = l.bound(level, size);
        let at = l.e.shift(at, Dim::Fixed(from)).unwrap();
        let x = l.load("x", &[row, at]);
        l.sum(level, size, x)
    };
    let (whole, head, tail, less) = (part(0, 6, 1), part(0, 4, 1), part(4, 2, 2), part(4, 1, 2));
    let (right, wrong) = (l.op(Op::Add, &[head, tail]), l.op(Op::Add, &[head, less]));
    assert!(l.over_reals(whole, right) && !l.over_reals(whole, wrong));
}

#[test]
fn a_reduction_within_another_one_is_computed_for_each_of_its_places() {
    let mut l = Lab::new();
    let (row, k, j) = (l.var(0, 4), l.bound(2, 6), l.bound(1, 6));
    // sum over k of x[k] * sum over j of x[j] y[k]: the square of a sum, times what stands at k.
    let (at_k, at_j, y) = (l.load("x", &[row, k]), l.load("x", &[row, j]), l.load("y", &[row, k]));
    let product = l.op(Op::Mul, &[at_j, y]);
    let inner = l.sum(1, 6, product);
    let outer = l.op(Op::Mul, &[at_k, inner]);
    let nested = l.sum(2, 6, outer);
    let weighed = l.op(Op::Mul, &[at_k, y]);
    let (all, with) = (l.sum(1, 6, at_j), l.sum(2, 6, weighed));
    let apart = l.op(Op::Mul, &[all, with]);
    let wrong = l.op(Op::Mul, &[all, all]);
    assert!(l.over_reals(nested, apart) && !l.over_reals(nested, wrong));
}

#[test]
fn an_exponential_of_a_difference_is_a_quotient_and_one_of_a_product_is_none() {
    let mut l = Lab::new();
    let (x, y) = (l.x(), l.y());
    let (less, times) = (l.op(Op::Sub, &[x, y]), l.op(Op::Mul, &[x, y]));
    let [ex, ey, el, et] = [x, y, less, times].map(|v| l.real(Real::Exp, v));
    let (quotient, product) = (l.op(Op::Div, &[ex, ey]), l.op(Op::Mul, &[ex, ey]));
    assert!(l.over_reals(el, quotient) && !l.over_reals(el, product) && !l.over_reals(et, product));
}

#[test]
fn the_greatest_is_one_in_any_order_and_not_the_least() {
    let mut l = Lab::new();
    let (x, y) = (l.x(), l.y());
    let zero = l.number(0.0);
    let [xy, y0] = [[x, y], [y, zero]].map(|kids| l.op(Op::Max, &kids));
    let (a, b) = (l.op(Op::Max, &[xy, zero]), l.op(Op::Max, &[x, y0]));
    let least = l.op(Op::Min, &[x, y0]);
    assert!(l.over_reals(a, b) && !l.over_reals(a, least));
}

#[test]
fn a_fraction_is_the_float_nearest_to_it_and_no_other_one() {
    let mut l = Lab::new();
    let x = l.x();
    let (three, third, near) = (l.number(3.0), l.number(1.0 / 3.0), l.number(0.333_34));
    let (by, times, other) = (l.op(Op::Div, &[x, three]), l.op(Op::Mul, &[x, third]), l.op(Op::Mul, &[x, near]));
    assert!(l.over_reals(by, times) && !l.over_reals(by, other));
}

#[test]
fn beside_a_wider_dtype_a_float_is_itself_and_no_fraction() {
    let mut l = Lab::new();
    let x = l.x();
    let wide = l.e.raw(Op::Cast, Dtype::F64, &[x]).unwrap();
    let narrow = l.number(0.1);
    let third = l.e.raw(Op::Cast, Dtype::F64, &[narrow]).unwrap();
    let near = l.e.rounded(Dtype::F64, 0.1).unwrap();
    let times = |l: &mut Lab, c| l.e.raw(Op::Mul, Dtype::F64, &[wide, c]).unwrap();
    let (one, other) = (times(&mut l, third), times(&mut l, near));
    assert!(!l.over_reals(one, other));
}

#[test]
fn a_nan_may_be_shown_and_is_not_hidden() {
    let mut l = Lab::new();
    let (x, y) = (l.x(), l.y());
    let more = l.op(Op::Add, &[y, x]);
    let same = l.op(Op::Sub, &[more, x]);
    assert!(l.over_reals(y, same), "what is NaN by `x` alone is more");
    assert!(!l.over_reals(same, y), "the NaN of `x` is hidden");
}

#[test]
fn a_nan_is_found_at_each_place() {
    let mut l = Lab::new();
    // The sum of a row, less one of its elements that is added again, beside the same one of a row without it.
    let (row, k) = (l.var(0, 4), l.bound(1, 6));
    let x = l.load("x", &[row, k]);
    let all = l.sum(1, 6, x);
    let last = l.e.at(Dim::Fixed(5));
    let last = l.load("x", &[row, last]);
    let k = l.bound(1, 5);
    let x = l.load("x", &[row, k]);
    let most = l.sum(1, 5, x);
    let less = l.op(Op::Sub, &[all, last]);
    assert!(l.over_reals(most, less), "a NaN in the last element is one more");
    assert!(!l.over_reals(less, most), "it is hidden");
}

#[test]
fn a_choice_by_the_data_keeps_its_sides() {
    let mut l = Lab::new();
    let (x, y) = (l.x(), l.y());
    let truth = l.e.raw(Op::Lt, Dtype::Bool, &[x, y]).unwrap();
    let choice = |l: &mut Lab, a, b| l.op(Op::Choose, &[truth, a, b]);
    let (xy, yx) = (choice(&mut l, x, y), choice(&mut l, y, x));
    let (both, swapped) = (l.op(Op::Add, &[xy, yx]), l.op(Op::Add, &[x, y]));
    assert!(l.over_reals(both, swapped) && !l.over_reals(xy, yx));
}

#[test]
fn what_is_too_much_is_not_compared() {
    let mut l = Lab::new();
    let (row, k) = (l.var(0, 4), l.bound(1, 1 << 22));
    let x = l.load("x", &[row, k]);
    let all = l.sum(1, 1 << 22, x);
    let one = l.number(1.0);
    let more = l.op(Op::Mul, &[all, one]);
    assert!(!l.over_reals(all, more));
    let n = l.e.symbols.symbol("n");
    let sizes = [Dim::Fixed(4), n];
    let x = l.x();
    let same = l.op(Op::Mul, &[x, one]);
    assert_eq!(agree(&mut l.e, &sizes, [x, same], Over::Reals, (&mut Secret::fixed(3), &mut 1_000_000)), None);
}
