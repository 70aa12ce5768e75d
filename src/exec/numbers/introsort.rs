//! The partial orders of the C++ standard library's algorithms, step by step.
//!
//! `topk`, `median` and `mode` give places of equal values as GNU's `nth_element`, `partial_sort` and `sort` leave them: a result that
//! programs see. Promises: the same comparisons and moves in the same order; where an inconsistent order (of NaNs) would run out of the
//! slice there, it stops here.

/// Whether one element comes before another.
pub trait Before<T>: Fn(&T, &T) -> bool {}
impl<T, F: Fn(&T, &T) -> bool> Before<T> for F {}

const INSERTION: usize = 16;

fn holds<T>(v: &[T], a: usize, b: usize, before: &impl Before<T>) -> bool {
    matches!((v.get(a), v.get(b)), (Some(a), Some(b)) if before(a, b))
}

fn swap<T>(v: &mut [T], a: usize, b: usize) {
    if a < v.len() && b < v.len() {
        v.swap(a, b);
    }
}

fn depth_limit(n: usize) -> usize {
    usize::try_from(n.checked_ilog2().unwrap_or(0)).unwrap_or(0).saturating_mul(2)
}

/// Sorts, not stably: `std::sort`.
pub fn sort<T: Copy>(v: &mut [T], before: &impl Before<T>) {
    // Parts yet to be sorted: first, end, how deep they may still be cut.
    let mut parts = vec![(0_usize, v.len(), depth_limit(v.len()))];
    while let Some((first, mut last, mut depth)) = parts.pop() {
        while last.saturating_sub(first) > INSERTION {
            if depth == 0 {
                partial_sort_range(v, first, last, last, before);
                break;
            }
            depth = depth.saturating_sub(1);
            let cut = partition_pivot(v, first, last, before);
            parts.push((cut, last, depth));
            last = cut;
        }
    }
    final_insertion(v, before);
}

fn final_insertion<T: Copy>(v: &mut [T], before: &impl Before<T>) {
    let len = v.len();
    let guarded = len.min(INSERTION);
    insertion(v, 0, guarded, before);
    for k in guarded..len {
        linear_insert(v, k, 0, before);
    }
}

fn insertion<T: Copy>(v: &mut [T], first: usize, last: usize, before: &impl Before<T>) {
    for k in first.saturating_add(1)..last {
        if holds(v, k, first, before) {
            if let Some(part) = v.get_mut(first..=k) {
                part.rotate_right(1);
            }
        } else {
            linear_insert(v, k, first, before);
        }
    }
}

fn linear_insert<T: Copy>(v: &mut [T], k: usize, floor: usize, before: &impl Before<T>) {
    let mut at = k;
    while at > floor && holds(v, at, at.saturating_sub(1), before) {
        swap(v, at, at.saturating_sub(1));
        at = at.saturating_sub(1);
    }
}

/// `__unguarded_partition_pivot`: returns where the second part starts.
fn partition_pivot<T: Copy>(v: &mut [T], first: usize, last: usize, before: &impl Before<T>) -> usize {
    let mid = first.saturating_add(last.saturating_sub(first) >> 1);
    let (a, b, c) = (first.saturating_add(1), mid, last.saturating_sub(1));
    let median = if holds(v, a, b, before) {
        if holds(v, b, c, before) {
            b
        } else if holds(v, a, c, before) {
            c
        } else {
            a
        }
    } else if holds(v, a, c, before) {
        a
    } else if holds(v, b, c, before) {
        c
    } else {
        b
    };
    swap(v, first, median);
    let (mut low, mut high) = (a, last);
    loop {
        while low < v.len() && holds(v, low, first, before) {
            low = low.saturating_add(1);
        }
        high = high.saturating_sub(1);
        while high > 0 && holds(v, first, high, before) {
            high = high.saturating_sub(1);
        }
        if low >= high {
            return low.min(last);
        }
        swap(v, low, high);
        low = low.saturating_add(1);
    }
}

/// Puts the element that belongs at `nth` there, smaller ones before it: `std::nth_element`.
pub fn nth_element<T: Copy>(v: &mut [T], nth: usize, before: &impl Before<T>) {
    let (mut first, mut last) = (0_usize, v.len());
    if nth >= last {
        return;
    }
    let mut depth = depth_limit(last);
    while last.saturating_sub(first) > 3 {
        if depth == 0 {
            heap_select(v, first, nth.saturating_add(1), last, before);
            swap(v, first, nth);
            return;
        }
        depth = depth.saturating_sub(1);
        let cut = partition_pivot(v, first, last, before);
        if cut <= nth {
            first = cut;
        } else {
            last = cut;
        }
    }
    insertion(v, first, last, before);
}

