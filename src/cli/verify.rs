//! `airlock verify`: judges a rewrite that something else made.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;

use super::{Exit, Format, Global, Reading, Searching, Stating, load, output};
use crate::formats::write_whole;
use crate::pipeline::cases::{JudgedCase, Judging};
use crate::pipeline::counterexample::Picture;
use crate::pipeline::settle::{Flags, Settled};
use crate::pipeline::{Config, counterexample, outputs};
use crate::report::{CaseReport, sarif, side_by_side, verdict_details, verdict_words};
use crate::verify::{self, Certified, Mode, Policy, Verdict};

/// Judges a rewrite: the same values, effects, order? Exit 0 accepted, 1 refused.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  airlock verify before.fx after.fx\n  airlock verify refuted/rms-fuse.case --format json\n  airlock verify before.fx after.fx --report difference.html"
)]
pub struct VerifyArgs {
    /// The graph before; or a `.case`, which holds both.
    before: PathBuf,
    /// The graph after. Of two `.pt2` files tensors of one name must be the same, too, and how both are called; texts compare graphs alone.
    after: Option<PathBuf>,
    /// The NPU path whose order of streams counts: max-autotune, or what a `.case` says.
    #[arg(long, value_parser = super::modes())]
    mode: Option<Mode>,
    /// What a verdict must say to be accepted.
    #[arg(long, value_parser = super::policies())]
    policy: Option<Policy>,
    /// The configuration: what is known of inputs, more operators, a policy. Without it the nearest `airlock.toml` from here upwards.
    #[arg(long, value_name = "airlock.toml")]
    config: Option<PathBuf>,
    /// Keep what refutes the rewrite: `FILE.case` with its inputs, and beside it a script for PyTorch.
    #[arg(long, value_name = "FILE.case")]
    counterexample: Option<PathBuf>,
    /// Draw both graphs side by side where the rewrite is refuted, with what each node came to: one HTML page.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Keep what an accepting verdict rests on: `airlock check-certificate FILE BEFORE AFTER` shows it again without a search.
    #[arg(long, value_name = "FILE.json")]
    certificate: Option<PathBuf>,
    #[command(flatten)]
    searching: Searching,
    #[command(flatten)]
    stating: Stating,
    #[command(flatten)]
    reading: Reading,
}

pub fn verify(args: &VerifyArgs, global: &Global) -> anyhow::Result<Exit> {
    for file in [&args.certificate, &args.report].into_iter().flatten() {
        outputs::check(&[file])?;
        let read: Vec<&Path> =
            [Some(&args.before), args.after.as_ref()].into_iter().flatten().map(PathBuf::as_path).collect();
        outputs::check_apart(&[file], &args.reading.files(&read))?;
    }
    let config = Config::find(args.config.as_deref(), &std::env::current_dir()?)?;
    let (mode, policy, search) = (args.mode, args.policy, args.searching.search());
    let settled = Settled::of(config, Flags { mode, policy, search, ..Flags::default() })?;
    let (mode, verdict) = match &args.after {
        Some(after) => judge_files(args, &settled, after)?,
        None if args.before.extension().is_some_and(|e| e == "case") => judge_case(args, &settled)?,
        None => bail!("give the graph after as well, or one .case file that holds both"),
    };
    show(args, mode, &verdict, global)?;
    Ok(if verdict.accepted { Exit::Done } else { Exit::Refused })
}

