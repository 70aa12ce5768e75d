//! What surrounds a pass: the log, where it runs, and what the user set.

use std::cell::RefCell;
use std::str::FromStr;

use crate::bindings::airlock::pass::{constants, host};
use crate::{Error, Node, Result};

thread_local! {
    static CONFIG: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The user's text for this run of the pass, often empty.
pub fn config() -> String {
    CONFIG.with_borrow(String::clone)
}

pub(crate) fn set_config(config: String) {
    CONFIG.set(config);
}

/// Writes a line to the run's log, for whoever works on the pass.
pub fn debug(message: impl AsRef<str>) {
    host::log(host::Level::Debug, message.as_ref());
}

/// Writes a line to the run's log, for whoever runs it.
pub fn info(message: impl AsRef<str>) {
    host::log(host::Level::Info, message.as_ref());
}

/// Writes a warning to the run's log.
pub fn warn(message: impl AsRef<str>) {
    host::log(host::Level::Warn, message.as_ref());
}

/// The stage that the pass runs in: `pre` or `post`.
pub fn stage() -> String {
    host::stage()
}

/// The NPU path that the graph is compiled for: `max-autotune` or `reduce-overhead`.
pub fn mode() -> String {
    host::mode()
}

/// The value of an option that the user set for this pass.
pub fn option(key: &str) -> Option<String> {
    host::get_option(key)
}

/// The value of an option, read as a number, a truth value or the like; an error names the option that cannot be read.
pub fn parsed_option<T: FromStr>(key: &str) -> Result<Option<T>> {
    option(key).map(|text| parse(key, &text)).transpose()
}

fn parse<T: FromStr>(key: &str, text: &str) -> Result<T> {
    text.parse().map_err(|_| {
        let kind = std::any::type_name::<T>();
        Error::Pass(format!("option `{key}` is `{text}`, which is not a `{kind}`"))
    })
}

/// Bytes of a parameter, buffer or constant. The pass must ask for the grant: `pass!(run, needs: ["constants"])`.
pub fn read_constant(node: Node, offset: u64, len: u32) -> Result<Vec<u8>> {
    Ok(constants::read(node.id(), offset, len)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_cannot_be_read_is_named() {
        assert_eq!(parse::<u32>("depth", "3"), Ok(3));
        let error = parse::<u32>("depth", "deep").unwrap_err();
        assert_eq!(error.to_string(), "option `depth` is `deep`, which is not a `u32`");
    }
}
