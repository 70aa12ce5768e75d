//! Recurrent layers: LSTM and GRU, layer by layer, one product a layer for the inputs and one a step for the state.
//!
//! Each operation on gates is rounded to their dtype, but for whole LSTM layers of `bf16`. Dropout between layers is refused.

use crate::exec::call::cx::Cx;
use crate::exec::dense::{Batch, BatchMut};
use crate::exec::kernels::Entry;
use crate::exec::kernels::matmul::{Product, refused};
use crate::exec::numbers::accumulate::Ring;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::flat::Flat;
use crate::exec::tensor::lane::{rounding, with_float_lane};
use crate::exec::tensor::span::Span;
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (lstm, &["aten.lstm.input"]),
    (gru, &["aten.gru.input"]),
    (|cx| plain(cx, Kind::Tanh), &["aten.rnn_tanh.input"]),
    (|cx| plain(cx, Kind::Relu), &["aten.rnn_relu.input"]),
    (lstm_cell, &["aten.lstm_cell.default"]),
    (gru_cell, &["aten.gru_cell.default"]),
    (|cx| plain_cell(cx, Kind::Tanh), &["aten.rnn_tanh_cell.default"]),
    (|cx| plain_cell(cx, Kind::Relu), &["aten.rnn_relu_cell.default"]),
];

/// A lane that gates are computed in.
trait Gated: Product + Ring {
    /// 1 / (1 + e^-x).
    fn sigmoid(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Itself where it is not below 0; NaN stays.
    fn positive(self) -> Self;
}

macro_rules! gated {
    ($($t:ty),*) => {$(
        impl Gated for $t {
            fn sigmoid(self) -> Self {
                1.0 / (1.0 + (-self).exp())
            }

            fn tanh(self) -> Self {
                <$t>::tanh(self)
            }

            fn positive(self) -> Self {
                if self < 0.0 { 0.0 } else { self }
            }
        }
    )*};
}

gated!(f32, f64);

/// The weights of one layer in one direction.
struct Weights<'a, L: Gated> {
    /// What each operation on gates is rounded to.
    dtype: Dtype,
    /// What the hidden state is rounded to after each step.
    hidden: Dtype,
    input: Span<'a, L>,
    state: Span<'a, L>,
    input_bias: Option<Flat<'a, L>>,
    state_bias: Option<Flat<'a, L>>,
    /// What the state is multiplied by in the end, where it is narrower than the cell.
    projection: Option<Span<'a, L>>,
}

