// Writes a note on the calls of an operator: what options are, and what a log is for.
//
// Options: `target` names the operator, `note` is the text, `limit` bounds how many calls get one. The run's text, where there is
// one, stands before the note.

import { graphPass, log } from "airlock-pass";

const KEY = "annotate.note";

graphPass({ name: "annotate", about: "Writes a note on the calls of an operator" }, (gm, _inputs, config) => {
  const target = config.getText("target", "aten.mm.default");
  const limit = config.get("limit");
  if (limit !== undefined && !(typeof limit === "number" && limit >= 0)) throw new Error("option `limit` is no number from 0 on");
  log.debug(`stage ${config.stage}, mode ${config.mode}`);
  const note = (config.text ? `${config.text}: ` : "") + config.getText("note", "seen");
  const calls = gm.modules().flatMap(({ graph }) => graph.findNodes({ op: "call_function", target }));
  const wanted = calls.slice(0, limit);
  for (const call of wanted) call.meta[KEY] = note;
  console.log(`${wanted.length} of ${calls.length} calls of ${target} have the note`);
  if (wanted.length < calls.length) console.warn(`${calls.length - wanted.length} calls are beyond the limit`);
  return wanted.length;
});
