#!/usr/bin/env python3
"""What the judge accepts, PyTorch runs to the same end.

    AIRLOCK_FUZZ_DUMP=target/pairs AIRLOCK_FUZZ_SECONDS=600 cargo test --release --no-default-features --test it judge_fuzz
    python tests/torch/judge_fuzz.py target/pairs             # every .case there
    python tests/torch/judge_fuzz.py -v a.case b.case         # these, with what is found

Each case's two programs are run on the CPU with the same inputs, for each list of sizes in `symbols` of its meta (or 0, 1, 2 and 5), and with
inputs that `may_alias` names as one tensor too. Compared are outputs (bit by bit where `exact` says so, else as assert_close does), what inputs
hold in the end, which bytes inputs and outputs share, whether it raises, and the generator's state. Operators `demo.*` have no meaning here:
pairs with them are counted and left out.

A pair labelled `different` must differ in some run, any other label must not. Without PyTorch it says so and ends well. Exit code 1: some pair is not what its label says.
"""

import argparse
import ast
import builtins
import keyword
import math
import operator
import pathlib
import re
import sys
import tomllib
import warnings

try:
    import torch
except ImportError:
    print("judge_fuzz: skipped, PyTorch is not installed (pip install torch)")
    sys.exit(0)

DTYPES = {
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64, "i8": torch.int8, "i16": torch.int16,
    "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8, "b8": torch.bool, "c64": torch.complex64, "c128": torch.complex128,
}
BINARY = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.Div: operator.truediv, ast.Pow: operator.pow,
}
COMPARE = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}


KEPT = "__kept"


class Unsupported(Exception):
    """This script cannot run the program; nothing is said of the pair."""


class Body:
    """A class of the text form: its parameters, statements and sub-graphs."""

    def __init__(self, tree):
        self.bodies = {c.name: Body(c) for c in tree.body if isinstance(c, ast.ClassDef)}
        forward = next(f for f in tree.body if isinstance(f, ast.FunctionDef))
        self.params = [(a.arg, a.annotation.value if a.annotation else None) for a in forward.args.args[1:]]
        self.statements = forward.body

    def run(self, values):
        env = {name: value for (name, _), value in zip(self.params, values, strict=True)}
        for statement in self.statements:
            if isinstance(statement, ast.Return):
                return self.value(statement.value, env)
            if isinstance(statement, ast.Expr):
                self.value(statement.value, env)
                continue
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            env[target.id] = self.value(statement.value, env)
        raise Unsupported("no return")

    def value(self, e, env):
        match e:
            case ast.Constant():
                return e.value
            case ast.List():
                return [self.value(x, env) for x in e.elts]
            case ast.Tuple():
                return tuple(self.value(x, env) for x in e.elts)
            case ast.UnaryOp(op=ast.USub()):
                return -self.value(e.operand, env)
            case ast.BinOp():
                return BINARY[type(e.op)](self.value(e.left, env), self.value(e.right, env))
            case ast.Compare():
                return COMPARE[type(e.ops[0])](self.value(e.left, env), self.value(e.comparators[0], env))
            case ast.Subscript():
                return self.value(e.value, env)[self.value(e.slice, env)]
            case ast.Name(id="inf" | "nan"):
                return float(e.id)
            case ast.Name():
                return env[e.id]
            case ast.Attribute():
                path = dotted(e)
                if not path.startswith("self."):
                    return getattr(torch, path.removeprefix("torch."))
                if path[5:] not in self.bodies:
                    raise Unsupported(f"the attribute {path[5:]}")
                return self.bodies[path[5:]]
            case ast.Call():
                args = [self.value(x, env) for x in e.args]
                kwargs = {k.arg: self.value(k.value, env) for k in e.keywords}
                return call(dotted(e.func), args, kwargs)
        raise Unsupported(ast.unparse(e))


def dotted(e):
    parts = []
    while isinstance(e, ast.Attribute):
        parts.append(e.attr)
        e = e.value
    return ".".join([e.id, *reversed(parts)])


