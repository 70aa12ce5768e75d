//! Certificates as files: those of a run, and whether such files hold.
//!
//! Promises: certificates of a run lead from the model through the graphs that stand beside them to what was written, in the order of the run; what
//! was undone in the end has none. Leaves what a certificate states, and its replay, to `verify`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::Serialize;

use super::cases::{self, CaseFault};
use super::load::{self, Kind, ReadError, Sources};
#[cfg(feature = "sandbox")]
use super::run::RunReport;
use crate::certificate::{Certificate, CertificateError, Conditions};
use crate::formats::text::{ReadOptions, case};
use crate::graph::{Graph, Model};
use crate::ops::Registry;
use crate::verify::{self, Again, JudgeOptions, Level, Mode};

/// What became of one certificate.
#[derive(Debug, Serialize)]
pub struct Checked {
    /// Its file.
    pub file: String,
    /// Whether all of it holds.
    pub holds: bool,
    /// Why it does not.
    pub reason: String,
    /// How equal it says that the graphs are.
    pub level: Level,
    /// Under which conditions.
    pub under: Conditions,
    /// What that rests on beyond the registry.
    pub assumes: Vec<String>,
    /// What came of showing it again on graphs without writes; nothing where neither writes, or it does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<String>,
    /// How many steps it has.
    pub steps: usize,
    /// How long the check took.
    pub ms: f64,
}

/// Why certificates cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// A file is no certificate.
    #[error("{file}")]
    Certificate {
        /// The file.
        file: String,
        /// Why.
        source: CertificateError,
    },
    /// A folder without certificates.
    #[error("there are no certificates in {}: `airlock run --certificates {}` writes them", .0.display(), .0.display())]
    None(PathBuf),
    /// A folder cannot be read.
    #[error("cannot read {}", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// A graph cannot be read.
    #[error("{0}")]
    Read(#[from] ReadError),
    /// A case cannot be read.
    #[error("{0}")]
    Case(#[from] CaseFault),
}

/// What checks have in common.
#[derive(Clone, Debug)]
pub struct Checking<'a> {
    /// How graphs are read.
    pub sources: Sources<'a>,
    /// What the host says of inputs and streams, where no case says it.
    pub host: JudgeOptions,
    /// Seed of the inputs on which rounding is sampled; without it one of the operating system.
    pub seed: Option<u64>,
}

