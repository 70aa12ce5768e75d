"""A node, in the words of `torch.fx.Node`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterator, MutableMapping, Sequence

from componentize_py_types import Err
from wit_world.imports import graph as _graph
from wit_world.imports import types as _types

from . import arguments, ops, values
from .errors import checked, translated

if TYPE_CHECKING:
    from .graph import Graph

_OPS = {
    _types.NodeKind.PLACEHOLDER: "placeholder",
    _types.NodeKind.CALL: "call_function",
    _types.NodeKind.GET_ATTR: "get_attr",
    _types.NodeKind.OUTPUT: "output",
}

#: Keys under which a node may have a note that `meta` shows by itself; others are shown when they are asked for.
_NOTES = ("stack_trace",)

_texts: dict[int, str] = {}


def _text(id: int) -> str:
    text = _texts.get(id)
    if text is None:
        text = _texts[id] = _graph.text(id) or ""
    return text


class Meta(MutableMapping[str, Any]):
    """`node.meta`: `val` is the value's type, which the host infers; other keys are notes, which are texts.

    Writing `val` does nothing, as FX's passes do it to say what the host knows; a note that is no text is not kept.
    """

    def __init__(self, node: Node) -> None:
        self._node = node

    def __getitem__(self, key: str) -> Any:
        if key == "val":
            return self._node._value()
        try:
            note = _graph.annotation(self._node.id, key)
        except Err as raised:
            raise translated(raised) from None
        if note is None:
            raise KeyError(key)
        return note

    def __setitem__(self, key: str, value: Any) -> None:
        if key != "val" and isinstance(value, str):
            with checked():
                _graph.annotate(self._node.id, key, value)

    def __delitem__(self, key: str) -> None:
        with checked():
            _graph.annotate(self._node.id, key, None)

    def __iter__(self) -> Iterator[str]:
        yield "val"
        yield from (key for key in _NOTES if key in self)

    def __contains__(self, key: object) -> bool:
        if key == "val":
            return True
        with checked():
            return _graph.annotation(self._node.id, str(key)) is not None

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def copy(self) -> dict[str, Any]:
        return dict(self)


class Node:
    """A node of a graph. There is one object for each node, so that `is` tells nodes apart."""

    __slots__ = ("graph", "id", "_op", "_next_when_erased", "__weakref__")

    def __init__(self, graph: Graph, id: int) -> None:
        self.graph = graph
        self.id = id
        self._op: str | None = None
        self._next_when_erased: int | None = None

    # ---- reading

    @property
    def op(self) -> str:
        """`placeholder`, `call_function`, `get_attr` or `output`."""
        if self._op is None:
            with checked():
                self._op = _OPS[_graph.kind(self.id)]
        return self._op

    @property
    def name(self) -> str:
        """Its name, unique in its graph."""
        with checked():
            return _graph.name(self.id)

    @property
    def target(self) -> Any:
        """The operator of a call as a value (`torch.ops.aten.mm.default`); of other nodes a text."""
        try:
            text = _text(_graph.target_id(self.id))
        except Err as raised:
            raise translated(raised) from None
        return ops.target_of(text) if self.op == "call_function" else text

    @target.setter
    def target(self, target: object) -> None:
        with checked():
            _graph.set_target(self.id, ops.text_of(target))

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments; of the output one: what the graph returns."""
        with checked():
            found = _graph.args(self.id)
        args = tuple(arguments.value(arg, self.graph._node) for arg in found)
        return (args,) if self.op == "output" else args

    @args.setter
    def args(self, args: Sequence[Any]) -> None:
        self._set(args, self.kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments."""
        with checked():
            found = _graph.kwargs(self.id)
        return {kwarg.name: arguments.value(kwarg.value, self.graph._node) for kwarg in found}

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Any]) -> None:
        self._set(self.args, kwargs)

    def _set(self, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        if self.op == "output" and len(args) == 1:
            args = args[0] if isinstance(args[0], (list, tuple)) else args
        with checked():
            _graph.set_args(self.id, arguments.arguments(args), arguments.keywords(kwargs))

    @property
    def users(self) -> dict[Node, None]:
        """The nodes that use it, each once, in graph order."""
        with checked():
            return {self.graph._node(id): None for id in _graph.users(self.id)}

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes that it uses, each once."""
        found: dict[Node, None] = {}
        for value in (*self.args, *self.kwargs.values()):
            for item in value if isinstance(value, (list, tuple)) else [value]:
                if isinstance(item, Node):
                    found[item] = None
        return list(found)

    @property
    def meta(self) -> Meta:
        """`val` (the value's type) and notes."""
        return Meta(self)

    @meta.setter
    def meta(self, meta: dict[str, Any]) -> None:
        self.meta.update(meta)

    def _value(self) -> object:
        with checked():
            found = _graph.type_of(self.id)
        match found:
            case _types.ValueType_Single(value=element):
                return values.value_of(element)
            case _types.ValueType_Many(value=elements):
                return tuple(values.value_of(element) for element in elements)
            case _types.ValueType_Body(value=body):
                return self.graph._module(body)

    @property
    def next(self) -> Node | None:
        """The node after it."""
        with checked():
            id = _graph.next(self.id)
        return None if id is None else self.graph._node(id)

    @property
    def prev(self) -> Node | None:
        """The node before it."""
        with checked():
            id = _graph.previous(self.id)
        return None if id is None else self.graph._node(id)

    def __lt__(self, other: Node) -> bool:
        """Whether it stands before another node of the same graph."""
        with checked():
            return _graph.is_before(self.id, other.id)

    def __gt__(self, other: Node) -> bool:
        return other < self

    def __repr__(self) -> str:
        return self.name

    # ---- editing

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] | None = None,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Makes every user use another node, or those that `delete_user_cb` says; gives them."""
        users = [user for user in self.users if user is not replace_with]
        only: list[int] | None = None
        if delete_user_cb is not None:
            users = [user for user in users if delete_user_cb(user)]
            only = [user.id for user in users]
        with checked():
            _graph.replace_uses(self.id, replace_with.id, only)
        return users

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Makes this node use another one in place of one that it uses."""
        with checked():
            _graph.replace_uses(old_input.id, new_input.id, [self.id])

    def update_arg(self, index: int, value: Any) -> None:
        """Replaces one positional argument."""
        args = list(self.args)
        args[index] = value
        self.args = args

    def update_kwarg(self, key: str, value: Any) -> None:
        """Replaces one keyword argument."""
        self.kwargs = {**self.kwargs, key: value}

    def prepend(self, node: Node) -> None:
        """Moves another node right before this one."""
        with checked():
            _graph.move_node(node.id, _graph.Point_Before(self.id))

    def append(self, node: Node) -> None:
        """Moves another node right after this one."""
        with checked():
            _graph.move_node(node.id, _graph.Point_After(self.id))

    def is_impure(self) -> bool:
        """Whether it may not be erased though nobody uses it."""
        if self.op in ("placeholder", "output"):
            return True
        with checked():
            table = _graph.effects_of([self.id])
        does = table.distinct[table.positions[0]]
        return not does.pure or does.may_raise
