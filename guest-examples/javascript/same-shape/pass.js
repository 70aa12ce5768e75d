// Removes views that give back what they were given: `view`, `expand` and the like to the sizes that the operand has.
//
// Sizes may be symbols: whether two are equal is the host's to say. Bodies of `cond` and the like are walked as the graph itself
// is. A view stays where its operand may be written, or where either is returned.

import { SymInt, Tensor, effectsOf, graphPass, sameSizes, torch } from "airlock-pass";

const { aten } = torch.ops;
const VIEWS = [aten.view.default, aten.expand.default, aten._unsafe_view.default, aten.reshape.default];

graphPass({ name: "same-shape", about: "Removes views that change no size, in bodies too" }, (gm) => {
  let removed = 0;
  for (const { graph } of gm.modules()) {
    for (const target of VIEWS) {
      for (const view of graph.findNodes({ op: "call_function", target })) removed += remove(graph, view);
    }
  }
  return removed;
});

/** Removes a view, if it is one of these, and gives how many that were. */
function remove(graph, view) {
  const operand = view.args[0];
  const [before, after] = [operand.meta.val, view.meta.val];
  if (!(before instanceof Tensor) || !(after instanceof Tensor)) return 0;
  if (before.dtype !== after.dtype || !sameSizes(before.shape, after.shape)) return 0;
  if (!onlyRead([...operand.users, ...view.users])) return 0;
  const symbol = before.shape.find((size) => size instanceof SymInt);
  if (symbol !== undefined) {
    const [smallest, largest] = symbol.range;
    console.log(`${view.name} keeps a size from ${smallest} to ${largest ?? "any"}`);
  }
  view.replaceAllUsesWith(operand);
  graph.eraseNode(view);
  return 1;
}

/** Whether nobody of them may write what it uses, and none returns it. */
function onlyRead(users) {
  const effects = effectsOf(users);
  return users.every((user, i) => user.op !== "output" && effects[i].side !== "opaque" && effects[i].writes.length === 0);
}
