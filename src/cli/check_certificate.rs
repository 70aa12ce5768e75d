//! `airlock check-certificate`: shows again what a certificate states, without a search.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use serde::Serialize;

use super::{Exit, Format, Global, Reading, output};
use crate::pipeline::proofs::{Checked, Checking};
use crate::pipeline::{Config, settle};
use crate::report::plain;
use crate::verify::Level;

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
    /// Seed of the inputs on which rounding is sampled; without it one of the operating system. With it nothing rests on
    /// fingerprints.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The configuration under which the graphs were judged. Without it the nearest `airlock.toml` from here upwards.
    #[arg(long, value_name = "airlock.toml")]
    config: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Serialize)]
struct Report {
    holds: bool,
    certificates: Vec<Checked>,
}

pub fn check_certificate(args: &CheckCertificateArgs, global: &Global) -> anyhow::Result<Exit> {
    let config = Config::find(args.config.as_deref(), &std::env::current_dir()?)?;
    let reading = args.reading.under(&config);
    let host = settle::judging_as_stated(&config)?;
    let checking = Checking { sources: reading.sources(), host, seed: args.seed };
    let is_case = args.before.extension().is_some_and(|e| e == "case");
    let certificates = match (&args.after, args.certificate.is_dir()) {
        (Some(after), true) => checking.run(&args.certificate, &args.before, after)?,
        (Some(after), false) => vec![checking.pair(&args.certificate, &args.before, after)?],
        (None, false) if is_case => vec![checking.case(&args.certificate, &args.before)?],
        (None, _) => bail!("give the graph after as well, or one certificate and one .case file that holds both"),
    };
    let report = Report { holds: certificates.iter().all(|c| c.holds), certificates };
    match global.format {
        Format::Json => output::print_json(&report)?,
        _ => output::print(report.certificates.iter().map(words).collect::<String>().trim_end())?,
    }
    Ok(if report.holds { Exit::Done } else { Exit::Refused })
}

fn words(c: &Checked) -> String {
    let word = if c.holds { "holds" } else { "does not hold" };
    let level = match c.level {
        Level::Exact => "exact",
        Level::Real => "real",
    };
    let mut text = format!("{word}   {level}   {}   {} steps   {:.1} ms\n", plain(&c.file), c.steps, c.ms);
    if !c.holds {
        text.push_str(&format!("  {}\n", plain(&c.reason)));
        return text;
    }
    let mut under = vec![format!("mode {}", c.under.mode)];
    under.extend(c.under.may_alias.iter().map(|(a, b)| format!("`{a}` and `{b}` may be one memory")));
    under.extend(c.under.inputs.iter().map(|(name, what)| format!("`{name}` holds {what}")));
    under.extend(c.under.lenient.iter().map(|word| format!("lenient: {word}")));
    under.extend(c.assumes.iter().cloned());
    text.extend(under.iter().map(|line| format!("  under: {}\n", plain(line))));
    text.extend(c.again.iter().map(|line| format!("  writes: {}\n", plain(line))));
    text
}
