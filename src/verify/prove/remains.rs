//! What only the first of two values that are equal over the reals was made of, and the graph as it is still computes with.
//!
//! What is made of one value twice follows one rounding, which may cancel: `p + neg(p)` is 0. Where `neg(q)` stands for `neg(p)`, and `p` is still there, it is rounding alone, and what it is multiplied by
//! may be large where no run looks.
//!
//! Promises: in the graph as it is nothing is computed both of such a second value and of what only the first was made of, nor of two second values whose first ones were made of the same elements of one value that these are
//! not made of; to be put side by side, and moved to the end, is no computing. Inputs, and what moves them, are not rounded. What a call gives beside such a second value was made together with it. A second value that is made of what the first was made of is taken to
//! follow its rounding: one that names it and does not is for the runs to see.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::getitem_of;
use crate::graph::{BodyId, Dtype, NodeId, NodeKind, ValueType};
use crate::rules::element::arena::Op;
use crate::rules::element::cast::loses_nothing;
use crate::rules::table::{Meaning, meaning};
use crate::term::store::ValueId;
use crate::term::term::{Form, Side, Term};
use crate::verify::functional::values::Functional;
use crate::verify::prove::carried::written_carriers;
use crate::verify::prove::region::is_made_of_nothing;
use crate::verify::prove::ways::given;
use crate::verify::prove::windows::{Window, are_all, are_apart, are_made_alike, readers, window};

/// A second value, and what the first was made of.
#[derive(Debug)]
pub struct Remains {
    second: ValueId,
    /// What is rounded on the way to the first, and which elements of it that reads, as far as that is told.
    lost: Vec<(ValueId, Option<Window>)>,
    /// What both were taken to be made of, whatever that is.
    ends: Vec<ValueId>,
}

/// Returns what the first of two values is made of within some terms, and the second is not, if that is anything that is rounded.
pub fn remains(f: &mut Functional<'_>, terms: &FxHashMap<ValueId, Term>, [a, b]: [ValueId; 2]) -> Option<Remains> {
    let root = f.store.find(a);
    let mut lost = Vec::new();
    let [(within, mut ends), (others, more)] = [a, b].map(|id| below(f, terms, id));
    // Several results are each rounded on their own.
    let items = terms.values().filter(|term| matches!(*term.form, Form::Item(_)));
    let several: Vec<ValueId> = items.flat_map(|term| term.children.iter().copied()).collect();
    let readers = readers(f, terms, &within);
    let mut others: FxHashSet<ValueId> = others.into_iter().collect();
    others.extend(several.into_iter().map(|id| f.store.find(id)));
    for id in within {
        let is_lost = |term: &&Term| id != root && !others.contains(&id) && !term.children.is_empty();
        let Some(term) = terms.get(&id).filter(is_lost) else { continue };
        let is_float = dtype(f, id).is_none_or(|dtype| dtype.is_float() || dtype.is_complex());
        if is_float && !matches!(*term.form, Form::Of(..)) && !moves(f, term) && !is_made_of_nothing(f, id) {
            let read = window(f, terms, &readers, id);
            lost.push((id, read));
        }
    }
    ends.extend(more);
    (!lost.is_empty()).then_some(Remains { second: b, lost, ends })
}

/// Returns which of some terms are below a value, and what these end at.
fn below(f: &mut Functional<'_>, terms: &FxHashMap<ValueId, Term>, root: ValueId) -> (Vec<ValueId>, Vec<ValueId>) {
    let (mut open, mut seen) = (vec![root], FxHashSet::default());
    let (mut within, mut ends) = (Vec::new(), Vec::new());
    while let Some(id) = open.pop() {
        let id = f.store.find(id);
        if !seen.insert(id) {
            continue;
        }
        match terms.get(&id) {
            Some(term) => {
                within.push(id);
                open.extend(term.children.iter().copied());
            }
            None => ends.push(id),
        }
    }
    (within, ends)
}

/// Whether each element of a term is one of its children's, but for its sign.
fn moves(f: &mut Functional<'_>, term: &Term) -> bool {
    match &*term.form {
        Form::View { .. } | Form::Part(_) | Form::Scatter { .. } | Form::ScatterAt => true,
        Form::Cast(to) => {
            let from = term.children.first().and_then(|child| dtype(f, *child));
            from.is_some_and(|from| loses_nothing(from, *to))
        }
        Form::Call { callee, .. } => f.store.targets().find(|(id, _)| id == callee).is_some_and(|(_, target)| {
            matches!(meaning(target), Some(Meaning::Unary(Op::Neg | Op::Abs)))
                || f.registry.get(target).is_some_and(|operator| operator.facts.moves)
        }),
        _ => false,
    }
}

