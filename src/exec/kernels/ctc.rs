//! Connectionist temporal classification: what it costs that a sequence says its labels, over all ways to say them.
//!
//! Computed in `f64` as logarithms. What PyTorch leaves unset in the table of prefixes is minus infinity here.

use crate::exec::call::cx::Cx;
use crate::exec::kernels::Entry;
use crate::exec::tensor::value::Value;
use crate::graph::Dtype;
use crate::ops::CallFault;

type Made = Result<Value, CallFault>;

pub(in crate::exec) const KERNELS: &[Entry] =
    &[(costs, &["aten._ctc_loss.default"]), (gradient, &["aten._ctc_loss_backward.default"])];

const NEVER: f64 = f64::NEG_INFINITY;

/// The logarithm of a sum of numbers that are given by theirs.
fn sum(all: &[f64]) -> f64 {
    let most = all.iter().copied().fold(NEVER, f64::max);
    if most == NEVER { NEVER } else { all.iter().map(|v| (v - most).exp()).sum::<f64>().ln() + most }
}

/// One sequence: how likely each class is at each step, and the labels with blanks between them.
struct Sequence<'a> {
    chances: &'a [f64],
    /// Elements from a step to the next, and to this sequence in a step.
    stride: usize,
    offset: usize,
    steps: usize,
    labels: Vec<usize>,
}

impl Sequence<'_> {
    fn chance(&self, step: usize, label: usize) -> f64 {
        let at = step.saturating_mul(self.stride).saturating_add(self.offset).saturating_add(label);
        self.chances.get(at).copied().unwrap_or(NEVER)
    }

    fn label(&self, s: usize) -> Option<usize> {
        self.labels.get(s).copied()
    }

    /// Whether the label two places before may be left for this one without a blank.
    fn skips(&self, s: usize) -> bool {
        s >= 2 && s % 2 == 1 && self.label(s) != self.label(s.saturating_sub(2))
    }

    /// How likely it is to be at each label after each step.
    fn prefixes(&self) -> Vec<Vec<f64>> {
        let mut all: Vec<Vec<f64>> = Vec::with_capacity(self.steps);
        for step in 0..self.steps {
            let before = all.last();
            let at = |s: usize| {
                let own = self.label(s).map_or(NEVER, |label| self.chance(step, label));
                let was = |back: usize| before.and_then(|b| b.get(s.checked_sub(back)?)).copied().unwrap_or(NEVER);
                match before {
                    None => {
                        if s < 2 {
                            own
                        } else {
                            NEVER
                        }
                    }
                    Some(_) => own + sum(&[was(0), was(1), if self.skips(s) { was(2) } else { NEVER }]),
                }
            };
            all.push((0..self.labels.len()).map(at).collect());
        }
        all
    }

    /// The same from the end.
    fn suffixes(&self) -> Vec<Vec<f64>> {
        let mut all: Vec<Vec<f64>> = Vec::with_capacity(self.steps);
        let count = self.labels.len();
        for step in (0..self.steps).rev() {
            let after = all.last();
            let at = |s: usize| {
                let own = self.label(s).map_or(NEVER, |label| self.chance(step, label));
                let will = |more: usize| after.and_then(|a| a.get(s.saturating_add(more))).copied().unwrap_or(NEVER);
                let skip = if self.skips(s.saturating_add(2)) { will(2) } else { NEVER };
                match after {
                    None => {
                        if s.saturating_add(2) >= count {
                            own
                        } else {
                            NEVER
                        }
                    }
                    Some(_) => own + sum(&[will(0), will(1), skip]),
                }
            };
            all.push((0..count).map(at).collect());
        }
        all.reverse();
        all
    }

    /// What it costs to have said all labels at the last step.
    fn cost(&self, prefixes: &[Vec<f64>]) -> f64 {
        match prefixes.last() {
            None => {
                if self.labels.len() == 1 {
                    0.0
                } else {
                    f64::INFINITY
                }
            }
            Some(last) => -sum(last.get(last.len().saturating_sub(2)..).unwrap_or(last)),
        }
    }
}

