//! A refutation as one HTML page that stands alone: both graphs side by side, drawn, with what each node came to on the inputs that show it.
//!
//! Promises: every text is escaped; no script, no address outside the page; of very large graphs the first nodes are drawn, and that is said.

use std::fmt::Write;

use super::plain::escape;
use crate::verify::{Traced, TracedNode, Witness};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2em;color:#222}.both{display:flex;gap:2em;align-items:flex-start;overflow:auto}\
svg text{font:12px ui-monospace,monospace}.node{fill:#f6f6f6;stroke:#999}.other{fill:#fdecec;stroke:#a11}.edge{stroke:#999;fill:none}\
.value{fill:#555}.bad{color:#a11}.dim{color:#777}td,th{text-align:left;padding:.2em .8em}";

/// At most so many nodes of a graph are drawn.
const MOST: usize = 200;
/// Characters of a line or a value that are shown.
const WIDE: usize = 64;
/// Pixels: of a character, of a box, of a row, and between boxes.
const CHARACTER: usize = 8;
const HEIGHT: usize = 26;
const ROW: usize = 84;
const GAP: usize = 24;

/// Prints the page.
pub fn side_by_side(title: &str, reason: &str, note: &str, witness: &Witness, traced: &Traced) -> String {
    let title = escape(title);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Airlock: {title}</title><style>{STYLE}</style></head>\n\
         <body><h1 class=\"bad\">Refuted</h1><p><code>{title}</code>: {}</p>\n<p class=\"dim\">{}</p>\n",
        escape(reason),
        escape(note),
    );
    let element = witness.element.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let _ = writeln!(
        page,
        "<table><tr><th>output</th><th>element</th><th>before</th><th>after</th><th>wide</th><th>units of roundoff</th></tr>\
         <tr><td>{}</td><td>[{element}]</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr></table>",
        escape(&witness.output),
        escape(&witness.before),
        escape(&witness.after),
        witness.wide.map_or(String::new(), |w| w.to_string()),
        witness.units.map_or(String::new(), |u| format!("{u:.1}")),
    );
    page.push_str("<div class=\"both\">\n");
    for (side, nodes) in [("before", &traced.before), ("after", &traced.after)] {
        let _ = writeln!(page, "<div><h2>{side}</h2>");
        draw(&mut page, nodes);
        page.push_str("</div>\n");
    }
    page.push_str(
        "</div>\n<p class=\"dim\">Red: the other graph has no node of this name and value.</p></body></html>\n",
    );
    page
}

/// Where a box stands.
#[derive(Clone, Copy)]
struct Place {
    x: usize,
    y: usize,
    width: usize,
}

impl Place {
    fn middle(self) -> usize {
        self.x.saturating_add(self.width >> 1)
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= WIDE { text.into() } else { text.chars().take(WIDE).chain("...".chars()).collect() }
}

/// Puts each node a row below the last of its operands, and beside those of the same row.
fn places(nodes: &[TracedNode]) -> Vec<Place> {
    let (mut rows, mut ends): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    let mut out = Vec::new();
    for node in nodes {
        let row = node.operands.iter().filter_map(|k| rows.get(*k)).max().map_or(0, |r| r.saturating_add(1));
        rows.push(row);
        if ends.len() <= row {
            ends.resize(row.saturating_add(1), GAP);
        }
        let value = node.value.as_deref().map_or(0, |v| shortened(v).chars().count());
        let characters = shortened(&node.line).chars().count().max(value).saturating_add(2);
        let width = characters.saturating_mul(CHARACTER);
        let Some(end) = ends.get_mut(row) else { continue };
        out.push(Place { x: *end, y: row.saturating_mul(ROW).saturating_add(GAP), width });
        *end = end.saturating_add(width).saturating_add(GAP);
    }
    out
}

fn draw(page: &mut String, nodes: &[TracedNode]) {
    let drawn = nodes.get(..nodes.len().min(MOST)).unwrap_or(nodes);
    let places = places(drawn);
    let width = places.iter().map(|p| p.x.saturating_add(p.width)).max().unwrap_or(0).saturating_add(GAP);
    let height = places.iter().map(|p| p.y).max().unwrap_or(0).saturating_add(ROW);
    let _ = writeln!(page, "<svg width=\"{width}\" height=\"{height}\" xmlns=\"http://www.w3.org/2000/svg\">");
    for (node, to) in drawn.iter().zip(&places) {
        for from in node.operands.iter().filter_map(|k| places.get(*k)) {
            let (a, b) = (from.y.saturating_add(HEIGHT), to.y);
            let (bend_a, bend_b) = (a.saturating_add(30), b.saturating_sub(30));
            let (x, end) = (from.middle(), to.middle());
            let _ = writeln!(page, "<path class=\"edge\" d=\"M{x} {a} C{x} {bend_a} {end} {bend_b} {end} {b}\"/>");
        }
    }
    for (node, at) in drawn.iter().zip(&places) {
        let class = if node.differs { "other" } else { "node" };
        let (x, y, width) = (at.x, at.y, at.width);
        let (left, line, under) = (x.saturating_add(CHARACTER), y.saturating_add(17), y.saturating_add(42));
        let _ = writeln!(
            page,
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{HEIGHT}\" rx=\"4\"/>\
             <text x=\"{left}\" y=\"{line}\">{}</text><text class=\"value\" x=\"{left}\" y=\"{under}\">{}</text>",
            escape(&shortened(&node.line)),
            escape(&shortened(node.value.as_deref().unwrap_or(""))),
        );
    }
    page.push_str("</svg>\n");
    if drawn.len() < nodes.len() {
        let _ = writeln!(page, "<p class=\"dim\">the first {} of {} nodes</p>", drawn.len(), nodes.len());
    }
}
