//! What the contract's values are in C: each as one flat record with a number that says what it is, so that whatever C sends can be read.

use engine::sandbox::wit;

use crate::arena::Arena;
use crate::status::Failure;
use crate::texts::{Text, list, text};

/// What an argument that is no list is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScalarKind {
    /// Python's `None`.
    None = 0,
    /// The value of a node: `node`.
    Node = 1,
    /// An integer: `integer`.
    Int = 2,
    /// A float: `real`.
    Float = 3,
    /// A complex number: `real` and `imaginary`.
    Complex = 4,
    /// `True` or `False`: `integer` is not 0.
    Bool = 5,
    /// `text`.
    Str = 6,
    /// `text`, without `torch.`: `float32`.
    Dtype = 7,
    /// `text`: `npu:0`.
    Device = 8,
    /// `text`, without `torch.`: `strided`.
    Layout = 9,
    /// `text`, without `torch.`: `contiguous_format`.
    MemoryFormat = 10,
    /// An operator, spelled as a target: `text`.
    Operator = 11,
    /// Anything else, in the host's words: `text`. It can be handed back as it is.
    Other = 12,
}

/// An argument that is no list.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Scalar {
    /// A `ScalarKind`, which says which of the others counts.
    pub kind: u32,
    /// A node.
    pub node: u64,
    /// An integer.
    pub integer: i64,
    /// A float.
    pub real: f64,
    /// The imaginary part of a complex number.
    pub imaginary: f64,
    /// A text.
    pub text: Text,
}

impl Scalar {
    const NONE: Scalar =
        Scalar { kind: ScalarKind::None as u32, node: 0, integer: 0, real: 0.0, imaginary: 0.0, text: Text::NONE };

    pub fn give(scalar: wit::Scalar, arena: &mut Arena) -> Scalar {
        let of = |kind: ScalarKind| Scalar { kind: kind as u32, ..Scalar::NONE };
        let mut words = |kind, text: String| Scalar { text: arena.text(text), ..of(kind) };
        match scalar {
            wit::Scalar::None => Scalar::NONE,
            wit::Scalar::Node(node) => Scalar { node, ..of(ScalarKind::Node) },
            wit::Scalar::Int(integer) => Scalar { integer, ..of(ScalarKind::Int) },
            wit::Scalar::Float(real) => Scalar { real, ..of(ScalarKind::Float) },
            wit::Scalar::Complex((real, imaginary)) => Scalar { real, imaginary, ..of(ScalarKind::Complex) },
            wit::Scalar::Bool(is) => Scalar { integer: i64::from(is), ..of(ScalarKind::Bool) },
            wit::Scalar::Str(text) => words(ScalarKind::Str, text),
            wit::Scalar::Dtype(text) => words(ScalarKind::Dtype, text),
            wit::Scalar::Device(text) => words(ScalarKind::Device, text),
            wit::Scalar::Layout(text) => words(ScalarKind::Layout, text),
            wit::Scalar::MemoryFormat(text) => words(ScalarKind::MemoryFormat, text),
            wit::Scalar::Operator(text) => words(ScalarKind::Operator, text),
            wit::Scalar::Other(text) => words(ScalarKind::Other, text),
        }
    }

    /// # Safety
    ///
    /// Its text is one of the caller's.
    unsafe fn take(&self) -> Result<wit::Scalar, Failure> {
        // SAFETY: the caller's promise.
        let words = || unsafe { text(self.text, "text of a scalar") }.map(str::to_owned);
        Ok(match self.kind {
            k if k == ScalarKind::None as u32 => wit::Scalar::None,
            k if k == ScalarKind::Node as u32 => wit::Scalar::Node(self.node),
            k if k == ScalarKind::Int as u32 => wit::Scalar::Int(self.integer),
            k if k == ScalarKind::Float as u32 => wit::Scalar::Float(self.real),
            k if k == ScalarKind::Complex as u32 => wit::Scalar::Complex((self.real, self.imaginary)),
            k if k == ScalarKind::Bool as u32 => wit::Scalar::Bool(self.integer != 0),
            k if k == ScalarKind::Str as u32 => wit::Scalar::Str(words()?),
            k if k == ScalarKind::Dtype as u32 => wit::Scalar::Dtype(words()?),
            k if k == ScalarKind::Device as u32 => wit::Scalar::Device(words()?),
            k if k == ScalarKind::Layout as u32 => wit::Scalar::Layout(words()?),
            k if k == ScalarKind::MemoryFormat as u32 => wit::Scalar::MemoryFormat(words()?),
            k if k == ScalarKind::Operator as u32 => wit::Scalar::Operator(words()?),
            k if k == ScalarKind::Other as u32 => wit::Scalar::Other(words()?),
            other => return Err(Failure::input(format!("{other} is no kind of scalar"))),
        })
    }
}

