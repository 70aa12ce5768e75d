//! Whether a result lies in an operand's memory, where the schema says "sometimes".
//!
//! Promises: [`Shares::Fresh`] and the sure answers hold for all inputs; what sizes, strides and arguments do not decide is
//! [`Shares::Maybe`]. Leaves to `storage`: what follows for writes.

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::analysis::sharing::place::{Place, place_of, type_of, type_of_item};
use crate::graph::{Arg, MemoryFormat, NodeId, NodeKind, TensorType, ValueType, View};
use crate::ops::{
    Bound, Operator, Registry, ReturnAlias, SharesWhen, Sharing, Viewed, has_view, lies_in_rows, memory_format_of,
    view_strides,
};
use crate::sym::{Dim, Symbols};

/// How a result shares memory with an operand.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Shares {
    /// It is the operand itself, or a view of all of it in the same shape.
    Same(Place),
    /// It is a view of the operand.
    View(Place),
    /// Nobody can say before the run.
    Maybe(Place),
}

impl Shares {
    /// Returns the operand.
    pub fn place(self) -> Place {
        match self {
            Shares::Same(p) | Shares::View(p) | Shares::Maybe(p) => p,
        }
    }
}

/// What memory a value lies in: none of these is fresh memory.
pub type Home = SmallVec<[Shares; 1]>;

/// Returns the operands in whose memory a value (may) lie.
pub fn home_of(view: &dyn View, registry: &Registry, place: Place) -> Home {
    home_of_typed(view, registry, place, type_of(view, place))
}

/// The same, for whoever knows the type: to find that of an item may cost all users of its tuple.
pub(in crate::analysis) fn home_of_typed(view: &dyn View, registry: &Registry, place: Place, ty: &ValueType) -> Home {
    let mut home = Home::new();
    if view.kind(place.node) != NodeKind::Call {
        return home;
    }
    if let Some((of, _)) = crate::analysis::sharing::place::getitem_of(view, place.node) {
        // An item of an item: whatever the inner list is.
        home.push(Shares::Maybe(place_of(view, of)));
        return home;
    }
    if !holds_tensor(ty) {
        return home;
    }
    let Some(operator) = registry.operator_of(view, place.node) else {
        home.extend(tensor_operands(view, place.node).into_iter().map(Shares::Maybe));
        return home;
    };
    let Ok(bound) = Bound::bind(&operator.schema, view, view.args(place.node), view.kwargs(place.node)) else {
        home.extend(tensor_operands(view, place.node).into_iter().map(Shares::Maybe));
        return home;
    };
    if operator.facts.one_memory && place.item != Place::WHOLE {
        home.push(Shares::Maybe(Place::of(place.node)));
    }
    for alias in aliases(operator, place.item) {
        let each = operator.facts.shares == Some(SharesWhen::Each) && place.item != Place::WHOLE;
        for (k, node) in bound.get(alias.param).nodes().enumerate() {
            if each && k != place.item as usize {
                continue;
            }
            let operand = place_of(view, node);
            match alias.sharing {
                Sharing::Same => home.push(Shares::Same(operand)),
                Sharing::View => home.push(Shares::View(operand)),
                Sharing::Maybe => home.extend(decide(view, operator, &bound, place, operand)),
            }
        }
    }
    if home.len() > 1 {
        // Of several candidates none is sure.
        home = home.into_iter().map(|s| Shares::Maybe(s.place())).collect();
    }
    home
}

/// Returns the aliases of one result; a list that is one result in the schema has one entry for all its items.
pub fn aliases(operator: &Operator, item: u32) -> &[ReturnAlias] {
    let returns = &operator.effects.returns;
    let index = if returns.len() == 1 || item == Place::WHOLE { 0 } else { item as usize };
    returns.get(index).map_or(&[], |r| r.as_slice())
}

pub(in crate::analysis) fn holds_tensor(ty: &ValueType) -> bool {
    !matches!(ty, ValueType::None | ValueType::SymInt(_) | ValueType::SymFloat(_) | ValueType::SymBool(_))
}

