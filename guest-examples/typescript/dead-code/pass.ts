// Dead code: a call that nobody uses, and that does nothing but compute, is erased. One walk backwards over each graph.

import { effectsOf, graphPass } from "airlock-pass";

graphPass({ name: "dead-code", about: "Erases calls that nobody uses" }, (gm) => {
  let erased = 0;
  for (const { graph } of gm.modules()) {
    const nodes = [...graph.nodes];
    const effects = effectsOf(nodes);
    for (let i = nodes.length - 1; i >= 0; i--) {
      const [node, does] = [nodes[i], effects[i]];
      if (node.op !== "call_function" || !does.pure || does.mayRaise || node.users.length > 0) continue;
      graph.eraseNode(node);
      erased++;
    }
  }
  return erased;
});