impl Checking<'_> {
    /// Checks one certificate of two files.
    pub fn pair(&self, certificate: &Path, before: &Path, after: &Path) -> Result<Checked, ProofError> {
        let before = self.sources.model(before)?;
        let (after, _) = self.sources.unchecked(after, &before.registry)?;
        let checked =
            self.check(certificate, (&before.model.graph, &after.graph), &before.registry, self.of(&before.model))?;
        Ok(held_to_models(checked, &before.model, &after))
    }

    /// Checks one certificate of a case. The mode is the certificate's, unless the case states one of streams.
    pub fn case(&self, certificate: &Path, file: &Path) -> Result<Checked, ProofError> {
        let registry = self.sources.registry()?;
        let bytes = load::bytes(file)?;
        let text = cases::text(file, bytes.as_slice())?;
        let mut case = case::read(text, &ReadOptions::of_file(&file.display().to_string())).map_err(CaseFault::from)?;
        cases::check_before(file, &mut case.before, &registry)?;
        let mode = case.meta.mode.as_deref().and_then(Mode::from_name).unwrap_or_default();
        let options = JudgeOptions::of_case(&case.meta, mode);
        let checked = self.check(certificate, (&case.before, &case.after), &registry, options)?;
        let stated = case.meta.mode.as_deref().and_then(Mode::from_name);
        Ok(match stated.filter(|mode| checked.holds && checked.under.mode != mode.name()) {
            Some(mode) => {
                let reason =
                    format!("the case states the mode {}, the certificate {}", mode.name(), checked.under.mode);
                Checked { holds: false, reason, ..checked }
            }
            None => checked,
        })
    }

    /// Checks the certificates of a run, in order, up to the first that does not hold. What several of them leave equal over the reals is run against the model,
    /// too, and rounded no farther than one of them may: their roundings add up.
    pub fn run(&self, folder: &Path, model: &Path, written: &Path) -> Result<Vec<Checked>, ProofError> {
        let files = certificates(folder)?;
        let first = self.sources.model(model)?;
        // What a text does not say of inputs is what the model says.
        let like = self.sources.like.or((first.kind == Kind::Pt2).then_some(model));
        let between = Sources { like, weights: None, ..self.sources };
        let host = self.of(&first.model);
        let mut before = first.model.graph.clone();
        let mut done = Vec::new();
        for (number, file) in (1..).zip(&files) {
            let (path, sources) = match number == files.len() {
                true => (written.to_path_buf(), self.sources),
                false => (file.with_extension("fx"), between),
            };
            let (mut after, _) = sources.unchecked(&path, &first.registry)?;
            let checked = self.check(file, (&before, &after.graph), &first.registry, host.clone())?;
            let checked = held_to_models(checked, &first.model, &after);
            let holds = checked.holds;
            done.push(checked);
            if !holds {
                break;
            }
            let problems = load::problems(&mut after.graph, &first.registry);
            if !problems.is_empty() {
                return Err(ReadError::IllFormed { name: path.display().to_string(), problems }.into());
            }
            before = after.graph;
        }
        let near = done.iter().filter(|c| c.level == Level::Real).count();
        if near > 1
            && let Some(last) = done.last_mut().filter(|c| c.holds)
            && let Some(why) = verify::adds_up(&first.model.graph, &before, &first.registry, &self.seeded(host))
        {
            (last.holds, last.reason) = (false, format!("what was written is not the model: {why}"));
        }
        Ok(done)
    }

    /// What is judged by, with the seed of the checks.
    fn seeded(&self, options: JudgeOptions) -> JudgeOptions {
        JudgeOptions { seed: self.seed.unwrap_or(0), is_repeatable: self.seed.is_some(), ..options }
    }

    fn of(&self, model: &Model) -> JudgeOptions {
        JudgeOptions { constants: verify::constants(&model.graph, &model.weights), ..self.host.clone() }
    }

    fn check(
        &self,
        file: &Path,
        (before, after): (&Graph, &Graph),
        registry: &Registry,
        options: JudgeOptions,
    ) -> Result<Checked, ProofError> {
        let bytes = load::bytes(file)?;
        let name = file.display().to_string();
        let certificate = Certificate::read(bytes.as_slice())
            .map_err(|source| ProofError::Certificate { file: name.clone(), source })?;
        let options = self.seeded(options);
        let start = Instant::now();
        let checked = verify::check_certificate(&certificate, before, after, registry, &options)
            .map_err(|e| e.to_string())
            .and_then(|held| match options.policy.accepts(&held.verdict) {
                true => Ok(held),
                false => Err(format!("what it shows is less than the policy {} takes", options.policy.name())),
            });
        Ok(Checked {
            file: name,
            holds: checked.is_ok(),
            again: checked.as_ref().ok().filter(|c| c.again != Again::Plain).map(|c| c.again.to_string()),
            reason: checked.err().unwrap_or_default(),
            level: certificate.level,
            steps: certificate.steps.len(),
            under: certificate.under,
            assumes: certificate.assumes,
            ms: start.elapsed().as_secs_f64() * 1e3,
        })
    }
}

/// A certificate speaks of graphs: that of two models holds only if they hold the same beside.
fn held_to_models(checked: Checked, before: &Model, after: &Model) -> Checked {
    match verify::unlike_models(before, after).filter(|_| checked.holds) {
        Some(reason) => Checked { holds: false, reason, ..checked },
        None => checked,
    }
}

/// The certificates of a folder, in order.
fn certificates(folder: &Path) -> Result<Vec<PathBuf>, ProofError> {
    let cannot = |source| ProofError::Folder { folder: folder.to_path_buf(), source };
    let listed = std::fs::read_dir(folder).map_err(cannot)?;
    let mut files = listed.map(|e| e.map(|e| e.path())).collect::<Result<Vec<_>, _>>().map_err(cannot)?;
    files.retain(|f| f.extension().is_some_and(|e| e == "json"));
    files.sort();
    if files.is_empty() { Err(ProofError::None(folder.to_path_buf())) } else { Ok(files) }
}

/// A file of a run's certificates: its name, and its text or why there is none.
#[cfg(feature = "sandbox")]
pub type ProofFile = (PathBuf, Result<String, String>);

