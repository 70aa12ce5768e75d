//! Facts of operators that the judge rests on, stated by marks beside the schema.
//!
//! Promises: every fact is a statement that narrows what may happen; an operator without a mark is the worst in that respect: it may
//! raise, sees how its operands lie, fits no unknown size, equals no operand and is no view. Each mark is held against calls recorded
//! from PyTorch (`tests/it/operator_facts.rs`). Leaves what follows for a call to `analysis` and `verify`.

pub mod autocast;
pub(in crate::ops) mod effects;

use crate::graph::{Arg, Dtype};

/// For which operands an operator whose types fit never raises.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Total {
    /// It may raise for any.
    #[default]
    Never,
    /// Where every tensor operand is `f32` or `f64`: every kernel takes these, and no value of theirs is refused.
    Floats,
    /// Where all tensor operands have one dtype of real numbers that every kernel takes, and all else has its default.
    Numbers,
    /// Where every tensor operand has a dtype of [`PLAIN`] and numbers fit it: every kernel takes these, whatever they hold.
    Plain,
    /// The same where every word has its default, else for floats alone; among integers a number may be a float, too, which is compared as it is, or cut.
    PlainWords,
    /// The same, where all tensor operands have one dtype.
    Alike,
    /// As [`Total::Plain`] without bool.
    Reals,
    /// The same, where all tensor operands have one dtype.
    AlikeReals,
    /// The same for floats alone, narrow ones included.
    AnyFloats,
    /// The same, where all tensor operands have one dtype.
    AlikeFloats,
    /// The same, where all tensor operands have the same sizes, too.
    OneShape,
    /// As [`Total::AlikeFloats`], where operands of truth values may stand beside them.
    MaskedFloats,
    /// As [`Total::Plain`], where the second argument is a number other than 0.
    Divisor,
    /// As [`Total::AnyFloats`], and for integers where the second argument is an integer of at least 0.
    Powers,
    /// As [`Total::Plain`], where the first three arguments are numbers, the third other than 0.
    Steps,
    /// Where dtypes and numbers are those that a quantisation takes.
    Quantised,
    /// Where its operand, or what that is a view of, was computed: no conjugate is left to be.
    Computed,
    /// Where the last operand has at least as many elements as the result, all of its dtype but for a mask of truth values.
    Enough,
    /// For all.
    Always,
}

impl Total {
    /// Whether it is stated for some dtypes and numbers.
    pub fn goes_by_dtypes(self) -> bool {
        self.takes(Dtype::F32).is_some()
    }

    /// Returns whether tensors of that dtype are among those for which it is stated; `None` where it does not go by dtypes and numbers.
    pub fn takes(self, dtype: Dtype) -> Option<bool> {
        let plain = PLAIN.contains(&dtype);
        match self {
            Total::Plain | Total::Alike | Total::PlainWords | Total::Divisor | Total::Steps => Some(plain),
            Total::Reals | Total::AlikeReals | Total::Powers => Some(plain && dtype != Dtype::Bool),
            Total::AnyFloats | Total::AlikeFloats | Total::OneShape => Some(plain && dtype.is_float()),
            Total::MaskedFloats => Some(plain && (dtype.is_float() || dtype == Dtype::Bool)),
            _ => None,
        }
    }

    /// Returns whether no kernel refuses a number among such dtypes.
    #[allow(clippy::cast_possible_truncation)]
    pub fn fits(self, number: &Arg, dtypes: &[Dtype]) -> bool {
        let whole = 2_f64.powi(53);
        match number {
            Arg::Float(v) if self == Total::PlainWords && v.abs() < whole && !dtypes.iter().any(|d| d.is_float()) => {
                [v.floor(), v.ceil()].into_iter().all(|end| fits_plainly(&Arg::Int(end as i64), dtypes))
            }
            number => fits_plainly(number, dtypes),
        }
    }

