//! What of a call's type is somebody's word: an annotation that no rule confirmed.
//!
//! Promises: a type is free of hearsay only if a rule computed it from types that are; a size that only running the call tells is then
//! a symbol that belongs to that result alone, bound by no input and by no other result. What an annotation claims beyond
//! that is told, and stays told for whatever is computed from it. Leaves what follows for verdicts to `verify`.

use smallvec::SmallVec;

use crate::graph::{Arg, BodyId, Hearsay, NodeId, NodeKind, TensorType, ValueType, View};
use crate::ops::facts::effects::SideEffect;
use crate::ops::registry::Registry;
use crate::ops::typing::blurred::Blurred;
use crate::ops::typing::infer::CallSite;
use crate::ops::typing::{cases, layout, sizes};
use crate::sym::KeyedSet;
use crate::sym::{Dim, SymValue, Symbols};

/// Symbols that have an owner: an input, or a result that only running tells.
#[derive(Debug, Default)]
pub(in crate::ops) struct Owners {
    taken: KeyedSet<String>,
}

impl Owners {
    /// Returns the symbols that the inputs of a graph bind.
    pub(in crate::ops) fn of_inputs(view: &dyn View, symbols: &Symbols) -> Self {
        let mut out = Owners::default();
        for node in view.nodes(BodyId::ROOT).take_while(|n| view.kind(*n) == NodeKind::Placeholder) {
            out.taken.extend(symbols_of(symbols, view.ty(node)));
        }
        out
    }

    /// Returns whether a type that the annotation had a say in is the one that the rule gives alone, up to the names of new symbols;
    /// these belong to the result from then on.
    pub(in crate::ops) fn confirm(&mut self, symbols: &Symbols, told: &ValueType, alone: &ValueType) -> bool {
        let mut renamed = Renamed::default();
        let mut open = vec![(told, alone)];
        while let Some(pair) = open.pop() {
            let same = match pair {
                (ValueType::Tensor(a), ValueType::Tensor(b)) => {
                    a.dtype == b.dtype
                        && a.rank() == b.rank()
                        && a.strides.is_some() == b.strides.is_some()
                        && a.sizes
                            .iter()
                            .zip(&b.sizes)
                            .all(|(x, y)| x == y || self.takes_dim(symbols, *x, *y, &mut renamed))
                }
                (ValueType::SymInt(x), ValueType::SymInt(y)) => x == y || self.takes_dim(symbols, *x, *y, &mut renamed),
                (ValueType::SymBool(x), ValueType::SymBool(y)) | (ValueType::SymFloat(x), ValueType::SymFloat(y)) => {
                    x == y || self.takes_renamed(symbols, symbols.value_of(*x), symbols.value_of(*y))
                }
                (ValueType::Many(a), ValueType::Many(b)) => {
                    open.extend(a.iter().zip(b.iter()));
                    a.len() == b.len()
                }
                (a, b) => a == b,
            };
            if !same {
                return false;
            }
        }
        true
    }

    /// One symbol stands for one: told twice of a result, it must be the rule's one twice.
    fn takes_dim(&mut self, symbols: &Symbols, told: Dim, alone: Dim, renamed: &mut Renamed) -> bool {
        if let Some((_, of)) = renamed.iter().find(|(name, _)| *name == told) {
            return *of == alone;
        }
        renamed.push((told, alone));
        match symbols.symbols_in(SymValue::Int(told)).as_slice() {
            [name] if symbols.find_symbol(name) == Some(told) => self.taken.insert(name.clone()),
            _ => false,
        }
    }

    /// Two values of one symbol each that print alike but for its name.
    fn takes_renamed(&mut self, symbols: &Symbols, told: Option<SymValue>, alone: Option<SymValue>) -> bool {
        let (Some(told), Some(alone)) = (told, alone) else { return false };
        let (x, y) = (symbols.symbols_in(told), symbols.symbols_in(alone));
        let ([x], [y]) = (x.as_slice(), y.as_slice()) else { return false };
        symbols.print_value(told).replace(x.as_str(), "?") == symbols.print_value(alone).replace(y.as_str(), "?")
            && self.taken.insert(x.clone())
    }
}

