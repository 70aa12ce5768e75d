//! What a rule must show before it is used: what every rule of the judge's own shows in its tests.
//!
//! Promises: a rule that one run contradicts is none, nor is one whose sides are one, or that nothing could be run of; what the judge proves is admitted by that, all else
//! by runs of every regime at sizes from all its ranges, from several seeds; runs in a dtype so coarse that anything is near show bits, or nothing.

use serde::Deserialize;
use serde::de::{IntoDeserializer, value::Error as UnknownLabel};

use super::{Admitted, UserRule, UserRules, matching};
use crate::analysis::form::check_form;
use crate::formats::text::case::Case;
use crate::formats::text::write_node_line;
use crate::graph::{BodyId, Graph, InputLayout, NodeKind, TensorType, ValueType, View};
use crate::ops::Registry;
use crate::verify::differ::{differ_if_coarse, refute, settle};
use crate::verify::judge::judge_pair;
use crate::verify::options::{Budget, JudgeOptions, Mode};
use crate::verify::policy::Policy;
use crate::verify::verdict::{Finding, Level, Question, Verdict};

/// From how many seeds a rule is run of which there is no proof.
const SEEDS: u64 = 4;
/// On how many inputs it must have been.
const LEAST: usize = 40;

/// Why a rule is not admitted.
#[derive(Debug, thiserror::Error)]
pub enum NotAdmitted {
    /// It is not of a form that can be applied.
    #[error("rule `{rule}`: {why}")]
    Form {
        /// The rule.
        rule: String,
        /// What is wrong, and what is expected.
        why: String,
    },
    /// It does not hold.
    #[error("rule `{rule}` does not hold: {why}")]
    Wrong {
        /// The rule.
        rule: String,
        /// What shows it.
        why: String,
    },
    /// Too little of it could be shown.
    #[error("rule `{rule}` is not admitted: {why}")]
    Unshown {
        /// The rule.
        rule: String,
        /// What stayed open.
        why: String,
    },
}

/// Admits a rule that a case states: what is as its first graph may be as its second one, at the level of its label.
///
/// # Errors
/// What keeps it from being one.
pub fn admit(case: &Case, registry: &Registry) -> Result<UserRule, NotAdmitted> {
    let rule = case.meta.name.clone();
    let form = |why: String| NotAdmitted::Form { rule: rule.clone(), why };
    let label = &*case.meta.label;
    let named: Result<Level, UnknownLabel> = Level::deserialize(label.into_deserializer());
    let level = named.map_err(|_| form(format!("its label is `{label}`; a rule states exact or real")))?;
    let (mut before, mut after) = (case.before.clone(), case.after.clone());
    for (side, which) in [(&mut before, "first"), (&mut after, "second")] {
        lie_anyhow(side);
        if let Some(error) = check_form(side).into_iter().next() {
            return Err(form(format!("its {which} graph is not well formed: {error}")));
        }
        if let Some(problem) = registry.check_types(side).into_iter().next() {
            return Err(form(format!("its {which} graph is not well typed: {problem}")));
        }
        can_be_applied(side, registry).map_err(|why| form(format!("its {which} graph {why}")))?;
    }
    let reached = |n: &crate::graph::NodeId| !before.users_in_order(*n).is_empty();
    if !matching::inputs(&before).iter().all(reached) {
        return Err(form("an input that its first graph does not use could be anything".into()));
    }
    let meta = &case.meta;
    if !(meta.inputs.is_empty() && meta.values.is_empty()) || meta.allow_wider || meta.integer_slack {
        return Err(form(
            "it states what inputs hold, or looks away from differences: a rule holds for all that its types say"
                .into(),
        ));
    }
    if printed(&before) == printed(&after) {
        return Err(form("its two sides are one and the same".into()));
    }
    let mut options = JudgeOptions::of_case(&case.meta, Mode::default());
    options.rules = UserRules::default();
    options.policy = Policy::Default;
    options.budget = Budget { time_ms: 20_000, ..Budget::searching() };
    let admitted = shown(&rule, level, (&before, &after, registry), &options)?;
    let backwards = shown(&rule, level, (&after, &before, registry), &options).ok();
    Ok(UserRule { name: rule, level, admitted, backwards, before, after })
}

