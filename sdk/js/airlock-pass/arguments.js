// Arguments: JavaScript values become the contract's, and back.
//
// JavaScript has one kind of number, operators tell an integer from a float. An integer is a `number` or a `bigint`; a float is
// read as a `Float`, so that it is one still when it is handed back. A `number` that is no integer is a float too.

import { Node } from "./node.js";
import { OpOverload, targetOf } from "./ops.js";
import { DType, Device, Layout, MemoryFormat, SymInt, number } from "./values.js";

export class Float {
  constructor(value) {
    this.value = Number(value);
  }

  valueOf() {
    return this.value;
  }

  toString() {
    return Number.isInteger(this.value) ? this.value.toFixed(1) : String(this.value);
  }
}

export class Complex {
  constructor(re, im) {
    this.re = re;
    this.im = im;
  }

  toString() {
    return `(${this.re}+${this.im}j)`;
  }
}

/** An argument or a type that this version does not know, in the host's words. */
export class Other {
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

const WORDS = [[DType, "dtype"], [Layout, "layout"], [MemoryFormat, "memory-format"], [Device, "device"]];

function scalar(value) {
  if (value === null || value === undefined) return { tag: "none" };
  switch (typeof value) {
    case "number":
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? { tag: "int", val: BigInt(value) } : { tag: "float", val: value };
    case "bigint":
      return { tag: "int", val: value };
    case "boolean":
      return { tag: "bool", val: value };
    case "string":
      return { tag: "str", val: value };
  }
  if (value instanceof Node) return { tag: "node", val: value.id };
  if (value instanceof Float) return { tag: "float", val: value.value };
  if (value instanceof Complex) return { tag: "complex", val: [value.re, value.im] };
  if (value instanceof Other) return { tag: "other", val: value.text };
  if (value instanceof OpOverload) return { tag: "operator", val: value.text };
  for (const [kind, tag] of WORDS) {
    if (value instanceof kind) return { tag, val: value.name };
  }
  if (Array.isArray(value)) throw new TypeError(`a list in a list is no argument: [${value.join(", ")}]`);
  if (value instanceof SymInt) throw new TypeError(`${value} is the type of a size: an argument is a node that computes it`);
  throw new TypeError(`${String(value)} is no argument of an operator`);
}

export function argument(value) {
  return Array.isArray(value) ? { tag: "many", val: value.map(scalar) } : { tag: "one", val: scalar(value) };
}

export function keywords(kwargs) {
  return Object.entries(kwargs).map(([name, value]) => ({ name, value: argument(value) }));
}

function valueOfScalar({ tag, val }, node) {
  switch (tag) {
    case "node":
      return node(val);
    case "int":
      return number(val);
    case "float":
      return new Float(val);
    case "bool":
    case "str":
      return val;
    case "complex":
      return new Complex(val[0], val[1]);
    case "dtype":
      return DType.of(val);
    case "device":
      return Device.of(val);
    case "layout":
      return Layout.of(val);
    case "memory-format":
      return MemoryFormat.of(val);
    case "operator":
      return targetOf(val);
    case "other":
      return new Other(val);
    default:
      return null;
  }
}

/** The JavaScript value for an argument of the contract; `node` gives the node of an id. */
export function valueOf(arg, node) {
  return arg.tag === "many" ? arg.val.map((item) => valueOfScalar(item, node)) : valueOfScalar(arg.val, node);
}
