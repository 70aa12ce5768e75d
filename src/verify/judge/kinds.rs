//! What kinds of calls two graphs have, or ever had: answers that cost the targets, a few, and the nodes only where a target may see a NaN.

use crate::graph::{Dtype, NodeId, NodeKind, View};
use crate::ops::{Operator, Registry, SharesWhen, SideEffect};

/// What is so of any call, or of all.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    /// Every call is a function of its operands that may be judged by itself: no writes, draws, bodies, nor operators that nobody
    /// described. Then an edit reaches what uses it and nothing else.
    pub is_plain: bool,
    /// A call may write: else memory holds what it was born with until the program ends, and the signature may have inputs written.
    pub writes: bool,
    /// A call may depend on the sign or the payload of a NaN: then only what keeps every bit is equal.
    pub sees_nan: bool,
    /// A call may be a view or a copy, as its operand lies.
    pub shares_by_layout: bool,
    /// A call may give a tensor another shape or memory in place.
    pub reshapes: bool,
    /// A call waits for what others still work on.
    pub waits: bool,
    /// A call may go on once it gave its result: a collective, or, where anything waits, an operator that nobody described.
    pub goes_on: bool,
}

/// Whether a call that may depend on the payload of a NaN is given or gives floats: integers seen as others have none.
fn looks_into_floats(view: &dyn View, registry: &Registry) -> bool {
    let whole = |n: NodeId| {
        let dtype = view.ty(n).as_tensor().map(|t| t.dtype).filter(|_| !view.hearsay(n).sizes());
        dtype.is_some_and(|d| d.is_integer() || d == Dtype::Bool)
    };
    view.bodies().flat_map(|b| view.nodes(b)).filter(|n| view.kind(*n) == NodeKind::Call).any(|n| {
        let sees = registry.get(view.target(n)).is_some_and(|o| o.facts.sees_nan);
        sees && !(whole(n) && view.operands(n).all(whole))
    })
}

/// Whether an operator takes another one, which it may hide.
fn hides_another(operator: &Operator) -> bool {
    operator.schema.params.first().is_some_and(|p| &*p.name == "op")
}

impl Kinds {
    /// Looks each target up once.
    pub fn of(views: &[&dyn View], registry: &Registry) -> Self {
        let mut kinds = Kinds {
            is_plain: true,
            writes: false,
            sees_nan: false,
            shares_by_layout: false,
            reshapes: false,
            waits: false,
            goes_on: false,
        };
        let (mut is_known, mut hides) = (true, false);
        for target in views.iter().flat_map(|v| v.targets().iter().map(|t| v.texts().text(*t))) {
            let operator = registry.get(target);
            is_known &= operator.is_some();
            hides |= operator.is_some_and(hides_another);
            kinds.add(target, operator);
        }
        kinds.goes_on |= kinds.waits && (!is_known || hides);
        kinds.sees_nan = kinds.sees_nan && views.iter().any(|v| looks_into_floats(*v, registry));
        kinds
    }

    fn add(&mut self, target: &str, operator: Option<&Operator>) {
        let Some(o) = operator else {
            self.is_plain = false;
            self.writes = true;
            // It may be given what it writes by name.
            self.reshapes = true;
            return;
        };
        let (effects, facts) = (&o.effects, &o.facts);
        let side = matches!(
            effects.side,
            None | Some(SideEffect::Stream | SideEffect::Record | SideEffect::Prefetch | SideEffect::Assert)
        );
        let hides = hides_another(o);
        let alone = !(effects.opaque || effects.random || effects.writes() || facts.unset || facts.sees_layout);
        self.is_plain &= *o.target == *target && !hides && side && alone;
        self.writes |= *o.target != *target
            || !side
            || hides
            || effects.opaque
            || effects.writes()
            || facts.asynchronous
            || facts.waits;
        self.sees_nan |= facts.sees_nan;
        self.waits |= facts.waits;
        self.goes_on |= facts.asynchronous;
        self.shares_by_layout |= matches!(facts.shares, Some(SharesWhen::Contiguous | SharesWhen::Reshaped));
        // An `out` argument may be given another size.
        let takes_out = o.schema.params.iter().zip(&effects.params).any(|(p, a)| p.kwarg_only && a.writes);
        self.reshapes |= facts.reshapes || takes_out;
    }
}
