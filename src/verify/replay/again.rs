//! The steps of a certificate, shown once more on graphs without writes.
//!
//! How the judge finds what memory holds after a write is a large part of what a verdict rests on. Here it has no part: `functionalize` takes the
//! writes out of both graphs by a walk of its own, and the same steps must show the same results of what is left, in which nothing is written
//! but inputs, once, at the end.
//!
//! Promises: what is shown is all that is returned, and what inputs hold at the end. Leaves aside, with the reason, graphs of which the walk does not
//! know what they write: inputs that may be one memory, calls that nobody described, bodies.

use std::collections::HashMap;
use std::fmt;

use super::shown;
use crate::analysis::getitem_of;
use crate::certificate::{Position, Step, Version};
use crate::functionalize::{self, Functionalized, Kept, functionalize_fully};
use crate::graph::{BodyId, Graph, NodeId, NodeKind, ValueType, View};
use crate::ops::Registry;
use crate::rules::Level;
use crate::term::term::Side;
use crate::verify::findings::{Findings, Problem};
use crate::verify::functional::position::names;
use crate::verify::functional::values::Functional;
use crate::verify::judge::edit::judge_values;
use crate::verify::judge::pair::comparable;
use crate::verify::options::JudgeOptions;
use crate::verify::prove::congruence::{Congruence, Proof};
use crate::verify::verdict::Question;

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Again {
    /// Neither graph writes.
    Plain,
    /// The steps show the results of both graphs without writes.
    Shown,
    /// Writes are not taken out of one of them.
    Kept(String),
    /// The steps do not show them.
    Unshown(String),
}

impl fmt::Display for Again {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Again::Plain => write!(f, "neither graph writes"),
            Again::Shown => write!(f, "shown again on both graphs with their writes taken out"),
            Again::Kept(why) => write!(f, "what is written is the judge's word: {why}"),
            Again::Unshown(why) => write!(f, "with writes taken out of both graphs the steps do not show it: {why}"),
        }
    }
}

/// Shows the steps of a certificate, and those that it has of graphs without writes alone (`more`), on both graphs with their writes taken out.
pub(super) fn again(
    [before, after]: [&Graph; 2],
    registry: &Registry,
    options: &JudgeOptions,
    (steps, more): (&[Step], &[Step]),
) -> Again {
    let taken = match taken([before, after], registry, options, steps) {
        Ok(taken) => taken,
        Err(said) => return said,
    };
    match taken.judged(registry, options, more, Proof::Given).0 {
        Some(problem) => Again::Unshown(problem.reason),
        None => Again::Shown,
    }
}

/// Returns the steps that are wanted beside those of a certificate, of both graphs with their writes taken out: none where these show it, or where
/// nothing does at the level of the certificate.
pub(super) fn more(
    graphs: [&Graph; 2],
    registry: &Registry,
    options: &JudgeOptions,
    (steps, level): (&[Step], Level),
) -> Vec<Step> {
    let Ok(taken) = taken(graphs, registry, options, steps) else { return Vec::new() };
    if taken.judged(registry, options, &[], Proof::Given).0.is_none() {
        return Vec::new();
    }
    match taken.judged(registry, options, &[], Proof::Record(Vec::new())) {
        (None, Proof::Record(found)) if found.iter().all(|step| step.level <= level) => found,
        _ => Vec::new(),
    }
}

/// Both graphs with their writes taken out, and the steps of a certificate that are of these.
struct Taken {
    graphs: [Graph; 2],
    steps: Vec<Step>,
    problems: Vec<Problem>,
}

impl Taken {
    /// Shows the steps and `more`, and returns what is open then, and what `proof` kept.
    fn judged(
        &self,
        registry: &Registry,
        options: &JudgeOptions,
        more: &[Step],
        proof: Proof,
    ) -> (Option<Problem>, Proof) {
        let options = JudgeOptions { given: None, ..options.clone() };
        let mut proof = Some(proof);
        let mut begin = |f: &mut Functional<'_>, c: &mut Congruence| {
            let names = [Side::Before, Side::After].map(|side| names(f.view(side)));
            // A step that is not shown shows nothing: what follows from it is not shown either.
            for step in self.steps.iter().chain(more) {
                let _ = shown(f, c, &names, step);
            }
            c.proof = proof.take().unwrap_or_default();
        };
        let [before, after] = &self.graphs;
        let (found, proof) = judge_values(before, after, registry, &options, &mut begin);
        let is_open = |p: &Problem| matches!(p.question, Question::Values | Question::Form);
        (self.problems.iter().cloned().chain(found).find(is_open), proof)
    }
}

