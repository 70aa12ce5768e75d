//! The stack machine: one pass over the opcodes, one table of values, a stack of ids, a stack of marks, a memo.
//!
//! Promises: every opcode makes at most one value and costs what its operands cost, which are taken from the stack; an opcode never
//! reaches below the last mark; the memo has as many entries as were put, whatever their numbers.

use std::collections::BTreeMap;

use super::call::Call;
use super::error::PickleError;
use super::global::Global;
use super::value::{Pickle, Value, ValueId, at};

/// The largest pickle that is read: some 300,000 named tensors.
pub const LARGEST: usize = 1 << 26;

/// Names of opcodes that are refused, for messages.
const REFUSED: &[(u8, &str)] = &[
    (b'b', "BUILD"),
    (b'i', "INST"),
    (b'o', "OBJ"),
    (b'P', "PERSID"),
    (b'0', "POP"),
    (b'1', "POP_MARK"),
    (b'2', "DUP"),
    (b'T', "BINSTRING"),
    (b'U', "SHORT_BINSTRING"),
    (b'B', "BINBYTES"),
    (b'C', "SHORT_BINBYTES"),
    (0x81, "NEWOBJ"),
    (0x82, "EXT1"),
    (0x83, "EXT2"),
    (0x84, "EXT4"),
    (0x8b, "LONG4"),
    (0x8c, "SHORT_BINUNICODE"),
    (0x8f, "EMPTY_SET"),
    (0x92, "NEWOBJ_EX"),
    (0x93, "STACK_GLOBAL"),
    (0x94, "MEMOIZE"),
    (0x95, "FRAME"),
];

/// Reads a pickle: what it holds, or why it is not read.
pub fn read(pickle: &[u8]) -> Result<Pickle<'_>, PickleError> {
    if pickle.len() > LARGEST {
        return Err(PickleError::TooLarge { found: pickle.len(), limit: LARGEST });
    }
    match pickle {
        [0x80, 2, ..] => {}
        [] => return Err(PickleError::Protocol { found: "nothing".to_string() }),
        [0x80, version, ..] => return Err(PickleError::Protocol { found: format!("protocol {version}") }),
        [first, ..] => return Err(PickleError::Protocol { found: format!("byte 0x{first:02x}") }),
    }
    let mut machine = Machine {
        bytes: pickle,
        next: 2,
        place: 0,
        values: Vec::new(),
        stack: Vec::new(),
        marks: Vec::new(),
        memo: BTreeMap::new(),
    };
    loop {
        if let Some(root) = machine.step()? {
            return Ok(Pickle { values: machine.values, root });
        }
    }
}

struct Machine<'p> {
    bytes: &'p [u8],
    /// Where the next byte is read.
    next: usize,
    /// Where the opcode stands.
    place: usize,
    values: Vec<Value<'p>>,
    stack: Vec<ValueId>,
    /// How long the stack was at each mark.
    marks: Vec<usize>,
    memo: BTreeMap<u32, ValueId>,
}

impl<'p> Machine<'p> {
    /// Runs one opcode. Returns the result at the end.
    fn step(&mut self) -> Result<Option<ValueId>, PickleError> {
        self.place = self.next;
        let [opcode] = self.take("the program")?;
        match opcode {
            b'.' => return self.pop("STOP").map(Some),
            b'(' => self.marks.push(self.stack.len()),
            b'N' => self.push(Value::None),
            0x88 => self.push(Value::Bool(true)),
            0x89 => self.push(Value::Bool(false)),
            b'}' => self.push(Value::Dict(Vec::new())),
            b']' => self.push(Value::List(Vec::new())),
            b')' => self.push(Value::Tuple(Box::default())),
            b'K' => self.take("BININT1").map(|b| self.push(Value::Int(u8::from_le_bytes(b).into())))?,
            b'M' => self.take("BININT2").map(|b| self.push(Value::Int(u16::from_le_bytes(b).into())))?,
            b'J' => self.take("BININT").map(|b| self.push(Value::Int(i32::from_le_bytes(b).into())))?,
            b'G' => self.take("BINFLOAT").map(|b| self.push(Value::Float(f64::from_be_bytes(b))))?,
            0x8a => self.long()?,
            b'X' => self.text()?,
            b'q' => self.take("BINPUT").and_then(|b| self.put("BINPUT", u8::from_le_bytes(b).into()))?,
            b'r' => self.take("LONG_BINPUT").and_then(|b| self.put("LONG_BINPUT", u32::from_le_bytes(b)))?,
            b'h' => self.take("BINGET").and_then(|b| self.get("BINGET", u8::from_le_bytes(b).into()))?,
            b'j' => self.take("LONG_BINGET").and_then(|b| self.get("LONG_BINGET", u32::from_le_bytes(b)))?,
            b't' => {
                let items = self.since_mark("TUPLE")?;
                self.push(Value::Tuple(items.into()));
            }
            0x85 => self.tuple("TUPLE1", 1)?,
            0x86 => self.tuple("TUPLE2", 2)?,
            0x87 => self.tuple("TUPLE3", 3)?,
            b'c' => self.global()?,
            b'Q' => self.persistent()?,
            b'R' => self.reduce()?,
            b's' => {
                let (value, key) = (self.pop("SETITEM")?, self.pop("SETITEM")?);
                self.set("SETITEM", &[key, value])?;
            }
            b'u' => {
                let items = self.since_mark("SETITEMS")?;
                self.set("SETITEMS", &items)?;
            }
            b'a' => {
                let item = self.pop("APPEND")?;
                self.append("APPEND", &[item])?;
            }
            b'e' => {
                let items = self.since_mark("APPENDS")?;
                self.append("APPENDS", &items)?;
            }
            other => return Err(self.refused(other)),
        }
        Ok(None)
    }

