// Operators as values: `torch.ops.NAMESPACE.OPERATOR.OVERLOAD`, each there once, so that `===` tells them apart.

const known = new Map();

export class OpOverload {
  constructor(text) {
    this.text = text;
    [this.namespace, this.operator, this.overload] = text.split(".");
  }

  toString() {
    return this.text;
  }
}

/** The operator for a target of the contract. */
export function targetOf(text) {
  let found = known.get(text);
  if (found === undefined) known.set(text, (found = new OpOverload(text)));
  return found;
}

/** The target of the contract for an operator. */
export function textOf(target) {
  if (typeof target === "string") return target;
  if (target instanceof OpOverload) return target.text;
  throw new TypeError(`${String(target)} is no operator: a target is torch.ops.NAMESPACE.OPERATOR.OVERLOAD or its text`);
}

/** An object whose properties are made when they are asked for, once. */
function lazy(make) {
  return new Proxy(Object.create(null), {
    get(made, name) {
      if (typeof name === "symbol") return undefined;
      return (made[name] ??= make(name));
    },
  });
}

/** `torch.ops`; operators without overloads are `torch.op("higher_order.cond")`. */
export const ops = lazy((namespace) => lazy((name) => lazy((overload) => targetOf(`${namespace}.${name}.${overload}`))));
