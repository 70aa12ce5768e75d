#!/usr/bin/env python3
"""What Airlock writes, PyTorch loads, with the same results bit for bit.

    python tests/torch/roundtrip.py                          # every model of tests/models, core and train
    python tests/torch/roundtrip.py --only bert,lstm         # some
    python tests/torch/roundtrip.py --airlock PATH           # another binary than target/release or target/debug
    python tests/torch/roundtrip.py --pass P.wasm ...        # other passes than those of target/components

Each model is written unedited (`airlock convert`), from its print and its weights (`airlock convert` to `.fx` and back with `--weights`),
and edited (`airlock run`, once with the built-in passes alone and once with each pass), loaded with torch.export.load and run on its example inputs; outputs, buffers and inputs after the call are compared with
the original's: dtype, sizes, strides, every bit. Operators of `air`, `npugraph_ex` and `npu` streams are registered with side effects,
so that graphs with scopes load; they do nothing here.

Without PyTorch it says so and ends well. Exit code 1: some result differs or some file does not load.
"""

import argparse
import copy
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import torch
except ImportError:
    print("roundtrip: skipped, PyTorch is not installed (pip install torch safetensors numpy)")
    sys.exit(0)

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Passes that are there to fail.
NOT_PASSES = {"broken", "endless"}
# What a run may end with: done, or a pass refused (its edits are then not in the output).
WRITTEN = {0, 1}


