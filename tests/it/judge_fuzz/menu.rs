//! The calls that programs are made of: views, copies, pointwise in its three forms, writes through views, indexing, reductions, draws,
//! assertions, sizes and created tensors.
//!
//! Each makes arguments that mostly fit; what does not fit is not added. Leaves everything that has no entry here to `schema`.

use airlock::exec::{Tensor, Value};
use airlock::graph::Dtype;

use super::generate::Gen;
use super::program::A;

const UNARY: &[&str] = &[
    "neg",
    "abs",
    "relu",
    "sign",
    "sin",
    "exp",
    "ceil",
    "floor",
    "sqrt",
    "reciprocal",
    "square",
    "sigmoid",
    "tanh",
    "round",
    "logical_not",
    "bitwise_not",
    "isnan",
    "positive",
];
const BINARY: &[&str] = &[
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "eq",
    "lt",
    "ge",
    "ne",
    "logical_and",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "fmod",
    "remainder",
    "pow",
    "atan2",
    "copysign",
    "floor_divide",
];
const NO_OVERLOAD: &[&str] = &["maximum", "minimum", "logical_and", "atan2", "floor_divide"];
const IN_PLACE_UNARY: &[&str] =
    &["neg_", "abs_", "relu_", "sin_", "floor_", "zero_", "square_", "sigmoid_", "reciprocal_"];
const IN_PLACE_BINARY: &[&str] = &["add_", "sub_", "mul_", "div_"];

fn binary(op: &str) -> String {
    match op {
        "pow" => "aten.pow.Tensor_Tensor".into(),
        _ if NO_OVERLOAD.contains(&op) => format!("aten.{op}.default"),
        "atan2_" => "aten.atan2_.default".into(),
        _ => format!("aten.{op}.Tensor"),
    }
}

fn dims(t: &Tensor) -> Vec<i64> {
    t.sizes().iter().map(|n| *n as i64).collect()
}

fn ints(all: impl IntoIterator<Item = i64>) -> A {
    A::L(all.into_iter().map(A::I).collect())
}

impl Gen {
    /// Tries an entry of that part.
    pub fn menu(&mut self, part: usize) -> Option<String> {
        match part {
            0 => self.view(),
            1 => self.copy(),
            2 => self.pointwise(),
            3 => self.write(),
            4 => self.index(),
            5 => self.reduction(),
            6 => self.draw(),
            7 => self.assertion(),
            8 => self.number_of(),
            _ => self.create(),
        }
    }

    fn one(&mut self, op: &str, x: String, rest: Vec<A>) -> Option<String> {
        let args = [A::N(x)].into_iter().chain(rest).collect();
        self.call(&format!("aten.{op}"), args, &[])
    }

    /// A dimension of a tensor, sometimes counted from the end.
    fn dim(&mut self, rank: usize) -> Option<i64> {
        if rank == 0 {
            return None;
        }
        let d = self.rng.below(rank) as i64;
        Some(if self.rng.percent(25) { d - rank as i64 } else { d })
    }

    /// Sizes of the same number of elements.
    fn same_count(&mut self, t: &Tensor) -> Vec<i64> {
        let sizes = dims(t);
        let total: i64 = sizes.iter().product();
        match self.rng.below(5) {
            0 => vec![total],
            1 if !sizes.is_empty() => {
                let k = self.rng.below(sizes.len());
                let mut out = sizes.clone();
                out.insert(k, 1);
                out
            }
            2 if sizes.len() > 1 => {
                let k = self.rng.below(sizes.len() - 1);
                let mut out = sizes.clone();
                let n = out.remove(k + 1);
                out[k] *= n;
                out
            }
            3 => {
                let fits: Vec<i64> = (2..=6).filter(|f| total > 0 && total % f == 0).collect();
                match self.rng.maybe(&fits) {
                    Some(f) => vec![total / f, *f],
                    None => sizes,
                }
            }
            _ => {
                let fits: Vec<usize> = (0..sizes.len()).filter(|k| sizes[*k] == 1).collect();
                let mut out = sizes.clone();
                if let Some(k) = self.rng.maybe(&fits) {
                    out.remove(*k);
                }
                out
            }
        }
    }

