//! What the cache keeps of a component beside what was compiled: what the look at it found under which limits.
//!
//! Promises: what is read is what was written, or nothing. Leaves to the cache whether it can be believed.

use crate::contract::{Limits, Preflight};

/// What an entry says of its artifact.
#[derive(Debug)]
pub(super) struct Kept {
    /// Limits under which the component was looked at: see [`checked`].
    pub(super) checked: [u8; 32],
    pub(super) preflight: Preflight,
}

impl Kept {
    /// Reads what [`Kept::write`] wrote.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (checked, rest) = bytes.split_first_chunk::<32>()?;
        let (preflight, _) = postcard::take_from_bytes(rest).ok()?;
        Some(Self { checked: *checked, preflight })
    }

    pub(super) fn write(checked: &[u8; 32], preflight: &Preflight) -> Vec<u8> {
        // A count and some texts: nothing that postcard could not write.
        let preflight = postcard::to_stdvec(preflight).unwrap_or_default();
        [checked.as_slice(), &preflight].concat()
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
        let written = Kept::write(&[7; 32], &preflight);
        let padded = [&written[..], &[0; 9]].concat();
        for written in [&written, &padded] {
            let kept = Kept::read(written).unwrap();
            assert_eq!((kept.checked, &kept.preflight), ([7; 32], &preflight));
        }
        for len in 0..written.len() {
            assert!(Kept::read(&written[..len]).is_none(), "{len}");
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