fn dtype(f: &mut Functional<'_>, id: ValueId) -> Option<Dtype> {
    let key = f.store.key(id)?;
    f.tensor(key.side, key.place).map(|t| t.dtype)
}

/// What a node of the graph as it is is made of.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Made {
    /// Of what a first value was made of.
    Lost,
    /// Of a second value, by the node that makes it.
    Second(NodeId),
}

/// Second values, and what their first ones were made of, where these hang together.
#[derive(Default)]
struct Groups {
    /// The groups of each second value, as it is, and which node makes it.
    seconds: FxHashMap<ValueId, (Vec<usize>, Made)>,
    /// The groups of each class of what a first one was made of.
    lost: FxHashMap<ValueId, (Vec<usize>, Made)>,
    /// Of each group the class of what its first ones were made of.
    classes: Vec<ValueId>,
    /// What the first one of each second value was made of, whatever of that is followed.
    whole: FxHashMap<ValueId, FxHashSet<ValueId>>,
    /// Which nodes make what each second value was taken to be made of.
    ends: FxHashMap<ValueId, Vec<NodeId>>,
}

impl Groups {
    fn of(f: &mut Functional<'_>, (all, whole): (&[Remains], &[Remains]), makers: &Makers) -> Self {
        let mut out = Groups::default();
        for one in whole {
            let classes: Vec<ValueId> = one.lost.iter().map(|(id, _)| f.store.find(*id)).collect();
            out.whole.entry(f.store.exactly(one.second)).or_default().extend(classes);
        }
        let (groups, classes) = hang_together(f, all, makers);
        out.classes = classes;
        for (one, own) in all.iter().zip(groups) {
            let second = f.store.exactly(one.second);
            let Some((_, maker)) = makers.of_second(f, one.second) else { continue };
            for ((class, _), group) in one.lost.iter().zip(&own) {
                let class = f.store.find(*class);
                if makers.of.get(&class).is_some_and(|(_, own)| *own != maker) {
                    out.lost.entry(class).or_insert((Vec::new(), Made::Lost)).0.push(*group);
                }
            }
            out.seconds.entry(second).or_insert((Vec::new(), Made::Second(maker))).0.extend(own);
            let ends: Vec<ValueId> = one.ends.iter().map(|id| f.store.find(*id)).collect();
            let ends = ends.into_iter().filter_map(|id| makers.of.get(&id)).map(|(node, _)| *node);
            out.ends.entry(second).or_default().extend(ends);
        }
        out.leave_out_single();
        out
    }

    /// Nothing meets another thing of its group where there is none.
    fn leave_out_single(&mut self) {
        let mut first: FxHashMap<usize, Made> = FxHashMap::default();
        let mut several: FxHashSet<usize> = FxHashSet::default();
        for (groups, made) in self.seconds.values().chain(self.lost.values()) {
            for group in groups {
                if *first.entry(*group).or_insert(*made) != *made {
                    several.insert(*group);
                }
            }
        }
        for all in [&mut self.seconds, &mut self.lost] {
            all.values_mut().for_each(|(groups, _)| {
                groups.retain(|group| several.contains(group));
                groups.sort_unstable();
                groups.dedup();
            });
            all.retain(|_, (groups, _)| !groups.is_empty());
        }
    }

    /// Returns the groups of a value, as it is and by its class, and what it is in them.
    fn named(&self, [own, class]: [ValueId; 2]) -> Option<&(Vec<usize>, Made)> {
        self.seconds.get(&own).or_else(|| self.lost.get(&class))
    }

    /// Whether a second value was shown of what the first ones of a group were made of.
    fn looked_through(&self, second: ValueId, group: usize) -> bool {
        let class = self.classes.get(group);
        self.whole.get(&second).zip(class).is_some_and(|(all, class)| all.contains(class))
    }
}

/// Which node of the graph as it is gives a value, and which call makes it.
#[derive(Default)]
struct Makers {
    /// The first of those that give what is equal to a value over the reals.
    of: FxHashMap<ValueId, (NodeId, NodeId)>,
    /// Those of the very value: a first one may still stand ahead of the second.
    exactly: FxHashMap<ValueId, (NodeId, NodeId)>,
}

impl Makers {
    fn of_second(&self, f: &mut Functional<'_>, second: ValueId) -> Option<(NodeId, NodeId)> {
        self.exactly.get(&f.store.exactly(second)).copied()
    }
}