    fn refused(&self, opcode: u8) -> PickleError {
        let known = REFUSED.iter().find(|(byte, _)| *byte == opcode).map(|(_, name)| name.to_string());
        PickleError::Opcode { at: self.place, opcode: known.unwrap_or_else(|| format!("0x{opcode:02x}")) }
    }

    /// Takes the next bytes.
    fn take<const N: usize>(&mut self, within: &'static str) -> Result<[u8; N], PickleError> {
        let bytes = self.slice(N, within)?;
        bytes.try_into().map_err(|_| PickleError::Truncated { at: self.place, within })
    }

    fn slice(&mut self, len: usize, within: &'static str) -> Result<&'p [u8], PickleError> {
        let end = self.next.saturating_add(len);
        let bytes = self.bytes.get(self.next..end).ok_or(PickleError::Truncated { at: self.place, within })?;
        self.next = end;
        Ok(bytes)
    }

    /// Takes a line, without its end.
    fn line(&mut self) -> Result<&'p [u8], PickleError> {
        let rest = self.bytes.get(self.next..).unwrap_or_default();
        let len = rest.iter().position(|b| *b == b'\n');
        let len = len.ok_or(PickleError::Truncated { at: self.place, within: "GLOBAL" })?;
        let line = self.slice(len, "GLOBAL")?;
        self.slice(1, "GLOBAL")?;
        Ok(line)
    }

