//! What layers need: windows of as many numbers as there are dimensions, channels that fit, weights of one dtype.

use crate::graph::{Arg, Dtype, TensorType};
use crate::ops::typing::call::Call;
use crate::ops::typing::require::{Entry, Needed, size};
use crate::ops::typing::sizes;
use crate::sym::Dim;

pub(in crate::ops) const NEEDS: &[Entry] = &[
    (larger_than_kernel, &["aten.avg_pool3d.default"]),
    (
        pooled,
        &[
            "aten.max_pool1d.default",
            "aten.max_pool1d_with_indices.default",
            "aten.max_pool2d.default",
            "aten.max_pool2d_with_indices.default",
            "aten.max_pool3d.default",
            "aten.max_pool3d_with_indices.default",
            "aten.avg_pool1d.default",
            "aten.avg_pool2d.default",
            "aten.avg_pool3d.default",
        ],
    ),
    (
        adaptive,
        &[
            "aten.adaptive_avg_pool1d.default",
            "aten.adaptive_avg_pool2d.default",
            "aten.adaptive_avg_pool3d.default",
            "aten._adaptive_avg_pool2d.default",
            "aten._adaptive_avg_pool3d.default",
            "aten.adaptive_max_pool1d.default",
            "aten.adaptive_max_pool2d.default",
        ],
    ),
    (unpool, &["aten.max_unpool2d.default"]),
    (
        upsampled,
        &[
            "aten.upsample_nearest1d.default",
            "aten.upsample_nearest2d.default",
            "aten._upsample_nearest_exact2d.default",
            "aten.upsample_nearest3d.default",
            "aten._upsample_nearest_exact1d.default",
            "aten._upsample_nearest_exact3d.default",
            "aten.upsample_linear1d.default",
            "aten.upsample_bilinear2d.default",
            "aten.upsample_bicubic2d.default",
            "aten._upsample_bilinear2d_aa.default",
            "aten._upsample_bicubic2d_aa.default",
            "aten.upsample_nearest1d.vec",
            "aten.upsample_nearest2d.vec",
            "aten.upsample_nearest3d.vec",
            "aten._upsample_nearest_exact1d.vec",
            "aten._upsample_nearest_exact2d.vec",
            "aten.upsample_linear1d.vec",
            "aten.upsample_bilinear2d.vec",
            "aten.upsample_trilinear3d.vec",
            "aten.upsample_bicubic2d.vec",
            "aten._upsample_bilinear2d_aa.vec",
            "aten._upsample_bicubic2d_aa.vec",
        ],
    ),
    (sampled, &["aten.grid_sampler.default", "aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default"]),
    (grid, &["aten.affine_grid_generator.default"]),
    (reflected, &["aten.reflection_pad1d.default", "aten.reflection_pad2d.default", "aten.reflection_pad3d.default"]),
    (
        bordered,
        &[
            "aten.reflection_pad1d.default",
            "aten.reflection_pad2d.default",
            "aten.reflection_pad3d.default",
            "aten.replication_pad1d.default",
            "aten.replication_pad2d.default",
            "aten.replication_pad3d.default",
        ],
    ),
    (unfolded, &["aten.im2col.default"]),
    (folded, &["aten.col2im.default"]),
    (
        |c| c.need_float(4, "a probability from 0 to 1", |p| (0.0..=1.0).contains(&p)),
        &["aten.scaled_dot_product_attention.default", "aten._scaled_dot_product_attention_math.default"],
    ),
    (attention, &["aten._scaled_dot_product_flash_attention_for_cpu.default"]),
    (floats, &["aten.scaled_dot_product_attention.default", "aten._scaled_dot_product_attention_math.default"]),
    (rnn, &["aten.lstm.input", "aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input"]),
    (
        cell,
        &[
            "aten.lstm_cell.default",
            "aten.gru_cell.default",
            "aten.rnn_tanh_cell.default",
            "aten.rnn_relu_cell.default",
        ],
    ),
    (distances, &["aten.cdist.default", "aten._cdist_forward.default"]),
    (own_distances, &["aten._pdist_forward.default"]),
    (cross, &["aten.linalg_cross.default"]),
    (eight_bits, &["aten._int_mm.default"]),
    (bilinear, &["aten.bilinear.default"]),
    (
        factors,
        &[
            "aten.addmm.default",
            "aten.baddbmm.default",
            "aten.addbmm.default",
            "aten.addmv.default",
            "aten.addr.default",
        ],
    ),
    (similar, &["aten.cosine_similarity.default"]),
    (pool_gradient, &["aten.max_pool2d_with_indices_backward.default", "aten.avg_pool2d_backward.default"]),
    (adaptive_gradient, &["aten._adaptive_avg_pool2d_backward.default"]),
];

