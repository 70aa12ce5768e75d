//! What models hold beside their graphs: whether tensors of one name are the same in both, and what lifted constants are.
//!
//! Promises: two models whose graphs are equal mean the same only if no tensor that both name differs, in type, content, or whose memory it shares.
//! A model without the content of a tensor says nothing of it. Leaves graphs to `judge`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::exec::{Meta, Meter, Storage, Tensor};
use crate::graph::{Graph, InputKind, Model, NodeKind, View, Weight, Weights};
use crate::verify::differ::{Held, Values, values_of};
use crate::verify::findings::Problem;
use crate::verify::policy::Policy;
use crate::verify::verdict::{Finding, Question, Verdict};

/// How many elements of lifted constants are kept for runs, all together.
const KEPT: usize = 1 << 21;

/// Returns a verdict on two graphs as one on their models.
pub fn with_weights(verdict: Verdict, before: &Model, after: &Model, policy: Policy) -> Verdict {
    let Some(problem) = unlike(before, after).filter(|_| verdict.verdict != Finding::Refuted) else { return verdict };
    let mut answers = verdict.answers.clone();
    for answer in answers.iter_mut().filter(|a| a.question == problem.question) {
        (answer.finding, answer.level, answer.evidence) = (problem.finding, None, None);
        answer.reasons = vec![problem.reason.clone()];
    }
    let refusal = Verdict::refusal(problem.finding, problem.question, problem.reason, problem.nodes);
    let mut refused = Verdict { answers, terms: verdict.terms, ms: verdict.ms, ..refusal };
    refused.accepted = policy.accepts(&refused);
    refused
}

/// Returns how the tensors of two models differ that both graphs name; `None` where they do not.
pub fn unlike_weights(before: &Model, after: &Model) -> Option<String> {
    unlike(before, after).map(|p| p.reason)
}

/// Returns the lifted constants whose content is at hand, by the names of their placeholders.
pub fn constants(graph: &Graph, weights: &Weights) -> Arc<[Held]> {
    let specs = graph.signature.as_ref().map_or(&[][..], |s| &s.inputs);
    let mut left = KEPT;
    let held = specs.iter().filter(|i| i.kind == InputKind::ConstantTensor).filter_map(|input| {
        let tensor = tensor(weights, input.target.as_deref()?)?;
        left = left.checked_sub(tensor.numel())?;
        let (dtype, sizes) = (Some(tensor.dtype()), tensor.sizes().to_vec());
        Some(Held { name: input.name.to_string(), dtype, sizes, values: values_of(&tensor)? })
    });
    held.collect()
}

/// The tensors of a module that a graph names.
fn named(model: &Model) -> BTreeSet<&str> {
    let graph = &model.graph;
    let inputs = graph.signature.iter().flat_map(|s| &s.inputs).filter_map(|i| i.target.as_deref());
    let nodes = graph.bodies().flat_map(|b| graph.nodes(b)).filter(|n| graph.kind(*n) == NodeKind::GetAttr);
    inputs.chain(nodes.map(|n| graph.target(n))).collect()
}

fn unlike(before: &Model, after: &Model) -> Option<Problem> {
    // A text holds no tensors: nothing is said of them.
    if before.weights.storages.is_empty() || after.weights.storages.is_empty() {
        return None;
    }
    let others = named(after);
    let mut shared: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    let mut sharing: BTreeMap<&str, &str> = BTreeMap::new();
    for name in named(before).into_iter().filter(|n| others.contains(n)) {
        let (a, b) = match (before.weights.find(name), after.weights.find(name)) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(_), Err(_)) => continue,
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => {
                return Some(Problem::unknown(
                    Question::Values,
                    format!("only one of the models holds tensor `{name}`"),
                ));
            }
        };
        let is_same = a.0.ty == b.0.ty && a.1.as_slice() == b.1.as_slice();
        if let Some(problem) = if is_same { None } else { unlike_tensor(before, after, name) } {
            return Some(problem);
        }
        // Names of storages are each model's own: they must part the tensors alike.
        let (old, new): (&Weight, &Weight) = (a.0, b.0);
        let (partner, first) = *shared.entry(&old.storage).or_insert((&new.storage, name));
        let owner = *sharing.entry(&new.storage).or_insert(&old.storage);
        if partner != &*new.storage || owner != &*old.storage {
            let reason = format!("tensors `{first}` and `{name}` share memory in one of the models only");
            return Some(Problem::unknown(Question::Effects, reason));
        }
    }
    None
}

fn unlike_tensor(before: &Model, after: &Model, name: &str) -> Option<Problem> {
    let (Some(a), Some(b)) = (tensor(&before.weights, name), tensor(&after.weights, name)) else {
        return Some(Problem::unknown(Question::Values, format!("tensor `{name}` of both models cannot be compared")));
    };
    if a.dtype() != b.dtype() || a.sizes() != b.sizes() {
        let shown = |t: &Tensor| format!("{}{:?}", t.dtype(), t.sizes());
        let reason = format!("tensor `{name}` is {} before, {} after", shown(&a), shown(&b));
        return Some(Problem::refuted(Question::Form, reason));
    }
    let bits = |t: &Tensor| Some(t.resolved(&Meter::default()).ok()?.storage.read().ok()?.bytes().to_vec());
    let (Some(old), Some(new)) = (bits(&a), bits(&b)) else {
        return Some(Problem::unknown(Question::Values, format!("tensor `{name}` of both models cannot be compared")));
    };
    let width = a.dtype().bytes().max(1);
    let place = old.chunks(width).zip(new.chunks(width)).take(a.numel()).position(|(x, y)| x != y)?;
    let shown = |t: &Tensor| match values_of(t) {
        Some(Values::Floats(all)) => all.get(place).map_or_else(String::new, f64::to_string),
        Some(Values::Whole(all)) => all.get(place).map_or_else(String::new, i64::to_string),
        None => "other bits".to_string(),
    };
    let reason = format!(
        "tensor `{name}` holds {} before and {} after at element {place} of {}; texts (`.fx`) compare graphs alone",
        shown(&a),
        shown(&b),
        a.numel()
    );
    Some(Problem::refuted(Question::Values, reason))
}

