// Which values may be written, and which the graph returns: both also through views.

import { inputsByParameter, mayShare, mayWrite } from "airlock-pass";

/** One walk backwards: what a call writes, and what the output returns, is marked; a call whose result may lie in an operand's
 * memory hands its marks on to that operand. */
export function marksOf(nodes, effects) {
  const written = new Set();
  const returned = new Set();
  for (let i = nodes.length - 1; i >= 0; i--) {
    const node = nodes[i];
    for (const [parameter, operand] of inputsByParameter(node, effects[i])) {
      const shares = mayShare(effects[i], parameter);
      if (node.op === "output" || (shares && returned.has(node))) returned.add(operand);
      if (mayWrite(effects[i], parameter) || (shares && written.has(node))) written.add(operand);
    }
  }
  return { written, returned };
}
