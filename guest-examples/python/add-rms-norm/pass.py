"""Fuses a residual add and the rms-norm of its sum into one operator of the NPU. `pattern` finds norms, this file replaces them."""

import operator

from airlock_pass import graph_pass, torch
from pattern import find_norms, residual_add

FUSED = torch.ops.npu.npu_add_rms_norm.default


@graph_pass(name="add-rms-norm", about="Fuses a residual add and an rms-norm into npu_add_rms_norm")
def run(gm, example_inputs, config):
    fused = 0
    for norm in find_norms(gm.graph):
        add = residual_add(norm.input)
        if add is not None and fuse(gm.graph, norm, *add):
            fused += 1
    return fused


def fuse(graph, norm, x1, x2):
    """Replaces add and norm; False where the fused operator has no place: `gamma` is made after the sum is used."""
    total = norm.input
    last = norm.gamma if total < norm.gamma else total
    if any(user < last or user is last for user in total.users):
        return False
    with graph.inserting_after(last):
        last = fused = graph.call_function(FUSED, (x1, x2, norm.gamma, norm.epsilon))

    def item(index):
        nonlocal last
        with graph.inserting_after(last):
            last = graph.call_function(operator.getitem, (fused, index))
        return last

    replace(graph, norm.outputs, item(0))
    if norm.rstds:
        replace(graph, norm.rstds, item(1))
    for node in norm.inner:
        erase_unused(graph, node)
    if total.users:
        total.replace_all_uses_with(item(2))
    graph.erase_node(total)
    return True


def replace(graph, old, new):
    for node in old:
        node.replace_all_uses_with(new)
        erase_unused(graph, node)


def erase_unused(graph, node):
    if not node.users:
        graph.erase_node(node)
