"""A pass that edits and then never ends. It must be stopped, and its edits must be gone."""

from airlock_pass import graph_pass, torch


@graph_pass(name="endless", about="Edits and never ends, for tests: must be stopped")
def run(gm, example_inputs, config):
    with gm.graph.inserting_before():
        gm.graph.call_function(torch.ops.air.scope_enter.default, (["_user_stream_label"], ["never_left"]))
    while True:
        pass
