//! `airlock diff`: the edit between two graphs.

use std::path::PathBuf;

use clap::Args;

use super::{Exit, Format, Global, Reading, load, output};
use crate::formats::text::write_node_line;
use crate::report::{self, plain};
use crate::verify;

/// Shows the edit between two graphs, node by node, and the first difference of what models hold beside them: tensors, and how they are called. Exit
/// 1 where they differ.
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
    let beside = verify::unlike_models(&before, &after);
    let same = entries.is_empty() && beside.is_none();
    match global.format {
        Format::Json => output::print_json(&serde_json::json!({ "same": same, "changes": entries, "beside": beside }))?,
        _ => {
            let beside = beside.map_or_else(String::new, |what| format!("{}\n", plain(&what)));
            output::print(&format!("{}{beside}", report::diff_text(&entries)))?
        }
    }
    Ok(if same { Exit::Done } else { Exit::Refused })
}
