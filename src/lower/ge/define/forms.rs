//! What a slot or an attribute is of a call's arguments: the forms that `fields.txt` writes, and what they give for one call.
//!
//! `argument` is the argument, and GE's own default where that is none; `argument~word` is `word` there. `7`, `0.5`, `'text'` are themselves, `none` is
//! nothing. `case:argument(a:b,*:c)` picks by the argument's value, `none` where it is none; a number of torch's types, or a type, reads as GE names it.
//! The others (`kind:argument~other`) are in [`How`]. `?` is what nobody holds.
//!
//! Promises: what a form gives is computed of the call that was lowered alone; where that cannot be, nothing is given.

use super::{Undefined, undefined};
use crate::graph::{Arg, Dtype, Graph, NodeId, ValueType, View};
use crate::lower::ge::proto::DataType;
use crate::lower::ge::types::{ge_type, of_torch_number};
use crate::ops::{Bound, Schema};
use crate::sym::Dim;

/// How something is computed of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// The type that the argument names; the other's where it names none (`result`: the type of the call's result).
    Type,
    /// The type of the argument, a tensor.
    Own,
    /// The type that the argument names, by its number in descriptors.
    Described,
    /// Which type of its results a product is told: -1 where it is that of the other argument's first tensor.
    Product,
    /// Three numbers, of which one may stand for all; the other argument's where there are none.
    Three,
    /// Two numbers behind two ones, of which one may stand for both.
    Ones,
    /// Two numbers, each twice.
    Pairs,
    /// The steps between elements of a tensor of these sizes whose elements lie in order.
    Steps,
    /// The last two sizes.
    Last,
    /// The dimensions that are named of the other argument, a tensor: all of them where none is.
    Axes,
    /// How many tensors there are.
    Count,
    /// The first size of a tensor.
    Rows,
    /// The number, and 0 where it is below.
    Positive,
    /// Who takes part: a tag, and the ranks.
    Members,
    /// A rank within the group: the argument `group_*`, or the place among the ranks.
    Rank,
    /// Three sizes of 16 bits in one number.
    Blocks,
    /// How many elements each of the other argument's ranks has of a tensor, if all have as many.
    Parts,
    /// Where these begin.
    Starts,
    /// The argument in integers of 32 bits, to which the call's own kernel converts it first.
    Whole,
}

const WAYS: [(&str, How); 19] = [
    ("type", How::Type),
    ("own", How::Own),
    ("described", How::Described),
    ("product", How::Product),
    ("three", How::Three),
    ("ones", How::Ones),
    ("pairs", How::Pairs),
    ("steps", How::Steps),
    ("last", How::Last),
    ("axes", How::Axes),
    ("count", How::Count),
    ("rows", How::Rows),
    ("positive", How::Positive),
    ("members", How::Members),
    ("rank", How::Rank),
    ("blocks", How::Blocks),
    ("parts", How::Parts),
    ("starts", How::Starts),
    ("whole", How::Whole),
];

/// What a slot or an attribute is.
#[derive(Clone, PartialEq, Debug)]
pub enum Form {
    /// Nobody holds it.
    Open,
    /// Nothing, or a tensor of no elements.
    Nothing,
    /// A number or a text.
    Literal(Arg),
    /// An argument; what else where that is none.
    Argument(&'static str, Option<Arg>),
    /// By an argument's value.
    Case(&'static str, Vec<(&'static str, Arg)>),
    /// Computed of an argument, and another.
    Computed(How, &'static str, Option<&'static str>),
}

/// What a slot or an attribute has to be.
#[derive(Clone, PartialEq, Debug)]
pub enum Wanted {
    /// Anything.
    Open,
    /// What GE takes where nothing is said.
    Unsaid,
    /// One of those.
    OneOf(Vec<Arg>),
    /// That, or what GE takes where nothing is said.
    OrUnsaid(Arg),
    /// Dimensions of so many.
    Axes(Vec<usize>, usize),
    /// A size.
    Size(Dim),
}

