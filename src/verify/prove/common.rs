//! What two elements have in common, taken for one number each.
//!
//! ## What it says
//! Where two elements are one over the reals whatever the elements are that both are made of, both follow an error of these alike. What is left
//! to be compared is what each of them rounds itself, of numbers that lie where those lie.
//!
//! ## When it is wrong
//! Where the two are one only because of what these are made of: that they are one of any numbers is shown anew.

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::graph::Dtype;
use crate::rules::element::arena::{Elements, ExprId, Form, Source, SourceId};
use crate::rules::field::Field;
use crate::rules::rounding::{self, Known};

/// How many elements may be taken for numbers.
const MOST: usize = 8;

/// Two elements of numbers of their own.
pub struct Common {
    /// The first one.
    pub x: ExprId,
    /// The second one.
    pub y: ExprId,
    /// Which element each number is.
    pub numbers: Vec<(SourceId, ExprId)>,
    /// What is known of those elements.
    pub known: Known,
}

/// Returns two elements with what they have in common taken for numbers; `None` within where there is nothing, or where they are not one of any
/// numbers.
pub fn common(e: &mut Elements, dtype: Dtype, x: ExprId, y: ExprId) -> Option<Option<Common>> {
    let shared = shared(e, x, y);
    if shared.is_empty() || shared.len() > MOST {
        return Some(None);
    }
    let (mut numbers, mut of) = (Vec::new(), FxHashMap::default());
    for id in shared {
        let item = u32::try_from(numbers.len()).ok()?;
        let call = Source::Call { target: "element".into(), tokens: Box::new([]), kids: Box::new([]), item };
        let source = e.source(call);
        of.insert(id, e.load(e.dtype(id)?, source, SmallVec::new())?);
        numbers.push((source, id));
    }
    let known = rounding::known(e, [x, y]);
    let (first, second) = (e.with_others(x, &of)?, e.with_others(y, &of)?);
    let one = (first, second) != (x, y) && Field::equal(e, dtype, first, second) == Some(true);
    Some(one.then_some(Common { x: first, y: second, numbers, known }))
}

/// The largest floats in which both elements stand on nothing that is reduced around them: numbers of which both are made.
fn shared(e: &Elements, x: ExprId, y: ExprId) -> Vec<ExprId> {
    let [first, second] = [x, y].map(|root| e.below(root));
    let within: FxHashSet<ExprId> = first.iter().copied().collect();
    let both: FxHashSet<ExprId> = second.iter().copied().filter(|id| within.contains(id)).collect();
    let free = rounding::free(e, &first);
    let is_number = |id: &ExprId| {
        let Some(expr) = e.expr(*id) else { return false };
        let stands_alone = free.get(id).is_some_and(|levels| levels.is_empty());
        both.contains(id)
            && expr.dtype.is_float()
            && stands_alone
            && !matches!(expr.form, Form::Const(_) | Form::Number(_))
    };
    let (mut out, mut open, mut seen) = (Vec::new(), vec![x, y], FxHashSet::default());
    while let Some(at) = open.pop() {
        if !seen.insert(at) {
            continue;
        }
        if is_number(&at) {
            out.push(at);
        } else if let Some(expr) = e.expr(at) {
            open.extend(e.parts(expr));
        }
    }
    out.sort_unstable();
    out
}