impl<'a, L: Gated> Weights<'a, L> {
    /// Reads them in the order in which PyTorch lists them.
    fn of(params: &[&'a Tensor], biases: bool, dtype: Dtype) -> Result<Self, CallFault> {
        let at = |k: usize| {
            let found = params.get(k).copied();
            found.ok_or_else(|| {
                CallFault::mismatch(
                    "params",
                    "two weights a layer and direction, and its biases",
                    params.len().to_string(),
                )
            })
        };
        let bias = |k: usize| if biases { at(k)?.lanes::<L>().map(Some) } else { Ok(None) };
        let last = if biases { 4 } else { 2 };
        Ok(Weights {
            dtype,
            hidden: at(0)?.dtype(),
            input: Span::open(at(0)?, at(0)?)?,
            state: Span::open(at(1)?, at(1)?)?,
            input_bias: bias(2)?,
            state_bias: bias(3)?,
            projection: params.get(last).map(|t| Span::open(t, t)).transpose()?,
        })
    }
}

/// Returns `x * weight^T + bias`; `x` has `rows` rows.
fn affine<L: Gated>(x: &[L], rows: usize, weight: &Span<'_, L>, bias: Option<&[L]>) -> Result<Vec<L>, CallFault> {
    let (gives, takes) = dims(weight);
    let (row, column) = (weight.strides.first().copied().unwrap_or(0), weight.strides.get(1).copied().unwrap_or(0));
    let mut out = vec![L::default(); rows.saturating_mul(gives)];
    if let Some(bias) = bias {
        let fits = bias.len() == gives;
        let lines = out.chunks_exact_mut(gives.max(1)).filter(|_| fits);
        lines.for_each(|line| line.copy_from_slice(bias));
    }
    let a = Batch::new(x, [1, rows, takes], [0, takes, 1]).map_err(refused)?;
    let b = Batch::new(&weight.data, [1, takes, gives], [0, column, row]).map_err(refused)?;
    let size = out.len();
    let c = BatchMut::new(&mut out, [1, rows, gives], [size, gives, 1]).map_err(refused)?;
    let beta = L::from_i64(i64::from(bias.is_some()));
    L::product(L::from_i64(1), &a, &b, beta, c).map_err(refused)?;
    Ok(out)
}

fn rounded<L: Gated>(mut values: Vec<L>, round: &impl Fn(L) -> L) -> Vec<L> {
    values.iter_mut().for_each(|v| *v = round(*v));
    values
}

/// Rows and columns of a weight.
fn dims<L: Gated>(weight: &Span<'_, L>) -> (usize, usize) {
    (weight.sizes.first().copied().unwrap_or(0), weight.sizes.get(1).copied().unwrap_or(0))
}

/// The state of a layer: the hidden one, and the cell of an LSTM.
#[derive(Clone)]
struct State<L> {
    hidden: Vec<L>,
    cell: Vec<L>,
}

/// Which layer.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Lstm,
    Gru,
    /// Without gates: the hyperbolic tangent of a sum.
    Tanh,
    /// The same, of what is positive.
    Relu,
}

impl Kind {
    /// How many rows of the weights each number of the state has.
    fn gates(self) -> usize {
        match self {
            Kind::Lstm => 4,
            Kind::Gru => 3,
            Kind::Tanh | Kind::Relu => 1,
        }
    }
}

/// One step: gates of the input, and the state before, give the state after.
fn step<L: Gated>(
    kind: Kind,
    x: &[L],
    state: &mut State<L>,
    batch: usize,
    w: &Weights<'_, L>,
) -> Result<(), CallFault> {
    let (round, round_state) = (rounding::<L>(w.dtype), rounding::<L>(w.hidden));
    let h = rounded(affine(&state.hidden, batch, &w.state, w.state_bias.as_deref())?, &round);
    let gates = dims(&w.state).0;
    let width = gates.checked_div(kind.gates()).unwrap_or(0).max(1);
    let rows = x.chunks_exact(gates.max(1)).zip(h.chunks_exact(gates.max(1)));
    match kind {
        Kind::Lstm => {
            let mut hidden = vec![L::default(); state.cell.len()];
            let states = hidden.chunks_exact_mut(width).zip(state.cell.chunks_exact_mut(width));
            rows.zip(states).for_each(|((x, h), (hidden, cell))| lstm_row(x, h, hidden, cell, width, &round));
            state.hidden = match &w.projection {
                Some(p) => rounded(affine(&hidden, batch, p, None)?, &round),
                None => rounded(hidden, &round_state),
            };
        }
        Kind::Gru => {
            rows.zip(state.hidden.chunks_exact_mut(width))
                .for_each(|((x, h), hidden)| gru_row(x, h, hidden, width, &round));
        }
        Kind::Tanh | Kind::Relu => {
            let through = |v: L| if kind == Kind::Tanh { Gated::tanh(v) } else { v.positive() };
            let sums = x.iter().zip(&h).map(|(x, h)| round(x.plus(*h)));
            state.hidden.iter_mut().zip(sums).for_each(|(hidden, sum)| *hidden = round(through(sum)));
        }
    }
    Ok(())
}

/// The gates of one row, `width` numbers each.
fn gate<L>(all: &[L], k: usize, width: usize) -> &[L] {
    let start = k.saturating_mul(width);
    all.get(start..start.saturating_add(width)).unwrap_or(&[])
}

