"""Writes a note on the calls of an operator: what options are, and what a log is for.

Options: `target` names the operator, `note` is the text, `limit` bounds how many calls get one. The run's text, where there is
one, stands before the note.
"""

from airlock_pass import graph_pass, log

KEY = "annotate.note"


@graph_pass(name="annotate", about="Writes a note on the calls of an operator")
def run(gm, example_inputs, config):
    target = config.get_text("target", "aten.mm.default")
    note = config.get_text("note", "seen")
    limit = config.get_text("limit")
    if limit is not None and int(limit) < 0:
        raise ValueError("option `limit` is below 0")
    log.debug(f"stage {config.stage}, mode {config.mode}")
    if config.text:
        note = f"{config.text}: {note}"
    calls = [call for module in gm.modules() for call in module.graph.find_nodes(op="call_function", target=target)]
    wanted = len(calls) if limit is None else min(len(calls), int(limit))
    for call in calls[:wanted]:
        call.meta[KEY] = note
    print(f"{wanted} of {len(calls)} calls of {target} have the note")
    if wanted < len(calls):
        log.warn(f"{len(calls) - wanted} calls are beyond the limit")
    return wanted
