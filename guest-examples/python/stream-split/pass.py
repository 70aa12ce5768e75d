"""The pass of TorchAir's document: each `mm` runs on a side stream, together with the `abs` of its result.

The Rust pass of this name tells which nodes are taken and why.
"""

from airlock_pass import graph_pass, torch

aten, air = torch.ops.aten, torch.ops.air
MM, ABS, SUB = aten.mm.default, aten.abs.default, aten.sub.Tensor


@graph_pass(name="stream-split", about="Runs each mm and the abs after it on a stream of their own")
def run(gm, example_inputs, config):
    stream = config.get_text("stream", "stream_1")
    splits = 0
    for mm in list(outside_of_scopes(gm.graph)):
        found = find(mm)
        if found is not None:
            put_on_stream(gm.graph, mm, *found, stream)
            splits += 1
    return splits


def outside_of_scopes(graph):
    """The `mm`s that nobody has put on a stream yet."""
    depth = 0
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if node.target == air.scope_enter.default:
            depth += 1
        elif node.target == air.scope_exit.default:
            depth = max(depth - 1, 0)
        elif node.target == MM and depth == 0:
            yield node


def is_call(node, target):
    return node.op == "call_function" and node.target == target


def find(mm):
    """The `abs` that goes to the side stream with `mm`, and the first `sub` that waits for them."""
    users = list(mm.users)
    abs_ = next((user for user in users if is_call(user, ABS)), None)
    if abs_ is None or not nothing_is_written_between(mm, abs_):
        return None
    sub = None
    for user in users + list(abs_.users):
        if is_call(user, SUB) and (sub is None or user < sub):
            sub = user
    return None if sub is None else (abs_, sub)


def nothing_is_written_between(mm, abs_):
    """Whether `abs` can stand right after `mm`: no operator between them writes in place."""
    node = mm.next
    while node is not None and node is not abs_:
        if isinstance(node.target, torch._ops.OpOverload) and node.target.overloadpacket.__name__.endswith("_"):
            return False
        node = node.next
    return True


def put_on_stream(graph, mm, abs_, sub, stream):
    if mm.next is not abs_:
        mm.append(abs_)
    with graph.inserting_before(mm):
        graph.call_function(air.scope_enter.default, (["_user_stream_label"], [stream]))
    with graph.inserting_after(abs_):
        record = graph.call_function(air.record.default)
    with graph.inserting_after(record):
        graph.call_function(air.scope_exit.default)
    with graph.inserting_before(sub):
        graph.call_function(air.wait.default, ([record],))
