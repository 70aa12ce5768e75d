//! Progress bars: on a terminal only, never in the way of results.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Global;

/// Returns a bar over `len` steps, hidden where nobody looks.
pub fn bar(global: &Global, len: usize, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(u64::try_from(len).ok(), target(global));
    if let Ok(style) = ProgressStyle::with_template("{msg:>12} [{bar:30}] {pos}/{len} {elapsed}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_message(what);
    bar
}

/// Returns a spinner for one long step.
pub fn spinner(global: &Global, what: String) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, target(global));
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(what);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn target(global: &Global) -> ProgressDrawTarget {
    if global.quiet || global.no_progress { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
}
