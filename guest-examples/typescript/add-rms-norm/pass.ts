// Fuses a residual add and the rms-norm of its sum into one operator of the NPU. `pattern` finds norms, this file replaces them.

import { Float, type Graph, type Node, graphPass, torch } from "airlock-pass";
import { type Add, type Norm, findNorms, residualAdd } from "./pattern.ts";

const FUSED = torch.ops.npu.npu_add_rms_norm.default;
const GETITEM = torch.op("_operator.getitem");

graphPass({ name: "add-rms-norm", about: "Fuses a residual add and an rms-norm into npu_add_rms_norm" }, (gm) => {
  let fused = 0;
  for (const norm of findNorms(gm.graph)) {
    const add = residualAdd(norm.input);
    if (add !== null && fuse(gm.graph, norm, add)) fused++;
  }
  return fused;
});

/** Replaces add and norm; false where the fused operator has no place: `gamma` is made after the sum is used. */
function fuse(graph: Graph, norm: Norm, [x1, x2]: Add): boolean {
  const sum = norm.input;
  const last = sum.isBefore(norm.gamma) ? norm.gamma : sum;
  if (sum.users.some((user) => user === last || user.isBefore(last))) return false;
  const at = graph.insertingAfter(last);
  const fused = at.callFunction(FUSED, [x1, x2, norm.gamma, new Float(norm.epsilon)]);
  const item = (index: number) => at.callFunction(GETITEM, [fused, index]);

  replace(graph, norm.outputs, item(0));
  if (norm.rstds.length > 0) replace(graph, norm.rstds, item(1));
  for (const node of norm.inner) eraseUnused(graph, node);
  if (sum.users.length > 0) sum.replaceAllUsesWith(item(2));
  graph.eraseNode(sum);
  return true;
}

function replace(graph: Graph, old: Node[], other: Node): void {
  for (const node of old) {
    node.replaceAllUsesWith(other);
    eraseUnused(graph, node);
  }
}

function eraseUnused(graph: Graph, node: Node): void {
  if (node.users.length === 0) graph.eraseNode(node);
}
