//! A run as a Chrome trace: one row an operator call, with shapes, bytes and flops.
//!
//! The form is the "Trace Event Format": an array of complete events (`ph: "X"`), times in microseconds; `chrome://tracing` and Perfetto
//! show it. Flops are counted for products and convolutions (a multiplication and an addition are two), elsewhere one an element written.

use serde_json::{Value as Json, json};

use crate::exec::{Observer, Step, Tensor, Value};
use crate::graph::View;

/// Collects the events of a run.
#[derive(Default)]
pub struct Trace {
    events: Vec<Json>,
}

impl Trace {
    /// Returns the trace as JSON text.
    pub fn into_json(self) -> String {
        json!({ "displayTimeUnit": "ms", "traceEvents": self.events }).to_string()
    }
}

impl Observer for Trace {
    fn computed(&mut self, step: &Step<'_>) {
        let target = step.graph.target(step.node);
        let read: Vec<&Tensor> = tensors(step.args);
        let written = tensors(std::slice::from_ref(step.result));
        let bytes = |all: &[&Tensor]| all.iter().map(|t| t.byte_count()).fold(0_usize, usize::saturating_add);
        let shapes = |all: &[&Tensor]| all.iter().map(|t| show(t)).collect::<Vec<_>>();
        self.events.push(json!({
            "name": target,
            "cat": "operator",
            "ph": "X",
            "pid": 1,
            "tid": 1,
            "ts": micros(step.began),
            "dur": micros(step.took),
            "args": {
                "node": step.graph.name(step.node),
                "inputs": shapes(&read),
                "outputs": shapes(&written),
                "bytes_read": bytes(&read),
                "bytes_written": bytes(&written),
                "flops": flops(target, &read, &written),
            },
        }));
    }
}

#[allow(clippy::cast_precision_loss)]
fn micros(time: std::time::Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

fn show(t: &Tensor) -> String {
    let sizes: Vec<String> = t.sizes().iter().map(ToString::to_string).collect();
    format!("{}[{}]", t.dtype(), sizes.join(", "))
}

fn tensors(values: &[Value]) -> Vec<&Tensor> {
    let mut found = Vec::new();
    // In the order in which they are written.
    let mut work: Vec<&Value> = values.iter().rev().collect();
    while let Some(value) = work.pop() {
        match value {
            Value::Tensor(t) => found.push(t),
            Value::List(all) => work.extend(all.iter().rev()),
            _ => {}
        }
    }
    found
}

fn flops(target: &str, read: &[&Tensor], written: &[&Tensor]) -> usize {
    let made = written.first().map_or(0, |t| t.numel());
    let name = target.split('.').nth(1).unwrap_or("");
    let size = |i: usize, from_end: usize| {
        read.get(i)
            .and_then(|t| t.sizes().len().checked_sub(from_end).and_then(|d| t.sizes().get(d)))
            .copied()
            .unwrap_or(1)
    };
    let depth = match name {
        "mm" | "bmm" | "matmul" | "linear" | "mv" | "dot" => size(0, 1),
        "addmm" | "baddbmm" | "addmv" | "addbmm" => size(1, 1),
        "convolution" | "conv1d" | "conv2d" | "conv3d" => {
            read.get(1).map_or(1, |w| w.sizes().iter().skip(1).fold(1_usize, |n, s| n.saturating_mul(*s)))
        }
        _ => return made,
    };
    made.saturating_mul(depth).saturating_mul(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::{Meta, Meter, Storage};
    use crate::graph::Dtype;

    #[test]
    fn a_product_counts_a_multiplication_and_an_addition() {
        let t = |sizes: &[usize]| {
            let count = sizes.iter().product::<usize>();
            Tensor::new(Meta::contiguous(Dtype::F32, sizes), Storage::new(vec![0_f32; count], &Meter::default()))
                .unwrap()
        };
        let (a, b, c) = (t(&[2, 3]), t(&[3, 5]), t(&[2, 5]));
        assert_eq!(flops("aten.mm.default", &[&a, &b], &[&c]), 2 * 2 * 3 * 5);
        assert_eq!(flops("aten.add.Tensor", &[&c, &c], &[&c]), 10);
    }
}
