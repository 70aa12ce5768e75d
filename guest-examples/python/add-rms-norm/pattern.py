"""Finds residual adds and rms-norms. The Rust pass of this name tells what counts as one."""

import operator
from dataclasses import dataclass

from airlock_pass import Node, Tensor, torch

aten = torch.ops.aten
ADD, MUL = aten.add.Tensor, aten.mul.Tensor
RMS_NORM = torch.ops.npu.npu_rms_norm.default
DEFAULT_EPSILON = 1e-6


@dataclass
class Norm:
    """An rms-norm of `input`."""

    input: Node
    gamma: Node
    epsilon: float
    #: Nodes whose value is the normalised tensor.
    outputs: list[Node]
    #: Nodes whose value is the reciprocal root mean square, where it is used.
    rstds: list[Node]
    #: What else the norm consists of, users before what they use.
    inner: list[Node]


def find_norms(graph):
    """All norms of a graph, in order."""
    norms = [fused_norm(node) for node in graph.find_nodes(op="call_function", target=RMS_NORM)]
    norms += [written_out(node) for node in graph.find_nodes(op="call_function", target=aten.rsqrt.default)]
    return [norm for norm in norms if norm is not None]


def residual_add(add):
    """The sum's operands, if it is a residual add: two tensors of one shape and dtype."""
    if not is_call(add, ADD) or any(name != "alpha" or number(value) != 1.0 for name, value in add.kwargs.items()):
        return None
    if len(add.args) != 2 or not all(isinstance(arg, Node) for arg in add.args):
        return None
    a, b = (arg.meta["val"] for arg in add.args)
    if not isinstance(a, Tensor) or not isinstance(b, Tensor) or a.dtype != b.dtype or a.shape != b.shape:
        return None
    return add.args


def is_call(value, *targets):
    return isinstance(value, Node) and value.op == "call_function" and value.target in targets


def number(value):
    """An argument that is a number, as a float."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def fused_norm(node):
    """`npu_rms_norm`, if nothing but its results is used."""
    args = node.args
    if len(args) < 2 or not all(isinstance(arg, Node) for arg in args[:2]):
        return None
    epsilon = number(args[2] if len(args) > 2 else node.kwargs.get("epsilon", DEFAULT_EPSILON))
    if epsilon is None:
        return None
    norm = Norm(args[0], args[1], epsilon, [], [], [node])
    for user in node.users:
        index = user.args[1] if is_call(user, operator.getitem) else None
        if index not in (0, 1):
            return None
        (norm.outputs if index == 0 else norm.rstds).append(user)
    return norm


def written_out(rsqrt):
    """The norm that this `rsqrt` is in the middle of."""
    shifted = rsqrt.args[0]
    if not is_call(shifted, ADD, aten.add.Scalar) or shifted.kwargs or len(shifted.args) != 2:
        return None
    mean, epsilon = shifted.args[0], number(shifted.args[1])
    if epsilon is None or not is_call(mean, aten.mean.dim):
        return None
    square = mean.args[0]
    x = squared(square)
    scaled = None if x is None else scaled_by_gamma(rsqrt, x)
    if scaled is None:
        return None
    product, result, gamma = scaled
    types = [node.meta["val"] for node in (x, gamma)]
    if not all(isinstance(type, Tensor) and type.dtype == torch.float32 for type in types):
        return None
    inside = [product, shifted, mean, square]
    if not is_over_dimensions_of(mean, *types) or any(len(node.users) != 1 for node in inside):
        return None
    # Where rsqrt is used elsewhere its uses become rstd, and it goes with them.
    elsewhere = len(rsqrt.users) > 1
    inner = [product, *([] if elsewhere else [rsqrt]), shifted, mean, square]
    return Norm(x, gamma, epsilon, [result], [rsqrt] if elsewhere else [], inner)


def squared(square):
    """What is squared by `pow(x, 2)` or `mul(x, x)`."""
    if not isinstance(square, Node) or len(square.args) != 2 or not isinstance(square.args[0], Node):
        return None
    x, other = square.args
    if is_call(square, aten.pow.Tensor_Scalar):
        return x if number(other) == 2.0 else None
    return x if is_call(square, MUL) and other is x else None


def scaled_by_gamma(rsqrt, x):
    """`mul(mul(x, rsqrt), gamma)` with either order of operands: both products and gamma."""
    for product in rsqrt.users:
        if other_factor(product, rsqrt) is not x:
            continue
        users = list(product.users)
        if len(users) != 1:
            continue
        gamma = other_factor(users[0], product)
        if gamma is not None:
            return product, users[0], gamma
    return None


def other_factor(product, factor):
    """The other factor, if `product` is one of `factor` and another node."""
    if not is_call(product, MUL):
        return None
    a, b, *_ = (*product.args, None, None)
    if not isinstance(a, Node) or not isinstance(b, Node) or a is b:
        return None
    return b if a is factor else a if b is factor else None


def is_over_dimensions_of(mean, x, gamma):
    """Whether the mean keeps its dimensions and is over the last ones, as many as `gamma` has, which have `gamma`'s sizes."""
    _, dims, keeps, *_ = (*mean.args, None, None, None)
    if keeps is None:
        keeps = mean.kwargs.get("keepdim")
    outer = x.ndim - gamma.ndim
    if keeps is not True or mean.kwargs.get("dtype") is not None or not isinstance(dims, list) or outer < 0 or gamma.ndim == 0:
        return False
    if not all(isinstance(dim, int) for dim in dims):
        return False
    over = sorted(dim + x.ndim if dim < 0 else dim for dim in dims)
    return over == list(range(outer, x.ndim)) and x.shape[outer:] == gamma.shape