fn lstm_row<L: Gated>(x: &[L], h: &[L], hidden: &mut [L], cell: &mut [L], width: usize, round: &impl Fn(L) -> L) {
    let sum = |k: usize| gate(x, k, width).iter().zip(gate(h, k, width)).map(|(x, h)| round(x.plus(*h)));
    let gates = sum(0).zip(sum(1)).zip(sum(2)).zip(sum(3));
    for ((hidden, cell), (((enter, keep), new), show)) in hidden.iter_mut().zip(cell).zip(gates) {
        let entering = round(round(enter.sigmoid()).times(round(new.tanh())));
        *cell = round(round(round(keep.sigmoid()).times(*cell)).plus(entering));
        *hidden = round(round(show.sigmoid()).times(round(cell.tanh())));
    }
}

fn gru_row<L: Gated>(x: &[L], h: &[L], hidden: &mut [L], width: usize, round: &impl Fn(L) -> L) {
    let sum = |k: usize| gate(x, k, width).iter().zip(gate(h, k, width)).map(|(x, h)| round(x.plus(*h)));
    let new = gate(x, 2, width).iter().zip(gate(h, 2, width));
    for (hidden, ((reset, keep), (x, h))) in hidden.iter_mut().zip(sum(0).zip(sum(1)).zip(new)) {
        let new = round(round(x.plus(round(round(reset.sigmoid()).times(*h)))).tanh());
        let kept = round(round(hidden.plus(new.negate())).times(round(keep.sigmoid())));
        *hidden = round(kept.plus(new));
    }
}

/// A sequence: steps x batch x width, one after the other.
struct Sequence<L> {
    values: Vec<L>,
    steps: usize,
    batch: usize,
}

/// Runs one direction of one layer; returns the hidden states of all steps, in the order of the steps.
fn direction<L: Gated>(
    kind: Kind,
    input: &Sequence<L>,
    state: &mut State<L>,
    w: &Weights<'_, L>,
    backwards: bool,
) -> Result<Vec<L>, CallFault> {
    let rows = input.steps.saturating_mul(input.batch);
    let expected = dims(&w.input).1.saturating_mul(rows);
    if input.values.len() != expected {
        return Err(CallFault::mismatch(
            "params",
            format!("weights for {} inputs", input.values.len()),
            expected.to_string(),
        ));
    }
    let x = rounded(affine(&input.values, rows, &w.input, w.input_bias.as_deref())?, &rounding(w.dtype));
    let line = dims(&w.input).0.saturating_mul(input.batch).max(1);
    let mut out = vec![L::default(); state.hidden.len().saturating_mul(input.steps)];
    let width = state.hidden.len().max(1);
    let mut one = |x: &[L], out: &mut [L]| -> Result<(), CallFault> {
        step(kind, x, state, input.batch, w)?;
        out.iter_mut().zip(&state.hidden).for_each(|(o, h)| *o = *h);
        Ok(())
    };
    let steps = x.chunks_exact(line).zip(out.chunks_exact_mut(width));
    if backwards {
        steps.rev().try_for_each(|(x, out)| one(x, out))?;
    } else {
        { steps }.try_for_each(|(x, out)| one(x, out))?;
    }
    Ok(out)
}

/// Both directions of a layer side by side, a row each step and image.
fn beside<L: Gated>(ways: &[Vec<L>], rows: usize) -> Vec<L> {
    let [first, second] = ways else { return ways.first().cloned().unwrap_or_default() };
    let width = first.len().checked_div(rows).unwrap_or(0).max(1);
    let rows = first.chunks_exact(width).zip(second.chunks_exact(width));
    rows.flat_map(|(a, b)| a.iter().chain(b).copied()).collect()
}

/// What both layers are told behind their states.
struct Plan {
    biases: bool,
    layers: usize,
    ways: usize,
    batch_first: bool,
}

