//! Linear algebra on stacks of matrices.
//!
//! Of complex numbers: solutions, inverses, determinants, LU and Cholesky; the rest refuses them. See `dense::factor` for what is LAPACK's and what is not.

#![allow(clippy::indexing_slicing, reason = "each index runs below a size of the matrix that it is taken from")]
#![allow(clippy::arithmetic_side_effects, reason = "floats and complex numbers; integers wrap or saturate by name")]

use ndarray::s;

use crate::exec::call::cx::Cx;
use crate::exec::call::memory;
use crate::exec::dense::factor::{self, Lu, Matrix, Scalar, Triangle};
use crate::exec::kernels::Entry;
use crate::exec::tensor::Tensor;
use crate::exec::tensor::lane::{C128, Lane};
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

/// A kernel of the numbers that the first operand holds.
macro_rules! by_number {
    ($cx:expr, $kernel:ident) => {
        if $cx.tensor(0)?.dtype().is_complex() { $kernel::<C128>($cx) } else { $kernel::<f64>($cx) }
    };
}

pub(in crate::exec) const KERNELS: &[Entry] = &[
    (check_errors, &["aten._linalg_check_errors.default"]),
    (|cx| by_number!(cx, inverse), &["aten.linalg_inv_ex.default"]),
    (|cx| by_number!(cx, solve), &["aten._linalg_solve_ex.default"]),
    (|cx| by_number!(cx, determinant), &["aten._linalg_det.default"]),
    (|cx| by_number!(cx, sign_and_log), &["aten._linalg_slogdet.default"]),
    (|cx| by_number!(cx, lu_factor), &["aten.linalg_lu_factor_ex.default"]),
    (|cx| by_number!(cx, lu), &["aten.linalg_lu.default"]),
    (|cx| by_number!(cx, lu_unpack), &["aten.lu_unpack.default"]),
    (|cx| by_number!(cx, cholesky), &["aten.linalg_cholesky_ex.default"]),
    (|cx| by_number!(cx, triangular), &["aten.linalg_solve_triangular.default"]),
    (qr, &["aten.linalg_qr.default"]),
    (reflections, &["aten.geqrf.default"]),
    (reflected, &["aten.linalg_householder_product.default"]),
    (eigh, &["aten._linalg_eigh.default"]),
    (svd, &["aten._linalg_svd.default"]),
    (exponential, &["aten.linalg_matrix_exp.default"]),
];

/// The matrices of a stack, each by itself.
fn matrices<T: Scalar>(cx: &Cx<'_, '_, '_>, t: &Tensor) -> Result<Vec<Matrix<T>>, CallFault> {
    let of_complex = matches!(t.dtype(), Dtype::C64 | Dtype::C128) && T::DTYPE.is_complex();
    if !of_complex && !matches!(t.dtype(), Dtype::F32 | Dtype::F64) {
        return Err(CallFault::Unsupported { what: format!("linear algebra of {}", t.dtype().long()) });
    }
    let [ahead @ .., rows, columns] = t.sizes() else { return Err(cx.bad(0, "matrices", format!("{:?}", t.sizes()))) };
    let (count, size) = (ahead.iter().product::<usize>(), rows.saturating_mul(*columns));
    // Factors, and what they are made of.
    memory::work(t.numel().saturating_mul(32), cx.session.most_bytes)?;
    if size == 0 {
        return Ok(vec![Matrix::zeros((*rows, *columns)); count]);
    }
    let values = t.lanes::<T>()?;
    let made = values.chunks_exact(size).map(|m| Matrix::from_shape_vec((*rows, *columns), m.to_vec()));
    made.collect::<Result<_, _>>().map_err(|e| CallFault::Unsupported { what: e.to_string() })
}

/// Adds one matrix's part to the values of a result.
type Part<'m, T = f64> = &'m dyn Fn(&mut Vec<T>);

/// Results in the making: the values of each, row by row.
struct Results<const N: usize, T = f64>([Vec<T>; N]);

impl<const N: usize, T: Scalar> Results<N, T> {
    fn new() -> Self {
        Results(std::array::from_fn(|_| Vec::new()))
    }

