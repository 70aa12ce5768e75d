//! Calls that stand for a call of an operator that writes, on copies of what it writes.
//!
//! `auto_functionalized(OP, ...)` and operators marked `#functional-of=OP` give the results of `OP`, then what it leaves in each argument
//! that it writes (of bases, in each base). Promises: their results are the very terms that a call of `OP` itself has on operands that lie
//! apart: so a copy for each written argument may come and go. What writes two parts of one base, or is not described, stays a call of
//! its own.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::analysis::{Place, Stamp, call, place_of};
use crate::graph::{Arg, NodeId, TensorType, ValueType};
use crate::ops::{Bound, Functionalizes, Operator};
use crate::term::call::Arguments;
use crate::term::index_map::{Step, ViewMap};
use crate::term::store::ValueId;
use crate::term::term::{Fact, Form, Side, Token};
use crate::verify::functional::key::{Aspect, Key};
use crate::verify::functional::values::{Found, Functional, bind};

/// The call that is stood for.
struct Inner<'a> {
    operator: &'a Operator,
    bound: Bound<'a>,
    /// How many results stand before what is written.
    results: usize,
    /// Which parameter each later result is of; `None` where that is more or less than one.
    written: Vec<Option<usize>>,
    /// What part of its base an argument is, where it is not all of it.
    parts: FxHashMap<NodeId, Part>,
}

/// A part of a base.
#[derive(Clone)]
struct Part {
    step: Step,
    of: TensorType,
}

impl<'a> Functional<'a> {
    /// The value of one result; `None` where the call is none of these, or must stay as it is.
    pub(in crate::verify) fn find_functionalized(
        &mut self,
        key: Key,
        operator: &'a Operator,
        bound: &Bound<'a>,
    ) -> Option<Found> {
        if key.place.item == Place::WHOLE || !stands_for_another(operator) {
            return None;
        }
        let inner = self.inner(key.side, operator, bound)?;
        let item = key.place.item as usize;
        match item.checked_sub(inner.results) {
            None => self.result_of(key, &inner),
            Some(later) => self.left_in(key, &inner, later),
        }
    }