impl Plan {
    fn of(cx: &Cx<'_, '_, '_>) -> Result<Plan, CallFault> {
        if cx.f64(5)? > 0.0 && cx.bool(6)? {
            return Err(CallFault::Unsupported { what: "dropout between recurrent layers".into() });
        }
        let layers = usize::try_from(cx.int(4)?).map_err(|_| cx.bad(4, "a number of layers", "fewer than none"))?;
        let ways = if cx.bool(7)? { 2 } else { 1 };
        Ok(Plan { biases: cx.bool(3)?, layers, ways, batch_first: cx.bool(8)? })
    }
}

/// What operations on gates are rounded to: PyTorch has one kernel for whole LSTM layers of `bf16` without projections, which computes
/// in `f32`.
fn steps_in(kind: Kind, dtype: Dtype, weights: usize, biases: bool) -> Dtype {
    let whole = kind == Kind::Lstm && dtype == Dtype::Bf16 && weights == if biases { 4 } else { 2 };
    if whole { Dtype::F32 } else { dtype }
}

/// Runs all layers; returns the last one's sequence, and the state of each layer and direction.
fn layers<L: Gated>(
    cx: &Cx<'_, '_, '_>,
    kind: Kind,
    plan: &Plan,
    (hidden, cell): (&Tensor, Option<&Tensor>),
) -> Result<(Sequence<L>, State<L>), CallFault> {
    let (input, params) = (cx.tensor(0)?, cx.tensors(2)?);
    let view = if plan.batch_first { input.permute(&[1, 0, 2]) } else { input.clone() };
    let mut sequence =
        Sequence { values: view.lanes::<L>()?.into_vec(), steps: view.meta.size(0), batch: view.meta.size(1) };
    let units = plan.layers.saturating_mul(plan.ways);
    let each = params.len().checked_div(units).filter(|n| n.saturating_mul(units) == params.len());
    let each = each.ok_or_else(|| cx.bad(2, format!("weights for {units} layers"), params.len().to_string()))?;
    let mut last = State { hidden: Vec::new(), cell: Vec::new() };
    let row = |t: &Tensor, unit: usize| t.select(0, unit)?.lanes::<L>().map(Flat::into_vec);
    let mut weights = params.chunks(each.max(1)).enumerate();
    for _ in 0..plan.layers {
        let mut ways = Vec::with_capacity(plan.ways);
        for (way, (unit, params)) in weights.by_ref().take(plan.ways).enumerate() {
            let w = Weights::of(params, plan.biases, steps_in(kind, input.dtype(), each, plan.biases))?;
            let cell = cell.map_or(Ok(Vec::new()), |c| row(c, unit))?;
            let mut state = State { hidden: row(hidden, unit)?, cell };
            ways.push(direction(kind, &sequence, &mut state, &w, way == 1)?);
            last.hidden.append(&mut state.hidden);
            last.cell.append(&mut state.cell);
        }
        sequence.values = beside(&ways, sequence.steps.saturating_mul(sequence.batch));
    }
    Ok((sequence, last))
}

/// The sequence as the result has it: a batch-first one is a view of the steps-first one.
fn shown<L: Gated>(cx: &Cx<'_, '_, '_>, plan: &Plan, sequence: Sequence<L>) -> Result<Tensor, CallFault> {
    let meta = cx.meta_of(0)?;
    let sizes = [sequence.steps, sequence.batch, meta.size(2)];
    let whole = cx.make(meta.dtype, &sizes, sequence.values)?;
    cx.laid_out(0, if plan.batch_first { whole.permute(&[1, 0, 2]) } else { whole })
}

fn lstm(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (plan, states) = (Plan::of(cx)?, cx.tensors(1)?);
    let [hidden, cell] = states.as_slice() else { return Err(cx.bad(1, "two states", states.len().to_string())) };
    with_float_lane!(cx.tensor(0)?.dtype(), "recurrent layers", L => {
        let (sequence, last) = layers::<L>(cx, Kind::Lstm, &plan, (hidden, Some(cell)))?;
        let shown = shown(cx, &plan, sequence)?;
        Ok(vec![shown, cx.emit_at(1, last.hidden)?, cx.emit_at(2, last.cell)?].into())
    })
}

