//! What a call does beyond its results: reads, writes, aliasing, random draws, side effects.
//!
//! Promises: [`Effects`] are derived from the schema's alias marks and from the marks of its table line, so that they
//! cannot disagree with the schema; an operator that nobody described is [`Effects::opaque`]: anything may happen.
//! Leaves to `analysis`: which storages the named operands are.

use smallvec::SmallVec;

use crate::ops::facts::Facts;
use crate::ops::schema::{Alias, Schema};

/// What a call does that no result shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SideEffect {
    /// May raise: assertions.
    Assert,
    /// Shows something to a person.
    Print,
    /// Talks with other devices: the order across ranks counts.
    Collective,
    /// Changes which stream or scope following nodes run in, or orders streams.
    Stream,
    /// Records an event that others may wait for; without users it does nothing.
    Record,
    /// Touches caches of the device, no values.
    Prefetch,
    /// Runs bodies: what these do.
    Control,
}

impl SideEffect {
    const NAMES: &'static [(&'static str, SideEffect)] = &[
        ("assert", SideEffect::Assert),
        ("print", SideEffect::Print),
        ("collective", SideEffect::Collective),
        ("stream", SideEffect::Stream),
        ("record", SideEffect::Record),
        ("prefetch", SideEffect::Prefetch),
        ("control", SideEffect::Control),
    ];

    /// Returns the effect of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, e)| *e)
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, e)| *e == self).map_or("", |(n, _)| n)
    }
}

/// What a call does to the memory of one argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Access {
    /// Whether it is read. A tensor argument always counts as read, also where an operator overwrites it.
    pub reads: bool,
    /// Whether it is written.
    pub writes: bool,
    /// Whether the published schema keeps silent about the write.
    pub hidden: bool,
}

/// Whether a result shares memory with an argument.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sharing {
    /// It is the argument itself (`add_`).
    Same,
    /// It is a view of the argument.
    View,
    /// It is a view, the argument itself or a copy, by sizes, strides and other arguments (`reshape`, `to.dtype`).
    Maybe,
}

/// A result that may lie in an argument's memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReturnAlias {
    /// The argument, as an index of the schema's parameters.
    pub param: usize,
    /// How.
    pub sharing: Sharing,
}

/// All effects of an operator.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Effects {
    /// One a parameter of the schema.
    pub params: Box<[Access]>,
    /// One a result of the schema: the arguments that it may share memory with. Empty: fresh memory.
    pub returns: Box<[SmallVec<[ReturnAlias; 1]>]>,
    /// Whether it draws random numbers.
    pub random: bool,
    /// What else it does.
    pub side: Option<SideEffect>,
    /// Nobody described the operator: it may do anything to anything.
    pub opaque: bool,
}

impl Effects {
    /// Returns the effects of an operator that nobody described.
    pub fn opaque() -> Self {
        Effects { opaque: true, ..Effects::default() }
    }

    /// Returns whether the call is a function of its arguments and leaves no trace. Views are pure in this sense.
    pub fn is_pure(&self) -> bool {
        !self.opaque && !self.random && self.side.is_none() && !self.writes()
    }

    /// Returns whether some argument is written.
    pub fn writes(&self) -> bool {
        self.params.iter().any(|p| p.writes)
    }

    /// Returns whether nothing is lost where the results are unused. A record without users orders nothing.
    pub fn may_be_dropped(&self) -> bool {
        !self.opaque && !self.random && !self.writes() && matches!(self.side, None | Some(SideEffect::Record))
    }

    /// Returns the parameter that the first result surely is a view of (or is).
    pub fn view_of(&self) -> Option<usize> {
        match self.returns.first()?.as_slice() {
            [one] if one.sharing != Sharing::Maybe => Some(one.param),
            _ => None,
        }
    }
}

/// Marks beside a schema in a table; see `table`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Marks {
    /// Draws random numbers.
    pub random: bool,
    /// The alias marks of results hold only sometimes.
    pub may_alias: bool,
    /// A parameter that every result may share memory with, though the schema does not say so.
    pub may_return: Option<String>,
    /// Parameters written though the schema does not say so.
    pub writes: Vec<String>,
    /// A side effect.
    pub effect: Option<SideEffect>,
    /// The first two tensor arguments may be exchanged, bit for bit.
    pub commutes: bool,
    /// Applies element by element.
    pub pointwise: bool,
    /// What else is stated.
    pub facts: Facts,
}

fn meets(a: &Alias, b: &Alias) -> bool {
    a.before.iter().any(|x| b.before.contains(x) || b.after.contains(x))
}

impl Effects {
    /// Derives the effects of a schema with its marks.
    pub fn derive(schema: &Schema, marks: &Marks) -> Self {
        let params = schema.params.iter().map(|p| {
            let marked = p.ty.alias.as_ref().is_some_and(|a| a.writes);
            let hidden = marks.writes.iter().any(|w| **w == *p.name);
            Access { reads: p.ty.holds_tensors(), writes: marked || hidden, hidden: hidden && !marked }
        });
        let returns = schema.returns.iter().map(|r| {
            let mut out = SmallVec::new();
            for (param, p) in schema.params.iter().enumerate() {
                match (&r.ty.alias, &p.ty.alias) {
                    (Some(result), Some(argument)) if meets(result, argument) => {
                        let sharing = match (marks.may_alias, argument.writes) {
                            (true, _) => Sharing::Maybe,
                            (false, true) => Sharing::Same,
                            (false, false) => Sharing::View,
                        };
                        out.push(ReturnAlias { param, sharing });
                    }
                    _ if marks.may_return.as_deref() == Some(&*p.name) => {
                        out.push(ReturnAlias { param, sharing: Sharing::Maybe });
                    }
                    _ => {}
                }
            }
            out
        });
        Effects {
            params: params.collect(),
            returns: returns.collect(),
            random: marks.random,
            side: marks.effect,
            opaque: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effects(schema: &str, marks: Marks) -> Effects {
        Effects::derive(&Schema::parse(schema).unwrap(), &marks)
    }

    #[test]
    fn an_in_place_operator_writes_and_returns_its_argument() {
        let e = effects("aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)", Marks::default());
        assert!(e.params[0].writes && !e.params[1].writes);
        assert_eq!(e.returns[0].as_slice(), [ReturnAlias { param: 0, sharing: Sharing::Same }]);
        assert!(!e.is_pure());
    }

    #[test]
    fn a_view_shares_and_a_wildcard_names_the_same_memory() {
        let e = effects("aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]", Marks::default());
        assert_eq!(e.view_of(), Some(0));
        assert!(e.is_pure());
        let e = effects("aten::relu(Tensor self) -> Tensor", Marks::default());
        assert_eq!(e.view_of(), None);
    }

    #[test]
    fn a_conditional_view_is_never_a_sure_one() {
        let marks = Marks { may_alias: true, ..Marks::default() };
        let e = effects("aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", marks);
        assert_eq!((e.view_of(), e.returns[0][0].sharing), (None, Sharing::Maybe));
    }

    #[test]
    fn a_hidden_write_is_a_write() {
        let marks = Marks { writes: vec!["query".into()], ..Marks::default() };
        let e = effects("npu::rope(Tensor query, Tensor cos) -> Tensor", marks);
        assert!(e.params[0].writes && e.params[0].hidden && e.writes() && !e.params[1].writes);
    }
}
