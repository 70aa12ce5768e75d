//! Arithmetic of sizes for the judge: numbers at once, symbols in a copy of the arena made when the first is needed.
//!
//! Promises: (1) a size is *settled* only if every symbol in it is bound by the inputs, so that it is one number on both
//! sides; (2) what is not known for all values in the ranges is not claimed.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::graph::{BodyId, NodeKind, ValueType, View};
use crate::sym::{Dim, ExprId, KeyedSet, Relation, SymValue, Symbols};

/// Sizes, strides: one a dimension.
pub type Dims = SmallVec<[Dim; 4]>;

/// Sizes and what is known of them.
pub struct Sizes<'a> {
    symbols: &'a Symbols,
    /// The graph whose inputs bind symbols.
    inputs: &'a dyn View,
    bound: Option<KeyedSet<String>>,
    own: Option<Box<Symbols>>,
    settled: FxHashMap<ExprId, bool>,
}

impl<'a> Sizes<'a> {
    /// Returns arithmetic over the symbols of both sides.
    pub fn new(symbols: &'a Symbols, inputs: &'a dyn View) -> Self {
        Sizes { symbols, inputs, bound: None, own: None, settled: FxHashMap::default() }
    }

    /// Symbols that stand in the types of inputs: found when the first symbol is asked for.
    fn bound(&mut self) -> &KeyedSet<String> {
        let (view, symbols) = (self.inputs, self.symbols);
        self.bound.get_or_insert_with(|| {
            let inputs: Vec<_> =
                view.nodes(BodyId::ROOT).take_while(|n| view.kind(*n) == NodeKind::Placeholder).collect();
            let dims = inputs.iter().flat_map(|n| match view.ty(*n) {
                ValueType::Tensor(t) => {
                    t.sizes.iter().chain(t.strides.iter().flatten()).chain([&t.offset]).copied().collect()
                }
                ValueType::SymInt(d) => vec![*d],
                _ => Vec::new(),
            });
            dims.flat_map(|d| symbols.symbols_in(SymValue::Int(d))).collect()
        })
    }

    /// Returns the names of the symbols that inputs settle.
    pub fn settled_names(&mut self) -> KeyedSet<String> {
        self.bound().clone()
    }

    /// Returns the symbols, with whatever arithmetic added.
    pub fn symbols(&self) -> &Symbols {
        self.own.as_deref().unwrap_or(self.symbols)
    }

    /// Returns a copy of the symbols to add to.
    pub fn own(&mut self) -> &mut Symbols {
        self.own.get_or_insert_with(|| Box::new(self.symbols.clone()))
    }

    /// Returns `a * b`; `None` where it does not fit.
    pub fn mul(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        match (a, b) {
            (Dim::Fixed(a), Dim::Fixed(b)) => a.checked_mul(b).map(Dim::Fixed),
            _ => self.own().mul(a, b).ok(),
        }
    }

    /// Returns `a + b`; `None` where it does not fit.
    pub fn add(&mut self, a: Dim, b: Dim) -> Option<Dim> {
        match (a, b) {
            (Dim::Fixed(a), Dim::Fixed(b)) => a.checked_add(b).map(Dim::Fixed),
            _ => self.own().add(a, b).ok(),
        }
    }

    /// Returns `-a`; `None` where it does not fit.
    pub fn neg(&mut self, a: Dim) -> Option<Dim> {
        match a {
            Dim::Fixed(a) => a.checked_neg().map(Dim::Fixed),
            Dim::Expr(_) => self.own().neg(a).ok(),
        }
    }

    /// Returns a size in which the greatest, or the least, of several is the one that it always is.
    pub fn taken(&mut self, a: Dim) -> Dim {
        match a {
            Dim::Fixed(_) => a,
            Dim::Expr(_) => self.own().taken(a),
        }
    }

    /// Returns the product of all.
    pub fn product(&mut self, dims: &[Dim]) -> Option<Dim> {
        dims.iter().try_fold(Dim::Fixed(1), |p, d| self.mul(p, *d))
    }

    /// Returns the strides of a tensor laid out row by row.
    pub fn row_major(&mut self, sizes: &[Dim]) -> Option<Dims> {
        let mut strides: Dims = Dims::new();
        let mut step = Dim::Fixed(1);
        for size in sizes.iter().rev() {
            strides.push(step);
            step = self.mul(step, *size)?;
        }
        strides.reverse();
        Some(strides)
    }

    /// Returns whether two sizes are equal for all values of the symbols.
    pub fn same(&self, a: Dim, b: Dim) -> bool {
        a == b || self.symbols().known(a, Relation::Equal, b) == Some(true)
    }

    /// Returns whether two lists of sizes are equal for all values of the symbols.
    pub fn all_same(&self, a: &[Dim], b: &[Dim]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same(*a, *b))
    }

    /// Returns whether `a <= b` for all values of the symbols.
    pub fn at_most(&self, a: Dim, b: Dim) -> bool {
        a == b || self.symbols().known(b, Relation::Less, a) == Some(false)
    }

    /// Returns whether every symbol in it is bound by the inputs.
    pub fn is_settled(&mut self, dim: Dim) -> bool {
        let Dim::Expr(id) = dim else { return true };
        if let Some(known) = self.settled.get(&id) {
            return *known;
        }
        let names = self.symbols().symbols_in(SymValue::Int(dim));
        let bound = self.bound();
        let settled = names.iter().all(|name| bound.contains(name));
        self.settled.insert(id, settled);
        settled
    }

    /// Returns whether all are settled.
    pub fn are_settled(&mut self, dims: &[Dim]) -> bool {
        dims.iter().all(|d| self.is_settled(*d))
    }
}
