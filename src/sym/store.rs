//! Where expressions live: interning, limits on size, and the range of each expression.
//!
//! Promises: equal expressions have equal ids; no expression is deeper than [`MAX_DEPTH`] or prints as more than [`MAX_WEIGHT`] parts, so
//! walks over one may recurse; ranges are up to date with those of the symbols. Leaves what is canonical to `arith`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::bounds;
use super::error::SymError;
use super::expr::{Dim, Expr, ExprId, SymbolId};
use super::keyed::{KeyedIndexMap, KeyedIndexSet};
use super::range::Range;

/// The greatest depth of nesting.
pub const MAX_DEPTH: usize = 48;
/// The greatest number of parts (symbols, numbers, operators) of an expression as it prints.
pub const MAX_WEIGHT: usize = 4096;

/// What is kept of an interned expression beside itself.
#[derive(Copy, Clone, Debug, Serialize, Deserialize)]
pub(super) struct Facts {
    /// Holds every value of an integer expression; of other sorts it says nothing.
    pub(super) range: Range,
    depth: usize,
    weight: usize,
}

impl Facts {
    const UNKNOWN: Facts = Facts { range: Range::ALL, depth: 0, weight: 1 };
}

/// A place that interns expressions: the symbols of a graph, or a scratch pad over them.
pub(super) trait Arena {
    fn expr(&self, id: ExprId) -> Option<&Expr>;
    fn facts(&self, id: ExprId) -> Facts;
    fn intern(&mut self, expr: Expr) -> Result<ExprId, SymError>;
    fn symbol_range(&self, symbol: SymbolId) -> Range;
    fn symbol_name(&self, symbol: SymbolId) -> Arc<str>;

    fn expr_or_err(&self, id: ExprId) -> Result<&Expr, SymError> {
        self.expr(id).ok_or(SymError::Foreign { id: id.0 })
    }

    fn quick_range(&self, dim: Dim) -> Range {
        match dim {
            Dim::Fixed(value) => Range::only(value),
            Dim::Expr(id) => self.facts(id).range,
        }
    }

    fn int(&mut self, expr: Expr) -> Result<Dim, SymError> {
        self.intern(expr).map(Dim::Expr)
    }
}

fn measure<A: Arena + ?Sized>(arena: &A, expr: &Expr) -> Result<Facts, SymError> {
    let mut facts = Facts { range: bounds::quick(arena, expr), ..Facts::UNKNOWN };
    if let Expr::Poly(poly) = expr {
        facts.weight = poly.weight();
    }
    for child in expr.children() {
        let child = arena.facts(child);
        facts.depth = facts.depth.max(child.depth.saturating_add(1));
        facts.weight = facts.weight.saturating_add(child.weight);
    }
    if facts.depth > MAX_DEPTH {
        return Err(SymError::TooLarge { what: "levels of nesting", limit: MAX_DEPTH });
    }
    if facts.weight > MAX_WEIGHT {
        return Err(SymError::TooLarge { what: "parts", limit: MAX_WEIGHT });
    }
    Ok(facts)
}

/// Symbols with their ranges, and the expressions over them; each graph owns one.
///
/// Ids ([`Dim`], [`SymFloat`](super::SymFloat), [`SymBool`](super::SymBool)) are meant for the `Symbols` that gave them out; `import`
/// translates. Expressions are never removed.
#[derive(Clone, Default, Debug)]
pub struct Symbols {
    names: KeyedIndexMap<Arc<str>, Range>,
    /// What the program states of symbols of which less is believed.
    stated: KeyedIndexMap<Arc<str>, Range>,
    exprs: KeyedIndexSet<Expr>,
    facts: Vec<Facts>,
    parts: usize,
}

impl Symbols {
    /// A set without symbols.
    pub fn new() -> Symbols {
        Symbols::default()
    }

    /// The symbol of that name, made with range `VR[0, int_oo]` if it is new.
    pub fn symbol(&mut self, name: &str) -> Dim {
        let id = self.symbol_id(name);
        // A symbol has no operands and one part: within every limit.
        self.intern(Expr::Symbol(id)).map_or(Dim::Fixed(0), Dim::Expr)
    }

