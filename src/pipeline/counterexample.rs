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

/// Of graphs with more nodes a smaller pair is drawn, where there is one.
const DRAWN: usize = 40;

/// What both graphs came to on a witness's inputs, or smaller graphs that show the same kind of difference, and what is to be said of them.
#[derive(Debug)]
pub struct Picture {
    /// What is shown.
    pub witness: verify::Witness,
    /// Node by node.
    pub traced: verify::Traced,
    /// What a reader must know of the graphs.
    pub note: String,
}

/// Returns what there is to be drawn of a refutation; `None` where nothing was shown by running.
pub fn picture(
    (before, after): (&Graph, &Graph),
    verdict: &Verdict,
    registry: &Registry,
    options: &JudgeOptions,
) -> Option<Picture> {
    let witness = verdict.witness.as_ref()?;
    let small = before.len().max(after.len()) > DRAWN;
    let now = Instant::now();
    let deadline = now.checked_add(Duration::from_millis(options.budget.time_ms)).unwrap_or(now);
    let small =
        small.then(|| verify::illustrate((before, after), witness.shows, registry, options, deadline)).flatten();
    let Some(small) = small else {
        let traced = verify::trace((before, after), witness, registry, options)?;
        return Some(Picture { witness: witness.clone(), traced, note: "the graphs as they were given".into() });
    };
    let traced = verify::trace((&small.before, &small.after), &small.witness, registry, options)?;
    Some(Picture { note: small.note(), traced, witness: small.witness })
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
