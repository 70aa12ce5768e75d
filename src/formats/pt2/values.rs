//! Types from the value tables of a graph: tensors, symbolic scalars, devices, and the texts of symbolic expressions.
//!
//! Promises: equal tensor types are one allocation; each expression text is parsed once; an annotation that PyTorch would print
//! otherwise than our symbols print it is given along; the text and hint of an expression are kept for the writer. Leaves to `body`
//! which node has which type.

use std::sync::Arc;

use smallvec::SmallVec;

use super::error::Problem;
use super::schema;
use crate::graph::{Arg, Device, Dtype, Graph, Layout, MemoryFormat, StrId, SymText, TensorType, ValueType};
use crate::sym::{Dim, KeyedMap, KeyedSet, Range, SymError, SymValue, srepr_to_python};

/// An entry of a graph's value tables.
pub(super) enum Value<'p> {
    /// And which type of all that are read.
    Tensor(&'p schema::TensorMeta<'p>, usize),
    Int(&'p schema::SymInt<'p>),
    Float(&'p schema::SymFloat<'p>),
    Bool(&'p schema::SymBool<'p>),
    Custom(&'p str),
}

/// A type, and its annotation where our symbols would print another one.
pub(super) type Typed = (ValueType, Option<StrId>);

/// An expression that was read: its value, and its text where ours is another one.
type Known = (SymValue, Option<Arc<str>>);

/// What has been read so far.
#[derive(Default)]
pub(super) struct Values<'p> {
    exprs: KeyedMap<&'p str, Known>,
    tensors: KeyedSet<Arc<TensorType>>,
    /// One a type of the tables, once it was asked for.
    typed: Vec<Option<Typed>>,
    devices: Vec<Device>,
    /// Texts and hints of expressions, for the writer.
    pub(super) texts: indexmap::IndexMap<SymValue, SymText>,
    seen: KeyedSet<String>,
}

impl<'p> Values<'p> {
    /// States the range of every symbol, before any expression is read.
    pub(super) fn ranges(
        &mut self,
        graph: &mut Graph,
        ranges: &schema::Pairs<schema::Text<'_>, schema::RangeConstraint>,
    ) -> Result<(), Problem> {
        let stated = ranges.0.iter().filter(|(name, _)| is_symbol(name));
        let stated = stated.map(|(name, range)| (&**name, Range { min: range.min_val, max: range.max_val }));
        graph.symbols.set_ranges(stated).map_err(|source| {
            let symbol = match &source {
                SymError::EmptyRange { name, .. } => name.as_str(),
                _ => "",
            };
            Problem::Symbol { place: format!("range_constraints, symbol `{symbol}`"), source }
        })
    }

    /// Keeps the order of those ranges whose symbols occur, as PyTorch does.
    ///
    /// A derived dimension (`2*s0`) has an entry of its own; its range follows from those of its symbols.
    pub(super) fn keep_ranges(
        &self,
        graph: &mut Graph,
        ranges: &schema::Pairs<schema::Text<'_>, schema::RangeConstraint>,
    ) {
        let mut kept = KeyedSet::default();
        for (name, _) in &ranges.0 {
            let dim =
                if is_symbol(name) { graph.symbols.find_symbol(name) } else { graph.symbols.parse_dim(name).ok() };
            if let Some(Dim::Expr(id)) = dim
                && graph.symbols.symbols_in(SymValue::Int(Dim::Expr(id))).iter().all(|s| self.seen.contains(s))
                && kept.insert(id)
            {
                graph.range_constraints.push(id);
            }
        }
    }

    /// Makes room for so many more types, and returns the number of the first.
    pub(super) fn more_types(&mut self, count: usize) -> usize {
        let first = self.typed.len();
        self.typed.resize_with(first.saturating_add(count), || None);
        first
    }