/// How many nodes are looked at between a second value and what it ends at.
const NODES: usize = 1024;

/// Leaves out what second values are made of in the graph as it is, too, and what the first of that was made of.
fn unfollowed(f: &mut Functional<'_>, all: &[Remains], makers: &Makers) -> Vec<Remains> {
    let mut lost_by: FxHashMap<ValueId, &[(ValueId, Option<Window>)]> = FxHashMap::default();
    for one in all {
        lost_by.insert(f.store.find(one.second), &one.lost);
    }
    let mut out = Vec::new();
    for one in all {
        let lost: FxHashSet<ValueId> = one.lost.iter().map(|(id, _)| f.store.find(*id)).collect();
        let mut followed: FxHashSet<ValueId> = FxHashSet::default();
        let mut parts: FxHashMap<ValueId, Vec<&Window>> = FxHashMap::default();
        for class in above(f, one, makers) {
            let more = lost_by.get(&class).copied().unwrap_or_default();
            if lost.contains(&class) {
                followed.insert(class);
                followed.extend(more.iter().map(|(id, _)| f.store.find(*id)));
            }
            for (id, read) in more {
                parts.entry(f.store.find(*id)).or_default().extend(read);
            }
        }
        let mut own = one.lost.clone();
        own.retain(|(id, read)| {
            let class = f.store.find(*id);
            let in_parts = read.as_ref().zip(parts.get(&class)).is_some_and(|(all, parts)| are_all(all, parts));
            !followed.contains(&class) && !in_parts
        });
        out.push(Remains { second: one.second, lost: own, ends: one.ends.clone() });
    }
    out
}

/// Returns what a second value is made of in the graph as it is, down to what it ends at.
fn above(f: &mut Functional<'_>, one: &Remains, makers: &Makers) -> FxHashSet<ValueId> {
    let maker = |f: &mut Functional<'_>, id: ValueId| makers.of.get(&f.store.find(id)).map(|(node, _)| *node);
    let mut seen: FxHashSet<NodeId> = one.ends.iter().filter_map(|id| maker(f, *id)).collect();
    let Some((second, _)) = makers.of_second(f, one.second) else { return FxHashSet::default() };
    let view = f.view(Side::After);
    let (mut open, mut out) = (view.operands(second).collect::<Vec<NodeId>>(), FxHashSet::default());
    while let Some(node) = open.pop() {
        if seen.len() < NODES && seen.insert(node) {
            out.extend(given(f, Side::After, node).into_iter().map(|value| f.store.find(value)).collect::<Vec<_>>());
            open.extend(view.operands(node));
        }
    }
    out
}

/// Returns the group of each thing that each first one was made of, and the class of each group: of one are those that read the same elements of one value, or are
/// made in other ways of what such elements were made of.
fn hang_together(f: &mut Functional<'_>, all: &[Remains], makers: &Makers) -> (Vec<Vec<usize>>, Vec<ValueId>) {
    let mut groups: Vec<Vec<usize>> = all.iter().map(|one| vec![0; one.lost.len()]).collect();
    let mut readers: FxHashMap<ValueId, Vec<(usize, usize)>> = FxHashMap::default();
    for (k, one) in all.iter().enumerate() {
        for (at, (class, _)) in one.lost.iter().enumerate() {
            readers.entry(f.store.find(*class)).or_default().push((k, at));
        }
    }
    let made: Vec<Option<NodeId>> =
        all.iter().map(|one| makers.of_second(f, one.second).map(|(node, _)| node)).collect();
    let window = |k: usize, at: usize| all.get(k).and_then(|one| one.lost.get(at)).and_then(|(_, read)| read.as_ref());
    let node = |k: usize| made.get(k).copied().flatten();
    let mut classes = Vec::new();
    for (class, readers) in readers {
        // What hangs together by way of others is one group.
        let mut parts: Vec<Vec<(usize, usize)>> = Vec::new();
        for (k, at) in readers {
            let is_apart = |(other, place): &(usize, usize)| {
                let windows = window(k, at).zip(window(*other, *place));
                let apart = windows.is_some_and(|(a, b)| are_apart(a, b));
                apart && node(k).zip(node(*other)).is_some_and(|(a, b)| are_made_alike(f, a, b))
            };
            let (others, met): (Vec<_>, Vec<_>) = parts.into_iter().partition(|part| part.iter().all(is_apart));
            parts = others;
            parts.push(met.into_iter().flatten().chain([(k, at)]).collect());
        }
        for members in parts {
            for (k, at) in members {
                if let Some(slot) = groups.get_mut(k).and_then(|own| own.get_mut(at)) {
                    *slot = classes.len();
                }
            }
            classes.push(class);
        }
    }
    (groups, classes)
}

