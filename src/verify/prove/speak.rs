//! Terms as calls that rules understand.
//!
//! Promises: the arguments of a call are those that its term holds, and nothing else: a call with an effect, a draw, an annotated type or memory
//! among its arguments stands for itself. The type of a call is what the registry's rule gives for the types of its operands; how they lie
//! in memory is not among what rules may see.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::Stamp;
use crate::formats::text::domain::Domain;
use crate::graph::{
    Arg, BodyId, Device, Dtype, Graph, Hearsay, NewNode, NodeId, NodeKind, StrId, TensorType, ValueType,
};
use crate::ops::{CallSite, contiguous_strides};
use crate::rules::element::arena::{Elements, Op, Source};
use crate::rules::meaning::{Array, Meant, Speaker};
use crate::rules::table::{Meaning, meaning};
use crate::sym::Dim;
use crate::term::index_map::ViewMap;
use crate::term::store::ValueId;
use crate::term::term::{self, Callee, Form, Term, Token};
use crate::verify::functional::key::{Aspect, Key};
use crate::verify::functional::values::Functional;

/// Terms on their way to expressions.
pub struct Lowering<'f, 'a> {
    /// Values.
    pub f: &'f mut Functional<'a>,
    /// Terms that are looked into.
    pub terms: FxHashMap<ValueId, Term>,
    /// Targets by number.
    pub names: FxHashMap<Callee, String>,
    /// Rules.
    pub speaker: Speaker<'a>,
    /// What values mean; `None` where nobody can say.
    pub meant: FxHashMap<ValueId, Option<Meant>>,
}

impl Lowering<'_, '_> {
    /// Returns what a value means. A worklist: children first. Classes may stand below themselves (`relu(x)` is `relu(relu(x))`): one that
    /// is met below itself stands for itself.
    pub fn meant(&mut self, root: ValueId) -> Option<Meant> {
        let root = self.f.store.find(root);
        let mut open = vec![(root, false)];
        let mut above: FxHashSet<ValueId> = FxHashSet::default();
        while let Some((id, below_done)) = open.pop() {
            if self.meant.contains_key(&id) {
                continue;
            }
            let is_below_itself = !below_done && !above.insert(id);
            let Some(term) = self.terms.get(&id).filter(|_| !is_below_itself).cloned() else {
                let found = self.itself(id);
                self.meant.insert(id, found);
                continue;
            };
            let children: Vec<ValueId> = term.children.iter().map(|c| self.f.store.find(*c)).collect();
            if !below_done {
                open.push((id, true));
                open.extend(children.iter().filter(|c| !self.meant.contains_key(c)).map(|c| (*c, false)));
                continue;
            }
            let found = self.term(&term.form, &children).or_else(|| self.itself(id));
            self.meant.insert(id, found);
        }
        self.meant.get(&root).cloned().flatten()
    }