impl Wanted {
    fn is(arg: Arg) -> Self {
        Wanted::OneOf(vec![arg])
    }
}

fn literal(text: &'static str) -> Option<Arg> {
    if let Some(text) = text.strip_prefix('\'') {
        return Some(Arg::Str(text.trim_end_matches('\'').into()));
    }
    let float = || text.starts_with(|c: char| c.is_ascii_digit() || c == '-').then(|| text.parse().ok())?;
    text.parse().ok().map(Arg::Int).or_else(|| float().map(Arg::Float))
}

fn word(text: &'static str) -> Arg {
    literal(text).unwrap_or_else(|| Arg::Str(text.into()))
}

impl Form {
    /// Reads a form.
    pub fn parse(text: &'static str) -> Form {
        match text {
            "?" => return Form::Open,
            "none" => return Form::Nothing,
            _ => {}
        }
        if let Some(known) = literal(text) {
            return Form::Literal(known);
        }
        if let Some((param, cases)) = text.strip_prefix("case:").and_then(|t| t.strip_suffix(')')?.split_once('(')) {
            return Form::Case(
                param,
                cases.split(',').filter_map(|c| c.split_once(':')).map(|(k, v)| (k, word(v))).collect(),
            );
        }
        let way = |kind: &str| WAYS.iter().find(|(name, _)| *name == kind).map(|(_, how)| *how);
        if let Some((how, rest)) = text.split_once(':').and_then(|(kind, rest)| Some((way(kind)?, rest))) {
            let (param, other) = rest.split_once('~').map_or((rest, None), |(p, o)| (p, Some(o)));
            return Form::Computed(how, param, other);
        }
        let (param, none) = text.split_once('~').map_or((text, None), |(p, n)| (p, Some(word(n))));
        Form::Argument(param, none)
    }

    /// Returns the parameters that it reads, as far as they are named.
    pub fn params(&self) -> Vec<&'static str> {
        match self {
            Form::Open | Form::Nothing | Form::Literal(_) => Vec::new(),
            Form::Argument(param, _) | Form::Case(param, _) => vec![param],
            Form::Computed(How::Members | How::Rank, param, _) => vec![param, "ranks"],
            Form::Computed(_, param, other) => std::iter::once(*param).chain(*other).collect(),
        }
    }
}

static NONE: Arg = Arg::None;

/// A call of the graph that was lowered, with its arguments by name.
pub struct Given<'g> {
    /// The graph.
    pub graph: &'g Graph,
    /// The call.
    pub node: NodeId,
    /// How it is called.
    pub schema: &'g Schema,
    /// What it is given.
    pub bound: Bound<'g>,
}

