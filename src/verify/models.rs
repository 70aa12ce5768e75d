//! What models hold beside their graphs: tensors, the trees of arguments and results, and guards; what lifted constants are.
//!
//! Promises: two models whose graphs are equal mean the same only if no tensor that both name differs, in type, content, or whose memory it shares,
//! both are called alike, and the second asks nothing more of its inputs. A model without the content of a tensor says nothing of it, and one whose tree is a flat tuple nothing of trees: a
//! print has none. Leaves graphs to `judge`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;

use crate::exec::{Meta, Meter, Storage, Tensor};
use crate::graph::{Dtype, Graph, InputKind, Model, NodeKind, View, Weight, Weights};
use crate::verify::differ::{Held, Values, values_of};
use crate::verify::findings::Problem;
use crate::verify::policy::Policy;
use crate::verify::verdict::{Finding, Question, Verdict};

/// How many characters of a guard are shown.
const SHOWN: usize = 120;
/// How many elements of lifted constants are kept for runs, all together.
const KEPT: usize = 1 << 21;

/// Returns a verdict on two graphs as one on their models.
pub fn of_models(verdict: Verdict, before: &Model, after: &Model, policy: Policy) -> Verdict {
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

/// Returns how two models differ beside their graphs; `None` where they do not.
pub fn unlike_models(before: &Model, after: &Model) -> Option<String> {
    unlike(before, after).map(|p| p.reason)
}

fn unlike(before: &Model, after: &Model) -> Option<Problem> {
    let guarded = || unlike_guards(before, after);
    let called = || unlike_calls(before, after);
    unlike_trees(before, after).or_else(guarded).or_else(called).or_else(|| unlike_tensors(before, after))
}

/// What the loaded model asks of its inputs, as it is written; nothing where nobody stated it.
fn guards(model: &Model) -> Option<&str> {
    model.envelope.json.iter().find(|(name, _)| name == "guards_code").map(|(_, json)| json.get())
}

/// What the second model asks and the first one does not raises for inputs that the first one takes.
fn unlike_guards(before: &Model, after: &Model) -> Option<Problem> {
    let (old, new) = (guards(before)?, guards(after)?);
    let read = |text: &str| serde_json::from_str::<Option<Vec<String>>>(text).ok().map(Option::unwrap_or_default);
    let (Some(old), Some(new)) = (read(old), read(new)) else {
        let unread = Problem::unknown(Question::Form, "what the models ask of their inputs cannot be compared");
        return (old != new).then_some(unread);
    };
    let more = new.into_iter().find(|guard| !old.contains(guard))?;
    let shown: String = more.chars().take(SHOWN).collect();
    Some(Problem::unknown(
        Question::Form,
        format!("the model asks for `{shown}` of its inputs, which it did not before"),
    ))
}

/// What calls of an operator that nobody describes show of it: PyTorch gives operands by name, in whatever order they stand.
fn unlike_calls(before: &Model, after: &Model) -> Option<Problem> {
    let (old, new) = (&before.envelope.opaque, &after.envelope.opaque);
    let (target, (was, is)) = old.iter().find_map(|(target, form)| {
        let mut both = form.positional.iter().zip(&new.get(target)?.positional);
        both.find(|(a, b)| a != b).map(|both| (target, both))
    })?;
    Some(Problem::unknown(
        Question::Form,
        format!(
            "`{target}`, of which nothing is known, is given `{is}` where it was given `{was}`: describe it in an operator file"
        ),
    ))
}

/// How a program is called, as `torch.export` writes it.
#[derive(Deserialize)]
struct Called {
    fqn: String,
    signature: Option<CallSignature>,
}

#[derive(Deserialize)]
struct CallSignature {
    in_spec: String,
    out_spec: String,
    forward_arg_names: Option<Vec<String>>,
}

fn called(model: &Model) -> Option<CallSignature> {
    let (_, json) = model.envelope.json.iter().find(|(name, _)| name == "module_call_graph")?;
    let all: Vec<Called> = serde_json::from_str(json.get()).ok()?;
    all.into_iter().find(|c| c.fqn.is_empty())?.signature
}

/// Whether a tree is the one that a model has whose trees nobody stated.
type SaysNothing = fn(&serde_json::Value) -> bool;

fn unlike_trees(before: &Model, after: &Model) -> Option<Problem> {
    let a = called(before)?;
    let Some(b) = called(after) else {
        let says = after.envelope.json.iter().any(|(name, _)| name == "module_call_graph");
        return says.then(|| Problem::unknown(Question::Form, "the model no longer says how it is called"));
    };
    let trees = [
        ("arguments", &a.in_spec, &b.in_spec, are_flat_arguments as SaysNothing),
        ("results", &a.out_spec, &b.out_spec, is_flat as SaysNothing),
    ];
    for (what, old, new, says_nothing) in trees {
        let tree = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        let (Some(x), Some(y)) = (tree(old), tree(new)) else {
            if old == new {
                continue;
            }
            return Some(Problem::unknown(Question::Form, format!("the trees of {what} cannot be compared")));
        };
        if x != y && !says_nothing(&x) && !says_nothing(&y) {
            let reason = format!("{what} are in another tree: {} before, {} after", containers(&x), containers(&y));
            return Some(Problem::refuted(Question::Form, reason));
        }
    }
    let (Some(old), Some(new)) = (a.forward_arg_names, b.forward_arg_names) else { return None };
    let reason = || format!("arguments are named {} before, {} after", old.join(", "), new.join(", "));
    (old != new).then(|| Problem::refuted(Question::Form, reason()))
}

/// The children of a tree's node: `[protocol, node]` at its top.
fn children(node: &serde_json::Value) -> &[serde_json::Value] {
    node.get("children_spec").and_then(|c| c.as_array()).map_or(&[], Vec::as_slice)
}

fn is_tuple_of_leaves(node: &serde_json::Value) -> bool {
    let is_tuple = node.get("type").and_then(|t| t.as_str()) == Some("builtins.tuple");
    is_tuple && children(node).iter().all(|n| children(n).is_empty())
}

/// Whether a tree of results is one tuple of them.
fn is_flat(tree: &serde_json::Value) -> bool {
    tree.get(1).is_some_and(is_tuple_of_leaves)
}

/// Whether a tree of arguments is one tuple of them, beside no keywords.
fn are_flat_arguments(tree: &serde_json::Value) -> bool {
    match tree.get(1).map(children) {
        Some([positional, keywords]) => is_tuple_of_leaves(positional) && children(keywords).is_empty(),
        _ => false,
    }
}

/// The containers of a tree with their keys, shortened.
fn containers(tree: &serde_json::Value) -> String {
    let mut out = Vec::new();
    let mut open: Vec<&serde_json::Value> = tree.get(1).into_iter().collect();
    while let Some(node) = open.pop().filter(|_| out.len() < 6) {
        if let Some(kind) = node.get("type").and_then(|t| t.as_str()) {
            let keys = node.get("context").and_then(|c| c.as_str()).filter(|c| *c != "null").unwrap_or_default();
            out.push(format!(
                "{}{}",
                kind.rsplit('.').next().unwrap_or(kind),
                keys.chars().take(80).collect::<String>()
            ));
        }
        open.extend(children(node).iter().rev());
    }
    if out.is_empty() { "one value".into() } else { out.join(" ") }
}

/// Returns the lifted constants whose content is at hand, by the names of their placeholders.
pub fn constants(graph: &Graph, weights: &Weights) -> Arc<[Held]> {
    let specs = graph.signature.as_ref().map_or(&[][..], |s| &s.inputs);
    let mut left = KEPT;
    let held = specs.iter().filter(|i| i.kind == InputKind::ConstantTensor).filter_map(|input| {
        let tensor = tensor(weights, input.target.as_deref()?)?;
        // Numbers of these are no f64 or i64: what a run would read is not what the model holds.
        let is_other = tensor.dtype().is_complex() || matches!(tensor.dtype(), Dtype::U64 | Dtype::F4E2m1fnX2);
        if is_other {
            return None;
        }
        left = left.checked_sub(tensor.numel())?;
        let (dtype, sizes) = (Some(tensor.dtype()), tensor.sizes().to_vec());
        Some(Held { name: input.name.to_string(), dtype, sizes, strides: None, values: values_of(&tensor)? })
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

fn unlike_tensors(before: &Model, after: &Model) -> Option<Problem> {
    // A text holds no tensors: nothing is said of them.
    if before.weights.storages.is_empty() || after.weights.storages.is_empty() {
        return None;
    }
    let others = named(after);
    let mut shared: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    let mut sharing: BTreeMap<&str, &str> = BTreeMap::new();
    let mut equal: BTreeMap<(&str, &str), bool> = BTreeMap::new();
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
        // Many tensors may lie in one storage: it is compared once.
        let equal = *equal.entry((&a.0.storage, &b.0.storage)).or_insert_with(|| a.1.as_slice() == b.1.as_slice());
        let is_same = a.0.ty == b.0.ty && equal;
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
        of_models(verdict, before, after, options.policy)
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
    fn results_under_other_keys_are_another_program_and_a_flat_tuple_says_nothing() {
        let tree = |out: &str| {
            let leaf = r#"{\"type\": null, \"context\": null, \"children_spec\": []}"#;
            let spec = format!(r#"[1, {{\"type\": {out}, \"children_spec\": [{leaf}, {leaf}]}}]"#);
            let json = format!(
                r#"[{{"fqn": "", "signature": {{"inputs": [], "outputs": [], "in_spec": "[1, null]", "out_spec": "{spec}", "forward_arg_names": ["x"]}}}}]"#
            );
            let mut model = seeded("c_k");
            model
                .envelope
                .json
                .push(("module_call_graph".into(), serde_json::value::RawValue::from_string(json).unwrap()));
            model
        };
        let keyed = |keys: &str| tree(&format!(r#"\"builtins.dict\", \"context\": \"{keys}\""#));
        let (ab, ba, flat) = (keyed("a, b"), keyed("b, a"), tree(r#"\"builtins.tuple\", \"context\": \"null\""#));
        assert!(judged(&ab, &ab).accepted && judged(&ab, &flat).accepted && judged(&ab, &seeded("c_k")).accepted);
        let verdict = judged(&ab, &ba);
        assert!(!verdict.accepted, "{verdict:?}");
        assert_eq!(verdict.reason, "results are in another tree: dicta, b before, dictb, a after");
    }

    #[test]
    fn what_the_second_model_asks_of_its_inputs_the_first_one_asked() {
        let guarded = |guards: &str| {
            let mut model = seeded("c_k");
            let json = serde_json::value::RawValue::from_string(guards.into()).unwrap();
            model.envelope.json.push(("guards_code".into(), json));
            model
        };
        let (none, both, one) = (guarded("[]"), guarded(r#"["a > 1", "b > 1"]"#), guarded(r#"["b > 1"]"#));
        assert!(judged(&both, &both).accepted && judged(&both, &one).accepted && judged(&both, &none).accepted);
        assert!(judged(&seeded("c_k"), &both).accepted, "a print states no guards");
        assert!(!judged(&both, &guarded("[1]")).accepted && judged(&guarded("[1]"), &guarded("[1]")).accepted);
        for before in [&none, &one] {
            let verdict = judged(before, &both);
            assert!(!verdict.accepted && verdict.reason.contains("asks for `a > 1`"), "{verdict:?}");
        }
    }

    #[test]
    fn a_tuple_in_a_tuple_is_no_flat_one() {
        let tree = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let of = |kids: &str| format!(r#"{{"type": "builtins.tuple", "context": "null", "children_spec": [{kids}]}}"#);
        let leaf = r#"{"type": null, "context": null, "children_spec": []}"#;
        let pair = of(&format!("{leaf}, {leaf}"));
        let (flat, nested) = (tree(&format!("[1, {pair}]")), tree(&format!("[1, {}]", of(&format!("{pair}, {leaf}")))));
        assert!(is_flat(&flat) && !is_flat(&nested));
        assert!(are_flat_arguments(&nested) && !are_flat_arguments(&flat));
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