/// New symbols of one result: as they are told, and as the rule alone names them.
type Renamed = SmallVec<[(Dim, Dim); 2]>;

/// Whether each element surely has its own place: each dimension begins beyond the reach of those inside it.
fn has_no_overlap(s: &Symbols, t: &TensorType) -> bool {
    let all = |s: &mut Symbols, t: &TensorType| {
        let mut rest: Vec<(Dim, Dim)> = t.sizes.iter().copied().zip(t.strides.iter().flatten().copied()).collect();
        rest.retain(|(size, _)| !sizes::is(s, *size, 1));
        let mut reach = Dim::Fixed(0);
        while !rest.is_empty() {
            let is_least = |stride: Dim| rest.iter().all(|(_, other)| sizes::less(s, *other, stride) == Some(false));
            let at = rest.iter().position(|(_, stride)| is_least(*stride))?;
            let (size, stride) = rest.swap_remove(at);
            (sizes::less(s, reach, stride) == Some(true)).then_some(())?;
            let last = sizes::sub(s, size, Dim::Fixed(1)).ok()?;
            let more = sizes::mul(s, last, stride).ok()?;
            reach = sizes::add(s, reach, more).ok()?;
        }
        Some(())
    };
    t.strides.is_some() && cases::agree(s, &[t], &[], |s, operands, _| all(s, operands.first()?)).is_some()
}

pub(in crate::ops) fn symbols_of(symbols: &Symbols, ty: &ValueType) -> Vec<String> {
    let mut out = Vec::new();
    let mut open = vec![ty];
    while let Some(ty) = open.pop() {
        match ty {
            ValueType::Tensor(t) => {
                let dims = t.sizes.iter().chain(t.strides.iter().flatten()).chain([&t.offset]);
                out.extend(dims.flat_map(|d| symbols.symbols_in(SymValue::Int(*d))));
            }
            ValueType::SymInt(d) => out.extend(symbols.symbols_in(SymValue::Int(*d))),
            ValueType::SymFloat(e) | ValueType::SymBool(e) => {
                out.extend(symbols.value_of(*e).into_iter().flat_map(|v| symbols.symbols_in(v)));
            }
            ValueType::Many(all) => open.extend(all.iter()),
            _ => {}
        }
    }
    out
}

impl Registry {
    /// Returns what of the type of a call that runs bodies their annotations alone tell: all of it unless they take what is passed. `None` of other
    /// calls, and of one whose own annotation had a say.
    pub fn told_by_bodies(&self, view: &dyn View, symbols: &mut Symbols, node: NodeId) -> Option<Hearsay> {
        let operator = self.operator_of(view, node)?;
        if operator.effects.side != Some(SideEffect::Control) {
            return None;
        }
        if !bodies_take_what_is_passed(view, symbols, node) {
            return Some(Hearsay::TOLD);
        }
        let mut call = self.bind(view, symbols, CallSite::of(view, node)).ok()?;
        let is_ruled = call.infer().is_ok() && !call.consulted.get();
        is_ruled.then_some(Hearsay::NONE)
    }

    /// Returns what of a call's type is somebody's word, given what its own annotation told. `symbols` are the graph's.
    pub fn hearsay(&self, view: &dyn View, symbols: &mut Symbols, node: NodeId, told: Hearsay) -> Hearsay {
        let is_ruled = self.lies_as_ruled(view, symbols, node);
        let own = told.max(if is_ruled { Hearsay::NONE } else { Hearsay::STRIDES });
        let all = view.operands(node).fold(own, |sum, n| sum.with_operand(view.hearsay(n)));
        // Whose result lies alike however its operands lie takes nobody's word for strides.
        if all == Hearsay::STRIDES && !told.strides() && self.lies_alike_anyhow(view, symbols, node, is_ruled) {
            return told;
        }
        all
    }