    fn add(&mut self, results: [Part<'_, T>; N]) {
        for (out, add) in self.0.iter_mut().zip(results) {
            add(out);
        }
    }

    /// Each in its dtype.
    fn emit(self, cx: &Cx<'_, '_, '_>) -> Made {
        let one = |(k, values): (usize, Vec<T>)| cx.emit_at(k, values).map(Value::Tensor);
        self.0.into_iter().enumerate().map(one).collect::<Result<_, _>>().map(Value::List)
    }
}

fn matrix<T: Scalar>(m: &Matrix<T>) -> impl Fn(&mut Vec<T>) {
    |out| out.extend(m.iter().copied())
}

fn number<T: Scalar>(v: T) -> impl Fn(&mut Vec<T>) {
    move |out| out.push(v)
}

#[allow(clippy::cast_precision_loss)] // Sizes of matrices in memory.
fn integer<T: Scalar>(v: usize) -> impl Fn(&mut Vec<T>) {
    move |out| out.push(T::from_f64(v as f64))
}

#[allow(clippy::cast_precision_loss)]
fn pivots<T: Scalar>(lu: &Lu<T>) -> impl Fn(&mut Vec<T>) {
    |out| out.extend(lu.pivots.iter().map(|p| T::from_f64(p.saturating_add(1) as f64)))
}

fn nothing<T>(_: &mut Vec<T>) {}

/// What PyTorch raises for a matrix that has no factor.
fn failed(cx: &Cx<'_, '_, '_>, kind: &str, info: usize) -> CallFault {
    cx.bad(0, format!("a {kind} matrix"), format!("one without a factor at step {info}"))
}

fn check_errors(cx: &mut Cx<'_, '_, '_>) -> Made {
    let info = cx.tensor(0)?;
    match info.lanes::<i64>()?.iter().find(|i| **i != 0) {
        Some(info) => Err(cx.bad(0, "matrices that have factors", format!("one without a factor at step {info}"))),
        None => Ok(Value::None),
    }
}

fn inverse<T: Scalar>(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (t, check) = (cx.tensor(0)?, cx.bool(1)?);
    let mut out = Results::<2, T>::new();
    for m in matrices(cx, t)? {
        cx.session.check_time()?;
        let (eye, lu) = (Matrix::eye(m.nrows()), factor::lu(m, true));
        if lu.info != 0 && check {
            return Err(failed(cx, "regular", lu.info));
        }
        out.add([&matrix(&lu.solve(&eye)), &integer(lu.info)]);
    }
    out.emit(cx)
}

fn solve<T: Scalar>(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b, left, check) = (cx.tensor(0)?, cx.tensor(1)?, cx.bool(2)?, cx.bool(3)?);
    let meta = cx.meta_of(0)?;
    // The result has the right side's sizes, but for those ahead; a matrix more than it has stands for vectors.
    let without = a.sizes().get(..a.rank().saturating_sub(1)).unwrap_or_default();
    let vector = b.rank() == 1 || b.sizes() == without;
    let factors: Vec<Lu<T>> = matrices(cx, a)?.into_iter().map(|m| factor::lu(m, true)).collect();
    if let Some(bad) = factors.iter().find(|f| f.info != 0 && check) {
        return Err(failed(cx, "regular", bad.info));
    }
    let mut sizes = meta.sizes.clone();
    let mut held = b.clone();
    if vector {
        sizes.push(1);
        held.meta.sizes.push(1);
        held.meta.strides.push(1);
    }
    let ahead = sizes.get(..sizes.len().saturating_sub(2)).unwrap_or_default().to_vec();
    let right = matrices(cx, &held.broadcast(&sizes)?)?;
    let which = broadcast_places(a.sizes().get(..a.rank().saturating_sub(2)).unwrap_or_default(), &ahead);
    let mut out = Results::<4, T>::new();
    for (m, place) in right.into_iter().zip(which) {
        cx.session.check_time()?;
        let Some(lu) = factors.get(place) else { continue };
        let x = if left { lu.solve(&m) } else { solve_from_right(lu, &m) };
        out.add([&matrix(&x), &nothing, &nothing, &nothing]);
    }
    for lu in &factors {
        out.add([&nothing, &matrix(&lu.factors), &pivots(lu), &integer(lu.info)]);
    }
    out.emit(cx)
}

