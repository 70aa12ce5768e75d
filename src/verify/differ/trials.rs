//! Which trials are made, in which order: sizes and regimes against each other, the telling ones first.
//!
//! Promises: the same subject gives the same list. Leaves when to stop to `mod`.

use crate::graph::Dtype;
use crate::verify::differ::error::Ground;
use crate::verify::differ::lies::Lies;
use crate::verify::differ::regimes::{self, Regime};
use crate::verify::differ::run::{self, From};
use crate::verify::differ::sizes::{self, Sizes};
use crate::verify::differ::subject::{Kind, Subject};

/// One trial.
#[derive(Clone, PartialEq, Debug)]
pub struct Trial {
    /// Which sizes, by place in the list.
    pub sizes: usize,
    /// How inputs are filled.
    pub regime: Regime,
    /// How inputs lie whose strides nobody states.
    pub lies: Lies,
    /// What it may show.
    pub ground: Ground,
    /// Whether inputs that may be the same memory are.
    pub aliased: bool,
}

/// All trials of a subject.
pub struct Trials {
    /// Sizes, by place.
    pub sizes: Vec<Sizes>,
    /// In order.
    pub list: Vec<Trial>,
    /// Whether some sizes were left out: inputs would take too many bytes.
    pub too_large: bool,
}

/// Of sizes beyond these only the first regimes are tried.
const ALL_REGIMES: usize = 6;

/// How many regimes these are.
const FIRST: usize = 10;

/// After how many regimes those are tried that depend on where programs part.
const FAINT: usize = 2;

/// Of this many sizes single NaN elements are tried.
const NAN_SIZES: usize = 3;

/// Of this many sizes other layouts are tried, where inputs may have them: what lies otherwise shows with any values.
const LAYOUT_SIZES: usize = 6;

/// Returns the trials of a subject whose inputs take no more than that many bytes.
pub fn of(subject: &mut Subject<'_>, bytes: usize) -> Trials {
    let mut symbols = subject.symbols.clone();
    let mut all = sizes::of(&subject.dims(), &mut symbols, [subject.before, subject.after]);
    let before = all.len();
    all.retain(|s| run::bytes(subject, s).is_some_and(|n| n <= bytes));
    let too_large = all.len() < before;
    let twins: &[bool] = if subject.inputs.iter().any(|i| i.twin.is_some()) { &[false, true] } else { &[false] };
    let mut list: Vec<(usize, Trial)> = Vec::new();
    let lies = Lies::default();
    let mut add = |rank: usize, sizes: usize, regime: &Regime, ground: Ground| {
        for aliased in twins {
            list.push((rank, Trial { sizes, regime: regime.clone(), lies, ground, aliased: *aliased }));
        }
    };
    let inside = regimes::inside(subject.is_narrow());
    for (s, _) in all.iter().enumerate() {
        for (r, regime) in inside.iter().enumerate() {
            if r < FIRST || s < ALL_REGIMES {
                add(s.saturating_add(r), s, regime, Ground::Inside);
            }
        }
    }
    if subject.parts_midway() {
        for s in 0..all.len().min(ALL_REGIMES) {
            // After what is ordinary.
            add(s.saturating_add(FAINT), s, &Regime::Faint(1), Ground::Inside);
        }
    }
    for (s, sizes) in all.iter().enumerate().take(NAN_SIZES) {
        for regime in nans(subject, sizes) {
            // After the first regimes, before the last fills.
            add(FIRST.saturating_mul(3), s, &regime, Ground::Nan);
        }
    }
    for (s, _) in all.iter().enumerate().take(ALL_REGIMES) {
        for regime in regimes::outside() {
            add(inside.len().saturating_add(s), s, &regime, Ground::Outside);
        }
    }
    if subject.lie_anyhow() {
        let layouts = (0..all.len().min(LAYOUT_SIZES)).flat_map(|s| Lies::OTHERS.map(|lies| (s, lies)));
        for (sizes, lies) in layouts {
            let trial = Trial { sizes, regime: Regime::Ramp, lies, ground: Ground::Inside, aliased: false };
            list.push((sizes.saturating_add(1), trial));
        }
    }
    list.sort_by_key(|(rank, _)| *rank);
    Trials { sizes: all, list: list.into_iter().map(|(_, t)| t).collect(), too_large }
}

/// Single NaN elements: in each float input whose domain is every value, at the first, the last and some others.
fn nans(subject: &mut Subject<'_>, sizes: &Sizes) -> Vec<Regime> {
    let Some(inputs) = run::inputs(subject, sizes, From::Regime(&Regime::Ramp)) else { return Vec::new() };
    let mut out = Vec::new();
    for (input, (value, stated)) in inputs.iter().zip(&subject.inputs).enumerate() {
        let Some(t) = value.as_tensor().filter(|t| t.dtype().is_float() && t.dtype() != Dtype::F8E8m0fnu) else {
            continue;
        };
        if !stated.domain.is_any() || !matches!(stated.kind, Kind::Tensor(_)) || t.numel() == 0 {
            continue;
        }
        let n = t.numel();
        let part = |k: usize| n.saturating_mul(k).checked_div(7).unwrap_or(0);
        let mut places: Vec<usize> =
            if n <= 6 { (0..n).collect() } else { vec![0, n.saturating_sub(1), part(2), part(3), part(5)] };
        places.dedup();
        for large in [false, true] {
            out.extend(places.iter().map(|element| Regime::Nan { large, input, element: *element }));
        }
    }
    out
}
