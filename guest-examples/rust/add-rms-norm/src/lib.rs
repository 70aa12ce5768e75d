//! Fuses a residual add and the rms-norm of its sum into one operator of the NPU.
//!
//! ```text
//! h = aten.add(x, residual)                    y, rstd, h = npu.npu_add_rms_norm(x, residual, gamma, eps)
//! y, rstd = npu.npu_rms_norm(h, gamma, eps)
//! ```
//!
//! or with the norm written out, which is the same function in f32 only (the operator computes in f32, and rounds once):
//!
//! ```text
//! y = h * rsqrt(mean(h ** 2, last dimensions, keepdim) + eps) * gamma
//! ```
//!
//! `pattern` finds norms, this file replaces them.

mod pattern;

use airlock_pass::{Graph, Node, Outcome, Result, pass};
use pattern::{Add, Norm};

fn run(graph: Graph) -> Result<Outcome> {
    let mut fused = 0;
    for norm in pattern::find_norms(graph)? {
        if let Some(add) = pattern::residual_add(norm.input)? {
            fused += usize::from(fuse(graph, &norm, &add)?);
        }
    }
    Ok(Outcome::edits(fused))
}

/// Replaces add and norm; false where the fused operator has no place: `gamma` is made after the sum is used.
fn fuse(graph: Graph, norm: &Norm, add: &Add) -> Result<bool> {
    let sum = norm.input;
    let last = if sum.is_before(norm.gamma)? { norm.gamma } else { sum };
    for user in sum.users()? {
        if user.is_before(last)? || user == last {
            return Ok(false);
        }
    }
    let at = graph.inserting_after(last);
    let args = (add.x1, add.x2, norm.gamma, norm.epsilon);
    let fused = at.call_function("npu.npu_add_rms_norm.default", args)?;
    let item = |index: i64| at.call_function("_operator.getitem", (fused, index));

    replace(&norm.outputs, item(0)?)?;
    if !norm.rstds.is_empty() {
        replace(&norm.rstds, item(1)?)?;
    }
    erase_unused(&norm.inner)?;
    if !sum.users()?.is_empty() {
        sum.replace_all_uses_with(item(2)?)?;
    }
    sum.erase()?;
    Ok(true)
}

fn replace(old: &[Node], new: Node) -> Result<()> {
    for node in old {
        node.replace_all_uses_with(new)?;
        if node.users()?.is_empty() {
            node.erase()?;
        }
    }
    Ok(())
}

/// Erases what the pattern consisted of, users first. One that was erased as an output already is not there any more.
fn erase_unused(inner: &[Node]) -> Result<()> {
    for node in inner {
        if node.users()?.is_empty() {
            node.erase()?;
        }
    }
    Ok(())
}

pass!(run);
