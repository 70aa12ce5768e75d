"""A pass that is wrong: its result is well formed and computes something else. It must be refused.

It swaps the operands of the first `sub`; in a graph without one it turns the first `add` into a `sub`.
"""

from airlock_pass import Node, graph_pass, torch

ADD, SUB = torch.ops.aten.add.Tensor, torch.ops.aten.sub.Tensor


@graph_pass(name="broken", about="Changes what the model computes, for tests: must be refused")
def run(gm, example_inputs, config):
    for sub in gm.graph.find_nodes(op="call_function", target=SUB):
        a, b, *rest = sub.args
        # Only two different nodes: a number cannot stand first, and `x - x` would stay right.
        if isinstance(a, Node) and isinstance(b, Node) and a is not b:
            sub.args = (b, a, *rest)
            return 1
    for add in gm.graph.find_nodes(op="call_function", target=ADD):
        add.target = SUB
        return 1
    raise ValueError("there is no sub and no add to break")
