//! Two expressions as loops over places: what depends on an index is computed anew for each of its values, all else once.
//!
//! Promises: children before what stands on them, no recursion but into reductions, of which few may stand one within another; `None` is work that ran out, a size that
//! is no number, or an index that two reductions name, one within the other.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, Expr, ExprId, Form, Op};
use crate::rules::element::index::{IndexId, Place};
use crate::rules::fingerprint::lane::Number;
use crate::sym::{Dim, floor_div, floor_mod};

/// How many reductions may stand one within another, and quotients of indices.
const NESTED: usize = 8;

/// An index that a loop runs over: of the tensor, or of a reduction.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Name {
    Var(u32),
    Bound(u32),
}

/// A place along a dimension.
#[derive(Copy, Clone, Debug)]
pub(super) enum At {
    /// That one.
    Known(i64),
    /// One that the data say.
    Said(Number),
}

/// What is computed of each expression.
pub(super) trait Algebra {
    /// What an expression is.
    type Value: Clone;
    /// Returns the value of an expression that is no reduction, of its parts: so many children, then what stands in its indices.
    fn one(&mut self, e: &Elements, node: &Node, at: &[At], parts: &[Self::Value], kids: usize) -> Self::Value;
    /// Returns the value of a reduction of these.
    fn folded(&mut self, e: &Elements, node: &Node, parts: &[Self::Value]) -> Self::Value;
    /// Returns the place that a value is.
    fn place(&mut self, value: &Self::Value) -> Option<At>;
    /// Returns a sum of places, each so many times.
    fn sum(&mut self, terms: &[(At, i64)], offset: i64) -> Option<At>;
    /// Returns the quotient, rounded down, or the remainder of a place that the data say.
    fn divided(&mut self, over: Number, by: i64, rest: bool) -> Option<At>;
}

/// An expression, and what is known of it.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: ExprId,
    /// Whether an integer surely does not wrap around, or a conversion loses nothing of what is converted.
    pub(super) keeps: bool,
    /// Children, then what stands in indices.
    parts: SmallVec<[usize; 3]>,
    kids: usize,
    indices: SmallVec<[IndexId; 4]>,
    names: SmallVec<[Name; 4]>,
    scope: Option<Scope>,
}

/// What a reduction runs over.
#[derive(Debug)]
struct Scope {
    level: u32,
    sizes: Vec<i64>,
    body: usize,
    nodes: Vec<usize>,
}

/// The loops of two expressions.
#[derive(Debug)]
pub(super) struct Loops {
    nodes: Vec<Node>,
    numbers: FxHashMap<ExprId, usize>,
    sizes: Vec<i64>,
    ends: [usize; 2],
    once: Vec<usize>,
    each: Vec<usize>,
    /// Whether all floats are of one dtype.
    pub(super) is_of_one_float: bool,
}

impl Loops {
    /// Returns the loops of two elements of a tensor of these sizes.
    pub(super) fn plan(e: &mut Elements, sizes: &[Dim], [a, b]: [ExprId; 2]) -> Option<Self> {
        let sizes = fixed(sizes)?;
        let mut all = e.below(a);
        all.extend(e.below(b));
        all.sort_unstable();
        all.dedup();
        e.spend(all.len())?;
        let numbers: FxHashMap<ExprId, usize> = all.iter().copied().zip(0..).collect();
        let mut nodes: Vec<Node> = Vec::with_capacity(all.len());
        for id in all {
            let node = node(e, id, &numbers, &nodes)?;
            nodes.push(node);
        }
        let outside = |n: &Node| !n.names.iter().any(|name| matches!(name, Name::Bound(_)));
        let mut floats: SmallVec<[Dtype; 4]> =
            nodes.iter().filter_map(|n| e.dtype(n.id)).filter(|d| d.is_float()).collect();
        floats.dedup();
        let is_of_one_float = floats.len() <= 1;
        let mut loops =
            Loops { nodes, numbers, sizes, ends: [0; 2], once: Vec::new(), each: Vec::new(), is_of_one_float };
        loops.ends = [*loops.numbers.get(&a)?, *loops.numbers.get(&b)?];
        for (k, n) in loops.nodes.iter().enumerate().filter(|(_, n)| outside(n)) {
            if n.names.is_empty() { loops.once.push(k) } else { loops.each.push(k) }
        }
        Some(loops)
    }

    /// Returns how many elements the tensor has.
    pub(super) fn places(&self) -> i64 {
        self.sizes.iter().fold(1, |n, size| n.saturating_mul(*size))
    }

