//! GE graphs in files: `.bin` (the serialized model), `.txt` (protobuf text), `.pbtxt` (for viewers), `.py` (calls that
//! rebuild the graph). The ending decides, as in TorchAir's dumps; only `.bin` is read back.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use prost::Message;

use super::proto::{GraphDef, ModelDef};
use super::{python, text, viewer};
use crate::formats::write_whole;

/// How a GE graph is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// The serialized message.
    Bin,
    /// Protobuf text.
    Txt,
    /// The viewers' form.
    Pbtxt,
    /// Python calls.
    Py,
}

/// Why a GE file cannot be read or written.
#[derive(thiserror::Error, Debug)]
pub enum FileError {
    /// The ending says nothing.
    #[error("{}: the ending does not say how to write a GE graph; use .bin, .txt, .pbtxt or .py", path.display())]
    Ending {
        /// The file.
        path: PathBuf,
    },
    /// A form that is for looking at.
    #[error("{}: only .bin files of GE graphs are read", path.display())]
    NotReadable {
        /// The file.
        path: PathBuf,
    },
    /// The operating system says no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What it says.
        source: std::io::Error,
    },
    /// The bytes are no model.
    #[error("not a serialized GE model (ge.proto.ModelDef): {source}")]
    Decode {
        /// Where decoding stopped.
        source: prost::DecodeError,
    },
    /// A model has one graph.
    #[error("a serialized GE model has exactly one graph; this one has {found}")]
    GraphCount {
        /// How many there are.
        found: usize,
    },
}

impl Format {
    /// Returns the format that a file's ending asks for.
    pub fn of(path: &Path) -> Result<Self, FileError> {
        match path.extension().and_then(|e| e.to_str()) {
            Some("bin") => Ok(Format::Bin),
            Some("txt") => Ok(Format::Txt),
            Some("pbtxt") => Ok(Format::Pbtxt),
            Some("py") => Ok(Format::Py),
            _ => Err(FileError::Ending { path: path.to_path_buf() }),
        }
    }
}

impl Format {
    /// Returns the ending of its files.
    pub fn ending(self) -> &'static str {
        match self {
            Format::Bin => "bin",
            Format::Txt => "txt",
            Format::Pbtxt => "pbtxt",
            Format::Py => "py",
        }
    }
}

/// Returns the bytes of the graph in that format.
pub fn encode(graph: &GraphDef, format: Format) -> Vec<u8> {
    match format {
        Format::Bin => binary(graph),
        Format::Txt => text::write(graph).into_bytes(),
        Format::Pbtxt => viewer::write(graph).into_bytes(),
        Format::Py => python::write(graph).into_bytes(),
    }
}

/// A model of that graph alone, without a copy of it.
fn binary(graph: &GraphDef) -> Vec<u8> {
    const GRAPH: u32 = 7;
    let mut bytes = Vec::with_capacity(prost::encoding::message::encoded_len(GRAPH, graph));
    prost::encoding::message::encode(GRAPH, graph, &mut bytes);
    bytes
}

/// Returns the graph of a serialized model.
pub fn decode(bytes: &[u8]) -> Result<GraphDef, FileError> {
    let model = ModelDef::decode(bytes).map_err(|source| FileError::Decode { source })?;
    let found = model.graph.len();
    let mut graphs = model.graph.into_iter();
    match (graphs.next(), graphs.next()) {
        (Some(graph), None) => Ok(graph),
        _ => Err(FileError::GraphCount { found }),
    }
}

/// Reads a `.bin` file.
pub fn read_file(path: &Path) -> Result<GraphDef, FileError> {
    if let Ok(Format::Txt | Format::Pbtxt | Format::Py) = Format::of(path) {
        return Err(FileError::NotReadable { path: path.to_path_buf() });
    }
    let bytes = std::fs::read(path).map_err(|source| FileError::Io { path: path.to_path_buf(), source })?;
    decode(&bytes)
}

/// Writes the graph in the format that the file's ending asks for. The file appears whole or not at all.
pub fn write_file(graph: &GraphDef, path: &Path) -> Result<(), FileError> {
    let bytes = encode(graph, Format::of(path)?);
    let io = |source| FileError::Io { path: path.to_path_buf(), source };
    write_whole(path, |file| file.write_all(&bytes)).map_err(io)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_decides() {
        assert_eq!(Format::of(Path::new("a/b.pbtxt")).unwrap(), Format::Pbtxt);
        let error = Format::of(Path::new("a/b.onnx")).unwrap_err().to_string();
        assert_eq!(error, "a/b.onnx: the ending does not say how to write a GE graph; use .bin, .txt, .pbtxt or .py");
    }

    #[test]
    fn a_graph_is_written_as_the_only_one_of_a_model() {
        let graph = GraphDef { name: "g".into(), ..GraphDef::default() };
        let model = ModelDef { graph: vec![graph.clone()], ..ModelDef::default() };
        assert_eq!(binary(&graph), model.encode_to_vec());
    }

    #[test]
    fn bytes_that_are_no_model_are_an_error() {
        assert!(matches!(decode(b"\xff\xff\xff"), Err(FileError::Decode { .. })));
        assert!(matches!(decode(b""), Err(FileError::GraphCount { found: 0 })));
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("missing").join("out.bin");
        assert!(matches!(write_file(&GraphDef::default(), &path), Err(FileError::Io { .. })));
        let path = folder.path().join("out.bin");
        write_file(&GraphDef::default(), &path).unwrap();
        assert_eq!(read_file(&path).unwrap(), GraphDef::default());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