    /// Returns the type of an entry; `place` names it in errors.
    pub(super) fn typed(
        &mut self,
        graph: &mut Graph,
        value: &Value<'p>,
        place: &dyn Fn() -> String,
    ) -> Result<Typed, Problem> {
        match value {
            Value::Tensor(meta, number) => {
                if let Some(Some(known)) = self.typed.get(*number) {
                    return Ok(known.clone());
                }
                let typed = self.tensor(graph, meta, place)?;
                if let Some(known) = self.typed.get_mut(*number) {
                    *known = Some(typed.clone());
                }
                Ok(typed)
            }
            Value::Int(schema::SymInt::Int(v)) => Ok((ValueType::SymInt(Dim::Fixed(*v)), unannotated(graph))),
            Value::Int(schema::SymInt::Expr(e)) => self.scalar(graph, e, place),
            Value::Float(schema::SymFloat::Float(v)) => {
                let float =
                    graph.symbols.constant_float(v.0).map_err(|source| Problem::Symbol { place: place(), source })?;
                Ok((ValueType::SymFloat(float.into()), unannotated(graph)))
            }
            Value::Float(schema::SymFloat::Expr(e)) => self.scalar(graph, e, place),
            Value::Bool(schema::SymBool::Bool(v)) => {
                let truth =
                    graph.symbols.constant_bool(*v).map_err(|source| Problem::Symbol { place: place(), source })?;
                Ok((ValueType::SymBool(truth.into()), unannotated(graph)))
            }
            Value::Bool(schema::SymBool::Expr(e)) => self.scalar(graph, e, place),
            Value::Custom(class) => Ok((ValueType::Other(graph.texts.intern(class)), None)),
        }
    }

    fn scalar(
        &mut self,
        graph: &mut Graph,
        expr: &'p schema::SymExpr<'p>,
        place: &dyn Fn() -> String,
    ) -> Result<Typed, Problem> {
        let (value, text) = self.expr(graph, expr, place)?;
        let printed = text.map(|t| graph.texts.intern(&format!("Sym({t})")));
        let ty = match value {
            SymValue::Int(d) => ValueType::SymInt(d),
            SymValue::Float(f) => ValueType::SymFloat(f.into()),
            SymValue::Bool(b) => ValueType::SymBool(b.into()),
        };
        Ok((ty, printed))
    }

    fn tensor(
        &mut self,
        graph: &mut Graph,
        meta: &'p schema::TensorMeta<'p>,
        place: &dyn Fn() -> String,
    ) -> Result<Typed, Problem> {
        if meta.sizes.len() != meta.strides.len() {
            return Err(Problem::Rank { place: place(), sizes: meta.sizes.len(), strides: meta.strides.len() });
        }
        if meta.sizes.len() > TensorType::MAX_RANK {
            let reason = format!("has {} dimensions, of which there may be {}", meta.sizes.len(), TensorType::MAX_RANK);
            return Err(Problem::Tensor { place: place(), reason });
        }
        if let Some(size) = meta.sizes.iter().find_map(|s| match s {
            schema::SymInt::Int(v) if *v < 0 => Some(*v),
            _ => None,
        }) {
            return Err(Problem::Tensor {
                place: place(),
                reason: format!("has the size {size}; sizes are 0 or more"),
            });
        }
        let mut differs = false;
        let mut texts: SmallVec<[Option<Arc<str>>; 4]> = SmallVec::new();
        let mut sizes: SmallVec<[Dim; 4]> = SmallVec::with_capacity(meta.sizes.len());
        for size in &meta.sizes {
            let (dim, text) = self.dim(graph, size, place)?;
            differs |= text.is_some();
            sizes.push(dim);
            texts.push(text);
        }
        let mut strides: SmallVec<[Dim; 4]> = SmallVec::with_capacity(meta.strides.len());
        for stride in &meta.strides {
            strides.push(self.dim(graph, stride, place)?.0);
        }
        let ty = TensorType {
            dtype: dtype(meta.dtype, place)?,
            sizes,
            strides: Some(strides),
            offset: self.dim(graph, &meta.storage_offset, place)?.0,
            device: self.device(&meta.device),
            layout: layout(meta.layout, place)?,
            requires_grad: meta.requires_grad,
        };
        let printed = differs.then(|| {
            let shown: Vec<String> = ty
                .sizes
                .iter()
                .zip(&texts)
                .map(|(d, t)| t.as_ref().map_or_else(|| graph.symbols.print_python(*d), ToString::to_string))
                .collect();
            graph.texts.intern(&format!("{}[{}]", ty.dtype.short(), shown.join(", ")))
        });
        Ok((ValueType::Tensor(self.share(ty)), printed))
    }

