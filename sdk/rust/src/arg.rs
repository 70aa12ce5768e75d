//! Arguments: Rust values become [`Arg`]s, and back.

use crate::Node;
use crate::bindings::airlock::pass::types::{Arg, NamedArg, Scalar};

/// A dtype as an argument: `dtype("float32")`.
pub fn dtype(name: &str) -> Scalar {
    Scalar::Dtype(name.to_owned())
}

/// A device as an argument: `device("npu:0")`.
pub fn device(name: &str) -> Scalar {
    Scalar::Device(name.to_owned())
}

/// A layout as an argument: `layout("strided")`.
pub fn layout(name: &str) -> Scalar {
    Scalar::Layout(name.to_owned())
}

/// A memory format as an argument: `memory_format("contiguous_format")`.
pub fn memory_format(name: &str) -> Scalar {
    Scalar::MemoryFormat(name.to_owned())
}

/// An operator as an argument, spelled as a target.
pub fn operator(target: &str) -> Scalar {
    Scalar::Operator(target.to_owned())
}

impl Scalar {
    /// The node, if it is one.
    pub fn as_node(&self) -> Option<Node> {
        match self {
            Scalar::Node(id) => Some(Node::from_id(*id)),
            _ => None,
        }
    }

    /// The integer, if it is one.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Scalar::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, if it is an integer or a float.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Scalar::Int(value) => Some(*value as f64),
            Scalar::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Scalar::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Scalar::Str(value) => Some(value),
            _ => None,
        }
    }
}

impl Arg {
    /// Python's `None`.
    pub const NONE: Arg = Arg::One(Scalar::None);

    /// The node, if the argument is one by itself.
    pub fn as_node(&self) -> Option<Node> {
        self.as_scalar().and_then(Scalar::as_node)
    }

    /// The integer, if the argument is one by itself.
    pub fn as_int(&self) -> Option<i64> {
        self.as_scalar().and_then(Scalar::as_int)
    }

    /// The number, if the argument is an integer or a float.
    pub fn as_float(&self) -> Option<f64> {
        self.as_scalar().and_then(Scalar::as_float)
    }

    /// The truth value, if the argument is one by itself.
    pub fn as_bool(&self) -> Option<bool> {
        self.as_scalar().and_then(Scalar::as_bool)
    }

    /// The text, if the argument is text.
    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar().and_then(Scalar::as_str)
    }

    /// The argument, if it is not a list.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match self {
            Arg::One(scalar) => Some(scalar),
            Arg::Many(_) => None,
        }
    }

    /// What is in it: one for a single argument, any number for a list.
    pub fn scalars(&self) -> &[Scalar] {
        match self {
            Arg::One(scalar) => std::slice::from_ref(scalar),
            Arg::Many(scalars) => scalars,
        }
    }

    /// The nodes in it, in order.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + '_ {
        self.scalars().iter().filter_map(Scalar::as_node)
    }

    /// The integers, if it is a list of nothing else.
    pub fn as_ints(&self) -> Option<Vec<i64>> {
        match self {
            Arg::One(_) => None,
            Arg::Many(scalars) => scalars.iter().map(Scalar::as_int).collect(),
        }
    }
}

macro_rules! scalar_from {
    ($($from:ty: $value:ident => $scalar:expr;)*) => { $(
        impl From<$from> for Scalar {
            fn from($value: $from) -> Scalar { $scalar }
        }
        impl From<$from> for Arg {
            fn from(value: $from) -> Arg { Arg::One(Scalar::from(value)) }
        }
    )* };
}

scalar_from! {
    Node: value => Scalar::Node(value.id());
    &Node: value => Scalar::Node(value.id());
    i32: value => Scalar::Int(value.into());
    i64: value => Scalar::Int(value);
    f64: value => Scalar::Float(value);
    bool: value => Scalar::Bool(value);
    &str: value => Scalar::Str(value.to_owned());
    String: value => Scalar::Str(value);
}

impl From<Scalar> for Arg {
    fn from(value: Scalar) -> Arg {
        Arg::One(value)
    }
}

impl From<&Arg> for Arg {
    fn from(value: &Arg) -> Arg {
        value.clone()
    }
}

