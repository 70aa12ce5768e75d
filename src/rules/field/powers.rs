//! Roots, exponentials and logarithms of sums of products.
//!
//! Promises: the exponential of a sum is a product, the logarithm of a product a sum, a number in front of a root its own root.

use std::rc::Rc;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Form, Op};
use crate::rules::field::normal::Field;
use crate::rules::field::poly::{Atom, Binders, Function, Poly, Product};

/// Up to which whole number an exponent is a power of the exponential of what it multiplies.
const WHOLE: f64 = 64.0;
/// Up to which one the exponential of a multiple of a logarithm is a power.
const FEW: f64 = 8.0;

/// Of which numbers the exponential is a number: an `f64` holds products of a few of these.
const HELD: f64 = 256.0;
/// Up to which power that of the greatest of them is written for larger ones.
const POWERS_HELD: f64 = 16_777_216.0;

impl Field<'_> {
    /// `1 / (1 + exp(-x))`.
    pub(super) fn sigmoid(&mut self, x: &Poly) -> Option<Poly> {
        let minus = self.plus(&Poly::default(), x, -1.0)?;
        let exp = self.exp(&minus)?;
        let one = Poly::number(1.0)?;
        let below = self.plus(&one, &exp, 1.0)?;
        self.power(&below, -1)
    }

    /// One number in front.
    pub(super) fn sqrt(&mut self, x: &Poly) -> Option<Poly> {
        if x.terms.is_empty() {
            return Some(Poly::default());
        }
        // The root of the greatest is the greatest root.
        let above = self.greatest_above_zero(x)?;
        let filled = |kids: &[Rc<Poly>]| kids.iter().all(|kid| !kid.terms.is_empty());
        let never = self.greatest_never_negative(x)?.filter(|(_, kids)| filled(kids));
        if let Some((number, kids)) = above.or(never) {
            let mut roots = Vec::new();
            for kid in kids {
                roots.push(Rc::new(self.sqrt(&kid)?));
            }
            let most = self.greatest(&roots)?;
            return self.plus(&Poly::default(), &most, number.sqrt());
        }
        let lead = x.terms.iter().map(|t| t.number).fold(0.0_f64, |m, v| if v.abs() > m.abs() { v } else { m });
        if lead <= 0.0 {
            return Self::call(Function::Sqrt, vec![Rc::new(x.clone())]);
        }
        let inner = self.plus(&Poly::default(), x, 1.0 / lead)?;
        let root = match inner.terms.as_slice() {
            [one] => self.root_of_product(one, x.depth)?,
            _ => self.root_of_sum(inner)?,
        };
        self.plus(&Poly::default(), &root, lead.sqrt())
    }

    /// The root of a sum: what is never negative and all of its products have, as what they are divided by, has a root of its own.
    fn root_of_sum(&mut self, x: Poly) -> Option<Poly> {
        let depth = x.depth;
        let (factors, left) = self.without_common_exponentials(&x)?;
        let common = Product { number: 1.0, scale: 1.0, binders: Binders::new(), factors };
        if common.factors.is_empty() || !self.is_never_negative_product(&common)? {
            return Self::call(Function::Sqrt, vec![Rc::new(x)]);
        }
        let outside = self.root_of_product(&common, depth)?;
        let inside = match left.terms.as_slice() {
            [one] => self.root_of_product(one, depth)?,
            _ => Self::call(Function::Sqrt, vec![Rc::new(left)])?,
        };
        self.times(&outside, &inside)
    }

    /// Returns the kids of the greatest of some that are never negative, and the number above 0 in front.
    fn greatest_never_negative(&mut self, p: &Poly) -> Option<Option<(f64, Vec<Rc<Poly>>)>> {
        let [term] = p.terms.as_slice() else { return Some(None) };
        let ([(Atom::Call(Function::Max, kids), 1)], true) = (term.factors.as_slice(), term.binders.is_empty()) else {
            return Some(None);
        };
        let (number, kids) = (term.number, kids.clone());
        for kid in kids.iter() {
            for part in &kid.terms {
                if !self.is_never_negative_product(part)? {
                    return Some(None);
                }
            }
        }
        Some((number > 0.0).then(|| (number, kids.to_vec())))
    }

    /// The same where one of them is a number above 0: beside it nothing is not the greatest.
    pub(super) fn greatest_above_zero(&mut self, p: &Poly) -> Option<Option<(f64, Vec<Rc<Poly>>)>> {
        let above = |kids: &[Rc<Poly>]| kids.iter().any(|kid| kid.as_number().is_some_and(|v| v > 0.0));
        let found = self.greatest_never_negative(p)?.filter(|(_, kids)| above(kids));
        Some(found.map(|(number, kids)| (number, kids.into_iter().filter(|kid| !kid.terms.is_empty()).collect())))
    }

    /// The root of a product: of a square the magnitude, of what is never negative a root of its own.
    fn root_of_product(&mut self, x: &Product, depth: usize) -> Option<Poly> {
        let mut out = Poly::number(1.0)?;
        let mut left = Poly { terms: vec![Product { factors: Vec::new(), ..x.clone() }], depth };
        let mut rest: Vec<(Atom, i32)> = Vec::new();
        for (atom, exponent) in &x.factors {
            let within = !x.binders.is_empty() && self.names_any(atom, &x.binders);
            if within {
                rest.push((atom.clone(), *exponent));
                continue;
            }
            let half = exponent.checked_div(2)?;
            let mut one = Poly::atom(atom.clone(), depth)?;
            let never = self.is_never_negative(atom)?;
            if exponent.checked_rem(2)? != 0 {
                if !never {
                    rest.push((atom.clone(), *exponent));
                    continue;
                }
                one = match atom {
                    Atom::Sum(inner) => {
                        let root = self.sqrt(inner)?;
                        self.power(&root, *exponent)?
                    }
                    // Of an exponential it is that of half of its exponent.
                    Atom::Call(Function::Exp, kids) if kids.len() == 1 => {
                        let half = self.plus(&Poly::default(), kids.first()?, f64::from(*exponent) / 2.0)?;
                        self.exp(&half)?
                    }
                    _ => {
                        let mut root = Self::call(Function::Sqrt, vec![Rc::new(one)])?;
                        root.terms.iter_mut().flat_map(|t| &mut t.factors).for_each(|f| f.1 = *exponent);
                        root
                    }
                };
            } else {
                if !never {
                    one = self.magnitude(&one)?;
                }
                one.terms.iter_mut().flat_map(|t| &mut t.factors).for_each(|f| f.1 = half);
            }
            out = self.times(&out, &one)?;
        }
        let parts = self.parts_by_dimensions(x, &rest)?;
        let positive = parts.iter().all(|p| self.is_never_negative_product(p) == Some(true));
        if positive && parts.len() > 1 {
            for part in parts {
                let root = Self::call(Function::Sqrt, vec![Rc::new(Poly { terms: vec![part], depth })])?;
                out = self.times(&out, &root)?;
            }
            return self.settled(out);
        }
        if !rest.is_empty() || !x.binders.is_empty() {
            left.terms.iter_mut().for_each(|t| t.factors = rest.clone());
            let root = Self::call(Function::Sqrt, vec![Rc::new(left)])?;
            out = self.times(&out, &root)?;
        }
        self.settled(out)
    }

    /// Returns a product as products that share no dimension that is summed.
    fn parts_by_dimensions(&mut self, x: &Product, factors: &[(Atom, i32)]) -> Option<Vec<Product>> {
        let whole = |binders, factors| Product { number: 1.0, scale: 1.0, binders, factors };
        let mut parts: Vec<Product> = Vec::new();
        for binder in &x.binders {
            let mut one = whole(Binders::from_elem(*binder, 1), Vec::new());
            for (atom, exponent) in factors {
                if self.names_any(atom, &[*binder]) {
                    // Of two dimensions at once: all is one.
                    if x.binders.iter().any(|other| other != binder && self.names_any(atom, &[*other])) {
                        return Some(vec![whole(x.binders.clone(), factors.to_vec())]);
                    }
                    one.factors.push((atom.clone(), *exponent));
                }
            }
            parts.push(one);
        }
        for (atom, exponent) in factors {
            if !self.names_any(atom, &x.binders) {
                parts.push(whole(Binders::new(), vec![(atom.clone(), *exponent)]));
            }
        }
        Some(parts)
    }

    /// Whether a product, and so its sum, is surely not negative: of squares, and of what never is.
    fn is_never_negative_product(&mut self, x: &Product) -> Option<bool> {
        for (atom, exponent) in &x.factors {
            if exponent.checked_rem(2)? != 0 && !self.is_never_negative(atom)? {
                return Some(false);
            }
        }
        Some(x.number >= 0.0)
    }

    /// Returns the number that an element is over the reals.
    pub fn number_of(e: &mut Elements, dtype: Dtype, id: ExprId) -> Option<f64> {
        Field::new(e, dtype, &[id], false).of(id)?.as_number()
    }

    /// Whether a factor is surely not negative.
    pub(super) fn is_never_negative(&mut self, atom: &Atom) -> Option<bool> {
        match atom {
            Atom::Leaf(id) => self.e.is_never_negative(*id),
            Atom::Call(Function::Exp | Function::Sqrt | Function::Other(Form::Op(Op::Abs), _), _) => Some(true),
            Atom::Sum(p) => {
                for term in &p.terms {
                    if !self.is_never_negative_product(term)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            Atom::Call(..) => Some(false),
        }
    }

    /// The exponential of a number: of a large one a power of one that is no number here, since an `f64` is 0 where it is small.
    #[allow(clippy::cast_possible_truncation)]
    fn exp_of_number(v: f64) -> Option<Poly> {
        if v.abs() <= HELD {
            return Poly::number(v.exp());
        }
        let times = (v / HELD).trunc();
        let (kid, exponent, rest) = match times.abs() <= POWERS_HELD {
            true => (HELD, times as i32, v - times * HELD),
            false => (v.abs(), if v < 0.0 { -1 } else { 1 }, 0.0),
        };
        let mut power = Self::call(Function::Exp, vec![Rc::new(Poly::number(kid)?)])?;
        power.terms.iter_mut().for_each(|t| (t.number, t.scale) = (rest.exp(), rest.exp()));
        power.terms.iter_mut().flat_map(|t| &mut t.factors).for_each(|f| f.1 = exponent);
        Some(power)
    }

    /// A product: one exponential for each product of the sum.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn exp(&mut self, x: &Poly) -> Option<Poly> {
        let mut out = Poly::number(1.0)?;
        for term in &x.terms {
            if term.factors.is_empty() && term.binders.is_empty() {
                let power = Self::exp_of_number(term.number)?;
                out = self.times(&out, &power)?;
                continue;
            }
            // Literals are roundings of what they stand for.
            let nearest = term.number.round();
            let whole = (term.number - nearest).abs() <= 0.5_f64.powi(50) * nearest.abs() && nearest.abs() <= WHOLE;
            let few = whole && nearest.abs() <= FEW;
            // Of a number and its opposite there is one exponential.
            let sign = if term.number < 0.0 { -1 } else { 1 };
            let exponent = if whole { nearest as i32 } else { sign };
            let mut inner = term.clone();
            inner.number = if whole { 1.0 } else { inner.number.abs() };
            inner.scale = if whole { 1.0 } else { inner.scale };
            // The exponential of a logarithm.
            let alone = match inner.factors.as_slice() {
                [(Atom::Call(Function::Log, kids), 1)] if few && inner.binders.is_empty() => kids.first().cloned(),
                _ => None,
            };
            let factor = match alone {
                Some(of) => self.power(&of, exponent)?,
                None => {
                    let inner = Rc::new(Poly { terms: vec![inner], depth: x.depth });
                    let mut one = Self::call(Function::Exp, vec![inner])?;
                    one.terms.iter_mut().flat_map(|t| &mut t.factors).for_each(|f| f.1 = exponent);
                    one
                }
            };
            out = self.times(&out, &factor)?;
        }
        Some(out)
    }

    /// Returns a sum as what all of its products have in common of exponentials, and of sums and elements that are never negative that they are divided by, and what is left:
    /// none of these has a negative power there.
    pub(super) fn without_common_exponentials(&mut self, x: &Poly) -> Option<(Vec<(Atom, i32)>, Poly)> {
        let mut all: Vec<Atom> = Vec::new();
        for (atom, exponent) in x.terms.iter().flat_map(|t| &t.factors) {
            let is_one = match atom {
                Atom::Call(Function::Exp, _) => true,
                Atom::Sum(_) => *exponent < 0,
                Atom::Leaf(_) => *exponent < 0 && self.is_never_negative(atom)?,
                Atom::Call(..) => false,
            };
            let mut known = !is_one;
            for other in &all {
                known = known || self.same_atom(other, atom, &[])?;
            }
            if !known {
                all.push(atom.clone());
            }
        }
        let (mut common, mut left) = (Vec::new(), x.clone());
        for atom in all {
            let mut least: Option<i32> = None;
            for term in &x.terms {
                // What a sum binds stays within it.
                if !term.binders.is_empty() && self.names_any(&atom, &term.binders) {
                    least = Some(0);
                    break;
                }
                let mut own = 0;
                for (other, exponent) in &term.factors {
                    if self.same_atom(other, &atom, &[])? {
                        own = *exponent;
                    }
                }
                least = Some(least.map_or(own, |l| l.min(own)));
            }
            let sum = matches!(atom, Atom::Sum(_) | Atom::Leaf(_));
            let Some(least) = least.filter(|l| *l < 0 || !sum && *l > 0) else { continue };
            let mut power = Poly::atom(atom.clone(), x.depth)?;
            power.terms.iter_mut().flat_map(|t| &mut t.factors).for_each(|f| f.1 = least.saturating_neg());
            left = self.times(&left, &power)?;
            common.push((atom, least));
        }
        let left = if common.is_empty() { left } else { self.settled(left)? };
        Some((common, left))
    }

    /// Returns `d` and its magnitude where a sum is `1 + exp(-|d|)`.
    fn falls_both_ways(&mut self, x: &Poly) -> Option<Option<(Poly, Poly)>> {
        let [one, other] = match x.terms.as_slice() {
            [a, b] if a.factors.is_empty() => [a, b],
            [a, b] if b.factors.is_empty() => [b, a],
            _ => return Some(None),
        };
        let plain = [one, other].iter().all(|t| t.binders.is_empty() && t.number == 1.0);
        let ([(Atom::Call(Function::Exp, kids), exponent)], true) = (other.factors.as_slice(), plain) else {
            return Some(None);
        };
        let (Some(kid), true) = (kids.first().cloned(), *exponent < 0) else { return Some(None) };
        let times = -f64::from(*exponent);
        let [term] = kid.terms.as_slice() else { return Some(None) };
        let within = match term.factors.as_slice() {
            [(Atom::Call(Function::Other(Form::Op(Op::Abs), _), of), 1)] => of.first().cloned(),
            _ => None,
        };
        let Some(within) = within.filter(|_| term.binders.is_empty() && term.number > 0.0) else { return Some(None) };
        let d = self.plus(&Poly::default(), &within, term.number * times)?;
        let magnitude = self.plus(&Poly::default(), &kid, times)?;
        Some(Some((d, magnitude)))
    }

    /// A sum: one logarithm for each factor of a product.
    pub(super) fn log(&mut self, x: &Poly) -> Option<Poly> {
        // `log(1 + exp(-|d|))` is `log(1 + exp(d)) - max(d, 0)`.
        if self.signs
            && let Some((d, magnitude)) = self.falls_both_ways(x)?
        {
            let (exp, one) = (self.exp(&d)?, Poly::number(1.0)?);
            let more = self.plus(&one, &exp, 1.0)?;
            let soft = self.log(&more)?;
            let twice = self.plus(&d, &magnitude, 1.0)?;
            return self.plus(&soft, &twice, -0.5);
        }
        if let Some(found) = self.log_of_greatest_square(x)? {
            return Some(found);
        }
        let (common, left) = self.without_common_exponentials(x)?;
        let mut out = self.log_of_product(&left)?;
        for (atom, exponent) in common {
            let log = match &atom {
                Atom::Call(Function::Exp, kids) => (**kids.first()?).clone(),
                Atom::Sum(inner) => self.log_of_product(inner)?,
                Atom::Leaf(_) => Self::call(Function::Log, vec![Rc::new(Poly::atom(atom.clone(), x.depth)?)])?,
                Atom::Call(..) => return None,
            };
            out = self.plus(&out, &log, f64::from(exponent))?;
        }
        Some(out)
    }

    /// The logarithm of the greatest of squares and a number above 0 is twice that of the greatest of their roots.
    fn log_of_greatest_square(&mut self, x: &Poly) -> Option<Option<Poly>> {
        let Some((number, kids)) = self.greatest_above_zero(x)? else { return Some(None) };
        let is_square = |kid: &Rc<Poly>| match kid.terms.as_slice() {
            [t] => t.binders.is_empty() && !t.factors.is_empty() && t.factors.iter().all(|(_, by)| by & 1 == 0),
            _ => false,
        };
        if !kids.iter().any(is_square) || !kids.iter().all(|kid| is_square(kid) || kid.as_number().is_some()) {
            return Some(None);
        }
        let mut roots = Vec::new();
        for kid in kids {
            roots.push(Rc::new(self.sqrt(&kid)?));
        }
        let most = self.greatest(&roots)?;
        let log = self.log(&most)?;
        let front = Poly::number(number.ln())?;
        self.plus(&front, &log, 2.0).map(Some)
    }

    fn log_of_product(&mut self, x: &Poly) -> Option<Poly> {
        let [term] = x.terms.as_slice() else {
            // One number in front: that of the largest product.
            let lead = x.terms.iter().map(|t| t.number).fold(0.0_f64, |m, v| if v.abs() > m.abs() { v } else { m });
            if lead <= 0.0 || lead == 1.0 {
                return Self::call(Function::Log, vec![Rc::new(x.clone())]);
            }
            let scaled = self.plus(&Poly::default(), x, 1.0 / lead)?;
            let log = Self::call(Function::Log, vec![Rc::new(scaled)])?;
            let number = Poly::number(lead.ln())?;
            return self.plus(&log, &number, 1.0);
        };
        if term.number <= 0.0 || !term.binders.is_empty() && term.number == 1.0 {
            return Self::call(Function::Log, vec![Rc::new(x.clone())]);
        }
        if !term.binders.is_empty() {
            // What is summed has its number in front.
            let scaled = self.plus(&Poly::default(), x, 1.0 / term.number)?;
            let log = Self::call(Function::Log, vec![Rc::new(scaled)])?;
            return self.plus(&log, &Poly::number(term.number.ln())?, 1.0);
        }
        let mut out = Poly::number(term.number.ln())?;
        for (atom, exponent) in &term.factors {
            let one = match atom {
                Atom::Call(Function::Exp, kids) => (**kids.first()?).clone(),
                Atom::Call(Function::Sqrt, kids) => {
                    let log = Self::call(Function::Log, vec![kids.first()?.clone()])?;
                    self.plus(&Poly::default(), &log, 0.5)?
                }
                other => {
                    let inner = match other {
                        Atom::Sum(p) => (**p).clone(),
                        _ => Poly::atom(other.clone(), x.depth)?,
                    };
                    // Of an even power the sign is lost.
                    let even = exponent.checked_rem(2)? == 0 && !self.is_never_negative(other)?;
                    let inner = if even { self.magnitude(&inner)? } else { inner };
                    Self::call(Function::Log, vec![Rc::new(inner)])?
                }
            };
            out = self.plus(&out, &one, f64::from(*exponent))?;
        }
        Some(out)
    }
}