    /// Computes both expressions at every place; `None` where two values are not the same, or the work runs out.
    pub(super) fn compare<A: Algebra>(
        &self,
        e: &Elements,
        algebra: &mut A,
        work: &mut usize,
        same: impl Fn(&A, &A::Value, &A::Value) -> bool,
    ) -> Option<()> {
        let each = i64::try_from(self.each.len()).ok()?;
        (self.places().saturating_mul(each) <= i64::try_from(*work).ok()?).then_some(())?;
        let values = vec![None; self.nodes.len()];
        let mut run = Run {
            e,
            loops: self,
            algebra,
            values,
            vars: Vec::new(),
            bound: Vec::new(),
            memo: FxHashMap::default(),
            left: work,
        };
        run.all(&self.once, 0)?;
        let [a, b] = self.ends;
        let mut places = Places::of(&self.sizes);
        while let Some(place) = places.next() {
            run.vars.clear();
            run.vars.extend_from_slice(place);
            run.all(&self.each, 0)?;
            let (x, y) = (run.values.get(a)?.as_ref()?, run.values.get(b)?.as_ref()?);
            same(run.algebra, x, y).then_some(())?;
        }
        Some(())
    }
}

fn fixed(sizes: &[Dim]) -> Option<Vec<i64>> {
    sizes.iter().map(|d| d.fixed().filter(|n| *n > 0)).collect()
}

/// Returns an expression with what it is made of; `before` are those below it.
fn node(e: &mut Elements, id: ExprId, numbers: &FxHashMap<ExprId, usize>, before: &[Node]) -> Option<Node> {
    let expr = e.expr(id)?.clone();
    let number = |id: &ExprId| numbers.get(id).copied();
    let parts: SmallVec<[usize; 3]> = e.parts(&expr).iter().map(number).collect::<Option<_>>()?;
    let mut names: SmallVec<[Name; 4]> = SmallVec::new();
    for place in e.places_of(&expr) {
        match place {
            Place::Var(k, _) => names.push(Name::Var(k)),
            Place::Bound(level, _) => names.push(Name::Bound(level)),
            _ => {}
        }
    }
    for part in &parts {
        names.extend_from_slice(&before.get(*part)?.names);
    }
    names.sort_unstable();
    names.dedup();
    let mut scope = None;
    if let Form::Reduce(_, level, sizes) = &expr.form {
        let body = *parts.first()?;
        let own = *level..level.checked_add(u32::try_from(sizes.len()).ok()?)?;
        let is_own = |n: &Name| matches!(n, Name::Bound(l) if own.contains(l));
        names.retain(|n| !is_own(n));
        let known = |n: &Name| is_own(n) || matches!(n, Name::Var(_)) || names.contains(n);
        let mut nodes = Vec::new();
        for k in e.below(*expr.kids.first()?).iter().filter_map(number) {
            let inner = before.get(k)?;
            if !(inner.names.iter().any(is_own) && inner.names.iter().all(known)) {
                continue;
            }
            // What two reductions call by one name is not told apart.
            let hides =
                |s: &Scope| (0_u32..).zip(&s.sizes).any(|(k, _)| known(&Name::Bound(s.level.saturating_add(k))));
            (!inner.scope.as_ref().is_some_and(hides)).then_some(())?;
            nodes.push(k);
        }
        scope = Some(Scope { level: *level, sizes: fixed(sizes)?, body, nodes });
    }
    let keeps = keeps(e, id, &expr)?;
    Some(Node { id, keeps, parts, kids: expr.kids.len(), indices: Elements::indices_in(&expr), names, scope })
}

/// Whether an integer surely does not wrap around, or a conversion loses nothing of what is converted.
fn keeps(e: &mut Elements, id: ExprId, expr: &Expr) -> Option<bool> {
    Some(match &expr.form {
        Form::Op(Op::Cast) if expr.dtype.is_float() => e.is_kept(expr)?,
        _ => expr.dtype != Dtype::Bool && expr.dtype.is_integer() && e.integers_of(id).is_some(),
    })
}

/// All places of some dimensions, the last one fastest.
struct Places<'s> {
    sizes: &'s [i64],
    now: Vec<i64>,
    begun: bool,
}

impl<'s> Places<'s> {
    fn of(sizes: &'s [i64]) -> Self {
        Places { sizes, now: vec![0; sizes.len()], begun: false }
    }

    fn next(&mut self) -> Option<&[i64]> {
        if !std::mem::replace(&mut self.begun, true) {
            return Some(&self.now);
        }
        for (at, size) in self.now.iter_mut().zip(self.sizes).rev() {
            *at = at.saturating_add(1);
            if *at < *size {
                return Some(&self.now);
            }
            *at = 0;
        }
        None
    }
}