    /// A value that stands for itself.
    fn itself(&mut self, id: ValueId) -> Option<Meant> {
        let key = self.f.store.key(id).filter(|k| k.aspect == Aspect::Value)?;
        match self.f.side(key.side).storages.type_of(key.place) {
            ValueType::Tensor(_) => {
                let ty = self.f.tensor(key.side, key.place)?;
                let settled = self.speaker.e.are_settled(&ty.sizes);
                let ty = settled.then_some(ty)?;
                if ty.dtype.is_complex() {
                    return self.speaker.complex_looked_up(ty, Source::Value(id));
                }
                let integers = self.f.domain_of(id).and_then(integers);
                let source = self.speaker.e.source(Source::Value(id));
                if self.is_given(&key) {
                    self.speaker.e.given.insert(source);
                }
                if let Some((low, high)) = integers.filter(|_| ty.dtype.is_integer()) {
                    self.speaker.e.lies_between(source, low, high);
                    let each_once =
                        matches!(self.f.domain_of(id), Some(Domain::Integers { lo: 0, distinct: true, .. }));
                    if each_once && ty.sizes.as_slice() == [Dim::Fixed(high.saturating_add(1))] {
                        self.speaker.e.holds_all_places(source);
                    }
                }
                if let Some(few) = self.f.domain_of(id).and_then(few) {
                    self.speaker.e.is_one_of_few(source, &few);
                }
                if let Some(Domain::OneOf(all)) = self.f.domain_of(id)
                    && ty.dtype.is_float()
                    && all.iter().all(|v| v.is_finite())
                {
                    self.speaker.e.is_one_listed(source, all);
                }
                if self.f.domain_of(id).is_some_and(holds_powers) && ty.dtype.is_float() {
                    self.speaker.e.is_power_of_two(source);
                }
                if self.f.domain_of(id) == Some(&Domain::Nonzero) && ty.dtype.is_float() {
                    self.speaker.e.is_not_zero(source);
                    self.speaker.e.is_number_between(source, f64::NEG_INFINITY, f64::INFINITY);
                }
                if let Some((low, high)) = self.f.domain_of(id).and_then(floats).filter(|_| ty.dtype.is_float()) {
                    self.speaker.e.is_number_between(source, low, high);
                }
                self.speaker.looked_up(ty, Source::Value(id)).map(Meant::One)
            }
            ValueType::SymInt(d) if !self.f.view(key.side).hearsay(key.place.node).sizes() => {
                let d = *d;
                self.speaker.e.are_settled(&[d]).then_some(Meant::Size(d))
            }
            ValueType::SymFloat(v) if !self.f.view(key.side).hearsay(key.place.node).sizes() => Some(Meant::Number(*v)),
            _ => None,
        }
    }

    /// Whether a value is an input, a weight or a buffer as the model is called with it.
    fn is_given(&self, key: &Key) -> bool {
        let (view, node) = (self.f.view(key.side), key.place.node);
        let outside = view.place(node).is_some_and(|(body, _)| body == BodyId::ROOT);
        let given = matches!(view.kind(node), NodeKind::Placeholder | NodeKind::GetAttr);
        given && outside && key.stamp == Stamp::Birth
    }

    fn array(&self, id: ValueId) -> Option<Array> {
        match self.meant.get(&id)? {
            Some(Meant::One(a)) => Some(a.clone()),
            _ => None,
        }
    }

    fn term(&mut self, form: &Form, children: &[ValueId]) -> Option<Meant> {
        match (form, children) {
            (Form::Cast(dtype), [x]) => {
                let x = self.array(*x)?;
                let expr = self.speaker.e.op(Op::Cast, *dtype, &[x.expr])?;
                Some(Meant::One(Array { dtype: *dtype, expr, ..x }))
            }
            (Form::View { map, base }, [x]) => match self.meant.get(x)?.clone()? {
                Meant::One(from) => self.view(map, base, from).map(Meant::One),
                Meant::Complex(parts) => {
                    let [re, im] = *parts;
                    Some(Meant::Complex(Box::new([self.view(map, base, re)?, self.view(map, base, im)?])))
                }
                _ => None,
            },
            (Form::Scatter { map, base }, [old, new]) => self.scatter(map, base, *old, *new).map(Meant::One),
            (Form::Item(item), [whole]) => match self.meant.get(whole)? {
                Some(Meant::Many(all)) => all.get(*item as usize).filter(|m| !matches!(m, Meant::Unsaid)).cloned(),
                _ => None,
            },
            (Form::Call { callee, tokens, .. }, children) => self.call(*callee, tokens, children),
            _ => None,
        }
    }

    fn view(&mut self, map: &ViewMap, base: &[Dim], from: Array) -> Option<Array> {
        let s = &mut self.speaker;
        if from.sizes.len() != base.len() || !from.sizes.iter().zip(base).all(|(a, b)| s.e.same_size(*a, *b)) {
            return None;
        }
        let layers: Vec<_> = map.layers().collect();
        let sizes = map.sizes().into();
        let mut index = s.vars(map.sizes());
        for (k, (_, strides, offset)) in layers.iter().enumerate().rev() {
            let under = k.checked_sub(1).and_then(|k| layers.get(k)).map_or(base, |(sizes, ..)| sizes);
            let mut place = s.e.at(*offset);
            for (i, stride) in index.iter().zip(*strides) {
                let part = s.e.scale(*i, *stride)?;
                place = s.e.sum(place, part)?;
            }
            if map.sizes().contains(&Dim::Fixed(0)) {
                place = s.e.at(Dim::Fixed(0));
            }
            index = s.index_at(place, under)?;
        }
        let expr = s.at(&from, index)?;
        Some(Array { sizes, expr, ..from })
    }