/// Returns the makers of all values that are looked at.
fn makers(f: &mut Functional<'_>, all: &[Remains]) -> Makers {
    let asked = all.iter().flat_map(|one| one.lost.iter().map(|(id, _)| id).chain(&one.ends).chain([&one.second]));
    let asked: FxHashSet<ValueId> = asked.map(|id| f.store.find(*id)).collect();
    let view = f.view(Side::After);
    let mut out = Makers::default();
    for node in view.nodes(BodyId::ROOT) {
        for value in given(f, Side::After, node) {
            let class = f.store.find(value);
            if asked.contains(&class) {
                let maker = getitem_of(view, node).map_or(node, |(of, _)| of);
                out.of.entry(class).or_insert((node, maker));
                out.exactly.entry(f.store.exactly(value)).or_insert((node, maker));
            }
        }
    }
    out
}

/// Returns the first node that is made of what hangs together and is not told apart.
pub fn are_told_apart(f: &mut Functional<'_>, all: &[Remains]) -> Result<(), String> {
    if all.is_empty() {
        return Ok(());
    }
    let makers = makers(f, all);
    if Groups::of(f, (all, all), &makers).seconds.is_empty() {
        return Ok(());
    }
    let unfollowed = unfollowed(f, all, &makers);
    let groups = Groups::of(f, (&unfollowed, all), &makers);
    let view = f.view(Side::After);
    let mut made: FxHashMap<NodeId, FxHashMap<usize, Made>> = FxHashMap::default();
    for node in view.nodes(BodyId::ROOT).filter(|n| !matches!(view.kind(*n), NodeKind::Output)) {
        let given: Vec<[ValueId; 2]> = given(f, Side::After, node)
            .into_iter()
            .map(|value| [f.store.exactly(value), f.store.find(value)])
            .collect();
        let named: Vec<(usize, Made)> = given
            .iter()
            .filter_map(|one| groups.named(*one))
            .flat_map(|(own, of)| own.iter().map(|group| (*group, *of)))
            .collect();
        let mut own: FxHashMap<usize, Made> = FxHashMap::default();
        for (group, of) in view.operands(node).filter_map(|n| made.get(&n)).flatten() {
            // What is named was looked into down to its ends.
            let is_named = named.iter().any(|(own, _)| own == group)
                || given.iter().any(|[own, _]| groups.looked_through(*own, *group));
            if !is_named && *own.entry(*group).or_insert(*of) != *of {
                if !is_moved_to_the_end(f, node) {
                    return Err(view.name(node).to_string());
                }
                own.insert(*group, Made::Second(node));
            }
        }
        let ends = given.iter().filter_map(|[own, _]| groups.ends.get(own)).flatten();
        let mut at_ends = ends.filter_map(|end| made.get(end)).flat_map(|own| own.keys());
        if at_ends.any(|group| named.iter().any(|(own, of)| own == group && *of != Made::Lost)) {
            return Err(view.name(node).to_string());
        }
        for (group, of) in named {
            // What a call gives together is told apart where it is taken out.
            own.entry(group).and_modify(|one| *one = if *one == of { of } else { Made::Second(node) }).or_insert(of);
        }
        if own.is_empty() || matches!(view.ty(node), ValueType::SymInt(_)) || is_truth(view.ty(node)) {
            continue;
        }
        // What is written may be read by any name.
        for carrier in written_carriers(f, Side::After, node)?.into_iter().chain([node]) {
            let of_it = made.entry(carrier).or_default();
            for (group, of) in &own {
                of_it
                    .entry(*group)
                    .and_modify(|one| *one = if one == of { *of } else { Made::Second(node) })
                    .or_insert(*of);
            }
        }
    }
    Ok(())
}

/// How many nodes are looked at behind one that puts values side by side.
const BEHIND: usize = 64;

/// Whether a node of the graph as it is, and all that is made of it, gives elements as they are: nothing is computed of two of them.
fn is_moved_to_the_end(f: &Functional<'_>, node: NodeId) -> bool {
    let view = f.view(Side::After);
    let (mut open, mut seen) = (vec![node], FxHashSet::default());
    while let Some(node) = open.pop() {
        if view.kind(node) == NodeKind::Output || !seen.insert(node) {
            continue;
        }
        let moves = f.registry.operator_of(view, node).is_some_and(|o| o.facts.moves && o.effects.is_pure());
        if !moves || seen.len() > BEHIND {
            return false;
        }
        open.extend(view.users_in_order(node));
    }
    true
}

