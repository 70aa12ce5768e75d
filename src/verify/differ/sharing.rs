//! Which outputs are the memory of which inputs, and of one another.
//!
//! Promises: tensors without elements share nothing. Leaves which bytes of it to the proofs.

use std::collections::BTreeSet;

use crate::exec::{Tensor, Value};
use crate::verify::differ::error::{Difference, Shows};
use crate::verify::differ::run::Ran;
use crate::verify::differ::subject::Subject;

/// Returns the first output that shares memory on one side only.
pub fn compare(subject: &Subject<'_>, a: &Ran, b: &Ran) -> Option<Difference> {
    if subject.old.unset || subject.new.unset {
        return None;
    }
    let (old, new) = (shared(subject, a), shared(subject, b));
    let (output, with) = old.symmetric_difference(&new).next()?.clone();
    let side =
        |all: &BTreeSet<_>| if all.contains(&(output.clone(), with.clone())) { "shared" } else { "apart" }.to_string();
    let what = format!("memory of {output} and {with}");
    let (before, after) = (side(&old), side(&new));
    Some(Difference { shows: Shows::Sharing, what, index: Vec::new(), before, after, wide: None, units: None })
}

fn shared(subject: &Subject<'_>, ran: &Ran) -> BTreeSet<(String, String)> {
    let named = ran.outputs.iter().enumerate().flat_map(|(k, v)| {
        v.items().iter().filter_map(Value::as_tensor).map(move |t| (format!("output {k}"), t)).collect::<Vec<_>>()
    });
    let outputs: Vec<(String, &Tensor)> = named.filter(|(_, t)| t.numel() > 0).collect();
    let inputs = ran.inputs.iter().zip(&subject.inputs);
    let inputs: Vec<(String, &Tensor)> = inputs
        .filter_map(|(v, i)| Some((format!("input `{}`", i.name), v.as_tensor()?)))
        .filter(|(_, t)| t.numel() > 0)
        .collect();
    let mut out = BTreeSet::new();
    for (k, (name, t)) in outputs.iter().enumerate() {
        let earlier = outputs.iter().take(k);
        for (other, u) in inputs.iter().chain(earlier) {
            if t.storage.is(&u.storage) {
                out.insert((name.clone(), other.clone()));
            }
        }
    }
    out
}
