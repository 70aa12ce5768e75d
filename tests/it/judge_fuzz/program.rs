//! Programs as the fuzzer holds them: plain lists that are easy to edit, to shrink and to print.
//!
//! Promises: `Program::text` is the text form, which `formats::text` reads. Names are unique in a body; a node uses names of nodes above it.
//! Leaves to the reader and to the judge whether a program is well formed: edits may break anything.

use std::fmt::Write as _;

/// An argument.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum A {
    /// A node's value.
    N(String),
    /// An integer.
    I(i64),
    /// Any other literal, as it is written.
    T(String),
    /// A list.
    L(Vec<A>),
    /// A tuple.
    P(Vec<A>),
}

impl A {
    /// Returns the argument that names a node.
    pub fn n(name: &str) -> A {
        A::N(name.into())
    }

    /// Returns a literal.
    pub fn t(text: &str) -> A {
        A::T(text.into())
    }

    /// Returns a list of numbers.
    pub fn ints(all: &[i64]) -> A {
        A::L(all.iter().map(|i| A::I(*i)).collect())
    }

    /// Calls `f` with every name inside.
    pub fn each(&self, f: &mut dyn FnMut(&str)) {
        match self {
            A::N(name) => f(name),
            A::L(all) | A::P(all) => all.iter().for_each(|a| a.each(f)),
            _ => {}
        }
    }

    /// Replaces a name by another argument.
    pub fn put(&mut self, old: &str, new: &A) {
        match self {
            A::N(name) if name == old => *self = new.clone(),
            A::L(all) | A::P(all) => all.iter_mut().for_each(|a| a.put(old, new)),
            _ => {}
        }
    }

    fn print(&self) -> String {
        let join = |all: &[A]| all.iter().map(A::print).collect::<Vec<_>>().join(", ");
        match self {
            A::N(name) => name.clone(),
            A::I(i) => i.to_string(),
            A::T(text) => text.clone(),
            A::L(all) => format!("[{}]", join(all)),
            A::P(all) => format!("({}{})", join(all), if all.len() == 1 { "," } else { "" }),
        }
    }
}

/// A call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    pub name: String,
    /// As nodes spell it: `aten.add.Tensor`, `_operator.getitem`; `self` for a sub-graph.
    pub target: String,
    pub args: Vec<A>,
    pub kw: Vec<(String, A)>,
    /// The annotation, which may be wrong.
    pub note: Option<String>,
}

const SIGNS: &[(&str, &str)] = &[
    ("add", "+"),
    ("sub", "-"),
    ("mul", "*"),
    ("floordiv", "//"),
    ("mod", "%"),
    ("eq", "=="),
    ("ge", ">="),
    ("lt", "<"),
];

impl Node {
    /// Calls `f` with every name that it uses.
    pub fn each(&self, f: &mut dyn FnMut(&str)) {
        self.args.iter().chain(self.kw.iter().map(|(_, a)| a)).for_each(|a| a.each(f));
    }

    /// Returns whether it uses a name.
    pub fn uses(&self, name: &str) -> bool {
        let mut found = false;
        self.each(&mut |n| found |= n == name);
        found
    }

    /// Replaces a name by another argument.
    pub fn put(&mut self, old: &str, new: &A) {
        self.args.iter_mut().chain(self.kw.iter_mut().map(|(_, a)| a)).for_each(|a| a.put(old, new));
    }

    /// Returns the operator's name without namespace and overload.
    pub fn op(&self) -> &str {
        self.target.split('.').nth(1).unwrap_or("")
    }

    fn print(&self) -> String {
        let note = self.note.as_ref().map_or(String::new(), |n| format!(": \"{n}\""));
        let args: Vec<String> = self.args.iter().map(A::print).collect();
        let right = if self.target == "self" {
            format!("self.{}", args.join(""))
        } else if let Some(sign) = self.target.strip_prefix("_operator.").and_then(sign) {
            format!("{} {sign} {}", args[0], args[1])
        } else if self.target == "_operator.getitem" {
            format!("{}[{}]", args[0], args[1])
        } else {
            let kw = self.kw.iter().map(|(k, a)| format!("{k} = {}", a.print()));
            let all: Vec<String> = args.into_iter().chain(kw).collect();
            let head = if self.target.starts_with("torch.") {
                self.target.clone()
            } else {
                format!("torch.ops.{}", self.target)
            };
            format!("{head}({})", all.join(", "))
        };
        format!("{}{note} = {right}", self.name)
    }
}

