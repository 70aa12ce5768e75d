"""What calls do beside computing their results, as the host knows it: a pass asks instead of keeping lists of operators."""

from __future__ import annotations

from typing import Iterator, Sequence

from wit_world.imports import graph as _graph

from .errors import checked
from .node import Node


def effects_of(nodes: Sequence[Node]) -> list[_graph.Effects]:
    """What nodes do with their arguments as they stand: one question for all of them."""
    with checked():
        table = _graph.effects_of([node.id for node in nodes])
    return [table.distinct[position] for position in table.positions]


def may_write(effects: _graph.Effects, parameter: int) -> bool:
    """Whether a call may write the memory of an operand, which is named by parameter."""
    return effects.side == _graph.SideEffect.OPAQUE or parameter in effects.writes


def may_share(effects: _graph.Effects, parameter: int) -> bool:
    """Whether some result of a call may lie in the memory of an operand."""
    if effects.side == _graph.SideEffect.OPAQUE:
        return True
    return any(operand.parameter == parameter for operands in effects.results for operand in operands)


def inputs_by_parameter(node: Node, effects: _graph.Effects) -> Iterator[tuple[int, Node]]:
    """The nodes that a call uses, also in lists, each with its parameter; -1 for a keyword that is none."""
    # The output has one argument for each value, which FX shows as one tuple.
    args = node.args[0] if node.op == "output" else node.args
    names = effects.parameters
    named = ((names.index(name) if name in names else -1, value) for name, value in node.kwargs.items())
    for parameter, value in (*enumerate(args), *named):
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, Node):
                yield parameter, item