    fn view(&mut self) -> Option<String> {
        let (x, t) = self.tensor(&|_| true)?;
        let (r, sizes) = (t.rank(), dims(&t));
        match self.rng.below(29) {
            0..=5 => {
                let all = self.same_count(&t);
                let mut wanted: Vec<A> = all.into_iter().map(|n| self.number(n)).collect();
                if self.rng.percent(35) && !wanted.is_empty() {
                    let k = self.rng.below(wanted.len());
                    wanted[k] = A::I(-1);
                }
                let op = *self.rng.pick(&[
                    "view.default",
                    "reshape.default",
                    "reshape.default",
                    "_unsafe_view.default",
                    "view_copy.default",
                ]);
                self.one(op, x, vec![A::L(wanted)])
            }
            6 | 7 => {
                let mut order: Vec<i64> = (0..r as i64).collect();
                self.rng.shuffle(&mut order);
                self.one("permute.default", x, vec![ints(order)])
            }
            8 | 9 => {
                let (a, b) = (self.dim(r)?, self.dim(r)?);
                let op = *self.rng.pick(&["transpose.int", "transpose.int", "swapaxes.default", "movedim.int"]);
                self.one(op, x, vec![A::I(a), A::I(b)])
            }
            10 => {
                let op = *self.rng.pick(&["t.default", "numpy_T.default", "mT.default"]);
                self.one(op, x, vec![])
            }
            11 | 12 => {
                let wanted: Vec<i64> =
                    sizes.iter().map(|n| if *n == 1 { *self.rng.pick(&[1, 2, 3, -1]) } else { *n }).collect();
                let lead = if self.rng.percent(40) { vec![2] } else { vec![] };
                let all: Vec<i64> = lead.into_iter().chain(wanted).collect();
                let all = self.sizes(&all);
                self.one("expand.default", x, vec![all])
            }
            13..=16 => {
                let d = self.dim(r)?;
                let n = sizes[d.rem_euclid(r as i64) as usize];
                let start = self.rng.between(-1, n);
                let end = *self.rng.pick(&[n, n - 1, n + 1, i64::MAX, -1, start + 1, start + 2]);
                let (a, b) = (if self.rng.percent(30) { A::t("None") } else { self.number(start) }, self.number(end));
                let mut args = vec![A::I(d), a, b];
                if self.rng.percent(30) {
                    args.push(A::I(self.rng.between(1, 3)));
                }
                self.one("slice.Tensor", x, args)
            }
            17 => {
                let d = self.dim(r)?;
                let n = sizes[d.rem_euclid(r as i64) as usize];
                let at = self.rng.between(-1, (n - 1).max(0));
                self.one("select.int", x, vec![A::I(d), A::I(at)])
            }
            18 => {
                let d = self.dim(r)?;
                let n = sizes[d.rem_euclid(r as i64) as usize];
                let start = self.rng.between(0, n);
                let len = self.rng.between(0, n - start);
                let (start, len) = (self.number(start), self.number(len));
                self.one("narrow.default", x, vec![A::I(d), start, len])
            }
            19 | 20 => {
                let d = self.dim(r)?;
                let n = sizes[d.rem_euclid(r as i64) as usize];
                let cut = self.rng.between(0, n);
                let k = self.rng.between(1, 3);
                match self.rng.below(6) {
                    0 => self.one("split.Tensor", x, vec![A::I(k), A::I(d)]),
                    1 => self.one("chunk.default", x, vec![A::I(k), A::I(d)]),
                    2 => self.one("tensor_split.sections", x, vec![A::I(k), A::I(d)]),
                    3 => {
                        let at: Vec<i64> = (0..self.rng.between(1, 3)).map(|_| self.rng.between(-1, n + 1)).collect();
                        self.one("tensor_split.indices", x, vec![ints(at), A::I(d)])
                    }
                    4 => {
                        let all = self.sizes(&[cut, n - cut]);
                        self.one("split_with_sizes.default", x, vec![all, A::I(d)])
                    }
                    _ => self.one("unbind.int", x, vec![A::I(d)]),
                }
            }
            21 => match self.rng.below(3) {
                0 => self.one("squeeze.default", x, vec![]),
                1 => {
                    let d = self.dim(r)?;
                    self.one("squeeze.dim", x, vec![A::I(d)])
                }
                _ => {
                    let d = self.dim(r)?;
                    self.one("squeeze.dims", x, vec![ints([d])])
                }
            },
            22 => {
                let d = self.rng.between(-(r as i64) - 1, r as i64);
                self.one("unsqueeze.default", x, vec![A::I(d)])
            }
            23 => {
                let (a, b) = (self.rng.below(r.max(1)) as i64, self.rng.below(r.max(1)) as i64);
                self.one("flatten.using_ints", x, vec![A::I(a.min(b)), A::I(a.max(b))])
            }
            24 => {
                let k = self.rng.between(-1, 1);
                let rest = if self.rng.percent(50) { vec![] } else { vec![A::I(k)] };
                self.one("diagonal.default", x, rest)
            }
            25 => {
                let d = self.dim(r)?;
                let (size, step) = (self.rng.between(1, 3), self.rng.between(1, 3));
                self.one("unfold.default", x, vec![A::I(d), A::I(size), A::I(step)])
            }
            26 => {
                let (n, m) = (self.rng.between(1, 3), self.rng.between(1, 3));
                let (p, q) = (self.rng.between(0, 3), self.rng.between(1, 2));
                let mut args = vec![ints([n, m]), ints([p, q])];
                if self.rng.percent(40) {
                    args.push(A::I(self.rng.between(0, 2)));
                }
                self.one("as_strided.default", x, args)
            }
            27 => {
                let dtype = *self.rng.pick(&["int32", "float32", "int64", "float16", "uint8", "float64"]);
                self.one("view.dtype", x, vec![A::t(&format!("torch.{dtype}"))])
            }
            _ => {
                let op = *self.rng.pick(&[
                    "alias.default",
                    "detach.default",
                    "lift.default",
                    "view_as_real.default",
                    "real.default",
                    "conj.default",
                ]);
                self.one(op, x, vec![])
            }
        }
    }

