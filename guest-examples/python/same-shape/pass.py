"""Removes views that give back what they were given: `view`, `expand` and the like to the sizes that the operand has.

Sizes may be symbols: whether two are equal is the host's to say. Bodies of `cond` and the like are walked as the graph itself
is. A view stays where its operand may be written, or where either is returned.
"""

from airlock_pass import SymInt, Tensor, effects_of, graph_pass, torch

aten = torch.ops.aten
VIEWS = [aten.view.default, aten.expand.default, aten._unsafe_view.default, aten.reshape.default]


@graph_pass(name="same-shape", about="Removes views that change no size, in bodies too")
def run(gm, example_inputs, config):
    removed = 0
    for module in gm.modules():
        for target in VIEWS:
            for view in module.graph.find_nodes(op="call_function", target=target):
                removed += remove(module.graph, view)
    return removed


def remove(graph, view):
    operand = view.args[0]
    before, after = operand.meta["val"], view.meta["val"]
    if not isinstance(before, Tensor) or not isinstance(after, Tensor):
        return False
    # Sizes are equal where they are known to be.
    if before.dtype != after.dtype or before.shape != after.shape:
        return False
    if not only_read([*operand.users, *view.users]):
        return False
    symbol = next((size for size in before.shape if isinstance(size, SymInt)), None)
    if symbol is not None:
        smallest, largest = symbol.range
        print(f"{view.name} keeps a size from {smallest} to {'any' if largest is None else largest}")
    view.replace_all_uses_with(operand)
    graph.erase_node(view)
    return True


def only_read(users):
    """Whether nobody of them may write what it uses, and none returns it."""
    for user, does in zip(users, effects_of(users)):
        if user.op == "output" or does.side.name == "OPAQUE" or does.writes:
            return False
    return True