fn tensor(weights: &Weights, name: &str) -> Option<Tensor> {
    let (weight, bytes) = weights.find(name).ok()?;
    Tensor::new(Meta::of(&weight.ty).ok()?, Storage::mapped(bytes.clone(), &Meter::default())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::seed_weights;
    use crate::formats::text::{self, ReadOptions};
    use crate::graph::Bytes;
    use crate::ops::Registry;
    use crate::verify::{Budget, JudgeOptions, judge_pair};

    fn model(by: &str) -> Model {
        let text = format!(
            "class GraphModule(torch.nn.Module):\n    def forward(self, p_w: \"f32[3]\", c_k: \"f32[3]\", x: \"f32[2, 3]\"):\n        \
             add: \"f32[2, 3]\" = torch.ops.aten.add.Tensor(x, p_w)\n        \
             mul: \"f32[2, 3]\" = torch.ops.aten.mul.Tensor(add, {by})\n        return (mul,)\n\nGraph signature:\n    # inputs\n    \
             p_w: PARAMETER target='w'\n    c_k: CONSTANT_TENSOR target='k'\n    x: USER_INPUT\n\n    # outputs\n    mul: USER_OUTPUT\n"
        );
        let mut graph = text::read(&text, &ReadOptions::of_file("g.fx")).unwrap_or_else(|e| panic!("{}", e.render()));
        assert!(Registry::standard().check_types(&mut graph).is_empty());
        Model { graph, ..Model::default() }
    }

    fn seeded(by: &str) -> Model {
        let mut model = model(by);
        assert_eq!(seed_weights(&mut model, 3).unwrap(), 2);
        model
    }

    /// A model one of whose tensors holds another number in its last place.
    fn changed(name: &str) -> Model {
        let mut model = seeded("c_k");
        let storage = model.weights.find(name).unwrap().0.storage.clone();
        let mut content = model.weights.storages[&storage].as_slice().to_vec();
        content[8..12].copy_from_slice(&7.0_f32.to_le_bytes());
        model.weights.storages.insert(storage, Bytes::new(content));
        model
    }

    fn judged(before: &Model, after: &Model) -> Verdict {
        let constants = constants(&before.graph, &before.weights);
        let options = JudgeOptions { constants, budget: Budget::searching(), ..JudgeOptions::default() };
        let verdict = judge_pair(&before.graph, &after.graph, &Registry::standard(), &options);
        with_weights(verdict, before, after, options.policy)
    }

    #[test]
    fn models_that_hold_the_same_are_equal_and_a_text_says_nothing_of_what_they_hold() {
        assert!(judged(&seeded("c_k"), &seeded("c_k")).accepted);
        assert!(judged(&seeded("c_k"), &model("c_k")).accepted);
    }

    #[test]
    fn another_number_in_a_constant_or_a_parameter_is_another_model() {
        for name in ["k", "w"] {
            let verdict = judged(&seeded("c_k"), &changed(name));
            assert!(!verdict.accepted && verdict.verdict == Finding::Refuted, "{verdict:?}");
            assert!(verdict.reason.contains(&format!("tensor `{name}` holds")), "{}", verdict.reason);
            assert!(verdict.reason.contains("7 after at element 2 of 3"), "{}", verdict.reason);
        }
    }

    #[test]
    fn tensors_that_share_memory_in_one_model_only_are_not_shown_to_be_the_same() {
        let (plain, mut shared) = (seeded("c_k"), seeded("c_k"));
        let content = plain.weights.storages["w"].clone();
        shared.weights.state.get_mut("k").unwrap().storage = "w".into();
        let mut apart = plain;
        apart.weights.storages.insert("k".into(), content);
        let verdict = judged(&apart, &shared);
        assert!(!verdict.accepted && verdict.reason.contains("share memory in one of the models only"), "{verdict:?}");
        assert!(judged(&shared, &shared).accepted);
    }

    #[test]
    fn a_lifted_constant_is_always_what_the_model_holds_when_graphs_are_run() {
        let shown = judged(&seeded("c_k"), &seeded("p_w"));
        let witness = shown.witness.unwrap_or_else(|| panic!("{:?}", shown.obstacle));
        let constant = witness.inputs.iter().find(|h| h.name == "c_k").unwrap();
        assert_eq!(Some(constant), constants(&seeded("c_k").graph, &seeded("c_k").weights).first());
        let open = judged(&model("c_k"), &model("p_w"));
        assert!(open.witness.is_none() && open.obstacle.unwrap().contains("constant `c_k` is not at hand"));
    }
}