    fn dtype(&mut self) -> A {
        A::t(&format!(
            "torch.{}",
            self.rng.pick(&["float32", "float32", "float64", "float16", "bfloat16", "int64", "int32", "bool", "uint8"])
        ))
    }

    fn copy(&mut self) -> Option<String> {
        let (x, t) = self.tensor(&|_| true)?;
        let format = |g: &mut Gen| A::t(*g.rng.pick(&["torch.contiguous_format", "torch.preserve_format"]));
        let own = A::t(&format!("torch.{}", t.dtype().long()));
        let dtype = if self.rng.percent(50) { own } else { self.dtype() };
        match self.rng.below(10) {
            0 => self.one("clone.default", x, vec![]),
            1 => {
                let f = format(self);
                self.call("aten.clone.default", vec![A::N(x)], &[("memory_format", f)])
            }
            2 | 3 => self.one("contiguous.default", x, vec![]),
            4 => self.one("to.dtype", x, vec![dtype]),
            5 => self.call("aten._to_copy.default", vec![A::N(x)], &[("dtype", dtype)]),
            6 => {
                let (y, _) = self.tensor(&|_| true)?;
                self.one("type_as.default", x, vec![A::N(y)])
            }
            7 => self.call("prims.convert_element_type.default", vec![A::N(x), dtype], &[]),
            8 => self.call("prims.device_put.default", vec![A::N(x), A::t("device(type='cpu')")], &[]),
            _ => {
                let (y, _) = self.tensor(&|_| true)?;
                let op = *self.rng.pick(&["to.other", "expand_as.default", "view_as.default", "reshape_as.default"]);
                self.one(op, x, vec![A::N(y)])
            }
        }
    }

    fn constant(&mut self) -> A {
        match self.rng.below(8) {
            0 => A::I(0),
            1 => A::I(1),
            2 => A::I(2),
            3 => A::t("0.5"),
            4 => A::t("2.0"),
            5 => A::t("0.0"),
            6 => A::t("1.0"),
            _ => A::t("-1.25"),
        }
    }