/// Returns the files of the certificates of a run: for each pass that was accepted the graph that it left, and its certificate.
#[cfg(feature = "sandbox")]
pub fn files_of_run(folder: &Path, run: &RunReport) -> Vec<ProofFile> {
    let clean = |name: &str| -> String {
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
    };
    let accepted = run.in_order().filter(|_| !run.is_original);
    let mut out = Vec::new();
    for (number, (pass, evidence)) in (1_usize..).zip(accepted.filter_map(|p| p.certified.as_ref().map(|e| (p, e)))) {
        let file = |ending| folder.join(format!("{number:03}_{}.{ending}", clean(&pass.name)));
        out.push((file("fx"), Ok(evidence.after.clone())));
        let certificate = evidence.certificate.as_ref().map(Certificate::to_json);
        out.push((file("json"), certificate.map_err(|why| format!("`{}`: {why}", pass.name))));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::text;
    use crate::graph::InputLayout;
    use crate::verify::Budget;

    fn options() -> JudgeOptions {
        JudgeOptions { budget: Budget::searching(), is_repeatable: true, ..JudgeOptions::default() }
    }

    fn checking() -> Checking<'static> {
        let sources = Sources { ops: &[], weights: None, like: None, inputs_lie: InputLayout::default() };
        Checking { sources, host: options(), seed: Some(1) }
    }

    fn graph(lines: &[String], out: &str) -> Graph {
        let body: String = lines.iter().map(|line| format!("        {line}\n")).collect();
        let text = format!(
            "class M(torch.nn.Module):\n    def forward(self, x: \"f32[16]\"):\n{body}        return ({out},)\n"
        );
        let mut graph = text::read(&text, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}", e.render()));
        assert!(Registry::standard().check_types(&mut graph).is_empty());
        graph
    }

    /// Products in a row, the first ones as differences that are rounded farther.
    fn products(apart: usize) -> Graph {
        let mut lines: Vec<String> = Vec::new();
        for k in 0..PRODUCTS {
            let of = k.checked_sub(1).map_or("x".to_string(), |k| format!("m{k}"));
            let call = |name: &str, of: &str| format!("{name}{k} = torch.ops.aten.{of}");
            if k < apart {
                lines.push(call("a", &format!("mul.Tensor({of}, 20.967)")));
                lines.push(call("b", &format!("mul.Tensor({of}, 20.0)")));
                lines.push(call("m", &format!("sub.Tensor(a{k}, b{k})")));
            } else {
                lines.push(call("m", &format!("mul.Tensor({of}, 0.967)")));
            }
        }
        graph(&lines, "m15")
    }

    const PRODUCTS: usize = 16;

    fn certificate(before: &Graph, after: &Graph) -> String {
        let certified = verify::certify(before, after, &Registry::standard(), &options());
        certified.certificate.unwrap_or_else(|| panic!("{:#?}", certified.verdict)).to_json()
    }

    /// Checks the certificates of steps from one graph to the next.
    fn run_of(graphs: &[Graph]) -> Vec<Checked> {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        for (number, pair) in (1..).zip(graphs.windows(2)) {
            std::fs::write(file(&format!("{number:03}.json")), certificate(&pair[0], &pair[1])).unwrap();
            std::fs::write(file(&format!("{number:03}.fx")), text::write(&pair[1])).unwrap();
        }
        let (model, written) = (file("model.fx"), file("out.fx"));
        std::fs::write(&model, text::write(graphs.first().unwrap())).unwrap();
        std::fs::write(&written, text::write(graphs.last().unwrap())).unwrap();
        checking().run(folder.path(), &model, &written).unwrap()
    }

    #[test]
    fn each_certificate_of_a_run_may_hold_and_all_together_not() {
        let few = run_of(&[products(0), products(1), products(2)]);
        assert!(few.iter().all(|c| c.holds && c.level == Level::Real), "{few:?}");
        let many = run_of(&[products(0), products(3), products(PRODUCTS)]);
        let [first, last] = many.as_slice() else { panic!("{many:?}") };
        assert!(first.holds && !last.holds, "{many:?}");
        assert!(last.reason.starts_with("what was written is not the model: output 0 is rounded"), "{}", last.reason);
    }

    #[test]
    fn a_certificate_of_a_case_is_of_the_mode_that_it_states() {
        let (before, after) = (products(0), products(1));
        let folder = tempfile::tempdir().unwrap();
        let proof = folder.path().join("proof.json");
        std::fs::write(&proof, certificate(&before, &after)).unwrap();
        let checked = |mode: &str| {
            let file = folder.path().join("a.case");
            let (before, after) = (text::write(&before), text::write(&after));
            let case =
                format!("=== meta\nname = \"a\"\nlabel = \"real\"\n{mode}=== before\n{before}\n=== after\n{after}\n");
            std::fs::write(&file, case).unwrap();
            checking().case(&proof, &file).unwrap()
        };
        assert!(checked("").holds && checked("mode = \"max-autotune\"\n").holds);
        let other = checked("mode = \"reduce-overhead\"\n");
        assert!(!other.holds);
        assert!(other.reason.contains("reduce-overhead"), "{}", other.reason);
    }
}
