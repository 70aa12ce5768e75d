//! `airlock build`: guest source to component.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use super::watch::Seen;
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
    /// Build again whenever a file of the pass changes, until interrupted.
    #[arg(long)]
    watch: bool,
    /// Run what was built on this model, each time.
    #[arg(long, value_name = "MODEL", requires = "watch")]
    run: Option<PathBuf>,
}

pub fn build(args: &BuildArgs, global: &Global) -> anyhow::Result<Exit> {
    if !args.watch {
        return build_once(args, global).map(|_| Exit::Done);
    }
    let mut seen = Seen::of(&args.path);
    loop {
        // What is wrong with a pass is its author's to change: the next build may work.
        match build_once(args, global) {
            Ok(component) => run_again(args, &component)?,
            Err(error) => output::error(&error),
        }
        output::status(global, "Watching", &args.path.display().to_string());
        seen = seen.wait(&args.path);
    }
}

/// Runs the component on the model that was named, as `airlock run` does.
fn run_again(args: &BuildArgs, component: &Path) -> anyhow::Result<()> {
    if let Some(model) = &args.run {
        Command::new(std::env::current_exe()?).arg("run").arg(model).arg("--pass").arg(component).status()?;
    }
    Ok(())
}

fn build_once(args: &BuildArgs, global: &Global) -> anyhow::Result<PathBuf> {
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
            "debug": report.debug.as_ref().map(|path| path.display().to_string()),
            "imports": report.contract.functions_used(),
            "exports": report.contract.exports,
        }))?,
        _ => output::status(global, "Built", &format!("{} ({} bytes)", report.component.display(), report.bytes)),
    }
    Ok(report.component)
}
