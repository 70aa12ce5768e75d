//! What the signature copies to an input behind the run, and when that raises.
//!
//! PyTorch does it by `copy_`, which refuses a value that lies in the input's own memory in other strides, those that no index uses included.
//! What is copied is compared by `outputs`.
//!
//! Promises: such a copy asks after an edit what it asked before.

use crate::analysis::{Place, place_of};
use crate::graph::NodeId;
use crate::term::term::Side;
use crate::verify::findings::Problem;
use crate::verify::form::outputs::same_part;
use crate::verify::functional::key::Aspect;
use crate::verify::functional::values::Functional;
use crate::verify::prove::congruence::Congruence;
use crate::verify::verdict::Question;

/// Compares what the final copies of both graphs ask in order not to raise.
pub fn compare_copied_back(f: &mut Functional<'_>, c: &mut Congruence) -> Vec<Problem> {
    let (before, after) = (f.before.storages.finals().to_vec(), f.after.storages.finals().to_vec());
    let mut problems = Vec::new();
    for ((to, from, number), (other_to, other_from, _)) in before.into_iter().zip(after) {
        let (p, q) = (place_of(f.before.view, from), place_of(f.after.view, other_from));
        let surely = surely_holds(f, Side::Before, to, p) && surely_holds(f, Side::After, other_to, q);
        if surely || (p == q && f.is_untouched(p.node)) {
            continue;
        }
        let (a, b) = (f.layout_as(Side::Before, p, Aspect::Exact), f.layout_as(Side::After, q, Aspect::Exact));
        if !(same_part(f, c, p, q) && c.equal(f, a, b)) {
            problems.push(unshown(f, number, to.node, (from, other_from)));
        }
    }
    problems
}

/// Whether what is copied lies in other memory, or is the input itself.
fn surely_holds(f: &mut Functional<'_>, side: Side, input: Place, value: Place) -> bool {
    let storages = &mut f.side(side).storages;
    let input = storages.first_of_same(input);
    let origin = storages.origin(input);
    storages.first_of_same(value) == input || !storages.group(value).origins.contains(&origin)
}

fn unshown(f: &Functional<'_>, number: u32, input: NodeId, (a, b): (NodeId, NodeId)) -> Problem {
    let name = f.before.view.name(input);
    let reason = format!(
        "output {number} is copied to input `{name}`, in whose memory it lies: not shown to lie there as before, and `copy_` raises for other strides"
    );
    let names = [f.before.view.name(a).to_string(), f.after.view.name(b).to_string()];
    Problem::unknown(Question::Effects, reason).at(names)
}
