//! A lowered model on its way out: made, read back and judged, and written with what belongs beside it.
//!
//! `OUT` is the GE graph, `OUT.options.json` the options of the device by GE's names, `OUT.host.json` what the host does around the graph.
//! Promises: what was refused is not written; the three files appear together.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::{Mode, configured, load::Loaded, staging::Staging};
use crate::lower::ge;
use crate::pipeline::{self, CompilerOptions, Dump, Judged};
use crate::verify::{Assumption, Finding, JudgeOptions};

/// How a model is lowered.
pub struct How<'a> {
    pub mode: Mode,
    /// What the configuration states.
    pub compiler: &'a CompilerOptions,
    /// What the lowering takes of it, and flags.
    pub ge: ge::Options,
    /// Nothing: it is not judged.
    pub judging: Option<JudgeOptions>,
}

/// A lowered model and what was found of it.
pub struct Made {
    pub lowered: ge::Lowered,
    pub judged: Option<Judged>,
}

/// Refuses a mode for which nothing can be lowered yet.
pub fn check_lowers(mode: Mode) -> anyhow::Result<()> {
    if mode == Mode::ReduceOverhead {
        bail!("lowering to a launch plan (--mode reduce-overhead) is not supported yet; max-autotune is");
    }
    Ok(())
}

/// Returns what of a configuration changes the GE graph.
pub fn ge_options(compiler: &CompilerOptions) -> ge::Options {
    let default = ge::Options::default();
    let flag = |name: &str, or| compiler.flag(&format!("experimental_config.{name}")).unwrap_or(or);
    ge::Options {
        enable_view_optimize: flag("enable_view_optimize", default.enable_view_optimize),
        enable_ref_data: flag("enable_ref_data", default.enable_ref_data),
        soc_version: compiler.text("torch_aie.soc_version"),
        keep_stages: compiler.text("debug.graph_dump.type").is_some(),
        ..default
    }
}

/// Lowers a model and judges what came of it.
pub fn make(loaded: &Loaded, how: &How<'_>) -> anyhow::Result<Made> {
    check_lowers(how.mode)?;
    let lowered = ge::lower_with(&loaded.model.graph, &how.ge, &loaded.registry)?;
    let judged = how.judging.as_ref().map(|judging| {
        let written = ge::encode(&lowered.graph, ge::Format::Bin);
        let mut judged =
            pipeline::judge_lowered(&written, &lowered.host, &loaded.model.graph, &loaded.registry, judging);
        let assumed = pipeline::assumed(how.compiler).into_iter().map(Assumption::Device);
        judged.verdict.assumes.extend(assumed);
        judged.verdict.accepted = judged.verdict.accepted && pipeline::takes(judging.policy, &judged.verdict);
        judged
    });
    Ok(Made { lowered, judged })
}

impl Made {
    /// Returns whether it is written.
    pub fn is_accepted(&self) -> bool {
        self.judged.as_ref().is_none_or(|j| j.verdict.accepted)
    }

    /// Writes the GE graph and what belongs beside it.
    pub fn add_to(
        &self,
        stage: &mut Staging,
        path: &Path,
        loaded: &Loaded,
        compiler: &CompilerOptions,
    ) -> anyhow::Result<()> {
        let options = pipeline::device_options(compiler, &loaded.model.graph, &self.lowered);
        let json = |value: serde_json::Result<String>| value.map(|text| text + "\n");
        let [options_path, host_path] = beside(path);
        for (path, bytes) in [
            (path, ge::encode(&self.lowered.graph, ge::Format::of(path)?)),
            (&options_path, json(serde_json::to_string_pretty(&options))?.into_bytes()),
            (&host_path, json(serde_json::to_string_pretty(&self.lowered.host))?.into_bytes()),
        ] {
            let cannot = || format!("cannot write {}", path.display());
            stage.add(path, |place| std::fs::write(place, &bytes).with_context(cannot))?;
        }
        Ok(())
    }

    /// Says in one line what was found of it, under the word for it.
    pub fn found(&self) -> Option<(&'static str, String)> {
        let Judged { verdict, defined, held, .. } = self.judged.as_ref()?;
        let word = match (verdict.accepted, verdict.verdict) {
            (false, _) => "Refused",
            (true, Finding::Proved | Finding::Checked) => "Verified",
            (true, _) => "Unproved",
        };
        let held = if *held == 0 { String::new() } else { format!(", {held} held field by field") };
        let words = crate::report::verdict_words(verdict);
        Some((word, format!("{words}; {defined} by definition{held}; {:.1} ms to judge", verdict.ms)))
    }

    /// Keeps the GE graph before and after its clean-up where `debug.graph_dump` asks for it, and in a folder of dumps.
    pub fn dump(&self, compiler: &CompilerOptions, dump: Option<&mut Dump>) -> anyhow::Result<()> {
        let stated = compiler.text("debug.graph_dump.type");
        let format = match stated.as_deref() {
            Some("txt") => ge::Format::Txt,
            Some("py") => ge::Format::Py,
            _ => ge::Format::Pbtxt,
        };
        if let Some(dump) = dump {
            let cannot = "cannot write to the dump folder";
            dump.lowered(&self.lowered, format).context(cannot)?;
            dump.graph_dump(&self.lowered, format).context(cannot)?;
        }
        if stated.is_some() {
            let folder = PathBuf::from(compiler.text("debug.graph_dump.path").unwrap_or_else(|| ".".into()));
            let cannot = || format!("cannot write to debug.graph_dump.path, {}", folder.display());
            Dump::open(&folder).with_context(cannot)?.graph_dump(&self.lowered, format).with_context(cannot)?;
        }
        Ok(())
    }
}

/// The files beside a GE graph.
pub fn beside(path: &Path) -> [PathBuf; 2] {
    ["options", "host"].map(|what| {
        let mut name = OsString::from(path);
        name.push(format!(".{what}.json"));
        name.into()
    })
}

/// Opens the folder of TorchAir's dumps, and begins with the graph as it came.
pub fn open_dump(given: Option<&Path>, loaded: &Loaded) -> anyhow::Result<Option<Dump>> {
    let Some(folder) = configured::dump_folder(given) else { return Ok(None) };
    let cannot = || format!("cannot write to {}", folder.display());
    let mut dump = Dump::open_as_torchair(&folder).with_context(cannot)?;
    dump.dynamo_out(&loaded.model.graph).with_context(cannot)?;
    dump.graph(&loaded.model.graph, "graph").with_context(cannot)?;
    Ok(Some(dump))
}
