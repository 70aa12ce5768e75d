//! Padding, and its gradients.

use super::args::Args;
use super::cx::{Cx, ints, is_float};
use super::{Entry, Made, Rule};
use crate::lower::ge::builder::{Attr, In, Refusal};
use crate::lower::ge::literal::Literal;
use crate::lower::ge::proto::DataType;
use crate::lower::ge::value::{TensorId, Value};

use Rule::By;

pub(super) const TABLE: &[Entry] = &[
    ("aten.constant_pad_nd.default", By(constant_pad)),
    ("aten.reflection_pad2d.default", By(reflection_pad2d)),
    ("aten.reflection_pad2d_backward.default", By(reflection_pad2d_backward)),
    ("aten.replication_pad1d.default", By(replication_pad1d)),
    ("aten.replication_pad1d_backward.default", By(replication_pad1d_backward)),
];

/// PyTorch gives pairs from the last dimension on, GE takes one for each dimension from the first on.
fn by_dimension(padding: &[i64], rank: usize) -> Vec<i64> {
    let mut pairs: Vec<(i64, i64)> = Vec::with_capacity(rank);
    let mut given = padding.iter().copied();
    for _ in 0..rank {
        pairs.push((given.next().unwrap_or(0), given.next().unwrap_or(0)));
    }
    pairs.into_iter().rev().flat_map(|(a, b)| [a, b]).collect()
}

fn padding(args: &Args, name: &str) -> Result<Vec<i64>, Refusal> {
    args.ints(name)?.ok_or_else(|| Refusal(format!("argument {name} is no fixed list")))
}

fn constant_pad(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self pad value=0")?;
    let (x, pad) = (args.tensor("self")?, padding(&args, "pad")?);
    let rank = cx.rank(x)?;
    if pad.len() % 2 != 0 || pad.len() / 2 > rank {
        return Err(Refusal(format!("{} numbers are no padding of {rank} dimensions", pad.len())));
    }
    let pads = by_dimension(&pad, rank);
    // GE pads with a number of the operand's type.
    let value = match (args.get("value"), cx.dtype(x)) {
        #[allow(clippy::cast_precision_loss)] // A whole number that somebody wrote.
        (Value::Int(i), dtype) if is_float(dtype) => In::Literal(Literal::Float(i as f64)),
        (Value::Float(_) | Value::Int(_), DataType::Complex64 | DataType::Bool) => {
            let dtype = cx.dtype(x);
            cx.cast(args.get("value"), dtype)?.into()
        }
        #[allow(clippy::cast_possible_truncation)]
        (Value::Float(f), dtype) if !is_float(dtype) && f.fract() == 0.0 && f.abs() < 9e15 => {
            In::Literal(Literal::Int(f as i64))
        }
        _ => args.input("value")?,
    };
    cx.ge("PadV3", vec![x.into(), ints(&pads), value], &[])
}

/// Returns the tensor with a first dimension of size 1 where it has only three.
fn four(cx: &mut Cx, x: TensorId, rank: usize) -> Result<TensorId, Refusal> {
    if rank == 3 { cx.unsqueeze(x, &[0]) } else { Ok(x) }
}

fn three(cx: &mut Cx, x: TensorId, rank: usize) -> Made {
    Ok(if rank == 3 { cx.squeeze(x, &[0])? } else { x }.into())
}

fn reflection_pad2d(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self padding")?;
    let (x, pad) = (args.tensor("self")?, padding(&args, "padding")?);
    if pad.len() != 4 {
        return Err(Refusal("a padding of two dimensions has four numbers".into()));
    }
    let rank = cx.rank(x)?;
    let x = four(cx, x, rank)?;
    let dimensions = rank.max(4);
    let pairs = ints(&by_dimension(&pad, dimensions));
    let pairs = cx.op("Reshape", vec![pairs, ints(&[super::cx::signed(dimensions), 2])], &[])?;
    let padded = cx.op("MirrorPad", vec![x.into(), pairs.into()], &[("mode", Attr::Str("REFLECT".into()))])?;
    three(cx, padded, rank)
}

fn gradient(cx: &mut Cx, grad: TensorId, pads: &[i64], mode: &str) -> Result<TensorId, Refusal> {
    let attrs = [("mode", Attr::Str(mode.into())), ("paddings_contiguous", Attr::Bool(true))];
    cx.op("PadV3Grad", vec![grad.into(), ints(pads)], &attrs)
}

fn reflection_pad2d_backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad_output self padding")?;
    let (grad, pad) = (args.tensor("grad_output")?, padding(&args, "padding")?);
    let rank = cx.rank(args.tensor("self")?)?;
    let grad = four(cx, grad, rank)?;
    let made = gradient(cx, grad, &by_dimension(&pad, rank.max(4)), "reflect")?;
    three(cx, made, rank)
}

/// The pads of a last dimension, behind `rank` in all.
fn of_last(pad: &[i64], rank: usize) -> Result<Vec<i64>, Refusal> {
    match pad {
        [before, after, ..] => Ok(by_dimension(&[*before, *after], rank)),
        _ => Err(Refusal("a padding has at least two numbers".into())),
    }
}

fn replication_pad1d(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "self padding")?;
    let rank = cx.rank(args.tensor("self")?)?;
    let pads = of_last(&padding(&args, "padding")?, rank.saturating_add(1))?;
    let x = cx.unsqueeze(args.tensor("self")?, &[0])?;
    let attrs = [("mode", Attr::Str("edge".into())), ("paddings_contiguous", Attr::Bool(true))];
    let padded = cx.op("PadV3", vec![x.into(), ints(&pads), ints(&[0])], &attrs)?;
    Ok(cx.squeeze(padded, &[0])?.into())
}

fn replication_pad1d_backward(cx: &mut Cx) -> Made {
    let args = Args::of(cx, "grad_output self padding")?;
    let (grad, pad) = (args.tensor("grad_output")?, padding(&args, "padding")?);
    let rank = cx.rank(grad)?;
    let pads = of_last(&pad, rank.saturating_add(1))?;
    let four = cx.unsqueeze(grad, &[0])?;
    if pad.iter().fold(0_i64, |sum, p| sum.saturating_add(*p)) == 0 {
        return cx.ge("Identity", vec![grad.into()], &[]);
    }
    let made = gradient(cx, four, &pads, "edge")?;
    Ok(cx.squeeze(made, &[0])?.into())
}
