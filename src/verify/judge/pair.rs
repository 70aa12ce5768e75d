//! Two graphs that come from elsewhere: made comparable, then judged whole.
//!
//! Promises: types on both sides are what the rules give; symbols of the second graph become those of the first by name and
//! keep the ranges of the first; a second graph that is not well formed is refused for its form.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use crate::analysis::form::{FormError, check_form};
use crate::graph::{BodyId, Graph, NodeId, NodeKind, TensorType, ValueType, View};
use crate::ops::Registry;
use crate::sym::{Dim, Range, SymError, SymValue, Symbols};
use crate::verify::differ::settle;
use crate::verify::findings::{Findings, Problem};
use crate::verify::functional::values::Runs;
use crate::verify::judge::edit::judge_graphs;
use crate::verify::options::JudgeOptions;
use crate::verify::replay::Replay;
use crate::verify::user_rules::judged_by;
use crate::verify::verdict::{Question, Verdict};

/// Judges whether `after` means what `before` means. `before` must be well formed.
pub fn judge_pair(before: &Graph, after: &Graph, registry: &Registry, options: &JudgeOptions) -> Verdict {
    let verdict = judge_pair_by(before, after, registry, options, &mut Replay::Search);
    judged_by(verdict, before, after, registry, options)
}

/// The same of graphs that nobody asks for afterwards: of these there is no second copy.
pub fn judge_own_pair(before: Graph, after: Graph, registry: &Registry, options: &JudgeOptions) -> Verdict {
    if !options.rules.is_empty() {
        return judge_pair(&before, &after, registry, options);
    }
    judge(Cow::Owned(before), Cow::Owned(after), registry, options, &mut Replay::Search)
}

/// Judges two graphs by a search, whose steps may be kept, or by steps that are given.
pub(in crate::verify) fn judge_pair_by(
    before: &Graph,
    after: &Graph,
    registry: &Registry,
    options: &JudgeOptions,
    proof: &mut Replay<'_>,
) -> Verdict {
    judge(Cow::Borrowed(before), Cow::Borrowed(after), registry, options, proof)
}

fn judge(
    before: Cow<'_, Graph>,
    after: Cow<'_, Graph>,
    registry: &Registry,
    options: &JudgeOptions,
    proof: &mut Replay<'_>,
) -> Verdict {
    let start = Instant::now();
    let mut findings = Findings::default();
    let malformed = check_form(&after);
    if !malformed.is_empty() {
        return refused_for_form(malformed, options, start);
    }
    let (before, after) = made_comparable(before.into_owned(), after.into_owned(), registry, &mut findings);
    proof.see(&before, &after);
    let runs = Some(Runs { before: &before, after: &after, options });
    let verdict = judge_graphs(&before, &after, registry, options, (findings, proof), runs, start);
    settle(verdict, &before, &after, registry, options)
}

/// Returns both graphs with types that rules give, and the symbols of the first.
pub(in crate::verify) fn comparable(
    before: &Graph,
    after: &Graph,
    registry: &Registry,
    findings: &mut Findings,
) -> (Graph, Graph) {
    made_comparable(before.clone(), after.clone(), registry, findings)
}

fn made_comparable(
    mut before: Graph,
    mut after: Graph,
    registry: &Registry,
    findings: &mut Findings,
) -> (Graph, Graph) {
    // What is wrong with the first graph is its reader's to say.
    registry.settle_types(&mut before);
    let mut symbols = before.symbols.clone();
    if let Err(error) = import_types(&mut after, &mut symbols) {
        findings.push(Problem::unknown(Question::Form, format!("sizes of the second graph cannot be read: {error}")));
    }
    if let Some((name, old, new)) = narrower(&before, &after) {
        let reason = format!("inputs may have sizes {name} of {old} before, of {new} after");
        findings.push(Problem::unknown(Question::Form, reason));
    }
    after.symbols = symbols;
    for problem in registry.check_types(&mut after) {
        let reason = problem.to_string();
        findings.push(Problem::refuted(Question::Form, reason).at([problem.name]));
    }
    (before, after)
}