/// How many of the last dimensions are spatial: from the digit in the name.
pub(in crate::ops) fn space(c: &Call<'_>) -> usize {
    let name = &c.operator.schema.name;
    [("1d", 1), ("3d", 3)].iter().find(|(text, _)| name.contains(text)).map_or(2, |(_, n)| *n)
}

fn place(c: &Call<'_>, name: &str) -> usize {
    c.operator.schema.param_index(name).unwrap_or(usize::MAX)
}

/// Every size but that of the batch has elements.
fn has_places(c: &Call<'_>, i: usize, space: usize, but: usize) -> Needed {
    let t = c.tensor(i)?;
    let batch = usize::from(t.rank() > space.saturating_add(1));
    if t.sizes.iter().skip(batch.max(but)).any(|d| *d == Dim::Fixed(0)) {
        return Err(c.bad(i, "elements in every dimension but the batch", sizes::show(c.symbols, &t.sizes)));
    }
    Ok(())
}

fn pooled(c: &Call<'_>) -> Needed {
    let n = space(c);
    let lengths: &[usize] = if n == 1 { &[1] } else { &[1, n] };
    let strides: Vec<usize> = std::iter::once(0).chain(lengths.iter().copied()).collect();
    c.need_rank(0, n.saturating_add(1)..=n.saturating_add(2))?;
    c.need_length(1, lengths)?;
    c.need_length(2, &strides)?;
    c.need_length(3, lengths)?;
    if let Some(i) = c.operator.schema.param_index("dilation") {
        c.need_length(i, lengths)?;
    }
    if let Some(i) = c.operator.schema.param_index("divisor_override")
        && c.opt_int(i)? == Some(0)
    {
        return Err(c.bad(i, "another divisor than 0", "0"));
    }
    has_places(c, 0, n, 0)
}

/// Before it is padded, too.
fn larger_than_kernel(c: &Call<'_>) -> Needed {
    let (t, kernel) = (c.tensor(0)?, c.ints(1)?);
    let outer = t.rank().saturating_sub(3);
    for d in 0..3 {
        let k = kernel.get(d).or(kernel.first()).copied().unwrap_or(1);
        if size(t, outer.saturating_add(d)).fixed().is_some_and(|n| n < k) {
            return Err(c.bad(1, "a window within the input", k.to_string()));
        }
    }
    Ok(())
}

fn adaptive(c: &Call<'_>) -> Needed {
    let n = space(c);
    c.need_rank(0, n.saturating_add(1)..=n.saturating_add(2))?;
    c.need_length(1, &[n])?;
    if c.dims(1)?.iter().any(|d| d.fixed().is_some_and(|n| n < 0)) {
        return Err(c.bad(1, "sizes of 0 or more", sizes::show(c.symbols, &c.dims(1)?)));
    }
    let max = c.operator.schema.name.contains("max");
    let t = c.tensor(0)?;
    let inner = c.operator.schema.name.starts_with('_');
    // To one place it is a mean, also of nothing.
    if !max && !inner && c.dims(1)?.iter().all(|d| *d == Dim::Fixed(1)) {
        return Ok(());
    }
    has_places(c, 0, n, if max || n == 3 { 1 } else { t.rank().saturating_sub(n) })
}

fn unpool(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_dtype(1, "int64", |d| d == Dtype::I64)?;
    c.need_rank(0, 3..=4)?;
    c.need_length(2, &[2])?;
    c.need_sizes(1, &t.sizes)?;
    if c.dims(2)?.iter().any(|d| d.fixed().is_some_and(|n| n < 0)) {
        return Err(c.bad(2, "sizes of 0 or more", sizes::show(c.symbols, &c.dims(2)?)));
    }
    has_places(c, 0, 2, usize::from(t.rank() == 4))
}