/// What stands for an input of a rule may be a view: rules state nothing of strides.
fn lie_anyhow(side: &mut Graph) {
    side.inputs_lie = InputLayout::Any;
    for input in matching::inputs(side) {
        if let ValueType::Tensor(ty) = side.ty(input) {
            let ty = TensorType { strides: None, ..TensorType::clone(ty) };
            side.set_type(input, ValueType::tensor(ty));
        }
    }
}

/// Returns how it is shown that a graph may be as another one.
fn shown(
    rule: &str,
    level: Level,
    (before, after, registry): (&Graph, &Graph, &Registry),
    options: &JudgeOptions,
) -> Result<Admitted, NotAdmitted> {
    let verdict = judge_pair(before, after, registry, options);
    match verdict.verdict {
        Finding::Refuted => Err(NotAdmitted::Wrong { rule: rule.into(), why: verdict.reason }),
        Finding::Proved | Finding::Checked if verdict.accepted => by_proof(rule, level, &verdict),
        _ => by_runs(rule, level, (before, after, registry), &verdict, options),
    }
}

fn by_proof(rule: &str, level: Level, verdict: &Verdict) -> Result<Admitted, NotAdmitted> {
    if level == Level::Exact && verdict.level == Some(Level::Real) {
        let why = "it states that bits are equal, and is shown over the reals alone".into();
        return Err(NotAdmitted::Unshown { rule: rule.into(), why });
    }
    Ok(Admitted::Proof)
}

/// Runs both sides from several seeds, and holds the rounding of the second to that of the first.
fn by_runs(
    rule: &str,
    level: Level,
    (before, after, registry): (&Graph, &Graph, &Registry),
    verdict: &Verdict,
    options: &JudgeOptions,
) -> Result<Admitted, NotAdmitted> {
    let unshown = |why: String| NotAdmitted::Unshown { rule: rule.into(), why };
    if verdict.open != [Question::Values] {
        return Err(unshown(format!("more than its values is open: {}", verdict.reason)));
    }
    if level == Level::Exact {
        return Err(unshown("bits are shown by proof alone, and there is none: state it over the reals".into()));
    }
    let mut inputs = 0_usize;
    for seed in 1..=SEEDS {
        let options = JudgeOptions { seed, is_repeatable: true, ..options.clone() };
        let tried = refute(before, after, registry, &options);
        if let Some(witness) = tried.witness {
            let claimed = Verdict::proved_exact(Vec::new());
            return Err(NotAdmitted::Wrong { rule: rule.into(), why: witness.refutes(claimed).reason });
        }
        inputs = inputs.saturating_add(tried.ran);
        if let Some(witness) = differ_if_coarse(before, after, registry, &options) {
            let why = witness.sentence();
            return Err(unshown(format!(
                "a dtype is too coarse for runs to tell what is near, and bits differ: {why}"
            )));
        }
        // As if it were proved: the sampled test decides.
        let claimed = Verdict { level: Some(Level::Real), ..Verdict::proved_exact(Vec::new()) };
        let settled = settle(claimed, before, after, registry, &options);
        if !settled.accepted {
            return Err(unshown(settled.reason));
        }
    }
    if inputs < LEAST {
        return Err(unshown(format!("it ran on {inputs} inputs only; {LEAST} are needed")));
    }
    Ok(Admitted::Runs { inputs })
}

/// Whether a side is something that can be found in a graph, and put there: pure calls with one result.
fn can_be_applied(side: &Graph, registry: &Registry) -> Result<(), String> {
    if side.bodies().count() > 1 {
        return Err("holds graphs of its own: a rule is of plain calls".into());
    }
    let root = matching::result(side).ok_or("has not one result: a rule has exactly one")?;
    if side.kind(root) != NodeKind::Call {
        return Err("gives an input back: a rule gives what a call makes".into());
    }
    for node in side.nodes(BodyId::ROOT) {
        let name = side.name(node);
        match side.kind(node) {
            NodeKind::Placeholder if side.ty(node).as_tensor().is_none() => {
                return Err(format!("takes `{name}`, which is no tensor"));
            }
            NodeKind::GetAttr => return Err(format!("reads `{name}`, which is no input")),
            NodeKind::Call if crate::analysis::getitem_of(side, node).is_none() => {
                let pure = registry.operator_of(side, node).is_some_and(|o| o.effects.is_pure());
                pure.then_some(())
                    .ok_or(format!("calls `{}`, which does more than give a value", side.target(node)))?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn printed(side: &Graph) -> Vec<String> {
    side.nodes(BodyId::ROOT).map(|n| write_node_line(side, n)).collect()
}
