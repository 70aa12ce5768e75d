// Finds residual adds and rms-norms. The Rust pass of this name tells what counts as one.

import { Float, type Graph, Node, type NodeArgument, type OpOverload, Tensor, type Value, sameSizes, torch } from "airlock-pass";

const { aten } = torch.ops;
const ADD = aten.add.Tensor;
const MUL = aten.mul.Tensor;
const RMS_NORM = torch.ops.npu.npu_rms_norm.default;
const GETITEM = torch.op("_operator.getitem");
const DEFAULT_EPSILON = 1e-6;

/** An rms-norm of `input`. */
export interface Norm {
  input: Node;
  gamma: Node;
  epsilon: number;
  /** Nodes whose value is the normalised tensor. */
  outputs: Node[];
  /** Nodes whose value is the reciprocal root mean square, where it is used. */
  rstds: Node[];
  /** What else the norm consists of, users before what they use. */
  inner: Node[];
}

/** The operands of a residual add: two tensors of one shape and dtype. */
export type Add = [x1: Node, x2: Node];

/** All norms of a graph, in order. */
export function findNorms(graph: Graph): Norm[] {
  const calls = (target: OpOverload) => graph.findNodes({ op: "call_function", target });
  const norms = [...calls(RMS_NORM).map(fusedNorm), ...calls(aten.rsqrt.default).map(writtenOut)];
  return norms.filter((norm) => norm !== null);
}

/** The sum's operands, if it is a residual add. */
export function residualAdd(sum: Node): Add | null {
  if (!isCall(sum, ADD)) return null;
  for (const [name, value] of Object.entries(sum.kwargs)) {
    if (name !== "alpha" || number(value) !== 1) return null;
  }
  const [x1, x2] = sum.args;
  if (sum.args.length !== 2 || !(x1 instanceof Node) || !(x2 instanceof Node)) return null;
  const [a, b] = [x1.meta.val, x2.meta.val];
  const same = a instanceof Tensor && b instanceof Tensor && a.dtype === b.dtype && sameSizes(a.shape, b.shape);
  return same ? [x1, x2] : null;
}

function isCall(value: NodeArgument | undefined, ...targets: OpOverload[]): value is Node {
  return value instanceof Node && value.op === "call_function" && targets.some((target) => target === value.target);
}

/** An argument that is a number. */
function number(value: NodeArgument | undefined): number | null {
  return value instanceof Float ? value.value : typeof value === "number" || typeof value === "bigint" ? Number(value) : null;
}

/** Whether an argument is a list: what `Array.isArray` does not tell of one that is read-only. */
function isList(value: NodeArgument | undefined): value is readonly Exclude<NodeArgument, readonly unknown[]>[] {
  return Array.isArray(value);
}

/** `npu_rms_norm`, if nothing but its results is used. */
function fusedNorm(node: Node): Norm | null {
  const [input, gamma, given = node.kwargs.epsilon ?? DEFAULT_EPSILON] = node.args;
  const epsilon = number(given);
  if (!(input instanceof Node) || !(gamma instanceof Node) || epsilon === null) return null;
  const norm: Norm = { input, gamma, epsilon, outputs: [], rstds: [], inner: [node] };
  for (const user of node.users) {
    const index = isCall(user, GETITEM) ? user.args[1] : null;
    if (index !== 0 && index !== 1) return null;
    (index === 0 ? norm.outputs : norm.rstds).push(user);
  }
  return norm;
}

/** The norm that this `rsqrt` is in the middle of. */
function writtenOut(rsqrt: Node): Norm | null {
  const shifted = rsqrt.args[0];
  if (!isCall(shifted, ADD, aten.add.Scalar) || Object.keys(shifted.kwargs).length > 0 || shifted.args.length !== 2) return null;
  const mean = shifted.args[0];
  const epsilon = number(shifted.args[1]);
  if (epsilon === null || !isCall(mean, aten.mean.dim)) return null;
  const square = mean.args[0];
  if (!(square instanceof Node)) return null;
  const input = squared(square);
  const scaled = input && scaledByGamma(rsqrt, input);
  if (!input || !scaled) return null;
  const { product, result, gamma } = scaled;
  const [x, g] = [input.meta.val, gamma.meta.val];
  if (!isF32(x) || !isF32(g) || !isOverDimensionsOf(mean, x, g)) return null;
  if ([product, shifted, mean, square].some((node) => node.users.length !== 1)) return null;
  // Where rsqrt is used elsewhere its uses become rstd, and it goes with them.
  const elsewhere = rsqrt.users.length > 1;
  const inner = [product, ...(elsewhere ? [] : [rsqrt]), shifted, mean, square];
  return { input, gamma, epsilon, outputs: [result], rstds: elsewhere ? [rsqrt] : [], inner };
}

function isF32(type: Value): type is Tensor {
  return type instanceof Tensor && type.dtype === torch.float32;
}

/** What is squared by `pow(x, 2)` or `mul(x, x)`. */
function squared(square: Node): Node | null {
  if (square.args.length !== 2) return null;
  const [x, other] = square.args;
  if (!(x instanceof Node)) return null;
  const is = isCall(square, aten.pow.Tensor_Scalar) ? number(other) === 2 : isCall(square, MUL) && other === x;
  return is ? x : null;
}

interface Scaled {
  product: Node;
  result: Node;
  gamma: Node;
}

/** `mul(mul(x, rsqrt), gamma)` with either order of operands: both products and gamma. */
function scaledByGamma(rsqrt: Node, x: Node): Scaled | null {
  for (const product of rsqrt.users) {
    if (otherFactor(product, rsqrt) !== x) continue;
    const [result, ...others] = product.users;
    if (result === undefined || others.length > 0) continue;
    const gamma = otherFactor(result, product);
    if (gamma !== null) return { product, result, gamma };
  }
  return null;
}

/** The other factor, if `product` is one of `factor` and another node. */
function otherFactor(product: Node, factor: Node): Node | null {
  if (!isCall(product, MUL)) return null;
  const [a, b] = product.args;
  if (!(a instanceof Node) || !(b instanceof Node) || a === b) return null;
  return a === factor ? b : b === factor ? a : null;
}

/** Whether the mean keeps its dimensions and is over the last ones, as many as `gamma` has, which have `gamma`'s sizes. */
function isOverDimensionsOf(mean: Node, x: Tensor, gamma: Tensor): boolean {
  const [, dims, keeps = mean.kwargs.keepdim] = mean.args;
  const outer = x.ndim - gamma.ndim;
  if (keeps !== true || (mean.kwargs.dtype ?? null) !== null || !isList(dims) || outer < 0 || gamma.ndim === 0) return false;
  if (!dims.every((dim) => typeof dim === "number")) return false;
  const over = dims.map((dim) => (dim < 0 ? dim + x.ndim : dim)).sort((a, b) => a - b);
  return over.length === gamma.ndim && over.every((dim, i) => dim === outer + i) && sameSizes(x.shape.slice(outer), gamma.shape);
}
