#!/usr/bin/env python3
"""Times `airlock exec` beside PyTorch eager: the same exported program, the same inputs, the same number of threads, in turns.

    python benches/exec_beside_pytorch.py --airlock target/release/airlock [--threads 1 2] [--rounds 5] FOLDER...

A FOLDER holds `train.pt2` (what PyTorch runs) and `core.pt2` (what Airlock runs; `train.pt2` where there is none) of one model, and
`io.safetensors` with its inputs `in_N`, or no recording: then inputs are drawn. Prints one row a model and thread count: the fastest of all
rounds of each side, and their ratio. Needs PyTorch.
"""
import argparse
import json
import os
import subprocess
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")


def recorded(path):
    from safetensors import safe_open

    with safe_open(path, "pt") as f:
        names = sorted((n for n in f.keys() if n.startswith("in_") and n[3:].isdigit()), key=lambda n: int(n[3:]))
        return [f.get_tensor(n) for n in names]


def eager(program, inputs, rounds):
    import torch

    best = float("inf")
    with torch.no_grad():
        for _ in range(rounds):
            start = time.perf_counter()
            program(*inputs)
            best = min(best, time.perf_counter() - start)
    return best * 1e3


def airlock(binary, model, inputs, threads, rounds):
    command = [binary, "exec", model, "--inputs", inputs, "--threads", str(threads), "--repeat", str(rounds), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--airlock", default="target/release/airlock")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    import torch
    from safetensors.torch import save_file

    print(f"{'model':<24}{'threads':>8}{'eager ms':>12}{'airlock ms':>12}{'ratio':>8}{'peak MiB':>10}{'live MiB':>10}")
    for folder in options.folders:
        train, core = (os.path.join(folder, f) for f in ("train.pt2", "core.pt2"))
        eager_file = train if os.path.exists(train) else core
        own_file = core if os.path.exists(core) else train
        exported = torch.export.load(eager_file)
        io = os.path.join(folder, "io.safetensors")
        if os.path.exists(io):
            inputs = recorded(io)
        else:
            args, kwargs = exported.example_inputs
            inputs = [t for t in list(args) + list(kwargs.values()) if isinstance(t, torch.Tensor)]
        program = exported.module()
        with tempfile.TemporaryDirectory() as scratch:
            fed = os.path.join(scratch, "inputs.safetensors")
            save_file({f"in_{i}": t.contiguous() for i, t in enumerate(inputs)}, fed)
            for threads in options.threads:
                torch.set_num_threads(threads)
                eager(program, inputs, 2)
                times, ours = [], []
                for _ in range(3):
                    times.append(eager(program, inputs, options.rounds))
                    ours.append(airlock(options.airlock, own_file, fed, threads, options.rounds))
                fastest = min(ours, key=lambda r: r["ms"])
                mib = [fastest[k] / 2**20 for k in ("peak_bytes", "live_bytes")]
                name = os.path.basename(os.path.normpath(folder))
                row = (min(times), fastest["ms"], fastest["ms"] / min(times), *mib)
                print(f"{name:<24}{threads:>8}{row[0]:>12.2f}{row[1]:>12.2f}{row[2]:>8.2f}{row[3]:>10.1f}{row[4]:>10.1f}", flush=True)


if __name__ == "__main__":
    main()
