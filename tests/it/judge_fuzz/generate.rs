//! Random programs: node by node, each tried on real tensors, so that what is generated runs (for the sizes at hand).
//!
//! Half of the programs have inputs with stated strides; inputs of one shape may be the same memory; sizes are symbols of various ranges.
//! Leaves which calls there are to `menu` (by hand) and `schema` (any operator of the registry).

use std::collections::BTreeMap;

use airlock::exec::{self, Meter, Session, Tensor, Value};
use airlock::formats::text;
use airlock::graph::{Arg, BodyId, Dtype, MemoryFormat, Model, View};

use super::program::{A, Body, Input, Kind, Layout, Node, Out, Program, Size};
use super::random::Rng;
use super::run::{self, Binding, Demon};

/// A program under way, with the value of each node for one binding of its symbols.
pub struct Gen {
    pub rng: Rng,
    pub p: Program,
    pub env: BTreeMap<String, Value>,
    pub hint: Binding,
    session: Session<'static>,
    /// Nodes go here instead of to the program's end.
    pub at: Option<usize>,
    /// Operators that are left out.
    pub skip: Vec<String>,
    /// Operators that nobody described may occur.
    pub opaque: bool,
    /// How often each part of the menu is asked.
    pub theme: &'static Theme,
    count: usize,
}

/// The most elements that a value may have.
const MOST: usize = 3000;

/// Weights: views, copies, pointwise, writes, indexing, reductions, draws, assertions, sizes, created tensors; then bodies, any operator of
/// the registry, and calls made again.
pub type Theme = [usize; 13];

/// What programs are about: a narrow program has more chances that its calls meet.
const THEMES: &[Theme] = &[
    [28, 7, 18, 16, 7, 5, 5, 6, 7, 4, 6, 20, 9],
    [28, 7, 18, 16, 7, 5, 5, 3, 7, 4, 6, 20, 9],
    [45, 8, 5, 35, 0, 0, 0, 0, 3, 0, 2, 2, 6],
    [40, 25, 4, 6, 0, 2, 14, 0, 8, 0, 3, 3, 6],
    [4, 12, 70, 12, 0, 3, 0, 0, 0, 10, 0, 6, 10],
    [12, 4, 6, 15, 45, 2, 0, 5, 10, 8, 0, 6, 6],
    [30, 2, 6, 4, 4, 0, 2, 10, 40, 20, 0, 4, 6],
    [22, 6, 6, 25, 0, 0, 3, 0, 3, 0, 40, 0, 2],
    [10, 6, 6, 20, 0, 0, 45, 0, 3, 0, 5, 0, 8],
    [15, 5, 5, 10, 0, 0, 0, 0, 5, 0, 0, 70, 8],
    [30, 15, 15, 10, 0, 30, 0, 0, 4, 0, 0, 8, 8],
    [15, 5, 15, 15, 8, 4, 4, 30, 15, 3, 6, 4, 8],
    [40, 15, 10, 4, 0, 2, 30, 0, 8, 12, 2, 6, 6],
];

const DTYPES: &[&str] = &[
    "f32", "f32", "f32", "f32", "f32", "f32", "f16", "f16", "bf16", "f64", "f64", "i64", "i64", "i32", "u8", "b8",
    "b8", "i8", "c64",
];

