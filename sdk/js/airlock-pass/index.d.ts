/**
 * Airlock's SDK for graph passes in JavaScript and TypeScript, in the words of `torch.fx`.
 *
 * Errors: an edit or a read that the host refuses raises {@link EditError}; the graph is as it was before the call. What a pass
 * raises comes back with its stack, and its edits are dropped.
 */

/** One argument that is no list. Integers are numbers (a `bigint` beyond 2^53), floats are {@link Float}s or numbers with a fraction. */
export type Scalar =
  | Node | number | bigint | Float | Complex | boolean | string | null
  | DType | Device | Layout | MemoryFormat | OpOverload | Other;

/** An argument of a call. */
export type Argument = Scalar | readonly Scalar[];

/** An argument of a node; the output's first one is the list of what the graph returns, which may have lists in it. */
export type NodeArgument = Scalar | readonly (Scalar | readonly Scalar[])[];

/** A size or stride. */
export type Dim = number | bigint | SymInt;

/** What a node computes: a tensor, a number that is a symbol, several of these, a body, or nothing. */
export type Value = Tensor | SymInt | SymFloat | SymBool | Other | null | GraphModule | readonly (Tensor | SymInt | SymFloat | SymBool | Other | null)[];

/** What a pass says of itself. Its name is that of its file or folder unless given. */
export interface PassInfo {
  name?: string;
  version?: string;
  /** One line for people. */
  about?: string;
  /** The grants that it asks for: `constants`. */
  needs?: string[];
}

/** A pass. Where it returns a number, that is how many places it edited. */
export type PassFunction = (gm: GraphModule, exampleInputs: null, config: CompilerConfig) => number | void;

/** Makes a function the pass of its file. It is called once, when the module is loaded. */
export function graphPass(info: PassInfo, run: PassFunction): void;
export function graphPass(run: PassFunction): void;

/** What a pass is given as `gm`: the model's graph, or the body of a `cond` and the like. */
export class GraphModule {
  readonly graph: Graph;
  /** The body that a get_attr node of this graph names. */
  body(name: string): GraphModule;
  /** This module and all bodies that are reached from the model's graph. */
  modules(): GraphModule[];
}

/** `graph.nodes`: live, as FX's. Nodes may be inserted and erased while it is walked. */
export interface NodeList extends Iterable<Node> {
  readonly length: number;
  /** The nodes from the last to the first. */
  reversed(): Iterable<Node>;
}

export class Graph {
  readonly id: number;
  readonly owningModule: GraphModule;
  /** The nodes in order. */
  readonly nodes: NodeList;
  /** The nodes of a kind, and of a target where one is given, in order. */
  findNodes(query: { op: Op; target?: OpOverload | string }): Node[];
  /** The output: the last node. */
  outputNode(): Node;
  /** The place right before a node; without one, after the placeholders. */
  insertingBefore(node?: Node): InsertionPoint;
  /** The place right after a node; without one, the end. */
  insertingAfter(node?: Node): InsertionPoint;
  /** Inserts a call at the end of the graph, before its output. */
  callFunction(target: OpOverload | string, args?: readonly Argument[], kwargs?: Record<string, Argument>, name?: string): Node;
  /** Erases a node that has no users. */
  eraseNode(node: Node): void;
  /** Erases calls that nobody uses and that do nothing but compute. Gives whether there were any. */
  eliminateDeadCode(): boolean;
}

/** A place in a graph. Several calls stand in the order in which they were made. */
export class InsertionPoint {
  /** Inserts a call here. Its type is inferred from its arguments. */
  callFunction(target: OpOverload | string, args?: readonly Argument[], kwargs?: Record<string, Argument>, name?: string): Node;
}

export type Op = "placeholder" | "call_function" | "get_attr" | "output";

/** A node. There is one object for each, so that `===` tells nodes apart. */
export class Node {
  readonly graph: Graph;
  readonly id: bigint;
  readonly op: Op;
  /** Unique in its graph. */
  readonly name: string;
  /** The operator of a call; of other nodes a text. Setting it keeps the arguments. */
  get target(): OpOverload | string;
  set target(target: OpOverload | string);
  /** The positional arguments. A list that is read is a copy: edit by setting `args`. */
  get args(): readonly NodeArgument[];
  set args(args: readonly NodeArgument[]);
  get kwargs(): Readonly<Record<string, Argument>>;
  set kwargs(kwargs: Readonly<Record<string, Argument>>);
  /** The nodes that use it, each once, in graph order. */
  readonly users: Node[];
  /** The nodes that it uses, each once. */
  readonly allInputNodes: Node[];
  /** The value's type, and notes, which are texts; a note that is set to a text is kept, one that is deleted is gone. */
  readonly meta: Meta;
  readonly next: Node | null;
  readonly prev: Node | null;
  /** Whether it stands before another node of the same graph. */
  isBefore(other: Node): boolean;
  /** Whether it may not be erased though nobody uses it. */
  isImpure(): boolean;
  /** Makes every user use another node, or those that `only` says; gives them. */
  replaceAllUsesWith(other: Node, only?: (user: Node) => boolean): Node[];
  /** Makes this node use another one in place of one that it uses. */
  replaceInputWith(old: Node, other: Node): void;
  updateArg(index: number, value: Argument): void;
  updateKwarg(key: string, value: Argument): void;
  /** Moves another node right before this one. */
  prepend(node: Node): void;
  /** Moves another node right after this one. */
  append(node: Node): void;
}

export interface Meta {
  /** The type, which the host infers. */
  readonly val: Value;
  [note: string]: unknown;
}

