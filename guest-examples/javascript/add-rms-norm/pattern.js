// Finds residual adds and rms-norms. The Rust pass of this name tells what counts as one.
//
// A norm is `{ input, gamma, epsilon, outputs, rstds, inner }`: the nodes whose value is the normalised tensor, those whose value is
// the reciprocal root mean square, and what else it consists of, users before what they use.

import { Float, Node, Tensor, sameSizes, torch } from "airlock-pass";

const { aten } = torch.ops;
const ADD = aten.add.Tensor;
const MUL = aten.mul.Tensor;
const RMS_NORM = torch.ops.npu.npu_rms_norm.default;
const GETITEM = torch.op("_operator.getitem");
const DEFAULT_EPSILON = 1e-6;

/** All norms of a graph, in order. */
export function findNorms(graph) {
  const calls = (target) => graph.findNodes({ op: "call_function", target });
  const norms = [...calls(RMS_NORM).map(fusedNorm), ...calls(aten.rsqrt.default).map(writtenOut)];
  return norms.filter((norm) => norm !== null);
}

/** The sum's operands, if it is a residual add: two tensors of one shape and dtype. */
export function residualAdd(sum) {
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

function isCall(value, ...targets) {
  return value instanceof Node && value.op === "call_function" && targets.includes(value.target);
}

/** An argument that is a number. */
function number(value) {
  return value instanceof Float ? value.value : typeof value === "number" || typeof value === "bigint" ? Number(value) : null;
}

/** `npu_rms_norm`, if nothing but its results is used. */
function fusedNorm(node) {
  const [input, gamma, given = node.kwargs.epsilon ?? DEFAULT_EPSILON] = node.args;
  const epsilon = number(given);
  if (!(input instanceof Node) || !(gamma instanceof Node) || epsilon === null) return null;
  const norm = { input, gamma, epsilon, outputs: [], rstds: [], inner: [node] };
  for (const user of node.users) {
    const index = isCall(user, GETITEM) ? user.args[1] : null;
    if (index !== 0 && index !== 1) return null;
    (index === 0 ? norm.outputs : norm.rstds).push(user);
  }
  return norm;
}

/** The norm that this `rsqrt` is in the middle of. */
function writtenOut(rsqrt) {
  const shifted = rsqrt.args[0];
  if (!isCall(shifted, ADD, aten.add.Scalar) || Object.keys(shifted.kwargs).length > 0 || shifted.args.length !== 2) return null;
  const mean = shifted.args[0];
  const epsilon = number(shifted.args[1]);
  if (epsilon === null || !isCall(mean, aten.mean.dim)) return null;
  const square = mean.args[0];
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

function isF32(type) {
  return type instanceof Tensor && type.dtype === torch.float32;
}

/** What is squared by `pow(x, 2)` or `mul(x, x)`. */
function squared(square) {
  if (!(square instanceof Node) || square.args.length !== 2) return null;
  const [x, other] = square.args;
  if (!(x instanceof Node)) return null;
  const is = isCall(square, aten.pow.Tensor_Scalar) ? number(other) === 2 : isCall(square, MUL) && other === x;
  return is ? x : null;
}

/** `mul(mul(x, rsqrt), gamma)` with either order of operands: both products and gamma. */
function scaledByGamma(rsqrt, x) {
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
function otherFactor(product, factor) {
  if (!isCall(product, MUL)) return null;
  const [a, b] = product.args;
  if (!(a instanceof Node) || !(b instanceof Node) || a === b) return null;
  return a === factor ? b : b === factor ? a : null;
}

/** Whether the mean keeps its dimensions and is over the last ones, as many as `gamma` has, which have `gamma`'s sizes. */
function isOverDimensionsOf(mean, x, gamma) {
  const [, dims, keeps = mean.kwargs.keepdim] = mean.args;
  const outer = x.ndim - gamma.ndim;
  if (keeps !== true || (mean.kwargs.dtype ?? null) !== null || !Array.isArray(dims) || outer < 0 || gamma.ndim === 0) return false;
  if (!dims.every((dim) => typeof dim === "number")) return false;
  const over = dims.map((dim) => (dim < 0 ? dim + x.ndim : dim)).sort((a, b) => a - b);
  return over.length === gamma.ndim && over.every((dim, i) => dim === outer + i) && sameSizes(x.shape.slice(outer), gamma.shape);
}
