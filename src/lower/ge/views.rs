//! Views that are put off: permute, view, reshape, transpose and t make no operator until something computes with them;
//! then a whole chain is at most a Reshape, a Transpose and a Reshape.
//!
//! A tensor that is a pending view is its source seen with other sizes and strides (over a contiguous source). What has
//! been made of a pending view is kept, so that two users share it.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::builder::{Attr, Builder, In, Refusal};
use super::draft::Source;
use super::literal::Literal;
use super::metas::{self, Hints};
use super::proto::DataType;
use super::value::{Meta, PendingView, Tensor, TensorId, TensorMeta, Value};
use crate::sym::{Dim, Symbols};

/// What is remembered of views.
#[derive(Debug, Default)]
pub(super) struct Views {
    made: FxHashMap<TensorId, TensorId>,
    /// Operators of symbolic sizes, by what they print.
    sizes: HashMap<String, TensorId>,
    /// One table a chain of views: the producers of symbolic sizes that its reshapes named.
    tables: Vec<BTreeMap<String, Source>>,
}

/// A view operator that can be put off.
pub(super) enum Kind {
    Permute(Vec<usize>),
    Reshape,
}

impl Views {
    /// Puts a view off. Returns `None` where its converter must make it now.
    pub(super) fn put_off(
        &mut self,
        b: &mut Builder,
        symbols: &mut Symbols,
        source: TensorId,
        kind: &Kind,
        shape: Option<&Value>,
        result: &TensorMeta,
    ) -> Result<Option<TensorId>, Refusal> {
        let Some(tensor) = b.tensor(source).cloned() else { return Ok(None) };
        let view = match &tensor.view {
            Some(view) => view.clone(),
            None => {
                let Some(meta) = &tensor.meta else { return Ok(None) };
                self.tables.push(BTreeMap::new());
                let sizes = meta.sizes();
                let strides = metas::contiguous(symbols, &sizes);
                let symbols = self.tables.len().saturating_sub(1);
                PendingView { source: sizes.clone(), sizes, strides, symbols }
            }
        };
        let seen =
            TensorMeta { dtype: result.dtype, sizes: view.sizes.clone(), strides: view.strides.clone(), input: None };
        let (sizes, strides) = match kind {
            Kind::Permute(axes) => match (metas::permuted(&seen.sizes, axes), metas::permuted(&seen.strides, axes)) {
                (Some(sizes), Some(strides)) => (sizes, strides),
                _ => return Ok(None),
            },
            Kind::Reshape => {
                if !self.knows_sizes(b, symbols, &view, shape, result) {
                    return Ok(None);
                }
                match metas::reshaped(symbols, &seen, &result.sizes) {
                    Some(strides) => (result.sizes.clone(), strides),
                    // What cannot be seen in these sizes is a copy of what has been seen so far: that is made first.
                    None => {
                        let made = self.make(b, symbols, source)?;
                        let strides = metas::contiguous(symbols, &result.sizes);
                        let view = PendingView {
                            source: seen.sizes,
                            sizes: result.sizes.clone(),
                            strides,
                            symbols: view.symbols,
                        };
                        return Ok(Some(again(b, made, view)));
                    }
                }
            }
        };
        // The source itself is remembered as seen in full, so that later views of it share its table.
        if tensor.view.is_none()
            && let Some(t) = b.tensors.get_mut(source.0)
        {
            t.view = Some(view.clone());
        }
        Ok(Some(again(b, source, PendingView { sizes, strides, ..view })))
    }

    /// Notes where a reshape's symbolic sizes come from; returns whether all of the result's are known.
    fn knows_sizes(
        &mut self,
        b: &Builder,
        symbols: &Symbols,
        view: &PendingView,
        shape: Option<&Value>,
        result: &TensorMeta,
    ) -> bool {
        let Some(table) = self.tables.get_mut(view.symbols) else { return false };
        if let Some(Value::Tensor(t)) = shape
            && let (Some(Meta::Sizes(list)), Some(op)) = (b.tensor(*t).and_then(|t| t.meta.as_ref()), b.op_of(*t))
        {
            for (size, input) in list.iter().zip(op.data_inputs()) {
                if size.fixed().is_none() {
                    table.insert(symbols.print_python(*size), input);
                }
            }
        }
        result.sizes.iter().all(|d| d.fixed().is_some() || table.contains_key(&symbols.print_python(*d)))
    }

    /// Returns the values with all pending views made.
    pub(super) fn make_all(&mut self, b: &mut Builder, symbols: &mut Symbols, value: &Value) -> Result<Value, Refusal> {
        match value {
            Value::Tensor(t) => Ok(Value::Tensor(self.make(b, symbols, *t)?)),
            Value::List(items) if items.iter().any(|v| matches!(v, Value::Tensor(_) | Value::List(_))) => {
                let made = items.iter().map(|v| self.make_all(b, symbols, v)).collect::<Result<Vec<_>, _>>()?;
                Ok(Value::List(made.into()))
            }
            other => Ok(other.clone()),
        }
    }

