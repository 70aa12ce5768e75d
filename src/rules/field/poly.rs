//! Sums of products: numbers times factors, summed over dimensions.
//!
//! Promises: equal products stand once in a sum; dimensions over which products are summed have names of their own, so that nothing is captured.
//! `None` is work that ran out, or a form that grew too large.

use std::rc::Rc;

use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{ExprId, Form, Op};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::field::normal::Field;
use crate::rules::table::{Real, real};
use crate::sym::Dim;

/// How many products a sum may have.
const PRODUCTS: usize = 64;
/// How many factors a product may have.
const FACTORS: usize = 24;
/// By how many sums both sides may be divided.
const CLEARED: usize = 6;
/// How deep sums may stand in factors.
const DEPTH: usize = 48;

/// A sum of products.
#[derive(Clone, Debug, Default)]
pub struct Poly {
    /// The products.
    pub terms: Vec<Product>,
    /// How deep sums stand in it.
    pub depth: usize,
}

/// Dimensions that are summed over, by name and size.
pub type Binders = SmallVec<[(u32, Dim); 2]>;

/// A number times factors, summed over dimensions.
#[derive(Clone, Debug)]
pub struct Product {
    /// The number.
    pub number: f64,
    /// The largest number that was added to make it: what is lost beside it.
    pub scale: f64,
    /// The dimensions.
    pub binders: Binders,
    /// Factors with exponents that are not 0, each once.
    pub factors: Vec<(Atom, i32)>,
}

/// A factor.
#[derive(Clone, Debug)]
pub enum Atom {
    /// An expression of which nothing more is known.
    Leaf(ExprId),
    /// A function of sums of products.
    Call(Function, Rc<[Rc<Poly>]>),
    /// A sum of products.
    Sum(Rc<Poly>),
}

/// A function.
#[derive(Clone, Debug, PartialEq)]
pub enum Function {
    /// The exponential.
    Exp,
    /// The logarithm.
    Log,
    /// The root that is not negative.
    Sqrt,
    /// The greater of two.
    Max,
    /// The greatest over dimensions.
    Most(Binders),
    /// Any other.
    Other(Form, Dtype),
}

/// Whether a function is the cosine.
fn is_cosine(function: &Function) -> bool {
    matches!(function, Function::Other(Form::Named(target, _), _) if real(target) == Some(Real::Cos))
}

impl Poly {
    /// Returns a number.
    pub fn number(v: f64) -> Option<Poly> {
        let terms = if v == 0.0 { Vec::new() } else { vec![Product::of(v, Vec::new())] };
        v.is_finite().then_some(Poly { terms, depth: 0 })
    }

    /// Returns a factor.
    pub fn atom(atom: Atom, depth: usize) -> Option<Poly> {
        Some(Poly { terms: vec![Product::of(1.0, vec![(atom, 1)])], depth: (depth <= DEPTH).then_some(depth)? })
    }

    /// Returns the number that it is.
    pub fn as_number(&self) -> Option<f64> {
        match self.terms.as_slice() {
            [] => Some(0.0),
            [one] if one.factors.is_empty() && one.binders.is_empty() => Some(one.number),
            _ => None,
        }
    }
}

impl Product {
    fn of(number: f64, factors: Vec<(Atom, i32)>) -> Product {
        Product { number, scale: number.abs(), binders: Binders::new(), factors }
    }
}

