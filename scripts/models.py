#!/usr/bin/env python3
"""Puts exported models through every command and writes the table of docs/models.md.

    scripts/models.py --airlock target/release/airlock ZOO [ZOO ...] [--only NAME,NAME] [--steps STEP,STEP] [--write]

A ZOO is a folder of folders, one a model: train.pt2, core.pt2, joint.pt2 (any of them), FORM.saved.fx (PyTorch's print),
weights.safetensors, io.safetensors (a recorded call). Prints a line a failure; --write puts the table between the marks of
docs/models.md, of --steps alone the lines of these. Needs nothing but Python; components of `dedup` and `add-rms-norm` come from target/components.
"""
import argparse, collections, datetime, json, os, re, subprocess, sys, tempfile

STEPS = [
    ("inspect", "`inspect` finds nothing wrong"),
    ("text", "PyTorch's print, with `--weights` and `--like`, to `.pt2`"),
    ("exec", "`exec --compare` with what PyTorch computed eagerly, each element within its dtype's tolerance"),
    ("run", "`run` with `dedup`, `add-rms-norm` and the built-in passes: all accepted"),
    ("verify", "`verify x x`, `verify x OUT`"),
    ("lower", "`lower` writes a GE graph"),
    ("proved", "of these, proved to mean what the model means"),
]


def call(*args, seconds=300):
    try:
        p = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return 124, "", f"took longer than {seconds} s"
    return p.returncode, p.stdout, p.stderr


def one(o, folder, form, work):
    """What came of each step: True, or the reason."""
    A, x = o.airlock, os.path.join(folder, form + ".pt2")
    at = lambda name: os.path.join(folder, name)
    said = lambda r: " ".join((r[2] or r[1]).split())[:240]
    found = {}
    asked = lambda *steps: not o.steps or set(steps) & o.steps

    if asked("inspect"):
        r = call(A, "inspect", x, "--format", "json")
        problems = json.loads(r[1])["problems"] if r[0] == 0 else said(r)
        found["inspect"] = True if r[0] == 0 and not problems else str(problems)[:240]

    if asked("text") and os.path.exists(at(form + ".saved.fx")):
        weights = ["--weights", at("weights.safetensors")] if os.path.exists(at("weights.safetensors")) else []
        r = call(A, "convert", at(form + ".saved.fx"), os.path.join(work, "text.pt2"), *weights, "--like", x, "-q")
        found["text"] = r[0] == 0 or said(r)
    if asked("exec") and os.path.exists(at("io.safetensors")):
        r = call(A, "exec", x, "--inputs", at("io.safetensors"), "--compare")
        found["exec"] = r[0] == 0 or said(r)

    out = os.path.join(work, "out.pt2")
    if asked("run", "verify"):
        passes = [v for p in ("dedup", "add-rms-norm") for v in ("--pass", os.path.join(o.components, p + ".wasm"))]
        r = call(A, "run", x, *passes, "-o", out)
        found["run"] = r[0] == 0 or said(r)
        itself = call(A, "verify", x, x)
        again = call(A, "verify", x, out) if os.path.exists(out) else itself
        found["verify"] = (itself[0] == 0 and again[0] == 0) or said(itself if itself[0] else again)

    if asked("lower", "proved"):
        r = call(A, "lower", x, "-o", os.path.join(work, "ge.bin"), "--format", "json")
        found["lower"] = r[0] == 0 or said(r)
        if r[0] == 0:
            verdict = json.loads(r[1])["verdict"]
            found["proved"] = verdict["verdict"] == "proved" or f"{verdict['verdict']}: {verdict['reason']}"[:240]
    for name in os.listdir(work):
        os.remove(os.path.join(work, name))
    return found


def table(o, results):
    forms = [f for f in ("train", "core", "joint") if any(form == f for _, form in results)]
    lines = ["| step | " + " | ".join({"train": "training form", "core": "core form"}.get(f, f) for f in forms) + " |",
             "|---" * (len(forms) + 1) + "|"]
    for step, what in STEPS:
        if not any(step in r for r in results.values()):
            continue
        cells = []
        for f in forms:
            tried = [r[step] for (_, form), r in results.items() if form == f and step in r]
            cells.append(f"{sum(v is True for v in tried)} / {len(tried)}")
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
    version = call(o.airlock, "--version")[1].strip()
    date = datetime.date.today().isoformat()
    lines.append(f"\n{len({n for n, _ in results})} models, {version}, {date}.")
    why = collections.Counter(
        op for r in results.values() if r.get("lower", True) is not True
        for op in set(re.findall(r"\(([a-z_]\w*\.\w+(?:\.\w+)?)\)", r["lower"])))
    if why:
        stops = ", ".join(f"`{op}` ({n})" for op, n in sorted(why.items(), key=lambda e: (-e[1], e[0])))
        lines.append(f"\nWhat stops the rest from being lowered, in how many graphs: {stops}.")
    return "\n".join(lines)


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("zoo", nargs="+")
    a.add_argument("--airlock", default=os.path.join(root, "target/release/airlock"))
    a.add_argument("--components", default=os.path.join(root, "target/components"))
    a.add_argument("--only", default="")
    a.add_argument("--name", default="given", help="which of the tables of docs/models.md --write replaces")
    a.add_argument("--steps", default="", help=", ".join(step for step, _ in STEPS))
    a.add_argument("--write", action="store_true")
    o = a.parse_args()
    only = set(filter(None, o.only.split(",")))
    o.steps = set(filter(None, o.steps.split(",")))
    results = {}
    with tempfile.TemporaryDirectory() as work:
        for zoo in o.zoo:
            for name in sorted(os.listdir(zoo)):
                for form in ("train", "core", "joint"):
                    if os.path.exists(os.path.join(zoo, name, form + ".pt2")) and (not only or name in only):
                        r = results[name, form] = one(o, os.path.join(zoo, name), form, work)
                        for step, came in r.items():
                            if came is not True:
                                print(f"{name}/{form} {step}: {came}", flush=True)
    text = table(o, results)
    print("\n" + text)
    if o.write:
        page = os.path.join(root, "docs/models.md")
        begin, end = f"<!-- begin {o.name} -->", f"<!-- end {o.name} -->"
        old = open(page).read()
        if begin not in old:
            sys.exit(f"docs/models.md has no mark {begin}")
        before, after = old[:old.index(begin)] + begin + "\n", old[old.index(end):]
        if o.steps:
            lines = {line.split(" | ")[0]: line for line in text.splitlines() if line.startswith("| ")}
            kept = old[len(before):old.index(end)].rstrip("\n").splitlines()
            text = "\n".join(lines.get(line.split(" | ")[0], line) for line in kept)
        new = before + text + "\n" + after
        open(page, "w").write(new)


if __name__ == "__main__":
    main()