    /// A part replaced, where the part is a box: along each dimension some places in steps.
    fn scatter(&mut self, map: &ViewMap, base: &[Dim], old: ValueId, new: ValueId) -> Option<Array> {
        let (from, with) = (self.array(old)?, self.array(new)?);
        let mut layers = map.layers();
        let (Some((sizes, strides, offset)), None) = (layers.next(), layers.next()) else { return None };
        if from.dtype != with.dtype || sizes.contains(&Dim::Fixed(0)) {
            return None;
        }
        let fixed = |dims: &[Dim]| dims.iter().map(|d| d.fixed()).collect::<Option<Vec<i64>>>();
        let s = &mut self.speaker;
        let numbers = fixed(base).zip(fixed(sizes)).zip(fixed(strides));
        if let Some(((base, sizes), strides)) = &numbers
            && let Some(part) = diagonal(base, sizes, strides, offset.fixed()?)
        {
            return scatter_along(s, &from, &with, &part);
        }
        let parts = match numbers {
            Some(((base, sizes), strides)) => boxed(&base, &sizes, &strides, offset.fixed()?)?,
            _ => boxed_for_all(&mut s.e, base, sizes, strides, offset)?,
        };
        let vars = s.vars(&from.sizes);
        let mut index: smallvec::SmallVec<[_; 4]> = sizes.iter().map(|_| s.e.at(Dim::Fixed(0))).collect();
        let mut inside = s.e.truth(true)?;
        for (var, (start, step, size, dim)) in vars.iter().zip(parts) {
            let back = s.e.minus(start)?;
            let over = s.e.shift(*var, back)?;
            let at = s.e.quotient(over, Dim::Fixed(step))?;
            let hits = s.inside(over, at, step, size)?;
            inside = s.e.op(Op::And, crate::graph::Dtype::Bool, &[inside, hits])?;
            if let Some(dim) = dim {
                *index.get_mut(dim)? = at;
            }
        }
        let with = s.at(&with, index)?;
        let expr = s.e.op(Op::Choose, from.dtype, &[inside, with, from.expr])?;
        Some(Array { expr, ..from })
    }

    /// A call made again in a graph of its own, whose inputs are the call's operands.
    fn call(&mut self, callee: Callee, tokens: &[Token], children: &[ValueId]) -> Option<Meant> {
        let target = self.names.get(&callee)?.clone();
        let registry = self.speaker.registry;
        let operator = registry.get(&target)?;
        if operator.facts.unset {
            return None;
        }
        if meaning(&operator.target) == Some(Meaning::Length) {
            self.speaker.e.lengths_of_second = !self.has_lengths_before();
        }
        let mut graph = Graph::new();
        let mut values: FxHashMap<NodeId, Meant> = FxHashMap::default();
        let mut operands = children.iter();
        let mut rest = tokens.iter();
        let (mut args, mut kwargs): (Vec<Arg>, Vec<(StrId, Arg)>) = (Vec::new(), Vec::new());
        for param in &operator.schema.params {
            let arg = self.argument(&mut graph, &mut values, &mut rest, &mut operands)?;
            if param.kwarg_only {
                let key = graph.texts.intern(&param.name);
                kwargs.push((key, arg));
            } else {
                args.push(arg);
            }
        }
        // Whether there is such a view depends on how the operand lies; what is in it does not.
        if operator.facts.layout_decides {
            operands.next();
        }
        if rest.next().is_some() || operands.next().is_some() {
            return None;
        }
        let site = CallSite { target: &target, args: &args, kwargs: &kwargs, annotated: None };
        let ty = registry.infer_in(&graph, &mut self.speaker.e.symbols, site).ok()?;
        let target = graph.texts.intern(&target);
        let new = NewNode { kind: NodeKind::Call, target, args: args.into(), kwargs: kwargs.into(), ty };
        let node = graph.push(BodyId::ROOT, "call", new);
        graph.set_hearsay(node, Hearsay::NONE);
        self.speaker.call(&graph, node, &values)
    }

