//! Complex numbers as two real ones.
//!
//! ## What it says
//! A complex tensor is that of its real parts and that of its imaginary parts. What moves elements moves both, and fills up both with zeros; signs and conjugates are those of
//! the parts. Over the reals sums and differences are, too; a product, of matrices as well, is `ac - bd` and `ad + bc`, a magnitude the root of the sum of both
//! squares. A real number is a complex one whose imaginary part is 0.
//!
//! ## When it is wrong
//! A product's parts are rounded in an order that its kernel chooses: bit by bit it stays what it is. `z * 2` is a product with `2 + 0i`, and `w + z` adds `z * (1 + 0i)`: a
//! NaN in one part of `z` shows in both. What else is made of complex numbers (a quotient, `exp`) is not looked into.

use rustc_hash::FxHashMap;

use crate::graph::{Arg, Dtype, NodeId, TensorType, ValueType};
use crate::rules::element::arena::{ExprId, Fold, Op, Source};
use crate::rules::meaning::{Array, Meant, Said, Speaker};
use crate::rules::table::{Complex, Meaning, complex, meaning};
use crate::sym::Dim;

/// Returns the dtype of the parts of a complex one.
fn part_of(dtype: Dtype) -> Option<Dtype> {
    match dtype {
        Dtype::C64 => Some(Dtype::F32),
        Dtype::C128 => Some(Dtype::F64),
        _ => None,
    }
}

