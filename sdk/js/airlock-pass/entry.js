// What the host calls: the export of the contract, around a pass's function.
//
// What `console` writes becomes lines of the log, and what a pass raises comes back with its stack. Nothing is raised through the
// bindings but a text: for them any other error is a trap.

import * as raw from "airlock:pass/graph@0.1.1";
import { CompilerConfig } from "./config.js";
import { mainModule } from "./graph.js";
import { takeConsole } from "./log.js";
import { frames } from "./trace.js";

let registered;

/** Makes a function `(gm, exampleInputs, config)` the pass of its file. */
export function graphPass(info, run = undefined) {
  if (typeof info === "function") [info, run] = [{}, info];
  if (typeof run !== "function") throw new TypeError("graphPass takes what the pass says of itself and a function (gm, exampleInputs, config)");
  if (registered !== undefined) throw new TypeError("graphPass was called before: a component is one pass");
  registered = { ...info, run };
}

function nameOf(id) {
  try {
    return raw.name(id);
  } catch {
    return undefined;
  }
}

/** The error, with the name of its node, and where it was raised. */
function failure(error) {
  if (error === null || typeof error !== "object") return String(error);
  const message = `${error.name ?? "Error"}: ${error.message ?? error}`;
  const node = typeof error.node === "bigint" ? nameOf(error.node) : undefined;
  return [node === undefined ? message : `\`${node}\`: ${message}`, ...frames(error)].join("\n");
}

/** The interface `pass` of the contract; `name` is what the pass is called where it does not say. */
export function exported(name) {
  if (registered === undefined) {
    throw new TypeError("no pass: call graphPass({ about: \"...\" }, (gm, exampleInputs, config) => { ... }) in the file of the pass");
  }
  const { version = "0.1.0", about = "", needs = [], run } = registered;
  return {
    describe: () => ({ name: registered.name ?? name, version, needs, about }),
    run(text) {
      takeConsole();
      let said;
      try {
        said = run(mainModule(), null, new CompilerConfig(text));
      } catch (error) {
        throw failure(error);
      }
      if (typeof said?.then === "function") throw "the pass is an async function: there is nothing to wait for, and its edits would come too late";
      if (typeof said !== "number") return { changed: true, note: "" };
      return { changed: said !== 0, note: said === 0 ? "" : said === 1 ? "1 place" : `${said} places` };
    },
  };
}
