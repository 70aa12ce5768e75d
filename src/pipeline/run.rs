//! A run: `pre` passes, built-in passes, `post` passes; each judged before the next begins.
//!
//! Promises: what is refused or faulted is undone before the next pass begins, at the cost of what it edited; a graph that several
//! passes left equal over the reals is held against the one that the run began with, too: roundings add up; where every
//! pass of the user was dropped, the graph is the one that came, built-in edits included. Leaves writing to the caller.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::{Config, Dump, Stage, reproducer};
use crate::certificate::Certificate;
use crate::editor::{Changes, Editor};
use crate::formats::text;
use crate::graph::{Graph, Model};
use crate::ops::Registry;
use crate::passes::{BUILT_IN, BuiltIn};
use crate::sandbox::{AnyPass, Ended, Frame, Info, Job, LogLine, PassFault, Symbols, Usage};
use crate::verify::{self, Level, Verdict};

/// A pass of the user, loaded.
pub struct PassSpec<'e> {
    /// The component.
    pub pass: AnyPass<'e>,
    /// Its file, as the user named it.
    pub file: String,
    /// When it runs.
    pub stage: Stage,
    /// Given to `run`.
    pub config: String,
    /// Read with `get-option`.
    pub options: BTreeMap<String, String>,
    /// What it may have beyond the graph.
    pub grants: Vec<String>,
    /// Its author's debug information.
    pub symbols: Option<Symbols>,
}

/// How a pass ended for the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Its edits are in the graph.
    Accepted,
    /// Its edits were undone: the verdict says why.
    Refused,
    /// It failed.
    Faulted,
    /// It edited nothing.
    Unchanged,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 4] = [Outcome::Accepted, Outcome::Refused, Outcome::Faulted, Outcome::Unchanged];

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Accepted => "accepted",
            Outcome::Refused => "refused",
            Outcome::Faulted => "faulted",
            Outcome::Unchanged => "unchanged",
        }
    }
}

/// How many nodes a pass touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Edits {
    /// Nodes that it made.
    pub inserted: usize,
    /// Nodes that it took out.
    pub erased: usize,
    /// Nodes that it gave other arguments, targets or types.
    pub changed: usize,
}

/// A fault as the JSON has it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FaultReport {
    /// `trap`, `fuel`, `time` ...
    pub kind: &'static str,
    /// The function of the contract in which it happened.
    pub function: String,
    /// For people.
    pub message: String,
    /// How much was used of what ran out.
    pub used: Option<u64>,
    /// How much there was.
    pub limit: Option<u64>,
    /// The guest's own functions, innermost first, where the component has names.
    pub frames: Vec<FrameReport>,
}

/// A function of the guest on its stack.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FrameReport {
    /// Its name.
    pub function: String,
    /// File, line and column, where `--symbols` tells them.
    pub source: Option<String>,
}

/// What became of one pass.
#[derive(Clone, Debug, Serialize)]
pub struct PassReport {
    /// Its name, as it says, or as its file is called.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its file, as the user named it; empty for a built-in pass.
    pub file: String,
    /// `pre`, `post` or `builtin`.
    pub stage: &'static str,
    /// How it ended.
    pub outcome: Outcome,
    /// The judgement, where it came to one.
    pub verdict: Option<Verdict>,
    /// The fault, where there is one.
    pub fault: Option<FaultReport>,
    /// What it edited.
    pub edits: Edits,
    /// Fuel that it used.
    pub fuel: u64,
    /// Fuel that there was.
    pub fuel_limit: u64,
    /// Bytes of its linear memories.
    pub memory_bytes: u64,
    /// Bytes that there might have been.
    pub memory_limit: u64,
    /// Bytes of host memory that its calls filled.
    pub host_bytes: u64,
    /// Bytes that they might have filled.
    pub host_limit: u64,
    /// How often it called the host.
    pub calls: u64,
    /// Time in the sandbox.
    pub sandbox_ms: f64,
    /// Time to judge.
    pub judge_ms: f64,
    /// What it was granted beyond the graph.
    pub grants: Vec<String>,
    /// One line that it said of its run.
    pub note: String,
    /// What it logged.
    pub log: Vec<LogLine>,
    /// How many more lines it logged than are kept.
    pub log_dropped: u64,
    /// The file that runs it again, where one was asked for.
    pub reproducer: Option<String>,
    /// Its edits in order, each as one JSON object, where they were asked for: also those that were undone.
    #[serde(skip)]
    pub edit_log: Vec<serde_json::Value>,
    /// What its acceptance rests on, where that was asked for.
    #[serde(skip)]
    pub certified: Option<Evidence>,
}