    fn inner(&mut self, side: Side, operator: &'a Operator, bound: &Bound<'a>) -> Option<Inner<'a>> {
        let inner = match &operator.facts.functional_of {
            Some(target) => {
                let inner = self.registry.get(target)?;
                let same = |(a, b): (&crate::ops::Param, &crate::ops::Param)| a.name == b.name;
                let fits = inner.schema.params.len() == operator.schema.params.len()
                    && inner.schema.params.iter().zip(&operator.schema.params).all(same);
                let results = inner.schema.returns.len();
                let all = Bound { args: bound.args.clone(), extra: SmallVec::new() };
                let written = written_params(inner, &all).map(Some).collect();
                fits.then_some(Inner { operator: inner, bound: all, results, written, parts: FxHashMap::default() })?
            }
            None => self.called(side, operator.facts.functionalizes?, bound)?,
        };
        // Where one is left out, which result is whose is nowhere stated.
        let all_given = written_params(inner.operator, &inner.bound).all(|p| inner.bound.get(p).as_node().is_some());
        (all_given && self.is_plain(inner.operator, &inner.bound)).then_some(inner)
    }

    /// Whether a call that writes is a function of the values of its arguments, each a tensor of its own where it is written.
    fn is_plain(&self, operator: &Operator, bound: &Bound<'_>) -> bool {
        let (effects, facts) = (&operator.effects, &operator.facts);
        let plain = !effects.opaque && !effects.random && effects.side.is_none() && !operator.commutes;
        let told = facts.unset || facts.sees_layout || facts.layout_decides || facts.copies || facts.reshapes;
        // What an operator of the same results gives has that one's terms.
        let has_twin = self.registry.functional(operator).is_some();
        let singly = written_params(operator, bound).all(|p| matches!(bound.get(p), Arg::Node(_) | Arg::None));
        plain && !told && !has_twin && singly
    }

    /// What a call asks in order not to raise, where it is one of `OP` on operands that lie apart, or stands for one: the same of both.
    pub(in crate::verify) fn asked_apart(&mut self, side: Side, node: NodeId) -> Option<ValueId> {
        let view = self.view(side);
        let operator = self.registry.operator_of(view, node).filter(|_| !view.hearsay(node).is_told())?;
        let bound = bind(operator, view, node)?;
        let inner = if operator.effects.writes() {
            let apart = self.is_plain(operator, &bound) && self.writes_apart(side, node, operator);
            apart.then_some(Inner { operator, bound, results: 0, written: Vec::new(), parts: FxHashMap::default() })?
        } else if stands_for_another(operator) {
            // A copy lies as what it copies where that is contiguous.
            let inner = self.inner(side, operator, &bound)?;
            let written: Vec<NodeId> =
                written_params(inner.operator, &inner.bound).filter_map(|p| inner.bound.get(p).as_node()).collect();
            let known = |f: &mut Self, n| f.laid_out(side, place_of(view, n)).and_then(crate::analysis::contiguous);
            written.into_iter().all(|n| known(self, n) == Some(true)).then_some(inner)?
        } else {
            return None;
        };
        let key = Key { side, place: Place::of(node), stamp: Stamp::Birth, aspect: Aspect::Value };
        let (tokens, mut children) = self.arguments(key, &inner)?;
        for operand in inner.bound.args.iter().flat_map(|a| a.nodes()) {
            match view.ty(operand) {
                ValueType::Tensor(_) if let Some(part) = inner.parts.get(&operand) => {
                    let strides = strides_of(part)?;
                    children.push(self.store.of_term(Form::Of(Fact::Strides, strides), []));
                }
                ValueType::Tensor(_) => children.push(self.layout_as(side, place_of(view, operand), Aspect::Exact)),
                ValueType::Many(_) => return None,
                _ => {}
            }
        }
        let callee = self.store.callee(&inner.operator.target);
        Some(self.store.of_term(Form::Of(Fact::Asks(callee), tokens.into()), children))
    }

    /// The call that `auto_functionalized` names: its arguments are keywords, or parts of bases. What is missing, or belongs to nothing, raises.
    fn called(&mut self, side: Side, kind: Functionalizes, bound: &Bound<'a>) -> Option<Inner<'a>> {
        let view = self.view(side);
        let Arg::Operator(target) = bound.args.first()? else { return None };
        let operator = self.registry.get(target.strip_prefix("torch.ops.").unwrap_or(target))?;
        let named = |name: &str| {
            bound.extra.iter().find(|(key, _)| key.is_some_and(|k| view.texts().text(k) == name)).map(|(_, arg)| *arg)
        };
        let bases = match kind {
            Functionalizes::Arguments => None,
            Functionalizes::Bases => Some(named("_all_bases")?.items()?),
        };
        let mut used = usize::from(bases.is_some());
        let mut inner = Bound { args: SmallVec::new(), extra: SmallVec::new() };
        let mut written: Vec<Vec<usize>> = vec![Vec::new(); bases.map_or(0, <[Arg]>::len)];
        let mut parts = FxHashMap::default();
        for (number, param) in operator.schema.params.iter().enumerate() {
            let base = named(&format!("_{}_base_index", param.name));
            let writes = operator.effects.params.get(number).is_some_and(|a| a.writes);
            let arg = match (named(&param.name), base, bases) {
                // Of what is written bases alone are copied.
                (Some(_), _, Some(_)) if writes => return None,
                (Some(arg), None, _) => {
                    used = used.saturating_add(1);
                    arg
                }
                (None, Some(Arg::Int(k)), Some(bases)) => {
                    let k = usize::try_from(*k).ok()?;
                    written.get_mut(k)?.push(number);
                    let said = PLACES.iter().filter(|p| named(&format!("_{}{p}", param.name)).is_some());
                    used = used.saturating_add(said.count());
                    let base = bases.get(k)?;
                    if let Some(part) = self.part_of_base(side, &param.name, base, &named)? {
                        parts.insert(base.as_node()?, part);
                    }
                    base
                }
                (_, Some(_), _) => return None,
                (None, None, _) => &param.default.as_ref()?.value,
            };
            inner.args.push(arg);
        }
        // Elsewhere the same tensor is all of it, and no copy.
        let is_alone = |n: &NodeId| inner.args.iter().flat_map(|a| a.nodes()).filter(|m| m == n).count() == 1;
        let keys = parts.keys().all(is_alone);
        let only = |params: Vec<usize>| params.first().copied().filter(|_| params.len() == 1);
        let written = match bases {
            Some(_) => written.into_iter().map(only).collect(),
            None => written_params(operator, &inner).map(Some).collect(),
        };
        let results = operator.schema.returns.len().max(1);
        (keys && used == bound.extra.len()).then_some(Inner { operator, bound: inner, results, written, parts })
    }

    /// Which part of its base an argument is: `Some(None)` where it is all of it, `None` where that cannot be said.
    #[allow(clippy::option_option)]
    fn part_of_base(
        &mut self,
        side: Side,
        param: &str,
        base: &Arg,
        named: &dyn Fn(&str) -> Option<&'a Arg>,
    ) -> Option<Option<Part>> {
        let place = place_of(self.view(side), base.as_node()?);
        let asked = |what: &str| named(&format!("_{param}{what}"));
        let of = self.tensor(side, place)?.clone();
        if let Some(dim) = asked("_slice_dim") {
            let dim = crate::verify::functional::views::axis(dim, of.rank())?;
            let size = of.sizes.get(dim)?.fixed()?;
            let at = |what: &str, none: i64| match asked(what) {
                Some(Arg::Int(v)) => Some((if *v < 0 { v.checked_add(size)? } else { *v }).clamp(0, size)),
                Some(Arg::None) | None => Some(none),
                Some(_) => None,
            };
            let (start, end) = (at("_slice_start", 0)?, at("_slice_end", size)?);
            let (start, size) = (start.into(), end.checked_sub(start)?.max(0).into());
            return Some(Some(Part { step: Step::Slice { dim, start, step: 1, size }, of }));
        }
        let Some(sizes) = asked("_size") else { return Some(None) };
        self.strided_part(side, place, of, [Some(sizes), asked("_stride"), asked("_storage_offset")])
    }

    /// A part by strides: all of the base, or a run of a vector. A copy of a base begins where its memory does.
    #[allow(clippy::option_option)]
    fn strided_part(
        &mut self,
        side: Side,
        place: Place,
        of: TensorType,
        [sizes, strides, offset]: [Option<&Arg>; 3],
    ) -> Option<Option<Part>> {
        if self.view(side).hearsay(place.node).strides() {
            return None;
        }
        self.layout_counts = true;
        let numbers = |arg: Option<&Arg>| -> Option<Vec<i64>> {
            arg?.items()?.iter().map(|a| if let Arg::Int(v) = a { Some(*v) } else { None }).collect()
        };
        let fixed = |dims: &[crate::sym::Dim]| dims.iter().map(|d| d.fixed()).collect::<Option<Vec<i64>>>();
        let (sizes, strides) = (numbers(sizes)?, numbers(strides)?);
        let own = (fixed(&of.sizes)?, fixed(of.strides.as_ref()?)?, of.offset.fixed()?);
        let offset = match offset {
            Some(Arg::Int(v)) => *v,
            Some(Arg::None) | None => own.2,
            Some(_) => return None,
        };
        if (&sizes, &strides, offset) == (&own.0, &own.1, own.2) {
            return Some(None);
        }
        let ([size], [stride], [whole], [1]) = (&*sizes, &*strides, &*own.0, &*own.1) else { return None };
        let start = offset.checked_sub(own.2)?;
        let last = size.checked_sub(1)?.checked_mul(*stride)?.checked_add(start)?;
        let fits = *size > 0 && *stride > 0 && start >= 0 && last < *whole;
        let step = Step::Slice { dim: 0, start: start.into(), step: *stride, size: (*size).into() };
        fits.then_some(Some(Part { step, of }))
    }

    /// The values of the arguments, and their tokens.
    fn arguments(&mut self, key: Key, inner: &Inner<'a>) -> Option<(Vec<Token>, Vec<ValueId>)> {
        let view = self.view(key.side);
        let Arguments { mut tokens, operands } = Arguments::bound(view, inner.operator, &inner.bound, &mut self.sizes);
        let mut found = Some(());
        let children = self.operands(key, &mut tokens, &operands, &mut |f, n| {
            let whole = f.read(key.side, n, key.place.node);
            let Some(part) = inner.parts.get(&n) else { return whole };
            let map = ViewMap::identity(&part.of.sizes, &mut f.sizes).and_then(|m| m.then(&part.step, &mut f.sizes));
            match map {
                Some(map) => f.store.of_term(Form::View { map, base: part.of.sizes.clone() }, [whole]),
                None => {
                    found = None;
                    whole
                }
            }
        });
        found.map(|()| (tokens, children))
    }

    fn result_of(&mut self, key: Key, inner: &Inner<'a>) -> Option<Found> {
        let count = inner.operator.schema.returns.len();
        if count == 0 {
            return None;
        }
        let (mut tokens, children) = self.arguments(key, inner)?;
        tokens.extend(self.told(key));
        let callee = self.store.callee(&inner.operator.target);
        let form = Form::Call { callee, tokens: tokens.into(), commutes: false };
        if count == 1 {
            return Some(Found::Term(form, children));
        }
        let whole = self.store.of_term(form, children);
        Some(Found::Term(Form::Item(key.place.item), vec![whole]))
    }

    /// What is left in the so-many-th of the arguments that are written, or of the bases.
    fn left_in(&mut self, key: Key, inner: &Inner<'a>, later: usize) -> Option<Found> {
        let param = (*inner.written.get(later)?)?;
        let node = inner.bound.get(param).as_node()?;
        let (tokens, children) = self.arguments(key, inner)?;
        let callee = self.store.callee(&inner.operator.target);
        let form = Form::Written { callee, tokens: tokens.into(), param };
        let Some(part) = inner.parts.get(&node).cloned() else { return Some(Found::Term(form, children)) };
        let new = self.store.of_term(form, children);
        let map = ViewMap::identity(&part.of.sizes, &mut self.sizes)?.then(&part.step, &mut self.sizes)?;
        let old = self.read(key.side, node, key.place.node);
        Some(self.scatter(map, part.of.sizes, old, new))
    }
}

