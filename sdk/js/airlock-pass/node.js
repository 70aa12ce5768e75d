// A node, in the words of `torch.fx.Node`.

import * as raw from "airlock:pass/graph@0.1.1";
import { Other, argument, keywords, valueOf } from "./arguments.js";
import { checked } from "./errors.js";
import { targetOf, textOf } from "./ops.js";
import { valueOf as typeOf } from "./values.js";

const OPS = { placeholder: "placeholder", call: "call_function", "get-attr": "get_attr", output: "output" };

const texts = new Map();

function text(id) {
  let found = texts.get(id);
  if (found === undefined) texts.set(id, (found = raw.text(id) ?? ""));
  return found;
}

/** `node.meta`: `val` is the value's type, which the host infers; other keys are notes, which are texts. */
const META = {
  get(node, key) {
    if (typeof key === "symbol") return undefined;
    return key === "val" ? node._value() : checked(() => raw.annotation(node.id, key));
  },
  set(node, key, note) {
    if (key !== "val" && typeof note === "string") checked(() => raw.annotate(node.id, key, note));
    return true;
  },
  deleteProperty(node, key) {
    checked(() => raw.annotate(node.id, key, undefined));
    return true;
  },
  has(node, key) {
    return key === "val" || checked(() => raw.annotation(node.id, key)) !== undefined;
  },
};

export class Node {
  #op;

  constructor(graph, id) {
    this.graph = graph;
    this.id = id;
    // Of an erased node: the node that was after it, or null.
    this._nextWhenErased = undefined;
  }

  // ---- reading

  get op() {
    return (this.#op ??= OPS[checked(() => raw.kind(this.id))]);
  }

  get name() {
    return checked(() => raw.name(this.id));
  }

  get target() {
    const target = text(checked(() => raw.targetId(this.id)));
    return this.op === "call_function" ? targetOf(target) : target;
  }

  set target(target) {
    checked(() => raw.setTarget(this.id, textOf(target)));
  }

  get args() {
    const node = (id) => this.graph._node(id);
    const args = checked(() => raw.args(this.id)).map((arg) => valueOf(arg, node));
    return this.op === "output" ? [args] : args;
  }

  set args(args) {
    this.#set(args, this.kwargs);
  }

  get kwargs() {
    const node = (id) => this.graph._node(id);
    return Object.fromEntries(checked(() => raw.kwargs(this.id)).map(({ name, value }) => [name, valueOf(value, node)]));
  }

  set kwargs(kwargs) {
    this.#set(this.args, kwargs);
  }

  #set(args, kwargs) {
    if (this.op === "output" && args.length === 1 && Array.isArray(args[0])) [args] = args;
    checked(() => raw.setArgs(this.id, args.map(argument), keywords(kwargs)));
  }

  get users() {
    return Array.from(checked(() => raw.users(this.id)), (id) => this.graph._node(id));
  }

  get allInputNodes() {
    const values = [...this.args, ...Object.values(this.kwargs)].flat(2);
    return [...new Set(values.filter((value) => value instanceof Node))];
  }

  get meta() {
    return new Proxy(this, META);
  }

  _value() {
    const other = (text) => new Other(text);
    const type = checked(() => raw.typeOf(this.id));
    switch (type.tag) {
      case "single":
        return typeOf(type.val, other);
      case "many":
        return type.val.map((element) => typeOf(element, other));
      default:
        return this.graph.owningModule._body(type.val);
    }
  }

  get next() {
    const id = checked(() => raw.next(this.id));
    return id === undefined ? null : this.graph._node(id);
  }

  get prev() {
    const id = checked(() => raw.previous(this.id));
    return id === undefined ? null : this.graph._node(id);
  }

  isBefore(other) {
    return checked(() => raw.isBefore(this.id, other.id));
  }

  isImpure() {
    if (this.op === "placeholder" || this.op === "output") return true;
    const { positions, distinct } = checked(() => raw.effectsOf([this.id]));
    const does = distinct[positions[0]];
    return !does.pure || does.mayRaise;
  }

  toString() {
    return this.name;
  }

  // ---- editing

  replaceAllUsesWith(other, only) {
    const users = this.users.filter((user) => user !== other && (only === undefined || only(user)));
    const ids = only === undefined ? undefined : users.map((user) => user.id);
    checked(() => raw.replaceUses(this.id, other.id, ids));
    return users;
  }

  replaceInputWith(old, other) {
    checked(() => raw.replaceUses(old.id, other.id, [this.id]));
  }

  updateArg(index, value) {
    this.args = this.args.with(index, value);
  }

  updateKwarg(key, value) {
    this.kwargs = { ...this.kwargs, [key]: value };
  }

  prepend(node) {
    checked(() => raw.moveNode(node.id, { tag: "before", val: this.id }));
  }

  append(node) {
    checked(() => raw.moveNode(node.id, { tag: "after", val: this.id }));
  }
}