impl Gen {
    /// Begins a program: its symbols and inputs.
    pub fn new(seed: u64, skip: &[String]) -> Gen {
        let mut rng = Rng::new(seed);
        let mut p = Program::default();
        let mut symbols = Vec::new();
        for k in 0..*rng.pick(&[0, 0, 1, 1, 1, 2]) {
            let (low, high) = *rng.pick(&[
                (0, None),
                (0, None),
                (1, None),
                (2, None),
                (2, None),
                (0, Some(8)),
                (1, Some(64)),
                (2, Some(40)),
                (3, Some(3)),
            ]);
            p.ranges.push((low, high));
            symbols.push(if high == Some(3) { 3 } else { [5, 7][k as usize % 2] });
        }
        let plain = Demon { sharing: false, writes: false, remembers: false };
        let hint = Binding { symbols, alias: false, seed: rng.bits(), demon: plain };
        let strided = rng.percent(50);
        let count = rng.between(1, 4);
        for k in 0..count {
            let input = match p.inputs.is_empty() || rng.percent(45) {
                true => Self::input(&mut rng, k as usize, &hint, strided),
                false => {
                    // Like an earlier one, in one way or all.
                    let like = rng.pick(&p.inputs).clone();
                    let new = Self::input(&mut rng, k as usize, &hint, strided);
                    match rng.below(5) {
                        0 => Input { dtype: like.dtype, ..new },
                        1 => Input { name: new.name, dtype: new.dtype, ..like },
                        2 => Input { name: new.name, layout: Layout::Rows, ..like },
                        _ => Input { name: new.name, ..like },
                    }
                }
            };
            p.inputs.push(input);
        }
        if rng.percent(8) && !p.ranges.is_empty() {
            let n = Size { times: 1, symbol: Some(0) };
            p.inputs.push(Input {
                name: "n".into(),
                dtype: "int".into(),
                sizes: vec![n],
                layout: Layout::Rows,
                kind: Kind::User,
            });
        }
        if rng.percent(25) {
            let tensors: Vec<Input> = p.inputs.iter().filter(|i| i.dtype != "int").cloned().collect();
            let same = |a: &Input, b: &Input| {
                a.name < b.name && a.dtype == b.dtype && a.sizes == b.sizes && a.layout == b.layout
            };
            let pairs = tensors.iter().flat_map(|a| {
                tensors.iter().filter(move |b| same(a, b)).map(move |b| (a.name.clone(), b.name.clone()))
            });
            p.may_alias = pairs.collect::<Vec<_>>().into_iter().take(1).collect();
        }
        let session = Session::new(run::run_registry(false), run::kernels(), hint.seed);
        let env = run::inputs(&p, &hint, true, &Meter::default()).into_iter().collect();
        let opaque = rng.percent(15);
        let theme = rng.pick(THEMES);
        Gen { rng, p, env, hint, session, at: None, skip: skip.to_vec(), opaque, theme, count: 0 }
    }

    fn input(rng: &mut Rng, k: usize, hint: &Binding, strided: bool) -> Input {
        let dtype = (*rng.pick(DTYPES)).to_string();
        let rank = *rng.pick(&[0, 1, 1, 1, 2, 2, 2, 2, 3, 3]);
        let size = |rng: &mut Rng| match hint.symbols.is_empty() {
            false if rng.percent(50) => {
                let times = *rng.pick(&[1, 1, 1, 1, 2, 3]);
                Size { times, symbol: Some(rng.below(hint.symbols.len())) }
            }
            _ => Size { times: *rng.pick(&[1, 1, 2, 3, 4, 4, 6, 8]), symbol: None },
        };
        let sizes: Vec<Size> = (0..rank).map(|_| size(rng)).collect();
        let layout = if strided && rng.percent(65) && rank > 0 {
            let mut order: Vec<usize> = (0..rank).collect();
            if rng.percent(75) {
                rng.shuffle(&mut order);
            }
            Layout::Stated(order, *rng.pick(&[1, 1, 1, 2]))
        } else {
            Layout::Rows
        };
        let kind = if rng.percent(25) { Kind::Buffer } else { Kind::User };
        Input { name: format!("x{k}"), dtype, sizes, layout, kind }
    }

    /// Goes on with a program that is there: `values` for nodes above the place are known.
    pub fn resume(&mut self, p: &Program, at: usize, env: &BTreeMap<String, Value>) {
        self.p = p.clone();
        let above = |n: &str| p.inputs.iter().any(|i| i.name == n) || p.nodes.iter().take(at).any(|m| m.name == n);
        self.env = env.iter().filter(|(n, _)| above(n)).map(|(n, v)| (n.clone(), v.clone())).collect();
        self.at = Some(at);
    }

