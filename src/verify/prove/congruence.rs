//! Congruence: two values are equal if they are one, or if their forms are equal and their children are, pair by pair.
//!
//! Promises: (1) `true` rests on structure alone, down to shared inputs or nodes that the edit did not reach; (2) each
//! pair is looked at once: what was shown equal is one class, what was not is remembered; (3) a worklist, no recursion, and a pair that
//! would rest on itself (classes may hold terms over themselves, as `floor(floor(x))` over `floor(x)`) is not shown; (4) the work is
//! bounded, and running out of it is "not shown".

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::certificate::Step;
use crate::rules::Level;
use crate::term::store::ValueId;
use crate::term::term::{Form, Term};
use crate::verify::functional::values::Functional;

type Pairs = SmallVec<[(ValueId, ValueId); 4]>;

/// Whether equal values are looked for.
#[derive(Debug, Default)]
pub enum Proof {
    /// They are.
    #[default]
    Search,
    /// They are, and what rules show is kept, in order: of values that a certificate can name.
    Record(Vec<Step>),
    /// What rules show was shown already.
    Given,
}

struct Frame {
    pair: (ValueId, ValueId),
    /// Ways to match the children, the next one last.
    ways: SmallVec<[Pairs; 2]>,
    /// What is left of the way that is being tried.
    rest: Pairs,
    /// Whether another way was tried before.
    again: bool,
}

/// Compares values of both sides.
#[derive(Debug, Default)]
pub struct Congruence {
    differ: FxHashSet<(ValueId, ValueId)>,
    /// Pairs whose children are being compared.
    open: FxHashSet<(ValueId, ValueId)>,
    /// The innermost pair of the last comparison that failed.
    pub first_difference: Option<(ValueId, ValueId)>,
    /// The pairs around it, from the inside out.
    pub around: Vec<(ValueId, ValueId)>,
    /// What rules showed.
    pub rules: crate::verify::prove::widen::Rules,
    /// Whether more is looked for.
    pub proof: Proof,
    /// Whether values nearer to the inputs are compared by rules before those around them.
    pub inner_first: bool,
    tried: FxHashSet<(ValueId, ValueId, Level)>,
    checked: FxHashSet<(ValueId, ValueId)>,
    steps: usize,
    limit: usize,
    /// Whether everything below two values is found first: then equal structures are one class already.
    settles: bool,
    /// Whether operands that may be exchanged are paired as they look alike, and not as they are written.
    pub pairs_alike: bool,
}

enum Look {
    Equal,
    Differ,
    Open(Frame),
}

impl Congruence {
    /// Returns a comparison that looks at no more than so many pairs.
    pub fn with_limit(limit: usize) -> Self {
        Congruence { limit, ..Congruence::default() }
    }

    /// From here on everything below two values is found before they are compared: for whole graphs.
    pub fn settle_first(&mut self) {
        self.settles = true;
    }

    /// Whether everything below two values is found before they are compared.
    pub fn settles_first(&self) -> bool {
        self.settles
    }

    /// Forgets what was not shown: something else was since.
    pub fn forget(&mut self) {
        self.differ.clear();
        self.first_difference = None;
        self.around.clear();
    }

    /// Lets rules try again what they did not show: much below it was shown since.
    pub fn try_again(&mut self) {
        self.tried.clear();
    }

    /// Returns whether two values are shown to be equal; where they are not, `first_difference` is of these two, whatever was compared before.
    pub fn equal_or_part(&mut self, f: &mut Functional<'_>, a: ValueId, b: ValueId) -> bool {
        self.first_difference = None;
        self.around.clear();
        if self.equal(f, a, b) {
            return true;
        }
        if self.first_difference.is_some() {
            return false;
        }
        // What differs was met before, and is not looked into again until it is forgotten.
        self.forget();
        self.equal(f, a, b)
    }

    /// Returns whether a pair was not tried by rules before.
    pub fn try_once(&mut self, a: ValueId, b: ValueId, level: Level) -> bool {
        self.tried.insert((a, b, level))
    }

    /// Returns whether a pair was not compared by fingerprints before.
    pub fn check_once(&mut self, a: ValueId, b: ValueId) -> bool {
        self.checked.insert((a, b))
    }

    /// Returns whether the work ran out.
    pub fn is_exhausted(&self) -> bool {
        self.steps >= self.limit
    }

