// Where an error was raised, in the author's files: `airlock build` tells which line of them each line of the bundle is.

/** `{ files, lines }`: of bundle line `i` (from 0) the file is `files[lines[2 * i]]`, the line `lines[2 * i + 1]`; -1 where it is nobody's. */
const map = () => globalThis.__airlockLines;

/** The frames of an error that are the author's: `    at run (pass.js:12)`. */
export function frames(error) {
  const found = [];
  for (const frame of String(error.stack ?? "").split("\n")) {
    const [, name, file, line] = /^(.*?)@(.*?):(\d+)(?::\d+)?$/.exec(frame) ?? [];
    if (file === undefined || !file.endsWith("bundle.js") || map() === undefined) continue;
    const at = 2 * (Number(line) - 1);
    const source = map().files[map().lines[at]];
    if (source === undefined) continue;
    const place = `${source}:${map().lines[at + 1]}`;
    // The engine makes up names for functions that have none: `run/<`.
    found.push(name && !name.includes("<") ? `    at ${name} (${place})` : `    at ${place}`);
  }
  return found;
}