    /// Makes a whole program.
    pub fn program(&mut self) {
        let length = self.rng.between(2, 12) as usize;
        let mut tries = 0;
        while self.p.nodes.len() < length && tries < 120 {
            tries += 1;
            self.step();
        }
        self.outputs();
        if self.rng.percent(20) {
            self.annotate_nodes();
        }
        if !self.p.bodies.is_empty() && self.rng.percent(75) {
            // Twice: a body's operand may be another body's result.
            for _ in 0..2 {
                self.annotate_bodies();
            }
        }
    }

    /// States the types of results, as tracing does; and of those whose layout no rule tells, sometimes strides that they do not have.
    fn annotate_nodes(&mut self) -> Option<()> {
        let mut graph = run::read(&self.p, false).ok()?;
        let _ = run::registry().check_types(&mut graph);
        // Numbers of its own: whether layouts are stated changes nothing else of the program.
        let mut rng = Rng::new(self.hint.seed);
        for node in self.p.nodes.iter_mut().filter(|n| n.target != "self") {
            let Some(id) = graph.find_name(BodyId::ROOT, &node.name) else { continue };
            let untold = graph.ty(id).as_tensor().is_some_and(|t| t.strides.is_none());
            if node.note.is_none() {
                node.note = graph.ty(id).annotation(&graph.symbols);
            }
            if let (true, Some(Value::Tensor(t)), Some(note)) = (untold, self.env.get(&node.name), &mut node.note)
                && !note.contains("][")
                && rng.percent(60)
            {
                let mut strides = t.meta.strides.to_vec();
                if rng.percent(60) {
                    rng.shuffle(&mut strides);
                }
                *note = format!("{note}{strides:?}");
            }
        }
        Some(())
    }

    /// States the types of what bodies are given, as tracing does.
    fn annotate_bodies(&mut self) -> Option<()> {
        let mut graph = run::read(&self.p, false).ok()?;
        let _ = run::registry().check_types(&mut graph);
        for node in self.p.nodes.clone().iter().filter(|n| n.target.starts_with("higher_order")) {
            let mut names = Vec::new();
            node.each(&mut |n| names.push(n.to_string()));
            let (bodies, operands): (Vec<String>, Vec<String>) =
                names.into_iter().partition(|n| self.p.bodies.iter().any(|b| b.name == *n));
            let operands: Vec<String> = operands.into_iter().skip(usize::from(node.op() == "cond")).collect();
            let note = |n: &String| graph.ty(graph.find_name(BodyId::ROOT, n)?).annotation(&graph.symbols);
            let Some(notes) = operands.iter().map(note).collect::<Option<Vec<_>>>() else { continue };
            for body in self.p.bodies.iter_mut().filter(|b| bodies.contains(&b.name) && b.params.len() == notes.len()) {
                body.notes = notes.clone();
            }
        }
        Some(())
    }

    /// Tries to add something.
    pub fn step(&mut self) -> Option<String> {
        if self.opaque && self.rng.percent(18) {
            return self.undescribed();
        }
        match self.part(13) {
            10 => self.higher_order(),
            11 => self.any_operator(),
            12 => self.again(),
            part => self.menu(part),
        }
    }

    /// Picks a part of the menu by the theme's weights, of the first so many.
    pub fn part(&mut self, parts: usize) -> usize {
        let total: usize = self.theme.iter().take(parts).sum();
        let mut at = self.rng.below(total);
        for (k, weight) in self.theme.iter().take(parts).enumerate() {
            if at < *weight {
                return k;
            }
            at -= weight;
        }
        0
    }

    /// Repeats a call.
    fn again(&mut self) -> Option<String> {
        let calls: Vec<Node> = self
            .p
            .nodes
            .iter()
            .filter(|n| n.target != "self" && !n.target.starts_with("higher_order"))
            .cloned()
            .collect();
        let node = self.rng.maybe(&calls)?.clone();
        let kw: Vec<(&str, A)> = node.kw.iter().map(|(k, a)| (k.as_str(), a.clone())).collect();
        self.call(&node.target, node.args.clone(), &kw)
    }

