//! The greatest of some, and the greatest over dimensions.
//!
//! Promises: whatever the order and the nesting, one form; a number in front stands outside, and so do a rounding, a divisor of which the sign is known, an exponential, and a function that rises or falls.

use std::rc::Rc;

use crate::graph::Dtype;
use crate::rules::element::arena::{Form, Op};
use crate::rules::element::cast::{keeps_order, round};
use crate::rules::field::normal::Field;
use crate::rules::field::poly::{Atom, Binders, Function, Poly};
use crate::rules::table::{Real, real};

/// Of how many the greatest may be one thing.
const WIDEST: usize = 6;

impl Field<'_> {
    /// The greatest of some: those that are greatest of others are these, each once, and a number that all have in front stands outside.
    pub(super) fn greatest(&mut self, all: &[Rc<Poly>]) -> Option<Poly> {
        let mut each: Vec<Rc<Poly>> = Vec::new();
        for one in all {
            let within = match one.terms.as_slice() {
                [t] if t.binders.is_empty() && t.number > 0.0 => match t.factors.as_slice() {
                    [(Atom::Call(Function::Max, kids), 1)] => Some((t.number, kids.clone())),
                    _ => None,
                },
                _ => None,
            };
            let Some((number, kids)) = within else {
                each.push(one.clone());
                continue;
            };
            for kid in kids.iter() {
                each.push(Rc::new(self.plus(&Poly::default(), kid, number)?));
            }
        }
        let mut kept: Vec<Rc<Poly>> = Vec::new();
        'each: for one in each {
            for known in &kept {
                if self.same(known, &one, &[])? {
                    continue 'each;
                }
            }
            kept.push(one);
        }
        if let Some(found) = self.greatest_of_nested(&kept)? {
            return Some(found);
        }
        self.greatest_of_these(kept)
    }

    /// The greatest of some that are none themselves, each once.
    pub(super) fn greatest_of_these(&mut self, kept: Vec<Rc<Poly>>) -> Option<Poly> {
        if let [one] = kept.as_slice() {
            return Some((**one).clone());
        }
        if let Some(found) = self.greatest_of_rounded(&kept)? {
            return Some(found);
        }
        if let Some(found) = self.greatest_of_multiples(&kept)? {
            return Some(found);
        }
        if let Some(found) = self.greatest_of_quotients(&kept)? {
            return Some(found);
        }
        if let Some(found) = self.greatest_of_exponentials(&kept)? {
            return Some(found);
        }
        if let (true, [a, b]) = (self.signs, kept.as_slice()) {
            let (a, b) = (a.clone(), b.clone());
            let (sum, apart) = (self.plus(&a, &b, 1.0)?, self.plus(&a, &b, -1.0)?);
            let apart = self.magnitude(&apart)?;
            let twice = self.plus(&sum, &apart, 1.0)?;
            return self.plus(&Poly::default(), &twice, 0.5);
        }
        let numbers = kept.iter().flat_map(|p| p.terms.iter().map(|t| t.number.abs()));
        let lead = numbers.fold(0.0_f64, f64::max);
        if kept.len() > WIDEST || lead <= 0.0 {
            return Self::call(Function::Max, kept);
        }
        let mut scaled = Vec::new();
        for one in &kept {
            scaled.push(Rc::new(self.plus(&Poly::default(), one, 1.0 / lead)?));
        }
        let most = Self::call(Function::Max, scaled)?;
        self.plus(&Poly::default(), &most, lead)
    }

    /// The greatest of multiples by factors of which the sign is known is a multiple of the greatest, or of the least.
    fn greatest_of_multiples(&mut self, all: &[Rc<Poly>]) -> Option<Option<Poly>> {
        let mut inner: Vec<Poly> = all.iter().map(|p| (**p).clone()).collect();
        let (outside, turned) = self.signed_factors(&mut inner, &Binders::new())?;
        if outside.is_empty() {
            return Some(None);
        }
        let (sign, depth) = (if turned { -1.0 } else { 1.0 }, inner.iter().map(|p| p.depth).max().unwrap_or(0));
        let mut each = Vec::new();
        for one in &inner {
            each.push(Rc::new(self.plus(&Poly::default(), one, sign)?));
        }
        let most = self.greatest(&each)?;
        let most = self.plus(&Poly::default(), &most, sign)?;
        self.with_factors(most, outside, depth).map(Some)
    }

    /// The greatest of some of which one is divided by what is never negative is that of all multiplied by it, divided.
    fn greatest_of_quotients(&mut self, all: &[Rc<Poly>]) -> Option<Option<Poly>> {
        if all.len() > WIDEST {
            return Some(None);
        }
        let divided = all.iter().flat_map(|p| &p.terms).flat_map(|t| &t.factors).filter(|(_, exponent)| *exponent < 0);
        let divisors: Vec<Atom> = divided.map(|(atom, _)| atom.clone()).take(WIDEST).collect();
        for atom in divisors {
            if self.sign_of(&atom)? != Some(false) {
                continue;
            }
            let mut most = 0_i32;
            let mut bound = false;
            for term in all.iter().flat_map(|p| &p.terms) {
                bound |= self.names_any(&atom, &term.binders);
                for (other, exponent) in &term.factors {
                    if *exponent < 0 && self.same_atom(&atom, other, &[])? {
                        most = most.max(exponent.checked_neg()?);
                    }
                }
            }
            if bound || most == 0 {
                continue;
            }
            let depth = all.iter().map(|p| p.depth).max().unwrap_or(0);
            let mut each = Vec::new();
            for one in all {
                each.push(Rc::new(self.with_factors((**one).clone(), vec![(atom.clone(), most)], depth)?));
            }
            let found = self.greatest(&each)?;
            return self.with_factors(found, vec![(atom, most.checked_neg()?)], depth).map(Some);
        }
        Some(None)
    }

    /// Returns a multiple of one exponential as its number and the exponent.
    fn as_exponential(&mut self, p: &Poly) -> Option<Option<(f64, Poly)>> {
        let [term] = p.terms.as_slice() else { return Some(None) };
        if !term.binders.is_empty() || term.factors.is_empty() {
            return Some(None);
        }
        let mut exponent = Poly::default();
        for (atom, by) in term.factors.clone() {
            let Atom::Call(Function::Exp, kids) = &atom else { return Some(None) };
            exponent = self.plus(&exponent, kids.first()?, f64::from(by))?;
        }
        Some(Some((term.number, exponent)))
    }

    /// The greatest of exponentials is that of the greatest exponent; of opposites of such it is that of the least.
    fn greatest_of_exponentials(&mut self, all: &[Rc<Poly>]) -> Option<Option<Poly>> {
        let (mut exponents, mut sign, mut any) = (Vec::new(), None, false);
        for one in all {
            let [term] = one.terms.as_slice() else { return Some(None) };
            if !term.binders.is_empty() || *sign.get_or_insert(term.number > 0.0) != (term.number > 0.0) {
                return Some(None);
            }
            let mut exponent = Poly::number(term.number.abs().ln())?;
            for (atom, by) in term.factors.clone() {
                let Atom::Call(Function::Exp, kids) = &atom else { return Some(None) };
                exponent = self.plus(&exponent, kids.first()?, f64::from(by))?;
                any = true;
            }
            exponents.push(exponent);
        }
        let Some(above) = sign.filter(|_| any) else { return Some(None) };
        let by = if above { 1.0 } else { -1.0 };
        let mut each = Vec::new();
        for one in &exponents {
            each.push(Rc::new(self.plus(&Poly::default(), one, by)?));
        }
        let most = self.greatest(&each)?;
        let most = self.plus(&Poly::default(), &most, by)?;
        let found = self.exp(&most)?;
        self.plus(&Poly::default(), &found, by).map(Some)
    }

    /// The greatest of what is rounded to one dtype, or is a number of it, is the greatest, rounded.
    fn greatest_of_rounded(&mut self, all: &[Rc<Poly>]) -> Option<Option<Poly>> {
        let mut to: Option<(Function, Dtype)> = None;
        let mut inner = Vec::new();
        for one in all {
            match (Self::rounded(one), one.as_number()) {
                (Some((function, dtype, kid, 1.0)), _) if to.as_ref().is_none_or(|(f, _)| *f == function) => {
                    to = Some((function, dtype));
                    inner.push(kid);
                }
                (None, Some(_)) => inner.push(one.clone()),
                _ => return Some(None),
            }
        }
        let Some((function, dtype)) = to else { return Some(None) };
        let held = |p: &Rc<Poly>| p.as_number().is_none_or(|v| round(dtype, v) == Some(v));
        if !all.iter().all(held) {
            return Some(None);
        }
        let most = self.greatest(&inner)?;
        Self::call(function, vec![Rc::new(most)]).map(Some)
    }

    /// Returns what is rounded to a float dtype that keeps order and signs, where a number times that is all, and the number, which is not negative.
    fn rounded(p: &Poly) -> Option<(Function, Dtype, Rc<Poly>, f64)> {
        let [term] = p.terms.as_slice() else { return None };
        let ([(Atom::Call(function @ Function::Other(Form::Op(Op::Cast), dtype), kids), 1)], true) =
            (term.factors.as_slice(), term.binders.is_empty())
        else {
            return None;
        };
        let kid = kids.first().filter(|_| keeps_order(*dtype))?;
        if term.number >= 0.0 {
            return Some((function.clone(), *dtype, kid.clone(), term.number));
        }
        // Roundings are the same below 0.
        let mut minus = (**kid).clone();
        minus.terms.iter_mut().for_each(|t| t.number = -t.number);
        Some((function.clone(), *dtype, Rc::new(minus), -term.number))
    }

    /// The greatest over dimensions: what does not depend on them is added outside; of the greatest of some it is the greatest of theirs.
    pub(super) fn most(&mut self, inner: &Poly, binders: &Binders) -> Option<Poly> {
        if binders.is_empty() {
            return Some(inner.clone());
        }
        let (mut within, mut beside) = (Poly::default(), Poly::default());
        (within.depth, beside.depth) = (inner.depth, inner.depth);
        for term in &inner.terms {
            let depends = term.factors.iter().any(|(a, _)| self.names_any(a, binders));
            if depends { within.terms.push(term.clone()) } else { beside.terms.push(term.clone()) }
        }
        if let Some((function, _, inner, number)) = Self::rounded(&within) {
            let most = self.most(&inner, binders)?;
            let found = Self::call(function, vec![Rc::new(most)])?;
            return self.plus(&beside, &found, number);
        }
        if let Some((number, exponent)) = self.as_exponential(&within)? {
            let sign = number.signum();
            let exponent = self.plus(&Poly::default(), &exponent, sign)?;
            let most = self.most(&exponent, binders)?;
            let most = self.plus(&Poly::default(), &most, sign)?;
            let found = self.exp(&most)?;
            return self.plus(&beside, &found, number);
        }
        if let Some(found) = self.most_of_rising(&within, binders)? {
            return self.plus(&beside, &found, 1.0);
        }
        let greatest = match within.terms.as_slice() {
            [] => return Some(beside),
            [t] if t.binders.is_empty() && t.number > 0.0 => match t.factors.as_slice() {
                [(Atom::Call(Function::Max, kids), 1)] => Some((t.number, kids.clone())),
                // The greatest magnitude is that of the greatest or of the least.
                [(Atom::Call(Function::Other(Form::Op(Op::Abs), _), kids), 1)] => {
                    let (number, inner) = (t.number, kids.first()?.clone());
                    let minus = self.plus(&Poly::default(), &inner, -1.0)?;
                    Some((number, [inner, Rc::new(minus)].into()))
                }
                _ => None,
            },
            _ => None,
        };
        let found = match greatest {
            Some((number, kids)) => {
                let mut each = Vec::new();
                for kid in kids.iter() {
                    each.push(Rc::new(self.most(kid, binders)?));
                }
                let most = self.greatest(&each)?;
                self.plus(&Poly::default(), &most, number)?
            }
            None => {
                let (outside, turned) = self.signed_factors(std::slice::from_mut(&mut within), binders)?;
                if !outside.is_empty() {
                    // Times what is not above 0 the least one is the greatest.
                    let sign = if turned { -1.0 } else { 1.0 };
                    let within = self.plus(&Poly::default(), &within, sign)?;
                    let most = self.most(&within, binders)?;
                    let most = self.plus(&Poly::default(), &most, sign)?;
                    let out = self.with_factors(most, outside, within.depth)?;
                    return self.plus(&out, &beside, 1.0);
                }
                let lead = within.terms.iter().map(|t| t.number.abs()).fold(0.0_f64, f64::max);
                let scaled = self.plus(&Poly::default(), &within, 1.0 / lead)?;
                let mut used = binders.clone();
                used.retain(|b| scaled.terms.iter().any(|t| t.factors.iter().any(|(a, _)| self.names_any(a, &[*b]))));
                let most = Self::call(Function::Most(used), vec![Rc::new(scaled)])?;
                self.plus(&Poly::default(), &most, lead)?
            }
        };
        self.plus(&found, &beside, 1.0)
    }

    /// The greatest of what a function gives that rises is what it gives of the greatest; of one that falls, and of multiples by a number below 0, of the least.
    fn most_of_rising(&mut self, p: &Poly, binders: &Binders) -> Option<Option<Poly>> {
        let [term] = p.terms.as_slice() else { return Some(None) };
        if !term.binders.is_empty() {
            return Some(None);
        }
        let rises = |f: &Function| match f {
            Function::Log | Function::Sqrt => true,
            Function::Other(Form::Named(target, _), _) => matches!(real(target), Some(Real::Tanh | Real::Erf)),
            _ => false,
        };
        let (function, inner, falls) = match term.factors.as_slice() {
            [(Atom::Call(function, kids), 1)] if rises(function) => {
                (Some(function.clone()), kids.first()?.clone(), false)
            }
            factors => {
                let divides = factors.iter().any(|(_, exponent)| *exponent < 0);
                for (atom, _) in factors.iter().filter(|_| divides) {
                    if self.sign_of(atom)? != Some(false) {
                        return Some(None);
                    }
                }
                let one = self.plus(&Poly::default(), p, 1.0 / term.number)?;
                let inverse = if divides { self.power(&one, -1)? } else { Poly::default() };
                let inverse = self.settled(inverse)?;
                // What is divided by several things stays as it is.
                let divides_still = inverse
                    .terms
                    .iter()
                    .flat_map(|t| &t.factors)
                    .any(|(atom, exponent)| *exponent < 0 && !matches!(atom, Atom::Call(Function::Exp, _)));
                if inverse.terms.is_empty() || divides_still {
                    return Some(None);
                }
                (None, Rc::new(inverse), true)
            }
        };
        let number = term.number;
        let sign = if falls == (number < 0.0) { 1.0 } else { -1.0 };
        let inner = self.plus(&Poly::default(), &inner, sign)?;
        let most = self.most(&inner, binders)?;
        let most = self.plus(&Poly::default(), &most, sign)?;
        let found = match function {
            Some(Function::Log) => self.log(&most)?,
            Some(Function::Sqrt) => self.sqrt(&most)?,
            Some(function) => Self::call(function, vec![Rc::new(most)])?,
            None => self.power(&most, -1)?,
        };
        self.plus(&Poly::default(), &found, number).map(Some)
    }

    /// Takes out of sums the factors that all of their products have, of which the sign is known and that no dimension changes; and whether together they are
    /// not above 0.
    pub(super) fn signed_factors(&mut self, all: &mut [Poly], binders: &Binders) -> Option<(Vec<(Atom, i32)>, bool)> {
        let (mut out, mut turned) = (Vec::new(), false);
        let Some(first) = all.iter().find_map(|p| p.terms.first()) else { return Some((out, turned)) };
        for (atom, exponent) in first.factors.clone() {
            let Some(negative) = self.sign_of(&atom)? else { continue };
            if let Some(places) = self.places_of_factor(all, (&atom, exponent), binders)? {
                let terms = all.iter_mut().flat_map(|p| &mut p.terms);
                terms.zip(places).for_each(|(t, k)| drop(t.factors.remove(k)));
                turned ^= negative && exponent.checked_rem(2)? != 0;
                out.push((atom, exponent));
            }
        }
        Some((out, turned))
    }

    /// Returns where a factor stands in each product of some sums, where it does in all, and no dimension changes it.
    fn places_of_factor(
        &mut self,
        all: &[Poly],
        (atom, exponent): (&Atom, i32),
        binders: &Binders,
    ) -> Option<Option<Vec<usize>>> {
        let mut places = Vec::new();
        for term in all.iter().flat_map(|p| &p.terms) {
            let mut at = None;
            for (k, (other, own)) in term.factors.iter().enumerate() {
                if at.is_none() && *own == exponent && self.same_atom(atom, other, &[])? {
                    at = Some(k);
                }
            }
            if self.names_any(atom, binders) || self.names_any(atom, &term.binders) {
                return Some(None);
            }
            let Some(at) = at else { return Some(None) };
            places.push(at);
        }
        Some(Some(places))
    }

    /// Returns a sum times these factors.
    fn with_factors(&mut self, mut out: Poly, factors: Vec<(Atom, i32)>, depth: usize) -> Option<Poly> {
        for (atom, exponent) in factors {
            let mut factor = Poly::atom(atom, depth)?;
            factor.terms.iter_mut().flat_map(|t| &mut t.factors).for_each(|f| f.1 = exponent);
            out = self.times(&out, &factor)?;
        }
        Some(out)
    }

    /// Whether a factor is never above 0; `Some(None)` where it may be of either sign. A comparison with 0 that is assumed tells it.
    fn sign_of(&mut self, atom: &Atom) -> Option<Option<bool>> {
        if self.is_never_negative(atom)? {
            return Some(Some(false));
        }
        let Atom::Leaf(id) = atom else { return Some(None) };
        Some(self.e.sign_by_truths(*id))
    }
}