    /// Returns whether tensors of these dtypes together are among those for which it is stated; `None` where it does not go by dtypes and numbers.
    pub fn takes_all(self, dtypes: &[Dtype]) -> Option<bool> {
        let one = dtypes.first().map_or(Some(true), |d| self.takes(*d))?;
        let mut floats = dtypes.iter().filter(|d| d.is_float());
        let alike = match (self, floats.next()) {
            (Total::AlikeFloats | Total::OneShape | Total::MaskedFloats, Some(first)) => floats.all(|d| d == first),
            (Total::AlikeFloats | Total::OneShape | Total::MaskedFloats, None) => false,
            (Total::Alike | Total::AlikeReals, _) => {
                !dtypes.is_empty() && dtypes.windows(2).all(|pair| pair.first() == pair.last())
            }
            _ => true,
        };
        Some(one && alike && dtypes.iter().all(|d| self.takes(*d) == Some(true)))
    }
}

/// How an operator multiplies matrices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contracts {
    /// Two of one rank, with the same sizes ahead.
    Matrices,
    /// The same, and a first one that is repeated to the result.
    Added,
    /// Rows by a weight whose second dimension they have, and a bias of its first.
    Linear,
    /// Matrices whose sizes ahead are repeated to one another's, or one of them and a vector.
    Repeated,
    /// A matrix, or a vector, by a vector.
    Vector,
    /// Queries, keys, values, and a mask that is repeated to queries by keys.
    Attention,
    /// By letters, one for each dimension of each operand.
    Labels,
    /// Two vectors, each element with each, and a first one that is repeated to the result.
    Outer,
    /// A row in which places of elements of any shape are searched, or rows with the same sizes ahead.
    Searched,
}

impl Contracts {
    fn parse(text: &str) -> Option<Contracts> {
        Some(match text {
            "matrices" => Contracts::Matrices,
            "added" => Contracts::Added,
            "linear" => Contracts::Linear,
            "repeated" => Contracts::Repeated,
            "vector" => Contracts::Vector,
            "attention" => Contracts::Attention,
            "labels" => Contracts::Labels,
            "outer" => Contracts::Outer,
            "searched" => Contracts::Searched,
            _ => return None,
        })
    }
}

/// What is asked of the sizes behind batch and channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grid {
    /// That there is something.
    Any,
    /// That there is something, and something in the batch.
    Filled,
    /// That there is something, there and in the result.
    Scaled,
    /// That windows fit into them.
    Slides,
}

impl Grid {
    fn parse(text: &str) -> Option<Grid> {
        match text {
            "any" => Some(Grid::Any),
            "filled" => Some(Grid::Filled),
            "scaled" => Some(Grid::Scaled),
            "slides" => Some(Grid::Slides),
            _ => None,
        }
    }
}

/// How many dimensions a tensor must have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ranks {
    least: usize,
    or_more: bool,
}

impl Ranks {
    fn parse(text: &str) -> Option<Ranks> {
        let number = text.strip_suffix('+');
        Some(Ranks { least: number.unwrap_or(text).parse().ok()?, or_more: number.is_some() })
    }

    /// Whether a tensor of so many dimensions is one of them.
    pub fn hold(self, rank: usize) -> bool {
        rank == self.least || self.or_more && rank > self.least
    }
}

/// Dtypes that every kernel marked so takes, where the type rule does.
pub const PLAIN: &[Dtype] = &[
    Dtype::Bool,
    Dtype::U8,
    Dtype::I8,
    Dtype::I16,
    Dtype::I32,
    Dtype::I64,
    Dtype::F16,
    Dtype::Bf16,
    Dtype::F32,
    Dtype::F64,
];

/// Returns whether a number may be given to an operator marked `#total=plain` beside tensors of these dtypes: it fits each of its own
/// kind, and is no float among integers.
pub fn fits_plainly(number: &Arg, dtypes: &[Dtype]) -> bool {
    let integers = |v: i64| {
        dtypes.iter().all(|d| match d {
            Dtype::U8 => (0..=255).contains(&v),
            Dtype::I8 => i8::try_from(v).is_ok(),
            Dtype::I16 => i16::try_from(v).is_ok(),
            Dtype::I32 => i32::try_from(v).is_ok(),
            Dtype::F16 => v.unsigned_abs() <= 65504,
            _ => true,
        })
    };
    match number {
        Arg::Int(v) => integers(*v),
        Arg::Float(v) => {
            let floats = dtypes.is_empty() || dtypes.iter().any(|d| d.is_float());
            let most = match dtypes {
                _ if dtypes.contains(&Dtype::F16) => 65504.0,
                _ if dtypes.contains(&Dtype::Bf16) => 3.389e38,
                _ => f64::from(f32::MAX),
            };
            floats && (!v.is_finite() || v.abs() <= most)
        }
        Arg::Complex(..) => false,
        _ => true,
    }
}