    fn pointwise(&mut self) -> Option<String> {
        let (x, t) = self.tensor(&|_| true)?;
        match self.rng.below(20) {
            0..=4 => {
                let op = *self.rng.pick(UNARY);
                self.one(&format!("{op}.default"), x, vec![])
            }
            5..=11 => {
                let (y, _) = self.partner(&t)?;
                let op = *self.rng.pick(BINARY);
                let args = if self.rng.percent(50) { vec![A::N(x), A::N(y)] } else { vec![A::N(y), A::N(x)] };
                if matches!(op, "add" | "sub") && self.rng.percent(15) {
                    let alpha = self.constant();
                    return self.call(&binary(op), args, &[("alpha", alpha)]);
                }
                self.call(&binary(op), args, &[])
            }
            12..=14 => {
                let op = *self.rng.pick(&[
                    "add.Tensor",
                    "mul.Tensor",
                    "sub.Tensor",
                    "div.Tensor",
                    "add.Scalar",
                    "mul.Scalar",
                    "eq.Scalar",
                    "lt.Scalar",
                    "pow.Tensor_Scalar",
                    "ge.Scalar",
                ]);
                let c = self.constant();
                self.one(op, x, vec![c])
            }
            15 => {
                let (c, _) = self.tensor(&|t| t.dtype() == Dtype::Bool)?;
                let (y, _) = self.partner(&t)?;
                self.call("aten.where.self", vec![A::N(c), A::N(x), A::N(y)], &[])
            }
            16 => {
                let (low, high) = (self.constant(), self.constant());
                self.one("clamp.default", x, vec![low, high])
            }
            17 => {
                let (y, _) = self.partner(&t)?;
                let (z, _) = self.partner(&t)?;
                let op = *self.rng.pick(&["addcmul.default", "lerp.Tensor", "addcdiv.default"]);
                self.one(op, x, vec![A::N(y), A::N(z)])
            }
            _ => {
                // The `out` form: writes a tensor of the program.
                let (y, u) = self.partner(&t)?;
                let wanted = t.numel().max(u.numel());
                let (out, _) = self.tensor(&|o| o.numel() == wanted)?;
                let op = *self.rng.pick(&["add", "mul", "sub"]);
                self.call(&format!("aten.{op}.out"), vec![A::N(x), A::N(y)], &[("out", A::N(out))])
            }
        }
    }

    /// A tensor that broadcasts with another, mostly.
    fn partner(&mut self, t: &Tensor) -> Option<(String, Tensor)> {
        let sizes = t.sizes().to_vec();
        match self.rng.below(10) {
            0 | 1 => self.tensor(&|u| u.rank() == 0).or_else(|| self.tensor(&|u| u.numel() == 1)),
            2..=7 => self.tensor(&|u| u.sizes() == sizes),
            _ => self
                .tensor(&|u| u.sizes().iter().rev().zip(sizes.iter().rev()).all(|(a, b)| a == b || *a == 1 || *b == 1)),
        }
    }

    fn write(&mut self) -> Option<String> {
        let (x, t) = self.tensor(&|_| true)?;
        match self.rng.below(22) {
            0..=3 => {
                let op = *self.rng.pick(IN_PLACE_UNARY);
                self.one(&format!("{op}.default"), x, vec![])
            }
            4..=7 => {
                let op = *self.rng.pick(IN_PLACE_BINARY);
                let c = self.constant();
                self.one(&format!("{op}.Tensor"), x, vec![c])
            }
            8..=11 => {
                let (y, _) = self.partner(&t)?;
                let op = *self.rng.pick(IN_PLACE_BINARY);
                self.one(&format!("{op}.Tensor"), x, vec![A::N(y)])
            }
            12..=16 => {
                let (y, _) = self.partner(&t)?;
                self.one("copy_.default", x, vec![A::N(y)])
            }
            17 => {
                let c = self.constant();
                self.one("fill_.Scalar", x, vec![c])
            }
            18 => {
                let (m, _) = self.tensor(&|m| m.dtype() == Dtype::Bool)?;
                let c = self.constant();
                self.one("masked_fill_.Scalar", x, vec![A::N(m), c])
            }
            19 => {
                let (y, _) = self.tensor(&|_| true)?;
                let (i, _) = self.tensor(&|i| i.dtype() == Dtype::I64)?;
                let mut args = vec![A::L(vec![A::N(i)]), A::N(y)];
                if self.rng.percent(40) {
                    args.push(A::t("True"));
                }
                self.one("index_put_.default", x, args)
            }
            20 => {
                let (y, _) = self.tensor(&|_| true)?;
                let (i, _) = self.tensor(&|i| i.dtype() == Dtype::I64)?;
                let d = self.dim(t.rank())?;
                let op = *self.rng.pick(&[
                    "scatter_.src",
                    "scatter_add_.default",
                    "index_copy_.default",
                    "index_add_.default",
                ]);
                self.one(op, x, vec![A::I(d), A::N(i), A::N(y)])
            }
            _ => {
                let op =
                    *self.rng.pick(&["transpose_.default", "unsqueeze_.default", "squeeze_.default", "t_.default"]);
                let rest = match op {
                    "transpose_.default" => vec![A::I(0), A::I(1)],
                    "unsqueeze_.default" => vec![A::I(0)],
                    _ => vec![],
                };
                if self.rng.percent(30) { self.one(op, x, rest) } else { None }
            }
        }
    }