    fn undescribed(&mut self) -> Option<String> {
        let (x, t) = self.tensor(&|_| true)?;
        let (y, _) = self.tensor(&|_| true)?;
        let (target, args) = match self.rng.below(5) {
            0 => ("demo.none.default", vec![A::N(x)]),
            1 => ("demo.two.default", vec![A::N(x), A::N(y)]),
            _ => ("demo.one.default", vec![A::N(x)]),
        };
        let name = self.call(target, args, &[])?;
        if target != "demo.none.default" && self.rng.percent(80) {
            // Nobody knows its type: annotated as PyTorch's tracing would.
            let note = format!("{}{:?}", t.dtype(), t.sizes());
            self.p.nodes.iter_mut().filter(|n| n.name == name).for_each(|n| n.note = Some(note.clone()));
        }
        Some(name)
    }

    fn outputs(&mut self) {
        let results: Vec<String> = self.p.nodes.iter().map(|n| n.name.clone()).filter(|n| self.is_plain(n)).collect();
        let inputs: Vec<String> = self.p.inputs.iter().map(|i| i.name.clone()).collect();
        let mut outs = Vec::new();
        for _ in 0..self.rng.between(1, 4) {
            let from = if self.rng.percent(92) { &results } else { &inputs };
            if let Some(n) = self.rng.maybe(from) {
                outs.push(Out { value: A::n(n), mutates: None });
            }
        }
        // The last value is returned mostly: else most programs are dead.
        if let Some(last) = results.last()
            && self.rng.percent(70)
        {
            outs.push(Out { value: A::n(last), mutates: None });
        }
        if outs.is_empty() {
            outs.push(Out { value: A::n(&inputs[0]), mutates: None });
        }
        if self.rng.percent(20) {
            let input = self.rng.pick(&self.p.inputs).clone();
            let fits = |n: &&String| match (self.env.get(*n), self.env.get(&input.name)) {
                (Some(Value::Tensor(t)), Some(Value::Tensor(u))) => t.dtype() == u.dtype() && t.sizes() == u.sizes(),
                _ => false,
            };
            let fitting: Vec<&String> = results.iter().filter(fits).collect();
            if let Some(n) = self.rng.maybe(&fitting) {
                outs.insert(0, Out { value: A::n(n), mutates: Some(input.name.clone()) });
            }
        }
        self.p.outs = outs;
    }

    fn is_plain(&self, n: &str) -> bool {
        matches!(self.env.get(n), Some(Value::Tensor(_) | Value::Int(_)))
    }

    /// Returns the value of an argument.
    pub fn value(&self, a: &A) -> Option<Value> {
        Some(match a {
            A::N(n) => self.env.get(n)?.clone(),
            A::I(i) => Value::Int(*i),
            A::L(all) | A::P(all) => Value::List(all.iter().map(|a| self.value(a)).collect::<Option<_>>()?),
            A::T(t) => literal(t)?,
        })
    }

    /// Adds a call, if it runs; and of several results items.
    pub fn call(&mut self, target: &str, args: Vec<A>, kw: &[(&str, A)]) -> Option<String> {
        if self.skip.iter().any(|s| s == target) || (!self.opaque && target.starts_with("demo.")) {
            return None;
        }
        let values: Vec<Value> = args.iter().map(|a| self.value(a)).collect::<Option<_>>()?;
        let named: Vec<(&str, Value)> = kw.iter().map(|(k, a)| Some((*k, self.value(a)?))).collect::<Option<_>>()?;
        let result = match target {
            "_operator.getitem" => match (&values[0], &values[1]) {
                (Value::List(all), Value::Int(i)) => all.get(usize::try_from(*i).ok()?)?.clone(),
                _ => return None,
            },
            _ => self.session.call(target, &values, &named).ok()?,
        };
        if size(&result) > MOST {
            return None;
        }
        let op = target.split('.').nth(1).unwrap_or("v").trim_end_matches('_').replace("__", "");
        let kw = kw.iter().map(|(k, a)| ((*k).to_string(), a.clone())).collect();
        let name = self.push(Node { name: op, target: target.into(), args, kw, note: None }, result.clone());
        if let Value::List(items) = result {
            let mut last = None;
            for k in 0..items.len().min(4) {
                if self.rng.percent(60) {
                    last = self.call("_operator.getitem", vec![A::n(&name), A::I(k as i64)], &[]);
                }
            }
            return last.or(Some(name));
        }
        if target.contains("nonzero") && self.rng.percent(40) {
            let t = self.env.get(&name)?.as_tensor()?.clone();
            let note = format!("i64[u{}, {}]", self.rng.below(2), t.sizes().last()?);
            self.p.nodes.iter_mut().filter(|n| n.name == name).for_each(|n| n.note = Some(note.clone()));
        }
        Some(name)
    }

