//! A tile under way: its calls, for some rows of one matrix after another.
//!
//! Promises: the results of calls one by one, bit for bit. Values between are matrices of rank 3 with one of the batch's matrices;
//! where operands are not of the sizes that the graph states, the calls run one by one.

use rustc_hash::FxHashMap;

use crate::exec::error::ExecError;
use crate::exec::run::program::Runner;
use crate::exec::run::tiles::{Tile, Work, sizes};
use crate::exec::tensor::shape::Shape;
use crate::exec::tensor::value::Value;
use crate::exec::tensor::{Meta, Tensor, fill};
use crate::graph::{Arg, Dtype, NodeId, View};
use crate::ops::CallFault;

/// About as many elements lie between two products at once.
const ELEMENTS: usize = 1 << 18;
/// Rows come in multiples of this: the products' kernels take whole blocks, as they do of the whole.
const BLOCK: usize = 16;

/// Rows of one matrix of a batch.
#[derive(Clone, Copy)]
struct Rows {
    matrix: usize,
    first: usize,
    count: usize,
}

impl Runner<'_, '_, '_> {
    /// Runs a tile whose operands have their values; its last call gets its value, the others none.
    pub(in crate::exec) fn tiled(&mut self, tile: &Tile) -> Result<(), ExecError> {
        let Some(last) = tile.last() else { return Ok(()) };
        if !self.is_as_stated(tile) {
            for (node, _) in &tile.calls {
                self.call(*node)?;
            }
        } else {
            let whole = self.by_rows(tile, last)?;
            self.set(last, Value::Tensor(whole));
        }
        for (node, _) in tile.calls.iter().filter(|(n, _)| *n != last) {
            self.set(*node, Value::None);
        }
        Ok(())
    }

    /// Whether what the tile reads from outside has the sizes and dtypes that the graph states.
    fn is_as_stated(&self, tile: &Tile) -> bool {
        let inside = |n: NodeId| tile.calls.iter().any(|(own, _)| *own == n);
        let read = tile.calls.iter().flat_map(|(n, _)| self.graph.operands(*n)).filter(|n| !inside(*n));
        self.session.floats.is_none()
            && self.autocast.is_none()
            && read.into_iter().all(|n| match (self.get(n), self.graph.ty(n).as_tensor()) {
                (Value::Tensor(t), Some(ty)) => {
                    Meta::of(ty).is_ok_and(|m| m.dtype == t.dtype() && m.sizes == t.meta.sizes)
                }
                _ => false,
            })
    }

    fn by_rows(&mut self, tile: &Tile, last: NodeId) -> Result<Tensor, ExecError> {
        let [count, rows, columns] = tile.sizes;
        let stated = self.graph.ty(last).as_tensor().map(Meta::of);
        let stated = stated.unwrap_or(Err(CallFault::Opaque)).map_err(|f| self.fault(last, f))?;
        let meta = Meta::contiguous(stated.dtype, &stated.sizes);
        let out = fill::unset(&meta, self.session.meter()).map_err(|f| self.fault(last, f))?;
        let each = ELEMENTS.checked_div(columns).unwrap_or(1).next_multiple_of(BLOCK);
        for matrix in 0..count {
            let mut first = 0;
            while first < rows {
                let left = rows.saturating_sub(first);
                // No single row is left over: products of one row add up in another order.
                let some = if left <= each.saturating_add(BLOCK) { left } else { each };
                let at = Rows { matrix, first, count: some };
                self.check_time(last)?;
                let made = self.rows_of(tile, at)?;
                let to = out.narrow(0, matrix, 1).and_then(|t| t.narrow(1, first, some));
                to.and_then(|t| t.copy_from(&made)).map_err(|f| self.fault(last, f))?;
                first = first.saturating_add(some);
            }
        }
        Ok(out)
    }

    /// Returns these rows of the last call's result.
    fn rows_of(&mut self, tile: &Tile, at: Rows) -> Result<Tensor, ExecError> {
        let mut made: FxHashMap<NodeId, Tensor> = FxHashMap::default();
        let mut result = None;
        for (k, (node, work)) in tile.calls.iter().enumerate() {
            let value = self.some_rows(*node, *work, &made, at)?;
            // What no later call reads is let go of, for the next result to lie in its memory.
            let later = tile.calls.get(k.saturating_add(1)..).unwrap_or(&[]);
            made.retain(|n, _| later.iter().any(|(user, _)| self.graph.operands(*user).any(|o| o == *n)));
            made.insert(*node, value.clone());
            result = Some(value);
        }
        result.ok_or_else(|| ExecError::Body { what: "no calls are run together".into() })
    }

    fn some_rows(
        &mut self,
        node: NodeId,
        work: Work,
        made: &FxHashMap<NodeId, Tensor>,
        at: Rows,
    ) -> Result<Tensor, ExecError> {
        let own = sizes(self.graph, node).unwrap_or_default();
        let mut args = Vec::with_capacity(self.graph.args(node).len());
        for (place, arg) in self.graph.args(node).iter().enumerate() {
            let Arg::Node(operand) = arg else {
                let last = work == Work::Row && place == 1;
                args.push(if last { Value::Int(-1) } else { self.value(node, arg)? });
                continue;
            };
            if let Some(rows) = made.get(operand) {
                args.push(Value::Tensor(rows.clone()));
                continue;
            }
            let Value::Tensor(whole) = self.get(*operand) else {
                return Err(self.fault(node, CallFault::mismatch("operand", "a tensor", "another value")));
            };
            let part = match work {
                Work::Product if place == 1 => whole.narrow(0, at.matrix, 1),
                Work::Each | Work::Fill => part(&whole, &own, at),
                Work::Product | Work::Same | Work::Row => part(&whole, whole.sizes(), at),
            };
            args.push(Value::Tensor(part.map_err(|f| self.fault(node, f))?));
        }
        if let (Work::Same, Some(Value::Tensor(rows))) = (work, args.first()) {
            return Ok(rows.clone());
        }
        if let Some(known) = self.known(node, &args).map_err(|f| self.fault(node, f))? {
            return Ok(known);
        }
        let named = self.graph.kwargs(node).iter().map(|(k, a)| Ok((self.graph.texts.text(*k), self.value(node, a)?)));
        let kwargs = named.collect::<Result<Vec<_>, ExecError>>()?;
        let like = if work == Work::Fill { like_one(&mut args) } else { None };
        match self.session.call(self.graph.target(node), &args, &kwargs).map_err(|e| self.failed(node, e))? {
            Value::Tensor(t) => {
                like.map_or(Ok(t.clone()), |whole| t.broadcast(&whole)).map_err(|f| self.fault(node, f))
            }
            other => Err(self.fault(node, CallFault::mismatch("result", "a tensor", other.kind()))),
        }
    }

    /// Returns the operand that a choice gives whole: one truth for all rows, as where no row is masked.
    fn known(&self, node: NodeId, args: &[Value]) -> Result<Option<Tensor>, CallFault> {
        let ("aten.where.self", [Value::Tensor(condition), Value::Tensor(a), Value::Tensor(b)]) =
            (self.graph.target(node), args)
        else {
            return Ok(None);
        };
        let a_row = condition.sizes().last() == Some(&1) && condition.dtype() == Dtype::Bool;
        if !a_row || a.dtype() != b.dtype() {
            return Ok(None);
        }
        let truths = condition.raw::<u8>()?;
        let chosen = match truths.first() {
            Some(0) if truths.iter().all(|t| *t == 0) => b,
            Some(1..) if truths.iter().all(|t| *t != 0) => a,
            _ => return Ok(None),
        };
        let within = |t: &Tensor| {
            let fits = chosen.sizes().iter().zip(t.sizes()).all(|(own, other)| *other == 1 || other == own);
            fits && (t.rank() == chosen.rank() || t.rank() == 0)
        };
        Ok([condition, a, b].into_iter().all(within).then(|| chosen.clone()))
    }
}