fn upsampled(c: &Call<'_>) -> Needed {
    let n = space(c);
    let t = c.tensor(0)?;
    c.need_rank(0, n.saturating_add(2)..=n.saturating_add(2))?;
    if t.sizes.iter().skip(1).any(|d| *d == Dim::Fixed(0)) {
        return Err(c.bad(0, "elements in every dimension but the batch", sizes::show(c.symbols, &t.sizes)));
    }
    let factors = place(c, "scale_factors");
    if c.is_none(1) {
        if c.is_none(factors) {
            return Err(c.bad(1, "sizes or factors", "neither"));
        }
        return c.need_length(factors, &[n]);
    }
    if factors != usize::MAX && !c.is_none(factors) {
        return Err(c.bad(factors, "sizes or factors", "both"));
    }
    c.need_length(1, &[n])?;
    if c.dims(1)?.iter().any(|d| d.fixed().is_some_and(|n| n < 1)) {
        return Err(c.bad(1, "sizes of 1 or more", sizes::show(c.symbols, &c.dims(1)?)));
    }
    Ok(())
}

fn sampled(c: &Call<'_>) -> Needed {
    let (t, grid) = (c.tensor(0)?, c.tensor(1)?);
    let ranks = match &*c.operator.schema.name {
        "grid_sampler_2d" => 4..=4,
        "grid_sampler_3d" => 5..=5,
        _ => 4..=5,
    };
    c.need_rank(0, ranks)?;
    c.need_rank(1, t.rank()..=t.rank())?;
    c.need_same_dtype(1, 0)?;
    c.need_equal(1, "a batch of", size(t, 0), size(grid, 0))?;
    let ways = Dim::Fixed(i64::try_from(t.rank().saturating_sub(2)).unwrap_or(0));
    c.need_equal(1, "a last size of", ways, size(grid, grid.rank().saturating_sub(1)))?;
    if t.sizes.iter().skip(2).any(|d| *d == Dim::Fixed(0)) {
        return Err(c.bad(0, "elements in every spatial dimension", sizes::show(c.symbols, &t.sizes)));
    }
    if t.rank() == 5 && c.opt_int(2)? == Some(2) {
        return Err(c.bad(2, "no bicubic interpolation of volumes", "2"));
    }
    Ok(())
}

fn grid(c: &Call<'_>) -> Needed {
    let (t, wanted) = (c.tensor(0)?, c.dims(1)?);
    if !(4..=5).contains(&wanted.len()) {
        return Err(c.bad(1, "4 or 5 sizes", wanted.len().to_string()));
    }
    if wanted.iter().any(|d| d.fixed().is_some_and(|n| n < 0)) {
        return Err(c.bad(1, "sizes of 0 or more", sizes::show(c.symbols, &wanted)));
    }
    let ways = Dim::Fixed(i64::try_from(wanted.len().saturating_sub(2)).unwrap_or(0));
    let batch = wanted.first().copied().unwrap_or(Dim::Fixed(1));
    c.need_rank(0, 3..=3)?;
    c.need_equal(0, "a batch of", batch, size(t, 0))?;
    let columns = sizes::same(c.symbols, ways, Dim::Fixed(2)).unwrap_or(false);
    c.need_equal(0, "rows:", ways, size(t, 1))?;
    c.need_equal(0, "columns:", Dim::Fixed(if columns { 3 } else { 4 }), size(t, 2))
}

/// As many paddings as borders; a batch may be empty, nothing else.
fn bordered(c: &Call<'_>) -> Needed {
    let n = space(c);
    let t = c.tensor(0)?;
    c.need_length(1, &[n.saturating_mul(2)])?;
    c.need_rank(0, n.saturating_add(1)..=n.saturating_add(2))?;
    has_places(c, 0, n, 0)?;
    for (k, pair) in c.ints(1)?.chunks(2).enumerate() {
        let own = size(t, t.rank().saturating_sub(1).saturating_sub(k)).fixed();
        let sum = pair.iter().fold(0_i64, |s, p| s.saturating_add(*p));
        if own.is_some_and(|n| n.saturating_add(sum) < 1) {
            return Err(c.bad(1, "paddings that leave an element", format!("{pair:?}")));
        }
    }
    Ok(())
}

