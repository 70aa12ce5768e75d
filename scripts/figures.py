#!/usr/bin/env python3
"""What the example passes cost in each language, as Markdown: size, time to build, first run, cached run, fuel.

    scripts/figures.py AIRLOCK COMPONENTS > docs/languages/figures.md

Builds each pass anew into COMPONENTS/LANGUAGE/PASS.wasm and runs it on one graph: once compiled anew (`--no-cache`), then from the
cache. Times are of the machine and of the build of AIRLOCK; fuel is neither's. `scripts/conformance.sh` calls it.
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LANGUAGES = ["rust", "c", "cpp", "python", "javascript", "typescript"]
PRE = "tests/torchair/scope/doc_pre_pass/in.fx"
GRAPHS = {
    "stream-split": PRE,
    "dedup": "tests/models/gpt2/core.fx",
    "add-rms-norm": "tests/models/add_rms_norm/core.fx",
    "dead-code": "tests/languages/dead_chain.fx",
    "broken": PRE,
    "endless": PRE,
    "annotate": "tests/models/gpt2/core.fx",
    "same-shape": "tests/models/gpt2/core.fx",
}


def timed(*command):
    started = time.monotonic()
    done = subprocess.run([str(part) for part in command], cwd=ROOT, stdout=subprocess.PIPE)
    return time.monotonic() - started, done


def measure(airlock, components, language, name):
    component = components / language / f"{name}.wasm"
    build, done = timed(airlock, "build", "-q", f"guest-examples/{language}/{name}", "-o", component)
    if done.returncode:
        sys.exit(f"{language}/{name} does not build")
    # What never ends is stopped early: its time says nothing.
    limit = ["--fuel", "300000000"] if name == "endless" else []
    run = [airlock, "run", "--format", "json", GRAPHS[name], "--pass", component, "--no-builtin", "--trials", "0", *limit]
    first, _ = timed(*run, "--no-cache")
    timed(*run)
    cached, done = timed(*run)
    report = json.loads(done.stdout)["passes"][0]
    print(f"{language}/{name}: {report['outcome']}, {report['fuel']} fuel", file=sys.stderr)
    return {"bytes": component.stat().st_size, "build": build, "first": first, "cached": cached, "fuel": report["fuel"], "run": report["sandbox_ms"]}


def size(count):
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} KB"


def fuel(count):
    return f"{count / 1e6:.1f} M" if count >= 1e6 else f"{count / 1e3:.0f} k"


def main():
    airlock, components = (Path(argument).resolve() for argument in sys.argv[1:])
    found = {(l, p): measure(airlock, components, l, p) for l in LANGUAGES for p in GRAPHS}

    def median(language, what):
        return statistics.median(found[language, name][what] for name in GRAPHS if name != "endless")

    print("# What the example passes cost\n\nMade by `scripts/conformance.sh`: medians over the eight passes (`endless` apart), each on one graph.")
    print("*First run* compiles the component, *cached run* takes it from the cache; both are of the whole command, with a debug build of Airlock.\n")
    print("| language | component | build again | first run | cached run | of that in the sandbox |\n|---|---|---|---|---|---|")
    for l in LANGUAGES:
        times = f"{median(l, 'build'):.1f} s | {median(l, 'first'):.1f} s | {median(l, 'cached') * 1e3:.0f} ms | {median(l, 'run'):.1f} ms"
        print(f"| {l} | {size(median(l, 'bytes'))} | {times} |")
    print("\nFuel, of which a run has 1,000 M and 0.5 M for each node:\n")
    print(f"| pass | graph | {' | '.join(LANGUAGES)} |\n|---|---|{'---|' * len(LANGUAGES)}")
    for name, graph in GRAPHS.items():
        if name != "endless":
            print(f"| {name} | {Path(graph).parent.name} | {' | '.join(fuel(found[l, name]['fuel']) for l in LANGUAGES)} |")


main()