impl Given<'_> {
    /// Returns an argument; none where there is no such parameter.
    pub fn arg(&self, name: &str) -> &Arg {
        self.schema.param_index(name).map_or(&NONE, |at| self.bound.get(at))
    }

    /// Returns the type of a tensor, or of the first of a list.
    fn own(&self, name: &str) -> Option<DataType> {
        let node = self.arg(name).nodes().next()?;
        ge_type(self.graph.ty(node).as_tensor()?.dtype)
    }

    /// Returns the type that an argument names: a dtype, or its number in torch or `torch_npu`.
    fn named(&self, name: &str) -> Result<Option<DataType>, Undefined> {
        let known = match self.arg(name) {
            Arg::None => return Ok(None),
            Arg::Dtype(d) => ge_type(*d),
            Arg::Int(number) => of_torch_number(*number),
            _ => None,
        };
        known.map(Some).ok_or_else(|| Undefined(format!("GE has no type for `{name}`")))
    }

    /// Returns the integers of an argument, of which one stands alone; none where they are not known.
    fn ints(&self, name: &str) -> Option<Vec<i64>> {
        match self.arg(name) {
            Arg::Int(one) => Some(vec![*one]),
            Arg::List(items) | Arg::Tuple(items) => {
                items.iter().map(|i| if let Arg::Int(v) = i { Some(*v) } else { None }).collect()
            }
            _ => None,
        }
    }

    fn result(&self) -> Option<Dtype> {
        let first = match self.graph.ty(self.node) {
            ValueType::Many(items) => items.first().cloned(),
            ValueType::Unknown => said_of(self.graph, self.node, 0),
            one => Some(one.clone()),
        };
        let said = || said_of(self.graph, self.node, 0);
        first.filter(|t| t.as_tensor().is_some()).or_else(said)?.as_tensor().map(|t| t.dtype)
    }

    /// Returns what a form gives for this call.
    pub fn wanted(&self, form: &Form) -> Result<Wanted, Undefined> {
        Ok(match form {
            Form::Open => Wanted::Open,
            Form::Nothing => Wanted::Unsaid,
            Form::Literal(known) => Wanted::is(known.clone()),
            Form::Argument(param, none) => match (self.arg(param), none) {
                (Arg::None, Some(none)) => Wanted::is(none.clone()),
                (Arg::None, None) => Wanted::Unsaid,
                (given, _) => Wanted::is(given.clone()),
            },
            Form::Case(param, cases) => {
                let key = self.key(param);
                let found = cases.iter().find(|(k, _)| *k == key || *k == "*");
                let Some((_, value)) = found else {
                    return undefined(format!("`{param}` is {key}, of which nothing is held"));
                };
                Wanted::is(value.clone())
            }
            Form::Computed(how, param, other) => self.computed(*how, param, *other)?,
        })
    }

    fn key(&self, param: &str) -> String {
        match self.arg(param) {
            Arg::None => "none".into(),
            Arg::Str(text) => text.to_string(),
            Arg::Int(v) => v.to_string(),
            Arg::Bool(v) => v.to_string(),
            Arg::Dtype(d) => ge_type(*d).map_or_else(String::new, |d| d.name().into()),
            _ => String::new(),
        }
    }

    fn computed(&self, how: How, param: &str, other: Option<&str>) -> Result<Wanted, Undefined> {
        let known = match how {
            How::Type => return self.type_of(param, other),
            How::Product => return self.product(param, other.unwrap_or_default()),
            How::Own => self.own(param).map(|t| Arg::Int(t.cpp())),
            How::Described => self.named(param)?.map(|t| Arg::Int(i64::from(t as i32))),
            How::Axes => return self.axes(param, other.unwrap_or_default()),
            How::Rows => {
                let rows = self.arg(param).as_node().and_then(|n| self.graph.ty(n).as_tensor());
                let rows = rows.and_then(|t| t.sizes.first().copied());
                return rows
                    .map(Wanted::Size)
                    .ok_or_else(|| Undefined(format!("how many rows `{param}` has is not known")));
            }
            How::Blocks if *self.arg(param) == Arg::None => return Ok(Wanted::OrUnsaid(Arg::Int(0))),
            How::Blocks => match self.ints(param).as_deref() {
                Some([m, n, k]) if [m, n, k].iter().all(|size| (0..=65535).contains(*size)) => {
                    Some(Arg::Int(m << 32_u32 | n << 16_u32 | k))
                }
                _ => None,
            },
            How::Three => self.three(param, other),
            How::Ones => match self.ints(param).as_deref() {
                Some([one]) => Some(Arg::list([1, 1, *one, *one])),
                Some([a, b]) => Some(Arg::list([1, 1, *a, *b])),
                _ => None,
            },
            How::Pairs => match self.ints(param).as_deref() {
                Some([one]) => Some(Arg::list([*one; 4])),
                Some([a, b]) => Some(Arg::list([*a, *a, *b, *b])),
                _ => None,
            },
            How::Steps => self.ints(param).and_then(|sizes| steps(&sizes)),
            How::Last => match self.ints(param).as_deref() {
                Some([.., a, b]) => Some(Arg::list([*a, *b])),
                _ => None,
            },
            How::Count => match self.arg(param) {
                Arg::List(items) | Arg::Tuple(items) => i64::try_from(items.len()).ok().map(Arg::Int),
                _ => None,
            },
            How::Positive => match self.arg(param) {
                Arg::Int(v) => Some(Arg::Int((*v).max(0))),
                _ => None,
            },
            How::Members => self.ints("ranks").map(|ranks| {
                let ranks: Vec<String> = ranks.iter().map(ToString::to_string).collect();
                Arg::Str(format!("tag={};rank_list={}", self.key(param), ranks.join(",")).into())
            }),
            How::Rank => self.rank(param),
            How::Parts => self.parts(param, other).map(|parts| Arg::list(parts.iter().map(|(_, length)| *length))),
            How::Starts => self.parts(param, other).map(|parts| Arg::list(parts.iter().map(|(start, _)| *start))),
            // It is a tensor, which `held` looks at.
            How::Whole => None,
        };
        known.map(Wanted::is).ok_or_else(|| Undefined(format!("`{param}` is not known, or has another form")))
    }

    fn type_of(&self, param: &str, other: Option<&str>) -> Result<Wanted, Undefined> {
        let named = match (self.named(param)?, other) {
            (Some(named), _) => Some(named),
            (None, None) => return Ok(Wanted::Unsaid),
            (None, Some("result")) => self.result().and_then(ge_type),
            (None, Some(other)) => DataType::from_name(other).or_else(|| self.own(other)),
        };
        let Some(named) = named else { return undefined(format!("the type that `{param}` leaves open is not known")) };
        // The numbers of quantized integers are integers.
        let plain = if named == DataType::Qint8 { DataType::Int8 } else { named };
        Ok(Wanted::OneOf(vec![Arg::Int(named.cpp()), Arg::Int(plain.cpp())]))
    }

    fn product(&self, param: &str, operand: &str) -> Result<Wanted, Undefined> {
        let Some(named) = self.named(param)? else { return Ok(Wanted::is(Arg::Int(-1))) };
        let number = match named {
            DataType::Float16 => 0,
            DataType::Bf16 => 1,
            DataType::Int32 => 2,
            DataType::Float => 3,
            _ => return undefined(format!("a product of {}", named.name())),
        };
        let own = (self.own(operand) == Some(named)).then_some(Arg::Int(-1));
        Ok(Wanted::OneOf(std::iter::once(Arg::Int(number)).chain(own).collect()))
    }

    fn axes(&self, param: &str, of: &str) -> Result<Wanted, Undefined> {
        let rank = self.arg(of).as_node().and_then(|n| self.graph.ty(n).as_tensor()).map(|t| t.rank());
        let named = if *self.arg(param) == Arg::None { Some(Vec::new()) } else { self.ints(param) };
        let (Some(rank), Some(named)) = (rank, named) else { return undefined(format!("`{param}` is not known")) };
        if named.is_empty() {
            return Ok(Wanted::Axes((0..rank).collect(), rank));
        }
        let places: Option<Vec<usize>> = named.iter().map(|a| crate::lower::ge::metas::axis(*a, rank)).collect();
        match places {
            Some(mut places) => {
                places.sort_unstable();
                Ok(Wanted::Axes(places, rank))
            }
            None => undefined(format!("`{param}` is beyond the tensor")),
        }
    }

    fn three(&self, param: &str, other: Option<&str>) -> Option<Arg> {
        let own = self.ints(param).filter(|list| !list.is_empty()).or_else(|| self.ints(other?))?;
        match own.as_slice() {
            [one] => Some(Arg::list([*one; 3])),
            [_, _, _] => Some(Arg::list(own)),
            _ => None,
        }
    }

    fn rank(&self, param: &str) -> Option<Arg> {
        if let Arg::Int(rank) = self.arg(&format!("group_{param}")) {
            return Some(Arg::Int(*rank));
        }
        let Arg::Int(rank) = self.arg(param) else { return None };
        let place = self.ints("ranks")?.iter().position(|r| r == rank)?;
        i64::try_from(place).ok().map(Arg::Int)
    }

    /// Where the equal parts of a tensor begin, one for each rank, and how long they are.
    fn parts(&self, param: &str, ranks: Option<&str>) -> Option<Vec<(i64, i64)>> {
        let sizes = self.graph.ty(self.arg(param).as_node()?).as_tensor()?.sizes.iter();
        let all = sizes.map(|d| d.fixed()).try_fold(1_i64, |all, size| all.checked_mul(size?))?;
        let count = i64::try_from(self.ints(ranks?)?.len()).ok()?;
        let part = all.checked_div(count).filter(|part| part.checked_mul(count) == Some(all))?;
        Some((0..count).map(|rank| (rank.saturating_mul(part), part)).collect())
    }

    /// Whether an argument has the value that a line asks for.
    pub fn has(&self, param: &str, form: &Form) -> bool {
        match (form, self.arg(param)) {
            (Form::Nothing, given) => *given == Arg::None,
            (Form::Literal(Arg::Int(wanted)), Arg::Bool(given)) => *wanted == i64::from(*given),
            (Form::Literal(wanted), given) => wanted == given,
            (Form::Computed(How::Parts | How::Starts, ..), given) => {
                matches!(self.wanted(form), Ok(Wanted::OneOf(wanted)) if wanted.contains(given))
            }
            (Form::Computed(How::Own, of, _), _) => self.named(param).is_ok_and(|t| t.is_some() && t == self.own(of)),
            _ => false,
        }
    }

    /// Whether an argument that no slot and no attribute is made of says nothing: it is its default, or says of an operand the type that this has.
    pub fn is_idle(&self, at: usize) -> bool {
        let (Some(param), given) = (self.schema.params.get(at), self.bound.get(at)) else { return true };
        let is_default = param.default.as_ref().is_some_and(|d| d.value == *given);
        let named = || self.named(&param.name).ok().flatten();
        let of = param.name.strip_suffix("_dtype");
        *given == Arg::None || is_default || of.is_some_and(|of| self.own(of).is_some() && self.own(of) == named())
    }
}

