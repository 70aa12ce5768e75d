//! `airlock build`: guest source to component.

use std::path::PathBuf;

use clap::Args;

use super::{Exit, Format, Global, output, progress};
use crate::guest::{BuildOptions, build as build_guest};

/// Builds a guest's sources to a component. Needs a Rust compiler for wasm32-unknown-unknown: `scripts/setup.sh`
/// brings one.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  airlock build guest-examples/stream-split -o stream-split.wasm")]
pub struct BuildArgs {
    /// The folder with the guest's Cargo.toml.
    dir: PathBuf,
    /// The component to write; without it NAME.wasm in the current folder.
    #[arg(short, long, value_name = "OUT.wasm")]
    output: Option<PathBuf>,
}

pub fn build(args: &BuildArgs, global: &Global) -> anyhow::Result<Exit> {
    let spinner = progress::spinner(global, format!("building {}", args.dir.display()));
    let built = build_guest(&args.dir, args.output.as_deref(), &BuildOptions { quiet: global.quiet });
    spinner.finish_and_clear();
    let report = built?;
    match global.format {
        Format::Json => output::print_json(&serde_json::json!({
            "package": report.package,
            "component": report.component.display().to_string(),
            "bytes": report.bytes,
            "imports": report.contract.functions_used(),
            "exports": report.contract.exports,
        }))?,
        _ => output::status(global, "Built", &format!("{} ({} bytes)", report.component.display(), report.bytes)),
    }
    Ok(Exit::Done)
}
