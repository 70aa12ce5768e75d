//! The judge: from two graphs, and what was edited, to a verdict.
//!
//! Promises: (1) nothing is accepted that was not shown on every question; (2) [`judge_edit`] costs what the edit touched and
//! what it reaches, not the graph, unless the edit touches effects, sub-graphs or streams; (3) nothing recurses; (4) what was
//! shown rests on structure, never on a hash.

use std::collections::BTreeSet;
use std::time::Instant;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::{Place, Stamp, Storages, place_of, placeholders};
use crate::certificate::Evidence;
use crate::editor::{Changes, Editor};
use crate::graph::{Arg, BodyId, NodeId, NodeKind, StrId, View};
use crate::ops::Registry;
use crate::term::sizes::Sizes;
use crate::term::store::{Store, ValueId};
use crate::term::term::Side;
use crate::verify::differ;
use crate::verify::effects::beside::Beside;
use crate::verify::effects::trace::{reshaping_in_place, trace};
use crate::verify::findings::{Findings, Problem};
use crate::verify::form::outputs::{compare_attributes, compare_finals, compare_inputs, compare_outputs, has_memory};
use crate::verify::form::strides::compare_strides;
use crate::verify::functional::bodies::number;
use crate::verify::functional::values::{Functional, Graphs, Runs, Shared};
use crate::verify::judge::kinds::Kinds;
use crate::verify::judge::obligation::{Obligation, Owed};
use crate::verify::judge::touched::Touched;
use crate::verify::options::JudgeOptions;
use crate::verify::order::judge_order;
use crate::verify::policy::Policy;
use crate::verify::prove::carried;
use crate::verify::prove::checked::Checking;
use crate::verify::prove::congruence::{Congruence, Proof};
use crate::verify::prove::partners::Partners;
use crate::verify::prove::poles;
use crate::verify::prove::real;
use crate::verify::prove::remains;
use crate::verify::prove::ways;
use crate::verify::prove::widen;
use crate::verify::replay::Replay;
use crate::verify::user_rules::judged_by;
use crate::verify::verdict::{Assumption, Question, Stop, Verdict};

/// Judges what an editor changed since it began. Where that leaves values or effects unknown, both graphs are run, which costs the graph.
pub fn judge_editor(editor: &Editor, options: &JudgeOptions) -> Verdict {
    let verdict = judge_edit(&editor.before(), editor.graph(), &editor.changes(), editor.registry(), options);
    if !differ::is_open(&verdict, options) {
        return verdict;
    }
    let before = editor.copy_before();
    let verdict = differ::settle(verdict, &before, editor.graph(), editor.registry(), options);
    judged_by(verdict, &before, editor.graph(), editor.registry(), options)
}

/// Judges an edit: `before` and `after` have the same node ids, and `changes` says where they differ.
pub fn judge_edit(
    before: &dyn View,
    after: &dyn View,
    changes: &Changes,
    registry: &Registry,
    options: &JudgeOptions,
) -> Verdict {
    let start = Instant::now();
    let touched = Touched::of(before, after, changes, registry);
    let mut findings = Findings::default();
    let sizes = Sizes::new(after.symbols(), before);
    let kinds = Kinds::of(&[before, after], registry);
    let mut f = functional(before, after, registry, options, (sizes, kinds));
    let mut c = Congruence::with_limit(options.budget.pairs);
    judge_order(before, after, registry, options, &mut findings);
    match touched.is_local() && kinds.is_plain {
        true => crate::verify::judge::reach::judge_local(&mut f, &mut c, touched, &mut findings),
        false => judge_whole(&mut f, &mut c, &mut Replay::Search, &mut findings),
    }
    let apart = are_told_apart(&mut f, &c);
    finish((findings, apart), &mut f, &c, options, start)
}

