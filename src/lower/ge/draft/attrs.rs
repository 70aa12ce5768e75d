//! Attributes of an operator in the making, ordered by name as the messages have them.
//!
//! Defaults are those of the table of operators, held once; what follows from descriptors is held as that alone.

use std::borrow::Cow;

use crate::lower::ge::proto::AttrDef;

/// The value of an attribute.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// The operator's default.
    Default(&'static AttrDef),
    Own(Box<AttrDef>),
    /// The names of the descriptors of its inputs, or of its outputs.
    Names(Side),
    /// Their numbers.
    Numbers(Side),
}

/// Which descriptors.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Inputs,
    Outputs,
}

/// Attributes by name.
#[derive(Clone, Debug, Default)]
pub(in crate::lower::ge) struct Attrs(Vec<(Cow<'static, str>, Held)>);

impl Attrs {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Held)> {
        self.0.iter().map(|(key, held)| (&**key, held))
    }

    /// Returns the value of an attribute that is not derived.
    pub(in crate::lower::ge) fn get(&self, name: &str) -> Option<&AttrDef> {
        let at = self.place(name).ok()?;
        match &self.0.get(at)?.1 {
            Held::Default(value) => Some(value),
            Held::Own(value) => Some(value),
            Held::Names(_) | Held::Numbers(_) => None,
        }
    }

    /// Returns the value of an attribute to be changed, which is made where it is not there.
    pub(in crate::lower::ge) fn entry(&mut self, name: &'static str, or: impl Into<AttrDef>) -> Option<&mut AttrDef> {
        match self.get(name).cloned() {
            Some(there) => self.insert(name, there),
            None => self.insert(name, or),
        }
        let at = self.place(name).ok()?;
        match &mut self.0.get_mut(at)?.1 {
            Held::Own(value) => Some(value),
            _ => None,
        }
    }

    pub(in crate::lower::ge) fn insert(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<AttrDef>) {
        self.put(name.into(), Held::Own(Box::new(value.into())));
    }

    pub(in crate::lower::ge) fn insert_default(&mut self, name: &'static str, value: &'static AttrDef) {
        self.put(Cow::Borrowed(name), Held::Default(value));
    }

    /// Adds what follows from the descriptors.
    pub(in crate::lower::ge) fn derive(&mut self) {
        let derived = [
            ("_input_name_key", Held::Names(Side::Inputs)),
            ("_input_name_value", Held::Numbers(Side::Inputs)),
            ("_output_name_key", Held::Names(Side::Outputs)),
            ("_output_name_value", Held::Numbers(Side::Outputs)),
        ]
        .map(|(name, held)| (Cow::Borrowed(name), held));
        // They are in order, and mostly come before all others.
        if self.0.first().is_none_or(|(first, _)| **first > *"_output_name_value") {
            drop(self.0.splice(..0, derived));
            return;
        }
        for (name, held) in derived {
            self.put(name, held);
        }
    }

    pub(in crate::lower::ge) fn remove(&mut self, name: &str) {
        if let Ok(at) = self.place(name) {
            self.0.remove(at);
        }
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(key, _)| (**key).cmp(name))
    }

    fn put(&mut self, name: Cow<'static, str>, held: Held) {
        match self.place(&name) {
            Ok(at) => {
                if let Some(entry) = self.0.get_mut(at) {
                    entry.1 = held;
                }
            }
            Err(at) => self.0.insert(at, (name, held)),
        }
    }
}
