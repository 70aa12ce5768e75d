"""Operators as values: `torch.ops.NAMESPACE.OPERATOR.OVERLOAD`, each there once, so that `==` and `is` tell them apart."""

from __future__ import annotations

import builtins
import math
import operator
from typing import Any, Callable


class OpOverload:
    """`torch.ops.aten.add.Tensor`."""

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = packet
        self._overloadname = overload
        self.namespace = packet.namespace

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"

    @property
    def __name__(self) -> str:
        return f"{self.overloadpacket.__name__}.{self._overloadname}"


class OpOverloadPacket:
    """`torch.ops.aten.add`; of an operator without overloads, as `torch.ops.higher_order.cond`, the operator."""

    def __init__(self, namespace: str, name: str) -> None:
        self.namespace = namespace
        self.__name__ = name
        self._overloads: dict[str, OpOverload] = {}

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("__"):
            raise AttributeError(overload)
        return self._overloads.setdefault(overload, OpOverload(self, overload))

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


# `torch.ops.aten.__and__`, and in place: operators; all else that is written so is Python's own.
_SPELLED_AS_PYTHONS = {f"__{place}{name}__" for name in ("and", "or", "xor", "lshift", "rshift") for place in ("", "i")}


class OpNamespace:
    """`torch.ops.aten`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._packets: dict[str, OpOverloadPacket] = {}

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__") and name.endswith("__") and name not in _SPELLED_AS_PYTHONS:
            raise AttributeError(name)
        return self._packets.setdefault(name, OpOverloadPacket(self.name, name))

    def __repr__(self) -> str:
        return f"torch.ops.{self.name}"


class Ops:
    """`torch.ops`."""

    def __init__(self) -> None:
        self._namespaces: dict[str, OpNamespace] = {}

    def __getattr__(self, name: str) -> OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._namespaces.setdefault(name, OpNamespace(name))


class Function:
    """A function of a module that is not here, as `torch.sym_max`."""

    def __init__(self, target: str) -> None:
        self._target = target
        self.__name__ = target.rpartition(".")[2]

    def __repr__(self) -> str:
        return self._target


Target = OpOverload | OpOverloadPacket | Function | Callable[..., Any]

ops = Ops()

_MODULES = {"_operator": operator, "math": math, "builtins": builtins}
_values: dict[str, Target] = {}
_texts: dict[Any, str] = {}


def target_of(text: str) -> Target:
    """The operator for a target of the contract: for `_operator.getitem` it is `operator.getitem`."""
    value = _values.get(text)
    if value is None:
        value = _values[text] = _make(text)
        _texts[value] = text
    return value


def _make(text: str) -> Target:
    namespace, _, rest = text.partition(".")
    if namespace in _MODULES and hasattr(_MODULES[namespace], rest):
        function: Target = getattr(_MODULES[namespace], rest)
        return function
    if namespace == "torch" or not rest:
        return Function(text)
    name, _, overload = rest.partition(".")
    packet: OpOverloadPacket = getattr(getattr(ops, namespace), name)
    return getattr(packet, overload) if overload else packet


def text_of(target: object) -> str:
    """The target of the contract for an operator."""
    text = _texts.get(target)
    if text is not None:
        return text
    if isinstance(target, (OpOverload, OpOverloadPacket)):
        return str(target)
    if isinstance(target, Function):
        return repr(target)
    if isinstance(target, str):
        return target
    for module, functions in _MODULES.items():
        name = getattr(target, "__name__", "")
        if name and getattr(functions, name, None) is target:
            return f"{module}.{name}"
    raise TypeError(f"{target!r} is no operator: a target is torch.ops.NAMESPACE.OPERATOR.OVERLOAD or a function of operator or math")
