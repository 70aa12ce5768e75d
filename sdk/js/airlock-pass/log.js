// Lines of the run's log: with a level, or by `console`.

import * as host from "airlock:pass/host@0.1.1";

/** How `console` shows a value: texts as they are, lists and plain objects by their items. */
export function shown(value, depth = 0) {
  if (typeof value === "string") return depth ? JSON.stringify(value) : value;
  if (typeof value === "function") return `[Function ${value.name}]`;
  if (value === null || typeof value !== "object") return String(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (depth > 3) return "...";
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return `[${Array.from(value, (item) => shown(item, depth + 1)).join(", ")}]`;
  if (Object.getPrototypeOf(value) !== Object.prototype) return String(value);
  return `{${Object.entries(value).map(([key, item]) => `${key}: ${shown(item, depth + 1)}`).join(", ")}}`;
}

function write(level) {
  return (...values) => {
    const text = values.map((value) => shown(value)).join(" ");
    for (const line of text.split("\n")) host.log(level, line);
  };
}

export const log = { debug: write("debug"), info: write("info"), warn: write("warn") };

/** Makes the lines of `console` lines of the log. */
export function takeConsole() {
  Object.assign(console, { debug: log.debug, trace: log.debug, log: log.info, info: log.info, warn: log.warn, error: log.warn });
}