/// Puts the first `count` elements in order: `std::partial_sort`.
pub fn partial_sort<T: Copy>(v: &mut [T], count: usize, before: &impl Before<T>) {
    let last = v.len();
    partial_sort_range(v, 0, count.min(last), last, before);
}

fn partial_sort_range<T: Copy>(v: &mut [T], first: usize, middle: usize, last: usize, before: &impl Before<T>) {
    heap_select(v, first, middle, last, before);
    let Some(heap) = v.get_mut(first..middle) else { return };
    for end in (1..heap.len()).rev() {
        pop_heap(heap, end, end, before);
    }
}

fn heap_select<T: Copy>(v: &mut [T], first: usize, middle: usize, last: usize, before: &impl Before<T>) {
    let Some(part) = v.get_mut(first..last) else { return };
    let len = middle.saturating_sub(first);
    for hole in (0..len >> 1).rev() {
        if let Some(value) = part.get(hole).copied() {
            adjust_heap(part, hole, len, value, before);
        }
    }
    for k in len..part.len() {
        if holds(part, k, 0, before) {
            pop_heap(part, len, k, before);
        }
    }
}

/// Moves the top of the heap of `len` elements to `to`, and what was there into the heap.
fn pop_heap<T: Copy>(v: &mut [T], len: usize, to: usize, before: &impl Before<T>) {
    let (Some(value), Some(top)) = (v.get(to).copied(), v.first().copied()) else { return };
    if let Some(place) = v.get_mut(to) {
        *place = top;
    }
    adjust_heap(v, 0, len, value, before);
}

fn adjust_heap<T: Copy>(v: &mut [T], top: usize, len: usize, value: T, before: &impl Before<T>) {
    let put = |v: &mut [T], at: usize, value: T| {
        if let Some(place) = v.get_mut(at) {
            *place = value;
        }
    };
    let mut hole = top;
    let mut child = top;
    while child < len.saturating_sub(1) >> 1 {
        child = child.saturating_add(1).saturating_mul(2);
        if holds(v, child, child.saturating_sub(1), before) {
            child = child.saturating_sub(1);
        }
        if let Some(moved) = v.get(child).copied() {
            put(v, hole, moved);
        }
        hole = child;
    }
    if len & 1 == 0 && child == len.saturating_sub(2) >> 1 {
        child = child.saturating_add(1).saturating_mul(2).saturating_sub(1);
        if let Some(moved) = v.get(child).copied() {
            put(v, hole, moved);
        }
        hole = child;
    }
    while hole > top {
        let parent = hole.saturating_sub(1) >> 1;
        match v.get(parent).copied() {
            Some(p) if before(&p, &value) => put(v, hole, p),
            _ => break,
        }
        hole = parent;
    }
    put(v, hole, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_sorted_slice_is_in_order(mut v in prop::collection::vec(0_i32..50, 0..200)) {
            let mut wanted = v.clone();
            wanted.sort_unstable();
            sort(&mut v, &|a: &i32, b: &i32| a < b);
            prop_assert_eq!(v, wanted);
        }

        #[test]
        fn the_nth_element_parts_the_others(mut v in prop::collection::vec(0_i32..50, 1..200), at in 0_usize..200) {
            let nth = at % v.len();
            let mut wanted = v.clone();
            wanted.sort_unstable();
            nth_element(&mut v, nth, &|a: &i32, b: &i32| a < b);
            prop_assert_eq!(v[nth], wanted[nth]);
            prop_assert!(v[..nth].iter().all(|x| *x <= v[nth]) && v[nth..].iter().all(|x| *x >= v[nth]));
        }

        #[test]
        fn a_partial_sort_puts_the_smallest_first(mut v in prop::collection::vec(0_i32..50, 0..200), at in 0_usize..200) {
            let count = at.min(v.len());
            let mut wanted = v.clone();
            wanted.sort_unstable();
            partial_sort(&mut v, count, &|a: &i32, b: &i32| a < b);
            prop_assert_eq!(&v[..count], &wanted[..count]);
        }
    }
}