/// An argument: one scalar, or a list of them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// The scalars.
    pub items: *const Scalar,
    /// How many: of an argument that is no list one.
    pub len: usize,
    /// 1 where it is a list.
    pub is_list: u32,
}

impl Arg {
    pub fn give(arg: wit::Arg, arena: &mut Arena) -> Arg {
        let (scalars, is_list) = match arg {
            wit::Arg::One(scalar) => (vec![scalar], 0),
            wit::Arg::Many(scalars) => (scalars, 1),
        };
        let scalars = scalars.into_iter().map(|scalar| Scalar::give(scalar, arena)).collect();
        let (items, len) = arena.list(scalars);
        Arg { items, len, is_list }
    }

    /// # Safety
    ///
    /// Its items are the caller's.
    pub unsafe fn take(&self) -> Result<wit::Arg, Failure> {
        // SAFETY: the caller's promise.
        let items = unsafe { list(self.items, self.len, "items of an argument") }?;
        // SAFETY: the caller's promise.
        let scalars = items.iter().map(|scalar| unsafe { scalar.take() }).collect::<Result<Vec<_>, _>>()?;
        if self.is_list != 0 {
            return Ok(wit::Arg::Many(scalars));
        }
        let count = scalars.len();
        let mut scalars = scalars.into_iter();
        match (scalars.next(), scalars.next()) {
            (Some(scalar), None) => Ok(wit::Arg::One(scalar)),
            _ => Err(Failure::input(format!("an argument that is no list has {count} items, not one"))),
        }
    }
}

/// Arguments.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Args {
    /// The arguments.
    pub items: *const Arg,
    /// How many.
    pub len: usize,
}

impl Args {
    pub fn give(args: Vec<wit::Arg>, arena: &mut Arena) -> Args {
        let args = args.into_iter().map(|arg| Arg::give(arg, arena)).collect();
        let (items, len) = arena.list(args);
        Args { items, len }
    }

    /// # Safety
    ///
    /// They are the caller's.
    pub unsafe fn take(&self) -> Result<Vec<wit::Arg>, Failure> {
        // SAFETY: the caller's promise.
        let items = unsafe { list(self.items, self.len, "args") }?;
        // SAFETY: the caller's promise.
        items.iter().map(|arg| unsafe { arg.take() }).collect()
    }
}

/// A keyword argument.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NamedArg {
    /// The keyword.
    pub name: Text,
    /// The argument.
    pub value: Arg,
}

/// Keyword arguments.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NamedArgs {
    /// The arguments.
    pub items: *const NamedArg,
    /// How many.
    pub len: usize,
}

impl NamedArgs {
    pub fn give(kwargs: Vec<wit::NamedArg>, arena: &mut Arena) -> NamedArgs {
        let mut one =
            |kwarg: wit::NamedArg| NamedArg { name: arena.text(kwarg.name), value: Arg::give(kwarg.value, arena) };
        let kwargs = kwargs.into_iter().map(&mut one).collect();
        let (items, len) = arena.list(kwargs);
        NamedArgs { items, len }
    }

    /// # Safety
    ///
    /// They are the caller's.
    pub unsafe fn take(&self) -> Result<Vec<wit::NamedArg>, Failure> {
        // SAFETY: the caller's promise.
        let items = unsafe { list(self.items, self.len, "kwargs") }?;
        // SAFETY: the caller's promise.
        let one = |kwarg: &NamedArg| unsafe {
            Ok(wit::NamedArg {
                name: text(kwarg.name, "name of a keyword argument")?.to_owned(),
                value: kwarg.value.take()?,
            })
        };
        items.iter().map(one).collect()
    }
}

/// A size or stride.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dim {
    /// Its expression, as PyTorch prints it (`2*s77 + 1`); null where it is a number.
    pub symbolic: Text,
    /// The number.
    pub fixed: i64,
}

impl Dim {
    pub fn give(dim: wit::Dim, arena: &mut Arena) -> Dim {
        match dim {
            wit::Dim::Fixed(fixed) => Dim { symbolic: Text::NONE, fixed },
            wit::Dim::Symbolic(expression) => Dim { symbolic: arena.text(expression), fixed: 0 },
        }
    }

    /// # Safety
    ///
    /// Its text is the caller's.
    pub unsafe fn take(&self) -> Result<wit::Dim, Failure> {
        // SAFETY: the caller's promise.
        Ok(match unsafe { crate::texts::option(self.symbolic, "expression of a size") }? {
            Some(expression) => wit::Dim::Symbolic(expression.to_owned()),
            None => wit::Dim::Fixed(self.fixed),
        })
    }
}

/// Sizes or strides.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dims {
    /// One a dimension.
    pub items: *const Dim,
    /// How many.
    pub len: usize,
}

impl Dims {
    fn give(dims: Vec<wit::Dim>, arena: &mut Arena) -> Dims {
        let dims = dims.into_iter().map(|dim| Dim::give(dim, arena)).collect();
        let (items, len) = arena.list(dims);
        Dims { items, len }
    }