    fn push(&mut self, mut node: Node, value: Value) -> String {
        let bare = node.name.trim_matches('_').to_string();
        node.name = loop {
            let name = format!("{}_{}", if bare.is_empty() { "v" } else { &bare }, self.count);
            self.count += 1;
            if self.p.place(&name).is_none() && !self.p.bodies.iter().any(|b| b.name == name) {
                break name;
            }
        };
        let name = node.name.clone();
        self.env.insert(name.clone(), value);
        match &mut self.at {
            Some(at) => {
                self.p.nodes.insert(*at, node);
                *at += 1;
            }
            None => self.p.nodes.push(node),
        }
        name
    }

    /// Picks a tensor.
    pub fn tensor(&mut self, fits: &dyn Fn(&Tensor) -> bool) -> Option<(String, Tensor)> {
        let all: Vec<(String, Tensor)> = self
            .env
            .iter()
            .filter_map(|(n, v)| v.as_tensor().filter(|t| fits(t)).map(|t| (n.clone(), t.clone())))
            .collect();
        // New values are picked more often: chains are more interesting than fans.
        let fresh = |n: &str| self.p.nodes.iter().rev().take(3).any(|m| m.name == n);
        let newest: Vec<_> = all.iter().filter(|(n, _)| fresh(n)).cloned().collect();
        if !newest.is_empty() && self.rng.percent(45) {
            return Some(self.rng.pick(&newest).clone());
        }
        self.rng.maybe(&all).cloned()
    }

    /// Returns an argument for that size: the number, or a value of the program that is it.
    pub fn number(&mut self, n: i64) -> A {
        let names: Vec<String> =
            self.env.iter().filter(|(_, v)| matches!(v, Value::Int(i) if *i == n)).map(|(k, _)| k.clone()).collect();
        match self.rng.maybe(&names).cloned() {
            Some(name) if self.rng.percent(70) => A::N(name),
            _ => A::I(n),
        }
    }

    /// Returns sizes as an argument.
    pub fn sizes(&mut self, all: &[i64]) -> A {
        A::L(all.iter().map(|n| self.number(*n)).collect())
    }