/// Judges two graphs that have nothing but their inputs in common. Types must be settled and symbols shared.
pub(in crate::verify) fn judge_graphs(
    before: &dyn View,
    after: &dyn View,
    registry: &Registry,
    options: &JudgeOptions,
    (mut findings, proof): (Findings, &mut Replay<'_>),
    runs: Option<Runs<'_>>,
    start: Instant,
) -> Verdict {
    let kinds = Kinds::of(&[before, after], registry);
    judge_order(before, after, registry, options, &mut findings);
    let judged = |proof: &mut Replay<'_>, inner_first: bool, mut findings: Findings| {
        let mut f = functional(before, after, registry, options, (Sizes::new(after.symbols(), before), kinds));
        f.runs = runs;
        let mut c = Congruence::with_limit(options.budget.pairs);
        c.inner_first = inner_first;
        judge_whole(&mut f, &mut c, proof, &mut findings);
        (f, c, findings)
    };
    let (mut f, c, found) = judged(proof, false, findings.clone());
    let apart = are_told_apart(&mut f, &c);
    if apart.is_ok() || !proof.forget() {
        return finish((found, apart), &mut f, &c, options, start);
    }
    // What was shown far out is shown of less where what is further in was shown before.
    let (mut f, c, found) = judged(proof, true, findings);
    let apart = are_told_apart(&mut f, &c);
    finish((found, apart), &mut f, &c, options, start)
}

/// Returns the first node at which values of one graph that are equal over the reals only are not told apart.
fn are_told_apart(f: &mut Functional<'_>, c: &Congruence) -> Result<(), String> {
    ways::are_shown(f, &c.rules.reals)?;
    remains::are_told_apart(f, &c.rules.reals.remains)
}

/// Compares what two graphs return, and what their inputs hold at the end, once `begin` has shown which values are equal; returns what was kept of that, too.
pub(in crate::verify) fn judge_values(
    before: &dyn View,
    after: &dyn View,
    registry: &Registry,
    options: &JudgeOptions,
    begin: &mut dyn FnMut(&mut Functional<'_>, &mut Congruence),
) -> (Vec<Problem>, Proof) {
    let kinds = Kinds::of(&[before, after], registry);
    let mut f = functional(before, after, registry, options, (Sizes::new(after.symbols(), before), kinds));
    let mut c = Congruence::with_limit(options.budget.pairs);
    let mut findings = Findings::default();
    findings.problems.extend(compare_inputs(before, after, &f));
    number_inputs(&mut f);
    number_unset(&mut f);
    if number_effects(&mut f, &mut findings).is_some() {
        c.settle_first();
        begin(&mut f, &mut c);
        findings.problems.extend(compare_outputs(&mut f, &mut c));
        findings.problems.extend(compare_finals(&mut f, &mut c, None));
        findings.problems.extend(compare_attributes(&mut f, &mut c, None));
    }
    (findings.problems, c.proof)
}

pub(in crate::verify) fn functional<'a>(
    before: &'a dyn View,
    after: &'a dyn View,
    registry: &'a Registry,
    options: &'a JudgeOptions,
    (sizes, kinds): (Sizes<'a>, Kinds),
) -> Functional<'a> {
    let graphs = |view: &'a dyn View| {
        let mut storages = Storages::new(view, registry, &options.may_alias);
        let beside = Beside::of(view, registry, &kinds, &mut storages);
        Graphs {
            view,
            storages,
            events: None,
            inputs: FxHashMap::default(),
            unset: None,
            beside,
            known_to_opaque: None,
        }
    };
    let (before, after) = (graphs(before), graphs(after));
    Functional {
        kinds,
        registry,
        before,
        after,
        store: Store::default(),
        sizes,
        shared: Shared::Nothing,
        budget: options.budget,
        domains: &options.domains,
        may_stop_raising: options.may_stop_raising,
        allows_wider: options.allow_wider,
        allows_quantum: options.integer_slack,
        layout_counts: false,
        begin_counts: false,
        defined: BTreeSet::new(),
        judges_strides: options.policy == Policy::Strict,
        runs: None,
        prints: None,
        checking: Checking::new(options.is_repeatable),
    }
}

