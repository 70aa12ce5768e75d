"""What a pass uses of `torchair`: the configuration. `from airlock_pass import torchair`."""

from __future__ import annotations

from typing import Any

from wit_world.imports import host as _host


class Option(str):
    """The text of an option that is set; TorchAir's options have a `value`."""

    @property
    def value(self) -> Any:
        return _read(str(self))


def _read(text: str) -> Any:
    for reads in (int, float):
        try:
            return reads(text)
        except ValueError:
            pass
    return {"True": True, "False": False, "true": True, "false": False, "None": None}.get(text, text)


class Options:
    """Options below a name; false, as none of this name is set."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        key = f"{self._prefix}{name}"
        text = _host.get_option(key)
        return Options(f"{key}.") if text is None else _read(text)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of an option by its whole name, `experimental_config.frozen_parameter`."""
        text = _host.get_option(f"{self._prefix}{key}")
        return default if text is None else _read(text)

    def get_text(self, key: str, default: str | None = None) -> str | None:
        """As `get`, but always the text as the user wrote it."""
        text = _host.get_option(f"{self._prefix}{key}")
        return default if text is None else text

    @property
    def value(self) -> None:
        return None

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "None"


class CompilerConfig(Options):
    """TorchAir's `config`: the mode, and options by their dotted names, as the user set them for this pass.

    An option that is not set is false; its `value` is None.
    """

    def __init__(self, text: str = "") -> None:
        super().__init__("")
        #: The user's text for this run, often empty.
        self.text = text

    @property
    def mode(self) -> Option:
        """`max-autotune` or `reduce-overhead`."""
        return Option(_host.mode())

    @property
    def stage(self) -> str:
        """`pre` or `post`."""
        return _host.stage()
