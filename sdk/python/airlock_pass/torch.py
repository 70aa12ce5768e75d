"""What a pass uses of `torch`: operators, dtypes and the like as values. `from airlock_pass import torch`."""

from __future__ import annotations

from typing import Any

from . import graph as _graph_module
from . import node as _node_module

from .ops import OpOverload, OpOverloadPacket, ops, target_of
from .values import Size, SymBool, SymFloat, SymInt, Tensor, device, dtype, layout, memory_format

class fx:
    """`torch.fx`."""

    Graph = _graph_module.Graph
    GraphModule = _graph_module.GraphModule
    Node = _node_module.Node

class _ops:
    """`torch._ops`."""

    OpOverload = OpOverload
    OpOverloadPacket = OpOverloadPacket

float64 = double = dtype("float64")
float32 = float = dtype("float32")
float16 = half = dtype("float16")
bfloat16 = dtype("bfloat16")
int64 = long = dtype("int64")
int32 = int = dtype("int32")
int16 = short = dtype("int16")
int8 = dtype("int8")
uint8 = dtype("uint8")
bool = dtype("bool")
complex64 = dtype("complex64")
complex128 = dtype("complex128")
float8_e4m3fn = dtype("float8_e4m3fn")
float8_e5m2 = dtype("float8_e5m2")
strided = layout("strided")
contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")


def __getattr__(name: str) -> Any:
    """A function that this module does not have, as `torch.sym_max`: a target."""
    if name.startswith("__"):
        raise AttributeError(name)
    return target_of(f"torch.{name}")