/// What a view operator does to its operand: arguments are found by place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum ViewStep {
    /// The same elements in order, in other sizes.
    Reshape,
    Permute,
    Transpose,
    /// All dimensions in reverse.
    Reverse,
    /// The last two dimensions exchanged.
    LastTwo,
    Move,
    Expand,
    Select,
    Unbind,
    Slice,
    Narrow,
    /// Pieces that follow one another.
    Pieces,
    /// Pieces between indices.
    PiecesAt,
    Flip,
    Diagonal,
    /// Parts of a dimension, along a new last one.
    Windows,
}

impl ViewStep {
    const NAMES: &'static [(&'static str, ViewStep)] = &[
        ("reshape", ViewStep::Reshape),
        ("permute", ViewStep::Permute),
        ("transpose", ViewStep::Transpose),
        ("reverse", ViewStep::Reverse),
        ("last-two", ViewStep::LastTwo),
        ("move", ViewStep::Move),
        ("expand", ViewStep::Expand),
        ("select", ViewStep::Select),
        ("unbind", ViewStep::Unbind),
        ("slice", ViewStep::Slice),
        ("narrow", ViewStep::Narrow),
        ("pieces", ViewStep::Pieces),
        ("pieces-at", ViewStep::PiecesAt),
        ("flip", ViewStep::Flip),
        ("diagonal", ViewStep::Diagonal),
        ("windows", ViewStep::Windows),
    ];

    /// Returns the step of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, s)| *s)
    }
}

/// An argument and the value that it must have: `train:False`, `pad:0` (of a list: every item).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ArgumentIs {
    /// The parameter.
    pub param: Box<str>,
    /// The value.
    pub value: Arg,
}

impl ArgumentIs {
    fn parse(text: &str) -> Option<Self> {
        let (param, value) = text.split_once(':')?;
        let value = match value {
            "True" => Arg::Bool(true),
            "False" => Arg::Bool(false),
            number => Arg::Int(number.parse().ok()?),
        };
        Some(ArgumentIs { param: param.into(), value })
    }

    /// Returns whether an argument has that value; a float counts as the integer that it equals.
    pub fn holds(&self, given: &Arg) -> bool {
        let one = |a: &Arg| match (a, &self.value) {
            (Arg::Float(f), Arg::Int(i)) => i32::try_from(*i).is_ok_and(|i| *f == f64::from(i)),
            (a, b) => a == b,
        };
        given.items().map_or_else(|| one(given), |all| all.iter().all(one))
    }
}

/// When a result equals an operand bit for bit, provided that dtype, device and sizes are the operand's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SameAs {
    /// The operand: of a list, its only item.
    pub param: Box<str>,
    /// What else must hold.
    pub given: Given,
}

/// A condition of [`SameAs`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Given {
    /// Nothing.
    Always,
    /// The dtype is one of integers.
    Integer,
    /// It lies as the operand does: the same strides and place, in memory of which the graph knows where it begins.
    LaidOut,
    /// One of some arguments has its value.
    Argument(Vec<ArgumentIs>),
}

/// What a call copies that stands for a call of an operator that writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Functionalizes {
    /// Each argument that is written, all of them given by their names.
    Arguments,
    /// Each of `_all_bases`; an argument that is written is named by the base that it is, or is a part of.
    Bases,
}

/// When a result that may be an operand, or a view of it, is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharesWhen {
    /// It is the operand.
    Itself,
    /// Where dtype and device are the operand's and no other memory format or copy is asked for.
    Converted,
    /// Where the operand lies in the memory format that is asked for.
    Contiguous,
    /// Where nothing is dropped: not in training, or with probability 0.
    Undropped,
    /// Where it is the only operand; then it may be.
    Alone,
    /// Where there is a view of the operand in the result's sizes.
    Reshaped,
    /// It is a view of the operand, or that itself where it has its sizes.
    View,
    /// It is the operand where that holds real numbers.
    Real,
    /// Each is the operand of its place in the list, repeated to its sizes.
    Each,
}

