//! Finds residual adds and rms-norms.
//!
//! What is found: `npu_rms_norm`, and pow, mean, add eps, rsqrt, mul, mul in f32. A norm counts only if nothing but its
//! results is used elsewhere, and if it is over exactly the dimensions of `gamma`.

use airlock_pass::{Arg, Dim, Graph, Node, Relation, Result, TensorType, known};

const ADD: &str = "aten.add.Tensor";
const MUL: &str = "aten.mul.Tensor";
const RMS_NORM: &str = "npu.npu_rms_norm.default";
const GETITEM: &str = "_operator.getitem";
const DEFAULT_EPSILON: f64 = 1e-6;

/// An rms-norm of `input`.
pub struct Norm {
    pub input: Node,
    pub gamma: Node,
    pub epsilon: f64,
    /// Nodes whose value is the normalised tensor.
    pub outputs: Vec<Node>,
    /// Nodes whose value is the reciprocal root mean square, where it is used.
    pub rstds: Vec<Node>,
    /// What else the norm consists of, users before what they use.
    pub inner: Vec<Node>,
}

/// A residual add: two tensors of one shape and dtype.
pub struct Add {
    pub x1: Node,
    pub x2: Node,
}

/// All norms of a graph, in order.
pub fn find_norms(graph: Graph) -> Result<Vec<Norm>> {
    let mut norms = Vec::new();
    for node in graph.find_nodes(RMS_NORM) {
        norms.extend(fused_norm(node)?);
    }
    for rsqrt in graph.find_nodes("aten.rsqrt.default") {
        norms.extend(written_out(rsqrt)?);
    }
    Ok(norms)
}

/// The sum's operands, if it is a residual add.
pub fn residual_add(sum: Node) -> Result<Option<Add>> {
    if !sum.is_call(ADD) || !sum.kwargs()?.iter().all(|k| k.name == "alpha" && k.value.as_float() == Some(1.0)) {
        return Ok(None);
    }
    let args = sum.args()?;
    let [x1, x2] = &args[..] else { return Ok(None) };
    let (Some(x1), Some(x2)) = (x1.as_node(), x2.as_node()) else {
        return Ok(None);
    };
    match (x1.tensor_type()?, x2.tensor_type()?) {
        (Some(a), Some(b)) if a.dtype == b.dtype && same_sizes(&a.sizes, &b.sizes) => Ok(Some(Add { x1, x2 })),
        _ => Ok(None),
    }
}

fn fused_norm(norm: Node) -> Result<Option<Norm>> {
    let args = norm.args()?;
    let node_at = |index: usize| args.get(index).and_then(Arg::as_node);
    let (Some(input), Some(gamma)) = (node_at(0), node_at(1)) else {
        return Ok(None);
    };
    let epsilon = match args.get(2) {
        Some(arg) => Some(arg.clone()),
        None => norm.kwarg("epsilon")?,
    };
    let Some(epsilon) = epsilon.map_or(Some(DEFAULT_EPSILON), |arg| arg.as_float()) else {
        return Ok(None);
    };
    let (mut outputs, mut rstds) = (Vec::new(), Vec::new());
    for user in norm.users()? {
        match user.is_call(GETITEM).then(|| user.arg(1)).transpose()?.flatten().and_then(|arg| arg.as_int()) {
            Some(0) => outputs.push(user),
            Some(1) => rstds.push(user),
            _ => return Ok(None),
        }
    }
    Ok(Some(Norm { input, gamma, epsilon, outputs, rstds, inner: vec![norm] }))
}

/// The norm that this `rsqrt` is in the middle of.
fn written_out(rsqrt: Node) -> Result<Option<Norm>> {
    let Some((shifted, mean, epsilon)) = mean_plus_epsilon(rsqrt)? else {
        return Ok(None);
    };
    let Some((square, input)) = square_of(mean.input(0)?)? else {
        return Ok(None);
    };
    let Some((scaled, result, gamma)) = scaled_by_gamma(rsqrt, input)? else {
        return Ok(None);
    };
    let (Some(x), Some(g)) = (input.tensor_type()?, gamma.tensor_type()?) else {
        return Ok(None);
    };
    let in_f32 = x.dtype == "f32" && g.dtype == "f32";
    let inside = [scaled, shifted, mean, square];
    if !in_f32 || !is_over_dimensions_of(mean, &x, &g)? || !all_used_once(&inside)? {
        return Ok(None);
    }
    let used_elsewhere = rsqrt.users()?.len() > 1;
    let mut inner = vec![scaled];
    if !used_elsewhere {
        inner.push(rsqrt);
    }
    // Where rsqrt is used elsewhere its uses become rstd, and it goes with them.
    Ok(Some(Norm {
        input,
        gamma,
        epsilon,
        outputs: vec![result],
        rstds: if used_elsewhere { vec![rsqrt] } else { Vec::new() },
        inner: [inner, vec![shifted, mean, square]].concat(),
    }))
}