impl Field<'_> {
    /// Returns a sum.
    pub fn plus(&mut self, a: &Poly, b: &Poly, factor: f64) -> Option<Poly> {
        let mut out = a.clone();
        out.depth = a.depth.max(b.depth);
        for term in &b.terms {
            let number = term.number * factor;
            // What an `f64` does not hold is no number of it.
            if number == 0.0 && factor != 0.0 || !number.is_finite() {
                return None;
            }
            self.push(&mut out, Product { number, scale: term.scale * factor.abs(), ..term.clone() })?;
        }
        Some(out)
    }

    fn push(&mut self, to: &mut Poly, term: Product) -> Option<()> {
        self.e.spend(1)?;
        for (k, known) in to.terms.iter().enumerate() {
            if !self.same_product(known, &term, &[])? {
                continue;
            }
            let (number, scale) = (known.number + term.number, known.scale.max(term.scale));
            if number.abs() <= 0.5_f64.powi(48) * scale {
                to.terms.remove(k);
            } else if let Some(known) = to.terms.get_mut(k) {
                (known.number, known.scale) = (number, scale);
            }
            return number.is_finite().then_some(());
        }
        if term.number == 0.0 {
            return Some(());
        }
        to.terms.push(term);
        (to.terms.len() <= PRODUCTS).then_some(())
    }

    /// Returns a product.
    pub fn times(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        let mut out = Poly { terms: Vec::new(), depth: a.depth.max(b.depth) };
        if a.terms.len().checked_mul(b.terms.len())? > PRODUCTS {
            return None;
        }
        for x in &a.terms {
            for y in &b.terms {
                let product = self.product(x, y)?;
                self.push(&mut out, product)?;
            }
        }
        Some(out)
    }

    fn product(&mut self, x: &Product, y: &Product) -> Option<Product> {
        // Neither binds what the other binds within.
        let within = !x.binders.is_empty() || x.factors.iter().any(|(a, _)| !matches!(a, Atom::Leaf(_)));
        let mut y = if within && !y.binders.is_empty() { self.fresh(y)? } else { y.clone() };
        if !x.binders.is_empty() {
            for (atom, _) in &mut y.factors {
                *atom = self.bound_otherwise(atom, &x.binders)?;
            }
        }
        let mut out = x.clone();
        out.number *= y.number;
        out.scale = out.number.abs();
        out.binders.extend(y.binders);
        for (atom, exponent) in y.factors {
            self.multiply(&mut out, atom, exponent)?;
        }
        out.number.is_normal().then_some(out)
    }

    /// Multiplies by a factor. A sum that stands in a product becomes products where it is no denominator.
    pub(super) fn multiply(&mut self, to: &mut Product, atom: Atom, exponent: i32) -> Option<()> {
        self.e.spend(1)?;
        let mut at = None;
        for (k, (known, _)) in to.factors.iter().enumerate() {
            if self.same_atom(known, &atom, &[])? {
                at = Some(k);
                break;
            }
        }
        match at {
            Some(k) => {
                let slot = to.factors.get_mut(k)?;
                slot.1 = slot.1.checked_add(exponent)?;
                // A truth is its own square.
                if slot.1 > 1 && matches!(slot.0, Atom::Leaf(id) if self.e.dtype(id) == Some(Dtype::Bool)) {
                    slot.1 = 1;
                }
                if slot.1 == 0 {
                    to.factors.remove(k);
                }
            }
            None => to.factors.push((atom, exponent)),
        }
        (to.factors.len() <= FACTORS).then_some(())
    }

    /// Writes squares of roots, and sums with positive exponents, out.
    pub(super) fn settled(&mut self, p: Poly) -> Option<Poly> {
        let mut now = p;
        for _ in 0..DEPTH {
            let e = &*self.e;
            let open = |(atom, exponent): &(Atom, i32)| match atom {
                Atom::Call(Function::Sqrt, _) => exponent.abs() >= 2,
                // The square of a magnitude is that of the number.
                Atom::Call(Function::Other(Form::Op(Op::Abs), _), _) => *exponent >= 2,
                // That of a cosine is 1 less that of the sine.
                Atom::Call(function, _) if is_cosine(function) => *exponent >= 2,
                Atom::Sum(_) => *exponent > 0,
                Atom::Leaf(id) => {
                    e.few_of(*id).is_some_and(|all| usize::try_from(*exponent).is_ok_and(|n| n >= all.len()))
                }
                _ => false,
            };
            let Some(k) = now.terms.iter().position(|t| t.factors.iter().any(open)) else {
                return self.beside_roots(now);
            };
            let mut term = now.terms.remove(k);
            let place = term.factors.iter().position(open)?;
            let (atom, exponent) = term.factors.remove(place);
            if let Atom::Leaf(id) = &atom {
                let lower = self.lower_power(*id, exponent)?;
                let product = self.times(&Poly { terms: vec![term], depth: now.depth }, &lower)?;
                now = self.plus(&now, &product, 1.0)?;
                continue;
            }
            let inner = match &atom {
                Atom::Call(_, kids) => kids.first()?.clone(),
                Atom::Sum(p) => p.clone(),
                Atom::Leaf(_) => return None,
            };
            let (whole, rest) = match &atom {
                Atom::Sum(_) => (exponent, 0),
                Atom::Call(function, _) if is_cosine(function) => (exponent.checked_div(2)?, exponent.checked_rem(2)?),
                Atom::Call(Function::Other(..), _) => {
                    let rest = exponent.checked_rem(2)?;
                    (exponent.checked_sub(rest)?, rest)
                }
                _ => (exponent.checked_div(2)?, exponent.checked_rem(2)?),
            };
            if rest != 0 {
                term.factors.push((atom.clone(), rest));
            }
            let depth = now.depth;
            let mut product = Poly { terms: vec![term], depth };
            let inner = match &atom {
                Atom::Call(function, _) if is_cosine(function) => {
                    let sine = self.odd_or_even(Real::Sin, &inner)?;
                    let (one, square) = (Poly::number(1.0)?, self.times(&sine, &sine)?);
                    Rc::new(self.plus(&one, &square, -1.0)?)
                }
                _ => inner,
            };
            let power = self.power(&inner, whole)?;
            product = self.times(&product, &power)?;
            now = self.plus(&now, &product, 1.0)?;
        }
        None
    }

    /// Returns a power of an element that is one of few numbers by lower ones: the product of what it is less each of them is 0.
    fn lower_power(&mut self, id: ExprId, exponent: i32) -> Option<Poly> {
        let numbers: Vec<f64> = self.e.few_of(id)?.iter().map(|v| f64::from(*v)).collect();
        let one = Poly::atom(Atom::Leaf(id), 0)?;
        let mut zero = Poly::number(1.0)?;
        let mut highest = Poly::number(1.0)?;
        for number in &numbers {
            let number = Poly::number(*number)?;
            let apart = self.plus(&one, &number, -1.0)?;
            zero = self.times(&zero, &apart)?;
            highest = self.times(&highest, &one)?;
        }
        let lower = self.plus(&highest, &zero, -1.0)?;
        let left = exponent.checked_sub(i32::try_from(numbers.len()).ok()?)?;
        let left = self.power(&one, left)?;
        self.times(&left, &lower)
    }

    /// Writes what is divided by its root as its root, and the other way round.
    fn beside_roots(&mut self, p: Poly) -> Option<Poly> {
        let is_root = |f: &&(Atom, i32)| matches!(f.0, Atom::Call(Function::Sqrt, _));
        if !p.terms.iter().any(|t| t.factors.len() > 1 && t.factors.iter().any(|f| is_root(&f))) {
            return Some(p);
        }
        let mut out = Poly { terms: Vec::new(), depth: p.depth };
        for mut term in p.terms {
            for k in 0..term.factors.len() {
                let Some((Atom::Call(Function::Sqrt, kids), by)) = term.factors.get(k).cloned() else { continue };
                let [within] = kids.first()?.terms.as_slice() else { continue };
                let ([(inner, 1)], true) =
                    (within.factors.as_slice(), within.binders.is_empty() && within.number == 1.0)
                else {
                    continue;
                };
                let mut at = None;
                for (j, (atom, exponent)) in term.factors.iter().enumerate() {
                    if exponent.signum() != by.signum() && self.same_atom(atom, inner, &[])? {
                        at = Some(j);
                    }
                }
                let Some(j) = at else { continue };
                term.factors.get_mut(k)?.1 = by.checked_neg()?;
                let slot = term.factors.get_mut(j)?;
                slot.1 = slot.1.checked_add(by.signum())?;
            }
            term.factors.retain(|f| f.1 != 0);
            self.push(&mut out, term)?;
        }
        Some(out)
    }

    /// Returns a power. Negative ones are of single products, or factors of their own.
    pub fn power(&mut self, p: &Poly, exponent: i32) -> Option<Poly> {
        if exponent < 0 {
            let inverse = self.inverse(p)?;
            return self.power(&inverse, exponent.checked_neg()?);
        }
        let mut out = Poly::number(1.0)?;
        for _ in 0..exponent.min(i32::try_from(FACTORS).ok()?) {
            out = self.times(&out, p)?;
        }
        (exponent <= 16).then_some(out)
    }

    fn inverse(&mut self, p: &Poly) -> Option<Poly> {
        // Of the greatest of what is above 0 it is the least one.
        if let Some((number, kids)) = self.greatest_above_zero(p)? {
            let mut least = Vec::new();
            for kid in kids {
                let inverse = self.inverse(&kid)?;
                least.push(Rc::new(self.plus(&Poly::default(), &inverse, -1.0)?));
            }
            let most = self.greatest(&least)?;
            return self.plus(&Poly::default(), &most, -1.0 / number);
        }
        let [term] = p.terms.as_slice() else {
            if p.terms.is_empty() {
                return None;
            }
            // Least powers of exponentials stand in front.
            let (common, left) = self.without_common_exponentials(p)?;
            if !common.is_empty() {
                let mut out = self.inverse(&left)?;
                for (atom, exponent) in common {
                    let mut power = Poly::atom(atom, p.depth)?;
                    power.terms.iter_mut().flat_map(|t| &mut t.factors).for_each(|f| f.1 = exponent.saturating_neg());
                    out = self.times(&out, &power)?;
                }
                return Some(out);
            }
            // One number in front: that of the largest product.
            let lead = p.terms.iter().map(|t| t.number).fold(0.0_f64, |m, v| if v.abs() > m.abs() { v } else { m });
            let scaled = self.plus(&Poly::default(), p, 1.0 / lead)?;
            let depth = p.depth.checked_add(1)?;
            let whole = Poly::atom(Atom::Sum(Rc::new(scaled)), depth)?;
            let mut out = whole;
            if let Some(one) = out.terms.first_mut() {
                one.number = 1.0 / lead;
                one.scale = one.number.abs();
                one.factors.iter_mut().for_each(|f| f.1 = -1);
            }
            return Some(out);
        };
        let mut out = Product::of(1.0 / term.number, Vec::new());
        let mut within = Product { number: 1.0, scale: 1.0, binders: term.binders.clone(), factors: Vec::new() };
        for (atom, exponent) in &term.factors {
            if !term.binders.is_empty() && self.names_any(atom, &term.binders) {
                within.factors.push((atom.clone(), *exponent));
            } else {
                out.factors.push((atom.clone(), exponent.checked_neg()?));
            }
        }
        let depth = p.depth.checked_add(1)?;
        if !within.binders.is_empty() {
            let sum = Poly { terms: vec![within], depth: p.depth };
            out.factors.push((Atom::Sum(Rc::new(sum)), -1));
        }
        out.number.is_finite().then_some(Poly { terms: vec![out], depth })
    }

    /// Whether the difference of two sums is nothing once it is multiplied by what it is divided by.
    pub(super) fn is_nothing_cleared(&mut self, a: &Poly, b: &Poly) -> Option<bool> {
        let mut left = self.plus(a, b, -1.0)?;
        for _ in 0..CLEARED {
            if left.terms.is_empty() {
                return Some(true);
            }
            let mut divisor = None;
            for term in &left.terms {
                let below = |(atom, exponent): &&(Atom, i32)| {
                    matches!(atom, Atom::Sum(_)) && *exponent < 0 && !self.names_any(atom, &term.binders)
                };
                divisor = divisor.or_else(|| term.factors.iter().find(below).map(|f| f.0.clone()));
            }
            let Some(divisor) = divisor else { return Some(false) };
            let Atom::Sum(inner) = &divisor else { return None };
            let mut times: Vec<i32> = Vec::new();
            for term in &left.terms {
                let mut found = 0;
                for (atom, exponent) in &term.factors {
                    if self.same_atom(atom, &divisor, &[])? {
                        found = *exponent;
                    }
                }
                times.push(found);
            }
            let most = times.iter().copied().min().unwrap_or(0).checked_neg()?;
            let mut next = Poly { terms: Vec::new(), depth: left.depth };
            for (term, exponent) in left.terms.iter().zip(&times) {
                let mut term = term.clone();
                if *exponent != 0 {
                    let mut kept = Vec::new();
                    for factor in term.factors {
                        if !self.same_atom(&factor.0, &divisor, &[])? {
                            kept.push(factor);
                        }
                    }
                    term.factors = kept;
                }
                let factor = self.power(inner, most.checked_add(*exponent)?)?;
                let product = self.times(&Poly { terms: vec![term], depth: left.depth }, &factor)?;
                next = self.plus(&next, &product, 1.0)?;
            }
            left = self.settled(next)?;
        }
        Some(left.terms.is_empty())
    }

    /// Returns the sum over dimensions that stand in a sum of products by these names.
    pub fn summed(&mut self, p: &Poly, binders: &[(u32, Dim)]) -> Option<Poly> {
        let mut out = Poly { terms: Vec::new(), depth: p.depth };
        for term in &p.terms {
            let mut term = term.clone();
            let mut counts = Vec::new();
            for (name, size) in binders {
                let used = term.factors.iter().any(|(a, _)| self.names_any(a, &[(*name, *size)]));
                match (used, size.fixed()) {
                    (true, _) => term.binders.push((*name, *size)),
                    #[allow(clippy::cast_precision_loss)]
                    (false, Some(n)) => {
                        term.number *= n as f64;
                        term.scale *= n as f64;
                    }
                    (false, None) => counts.push(self.size_as_sum(*size)?),
                }
            }
            let term = self.at_one_place(term)?;
            let mut terms = Poly { terms: vec![term], depth: p.depth };
            for count in counts {
                terms = self.times(&terms, &count)?;
            }
            for term in terms.terms {
                self.push(&mut out, term)?;
            }
        }
        Some(out)
    }

    /// Returns a size as a sum of products of what it is made of.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn size_as_sum(&mut self, size: Dim) -> Option<Poly> {
        let mut out = Poly::default();
        for (number, factors) in self.e.symbols.products_of(size) {
            (number.unsigned_abs() < 1 << 40).then_some(())?;
            let mut product = Poly::number(number as f64)?;
            for (factor, power) in factors {
                let at = self.e.at(factor);
                let one = self.e.index_value(Dtype::I64, at)?;
                let one = Poly::atom(Atom::Leaf(one), 0)?;
                for _ in 0..power {
                    product = self.times(&product, &one)?;
                }
            }
            out = self.plus(&out, &product, 1.0)?;
        }
        Some(out)
    }

    /// Returns a product without the dimensions along which a factor is 1 at one place, which surely is one of them, and 0 at the others.
    fn at_one_place(&mut self, mut term: Product) -> Option<Product> {
        for _ in 0..term.binders.len() {
            let mut found = None;
            for (k, (atom, exponent)) in term.factors.iter().enumerate() {
                let Atom::Leaf(id) = atom else { continue };
                let Some(Form::IsZero(index)) = self.e.expr(*id).map(|x| x.form.clone()) else { continue };
                for (b, (name, size)) in term.binders.iter().enumerate() {
                    if let Some(at) = self.solved(index, *name, *size).filter(|_| *exponent > 0) {
                        found = found.or(Some((k, b, *name, at)));
                    }
                }
            }
            let Some((k, b, name, at)) = found else { break };
            term.factors.remove(k);
            term.binders.remove(b);
            let factors = std::mem::take(&mut term.factors);
            for (atom, exponent) in factors {
                let atom = self.atom_moved(&atom, name, at)?;
                let truth = match &atom {
                    Atom::Leaf(id) if self.e.dtype(*id) == Some(Dtype::Bool) => self.e.number(*id),
                    _ => None,
                };
                match truth {
                    // What is true there is 1.
                    Some(0) => (term.number, term.scale) = (0.0, 0.0),
                    Some(_) => {}
                    None => self.multiply(&mut term, atom, exponent)?,
                }
            }
        }
        Some(term)
    }

    /// Returns the place of a dimension at which an index is 0, where that surely is one of its places.
    fn solved(&mut self, index: IndexId, name: u32, size: Dim) -> Option<IndexId> {
        let sum = self.e.linear(index).clone();
        let is_own = |p: &Place| matches!(p, Place::Bound(l, _) if *l == name);
        let by = sum.terms.iter().find(|(p, _)| is_own(p))?.1.fixed().filter(|by| by.abs() == 1)?;
        let own = self.e.place(Place::Bound(name, size));
        let own = self.e.scale(own, Dim::Fixed(by))?;
        let rest = self.e.difference(index, own)?;
        let at = self.e.scale(rest, Dim::Fixed(by.checked_neg()?))?;
        let mut names = false;
        for place in self.e.places_in(at) {
            let within = |x| self.e.names_below(x).iter().any(|(level, _)| *level == name);
            names |= is_own(&place) || matches!(place, Place::Data(x) if within(x));
        }
        let inside = self.e.is_place_of(at, size)?;
        (inside && !names).then_some(at)
    }
}
