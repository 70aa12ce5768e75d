//! Targets: how `.pt2` files spell them, how the Graph does, and the names that FX makes of them.
//!
//! The Graph drops `torch.ops.`; Python's own functions keep their module (`_operator.mul`, `torch.sym_max`, `math.trunc`).

/// How operands are matched to a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// An operator with a schema.
    Operator,
    /// A higher-order operator, or another callable: no schema.
    HigherOrder,
    /// A Python function on symbolic scalars: all operands are positional.
    Python,
}

impl Style {
    /// Returns the style of a target as the file spells it.
    pub(super) fn of(target: &str) -> Self {
        match target.strip_prefix("torch.ops.") {
            Some(rest) if rest.starts_with("higher_order.") => Style::HigherOrder,
            Some(_) => Style::Operator,
            None if is_python(target) => Style::Python,
            None if target.starts_with("torch.") => Style::HigherOrder,
            None => Style::Operator,
        }
    }
}

fn is_python(target: &str) -> bool {
    ["_operator.", "math.", "torch.sym_", "torch._sym_"].iter().any(|p| target.starts_with(p))
}

/// Returns the target as the Graph spells it.
pub(super) fn read(target: &str) -> &str {
    target.strip_prefix("torch.ops.").unwrap_or(target)
}

/// Returns the target as the file spells it.
pub(super) fn write(target: &str) -> String {
    if is_python(target) || target.starts_with("torch.") || target.starts_with('#') {
        target.to_string()
    } else {
        format!("torch.ops.{target}")
    }
}

/// Returns the name that FX gives to a call of `target`: `split_tensor` for `aten.split.Tensor`.
pub(super) fn to_name(target: &str) -> String {
    let name = match target.split_once('.') {
        Some((_, name)) => name,
        None => target,
    };
    snake_case(name).replace('.', "_")
}

/// FX's snake_case: an underscore before each capital that follows a small letter, then small letters only.
pub(super) fn snake_case(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_small = false;
    for c in text.chars() {
        if after_small && c.is_ascii_uppercase() {
            out.push('_');
        }
        after_small = c.is_ascii_lowercase();
        out.extend(c.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_survives_the_way_through_the_file() {
        for target in
            ["aten.add.Tensor", "_operator.mul", "torch.sym_max", "math.trunc", "higher_order.cond", "npu.f.default"]
        {
            assert_eq!(read(&write(target)), target);
        }
        assert_eq!(write("aten.add.Tensor"), "torch.ops.aten.add.Tensor");
        assert_eq!(write("torch.sym_max"), "torch.sym_max");
        // A namespace that only begins like Python's.
        assert_eq!(write("torchvision.nms.default"), "torch.ops.torchvision.nms.default");
    }

    #[test]
    fn names_are_made_of_targets_as_fx_makes_them() {
        assert_eq!(to_name("aten.split.Tensor"), "split_tensor");
        assert_eq!(to_name("aten.scatter.ValueSrc"), "scatter_value_src");
        assert_eq!(to_name("_operator.getitem"), "getitem");
        assert_eq!(to_name("higher_order.cond"), "cond");
    }
}
