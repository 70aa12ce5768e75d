//! Any operator of the registry, with random arguments of its schema's types: what no list names.
//!
//! Leaves whether the arguments fit to the call itself: most do not, and are not added.

use airlock::exec::Value;
use airlock::graph::Arg;
use airlock::ops::{Base, Param};

use super::generate::Gen;
use super::program::A;
use super::run;

/// Operators that are not called so: streams, communication, sub-graphs, and what depends on more than its arguments.
fn left_out(target: &str) -> bool {
    let no = [
        "air.",
        "npugraph_ex.",
        "npu",
        "higher_order.",
        "_operator.getitem",
        "builtins",
        "_c10d",
        "inductor",
        "streams",
    ];
    no.iter().any(|n| target.starts_with(n)) || target.contains("print") || target.contains("empty")
}

impl Gen {
    /// Tries operators of the registry until one fits.
    pub fn any_operator(&mut self) -> Option<String> {
        let all: Vec<_> = run::registry().operators().collect();
        for _ in 0..12 {
            let operator = all[self.rng.below(all.len())];
            if left_out(&operator.target) {
                continue;
            }
            for _ in 0..4 {
                if let Some(name) = self.by_schema(&operator.target, &operator.schema.params) {
                    return Some(name);
                }
            }
        }
        None
    }

    fn by_schema(&mut self, target: &str, params: &[Param]) -> Option<String> {
        let (mut args, mut kw) = (Vec::new(), Vec::new());
        let mut by_name = false;
        for param in params {
            // What has a default is mostly left out; whatever follows goes by name then.
            let left = param.default.is_some() && self.rng.percent(65);
            if left {
                by_name = true;
                continue;
            }
            let value = self.of_type(param)?;
            if param.kwarg_only || by_name {
                kw.push((param.name.to_string(), value));
            } else {
                args.push(value);
            }
        }
        let kw: Vec<(&str, A)> = kw.iter().map(|(k, a)| (k.as_str(), a.clone())).collect();
        self.call(target, args, &kw)
    }

    fn of_type(&mut self, param: &Param) -> Option<A> {
        if param.ty.is_optional() && self.rng.percent(40) {
            return Some(A::t("None"));
        }
        if param.ty.is_list() {
            let n = self.rng.between(1, 2);
            return (0..n).map(|_| self.base(&param.ty.base, param)).collect::<Option<Vec<_>>>().map(A::L);
        }
        self.base(&param.ty.base, param)
    }

    fn base(&mut self, base: &Base, param: &Param) -> Option<A> {
        Some(match base {
            Base::Tensor => A::N(self.tensor(&|_| true)?.0),
            Base::Scalar => match self.rng.below(4) {
                0 => A::t(*self.rng.pick(&["0.5", "-2.0", "0.0"])),
                1 => self.some_number(),
                _ => A::I(self.rng.between(0, 3)),
            },
            Base::Int | Base::SymInt => {
                if self.rng.percent(25) {
                    self.some_number()
                } else {
                    A::I(self.rng.between(-1, 3))
                }
            }
            Base::Float => A::t(*self.rng.pick(&["0.0", "0.5", "1.0", "2.0", "1e-05"])),
            Base::Bool | Base::SymBool => A::t(*self.rng.pick(&["True", "False"])),
            Base::Str => match &param.default {
                Some(d) if matches!(d.value, Arg::Str(_)) => A::T(format!("'{}'", d.text.trim_matches(['"', '\'']))),
                _ => A::t(*self.rng.pick(&[
                    "'sum'", "'mean'", "'none'", "'linear'", "'ij->ji'", "'floor'", "'trunc'", "'amax'", "'prod'",
                ])),
            },
            Base::Dtype => {
                A::t(&format!("torch.{}", self.rng.pick(&["float32", "float64", "float16", "int64", "int32", "bool"])))
            }
            Base::Device => A::t("device(type='cpu')"),
            Base::MemoryFormat => A::t(*self.rng.pick(&["torch.contiguous_format", "torch.preserve_format"])),
            _ => return None,
        })
    }

    fn some_number(&mut self) -> A {
        let names: Vec<String> =
            self.env.iter().filter(|(_, v)| matches!(v, Value::Int(_))).map(|(k, _)| k.clone()).collect();
        self.rng.maybe(&names).map_or(A::I(1), |n| A::n(n))
    }
}
