// A pass: negating twice is the identity.

import { graphPass, torch } from "airlock-pass";

const NEG = torch.ops.aten.neg.default;

graphPass({ version: "0.1.0", about: "Removes double negations" }, (gm, exampleInputs, config) => {
  for (const outer of gm.graph.findNodes({ op: "call_function", target: NEG })) {
    const inner = outer.args[0];
    if (inner.target === NEG) {
      outer.replaceAllUsesWith(inner.args[0]);
      gm.graph.eraseNode(outer);
    }
  }
});