    /// Whether the graph as it was asks for a length, in place or not.
    fn has_lengths_before(&self) -> bool {
        let (view, registry) = (self.f.view(term::Side::Before), self.f.registry);
        let operators = view.targets().iter().filter_map(|target| registry.get(view.texts().text(*target)));
        let mut meant = operators.map(|o| meaning(&registry.functional(o).unwrap_or(o).target));
        meant.any(|m| m == Some(Meaning::Length))
    }

    fn argument<'t>(
        &mut self,
        graph: &mut Graph,
        values: &mut FxHashMap<NodeId, Meant>,
        tokens: &mut impl Iterator<Item = &'t Token>,
        operands: &mut impl Iterator<Item = &'t ValueId>,
    ) -> Option<Arg> {
        // Lists that are not full yet.
        let mut open: Vec<(usize, Vec<Arg>)> = Vec::new();
        loop {
            let mut made = match tokens.next()? {
                Token::List(n) => {
                    open.push((*n, Vec::new()));
                    None
                }
                Token::Child => {
                    let meant = self.meant.get(operands.next()?)?.clone()?;
                    Some(Arg::Node(self.input(graph, values, meant)?))
                }
                Token::Dim(d) => Some(Arg::Node(self.input(graph, values, Meant::Size(*d))?)),
                Token::Key(_) | Token::Event(_) => return None,
                scalar => Some(plain(scalar)?),
            };
            loop {
                match (open.last_mut(), made.take()) {
                    (None, Some(arg)) => return Some(arg),
                    (Some((_, items)), Some(arg)) => items.push(arg),
                    _ => {}
                }
                match open.last() {
                    Some((n, items)) if items.len() >= *n => {
                        made = open.pop().map(|(_, items)| Arg::List(items.into()));
                    }
                    _ => break,
                }
            }
        }
    }

    fn input(&mut self, graph: &mut Graph, values: &mut FxHashMap<NodeId, Meant>, meant: Meant) -> Option<NodeId> {
        let ty = match &meant {
            Meant::One(a) => {
                let strides = contiguous_strides(&mut self.speaker.e.symbols, &a.sizes).ok()?;
                let ty = TensorType::new(a.dtype, a.sizes.iter().copied(), a.device.clone());
                ValueType::tensor(TensorType { strides: Some(strides), ..ty })
            }
            Meant::Complex(parts) => {
                let [re, _] = &**parts;
                let dtype = if re.dtype == Dtype::F64 { Dtype::C128 } else { Dtype::C64 };
                let strides = contiguous_strides(&mut self.speaker.e.symbols, &re.sizes).ok()?;
                let ty = TensorType::new(dtype, re.sizes.iter().copied(), re.device.clone());
                ValueType::tensor(TensorType { strides: Some(strides), ..ty })
            }
            Meant::Size(d) => ValueType::SymInt(*d),
            Meant::Number(v) => ValueType::SymFloat(*v),
            Meant::Many(_) | Meant::Unsaid => return None,
        };
        let target = graph.texts.intern("input");
        let new = NewNode { kind: NodeKind::Placeholder, target, args: Box::default(), kwargs: Box::default(), ty };
        let node = graph.push(BodyId::ROOT, "input", new);
        values.insert(node, meant);
        Some(node)
    }
}

/// Returns two numbers between which a domain of floats lies, which are no NaN.
fn floats(domain: &Domain) -> Option<(f64, f64)> {
    match domain {
        Domain::Positive => Some((0.125, f64::INFINITY)),
        Domain::Unit => Some((-1.0, 1.0)),
        // Their ends as any dtype rounds them.
        Domain::Probability => Some((0.009, 0.995)),
        // What an input is in one run says nothing of others.
        Domain::OneOf(all) if all.iter().all(|v| v.is_finite()) => {
            let fold = |f: fn(f64, f64) -> f64| all.iter().copied().reduce(f);
            Some((fold(f64::min)?, fold(f64::max)?))
        }
        _ => None,
    }
}

