//! What is known of operators by their targets. Whatever is not known is not touched, and is taken to write its operands.

use airlock_pass::Snapshot;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purity {
    /// The same arguments give the same value, and nothing else happens.
    Pure,
    /// Writes nothing, but twice is not once: random draws, uninitialised memory, checks, fresh symbols.
    Single,
    /// Writes nothing, and nothing is merged across it: stream operators.
    Barrier,
    /// An operator of ATen that writes its first argument.
    WritesFirst,
    /// Anything may happen.
    Unknown,
}

/// The purity of every text of the snapshot, as if it were a target.
pub fn of_texts(snapshot: &Snapshot) -> Vec<Purity> {
    snapshot.texts().iter().map(|target| of_target(target)).collect()
}

pub fn of_target(target: &str) -> Purity {
    let mut parts = target.split('.');
    let (namespace, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let overload = parts.next().unwrap_or_default();
    match namespace {
        "_operator" | "math" => Purity::Pure,
        "torch" if name.starts_with("sym_") => Purity::Pure,
        "aten" => of_aten(name, overload),
        "air" if matches!(name, "scope_enter" | "scope_exit" | "record" | "wait") => Purity::Barrier,
        "npu" if PURE_NPU.contains(&name) => Purity::Pure,
        _ => Purity::Unknown,
    }
}

/// Functional operators of the NPU that passes meet most.
const PURE_NPU: [&str; 4] = ["npu_rms_norm", "npu_add_rms_norm", "npu_swiglu", "npu_dynamic_quant"];

fn of_aten(name: &str, overload: &str) -> Purity {
    let starts = |list: &[&str]| list.iter().any(|prefix| name.starts_with(prefix));
    if WRITES_SEVERAL.contains(&name) || name.starts_with("_foreach") || overload.contains("out") {
        Purity::Unknown
    } else if name.ends_with('_') && !name.ends_with("__") {
        if starts(&RANDOM) { Purity::Unknown } else { Purity::WritesFirst }
    } else if starts(&RANDOM) || starts(&UNINITIALISED) || starts(&CHECKS) || FRESH_SYMBOLS.contains(&name) {
        Purity::Single
    } else {
        Purity::Pure
    }
}

/// Functional by name, and yet they write running statistics or draw and write.
const WRITES_SEVERAL: [&str; 6] = [
    "batch_norm",
    "native_batch_norm",
    "_native_batch_norm_legit",
    "_batch_norm_with_update",
    "cudnn_batch_norm",
    "instance_norm",
];

/// Draw random numbers, or may (attention and recurrent networks take a dropout).
const RANDOM: [&str; 24] = [
    "rand",
    "bernoulli",
    "normal",
    "multinomial",
    "poisson",
    "binomial",
    "dropout",
    "native_dropout",
    "alpha_dropout",
    "feature_",
    "rrelu",
    "exponential",
    "cauchy",
    "geometric",
    "log_normal",
    "uniform",
    "_sample_dirichlet",
    "_standard_gamma",
    "_fused_dropout",
    "scaled_dot_product",
    "_scaled_dot_product",
    "lstm",
    "gru",
    "rnn_",
];

const UNINITIALISED: [&str; 5] = ["empty", "new_empty", "_empty", "resize", "prims_empty"];

const CHECKS: [&str; 4] = ["_assert", "sym_constrain", "_functional_assert", "_functional_sym_constrain"];

/// Each call makes a new symbol for a size that only the data tells.
const FRESH_SYMBOLS: [&str; 8] = [
    "nonzero",
    "item",
    "_local_scalar_dense",
    "masked_select",
    "unique_dim",
    "_unique2",
    "unique_consecutive",
    "repeat_interleave",
];

/// Whether the result may share memory with an argument. Said of all that nobody here knows.
pub fn may_alias(target: &str) -> bool {
    match of_target(target) {
        Purity::Pure if target.starts_with("aten.") => {
            let name = target.split('.').nth(1).unwrap_or_default();
            VIEWS.contains(&name) || name.starts_with("view") || name.starts_with("squeeze")
        }
        Purity::Pure => target == "_operator.getitem",
        Purity::Single | Purity::Barrier => false,
        Purity::WritesFirst | Purity::Unknown => true,
    }
}

const VIEWS: [&str; 42] = [
    "_conj",
    "_neg_view",
    "_reshape_alias",
    "alias",
    "as_strided",
    "broadcast_to",
    "chunk",
    "conj",
    "contiguous",
    "detach",
    "diagonal",
    "expand",
    "expand_as",
    "flatten",
    "imag",
    "lift_fresh",
    "mT",
    "movedim",
    "moveaxis",
    "narrow",
    "numpy_T",
    "permute",
    "ravel",
    "real",
    "reshape",
    "reshape_as",
    "resolve_conj",
    "resolve_neg",
    "select",
    "slice",
    "split",
    "split_with_sizes",
    "swapaxes",
    "swapdims",
    "t",
    "tensor_split",
    "to",
    "transpose",
    "unbind",
    "unflatten",
    "unfold",
    "unsqueeze",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_pure() {
        for target in
            ["aten.add.Tensor", "aten.mm.default", "_operator.mul", "aten.sym_size.int", "npu.npu_rms_norm.default"]
        {
            assert_eq!(of_target(target), Purity::Pure, "{target}");
        }
    }

    #[test]
    fn random_draws_and_fresh_memory_are_never_one() {
        for target in
            ["aten.rand.default", "aten.native_dropout.default", "aten.empty.memory_format", "aten.nonzero.default"]
        {
            assert_eq!(of_target(target), Purity::Single, "{target}");
        }
    }

    #[test]
    fn whatever_writes_or_is_not_known_is_left_alone() {
        assert_eq!(of_target("aten.copy_.default"), Purity::WritesFirst);
        assert_eq!(of_target("aten.bernoulli_.float"), Purity::Unknown);
        assert_eq!(of_target("aten.add.out"), Purity::Unknown);
        assert_eq!(of_target("demo.mystery.default"), Purity::Unknown);
        assert_eq!(of_target("higher_order.cond"), Purity::Unknown);
    }

    #[test]
    fn views_share_memory_and_arithmetic_does_not() {
        assert!(may_alias("aten.view.default"));
        assert!(may_alias("aten.squeeze.dims"));
        assert!(may_alias("_operator.getitem"));
        assert!(may_alias("demo.mystery.default"));
        assert!(!may_alias("aten.relu.default"));
    }
}
