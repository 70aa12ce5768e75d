// What calls do beside computing their results, as the host knows it: a pass asks instead of keeping lists of operators.

import * as raw from "airlock:pass/graph@0.1.1";
import { checked } from "./errors.js";
import { Node } from "./node.js";

/** What nodes do with their arguments as they stand: one question for all of them. */
export function effectsOf(nodes) {
  const { positions, distinct } = checked(() => raw.effectsOf(Array.from(nodes, (node) => node.id)));
  for (const effects of distinct) Object.assign(effects, { reads: [...effects.reads], writes: [...effects.writes] });
  return Array.from(positions, (position) => distinct[position]);
}

/** Whether a call may write the memory of an operand, which is named by parameter. */
export function mayWrite(effects, parameter) {
  return effects.side === "opaque" || effects.writes.includes(parameter);
}

/** Whether some result of a call may lie in the memory of an operand. */
export function mayShare(effects, parameter) {
  return effects.side === "opaque" || effects.results.flat().some((operand) => operand.parameter === parameter);
}

/** The nodes that a call uses, also in lists, each with its parameter; -1 for a keyword that is none. */
export function inputsByParameter(node, effects) {
  // The output has one argument for each value, which FX shows as one list.
  const args = node.op === "output" ? node.args[0] : node.args;
  const positional = args.map((value, position) => [position, value]);
  const named = Object.entries(node.kwargs).map(([name, value]) => [effects.parameters.indexOf(name), value]);
  const inputs = [];
  for (const [parameter, value] of [...positional, ...named]) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item instanceof Node) inputs.push([parameter, item]);
    }
  }
  return inputs;
}
