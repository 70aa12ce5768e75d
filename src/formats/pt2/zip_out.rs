//! The zip that PyTorch writes: entries stored, the data of each at a multiple of 64 bytes, sizes in data descriptors.
//!
//! Promises: byte for byte the layout of PyTorch 2.15 (an extra field `FB` in the local header fills up to the alignment; no times; a
//! zip64 end record always), so that what was only carried through is the file that was read. Entries and files above 4 GiB are
//! written in zip64's form. Same entries, same bytes.

use std::io::{self, Write};

const ALIGNMENT: u64 = 64;
const LOCAL_HEADER: u64 = 30;
/// UTF-8 names, and sizes behind the data.
const DESCRIPTOR: u16 = 0x0808;
/// UTF-8 names.
const PLAIN: u16 = 0x0800;
const NARROW: u64 = 0xffff_ffff;

/// A zip being written.
pub(super) struct ZipOut<W> {
    out: W,
    at: u64,
    entries: Vec<Entry>,
}

struct Entry {
    name: String,
    flags: u16,
    crc: u32,
    size: u64,
    start: u64,
}

impl<W: Write> ZipOut<W> {
    /// Begins a zip.
    pub(super) fn new(out: W) -> Self {
        Self { out, at: 0, entries: Vec::new() }
    }

    /// Writes one entry.
    pub(super) fn add(&mut self, name: &str, data: &[u8]) -> io::Result<()> {
        let size = u64::try_from(data.len()).unwrap_or(u64::MAX);
        let wide = size >= NARROW;
        let flags = if wide || data.is_empty() { PLAIN } else { DESCRIPTOR };
        let crc = crc32fast::hash(data);
        let name_len = u16::try_from(name.len())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "the name of an archive entry is too long"))?;
        let start = self.at;

        let mut header = Vec::with_capacity(128);
        put(&mut header, &[0x0403_4b50_u32.to_le_bytes()]);
        put(&mut header, &[0_u16.to_le_bytes(), flags.to_le_bytes()]);
        // Method, time, date.
        put(&mut header, &[0_u16.to_le_bytes(); 3]);
        let narrow = if wide { u32::MAX } else { 0 };
        put(&mut header, &[if wide { crc } else { 0 }.to_le_bytes(), narrow.to_le_bytes(), narrow.to_le_bytes()]);
        put(&mut header, &[name_len.to_le_bytes()]);
        let mut extra = Vec::new();
        if wide {
            put(&mut extra, &[1_u16.to_le_bytes(), 16_u16.to_le_bytes()]);
            put(&mut extra, &[size.to_le_bytes(), size.to_le_bytes()]);
        }
        let before = [LOCAL_HEADER, u64::from(name_len), u64::try_from(extra.len()).unwrap_or(0), 4]
            .iter()
            .fold(start, |a, b| a.saturating_add(*b));
        let fill = ALIGNMENT.wrapping_sub(before % ALIGNMENT) % ALIGNMENT;
        extra.extend_from_slice(b"FB");
        put(&mut extra, &[u16::try_from(fill).unwrap_or(0).to_le_bytes()]);
        extra.resize(extra.len().saturating_add(usize::try_from(fill).unwrap_or(0)), b'Z');
        put(&mut header, &[u16::try_from(extra.len()).unwrap_or(0).to_le_bytes()]);
        header.extend_from_slice(name.as_bytes());
        header.extend_from_slice(&extra);

        self.write(&header)?;
        self.write(data)?;
        if flags == DESCRIPTOR {
            let size = u32::try_from(size).unwrap_or(u32::MAX);
            let mut descriptor = Vec::with_capacity(16);
            put(&mut descriptor, &[0x0807_4b50_u32.to_le_bytes(), crc.to_le_bytes()]);
            put(&mut descriptor, &[size.to_le_bytes(), size.to_le_bytes()]);
            self.write(&descriptor)?;
        }
        self.entries.push(Entry { name: name.to_string(), flags, crc, size, start });
        Ok(())
    }

    /// Returns names and checksums so far as two numbers of 20 digits: what PyTorch calls the serialization id.
    pub(super) fn id(&self) -> String {
        let (mut names, mut checksums) = (FNV_START, FNV_START);
        for entry in &self.entries {
            for byte in entry.name.bytes().chain([0]) {
                names = fnv(names, byte);
            }
            for byte in entry.crc.to_le_bytes() {
                checksums = fnv(checksums, byte);
            }
        }
        format!("{names:020}{checksums:020}")
    }

    /// Writes the directory.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let start = self.at;
        let mut directory = Vec::with_capacity(self.entries.len().saturating_mul(96));
        for entry in &self.entries {
            central_header(&mut directory, entry);
        }
        let size = u64::try_from(directory.len()).unwrap_or(u64::MAX);
        let count = u64::try_from(self.entries.len()).unwrap_or(u64::MAX);
        let end = start.saturating_add(size);

        put(&mut directory, &[0x0606_4b50_u32.to_le_bytes()]);
        put(&mut directory, &[44_u64.to_le_bytes()]);
        put(&mut directory, &[0x031e_u16.to_le_bytes(), 45_u16.to_le_bytes()]);
        put(&mut directory, &[0_u32.to_le_bytes(); 2]);
        put(&mut directory, &[count, count, size, start].map(u64::to_le_bytes));
        put(&mut directory, &[0x0706_4b50_u32.to_le_bytes(), 0_u32.to_le_bytes()]);
        put(&mut directory, &[end.to_le_bytes()]);
        put(&mut directory, &[1_u32.to_le_bytes()]);

        put(&mut directory, &[0x0605_4b50_u32.to_le_bytes(), 0_u32.to_le_bytes()]);
        put(&mut directory, &[u16::try_from(count).unwrap_or(u16::MAX).to_le_bytes(); 2]);
        put(&mut directory, &[size, start].map(|n| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes()));
        put(&mut directory, &[0_u16.to_le_bytes()]);
        self.write(&directory)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.at = self.at.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(())
    }
}