fn sign(name: &str) -> Option<&'static str> {
    SIGNS.iter().find(|(n, _)| *n == name).map(|(_, s)| *s)
}

/// A size of an input: a number times a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub times: i64,
    /// Which symbol; `None`: the number alone.
    pub symbol: Option<usize>,
}

impl Size {
    /// Returns the size under a binding.
    pub fn at(self, binding: &[i64]) -> i64 {
        self.times * self.symbol.map_or(1, |s| binding[s])
    }

    fn print(self) -> String {
        match self.symbol {
            None => self.times.to_string(),
            Some(s) if self.times == 1 => format!("s{s}"),
            Some(s) => format!("{}*s{s}", self.times),
        }
    }
}

/// How an input lies in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Layout {
    /// Row by row; strides are not stated.
    Rows,
    /// Dimensions in this order, outermost first, and a gap of that factor; strides are stated.
    Stated(Vec<usize>, i64),
}

/// What an input is to the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    User,
    Buffer,
}

/// An input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Input {
    pub name: String,
    /// `f32`; `int` for a symbol by itself.
    pub dtype: String,
    pub sizes: Vec<Size>,
    pub layout: Layout,
    pub kind: Kind,
}

impl Input {
    /// Returns the sizes under a binding.
    pub fn sizes_at(&self, binding: &[i64]) -> Vec<usize> {
        self.sizes.iter().map(|s| usize::try_from(s.at(binding)).unwrap_or(0)).collect()
    }

    /// Returns the strides under a binding.
    pub fn strides_at(&self, binding: &[i64]) -> Vec<usize> {
        let sizes = self.sizes_at(binding);
        let (order, gap) = match &self.layout {
            Layout::Rows => ((0..sizes.len()).collect(), 1),
            Layout::Stated(order, gap) => (order.clone(), *gap as usize),
        };
        let mut strides = vec![0; sizes.len()];
        let mut step = gap;
        for d in order.into_iter().rev() {
            strides[d] = step;
            // Without elements PyTorch counts a size of 0 as 1.
            step *= if matches!(self.layout, Layout::Rows) { sizes[d].max(1) } else { sizes[d] };
        }
        strides
    }

    fn note(&self) -> String {
        if self.dtype == "int" {
            return format!("Sym({})", self.sizes[0].print());
        }
        let sizes: Vec<String> = self.sizes.iter().map(|s| s.print()).collect();
        let mut out = format!("{}[{}]", self.dtype, sizes.join(", "));
        if let Layout::Stated(order, gap) = &self.layout {
            let mut strides = vec![String::new(); sizes.len()];
            let (mut number, mut names) = (*gap, Vec::new());
            for d in order.iter().rev() {
                let mut parts: Vec<String> = names.clone();
                if number != 1 || parts.is_empty() {
                    parts.insert(0, number.to_string());
                }
                strides[*d] = parts.join("*");
                number *= self.sizes[*d].times;
                names.extend(self.sizes[*d].symbol.map(|s| format!("s{s}")));
            }
            let _ = write!(out, "[{}]", strides.join(", "));
        }
        out
    }
}

/// A sub-graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Body {
    pub name: String,
    pub params: Vec<String>,
    /// Annotations of the parameters; none: nothing is annotated.
    pub notes: Vec<String>,
    pub nodes: Vec<Node>,
    pub outs: Vec<A>,
}

impl Body {
    fn signature(&self) -> String {
        let note = |k: usize| self.notes.get(k).map_or(String::new(), |n| format!(": \"{n}\""));
        self.params.iter().enumerate().map(|(k, p)| format!(", {p}{}", note(k))).collect()
    }
}

/// What the program returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Out {
    pub value: A,
    /// The input that becomes this in the end; `None`: the user's.
    pub mutates: Option<String>,
}

