//! What must be equal, who asks, and how exactly.
//!
//! Promises: an [`Obligation`] that nothing discharges is a problem of the question that asks, with the nodes at which the graphs part.
//! Leaves to `prove` how two values are shown to be equal.

use crate::term::store::ValueId;
use crate::verify::findings::Problem;
use crate::verify::functional::values::Functional;
use crate::verify::prove::congruence::Congruence;
use crate::verify::prove::widen;
use crate::verify::show::{node_of, side_by_side};
use crate::verify::verdict::Question;

/// What two values are to the caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Owed {
    /// An output, by number.
    Output(usize),
    /// What is found in an input after the call.
    Content(String),
    /// What is found in a tensor of the module after the call.
    AttributeContent(String),
    /// The operands of an ordered effect.
    Effect(String),
    /// What an assertion asks.
    Assertion(String),
}

impl Owed {
    /// Which question asks.
    pub fn question(&self) -> Question {
        match self {
            Owed::Output(_) | Owed::Content(_) | Owed::AttributeContent(_) => Question::Values,
            Owed::Effect(_) | Owed::Assertion(_) => Question::Effects,
        }
    }

    /// Whether equal means bit by bit: effects and assertions see bits, values may be equal over the reals.
    fn is_exact(&self) -> bool {
        self.question() == Question::Effects
    }

    /// What is wrong where it is not shown.
    fn text(&self) -> String {
        match self {
            Owed::Output(number) => format!("output {number} is not shown to be equal"),
            Owed::Content(input) => format!("the final content of `{input}` is not shown to be equal"),
            Owed::AttributeContent(name) => {
                format!("the final content of tensor `{name}` of the module is not shown to be equal")
            }
            Owed::Effect(node) => format!("effect `{node}` is not shown to have the same operands"),
            Owed::Assertion(node) => format!("assertion `{node}` asks something else"),
        }
    }
}

/// Two values, one of each side, that must be equal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Obligation {
    /// What they are.
    pub owed: Owed,
    /// The value of the graph as it was.
    pub before: ValueId,
    /// The value of the graph as it is.
    pub after: ValueId,
}

impl Obligation {
    /// Hands it to the provers, the cheapest first; returns what is wrong where none shows it.
    pub fn discharge(&self, f: &mut Functional<'_>, c: &mut Congruence) -> Option<Problem> {
        let (a, b) = (self.before, self.after);
        let is_shown = if self.owed.is_exact() { widen::equal_exactly(f, c, a, b) } else { widen::equal(f, c, a, b) };
        (!is_shown).then(|| self.problem(f, c))
    }

    fn problem(&self, f: &mut Functional<'_>, c: &Congruence) -> Problem {
        let (x, y) = where_they_part(f, c).unwrap_or((self.before, self.after));
        let (shown, names) = side_by_side(f, x, y);
        let what = self.owed.text();
        let reason = match names.as_slice() {
            [] => what,
            _ if c.is_exhausted() => format!("{what}: the budget of comparisons ran out"),
            names => format!("{what}: the graphs part at `{}`", names.join("` and `")),
        };
        Problem { differing: Some(shown), ..Problem::unknown(self.owed.question(), reason).at(names) }
    }
}

/// The innermost pair that differs and that the edit touched: where an untouched `x` stands for an untouched `y`, the node
/// that uses them is the one that was edited.
fn where_they_part(f: &mut Functional<'_>, c: &Congruence) -> Option<(ValueId, ValueId)> {
    let first = c.first_difference?;
    let touched = |f: &mut Functional<'_>, id: ValueId| node_of(f, id).is_none_or(|(_, n)| !f.is_untouched(n));
    let mut pairs = std::iter::once(first).chain(c.around.iter().copied());
    pairs.find(|(x, y)| touched(f, *x) || touched(f, *y)).or(Some(first))
}