    /// Whether the rule gives strides though nobody says how the operands lie: those that are told so, or where the rule was not recorded
    /// for operands that lie as they do, all of them.
    fn lies_alike_anyhow(&self, view: &dyn View, symbols: &mut Symbols, node: NodeId, is_ruled: bool) -> bool {
        let blurred = if is_ruled { Blurred::told(view, node) } else { Blurred::all(view, node) };
        let site = CallSite { annotated: None, ..CallSite::of(view, node) };
        match self.infer_in(&blurred, symbols, site) {
            Ok(ValueType::Tensor(t)) => t.strides.is_some(),
            Ok(ValueType::Many(all)) => all.iter().all(|ty| ty.as_tensor().is_none_or(|t| t.strides.is_some())),
            _ => false,
        }
    }

    /// Whether the strides that a rule gives are those of recorded calls: of operands that lie row by row, or of one dtype and without
    /// overlaps; views of whatever lies anyhow. PyTorch lays out other results by rules of each kernel.
    fn lies_as_ruled(&self, view: &dyn View, symbols: &mut Symbols, node: NodeId) -> bool {
        let is_laid_out = |ty: &ValueType| match ty {
            ValueType::Tensor(t) => t.strides.is_some() && t.rank() > 1,
            ValueType::Many(_) => true,
            _ => false,
        };
        if !is_laid_out(view.ty(node)) {
            return true;
        }
        let operands: SmallVec<[&TensorType; 4]> = view.operands(node).filter_map(|n| view.ty(n).as_tensor()).collect();
        if operands.iter().all(|t| layout::is_contiguous(symbols, t) == Some(true)) {
            return true;
        }
        let Some(operator) = self.operator_of(view, node) else { return false };
        if operator.is_view() || operator.facts.step.is_some() {
            return true;
        }
        let one_dtype = operands.windows(2).all(|pair| match pair {
            [a, b] => a.dtype == b.dtype,
            _ => true,
        });
        let fits =
            |t: &&TensorType, s: &mut Symbols| layout::is_dense(s, t) || operator.pointwise && has_no_overlap(s, t);
        // What reads its operands where they lie is laid out by a rule of its own; element by element, operands are converted first.
        if !operator.pointwise || &*operator.family == "select" {
            return operator.rule.is_some();
        }
        operator.rule.is_some() && one_dtype && operands.iter().all(|t| fits(t, symbols))
    }
}

/// Returns whether every body that a call runs states for its placeholders what the call passes.
pub(in crate::ops) fn bodies_take_what_is_passed(view: &dyn View, symbols: &Symbols, node: NodeId) -> bool {
    let body_of = |arg: &Arg| match arg {
        Arg::Node(n) => match view.ty(*n) {
            ValueType::Body(body) => Some(*body),
            _ => None,
        },
        _ => None,
    };
    let args = view.args(node);
    let bodies: Vec<BodyId> = args.iter().filter_map(body_of).collect();
    let Some(last) = args.iter().rposition(|a| body_of(a).is_some()) else { return false };
    let passed: Vec<&Arg> =
        args.iter().skip(last).skip(1).flat_map(|a| a.items().map_or(vec![a], |all| all.iter().collect())).collect();
    bodies.into_iter().all(|body| {
        let mut given = passed.iter();
        for node in view.nodes(body).take_while(|n| view.kind(*n) == NodeKind::Placeholder) {
            let fits = match given.next() {
                Some(Arg::Node(n)) => states(symbols, view.ty(node), view.ty(*n)),
                Some(Arg::Int(v)) => *view.ty(node) == ValueType::SymInt(Dim::Fixed(*v)),
                _ => false,
            };
            if !fits {
                return false;
            }
        }
        given.next().is_none()
    })
}

fn states(symbols: &Symbols, stated: &ValueType, passed: &ValueType) -> bool {
    let same = |a: &[Dim], b: &[Dim]| {
        a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| crate::ops::typing::sizes::same(symbols, *a, *b) == Some(true))
    };
    match (stated, passed) {
        (ValueType::Tensor(a), ValueType::Tensor(b)) => {
            let laid_out = match (&a.strides, &b.strides) {
                (Some(a), Some(b)) => same(a, b),
                (None, _) => true,
                (Some(_), None) => false,
            };
            a.dtype == b.dtype && same(&a.sizes, &b.sizes) && laid_out
        }
        (ValueType::SymInt(a), ValueType::SymInt(b)) => same(&[*a], &[*b]),
        (a, b) => a == b && *a != ValueType::Unknown,
    }
}