fn is_truth(ty: &ValueType) -> bool {
    matches!(ty, ValueType::Tensor(t) if t.dtype == Dtype::Bool)
}

#[cfg(test)]
mod tests {
    use crate::verify::judge::judge_pair;
    use crate::verify::options::{Budget, JudgeOptions};
    use crate::verify::tests::programs::{program, registry};
    use crate::verify::verdict::{Finding, Verdict};

    const FIRST: &str = "s = aten.add.Tensor(x, y)
        p = aten.add.Tensor(s, z)\n";
    const LAST: &str = "t = aten.add.Tensor(y, z)
        q = aten.add.Tensor(x, t)\n";

    fn judged(before: &str, after: &str) -> Verdict {
        let [a, b] = [before, after].map(|lines| program("x: f32[8]; y: f32[8]; z: f32[8]", lines));
        let options = JudgeOptions { budget: Budget::searching(), is_repeatable: true, ..JudgeOptions::default() };
        judge_pair(&a, &b, &registry(), &options)
    }

    #[track_caller]
    fn is_shown(before: &str, after: &str) {
        let verdict = judged(before, after);
        assert_eq!(verdict.verdict, Finding::Proved, "{verdict:#?}");
    }

    #[track_caller]
    fn is_not_told_apart(before: &str, after: &str) {
        let verdict = judged(before, after);
        let told = verdict.reason.ends_with("they are not told apart");
        assert!(verdict.verdict == Finding::Unknown && told, "{verdict:#?}");
    }

    #[test]
    fn what_follows_another_rounding_does_not_meet_what_the_first_was_made_of() {
        // No run sees it.
        let end = "d = aten.add.Tensor(p, n)
            k = aten.sub.Tensor(x, 1e5)
            g = aten.relu.default(k)
            o = aten.mul.Tensor(d, g)
            return (o, n)";
        let before = format!("{FIRST}n = aten.neg.default(p)\n{end}");
        let after = format!("{FIRST}{LAST}n = aten.neg.default(q)\n{end}");
        is_not_told_apart(&before, &after);
    }

    #[test]
    fn it_may_stand_beside_what_the_first_was_made_of() {
        let before = format!("{FIRST}n = aten.neg.default(p)\nreturn (p, n)");
        let after = format!("{FIRST}{LAST}n = aten.neg.default(q)\nreturn (p, n)");
        is_shown(&before, &after);
    }

    #[test]
    fn second_values_may_stand_side_by_side_where_nothing_is_made_of_both() {
        let turned = |ahead: &str, parts: [&str; 2], last: &str| {
            let [d, e] = parts;
            format!(
                "{ahead}
                a = aten.mul.Tensor(x, c)
                b = aten.mul.Tensor(y, s)
                d = aten.{d}.Tensor(a, b)
                f = aten.mul.Tensor(x, s)
                g = aten.mul.Tensor(y, c)
                e = aten.{e}
                {last}
                return (r,)"
            )
        };
        let before =
            |last: &str| turned("c = aten.cos.default(z)\ns = aten.sin.default(z)", ["sub", "add.Tensor(f, g)"], last);
        let angle = "n = aten.neg.default(z)\nc = aten.cos.default(n)\ns = aten.sin.default(n)";
        let after = |last: &str| turned(angle, ["add", "sub.Tensor(g, f)"], last);
        let beside = "r = aten.cat.default([d, e])";
        is_shown(&before(beside), &after(beside));
    }

    #[test]
    fn what_stands_side_by_side_and_is_summed_is_not_told_apart() {
        let end = "k = aten.stack.default([p, n])
            d = aten.sum.dim_IntList(k, [0])
            m = aten.sub.Tensor(x, 1e5)
            g = aten.relu.default(m)
            o = aten.mul.Tensor(d, g)
            return (o, n)";
        let before = format!("{FIRST}n = aten.neg.default(p)\n{end}");
        let after = format!("{FIRST}{LAST}n = aten.neg.default(q)\n{end}");
        is_not_told_apart(&before, &after);
    }

    #[test]
    fn inputs_and_what_moves_them_are_not_rounded() {
        let end = "d = aten.add.Tensor(a, m)\nreturn (d,)";
        let before = format!("m = aten.neg.default(x)\na = aten.mul.Tensor(m, 3.0)\n{end}");
        let after = format!("m = aten.neg.default(x)\nb = aten.mul.Tensor(m, 2.0)\na = aten.add.Tensor(b, m)\n{end}");
        is_shown(&before, &after);
    }
}