/// Takes the writes out of both graphs; says why not where that is not asked, or not possible.
fn taken(
    [before, after]: [&Graph; 2],
    registry: &Registry,
    options: &JudgeOptions,
    steps: &[Step],
) -> Result<Taken, Again> {
    if !options.may_alias.is_empty() {
        return Err(Again::Kept("inputs may be one memory".into()));
    }
    let writes = |graph: &Graph| graph.nodes(BodyId::ROOT).any(|n| functionalize::writes(graph, registry, n));
    if !writes(before) && !writes(after) {
        return Err(Again::Plain);
    }
    let mut findings = Findings::default();
    let (before, after) = comparable(before, after, registry, &mut findings);
    let items = [items_of(&before), items_of(&after)];
    let [before, after] = match [&before, &after].map(|graph| without_writes(graph, registry)) {
        [Ok(before), Ok(after)] => [before, after],
        [Err(kept), _] | [_, Err(kept)] => return Err(Again::Kept(kept.to_string())),
    };
    let steps = steps.iter().filter_map(|step| moved(step, [&before, &after], &items)).collect();
    let (before, after) = comparable(&before.graph, &after.graph, registry, &mut findings);
    Ok(Taken { graphs: [before, after], steps, problems: findings.problems })
}

/// Returns a graph without its writes.
fn without_writes(graph: &Graph, registry: &Registry) -> Result<Functionalized, Kept> {
    let kept = |node: &str, reason: &str| Kept { node: node.into(), reason: reason.into() };
    if graph.bodies().count() > 1 {
        return Err(kept("graph", "it has bodies, of which the walk does not know what they write"));
    }
    let calls = || graph.nodes(BodyId::ROOT).filter(|n| graph.kind(*n) == NodeKind::Call);
    let operator = |n| registry.operator_of(graph, n);
    if let Some(node) = calls().find(|n| operator(*n).is_none_or(|o| o.effects.opaque)) {
        return Err(kept(graph.name(node), "nobody described what it writes"));
    }
    // What is copied lies in memory of its own.
    let is_asked = |n: NodeId| !matches!(graph.ty(n), ValueType::None | ValueType::Tensor(_));
    let asks_how_it_lies = |n: &NodeId| is_asked(*n) && operator(*n).is_some_and(|o| o.facts.sees_layout);
    match calls().find(asks_how_it_lies) {
        Some(node) => Err(kept(graph.name(node), "it asks how a tensor lies, and without writes they lie otherwise")),
        None => functionalize_fully(graph, registry),
    }
}

/// The names of the nodes that take one of several results, by the name of the call and which of them.
type Items = HashMap<(Box<str>, u32), Vec<Box<str>>>;

fn items_of(graph: &Graph) -> Items {
    let mut items = Items::default();
    for node in graph.nodes(BodyId::ROOT) {
        if let Some((of, item)) = getitem_of(graph, node) {
            items.entry((graph.name(of).into(), item)).or_default().push(graph.name(node).into());
        }
    }
    items
}

