"""A pass as TorchAir's document writes them: registered as `post_grad_custom_pre_pass` there, by its decorator here.

What it does is the document's example: `mm` and `abs` run on a stream of their own, and `sub` waits for them. Nodes are inserted
while `graph.nodes` is walked.
"""

from airlock_pass import graph_pass, torch, torchair


@graph_pass(name="torchair-document", about="The example of TorchAir's document")
def on_side_stream(gm, example_inputs, config: torchair.CompilerConfig):
    graph = gm.graph
    event = None
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        if node.target == torch.ops.aten.mm.default:
            with graph.inserting_before(node):
                graph.call_function(torch.ops.air.scope_enter.default, args=(["_user_stream_label"], ["stream_1"]))
        elif node.target == torch.ops.aten.abs.default:
            with graph.inserting_after(node):
                event = graph.call_function(torch.ops.air.record.default, args=())
            with graph.inserting_after(event):
                graph.call_function(torch.ops.air.scope_exit.default, args=())
        elif node.target == torch.ops.aten.sub.Tensor and event is not None:
            with graph.inserting_before(node):
                graph.call_function(torch.ops.air.wait.default, args=([event],))
    gm.recompile()