/// A reflection is shorter than what it reflects.
fn reflected(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    for (k, pair) in c.ints(1)?.chunks(2).enumerate() {
        let Some(n) = size(t, t.rank().saturating_sub(1).saturating_sub(k)).fixed() else { continue };
        if pair.iter().any(|p| *p >= n) {
            return Err(c.bad(1, format!("less than {n} in each direction"), format!("{pair:?}")));
        }
    }
    Ok(())
}

/// Kernel, dilation, padding and stride of two dimensions.
fn windows(c: &Call<'_>) -> Needed {
    for (name, least) in [("kernel_size", 1), ("dilation", 1), ("padding", 0), ("stride", 1)] {
        let i = place(c, name);
        c.need_length(i, &[2])?;
        if c.ints(i)?.iter().any(|n| *n < least) {
            return Err(c.bad(i, format!("values of {least} or more"), format!("{:?}", c.ints(i)?)));
        }
    }
    Ok(())
}

/// How many windows fit into an image, where that is known.
fn fitting(c: &Call<'_>, image: &[Dim]) -> Result<Option<i64>, crate::ops::error::Fault> {
    let read = |name| c.ints(place(c, name));
    let (kernel, dilation, padding, stride) =
        (read("kernel_size")?, read("dilation")?, read("padding")?, read("stride")?);
    let mut count = 1_i64;
    for (d, size) in image.iter().enumerate() {
        let at = |list: &[i64]| list.get(d).copied().unwrap_or(1);
        let Some(size) = size.fixed() else { return Ok(None) };
        let reach = at(&dilation).saturating_mul(at(&kernel).saturating_sub(1)).saturating_add(1);
        let room = size.saturating_add(at(&padding).saturating_mul(2)).saturating_sub(reach);
        let here = room.div_euclid(at(&stride).max(1)).saturating_add(1);
        if here < 1 {
            return Err(c.bad(place(c, "kernel_size"), "a window within the padded image", format!("{kernel:?}")));
        }
        count = count.saturating_mul(here);
    }
    Ok(Some(count))
}

fn unfolded(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_rank(0, 3..=4)?;
    windows(c)?;
    has_places(c, 0, 2, 0)?;
    let image: Vec<Dim> = t.sizes.iter().skip(t.rank().saturating_sub(2)).copied().collect();
    fitting(c, &image).map(|_| ())
}

fn folded(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_length(1, &[2])?;
    windows(c)?;
    c.need_rank(0, 2..=3)?;
    has_places(c, 0, 1, 0)?;
    let image = c.dims(1)?;
    if image.iter().any(|d| d.fixed().is_some_and(|n| n < 1)) {
        return Err(c.bad(1, "sizes of 1 or more", sizes::show(c.symbols, &image)));
    }
    let area = c.ints(2)?.iter().fold(1_i64, |n, k| n.saturating_mul(*k));
    let planes = size(t, t.rank().saturating_sub(2));
    if planes.fixed().is_some_and(|n| n.checked_rem(area) != Some(0)) {
        return Err(c.bad(0, format!("channels that {area} divides"), c.symbols.print_python(planes)));
    }
    match fitting(c, &image)? {
        Some(count) => {
            c.need_equal(0, "as many columns as windows,", Dim::Fixed(count), size(t, t.rank().saturating_sub(1)))
        }
        None => Ok(()),
    }
}

fn floats(c: &Call<'_>) -> Needed {
    let (t, k, v) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    let batch = |t: &TensorType| t.sizes.iter().take(t.rank().saturating_sub(2)).copied().collect::<Vec<_>>();
    let grouped = c.operator.schema.param_index("enable_gqa").map_or(Ok(false), |i| c.bool(i))?;
    if !grouped {
        crate::ops::typing::out::broadcast(c, 2, &[&batch(t), &batch(k), &batch(v)])?;
    }
    if let Some(mask) = c.opt_tensor(3)? {
        let taken = [Dtype::Bool, Dtype::F32, t.dtype].contains(&mask.dtype);
        taken
            .then_some(())
            .ok_or_else(|| c.bad(3, format!("bool, float32 or {}", t.dtype.long()), mask.dtype.long()))?;
    }
    let scored = t.sizes.iter().all(|d| *d != Dim::Fixed(0));
    if scored { c.need_dtype(0, "of floats", |d| d.is_float() || d.is_complex()) } else { Ok(()) }
}