/// X with X A = B, from the factors of A.
fn solve_from_right<T: Scalar>(lu: &Lu<T>, b: &Matrix<T>) -> Matrix<T> {
    let turned = lu.factors.t().to_owned();
    let below = factor::solve_triangular(&turned, b.t().to_owned(), Triangle { upper: false, unit: false });
    let sorted = factor::solve_triangular(&turned, below, Triangle { upper: true, unit: true });
    let mut x = Matrix::zeros(sorted.dim());
    for (from, to) in lu.order(sorted.nrows()).into_iter().enumerate() {
        x.row_mut(to).assign(&sorted.row(from));
    }
    x.t().to_owned()
}

/// For each place of the larger sizes, in row-major order, the place of the smaller ones that is repeated to it.
fn broadcast_places(own: &[usize], sizes: &[usize]) -> Vec<usize> {
    let lead = sizes.len().saturating_sub(own.len());
    let mut places = vec![0_usize];
    for (d, size) in sizes.iter().enumerate() {
        let of = d.checked_sub(lead).and_then(|d| own.get(d)).copied().unwrap_or(1);
        let step = |base: usize| move |i: usize| base.saturating_mul(of).saturating_add(if of == 1 { 0 } else { i });
        places = places.into_iter().flat_map(|base| (0..*size).map(step(base))).collect();
    }
    places
}

/// The factors that a determinant is taken from: of a stack of real numbers that lies row by row, those of the transposed matrices, as PyTorch does it.
fn determined<T: Scalar>(t: &Tensor, m: Matrix<T>) -> Lu<T> {
    factor::lu(if t.meta.is_contiguous() && !t.dtype().is_complex() { m.t().to_owned() } else { m }, true)
}

fn diagonal_product<T: Scalar>(lu: &Lu<T>) -> T {
    lu.factors.diag().iter().fold(T::from_f64(lu.parity()), |p, d| p * *d)
}

fn determinant<T: Scalar>(cx: &mut Cx<'_, '_, '_>) -> Made {
    let mut out = Results::<3, T>::new();
    let t = cx.tensor(0)?;
    for m in matrices(cx, t)? {
        let lu = determined(t, m);
        out.add([&number(diagonal_product(&lu)), &matrix(&lu.factors), &pivots(&lu)]);
    }
    out.emit(cx)
}

fn sign_and_log<T: Scalar>(cx: &mut Cx<'_, '_, '_>) -> Made {
    let mut out = Results::<4, T>::new();
    let t = cx.tensor(0)?;
    for m in matrices(cx, t)? {
        let lu = determined(t, m);
        let length = |d: T| d.to_complex().norm();
        let sign = |d: T| if d.size() == 0.0 { d } else { d / T::from_f64(length(d)) };
        let signs = lu.factors.diag().iter().fold(T::from_f64(lu.parity()), |p, d| p * sign(*d));
        let logs = lu.factors.diag().iter().map(|d| length(*d).ln()).sum();
        out.add([&number(signs), &number(T::from_f64(logs)), &matrix(&lu.factors), &pivots(&lu)]);
    }
    out.emit(cx)
}

fn lu_factor<T: Scalar>(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (pivot, check) = (cx.bool(1)?, cx.bool(2)?);
    if !pivot {
        return Err(CallFault::Unsupported { what: "LU without pivots: PyTorch has it on GPUs alone".into() });
    }
    let mut out = Results::<3, T>::new();
    for m in matrices(cx, cx.tensor(0)?)? {
        cx.session.check_time()?;
        let lu = factor::lu(m, true);
        if lu.info != 0 && check {
            return Err(failed(cx, "regular", lu.info));
        }
        out.add([&matrix(&lu.factors), &pivots(&lu), &integer(lu.info)]);
    }
    out.emit(cx)
}

fn lu<T: Scalar>(cx: &mut Cx<'_, '_, '_>) -> Made {
    if !cx.bool(1)? {
        return Err(CallFault::Unsupported { what: "LU without pivots: PyTorch has it on GPUs alone".into() });
    }
    let mut out = Results::<3, T>::new();
    for m in matrices(cx, cx.tensor(0)?)? {
        cx.session.check_time()?;
        let rows = m.nrows();
        let lu = factor::lu(m, true);
        let order = sorting(&lu.order(rows));
        let (lower, upper) = apart(&lu.factors);
        out.add([&matrix(&order), &matrix(&lower), &matrix(&upper)]);
    }
    out.emit(cx)
}