impl SharesWhen {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "itself" => SharesWhen::Itself,
            "converted" => SharesWhen::Converted,
            "contiguous" => SharesWhen::Contiguous,
            "undropped" => SharesWhen::Undropped,
            "alone" => SharesWhen::Alone,
            "reshaped" => SharesWhen::Reshaped,
            "view" => SharesWhen::View,
            "real" => SharesWhen::Real,
            "each" => SharesWhen::Each,
            _ => return None,
        })
    }
}

/// What marks state of an operator beside its effects.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Facts {
    /// `#total`, `#total=numbers`, `#total=float`, `#total=plain`, `#total=plain-words`, `#total=alike`, `#total=reals`, `#total=any-float`,
    /// `#total=alike-float`, `#total=one-shape`, `#total=masked-float`, `#total=divisor`, `#total=computed`, `#total=enough`: when it never raises, types and sizes being right.
    pub total: Total,
    /// `#any-size`: every size that its type rule admits fits, whatever symbols stand for.
    pub any_size: bool,
    /// `#any-size-alone`: the same where it is given one tensor.
    pub any_size_alone: bool,
    /// `#sees-layout`: its result depends on how operands lie in memory.
    pub sees_layout: bool,
    /// `#sees-layout=NAME`: it does only where that argument is given.
    pub sees_layout_if: Option<Box<str>>,
    /// `#layout-decides`: whether the call holds depends on the strides of its first operand: there is such a view, or it raises.
    pub layout_decides: bool,
    /// `#if-contiguous`: what else is stated of when it never raises is so only where all its tensors are contiguous.
    pub if_contiguous: bool,
    /// `#not-on-views`: raises where its first operand is a view of another tensor, as inputs may be.
    pub not_on_views: bool,
    /// `#if-given`, `#if-given=MASK`: what else is stated of when it never raises is so only where it is given all tensors that it may be given, or
    /// MASK asks for the first result alone, and all have elements.
    pub if_given: Option<Box<str>>,
    /// `#reshapes`: gives its operand another shape or other memory in place.
    pub reshapes: bool,
    /// `#same-call=TARGET`: it is that operator under another name, with the same arguments.
    pub same_call: Option<Box<str>>,
    /// `#runs-once`: runs the one body that it is given, once, with all that follows it.
    pub runs_once: bool,
    /// `#unset`: leaves to chance what is in its results.
    pub unset: bool,
    /// `#asynchronous`: its operands are read, and its result is written, until something waits for that.
    pub asynchronous: bool,
    /// `#waits`: waits until nothing works on its operand any longer.
    pub waits: bool,
    /// `#copies`: the result and what is written is the second operand, converted and repeated to the first.
    pub copies: bool,
    /// `#numbers`: a number may stand in the place of a tensor; others refuse it when they are called.
    pub numbers: bool,
    /// `#writes-if=NAME`: what the marks say is written is written only where that argument is true.
    pub writes_if: Option<Box<str>>,
    /// `#draws-unless=NAME:VALUE`, `#draws-unless=NAME:VALUE|NAME:VALUE`: draws nothing where an argument has that value.
    pub draws_unless: Vec<ArgumentIs>,
    /// `#same-as=NAME[,CONDITION]`.
    pub same_as: Option<SameAs>,
    /// `#one-memory`: its results may lie in one memory, of their own.
    pub one_memory: bool,
    /// `#shares=WHEN`: when results that may share memory do; without it nobody knows.
    pub shares: Option<SharesWhen>,
    /// `#step=KIND`: the result is that view of the first operand's elements.
    pub step: Option<ViewStep>,
    /// `#moves`: every float of its results is an element of an operand, that with another sign, or an argument: nothing is rounded but by a dtype.
    pub moves: bool,
    /// `#discrete`: its results jump where its operands do not, though they are floats.
    pub discrete: bool,
    /// `#compares`: its results jump where its operands, compared with one another or with numbers, say so, and nowhere else.
    pub compares: bool,
    /// `#makes-truths`: a dtype of truth values is taken as any other.
    pub makes_truths: bool,
    /// `#complex`: what `total` states of floats holds where some of its tensors are of complex numbers of two `f32` or `f64`, and others of these.
    pub complex: bool,
    /// `#computes`: complex numbers that it gives are no conjugates that are left to be computed.
    pub computes: bool,
    /// `#joins`: sizes of all tensors of the list agree but along `dim`, or without one along the first of all that have two; then every size fits.
    pub joins: bool,
    /// `#any-number`: sizes and numbers that are symbols fit whatever they are, negative ones too.
    pub any_number: bool,
    /// `#states-type`: an assertion that a tensor has the sizes, strides, dtype, device and layout that are given.
    pub states_type: bool,
    /// `#asks-sizes`: what it gives is told by the sizes of its operands alone.
    pub asks_sizes: bool,
    /// `#within=INDEX`: types being right, it raises only where an integer of INDEX is no place along `dim` (the first dimension where there is no
    /// `dim`) of its first tensor, negative ones included.
    pub within: Option<Box<str>>,
    /// `#reaches=INDEX`: types being right, and floats where they are no indices, it raises at most where an integer of INDEX is no place: of a list,
    /// counted from either end of the dimension of that number; else along `dim`, below `num_classes`, or along the dimension of classes (the
    /// second, of a vector the first) of its first tensor. With `scale_grad_by_freq` it may do anything.
    pub reaches: Option<Box<str>>,
    /// `#spares=NUMBER`: beside `#reaches`, where there are no weights: integers that are NUMBER are no places that it looks at; for each other one that is
    /// none, counted from the front, it raises.
    pub spares: Option<Box<str>>,
    /// `#corner=PARAM`: beside `#reaches`: of PARAM it reads the corner alone that has the sizes of those integers.
    pub corner: Option<Box<str>>,
    /// `#into=PARAM`: beside `#reaches`: places are those of PARAM, in place of its first tensor.
    pub into: Option<Box<str>>,
    /// `#unless=PARAM`: where PARAM is given, `#total` states nothing.
    pub unless: Option<Box<str>>,
    /// `#bags=OFFSETS`: it raises where integers of OFFSETS do not begin with 0, or are more than there are of `indices`, too.
    pub bags: Option<Box<str>>,
    /// `#whole`: of integers it raises as it does of floats.
    pub whole: bool,
    /// `#flat`: places are counted along all dimensions as one, from either end.
    pub flat: bool,
    /// `#contracts=KIND`: whether sizes fit is told by how it multiplies.
    pub contracts: Option<Contracts>,
    /// `#fits-filled`: sizes fit where none is 0, or none of those that `dim` names.
    pub fits_filled: bool,
    /// `#any-batch=RANK`, `#any-batch=RANK+`: of its first tensor, if it has that many dimensions (or more), the first size fits whatever it is, where all
    /// other sizes are numbers, its type rule takes them, and no other tensor has more dimensions.
    pub any_batch: Option<Ranks>,
    /// `#grid=any`, `#grid=filled`, `#grid=scaled`, `#grid=slides`: beside `#any-batch`: sizes behind the channels fit where they are at least 1, the first size, too, or those of the result, or where windows of
    /// `kernel_size`, or of the second tensor's sizes, fit into them with their padding.
    pub grid: Option<Grid>,
    /// `#counts=N|C|REST`: beside `#any-batch`: these numbers fit where they are the first size of the first tensor, the second, and the product of all others.
    pub counts: Option<Box<str>>,
    /// `#fits-alike`: sizes fit where those of all its tensors are the same.
    pub fits_alike: bool,
    /// `#fits-along=NAME`: sizes fit where that of the dimension that NAME names is a number and its type rule takes it, and all its tensors have the same.
    pub fits_along: Option<Box<str>>,
    /// `#adds=NAME`: sizes fit where no number of that list takes away more than there is, and every word is its default.
    pub adds: Option<Box<str>>,
    /// `#fits-normalised=NAME`: sizes fit where its first two tensors have the same, of which those are the last, the next two those ahead and ones, and all
    /// others those that are named.
    pub fits_normalised: Option<Box<str>>,
    /// `#fits-trailing=NAME`: sizes fit where those are the last of its first tensor, and all that its other tensors have.
    pub fits_trailing: Option<Box<str>>,
    /// `#sees-nan`: its result depends on the sign or the payload of a NaN.
    pub sees_nan: bool,
    /// `#functionalizes=arguments`, `#functionalizes=bases`: a call of the operator that it is given, on copies of what that one writes; its results, then the copies.
    pub functionalizes: Option<Functionalizes>,
    /// `#functional-of=TARGET`: the same of that operator, with its arguments.
    pub functional_of: Option<Box<str>>,
    /// `#scatters=KIND`: the result is the first operand with the second in place of that part.
    pub scatters: Option<ViewStep>,
}