def call(path, args, kwargs):
    if path == "device":
        return torch.device("cpu")
    if path.startswith("torch.sym_"):
        return named(torch, path[6:])(*args, **kwargs)
    name = path.removeprefix("torch.ops.")
    namespace, _, rest = name.partition(".")
    modules = {"_operator": operator, "math": math, "builtins": builtins, "torch": torch}
    if namespace in modules:
        return named(modules[namespace], rest)(*args, **kwargs)
    if namespace == "demo":
        raise Unsupported("an undescribed operator")
    if namespace == "higher_order":
        return higher_order(rest, args)
    try:
        found = torch.ops
        for part in name.split("."):
            found = getattr(found, part.removesuffix(KEPT))
    except AttributeError as e:
        raise Unsupported(f"no operator {name}") from e
    return found(*args, **kwargs)


def named(module, name):
    if not hasattr(module, name):
        raise Unsupported(f"no function {name}")
    return getattr(module, name)


def higher_order(name, args):
    if name == "wrap_with_set_grad_enabled":
        return args[1].run(args[2:])
    if name == "cond":
        predicate, on_true, on_false, operands = args
        return (on_true if bool(predicate) else on_false).run(operands)
    if name == "while_loop":
        condition, body, carried, additional = args
        carried = tuple(carried)
        for _ in range(1000):
            verdict = condition.run((*carried, *additional))
            if not bool(verdict[0] if isinstance(verdict, tuple) else verdict):
                return carried
            carried = body.run((*carried, *additional))
        raise Unsupported("an endless loop")
    raise Unsupported(name)


class Program:
    """A program of a case: its body, and what its signature says of outputs."""

    def __init__(self, text):
        text, _, signature = text.partition("Graph signature:")
        lines = text.splitlines()
        start = next(i for i, line in enumerate(lines) if line.lstrip().startswith("class "))
        indent = len(lines[start]) - len(lines[start].lstrip())
        source = "\n".join(line[indent:] for line in lines[start:])
        # An overload may be a word that Python keeps for itself.
        source = re.sub(r"\.(\w+)\(", lambda m: f".{m[1]}{KEPT}(" if keyword.iskeyword(m[1]) else m[0], source)
        self.body = Body(ast.parse(source).body[0])
        inputs, _, outputs = signature.partition("# outputs")
        targets = dict((t, n) for n, t in re.findall(r"^\s*(\w+): (?:BUFFER|PARAMETER) target='([^']*)'", inputs, re.M))
        kinds = re.findall(r"^\s*\S*: ([A-Z_]+)(?: target='([^']*)')?", outputs.partition("Range constraints")[0], re.M)
        self.mutates = [targets.get(t, t) if k.endswith("MUTATION") else None for k, t in kinds]


def size(text, symbols):
    return eval(text, {"__builtins__": {}}, symbols)  # sizes are arithmetic over symbols: the reader of cases has checked that


def fill(storage, dtype, generator):
    """Numbers with NaN, both zeros and small integers among them."""
    n = len(storage)
    if dtype.is_floating_point or dtype.is_complex:
        values = torch.randint(-4000, 4000, (n,), generator=generator).double() / 977
        special = torch.tensor([0.0, -0.0, 1.0, math.nan, 0.5, -3.25, 2.0, 300.5], dtype=torch.double)
        pick = torch.randint(0, 24, (n,), generator=generator)
        values = torch.where(pick < 8, special[pick.clamp(max=7)], values)
        storage.copy_(values.to(dtype))
    elif dtype == torch.bool:
        storage.copy_(torch.rand(n, generator=generator) < 0.6)
    else:
        values = torch.randint(0, 2, (n,), generator=generator)
        rare = torch.randint(-1, 4, (n,), generator=generator)
        values = torch.where(torch.rand(n, generator=generator) < 0.2, rare, values)
        storage.copy_((values.abs() if dtype == torch.uint8 else values).to(dtype))


