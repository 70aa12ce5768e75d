//! Expressions and tensors, each stored once: equal structures have equal numbers.
//!
//! Promises: a number names one structure for ever; children have smaller numbers than what they stand in, so that the order of numbers
//! is an order of work. Leaves what may be made to `make`.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::below::Below;
use crate::rules::element::index::{IndexId, Linear};
use crate::sym::{Bindings, Dim, SymValue, Symbols};
use crate::sym::{KeyedMap, KeyedSet};
use crate::term::sizes::Dims;
use crate::term::store::ValueId;
use crate::term::term::Token;

/// An expression of the arena.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ExprId(pub(super) u32);

/// A tensor of the arena: a function of its index.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TensorId(pub(super) u32);

/// A value whose elements are looked up.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct SourceId(pub(super) u32);

impl SourceId {
    /// Returns its number.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// Which elements are taken together, and how.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Fold {
    /// The greatest; the first NaN.
    Most,
    /// The least; the first NaN.
    Least,
    /// Whether any is true.
    Any,
    /// The sum of integers.
    Sum,
    /// The product of integers.
    Product,
}

/// Operators on scalars. Operands and result have one dtype where nothing else is said.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Op {
    /// Sum of floats.
    Add,
    /// Difference of floats.
    Sub,
    /// Product of floats.
    Mul,
    /// Quotient of floats.
    Div,
    /// The number with the other sign.
    Neg,
    /// Without sign.
    Abs,
    /// The greater one; NaN where one is.
    Max,
    /// The lesser one; NaN where one is.
    Min,
    /// The first operand, at least the second one, a number that is 0.
    AtLeast,
    /// The first operand, at most the second one, a number that is 0.
    AtMost,
    /// Rounded to an integer, halves to even.
    Round,
    /// Quotient of integers, rounded down.
    DivFloor,
    /// Quotient of integers, rounded towards 0.
    DivTrunc,
    /// Remainder with the sign of the divisor.
    Rem,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Shifted to the left.
    Shl,
    /// Shifted to the right, the sign kept.
    Shr,
    /// Less: a bool of two operands of one dtype.
    Lt,
    /// Less or equal.
    Le,
    /// Equal.
    Eq,
    /// Not: of a bool.
    Not,
    /// The second operand where the first is true, else the third.
    Choose,
    /// Another dtype.
    Cast,
    /// The same bits as another dtype.
    Bits,
}

/// What an expression is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Form {
    /// A number of the dtype: an integer, 0 or 1, or the bits of an `f64`.
    Const(i64),
    /// A number that is not rounded to the dtype, by the bits of an `f64`.
    Number(u64),
    /// An element.
    Load(SourceId, SmallVec<[IndexId; 4]>),
    /// The index itself, as a number.
    Index(IndexId),
    /// Whether an index is at least 0.
    AtLeastZero(IndexId),
    /// Whether an index is 0.
    IsZero(IndexId),
    /// An operator on the children.
    Op(Op),
    /// A sum of products of integers, wrapping around: each product by how many children it takes, in order, and its factor.
    Poly(Box<[(u32, i64)]>),
    /// A pointwise operator with all that is no operand.
    Named(Box<str>, Box<[Token]>),
    /// The child, over all places of these dimensions.
    Reduce(Fold, u32, Box<[Dim]>),
}

/// An expression: dtype, form, children.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Expr {
    /// The dtype.
    pub dtype: Dtype,
    /// What it is.
    pub form: Form,
    /// Of what.
    pub kids: SmallVec<[ExprId; 3]>,
}

/// A tensor: the expression at index `Var(0), Var(1), ...`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tensor {
    /// The dtype.
    pub dtype: Dtype,
    /// The sizes.
    pub sizes: Dims,
    /// The element.
    pub expr: ExprId,
}

/// Returns what a call is named that takes floats together in its kernel's own order; without a fold it is their mean.
pub(in crate::rules) fn kernel_of(fold: Option<Fold>) -> Box<str> {
    format!("{fold:?}").into()
}