    fn index(&mut self) -> Option<String> {
        let (x, t) = self.tensor(&|t| t.rank() > 0)?;
        let index = |t: &Tensor| t.dtype() == Dtype::I64;
        match self.rng.below(13) {
            0 => {
                let (i, _) = self.tensor(&index)?;
                self.one("index.Tensor", x, vec![A::L(vec![A::N(i)])])
            }
            1 => {
                let sizes = t.sizes().to_vec();
                let (m, _) =
                    self.tensor(&|m| m.dtype() == Dtype::Bool && m.rank() > 0 && sizes.starts_with(m.sizes()))?;
                self.one("index.Tensor", x, vec![A::L(vec![A::N(m)])])
            }
            2 => {
                let (i, _) = self.tensor(&index)?;
                let d = self.dim(t.rank())?;
                self.one("gather.default", x, vec![A::I(d), A::N(i)])
            }
            3 | 4 => {
                let (i, _) = self.tensor(&|i| index(i) && i.rank() <= 1)?;
                let d = self.dim(t.rank())?;
                self.one("index_select.default", x, vec![A::I(d), A::N(i)])
            }
            5 => {
                let (y, _) = self.tensor(&|_| true)?;
                let (i, _) = self.tensor(&index)?;
                let d = self.dim(t.rank())?;
                let op =
                    *self.rng.pick(&["scatter.src", "scatter_add.default", "index_copy.default", "index_add.default"]);
                self.one(op, x, vec![A::I(d), A::N(i), A::N(y)])
            }
            6 => {
                let (y, _) = self.tensor(&|_| true)?;
                let (i, _) = self.tensor(&index)?;
                self.one("index_put.default", x, vec![A::L(vec![A::N(i)]), A::N(y)])
            }
            7 => {
                let (m, _) = self.tensor(&|m| m.dtype() == Dtype::Bool)?;
                let c = self.constant();
                self.one("masked_fill.Scalar", x, vec![A::N(m), c])
            }
            8 => {
                let (m, _) = self.tensor(&|m| m.dtype() == Dtype::Bool)?;
                self.one("masked_select.default", x, vec![A::N(m)])
            }
            9 => {
                let (y, _) = self.tensor(&|_| true)?;
                let d = self.dim(t.rank())?;
                let n = t.sizes()[d.rem_euclid(t.rank() as i64) as usize] as i64;
                let start = self.rng.between(0, n);
                let start = self.number(start);
                self.one("slice_scatter.default", x, vec![A::N(y), A::I(d), start])
            }
            10 => {
                let (y, _) = self.tensor(&|_| true)?;
                let d = self.dim(t.rank())?;
                self.one("select_scatter.default", x, vec![A::N(y), A::I(d), A::I(0)])
            }
            11 => {
                let rank = t.rank();
                let (y, _) = self.tensor(&|u| u.rank() == rank)?;
                let d = self.dim(rank)?;
                self.call("aten.cat.default", vec![A::L(vec![A::N(x), A::N(y)]), A::I(d)], &[])
            }
            _ => self.one("flip.default", x, vec![ints([0])]),
        }
    }

