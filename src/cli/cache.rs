//! `airlock cache`: compiled passes that are kept between runs.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::{Exit, Format, Global, output};
use crate::report::plain;
use crate::sandbox::worker::{Cache, CacheError, Entry};

/// Tells which passes are kept compiled, or lets go of them.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  airlock cache
  airlock cache clear

The folder is $XDG_CACHE_HOME/airlock/artifacts, the key that makes entries ours is in $XDG_STATE_HOME/airlock.")]
pub struct CacheArgs {
    /// What to do.
    #[arg(value_enum, default_value = "list")]
    act: Act,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum Act {
    /// List what is kept, what was used last first.
    List,
    /// Remove all of it.
    Clear,
}

#[derive(Serialize)]
struct Kept {
    folder: String,
    bytes: u64,
    entries: Vec<KeptEntry>,
}

#[derive(Serialize)]
struct KeptEntry {
    name: String,
    pass: String,
    bytes: u64,
}

#[derive(Serialize)]
struct Cleared {
    folder: String,
    removed: usize,
    bytes: u64,
}

pub fn cache(args: &CacheArgs, global: &Global) -> anyhow::Result<Exit> {
    let cache = Cache::of_user()?;
    let folder = cache.folder().display().to_string();
    match args.act {
        Act::Clear => {
            let (removed, bytes) = cache.clear()?;
            match global.format {
                Format::Json => output::print_json(&Cleared { folder, removed, bytes })?,
                _ => output::print(&format!("removed {removed} files of {folder}, {bytes} bytes\n"))?,
            }
        }
        Act::List => {
            let entries = cache.entries()?;
            let bytes = entries.iter().map(|e| e.bytes).fold(0, u64::saturating_add);
            match global.format {
                Format::Json => {
                    let entries =
                        entries.into_iter().map(|e| KeptEntry { name: e.name, pass: e.label, bytes: e.bytes });
                    output::print_json(&Kept { folder, bytes, entries: entries.collect() })?;
                }
                _ => output::print(&text(&folder, bytes, &entries))?,
            }
        }
    }
    Ok(Exit::Done)
}

fn text(folder: &str, bytes: u64, entries: &[Entry]) -> String {
    let line = |e: &Entry| format!("{}  {:>11}  {}\n", e.name.get(..12).unwrap_or_default(), e.bytes, plain(&e.label));
    let lines: String = entries.iter().map(line).collect();
    format!("{lines}{} passes in {folder}, {bytes} bytes\n", entries.len())
}

/// Returns the user's cache for a run. Without one passes are compiled each time.
pub fn of_run(is_off: bool) -> Option<Arc<Cache>> {
    if is_off {
        return None;
    }
    match Cache::of_user() {
        Ok(cache) => Some(Arc::new(cache)),
        Err(error @ CacheError::NotPrivate { .. }) => {
            output::warn(&format!("compiled passes are not kept: {error}"));
            None
        }
        // A home that is not there or cannot be written is nothing to speak of.
        Err(CacheError::NoFolder(_) | CacheError::Io { .. }) => None,
    }
}