/// Where elements are looked up.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// A value that is what it is.
    Value(ValueId),
    /// A result of a call.
    Call {
        /// The operator.
        target: Box<str>,
        /// Its arguments.
        tokens: Box<[Token]>,
        /// Its tensors.
        kids: Box<[TensorId]>,
        /// Which result.
        item: u32,
    },
}

/// The arena, and what is known for now.
#[derive(Debug)]
pub struct Elements {
    /// Sizes are expressions of these.
    pub symbols: Symbols,
    bound: KeyedSet<String>,
    indices: Table<Linear>,
    exprs: Table<Expr>,
    /// What is known of each expression.
    known: Vec<Below>,
    tensors: Table<Tensor>,
    sources: Table<Source>,
    /// Indices that are assumed to be at least 0.
    pub(super) facts: Vec<IndexId>,
    /// Between which integers elements of sources lie.
    pub(super) between: FxHashMap<SourceId, (i64, i64)>,
    /// Sources of one dimension that hold all its places, each once.
    pub(super) permutations: FxHashSet<SourceId>,
    /// Between which floats elements of sources lie, none of which is NaN.
    pub(in crate::rules) numbers: FxHashMap<SourceId, (f64, f64)>,
    /// Of which few small integers elements of sources are one, of each dtype.
    pub(in crate::rules) few: FxHashMap<SourceId, Box<[i32]>>,
    /// Of which floats elements of sources are one, as their dtype rounds them.
    pub(super) listed: FxHashMap<SourceId, Box<[f64]>>,
    /// Sources whose elements are powers of two, of either sign, of which every float dtype holds the inverse.
    pub(in crate::rules) powers: FxHashSet<SourceId>,
    /// What is known over the reals of elements that two ends are made of.
    pub(in crate::rules) ends: Ends,
    /// Sizes of dimensions that are symbols, each once.
    pub(super) met: Vec<Dim>,
    /// Whether floats are looked at bit by bit: over the reals sums of them stay sums of floats, whose bounds are known.
    pub exact: bool,
    /// Whether floats are numbers where cases are told apart: of NaN something else is asked.
    pub(in crate::rules) numbers_alone: bool,
    /// Sources of which no element is 0, or no number.
    pub(in crate::rules) not_zero: FxHashSet<SourceId>,
    /// Sources that are given: inputs, weights and buffers as they were.
    pub given: FxHashSet<SourceId>,
    /// Whether lengths are asked of the second of two ends alone: they may be read as roots, which are rounded further.
    pub lengths_of_second: bool,
    /// Sources that are stated not to be near 0, on either side of it.
    pub apart: FxHashSet<SourceId>,
    /// Whether roundings to narrower floats are roundings like others, no steps: the second of two ends may have fewer.
    pub wider: bool,
    /// Dimensions of reductions that are looked into, by their levels: what they bind has a value there.
    pub(in crate::rules) within: Vec<(u32, u32)>,
    /// Values of symbols, where bounds are computed at one size after another.
    pub now: Option<Bindings>,
    /// Where dimensions of sources are cut, for both of two expressions to be reduced over the same parts.
    pub(in crate::rules) boundaries: FxHashMap<(SourceId, usize), Vec<i64>>,
    /// Truths that are assumed.
    pub(super) truths: FxHashMap<ExprId, bool>,
    /// What elements are that are assumed to be numbers.
    pub(super) assumed: FxHashMap<ExprId, ExprId>,
    /// How much work there may still be.
    pub fuel: usize,
    /// Names of the rules that were applied.
    pub applied: std::collections::BTreeSet<&'static str>,
    /// Targets of operators that mean their definition here and nothing else, where that was looked into.
    pub defined: std::collections::BTreeSet<Box<str>>,
    /// Tensors that were compared, and whether they were shown equal.
    pub(super) compared: FxHashMap<(TensorId, TensorId), bool>,
    /// Pairs whose bits were not shown equal: not tried again.
    pub(super) tried_bits: FxHashSet<(ExprId, ExprId)>,
}

