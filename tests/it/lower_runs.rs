//! What a lowered model means, run: the GE graph read back and raised gives the outputs, buffers and inputs that were recorded of PyTorch.

use airlock::formats::pt2;
use airlock::graph::Model;
use airlock::lower::ge::{self, Format, LowerError, Options};
use airlock::ops::Registry;

use super::exec_models::{differences, programs};

/// Programs that do not come so far, each with what stops it.
const STOPPED: &[(&str, &str)] = &[
    ("cond_while/core", "higher_order.cond"),
    ("cond_while/train", "higher_order.cond"),
    ("random_dropout/train", "a draw of another distribution"),
];

fn raised(model: Model, registry: &Registry) -> Result<Model, String> {
    let lowered = match ge::lower_with(&model.graph, &Options::default(), registry) {
        Err(LowerError::Unsupported { nodes }) => {
            return Err(nodes.iter().map(|n| n.target.as_str()).collect::<Vec<_>>().join(" "));
        }
        other => other.map_err(|e| e.to_string())?,
    };
    let read = ge::decode(&ge::encode(&lowered.graph, Format::Bin)).map_err(|e| e.to_string())?;
    let mut graph =
        ge::raise(&ge::Written::of(&read), &lowered.host, &model.graph, registry).map_err(|e| e.to_string())?.graph;
    // What is written is written in place there, and is no output.
    let mut signature = model.graph.signature.clone();
    if let Some(signature) = &mut signature {
        signature.outputs.retain(|o| !o.kind.is_mutation());
    }
    graph.signature = signature;
    Ok(Model { graph, ..model })
}

#[test]
fn every_lowered_model_computes_what_was_recorded() {
    let registry = Registry::standard();
    let (mut wrong, mut stopped, mut ran) = (Vec::new(), Vec::new(), 0);
    for (name, path, recording) in programs() {
        match raised(pt2::read(&path, &registry).unwrap(), &registry) {
            Err(reason) => stopped.push((name, reason)),
            Ok(model) => {
                ran += 1;
                // Its numbers are another generator's: shapes and dtypes are compared.
                wrong.extend(differences(&name, &model, &recording, name.starts_with("random_dropout")));
            }
        }
    }
    println!("{ran} programs");
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    let unexpected: Vec<_> =
        stopped.iter().filter(|(name, why)| !STOPPED.iter().any(|(n, w)| n == name && why.contains(w))).collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
    let stale: Vec<_> = STOPPED.iter().filter(|(n, _)| stopped.iter().all(|(name, _)| name != n)).collect();
    assert!(stale.is_empty(), "these come through: {stale:?}");
    assert!(ran >= 50, "{ran}");
}
