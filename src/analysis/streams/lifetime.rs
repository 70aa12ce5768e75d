//! Lifetime: whether memory may be handed out again while another stream still uses it. Captured graphs only.
//!
//! Memory that a stream allocated is free after the last use, in list order, of any name of it; the next allocation on that
//! stream may get it, unless that comes after every use on other streams, or `record_tagged_stream` named the using stream.
//! Inputs, attributes and what the graph returns are never free. Whoever gives no new memory (an operator in place, a view)
//! allocates nothing: work space of operators is not looked at.
//!
//! Promises: where nothing is reported, no allocation of the graph overlaps a use in any schedule; storages that may be one are
//! taken as freed with the first of them. Leaves to GE what GE plans: nothing is asked of `max-autotune`.

use rustc_hash::{FxHashMap, FxHashSet};

use super::accesses::Work;
use super::order::{Order, Step};
use super::scopes::{StreamId, nodes_of};
use crate::analysis::{Place, Storages, getitem_of, place_of, places_of};
use crate::graph::{BodyId, NodeId, NodeKind, View};

/// A use of memory that an allocation may come into.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reuse {
    /// Where the memory is born.
    pub storage: Place,
    /// Who uses it on another stream.
    pub user: NodeId,
    /// Who may get it.
    pub next: NodeId,
    /// The memory surely is the storage's.
    pub certain: bool,
}

/// How many values that may lie in one memory are told apart.
const MAX_RELATED: usize = 64;

/// How many findings are reported.
const MAX_FOUND: usize = 1000;

struct Use {
    node: NodeId,
    place: Place,
    step: Step,
    at: usize,
}

/// Returns the uses that an allocation may come into, in list order of the storages.
pub fn reuses(view: &dyn View, order: &Order, work: &Work, storages: &mut Storages<'_>) -> Vec<Reuse> {
    let mut at: FxHashMap<NodeId, usize> = FxHashMap::default();
    // The last use of each storage that surely is one, uses of views and by operators on events included.
    let mut last_use: FxHashMap<Place, usize> = FxHashMap::default();
    let mut kept_to_the_end: FxHashSet<Place> = FxHashSet::default();
    for (number, (node, kind)) in nodes_of(view, BodyId::ROOT).enumerate() {
        at.insert(node, number);
        // An item of a tuple is a use of that item.
        for place in view.operands(node).filter(|_| getitem_of(view, node).is_none()).flat_map(|n| places_of(view, n)) {
            let origin = storages.origin(place);
            last_use.insert(origin, number);
            if kind == NodeKind::Output {
                kept_to_the_end.insert(origin);
            }
        }
        for place in places_of(view, node) {
            let origin = storages.origin(place);
            let last = last_use.entry(origin).or_insert(number);
            *last = (*last).max(number);
        }
    }
    let mut allocations: FxHashMap<StreamId, Vec<(usize, NodeId, Step)>> = FxHashMap::default();
    let mut uses: FxHashMap<Place, Vec<Use>> = FxHashMap::default();
    for (node, does) in &work.nodes {
        let (Some(step), Some(at)) = (order.step(*node), at.get(node).copied()) else { continue };
        if does.allocates {
            allocations.entry(step.stream).or_default().push((at, *node, step));
        }
        for touch in does.touches.iter().filter(|_| !does.is_view) {
            let origin = storages.origin(touch.place);
            uses.entry(origin).or_default().push(Use { node: *node, place: origin, step, at });
        }
    }
    let mut kept: FxHashSet<(Place, StreamId)> = FxHashSet::default();
    for (value, stream) in &order.kept {
        let origin = storages.origin(place_of(view, *value));
        kept.insert((origin, *stream));
    }
    let families = Families::of(view, work, storages);
    let mut out = Vec::new();
    let mut large: FxHashSet<usize> = FxHashSet::default();
    for (node, does) in &work.nodes {
        let Some(step) = order.step(*node).filter(|_| does.allocates) else { continue };
        for storage in places_of(view, *node) {
            if kept_to_the_end.contains(&storage) || storages.origin(storage) != storage {
                continue;
            }
            let free = last_use.get(&storage).copied().unwrap_or(0);
            let own = [storage];
            let others = match families.number.get(&storage) {
                None => &own[..],
                Some(number) => {
                    let members = families.members.get(*number).map_or(&[][..], Vec::as_slice);
                    if members.len() > MAX_RELATED && !large.insert(*number) {
                        continue;
                    }
                    members
                }
            };
            for user in others.iter().filter_map(|o| uses.get(o)).flatten() {
                let is_kept =
                    kept.contains(&(user.place, user.step.stream)) || kept.contains(&(storage, user.step.stream));
                if user.step.stream == step.stream || (is_kept && others.len() <= MAX_RELATED) {
                    continue;
                }
                if others.len() > MAX_RELATED {
                    // Too many that may be one: nobody looks at each.
                    out.push(Reuse { storage, user: user.node, next: *node, certain: false });
                    break;
                }
                let from = free.max(user.at);
                let list = allocations.get(&step.stream).map_or(&[][..], Vec::as_slice);
                // What a stream knows only grows: if the first comes after the use, all do.
                let first = list.partition_point(|(at, _, _)| *at <= from);
                if let Some((_, next, step)) = list.get(first)
                    && !order.is_before(user.step, *step)
                    && out.len() < MAX_FOUND
                {
                    let certain = user.place == storage && storages.home(storage).is_empty();
                    out.push(Reuse { storage, user: user.node, next: *next, certain });
                }
            }
        }
    }
    out
}

/// Storages that may be one, directly or over others.
#[derive(Default)]
struct Families {
    number: FxHashMap<Place, usize>,
    members: Vec<Vec<Place>>,
}

impl Families {
    fn of(view: &dyn View, work: &Work, storages: &mut Storages<'_>) -> Self {
        let mut links: FxHashMap<Place, Vec<Place>> = FxHashMap::default();
        let mut starts: Vec<Place> = Vec::new();
        for (node, does) in &work.nodes {
            for result in places_of(view, *node) {
                if storages.origin(result) != result {
                    continue;
                }
                let mut homes: Vec<Place> = storages.home(result).iter().map(|s| s.place()).collect();
                if does.is_control || does.opaque {
                    homes.extend(does.touches.iter().map(|t| t.place));
                }
                for home in homes {
                    let other = storages.origin(home);
                    links.entry(result).or_default().push(other);
                    links.entry(other).or_default().push(result);
                    starts.push(result);
                }
            }
        }
        let mut out = Families::default();
        for start in starts {
            let number = out.members.len();
            let (mut members, mut open) = (Vec::new(), vec![start]);
            while let Some(place) = open.pop() {
                if let std::collections::hash_map::Entry::Vacant(free) = out.number.entry(place) {
                    free.insert(number);
                    members.push(place);
                    open.extend(links.get(&place).into_iter().flatten().copied());
                }
            }
            if !members.is_empty() {
                members.sort_unstable();
                out.members.push(members);
            }
        }
        out
    }
}
