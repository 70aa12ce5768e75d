//! `airlock check-certificate`: shows again what a certificate states, without a search.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use super::{Exit, Format, Global, Reading, load, output};
use crate::certificate::{Certificate, Conditions};
use crate::formats::text::{ReadOptions, case};
use crate::graph::Graph;
use crate::ops::Registry;
use crate::report::plain;
use crate::verify::{self, JudgeOptions, Level, Mode};

/// Shows again what a certificate states of two graphs, without a search. Exit 0 where all of it holds, else 1.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  airlock verify before.fx after.fx --certificate proof.json && airlock check-certificate proof.json before.fx after.fx
  airlock check-certificate proof.json rewrite.case
  airlock run model.pt2 --pass a.wasm --pass b.wasm -o out.pt2 --certificates proofs
  airlock check-certificate proofs model.pt2 out.pt2        # every pass, one after the other")]
pub struct CheckCertificateArgs {
    /// A certificate, or the folder that `airlock run --certificates` wrote.
    certificate: PathBuf,
    /// The graph before; or a `.case`, which holds both.
    before: PathBuf,
    /// The graph after.
    after: Option<PathBuf>,
    /// Seed of the inputs on which rounding is sampled; without it one of the operating system.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    reading: Reading,
}

/// What became of one certificate.
#[derive(Serialize)]
struct Checked {
    file: String,
    holds: bool,
    /// Why it does not hold.
    reason: String,
    level: Level,
    under: Conditions,
    assumes: Vec<String>,
    steps: usize,
    ms: f64,
}

#[derive(Serialize)]
struct Report {
    holds: bool,
    certificates: Vec<Checked>,
}

pub fn check_certificate(args: &CheckCertificateArgs, global: &Global) -> anyhow::Result<Exit> {
    let certificates = match (&args.after, args.certificate.is_dir()) {
        (Some(after), true) => check_run(args, after)?,
        (Some(after), false) => {
            let before = load::model(&args.before, &args.reading)?;
            let (after, _) = load::unchecked(after, &args.reading, &before.registry)?;
            vec![check(
                args,
                &args.certificate,
                (&before.model.graph, &after.graph),
                &before.registry,
                plain_options(),
            )?]
        }
        (None, false) if args.before.extension().is_some_and(|e| e == "case") => vec![check_case(args)?],
        (None, _) => bail!("give the graph after as well, or one certificate and one .case file that holds both"),
    };
    let report = Report { holds: certificates.iter().all(|c| c.holds), certificates };
    show(&report, global)?;
    Ok(if report.holds { Exit::Done } else { Exit::Refused })
}

/// How graphs are judged of which no case says more.
fn plain_options() -> JudgeOptions {
    JudgeOptions { budget: verify::Budget::searching(), ..JudgeOptions::default() }
}

fn check_case(args: &CheckCertificateArgs) -> anyhow::Result<Checked> {
    let registry = load::registry(&args.reading)?;
    let name = args.before.display().to_string();
    let bytes = load::bytes(&args.before)?;
    let text = std::str::from_utf8(bytes.as_slice()).with_context(|| format!("{name} is not UTF-8 text"))?;
    let mut case = case::read(text, &ReadOptions::of_file(&name))?;
    let problems = load::problems(&mut case.before, &registry);
    if !problems.is_empty() {
        bail!("{name}: `before` is not well formed:\n  {}", problems.join("\n  "));
    }
    // The mode is the certificate's: what it holds for is said.
    let options = JudgeOptions::of_case(&case.meta, Mode::default());
    check(args, &args.certificate, (&case.before, &case.after), &registry, options)
}

/// Checks the certificates of a run, in order: from the model through the graphs that stand beside them to what was written.
fn check_run(args: &CheckCertificateArgs, after: &Path) -> anyhow::Result<Vec<Checked>> {
    let folder = &args.certificate;
    let listed = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = listed.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>()?;
    files.retain(|f| f.extension().is_some_and(|e| e == "json"));
    files.sort();
    let first = load::model(&args.before, &args.reading)?;
    if files.is_empty() {
        bail!("there are no certificates in {}: `airlock run --certificates {0}` writes them", folder.display());
    }
    // What a text does not say of inputs is what the model says.
    let like = (first.kind == load::Kind::Pt2).then(|| args.before.clone());
    let between = Reading { like: args.reading.like.clone().or(like), ops: args.reading.ops.clone(), weights: None };
    let mut before = first.model.graph;
    let mut done = Vec::new();
    for (number, file) in (1..).zip(&files) {
        let (path, reading) = match number == files.len() {
            true => (after.to_path_buf(), &args.reading),
            false => (file.with_extension("fx"), &between),
        };
        let (mut model, _) = load::unchecked(&path, reading, &first.registry)?;
        let checked = check(args, file, (&before, &model.graph), &first.registry, plain_options())?;
        let holds = checked.holds;
        done.push(checked);
        if !holds {
            break;
        }
        let problems = load::problems(&mut model.graph, &first.registry);
        if !problems.is_empty() {
            bail!("{} is not a well-formed model:\n  {}", path.display(), problems.join("\n  "));
        }
        before = model.graph;
    }
    Ok(done)
}

fn check(
    args: &CheckCertificateArgs,
    file: &Path,
    (before, after): (&Graph, &Graph),
    registry: &Registry,
    options: JudgeOptions,
) -> anyhow::Result<Checked> {
    let bytes = load::bytes(file)?;
    let certificate = Certificate::read(bytes.as_slice()).with_context(|| file.display().to_string())?;
    let options = JudgeOptions { seed: args.seed.unwrap_or(0), ..options };
    let start = std::time::Instant::now();
    let checked = verify::check_certificate(&certificate, before, after, registry, &options);
    Ok(Checked {
        file: file.display().to_string(),
        holds: checked.is_ok(),
        reason: checked.err().map_or_else(String::new, |e| e.to_string()),
        level: certificate.level,
        steps: certificate.steps.len(),
        under: certificate.under,
        assumes: certificate.assumes,
        ms: start.elapsed().as_secs_f64() * 1e3,
    })
}

fn show(report: &Report, global: &Global) -> anyhow::Result<()> {
    if global.format == Format::Json {
        return output::print_json(report);
    }
    let mut text = String::new();
    for c in &report.certificates {
        let word = if c.holds { "holds" } else { "does not hold" };
        let level = match c.level {
            Level::Exact => "exact",
            Level::Real => "real",
        };
        text.push_str(&format!("{word}   {level}   {}   {} steps   {:.1} ms\n", plain(&c.file), c.steps, c.ms));
        if !c.reason.is_empty() {
            text.push_str(&format!("  {}\n", plain(&c.reason)));
        }
        let mut under = vec![format!("mode {}", c.under.mode)];
        under.extend(c.under.may_alias.iter().map(|(a, b)| format!("`{a}` and `{b}` may be one memory")));
        under.extend(c.under.inputs.iter().map(|(name, what)| format!("`{name}` holds {what}")));
        under.extend(c.under.lenient.iter().map(|word| format!("lenient: {word}")));
        under.extend(c.assumes.iter().cloned());
        for line in under.into_iter().filter(|_| c.holds) {
            text.push_str(&format!("  under: {}\n", plain(&line)));
        }
    }
    output::print(text.trim_end())
}