def make_inputs(program, symbols, seed, alias):
    generator = torch.Generator().manual_seed(seed)
    out, placed = {}, {}
    for name, note in program.body.params:
        if match := re.fullmatch(r"Sym\((.*)\)", note or ""):
            out[name] = size(match[1], symbols)
            continue
        match = re.fullmatch(r"(\w+)\[([^\]]*)\](?:\[([^\]]*)\])?\w*", note or "")
        if not match:
            raise Unsupported(f"an input of type {note}")
        dtype = DTYPES[match[1]]
        sizes = [size(d, symbols) for d in match[2].split(",") if d.strip()]
        if match[3] is None:
            strides = list(torch.empty(sizes, device="meta").stride())
        else:
            strides = [size(d, symbols) for d in match[3].split(",") if d.strip()]
        extent = 1 + sum((n - 1) * s for n, s in zip(sizes, strides)) if all(sizes) else 1
        storage = torch.empty(extent, dtype=dtype)
        fill(storage, dtype, generator)
        out[name] = storage.as_strided(sizes, strides)
        placed[name] = (dtype, sizes, strides)
    for a, b in alias:
        if placed.get(a) == placed.get(b):
            out[b] = out[a]
    return out


def tensors(values):
    for v in values:
        if isinstance(v, (list, tuple)):
            yield from tensors(v)
        elif isinstance(v, torch.Tensor):
            yield v


def places(t):
    at = torch.zeros((), dtype=torch.int64)
    for n, s in zip(t.shape, t.stride()):
        at = at.unsqueeze(-1) + torch.arange(n) * s
    return ((at.reshape(-1) + t.storage_offset()) * t.element_size()).tolist()


def sharing(inputs, outputs):
    """For each output and each earlier tensor: for each element of either the first one of the other in the same place."""
    everything = [*tensors(inputs), *tensors(outputs)]
    at = [places(t) for t in everything]
    found = []
    for j in range(len(list(tensors(inputs))), len(everything)):
        for i in range(j):
            same = everything[i].untyped_storage()._cdata == everything[j].untyped_storage()._cdata
            if not same or not at[i] or not at[j]:
                continue
            first = [{p: k for k, p in reversed(list(enumerate(x)))} for x in (at[i], at[j])]
            found.append((i, j, [first[1].get(p) for p in at[i]], [first[0].get(p) for p in at[j]]))
    return [f for f in found if any(x is not None for x in f[2])]


class Outcome:
    def __init__(self, program, symbols, seed, alias):
        inputs = make_inputs(program, symbols, seed, alias)
        torch.manual_seed(seed)
        self.raised, self.outputs = None, []
        try:
            returned = program.body.run(list(inputs.values()))
            returned = returned if isinstance(returned, tuple) else (returned,)
            # Without a signature all that is returned are outputs.
            mutates = program.mutates or [None] * len(returned)
            for name, value in zip(mutates, returned):
                if name is not None:
                    inputs[name].copy_(value)
            self.outputs = [v for name, v in zip(mutates, returned) if name is None]
        except (RuntimeError, IndexError, ValueError, TypeError, AssertionError, OverflowError, ZeroDivisionError, NotImplementedError) as e:
            self.raised = e
            return
        self.inputs = inputs
        self.sharing = sharing(inputs.values(), self.outputs)
        self.random = torch.get_rng_state()


