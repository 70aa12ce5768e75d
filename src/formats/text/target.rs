//! How targets are spelled in Python, and how they are read back.
//!
//! A target of the Graph leaves out `torch.ops.`; functions of other modules keep their path (`_operator.mul`, `math.trunc`,
//! `torch.sym_max`). PyTorch prints operators of `_operator` as Python operators, and functions from outside torch with underscores for
//! dots (`math_trunc(x)`).

use std::borrow::Cow;

/// Functions of `_operator` of two operands, with the sign that stands between these.
const BINARY: &[(&str, &str)] = &[
    ("eq", "=="),
    ("ne", "!="),
    ("lt", "<"),
    ("gt", ">"),
    ("le", "<="),
    ("ge", ">="),
    ("add", "+"),
    ("sub", "-"),
    ("mul", "*"),
    ("floordiv", "//"),
    ("truediv", "/"),
    ("mod", "%"),
    ("pow", "**"),
    ("lshift", "<<"),
    ("rshift", ">>"),
    ("and_", "&"),
    ("or_", "|"),
    ("xor", "^"),
    ("matmul", "@"),
];

/// Functions of `_operator` of one operand, with the sign that stands before it.
const UNARY: &[(&str, &str)] = &[("pos", "+"), ("neg", "-"), ("invert", "~")];

/// Modules whose functions PyTorch prints with underscores.
const FLATTENED: &[&str] = &["math", "_operator"];

/// How a call is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// `a + b`.
    Binary(&'static str),
    /// `-a`.
    Unary(&'static str),
    /// `a[0]`.
    Item,
    /// `f(a, b)`.
    Call,
}

/// Returns how a call of `target` with that many positional arguments is written.
pub(super) fn form(target: &str, arguments: usize) -> Form {
    let Some(name) = target.strip_prefix("_operator.") else {
        return Form::Call;
    };
    let sign = |table: &[(&str, &'static str)]| table.iter().find(|(n, _)| *n == name).map(|(_, s)| *s);
    match arguments {
        1 => sign(UNARY).map_or(Form::Call, Form::Unary),
        2 if name == "getitem" => Form::Item,
        2 => sign(BINARY).map_or(Form::Call, Form::Binary),
        _ => Form::Call,
    }
}

/// Returns the target of a sign between two operands, and the length of the sign, if `text` begins with one.
pub(super) fn binary(text: &[u8]) -> Option<(&'static str, usize)> {
    let found =
        BINARY.iter().filter(|(_, sign)| text.starts_with(sign.as_bytes())).max_by_key(|(_, sign)| sign.len())?;
    Some((found.0, found.1.len()))
}

/// Returns the target of a sign before an operand.
pub(super) fn unary(sign: u8) -> Option<&'static str> {
    UNARY.iter().find(|(_, s)| s.as_bytes() == [sign]).map(|(name, _)| *name)
}

/// Returns the text of a target in a call or as an argument.
pub(super) fn printed(target: &str) -> Cow<'_, str> {
    let target = super::error::shown(target);
    match target.split_once('.') {
        None | Some(("torch", _)) => target,
        Some((module, function)) if FLATTENED.contains(&module) => format!("{module}_{function}").into(),
        Some(_) => format!("torch.ops.{target}").into(),
    }
}

/// Returns the target that a path in a call stands for.
pub(super) fn from_path(path: &str) -> Cow<'_, str> {
    if let Some(operator) = path.strip_prefix("torch.ops.") {
        return operator.into();
    }
    if !path.contains('.') {
        for module in FLATTENED {
            if let Some(function) = path.strip_prefix(module).and_then(|rest| rest.strip_prefix('_')) {
                return format!("{module}.{function}").into();
            }
        }
    }
    path.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_target_reads_back() {
        for target in ["aten.add.Tensor", "aten.sym_size", "torch.sym_max", "math.trunc", "_operator.index", "round"] {
            assert_eq!(from_path(&printed(target)), target);
        }
        assert_eq!(printed("math.trunc"), "math_trunc");
        assert_eq!(printed("aten.add.Tensor"), "torch.ops.aten.add.Tensor");
    }

    #[test]
    fn the_longest_sign_wins() {
        assert_eq!(binary(b"** 2"), Some(("pow", 2)));
        assert_eq!(binary(b"* 2"), Some(("mul", 1)));
        assert_eq!(binary(b"<= 2"), Some(("le", 2)));
        assert_eq!(binary(b"= 2"), None);
    }

    #[test]
    fn an_operator_with_another_number_of_operands_is_an_ordinary_call() {
        assert_eq!(form("_operator.mul", 2), Form::Binary("*"));
        assert_eq!(form("_operator.mul", 3), Form::Call);
        assert_eq!(form("_operator.neg", 1), Form::Unary("-"));
        assert_eq!(form("_operator.getitem", 2), Form::Item);
    }
}