    const NONE: Dims = Dims { items: std::ptr::null(), len: 0 };
}

/// What a value is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementKind {
    /// No value.
    None = 0,
    /// A tensor: `dtype`, `sizes`, `strides`, `device`.
    Tensor = 1,
    /// A symbolic integer: `text`.
    SymInt = 2,
    /// A symbolic float: `text`.
    SymFloat = 3,
    /// A symbolic truth value: `text`.
    SymBool = 4,
    /// Anything else, in the host's words: `text`.
    Other = 5,
}

/// The type of one value.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ElementType {
    /// An `ElementKind`, which says which of the others counts.
    pub kind: u32,
    /// As the text form spells it: `f32`, `bf16`, `i64`, `b8`.
    pub dtype: Text,
    /// One a dimension.
    pub sizes: Dims,
    /// One a dimension; none where they are unknown.
    pub strides: Dims,
    /// `cpu`, `npu:0`.
    pub device: Text,
    /// An expression, or the host's words.
    pub text: Text,
}

impl ElementType {
    fn give(element: wit::ElementType, arena: &mut Arena) -> ElementType {
        let of = |kind: ElementKind| ElementType {
            kind: kind as u32,
            dtype: Text::NONE,
            sizes: Dims::NONE,
            strides: Dims::NONE,
            device: Text::NONE,
            text: Text::NONE,
        };
        match element {
            wit::ElementType::None => of(ElementKind::None),
            wit::ElementType::Tensor(tensor) => ElementType {
                dtype: arena.text(tensor.dtype),
                sizes: Dims::give(tensor.sizes, arena),
                strides: Dims::give(tensor.strides, arena),
                device: arena.text(tensor.device),
                ..of(ElementKind::Tensor)
            },
            wit::ElementType::SymInt(text) => ElementType { text: arena.text(text), ..of(ElementKind::SymInt) },
            wit::ElementType::SymFloat(text) => ElementType { text: arena.text(text), ..of(ElementKind::SymFloat) },
            wit::ElementType::SymBool(text) => ElementType { text: arena.text(text), ..of(ElementKind::SymBool) },
            wit::ElementType::Other(text) => ElementType { text: arena.text(text), ..of(ElementKind::Other) },
        }
    }
}

/// What a node's value is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// One value: the first of `items`.
    Single = 0,
    /// A tuple or list: `items`.
    Many = 1,
    /// A graph: `body`.
    Body = 2,
}

/// The type of a node.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ValueType {
    /// A `ValueKind`.
    pub kind: u32,
    /// The types of its values.
    pub items: *const ElementType,
    /// How many.
    pub len: usize,
    /// A graph.
    pub body: u32,
}

impl ValueType {
    pub fn give(value: wit::ValueType, arena: &mut Arena) -> ValueType {
        let (kind, elements, body) = match value {
            wit::ValueType::Single(element) => (ValueKind::Single, vec![element], 0),
            wit::ValueType::Many(elements) => (ValueKind::Many, elements, 0),
            wit::ValueType::Body(body) => (ValueKind::Body, Vec::new(), body),
        };
        let elements = elements.into_iter().map(|element| ElementType::give(element, arena)).collect();
        let (items, len) = arena.list(elements);
        ValueType { kind: kind as u32, items, len, body }
    }
}

/// Nodes, or operands.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Nodes {
    /// The items.
    pub items: *const u64,
    /// How many.
    pub len: usize,
}

impl Nodes {
    pub fn give(items: Vec<u64>, arena: &mut Arena) -> Nodes {
        let (items, len) = arena.list(items);
        Nodes { items, len }
    }
}

/// Graphs, ids of texts, positions.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// The items.
    pub items: *const u32,
    /// How many.
    pub len: usize,
}

impl Numbers {
    pub fn give(items: Vec<u32>, arena: &mut Arena) -> Numbers {
        let (items, len) = arena.list(items);
        Numbers { items, len }
    }
}

/// Small numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    /// The items.
    pub items: *const u8,
    /// How many.
    pub len: usize,
}

impl Bytes {
    pub fn give(items: Vec<u8>, arena: &mut Arena) -> Bytes {
        let (items, len) = arena.list(items);
        Bytes { items, len }
    }
}

/// Texts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Texts {
    /// The items.
    pub items: *const Text,
    /// How many.
    pub len: usize,
}

impl Texts {
    pub fn give(items: Vec<Text>, arena: &mut Arena) -> Texts {
        let (items, len) = arena.list(items);
        Texts { items, len }
    }
}

impl Texts {
    pub fn of(texts: Vec<String>, arena: &mut Arena) -> Texts {
        let texts = texts.into_iter().map(|text| arena.text(text)).collect();
        Texts::give(texts, arena)
    }
}
