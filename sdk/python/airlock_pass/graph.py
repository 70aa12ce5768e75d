"""A graph and the module that it is of, in the words of `torch.fx.Graph` and `torch.fx.GraphModule`."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Iterator, Sequence

from wit_world.imports import graph as _graph

from . import arguments, ops
from .errors import checked
from .node import Node


class NodeList:
    """`graph.nodes`: live, as FX's. Nodes may be inserted and erased while it is walked."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __len__(self) -> int:
        return len(_graph.nodes(self._graph.id))

    def __iter__(self) -> Iterator[Node]:
        ids = _graph.nodes(self._graph.id)
        id = ids[0] if ids else None
        while id is not None:
            node = self._graph._node(id)
            if node._next_when_erased is None:
                yield node
            id = self._graph._next_of(node)

    def __reversed__(self) -> Iterator[Node]:
        for id in reversed(_graph.nodes(self._graph.id)):
            node = self._graph._node(id)
            if node._next_when_erased is None:
                yield node


class _InsertPoint:
    """What `inserting_before` and `inserting_after` give: a place for as long as a `with` block lasts."""

    def __init__(self, graph: Graph, point: _graph.Point) -> None:
        self._graph = graph
        self._before = graph._point
        graph._point = point

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._graph._point = self._before


class Graph:
    """The model's graph, or the body of a `cond`, `while_loop` and the like."""

    def __init__(self, module: GraphModule, id: int) -> None:
        self.owning_module = module
        self.id = id
        self._nodes: dict[int, Node] = {}
        self._point: _graph.Point = _graph.Point_End(id)

    def _node(self, id: int) -> Node:
        node = self._nodes.get(id)
        if node is None:
            node = self._nodes[id] = Node(self, id)
        return node

    def _module(self, body: int) -> GraphModule:
        return self.owning_module._body(body)

    def _next_of(self, node: Node) -> int | None:
        """The node after one that may have been erased: then the one that was after it then."""
        while node._next_when_erased is not None:
            node = self._node(node._next_when_erased)
            if node._next_when_erased is None:
                return node.id
        with checked():
            return _graph.next(node.id)

    @property
    def nodes(self) -> NodeList:
        """The nodes in order."""
        return NodeList(self)

    def find_nodes(self, *, op: str, target: object = None, sort: bool = True) -> list[Node]:
        """The nodes of a kind, and of a target where one is given, in order."""
        if op == "call_function" and target is not None:
            return [self._node(id) for id in _graph.find(self.id, ops.text_of(target))]
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def output_node(self) -> Node:
        """The output: the last node."""
        return self._node(_graph.nodes(self.id)[-1])

    def inserting_before(self, n: Node | None = None) -> _InsertPoint:
        """Calls stand right before a node; without one, after the placeholders."""
        return _InsertPoint(self, _graph.Point_Start(self.id) if n is None else _graph.Point_Before(n.id))

    def inserting_after(self, n: Node | None = None) -> _InsertPoint:
        """Calls stand right after a node, the last one first, as in FX; without one, at the end."""
        return _InsertPoint(self, _graph.Point_End(self.id) if n is None else _graph.Point_After(n.id))

    def call_function(
        self,
        the_function: object,
        args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: object = None,
        name: str | None = None,
    ) -> Node:
        """Inserts a call at the place that `inserting_before` and `inserting_after` chose; else before the output."""
        new = _graph.NewNode(
            self._point,
            ops.text_of(the_function),
            arguments.arguments(args or ()),
            arguments.keywords(kwargs or {}),
            name,
        )
        with checked():
            return self._node(_graph.insert(new))

    def create_node(
        self,
        op: str,
        target: object,
        args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: object = None,
    ) -> Node:
        """As `call_function`: other nodes cannot be made, as they are the model's calling convention."""
        if op != "call_function":
            raise ValueError(f"a pass inserts calls; {op} is the model's calling convention")
        return self.call_function(target, args, kwargs, name=name)

    def erase_node(self, to_erase: Node) -> None:
        """Erases a node that has no users."""
        with checked():
            after = _graph.next(to_erase.id)
            _graph.erase(to_erase.id)
        to_erase._next_when_erased = after

    def eliminate_dead_code(self) -> bool:
        """Erases calls that nobody uses and that do nothing but compute. Gives whether there were any."""
        erased = False
        for node in reversed(self.nodes):
            if node.op == "call_function" and not node.users and not node.is_impure():
                self.erase_node(node)
                erased = True
        return erased

    def lint(self) -> None:
        """Does nothing: the graph is well formed after every edit."""

    def __repr__(self) -> str:
        return f"<graph {self.id}>"


class GraphModule:
    """What a pass is given as `gm`. Bodies are its attributes, by the target of their get_attr node."""

    def __init__(self, id: int, bodies: dict[int, GraphModule]) -> None:
        self._bodies = bodies
        self._bodies[id] = self
        self.graph = Graph(self, id)

    def _body(self, id: int) -> GraphModule:
        return self._bodies.get(id) or GraphModule(id, self._bodies)

    def __getattr__(self, name: str) -> GraphModule:
        if name.startswith("_") or name == "graph":
            raise AttributeError(name)
        for node in self.graph.nodes:
            if node.op == "get_attr" and node.target == name and isinstance(node.meta["val"], GraphModule):
                return node.meta["val"]
        raise AttributeError(f"{name} is no body of this graph")

    def modules(self) -> Iterator[GraphModule]:
        """This module and all bodies that are reached from the model's graph."""
        for id in _graph.sub_graphs():
            yield self._body(id)

    def recompile(self) -> None:
        """Does nothing: there is no code to be made anew."""


def main_module() -> GraphModule:
    """The model's own graph."""
    return GraphModule(0, {})
