//! Products of matrices, and convolutions.

use super::shape::axis;
use super::{Call, Made, Table, Undefined, one};
use crate::graph::{Arg, Dtype, NodeId, NodeKind, View};

pub(super) const TABLE: Table = &[
    ("MatMul", |c| mat_mul(c, false)),
    ("MatMulV2", |c| mat_mul(c, true)),
    ("BatchMatMul", batch_mat_mul),
    ("BatchMatMulV2", batch_mat_mul_v2),
    ("Conv2D", conv),
    ("Conv3D", conv),
    ("Conv2DTranspose", conv_transpose),
    ("Conv3DTranspose", conv_transpose),
    ("Conv2DBackpropInput", |c| conv_gradient(c, By::Input)),
    ("Conv3DBackpropInput", |c| conv_gradient(c, By::Input)),
    ("Conv2DBackpropFilter", |c| conv_gradient(c, By::Filter)),
    ("Conv3DBackpropFilter", |c| conv_gradient(c, By::Filter)),
    ("TransposeBatchMatMul", transposed_product),
];

fn turned(c: &mut Call<'_, '_>, slot: &str, turn: bool) -> Result<NodeId, Undefined> {
    let x = c.t(slot)?;
    if !turn {
        return Ok(x);
    }
    c.b.call("aten.transpose.int", vec![Arg::Node(x), Arg::Int(-2), Arg::Int(-1)])
}

fn mat_mul(c: &mut Call<'_, '_>, second: bool) -> Made {
    if second {
        c.only(c.int("offset_x")? == 0 && !c.is_fed("offset_w"), "a product of offset integers")?;
    }
    let (turn_a, turn_b) = (c.flag("transpose_x1")?, c.flag("transpose_x2")?);
    let (a, b) = (turned(c, "x1", turn_a)?, turned(c, "x2", turn_b)?);
    c.only(c.b.rank(a)? == 2 && c.b.rank(b)? == 2, "a product of other than matrices")?;
    c.only(c.b.dtype(a)? == c.b.dtype(b)?, "a product of two types")?;
    match c.maybe("bias")? {
        Arg::Node(bias) => {
            c.only(c.b.dtype(bias)? == c.b.dtype(a)?, "a bias of another type")?;
            one(c.b.call("aten.addmm.default", vec![Arg::Node(bias), Arg::Node(a), Arg::Node(b)])?)
        }
        _ => {
            // Of bytes the sums are whole numbers of 32 bits.
            if c.b.dtype(a)? == Dtype::I8 {
                return one(c.b.call("aten._int_mm.default", vec![Arg::Node(a), Arg::Node(b)])?);
            }
            if c.b.calls("aten._int_mm.default")
                && let (Some(a), Some(b)) = (bytes_of(c, a), bytes_of(c, b))
            {
                return one(c.b.call("aten._int_mm.default", vec![Arg::Node(a), Arg::Node(b)])?);
            }
            one(c.b.call("aten.mm.default", vec![Arg::Node(a), Arg::Node(b)])?)
        }
    }
}

/// The bytes that were widened to 32 bits.
fn bytes_of(c: &Call<'_, '_>, wide: NodeId) -> Option<NodeId> {
    let [Arg::Node(own)] = c.b.graph.args(wide) else { return None };
    let is_widened = c.b.graph.target(wide) == "aten._to_copy.default"
        && c.b.dtype(wide) == Ok(Dtype::I32)
        && matches!(c.b.dtype(*own), Ok(Dtype::I8 | Dtype::U8));
    is_widened.then_some(*own)
}

/// A row that is added to a product of matrices which nothing else reads: GE computes the two as one, rounding once, as addmm does. The product
/// may have been given other sizes in between, its last dimension kept.
pub(super) fn with_bias(c: &mut Call<'_, '_>, sum: NodeId, row: NodeId) -> Result<Option<NodeId>, Undefined> {
    let lone = |c: &Call<'_, '_>, n: NodeId, users: usize| c.b.graph.users_in_order(n).len() == users;
    let is = |c: &Call<'_, '_>, n: NodeId, target: &str| {
        c.b.graph.kind(n) == NodeKind::Call && c.b.graph.target(n) == target
    };
    // A size is no row.
    if c.b.rank(row) != Ok(1) || c.b.rank(sum).is_err() || c.b.dtype(row)? != c.b.dtype(sum)? || !lone(c, sum, 0) {
        return Ok(None);
    }
    let (product, sizes) = match c.b.graph.args(sum) {
        [Arg::Node(of), sizes] if is(c, sum, "aten.reshape.default") && lone(c, *of, 1) => (*of, Some(sizes.clone())),
        _ => (sum, None),
    };
    if !is(c, product, "aten.mm.default") {
        return Ok(None);
    }
    let last = |c: &Call<'_, '_>, n: NodeId| c.b.tensor(n).map(|t| t.sizes.last().copied());
    let [Arg::Node(a), Arg::Node(b)] = c.b.graph.args(product) else { return Ok(None) };
    let (a, b) = (*a, *b);
    if last(c, sum)? != last(c, product)? {
        return Ok(None);
    }
    c.b.assumed.insert(crate::lower::ge::ROW_IS_ADDED.into());
    if let Some(line) = as_linear(c, a, b, row, sum)? {
        return Ok(Some(line));
    }
    let made = c.b.call("aten.addmm.default", vec![Arg::Node(row), Arg::Node(a), Arg::Node(b)])?;
    match sizes {
        Some(sizes) => c.b.call("aten.reshape.default", vec![Arg::Node(made), sizes]).map(Some),
        None => Ok(Some(made)),
    }
}

