//! Archives as entries by name, taken apart and put together.

use std::io::{Cursor, Read, Write};
use std::path::Path;

use airlock::formats::pt2;
use airlock::graph::{Bytes, Model};
use airlock::ops::Registry;
use zip::write::SimpleFileOptions;

/// Names and contents, in order.
pub type Entries = Vec<(String, Vec<u8>)>;

/// Returns the entries of an archive by their whole names.
pub fn entries(bytes: &[u8]) -> Entries {
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    (0..zip.len())
        .map(|i| {
            let mut entry = zip.by_index(i).unwrap();
            let mut content = Vec::new();
            entry.read_to_end(&mut content).unwrap();
            (entry.name().unwrap().into_owned(), content)
        })
        .collect()
}

/// Returns an archive of these entries.
pub fn zipped(entries: &Entries, method: zip::CompressionMethod) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        zip.start_file(name.as_str(), SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Returns a good archive with its entries as `change` leaves them; without those of which it leaves nothing.
pub fn rezipped(good: &Path, change: impl Fn(&str, Vec<u8>) -> Option<Vec<u8>>) -> Vec<u8> {
    let entries = entries(&std::fs::read(good).unwrap());
    let changed = entries.into_iter().filter_map(|(name, bytes)| change(&name, bytes).map(|bytes| (name, bytes)));
    zipped(&changed.collect(), zip::CompressionMethod::Stored)
}

/// Reads a model from the bytes of an archive, or says why not.
pub fn read(bytes: Vec<u8>) -> Result<Model, String> {
    pt2::read_bytes("m.pt2", Bytes::new(bytes), &Registry::standard()).map_err(|e| e.to_string())
}
