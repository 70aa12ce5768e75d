"""Arguments: Python values become the contract's, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

from wit_world.imports import types as _types

from . import ops, values

if TYPE_CHECKING:
    from .node import Node

_SCALARS: dict[type, Callable[[Any], _types.Scalar]] = {
    bool: _types.Scalar_Bool,
    int: _types.Scalar_Int,
    float: _types.Scalar_Float,
    complex: lambda value: _types.Scalar_Complex((value.real, value.imag)),
    str: _types.Scalar_Str,
    type(None): lambda _: _types.Scalar_None_(),
    values.Other: lambda value: _types.Scalar_Other(str(value)),
    values.dtype: lambda value: _types.Scalar_Dtype(value.name),
    values.layout: lambda value: _types.Scalar_Layout(value.name),
    values.memory_format: lambda value: _types.Scalar_MemoryFormat(value.name),
    values.device: lambda value: _types.Scalar_Device(str(value)),
}


def _scalar(value: object) -> _types.Scalar:
    from .node import Node

    if isinstance(value, Node):
        return _types.Scalar_Node(value.id)
    make = _SCALARS.get(type(value))
    if make is not None:
        return make(value)
    for kind in (int, float, str):
        if isinstance(value, kind):
            return _SCALARS[kind](kind(value))
    if isinstance(value, (list, tuple)):
        raise TypeError(f"a list in a list is no argument: {value!r}")
    return _types.Scalar_Operator(ops.text_of(value))


def argument(value: object) -> _types.Arg:
    """The contract's argument for a Python value."""
    if isinstance(value, (list, tuple)):
        return _types.Arg_Many([_scalar(item) for item in value])
    return _types.Arg_One(_scalar(value))


def arguments(args: Sequence[object]) -> list[_types.Arg]:
    return [argument(value) for value in args]


def keywords(kwargs: Mapping[str, object]) -> list[_types.NamedArg]:
    return [_types.NamedArg(name, argument(value)) for name, value in kwargs.items()]


def _value(scalar: _types.Scalar, node: Callable[[int], Node]) -> object:
    match scalar:
        case _types.Scalar_Node(value=id):
            return node(id)
        case _types.Scalar_Int() | _types.Scalar_Float() | _types.Scalar_Bool() | _types.Scalar_Str():
            return scalar.value
        case _types.Scalar_None_():
            return None
        case _types.Scalar_Complex(value=(real, imaginary)):
            return complex(real, imaginary)
        case _types.Scalar_Dtype(value=name):
            return values.dtype(name)
        case _types.Scalar_Device(value=name):
            return values.device(name)
        case _types.Scalar_Layout(value=name):
            return values.layout(name)
        case _types.Scalar_MemoryFormat(value=name):
            return values.memory_format(name)
        case _types.Scalar_Operator(value=name):
            return ops.target_of(name)
        case _types.Scalar_Other(value=text):
            return values.Other(text)


def value(arg: _types.Arg, node: Callable[[int], Node]) -> object:
    """The Python value for an argument of the contract; `node` gives the node of an id."""
    if isinstance(arg, _types.Arg_Many):
        return [_value(scalar, node) for scalar in arg.value]
    return _value(arg.value, node)