/// `rsqrt`'s operand `add(mean, eps)`: the add, the mean, eps.
fn mean_plus_epsilon(rsqrt: Node) -> Result<Option<(Node, Node, f64)>> {
    let shifted = rsqrt.input(0)?;
    if !(shifted.is_call(ADD) || shifted.is_call("aten.add.Scalar")) || !shifted.kwargs()?.is_empty() {
        return Ok(None);
    }
    let args = shifted.args()?;
    let [mean, epsilon] = &args[..] else { return Ok(None) };
    let found = mean.as_node().zip(epsilon.as_float());
    Ok(found.filter(|(mean, _)| mean.is_call("aten.mean.dim")).map(|(mean, epsilon)| (shifted, mean, epsilon)))
}

/// A square, `pow(x, 2)` or `mul(x, x)`: itself and x.
fn square_of(square: Node) -> Result<Option<(Node, Node)>> {
    let args = square.args()?;
    let [base, other] = &args[..] else { return Ok(None) };
    let is_square = match base.as_node() {
        Some(x) if square.is_call("aten.pow.Tensor_Scalar") => (other.as_float() == Some(2.0)).then_some(x),
        Some(x) if square.is_call(MUL) => (other.as_node() == Some(x)).then_some(x),
        _ => None,
    };
    Ok(is_square.map(|x| (square, x)))
}

/// `mul(mul(x, rsqrt), gamma)` with either order of operands: both products and gamma.
fn scaled_by_gamma(rsqrt: Node, x: Node) -> Result<Option<(Node, Node, Node)>> {
    for scaled in rsqrt.users()? {
        if other_factor(scaled, rsqrt)? != Some(x) {
            continue;
        }
        let users = scaled.users()?;
        let [result] = &users[..] else { continue };
        if let Some(gamma) = other_factor(*result, scaled)? {
            return Ok(Some((scaled, *result, gamma)));
        }
    }
    Ok(None)
}

/// The other factor, if `product` is one of `factor` and another node.
fn other_factor(product: Node, factor: Node) -> Result<Option<Node>> {
    if !product.is_call(MUL) {
        return Ok(None);
    }
    let args = product.args()?;
    let factors = (args.first().and_then(Arg::as_node), args.get(1).and_then(Arg::as_node));
    Ok(match factors {
        (Some(a), Some(b)) if a == factor && b != factor => Some(b),
        (Some(a), Some(b)) if b == factor && a != factor => Some(a),
        _ => None,
    })
}

/// Whether the mean keeps its dimensions and is over the last ones, as many as `gamma` has, which have `gamma`'s sizes.
fn is_over_dimensions_of(mean: Node, x: &TensorType, gamma: &TensorType) -> Result<bool> {
    let args = mean.args()?;
    let keeps = match args.get(2) {
        Some(arg) => arg.as_bool() == Some(true),
        None => mean.kwarg("keepdim")?.and_then(|arg| arg.as_bool()) == Some(true),
    };
    let Some(dims) = args.get(1).and_then(Arg::as_ints) else {
        return Ok(false);
    };
    let converts = mean.kwarg("dtype")?.is_some_and(|arg| arg != Arg::NONE);
    let rank = x.sizes.len();
    let Some(outer) = rank.checked_sub(gamma.sizes.len()) else {
        return Ok(false);
    };
    let mut dims: Vec<i64> = dims.iter().map(|dim| if *dim < 0 { dim + rank as i64 } else { *dim }).collect();
    dims.sort_unstable();
    let expected = outer as i64..rank as i64;
    let over_tail = outer < rank && expected.eq(dims);
    Ok(keeps && !converts && over_tail && same_sizes(&x.sizes[outer..], &gamma.sizes))
}

fn all_used_once(nodes: &[Node]) -> Result<bool> {
    for node in nodes {
        if node.users()?.len() != 1 {
            return Ok(false);
        }
    }
    Ok(true)
}

fn same_sizes(a: &[Dim], b: &[Dim]) -> bool {
    let same = |(a, b): (&Dim, &Dim)| a == b || known(a, Relation::Equal, b) == Some(true);
    a.len() == b.len() && a.iter().zip(b).all(same)
}