/// The same as linear, where the graph that was lowered has it: of the operand before its sizes were changed, by the weight as it lies.
fn as_linear(
    c: &mut Call<'_, '_>,
    a: NodeId,
    b: NodeId,
    row: NodeId,
    sum: NodeId,
) -> Result<Option<NodeId>, Undefined> {
    if c.b.spelled(&["aten.addmm.default", "aten.linear.default"]) != "aten.linear.default" {
        return Ok(None);
    }
    let turned = match (c.b.graph.target(b), c.b.graph.args(b)) {
        ("aten.permute.default", [Arg::Node(w), order]) if *order == Arg::list([1_i64, 0]) => Some(*w),
        ("aten.transpose.int", [Arg::Node(w), Arg::Int(-2), Arg::Int(-1)]) => Some(*w),
        _ => None,
    };
    let Some(weight) = turned else { return Ok(None) };
    let whole = match (c.b.graph.target(a), c.b.graph.args(a)) {
        ("aten.reshape.default", [Arg::Node(x), _]) => *x,
        _ => a,
    };
    for operand in [whole, a] {
        let (own, wanted) = (c.b.tensor(operand)?.sizes.clone(), c.b.tensor(sum)?.sizes.clone());
        let rows = |s: &[crate::sym::Dim]| s.split_last().map(|(_, r)| r.to_vec());
        let inner = c.b.tensor(a)?.sizes.last().copied();
        if rows(&own) == rows(&wanted) && own.last().copied() == inner {
            let args = vec![Arg::Node(operand), Arg::Node(weight), Arg::Node(row)];
            return c.b.call("aten.linear.default", args).map(Some);
        }
    }
    Ok(None)
}

fn batch_mat_mul(c: &mut Call<'_, '_>) -> Made {
    let (turn_a, turn_b) = (c.flag("adj_x1")?, c.flag("adj_x2")?);
    let (a, b) = (turned(c, "x1", turn_a)?, turned(c, "x2", turn_b)?);
    c.only(c.b.dtype(a)? == c.b.dtype(b)?, "a product of two types")?;
    let sizes = |c: &Call<'_, '_>, n: NodeId| c.b.tensor(n).map(|t| t.sizes.clone());
    let (left, right) = (sizes(c, a)?, sizes(c, b)?);
    c.only(left.len() >= 2 && right.len() >= 2, "a product of vectors")?;
    // Of three dimensions each, with as many matrices: what bmm takes. GE also repeats matrices where there is one.
    let target = if left.len() == 3 && right.len() == 3 && left.first() == right.first() {
        "aten.bmm.default"
    } else {
        "aten.matmul.default"
    };
    one(c.b.call(target, vec![Arg::Node(a), Arg::Node(b)])?)
}

fn batch_mat_mul_v2(c: &mut Call<'_, '_>) -> Made {
    c.only(c.int("offset_x")? == 0 && !c.is_fed("offset_w") && !c.is_fed("bias"), "a product with a bias or offset")?;
    batch_mat_mul(c)
}

/// Spatial entries of a list that has one entry a dimension of the layout.
fn spatial(c: &Call<'_, '_>, name: &str, dims: usize) -> Result<Vec<i64>, Undefined> {
    let list = c.int_list(name)?;
    let (outer, inner) = list.split_at_checked(2).unwrap_or((&[], &[]));
    c.only(inner.len() == dims && outer == [1, 1], &format!("`{name}` beyond the spatial dimensions"))?;
    Ok(inner.to_vec())
}