/// Returns the verdict on what was found, and on whether values that are equal over the reals only are told apart.
fn finish(
    (mut findings, apart): (Findings, Result<(), String>),
    f: &mut Functional<'_>,
    c: &Congruence,
    options: &JudgeOptions,
    start: Instant,
) -> Verdict {
    let views = [f.before.view, f.after.view].into_iter().filter(|_| f.kinds.reshapes);
    let reshaping: Vec<_> = views.map(|view| (view, reshaping_in_place(view, f.registry))).collect();
    let is_understood = reshaping.iter().all(|(_, nodes)| nodes.is_empty()) || is_one_list_of_calls(f);
    for (view, nodes) in reshaping.into_iter().filter(|_| !is_understood) {
        for node in nodes.into_iter().take(f.budget.named) {
            let name = view.name(node).to_string();
            let reason = format!("`{name}` gives a tensor another shape or memory in place, which is not understood");
            findings.push(Problem::unknown(Question::Effects, reason).at([name]));
        }
    }
    if let Err(node) = carried::is_carried(f, &c.rules.reals) {
        let reason = format!("values are equal over the reals only, and to `{node}` they are more than real numbers");
        findings.push(Problem::unknown(Question::Values, reason).at([node]));
    }
    if let Err(node) = apart {
        let reason =
            format!("values of one graph are equal over the reals only, and at `{node}` they are not told apart");
        findings.push(Problem::unknown(Question::Values, reason).at([node]));
    }
    if let Err(node) = poles::are_not_crossed(f, &c.rules.reals) {
        let reason =
            format!("values are equal over the reals only, and may leave `{node}` undefined in one graph alone");
        findings.push(Problem::unknown(Question::Values, reason).at([node]));
    }
    if carried::is_wider_inside(f, &c.rules.reals, c.settles_first()) {
        let reason = "values that are rounded elsewhere are as close where they are, and not shown to be where more is made of them";
        findings.push(Problem::unknown(Question::Values, reason));
    }
    findings.assumes.extend(of_inputs(f));
    let defined = f
        .defined
        .iter()
        .map(|target| Assumption::Device(format!("the device computes `{target}` as it is defined here")));
    findings.assumes.extend(defined);
    findings.assumes.extend(real::assumed(f, &c.rules.reals, c.settles_first()).into_iter().map(Assumption::Range));
    findings.assumes.extend(carried::inner(f, &c.rules.reals).into_iter().map(Assumption::Sampled));
    findings.checked_log2 = f.checking.bound_log2();
    let mut verdict = findings.verdict();
    verdict.quantum = c.rules.reals.quantum;
    verdict.terms = f.store.terms_hashed();
    let out_of_work = !verdict.open.is_empty() && c.rules.spent >= f.budget.rules;
    verdict.stopped = c.is_exhausted().then_some(Stop::Pairs).or(out_of_work.then_some(Stop::Work));
    // What rounding does is sampled, too, and what is checked is run, before it is taken.
    verdict.accepted = !differ::is_run(&verdict) && options.policy.accepts(&verdict);
    verdict.ms = start.elapsed().as_secs_f64() * 1e3;
    verdict
}

/// What is taken for granted of inputs: what the host says they hold, and how they lie where nobody says it.
fn of_inputs(f: &Functional<'_>) -> Vec<Assumption> {
    let stated = f.domains.iter().filter(|(_, domain)| !domain.is_any());
    let mut all: Vec<Assumption> =
        stated.map(|(name, domain)| Assumption::Holds(name.clone(), domain.to_string())).collect();
    let counts = f.before.view.assumes_contiguous() && (f.layout_counts || f.kinds.shares_by_layout);
    all.extend(counts.then_some(Assumption::Contiguous));
    all.extend(f.begin_counts.then_some(Assumption::Begin));
    all
}