    /// Adds a call that runs bodies.
    fn higher_order(&mut self) -> Option<String> {
        let mut operands: Vec<(String, Tensor)> = Vec::new();
        for _ in 0..self.rng.between(1, 2) {
            let one = self.tensor(&|t| !t.dtype().is_complex())?;
            if !operands.iter().any(|(n, _)| *n == one.0) || self.rng.percent(20) {
                operands.push(one);
            }
        }
        let kind = self.rng.below(5);
        let names: Vec<A> = operands.iter().map(|(n, _)| A::n(n)).collect();
        let body = |g: &mut Gen, label: &str, results: usize, same: bool| g.body(&operands, label, results, same);
        let (target, bodies, args): (&str, Vec<Body>, Vec<A>) = match kind {
            0 | 1 => {
                let b = body(self, "b", 2, false)?;
                let arg = A::n(&b.name);
                let all = [A::t("False"), arg].into_iter().chain(names).collect();
                ("higher_order.wrap_with_set_grad_enabled", vec![b], all)
            }
            2 | 3 => {
                let pred = self.truth()?;
                let (b, c) = (body(self, "t", 1, true)?, body(self, "f", 1, true)?);
                let all = vec![A::N(pred), A::n(&b.name), A::n(&c.name), A::P(names)];
                ("higher_order.cond", vec![b, c], all)
            }
            _ => {
                // From far below it would count for years.
                let near = |t: &Tensor| t.lanes::<i64>().is_ok_and(|all| all.iter().all(|v| *v > -4));
                let count = match self.tensor(&|t| t.dtype() == Dtype::I64 && t.rank() == 0 && near(t)) {
                    Some((name, _)) => name,
                    None => {
                        self.call("aten.full.default", vec![A::L(vec![]), A::I(0)], &[("dtype", A::t("torch.int64"))])?
                    }
                };
                let mut b = body(self, "w", 1, true)?;
                b.params.insert(0, "i".into());
                let add = Node {
                    name: "next".into(),
                    target: "aten.add.Scalar".into(),
                    args: vec![A::n("i"), A::I(1)],
                    kw: vec![],
                    note: None,
                };
                b.nodes.push(add);
                b.outs.insert(0, A::n("next"));
                let less = Node {
                    name: "less".into(),
                    target: "aten.lt.Scalar".into(),
                    args: vec![A::n("i"), A::I(3)],
                    kw: vec![],
                    note: None,
                };
                let params = b.params.clone();
                let cond = Body {
                    name: format!("{}c", b.name),
                    params,
                    notes: vec![],
                    nodes: vec![less],
                    outs: vec![A::n("less")],
                };
                let carried = vec![A::N(count), names[0].clone()];
                let all = vec![A::n(&cond.name), A::n(&b.name), A::P(carried), A::P(names[1..].to_vec())];
                ("higher_order.while_loop", vec![cond, b], all)
            }
        };
        self.run_bodies(target, bodies, args)
    }

    /// Returns a truth value in a tensor: one that is there, or whether any element of some tensor is true.
    pub fn truth(&mut self) -> Option<String> {
        if let Some((name, _)) = self.tensor(&|t| t.dtype() == Dtype::Bool && t.rank() == 0) {
            return Some(name);
        }
        let (x, _) = self.tensor(&|t| t.numel() > 0)?;
        self.call("aten.any.default", vec![A::N(x)], &[])
    }

    /// Makes a body over operands: a small program of its own.
    fn body(&mut self, operands: &[(String, Tensor)], label: &str, results: usize, same: bool) -> Option<Body> {
        let mut inner = Gen {
            rng: Rng::new(self.rng.bits()),
            p: Program::default(),
            env: BTreeMap::new(),
            hint: self.hint.clone(),
            session: Session::new(run::run_registry(false), run::kernels(), 1),
            at: None,
            skip: self.skip.clone(),
            opaque: self.opaque,
            theme: self.theme,
            count: 0,
        };
        let params: Vec<String> = (0..operands.len()).map(|k| format!("a{k}")).collect();
        for (param, (_, t)) in params.iter().zip(operands) {
            // Writes of the trial must not reach the values outside.
            let copy = inner.session.call("aten.clone.default", &[Value::Tensor(t.clone())], &[]).ok()?;
            inner.env.insert(param.clone(), copy);
        }
        // A write in a body is what nobody sees outside.
        let mut parts = vec![None; self.rng.between(0, 3) as usize];
        parts.extend(self.rng.percent(30).then_some(Some(3)));
        for part in parts {
            for _ in 0..4 {
                let part = part.unwrap_or_else(|| inner.part(10));
                if inner.menu(part).is_some() {
                    break;
                }
            }
        }
        let model = &operands[0].1;
        let fits = |t: &Tensor| !same || t.dtype() == model.dtype() && t.sizes() == model.sizes();
        let mut outs = Vec::new();
        for _ in 0..results {
            let (name, _) = inner.tensor(&fits)?;
            outs.push(A::N(name));
        }
        if !inner.p.bodies.is_empty() {
            return None;
        }
        let name = self.p.free(label);
        Some(Body { name, params, notes: vec![], nodes: inner.p.nodes, outs })
    }