    fn share(&mut self, ty: TensorType) -> Arc<TensorType> {
        if let Some(known) = self.tensors.get(&ty) {
            return known.clone();
        }
        let shared = Arc::new(ty);
        self.tensors.insert(shared.clone());
        shared
    }

    fn dim(
        &mut self,
        graph: &mut Graph,
        size: &'p schema::SymInt<'p>,
        place: &dyn Fn() -> String,
    ) -> Result<(Dim, Option<Arc<str>>), Problem> {
        let expr = match size {
            schema::SymInt::Int(v) => return Ok((Dim::Fixed(*v), None)),
            schema::SymInt::Expr(e) => e,
        };
        match self.expr(graph, expr, place)? {
            (SymValue::Int(d), text) => Ok((d, text)),
            (other, _) => Err(Problem::Unexpected {
                place: place(),
                expected: "an integer expression".to_string(),
                found: format!("{}, `{}`", other.sort(), &*expr.expr_str),
            }),
        }
    }

    fn expr(
        &mut self,
        graph: &mut Graph,
        expr: &'p schema::SymExpr<'p>,
        place: &dyn Fn() -> String,
    ) -> Result<Known, Problem> {
        let text: &'p str = &expr.expr_str;
        if let Some(known) = self.exprs.get(text) {
            return Ok(known.clone());
        }
        let failed = |source| Problem::Symbol { place: place(), source };
        let value = graph.symbols.parse_srepr(text).map_err(failed)?;
        let theirs = srepr_to_python(text).map_err(failed)?;
        let ours = graph.symbols.print_value(value);
        self.seen.extend(graph.symbols.symbols_in(value));
        self.texts.entry(value).or_insert_with(|| {
            // PyTorch 2.5 writes Python's spelling, which later versions take apart otherwise (`//`).
            let srepr = if text.contains("Symbol(") { text.into() } else { graph.symbols.print_srepr(value).into() };
            SymText { srepr, hint: expr.hint.map(|h| h.get().into()) }
        });
        let known = (value, (ours != theirs).then(|| theirs.into()));
        self.exprs.insert(text, known.clone());
        Ok(known)
    }

    /// Returns the device, shared.
    pub(super) fn device(&mut self, device: &schema::Device<'_>) -> Device {
        let same = |d: &&Device| *d.kind == *device.kind && d.index == device.index;
        if let Some(known) = self.devices.iter().find(same) {
            return known.clone();
        }
        let new = Device { kind: (*device.kind).into(), index: device.index };
        if self.devices.len() < 64 {
            self.devices.push(new.clone());
        }
        new
    }
}

/// Returns whether a key of the ranges is a symbol rather than an expression.
fn is_symbol(key: &str) -> bool {
    key.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// A scalar that is known prints without annotation.
fn unannotated(graph: &mut Graph) -> Option<StrId> {
    Some(graph.texts.intern(""))
}

/// Returns the dtype of a number.
pub(super) fn dtype(number: i64, place: &dyn Fn() -> String) -> Result<Dtype, Problem> {
    Dtype::from_pt2(number).ok_or_else(|| Problem::UnknownNumber { what: "dtype", number, place: place() })
}

/// Returns the layout of a number.
pub(super) fn layout(number: i64, place: &dyn Fn() -> String) -> Result<Layout, Problem> {
    Layout::from_pt2(number).ok_or_else(|| Problem::UnknownNumber { what: "layout", number, place: place() })
}

/// Returns the memory format of a number.
pub(super) fn memory_format(number: i64, place: &dyn Fn() -> String) -> Result<Arg, Problem> {
    let unknown = || Problem::UnknownNumber { what: "memory format", number, place: place() };
    MemoryFormat::from_pt2(number).map(Arg::MemoryFormat).ok_or_else(unknown)
}