fn attention(c: &Call<'_>) -> Needed {
    for i in 0..3 {
        c.need_dtype(i, "of floats", Dtype::is_float)?;
        c.need_rank(i, 4..=4)?;
    }
    c.need_float(3, "no dropout", |p| p == 0.0)?;
    let (q, k, v) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    c.need_equal(1, "heads of width", size(q, 3), size(k, 3))?;
    c.need_equal(2, "heads of width", size(q, 3), size(v, 3))
}

/// Four or two tensors a layer and direction, states for each.
fn rnn(c: &Call<'_>) -> Needed {
    let (biased, layers, both) = (c.bool(3)?, c.int(4)?, c.bool(7)?);
    c.need_rank(0, 2..=3)?;
    c.need_dtype(0, "of floats", Dtype::is_float)?;
    c.need_int(4, 1..=i64::MAX)?;
    let ways = layers.saturating_mul(if both { 2 } else { 1 });
    let t = c.tensor(0)?;
    let states = match c.operator.schema.name.as_ref() {
        "lstm" => c.tensors(1)?,
        _ => vec![c.tensor(1)?],
    };
    // A state narrower than its cell is a projection, which has a weight of its own.
    let projected = match states.as_slice() {
        [h, cell] => sizes::differ(c.symbols, size(h, 2), size(cell, 2)),
        _ => false,
    };
    let each = if biased { 4_usize } else { 2 }.saturating_add(usize::from(projected));
    let params = c.tensors(2)?;
    let wanted = usize::try_from(ways).unwrap_or(0).saturating_mul(each);
    if params.len() != wanted {
        return Err(c.bad(2, format!("{wanted} weights"), params.len().to_string()));
    }
    if &*c.operator.schema.name == "lstm" && states.len() != 2 {
        return Err(c.bad(1, "two states", states.len().to_string()));
    }
    for s in &states {
        if s.rank() != 3 || s.dtype != t.dtype {
            return Err(c.bad(1, format!("states of 3 dimensions, {}", t.dtype.long()), s.dtype.long()));
        }
        c.need_equal(1, "states:", Dim::Fixed(ways), size(s, 0))?;
        if t.rank() == 3 {
            // PyTorch would broadcast one against the other, and give what no rule says.
            c.need_equal(1, "a batch of", size(t, usize::from(!c.bool(8)?)), size(s, 1))?;
        }
    }
    let gates = match &*c.operator.schema.name {
        "lstm" => 4,
        "gru" => 3,
        _ => 1,
    };
    let width = states.last().and_then(|s| size(s, 2).fixed());
    for (k, p) in params.iter().enumerate() {
        let is_projection = projected && k.saturating_add(1).is_multiple_of(each);
        if p.dtype != t.dtype {
            return Err(c.bad(2, format!("weights of {}", t.dtype.long()), p.dtype.long()));
        }
        if let Some(w) = width.filter(|_| !is_projection) {
            c.need_equal(2, "rows, one a gate and unit:", Dim::Fixed(w.saturating_mul(gates)), size(p, 0))?;
        }
        if k == 0 {
            c.need_equal(2, "columns:", size(t, t.rank().saturating_sub(1)), size(p, 1))?;
        }
    }
    Ok(())
}