impl<T: Into<Arg>> From<Option<T>> for Arg {
    fn from(value: Option<T>) -> Arg {
        value.map_or(Arg::NONE, Into::into)
    }
}

impl<T: Into<Scalar>> From<Vec<T>> for Arg {
    fn from(values: Vec<T>) -> Arg {
        Arg::Many(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Scalar>, const N: usize> From<[T; N]> for Arg {
    fn from(values: [T; N]) -> Arg {
        Arg::Many(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Scalar> + Clone> From<&[T]> for Arg {
    fn from(values: &[T]) -> Arg {
        Arg::Many(values.iter().cloned().map(Into::into).collect())
    }
}

impl<K: Into<String>, V: Into<Arg>> From<(K, V)> for NamedArg {
    fn from((name, value): (K, V)) -> NamedArg {
        NamedArg { name: name.into(), value: value.into() }
    }
}

/// What can stand as a list of positional arguments: a tuple, `()` for none, or a `Vec<Arg>`.
///
/// ```
/// use airlock_pass::{Arg, IntoArgs, Scalar};
///
/// let args = ([1, 2], true, 0.5, "a", None::<i64>).into_args();
/// assert_eq!(args[0], Arg::Many(vec![Scalar::Int(1), Scalar::Int(2)]));
/// assert_eq!(args[4], Arg::NONE);
/// assert!(().into_args().is_empty());
/// ```
pub trait IntoArgs {
    /// The arguments in order.
    fn into_args(self) -> Vec<Arg>;
}

impl IntoArgs for Vec<Arg> {
    fn into_args(self) -> Vec<Arg> {
        self
    }
}

impl IntoArgs for &[Arg] {
    fn into_args(self) -> Vec<Arg> {
        self.to_vec()
    }
}

impl IntoArgs for () {
    fn into_args(self) -> Vec<Arg> {
        Vec::new()
    }
}

macro_rules! tuples_into_args {
    ($($($name:ident)+;)*) => { $(
        impl<$($name: Into<Arg>),+> IntoArgs for ($($name,)+) {
            #[allow(non_snake_case)]
            fn into_args(self) -> Vec<Arg> {
                let ($($name,)+) = self;
                vec![$($name.into()),+]
            }
        }
    )* };
}

tuples_into_args! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
    A B C D E F G H I;
    A B C D E F G H I J;
    A B C D E F G H I J K;
    A B C D E F G H I J K L;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuple_becomes_arguments_in_order() {
        let x = Node::from_id(7);
        let args = (x, 1, 2i64, 1.5, true, "s", vec![x, x]).into_args();
        assert_eq!(
            args,
            [
                Arg::One(Scalar::Node(7)),
                Arg::One(Scalar::Int(1)),
                Arg::One(Scalar::Int(2)),
                Arg::One(Scalar::Float(1.5)),
                Arg::One(Scalar::Bool(true)),
                Arg::One(Scalar::Str("s".into())),
                Arg::Many(vec![Scalar::Node(7), Scalar::Node(7)]),
            ]
        );
    }

    #[test]
    fn a_list_in_a_tuple_is_one_argument() {
        assert_eq!((["k"], ["v"]).into_args().len(), 2);
        assert_eq!(([Node::from_id(1)],).into_args().len(), 1);
    }

    #[test]
    fn reading_an_argument_as_what_it_is_not_gives_nothing() {
        let list = Arg::from([1, 2]);
        assert_eq!(list.as_int(), None);
        assert_eq!(list.as_ints(), Some(vec![1, 2]));
        assert_eq!(Arg::from([0.5]).as_ints(), None);
        assert_eq!(Arg::from(1).as_ints(), None);
        assert_eq!(Arg::from(true).as_int(), None);
        assert_eq!(Arg::from(2).as_float(), Some(2.0));
    }

    #[test]
    fn the_nodes_of_a_list_are_found() {
        let list = Arg::Many(vec![Scalar::Node(3), Scalar::None, Scalar::Node(4)]);
        assert_eq!(list.nodes().map(Node::id).collect::<Vec<_>>(), [3, 4]);
    }
}
