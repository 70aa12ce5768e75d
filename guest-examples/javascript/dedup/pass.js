// Common subexpression elimination: what is computed twice from the same arguments is computed once.
//
// One walk over a graph in order: the second call with a key is replaced by the first. What each call does is asked of the host;
// what is left alone, and why, the Rust pass of this name tells.

import { Node, effectsOf, graphPass } from "airlock-pass";
import { marksOf } from "./alias.js";

graphPass({ name: "dedup", about: "Computes once what is computed twice" }, (gm) => {
  let merged = 0;
  for (const { graph } of gm.modules()) merged += dedup(graph);
  return merged;
});

const BARRIERS = new Set(["opaque", "stream", "record"]);

function dedup(graph) {
  const nodes = [...graph.nodes];
  const effects = effectsOf(nodes);
  const { written, returned } = marksOf(nodes, effects);
  let first = new Map();
  let merged = 0;
  for (const [i, node] of nodes.entries()) {
    if (node.op !== "call_function") continue;
    const does = effects[i];
    // Nothing is merged across what writes or orders.
    if (does.writes.length > 0 || BARRIERS.has(does.side)) first = new Map();
    else if (does.pure && !written.has(node)) merged += merge(node);
  }
  return merged;

  /** Replaces a node by the first that computes the same, and gives how many were replaced. */
  function merge(node) {
    // Its arguments are the first nodes that compute them: what was merged is replaced in them already.
    const key = keyOf(node);
    const earlier = first.get(key);
    if (earlier === undefined) first.set(key, node);
    if (earlier === undefined || (returned.has(node) && returned.has(earlier))) return 0;
    if (returned.has(node)) returned.add(earlier);
    node.replaceAllUsesWith(earlier);
    graph.eraseNode(node);
    return 1;
  }
}

/** Equal keys are the same computation. */
function keyOf(node) {
  const kwargs = Object.entries(node.kwargs).flatMap(([name, value]) => [name, part(value)]);
  return JSON.stringify([String(node.target), node.args.map(part), kwargs]);
}

/** A text for an argument: 1 and 1.0 are different, and 0.0 and -0.0. */
function part(value) {
  if (Array.isArray(value)) return value.map(part);
  if (value instanceof Node) return `node ${value.id}`;
  if (typeof value !== "object" || value === null) return `${typeof value} ${value}`;
  const number = "value" in value ? (Object.is(value.value, -0) ? "-0" : value.value) : value;
  return `${value.constructor.name} ${number}`;
}
