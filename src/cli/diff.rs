//! `airlock diff`: the edit between two graphs.

use std::path::PathBuf;

use clap::Args;

use super::{Exit, Format, Global, Reading, load, output};
use crate::formats::text::write_node_line;
use crate::report;

/// Shows the edit between two graphs, node by node. Exit 1 where they differ.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  airlock diff model.pt2 out.pt2")]
pub struct DiffArgs {
    /// The first model.
    before: PathBuf,
    /// The second model.
    after: PathBuf,
    #[command(flatten)]
    reading: Reading,
}

pub fn diff(args: &DiffArgs, global: &Global) -> anyhow::Result<Exit> {
    load::check_one_from_stdin(&[&args.before, &args.after])?;
    let registry = args.reading.sources().registry()?;
    let (before, _) = args.reading.sources().unchecked(&args.before, &registry)?;
    let (after, _) = args.reading.sources().unchecked(&args.after, &registry)?;
    let (a, b) = (&before.graph, &after.graph);
    let entries = report::diff(a, b, |n| write_node_line(a, n), |n| write_node_line(b, n));
    match global.format {
        Format::Json => output::print_json(&serde_json::json!({ "same": entries.is_empty(), "changes": entries }))?,
        _ => output::print(&report::diff_text(&entries))?,
    }
    Ok(if entries.is_empty() { Exit::Done } else { Exit::Refused })
}