    fn reduction(&mut self) -> Option<String> {
        let (x, t) = self.tensor(&|_| true)?;
        match self.rng.below(12) {
            0 | 1 => {
                let op = *self.rng.pick(&[
                    "sum.default",
                    "mean.default",
                    "amax.default",
                    "any.default",
                    "all.default",
                    "argmax.default",
                ]);
                self.one(op, x, vec![])
            }
            2 | 3 => {
                let d = self.dim(t.rank())?;
                let op = *self.rng.pick(&["sum.dim_IntList", "mean.dim", "amax.default", "any.dims"]);
                let keep = A::t(*self.rng.pick(&["True", "False", "False"]));
                self.one(op, x, vec![ints([d]), keep])
            }
            4 => {
                let d = self.dim(t.rank())?;
                let op = *self.rng.pick(&[
                    "argmax.default",
                    "cumsum.default",
                    "sort.default",
                    "softmax.int",
                    "any.dim",
                    "max.dim",
                    "logsumexp.default",
                ]);
                self.one(op, x, vec![A::I(d)])
            }
            5 => {
                let d = self.dim(t.rank())?;
                self.one("_softmax.default", x, vec![A::I(d), A::t("False")])
            }
            6..=8 => {
                let (dtype, n) = (t.dtype(), *t.sizes().last()?);
                let (y, u) =
                    self.tensor(&|u| u.dtype() == dtype && u.rank() > 0 && u.sizes()[u.rank().saturating_sub(2)] == n)?;
                let op = match (t.rank(), u.rank()) {
                    (2, 2) if self.rng.percent(50) => "mm.default",
                    (3, 3) if self.rng.percent(50) => "bmm.default",
                    _ => "matmul.default",
                };
                self.one(op, x, vec![A::N(y)])
            }
            9 => {
                let d = self.dim(t.rank())?;
                self.one("topk.default", x, vec![A::I(1), A::I(d)])
            }
            10 => {
                let n = *t.sizes().last()? as i64;
                let n = self.sizes(&[n]);
                self.one("layer_norm.default", x, vec![n])
            }
            _ => {
                let text = match t.rank() {
                    1 => *self.rng.pick(&["'i->i'", "'i->'"]),
                    2 => *self.rng.pick(&["'ij->ji'", "'ii->i'", "'ij->i'", "'ij->ij'"]),
                    _ => return None,
                };
                self.call("aten.einsum.default", vec![A::t(text), A::L(vec![A::N(x)])], &[])
            }
        }
    }

    fn draw(&mut self) -> Option<String> {
        let (x, t) = self.tensor(&|t| t.dtype().is_float())?;
        let p = A::t(*self.rng.pick(&["0.0", "0.5", "0.5", "1.0"]));
        let train = A::t(*self.rng.pick(&["True", "False"]));
        match self.rng.below(12) {
            0 | 1 => {
                let op = *self.rng.pick(&["rand_like.default", "randn_like.default"]);
                self.one(op, x, vec![])
            }
            2 => self.one("bernoulli_.float", x, vec![p]),
            3 => self.one("uniform_.default", x, vec![]),
            4 => self.one("normal_.default", x, vec![]),
            5 | 6 => {
                let op = *self.rng.pick(&["dropout.default", "alpha_dropout.default", "feature_dropout.default"]);
                self.one(op, x, vec![p, train])
            }
            7 => self.one("native_dropout.default", x, vec![p, train]),
            8 => self.one("bernoulli.p", x, vec![p]),
            9 => self.one("dropout_.default", x, vec![p, train]),
            10 => {
                let n = self.sizes(&dims(&t));
                self.call("aten.rand.default", vec![n], &[])
            }
            _ => {
                let n = self.sizes(&dims(&t));
                self.call("aten.randint.default", vec![A::I(3), n], &[])
            }
        }
    }

    fn assertion(&mut self) -> Option<String> {
        let message = A::t("'holds'");
        match self.rng.below(8) {
            0..=3 => {
                let c = self.truth()?;
                let (y, t) = self.tensor(&|_| true)?;
                match self.rng.below(3) {
                    0 => self.call("aten._assert_async.msg", vec![A::N(c), message], &[]),
                    1 => self.call("aten._functional_assert_async.msg", vec![A::N(c), message, A::N(y)], &[]),
                    _ => {
                        let sizes = self.sizes(&dims(&t));
                        self.call("aten._assert_tensor_metadata.default", vec![A::N(y), sizes], &[])
                    }
                }
            }
            _ => {
                let names: Vec<String> = self
                    .env
                    .iter()
                    .filter(|(_, v)| matches!(v, Value::Int(_) | Value::Bool(_)))
                    .map(|(k, _)| k.clone())
                    .collect();
                let n = self.rng.maybe(&names)?.clone();
                match self.rng.below(4) {
                    0 => self.call("aten._assert_scalar.default", vec![A::N(n), message], &[]),
                    1 => {
                        let (token, _) = self.tensor(&|_| true)?;
                        self.call("aten._functional_assert_scalar.default", vec![A::N(n), message, A::N(token)], &[])
                    }
                    2 => self.call("aten.sym_constrain_range_for_size.default", vec![A::N(n)], &[]),
                    _ => {
                        let (low, high) = (A::I(self.rng.between(0, 2)), A::I(self.rng.between(5, 99)));
                        self.call("aten.sym_constrain_range.default", vec![A::N(n)], &[("min", low), ("max", high)])
                    }
                }
            }
        }
    }

