"""What nodes compute, as a pass sees it: `node.meta["val"]`, and the words for dtypes, devices and the like in arguments."""

from __future__ import annotations

from typing import Iterator, Sequence

from wit_world.imports import graph as _graph
from wit_world.imports import types as _types


class Word:
    """A value that is known by its name: `torch.float32`, `torch.strided`."""

    _known: dict[tuple[type, str], Word] = {}
    name: str

    def __new__(cls, name: str) -> "Word":
        name = name.removeprefix("torch.")
        word = Word._known.get((cls, name))
        if word is None:
            word = Word._known[(cls, name)] = object.__new__(cls)
            word.name = name
        return word

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __str__(self) -> str:
        return f"torch.{self.name}"


_SHORT = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32",
    "i16": "int16", "i8": "int8", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "b8": "bool",
    "c32": "complex32", "c64": "complex64", "c128": "complex128", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
}


class dtype(Word):
    """`torch.float32`."""

    @property
    def is_floating_point(self) -> bool:
        return "float" in self.name

    @property
    def is_complex(self) -> bool:
        return self.name.startswith("complex")


def dtype_of_type(text: str) -> dtype:
    """The dtype for what types call it: `f32` is `torch.float32`."""
    found = dtype(_SHORT.get(text, text))
    assert isinstance(found, dtype)
    return found


class layout(Word):
    """`torch.strided`."""


class memory_format(Word):
    """`torch.contiguous_format`."""


class device:
    """`torch.device("npu:0")`."""

    def __init__(self, name: str, index: int | None = None) -> None:
        kind, _, number = str(name).partition(":")
        self.type = kind
        self.index = index if index is not None else int(number) if number else None

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __repr__(self) -> str:
        return f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class Other(str):
    """An argument that this version does not know, in the host's words. It can be handed back as it is."""


class SymInt:
    """A size that is a symbol: `2*s0 + 1`. What is known of two sizes is the host's to say.

    `a == b` says whether they are known to be equal, `a < b` whether the one is known to be less.
    """

    def __init__(self, expression: str) -> None:
        self.expression = expression

    def __repr__(self) -> str:
        return self.expression

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (int, SymInt)) and known(self, "equal", other) is True

    def __hash__(self) -> int:
        return hash(self.expression)

    def __lt__(self, other: int | SymInt) -> bool:
        return known(self, "less", other) is True

    def __gt__(self, other: int | SymInt) -> bool:
        return known(other, "less", self) is True

    @property
    def range(self) -> tuple[int, int | None]:
        """The smallest and the largest value; no largest where it is unbounded."""
        return _graph.range_of(_dim(self))


class SymFloat:
    """A number that is a symbol."""

    def __init__(self, expression: str) -> None:
        self.expression = expression

    def __repr__(self) -> str:
        return self.expression


class SymBool(SymFloat):
    """A truth value that is a symbol."""


_RELATIONS = {"equal": _graph.Relation.EQUAL, "less": _graph.Relation.LESS, "divides": _graph.Relation.DIVIDES}


def _dim(size: int | SymInt) -> _types.Dim:
    return _types.Dim_Symbolic(size.expression) if isinstance(size, SymInt) else _types.Dim_Fixed(int(size))


def known(a: int | SymInt, relation: str, b: int | SymInt) -> bool | None:
    """What the host knows of two sizes: always so, never so, or (None) neither. Relations: `equal`, `less`, `divides`."""
    return _graph.known(_dim(a), _RELATIONS[relation], _dim(b))


class Size(tuple[int | SymInt, ...]):
    """The sizes of a tensor. Two are equal where all sizes are known to be equal."""

    def numel(self) -> int | SymInt:
        """The product, of fixed sizes."""
        product = 1
        for size in self:
            if isinstance(size, SymInt):
                raise TypeError(f"{size} is a symbol: the number of elements is not known")
            product *= size
        return product

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (tuple, list)) and len(self) == len(other) and all(a == b for a, b in zip(self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"


class Tensor:
    """The type of a tensor: what FX's fake tensors tell a pass."""

    def __init__(self, shape: Sequence[int | SymInt], dtype: dtype, device: device, strides: Sequence[int | SymInt]) -> None:
        self.shape = Size(shape)
        self.dtype = dtype
        self.device = device
        self._strides = tuple(strides)

    def size(self, dim: int | None = None) -> Size | int | SymInt:
        return self.shape if dim is None else self.shape[dim]

    def stride(self, dim: int | None = None) -> tuple[int | SymInt, ...] | int | SymInt:
        """The strides; none where they are not known."""
        return self._strides if dim is None else self._strides[dim]

    def dim(self) -> int:
        return len(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def numel(self) -> int | SymInt:
        return self.shape.numel()

    def __len__(self) -> int:
        return int(self.shape[0])  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[object]:
        raise TypeError("a pass sees the type of a tensor, not its elements")

    def __repr__(self) -> str:
        return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, device={self.device})"


def _sizes(dims: list[_types.Dim]) -> list[int | SymInt]:
    return [SymInt(dim.value) if isinstance(dim, _types.Dim_Symbolic) else dim.value for dim in dims]


def value_of(element: _types.ElementType) -> object:
    """What FX has in `meta["val"]` for a value of this type."""
    match element:
        case _types.ElementType_Tensor(value=tensor):
            return Tensor(
                _sizes(tensor.sizes), dtype_of_type(tensor.dtype), device(tensor.device), _sizes(tensor.strides)
            )
        case _types.ElementType_SymInt(value=text):
            return SymInt(text)
        case _types.ElementType_SymFloat(value=text):
            return SymFloat(text)
        case _types.ElementType_SymBool(value=text):
            return SymBool(text)
        case _types.ElementType_Other(value=text):
            return Other(text)
        case _:
            return None
