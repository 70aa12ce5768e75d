#!/usr/bin/env python3
"""What the example passes cost in each language, as Markdown: size, time to build, first run, cached run, fuel.

    scripts/figures.py AIRLOCK COMPONENTS [PASS ...] > docs/languages/figures.md

Builds each pass, or those that are named, anew into COMPONENTS/LANGUAGE/PASS.wasm and runs it on one graph: once compiled anew
(`--no-cache`), then from the cache. Times are processor time, of all processes, so that a busy machine does not count. `scripts/conformance.sh`
calls it.
"""

import json
import resource
import statistics
import subprocess
import sys
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


def used():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def timed(*command):
    before = used()
    done = subprocess.run([str(part) for part in command], cwd=ROOT, stdout=subprocess.PIPE)
    return used() - before, done


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
    return {"bytes": component.stat().st_size, "build": build, "first": first, "cached": cached, "fuel": report["fuel"]}


def size(count):
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} KB"


def fuel(count):
    return f"{count / 1e6:.1f} M" if count >= 1e6 else f"{count / 1e3:.0f} k"


def main():
    airlock, components = (Path(argument).resolve() for argument in sys.argv[1:3])
    graphs = {name: GRAPHS[name] for name in sys.argv[3:] or GRAPHS}
    found = {}
    for language in LANGUAGES:
        # What a toolchain makes once is no part of building again.
        timed(airlock, "build", "-q", f"guest-examples/{language}/{next(iter(graphs))}", "-o", components / language / "first.wasm")
        found |= {(language, name): measure(airlock, components, language, name) for name in graphs}
        (components / language / "first.wasm").unlink(missing_ok=True)

    def median(language, what):
        return statistics.median(found[language, name][what] for name in graphs if name != "endless")

    kind = "debug" if "debug" in airlock.parts else "release"
    names = ", ".join(f"`{name}`" for name in graphs if name != "endless")
    print(f"# What example passes cost\n\nMade by `scripts/figures.py`: medians over {names}, each on one graph, with a {kind} build of Airlock.")
    print("Times are processor time of the whole command. *First run* compiles the component, *cached run* takes it from the cache.\n")
    print("| language | component | build again | first run | cached run |\n|---|---|---|---|---|")
    for l in LANGUAGES:
        times = f"{median(l, 'build'):.1f} s | {median(l, 'first'):.1f} s | {median(l, 'cached'):.2f} s"
        print(f"| {l} | {size(median(l, 'bytes'))} | {times} |")
    print("\nFuel, of which a run has 1,000 M and 0.5 M for each node:\n")
    print(f"| pass | graph | {' | '.join(LANGUAGES)} |\n|---|---|{'---|' * len(LANGUAGES)}")
    for name, graph in graphs.items():
        if name != "endless":
            print(f"| {name} | {Path(graph).parent.name} | {' | '.join(fuel(found[l, name]['fuel']) for l in LANGUAGES)} |")


main()
