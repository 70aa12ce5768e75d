//! Making a component of a function.

use crate::{Error, Graph, Result, host};

/// What a run did, as the pass sees it. The host looks for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the graph was edited.
    pub changed: bool,
    /// One line for people, or empty.
    pub note: String,
}

impl Outcome {
    /// Nothing was edited.
    pub fn unchanged() -> Outcome {
        Outcome::default()
    }

    /// The graph was edited.
    pub fn changed(note: impl Into<String>) -> Outcome {
        Outcome { changed: true, note: note.into() }
    }

    /// So many places were edited; none is [`unchanged`](Outcome::unchanged).
    pub fn edits(count: usize) -> Outcome {
        match count {
            0 => Outcome::unchanged(),
            1 => Outcome::changed("1 place"),
            _ => Outcome::changed(format!("{count} places")),
        }
    }
}

/// Exports a function `fn(Graph) -> Result<Outcome>` as this crate's pass.
///
/// Name, version and description are those of the crate's `Cargo.toml`, unless given. The crate must be a `cdylib`.
///
/// ```
/// # use airlock_pass::{Graph, Outcome, Result};
/// fn run(graph: Graph) -> Result<Outcome> {
///     Ok(Outcome::unchanged())
/// }
///
/// airlock_pass::pass! {
///     run,
///     name: "quantise-weights",
///     version: "2.1.0",
///     about: "Quantises the weights of matmuls to int8",
///     needs: ["constants"],
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! pass {
    (
        $run:path
        $(, name: $name:expr)?
        $(, version: $version:expr)?
        $(, about: $about:expr)?
        $(, needs: [$($need:expr),* $(,)?])?
        $(,)?
    ) => {
        const _: () = {
            const RUN: fn($crate::Graph) -> $crate::Result<$crate::Outcome> = $run;

            #[allow(dead_code)]
            struct Exported;

            impl $crate::bindings::exports::airlock::pass::pass::Guest for Exported {
                fn describe() -> $crate::bindings::exports::airlock::pass::pass::Info {
                    $crate::exported::info(
                        &[$($name,)? env!("CARGO_PKG_NAME")],
                        &[$($version,)? env!("CARGO_PKG_VERSION")],
                        &[$($about,)? env!("CARGO_PKG_DESCRIPTION")],
                        &[$($($need),*)?],
                    )
                }

                fn run(
                    config: ::std::string::String,
                ) -> ::std::result::Result<
                    $crate::bindings::exports::airlock::pass::pass::Outcome,
                    ::std::string::String,
                > {
                    $crate::exported::run(RUN, config)
                }
            }

            #[cfg(not(target_arch = "wasm32"))]
            const _: fn($crate::Graph) -> $crate::Result<$crate::Outcome> = RUN;

            #[cfg(target_arch = "wasm32")]
            $crate::bindings::export!(Exported with_types_in $crate::bindings);
        };
    };
}

/// What [`pass!`] expands to.
#[doc(hidden)]
pub mod exported {
    use super::*;
    use crate::bindings::exports::airlock::pass::pass as raw;

    /// The first of each list that was given is the one that counts.
    pub fn info(name: &[&str], version: &[&str], about: &[&str], needs: &[&str]) -> raw::Info {
        let first = |texts: &[&str]| texts.first().copied().unwrap_or_default().to_owned();
        raw::Info {
            name: first(name),
            version: first(version),
            needs: needs.iter().copied().map(str::to_owned).collect(),
            about: first(about),
        }
    }

    /// Runs the pass on the model's graph. An error names its node, which the host's message need not do.
    pub fn run(run: fn(Graph) -> Result<Outcome>, config: String) -> Result<raw::Outcome, String> {
        host::set_config(config);
        match run(Graph::MAIN) {
            Ok(Outcome { changed, note }) => Ok(raw::Outcome { changed, note }),
            Err(error) => Err(with_name(&error)),
        }
    }

    fn with_name(error: &Error) -> String {
        match error.node().and_then(|node| node.name().ok()) {
            Some(name) => format!("`{name}`: {error}"),
            None => error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_name_wins_over_the_crate_name() {
        let info = exported::info(&["given", "crate"], &["1.0.0"], &[""], &["constants"]);
        assert_eq!(info.name, "given");
        assert_eq!(info.version, "1.0.0");
        assert_eq!(info.needs, ["constants"]);
    }

    #[test]
    fn no_edit_is_no_change() {
        assert_eq!(Outcome::edits(0), Outcome::unchanged());
        assert!(Outcome::edits(2).changed);
        assert_eq!(Outcome::edits(2).note, "2 places");
    }

    #[test]
    fn an_error_of_the_pass_comes_back_as_text() {
        let result = exported::run(|_| Err(Error::new("no such stream")), "config".into());
        assert_eq!(result.unwrap_err(), "no such stream");
        assert_eq!(host::config(), "config");
    }
}