/// A certificate, and the graph that the pass left.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The certificate; else why there is none.
    pub certificate: Result<Certificate, String>,
    /// The text of the graph.
    pub after: String,
}

/// What became of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunReport {
    /// The user's passes, in the order in which they ran.
    pub passes: Vec<PassReport>,
    /// Built-in passes that edited something.
    pub builtin: Vec<PassReport>,
    /// Whether the graph is the one that came because passes were dropped.
    pub is_original: bool,
}

impl RunReport {
    /// Returns all passes that are reported, in the order in which they ran.
    pub fn in_order(&self) -> impl Iterator<Item = &PassReport> {
        let of = |stage: Stage| self.passes.iter().filter(move |p| p.stage == stage.name());
        of(Stage::Pre).chain(&self.builtin).chain(of(Stage::Post))
    }

    /// Returns whether a pass of the user ended in that way.
    pub fn any(&self, outcome: Outcome) -> bool {
        self.passes.iter().any(|p| p.outcome == outcome)
    }
}

/// Why a run does not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A pass asks for what it was not granted.
    #[error(
        "pass `{pass}` asks for `{grant}`, which it was not granted; allow it with --grant {grant}, or `grant = [\"{grant}\"]` in airlock.toml, or leave the pass out"
    )]
    NotGranted {
        /// Pass.
        pass: String,
        /// Grant.
        grant: String,
    },
    /// A dump cannot be written.
    #[error("cannot write to the dump folder: {0}")]
    Dump(#[from] std::io::Error),
}