    /// Makes the operators of a pending view.
    fn make(&mut self, b: &mut Builder, symbols: &mut Symbols, t: TensorId) -> Result<TensorId, Refusal> {
        let Some(Tensor { view: Some(view), meta: Some(meta), .. }) = b.tensor(t) else { return Ok(t) };
        if let Some(made) = self.made.get(&t) {
            return Ok(*made);
        }
        if view.sizes == view.source && view.strides == metas::contiguous(symbols, &view.source) {
            return Ok(t);
        }
        let (view, meta) = (view.clone(), meta.clone());
        let made = match transposition(symbols, &view) {
            Some(p) if p.needed => {
                let mut made = t;
                if *p.stored != *view.source {
                    made = self.reshape(b, symbols, made, t, &view, &p.stored)?;
                }
                let perm = Literal::Ints(p.axes);
                made = b.one("Transpose", vec![In::Tensor(made), In::Literal(perm)], &[])?;
                if *p.seen != *view.sizes {
                    made = self.reshape(b, symbols, made, t, &view, &view.sizes.clone())?;
                }
                made
            }
            _ => self.reshape(b, symbols, t, t, &view, &view.sizes.clone())?,
        };
        self.made.insert(t, made);
        b.set_meta(made, meta, symbols)?;
        Ok(made)
    }

    fn reshape(
        &mut self,
        b: &mut Builder,
        symbols: &Symbols,
        t: TensorId,
        source: TensorId,
        view: &PendingView,
        sizes: &[Dim],
    ) -> Result<TensorId, Refusal> {
        let fixed: Option<Vec<i64>> = sizes.iter().map(|d| d.fixed()).collect();
        if let Some(fixed) = fixed {
            let shape = b.constant(&Literal::Ints(fixed), Some(DataType::Int64))?;
            return b.one("Reshape", vec![In::Tensor(t), In::Tensor(shape)], &[]);
        }
        let mut parts = Vec::with_capacity(sizes.len());
        for size in sizes {
            parts.push(match size.fixed() {
                Some(size) => b.constant(&Literal::Int(size), Some(DataType::Int64))?,
                None => self.size(b, symbols, source, view, *size)?,
            });
        }
        let count = i64::try_from(parts.len()).unwrap_or(i64::MAX);
        let pack = b.one("Pack", vec![parts.as_slice().into()], &[("N", Attr::Int(count)), ("axis", Attr::Int(0))])?;
        if parts.iter().all(|t| b.is_host_data(*t)) {
            b.mark(pack, "_inputs_all_sym");
        }
        b.mark(pack, "_force_unknown_shape");
        b.one("Reshape", vec![In::Tensor(t), In::Tensor(pack)], &[])
    }

    /// Returns the tensor of a symbolic size: what a reshape of the chain named, else read off the source.
    fn size(
        &mut self,
        b: &mut Builder,
        symbols: &Symbols,
        source: TensorId,
        view: &PendingView,
        size: Dim,
    ) -> Result<TensorId, Refusal> {
        let key = symbols.print_python(size);
        if let Some(t) = self.sizes.get(&key) {
            return Ok(*t);
        }
        let named = self.tables.get(view.symbols).and_then(|t| t.get(&key)).copied();
        let t = match (named, view.source.iter().position(|d| *d == size)) {
            (Some(Source::Data(op, output)), _) => b.output(op, output),
            (_, Some(axis)) => {
                let axis = i64::try_from(axis).unwrap_or(i64::MAX);
                let shape = b.one("Shape", vec![In::Tensor(source)], &[("dtype", Attr::Type(DataType::Int32))])?;
                b.one("Gather", vec![In::Tensor(shape), In::Literal(Literal::Int(axis))], &[])?
            }
            (_, None) => return Err(Refusal(format!("the size {key} of a view comes from nowhere"))),
        };
        self.sizes.insert(key, t);
        Ok(t)
    }
}

fn again(b: &mut Builder, source: TensorId, view: PendingView) -> TensorId {
    let (op, output, dtype) = b.tensor(source).map_or((0, 0, DataType::Undefined), |t| (t.op, t.output, t.dtype));
    b.add_tensor(Tensor { op, output, dtype, meta: None, view: Some(view) })
}

struct Transposition {
    needed: bool,
    /// Sizes in the order in which they are stored.
    stored: Rc<[Dim]>,
    axes: Vec<i64>,
    /// Sizes after the transposition.
    seen: Rc<[Dim]>,
}

/// Returns how the dimensions that matter (not of size 1, not repeated) are stored: by falling stride.
fn transposition(symbols: &Symbols, view: &PendingView) -> Option<Transposition> {
    let hints = Hints::new(symbols);
    let dims: Vec<(Dim, Dim)> = view
        .strides
        .iter()
        .zip(view.sizes.iter())
        .filter(|(stride, size)| **stride != Dim::Fixed(0) && **size != Dim::Fixed(1))
        .map(|(stride, size)| (*stride, *size))
        .collect();
    let known: Vec<(i64, i64)> = dims.iter().map(|(stride, size)| (hints.of(*stride), hints.of(*size))).collect();
    let needed = known.windows(2).any(|w| matches!(w, [a, b] if a.0 < b.0));
    let mut order: Vec<usize> = (0..dims.len()).collect();
    order.sort_by_key(|i| std::cmp::Reverse(known.get(*i).copied().unwrap_or_default()));
    let mut axes = vec![0_i64; order.len()];
    for (place, axis) in order.iter().enumerate() {
        *axes.get_mut(*axis)? = i64::try_from(place).ok()?;
    }
    let stored = order.iter().map(|i| dims.get(*i).map(|d| d.1)).collect::<Option<_>>()?;
    Some(Transposition { needed, stored, axes, seen: dims.iter().map(|d| d.1).collect() })
}
