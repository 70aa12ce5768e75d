// The pass of TorchAir's document: each `mm` runs on a side stream, together with the `abs` of its result.
//
// The Rust pass of this name tells which nodes are taken and why.

import { graphPass, torch } from "airlock-pass";

const { aten, air } = torch.ops;

graphPass({ name: "stream-split", about: "Runs each mm and the abs after it on a stream of their own" }, (gm, _inputs, config) => {
  const stream = config.getText("stream", "stream_1");
  let splits = 0;
  for (const mm of [...outsideOfScopes(gm.graph)]) {
    const found = find(mm);
    if (found === null) continue;
    putOnStream(gm.graph, mm, found, stream);
    splits++;
  }
  return splits;
});

/** The `mm`s that nobody has put on a stream yet. */
function* outsideOfScopes(graph) {
  let depth = 0;
  for (const node of graph.nodes) {
    if (isCall(node, air.scope_enter.default)) depth++;
    else if (isCall(node, air.scope_exit.default)) depth = Math.max(depth - 1, 0);
    else if (isCall(node, aten.mm.default) && depth === 0) yield node;
  }
}

function isCall(node, target) {
  return node.op === "call_function" && node.target === target;
}

/** The `abs` that goes to the side stream with `mm`, and the first `sub` that waits for them. */
function find(mm) {
  const abs = mm.users.find((user) => isCall(user, aten.abs.default));
  if (abs === undefined || !nothingIsWrittenBetween(mm, abs)) return null;
  let sub = null;
  for (const user of [...mm.users, ...abs.users]) {
    if (isCall(user, aten.sub.Tensor) && (sub === null || user.isBefore(sub))) sub = user;
  }
  return sub === null ? null : { abs, sub };
}

/** Whether `abs` can stand right after `mm`: no operator between them writes in place. */
function nothingIsWrittenBetween(mm, abs) {
  for (let node = mm.next; node !== null && node !== abs; node = node.next) {
    if (node.op === "call_function" && node.target.operator.endsWith("_")) return false;
  }
  return true;
}

function putOnStream(graph, mm, { abs, sub }, stream) {
  if (mm.next !== abs) mm.append(abs);
  graph.insertingBefore(mm).callFunction(air.scope_enter.default, [["_user_stream_label"], [stream]]);
  const after = graph.insertingAfter(abs);
  const record = after.callFunction(air.record.default);
  after.callFunction(air.scope_exit.default);
  graph.insertingBefore(sub).callFunction(air.wait.default, [[record]]);
}
