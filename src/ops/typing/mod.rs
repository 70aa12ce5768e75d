//! Types: of one call, of a whole graph, and what rules are made of.
//!
//! - `infer`, `check`: the type of a call, the types of a graph; `hearsay`, `blurred`: what of them is an annotation's word;
//! - `one_valued`: symbols that are numbers; `asserted`: what is believed of those that only running tells;
//! - `call`: a call as its rule sees it; `require`: what it must fulfil first;
//! - `sizes`, `layout`, `viewed`, `cases`, `promote`, `out`: arithmetic of sizes and strides, promotion, and results.

pub(in crate::ops) mod asserted;
pub(in crate::ops) mod blurred;
pub(in crate::ops) mod call;
pub(in crate::ops) mod cases;
pub(in crate::ops) mod check;
pub(in crate::ops) mod hearsay;
pub(in crate::ops) mod infer;
pub(in crate::ops) mod layout;
pub(in crate::ops) mod one_valued;
pub(in crate::ops) mod out;
pub(in crate::ops) mod promote;
pub(in crate::ops) mod require;
pub(in crate::ops) mod sizes;
pub(in crate::ops) mod viewed;