impl Speaker<'_> {
    /// Returns a complex value that is what it is: each part is looked up behind the index.
    pub fn complex_looked_up(&mut self, ty: &TensorType, source: Source) -> Option<Meant> {
        let dtype = part_of(ty.dtype)?;
        let source = self.e.source(source);
        let mut part = |k: i64| {
            let mut at = self.vars(&ty.sizes);
            at.push(self.e.at(Dim::Fixed(k)));
            let expr = self.e.load(dtype, source, at)?;
            Some(Array { dtype, sizes: ty.sizes.clone(), device: ty.device.clone(), expr })
        };
        Some(Meant::Complex(Box::new([part(0)?, part(1)?])))
    }

    /// Returns what a call means that takes or gives complex numbers, if that is understood.
    pub(super) fn of_complex(&mut self, c: &Said<'_, '_>, ty: &ValueType) -> Option<Meant> {
        let takes = nodes(c).into_iter().any(|n| matches!(c.values.get(&n), Some(Meant::Complex(_))));
        if !takes && !c.result.dtype.is_complex() || !self.e.are_settled(&c.result.sizes) {
            return None;
        }
        let ValueType::Many(all) = ty else { return self.one_of_complex(c) };
        let mut out = Vec::new();
        for (k, t) in (0_u32..).zip(all.iter()) {
            out.push(self.one_of_complex(&Said { result: t.as_tensor()?, item: Some(k), ..*c })?);
        }
        Some(Meant::Many(out))
    }

    fn one_of_complex(&mut self, c: &Said<'_, '_>) -> Option<Meant> {
        let Some(dtype) = part_of(c.result.dtype) else { return self.real_of_complex(c).map(Meant::One) };
        let parts = match (complex(&c.operator.target), meaning(&c.operator.target)) {
            (Some(Complex::Made), _) => {
                let (re, im) = (c.array(0)?, c.array(1)?);
                (re.dtype == dtype && im.dtype == dtype).then_some(())?;
                let (re, im) = (re.clone(), im.clone());
                [self.broadcast(&re, &c.result.sizes)?, self.broadcast(&im, &c.result.sizes)?]
            }
            (Some(Complex::Seen), _) => {
                let pairs = c.array(0).filter(|a| a.dtype == dtype)?.clone();
                let mut part = |k: i64| {
                    let mut at = self.vars(&c.result.sizes);
                    at.push(self.e.at(Dim::Fixed(k)));
                    self.at(&pairs, at)
                };
                [part(0)?, part(1)?]
            }
            (Some(Complex::Conjugate), _) => {
                let [re, im] = self.parts(c, c.arg(0), dtype)?;
                [re, self.e.op(Op::Neg, dtype, &[im])?]
            }
            (None, Some(Meaning::Unary(Op::Neg))) => {
                let [re, im] = self.parts(c, c.arg(0), dtype)?;
                [self.e.op(Op::Neg, dtype, &[re])?, self.e.op(Op::Neg, dtype, &[im])?]
            }
            (None, Some(Meaning::Convert)) => self.parts(c, c.arg(0), dtype)?,
            (None, Some(Meaning::Binary(op @ (Op::Add | Op::Sub | Op::Mul)))) => self.arithmetic(c, op, dtype)?,
            (None, Some(Meaning::MatMul)) if self.over_reals => {
                let mut part = |a, b| self.with_parts(c, dtype, [a, b]).map(|array| array.expr);
                let products = [[part(0, 0)?, part(0, 1)?], [part(1, 0)?, part(1, 1)?]];
                self.product(products, dtype)?
            }
            (None, known) if is_moved_by_parts(c, known, self.over_reals) => {
                [self.with_parts(c, dtype, [0, 0])?.expr, self.with_parts(c, dtype, [1, 1])?.expr]
            }
            _ => return None,
        };
        let array = |expr| Array { dtype, sizes: c.result.sizes.clone(), device: c.result.device.clone(), expr };
        Some(Meant::Complex(Box::new(parts.map(array))))
    }

    /// A real result of complex operands.
    fn real_of_complex(&mut self, c: &Said<'_, '_>) -> Option<Array> {
        let Meant::Complex(given) = c.values.get(&c.arg(0).as_node()?)? else { return None };
        let [re, im] = (**given).clone();
        (re.dtype == c.result.dtype).then_some(())?;
        let expr = match complex(&c.operator.target) {
            Some(Complex::Real) => re.expr,
            Some(Complex::Imaginary) => im.expr,
            Some(Complex::Parts) => {
                let mut vars = self.vars(&c.result.sizes);
                let last = vars.pop()?;
                let (re, im) = (self.at(&re, vars.clone())?, self.at(&im, vars)?);
                let behind = self.e.shift(last, Dim::Fixed(-1))?;
                let second = self.e.at_least_zero_expr(behind)?;
                self.e.op(Op::Choose, c.result.dtype, &[second, im, re])?
            }
            None if meaning(&c.operator.target) == Some(Meaning::Unary(Op::Abs)) => {
                self.length_of(c.result.dtype, re.expr, im.expr)?
            }
            _ => return None,
        };
        Some(Array { dtype: c.result.dtype, sizes: c.result.sizes.clone(), device: c.result.device.clone(), expr })
    }

    /// Sums, differences and products, of a real operand and a number, too.
    fn arithmetic(&mut self, c: &Said<'_, '_>, op: Op, dtype: Dtype) -> Option<[ExprId; 2]> {
        matches!(c.named("alpha"), None | Some(Arg::Int(1))).then_some(())?;
        let ([a, b], [x, y]) = (self.parts(c, c.arg(0), dtype)?, self.parts(c, c.arg(1), dtype)?);
        self.over_reals.then_some(())?;
        if op != Op::Mul {
            // Its kernel multiplies the second one by `1 + 0i`.
            let nothing = self.e.rounded(dtype, 0.0)?;
            let (more, less) = (self.e.op(Op::Mul, dtype, &[x, nothing])?, self.e.op(Op::Mul, dtype, &[y, nothing])?);
            let (x, y) = (self.e.op(Op::Sub, dtype, &[x, less])?, self.e.op(Op::Add, dtype, &[y, more])?);
            return Some([self.e.op(op, dtype, &[a, x])?, self.e.op(op, dtype, &[b, y])?]);
        }
        let mut times = |p, q| self.e.op(Op::Mul, dtype, &[p, q]);
        let products = [[times(a, x)?, times(a, y)?], [times(b, x)?, times(b, y)?]];
        self.product(products, dtype)
    }

    /// The parts of a product, from the products of the parts.
    fn product(&mut self, [[ac, ad], [bc, bd]]: [[ExprId; 2]; 2], dtype: Dtype) -> Option<[ExprId; 2]> {
        Some([self.e.op(Op::Sub, dtype, &[ac, bd])?, self.e.op(Op::Add, dtype, &[ad, bc])?])
    }

    /// Returns the parts of an operand at the index of the result.
    fn parts(&mut self, c: &Said<'_, '_>, arg: &Arg, dtype: Dtype) -> Option<[ExprId; 2]> {
        if let Some(Meant::Complex(parts)) = arg.as_node().and_then(|n| c.values.get(&n)) {
            let part = |k: usize| parts.get(k).filter(|p| p.dtype == dtype).cloned();
            let (re, im) = (part(0)?, part(1)?);
            return Some([self.broadcast(&re, &c.result.sizes)?, self.broadcast(&im, &c.result.sizes)?]);
        }
        if let Arg::Complex(re, im) = arg {
            return Some([self.e.rounded(dtype, *re)?, self.e.rounded(dtype, *im)?]);
        }
        Some([self.operand(c, arg, dtype, false)?, self.e.rounded(dtype, 0.0)?])
    }

    /// Returns a call's result where of the first complex operand that part is taken, and of all others this one.
    fn with_parts(&mut self, c: &Said<'_, '_>, dtype: Dtype, [first, others]: [usize; 2]) -> Option<Array> {
        let mut values: FxHashMap<NodeId, Meant> = FxHashMap::default();
        let mut taken: FxHashMap<NodeId, usize> = FxHashMap::default();
        let mut k = first;
        for node in nodes(c) {
            let meant = match c.values.get(&node)? {
                Meant::Complex(parts) => {
                    // One tensor may stand for two operands, of which different parts are asked.
                    taken.insert(node, k).is_none_or(|known| known == k).then_some(())?;
                    let part = parts.get(k).filter(|p| p.dtype == dtype)?.clone();
                    k = others;
                    Meant::One(part)
                }
                // A real one beside them has a part that is 0.
                Meant::One(a) if a.dtype.is_float() => return None,
                other => other.clone(),
            };
            values.insert(node, meant);
        }
        let result = TensorType { dtype, ..c.result.clone() };
        let part = Said { values: &values, result: &result, ..*c };
        self.understood(&part)
    }
}

/// Returns the operands of a call, lists and all, in order.
fn nodes(c: &Said<'_, '_>) -> Vec<NodeId> {
    let flat = |arg: &Arg| match arg.items() {
        Some(items) => items.iter().filter_map(Arg::as_node).collect::<Vec<_>>(),
        None => arg.as_node().into_iter().collect(),
    };
    c.bound.args.iter().flat_map(|a| flat(a)).collect()
}

/// Whether a call does to each part, apart from the other, what it does to real numbers.
fn is_moved_by_parts(c: &Said<'_, '_>, known: Option<Meaning>, over_reals: bool) -> bool {
    let moves = matches!(
        known,
        Some(
            Meaning::Cat
                | Meaning::Flip
                | Meaning::Roll
                | Meaning::Repeat
                | Meaning::IndexSelect
                | Meaning::Gather
                | Meaning::Index
        )
    );
    let sums = known == Some(Meaning::Sum(Fold::Sum));
    // Beside them are zeros in both parts.
    let moves = moves || known == Some(Meaning::Pad) && matches!(c.arg(2), Arg::None | Arg::Int(0) | Arg::Float(0.0));
    moves || over_reals && sums || c.operator.facts.step.is_some() || c.operator.facts.same_as.is_some()
}
