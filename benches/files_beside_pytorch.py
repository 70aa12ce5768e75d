#!/usr/bin/env python3
"""Times reading, printing and writing `.pt2` files beside PyTorch: the same files, in turns, in one run.

    python benches/files_beside_pytorch.py --airlock target/release/airlock [--rounds 3] FOLDER...

A FOLDER holds `train.pt2`, `core.pt2` or `joint.pt2` of one model. Three things are done to each file:

* load: `torch.export.load(F)`, beside `airlock inspect F`
* print: `torch.export.load(F)` and `str` of it, beside `airlock convert F OUT.fx`
* save: `torch.export.load(F)` and `torch.export.save`, beside `airlock convert F OUT.pt2`

PyTorch's times are those of calls in one process that has imported it; Airlock's those of a whole process each time, its start included.
Of each the fastest round counts. Prints the sums over all files and their ratios. Needs PyTorch.
"""
import argparse
import importlib
import os
import re
import tempfile
import time
import warnings
import zipfile

warnings.filterwarnings("ignore")
IMPORTED = set()
FORMS = ["train", "core", "joint"]
NULL = os.open(os.devnull, os.O_WRONLY)


def seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def airlock(*args):
    # Not `subprocess`: it copies the page tables of a process that holds all of PyTorch.
    quiet = [(os.POSIX_SPAWN_DUP2, NULL, 1), (os.POSIX_SPAWN_DUP2, NULL, 2)]
    child = os.posix_spawn(args[0], args, os.environ, file_actions=quiet)
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(args)}")


def models(folders):
    for folder in folders:
        for form in FORMS:
            path = os.path.join(folder, form + ".pt2")
            if os.path.exists(path):
                yield path


def import_trees(path):
    """PyTorch reads trees of a package's classes only where the package is imported."""
    with zipfile.ZipFile(path) as archive:
        texts = [archive.read(n).decode() for n in archive.namelist() if n.endswith(".json")]
    found = {m.rstrip(".") for text in texts for m in re.findall(r"\b((?:[a-z]\w*\.)+)[A-Z]\w*", text)}
    for module in found - IMPORTED:
        IMPORTED.add(module)
        try:
            importlib.import_module(module)
        except Exception:  # a package may refuse its version of PyTorch
            pass


def of_pytorch(path, out):
    import torch

    loaded = []
    load = seconds(lambda: loaded.append(torch.export.load(path)))
    shown = seconds(lambda: str(loaded[0]))
    saved = seconds(lambda: torch.export.save(loaded[0], out + ".pt2"))
    return [load, load + shown, load + saved]


def of_airlock(binary, path, out):
    return [
        seconds(lambda: airlock(binary, "inspect", path)),
        seconds(lambda: airlock(binary, "convert", path, out + ".fx")),
        seconds(lambda: airlock(binary, "convert", path, out + "-2.pt2")),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--airlock", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    theirs, ours, files = [0.0] * 3, [0.0] * 3, 0
    with tempfile.TemporaryDirectory() as folder:
        for path in models(args.folders):
            files += 1
            import_trees(path)
            out = os.path.join(folder, str(files))
            rounds = [(of_pytorch(path, out), of_airlock(args.airlock, path, out)) for _ in range(args.rounds)]
            for step in range(3):
                theirs[step] += min(t[step] for t, _ in rounds)
                ours[step] += min(o[step] for _, o in rounds)
            for made in os.listdir(folder):
                os.remove(os.path.join(folder, made))
    print(f"{files} files, sums in seconds")
    print("| step | PyTorch | Airlock | ratio |\n|---|---|---|---|")
    for name, a, b in zip(["load", "load and print", "load and save"], theirs, ours):
        print(f"| {name} | {a:.2f} | {b:.2f} | {a / b:.0f} |")


if __name__ == "__main__":
    main()