/// Whether both graphs are the same list of calls, bodies included: then they do the same, whatever the calls are.
fn is_one_list_of_calls(f: &mut Functional<'_>) -> bool {
    let [a, b] = [Side::Before, Side::After].map(|side| number(f, side, BodyId::ROOT));
    a == b
}

/// Judges whole graphs.
fn judge_whole(f: &mut Functional<'_>, c: &mut Congruence, proof: &mut Replay<'_>, findings: &mut Findings) {
    f.shared = Shared::Nothing;
    let form = compare_inputs(f.before.view, f.after.view, f);
    if !form.is_empty() {
        findings.problems.extend(form);
        return;
    }
    number_inputs(f);
    findings.answer(Question::Form, Evidence::Compared { pairs: f.before.inputs.len() });
    number_unset(f);
    let Some(Traced { ordered, assertions }) = number_effects(f, findings) else { return };
    c.settle_first();
    if let Err(unshown) = proof.begin(f, c) {
        findings.push(Problem::unknown(Question::Values, unshown.to_string()).at(unshown.nodes()));
        return;
    }
    findings.problems.extend(compare_outputs(f, c));
    findings.strides = compare_strides(f, c);
    findings.problems.extend(compare_finals(f, c, None));
    findings.problems.extend(compare_attributes(f, c, None));
    findings.assumes.extend(writes_beside_others(f).then_some(Assumption::Disjoint));
    let effects = ordered.len();
    for (p, q) in ordered {
        compare_effect(f, c, p, q, findings);
    }
    compare_assertions(f, c, assertions, findings);
    crate::verify::effects::raises::check_whole(f, c, findings);
    findings.answer(Question::Values, values_by(f, c));
    findings.answer(Question::Effects, Evidence::Compared { pairs: effects });
    proof.end(c);
}

/// Whether an input is written while there is another whose memory it might be.
fn writes_beside_others(f: &mut Functional<'_>) -> bool {
    [Side::Before, Side::After].into_iter().any(|side| {
        let view = f.view(side);
        let mut inputs = placeholders(view, BodyId::ROOT);
        inputs.retain(|n| has_memory(view.ty(*n)));
        let storages = &mut f.side(side).storages;
        inputs.len() > 1 && inputs.into_iter().any(|n| !storages.group(Place::of(n)).events.is_empty())
    })
}

/// What equal values rest on: structure, and rules where there were any.
pub(in crate::verify) fn values_by(f: &Functional<'_>, c: &Congruence) -> Evidence {
    let terms = f.store.terms_hashed();
    match (c.rules.names.is_empty(), c.rules.reals.pairs.is_empty()) {
        (true, true) => Evidence::Congruence { terms },
        (_, false) => Evidence::Reals { terms, pairs: c.rules.reals.pairs.len() },
        (false, true) => Evidence::Rules { terms, names: c.rules.names.iter().map(ToString::to_string).collect() },
    }
}

fn number_inputs(f: &mut Functional<'_>) {
    for side in [Side::Before, Side::After] {
        let nodes = placeholders(f.view(side), BodyId::ROOT);
        let numbered = nodes.into_iter().zip(0_u32..).collect();
        f.side(side).inputs = numbered;
    }
}

/// The so-many-th `empty` of one graph is that of the other. Costs no walk where no call ever was one.
fn number_unset(f: &mut Functional<'_>) {
    for side in [Side::Before, Side::After] {
        let (view, registry) = (f.view(side), f.registry);
        let is_unset = |target| registry.get(view.texts().text(target)).is_some_and(|o| o.facts.unset);
        let targets: FxHashSet<StrId> = view.targets().iter().copied().filter(|t| is_unset(*t)).collect();
        let mut counts: FxHashMap<StrId, u64> = FxHashMap::default();
        let mut numbers = FxHashMap::default();
        for node in view.nodes(BodyId::ROOT).take_while(|_| !targets.is_empty()) {
            let target = view.target_id(node);
            if view.kind(node) == NodeKind::Call && targets.contains(&target) {
                let count = counts.entry(target).or_default();
                numbers.insert(node, *count);
                *count = count.saturating_add(1);
            }
        }
        f.side(side).unset = Some(numbers);
    }
}