    pub(super) fn symbol_id(&mut self, name: &str) -> SymbolId {
        let index = match self.names.get_index_of(name) {
            Some(index) => index,
            None => self.names.insert_full(Arc::from(name), Range::SIZE).0,
        };
        SymbolId(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// The symbol of that name, if there is one.
    pub fn find_symbol(&self, name: &str) -> Option<Dim> {
        let index = self.names.get_index_of(name)?;
        let id = SymbolId(u32::try_from(index).ok()?);
        let index = self.exprs.get_index_of(&Expr::Symbol(id))?;
        Some(Dim::Expr(ExprId(u32::try_from(index).ok()?)))
    }

    /// The symbols with the ranges that are stated of them, in the order in which they were made.
    pub fn symbols(&self) -> impl Iterator<Item = (&str, Range)> {
        self.names.iter().map(|(name, range)| (&**name, self.stated.get(name).copied().unwrap_or(*range)))
    }

    /// The symbols with the ranges by which everything is decided.
    pub fn believed(&self) -> impl Iterator<Item = (&str, Range)> {
        self.names.iter().map(|(name, range)| (&**name, *range))
    }

    /// Decides by another range than is stated of a symbol, which is kept for whoever writes the program.
    pub fn believe(&mut self, name: &str, range: Range) {
        let Some(slot) = self.names.get_mut(name) else { return };
        let before = std::mem::replace(slot, range);
        let stated = self.stated.get(name).copied().unwrap_or(before);
        match stated == range {
            true => drop(self.stated.shift_remove(name)),
            false => drop(self.stated.insert(Arc::from(name), stated)),
        }
        if before != range {
            self.refresh();
        }
    }

    /// How many expressions are interned: for tables beside the symbols.
    pub fn len(&self) -> usize {
        self.exprs.len()
    }

    /// About how many bytes of memory the expressions take.
    pub fn bytes(&self) -> u64 {
        const ENTRY: usize = 256;
        const PART: usize = 48;
        let entries = self.exprs.len().saturating_mul(ENTRY);
        u64::try_from(entries.saturating_add(self.parts.saturating_mul(PART))).unwrap_or(u64::MAX)
    }

    /// Whether nothing is interned.
    pub fn is_empty(&self) -> bool {
        self.exprs.is_empty()
    }

    /// Sets the range of a symbol (made if it is new); what was decided under another range is decided anew when asked.
    pub fn set_range(&mut self, name: &str, range: Range) -> Result<(), SymError> {
        self.set_ranges([(name, range)])
    }

    /// Sets the ranges of symbols, the last one given of each: in one pass over what is made of them, however many there are.
    pub fn set_ranges<'n>(&mut self, ranges: impl IntoIterator<Item = (&'n str, Range)>) -> Result<(), SymError> {
        let mut stale = false;
        let mut set = Ok(());
        for (name, range) in ranges {
            match self.declare(name, range) {
                Ok(changed) => stale |= changed,
                Err(error) => {
                    set = Err(error);
                    break;
                }
            }
        }
        if stale {
            self.refresh();
        }
        set
    }

    /// Sets the range of a symbol; returns whether ranges of expressions may be those of before.
    fn declare(&mut self, name: &str, range: Range) -> Result<bool, SymError> {
        if let (Some(min), Some(max), true) = (range.min, range.max, range.is_empty()) {
            return Err(SymError::EmptyRange { name: name.to_owned(), min, max });
        }
        if !self.names.contains_key(name) {
            // Nothing is made of a symbol that is new: no other range changes.
            self.names.insert(Arc::from(name), range);
            self.symbol(name);
            return Ok(false);
        }
        self.symbol(name);
        self.stated.shift_remove(name);
        let Some(slot) = self.names.get_mut(name) else { return Ok(false) };
        Ok(std::mem::replace(slot, range) != range)
    }

    fn refresh(&mut self) {
        // Operands come before their users, so one pass in order brings all ranges up to date.
        for index in 0..self.exprs.len() {
            let Some(expr) = self.exprs.get_index(index) else { break };
            let range = bounds::quick(self, expr);
            if let Some(facts) = self.facts.get_mut(index) {
                facts.range = range;
            }
        }
    }

    /// The range that is stated of a symbol.
    pub fn declared_range(&self, name: &str) -> Option<Range> {
        self.stated.get(name).or_else(|| self.names.get(name)).copied()
    }