/// Who wants to know how far a run is.
pub trait Observer {
    /// A pass begins.
    fn begin(&mut self, name: &str, stage: &'static str);
    /// A pass is over.
    fn end(&mut self, report: &PassReport);
}

/// Nobody.
pub struct Silent;

impl Observer for Silent {
    fn begin(&mut self, _: &str, _: &'static str) {}
    fn end(&mut self, _: &PassReport) {}
}

/// All that a run needs besides model and passes.
pub struct Settings<'a> {
    /// The configuration, for limits and switches.
    pub config: &'a Config,
    /// Operators.
    pub registry: Arc<Registry>,
    /// How to judge.
    pub judge: verify::JudgeOptions,
    /// By TorchAir's name.
    pub mode: &'static str,
    /// Undo everything unless every pass was accepted or had nothing to do.
    pub all_or_nothing: bool,
    /// Where graphs go.
    pub dump: Option<Dump>,
    /// Where reproducers go.
    pub reproducers: Option<Dump>,
    /// Keep the edits of each pass, for [`PassReport::edit_log`].
    pub record_edits: bool,
    /// Make certificates of what is accepted, for [`PassReport::certified`].
    pub certify: bool,
}

impl<'a> Settings<'a> {
    /// Returns the settings of a run that keeps nothing.
    pub fn plain(config: &'a Config, registry: Arc<Registry>, judge: verify::JudgeOptions) -> Self {
        let mode = judge.mode.name();
        Settings {
            config,
            registry,
            judge,
            mode,
            all_or_nothing: false,
            dump: None,
            reproducers: None,
            record_edits: false,
            certify: false,
        }
    }
}

/// Runs the passes on a model.
pub fn run(
    model: &mut Model,
    passes: &mut [PassSpec<'_>],
    settings: &mut Settings<'_>,
    observer: &mut dyn Observer,
) -> Result<RunReport, RunError> {
    let described = describe(passes, settings)?;
    let constants =
        passes.iter().any(|p| p.grants.iter().any(|g| g == "constants")).then(|| Arc::new(model.weights.clone()));
    settings.judge.constants = verify::constants(&model.graph, &model.weights);
    let mut graph = std::mem::take(&mut model.graph);
    graph.begin_log();
    let mut report = RunReport::default();
    dump(settings, &graph, "graph")?;
    for stage in [Stage::Pre, Stage::Post] {
        for (spec, info) in passes.iter_mut().zip(&described).filter(|(p, _)| p.stage == stage) {
            let name = info.as_ref().map_or(spec.pass.label(), |i| &i.name).to_string();
            observer.begin(&name, stage.name());
            let (next, done) = run_component(graph, spec, info, constants.clone(), &report, settings)?;
            graph = next;
            observer.end(&done);
            report.passes.push(done);
        }
        if stage == Stage::Pre {
            for built_in in BUILT_IN.iter().filter(|b| settings.config.runs_built_in(b.name)) {
                let (next, done) = run_built_in(graph, built_in, &report, settings)?;
                graph = next;
                if done.outcome != Outcome::Unchanged {
                    observer.end(&done);
                    report.builtin.push(done);
                }
            }
        }
    }
    let dropped = |p: &PassReport| matches!(p.outcome, Outcome::Refused | Outcome::Faulted);
    let nothing_stands = !report.passes.is_empty() && report.passes.iter().all(dropped);
    report.is_original = nothing_stands || (settings.all_or_nothing && report.passes.iter().any(dropped));
    if report.is_original {
        graph.undo_log()
    } else {
        graph.commit_log()
    }
    model.graph = graph;
    Ok(report)
}

/// Asks every pass what it is, before any runs on the graph.
fn describe(passes: &mut [PassSpec<'_>], settings: &Settings<'_>) -> Result<Vec<Result<Info, PassFault>>, RunError> {
    let limits = &settings.config.file.limits;
    let described: Vec<Result<Info, PassFault>> = passes.iter_mut().map(|p| p.pass.describe(limits)).collect();
    for (spec, info) in passes.iter().zip(&described) {
        let Ok(info) = info else { continue };
        if let Some(grant) = info.needs.iter().find(|n| !spec.grants.contains(n)) {
            return Err(RunError::NotGranted { pass: info.name.clone(), grant: grant.clone() });
        }
    }
    Ok(described)
}

fn run_component(
    graph: Graph,
    spec: &mut PassSpec<'_>,
    info: &Result<Info, PassFault>,
    constants: Option<Arc<crate::graph::Weights>>,
    so_far: &RunReport,
    settings: &mut Settings<'_>,
) -> Result<(Graph, PassReport), RunError> {
    let mut report = blank(spec.pass.label(), spec.stage.name());
    report.file.clone_from(&spec.file);
    let info = match info {
        Ok(info) => info,
        Err(fault) => {
            report.outcome = Outcome::Faulted;
            report.fault = Some(fault_report(fault, spec.symbols.as_ref()));
            report.fuel_limit = settings.config.file.limits.fuel_base;
            report.reproducer = reproducer::fault(settings, &graph, &report, &spec.file)?;
            return Ok((graph, report));
        }
    };
    report.name.clone_from(&info.name);
    report.version.clone_from(&info.version);
    report.grants.clone_from(&info.needs);
    let job = Job {
        config: spec.config.clone(),
        stage: spec.stage.name().to_string(),
        mode: settings.mode.to_string(),
        options: spec.options.clone(),
        constants: constants.filter(|_| info.needs.iter().any(|n| n == "constants")),
    };
    let mut editor = Editor::new(graph, settings.registry.clone());
    if settings.record_edits {
        editor.record_edits();
    }
    let mut outcome = spec.pass.run(editor, job, &settings.config.file.limits);
    used(&mut report, &outcome.usage);
    report.log = outcome.log;
    report.log_dropped = outcome.log_dropped;
    report.edit_log = outcome.editor.take_record();
    match outcome.ended {
        Ended::Faulted(fault) => {
            report.outcome = Outcome::Faulted;
            report.fault = Some(fault_report(&fault, spec.symbols.as_ref()));
        }
        Ended::Unchanged(said) | Ended::Changed(said) => report.note = said.note,
    }
    let graph = settle(outcome.editor, &mut report, (&spec.file, so_far), settings)?;
    Ok((graph, report))
}

fn used(report: &mut PassReport, usage: &Usage) {
    let Usage { fuel, fuel_limit, memory_bytes, memory_limit, host_bytes, host_limit, calls, sandbox_ms } = *usage;
    (report.fuel, report.fuel_limit) = (fuel, fuel_limit);
    (report.memory_bytes, report.memory_limit) = (memory_bytes, memory_limit);
    (report.host_bytes, report.host_limit) = (host_bytes, host_limit);
    (report.calls, report.sandbox_ms) = (calls, sandbox_ms);
}

fn run_built_in(
    graph: Graph,
    built_in: &BuiltIn,
    so_far: &RunReport,
    settings: &mut Settings<'_>,
) -> Result<(Graph, PassReport), RunError> {
    let mut report = blank(built_in.name, "builtin");
    report.version = env!("CARGO_PKG_VERSION").to_string();
    let mut editor = Editor::new(graph, settings.registry.clone());
    if let Err(error) = (built_in.run)(&mut editor) {
        editor.undo();
        report.outcome = Outcome::Faulted;
        let function = "run".to_string();
        report.fault = Some(FaultReport {
            kind: "guest-error",
            function,
            message: error.to_string(),
            used: None,
            limit: None,
            frames: Vec::new(),
        });
    }
    let graph = settle(editor, &mut report, (built_in.name, so_far), settings)?;
    Ok((graph, report))
}

/// Judges what a pass did and lets it stand or undoes it.
fn settle(
    mut editor: Editor,
    report: &mut PassReport,
    (file, so_far): (&str, &RunReport),
    settings: &mut Settings<'_>,
) -> Result<Graph, RunError> {
    let changes = editor.changes();
    report.edits = count(&changes);
    if report.outcome == Outcome::Faulted {
        report.reproducer = reproducer::fault(settings, editor.graph(), report, file)?;
        editor.undo();
        return Ok(editor.into_graph());
    }
    if changes.is_empty() {
        return Ok(editor.into_graph());
    }
    let started = Instant::now();
    let verdict = in_a_row(verify::judge_editor(&editor, &settings.judge), &editor, so_far, settings);
    report.judge_ms = started.elapsed().as_secs_f64() * 1e3;
    report.outcome = if verdict.accepted { Outcome::Accepted } else { Outcome::Refused };
    let what = format!("graph_after_{}", report.name);
    if verdict.accepted {
        report.certified = settings.certify.then(|| evidence(&editor, settings));
        dump(settings, editor.graph(), &what)?;
        editor.commit();
    } else {
        dump(settings, editor.graph(), &format!("{what}_refused"))?;
        report.verdict = Some(verdict);
        report.reproducer = reproducer::refusal(settings, &editor, report, file)?;
        editor.undo();
        return Ok(editor.into_graph());
    }
    report.verdict = Some(verdict);
    Ok(editor.into_graph())
}

/// Holds a graph that is equal over the reals against the one that the run began with, where an earlier pass left it so, too.
fn in_a_row(verdict: Verdict, editor: &Editor, so_far: &RunReport, settings: &Settings<'_>) -> Verdict {
    let is_near = |v: &Verdict| v.accepted && v.level == Some(Level::Real);
    let earlier = so_far.passes.iter().chain(&so_far.builtin).any(|p| p.verdict.as_ref().is_some_and(is_near));
    if !earlier || !is_near(&verdict) {
        return verdict;
    }
    let mut first = editor.copy_before();
    first.undo_log();
    let why = verify::adds_up(&first, editor.graph(), &settings.registry, &settings.judge);
    match why {
        Some(why) => {
            let why = format!("after the passes before it, beside what the run began with: {why}");
            let open = verdict.with_values_open(why);
            Verdict { accepted: settings.judge.policy.accepts(&open), ..open }
        }
        None => verdict,
    }
}

/// Judges whole graphs, the edit's journal left aside, and writes down what that rests on.
fn evidence(editor: &Editor, settings: &Settings<'_>) -> Evidence {
    let certified = verify::certify(&editor.copy_before(), editor.graph(), &settings.registry, &settings.judge);
    let why = || format!("both whole graphs are not shown to be the same: {}", certified.verdict.reason);
    Evidence { certificate: certified.certificate.ok_or_else(why), after: text::write(editor.graph()) }
}

fn dump(settings: &mut Settings<'_>, graph: &Graph, what: &str) -> Result<(), RunError> {
    if let Some(dump) = &mut settings.dump {
        dump.graph(graph, what)?;
    }
    Ok(())
}

fn count(changes: &Changes) -> Edits {
    Edits { inserted: changes.inserted.len(), erased: changes.erased.len(), changed: changes.changed.len() }
}

fn fault_report(fault: &PassFault, symbols: Option<&Symbols>) -> FaultReport {
    let frame = |f: &Frame| FrameReport { function: f.name.clone(), source: symbols.and_then(|s| s.source(f)) };
    FaultReport {
        kind: fault.kind.name(),
        function: fault.function.to_string(),
        message: fault.message.clone(),
        used: fault.used,
        limit: fault.limit,
        frames: fault.frames.iter().map(frame).collect(),
    }
}

fn blank(name: &str, stage: &'static str) -> PassReport {
    PassReport {
        name: name.to_string(),
        version: String::new(),
        file: String::new(),
        stage,
        outcome: Outcome::Unchanged,
        verdict: None,
        fault: None,
        edits: Edits::default(),
        fuel: 0,
        fuel_limit: 0,
        memory_bytes: 0,
        memory_limit: 0,
        host_bytes: 0,
        host_limit: 0,
        calls: 0,
        sandbox_ms: 0.0,
        judge_ms: 0.0,
        grants: Vec::new(),
        note: String::new(),
        log: Vec::new(),
        log_dropped: 0,
        reproducer: None,
        edit_log: Vec::new(),
        certified: None,
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::editor::{NewCall, Point};
    use crate::formats::text::ReadOptions;
    use crate::graph::{Arg, BodyId, NodeId, View};
    use crate::verify::{Budget, JudgeOptions};

    const PRODUCTS: usize = 16;

    /// Products in a row, each of the one before.
    fn products() -> Graph {
        let mut body = String::new();
        for k in 0..PRODUCTS {
            let of = k.checked_sub(1).map_or("x".to_string(), |k| format!("m{k}"));
            body += &format!("        m{k} = torch.ops.aten.mul.Tensor({of}, 0.967)\n");
        }
        let text = format!(
            "class M(torch.nn.Module):\n    def forward(self, x: \"f32[16]\"):\n{body}        return (m{},)\n",
            PRODUCTS - 1
        );
        let mut graph = text::read(&text, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}", e.render()));
        assert!(Registry::standard().check_types(&mut graph).is_empty());
        graph
    }

    /// A pass that makes some products differences, which are rounded farther.
    fn take_apart(graph: Graph, which: Range<usize>, so_far: &mut RunReport, settings: &mut Settings<'_>) -> Graph {
        let mut editor = Editor::new(graph, settings.registry.clone());
        for k in which {
            let product = editor.graph().find_name(BodyId::ROOT, &format!("m{k}")).unwrap();
            let of = editor.graph().operands(product).next().unwrap();
            let mut call = |target: &str, args: Vec<Arg>| -> NodeId {
                let call = NewCall { target: target.into(), args, ..NewCall::default() };
                editor.insert(Point::Before(product), call).unwrap()
            };
            let more = call("aten.mul.Tensor", vec![Arg::Node(of), Arg::Float(20.967)]);
            let less = call("aten.mul.Tensor", vec![Arg::Node(of), Arg::Float(20.0)]);
            let rest = call("aten.sub.Tensor", vec![Arg::Node(more), Arg::Node(less)]);
            editor.replace_uses(product, rest, None).unwrap();
            editor.erase(product).unwrap();
        }
        let mut report = blank("takes-apart", "pre");
        let graph = settle(editor, &mut report, ("", so_far), settings).unwrap();
        so_far.passes.push(report);
        graph
    }

    #[test]
    fn roundings_of_passes_in_a_row_are_held_against_what_the_run_began_with() {
        let config = Config::default();
        let judge = JudgeOptions { budget: Budget::searching(), is_repeatable: true, ..JudgeOptions::default() };
        let mut settings = Settings::plain(&config, Arc::new(Registry::standard()), judge);
        let mut so_far = RunReport::default();
        let mut graph = products();
        graph.begin_log();
        for first in 0..PRODUCTS / 2 {
            let stood = text::write(&graph);
            graph = take_apart(graph, first..first + 1, &mut so_far, &mut settings);
            let is_undone = so_far.passes.last().is_some_and(|p| p.outcome == Outcome::Refused);
            assert_eq!(text::write(&graph) == stood, is_undone);
        }
        let is_accepted = |p: &&PassReport| p.outcome == Outcome::Accepted;
        assert!((2..PRODUCTS / 2).contains(&so_far.passes.iter().take_while(is_accepted).count()));
        // Alone each is as near to what it began with as the first.
        for refused in so_far.passes.iter().filter(|p| !is_accepted(p)) {
            let reason = &refused.verdict.as_ref().unwrap().reason;
            assert!(reason.starts_with("after the passes before it"), "{reason}");
        }
    }
}