fn gru(cx: &mut Cx<'_, '_, '_>) -> Made {
    plain(cx, Kind::Gru)
}

/// Layers whose state is the hidden one alone.
fn plain(cx: &mut Cx<'_, '_, '_>, kind: Kind) -> Made {
    let (plan, hidden) = (Plan::of(cx)?, cx.tensor(1)?);
    with_float_lane!(hidden.dtype(), "recurrent layers", L => {
        let (sequence, last) = layers::<L>(cx, kind, &plan, (hidden, None))?;
        let shown = shown(cx, &plan, sequence)?;
        Ok(vec![shown, cx.emit_at(1, last.hidden)?].into())
    })
}

/// One step of a cell, whose weights stand from parameter 2 on.
fn cell<L: Gated>(cx: &Cx<'_, '_, '_>, kind: Kind, mut state: State<L>) -> Result<State<L>, CallFault> {
    let params: Vec<&Tensor> =
        [cx.opt_tensor(2)?, cx.opt_tensor(3)?, cx.opt_tensor(4)?, cx.opt_tensor(5)?].into_iter().flatten().collect();
    let w = Weights::of(&params, params.len() == 4, cx.tensor(0)?.dtype())?;
    let input = cx.tensor(0)?;
    let batch = input.meta.size(0);
    let x = rounded(affine(&input.lanes::<L>()?, batch, &w.input, w.input_bias.as_deref())?, &rounding(w.dtype));
    step(kind, &x, &mut state, batch, &w)?;
    Ok(state)
}

fn lstm_cell(cx: &mut Cx<'_, '_, '_>) -> Made {
    let states = cx.tensors(1)?;
    let [hidden, before] = states.as_slice() else { return Err(cx.bad(1, "two states", states.len().to_string())) };
    with_float_lane!(hidden.dtype(), "recurrent layers", L => {
        let state = State { hidden: hidden.lanes::<L>()?.into_vec(), cell: before.lanes::<L>()?.into_vec() };
        let state = cell(cx, Kind::Lstm, state)?;
        Ok(vec![cx.emit_at(0, state.hidden)?, cx.emit_at(1, state.cell)?].into())
    })
}

fn gru_cell(cx: &mut Cx<'_, '_, '_>) -> Made {
    plain_cell(cx, Kind::Gru)
}

fn plain_cell(cx: &mut Cx<'_, '_, '_>, kind: Kind) -> Made {
    let hidden = cx.tensor(1)?;
    with_float_lane!(hidden.dtype(), "recurrent layers", L => {
        let state = State { hidden: hidden.lanes::<L>()?.into_vec(), cell: Vec::new() };
        cx.emit(cell(cx, kind, state)?.hidden)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_gate_keeps_the_cell_and_shows_nothing() {
        let (x, h) = ([-100.0_f32, 100.0, 5.0, -100.0], [0.0; 4]);
        let (mut hidden, mut cell) = ([9.0], [0.25]);
        lstm_row(&x, &h, &mut hidden, &mut cell, 1, &|v| v);
        assert_eq!((hidden, cell), ([0.0], [0.25]));
    }

    #[test]
    fn an_update_gate_of_one_keeps_the_state() {
        let mut hidden = [0.75_f32];
        gru_row(&[0.0, 100.0, 3.0], &[0.0; 3], &mut hidden, 1, &|v| v);
        assert_eq!(hidden, [0.75]);
    }

    #[test]
    fn directions_stand_side_by_side() {
        assert_eq!(
            beside(&[vec![1, 2, 3, 4], vec![5, 6, 7, 8]].map(|w| w.iter().map(|v| f64::from(*v)).collect()), 2),
            [1.0, 2.0, 5.0, 6.0, 3.0, 4.0, 7.0, 8.0]
        );
    }
}