    /// The range by which everything of a symbol is decided.
    pub(super) fn believed_range(&self, name: &str) -> Option<Range> {
        self.names.get(name).copied()
    }
}

/// As data: symbols with their ranges, and expressions with what is kept of them, in the order of their ids.
impl Serialize for Symbols {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names: Vec<(&str, Range)> = self.believed().collect();
        let stated: Vec<(&str, Range)> = self.stated.iter().map(|(name, range)| (&**name, *range)).collect();
        let exprs: Vec<&Expr> = self.exprs.iter().collect();
        (names, stated, exprs, &self.facts, self.parts).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Symbols {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        type Ranges = Vec<(Arc<str>, Range)>;
        type Data = (Ranges, Ranges, Vec<Expr>, Vec<Facts>, usize);
        let (names, stated, exprs, facts, parts) = Data::deserialize(deserializer)?;
        let stated = stated.into_iter().collect();
        Ok(Self { names: names.into_iter().collect(), stated, exprs: exprs.into_iter().collect(), facts, parts })
    }
}

impl Arena for Symbols {
    fn expr(&self, id: ExprId) -> Option<&Expr> {
        self.exprs.get_index(id.index())
    }

    fn facts(&self, id: ExprId) -> Facts {
        self.facts.get(id.index()).copied().unwrap_or(Facts::UNKNOWN)
    }

    fn intern(&mut self, expr: Expr) -> Result<ExprId, SymError> {
        if let Some(index) = self.exprs.get_index_of(&expr) {
            return Ok(ExprId(u32::try_from(index).unwrap_or(u32::MAX)));
        }
        let facts = measure(self, &expr)?;
        let id = u32::try_from(self.exprs.len())
            .map_err(|_| SymError::TooLarge { what: "expressions", limit: self.exprs.len() })?;
        self.exprs.insert(expr);
        self.facts.push(facts);
        self.parts = self.parts.saturating_add(facts.weight);
        Ok(ExprId(id))
    }

    fn symbol_range(&self, symbol: SymbolId) -> Range {
        self.names.get_index(symbol.index()).map_or(Range::ALL, |(_, range)| *range)
    }

    fn symbol_name(&self, symbol: SymbolId) -> Arc<str> {
        self.names.get_index(symbol.index()).map_or_else(|| Arc::from("?"), |(name, _)| name.clone())
    }
}

/// Expressions made while deciding, over those of a graph; dropped with it, so that asking changes nothing.
pub(super) struct Scratch<'a> {
    base: &'a Symbols,
    exprs: KeyedIndexSet<Expr>,
    facts: Vec<Facts>,
}

impl<'a> Scratch<'a> {
    pub(super) fn over(base: &'a Symbols) -> Scratch<'a> {
        Scratch { base, exprs: KeyedIndexSet::default(), facts: Vec::new() }
    }

    fn local(&self, id: ExprId) -> Option<usize> {
        id.index().checked_sub(self.base.exprs.len())
    }
}

impl Arena for Scratch<'_> {
    fn expr(&self, id: ExprId) -> Option<&Expr> {
        match self.local(id) {
            Some(index) => self.exprs.get_index(index),
            None => self.base.expr(id),
        }
    }

    fn facts(&self, id: ExprId) -> Facts {
        match self.local(id) {
            Some(index) => self.facts.get(index).copied().unwrap_or(Facts::UNKNOWN),
            None => self.base.facts(id),
        }
    }

    fn intern(&mut self, expr: Expr) -> Result<ExprId, SymError> {
        if let Some(index) = self.base.exprs.get_index_of(&expr) {
            return Ok(ExprId(u32::try_from(index).unwrap_or(u32::MAX)));
        }
        let next = |local: usize| u32::try_from(local.saturating_add(self.base.exprs.len())).unwrap_or(u32::MAX);
        if let Some(index) = self.exprs.get_index_of(&expr) {
            return Ok(ExprId(next(index)));
        }
        let facts = measure(self, &expr)?;
        let id = next(self.exprs.len());
        self.exprs.insert(expr);
        self.facts.push(facts);
        Ok(ExprId(id))
    }

    fn symbol_range(&self, symbol: SymbolId) -> Range {
        self.base.symbol_range(symbol)
    }

    fn symbol_name(&self, symbol: SymbolId) -> Arc<str> {
        self.base.symbol_name(symbol)
    }
}
