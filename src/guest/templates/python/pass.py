"""A pass: negating twice is the identity."""

from airlock_pass import graph_pass, torch

NEG = torch.ops.aten.neg.default


@graph_pass(version="0.1.0")
def run(gm, example_inputs, config):
    """Removes double negations"""
    for outer in gm.graph.find_nodes(op="call_function", target=NEG):
        inner = outer.args[0]
        if inner.target == NEG:
            outer.replace_all_uses_with(inner.args[0])
            gm.graph.erase_node(outer)
