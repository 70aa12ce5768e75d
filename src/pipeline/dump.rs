//! Graphs on disk: before and after each pass, and on the way to GE.
//!
//! Names follow TorchAir's debug dumps. Of a run: `NNN_graph.fx`, `NNN_graph_after_PASS.fx`, in the order of the run. Of a lowering, TorchAir's
//! whole folder: `dynamo_out_graph.txt`, `forward/NNN_aot_forward_graph_after_PASS.txt` (FX) and `.pbtxt` (GE), `dynamo_original_graph_...`; rank,
//! process and time in a name are 0, so that the same model gives the same files.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::CompilerOptions;
use crate::formats::text;
use crate::graph::Graph;
use crate::lower::ge::{self, Draft, Format, Lowered};

/// A folder that a run's graphs go to. It is the only place that the run may write to through this value.
#[derive(Debug)]
pub struct Dump {
    dir: Dir,
    path: PathBuf,
    count: u32,
    /// What stands around the number in a name, and the ending of FX graphs.
    names: [&'static str; 3],
}

const OF_A_RUN: [&str; 3] = ["", "", "fx"];
const OF_TORCHAIR: [&str; 3] = ["forward/", "aot_forward_", "txt"];

impl Dump {
    /// Opens the folder, making it where it is not there.
    pub fn open(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self { dir, path: path.to_path_buf(), count: 0, names: OF_A_RUN })
    }

    /// Opens the folder for TorchAir's names.
    pub fn open_as_torchair(path: &Path) -> io::Result<Self> {
        let dump = Self::open(path)?;
        dump.dir.create_dir_all("forward")?;
        Ok(Self { names: OF_TORCHAIR, ..dump })
    }

    /// Opens the folder for TorchAir's names and begins with the graph as it came.
    pub fn begin(folder: &Path, graph: &Graph) -> Result<Self, DumpError> {
        let begun = Self::open_as_torchair(folder).and_then(|mut dump| {
            dump.dynamo_out(graph)?;
            dump.graph(graph, "graph")?;
            Ok(dump)
        });
        begun.map_err(|source| DumpError::Open { folder: folder.into(), source })
    }

    /// Writes a graph under the next number and returns the file's path. `what` is what a file name allows of it.
    pub fn graph(&mut self, graph: &Graph, what: &str) -> io::Result<PathBuf> {
        let [.., ending] = self.names;
        self.text(what, ending, &text::write(graph))
    }

    /// Writes a text under the next number.
    pub fn text(&mut self, what: &str, ending: &str, text: &str) -> io::Result<PathBuf> {
        self.bytes(what, ending, text.as_bytes())
    }

    fn bytes(&mut self, what: &str, ending: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let clean: String = what.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
        let [folder, prefix, _] = self.names;
        let name = format!("{folder}{:03}_{prefix}{clean}.{ending}", self.count);
        self.count = self.count.saturating_add(1);
        self.dir.write(&name, bytes)?;
        Ok(self.path.join(name))
    }

    /// Writes what came of a graph on its way to GE, the GE graphs in that format.
    pub fn lowered(&mut self, lowered: &Lowered<Draft>, format: Format) -> io::Result<()> {
        if let Some(decomposed) = &lowered.decomposed {
            self.graph(decomposed, "graph_after_decompose")?;
        }
        for (what, graph) in &lowered.stages {
            self.bytes(what, format.ending(), &ge::encode(graph, format))?;
        }
        self.bytes("optimized_ge_graph", format.ending(), &lowered.graph.encode(format)).map(|_| ())
    }

    /// Writes what Dynamo hands on: the graph as it came.
    pub fn dynamo_out(&mut self, graph: &Graph) -> io::Result<()> {
        self.dir.write("dynamo_out_graph.txt", text::write(graph))
    }

    /// Writes the GE graph before and after it was cleaned up, as `debug.graph_dump` asks for it.
    pub fn graph_dump(&mut self, lowered: &Lowered<Draft>, format: Format) -> io::Result<()> {
        let original = lowered.stages.iter().find(|(what, _)| *what == "original_ge_graph");
        let original = original.map(|(_, graph)| ge::encode(graph, format));
        for (what, bytes) in [("original", original), ("optimized", Some(lowered.graph.encode(format)))] {
            let Some(bytes) = bytes else { continue };
            self.dir.write(format!("dynamo_{what}_graph_0_rank_0_pid_0_ts_0.{}", format.ending()), bytes)?;
        }
        Ok(())
    }
}

/// Where graphs are kept: the folder that is given, else PyTorch's own where it is told to keep them.
pub fn dump_folder(given: Option<&Path>) -> Option<PathBuf> {
    let asked = std::env::var_os("TORCH_COMPILE_DEBUG").is_some_and(|v| v == "1");
    let own = || asked.then(|| PathBuf::from("torch_compile_debug/run_0-pid_0/torchair/model__0"));
    given.map(Path::to_path_buf).or_else(own)
}

/// Keeps the GE graph before and after its clean-up where `debug.graph_dump` asks for it, and in a folder of dumps.
pub fn dump_lowered(
    lowered: &Lowered<Draft>,
    compiler: &CompilerOptions,
    dump: Option<&mut Dump>,
) -> Result<(), DumpError> {
    let stated = compiler.text("debug.graph_dump.type");
    let format = match stated.as_deref() {
        Some("txt") => Format::Txt,
        Some("py") => Format::Py,
        _ => Format::Pbtxt,
    };
    if let Some(dump) = dump {
        dump.lowered(lowered, format).and_then(|()| dump.graph_dump(lowered, format)).map_err(DumpError::Folder)?;
    }
    if stated.is_some() {
        let folder = PathBuf::from(compiler.text("debug.graph_dump.path").unwrap_or_else(|| ".".into()));
        let written = Dump::open(&folder).and_then(|mut dump| dump.graph_dump(lowered, format));
        written.map_err(|source| DumpError::GraphDump { folder, source })?;
    }
    Ok(())
}

/// Why graphs cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The folder of dumps cannot be opened.
    #[error("cannot write to {}", folder.display())]
    Open {
        /// The folder.
        folder: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// It cannot be written to.
    #[error("cannot write to the dump folder")]
    Folder(#[source] io::Error),
    /// Nor can the folder that the configuration names.
    #[error("cannot write to debug.graph_dump.path, {}", folder.display())]
    GraphDump {
        /// The folder.
        folder: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_pass_chose_cannot_leave_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        for (open, below) in
            [(Dump::open as fn(&Path) -> _, "000_"), (Dump::open_as_torchair, "forward/000_aot_forward_")]
        {
            let mut dump = open(&folder.path().join("dump")).unwrap();
            let path = dump.text("../../evil", "fx", "x").unwrap();
            assert_eq!(path, folder.path().join(format!("dump/{below}______evil.fx")));
            assert!(path.is_file());
        }
    }
}