/// One step: input and state are matrices, the weights have a row a gate and unit.
fn cell(c: &Call<'_>) -> Needed {
    let lstm = &*c.operator.schema.name == "lstm_cell";
    let t = c.tensor(0)?;
    let states = if lstm { c.tensors(1)? } else { vec![c.tensor(1)?] };
    if lstm && states.len() != 2 {
        return Err(c.bad(1, "two states", states.len().to_string()));
    }
    let Some(h) = states.first().copied() else { return Err(c.bad(1, "a state", "none")) };
    let (input_weight, state_weight) = (c.tensor(2)?, c.tensor(3)?);
    c.need_dtype(0, "of floats", |d| d.is_float() || d.is_complex())?;
    c.need_rank(0, 2..=2)?;
    c.need_rank(2, 2..=2)?;
    c.need_rank(3, 2..=2)?;
    for s in &states {
        if s.rank() != 2 {
            return Err(c.bad(1, "states of 2 dimensions", sizes::show(c.symbols, &s.sizes)));
        }
        c.need_equal(1, "as many rows as the input,", size(t, 0), size(s, 0))?;
        c.need_equal(1, "a width of", size(h, 1), size(s, 1))?;
    }
    c.need_equal(2, "columns:", size(t, 1), size(input_weight, 1))?;
    c.need_equal(3, "columns:", size(h, 1), size(state_weight, 1))?;
    let gates = match &*c.operator.schema.name {
        "lstm_cell" => 4,
        "gru_cell" => 3,
        _ => 1,
    };
    if let Some(width) = size(h, 1).fixed() {
        let rows = Dim::Fixed(width.saturating_mul(gates));
        c.need_equal(2, "rows, one a gate and unit:", rows, size(input_weight, 0))?;
        c.need_equal(3, "rows, one a gate and unit:", rows, size(state_weight, 0))?;
    }
    c.need_same_dtype(2, 0)?;
    c.need_same_dtype(3, 0)?;
    if h.dtype != t.dtype {
        return Err(c.bad(1, format!("dtype {}", t.dtype.long()), h.dtype.long()));
    }
    for i in [4, 5] {
        c.need_same_dtype(i, 0)?;
        if let Some(bias) = c.opt_tensor(i)? {
            c.need_broadcast_to(i, &[size(t, 0), size(input_weight, 0)])?;
            if bias.rank() > 1 {
                c.need_rank(i, 0..=1)?;
            }
        }
    }
    Ok(())
}

fn distances(c: &Call<'_>) -> Needed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    for i in [0, 1] {
        c.need_rank(i, 2..=usize::MAX)?;
        c.need_dtype(i, "of floats", Dtype::is_float)?;
    }
    c.need_same_dtype(1, 0)?;
    let last = |t: &TensorType| size(t, t.rank().saturating_sub(1));
    c.need_equal(1, "columns:", last(a), last(b))?;
    c.need_float(2, "an order of 0 or more", |p| p >= 0.0)?;
    c.need_int(3, 0..=2)
}

fn own_distances(c: &Call<'_>) -> Needed {
    let t = c.tensor(0)?;
    c.need_rank(0, 2..=2)?;
    let Some(strides) = &t.strides else { return Ok(()) };
    let mut expected = Some(1_i64);
    for (size, stride) in t.sizes.iter().zip(strides).rev() {
        let (Some(n), Some(s), Some(e)) = (size.fixed(), stride.fixed(), expected) else { return Ok(()) };
        if n != 1 && s != e && !t.sizes.contains(&Dim::Fixed(0)) {
            return Err(c.bad(0, "a contiguous tensor", sizes::show(c.symbols, strides)));
        }
        expected = e.checked_mul(n);
    }
    Ok(())
}

fn cross(c: &Call<'_>) -> Needed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    c.need_rank(1, a.rank()..=a.rank())?;
    c.need_same_dtype(1, 0)?;
    let d = c.axis(2, a.rank())?;
    c.need_equal(0, "a size of", Dim::Fixed(3), size(a, d))?;
    c.need_equal(1, "a size of", Dim::Fixed(3), size(b, d))
}

fn eight_bits(c: &Call<'_>) -> Needed {
    c.need_dtype(0, "int8 or uint8", |d| matches!(d, Dtype::I8 | Dtype::U8))?;
    c.need_dtype(1, "int8", |d| d == Dtype::I8)
}

fn bilinear(c: &Call<'_>) -> Needed {
    let (a, b, weight) = (c.tensor(0)?, c.tensor(1)?, c.tensor(2)?);
    for i in 1..=3 {
        c.need_same_dtype(i, 0)?;
    }
    c.need_rank(1, a.rank()..=a.rank())?;
    c.need_rank(2, 3..=3)?;
    for d in 0..a.rank().saturating_sub(1) {
        c.need_equal(1, "a batch of", size(a, d), size(b, d))?;
    }
    let last = |t: &TensorType| size(t, t.rank().saturating_sub(1));
    c.need_equal(2, "a size of", last(a), size(weight, 1))?;
    c.need_equal(2, "a size of", last(b), size(weight, 2))?;
    match c.opt_tensor(3)? {
        Some(_) => c.need_sizes(3, &[size(weight, 0)]),
        None => Ok(()),
    }
}

