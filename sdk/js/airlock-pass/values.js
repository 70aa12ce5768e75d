// What nodes compute, as a pass sees it: `node.meta.val`, and the words for dtypes, devices and the like in arguments.

import * as raw from "airlock:pass/graph@0.1.1";

/** A number of the contract: a `number` where it fits one, else a `bigint`. */
export function number(int) {
  const small = Number(int);
  return Number.isSafeInteger(small) ? small : int;
}

/** A value that is known by its name, each there once: `torch.float32`. */
class Word {
  constructor(name) {
    this.name = name;
  }

  static of(name) {
    const short = name.startsWith("torch.") ? name.slice("torch.".length) : name;
    const known = Object.hasOwn(this, "known") ? this.known : (this.known = new Map());
    let word = known.get(short);
    if (word === undefined) known.set(short, (word = new this(short)));
    return word;
  }

  toString() {
    return `torch.${this.name}`;
  }
}

export class DType extends Word {
  get isFloatingPoint() {
    return this.name.includes("float");
  }

  get isComplex() {
    return this.name.startsWith("complex");
  }
}

export class Layout extends Word {}
export class MemoryFormat extends Word {}

export class Device extends Word {
  get type() {
    return this.name.split(":")[0];
  }

  get index() {
    const index = this.name.split(":")[1];
    return index === undefined ? null : Number(index);
  }

  toString() {
    return this.name;
  }
}

const SHORT = {
  f64: "float64", f32: "float32", f16: "float16", bf16: "bfloat16", i64: "int64", i32: "int32", i16: "int16", i8: "int8",
  u8: "uint8", u16: "uint16", u32: "uint32", u64: "uint64", b8: "bool", c32: "complex32", c64: "complex64", c128: "complex128",
  f8e4m3fn: "float8_e4m3fn", f8e5m2: "float8_e5m2",
};

/** A number that is a symbol. */
class Symbolic {
  constructor(expression) {
    this.expression = expression;
  }

  toString() {
    return this.expression;
  }
}

export class SymFloat extends Symbolic {}
export class SymBool extends Symbolic {}

export class SymInt extends Symbolic {
  /** The smallest and the largest value; no largest (null) where it is unbounded. */
  get range() {
    const [smallest, largest] = raw.rangeOf(dim(this));
    return [number(smallest), largest === undefined ? null : number(largest)];
  }
}

function dim(size) {
  return size instanceof SymInt ? { tag: "symbolic", val: size.expression } : { tag: "fixed", val: BigInt(size) };
}

function size(dim) {
  return dim.tag === "symbolic" ? new SymInt(dim.val) : number(dim.val);
}

/** What the host knows of two sizes: always so (true), never so (false), or neither (null). */
export function known(a, relation, b) {
  return raw.known(dim(a), relation, dim(b)) ?? null;
}

/** Whether two lists of sizes are known to be equal. */
export function sameSizes(a, b) {
  return a.length === b.length && a.every((size, i) => size === b[i] || known(size, "equal", b[i]) === true);
}

export class Tensor {
  constructor(type) {
    this.shape = type.sizes.map(size);
    this.dtype = DType.of(SHORT[type.dtype] ?? type.dtype);
    this.device = Device.of(type.device);
    this.strides = type.strides.map(size);
  }

  get ndim() {
    return this.shape.length;
  }

  toString() {
    return `Tensor(shape=[${this.shape.join(", ")}], dtype=${this.dtype}, device=${this.device})`;
  }
}

/** What FX has in `meta["val"]` for a value of this type; `other` makes what this version does not know. */
export function valueOf(element, other) {
  switch (element.tag) {
    case "tensor":
      return new Tensor(element.val);
    case "sym-int":
      return new SymInt(element.val);
    case "sym-float":
      return new SymFloat(element.val);
    case "sym-bool":
      return new SymBool(element.val);
    case "other":
      return other(element.val);
    default:
      return null;
  }
}
