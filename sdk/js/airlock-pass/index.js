// Airlock's SDK for graph passes in JavaScript and TypeScript, in the words of `torch.fx`. `index.d.ts` tells what each is.
//
//     import { graphPass, torch } from "airlock-pass";
//
//     const NEG = torch.ops.aten.neg.default;
//
//     graphPass({ about: "Removes double negations" }, (gm) => {
//       for (const outer of gm.graph.findNodes({ op: "call_function", target: NEG })) {
//         const inner = outer.args[0];
//         if (inner.target === NEG) {
//           outer.replaceAllUsesWith(inner.args[0]);
//           gm.graph.eraseNode(outer);
//         }
//       }
//     });

export { Complex, Float, Other } from "./arguments.js";
export { CompilerConfig } from "./config.js";
export { effectsOf, inputsByParameter, mayShare, mayWrite } from "./effects.js";
export { graphPass } from "./entry.js";
export { EditError } from "./errors.js";
export { Graph, GraphModule, InsertionPoint } from "./graph.js";
export { log } from "./log.js";
export { Node } from "./node.js";
export { OpOverload } from "./ops.js";
export { torch } from "./torch.js";
export { SymBool, SymFloat, SymInt, Tensor, known, sameSizes } from "./values.js";