    /// Adds a call of bodies, if it runs.
    fn run_bodies(&mut self, target: &str, mut bodies: Vec<Body>, args: Vec<A>) -> Option<String> {
        if self.skip.iter().any(|s| s == target) {
            return None;
        }
        // Both branches got the same free name.
        if bodies.len() == 2 && bodies[0].name == bodies[1].name {
            bodies[1].name += "x";
        }
        let results = bodies.last()?.outs.len();
        let mut trial = Program::default();
        let mut operands = Vec::new();
        args.iter().for_each(|a| a.each(&mut |n| operands.push(n.to_string())));
        let mut given = Vec::new();
        for name in &operands {
            if let Some(Value::Tensor(t)) = self.env.get(name)
                && !trial.inputs.iter().any(|i| i.name == *name)
            {
                let fixed = |n: &usize| Size { times: *n as i64, symbol: None };
                let sizes = t.sizes().iter().map(fixed).collect();
                let dtype = t.dtype().short().to_string();
                trial.inputs.push(Input { name: name.clone(), dtype, sizes, layout: Layout::Rows, kind: Kind::User });
                given.push(Value::Tensor(t.clone()));
            }
        }
        trial.bodies = bodies.clone();
        let attr = |b: &Body| Node {
            name: b.name.clone(),
            target: "self".into(),
            args: vec![A::n(&b.name)],
            kw: vec![],
            note: None,
        };
        trial.nodes = bodies.iter().map(attr).collect();
        trial.nodes.push(Node {
            name: "call".into(),
            target: target.into(),
            args: args.clone(),
            kw: vec![],
            note: None,
        });
        for k in 0..results {
            let item = vec![A::n("call"), A::I(k as i64)];
            trial.nodes.push(Node {
                name: format!("r{k}"),
                target: "_operator.getitem".into(),
                args: item,
                kw: vec![],
                note: None,
            });
            trial.outs.push(Out { value: A::N(format!("r{k}")), mutates: None });
        }
        let graph = run::read(&trial, true).ok()?;
        let outcome = exec::run(&Model { graph, ..Model::default() }, given, &mut self.session, &mut ()).ok()?;
        if outcome.outputs.iter().map(size).sum::<usize>() > MOST {
            return None;
        }
        for body in bodies {
            let node = attr(&body);
            let at = self.at.as_mut();
            match at {
                Some(at) => {
                    self.p.nodes.insert(*at, node);
                    *at += 1;
                }
                None => self.p.nodes.push(node),
            }
            self.p.bodies.push(body);
        }
        let op = target.trim_start_matches("higher_order.").split('_').next().unwrap_or("h").to_string();
        let name = self.push(
            Node { name: op, target: target.into(), args, kw: vec![], note: None },
            Value::List(outcome.outputs.clone()),
        );
        let mut last = None;
        for k in 0..results {
            if results == 1 || self.rng.percent(85) {
                last = self.call("_operator.getitem", vec![A::n(&name), A::I(k as i64)], &[]);
            }
        }
        last
    }
}

/// Returns how many elements a value has.
fn size(v: &Value) -> usize {
    match v {
        Value::Tensor(t) => t.numel(),
        Value::List(all) => all.iter().map(size).sum(),
        _ => 0,
    }
}

/// Returns a literal as a value.
pub fn literal(t: &str) -> Option<Value> {
    if let Some(name) = t.strip_prefix("torch.") {
        if let Some(dtype) = Dtype::from_long(name).or_else(|| Dtype::from_long(t)) {
            return Some(Value::Literal(Arg::Dtype(dtype)));
        }
        return MemoryFormat::from_name(name).map(|f| Value::Literal(Arg::MemoryFormat(f)));
    }
    if t == "device(type='cpu')" {
        return Some(Value::Literal(Arg::Device(airlock::graph::Device::cpu())));
    }
    Some(match text::literal(t)? {
        Arg::None => Value::None,
        Arg::Bool(b) => Value::Bool(b),
        Arg::Int(i) => Value::Int(i),
        Arg::Float(f) => Value::Float(f),
        other => Value::Literal(other),
    })
}
