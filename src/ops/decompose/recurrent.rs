//! Recurrent layers, step by step: as many steps as the sequence is long.

use super::matmul::linear_of;
use super::prelude::*;

pub(super) const TABLE: &[Line] = &[
    (Real, lstm, &["aten.lstm.input"]),
    (Real, gru, &["aten.gru.input"]),
    (Real, |b| plain(b, "tanh"), &["aten.rnn_tanh.input"]),
    (Real, |b| plain(b, "relu"), &["aten.rnn_relu.input"]),
];

/// The weights of a layer in one direction.
struct Weights<'b> {
    input: T<'b>,
    state: T<'b>,
    biases: Option<(T<'b>, T<'b>)>,
}

/// A layer's call: what all of them have in common.
struct Layers<'b> {
    b: &'b Builder<'b>,
    weights: Vec<Weights<'b>>,
    directions: usize,
    steps: i64,
}

fn layers<'b>(b: &'b Builder<'b>) -> Result<(Layers<'b>, T<'b>), CallFault> {
    b.only(!b.flag("train")? || b.float("dropout")? == 0.0, "dropout")?;
    let x = b.t(0)?;
    b.only(x.rank() == 3, "a sequence without a batch")?;
    let x = if b.flag("batch_first")? { x.transpose(0, 1) } else { x };
    let params = b.ts("params")?;
    let (each, directions) = (if b.flag("has_biases")? { 4 } else { 2 }, if b.flag("bidirectional")? { 2 } else { 1 });
    let weights: Vec<Weights<'b>> = params
        .chunks(each)
        .filter_map(|w| match w {
            [input, state] => Some(Weights { input: *input, state: *state, biases: None }),
            [input, state, bi, bs] => Some(Weights { input: *input, state: *state, biases: Some((*bi, *bs)) }),
            _ => None,
        })
        .collect();
    let wanted = b.int("num_layers")?.saturating_mul(signed(directions));
    b.only(signed(weights.len()) == wanted && params.len() == weights.len().saturating_mul(each), "projections")?;
    let steps = x.fixed(0)?;
    b.only(steps > 0, "an empty sequence")?;
    Ok((Layers { b, weights, directions, steps }, x))
}

impl<'b> Layers<'b> {
    /// Runs all layers; `step` makes the next states of what comes from the input and of the states. Returns the output and the last states.
    fn run<const N: usize>(
        &self,
        x: T<'b>,
        states: [T<'b>; N],
        step: impl Fn(T<'b>, [T<'b>; N], &Weights<'b>) -> Result<[T<'b>; N], CallFault>,
    ) -> Result<(T<'b>, [T<'b>; N]), CallFault> {
        let b = self.b;
        let mut x = x;
        let mut last: Vec<Vec<Arg>> = vec![Vec::new(); N];
        for (layer, both) in self.weights.chunks(self.directions).enumerate() {
            let mut halves = Vec::new();
            for (direction, weights) in both.iter().enumerate() {
                let place = signed(layer.saturating_mul(self.directions).saturating_add(direction));
                let mut state = states.map(|s| s.select(0, place));
                let from_input = linear_of(b, x, weights.input, weights.biases.map(|(bias, _)| bias))?;
                let mut outputs = Vec::new();
                let forwards = (0..self.steps).collect::<Vec<_>>();
                let order: Vec<i64> = if direction == 0 { forwards } else { forwards.into_iter().rev().collect() };
                for at in order {
                    state = step(from_input.select(0, at), state, weights)?;
                    outputs.extend(state.first().map(|h| Arg::from(*h)));
                }
                if direction == 1 {
                    outputs.reverse();
                }
                halves.push(Arg::from(b.op("stack", args![outputs, 0])));
                for (all, one) in last.iter_mut().zip(state) {
                    all.push(one.into());
                }
            }
            x = match halves.as_slice() {
                [Arg::Node(one)] => b.value(*one),
                _ => b.op("cat", args![halves, -1]),
            };
        }
        let mut last = last.into_iter().map(|all| b.op("stack", args![all, 0]));
        let states = states.map(|s| last.next().unwrap_or(s));
        let x = if b.flag("batch_first")? { x.transpose(0, 1) } else { x };
        Ok((x, states))
    }
}

fn parts<'b, const N: usize>(b: &'b Builder<'b>, gates: T<'b>) -> Result<[T<'b>; N], CallFault> {
    let parts = b.list("chunk", args![gates, signed(N), -1]);
    parts.try_into().map_err(|_| b.unsupported("gates of unequal sizes"))
}

fn lstm(b: &Builder<'_>) -> Made {
    let (all, x) = layers(b)?;
    let states = b.ts("hx")?;
    let [h, c] = states.as_slice() else { return Err(b.unsupported("other than two states")) };
    let (y, [h, c]) = all.run(x, [*h, *c], |input, [h, c], w| {
        let gates = linear_of(b, h, w.state, w.biases.map(|(_, bias)| bias))? + input;
        let [i, f, g, o] = parts::<4>(b, gates)?;
        let next = f.op("sigmoid") * c + i.op("sigmoid") * g.op("tanh");
        Ok([o.op("sigmoid") * next.op("tanh"), next])
    })?;
    done![y, h, c]
}

fn gru(b: &Builder<'_>) -> Made {
    let (all, x) = layers(b)?;
    let (y, [h]) = all.run(x, [b.t("hx")?], |input, [h], w| {
        let [ri, zi, ni] = parts::<3>(b, input)?;
        let [rh, zh, nh] = parts::<3>(b, linear_of(b, h, w.state, w.biases.map(|(_, bias)| bias))?)?;
        let (reset, update) = ((rh + ri).op("sigmoid"), (zh + zi).op("sigmoid"));
        let fresh = (ni + nh * reset).op("tanh");
        Ok([(h - fresh) * update + fresh])
    })?;
    done![y, h]
}

fn plain(b: &Builder<'_>, activation: &str) -> Made {
    let (all, x) = layers(b)?;
    let (y, [h]) = all.run(x, [b.t("hx")?], |input, [h], w| {
        Ok([(linear_of(b, h, w.state, w.biases.map(|(_, bias)| bias))? + input).op(activation)])
    })?;
    done![y, h]
}
