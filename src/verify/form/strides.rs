//! How outputs lie in memory: told of every verdict, judged by the strict policy alone.
//!
//! Promises: nothing is told of an output that lies as before, or that no index distinguishes; where it is not shown how outputs lie, that is told only where it
//! is judged.

use crate::analysis::{Place, place_of};
use crate::graph::{TensorType, ValueType};
use crate::term::term::Side;
use crate::verify::form::outputs::returned_nodes;
use crate::verify::functional::values::Functional;
use crate::verify::prove::congruence::Congruence;

/// Returns, in words, which outputs lie in other strides than before; where the policy judges it, also which are not shown to lie in the same ones.
pub fn compare_strides(f: &mut Functional<'_>, c: &mut Congruence) -> Vec<String> {
    let [before, after] = [f.before.view, f.after.view].map(returned_nodes);
    // What is told rests on nothing that the verdict rests on, unless it is judged.
    let counted = f.layout_counts;
    let mut told = Vec::new();
    for (number, (a, b)) in before.into_iter().zip(after).enumerate() {
        let (p, q) = (place_of(f.before.view, a), place_of(f.after.view, b));
        if p == q && f.is_untouched(p.node) || !matches!(f.before.storages.type_of(p), ValueType::Tensor(_)) {
            continue;
        }
        let words = match (f.laid_out(Side::Before, p), f.laid_out(Side::After, q)) {
            (Some(x), Some(y)) => differ(f, x, y),
            _ if f.judges_strides && !lie_alike(f, c, p, q) => {
                Some("is not shown to lie in the same strides as before".to_string())
            }
            _ => None,
        };
        told.extend(words.map(|w| format!("output {number} {w}")));
    }
    f.layout_counts = counted || f.judges_strides;
    told
}

/// Returns in words how two tensors lie, where their strides may differ in a dimension of more than one index.
fn differ(f: &Functional<'_>, x: &TensorType, y: &TensorType) -> Option<String> {
    let symbols = f.sizes.symbols();
    let is = |a, b| symbols.equal(a, b) == Some(true);
    let one = crate::sym::Dim::Fixed(1);
    let (old, new) = (x.strides.as_ref()?, y.strides.as_ref()?);
    let same = old.iter().zip(new).zip(&x.sizes).all(|((a, b), size)| is(*a, *b) || is(*size, one));
    let is_empty = x.sizes.iter().any(|d| d.fixed() == Some(0));
    let print =
        |strides: &[crate::sym::Dim]| strides.iter().map(|d| symbols.print_python(*d)).collect::<Vec<_>>().join(", ");
    (!same && !is_empty).then(|| format!("lies in strides ({}) before, ({}) after", print(old), print(new)))
}

fn lie_alike(f: &mut Functional<'_>, c: &mut Congruence, p: Place, q: Place) -> bool {
    let (a, b) = (f.layout(Side::Before, p), f.layout(Side::After, q));
    c.equal(f, a, b)
}
