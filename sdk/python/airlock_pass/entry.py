"""What the host calls: the export of the contract, around a pass's function.

Prints become lines of the log, and what a pass raises comes back with its traceback. Nothing here touches files or clocks, which a
component has none of: reading a source file for a traceback would end it.
"""

from __future__ import annotations

import importlib
import linecache
import os
import sys
import traceback
from dataclasses import dataclass
from typing import Any, Callable, TextIO, cast

from componentize_py_types import Err
from wit_world.exports import pass_
from wit_world.imports import graph as _graph
from wit_world.imports import host as _host

from .graph import GraphModule, main_module
from .torchair import CompilerConfig

PassFunction = Callable[[GraphModule, Any, CompilerConfig], Any]


@dataclass
class Registered:
    """The pass, and what it says of itself."""

    run: PassFunction
    name: str
    version: str
    about: str
    needs: list[str]


_registered: Registered | None = None
#: What the pass is called where it does not say: `airlock build` knows its file or folder.
default_name = "pass"


def graph_pass(
    run: PassFunction | None = None,
    *,
    name: str | None = None,
    version: str = "0.1.0",
    about: str | None = None,
    needs: list[str] | None = None,
) -> Any:
    """Makes a function `(gm, example_inputs, config)` the pass of its file. Name and description are those of the file, unless given."""

    def register(run: PassFunction) -> PassFunction:
        global _registered
        if _registered is not None:
            raise TypeError(f"{_registered.run.__name__} and {run.__name__}: a component is one pass")
        described = (about or run.__doc__ or "").strip().partition("\n")[0]
        _registered = Registered(run, name or default_name, version, described, needs or [])
        return run

    return register if run is None else register(run)


class _Log:
    """A file of text whose lines go to the log."""

    encoding = "utf-8"

    def __init__(self, level: _host.Level) -> None:
        self._level = level
        self._line = ""

    def write(self, text: str) -> int:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            _host.log(self._level, line)
        return len(text)

    def flush(self) -> None:
        pass

    def end(self) -> None:
        if self._line:
            self.write("\n")


def _no_files(filename: str, module_globals: object = None) -> list[str]:
    return []


def load(module: str, name: str) -> None:
    """Imports the pass while the component is built, and keeps its sources for tracebacks."""
    global default_name
    default_name = name
    folder = os.path.dirname(importlib.import_module(module).__file__ or "")
    if _registered is None:
        raise TypeError(f"{module}.py has no pass: put @graph_pass before a function (gm, example_inputs, config)")
    for own in list(sys.modules.values()):
        path = getattr(own, "__file__", None) or ""
        if path.endswith(".py") and os.path.dirname(path) == folder:
            with open(path, encoding="utf-8") as file:
                lines = file.readlines()
            # Without a time of change linecache does not look whether the file was changed.
            linecache.cache[path] = (sum(map(len, lines)), None, lines, path)
    linecache.updatecache = _no_files


def _failure(error: BaseException) -> str:
    """The error, with the name of its node, and where it was raised."""
    trace = error.__traceback__
    own = [frame for frame in traceback.extract_tb(trace) if "airlock_pass" not in frame.filename]
    lines = traceback.format_list(own) + traceback.format_exception_only(error)
    text = "".join(lines).strip()
    node = getattr(error, "node", None)
    if isinstance(node, int):
        try:
            return f"`{_graph.name(node)}`: {text}"
        except Err:
            pass
    return text


class Pass:
    """The interface `pass` of the contract."""

    def describe(self) -> pass_.Info:
        assert _registered is not None
        return pass_.Info(_registered.name, _registered.version, _registered.needs, _registered.about)

    def run(self, config: str) -> pass_.Outcome:
        assert _registered is not None
        out, err = _Log(_host.Level.INFO), _Log(_host.Level.WARN)
        sys.stdout, sys.stderr = cast(TextIO, out), cast(TextIO, err)
        try:
            said = _registered.run(main_module(), None, CompilerConfig(config))
        except BaseException as error:
            raise Err(_failure(error)) from None
        finally:
            out.end()
            err.end()
        if isinstance(said, bool) or not isinstance(said, int):
            return pass_.Outcome(True, "")
        notes = {0: "", 1: "1 place"}
        return pass_.Outcome(said != 0, notes.get(said, f"{said} places"))