/// The effects of both graphs.
struct Traced {
    /// Those in order, each with that of the graph after.
    ordered: Vec<(NodeId, NodeId)>,
    /// Assertions of the graph before, and of that after.
    assertions: [Vec<NodeId>; 2],
}

/// Numbers ordered effects on both sides; `None` where their lists certainly differ, which makes values pointless to ask.
fn number_effects(f: &mut Functional<'_>, findings: &mut Findings) -> Option<Traced> {
    let (x, asserted) = trace(f.before.view, f.registry, &f.before.beside);
    let (y, asserted_after) = trace(f.after.view, f.registry, &f.after.beside);
    f.before.events = Some(x.iter().copied().zip(0..).collect());
    f.after.events = Some(y.iter().copied().zip(0..).collect());
    let name = |view: &dyn View, n: Option<&NodeId>| n.map(|n| view.name(*n).to_string());
    let parts = x.iter().zip(&y).position(|(p, q)| f.before.view.target(*p) != f.after.view.target(*q));
    let parts = parts.or((x.len() != y.len()).then_some(x.len().min(y.len())));
    if let Some(place) = parts {
        let names: Vec<String> =
            name(f.before.view, x.get(place)).into_iter().chain(name(f.after.view, y.get(place))).collect();
        let reason = format!(
            "draws, prints, collectives and opaque operators are not the same list: {} before, {} after, parting at `{}`",
            x.len(),
            y.len(),
            names.join("` and `")
        );
        // Draws are counted by the caller's generator; what an opaque operator does nobody knows, so more is not claimed.
        findings.push(Problem::unknown(Question::Effects, reason).at(names));
        return None;
    }
    Some(Traced { ordered: x.into_iter().zip(y).collect(), assertions: [asserted, asserted_after] })
}

fn compare_assertions(
    f: &mut Functional<'_>,
    c: &mut Congruence,
    [mut x, mut y]: [Vec<NodeId>; 2],
    findings: &mut Findings,
) {
    compare_giving_assertions(f, c, (&mut x, &mut y), findings);
    let classes = |f: &mut Functional<'_>, side: Side, nodes: &[NodeId]| -> Vec<(NodeId, ValueId)> {
        let values: Vec<ValueId> = nodes.iter().map(|n| f.value(side, Place::of(*n), Stamp::Birth)).collect();
        values.iter().for_each(|v| f.settle(*v));
        nodes.iter().zip(values).map(|(n, v)| (*n, f.store.find(v))).collect()
    };
    let (old, new) = (classes(f, Side::Before, &x), classes(f, Side::After, &y));
    for (own, others, from, to) in [(&old, &new, Side::Before, Side::After), (&new, &old, Side::After, Side::Before)] {
        let kept: FxHashSet<ValueId> = others.iter().map(|(_, v)| f.store.find(*v)).collect();
        let mut partners: Option<Partners> = None;
        for (node, value) in own.iter() {
            let name = f.view(from).name(*node).to_string();
            // What is only asserted of numbers is taken to hold where nothing is taken to raise.
            let is_of_numbers = |n: NodeId| f.view(from).ty(n).as_tensor().is_none();
            let is_taken =
                from == Side::Before && f.may_stop_raising && f.view(from).operands(*node).all(is_of_numbers);
            let states = is_taken
                || kept.contains(&f.store.find(*value))
                || crate::verify::effects::stated::surely_true(f, from, *node)
                || {
                    let others = partners.take().unwrap_or_else(|| Partners::of(f, to, others));
                    partners.insert(others).ask(f, c, &name, *value)
                };
            if !states {
                let what = if from == Side::Before { "is not kept" } else { "is new, or asks something else" };
                findings.push(Problem::unknown(Question::Effects, format!("assertion `{name}` {what}")).at([name]));
            }
        }
    }
}

