// A graph and the module that it is of, in the words of `torch.fx.Graph` and `torch.fx.GraphModule`.

import * as raw from "airlock:pass/graph@0.1.1";
import { argument, keywords } from "./arguments.js";
import { checked } from "./errors.js";
import { Node } from "./node.js";
import { textOf } from "./ops.js";

/** `graph.nodes`: live, as FX's. Nodes may be inserted and erased while it is walked. */
class NodeList {
  #graph;

  constructor(graph) {
    this.#graph = graph;
  }

  get length() {
    return raw.nodes(this.#graph.id).length;
  }

  *[Symbol.iterator]() {
    const graph = this.#graph;
    let id = raw.nodes(graph.id)[0];
    while (id !== undefined) {
      const node = graph._node(id);
      if (node._nextWhenErased === undefined) yield node;
      id = graph._nextOf(node);
    }
  }

  *reversed() {
    for (const id of raw.nodes(this.#graph.id).reverse()) {
      const node = this.#graph._node(id);
      if (node._nextWhenErased === undefined) yield node;
    }
  }
}

/** A place in a graph, at which calls are inserted: they stand in the order in which they were made. */
export class InsertionPoint {
  #graph;
  #point;

  constructor(graph, point) {
    this.#graph = graph;
    this.#point = point;
  }

  callFunction(target, args = [], kwargs = {}, name = undefined) {
    const made = { at: this.#point, target: textOf(target), args: args.map(argument), kwargs: keywords(kwargs), name };
    const node = this.#graph._node(checked(() => raw.insert(made)));
    if (this.#point.tag === "after" || this.#point.tag === "start") this.#point = { tag: "after", val: node.id };
    return node;
  }
}

export class Graph {
  #nodes = new Map();

  constructor(module, id) {
    this.owningModule = module;
    this.id = id;
  }

  /** The node of an id: one object for each, so that `===` tells nodes apart. */
  _node(id) {
    let node = this.#nodes.get(id);
    if (node === undefined) this.#nodes.set(id, (node = new Node(this, id)));
    return node;
  }

  /** The id of the node after one that may have been erased: then of the one that was after it then. */
  _nextOf(node) {
    while (node._nextWhenErased !== undefined) {
      if (node._nextWhenErased === null) return undefined;
      node = this._node(node._nextWhenErased);
      if (node._nextWhenErased === undefined) return node.id;
    }
    return checked(() => raw.next(node.id));
  }

  get nodes() {
    return new NodeList(this);
  }

  findNodes({ op, target = undefined }) {
    if (op === "call_function" && target !== undefined) {
      return Array.from(raw.find(this.id, textOf(target)), (id) => this._node(id));
    }
    return [...this.nodes].filter((node) => node.op === op && (target === undefined || node.target === target));
  }

  outputNode() {
    return this._node(raw.nodes(this.id).at(-1));
  }

  insertingBefore(node = undefined) {
    return new InsertionPoint(this, node ? { tag: "before", val: node.id } : { tag: "start", val: this.id });
  }

  insertingAfter(node = undefined) {
    return new InsertionPoint(this, node ? { tag: "after", val: node.id } : { tag: "end", val: this.id });
  }

  callFunction(target, args = [], kwargs = {}, name = undefined) {
    return this.insertingAfter().callFunction(target, args, kwargs, name);
  }

  eraseNode(node) {
    const after = checked(() => raw.next(node.id));
    checked(() => raw.erase(node.id));
    node._nextWhenErased = after ?? null;
  }

  eliminateDeadCode() {
    let erased = false;
    for (const node of this.nodes.reversed()) {
      if (node.op === "call_function" && node.users.length === 0 && !node.isImpure()) {
        this.eraseNode(node);
        erased = true;
      }
    }
    return erased;
  }
}

export class GraphModule {
  #bodies;

  constructor(id, bodies) {
    this.#bodies = bodies;
    bodies.set(id, this);
    this.graph = new Graph(this, id);
  }

  _body(id) {
    return this.#bodies.get(id) ?? new GraphModule(id, this.#bodies);
  }

  /** The body that a get_attr node of this graph names. */
  body(name) {
    const node = this.graph.findNodes({ op: "get_attr", target: name })[0];
    const body = node?.meta.val;
    if (!(body instanceof GraphModule)) throw new TypeError(`${name} is no body of this graph`);
    return body;
  }

  modules() {
    return Array.from(raw.subGraphs(), (id) => this._body(id));
  }
}

/** The model's own graph. */
export function mainModule() {
  return new GraphModule(0, new Map());
}
