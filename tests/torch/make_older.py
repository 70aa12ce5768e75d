#!/usr/bin/env python3
"""Exports `dynamic_dtypes` with the PyTorch that runs this: what the three other older models lack.

    python tests/torch/make_older.py FOLDER      # FOLDER/{core,train}.{pt2,fx,loaded.fx}, FOLDER/io.safetensors

A batch without a largest size, sizes that are expressions, infinities, tied and overlapping storages, strides and offsets, every
storage type that state dicts of that time have, a parameter and a buffer with attributes.
"""

import pathlib
import sys

import torch
from safetensors.torch import save_file


class DynamicDtypes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 4).t())
        self.tied = self.weight
        self.weight.is_special = True
        self.frozen = torch.nn.Parameter(torch.randn(3), requires_grad=False)
        whole = torch.arange(40, dtype=torch.float32)
        self.register_buffer("left", whole[2:18].view(4, 4))
        self.register_buffer("right", whole[10:14])
        self.right.note = "overlaps"
        self.register_buffer("one", torch.ones(1).expand(3))
        self.register_buffer("f16", torch.arange(3, dtype=torch.float16))
        self.register_buffer("bf16", torch.arange(3, dtype=torch.bfloat16))
        self.register_buffer("f64", torch.tensor(0.5, dtype=torch.float64))
        self.register_buffer("i8", torch.arange(3, dtype=torch.int8))
        self.register_buffer("i16", torch.arange(3, dtype=torch.int16))
        self.register_buffer("i32", torch.arange(3, dtype=torch.int32))
        self.register_buffer("i64", torch.arange(3))
        self.register_buffer("u8", torch.arange(3, dtype=torch.uint8), persistent=False)
        self.register_buffer("c64", torch.ones(3, dtype=torch.complex64))
        self.register_buffer("c128", torch.ones(3, dtype=torch.complex128), persistent=False)
        self.register_buffer("empty", torch.zeros(0, 3))
        self.register_buffer("mask", torch.tensor([True, False, True]))

    def forward(self, x, y):
        z = (x @ self.left + self.right) @ self.weight + self.frozen * self.one
        z = z.masked_fill(self.mask, float("-inf")).clamp(max=float("inf"))
        small = self.f16 + self.bf16 + self.i8 + self.i16 + self.i32 + self.i64 + self.u8 + self.f64
        return torch.cat([z, z]), y.flatten() * 2, small, (self.c64 + self.c128).abs(), self.empty * 2, x @ self.tied


def main(folder):
    torch.manual_seed(0)
    model, inputs = DynamicDtypes(), (torch.randn(5, 4), torch.randn(3, 2))
    batch, rows = torch.export.Dim("batch"), torch.export.Dim("rows", min=2, max=64)
    train = torch.export.export(model, inputs, dynamic_shapes={"x": {0: batch}, "y": {0: rows}})
    with torch.no_grad():
        outputs = model(*inputs)
    io = {f"in_{i}": t for i, t in enumerate(inputs)} | {f"out_{i}": t for i, t in enumerate(outputs)}
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: tensor.detach().clone().contiguous() for name, tensor in io.items()}, folder / "io.safetensors")
    for form, program in [("train", train), ("core", train.run_decompositions())]:
        path = folder / f"{form}.pt2"
        torch.export.save(program, path)
        path.with_suffix(".fx").write_text(f"{program}\n")
        loaded = f"{torch.export.load(path)}\n"
        if loaded != f"{program}\n":
            path.with_suffix(".loaded.fx").write_text(loaded)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