    fn push(&mut self, value: Value<'p>) {
        // There are at most as many values as bytes, of which LARGEST are read.
        let id = ValueId(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        self.values.push(value);
        self.stack.push(id);
    }

    fn pop(&mut self, opcode: &'static str) -> Result<ValueId, PickleError> {
        self.peek(opcode)?;
        self.stack.pop().ok_or(PickleError::Stack { at: self.place, opcode, found: "an empty stack" })
    }

    /// Returns the top of the stack, which lies above the last mark.
    fn peek(&self, opcode: &'static str) -> Result<ValueId, PickleError> {
        let empty = |found| PickleError::Stack { at: self.place, opcode, found };
        if self.marks.last().is_some_and(|mark| self.stack.len() <= *mark) {
            return Err(empty("a mark"));
        }
        self.stack.last().copied().ok_or_else(|| empty("an empty stack"))
    }

    fn since_mark(&mut self, opcode: &'static str) -> Result<Vec<ValueId>, PickleError> {
        let mark = self.marks.pop().ok_or(PickleError::Stack { at: self.place, opcode, found: "no mark" })?;
        // Nothing pops below a mark, so the stack reaches it.
        Ok(self.stack.split_off(mark.min(self.stack.len())))
    }

    fn tuple(&mut self, opcode: &'static str, len: usize) -> Result<(), PickleError> {
        let mut items = Vec::with_capacity(len);
        for _ in 0..len {
            items.push(self.pop(opcode)?);
        }
        items.reverse();
        self.push(Value::Tuple(items.into()));
        Ok(())
    }

    fn long(&mut self) -> Result<(), PickleError> {
        let [len] = self.take("LONG1")?;
        let bytes = self.slice(len.into(), "LONG1")?;
        // Two's complement, as short as it can be: the sign fills what is missing.
        let sign = if bytes.last().is_some_and(|b| *b >= 0x80) { 0xff } else { 0 };
        let mut whole = [sign; 8];
        match whole.get_mut(..bytes.len()) {
            Some(low) => low.copy_from_slice(bytes),
            None => return Err(PickleError::Integer { at: self.place }),
        }
        self.push(Value::Int(i64::from_le_bytes(whole)));
        Ok(())
    }

    fn text(&mut self) -> Result<(), PickleError> {
        let len = u32::from_le_bytes(self.take("BINUNICODE")?);
        let bytes = self.slice(usize::try_from(len).unwrap_or(usize::MAX), "BINUNICODE")?;
        let text = std::str::from_utf8(bytes).map_err(|_| PickleError::Text { at: self.place })?;
        self.push(Value::Text(text));
        Ok(())
    }

    fn put(&mut self, opcode: &'static str, index: u32) -> Result<(), PickleError> {
        let id = self.peek(opcode)?;
        self.memo.insert(index, id);
        Ok(())
    }

    fn get(&mut self, opcode: &'static str, index: u32) -> Result<(), PickleError> {
        let id = self.memo.get(&index).copied();
        self.stack.push(id.ok_or(PickleError::Memo { at: self.place, opcode, index })?);
        Ok(())
    }

    fn global(&mut self) -> Result<(), PickleError> {
        let (module, name) = (self.line()?, self.line()?);
        let known = match (std::str::from_utf8(module), std::str::from_utf8(name)) {
            (Ok(module), Ok(name)) => Global::find(module, name),
            _ => None,
        };
        let global = known.ok_or_else(|| PickleError::Global {
            at: self.place,
            name: format!("{}.{}", shown(module), shown(name)),
        })?;
        self.push(Value::Global(global));
        Ok(())
    }

    fn persistent(&mut self) -> Result<(), PickleError> {
        let id = self.pop("BINPERSID")?;
        let storage = Call::new(&self.values, id, "a persistent id", self.place)?.storage()?;
        self.push(storage);
        Ok(())
    }

    fn reduce(&mut self) -> Result<(), PickleError> {
        let (operands, function) = (self.pop("REDUCE")?, self.pop("REDUCE")?);
        let function = match at(&self.values, function) {
            Value::Global(global) => *global,
            other => {
                return Err(PickleError::Operand {
                    at: self.place,
                    of: "REDUCE",
                    part: "function",
                    expected: "a function that rebuilds a tensor",
                    found: other.kind(),
                });
            }
        };
        let value = Call::new(&self.values, operands, function.name(), self.place)?.result(function)?;
        self.push(value);
        Ok(())
    }

    /// Returns the container on top of the stack.
    fn container(&mut self, opcode: &'static str) -> Result<&mut Value<'p>, PickleError> {
        let id = self.peek(opcode)?;
        let place = usize::try_from(id.0).unwrap_or(usize::MAX);
        self.values.get_mut(place).ok_or(PickleError::Stack { at: self.place, opcode, found: "no value" })
    }

    fn set(&mut self, opcode: &'static str, items: &[ValueId]) -> Result<(), PickleError> {
        let place = self.place;
        let (pairs, []) = items.as_chunks::<2>() else {
            return Err(PickleError::Stack { at: place, opcode, found: "a key without a value" });
        };
        match self.container(opcode)? {
            Value::Dict(dict) => dict.extend(pairs.iter().map(|[key, value]| (*key, *value))),
            other => {
                let found = other.kind();
                return Err(PickleError::Operand {
                    at: place,
                    of: opcode,
                    part: "container",
                    expected: "a dictionary",
                    found,
                });
            }
        }
        Ok(())
    }

    fn append(&mut self, opcode: &'static str, items: &[ValueId]) -> Result<(), PickleError> {
        let place = self.place;
        match self.container(opcode)? {
            Value::List(list) => list.extend(items),
            other => {
                let found = other.kind();
                return Err(PickleError::Operand {
                    at: place,
                    of: opcode,
                    part: "container",
                    expected: "a list",
                    found,
                });
            }
        }
        Ok(())
    }
}

/// Returns a name as a message can hold it.
fn shown(name: &[u8]) -> String {
    const LONGEST: usize = 80;
    let text = String::from_utf8_lossy(name.get(..LONGEST).unwrap_or(name)).into_owned();
    let text: String = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if name.len() > LONGEST { format!("{text}...") } else { text }
}
