//! Lowering that is judged: a graph to GE, the bytes that are written read back, raised, and held against the graph.
//!
//! Promises: what is judged is what is written; a verdict rests on GE operators' own definitions, never on what lowered the graph; where an
//! operator has none, values are unknown.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::load::Loaded;
use super::outputs::{OutputError, Staging, beside};
use super::{CompilerOptions, assumed, device_options};
use crate::analysis::streams::mentions_streams;
use crate::graph::Graph;
use crate::lower::ge::{self, Opaque, RaiseError, compare::Host};
use crate::ops::Registry;
use crate::verify::{self, Assumption, Finding, JudgeOptions, Level, Mode, Policy, Question, Verdict};

/// How a model is lowered.
pub struct Lowering<'a> {
    /// The NPU path.
    pub mode: Mode,
    /// What the configuration states.
    pub compiler: &'a CompilerOptions,
    /// What the lowering takes of it, and flags.
    pub ge: ge::Options,
    /// What was found, where it was judged.
    pub judging: Option<JudgeOptions>,
}

/// A lowered model as it is handed on, and what was found of it.
pub struct LoweredModel {
    /// What the host does around the GE graph.
    pub host: Host,
    /// Where this is not what TorchAir does.
    pub remarks: Vec<ge::Remark>,
    /// How many operators the GE graph has.
    pub nodes: usize,
    /// What was found, where it was judged.
    pub judged: Option<Judged>,
    /// The graph in the making, where it was not judged.
    pub draft: Option<ge::Draft>,
    /// The GE graph in the form that was asked for.
    bytes: Vec<u8>,
    /// The options of the device, by GE's names.
    options: BTreeMap<String, String>,
}