/// Pads of each spatial dimension, which must be the same on both sides.
pub(super) fn even_pads(c: &Call<'_, '_>, dims: usize) -> Result<Vec<i64>, Undefined> {
    let pads = c.int_list("pads")?;
    c.only(pads.len() == dims.saturating_mul(2), "pads of another length")?;
    c.only(pads.chunks(2).all(|p| p.first() == p.last()), "pads that differ by side")?;
    Ok(pads.iter().step_by(2).copied().collect())
}

fn layouts(c: &Call<'_, '_>, format: &str, inputs: &[&str]) -> Result<(), Undefined> {
    c.only(c.text("data_format")? == format, "another data format")?;
    let stated = inputs.iter().all(|i| c.layout(i) == format) && c.output_layout(0) == format;
    c.only(stated, "a tensor in another layout than the data format")
}

fn conv(c: &mut Call<'_, '_>) -> Made {
    c.only(c.int("offset_x")? == 0 && !c.is_fed("offset_w"), "a convolution of offset integers")?;
    let (x, filter, bias) = (c.t("x")?, c.t("filter")?, c.maybe("bias")?);
    let dims = c.b.rank(x)?.saturating_sub(2);
    if let Some(line) = of_one_dimension(c, x, filter, &bias)? {
        return one(line);
    }
    c.only(dims == if c.kind() == "Conv3D" { 3 } else { 2 }, "a convolution of so many dimensions")?;
    layouts(c, if dims == 3 { "NCDHW" } else { "NCHW" }, &["x", "filter"])?;
    let zeros = vec![0_i64; dims];
    let args = vec![
        Arg::Node(x),
        Arg::Node(filter),
        bias,
        Arg::list(spatial(c, "strides", dims)?),
        Arg::list(even_pads(c, dims)?),
        Arg::list(spatial(c, "dilations", dims)?),
        Arg::Bool(false),
        Arg::list(zeros),
        Arg::Int(c.int("groups")?),
    ];
    one(c.b.call("aten.convolution.default", args)?)
}

/// What was given a dimension of one ahead of its last.
fn inner(c: &Call<'_, '_>, n: NodeId) -> Option<NodeId> {
    match (c.b.graph.target(n), c.b.graph.args(n)) {
        ("aten.unsqueeze.default", [Arg::Node(of), Arg::Int(2)]) if c.b.rank(n) == Ok(4) => Some(*of),
        _ => None,
    }
}

/// What was given a dimension of one to be convolved in two is a convolution of one dimension.
fn of_one_dimension(c: &mut Call<'_, '_>, x: NodeId, filter: NodeId, bias: &Arg) -> Result<Option<NodeId>, Undefined> {
    let (Some(line), Some(weights)) = (inner(c, x), inner(c, filter)) else { return Ok(None) };
    layouts(c, "NCHW", &["x", "filter"])?;
    let (strides, pads, dilations) = (spatial(c, "strides", 2)?, even_pads(c, 2)?, spatial(c, "dilations", 2)?);
    let (&[1, stride], &[0, pad], &[1, dilation]) = (&*strides, &*pads, &*dilations) else { return Ok(None) };
    let args = vec![
        Arg::Node(line),
        Arg::Node(weights),
        bias.clone(),
        Arg::list([stride]),
        Arg::list([pad]),
        Arg::list([dilation]),
        Arg::Bool(false),
        Arg::list([0_i64]),
        Arg::Int(c.int("groups")?),
    ];
    let y = c.b.call("aten.convolution.default", args)?;
    c.b.call("aten.unsqueeze.default", vec![Arg::Node(y), Arg::Int(2)]).map(Some)
}

fn conv_transpose(c: &mut Call<'_, '_>) -> Made {
    c.only(c.int("offset_x")? == 0 && !c.is_fed("offset_w"), "a convolution of offset integers")?;
    let (x, filter, bias) = (c.t("x")?, c.t("filter")?, c.maybe("bias")?);
    let dims = c.b.rank(x)?.saturating_sub(2);
    c.only(dims == if c.kind() == "Conv3DTranspose" { 3 } else { 2 }, "a convolution of so many dimensions")?;
    layouts(c, if dims == 3 { "NCDHW" } else { "NCHW" }, &["x", "filter"])?;
    let output_padding = c.int_list("output_padding")?;
    let args = vec![
        Arg::Node(x),
        Arg::Node(filter),
        bias,
        Arg::list(spatial(c, "strides", dims)?),
        Arg::list(even_pads(c, dims)?),
        Arg::list(spatial(c, "dilations", dims)?),
        Arg::Bool(true),
        Arg::list(output_padding.get(2..).unwrap_or(&[]).iter().copied()),
        Arg::Int(c.int("groups")?),
    ];
    c.only(output_padding.len() == dims.saturating_add(2), "an output padding of another length")?;
    c.only(output_padding.get(..2) == Some(&[0, 0]), "an output padding of samples or channels")?;
    let y = c.b.call("aten.convolution.default", args)?;
    // The sizes of the result are an input of GE's: they must be those that follow from the rest.
    let said = c.sizes("input_size")?;
    let own = c.b.sizes(y)?;
    let agree = said.len() == own.len() && said.iter().zip(&own).all(|(a, b)| c.b.same_size(a, b));
    c.only(agree, "a result of other sizes than the convolution gives")?;
    one(y)
}