fn central_header(out: &mut Vec<u8>, entry: &Entry) {
    let (wide_size, wide_start) = (entry.size >= NARROW, entry.start >= NARROW);
    let mut extra = Vec::new();
    if wide_size {
        put(&mut extra, &[entry.size.to_le_bytes(); 2]);
    }
    if wide_start {
        put(&mut extra, &[entry.start.to_le_bytes()]);
    }
    if !extra.is_empty() {
        let size = u16::try_from(extra.len()).unwrap_or(0);
        let mut head = Vec::new();
        put(&mut head, &[1_u16.to_le_bytes(), size.to_le_bytes()]);
        head.extend_from_slice(&extra);
        extra = head;
    }
    let narrow = |n: u64, wide: bool| if wide { u32::MAX } else { u32::try_from(n).unwrap_or(u32::MAX) };
    put(out, &[0x0201_4b50_u32.to_le_bytes()]);
    put(out, &[0_u16, 0, entry.flags, 0, 0, 0].map(u16::to_le_bytes));
    let size = narrow(entry.size, wide_size);
    put(out, &[entry.crc, size, size].map(u32::to_le_bytes));
    put(out, &[entry.name.len(), extra.len()].map(|n| u16::try_from(n).unwrap_or(0).to_le_bytes()));
    // Comment, disk, internal attributes.
    put(out, &[0_u16.to_le_bytes(); 3]);
    put(out, &[0, narrow(entry.start, wide_start)].map(u32::to_le_bytes));
    out.extend_from_slice(entry.name.as_bytes());
    out.extend_from_slice(&extra);
}

fn put<const N: usize>(out: &mut Vec<u8>, fields: &[[u8; N]]) {
    out.extend(fields.iter().flatten());
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn written(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut zip = ZipOut::new(&mut bytes);
        for (name, data) in entries {
            zip.add(name, data).unwrap();
        }
        zip.finish().unwrap();
        bytes
    }

    #[test]
    fn data_stands_at_multiples_of_64_and_reads_back() {
        let entries: [(&str, &[u8]); 4] =
            [("m/a", b"1"), ("m/empty", b""), ("m/long-name-of-an-entry", &[7; 200]), ("m/z", b"22")];
        let bytes = written(&entries);
        let mut zip = zip::ZipArchive::new(io::Cursor::new(&bytes)).unwrap();
        for (place, (name, data)) in entries.iter().enumerate() {
            let mut entry = zip.by_index(place).unwrap();
            assert_eq!((entry.name().unwrap().as_ref(), entry.data_start().unwrap() % 64), (*name, 0));
            let mut found = Vec::new();
            entry.read_to_end(&mut found).unwrap();
            assert_eq!(found, *data);
        }
        assert_eq!(bytes, written(&entries));
    }

    #[test]
    fn the_id_depends_on_names_and_contents() {
        let id = |name: &str, data: &[u8]| {
            let mut zip = ZipOut::new(io::sink());
            zip.add(name, data).unwrap();
            zip.id()
        };
        assert_eq!(id("a", b"1").len(), 40);
        assert_ne!(id("a", b"1"), id("b", b"1"));
        assert_ne!(id("a", b"1"), id("a", b"2"));
    }
}
