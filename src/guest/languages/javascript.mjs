// Bundles a pass with the SDK, and makes a component of it: what `airlock build` has node do.
//
//     node javascript.mjs NODE_MODULES SDK PASS NAME WIT OUT
//
// It runs in a folder of its own, in which the bundle lies and whatever componentize-js writes on the way.

import { readFileSync, writeFileSync } from "node:fs";
import { SourceMap, createRequire } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, sdk, pass, name, wit, out] = process.argv.slice(2);
const BUNDLE = "bundle.js";

/** The pass, the SDK, and the export of the contract as one module. Types of TypeScript are dropped here. */
async function bundle() {
  const { build } = createRequire(import.meta.url)(join(modules, "esbuild"));
  const entry = [
    `import ${JSON.stringify(pass)};`,
    `import { exported } from ${JSON.stringify(join(sdk, "entry.js"))};`,
    `export const pass = exported(${JSON.stringify(name)});`,
  ];
  const made = await build({
    stdin: { contents: entry.join("\n"), resolveDir: dirname(pass), sourcefile: "entry" },
    alias: { "airlock-pass": join(sdk, "index.js") },
    external: ["airlock:pass/*"],
    bundle: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    target: "es2023",
    // A `tsconfig.json` beside the pass is the editor's: what is built is the same without it.
    tsconfigRaw: "{}",
    sourcemap: "external",
    outfile: resolve(BUNDLE),
    write: false,
    logLevel: "warning",
  });
  const [map, code] = made.outputFiles.map((file) => file.text);
  return `${code}\nglobalThis.__airlockLines = ${JSON.stringify(linesOf(code, JSON.parse(map)))};\n`;
}

/** For each line of the bundle the file and line that it was made of, where these are the author's: what tracebacks show. */
function linesOf(code, map) {
  const found = new SourceMap(map);
  const files = new Map();
  const lines = code.split("\n").flatMap((line, index) => {
    const { originalSource, originalLine } = line === "" ? {} : found.findEntry(index, line.length - 1);
    const path = originalSource === undefined ? undefined : resolve(originalSource);
    if (path === undefined || path.startsWith(`${sdk}/`) || basename(path) === "entry") return [-1, -1];
    if (!files.has(path)) files.set(path, files.size);
    return [files.get(path), originalLine + 1];
  });
  return { files: [...files.keys()].map((path) => relative(dirname(pass), path)), lines };
}

try {
  writeFileSync(BUNDLE, await bundle());
} catch (error) {
  // What is wrong with the sources esbuild has said itself.
  if (error.errors === undefined) throw error;
  process.exit(1);
}
const manifest = JSON.parse(readFileSync(join(modules, "@bytecodealliance/componentize-js/package.json"), "utf8"));
const { componentize } = await import(
  pathToFileURL(join(modules, "@bytecodealliance/componentize-js", manifest.exports.import))
);
try {
  const { component } = await componentize({
    sourcePath: BUNDLE,
    witPath: wit,
    worldName: "graph-pass",
    disableFeatures: ["stdio", "random", "clocks", "http", "fetch-event"],
  });
  writeFileSync(out, component);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
