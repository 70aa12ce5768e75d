//! What `einsum` needs.

use crate::ops::typing::require::Entry;

pub(in crate::ops) const NEEDS: &[Entry] = &[(
    |c| match (c.arg(2).items(), c.tensors(1)?.len()) {
        (Some(path), n) if n < 2 || path.len() != n.saturating_sub(1).saturating_mul(2) => {
            Err(c.bad(2, "a pair of places for each product", path.len().to_string()))
        }
        _ => Ok(()),
    },
    &["aten.einsum.default"],
)];
