//! Whether there is memory for a call: asked before its kernel runs, so that a size from a file ends in an error and not in an abort.

use crate::exec::call::operands::Operands;
use crate::graph::{Dtype, TensorType, ValueType};
use crate::ops::{CallFault, Operator};

/// What is smaller than this is not asked for: the allocator has it, or the machine has other troubles.
const SMALL: usize = 1 << 28;

/// Checks that the operands of a call, gathered in lanes, and its results could be held.
///
/// A view takes no memory, whatever its sizes.
/// Beyond `most` bytes nothing is asked: the run may not make it.
pub(in crate::exec) fn check(
    operator: &Operator,
    operands: &Operands,
    result: &ValueType,
    most: Option<usize>,
) -> Result<(), CallFault> {
    if operator.is_view() {
        return Ok(());
    }
    let results = match result {
        ValueType::Many(all) => all.iter().filter_map(ValueType::as_tensor).collect::<Vec<_>>(),
        one => one.as_tensor().into_iter().collect(),
    };
    let mut together = 0_usize;
    for ty in results {
        ask("result", ty.dtype, count(ty), most)?;
        together = together.saturating_add(count(ty).unwrap_or(0).saturating_mul(ty.dtype.bytes()));
    }
    for t in operands.tensors() {
        ask("operands", t.dtype(), Some(t.numel()), most)?;
        // What lies in order is read where it lies.
        let gathered = if t.meta.is_contiguous() { 0 } else { t.numel().saturating_mul(t.dtype().bytes()) };
        together = together.saturating_add(gathered);
    }
    work(together, most)
}

/// Asks for memory that a kernel works in, before it takes it.
pub(in crate::exec) fn work(bytes: usize, most: Option<usize>) -> Result<(), CallFault> {
    if most.is_some_and(|most| bytes > most) {
        return Err(CallFault::Unsupported { what: format!("work in {bytes} bytes in this run") });
    }
    if bytes < SMALL || (isize::try_from(bytes).is_ok() && Vec::<u8>::new().try_reserve_exact(bytes).is_ok()) {
        return Ok(());
    }
    let found = format!("operands for which {bytes} bytes would be needed");
    Err(CallFault::mismatch("operands", "a size that fits in this machine's memory", found))
}

/// The number of elements; `None` where a size is not known before the call runs.
fn count(ty: &TensorType) -> Option<usize> {
    ty.sizes.iter().try_fold(1_usize, |n, d| Some(n.saturating_mul(usize::try_from(d.fixed()?).ok()?)))
}

fn ask(what: &str, dtype: Dtype, count: Option<usize>, most: Option<usize>) -> Result<(), CallFault> {
    let Some(count) = count else { return Ok(()) };
    // Narrow elements are computed in lanes of up to 8 bytes.
    let bytes = count.saturating_mul(dtype.bytes().max(8));
    if most.is_some_and(|most| bytes > most) {
        return Err(CallFault::Unsupported { what: format!("a tensor of {bytes} bytes in this run") });
    }
    if bytes < SMALL {
        return Ok(());
    }
    let fits = isize::try_from(bytes).is_ok() && Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    if fits {
        return Ok(());
    }
    let found = format!("{count} elements of {}, for which {bytes} bytes would be needed", dtype.long());
    Err(CallFault::mismatch(what, "a size that fits in this machine's memory", found))
}

#[cfg(test)]
mod tests {
    use crate::exec::{Kernels, Session, Value};
    use crate::ops::Registry;

    #[test]
    fn a_size_that_contents_tell_is_asked_for_before_it_is_taken() {
        let (registry, kernels) = (Registry::standard(), Kernels::standard());
        let mut session = Session::new(&registry, &kernels, 0);
        for largest in [i64::MAX, i64::MAX - 1, 1 << 56] {
            let held =
                session.call("aten.full.default", &[Value::List(vec![1_i64.into()]), largest.into()], &[]).unwrap();
            for target in ["aten.bincount.default", "aten.one_hot.default", "aten.repeat_interleave.Tensor"] {
                let fault = session.call(target, std::slice::from_ref(&held), &[]).unwrap_err();
                assert!(fault.to_string().contains("memory"), "{target} of {largest}: {fault}");
            }
        }
    }
}
