"""Dead code: a call that nobody uses, and that does nothing but compute, is erased. One walk backwards over each graph."""

from airlock_pass import effects_of, graph_pass


@graph_pass(name="dead-code", about="Erases calls that nobody uses")
def run(gm, example_inputs, config):
    erased = 0
    for module in gm.modules():
        nodes = list(module.graph.nodes)
        for node, does in reversed(list(zip(nodes, effects_of(nodes)))):
            if node.op == "call_function" and does.pure and not does.may_raise and not node.users:
                module.graph.erase_node(node)
                erased += 1
    return erased