def unequal(x, y, exact):
    if isinstance(x, (list, tuple)):
        if len(x) != len(y):
            return f"{len(x)} values, then {len(y)}"
        return next((d for d in (unequal(a, b, exact) for a, b in zip(x, y)) if d), None)
    if not isinstance(x, torch.Tensor):
        same = x == y or (x != x and y != y) or (not exact and isinstance(x, float) and math.isclose(x, y, rel_tol=1e-5))
        return None if same else f"{x}, then {y}"
    if x.dtype != y.dtype or x.shape != y.shape:
        return f"{x.dtype}{list(x.shape)}, then {y.dtype}{list(y.shape)}"
    x, y = x.resolve_conj().resolve_neg().contiguous(), y.resolve_conj().resolve_neg().contiguous()
    if exact or not (x.dtype.is_floating_point or x.dtype.is_complex):
        same = (x == y) | ((x != x) & (y != y))
        if x.dtype.is_floating_point:
            same &= (torch.signbit(x) == torch.signbit(y)) | (x != x)
        if bool(same.all()):
            return None
        k = int((~same).reshape(-1).nonzero()[0])
        return f"element {k}: {x.reshape(-1)[k].item()}, then {y.reshape(-1)[k].item()}"
    try:
        torch.testing.assert_close(y, x, equal_nan=True)
        return None
    except AssertionError as e:
        return str(e).splitlines()[0]


def difference(a, b, exact):
    if a.raised and b.raised:
        return None
    if b.raised:
        return f"after raises: {str(b.raised).splitlines()[0][:160]}"
    if a.raised:
        # Allowed where what raised was dead: the fuzzer has looked into that, this script does not.
        return f"stops raising: {str(a.raised).splitlines()[0][:160]}"
    if len(a.outputs) != len(b.outputs):
        return "the number of outputs"
    for k, (x, y) in enumerate(zip(a.outputs, b.outputs)):
        if found := unequal(x, y, exact):
            return f"output {k}: {found}"
    for name, x in a.inputs.items():
        if found := unequal(x, b.inputs[name], exact):
            return f"input {name}: {found}"
    if a.sharing != b.sharing:
        return f"shared memory: {a.sharing}, then {b.sharing}"
    if not torch.equal(a.random, b.random):
        return "the generator's state"
    return None


def parts(text):
    found = re.split(r"^=== (\w+)[^\n]*\n", text, flags=re.M)
    return dict(zip(found[1::2], found[2::2]))


def judge(path):
    """Returns what differs first, or None, and how many runs came to their end."""
    case = parts(path.read_text(encoding="utf-8"))
    meta = tomllib.loads(case["meta"])
    before, after = Program(case["before"]), Program(case["after"])
    names = sorted(set(re.findall(r"\bs\d+\b", case["before"])), key=lambda s: int(s[1:]))
    bindings = meta.get("symbols") or [[n] * len(names) for n in (0, 1, 2, 5)]
    aliases = [[]] + ([meta["may_alias"]] if meta.get("may_alias") else [])
    ended = 0
    for k, values in enumerate(bindings):
        for alias in aliases:
            symbols = {f"s{i}": v for i, v in enumerate(values)} | dict(zip(names, values))
            a = Outcome(before, symbols, k, alias)
            b = Outcome(after, symbols, k, alias)
            ended += a.raised is None
            if found := difference(a, b, meta.get("exact", True)):
                return meta, f"{found} (sizes {values}{', inputs one tensor' if alias else ''})", ended
    return meta, None, ended


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("--stops", action="store_true", help="count a pair that stops raising as different")
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    files = [f for p in options.paths for f in (sorted(p.rglob("*.case")) if p.is_dir() else [p])]
    ran = runs = 0
    wrong, left, stops = [], {}, 0
    for file in files:
        try:
            meta, found, ended = judge(file)
        except Unsupported as e:
            left[str(e)] = left.get(str(e), 0) + 1
            continue
        ran, runs = ran + 1, runs + ended
        if found and found.startswith("stops raising") and not options.stops and meta.get("label") != "different":
            stops += 1
            found = None
        differs = meta.get("label") == "different"
        if options.verbose:
            print(f"{file}: {found or 'the same'}")
        if bool(found) != differs:
            wrong.append(f"{file}: {found or 'labelled different, and no run differs'}")
    for line in wrong:
        print(f"WRONG {line}")
    print(f"{len(files)} pairs, {ran} ran ({runs} runs to the end, {stops} pairs stop raising), {sum(left.values())} left out, {len(wrong)} wrong")
    for why, count in sorted(left.items(), key=lambda x: -x[1])[:8]:
        print(f"  left out: {count} with {why}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