fn judge_files(args: &VerifyArgs, settled: &Settled, after: &Path) -> anyhow::Result<(Mode, Verdict)> {
    load::check_one_from_stdin(&[&args.before, after])?;
    let reading = args.reading.under(&settled.config);
    let before = reading.sources().model(&args.before)?;
    load::warn_of_unknown_inputs(settled, &before);
    let (after, _) = reading.sources().unchecked(after, &before.registry)?;
    let mut options = settled.judging(settled.policy);
    options.budget.shrinks = counterexample::SHRINKS;
    options.rules = args.stating.read(Some(&settled.config), &before.registry)?;
    options.constants = verify::constants(&before.model.graph, &before.model.weights);
    let (a, b) = (&before.model.graph, &after.graph);
    let certified = args.certificate.as_ref().map(|_| verify::certify(a, b, &before.registry, &options));
    let mut verdict = match &certified {
        Some(Certified { verdict, .. }) if verdict.accepted => verdict.clone(),
        // A search that may use steps without a name shows more.
        _ => verify::judge_pair(a, b, &before.registry, &options),
    };
    verdict = verify::of_models(verdict, &before.model, &after, options.policy);
    if let (Some(file), Some(certified), true) = (&args.certificate, certified, verdict.accepted) {
        keep(file, certified)?;
    }
    if let Some((dir, name)) = place(args) {
        let kept = counterexample::keep(
            (&before.model.graph, &after.graph),
            &verdict,
            (&before.registry, &options),
            dir,
            &name,
        )?;
        verdict.counterexample = kept.map(|p| p.display().to_string());
    }
    draw(args, &verdict, || counterexample::picture((a, b), &verdict, &before.registry, &options))?;
    Ok((settled.mode, verdict))
}

/// Writes the page that is asked for.
fn draw(args: &VerifyArgs, verdict: &Verdict, picture: impl FnOnce() -> Option<Picture>) -> anyhow::Result<()> {
    let Some(file) = &args.report else { return Ok(()) };
    let Some(picture) = picture() else {
        output::warn("there is nothing to draw: no run shows a difference");
        return Ok(());
    };
    let title = args.after.as_ref().unwrap_or(&args.before).display().to_string();
    let page = side_by_side(&title, &verdict.reason, &picture.note, &picture.witness, &picture.traced);
    write_whole(file, |out| out.write_all(page.as_bytes())).with_context(|| format!("cannot write {}", file.display()))
}

/// Writes the certificate of what was accepted, where there is one.
fn keep(file: &Path, certified: Certified) -> anyhow::Result<()> {
    let Some(certificate) = certified.certificate else {
        output::warn("there is no certificate: a policy accepts what is not proved, or a step has no name");
        return Ok(());
    };
    write_whole(file, |out| out.write_all(certificate.to_json().as_bytes()))
        .with_context(|| format!("cannot write {}", file.display()))
}

/// The folder and the name of the counterexample that is asked for.
fn place(args: &VerifyArgs) -> Option<(&Path, String)> {
    let file = args.counterexample.as_deref()?;
    let name = file.file_stem()?.to_string_lossy().into_owned();
    Some((file.parent().unwrap_or(Path::new(".")), name))
}

/// What a case says of inputs and of its mode holds before the configuration.
fn judge_case(args: &VerifyArgs, settled: &Settled) -> anyhow::Result<(Mode, Verdict)> {
    let registry = args.reading.under(&settled.config).sources().registry()?;
    let rules = args.stating.read(Some(&settled.config), &registry)?;
    let how =
        Judging { policy: settled.policy, mode: args.mode, search: args.searching.search(), rules, shrinks: true };
    let case = JudgedCase::of(&args.before, &registry, &how)?;
    let (mode, verdict) = case.as_pair().context("no mode to judge in")?;
    let mut verdict = verdict.clone();
    if let (Some(file), true) = (&args.certificate, verdict.accepted) {
        keep(file, case.certify(mode, &registry))?;
    }
    if let Some((dir, name)) = place(args) {
        verdict.counterexample = case.keep(&verdict, &registry, dir, &name)?.map(|p| p.display().to_string());
    }
    draw(args, &verdict, || case.picture(&verdict, &registry))?;
    Ok((mode, verdict))
}

fn show(args: &VerifyArgs, mode: Mode, verdict: &Verdict, global: &Global) -> anyhow::Result<()> {
    match global.format {
        Format::Json => output::print_json(verdict),
        Format::Sarif => {
            let file = args.after.as_ref().unwrap_or(&args.before).display().to_string();
            output::print_json(&sarif(&[CaseReport {
                name: file.clone(),
                file,
                label: "equivalent".into(),
                right: verdict.accepted,
                mode: mode.name(),
                verdict: verdict.clone(),
            }]))
        }
        _ => {
            let word = if verdict.accepted { "accepted" } else { "refused" };
            let time = format!("{:.1} ms to judge", verdict.ms);
            output::print(&format!("{word}   {}   {time}\n{}", verdict_words(verdict), verdict_details(verdict)))
        }
    }
}