/// Returns every operand that is or holds a tensor.
pub fn tensor_operands(view: &dyn View, node: NodeId) -> SmallVec<[Place; 4]> {
    let mut out: SmallVec<[Place; 4]> = SmallVec::new();
    // Most calls have few: these are looked through.
    let mut seen: FxHashSet<Place> = FxHashSet::default();
    for operand in view.operands(node) {
        for place in crate::analysis::sharing::place::places_of(view, operand) {
            if !holds_tensor(type_of_item(view, place, operand)) {
                continue;
            }
            if out.len() == FEW {
                seen.extend(out.iter().copied());
            }
            let is_new = if out.len() < FEW { !out.contains(&place) } else { seen.insert(place) };
            if is_new {
                out.push(place);
            }
        }
    }
    out
}

/// How many operands are looked through.
const FEW: usize = 8;

fn decide(view: &dyn View, operator: &Operator, bound: &Bound<'_>, place: Place, operand: Place) -> Option<Shares> {
    let (Some(from), Some(to)) = (type_of(view, operand).as_tensor(), type_of(view, place).as_tensor()) else {
        return Some(Shares::Maybe(operand));
    };
    let argument = |name: &str| operator.schema.param_index(name).map(|i| bound.get(i));
    // A product of several is memory of its own, whatever their types.
    let several = || argument("tensors").and_then(Arg::items).is_some_and(|all| all.len() > 1);
    if operator.facts.shares == Some(SharesWhen::Alone) && several() {
        return None;
    }
    // What is somebody's word decides nothing.
    if view.hearsay(operand.node).sizes() || view.hearsay(place.node).sizes() {
        return Some(Shares::Maybe(operand));
    }
    if from.dtype != to.dtype || from.device.kind != to.device.kind {
        return None;
    }
    let unknown = TensorType { strides: None, ..from.clone() };
    let from = if view.hearsay(operand.node).strides() { &unknown } else { from };
    let maybe = Some(Shares::Maybe(operand));
    let same = Some(Shares::Same(operand));
    match operator.facts.shares {
        None => maybe,
        Some(SharesWhen::Itself) => same,
        Some(SharesWhen::View | SharesWhen::Each) if from.sizes == to.sizes => same,
        Some(SharesWhen::View) => Some(Shares::View(operand)),
        Some(SharesWhen::Each) if place.item != Place::WHOLE => Some(Shares::View(operand)),
        Some(SharesWhen::Each) => maybe,
        Some(SharesWhen::Real) if from.dtype.is_complex() => maybe,
        Some(SharesWhen::Real) => same,
        Some(SharesWhen::Converted) => match (argument("copy"), argument("memory_format")) {
            (Some(Arg::Bool(true)), _) => None,
            (_, format) if from.device == to.device && is_format(format, MemoryFormat::Preserve) => same,
            _ => maybe,
        },
        Some(SharesWhen::Contiguous) => {
            let row_major = is_format(argument("memory_format"), MemoryFormat::Contiguous);
            match contiguous(from).or_else(|| lies_in_rows(view.symbols(), from)).filter(|_| row_major) {
                Some(true) => same,
                Some(false) => None,
                None => maybe,
            }
        }
        Some(SharesWhen::Undropped) => match (argument("train"), argument("p")) {
            (Some(Arg::Bool(false)), _) | (_, Some(Arg::Int(0))) => same,
            (_, Some(Arg::Float(p))) if *p == 0.0 => same,
            // In training, with a probability that surely is another.
            (Some(Arg::Bool(true)), Some(Arg::Float(_) | Arg::Int(_))) => None,
            _ => maybe,
        },
        // Of one operand it is a view, where it sums over nothing; of several a product.
        Some(SharesWhen::Alone) => match argument("tensors").and_then(Arg::items) {
            Some([_]) if argument("equation").is_some_and(sums) => None,
            _ => maybe,
        },
        Some(SharesWhen::Reshaped) => reshaped(view.symbols(), operator, from, to, operand),
    }
}