/// The sequences of a call: places of its arguments are those of chances, labels, lengths of both, and of the blank.
fn sequences<'a>(cx: &Cx<'_, '_, '_>, chances: &'a [f64], at: [usize; 5]) -> Result<Vec<Sequence<'a>>, CallFault> {
    let [x, labels, steps, lengths, blank] = at;
    let (sizes, labels_given) = (cx.tensor(x)?.sizes().to_vec(), cx.tensor(labels)?);
    let &[most, batch, classes] = sizes.as_slice() else {
        return Err(cx.bad(x, "steps, a batch and classes", format!("{sizes:?}")));
    };
    let count = |i: usize, bound: usize| -> Result<Vec<usize>, CallFault> {
        let all = cx.ints(i)?;
        let one = |n: &i64| usize::try_from(*n).ok().filter(|n| *n <= bound);
        let found: Option<Vec<usize>> = all.iter().map(one).collect();
        found
            .filter(|l| l.len() == batch)
            .ok_or_else(|| cx.bad(i, format!("{batch} lengths of at most {bound}"), format!("{all:?}")))
    };
    let rows = labels_given.rank() == 2;
    let width = if rows { labels_given.meta.size(1) } else { labels_given.numel() };
    let (steps, lengths) = (count(steps, most)?, count(lengths, width)?);
    let blank = usize::try_from(cx.int(blank)?)
        .ok()
        .filter(|b| *b < classes)
        .ok_or_else(|| cx.bad(blank, "a class", "another"))?;
    let all = labels_given.lanes::<i64>()?;
    let (mut made, mut first) = (Vec::new(), 0_usize);
    for (n, (steps, length)) in steps.iter().zip(&lengths).enumerate() {
        let begin = if rows { n.saturating_mul(width) } else { first };
        first = first.saturating_add(*length);
        let own = all
            .get(begin..begin.saturating_add(*length))
            .ok_or_else(|| cx.bad(labels, "a label for each place", "fewer"))?;
        let mut with_blanks = vec![blank];
        for label in own {
            let label = usize::try_from(*label).ok().filter(|l| *l < classes);
            with_blanks
                .extend([label.ok_or_else(|| cx.bad(labels, format!("classes below {classes}"), "another"))?, blank]);
        }
        let (stride, offset) = (batch.saturating_mul(classes), n.saturating_mul(classes));
        made.push(Sequence { chances, stride, offset, steps: *steps, labels: with_blanks });
    }
    Ok(made)
}

fn floats(cx: &Cx<'_, '_, '_>, i: usize) -> Result<(), CallFault> {
    let dtype = cx.tensor(i)?.dtype();
    if matches!(dtype, Dtype::F32 | Dtype::F64) { Ok(()) } else { Err(cx.bad(i, "f32 or f64", dtype.long())) }
}

/// The cost of each sequence, and its table of prefixes.
fn costs(cx: &mut Cx<'_, '_, '_>) -> Made {
    floats(cx, 0)?;
    let chances = cx.tensor(0)?.lanes::<f64>()?;
    let table = cx.meta_of(1)?;
    let (steps, width) = (table.size(1), table.size(2));
    let (mut costs, mut tables) = (Vec::new(), Vec::with_capacity(table.numel()));
    for one in sequences(cx, &chances, [0, 1, 2, 3, 4])? {
        cx.session.check_time()?;
        let prefixes = one.prefixes();
        costs.push(one.cost(&prefixes));
        for step in 0..steps {
            let row = prefixes.get(step).map_or(&[][..], Vec::as_slice);
            tables.extend((0..width).map(|s| row.get(s).copied().unwrap_or(NEVER)));
        }
    }
    Ok(vec![cx.emit_at(0, costs)?, cx.emit_at(1, tables)?].into())
}

/// How each chance moves the cost: by how much of all ways goes through it.
fn gradient(cx: &mut Cx<'_, '_, '_>) -> Made {
    floats(cx, 1)?;
    let (chances, meta) = (cx.tensor(1)?.lanes::<f64>()?, cx.meta()?);
    let (given, quiet) = (cx.tensor(0)?.lanes::<f64>()?, cx.bool(8)?);
    let mut out = vec![0.0; meta.numel()];
    let classes = meta.size(2);
    for (n, one) in sequences(cx, &chances, [1, 2, 3, 4, 7])?.iter().enumerate() {
        cx.session.check_time()?;
        let (prefixes, suffixes) = (one.prefixes(), one.suffixes());
        let cost = one.cost(&prefixes);
        if quiet && cost == f64::INFINITY {
            continue;
        }
        let scale = given.get(n).or(given.first()).copied().unwrap_or(0.0);
        for (step, (prefix, suffix)) in prefixes.iter().zip(&suffixes).enumerate() {
            let mut through: Vec<Vec<f64>> = vec![Vec::new(); classes];
            for ((before, after), label) in prefix.iter().zip(suffix).zip(&one.labels) {
                if let Some(list) = through.get_mut(*label) {
                    list.push(before + after);
                }
            }
            for (class, ways) in through.iter().enumerate() {
                let chance = one.chance(step, class);
                let at = step.saturating_mul(one.stride).saturating_add(one.offset).saturating_add(class);
                if let Some(out) = out.get_mut(at) {
                    *out = (chance.exp() - (sum(ways) + cost - chance).exp()) * scale;
                }
            }
        }
    }
    cx.emit(out)
}