/// What is said of an argument that is a base or a part of one, behind its name.
const PLACES: [&str; 8] =
    ["_base_index", "_alias", "_size", "_stride", "_storage_offset", "_slice_dim", "_slice_start", "_slice_end"];

fn stands_for_another(operator: &Operator) -> bool {
    operator.facts.functionalizes.is_some() || operator.facts.functional_of.is_some()
}

/// How a part of a base lies; `None` where a dimension has strides that no index uses.
fn strides_of(part: &Part) -> Option<Box<[Token]>> {
    let Step::Slice { dim, step, size, .. } = &part.step else { return None };
    let strides = part.of.strides.iter().flatten().zip(&part.of.sizes).enumerate();
    let stride = |(d, (stride, whole)): (usize, (&crate::sym::Dim, &crate::sym::Dim))| {
        let (by, count) = if d == *dim { (*step, size.fixed()?) } else { (1, whole.fixed()?) };
        (count > 1).then_some(Token::Dim(stride.fixed()?.checked_mul(by)?.into()))
    };
    strides.map(stride).collect()
}

/// The parameters that a call writes.
fn written_params<'b>(operator: &'b Operator, bound: &'b Bound<'_>) -> impl Iterator<Item = usize> + 'b {
    (0..bound.args.len()).filter(|i| call::writes(operator, bound, *i))
}
