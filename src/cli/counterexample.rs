//! What refutes a rewrite, as files.
//!
//! Promises: the `.case` shows the same when it is judged; files appear whole. Leaves what stands in them to `verify`.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::formats::write_whole;
use crate::graph::Graph;
use crate::verify::{self, JudgeOptions, Verdict};

/// How many runs are made to show a difference on smaller inputs.
pub const SHRINKS: usize = 400;

/// Writes a witness to `DIR/NAME.case`, with the files beside that it needs; returns that file, `None` where nothing was shown by running.
pub fn keep(
    (before, after): (&Graph, &Graph),
    verdict: &Verdict,
    options: &JudgeOptions,
    dir: &Path,
    name: &str,
) -> anyhow::Result<Option<PathBuf>> {
    let Some(witness) = &verdict.witness else { return Ok(None) };
    let written = verify::write_counterexample(before, after, witness, options, name);
    std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let put = |ending: &str, content: &[u8]| {
        let path = dir.join(format!("{name}.{ending}"));
        write_whole(&path, |out| out.write_all(content)).with_context(|| format!("cannot write {}", path.display()))?;
        anyhow::Ok(path)
    };
    if let Some(inputs) = &written.beside {
        put("safetensors", inputs)?;
    }
    if let Some(script) = &written.script {
        put("py", script.as_bytes())?;
    }
    put("case", written.case.as_bytes()).map(Some)
}