/// Returns the least and the greatest integer of a domain of integers.
#[allow(clippy::cast_possible_truncation)]
fn integers(domain: &Domain) -> Option<(i64, i64)> {
    match domain {
        Domain::Integers { lo, hi, .. } => Some((*lo, *hi)),
        Domain::OneOf(all) | Domain::Is(all) => {
            let whole = all.iter().all(|v| v.fract() == 0.0 && v.abs() < 2.0_f64.powi(52));
            let ends = |f: fn(f64, f64) -> f64| all.iter().copied().reduce(f).map(|v| v as i64);
            Some((ends(f64::min)?, ends(f64::max)?)).filter(|_| whole)
        }
        _ => None,
    }
}

/// Whether all numbers of a domain are powers of two of which every float dtype holds the inverse.
fn holds_powers(domain: &Domain) -> bool {
    let is_one = |v: &f64| v.to_bits() & ((1 << 52) - 1) == 0 && (1.0 / 1024.0..=1024.0).contains(&v.abs());
    matches!(domain, Domain::OneOf(all) if !all.is_empty() && all.iter().all(is_one))
}

/// How many numbers are few.
const FEW: usize = 3;
/// How large they may be: every dtype but bool holds them.
const SMALL: i64 = 64;

/// Returns the small integers of a domain of few.
#[allow(clippy::cast_possible_truncation)]
fn few(domain: &Domain) -> Option<Vec<i32>> {
    let mut all: Vec<i64> = match domain {
        Domain::Integers { lo, hi, .. } if hi.checked_sub(*lo)? < 3 => (*lo..=*hi).collect(),
        Domain::OneOf(all) if all.iter().all(|v| v.fract() == 0.0 && v.abs() <= 64.0) => {
            all.iter().map(|v| *v as i64).collect()
        }
        _ => return None,
    };
    all.sort_unstable();
    all.dedup();
    let small = all.iter().all(|v| (-SMALL..=SMALL).contains(v));
    (small && !all.is_empty() && all.len() <= FEW).then(|| all.iter().map(|v| *v as i32).collect())
}

fn plain(token: &Token) -> Option<Arg> {
    Some(match token {
        Token::None => Arg::None,
        Token::Int(v) => Arg::Int(*v),
        Token::Float(v) => Arg::Float(f64::from_bits(*v)),
        Token::Complex(re, im) => Arg::Complex(f64::from_bits(*re), f64::from_bits(*im)),
        Token::Bool(v) => Arg::Bool(*v),
        Token::Str(v) => Arg::Str(v.clone()),
        Token::Dtype(v) => Arg::Dtype(*v),
        Token::Device(v) => Arg::Device(Device::clone(v)),
        Token::Layout(v) => Arg::Layout(*v),
        Token::MemoryFormat(v) => Arg::MemoryFormat(*v),
        Token::Operator(v) => Arg::Operator(v.clone()),
        Token::Other(v) => Arg::Other(v.clone()),
        Token::List(_) | Token::Key(_) | Token::Dim(_) | Token::Child | Token::Event(_) => return None,
    })
}

/// A diagonal of two dimensions: which they are, where it begins along each, and for each dimension of the part which one of the base it is, the
/// diagonal's own left out.
struct Diagonal {
    dims: [usize; 2],
    start: [i64; 2],
    sides: Vec<Option<usize>>,
}

