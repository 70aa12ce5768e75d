//! What calls of one object have given C: texts and lists, which stay where they are until they are released.

use std::any::Any;

use crate::texts::{Text, ended};

/// Texts and lists that C has pointers to.
#[derive(Default)]
pub struct Arena {
    kept: Vec<Box<dyn Any + Send>>,
}

/// A list that points into an arena.
struct Kept<T>(#[allow(dead_code)] Box<[T]>);

// SAFETY: pointers in lists of an arena point into the same arena, which moves between threads as a whole and is read by C only.
unsafe impl<T> Send for Kept<T> {}

impl Arena {
    /// Keeps a text.
    pub fn text(&mut self, text: impl Into<String>) -> Text {
        let bytes = ended(text.into());
        let given = Text::of_ended(&bytes);
        self.kept.push(Box::new(bytes));
        given
    }

    /// Keeps a text that may be absent.
    pub fn option(&mut self, text: Option<String>) -> Text {
        text.map_or(Text::NONE, |text| self.text(text))
    }

    /// Keeps a list. An empty one has no place.
    pub fn list<T: 'static>(&mut self, items: Vec<T>) -> (*const T, usize) {
        if items.is_empty() {
            return (std::ptr::null(), 0);
        }
        let items = items.into_boxed_slice();
        let given = (items.as_ptr(), items.len());
        self.kept.push(Box::new(Kept(items)));
        given
    }

    /// Frees all that was kept.
    pub fn release(&mut self) {
        self.kept.clear();
    }
}