/** The host refused an edit or a read. */
export class EditError extends Error {
  readonly code:
    | "stale" | "unknown-target" | "bad-argument" | "type-mismatch" | "use-before-definition" | "still-used" | "not-allowed" | "over-limit";
  /** The id of the node that it is about. */
  readonly node: bigint | undefined;
  /** The argument that it is about: a position or a keyword. */
  readonly argument: string | undefined;
}

/** An operator. Each is there once, so that `===` tells them apart. */
export class OpOverload {
  readonly namespace: string;
  readonly operator: string;
  readonly overload: string | undefined;
  toString(): string;
}

/** A float among arguments: JavaScript has one kind of number, operators tell `1` from `1.0`. It computes as a number. */
export class Float {
  constructor(value: number);
  readonly value: number;
  valueOf(): number;
}

export class Complex {
  constructor(re: number, im: number);
  readonly re: number;
  readonly im: number;
}

/** What this version does not know, in the host's words. It can be handed back as it is. */
export class Other {
  readonly text: string;
}

declare class Word {
  readonly name: string;
}

export declare class DType extends Word {
  readonly isFloatingPoint: boolean;
  readonly isComplex: boolean;
}

export declare class Device extends Word {
  readonly type: string;
  readonly index: number | null;
}

export declare class Layout extends Word {
  private readonly kind: "layout";
}

export declare class MemoryFormat extends Word {
  private readonly kind: "memory-format";
}

/** The type of a tensor. */
export class Tensor {
  readonly shape: readonly Dim[];
  readonly dtype: DType;
  readonly device: Device;
  /** None where they are not known. */
  readonly strides: readonly Dim[];
  readonly ndim: number;
}

/** A size that is a symbol: `2*s0 + 1`. What is known of two sizes is the host's to say: {@link known}, {@link sameSizes}. */
export class SymInt {
  constructor(expression: string);
  readonly expression: string;
  /** The smallest and the largest value; no largest where it is unbounded. */
  readonly range: [smallest: number | bigint, largest: number | bigint | null];
}

export class SymFloat {
  readonly expression: string;
}

export class SymBool {
  readonly expression: string;
}

/** What the host knows of two sizes: always so (true), never so (false), or neither (null). `divides`: `b` is a multiple of `a`. */
export function known(a: Dim, relation: "equal" | "less" | "divides", b: Dim): boolean | null;

/** Whether two lists of sizes are known to be equal. */
export function sameSizes(a: readonly Dim[], b: readonly Dim[]): boolean;

/** What a call does beside computing its results. Operands are named by parameter. */
export interface Effects {
  readonly parameters: readonly string[];
  /** A function of its operands that leaves no trace. */
  readonly pure: boolean;
  readonly reads: readonly number[];
  readonly writes: readonly number[];
  /** For each result the operands whose memory it may lie in. */
  readonly results: readonly (readonly { parameter: number; how: "same" | "view" | "maybe" }[])[];
  /** May draw random numbers. */
  readonly draws: boolean;
  /** May raise though the types of its arguments fit. */
  readonly mayRaise: boolean;
  readonly side: "none" | "assert" | "print" | "collective" | "control" | "stream" | "record" | "prefetch" | "opaque";
  /** Operands 0 and 1 may be exchanged. */
  readonly commutes: boolean;
}

/** What nodes do with their arguments as they stand: one question for all of them. */
export function effectsOf(nodes: Iterable<Node>): Effects[];
/** Whether a call may write the memory of an operand. */
export function mayWrite(effects: Effects, parameter: number): boolean;
/** Whether some result of a call may lie in the memory of an operand. */
export function mayShare(effects: Effects, parameter: number): boolean;
/** The nodes that a call uses, also in lists, each with its parameter; -1 for a keyword that is none. */
export function inputsByParameter(node: Node, effects: Effects): [parameter: number, input: Node][];

/** TorchAir's `config`: the mode, and options by their dotted names, as the user set them for this pass. */
export class CompilerConfig {
  /** The user's text for this run, often empty. */
  readonly text: string;
  readonly mode: "max-autotune" | "reduce-overhead";
  readonly stage: "pre" | "post";
  /** The value of an option: numbers, booleans and None are read. */
  get<T = undefined>(key: string, otherwise?: T): number | boolean | string | null | T;
  /** The text of an option as the user wrote it. */
  getText(key: string): string | undefined;
  getText(key: string, otherwise: string): string;
}

/** Lines of the run's log. `console.log` is `log.info`, `console.warn` and `console.error` are `log.warn`. */
export const log: {
  debug(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
};

/** What a pass uses of `torch`. */
export const torch: {
  /** `torch.ops.aten.mm.default`. */
  readonly ops: { readonly [namespace: string]: { readonly [operator: string]: { readonly [overload: string]: OpOverload } } };
  /** An operator by its text: `higher_order.cond`, `_operator.getitem`. */
  op(text: string): OpOverload;
  device(name: string): Device;
  readonly strided: Layout;
  readonly contiguous_format: MemoryFormat;
  readonly preserve_format: MemoryFormat;
  readonly channels_last: MemoryFormat;
} & Readonly<Record<
  | "float64" | "double" | "float32" | "float" | "float16" | "half" | "bfloat16" | "int64" | "long" | "int32" | "int" | "int16"
  | "short" | "int8" | "uint8" | "bool" | "complex64" | "complex128" | "float8_e4m3fn" | "float8_e5m2",
  DType
>>;

declare global {
  interface Console {
    debug(...values: unknown[]): void;
    log(...values: unknown[]): void;
    info(...values: unknown[]): void;
    warn(...values: unknown[]): void;
    error(...values: unknown[]): void;
  }
  var console: Console;
}