/// Takes one element of the first operand in place of all, for a kernel that reads only how many there are; returns their sizes.
fn like_one(args: &mut [Value]) -> Option<Shape> {
    let Some(Value::Tensor(like)) = args.first_mut() else { return None };
    let sizes = like.meta.sizes.clone();
    for d in 0..sizes.len() {
        *like = like.narrow(d, 0, 1).ok()?;
    }
    Some(sizes)
}

/// Returns the rows of one matrix, of rank 3, of a tensor that broadcasts to `sizes`; what is broadcast stays of size 1.
fn part(t: &Tensor, sizes: &[usize], at: Rows) -> Result<Tensor, CallFault> {
    if t.rank() == 0 {
        return Ok(t.clone());
    }
    let lead = sizes.len().saturating_sub(2);
    let missing = sizes.len().saturating_sub(t.rank());
    let own = |d: usize| d.checked_sub(missing).map_or((1, 0), |d| (t.meta.size(d), t.meta.stride(d)));
    let (mut rest, mut offset) = (at.matrix, t.meta.offset);
    for (d, size) in sizes.iter().enumerate().take(lead).rev() {
        let index = rest.checked_rem(*size).unwrap_or(0);
        rest = rest.checked_div(*size).unwrap_or(0);
        let (has, stride) = own(d);
        offset = offset.saturating_add(if has == 1 { 0 } else { index.saturating_mul(stride) });
    }
    let ((rows, down), (columns, along)) = (own(lead), own(lead.saturating_add(1)));
    let (first, count) = if rows == 1 { (0, 1) } else { (at.first, at.count) };
    let whole: Shape = [1, count, columns].into_iter().collect();
    let strides: Shape = [count.saturating_mul(down), down, along].into_iter().collect();
    let offset = offset.saturating_add(first.saturating_mul(down));
    t.with_meta(Meta { dtype: t.dtype(), sizes: whole, strides, offset })
}
