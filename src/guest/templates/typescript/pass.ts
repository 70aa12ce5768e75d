// A pass: negating twice is the identity.

import { Node, graphPass, torch } from "airlock-pass";

const NEG = torch.ops.aten.neg.default;

graphPass({ version: "0.1.0", about: "Removes double negations" }, (gm, exampleInputs, config) => {
  for (const outer of gm.graph.findNodes({ op: "call_function", target: NEG })) {
    const inner = outer.args[0];
    if (!(inner instanceof Node) || inner.target !== NEG) continue;
    const operand = inner.args[0];
    if (operand instanceof Node) {
      outer.replaceAllUsesWith(operand);
      gm.graph.eraseNode(outer);
    }
  }
});
