//! What the cache keeps of a component: what was compiled, and what the look at it found under which limits.
//!
//! Promises: what is read is what was written, or nothing. Leaves to the cache whether it can be believed.

use crate::contract::{Limits, Preflight};
use crate::graph::Bytes;

/// An entry's content.
#[derive(Debug)]
pub(super) struct Kept {
    /// Limits under which the component was looked at: see [`checked`].
    pub(super) checked: [u8; 32],
    pub(super) preflight: Preflight,
    pub(super) artifact: Bytes,
}

impl Kept {
    /// Reads what [`Kept::write`] wrote.
    pub(super) fn read(bytes: &Bytes) -> Option<Self> {
        let (checked, rest) = bytes.as_slice().split_first_chunk::<32>()?;
        let (preflight, artifact) = postcard::take_from_bytes(rest).ok()?;
        let start = bytes.len().checked_sub(artifact.len())?;
        Some(Self { checked: *checked, preflight, artifact: bytes.cut(start, artifact.len())? })
    }

    pub(super) fn write(checked: &[u8; 32], preflight: &Preflight, artifact: &[u8]) -> Vec<u8> {
        // A count and some texts: nothing that postcard could not write.
        let preflight = postcard::to_stdvec(preflight).unwrap_or_default();
        [checked.as_slice(), &preflight, artifact].concat()
    }
}

/// Returns a hash of the limits that the look at a component holds it to, those of a run left out: under the same ones it finds the same.
pub(super) fn checked(limits: &Limits) -> [u8; 32] {
    let run = Limits::default();
    let of_components = Limits {
        fuel_base: run.fuel_base,
        fuel_per_node: run.fuel_per_node,
        time_seconds: run.time_seconds,
        memory_bytes: run.memory_bytes,
        handles: run.handles,
        call_bytes: run.call_bytes,
        host_bytes: run.host_bytes,
        log_lines: run.log_lines,
        ..limits.clone()
    };
    *blake3::hash(format!("{of_components:?}").as_bytes()).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let imports = vec![("airlock:pass/graph@0.1.0".to_string(), Some("insert".to_string()))];
        let preflight = Preflight { bytes: 7, functions: 3, imports, exports: vec!["e".into()] };
        let written = Kept::write(&[7; 32], &preflight, b"native code");
        let kept = Kept::read(&Bytes::new(written.clone())).unwrap();
        assert_eq!((kept.checked, kept.preflight, kept.artifact.as_slice()), ([7; 32], preflight, &b"native code"[..]));
        for len in 0..written.len() - b"native code".len() {
            assert!(Kept::read(&Bytes::new(written[..len].to_vec())).is_none(), "{len}");
        }
    }

    #[test]
    fn limits_of_a_run_are_not_those_of_a_component() {
        let limits = Limits::default();
        let run = Limits { fuel_base: 1, time_seconds: 0.5, memory_bytes: 9, host_bytes: 9, ..Limits::default() };
        assert_eq!(checked(&limits), checked(&run));
        let stricter = Limits { function_locals: 7, ..Limits::default() };
        assert_ne!(checked(&limits), checked(&stricter));
    }
}
