//! The ordered list of a body: links and order labels.
//!
//! Labels grow along the list, so "is a before b" is one comparison. Where there is no room between two neighbours, the
//! smallest window of labels that is sparse enough is spread out again: amortised O(log n) relabelled nodes an insertion
//! (Bender, Cole, Demaine, Farach-Colton, Zito: Two Simplified Algorithms for Maintaining Order in a List, 2002).

use serde::{Deserialize, Serialize};

use super::BodyId;

/// No neighbour.
pub(crate) const NONE: u32 = u32::MAX;

const APPEND_GAP: u64 = 1 << 32;
const TOP: u64 = 1 << 62;

/// Where a node stands in its body.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Link {
    pub(crate) previous: u32,
    pub(crate) next: u32,
    pub(crate) label: u64,
    pub(crate) body: BodyId,
}

/// Returns a label between two neighbours, or `None` where there is no room.
pub(crate) fn label_between(previous: Option<u64>, next: Option<u64>) -> Option<u64> {
    match (previous, next) {
        (None, None) => Some(TOP >> 1),
        (Some(p), None) => {
            let step = APPEND_GAP.min(TOP.saturating_sub(p) >> 1);
            (step > 0).then(|| p.saturating_add(step))
        }
        (None, Some(n)) => {
            let step = APPEND_GAP.min(n >> 1);
            (step > 0).then(|| n.saturating_sub(step))
        }
        (Some(p), Some(n)) => {
            let half = n.saturating_sub(p) >> 1;
            (half > 0).then(|| p.saturating_add(half))
        }
    }
}

/// Returns new labels around `at`: pairs of node index and label. `links` gives any node's link.
pub(crate) fn spread(at: u32, links: impl Fn(u32) -> Option<Link>) -> Vec<(u32, u64)> {
    let Some(start) = links(at) else {
        return Vec::new();
    };
    let (mut first, mut last, mut count) = (at, at, 1_u64);
    let mut bits = 1_u32;
    loop {
        let width = 1_u64 << bits;
        let base = start.label & !width.wrapping_sub(1);
        let end = base.saturating_add(width);
        while let Some((i, _)) =
            links(first).and_then(|l| Some((l.previous, links(l.previous)?))).filter(|(_, l)| l.label >= base)
        {
            first = i;
            count = count.saturating_add(1);
        }
        while let Some((i, _)) = links(last).and_then(|l| Some((l.next, links(l.next)?))).filter(|(_, l)| l.label < end)
        {
            last = i;
            count = count.saturating_add(1);
        }
        let gap = width.checked_div(count.saturating_add(1)).unwrap_or(0);
        if gap >= sparse_gap(bits) || bits >= 61 {
            return evenly(first, base, gap.max(1), count, links);
        }
        bits = bits.saturating_add(1);
    }
}

/// How far apart labels must be for a window of `2^bits` to count as sparse: 1.5^bits, at least 4.
fn sparse_gap(bits: u32) -> u64 {
    let mut gap = 1_u64;
    for _ in 0..bits {
        gap = gap.saturating_add(gap >> 1).saturating_add(u64::from(gap == 1));
    }
    gap.clamp(4, 1 << 40)
}

fn evenly(first: u32, base: u64, gap: u64, count: u64, links: impl Fn(u32) -> Option<Link>) -> Vec<(u32, u64)> {
    let mut labels = Vec::new();
    let (mut node, mut label) = (first, base);
    for _ in 0..count {
        label = label.saturating_add(gap);
        labels.push((node, label));
        let Some(link) = links(node) else { break };
        node = link.next;
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_label_between_neighbours() {
        assert_eq!(label_between(Some(4), Some(5)), None);
        assert_eq!(label_between(Some(4), Some(6)), Some(5));
        assert!(label_between(Some(7), None) > Some(7));
    }
}