/// What the graph says of one result of a call that no rule types.
pub fn said_of(graph: &Graph, node: NodeId, at: usize) -> Option<ValueType> {
    let at = i64::try_from(at).ok()?;
    let takes = |user: &NodeId| {
        graph.target(*user) == "_operator.getitem" && matches!(graph.args(*user), [_, Arg::Int(place)] if *place == at)
    };
    graph.users_in_order(node).into_iter().find(takes).map(|user| graph.ty(user).clone())
}

fn steps(sizes: &[i64]) -> Option<Arg> {
    let (mut steps, mut step) = (Vec::new(), 1_i64);
    for size in sizes.iter().rev() {
        steps.push(step);
        step = step.checked_mul(*size)?;
    }
    steps.reverse();
    Some(Arg::list(steps))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_read_as_they_are_written() {
        assert_eq!(Form::parse("?"), Form::Open);
        assert_eq!(Form::parse("-1"), Form::Literal(Arg::Int(-1)));
        assert_eq!(Form::parse("'NCHW'"), Form::Literal(Arg::Str("NCHW".into())));
        assert_eq!(Form::parse("axis"), Form::Argument("axis", None));
        assert_eq!(Form::parse("mode~7"), Form::Argument("mode", Some(Arg::Int(7))));
        assert_eq!(Form::parse("type:dtype~result"), Form::Computed(How::Type, "dtype", Some("result")));
        assert_eq!(Form::parse("parts:input~ranks"), Form::Computed(How::Parts, "input", Some("ranks")));
        let cases = vec![("sum", Arg::Str("sum".into())), ("*", Arg::Int(2))];
        assert_eq!(Form::parse("case:reduce_op(sum:sum,*:2)"), Form::Case("reduce_op", cases));
    }

    #[test]
    fn steps_of_sizes_in_order() {
        assert_eq!(steps(&[2, 3, 4]), Some(Arg::list([12_i64, 4, 1])));
        assert_eq!(steps(&[]), Some(Arg::list(Vec::<i64>::new())));
        assert_eq!(steps(&[2, i64::MAX, 4]), None);
    }
}