/// Why a model is not lowered.
#[derive(Debug, thiserror::Error)]
pub enum LoweringError {
    /// A mode for which nothing can be lowered yet.
    #[error("lowering to a launch plan (--mode reduce-overhead) is not supported yet; max-autotune is")]
    Plan,
    /// A graph that has no GE form.
    #[error("{0}")]
    Ge(#[from] ge::LowerError),
    /// An ending that does not say how it is written.
    #[error("{0}")]
    Form(#[from] ge::FileError),
    /// It cannot be written.
    #[error("{0}")]
    Output(#[from] OutputError),
    /// What stands beside it has no JSON.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

/// Refuses a mode for which nothing can be lowered yet.
pub fn check_lowers(mode: Mode) -> Result<(), LoweringError> {
    if mode == Mode::ReduceOverhead { Err(LoweringError::Plan) } else { Ok(()) }
}

/// Returns what of a configuration changes the GE graph.
pub fn ge_options(compiler: &CompilerOptions) -> ge::Options {
    let default = ge::Options::default();
    let flag = |name: &str, or| compiler.flag(&format!("experimental_config.{name}")).unwrap_or(or);
    ge::Options {
        enable_view_optimize: flag("enable_view_optimize", default.enable_view_optimize),
        enable_ref_data: flag("enable_ref_data", default.enable_ref_data),
        soc_version: compiler.text("torch_aie.soc_version"),
        keep_stages: compiler.text("debug.graph_dump.type").is_some(),
        ..default
    }
}

/// Lowers a model.
pub fn lower(loaded: &Loaded, how: &Lowering<'_>) -> Result<ge::Lowered<ge::Draft>, LoweringError> {
    check_lowers(how.mode)?;
    Ok(ge::draft(&loaded.model.graph, &how.ge, &loaded.registry)?)
}

/// Judges a lowered model by its bytes, where that is asked for, and gives it in the form that is asked for. While it is judged the graph in the making is there no more.
pub fn settled(
    lowered: ge::Lowered<ge::Draft>,
    loaded: &Loaded,
    how: &Lowering<'_>,
    format: Option<ge::Format>,
) -> LoweredModel {
    let options = device_options(how.compiler, &loaded.model.graph, &lowered);
    let ge::Lowered { graph, host, remarks, .. } = lowered;
    let nodes = graph.len();
    let is_written = format == Some(ge::Format::Bin) || how.judging.is_some();
    let written = if is_written { graph.encode(ge::Format::Bin) } else { Vec::new() };
    let other = format.filter(|f| *f != ge::Format::Bin).map(|f| graph.encode(f));
    let Some(judging) = &how.judging else {
        let (bytes, draft) = (other.unwrap_or(written), Some(graph));
        return LoweredModel { host, remarks, nodes, judged: None, draft, bytes, options };
    };
    drop(graph);
    let judging =
        &JudgeOptions { constants: verify::constants(&loaded.model.graph, &loaded.model.weights), ..judging.clone() };
    let mut judged = judge_lowered(&written, &host, &loaded.model.graph, &loaded.registry, judging);
    let verdict = &mut judged.verdict;
    verdict.assumes.extend(assumed(how.compiler).into_iter().map(Assumption::Device));
    verdict.accepted = verdict.accepted && takes(judging.policy, verdict);
    let bytes = other.unwrap_or(written);
    LoweredModel { host, remarks, nodes, judged: Some(judged), draft: None, bytes, options }
}

impl LoweredModel {
    /// Returns whether it is written.
    pub fn is_accepted(&self) -> bool {
        self.judged.as_ref().is_none_or(|j| j.verdict.accepted)
    }

    /// Has the GE graph appear at `path` and what belongs beside it there: the options of the device by GE's names, what the host does.
    pub fn add_to(&self, stage: &mut Staging, path: &Path) -> Result<(), LoweringError> {
        let [options_path, host_path] = beside(path);
        stage.add_bytes(path, &self.bytes)?;
        stage.add_bytes(&options_path, (serde_json::to_string_pretty(&self.options)? + "\n").as_bytes())?;
        stage.add_bytes(&host_path, (serde_json::to_string_pretty(&self.host)? + "\n").as_bytes())?;
        Ok(())
    }
}

/// What is said of a lowered graph.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// Whether it means what the graph means.
    pub verdict: Verdict,
    /// GE operators that were taken by their definition.
    pub defined: usize,
    /// Those that were held field by field to the call of which they were made.
    pub held: usize,
    /// Those of which nothing is known.
    pub opaque: Vec<Opaque>,
}

/// Whether a policy takes what is said of a lowered graph. `advisory` takes what is unknown of values, and of what operators may raise, which
/// no device does.
pub fn takes(policy: Policy, verdict: &Verdict) -> bool {
    let is_of_values = |q: &Question| matches!(q, Question::Values | Question::Effects);
    let is_advised = policy == Policy::Advisory && verdict.verdict == Finding::Unknown;
    policy.accepts(verdict) || is_advised && verdict.open.iter().all(is_of_values)
}

/// Judges a GE graph, as it is written, against the graph of which it was made.
pub fn judge_lowered(
    written: &[u8],
    host: &Host,
    original: &Graph,
    registry: &Registry,
    options: &JudgeOptions,
) -> Judged {
    // A device raises nothing: where the graph raises, GE may compute what it likes.
    let options = &JudgeOptions { may_stop_raising: true, ..options.clone() };
    // Bodies that only say how gradients are recorded stand in their places: an inference runs them as they are.
    let mut settled = ge::inlined(original).unwrap_or_else(|| original.clone());
    let waits = ge::without_waits(&mut settled);
    // What is wrong with the graph itself is its reader's to say.
    registry.settle_types(&mut settled);
    let of_form = ge::by_form(&mut settled, registry);
    ge::without_idle_writes(&mut settled);
    ge::without_own_memory(&mut settled, registry);
    ge::spelled(&mut settled, registry);
    // By the names of nodes the order of streams is held, and nothing else.
    let raise = |read: &ge::Written<'_>| ge::raise(read, host, &settled, registry);
    let raised = ge::decode_lean(written, mentions_streams(&settled), raise)
        .unwrap_or_else(|error| Err(RaiseError::Malformed(error.to_string())));
    match raised {
        Ok(mut raised) => {
            ge::without_idle_writes(&mut raised.graph);
            let mut before = ge::comparable(settled, registry);
            let mut defined = ge::by_definition(&mut before, &raised.graph, registry);
            defined.extend(ge::one_by_one(&mut before, &mut raised.graph, registry));
            let (rows, apart) = ge::biased(&mut before, &mut raised.graph, registry);
            defined.extend(apart);
            ge::spelled(&mut before, registry);
            ge::spelled(&mut raised.graph, registry);
            let singles = ge::rounded_first(&mut before, &raised.graph, registry);
            let ties = ge::sorted_first(&mut before, &raised.graph, registry);
            defined.extend(of_form);
            ge::named_alike(&mut raised.graph, &before);
            let zeros = ge::with_zeros(&mut before, &raised.graph, registry);
            let graph = std::mem::take(&mut raised.graph);
            let mut verdict = verify::judge_own_pair(before, graph, registry, options);
            if rows {
                raised.assumed.push(ge::ROW_IS_ADDED.into());
            }
            for (counts, assumed) in [(singles, ge::ONE_IS_ROUNDED), (ties, ge::ANY_OF_EQUALS)] {
                if counts {
                    raised.assumed.push(assumed.into());
                }
            }
            raised.assumed.sort();
            raised.assumed.dedup();
            verdict.assumes.extend(raised.assumed.into_iter().map(verify::Assumption::Device));
            if !defined.is_empty() {
                // A definition is right over the reals: so is what is shown of it.
                verdict.level = verdict.level.map(|_| Level::Real);
                let held = |target: String| verify::Assumption::Device(format!("{target} is held to its definition"));
                verdict.assumes.extend(defined.into_iter().map(held));
            }
            if zeros {
                let unset = "what the graph leaves unset may be zeros";
                verdict.assumes.push(verify::Assumption::Device(unset.into()));
            }
            if waits {
                let waits = "what a collective gives is there when it is read";
                verdict.assumes.push(verify::Assumption::Device(waits.into()));
            }
            verdict.assumes.push(verify::Assumption::Device("nothing raises in the graph that was lowered".into()));
            // A policy may not take what is assumed of the device.
            let is_open = verdict.verdict == Finding::Unknown;
            verdict.accepted = (verdict.accepted || is_open) && takes(options.policy, &verdict);
            let count = |held: bool| -> usize {
                raised.defined.iter().filter(|(kind, _)| ge::is_held(kind) == held).map(|(_, n)| n).sum()
            };
            Judged { verdict, defined: count(false), held: count(true), opaque: Vec::new() }
        }
        Err(error) => {
            let (finding, question) = match &error {
                RaiseError::Malformed(_) => (Finding::Refuted, Question::Form),
                RaiseError::Host(_) => (Finding::Unknown, Question::Form),
                RaiseError::Unordered { .. } | RaiseError::PassedOn { .. } | RaiseError::OrderLost { .. } => {
                    (Finding::Unknown, Question::Order)
                }
                RaiseError::Opaque { .. } => (Finding::Unknown, Question::Values),
            };
            let reason = error.to_string();
            let opaque = if let RaiseError::Opaque { nodes } = error { nodes } else { Vec::new() };
            let names = opaque.iter().map(|o| o.node.clone()).collect();
            let mut verdict = Verdict::refusal(finding, question, reason, names);
            verdict.accepted = takes(options.policy, &verdict);
            Judged { verdict, defined: 0, held: 0, opaque }
        }
    }
}
