//! `airlock build`: guest source to component.

use std::path::PathBuf;

use clap::Args;

use super::{Exit, Format, Global, output, progress};
use crate::guest::{BuildOptions, build as build_guest};

/// Builds a pass's sources to a component. Needs the toolchain of its language, and says how to get it.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  airlock build my-pass -o my-pass.wasm\n  airlock build pass.c\n  airlock build pass.py"
)]
pub struct BuildArgs {
    /// The folder of the pass, or its one source file.
    #[arg(value_name = "PASS")]
    path: PathBuf,
    /// The component to write; without it NAME.wasm in the current folder.
    #[arg(short, long, value_name = "OUT.wasm")]
    output: Option<PathBuf>,
}

pub fn build(args: &BuildArgs, global: &Global) -> anyhow::Result<Exit> {
    let spinner = progress::spinner(global, format!("building {}", args.path.display()));
    let built = build_guest(&args.path, args.output.as_deref(), &BuildOptions { quiet: global.quiet });
    spinner.finish_and_clear();
    let report = built?;
    match global.format {
        Format::Json => output::print_json(&serde_json::json!({
            "package": report.package,
            "language": report.language.name(),
            "toolchain": report.toolchain,
            "component": report.component.display().to_string(),
            "bytes": report.bytes,
            "imports": report.contract.functions_used(),
            "exports": report.contract.exports,
        }))?,
        _ => output::status(global, "Built", &format!("{} ({} bytes)", report.component.display(), report.bytes)),
    }
    Ok(Exit::Done)
}