/// What is known over the reals of elements, whatever their operands' intervals say.
#[derive(Clone, Debug, Default)]
pub(in crate::rules) struct Ends {
    /// Those that are at least 1.
    pub(in crate::rules) ones: FxHashSet<ExprId>,
    /// Those that are at least 1 by another.
    pub(in crate::rules) shares: FxHashMap<ExprId, ExprId>,
    /// Those that are at least another, where that is above 0.
    pub(in crate::rules) weighted: FxHashMap<ExprId, ExprId>,
    /// Those that are at most 0.
    pub(in crate::rules) never_above: FxHashSet<ExprId>,
    /// Squares and magnitudes of what is not near 0, and the greatest shares of sums, and what they are at least.
    pub(in crate::rules) apart: FxHashMap<ExprId, f64>,
    /// Those that are divided by the root of a sum of squares with their own, and how far from 0 they are at most.
    pub(in crate::rules) normed: FxHashMap<ExprId, f64>,
}

#[derive(Debug)]
struct Table<T> {
    all: Vec<T>,
    numbers: KeyedMap<T, u32>,
}

impl<T: Clone + Eq + std::hash::Hash> Table<T> {
    fn new() -> Self {
        Table { all: Vec::new(), numbers: KeyedMap::default() }
    }

    fn store(&mut self, one: T) -> u32 {
        if let Some(known) = self.numbers.get(&one) {
            return *known;
        }
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(one.clone());
        self.numbers.insert(one, number);
        number
    }

    fn get(&self, number: u32) -> Option<&T> {
        self.all.get(number as usize)
    }
}

impl Elements {
    /// Returns an empty arena. `bound` are the symbols that inputs settle.
    pub fn new(symbols: Symbols, bound: KeyedSet<String>, fuel: usize) -> Self {
        let mut indices = Table::new();
        indices.store(Linear::default());
        let mut exprs = Table::new();
        exprs.store(Expr { dtype: Dtype::Bool, form: Form::Const(0), kids: SmallVec::new() });
        Elements {
            symbols,
            bound,
            indices,
            exprs,
            known: vec![Below::default()],
            tensors: Table::new(),
            sources: Table::new(),
            facts: Vec::new(),
            between: FxHashMap::default(),
            permutations: FxHashSet::default(),
            numbers: FxHashMap::default(),
            few: FxHashMap::default(),
            listed: FxHashMap::default(),
            powers: FxHashSet::default(),
            ends: Ends::default(),
            met: Vec::new(),
            exact: false,
            numbers_alone: false,
            not_zero: FxHashSet::default(),
            given: FxHashSet::default(),
            lengths_of_second: false,
            apart: FxHashSet::default(),
            wider: false,
            within: Vec::new(),
            now: None,
            boundaries: FxHashMap::default(),
            truths: FxHashMap::default(),
            assumed: FxHashMap::default(),
            fuel,
            applied: std::collections::BTreeSet::new(),
            defined: std::collections::BTreeSet::new(),
            compared: FxHashMap::default(),
            tried_bits: FxHashSet::default(),
        }
    }

    /// The same for values that are looked at bit by bit.
    pub fn bit_by_bit(symbols: Symbols, bound: KeyedSet<String>, fuel: usize) -> Self {
        let mut all = Self::new(symbols, bound, fuel);
        all.exact = true;
        all
    }

    /// Returns the number that a size is: at the sizes that are looked at now, where it is a symbol.
    pub fn size_now(&self, size: Dim) -> Option<i64> {
        size.fixed().or_else(|| self.symbols.eval(size, self.now.as_ref()?).ok())
    }

    /// Returns how much is assumed.
    pub fn assumed(&self) -> usize {
        self.facts.len()
    }

    /// Assumes that indices are at least 0: what is made from here on stands only where they are.
    pub fn suppose(&mut self, facts: &[IndexId]) {
        self.facts.extend_from_slice(facts);
    }

    /// Forgets what was assumed since.
    pub fn forget(&mut self, assumed: usize) {
        self.facts.truncate(assumed);
    }

    /// Says that a rule was applied.
    pub(super) fn by(&mut self, rule: &'static str) {
        self.applied.insert(rule);
    }

