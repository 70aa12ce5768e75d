//! Texts of ids, asked for once.
//!
//! A text call costs the host six times what a number costs, and a graph has few different targets: each id's text is
//! kept for as long as the pass runs. An instance runs one pass once, so what is kept is never given back.

use std::cell::RefCell;

use crate::bindings::airlock::pass::graph as raw;

thread_local! {
    static TEXTS: RefCell<Vec<Option<&'static str>>> = const { RefCell::new(Vec::new()) };
}

/// The text of an id; empty for an id that the host does not know.
pub(crate) fn text(id: u32) -> &'static str {
    let index = id as usize;
    let known = TEXTS.with_borrow(|texts| texts.get(index).copied().flatten());
    known.unwrap_or_else(|| {
        let text = raw::text(id).map_or("", |text| &*text.leak());
        TEXTS.with_borrow_mut(|texts| {
            if texts.len() <= index {
                texts.resize(index + 1, None);
            }
            texts[index] = Some(text);
        });
        text
    })
}