/// The step as one of graphs without writes; nothing where it is of what these have no value for, as the layout of what was written.
fn moved(step: &Step, sides: [&Functionalized; 2], items: &[Items; 2]) -> Option<Step> {
    let ([before, after], [items_before, items_after]) = (sides, items);
    let position = |p: &Position| {
        let (taken, items) = if p.graph == "before" { (before, items_before) } else { (after, items_after) };
        let writer = match &p.version {
            Version::WrittenBy(writer) => writer,
            Version::Born => &p.node,
            Version::FinalOutput(_) => return Some(p.clone()),
        };
        let held = |node: &str| taken.versions.get(&(Box::from(node), Box::from(&**writer)));
        // One of several results is written under the name of a node that takes it.
        if let Some(item) = p.result.filter(|_| p.of == "value" && p.version != Version::Born) {
            let node = items.get(&(Box::from(&*p.node), item))?.iter().find_map(|node| held(node))?;
            let node = taken.graph.name(*node).into();
            return Some(Position { node, result: None, version: Version::Born, ..p.clone() });
        }
        let other = taken.given.get(&*p.node);
        match held(&p.node).or_else(|| held(other?)) {
            Some(node) if p.of == "value" => {
                Some(Position { node: taken.graph.name(*node).into(), version: Version::Born, ..p.clone() })
            }
            // What came after the write holds it from the beginning. Where it does not, the step is not shown, and shows nothing.
            None if p.of == "value" => {
                let node = other.map_or_else(|| p.node.clone(), |other| other.to_string());
                Some(Position { node, version: Version::Born, ..p.clone() })
            }
            _ => (p.version == Version::Born).then(|| p.clone()),
        }
    };
    Some(Step { level: step.level, one: position(&step.one)?, other: position(&step.other)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text;
    use crate::verify::{certify, check_certificate};

    fn program(body: &str) -> Graph {
        let lines: String = body.lines().map(|l| format!("        {}\n", l.trim())).collect();
        let head = "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[4, 6]\", y: \"f32[6]\"):\n";
        text::read(&format!("{head}{lines}"), &text::ReadOptions::of_file("t.fx")).unwrap()
    }

    fn between(before: &str, after: &str) -> Again {
        let options = JudgeOptions::default();
        again([&program(before), &program(after)], &Registry::standard(), &options, (&[], &[]))
    }

    const WRITTEN: &str = "c = torch.ops.aten.clone.default(x)
        row = torch.ops.aten.select.int(c, 0, 1)
        w = torch.ops.aten.add_.Tensor(row, y)
        out = torch.ops.aten.neg.default(c)
        return (out,)";

    #[test]
    fn a_write_through_a_view_is_a_scatter() {
        let scattered = "row = torch.ops.aten.select.int(x, 0, 1)
            w = torch.ops.aten.add.Tensor(row, y)
            c = torch.ops.aten.select_scatter.default(x, w, 0, 1)
            out = torch.ops.aten.neg.default(c)
            return (out,)";
        assert_eq!(between(WRITTEN, scattered), Again::Shown);
        let another = scattered.replace("w, 0, 1", "w, 0, 2");
        assert!(matches!(between(WRITTEN, &another), Again::Unshown(_)));
    }

    #[test]
    fn what_is_read_before_a_write_is_not_what_is_read_behind_it() {
        let early = WRITTEN.replace(
            "w = torch.ops.aten.add_.Tensor(row, y)\n        out = torch.ops.aten.neg.default(c)",
            "out = torch.ops.aten.neg.default(c)\n        w = torch.ops.aten.add_.Tensor(row, y)",
        );
        assert_ne!(early, WRITTEN);
        assert!(matches!(between(WRITTEN, &early), Again::Unshown(_)));
    }

    #[test]
    fn a_step_on_a_view_that_is_read_after_a_write_to_its_memory_is_shown_of_the_view_made_again() {
        let before = "c = torch.ops.aten.clone.default(x)
            v = torch.ops.aten.view.default(c, [2, 3, 4])
            w = torch.ops.aten.add_.Tensor(c, y)
            out = torch.ops.aten.relu.default(v)
            return (out,)";
        let after = before.replace(
            "out = torch.ops.aten.relu.default(v)",
            "m = torch.ops.aten.neg.default(v)
            n = torch.ops.aten.neg.default(m)
            out = torch.ops.aten.relu.default(n)",
        );
        let options = JudgeOptions::default();
        let (before, right) = (program(before), program(&after));
        let certificate = certify(&before, &right, &Registry::standard(), &options).certificate.unwrap();
        let again = |after: &Graph| {
            again([&before, after], &Registry::standard(), &options, (&certificate.steps, &certificate.without_writes))
        };
        assert_eq!(again(&right), Again::Shown);
        let wrong = program(&after.replace("neg.default(m)", "abs.default(m)"));
        assert!(matches!(again(&wrong), Again::Unshown(_)));
    }

    #[test]
    fn a_step_on_one_of_several_results_is_shown_of_the_node_that_takes_it() {
        let before = "p = torch.ops.aten.std_mean.correction(x)
            s: \"f32[]\" = p[0]
            m: \"f32[]\" = p[1]
            c = torch.ops.aten.copysign.Tensor(m, m)
            n = torch.ops.aten.neg_.default(s)
            return (m, s)";
        let after = before.replace("copysign.Tensor", "copysign_.Tensor");
        let options = JudgeOptions::default();
        let (before, right) = (program(before), program(&after));
        let certificate = certify(&before, &right, &Registry::standard(), &options).certificate.unwrap();
        let again = |after: &Graph| {
            again([&before, after], &Registry::standard(), &options, (&certificate.steps, &certificate.without_writes))
        };
        assert_eq!(again(&right), Again::Shown);
        let wrong = program(&after.replace("copysign_.Tensor(m, m)", "copysign_.Tensor(m, s)"));
        assert!(matches!(again(&wrong), Again::Unshown(_)));
    }

    #[test]
    fn what_steps_of_memory_do_not_show_without_writes_has_steps_of_its_own() {
        const WRITES: &str = "e = torch.ops.aten.slice.Tensor(y, 0, 6)
            t = torch.ops.aten.type_as.default(e, e)
            q = torch.ops.aten.square_.default(t)
            c = torch.ops.aten.clamp.default(e, 0, 0)
            out = torch.ops.aten.slice.Tensor(q, 0, None, -1)
            return (out,)";
        let (registry, options) = (Registry::standard(), JudgeOptions::default());
        let (before, after) = (program(WRITES), program(&WRITES.replace("clamp.default", "clamp_.default")));
        let certificate = certify(&before, &after, &registry, &options).certificate.unwrap();
        let (steps, more) = (&certificate.steps, &certificate.without_writes);
        assert!(!more.is_empty());
        let graphs = [&before, &after];
        assert_eq!(again(graphs, &registry, &options, (steps, more)), Again::Shown);
        assert!(matches!(again(graphs, &registry, &options, (steps, &[])), Again::Unshown(_)));
        check_certificate(&certificate, &before, &after, &registry, &options).unwrap();
        // What is not empty is written.
        let written = |call: &str| {
            program(&WRITES.replace("slice.Tensor(y, 0, 6)", "slice.Tensor(y, 0, 3)").replace("clamp.default", call))
        };
        let (before, wrong) = (written("clamp.default"), written("clamp_.default"));
        assert!(matches!(again([&before, &wrong], &registry, &options, (steps, more)), Again::Unshown(_)));
    }

    #[test]
    fn what_asks_how_a_written_tensor_lies_is_left_to_the_judge() {
        let asks = "w = torch.ops.aten.add_.Tensor(x, y)\n s = torch.ops.aten.sym_stride.int(w, 0)\n return (s,)";
        assert!(matches!(between(asks, asks), Again::Kept(_)));
    }

    #[test]
    fn what_a_call_gives_as_it_is_and_what_has_no_elements_is_shown_again() {
        let shown = |before: &str, after: &str| {
            let options = JudgeOptions::default();
            let (before, after) = (program(before), program(after));
            let certificate = certify(&before, &after, &Registry::standard(), &options).certificate.unwrap();
            again([&before, &after], &Registry::standard(), &options, (&certificate.steps, &certificate.without_writes))
        };
        let copied = "w = torch.ops.aten.copy_.default(y, y)
            c = torch.ops.aten.conj.default(w)
            out = torch.ops.aten.any.default(c)
            return (out,)";
        assert_eq!(shown(copied, &copied.replace("any.default(c)", "any.default(w)")), Again::Shown);
        let detached = "s = torch.ops.aten.scalar_tensor.default(0)
            n = torch.ops.aten.new_zeros.default(s, [])
            d = torch.ops.aten.detach_.default(s)
            return (d,)";
        assert_eq!(shown(detached, &detached.replace("detach_.default(s)", "detach_.default(n)")), Again::Shown);
        let emptied = "e = torch.ops.aten.adaptive_avg_pool1d.default(x, [0])
            z = torch.ops.aten.zero_.default(e)
            f = torch.ops.aten.floor_.default(e)
            s = torch.ops.aten.sub_.Scalar(z, 2)
            out = torch.ops.aten.nonzero_static.default(f, size = 1)
            w = torch.ops.aten.zero_.default(s)
            return (out,)";
        let later = "w = torch.ops.aten.zero_.default(s)
            out = torch.ops.aten.nonzero_static.default(f, size = 1)
            return (out,)";
        let swapped = format!("{}{later}", &emptied[..emptied.find("out =").unwrap()]);
        assert_eq!(shown(emptied, &swapped), Again::Shown);
    }

    #[test]
    fn what_an_input_holds_at_the_end_is_compared() {
        let once = "w = torch.ops.aten.add_.Tensor(x, y)\n return ()";
        let copied = "s = torch.ops.aten.add.Tensor(x, y)\n w = torch.ops.aten.copy_.default(x, s)\n return ()";
        assert_eq!(between(once, copied), Again::Shown);
        assert!(matches!(between(once, "return ()"), Again::Unshown(_)));
    }

    #[test]
    fn inputs_that_change_places_are_read_before_either_is_written() {
        let one = "r = torch.ops.aten.select.int(x, 0, 0)
            t = torch.ops.aten.clone.default(r)
            a = torch.ops.aten.copy_.default(r, y)
            b = torch.ops.aten.copy_.default(y, t)
            return ()";
        let other = "r = torch.ops.aten.select.int(x, 0, 0)
            t = torch.ops.aten.clone.default(y)
            b = torch.ops.aten.copy_.default(y, r)
            a = torch.ops.aten.copy_.default(r, t)
            return ()";
        assert_eq!(between(one, other), Again::Shown);
        let lost = other.replace("copy_.default(r, t)", "copy_.default(r, y)");
        assert!(matches!(between(one, &lost), Again::Unshown(_)));
    }

    #[test]
    fn of_what_nobody_described_nothing_is_said() {
        let opaque = "c = torch.ops.own.writes.default(x)\n w = torch.ops.aten.add_.Tensor(x, y)\n return (c,)";
        assert!(matches!(between(opaque, opaque), Again::Kept(_)));
    }
}
