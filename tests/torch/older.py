#!/usr/bin/env python3
"""Archives of older PyTorch versions, written anew by Airlock, give in today's PyTorch the results that were recorded with them.

    python tests/torch/older.py                      # every archive below tests/models/older
    python tests/torch/older.py --models FOLDER      # others: NAME.pt2 with io.safetensors in the same folder
    python tests/torch/older.py --airlock PATH       # another binary than target/release or target/debug

Each archive is written by `airlock convert` (a .pt2 of today), loaded with torch.export.load, and called on the recorded inputs. Outputs,
and buffers and inputs after the call, must equal the recorded ones: dtype, shape, values to 1e-6 (kernels of versions differ in rounding).

Without PyTorch it says so and ends well. Exit code 1: some result differs or some file does not load.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import torch
    from safetensors import safe_open
except ImportError:
    print("older: skipped, PyTorch is not installed (pip install torch safetensors numpy)")
    sys.exit(0)

ROOT = pathlib.Path(__file__).resolve().parents[2]


def find_binary(given):
    for candidate in [given] if given else [ROOT / f"target/{p}/airlock" for p in ("release", "debug")]:
        if pathlib.Path(candidate).exists():
            return str(candidate)
    print("older: no airlock binary; build one (cargo build --release) or name one with --airlock", file=sys.stderr)
    sys.exit(2)


def recorded(path):
    with safe_open(path, "pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}


def numbered(tensors, stem):
    places = sorted(int(n[len(stem) :]) for n in tensors if n.startswith(stem) and n[len(stem) :].isdigit())
    return [tensors[f"{stem}{i}"] for i in places]


def difference(name, expected, found):
    """Returns what differs, or None."""
    try:
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6, equal_nan=True, check_stride=False)
    except AssertionError as error:
        return f"{name}: {str(error).splitlines()[0]}"
    return None


def check(path, io):
    """Loads and calls a program. Returns what is wrong, and how many tensors were compared."""
    program = torch.export.load(path)
    module = program.module()
    inputs = [t.clone() for t in numbered(io, "in_")]
    with torch.no_grad():
        outputs = torch.utils._pytree.tree_leaves(module(*inputs))
    buffers = dict(module.named_buffers())
    expected = {f"out_{i}": (t, outputs[i] if i < len(outputs) else None) for i, t in enumerate(numbered(io, "out_"))}
    expected.update({n: (t, buffers.get(n.removeprefix("buf_after."))) for n, t in io.items() if n.startswith("buf_after.")})
    expected.update({f"in_after_{i}": (io[f"in_after_{i}"], t) for i, t in enumerate(inputs) if f"in_after_{i}" in io})
    for name, (recorded_value, value) in expected.items():
        wrong = "is missing" if value is None else difference(name, recorded_value, value)
        if wrong:
            return wrong, len(expected)
    return None, len(expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--airlock")
    parser.add_argument("--models", default=ROOT / "tests/models/older", type=pathlib.Path)
    options = parser.parse_args()
    binary = find_binary(options.airlock)
    warnings.filterwarnings("ignore")
    files, wrong, compared = sorted(options.models.glob("**/*.pt2")), [], 0
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            out = pathlib.Path(folder) / "out.pt2"
            out.unlink(missing_ok=True)
            done = subprocess.run([binary, "convert", path, out], capture_output=True, text=True)
            if done.returncode != 0:
                found = f"airlock ended with {done.returncode}: {done.stderr.strip()[-400:]}"
            else:
                try:
                    found, count = check(out, recorded(path.parent / "io.safetensors"))
                    compared += count
                except Exception as error:  # noqa: BLE001, whatever PyTorch raises is a finding
                    found = f"does not load or run: {type(error).__name__}: {str(error)[-400:]}"
            name = path.relative_to(options.models).with_suffix("")
            if found:
                wrong.append(name)
            print(f"{'wrong' if found else 'ok':6} {name}{': ' + found if found else ''}", flush=True)
    print(f"{len(files)} archives, {compared} tensors compared in PyTorch {torch.__version__}, {len(wrong)} wrong")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