    fn number_of(&mut self) -> Option<String> {
        let (x, t) = self.tensor(&|_| true)?;
        match self.rng.below(12) {
            0..=4 => {
                let d = self.dim(t.rank())?;
                self.one("sym_size.int", x, vec![A::I(d)])
            }
            5 => {
                let d = self.dim(t.rank())?;
                self.one("sym_stride.int", x, vec![A::I(d)])
            }
            6 => {
                let op = *self.rng.pick(&["sym_numel.default", "sym_storage_offset.default"]);
                self.one(op, x, vec![])
            }
            7 => {
                let (i, _) = self.tensor(&|t| t.numel() == 1 && matches!(t.dtype(), Dtype::I64 | Dtype::I32))?;
                let name = self.one("item.default", i, vec![])?;
                if self.rng.percent(60) {
                    let note = format!("Sym(u{})", self.rng.between(2, 3));
                    self.p.nodes.iter_mut().filter(|n| n.name == name).for_each(|n| n.note = Some(note.clone()));
                }
                Some(name)
            }
            8 => self.one("nonzero.default", x, vec![]),
            _ => {
                let names: Vec<String> =
                    self.env.iter().filter(|(_, v)| matches!(v, Value::Int(_))).map(|(k, _)| k.clone()).collect();
                let a = A::N(self.rng.maybe(&names)?.clone());
                let b = if self.rng.percent(40) {
                    A::N(self.rng.pick(&names).clone())
                } else {
                    A::I(self.rng.between(-1, 3))
                };
                let op = *self.rng.pick(&[
                    "_operator.add",
                    "_operator.sub",
                    "_operator.mul",
                    "_operator.mul",
                    "_operator.floordiv",
                    "_operator.mod",
                    "_operator.eq",
                    "_operator.ge",
                    "torch.sym_max",
                    "torch.sym_min",
                ]);
                let args = if self.rng.percent(70) { vec![a, b] } else { vec![b, a] };
                self.call(op, args, &[])
            }
        }
    }

    fn create(&mut self) -> Option<String> {
        let (x, t) = self.tensor(&|_| true)?;
        let sizes = dims(&t);
        let dtype = self.dtype();
        match self.rng.below(9) {
            0 | 1 => {
                let (sizes, c) = (self.sizes(&sizes), self.constant());
                self.call("aten.full.default", vec![sizes, c], &[("dtype", dtype)])
            }
            2 => {
                let op = *self.rng.pick(&["zeros", "ones"]);
                let sizes = self.sizes(&sizes);
                self.call(&format!("aten.{op}.default"), vec![sizes], &[("dtype", dtype)])
            }
            3 => {
                let n = self.number(*sizes.first()?);
                self.call("aten.arange.default", vec![n], &[])
            }
            4 => {
                let n = self.number(*sizes.first()?);
                let (start, step) = (self.rng.between(0, 1), self.rng.between(1, 2));
                self.call("aten.arange.start_step", vec![A::I(start), n, A::I(step)], &[])
            }
            5 => {
                let op = *self.rng.pick(&["zeros_like", "ones_like"]);
                self.one(&format!("{op}.default"), x, vec![])
            }
            6 => {
                let c = self.constant();
                self.one("full_like.default", x, vec![c])
            }
            7 => {
                let c = self.constant();
                self.call("aten.scalar_tensor.default", vec![c], &[("dtype", dtype)])
            }
            _ => {
                let sizes = self.sizes(&sizes);
                self.one("new_zeros.default", x, vec![sizes])
            }
        }
    }
}