/// By which operand a gradient is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Input,
    Filter,
}

/// The gradient of a convolution by one operand, of which only the sizes are given.
fn conv_gradient(c: &mut Call<'_, '_>, by: By) -> Made {
    let (given, sizes) = if by == By::Input { ("filter", "input_size") } else { ("x", "filter_size") };
    let (mut other, mut grad, mut sizes) = (c.t(given)?, c.t("out_backprop")?, c.sizes(sizes)?);
    let dims = c.b.rank(grad)?.saturating_sub(2);
    c.only(dims == if c.kind().starts_with("Conv3D") { 3 } else { 2 }, "a convolution of so many dimensions")?;
    layouts(c, if dims == 3 { "NCDHW" } else { "NCHW" }, &[given, "out_backprop"])?;
    let dtype = c.b.dtype(other)?;
    // By the filter GE gives single precision.
    c.only(c.b.dtype(grad)? == dtype && (by == By::Input || dtype == Dtype::F32), "a gradient of another type")?;
    let (mut strides, mut pads) = (spatial(c, "strides", dims)?, even_pads(c, dims)?);
    let mut dilations = spatial(c, "dilations", dims)?;
    let of_a_line = if dims == 2 { inner(c, other).zip(inner(c, grad)) } else { None };
    if let (Some(lines), [1, _], [0, _], [1, _]) = (of_a_line, &*strides, &*pads, &*dilations)
        && sizes.get(2) == Some(&Arg::Int(1))
    {
        (other, grad) = lines;
        sizes.remove(2);
        for list in [&mut strides, &mut pads, &mut dilations] {
            list.remove(0);
        }
    }
    let lost = c.b.full(sizes, Arg::Float(0.0), dtype)?;
    let (x, filter) = if by == By::Input { (lost, other) } else { (other, lost) };
    let zeros = vec![0_i64; strides.len()];
    let is_line = strides.len() < dims;
    let args = vec![
        Arg::Node(grad),
        Arg::Node(x),
        Arg::Node(filter),
        Arg::None,
        Arg::list(strides),
        Arg::list(pads),
        Arg::list(dilations),
        Arg::Bool(false),
        Arg::list(zeros),
        Arg::Int(c.int("groups")?),
        Arg::List([by == By::Input, by == By::Filter, false].map(Arg::Bool).into()),
    ];
    let made = c.b.by_definition("aten.convolution_backward.default", args)?;
    let Some(Arg::Node(made)) = made.get(if by == By::Input { 0 } else { 1 }) else {
        return super::undefined("a gradient that is not there");
    };
    one(if is_line { c.b.call("aten.unsqueeze.default", vec![Arg::Node(*made), Arg::Int(2)])? } else { *made })
}

/// `perm_y((perm_x1(x1)) @ (perm_x2(x2)))`.
fn transposed_product(c: &mut Call<'_, '_>) -> Made {
    c.only(!c.is_fed("bias") && !c.is_fed("scale"), "a bias or scale")?;
    let _ = c.int("batch_split_factor")?;
    c.only(c.int("batch_split_factor")? == 1, "a batch that is split")?;
    let permuted = |c: &mut Call<'_, '_>, x: NodeId, name: &str| -> Result<NodeId, Undefined> {
        let order = c.int_list(name)?;
        let rank = c.b.rank(x)?;
        order.iter().try_for_each(|a| axis(*a, rank).map(|_| ()))?;
        if order.is_empty() {
            return Ok(x);
        }
        c.b.call("aten.permute.default", vec![Arg::Node(x), Arg::list(order)])
    };
    let (a, b) = (c.t("x1")?, c.t("x2")?);
    let (a, b) = (permuted(c, a, "perm_x1")?, permuted(c, b, "perm_x2")?);
    let y = c.b.call("aten.bmm.default", vec![Arg::Node(a), Arg::Node(b)])?;
    one(permuted(c, y, "perm_y")?)
}