/// `beta` and `alpha` fit the result; complex ones need a complex dtype.
fn factors(c: &Call<'_>) -> Needed {
    let dtype = c.tensor(0)?.dtype;
    let strict = &*c.operator.schema.name == "addr";
    for i in [3, 4] {
        if strict {
            c.need_factor(i, dtype)?;
        } else if let Arg::Complex(_, im) = c.arg(i)
            && *im != 0.0
            && !dtype.is_complex()
        {
            return Err(c.bad(i, format!("a factor for {}", dtype.long()), "a complex number"));
        }
    }
    Ok(())
}

fn similar(c: &Call<'_>) -> Needed {
    let (a, b) = (c.tensor(0)?, c.tensor(1)?);
    let joint = crate::ops::typing::promote::promote(a.dtype, b.dtype).unwrap_or(a.dtype);
    if joint.is_float() { Ok(()) } else { Err(c.bad(0, "floats together", joint.long())) }
}

/// The gradient has the sizes of the pooled result, and its dtype.
fn pool_gradient(c: &Call<'_>) -> Needed {
    let t = c.tensor(1)?;
    c.need_rank(1, 3..=4)?;
    c.need_same_dtype(0, 1)?;
    for i in [2, 4] {
        c.need_length(i, &[1, 2])?;
    }
    c.need_length(3, &[0, 1, 2])?;
    has_places(c, 1, 2, 0)?;
    let max = c.operator.schema.name.contains("max");
    let (kernel, stride, padding) = (c.ints(2)?, c.ints(3)?, c.ints(4)?);
    let dilation = if max { c.ints(5)? } else { smallvec::smallvec![1] };
    let ceil = c.bool(if max { 6 } else { 5 })?;
    let at = |list: &[i64], d: usize, other: i64| list.get(d).or(list.first()).copied().unwrap_or(other);
    let outer = t.rank().saturating_sub(2);
    let mut wanted: Vec<Dim> = t.sizes.iter().take(outer).copied().collect();
    for d in 0..2 {
        let k = at(&kernel, d, 1);
        let (s, p, wide) = (at(&stride, d, k), at(&padding, d, 0), at(&dilation, d, 1));
        if k < 1 || s < 1 || wide < 1 || p < 0 || p > k / 2 {
            return Err(c.bad(2, "a window of 1 or more with at most half of it as padding", k.to_string()));
        }
        let Some(n) = size(t, outer.saturating_add(d)).fixed() else { return Ok(()) };
        let reach = wide.saturating_mul(k.saturating_sub(1)).saturating_add(1);
        let room = n.saturating_add(p.saturating_mul(2)).saturating_sub(reach);
        let rounded = if ceil { room.saturating_add(s).saturating_sub(1) } else { room };
        let mut count = rounded.div_euclid(s).saturating_add(1);
        if ceil && count.saturating_sub(1).saturating_mul(s) >= n.saturating_add(p) {
            count = count.saturating_sub(1);
        }
        if count < 1 {
            return Err(c.bad(2, "a window within the padded input", k.to_string()));
        }
        wanted.push(Dim::Fixed(count));
    }
    if max {
        c.need_dtype(7, "int64", |d| d == Dtype::I64)?;
        c.need_sizes(7, &wanted)?;
    }
    c.need_sizes(0, &wanted)
}

fn adaptive_gradient(c: &Call<'_>) -> Needed {
    let (gradient, t) = (c.tensor(0)?, c.tensor(1)?);
    c.need_same_dtype(0, 1)?;
    c.need_rank(1, 3..=4)?;
    c.need_rank(0, t.rank()..=t.rank())?;
    if gradient.sizes.iter().skip(1).any(|d| *d == Dim::Fixed(0)) {
        return Err(c.bad(0, "elements in every dimension but the batch", sizes::show(c.symbols, &gradient.sizes)));
    }
    Ok(())
}