/// What a reduction came to, where its indices had these values.
type Memo<V> = FxHashMap<(usize, SmallVec<[i64; 4]>), V>;

struct Run<'r, A: Algebra> {
    e: &'r Elements,
    loops: &'r Loops,
    algebra: &'r mut A,
    values: Vec<Option<A::Value>>,
    vars: Vec<i64>,
    bound: Vec<(u32, i64)>,
    memo: Memo<A::Value>,
    left: &'r mut usize,
}

impl<A: Algebra> Run<'_, A> {
    fn all(&mut self, nodes: &[usize], depth: usize) -> Option<()> {
        *self.left = self.left.checked_sub(nodes.len())?;
        for k in nodes {
            let node = self.loops.nodes.get(*k)?;
            let value = match &node.scope {
                Some(scope) => self.reduced(*k, node, scope, depth)?,
                None => self.one(node)?,
            };
            *self.values.get_mut(*k)? = Some(value);
        }
        Some(())
    }

    fn one(&mut self, node: &Node) -> Option<A::Value> {
        let mut at: SmallVec<[At; 4]> = SmallVec::new();
        for index in &node.indices {
            at.push(self.index(*index, NESTED)?);
        }
        let parts: SmallVec<[A::Value; 3]> =
            node.parts.iter().map(|k| self.values.get(*k).cloned().flatten()).collect::<Option<_>>()?;
        Some(self.algebra.one(self.e, node, &at, &parts, node.kids))
    }

    fn reduced(&mut self, k: usize, node: &Node, scope: &Scope, depth: usize) -> Option<A::Value> {
        let inner = depth.checked_add(1).filter(|d| *d <= NESTED)?;
        let now: SmallVec<[i64; 4]> = node.names.iter().map(|n| self.value_of(*n)).collect::<Option<_>>()?;
        let key = (k, now);
        if let Some(known) = self.memo.get(&key) {
            return Some(known.clone());
        }
        let (mut parts, open) = (Vec::new(), self.bound.len());
        let mut places = Places::of(&scope.sizes);
        while let Some(place) = places.next() {
            *self.left = self.left.checked_sub(1)?;
            self.bound.truncate(open);
            self.bound.extend((scope.level..).zip(place.iter().copied()));
            self.all(&scope.nodes, inner)?;
            parts.push(self.values.get(scope.body)?.clone()?);
        }
        self.bound.truncate(open);
        let value = self.algebra.folded(self.e, node, &parts);
        self.memo.insert(key, value.clone());
        Some(value)
    }

    fn value_of(&self, name: Name) -> Option<i64> {
        match name {
            Name::Var(k) => self.vars.get(k as usize).copied(),
            Name::Bound(level) => self.bound.iter().rev().find(|(l, _)| *l == level).map(|(_, v)| *v),
        }
    }

    fn index(&mut self, index: IndexId, depth: usize) -> Option<At> {
        let depth = depth.checked_sub(1)?;
        let sum = self.e.linear(index);
        let mut terms: SmallVec<[(At, i64); 4]> = SmallVec::new();
        for (place, by) in &sum.terms {
            let at = match *place {
                Place::Var(k, _) => At::Known(self.value_of(Name::Var(k))?),
                Place::Bound(level, _) => At::Known(self.value_of(Name::Bound(level))?),
                Place::Div(inner, n) => self.divided(inner, n, depth, false)?,
                Place::Mod(inner, n) => self.divided(inner, n, depth, true)?,
                Place::Data(id) => {
                    let value = self.values.get(*self.loops.numbers.get(&id)?)?.clone()?;
                    self.algebra.place(&value)?
                }
            };
            terms.push((at, by.fixed()?));
        }
        let mut known = sum.offset().fixed()?;
        for (at, by) in &terms {
            match at {
                At::Known(v) => known = known.checked_add(v.checked_mul(*by)?)?,
                At::Said(_) => return self.algebra.sum(&terms, sum.offset().fixed()?),
            }
        }
        Some(At::Known(known))
    }

    fn divided(&mut self, over: IndexId, by: Dim, depth: usize, rest: bool) -> Option<At> {
        let by = by.fixed()?;
        Some(match self.index(over, depth)? {
            At::Known(v) => At::Known(if rest { floor_mod(v, by)? } else { floor_div(v, by)? }),
            At::Said(n) => self.algebra.divided(n, by, rest)?,
        })
    }
}