/// The matrix that puts rows in this order back.
fn sorting<T: Scalar>(order: &[usize]) -> Matrix<T> {
    let mut made = Matrix::zeros((order.len(), order.len()));
    for (place, from) in order.iter().enumerate() {
        made[[*from, place]] = T::one();
    }
    made
}

/// Both factors of what holds them together.
fn apart<T: Scalar>(f: &Matrix<T>) -> (Matrix<T>, Matrix<T>) {
    let (rows, columns) = f.dim();
    let least = rows.min(columns);
    let lower = Matrix::from_shape_fn((rows, least), |(i, j)| match i.cmp(&j) {
        std::cmp::Ordering::Less => T::zero(),
        std::cmp::Ordering::Equal => T::one(),
        std::cmp::Ordering::Greater => f[[i, j]],
    });
    (lower, Matrix::from_shape_fn((least, columns), |(i, j)| if i > j { T::zero() } else { f[[i, j]] }))
}

fn lu_unpack<T: Scalar>(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (factors, permutation) = (cx.bool(2)?, cx.bool(3)?);
    let swaps = cx.tensor(1)?.lanes::<i64>()?.to_vec();
    let mut out = Results::<3, T>::new();
    for (k, f) in matrices(cx, cx.tensor(0)?)?.into_iter().enumerate() {
        cx.session.check_time()?;
        let (rows, columns) = f.dim();
        let least = rows.min(columns);
        let mut order: Vec<usize> = (0..rows).collect();
        for (i, with) in swaps.iter().skip(k.saturating_mul(least)).take(least).enumerate() {
            let with = usize::try_from(*with).ok().and_then(|w| w.checked_sub(1)).filter(|w| *w < rows);
            order.swap(i, with.ok_or_else(|| cx.bad(1, "rows of the matrices, counted from 1", "another"))?);
        }
        let (order, (lower, upper)) = (sorting(&order), apart(&f));
        let [order, lower, upper] = [matrix(&order), matrix(&lower), matrix(&upper)];
        let first: Part<'_, T> = if permutation { &order } else { &nothing };
        let [second, third]: [Part<'_, T>; 2] = if factors { [&lower, &upper] } else { [&nothing, &nothing] };
        out.add([first, second, third]);
    }
    out.emit(cx)
}

/// Rows for columns, and conjugates.
fn adjoint<T: Scalar>(m: &Matrix<T>) -> Matrix<T> {
    m.t().mapv(Lane::conj)
}

fn cholesky<T: Scalar>(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (upper, check) = (cx.bool(1)?, cx.bool(2)?);
    let mut out = Results::<2, T>::new();
    for m in matrices(cx, cx.tensor(0)?)? {
        cx.session.check_time()?;
        let m = if upper { adjoint(&m) } else { m };
        let (l, info) = factor::cholesky(&m);
        if info != 0 && check {
            return Err(failed(cx, "positive-definite", info));
        }
        if info != 0 {
            return Err(CallFault::Unsupported { what: format!("half a factor: the matrix ends at step {info}") });
        }
        let l = if upper { adjoint(&l) } else { l };
        out.add([&matrix(&l), &integer(info)]);
    }
    out.emit(cx)
}

fn triangular<T: Scalar>(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (a, b, upper, left, unit) = (cx.tensor(0)?, cx.tensor(1)?, cx.bool(2)?, cx.bool(3)?, cx.bool(4)?);
    let sizes = cx.meta_of(0)?.sizes;
    let ahead = sizes.get(..sizes.len().saturating_sub(2)).unwrap_or_default().to_vec();
    let which = broadcast_places(a.sizes().get(..a.rank().saturating_sub(2)).unwrap_or_default(), &ahead);
    let factors = matrices(cx, a)?;
    let mut out = Results::<1, T>::new();
    for (m, place) in matrices(cx, &b.broadcast(&sizes)?)?.into_iter().zip(which) {
        cx.session.check_time()?;
        let Some(a) = factors.get(place) else { continue };
        let x = if left {
            factor::solve_triangular(a, m, Triangle { upper, unit })
        } else {
            let half = Triangle { upper: !upper, unit };
            factor::solve_triangular(&a.t().to_owned(), m.t().to_owned(), half).t().to_owned()
        };
        out.add([&matrix(&x)]);
    }
    let [values] = out.0;
    cx.emit(values)
}

fn qr(cx: &mut Cx<'_, '_, '_>) -> Made {
    let mode = cx.text(1);
    let mut out = Results::<2>::new();
    for m in matrices::<f64>(cx, cx.tensor(0)?)? {
        cx.session.check_time()?;
        let inner = if mode == "complete" { m.nrows() } else { m.nrows().min(m.ncols()) };
        let (q, r) = factor::qr(m, inner);
        let all = matrix(&q);
        let q: Part<'_> = if mode == "r" { &nothing } else { &all };
        out.add([q, &matrix(&r)]);
    }
    out.emit(cx)
}

fn reflections(cx: &mut Cx<'_, '_, '_>) -> Made {
    let mut out = Results::<2>::new();
    for m in matrices::<f64>(cx, cx.tensor(0)?)? {
        cx.session.check_time()?;
        let (m, shares) = factor::reflections(m);
        out.add([&matrix(&m), &|out| out.extend(&shares)]);
    }
    out.emit(cx)
}

fn reflected(cx: &mut Cx<'_, '_, '_>) -> Made {
    let shares = cx.tensor(1)?;
    let (all, count) = (shares.lanes::<f64>()?, shares.sizes().last().copied().unwrap_or(0));
    let mut out = Results::<1>::new();
    for (k, m) in matrices::<f64>(cx, cx.tensor(0)?)?.into_iter().enumerate() {
        cx.session.check_time()?;
        let first = k.saturating_mul(count);
        let shares = all.get(first..first.saturating_add(count)).unwrap_or_default();
        out.add([&matrix(&factor::reflected(&m, shares))]);
    }
    let [values] = out.0;
    cx.emit(values)
}

fn eigh(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (upper, vectors) = (cx.text(1).eq_ignore_ascii_case("u"), cx.bool(2)?);
    let mut out = Results::<2>::new();
    for m in matrices::<f64>(cx, cx.tensor(0)?)? {
        cx.session.check_time()?;
        if m.iter().any(|v| !v.is_finite()) {
            return Err(cx.bad(0, "finite numbers", "others"));
        }
        let (values, v) = factor::eigen(&if upper { m.t().to_owned() } else { m });
        let all = matrix(&v);
        let last: Part<'_> = if vectors { &all } else { &nothing };
        out.add([&|out| out.extend(&values), last]);
    }
    out.emit(cx)
}

fn svd(cx: &mut Cx<'_, '_, '_>) -> Made {
    let (full, vectors) = (cx.bool(1)?, cx.bool(2)?);
    let mut out = Results::<3>::new();
    for m in matrices::<f64>(cx, cx.tensor(0)?)? {
        cx.session.check_time()?;
        if m.iter().any(|v| !v.is_finite()) {
            return Err(cx.bad(0, "finite numbers", "others"));
        }
        let (rows, columns) = m.dim();
        let (u, values, v) = factor::svd(&m);
        let (u, v) = if full && vectors {
            (completed(&u, rows), completed(&v.t().to_owned(), columns).t().to_owned())
        } else {
            (u, v)
        };
        let (left, right) = (matrix(&u), matrix(&v));
        let first: Part<'_> = if vectors { &left } else { &nothing };
        let last: Part<'_> = if vectors { &right } else { &nothing };
        out.add([first, &|out| out.extend(&values), last]);
    }
    out.emit(cx)
}

/// Orthogonal columns and more of them, until there are as many as rows.
fn completed(u: &Matrix, rows: usize) -> Matrix {
    let (mut q, _) = factor::qr(u.clone(), rows);
    q.slice_mut(s![.., ..u.ncols()]).assign(u);
    q
}

fn exponential(cx: &mut Cx<'_, '_, '_>) -> Made {
    let mut out = Results::<1>::new();
    for m in matrices::<f64>(cx, cx.tensor(0)?)? {
        cx.session.check_time()?;
        if m.iter().any(|v| !v.is_finite()) {
            return Err(CallFault::Unsupported { what: "the exponential of a matrix of infinities or NaN".into() });
        }
        out.add([&matrix(&factor::exponential(&m))]);
    }
    let [values] = out.0;
    cx.emit(values)
}