/// Whether letters of one operand stand that the result does not have: a sum over their dimensions is memory of its own, whatever their sizes.
fn sums(equation: &Arg) -> bool {
    let Arg::Str(text) = equation else { return false };
    let is_letter = |c: &char| c.is_ascii_alphabetic();
    match text.split_once("->") {
        Some((of, to)) => of.chars().filter(is_letter).any(|c| !to.contains(c)),
        // What stands once is the result's.
        None => text.chars().filter(is_letter).any(|c| text.chars().filter(|d| *d == c).count() > 1),
    }
}

/// Whether an argument asks for a format, or leaves it to the default, which that is.
fn is_format(arg: Option<&Arg>, format: MemoryFormat) -> bool {
    arg.is_none_or(|a| matches!(a, Arg::None) || memory_format_of(a) == Some(format))
}

/// Whether a reshape is a view: of a contiguous operand it is, else its strides decide.
fn reshaped(
    symbols: &Symbols,
    operator: &Operator,
    from: &TensorType,
    to: &TensorType,
    operand: Place,
) -> Option<Shares> {
    let says_view = operator.schema.returns.first().is_some_and(|r| r.ty.alias.is_some());
    match contiguous(from) {
        Some(true) => Some(Shares::View(operand)),
        _ if is_fixed(from) && is_fixed(to) => match view_strides(&mut Symbols::default(), from, &to.sizes) {
            Ok(Viewed::As(_)) => Some(Shares::View(operand)),
            Ok(Viewed::Never) => None,
            Ok(Viewed::Unknown) | Err(_) => Some(Shares::Maybe(operand)),
        },
        _ if from.sizes == to.sizes && says_view => Some(Shares::View(operand)),
        _ => {
            let behind = behind_what_stays(from, to)
                .and_then(|(from, sizes)| view_strides(&mut Symbols::default(), &from, &sizes).ok());
            match behind {
                Some(Viewed::As(_)) => Some(Shares::View(operand)),
                Some(Viewed::Never) => None,
                Some(Viewed::Unknown) | None => match has_view(symbols, from, &to.sizes) {
                    Some(true) => Some(Shares::View(operand)),
                    Some(false) => None,
                    None => Some(Shares::Maybe(operand)),
                },
            }
        }
    }
}

/// Sizes ahead that stay as they are do not decide whether there is a view, if there are elements at all: returns what lies behind them on
/// both sides, where all of that is numbers.
fn behind_what_stays(from: &TensorType, to: &TensorType) -> Option<(TensorType, SmallVec<[Dim; 4]>)> {
    let ahead = from.sizes.iter().zip(&to.sizes).take_while(|(a, b)| a == b).count();
    let sizes: SmallVec<[Dim; 4]> = to.sizes.get(ahead..)?.into();
    let mut rest = from.clone();
    rest.sizes = from.sizes.get(ahead..)?.into();
    rest.strides = Some(from.strides.as_ref()?.get(ahead..)?.into());
    (is_fixed(&rest) && sizes.iter().all(|d| d.fixed().is_some())).then_some((rest, sizes))
}

/// Whether sizes and strides are numbers.
fn is_fixed(tensor: &TensorType) -> bool {
    let strides = tensor.strides.iter().flatten();
    tensor.sizes.iter().chain(strides).all(|d| d.fixed().is_some())
}

/// Returns whether a tensor surely is (or surely is not) laid out row by row; `None` where strides are not known.
pub fn contiguous(tensor: &TensorType) -> Option<bool> {
    let strides = tensor.strides.as_ref()?;
    if tensor.sizes.iter().any(|s| s.fixed() == Some(0)) {
        return Some(true);
    }
    let mut expected = Some(1_i64);
    for (size, stride) in tensor.sizes.iter().zip(strides).rev() {
        match (size, stride, expected) {
            (Dim::Fixed(1), _, _) => {}
            (Dim::Fixed(size), Dim::Fixed(stride), Some(want)) => {
                if *stride != want {
                    return Some(false);
                }
                expected = want.checked_mul(*size);
            }
            // The outermost symbolic size needs no product.
            (Dim::Expr(_), Dim::Fixed(stride), Some(want)) if *stride == want => expected = None,
            _ => return None,
        }
    }
    Some(true)
}