/// What a graph means in which a value may be made of itself is not asked.
fn refused_for_form(malformed: Vec<FormError>, options: &JudgeOptions, start: Instant) -> Verdict {
    let mut findings = Findings::default();
    for error in malformed {
        findings.push(Problem::refuted(Question::Form, error.to_string()).at([error.name]));
    }
    let verdict = findings.verdict();
    let ms = start.elapsed().as_secs_f64() * 1e3;
    Verdict { accepted: options.policy.accepts(&verdict), ms, ..verdict }
}

/// A symbol of the inputs' sizes, with both ranges, where the second graph takes fewer sizes than the first.
fn narrower(before: &Graph, after: &Graph) -> Option<(String, String, String)> {
    let is_input = |n: &NodeId| before.kind(*n) == NodeKind::Placeholder;
    let dims = |n: NodeId| match before.ty(n) {
        ValueType::Tensor(t) => t.sizes.to_vec(),
        ValueType::SymInt(d) => vec![*d],
        _ => Vec::new(),
    };
    let dims = before.nodes(BodyId::ROOT).filter(is_input).flat_map(dims);
    let names: BTreeSet<String> = dims.flat_map(|d| before.symbols.symbols_in(SymValue::Int(d))).collect();
    let range = |g: &Graph, name: &str| g.symbols.find_symbol(name).map(|d| g.symbols.range_of(d));
    names.into_iter().find_map(|name| {
        let (old, new) = (range(before, &name)?, range(after, &name)?);
        let least = |r: Range| r.min.unwrap_or(i64::MIN);
        let most = |r: Range| r.max.unwrap_or(i64::MAX);
        let fewer = least(new) > least(old) || most(new) < most(old);
        fewer.then(|| (name, old.to_string(), new.to_string()))
    })
}

fn import_types(graph: &mut Graph, symbols: &mut Symbols) -> Result<(), SymError> {
    let from = graph.symbols.clone();
    let nodes: Vec<NodeId> = graph.bodies().flat_map(|b| graph.nodes(b).collect::<Vec<_>>()).collect();
    for node in nodes {
        if graph.kind(node) == NodeKind::Output {
            continue;
        }
        let ty = import_type(graph.ty(node), &from, symbols, 0)?;
        graph.set_type(node, ty);
    }
    Ok(())
}

/// How deep tuples of tuples may nest.
const MAX_NESTING: usize = 8;

fn import_type(ty: &ValueType, from: &Symbols, to: &mut Symbols, depth: usize) -> Result<ValueType, SymError> {
    Ok(match ty {
        // Numbers are the same everywhere.
        ValueType::Tensor(t) if t.dims().all(|d| d.fixed().is_some()) => ty.clone(),
        ValueType::Tensor(t) => {
            let mut dims = |d: &Dim| to.import_dim(from, *d);
            let sizes = t.sizes.iter().map(&mut dims).collect::<Result<_, _>>()?;
            let strides = match &t.strides {
                Some(s) => Some(s.iter().map(&mut dims).collect::<Result<_, _>>()?),
                None => None,
            };
            let offset = dims(&t.offset)?;
            ValueType::Tensor(Arc::new(TensorType { sizes, strides, offset, ..(**t).clone() }))
        }
        ValueType::SymInt(d) => ValueType::SymInt(to.import_dim(from, *d)?),
        ValueType::SymFloat(e) | ValueType::SymBool(e) => match from.value_of(*e) {
            Some(value) => match to.import(from, value)? {
                SymValue::Float(v) => ValueType::SymFloat(v.into()),
                SymValue::Bool(v) => ValueType::SymBool(v.into()),
                SymValue::Int(d) => ValueType::SymInt(d),
            },
            None => ValueType::Unknown,
        },
        ValueType::Many(items) if depth < MAX_NESTING => {
            let below = depth.saturating_add(1);
            let items = items.iter().map(|t| import_type(t, from, to, below)).collect::<Result<Vec<_>, _>>()?;
            ValueType::Many(items.into())
        }
        other => other.clone(),
    })
}