/// A program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    pub inputs: Vec<Input>,
    pub bodies: Vec<Body>,
    pub nodes: Vec<Node>,
    pub outs: Vec<Out>,
    /// Ranges of `s0`, `s1` ...; no end: any size.
    pub ranges: Vec<(i64, Option<i64>)>,
    /// Inputs that may be the same memory.
    pub may_alias: Vec<(String, String)>,
}

impl Program {
    /// Returns the node's place.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|n| n.name == name)
    }

    /// Returns a name that nobody has.
    pub fn free(&self, wanted: &str) -> String {
        let taken = |n: &str| {
            self.inputs.iter().any(|i| i.name == n)
                || self.nodes.iter().any(|m| m.name == n)
                || self.bodies.iter().any(|b| b.name == n)
        };
        (0..).map(|k| format!("{wanted}_{k}")).find(|n| !taken(n)).unwrap()
    }

    /// Returns whether a name is used by a node or returned.
    pub fn is_used(&self, name: &str) -> bool {
        let mut out = false;
        self.outs.iter().for_each(|o| o.value.each(&mut |n| out |= n == name));
        out || self.nodes.iter().any(|n| n.uses(name))
    }

    /// Replaces a name by another argument in nodes from `from` on, and in what is returned.
    pub fn put_from(&mut self, from: usize, old: &str, new: &A) {
        self.nodes.iter_mut().skip(from).for_each(|n| n.put(old, new));
        self.outs.iter_mut().for_each(|o| o.value.put(old, new));
    }

    /// Prints the program. With `plain` every input is the user's, and mutations are outputs like others: what is run.
    pub fn text(&self, plain: bool) -> String {
        let mut s = String::from("ExportedProgram:\n    class GraphModule(torch.nn.Module):\n        def forward(self");
        for input in &self.inputs {
            let _ = write!(s, ", {}: \"{}\"", input.name, input.note());
        }
        s += "):\n";
        let lines = |s: &mut String, pad: &str, nodes: &[Node], outs: Vec<&A>| {
            for node in nodes {
                let _ = writeln!(s, "{pad}{}", node.print());
            }
            let outs: Vec<String> = outs.into_iter().map(A::print).collect();
            let _ = writeln!(s, "{pad}return ({}{})", outs.join(", "), if outs.len() == 1 { "," } else { "" });
        };
        lines(&mut s, "            ", &self.nodes, self.outs.iter().map(|o| &o.value).collect());
        for body in &self.bodies {
            let _ = writeln!(s, "\n        class {}(torch.nn.Module):", body.name);
            let _ = writeln!(s, "            def forward(self{}):", body.signature());
            lines(&mut s, "                ", &body.nodes, body.outs.iter().collect());
        }
        s += "\nGraph signature:\n    # inputs\n";
        for input in &self.inputs {
            let kind = match input.kind {
                Kind::Buffer if !plain => format!("BUFFER target='{}' persistent=True", input.name),
                _ => "USER_INPUT".into(),
            };
            let _ = writeln!(s, "    {}: {kind}", input.name);
        }
        s += "\n    # outputs\n";
        for out in &self.outs {
            let name = match &out.value {
                A::N(n) => n.as_str(),
                _ => "",
            };
            let buffer = |n: &str| self.inputs.iter().any(|i| i.name == n && i.kind == Kind::Buffer);
            let kind = match &out.mutates {
                Some(input) if !plain && buffer(input) => format!("BUFFER_MUTATION target='{input}'"),
                Some(input) if !plain => format!("USER_INPUT_MUTATION target='{input}'"),
                _ => "USER_OUTPUT".into(),
            };
            let _ = writeln!(s, "    {name}: {kind}");
        }
        let end = |e: &Option<i64>| e.map_or("int_oo".into(), |e| e.to_string());
        let ranges: Vec<String> =
            self.ranges.iter().enumerate().map(|(k, (low, high))| format!("s{k}: VR[{low}, {}]", end(high))).collect();
        let unbacked = (0..4).filter(|k| s.contains(&format!("u{k}"))).map(|k| format!("u{k}: VR[0, int_oo]"));
        let ranges: Vec<String> = ranges.into_iter().chain(unbacked).collect();
        let _ = writeln!(s, "\nRange constraints: {{{}}}", ranges.join(", "));
        s
    }
}
