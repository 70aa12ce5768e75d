//! Guests that hand over edits: values of the contract laid out in linear memory as the canonical ABI wants them.

use std::fmt::Write;

/// Where values begin; `cabi_realloc` gives out memory from 64 KiB.
const BASE: usize = 8 << 10;
const END: usize = 60 << 10;

/// A node.
#[derive(Clone, Copy)]
pub enum N {
    /// Of the model's own graph, in order, as it was when the guest began.
    Of(u32),
    /// Of the first sub-graph.
    Inner(u32),
    /// A number.
    Raw(u64),
    /// The one that this insertion of the batch makes.
    New(u64),
}

/// An argument that is no list.
#[derive(Clone, Copy)]
pub enum S<'a> {
    None,
    Node(N),
    Int(i64),
    /// The bits of a float.
    Float(u64),
    Complex(u64, u64),
    Bool(u8),
    Str(&'a str),
    Dtype(&'a str),
    Device(&'a str),
    Layout(&'a str),
    Format(&'a str),
    Operator(&'a str),
    Other(&'a str),
    /// A case that there is not.
    Beyond,
}

/// An argument.
#[derive(Clone)]
pub enum A<'a> {
    One(S<'a>),
    Many(Vec<S<'a>>),
}

/// A place.
#[derive(Clone, Copy)]
pub enum P {
    Before(N),
    After(N),
    Start(u32),
    End(u32),
}

/// An edit.
#[derive(Clone)]
pub enum E<'a> {
    Insert(P, &'a str, Vec<A<'a>>, Vec<(&'a str, A<'a>)>, Option<&'a str>),
    SetArgs(N, Vec<A<'a>>, Vec<(&'a str, A<'a>)>),
    SetTarget(N, &'a str),
    Uses(N, N),
    UsesIn(N, N, Vec<N>),
    Move(N, P),
    Erase(N),
    Note(N, &'a str, Option<&'a str>),
    /// A case that there is not.
    Beyond,
}

/// Returns the inside of a module that makes these batches one after another, and logs why one is refused. All of them are made so often.
pub fn guest(batches: &[Vec<E<'_>>], times: u32) -> String {
    let mut memory = Memory::default();
    let lists: Vec<(usize, usize)> = batches.iter().map(|b| memory.edits(b)).collect();
    let mut text = String::from(
        "(import \"airlock:pass/graph@0.1.0\" \"nodes\" (func $nodes (param i32 i32)))\n\
         (import \"airlock:pass/graph@0.1.0\" \"apply\" (func $apply (param i32 i32 i32)))\n\
         (import \"airlock:pass/host@0.1.0\" \"log\" (func $log (param i32 i32 i32)))\n",
    );
    let hex: String = memory.bytes.iter().fold(String::new(), |mut hex, b| {
        let _ = write!(hex, "\\{b:02x}");
        hex
    });
    let _ = writeln!(text, "(data (i32.const {BASE}) \"{hex}\")");
    text.push_str(
        "(func (export \"airlock:pass/pass@0.1.0#run\") (param i32 i32) (result i32) (local $left i32)\n\
         (call $nodes (i32.const 0) (i32.const 4200)) (call $nodes (i32.const 1) (i32.const 4208))\n",
    );
    for (at, list, position) in &memory.patches {
        let node = format!("(i64.load (i32.add (i32.load (i32.const {list})) (i32.const {})))", position * 8);
        let _ = writeln!(text, "(i64.store (i32.const {at}) {node})");
    }
    let _ = writeln!(text, "(local.set $left (i32.const {times})) (loop $again");
    for (at, len) in lists {
        // Of a result: the case at 0, the message of its error at 52.
        let _ = writeln!(
            text,
            "(call $apply (i32.const {at}) (i32.const {len}) (i32.const 4304))\n\
             (if (i32.load8_u (i32.const 4304)) (then (call $log (i32.const 2) (i32.load (i32.const 4356)) (i32.load (i32.const 4360)))))"
        );
    }
    text.push_str("(br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))\n(i32.const 2048))");
    text
}

/// Linear memory from [`BASE`] on, and where ids of nodes are filled in when the guest knows them.
#[derive(Default)]
struct Memory {
    bytes: Vec<u8>,
    patches: Vec<(usize, u32, u32)>,
}

impl Memory {
    /// Sets room aside.
    fn room(&mut self, len: usize) -> usize {
        let at = self.bytes.len().next_multiple_of(8);
        self.bytes.resize(at + len, 0);
        assert!(BASE + self.bytes.len() < END, "too large to lie here");
        BASE + at
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at - BASE..at - BASE + bytes.len()].copy_from_slice(bytes);
    }

    fn word(&mut self, at: usize, value: usize) {
        self.put(at, &u32::try_from(value).unwrap().to_le_bytes());
    }

    fn text(&mut self, at: usize, text: &str) {
        let place = self.room(text.len());
        self.put(place, text.as_bytes());
        self.list(at, place, text.len());
    }

    fn list(&mut self, at: usize, place: usize, len: usize) {
        self.word(at, place);
        self.word(at + 4, len);
    }

    fn optional(&mut self, at: usize, text: Option<&str>) {
        if let Some(text) = text {
            self.put(at, &[1]);
            self.text(at + 4, text);
        }
    }

    fn node(&mut self, at: usize, node: N) {
        match node {
            N::Of(position) => self.patches.push((at, 4200, position)),
            N::Inner(position) => self.patches.push((at, 4208, position)),
            N::Raw(id) => self.put(at, &id.to_le_bytes()),
            N::New(position) => self.put(at, &((1 << 63) + position).to_le_bytes()),
        }
    }

    fn scalar(&mut self, at: usize, scalar: S<'_>) {
        let place = at + 8;
        let case = match scalar {
            S::None => 0,
            S::Node(node) => {
                self.node(place, node);
                1
            }
            S::Int(v) => {
                self.put(place, &v.to_le_bytes());
                2
            }
            S::Float(bits) => {
                self.put(place, &bits.to_le_bytes());
                3
            }
            S::Complex(re, im) => {
                self.put(place, &re.to_le_bytes());
                self.put(place + 8, &im.to_le_bytes());
                4
            }
            S::Bool(v) => {
                self.put(place, &[v]);
                5
            }
            S::Str(text) => self.cased(place, text, 6),
            S::Dtype(text) => self.cased(place, text, 7),
            S::Device(text) => self.cased(place, text, 8),
            S::Layout(text) => self.cased(place, text, 9),
            S::Format(text) => self.cased(place, text, 10),
            S::Operator(text) => self.cased(place, text, 11),
            S::Other(text) => self.cased(place, text, 12),
            S::Beyond => 200,
        };
        self.put(at, &[case]);
    }

    fn cased(&mut self, at: usize, text: &str, case: u8) -> u8 {
        self.text(at, text);
        case
    }

    fn arg(&mut self, at: usize, arg: &A<'_>) {
        match arg {
            A::One(scalar) => self.scalar(at + 8, *scalar),
            A::Many(items) => {
                self.put(at, &[1]);
                let place = self.room(items.len() * 24);
                items.iter().enumerate().for_each(|(i, item)| self.scalar(place + i * 24, *item));
                self.list(at + 8, place, items.len());
            }
        }
    }

    /// Lists of positional and of keyword arguments, side by side.
    fn args(&mut self, at: usize, args: &[A<'_>], kwargs: &[(&str, A<'_>)]) {
        let place = self.room(args.len() * 32);
        args.iter().enumerate().for_each(|(i, arg)| self.arg(place + i * 32, arg));
        self.list(at, place, args.len());
        let place = self.room(kwargs.len() * 40);
        for (i, (name, arg)) in kwargs.iter().enumerate() {
            self.text(place + i * 40, name);
            self.arg(place + i * 40 + 8, arg);
        }
        self.list(at + 8, place, kwargs.len());
    }

    fn point(&mut self, at: usize, point: P) {
        match point {
            P::Before(n) => self.node(at + 8, n),
            P::After(n) => {
                self.put(at, &[1]);
                self.node(at + 8, n);
            }
            P::Start(g) => {
                self.put(at, &[2]);
                self.word(at + 8, g as usize);
            }
            P::End(g) => {
                self.put(at, &[3]);
                self.word(at + 8, g as usize);
            }
        }
    }

    fn edits(&mut self, edits: &[E<'_>]) -> (usize, usize) {
        let place = self.room(edits.len() * 64);
        edits.iter().enumerate().for_each(|(i, edit)| self.edit(place + i * 64, edit));
        (place, edits.len())
    }

    fn edit(&mut self, at: usize, edit: &E<'_>) {
        let place = at + 8;
        let case = match edit {
            E::Insert(point, target, args, kwargs, name) => {
                self.point(place, *point);
                self.text(place + 16, target);
                self.args(place + 24, args, kwargs);
                self.optional(place + 40, *name);
                0
            }
            E::SetArgs(node, args, kwargs) => {
                self.node(place, *node);
                self.args(place + 8, args, kwargs);
                1
            }
            E::SetTarget(node, target) => {
                self.node(place, *node);
                self.text(place + 8, target);
                2
            }
            E::Uses(old, new) => {
                self.node(place, *old);
                self.node(place + 8, *new);
                3
            }
            E::UsesIn(old, new, users) => {
                self.node(place, *old);
                self.node(place + 8, *new);
                let list = self.room(users.len() * 8);
                users.iter().enumerate().for_each(|(i, user)| self.node(list + i * 8, *user));
                self.list(place + 16, list, users.len());
                4
            }
            E::Move(node, point) => {
                self.node(place, *node);
                self.point(place + 8, *point);
                5
            }
            E::Erase(node) => {
                self.node(place, *node);
                6
            }
            E::Note(node, key, value) => {
                self.node(place, *node);
                self.text(place + 8, key);
                self.optional(place + 16, *value);
                7
            }
            E::Beyond => 99,
        };
        self.put(at, &[case]);
    }
}
