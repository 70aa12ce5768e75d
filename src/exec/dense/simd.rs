//! Plain loops compiled for the processor's vector units.
//!
//! The crate is built for the oldest x86-64, whose vectors hold four floats. A [`Kernel`] is a loop that is compiled also for AVX2
//! and for AVX-512 (and NEON); [`vectorised`] picks the widest that the machine has. No intrinsics: the compiler vectorises
//! the loop, and `pulp` holds the one unsafe call that this takes. So a kernel must be `#[inline(always)]`, with all it calls.

use std::marker::PhantomData;

use pulp::{Arch, Simd, WithSimd};

/// A loop over slices: a type with no data, so that the loop is known when it is compiled.
pub trait Kernel<A> {
    /// What the loop yields.
    type Output;
    /// The loop. Mark it `#[inline(always)]`.
    fn run(args: A) -> Self::Output;
}

struct Apply<A, K>(A, PhantomData<K>);

impl<A, K: Kernel<A>> WithSimd for Apply<A, K> {
    type Output = K::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> K::Output {
        K::run(self.0)
    }
}

/// Runs a kernel with the widest vectors that the machine has.
pub fn vectorised<K: Kernel<A>, A>(args: A) -> K::Output {
    Arch::new().dispatch(Apply::<A, K>(args, PhantomData))
}

/// Partial sums, or maxima, that a reduction runs side by side: a few vectors of the widest kind.
pub const LANES: usize = 64;

/// Folds a slice with [`LANES`] accumulators side by side: `step` takes one element in, `join` joins accumulators pairwise.
///
/// The order is fixed: element `i` goes to accumulator `i % LANES`, and those are joined as a balanced tree.
#[inline(always)]
pub fn fold_lanes<T: Copy, U: Copy>(x: &[T], start: U, step: impl Fn(U, T) -> U, join: impl Fn(U, U) -> U) -> U {
    let mut lanes = [start; LANES];
    let (whole, rest) = x.as_chunks::<LANES>();
    for chunk in whole {
        for (lane, &v) in lanes.iter_mut().zip(chunk) {
            *lane = step(*lane, v);
        }
    }
    for (lane, &v) in lanes.iter_mut().zip(rest) {
        *lane = step(*lane, v);
    }
    join_lanes(&mut lanes, join)
}

/// As [`fold_lanes`], where `step` may change the element that it takes in.
#[inline(always)]
pub fn fold_lanes_mut<T, U: Copy>(x: &mut [T], start: U, step: impl Fn(U, &mut T) -> U, join: impl Fn(U, U) -> U) -> U {
    let mut lanes = [start; LANES];
    let (whole, rest) = x.as_chunks_mut::<LANES>();
    for chunk in whole {
        for (lane, v) in lanes.iter_mut().zip(chunk) {
            *lane = step(*lane, v);
        }
    }
    for (lane, v) in lanes.iter_mut().zip(rest) {
        *lane = step(*lane, v);
    }
    join_lanes(&mut lanes, join)
}

/// Joins accumulators as a balanced tree, in place.
#[inline(always)]
pub fn join_lanes<U: Copy>(lanes: &mut [U; LANES], join: impl Fn(U, U) -> U) -> U {
    let mut half = LANES / 2;
    while half > 0 {
        let (low, high) = lanes.split_at_mut(half);
        for (a, &b) in low.iter_mut().zip(high.iter()) {
            *a = join(*a, b);
        }
        half /= 2;
    }
    let [first, ..] = lanes;
    *first
}
