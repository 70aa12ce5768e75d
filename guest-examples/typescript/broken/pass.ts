// A pass that is wrong: its result is well formed and computes something else. It must be refused.
//
// It swaps the operands of the first `sub`; in a graph without one it turns the first `add` into a `sub`.

import { Node, graphPass, torch } from "airlock-pass";

const ADD = torch.ops.aten.add.Tensor;
const SUB = torch.ops.aten.sub.Tensor;

graphPass({ name: "broken", about: "Changes what the model computes, for tests: must be refused" }, ({ graph }) => {
  for (const sub of graph.findNodes({ op: "call_function", target: SUB })) {
    const [a, b, ...rest] = sub.args;
    // Only two different nodes: a number cannot stand first, and `x - x` would stay right.
    if (a instanceof Node && b instanceof Node && a !== b) {
      sub.args = [b, a, ...rest];
      return 1;
    }
  }
  for (const add of graph.findNodes({ op: "call_function", target: ADD })) {
    add.target = SUB;
    return 1;
  }
  throw new Error("there is no sub and no add to break");
});
