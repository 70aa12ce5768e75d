"""Airlock's SDK for graph passes in Python, in the words of `torch.fx`.

    from airlock_pass import graph_pass, torch

    @graph_pass
    def no_double_negation(gm, example_inputs, config):
        "Removes double negations"
        neg = torch.ops.aten.neg.default
        for outer in gm.graph.find_nodes(op="call_function", target=neg):
            inner = outer.args[0]
            if inner.target == neg:
                outer.replace_all_uses_with(inner.args[0])
                gm.graph.erase_node(outer)

A pass for TorchAir becomes one by its imports: `from airlock_pass import graph_pass, torch, torchair`, and `@graph_pass`
before the function that was registered.
"""

from . import log, torch, torchair
from .effects import effects_of, inputs_by_parameter, may_share, may_write
from .entry import graph_pass
from .errors import EditError
from .graph import Graph, GraphModule
from .node import Node
from .values import Size, SymInt, Tensor, known

__all__ = [
    "EditError",
    "Graph",
    "GraphModule",
    "Node",
    "Size",
    "SymInt",
    "Tensor",
    "effects_of",
    "graph_pass",
    "inputs_by_parameter",
    "known",
    "log",
    "may_share",
    "may_write",
    "torch",
    "torchair",
]