/// Returns the diagonal, from edge to edge and whole in all other dimensions, that a part is.
fn diagonal(base: &[i64], sizes: &[i64], strides: &[i64], offset: i64) -> Option<Diagonal> {
    let (mut units, mut start) = (Vec::new(), Vec::new());
    let (mut unit, mut left) = (base.iter().try_fold(1_i64, |p, d| p.checked_mul(*d))?, offset);
    for length in base {
        unit = unit.checked_div(*length)?;
        units.push(unit);
        start.push(left.checked_div(unit)?);
        left = left.checked_rem(unit)?;
    }
    let (mut dims, mut sides, mut taken) = (None, Vec::new(), vec![false; base.len()]);
    for (size, stride) in sizes.iter().zip(strides) {
        if *size == 1 {
            sides.push(None);
            continue;
        }
        let own = (0..base.len()).find(|k| units.get(*k) == Some(stride) && base.get(*k) == Some(size));
        if let Some(k) = own {
            *taken.get_mut(k)? = true;
            sides.push(Some(k));
            continue;
        }
        let pair = (0..base.len()).flat_map(|j| (j.saturating_add(1)..base.len()).map(move |k| [j, k]));
        let sum = |[j, k]: [usize; 2]| units.get(j)?.checked_add(*units.get(k)?);
        let found = pair.into_iter().find(|p| sum(*p) == Some(*stride)).filter(|_| dims.is_none())?;
        let [row, column] = found.map(|k| start.get(k).copied().unwrap_or(0));
        let [down, across] = found.map(|k| base.get(k).copied().unwrap_or(0));
        let whole = down.checked_sub(row)?.min(across.checked_sub(column)?) == *size && row.min(column) == 0;
        dims = Some((found, [row, column])).filter(|_| whole);
        dims?;
        sides.push(None);
    }
    let (dims, begin) = dims?;
    let rest = (0..base.len()).filter(|k| !dims.contains(k));
    let all = rest.into_iter().all(|k| {
        let is_one = base.get(k) == Some(&1);
        start.get(k) == Some(&0) && (is_one || taken.get(k) == Some(&true))
    });
    let apart = dims.iter().all(|k| taken.get(*k) == Some(&false));
    (all && apart && left == 0).then_some(Diagonal { dims, start: begin, sides })
}

/// Returns an array with another one in the place of a diagonal.
fn scatter_along(s: &mut Speaker<'_>, from: &Array, with: &Array, part: &Diagonal) -> Option<Array> {
    let vars = s.vars(&from.sizes);
    let ([row, column], [down, across]) = (part.dims, part.start);
    let (row, column) = (*vars.get(row)?, *vars.get(column)?);
    let beside = s.e.difference(column, row)?;
    let beside = s.e.shift(beside, Dim::Fixed(down.checked_sub(across)?))?;
    let hits = s.e.is_zero_expr(beside)?;
    // Where it begins at an edge, the other dimension counts.
    let along = if across == 0 { column } else { row };
    let zero = s.e.at(Dim::Fixed(0));
    let mut index: smallvec::SmallVec<[_; 4]> = smallvec::SmallVec::new();
    for (side, size) in part.sides.iter().zip(&with.sizes) {
        index.push(match side {
            Some(k) => *vars.get(*k)?,
            None if *size == Dim::Fixed(1) => zero,
            None => along,
        });
    }
    let with = s.at(with, index)?;
    let expr = s.e.op(Op::Choose, from.dtype, &[hits, with, from.expr])?;
    Some(Array { expr, ..from.clone() })
}

/// Where a part begins along a dimension, its step, its length, and which dimension of the map it is.
type Side = (Dim, i64, Dim, Option<usize>);

/// For each dimension of the base where the part begins, its step, its length, and which dimension of the map it is.
fn boxed(base: &[i64], sizes: &[i64], strides: &[i64], offset: i64) -> Option<Vec<Side>> {
    let mut out = Vec::new();
    let mut left = offset;
    let mut taken = vec![false; sizes.len()];
    let mut unit = base.iter().try_fold(1_i64, |p, d| p.checked_mul(*d))?;
    for length in base {
        unit = unit.checked_div(*length)?;
        let start = left.checked_div(unit)?;
        left = left.checked_rem(unit)?;
        let spans = |k: usize| -> Option<i64> {
            let (size, stride) = (*sizes.get(k)?, *strides.get(k)?);
            let step = stride.checked_div(unit)?;
            let end = size.checked_sub(1)?.checked_mul(step)?.checked_add(start)?;
            (size > 1 && stride.checked_rem(unit)? == 0 && step > 0 && end < *length && !*taken.get(k)?).then_some(step)
        };
        match (0..sizes.len()).find_map(|k| spans(k).map(|step| (k, step))) {
            Some((k, step)) => {
                *taken.get_mut(k)? = true;
                out.push((Dim::Fixed(start), step, Dim::Fixed(*sizes.get(k)?), Some(k)));
            }
            None => out.push((Dim::Fixed(start), 1, Dim::Fixed(1), None)),
        }
    }
    let all = sizes.iter().zip(&taken).all(|(size, taken)| *size == 1 || *taken);
    (all && left == 0).then_some(out)
}