    /// Takes some of the work that may still be done; `None` where it ran out.
    pub fn spend(&mut self, work: usize) -> Option<()> {
        self.fuel = self.fuel.checked_sub(work)?;
        Some(())
    }

    /// Returns whether inputs settle every symbol of these sizes.
    pub fn are_settled(&self, sizes: &[Dim]) -> bool {
        sizes.iter().all(|d| {
            d.fixed().is_some()
                || self.symbols.symbols_in(SymValue::Int(*d)).iter().all(|name| self.bound.contains(name))
        })
    }

    pub(super) fn store_index(&mut self, sum: Linear) -> IndexId {
        IndexId(self.indices.store(sum))
    }

    /// Returns the index that a place alone is, where there is one.
    pub(in crate::rules) fn known_place(&self, place: crate::rules::element::index::Place) -> Option<IndexId> {
        let alone = Linear { terms: SmallVec::from_elem((place, Dim::Fixed(1)), 1), constant: None };
        self.indices.numbers.get(&alone).map(|number| IndexId(*number))
    }

    /// Returns the sum that an index is.
    pub fn linear(&self, id: IndexId) -> &Linear {
        static NONE: std::sync::LazyLock<Linear> = std::sync::LazyLock::new(Linear::default);
        self.indices.get(id.0).unwrap_or(&NONE)
    }

    pub(super) fn store_expr(&mut self, expr: Expr) -> ExprId {
        // What is there already is not looked at again.
        let id = ExprId(self.exprs.store(expr));
        if id.0 as usize == self.known.len() {
            let known = self.expr(id).map(|expr| self.look_below(expr)).unwrap_or_default();
            self.known.push(known);
        }
        id
    }

    /// Returns what is known of an expression.
    pub(super) fn known(&self, id: ExprId) -> Option<&Below> {
        self.known.get(id.0 as usize)
    }

    /// Returns an expression.
    pub fn expr(&self, id: ExprId) -> Option<&Expr> {
        self.exprs.get(id.0)
    }

    /// Returns the dtype of an expression.
    pub fn dtype(&self, id: ExprId) -> Option<Dtype> {
        Some(self.expr(id)?.dtype)
    }

    /// Returns the operator and the operands of an expression that is one.
    pub fn op_of(&self, id: ExprId) -> Option<(Op, &[ExprId])> {
        let expr = self.expr(id)?;
        match expr.form {
            Form::Op(op) => Some((op, &expr.kids)),
            _ => None,
        }
    }

    /// Returns the number that an expression is.
    pub fn number(&self, id: ExprId) -> Option<i64> {
        match self.expr(id)?.form {
            Form::Const(v) => Some(v),
            _ => None,
        }
    }

    /// Returns the float that an expression is.
    pub fn float(&self, id: ExprId) -> Option<f64> {
        let expr = self.expr(id)?;
        match expr.form {
            Form::Const(v) if expr.dtype.is_float() => Some(f64::from_bits(v.cast_unsigned())),
            _ => None,
        }
    }

    /// Whether an expression takes elements together.
    pub fn is_reduction(&self, id: ExprId) -> bool {
        self.expr(id).is_some_and(|x| matches!(x.form, Form::Reduce(..)))
    }

    /// Stores a tensor.
    pub fn tensor(&mut self, tensor: Tensor) -> TensorId {
        TensorId(self.tensors.store(tensor))
    }

    /// Returns a tensor.
    pub fn tensor_of(&self, id: TensorId) -> Option<&Tensor> {
        self.tensors.get(id.0)
    }

    /// Stores where elements are looked up.
    pub fn source(&mut self, source: Source) -> SourceId {
        SourceId(self.sources.store(source))
    }

    /// Returns where elements are looked up.
    pub fn source_of(&self, id: SourceId) -> Option<&Source> {
        self.sources.get(id.0)
    }

    /// Returns how many expressions there are.
    pub fn len(&self) -> usize {
        self.exprs.all.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.exprs.all.is_empty()
    }
}
