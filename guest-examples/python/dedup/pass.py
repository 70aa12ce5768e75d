"""Common subexpression elimination: what is computed twice from the same arguments is computed once.

One walk over a graph in order: the second call with a key is replaced by the first. What each call does is asked of the host;
what is left alone, and why, the Rust pass of this name tells.
"""

from airlock_pass import Node, effects_of, graph_pass, inputs_by_parameter, may_share, may_write


@graph_pass(name="dedup", about="Computes once what is computed twice")
def run(gm, example_inputs, config):
    return sum(Dedup(module.graph).run() for module in gm.modules())


class Dedup:
    """One graph: its nodes, what they do, and what may be written or is returned, both also through views."""

    def __init__(self, graph):
        self.graph = graph
        self.nodes = list(graph.nodes)
        self.effects = effects_of(self.nodes)
        self.written, self.returned = set(), set()
        for node, does in reversed(list(zip(self.nodes, self.effects))):
            for parameter, operand in inputs_by_parameter(node, does):
                shares = may_share(does, parameter)
                if node.op == "output" or (shares and node in self.returned):
                    self.returned.add(operand)
                if may_write(does, parameter) or (shares and node in self.written):
                    self.written.add(operand)

    def run(self):
        first, merged = {}, 0
        for node, does in zip(self.nodes, self.effects):
            if node.op != "call_function":
                continue
            if does.writes or does.side.name in ("OPAQUE", "STREAM", "RECORD"):
                # Nothing is merged across it.
                first = {}
                continue
            if not does.pure or node in self.written:
                continue
            # Its arguments are the first nodes that compute them: what was merged is replaced in them already.
            earlier = first.setdefault(key(node), node)
            if earlier is node or (node in self.returned and earlier in self.returned):
                continue
            if node in self.returned:
                self.returned.add(earlier)
            node.replace_all_uses_with(earlier)
            self.graph.erase_node(node)
            merged += 1
        return merged


def key(node):
    """Equal keys are the same computation."""
    kwargs = tuple((name, part(value)) for name, value in node.kwargs.items())
    return node.target, tuple(map(part, node.args)), kwargs


def part(value):
    if isinstance(value, (list, tuple)):
        return tuple(map(part, value))
    # 1, 1.0 and True are different, and 0.0 and -0.0.
    return value if isinstance(value, Node) else (type(value), repr(value))