    /// Returns whether two values are shown to be equal.
    pub fn equal(&mut self, f: &mut Functional<'_>, a: ValueId, b: ValueId) -> bool {
        if self.settles {
            f.settle(a);
            f.settle(b);
        }
        self.open.clear();
        let mut frames: Vec<Frame> = Vec::new();
        let mut result = match self.step(f, a, b) {
            Look::Equal => return true,
            Look::Differ => false,
            Look::Open(frame) => {
                frames.push(frame);
                true
            }
        };
        if frames.is_empty() {
            return result;
        }
        // How many frames are in a way that is not their first.
        let mut unlikely = 0_usize;
        // `result` is that of the pair looked at last; at the start of a way it is true.
        while let Some(frame) = frames.last_mut() {
            if !result {
                match frame.ways.pop() {
                    Some(way) => {
                        frame.rest = way;
                        unlikely = unlikely.saturating_add(usize::from(!frame.again));
                        frame.again = true;
                        result = true;
                    }
                    None => {
                        self.open.remove(&frame.pair);
                        self.differ.insert(frame.pair);
                        unlikely = unlikely.saturating_sub(usize::from(frame.again));
                        frames.pop();
                    }
                }
                continue;
            }
            let Some((a, b)) = frame.rest.pop() else {
                let (a, b) = frame.pair;
                self.open.remove(&frame.pair);
                f.store.union_of_terms(a, b);
                unlikely = unlikely.saturating_sub(usize::from(frame.again));
                frames.pop();
                continue;
            };
            let known = self.first_difference;
            match self.step(f, a, b) {
                Look::Equal => {}
                Look::Differ => {
                    // Where the likelier way parts, it is asked further.
                    if self.pairs_alike && unlikely > 0 && known.is_some() {
                        self.first_difference = known;
                    } else if self.first_difference != known {
                        self.around = frames.iter().rev().map(|frame| frame.pair).collect();
                    }
                    result = false;
                }
                Look::Open(frame) => frames.push(frame),
            }
        }
        result
    }

    fn step(&mut self, f: &mut Functional<'_>, a: ValueId, b: ValueId) -> Look {
        if f.store.find(a) == f.store.find(b) {
            return Look::Equal;
        }
        self.steps = self.steps.saturating_add(1);
        if self.is_exhausted() {
            return Look::Differ;
        }
        let (Some(x), Some(y)) = (f.term(a), f.term(b)) else { return Look::Differ };
        let (ra, rb) = (f.store.find(a), f.store.find(b));
        if ra == rb {
            return Look::Equal;
        }
        if self.differ.contains(&(ra, rb)) {
            return Look::Differ;
        }
        if self.open.contains(&(ra, rb)) {
            self.first_difference = Some((a, b));
            return Look::Differ;
        }
        match ways(f, &x, &y, self.pairs_alike) {
            Some(mut ways) => match ways.pop() {
                Some(rest) => {
                    self.open.insert((ra, rb));
                    Look::Open(Frame { pair: (ra, rb), ways, rest, again: false })
                }
                None => Look::Differ,
            },
            None => {
                self.first_difference = Some((a, b));
                self.differ.insert((ra, rb));
                Look::Differ
            }
        }
    }
}

/// Ways in which the children may match, the last one to be tried first: as they are written, or, if asked, the likelier one; none where the
/// forms differ.
fn ways(f: &mut Functional<'_>, x: &Term, y: &Term, likelier: bool) -> Option<SmallVec<[Pairs; 2]>> {
    if x.form != y.form || x.children.len() != y.children.len() || matches!(*x.form, Form::Leaf(_)) {
        return None;
    }
    // The last of a list is taken first: children are compared in written order.
    let pairs = |swap: bool| -> Pairs {
        let mut right = y.children.clone();
        if swap && let [a, b, ..] = right.as_mut_slice() {
            std::mem::swap(a, b);
        }
        x.children.iter().copied().zip(right).rev().collect()
    };
    let mut ways: SmallVec<[Pairs; 2]> = SmallVec::from_elem(pairs(false), 1);
    if matches!(*x.form, Form::Call { commutes: true, .. }) {
        let swapped = pairs(true);
        let mut likeness = |way: &Pairs| way.iter().map(|pair| alike(f, *pair, LOOKED_AT)).sum::<usize>();
        let is_likelier = likelier && likeness(&swapped) > likeness(&pairs(false));
        ways.insert(usize::from(is_likelier), swapped);
    }
    Some(ways)
}

/// How deep, and how wide, the children of two values are looked at to see how alike these are.
const LOOKED_AT: usize = 3;
/// How much more it is to be one than to look alike.
const ONE: usize = 64;

/// How much of the forms of two values, and of those below them in order, is the same.
fn alike(f: &mut Functional<'_>, (a, b): (ValueId, ValueId), depth: usize) -> usize {
    if f.store.find(a) == f.store.find(b) {
        return ONE;
    }
    let Some(below) = depth.checked_sub(1) else { return 0 };
    let (Some(x), Some(y)) = (f.term(a), f.term(b)) else { return 0 };
    if x.form != y.form {
        return 0;
    }
    let children = x.children.iter().copied().zip(y.children.iter().copied()).take(LOOKED_AT);
    children.fold(1, |sum, pair| sum.saturating_add(alike(f, pair, below)))
}
