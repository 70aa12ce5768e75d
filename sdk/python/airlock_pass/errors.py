"""Errors of a pass: a refused edit or read."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

from componentize_py_types import Err
from wit_world.imports import graph as _graph
from wit_world.imports import types as _types


class EditError(RuntimeError):
    """The host refused an edit or a read; the graph is as it was before the call."""

    def __init__(self, error: _types.EditError, index: int | None = None) -> None:
        #: `stale`, `unknown_target`, `bad_argument`, `type_mismatch`, `use_before_definition`, `still_used`, `not_allowed`, `over_limit`
        self.code = error.code.name.lower()
        #: The id of the node that it is about.
        self.node = error.node
        #: The argument that it is about: a position or a keyword.
        self.argument = error.argument
        kind = {"stale": "stale node"}.get(self.code, self.code.replace("_", " "))
        edit = "" if index is None else f"edit {index} of the batch: "
        argument = "" if error.argument is None else f" (argument {error.argument})"
        super().__init__(f"{edit}{kind}{argument}: {error.message}")


@contextmanager
def checked() -> Iterator[None]:
    """Turns what the bindings raise into an EditError."""
    try:
        yield
    except Err as raised:
        raise translated(raised) from None


def translated(raised: Err[object]) -> Exception:
    """The EditError for what the bindings raise."""
    error = raised.value
    if isinstance(error, _types.EditError):
        return EditError(error)
    if isinstance(error, _graph.BatchError):
        return EditError(error.error, error.index)
    return raised