def register_stream_operators():
    """Defines the stream operators of the schema table, and keeps PyTorch from removing them as dead code."""
    libraries = {}
    for line in (ROOT / "src/ops/schemas/stream.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        schema = line.split("  #")[0]
        namespace, definition = schema.split("::", 1)
        library = libraries.setdefault(namespace, torch.library.Library(namespace, "FRAGMENT"))
        name = definition.split("(")[0]
        library.define(definition)
        library.impl(name, implementation(definition), "CompositeExplicitAutograd")
        overload = getattr(getattr(torch.ops, namespace), name).default
        torch.fx.node._side_effectful_functions.add(overload)
    return libraries


def implementation(definition):
    returns = definition.rsplit("->", 1)[1].strip()
    takes_tensor = definition.split("(", 1)[1].startswith("Tensor self")
    if returns == "()":
        return lambda *args, **kwargs: None
    if takes_tensor:
        return lambda self, *args, **kwargs: self.clone()
    return lambda *args, **kwargs: torch.empty(0)


def inputs_of(path):
    """Returns the example inputs of a program."""
    return torch.export.load(path).example_inputs


def run(path, inputs):
    """Loads a program and returns all that a call shows."""
    module = torch.export.load(path).module()
    args, kwargs = copy.deepcopy(inputs)
    torch.manual_seed(0)
    with torch.no_grad():
        outputs = module(*args, **kwargs)
    shown = {f"output {i}": v for i, v in enumerate(torch.utils._pytree.tree_leaves(outputs))}
    shown.update({f"input {i}": v for i, v in enumerate(torch.utils._pytree.tree_leaves((args, kwargs)))})
    shown.update({f"buffer {n}": v for n, v in module.named_buffers()})
    shown["structure"] = str(torch.utils._pytree.tree_structure(outputs))
    return shown


def bits(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def difference(name, before, after):
    """Returns what differs, or None."""
    if isinstance(before, torch.Tensor) != isinstance(after, torch.Tensor):
        return f"{name}: {before} became {after}"
    if not isinstance(before, torch.Tensor):
        return None if repr(before) == repr(after) else f"{name}: {before} became {after}"
    for what in ("dtype", "shape", "device"):
        if getattr(before, what) != getattr(after, what):
            return f"{name}: {what} {getattr(before, what)} became {getattr(after, what)}"
    if before.stride() != after.stride() and before.numel() > 0:
        return f"{name}: strides {before.stride()} became {after.stride()}"
    if not torch.equal(bits(before), bits(after)):
        return f"{name}: values differ"
    return None


def compare(expected, path, inputs, leave_out=()):
    try:
        shown = run(path, inputs)
    except Exception as error:
        # torch.export.load falls back to an old reader, whose error hides the first.
        try:
            from torch.export.pt2_archive._package import load_pt2

            load_pt2(path)
        except Exception as first:
            error = first
        return f"does not load or run: {type(error).__name__}: {str(error)[-600:]}"
    if expected.keys() != shown.keys():
        return f"{sorted(expected.keys() ^ shown.keys())} are not in both"
    for name, before in expected.items():
        if name in leave_out:
            continue
        found = difference(name, before, shown[name])
        if found:
            return found
    return None


def airlock(binary, *arguments):
    return subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True)


def save_weights(path, out):
    """Saves all that a program holds by name, as `--weights` takes it."""
    from safetensors.torch import save_file

    program = torch.export.load(path)
    tensors = {**program.state_dict, **{n: c for n, c in program.constants.items() if isinstance(c, torch.Tensor)}}
    save_file({name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}, out)


def from_print(binary, path, out, folder):
    """Writes a program from its print. Returns what is wrong, or None; where constants are missing nothing is written."""
    text, weights = folder / "printed.fx", folder / "weights.safetensors"
    done = airlock(binary, "convert", path, text)
    if done.returncode != 0:
        return f"airlock ended with {done.returncode}: {done.stderr.strip()[-400:]}"
    save_weights(path, weights)
    done = airlock(binary, "convert", text, out, "--weights", weights)
    # A print does not hold the values of constant inputs, and Airlock invents none; nor does it read complex numbers of safetensors.
    refused = any(reason in done.stderr for reason in ("constant input", "unknown variant `C64`"))
    if done.returncode == 2 and refused and not out.exists():
        return None
    return None if done.returncode == 0 else f"airlock ended with {done.returncode}: {done.stderr.strip()[-400:]}"


def find_binary(given):
    for candidate in [given] if given else [ROOT / f"target/{p}/airlock" for p in ("release", "debug")]:
        if pathlib.Path(candidate).exists():
            return str(candidate)
    print("roundtrip: no airlock binary; build one (cargo build --release) or name one with --airlock", file=sys.stderr)
    sys.exit(2)


def edits(passes):
    """Yields a name and the arguments of `airlock run` for each edit."""
    yield "built-in passes", []
    for path in passes:
        yield path.stem, ["--pass", path]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--airlock")
    parser.add_argument("--models", default=ROOT / "tests/models", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--pass", dest="passes", nargs="*", type=pathlib.Path)
    parser.add_argument("--unedited", action="store_true", help="only what is written without an edit")
    options = parser.parse_args()
    binary = find_binary(options.airlock)
    passes = options.passes
    if passes is None:
        passes = [p for p in sorted((ROOT / "target/components").glob("*.wasm")) if p.stem not in NOT_PASSES]
    only = set(filter(None, options.only.split(",")))
    warnings.filterwarnings("ignore")
    libraries = register_stream_operators()

    files = sorted(p for p in options.models.glob("*/*.pt2") if not only or p.parent.name in only)
    wrong, written = [], 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        out = folder / "out.pt2"
        for path in files:
            name = f"{path.parent.name}/{path.stem}"
            inputs = inputs_of(path)
            expected = run(path, inputs)
            if not options.unedited:
                out.unlink(missing_ok=True)
                found = from_print(binary, path, out, folder)
                if found is None and out.exists():
                    written += 1
                    # What a single result is to the caller the print does not say.
                    found = compare(expected, out, inputs, leave_out={"structure"})
                if found:
                    wrong.append(f"{name}, from its print: {found}")
                    print(f"wrong  {wrong[-1]}", flush=True)
            jobs = [("unedited", ["convert", path, out])]
            if not options.unedited:
                jobs += [(edit, ["run", path, "-o", out, *arguments]) for edit, arguments in edits(passes)]
            for job, arguments in jobs:
                out.unlink(missing_ok=True)
                done = airlock(binary, *arguments)
                if done.returncode not in WRITTEN or not out.exists():
                    found = f"airlock ended with {done.returncode}: {done.stderr.strip()[-400:]}"
                else:
                    written += 1
                    found = compare(expected, out, inputs)
                if found:
                    wrong.append(f"{name}, {job}: {found}")
                    print(f"wrong  {wrong[-1]}", flush=True)
            print(f"{'ok' if not any(w.startswith(name + ',') for w in wrong) else 'wrong':6} {name}", flush=True)
    del libraries
    print(f"{len(files)} models, {written} files written and compared with PyTorch {torch.__version__}, {len(wrong)} wrong")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
