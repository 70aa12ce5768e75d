//! Graphs in shared memory: a model that comes as a descriptor, outputs that go as descriptors.
//!
//! Promises: memory that is mapped neither changes nor shrinks, and holds what it says: it is sealed and has no holes, or it is refused. Outputs are
//! sealed before anybody has them.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};

use crate::cli::run::{Memory, RunArgs};
use crate::formats;
use crate::graph::Bytes;

/// Outputs of a job, each with its memory.
#[derive(Default)]
pub(super) struct Shared(BTreeMap<PathBuf, OwnedFd>);

impl Shared {
    /// Makes memory of what a job names as shared: its model is what came with the line, its outputs are made.
    pub(super) fn take(args: &mut RunArgs, names: &[String], came: &[OwnedFd]) -> anyhow::Result<Self> {
        let (model, outputs) = args.names();
        let is_shared = |path: &Path| names.iter().any(|name| Path::new(name) == path);
        let mut memory = Memory::default();
        let mut made = BTreeMap::new();
        for name in names {
            let path = Path::new(name);
            if name.contains('/') || !(model == Some(path) || outputs.iter().flatten().any(|o| o == path)) {
                bail!("`{name}` in `shared` is neither the name of the model nor that of an output");
            }
        }
        let wanted = usize::from(model.is_some_and(is_shared));
        if came.len() != wanted {
            bail!("{} descriptors came with this job, {wanted} for its model was expected", came.len());
        }
        if let Some(descriptor) = came.first() {
            memory.model = Some(sealed(descriptor)?);
        }
        // What is written beside an output comes with it.
        for output in outputs.iter().filter(|group| group.iter().any(|o| is_shared(o))).flatten() {
            let descriptor = memfd_create("airlock", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING);
            let descriptor = descriptor.context("no memory for an output")?;
            memory.places.insert(output.clone(), format!("/proc/self/fd/{}", descriptor.as_raw_fd()).into());
            made.insert(output.clone(), descriptor);
        }
        args.set_memory(memory);
        Ok(Self(made))
    }

    /// Keeps what was written, and seals it.
    pub(super) fn keep(&mut self, written: &[PathBuf]) -> anyhow::Result<()> {
        self.0.retain(|name, _| written.contains(name));
        let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
        for descriptor in self.0.values() {
            fcntl_add_seals(descriptor, seals).context("an output cannot be sealed")?;
        }
        Ok(())
    }

    /// Returns names and descriptors, in one order.
    pub(super) fn given(&self) -> (Vec<String>, Vec<BorrowedFd<'_>>) {
        (self.0.keys().map(|name| name.display().to_string()).collect(), self.0.values().map(AsFd::as_fd).collect())
    }
}

/// Returns the bytes of memory that nobody changes any more.
fn sealed(descriptor: &OwnedFd) -> anyhow::Result<Bytes> {
    let wanted = SealFlags::SHRINK | SealFlags::WRITE;
    // Where there are no seals it is no such memory.
    if !fcntl_get_seals(descriptor).is_ok_and(|seals| seals.contains(wanted)) {
        bail!(
            "the model is no sealed memory: expected a descriptor of memfd_create with F_SEAL_SHRINK and F_SEAL_WRITE"
        );
    }
    let file = File::from(descriptor.try_clone()?);
    let about = file.metadata()?;
    if about.blocks().saturating_mul(512) < about.len() {
        // They would become memory of this process while they are read.
        bail!("the model's memory has holes: {} bytes, of which fewer are there", about.len());
    }
    formats::map_file(&file).context("cannot read the model's memory")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn memory(bytes: &[u8], seals: SealFlags) -> OwnedFd {
        let descriptor = memfd_create("m", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        File::from(descriptor.try_clone().unwrap()).write_all(bytes).unwrap();
        fcntl_add_seals(&descriptor, seals).unwrap();
        descriptor
    }

    #[test]
    fn memory_that_may_change_or_shrink_is_not_read() {
        let both = SealFlags::SHRINK | SealFlags::WRITE;
        assert_eq!(sealed(&memory(b"graph", both)).unwrap().as_slice(), b"graph");
        assert!(sealed(&memory(b"", both)).unwrap().is_empty());
        for seals in
            [SealFlags::empty(), SealFlags::SHRINK, SealFlags::WRITE, SealFlags::SHRINK | SealFlags::FUTURE_WRITE]
        {
            assert!(sealed(&memory(b"graph", seals)).err().unwrap().to_string().contains("no sealed memory"));
        }
        let file = tempfile::tempfile().unwrap();
        assert!(sealed(&file.into()).err().unwrap().to_string().contains("no sealed memory"));
    }

    #[test]
    fn memory_that_is_not_there_is_not_read() {
        let descriptor = memory(b"graph", SealFlags::empty());
        File::from(descriptor.try_clone().unwrap()).set_len(1 << 40).unwrap();
        fcntl_add_seals(&descriptor, SealFlags::SHRINK | SealFlags::WRITE).unwrap();
        assert!(sealed(&descriptor).err().unwrap().to_string().contains("holes"));
    }
}
