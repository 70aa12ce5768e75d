//! A pass that edits and then never ends. It must be stopped, and its edits must be gone.

use airlock_pass::{Graph, Outcome, Result, pass};

fn run(graph: Graph) -> Result<Outcome> {
    let at = graph.inserting_at_start();
    at.call_function("air.scope_enter.default", (["_user_stream_label"], ["never_left"]))?;
    loop {
        std::hint::black_box(graph);
    }
}

pass!(run);
