//! PyTorch's schemas: what an operator takes and gives, in types.
//!
//! Promises: a schema read by [`Schema::parse`](crate::ops::schema::text) and printed again is the same text (defaults keep
//! their spelling); types are flat (a base and its suffixes), so nothing here recurses. Leaves effects to `effects`,
//! matching of arguments to `bind`.

pub(in crate::ops) mod bind;
pub(in crate::ops) mod text;

use std::fmt;

use smallvec::SmallVec;

use crate::graph::Arg;

/// What a type is before `?` and `[]`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Base {
    /// `Tensor`.
    Tensor,
    /// `Scalar`: a number of any kind.
    Scalar,
    /// `int`.
    Int,
    /// `SymInt`.
    SymInt,
    /// `float`.
    Float,
    /// `bool`.
    Bool,
    /// `SymBool`.
    SymBool,
    /// `str`.
    Str,
    /// `ScalarType`: a dtype.
    Dtype,
    /// `Device`.
    Device,
    /// `Layout`.
    Layout,
    /// `MemoryFormat`.
    MemoryFormat,
    /// `Generator`.
    Generator,
    /// Anything else, by its name: `Any`, `t`, `complex`, a script class.
    Other(Box<str>),
}

impl Base {
    const NAMES: &'static [(&'static str, Base)] = &[
        ("Tensor", Base::Tensor),
        ("Scalar", Base::Scalar),
        ("int", Base::Int),
        ("SymInt", Base::SymInt),
        ("float", Base::Float),
        ("bool", Base::Bool),
        ("SymBool", Base::SymBool),
        ("str", Base::Str),
        ("ScalarType", Base::Dtype),
        ("Device", Base::Device),
        ("Layout", Base::Layout),
        ("MemoryFormat", Base::MemoryFormat),
        ("Generator", Base::Generator),
    ];

    /// Returns the base of that name; an unknown name is kept.
    pub fn from_name(name: &str) -> Self {
        Self::NAMES.iter().find(|(n, _)| *n == name).map_or_else(|| Base::Other(name.into()), |(_, b)| b.clone())
    }

    /// Returns the name as schemas spell it.
    pub fn name(&self) -> &str {
        match self {
            Base::Other(name) => name,
            known => Self::NAMES.iter().find(|(_, b)| b == known).map_or("", |(n, _)| n),
        }
    }
}

/// What stands behind a base, innermost first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Suffix {
    /// `?`.
    Optional,
    /// `[]`, or `[2]`: a list; with a size one element may stand for all.
    List(Option<u32>),
}

/// `(a!)`, `(a -> *)`: which memory a value is in.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Alias {
    /// Names before the call, `*` included.
    pub before: SmallVec<[Box<str>; 1]>,
    /// Names after the call, where they differ.
    pub after: SmallVec<[Box<str>; 1]>,
    /// Whether it is written: `!`.
    pub writes: bool,
}

impl fmt::Display for Alias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let write = if self.writes { "!" } else { "" };
        write!(f, "({}{write}", self.before.join("|"))?;
        if !self.after.is_empty() {
            write!(f, " -> {}", self.after.join("|"))?;
        }
        f.write_str(")")
    }
}

/// A type with its alias mark.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SchemaType {
    /// What it is without suffixes.
    pub base: Base,
    /// Innermost first: `Tensor?[]` is optional, then list.
    pub suffixes: SmallVec<[Suffix; 2]>,
    /// The alias mark.
    pub alias: Option<Alias>,
}

impl SchemaType {
    /// Returns whether `None` may stand here.
    pub fn is_optional(&self) -> bool {
        self.suffixes.last() == Some(&Suffix::Optional)
    }

    /// Returns whether a list stands here (optional or not).
    pub fn is_list(&self) -> bool {
        self.suffixes.iter().any(|s| matches!(s, Suffix::List(_)))
    }

    /// Returns whether tensors stand here, alone or in a list.
    pub fn holds_tensors(&self) -> bool {
        self.base == Base::Tensor
    }
}

impl fmt::Display for SchemaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base.name())?;
        if let Some(alias) = &self.alias {
            write!(f, "{alias}")?;
        }
        for suffix in &self.suffixes {
            match suffix {
                Suffix::Optional => f.write_str("?")?,
                Suffix::List(None) => f.write_str("[]")?,
                Suffix::List(Some(n)) => write!(f, "[{n}]")?,
            }
        }
        Ok(())
    }
}

/// A default: its value, and how the schema spells it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Default {
    /// As written.
    pub text: Box<str>,
    /// As an argument.
    pub value: Arg,
}

/// A parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Param {
    /// Name.
    pub name: Box<str>,
    /// Type.
    pub ty: SchemaType,
    /// What holds where nothing is given.
    pub default: Option<Default>,
    /// Whether it stands behind `*`.
    pub kwarg_only: bool,
    /// Whether it stands before `/`, as the parameters of Python's own functions do: no keyword names it.
    pub positional_only: bool,
}

/// A result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Return {
    /// Name, where the schema gives one.
    pub name: Option<Box<str>>,
    /// Type.
    pub ty: SchemaType,
}

/// How an operator is called and what it gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schema {
    /// `aten`.
    pub namespace: Box<str>,
    /// `add`.
    pub name: Box<str>,
    /// `Tensor`; empty for the default overload.
    pub overload: Box<str>,
    /// In order, keyword-only ones last.
    pub params: Box<[Param]>,
    /// Whether further arguments may follow (`...`).
    pub varargs: bool,
    /// In order.
    pub returns: Box<[Return]>,
    /// Whether the schema writes results in parentheses though there is one.
    pub parenthesized: bool,
}

impl Schema {
    /// Returns the target of calls: `aten.add.Tensor`, `aten.relu.default`.
    pub fn target(&self) -> String {
        let overload = if self.overload.is_empty() { "default" } else { &self.overload };
        format!("{}.{}.{overload}", self.namespace, self.name)
    }

    /// Returns the place of a parameter.
    pub fn param_index(&self, name: &str) -> Option<usize> {
        self.params.iter().position(|p| &*p.name == name)
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.ty, self.name)?;
        match &self.default {
            Some(default) => write!(f, "={}", default.text),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Return {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.ty)?;
        match &self.name {
            Some(name) => write!(f, " {name}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.namespace, self.name)?;
        if !self.overload.is_empty() {
            write!(f, ".{}", self.overload)?;
        }
        let mut parts: Vec<String> = Vec::new();
        let mut star = false;
        let unnamed = self.params.iter().filter(|p| p.positional_only).count();
        for (place, param) in self.params.iter().enumerate() {
            if place == unnamed && place > 0 {
                parts.push("/".into());
            }
            if param.kwarg_only && !star {
                star = true;
                parts.push("*".into());
            }
            parts.push(param.to_string());
        }
        if unnamed > 0 && unnamed == self.params.len() {
            parts.push("/".into());
        }
        if self.varargs {
            parts.push("...".into());
        }
        write!(f, "({}) -> ", parts.join(", "))?;
        match (&*self.returns, self.parenthesized) {
            ([one], false) => write!(f, "{one}"),
            (many, _) => {
                write!(f, "({})", many.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
            }
        }
    }
}
