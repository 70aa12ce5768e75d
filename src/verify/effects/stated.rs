//! Assertions that say of a tensor what its type says.
//!
//! Promises: "true" only where every statement is one of the type that rules computed: then the assertion never raises, and may be added or
//! left out. What strides it names is not looked at: such an assertion stays.

use crate::analysis::place_of;
use crate::graph::{Arg, NodeId};
use crate::term::term::Side;
use crate::verify::functional::values::{Functional, bind};
use crate::verify::functional::views::as_dim;

/// Returns whether an assertion surely holds for all inputs.
pub fn surely_true(f: &mut Functional<'_>, side: Side, node: NodeId) -> bool {
    said(f, side, node).is_some()
}

fn said(f: &mut Functional<'_>, side: Side, node: NodeId) -> Option<()> {
    let view = f.view(side);
    let operator = f.registry.operator_of(view, node).filter(|o| o.facts.states_type)?;
    let bound = bind(operator, view, node).filter(|b| b.extra.is_empty())?;
    let subject = bound.args.first()?.as_node()?;
    let ty = f.tensor(side, place_of(view, subject))?;
    let mut given = bound.args.iter().skip(1);
    given
        .all(|arg| match arg {
            Arg::None => true,
            Arg::Dtype(d) => *d == ty.dtype,
            Arg::Device(d) => *d == ty.device,
            Arg::Layout(l) => *l == ty.layout,
            _ => false,
        })
        .then_some(())
        .or_else(|| {
            // Sizes stand first; nothing is said of strides.
            let sizes = bound.args.get(1)?.items()?;
            let same = sizes.len() == ty.rank()
                && sizes.iter().zip(&ty.sizes).all(|(a, d)| as_dim(view, a).is_some_and(|a| f.sizes.same(a, *d)));
            let rest = bound.args.iter().skip(2).all(|arg| match arg {
                Arg::None => true,
                Arg::Dtype(d) => *d == ty.dtype,
                Arg::Device(d) => *d == ty.device,
                Arg::Layout(l) => *l == ty.layout,
                _ => false,
            });
            (same && rest).then_some(())
        })
}