/// Compares assertions that give a tensor, in their order, by what they are given: tensors that hold nothing are equal whatever was asserted.
/// They are taken out of the lists.
fn compare_giving_assertions(
    f: &mut Functional<'_>,
    c: &mut Congruence,
    (x, y): (&mut Vec<NodeId>, &mut Vec<NodeId>),
    findings: &mut Findings,
) {
    let (before, after) = (f.before.view, f.after.view);
    let old: Vec<NodeId> = x.extract_if(.., |n| before.ty(*n).as_tensor().is_some()).collect();
    let new: Vec<NodeId> = y.extract_if(.., |n| after.ty(*n).as_tensor().is_some()).collect();
    if old.len() != new.len() {
        let names: Vec<String> =
            old.iter().map(|n| before.name(*n)).chain(new.iter().map(|n| after.name(*n))).map(String::from).collect();
        let reason = format!("there are {} assertions that give tensors before, {} after", old.len(), new.len());
        findings.push(Problem::unknown(Question::Effects, reason).at(names));
        return;
    }
    for (p, q) in old.into_iter().zip(new) {
        findings.problems.extend(compare_giving_assertion(f, c, p, q));
    }
}

/// Compares two assertions that give a tensor by what they are given.
pub(in crate::verify) fn compare_giving_assertion(
    f: &mut Functional<'_>,
    c: &mut Congruence,
    p: NodeId,
    q: NodeId,
) -> Option<Problem> {
    if is_given_the_same(f, c, p, q) {
        return None;
    }
    let (name, after) = (f.before.view.name(p).to_string(), f.after.view.name(q).to_string());
    let reason = format!("assertion `{after}` asks something else, or is not shown to ask the same");
    let names = [name, after];
    Some(Problem::unknown(Question::Effects, reason).at(names))
}

/// Whether two calls are of one operator, written alike, on equal operands.
fn is_given_the_same(f: &mut Functional<'_>, c: &mut Congruence, p: NodeId, q: NodeId) -> bool {
    let (before, after) = (f.before.view, f.after.view);
    // Arguments with their keywords; which nodes they name is asked below.
    let written = |view: &dyn View, n: NodeId| -> Vec<(String, Arg)> {
        let named = view.kwargs(n).iter().map(|(k, a)| (view.texts().text(*k).to_string(), a));
        let all = view.args(n).iter().map(|a| (String::new(), a)).chain(named);
        all.map(|(k, a)| (k, a.map_nodes(&mut |_| p))).collect()
    };
    let operands = |view: &dyn View, n: NodeId| -> Vec<NodeId> { view.operands(n).collect() };
    if before.target(p) != after.target(q) || written(before, p) != written(after, q) {
        return false;
    }
    operands(before, p).into_iter().zip(operands(after, q)).all(|(a, b)| {
        let (from, to) = (f.order(Side::Before, p), f.order(Side::After, q));
        let a = f.read_at(Side::Before, place_of(before, a), from);
        let b = f.read_at(Side::After, place_of(after, b), to);
        widen::equal_exactly(f, c, a, b)
    })
}

/// Compares an ordered effect of both sides: same call, equal operands.
pub(in crate::verify) fn compare_effect(
    f: &mut Functional<'_>,
    c: &mut Congruence,
    p: NodeId,
    q: NodeId,
    findings: &mut Findings,
) {
    if !crate::verify::effects::raises::same_type(f, f.before.view.ty(p), f.after.view.ty(q)) {
        let names = [f.before.view.name(p).to_string(), f.after.view.name(q).to_string()];
        let reason = format!("effect `{}` is said to give another type", f.after.view.name(q));
        findings.push(Problem::unknown(Question::Form, reason).at(names));
    }
    let (a, b) = (f.outcome(Side::Before, Place::of(p)), f.outcome(Side::After, Place::of(q)));
    let owed = Owed::Effect(f.after.view.name(q).to_string());
    findings.problems.extend(Obligation { owed, before: a, after: b }.discharge(f, c));
}