/// Returns dtypes with those of parts in place of complex ones, where all are of `f32` or `f64`, and whether any was complex.
pub fn parts_of(dtypes: &[Dtype]) -> Option<(Vec<Dtype>, bool)> {
    let part = |d: &Dtype| match d {
        Dtype::C64 => Dtype::F32,
        Dtype::C128 => Dtype::F64,
        own => *own,
    };
    let parts: Vec<Dtype> = dtypes.iter().map(part).collect();
    let complex = parts != dtypes;
    (!complex || parts.iter().all(|d| matches!(d, Dtype::F32 | Dtype::F64))).then_some((parts, complex))
}

impl Facts {
    /// Returns whether the result of a call depends on how its operands lie; `given` finds an argument by name.
    pub fn sees_layout<'a>(&self, given: impl Fn(&str) -> Option<&'a Arg>) -> bool {
        let asked = self.sees_layout_if.as_ref().is_none_or(|name| given(name).is_none_or(|arg| *arg != Arg::None));
        self.sees_layout && asked
    }

    /// Reads one mark; `None` where it is none of these, or its value is no value of it.
    pub(super) fn read(&mut self, name: &str, value: &str) -> Option<()> {
        match name {
            "total" if value.is_empty() => self.total = Total::Always,
            "total" if value == "numbers" => self.total = Total::Numbers,
            "total" if value == "float" => self.total = Total::Floats,
            "total" if value == "plain" => self.total = Total::Plain,
            "total" if value == "plain-words" => self.total = Total::PlainWords,
            "total" if value == "alike" => self.total = Total::Alike,
            "total" if value == "alike-reals" => self.total = Total::AlikeReals,
            "total" if value == "reals" => self.total = Total::Reals,
            "total" if value == "any-float" => self.total = Total::AnyFloats,
            "total" if value == "alike-float" => self.total = Total::AlikeFloats,
            "total" if value == "one-shape" => self.total = Total::OneShape,
            "total" if value == "masked-float" => self.total = Total::MaskedFloats,
            "total" if value == "steps" => self.total = Total::Steps,
            "total" if value == "quantised" => self.total = Total::Quantised,
            "total" if value == "computed" => self.total = Total::Computed,
            "total" if value == "enough" => self.total = Total::Enough,
            "total" if value == "divisor" => self.total = Total::Divisor,
            "total" if value == "powers" => self.total = Total::Powers,
            "any-size" => self.any_size = true,
            "any-size-alone" => self.any_size_alone = true,
            "sees-layout" => {
                self.sees_layout = true;
                self.sees_layout_if = (!value.is_empty()).then(|| value.into());
            }
            "layout-decides" => self.layout_decides = true,
            "if-contiguous" => self.if_contiguous = true,
            "not-on-views" => self.not_on_views = true,
            "if-given" => self.if_given = Some(value.into()),
            "reshapes" => self.reshapes = true,
            "compares" => self.compares = true,
            "makes-truths" => self.makes_truths = true,
            "computes" => self.computes = true,
            "complex" => self.complex = true,
            "joins" => self.joins = true,
            "any-number" => self.any_number = true,
            "flat" => self.flat = true,
            "whole" => self.whole = true,
            "states-type" => self.states_type = true,
            "asks-sizes" => self.asks_sizes = true,
            "sees-nan" => self.sees_nan = true,
            "within" => self.within = Some(value.into()),
            "reaches" => self.reaches = Some(value.into()),
            "spares" => self.spares = Some(value.into()),
            "corner" => self.corner = Some(value.into()),
            "into" => self.into = Some(value.into()),
            "unless" => self.unless = Some(value.into()),
            "bags" => self.bags = Some(value.into()),
            "contracts" => self.contracts = Some(Contracts::parse(value)?),
            "fits-filled" => self.fits_filled = true,
            "any-batch" => self.any_batch = Some(Ranks::parse(value)?),
            "grid" => self.grid = Some(Grid::parse(value)?),
            "counts" => self.counts = Some(value.into()),
            "fits-alike" => self.fits_alike = true,
            "fits-along" => self.fits_along = Some(value.into()),
            "adds" => self.adds = Some(value.into()),
            "fits-normalised" => self.fits_normalised = Some(value.into()),
            "fits-trailing" => self.fits_trailing = Some(value.into()),
            "functionalizes" if value == "arguments" => self.functionalizes = Some(Functionalizes::Arguments),
            "functionalizes" if value == "bases" => self.functionalizes = Some(Functionalizes::Bases),
            "functional-of" => self.functional_of = Some(value.into()),
            "runs-once" => self.runs_once = true,
            "same-call" => self.same_call = Some(value.into()),
            "unset" => self.unset = true,
            "asynchronous" => self.asynchronous = true,
            "waits" => self.waits = true,
            "one-memory" => self.one_memory = true,
            "copies" => self.copies = true,
            "numbers" => self.numbers = true,
            "moves" => self.moves = true,
            "discrete" => self.discrete = true,
            "writes-if" => self.writes_if = Some(value.into()),
            "draws-unless" => self.draws_unless = value.split('|').map(ArgumentIs::parse).collect::<Option<_>>()?,
            "same-as" => {
                let (param, given) = value.split_once(',').unwrap_or((value, ""));
                let given = match given {
                    "" => Given::Always,
                    "integer" => Given::Integer,
                    "laid-out" => Given::LaidOut,
                    all => Given::Argument(all.split('|').map(ArgumentIs::parse).collect::<Option<_>>()?),
                };
                self.same_as = Some(SameAs { param: param.into(), given });
            }
            "shares" => self.shares = Some(SharesWhen::from_name(value)?),
            "step" => self.step = Some(ViewStep::from_name(value)?),
            "scatters" => self.scatters = Some(ViewStep::from_name(value)?),
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_without_marks_states_nothing() {
        let facts = Facts::default();
        assert_eq!((facts.total, facts.any_size, facts.step), (Total::Never, false, None));
    }

    #[test]
    fn floats_that_are_alike_are_of_one_dtype_and_masks_stand_beside_them_where_that_is_said() {
        let (one, masked) = (Total::AlikeFloats, Total::MaskedFloats);
        assert_eq!(one.takes_all(&[Dtype::F16, Dtype::F16]), Some(true));
        assert_eq!(one.takes_all(&[Dtype::F16, Dtype::F32]), Some(false));
        assert_eq!(one.takes_all(&[Dtype::F16, Dtype::Bool]), Some(false));
        assert_eq!(masked.takes_all(&[Dtype::F16, Dtype::Bool]), Some(true));
        assert_eq!(masked.takes_all(&[Dtype::F16, Dtype::F32, Dtype::Bool]), Some(false));
        assert_eq!(masked.takes_all(&[Dtype::Bool]), Some(false));
    }

    #[test]
    fn a_mark_that_says_nothing_sensible_is_none() {
        let mut facts = Facts::default();
        assert_eq!(facts.read("total", "mostly"), None);
        assert_eq!(facts.read("step", "sideways"), None);
        assert_eq!(facts.read("draws-unless", "train"), None);
        assert_eq!(facts, Facts::default());
    }

    #[test]
    fn a_number_may_be_given_as_a_float_and_a_list_means_every_item() {
        let zero = ArgumentIs::parse("pad:0").unwrap();
        assert!(zero.holds(&Arg::Float(0.0)) && !zero.holds(&Arg::Float(0.5)));
        assert!(zero.holds(&Arg::List(vec![Arg::Int(0), Arg::Int(0)].into())));
        assert!(!zero.holds(&Arg::List(vec![Arg::Int(0), Arg::Int(1)].into())));
    }
}
