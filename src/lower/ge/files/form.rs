//! Which form a file has: the ending decides, as in TorchAir's dumps; only `.bin` is read back.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::{bin, pbtxt, python, text};
use crate::formats::write_whole;
use crate::lower::ge::proto::GraphDef;

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
        Format::Bin => bin::write(graph),
        Format::Txt => text::write(graph).into_bytes(),
        Format::Pbtxt => pbtxt::write(graph).into_bytes(),
        Format::Py => python::write(graph).into_bytes(),
    }
}

/// Reads a `.bin` file.
pub fn read_file(path: &Path) -> Result<GraphDef, FileError> {
    if let Ok(Format::Txt | Format::Pbtxt | Format::Py) = Format::of(path) {
        return Err(FileError::NotReadable { path: path.to_path_buf() });
    }
    let bytes = std::fs::read(path).map_err(|source| FileError::Io { path: path.to_path_buf(), source })?;
    bin::read(&bytes)
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
