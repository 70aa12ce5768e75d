//! Texts on their way between C and Rust.

use std::path::PathBuf;

use crate::status::Failure;

/// A text in UTF-8. One that is given ends with a null byte, which `len` does not count; one that is taken need not.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Its bytes.
    pub ptr: *const u8,
    /// How many.
    pub len: usize,
}

impl Text {
    /// None: of an optional text that is not there.
    pub const NONE: Text = Text { ptr: std::ptr::null(), len: 0 };

    /// A text that `ended` made.
    pub fn of_ended(bytes: &[u8]) -> Text {
        Text { ptr: bytes.as_ptr(), len: bytes.len().saturating_sub(1) }
    }
}

/// The bytes of a text with a null byte after them.
pub fn ended(text: String) -> Box<[u8]> {
    let mut bytes = text.into_bytes();
    bytes.push(0);
    bytes.into_boxed_slice()
}

/// Reads a list of C's.
///
/// # Safety
///
/// Where `ptr` is not null, `len` items are there for as long as the call lasts.
pub unsafe fn list<'a, T>(ptr: *const T, len: usize, what: &str) -> Result<&'a [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    if ptr.is_null() {
        return Err(Failure::null(what));
    }
    if !ptr.is_aligned() || len.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX.unsigned_abs()) {
        return Err(Failure::input(format!("`{what}` is no list of {len} items")));
    }
    // SAFETY: not null, aligned, of a possible size; the caller promises the rest.
    Ok(unsafe { std::slice::from_raw_parts(ptr, len) })
}

/// Reads a text.
///
/// # Safety
///
/// As [`list`].
pub unsafe fn text<'a>(text: Text, what: &str) -> Result<&'a str, Failure> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { list(text.ptr, text.len, what) }?;
    std::str::from_utf8(bytes).map_err(|error| Failure::input(format!("`{what}` is no UTF-8: {error}")))
}

/// Reads a text that may be absent: null.
///
/// # Safety
///
/// As [`list`].
pub unsafe fn option<'a>(given: Text, what: &str) -> Result<Option<&'a str>, Failure> {
    if given.ptr.is_null() && given.len == 0 {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { text(given, what) }.map(Some)
}

/// Reads a path, which has to be there.
///
/// # Safety
///
/// As [`list`].
pub unsafe fn path(given: Text, what: &str) -> Result<PathBuf, Failure> {
    // SAFETY: the caller's promise.
    match unsafe { option(given, what) }? {
        Some(path) if !path.is_empty() => Ok(PathBuf::from(path)),
        _ => Err(Failure::null(what)),
    }
}

/// Writes what a call gives.
///
/// # Safety
///
/// Where `out` is not null, a `T` may be written there.
pub unsafe fn give<T>(out: *mut T, value: T, what: &str) -> Result<(), Failure> {
    if out.is_null() {
        return Err(Failure::null(what));
    }
    // SAFETY: not null, and the caller's promise. What was there is C's and is not dropped.
    unsafe { out.write_unaligned(value) };
    Ok(())
}

/// Fails where what a call gives has no place, before anything is done.
pub fn place<T>(out: *mut T, what: &str) -> Result<(), Failure> {
    if out.is_null() { Err(Failure::null(what)) } else { Ok(()) }
}
