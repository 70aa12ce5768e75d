//! When two products are one: some naming of the dimensions of one by those of the other makes their factors the same.
//!
//! Promises: every naming is tried, of up to eight dimensions; `None` is work that ran out.

use std::rc::Rc;

use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{ExprId, Form, Op, SourceId};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::element::rebuild::Moves;
use crate::rules::field::normal::Field;
use crate::rules::field::poly::{Atom, Binders, Function, Poly, Product};
use crate::sym::Dim;

/// Names of the first side, and those of the second that they stand for.
type Names = [(u32, u32)];

/// A naming, and which dimensions of the second side it uses.
type Naming = (Vec<(u32, u32)>, SmallVec<[usize; 5]>);

/// How many dimensions may be named in all ways.
const MOST: usize = 8;
/// Two numbers of f32 are further apart than by this part of them.
const NEARER: f64 = 0.875 / 16_777_216.0;

/// How many ways there may be.
const WAYS: usize = 720;

impl Field<'_> {
    /// Returns whether two sums of products are one.
    pub fn same(&mut self, a: &Poly, b: &Poly, names: &Names) -> Option<bool> {
        if a.terms.len() != b.terms.len() {
            return Some(false);
        }
        let mut left: Vec<&Product> = b.terms.iter().collect();
        for x in &a.terms {
            let mut at = None;
            for (k, y) in left.iter().enumerate() {
                if self.near(x.number, y.number) && self.same_product(x, y, names)? {
                    at = Some(k);
                    break;
                }
            }
            let Some(k) = at else { return Some(false) };
            left.swap_remove(k);
        }
        Some(true)
    }

    /// Numbers are one where a dtype makes them one: literals are rounded to it.
    #[allow(clippy::cast_possible_truncation, clippy::float_cmp)]
    fn near(&self, a: f64, b: f64) -> bool {
        let far = (a - b).abs();
        match self.dtype {
            Dtype::F64 => far <= 0.5_f64.powi(51) * a.abs(),
            // Nearer than any two numbers of f32 are: what is made of their roundings.
            _ => far <= NEARER * a.abs() || a as f32 == b as f32 && (a as f32).is_normal(),
        }
    }

    /// Returns whether two products are one, numbers left out.
    pub(super) fn same_product(&mut self, a: &Product, b: &Product, names: &Names) -> Option<bool> {
        if a.binders.len() != b.binders.len() || a.factors.len() != b.factors.len() {
            return Some(false);
        }
        let mut exponents = [a, b].map(|p| p.factors.iter().map(|f| f.1).collect::<Vec<i32>>());
        exponents.iter_mut().for_each(|e| e.sort_unstable());
        if exponents.first() != exponents.last() {
            return Some(false);
        }
        for naming in self.namings(&a.binders, &b.binders, names)? {
            if self.same_factors(&a.factors, &b.factors, &naming)? {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Returns every naming of dimensions by dimensions of their size.
    fn namings(&mut self, a: &Binders, b: &Binders, names: &Names) -> Option<Vec<Vec<(u32, u32)>>> {
        let mut all: Vec<Naming> = vec![(names.to_vec(), SmallVec::new())];
        if a.len() > MOST {
            return None;
        }
        for (name, size) in a {
            let mut next = Vec::new();
            for (naming, used) in &all {
                for (k, (other, of)) in b.iter().enumerate() {
                    if !used.contains(&k) && self.e.same_size(*size, *of) {
                        let (mut naming, mut used) = (naming.clone(), used.clone());
                        naming.retain(|(from, to)| from != name && to != other);
                        naming.push((*name, *other));
                        used.push(k);
                        next.push((naming, used));
                    }
                }
            }
            all = next;
            (all.len() <= WAYS).then_some(())?;
        }
        self.e.spend(all.len())?;
        Some(all.into_iter().map(|(naming, _)| naming).collect())
    }

    fn same_factors(&mut self, a: &[(Atom, i32)], b: &[(Atom, i32)], names: &Names) -> Option<bool> {
        let mut left: Vec<&(Atom, i32)> = b.iter().collect();
        for (x, exponent) in a {
            let mut at = None;
            for (k, (y, other)) in left.iter().enumerate() {
                if exponent == other && self.same_atom(x, y, names)? {
                    at = Some(k);
                    break;
                }
            }
            let Some(k) = at else { return Some(false) };
            left.swap_remove(k);
        }
        Some(true)
    }

    /// Returns whether two factors are one.
    pub(super) fn same_atom(&mut self, a: &Atom, b: &Atom, names: &Names) -> Option<bool> {
        self.e.spend(1)?;
        match (a, b) {
            (Atom::Leaf(x), Atom::Leaf(y)) => {
                if names.is_empty() && x == y {
                    return Some(true);
                }
                if self.e.dtype(*x) != self.e.dtype(*y) {
                    return Some(false);
                }
                let x = self.leaf_named(*x, names)?;
                Some(x == *y || self.e.congruent(x, *y, 8))
            }
            (Atom::Sum(x), Atom::Sum(y)) => self.same(x, y, names),
            (Atom::Call(f, x), Atom::Call(g, y)) => self.same_call((f, x), (g, y), names),
            _ => Some(false),
        }
    }

    fn same_call(
        &mut self,
        (f, x): (&Function, &Rc<[Rc<Poly>]>),
        (g, y): (&Function, &Rc<[Rc<Poly>]>),
        names: &Names,
    ) -> Option<bool> {
        if x.len() != y.len() {
            return Some(false);
        }
        if let (Function::Most(s), Function::Most(t), [p], [q]) = (f, g, &**x, &**y) {
            if s.len() != t.len() {
                return Some(false);
            }
            for naming in self.namings(s, t, names)? {
                if self.same(p, q, &naming)? {
                    return Some(true);
                }
            }
            return Some(false);
        }
        if f != g {
            return Some(false);
        }
        // A magnitude is that of the opposite.
        if let (Function::Other(Form::Op(Op::Abs), _), [p], [q]) = (f, &**x, &**y) {
            if self.same(p, q, names)? {
                return Some(true);
            }
            let minus = self.plus(&Poly::default(), q, -1.0)?;
            return self.same(p, &minus, names);
        }
        let mut left: Vec<&Rc<Poly>> = y.iter().collect();
        for p in x.iter() {
            let mut at = None;
            // In any order only where the order does not count.
            let tried = if *f == Function::Max { left.len() } else { 1 };
            for (k, q) in left.iter().take(tried).enumerate() {
                if self.same(p, q, names)? {
                    at = Some(k);
                    break;
                }
            }
            let Some(k) = at else { return Some(false) };
            left.remove(k);
        }
        Some(true)
    }

    // ---- names

    /// Whether a factor names one of these dimensions.
    pub(super) fn names_any(&self, atom: &Atom, binders: &[(u32, Dim)]) -> bool {
        let mut open = vec![atom.clone()];
        while let Some(atom) = open.pop() {
            match atom {
                Atom::Leaf(id) => {
                    if self.leaf_names(id, binders) {
                        return true;
                    }
                }
                Atom::Sum(p) => open.extend(p.terms.iter().flat_map(|t| t.factors.iter().map(|f| f.0.clone()))),
                Atom::Call(_, kids) => {
                    let all = kids.iter().flat_map(|p| p.terms.iter());
                    open.extend(all.flat_map(|t| t.factors.iter().map(|f| f.0.clone())));
                }
            }
        }
        false
    }

    /// Whether a factor names this dimension. What is shared counts as often as it stands, so that looking has its price.
    fn names(&mut self, atom: &Atom, name: u32) -> Option<bool> {
        let mut open = vec![atom];
        while let Some(atom) = open.pop() {
            self.e.spend(1)?;
            match atom {
                Atom::Leaf(id) if self.leaf_names(*id, &[(name, Dim::Fixed(1))]) => return Some(true),
                Atom::Leaf(_) => {}
                Atom::Sum(p) => open.extend(p.terms.iter().flat_map(|t| t.factors.iter().map(|f| &f.0))),
                Atom::Call(_, kids) => {
                    let all = kids.iter().flat_map(|p| p.terms.iter());
                    open.extend(all.flat_map(|t| t.factors.iter().map(|f| &f.0)));
                }
            }
        }
        Some(false)
    }

    fn leaf_names(&self, id: ExprId, binders: &[(u32, Dim)]) -> bool {
        self.e.names_below(id).iter().any(|(level, _)| binders.iter().any(|(name, _)| name == level))
    }

    fn leaf_named(&mut self, id: ExprId, names: &Names) -> Option<ExprId> {
        let mut x = id;
        if names.iter().all(|(from, to)| from == to || names.iter().all(|(other, _)| other != to)) {
            for (from, to) in names.iter().filter(|(from, to)| from != to) {
                x = self.leaf_renamed(x, *from, *to)?;
            }
            return Some(x);
        }
        // By way of names that nobody has: both sides have names in common.
        let mut between = Vec::with_capacity(names.len());
        for (from, to) in names {
            between.push((self.next, *to));
            x = self.leaf_renamed(x, *from, self.next)?;
            self.next = self.next.checked_add(1)?;
        }
        for (from, to) in between {
            x = self.leaf_renamed(x, from, to)?;
        }
        Some(x)
    }

    fn leaf_renamed(&mut self, id: ExprId, from: u32, to: u32) -> Option<ExprId> {
        let Some((_, size)) = self.e.names_below(id).iter().find(|(level, _)| *level == from).copied() else {
            return Some(id);
        };
        let with = self.e.place(Place::Bound(to, size));
        self.e.moved(id, &Moves { vars: SmallVec::new(), bound: Some((from, SmallVec::from_elem(with, 1))) })
    }

    /// Returns a sum of products in which a dimension that is summed runs forwards in the first source that it reads: to sum backwards is the same.
    pub(super) fn forwards(&mut self, p: Poly, name: u32, size: Dim) -> Option<Poly> {
        let mut first: Option<(SourceId, Dim)> = None;
        let mut open: Vec<&Atom> = p.terms.iter().flat_map(|t| t.factors.iter().map(|f| &f.0)).collect();
        while let Some(atom) = open.pop() {
            self.e.spend(1)?;
            match atom {
                Atom::Leaf(id) => {
                    for id in self.e.below(*id) {
                        let Some(Form::Load(source, at)) = self.e.expr(id).map(|x| &x.form) else { continue };
                        let terms = at.iter().flat_map(|i| self.e.linear(*i).terms.clone());
                        let own = terms.into_iter().find(|(p, _)| matches!(p, Place::Bound(l, _) if *l == name));
                        if let Some((_, by)) = own.filter(|_| first.is_none_or(|(s, _)| *source < s)) {
                            first = Some((*source, by));
                        }
                    }
                }
                Atom::Sum(p) => open.extend(p.terms.iter().flat_map(|t| t.factors.iter().map(|f| &f.0))),
                Atom::Call(_, kids) => {
                    open.extend(kids.iter().flat_map(|p| p.terms.iter()).flat_map(|t| t.factors.iter().map(|f| &f.0)));
                }
            }
        }
        if first.and_then(|(_, by)| by.fixed()).is_none_or(|by| by >= 0) {
            return Some(p);
        }
        let own = self.e.place(Place::Bound(name, size));
        let back = self.e.scale(own, Dim::Fixed(-1))?;
        let last = self.e.plus(size, Dim::Fixed(-1))?;
        let back = self.e.shift(back, last)?;
        self.poly_moved(&p, name, back)
    }

    /// Adds a dimension; one of which only quotients and remainders by a number are asked is two.
    pub(super) fn split(&mut self, p: &mut Poly, name: u32, size: Dim, binders: &mut Binders) -> Option<()> {
        let mut divisor = None;
        let mut open: Vec<Atom> = p.terms.iter().flat_map(|t| t.factors.iter().map(|f| f.0.clone())).collect();
        while let Some(atom) = open.pop() {
            let inner: Vec<Rc<Poly>> = match atom {
                Atom::Leaf(id) => {
                    divisor = divisor.or_else(|| self.e.divisor_of(id, name));
                    continue;
                }
                Atom::Sum(p) => vec![p],
                Atom::Call(_, kids) => kids.to_vec(),
            };
            open.extend(inner.iter().flat_map(|p| p.terms.iter().flat_map(|t| t.factors.iter().map(|f| f.0.clone()))));
        }
        let times = divisor.and_then(|by| self.e.exactly(size, by));
        let (Some(by), Some(times)) = (divisor, times) else {
            binders.push((name, size));
            return Some(());
        };
        let (high, low) = (self.next, self.next.checked_add(1)?);
        self.next = self.next.checked_add(2)?;
        let (q, r) = (self.e.place(Place::Bound(high, times)), self.e.place(Place::Bound(low, by)));
        let whole = self.e.scale(q, by)?;
        let with = self.e.sum(whole, r)?;
        *p = self.poly_moved(p, name, with)?;
        self.split(p, high, times, binders)?;
        self.split(p, low, by, binders)
    }

    fn poly_moved(&mut self, p: &Poly, name: u32, with: IndexId) -> Option<Poly> {
        let mut out = p.clone();
        for (atom, _) in out.terms.iter_mut().flat_map(|t| &mut t.factors) {
            *atom = self.atom_moved(atom, name, with)?;
        }
        Some(out)
    }

    pub(super) fn atom_moved(&mut self, atom: &Atom, name: u32, with: IndexId) -> Option<Atom> {
        self.e.spend(1)?;
        Some(match atom {
            Atom::Leaf(id) => {
                let bound = Some((name, SmallVec::from_elem(with, 1)));
                Atom::Leaf(self.e.moved(*id, &Moves { vars: SmallVec::new(), bound })?)
            }
            Atom::Sum(p) => Atom::Sum(Rc::new(self.poly_moved(p, name, with)?)),
            Atom::Call(f, kids) => {
                let kids = kids.iter().map(|p| self.poly_moved(p, name, with).map(Rc::new)).collect::<Option<_>>()?;
                Atom::Call(f.clone(), kids)
            }
        })
    }

    /// Returns a product with names of its own for its dimensions.
    pub(super) fn fresh(&mut self, p: &Product) -> Option<Product> {
        let mut out = p.clone();
        for (name, _) in &mut out.binders {
            let new = self.next;
            self.next = self.next.checked_add(1)?;
            for (atom, _) in &mut out.factors {
                *atom = self.renamed(atom, *name, new)?;
            }
            *name = new;
        }
        Some(out)
    }

    /// Returns a factor in which no dimension that is bound within has one of these names.
    pub(super) fn bound_otherwise(&mut self, atom: &Atom, taken: &Binders) -> Option<Atom> {
        if !self.binds_any(atom, taken)? {
            return Some(atom.clone());
        }
        Some(match atom {
            Atom::Leaf(_) => atom.clone(),
            Atom::Sum(p) => Atom::Sum(Rc::new(self.sum_bound_otherwise(p, taken)?)),
            Atom::Call(function, kids) => {
                let mut all = Vec::with_capacity(kids.len());
                for kid in kids.iter() {
                    all.push(self.sum_bound_otherwise(kid, taken)?);
                }
                let mut function = function.clone();
                if let Function::Most(own) = &mut function {
                    for (name, _) in own.iter_mut().filter(|b| taken.iter().any(|t| t.0 == b.0)) {
                        let new = self.next;
                        self.next = self.next.checked_add(1)?;
                        for kid in &mut all {
                            *kid = self.poly_renamed(kid, *name, new)?;
                        }
                        *name = new;
                    }
                }
                Atom::Call(function, all.into_iter().map(Rc::new).collect())
            }
        })
    }

    fn sum_bound_otherwise(&mut self, p: &Poly, taken: &Binders) -> Option<Poly> {
        let mut out = p.clone();
        for term in &mut out.terms {
            for (atom, _) in &mut term.factors {
                *atom = self.bound_otherwise(atom, taken)?;
            }
            for (name, _) in term.binders.iter_mut().filter(|b| taken.iter().any(|t| t.0 == b.0)) {
                let new = self.next;
                self.next = self.next.checked_add(1)?;
                for (atom, _) in &mut term.factors {
                    *atom = self.renamed(atom, *name, new)?;
                }
                *name = new;
            }
        }
        Some(out)
    }

    /// Whether a dimension of one of these names is bound within a factor.
    fn binds_any(&mut self, atom: &Atom, taken: &Binders) -> Option<bool> {
        let is_taken = |own: &Binders| own.iter().any(|b| taken.iter().any(|t| t.0 == b.0));
        let mut open = vec![atom];
        while let Some(atom) = open.pop() {
            self.e.spend(1)?;
            let sums: &[Rc<Poly>] = match atom {
                Atom::Leaf(_) => continue,
                Atom::Sum(p) => std::slice::from_ref(p),
                Atom::Call(Function::Most(own), _) if is_taken(own) => return Some(true),
                Atom::Call(_, kids) => kids,
            };
            for term in sums.iter().flat_map(|p| &p.terms) {
                if is_taken(&term.binders) {
                    return Some(true);
                }
                open.extend(term.factors.iter().map(|(a, _)| a));
            }
        }
        Some(false)
    }

    /// Returns a factor with one dimension by another name.
    pub(super) fn renamed(&mut self, atom: &Atom, from: u32, to: u32) -> Option<Atom> {
        if !self.names(atom, from)? {
            return Some(atom.clone());
        }
        Some(match atom {
            Atom::Leaf(id) => Atom::Leaf(self.leaf_renamed(*id, from, to)?),
            Atom::Sum(p) => Atom::Sum(Rc::new(self.poly_renamed(p, from, to)?)),
            Atom::Call(f, kids) => {
                let kids = kids.iter().map(|p| self.poly_renamed(p, from, to).map(Rc::new)).collect::<Option<_>>()?;
                Atom::Call(f.clone(), kids)
            }
        })
    }

    /// Returns a sum of products with one dimension by another name.
    pub(super) fn poly_renamed(&mut self, p: &Poly, from: u32, to: u32) -> Option<Poly> {
        let mut out = p.clone();
        for (atom, _) in out.terms.iter_mut().flat_map(|t| &mut t.factors) {
            *atom = self.renamed(atom, from, to)?;
        }
        Some(out)
    }
}
