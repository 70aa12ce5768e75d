//! What refutes a rewrite, as files.
//!
//! Promises: the `.case` shows the same when it is judged; files appear whole. Leaves what stands in them to `verify`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::outputs::{OutputError, cannot_write};
use crate::formats::write_whole;
use crate::graph::Graph;
use crate::ops::Registry;
use crate::verify::{self, JudgeOptions, Verdict};

/// How many runs are made to show a difference on smaller inputs.
pub const SHRINKS: usize = 400;

/// Writes a witness to `DIR/NAME.case`, with the files beside that it needs; returns that file, `None` where nothing was shown by running. Where
/// smaller graphs show the same kind of difference, they are `DIR/NAME.small.case`.
pub fn keep(
    graphs: (&Graph, &Graph),
    verdict: &Verdict,
    (registry, options): (&Registry, &JudgeOptions),
    dir: &Path,
    name: &str,
) -> Result<Option<PathBuf>, OutputError> {
    let Some(witness) = &verdict.witness else { return Ok(None) };
    std::fs::create_dir_all(dir).map_err(cannot_write(dir))?;
    let kept = put(&verify::write_counterexample(graphs, witness, options, name, ""), dir, name)?;
    let now = Instant::now();
    let deadline = now.checked_add(Duration::from_millis(options.budget.time_ms)).unwrap_or(now);
    if let Some(small) = verify::illustrate(graphs, witness.shows, registry, options, deadline) {
        let (name, graphs) = (format!("{name}.small"), (&small.before, &small.after));
        put(&verify::write_counterexample(graphs, &small.witness, options, &name, &small.note()), dir, &name)?;
    }
    Ok(Some(kept))
}

/// Puts the files down; returns the case.
fn put(written: &verify::Written, dir: &Path, name: &str) -> Result<PathBuf, OutputError> {
    let put = |ending: &str, content: &[u8]| {
        let path = dir.join(format!("{name}.{ending}"));
        write_whole(&path, |out| out.write_all(content)).map_err(cannot_write(&path))?;
        Ok(path)
    };
    if let Some(inputs) = &written.beside {
        put("safetensors", inputs)?;
    }
    if let Some(script) = &written.script {
        put("py", script.as_bytes())?;
    }
    put("case", written.case.as_bytes())
}