/// The same where sizes are symbols, for all their values: each dimension of the part is one of the base, in order.
fn boxed_for_all(e: &mut Elements, base: &[Dim], sizes: &[Dim], strides: &[Dim], offset: Dim) -> Option<Vec<Side>> {
    let mut units = vec![Dim::Fixed(1)];
    for length in base.iter().skip(1).rev() {
        units.push(e.times(*units.last()?, *length)?);
    }
    units.reverse();
    // What has one place needs no dimension of its own.
    let mut parts = (0..sizes.len()).filter(|k| sizes.get(*k) != Some(&Dim::Fixed(1))).peekable();
    let (mut out, mut left) = (Vec::new(), offset);
    for (length, unit) in base.iter().zip(units) {
        let start = begins_at(e, left, unit)?;
        let far = e.times(start, unit)?;
        let back = e.minus(far)?;
        left = e.plus(left, back)?;
        let own = parts.peek().copied().and_then(|k| Some((k, e.exactly(*strides.get(k)?, unit)?.fixed()?)));
        let own = own.filter(|(_, step)| *step > 0);
        let (size, step) = match own {
            Some((k, step)) => (*sizes.get(k)?, step),
            None => (Dim::Fixed(1), 1),
        };
        // Where the last place of the part stands.
        let before = e.plus(size, Dim::Fixed(-1))?;
        let reach = e.times(before, Dim::Fixed(step))?;
        let last = e.plus(start, reach)?;
        let end = e.plus(last, Dim::Fixed(1))?;
        (e.at_most(Dim::Fixed(0), start) && e.at_most(end, *length)).then_some(())?;
        out.push((start, step, size, own.map(|(k, _)| k)));
        if own.is_some() {
            parts.next();
        }
    }
    (parts.next().is_none() && left == Dim::Fixed(0)).then_some(out)
}

/// Returns how often a unit goes into what is left of an offset: its products that are multiples of the unit, or as often as the first product of a sum.
fn begins_at(e: &mut Elements, left: Dim, unit: Dim) -> Option<Dim> {
    if let (Some(left), Some(unit)) = (left.fixed(), unit.fixed()) {
        return left.checked_div(unit).map(Dim::Fixed);
    }
    if let Some(times) = e.exactly(left, unit) {
        return Some(times);
    }
    let mut start = Dim::Fixed(0);
    let (all, of_unit) = (e.symbols.products_of(left), e.symbols.products_of(unit));
    for (number, factors) in all {
        let mut product = Dim::Fixed(number);
        for (factor, power) in factors.iter().copied() {
            for _ in 0..power {
                product = e.times(product, factor)?;
            }
        }
        let times = match of_unit.as_slice() {
            [_] => match (product, unit) {
                (Dim::Fixed(product), Dim::Fixed(unit)) => product.checked_div(unit).map(Dim::Fixed),
                _ => e.exactly(product, unit),
            },
            [(first, own), ..] if *own == factors => number.checked_div(*first).map(Dim::Fixed),
            _ => None,
        };
        start = e.plus(start, times.unwrap_or(Dim::Fixed(0)))?;
    }
    // As often as something is left.
    for less in [0, 1] {
        let start = e.plus(start, Dim::Fixed(i64::checked_neg(less)?))?;
        let far = e.times(start, unit)?;
        let back = e.minus(far)?;
        let rest = e.plus(left, back)?;
        if e.at_most(Dim::Fixed(0), rest) {
            return Some(start);
        }
    }
    Some(Dim::Fixed(0))
}
