//! What the registry states of operators is what PyTorch did: `tests/facts` holds recorded calls, made again here as graphs of one node.
//!
//! Asked of each: (1) dtype, sizes, strides and offset of results; (2) in whose memory they lie; (3) what is written; (4) whether random
//! numbers are drawn; (5) whether operands that are said to commute do, bit for bit, and whether what is said to equal an operand does;
//! (6) whether the call is taken, and one that is said never to raise never did. A statement that
//! a recording contradicts fails; a rule that leaves strides open, and a mark that says "sometimes", are counted.
//! Three tables beside the recordings are held up to date: operators that raise for contents alone, calls that the type rules take though
//! PyTorch refuses them, and the other way round. `AIRLOCK_UPDATE=1` writes them anew.
//!
//! `AIRLOCK_FACTS` names another folder of recordings (`record_facts.py --wide`); `AIRLOCK_FACTS_SHOW=20` shows so many operators that are
//! contradicted, `AIRLOCK_FACTS_EACH` lines of each (3); `AIRLOCK_FACTS_ONLY=pool` looks only at operators whose names hold that.
//! `AIRLOCK_FACTS_LIST=1` lists what shares in some calls only, what is left open, and what is taken or refused otherwise than by PyTorch;
//! `AIRLOCK_FACTS_EXACT=1` compares strides of sizes of 1 too, which nobody can see but a convolution.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::committed;
use crate::common::facts::{self, Facts, Line};
use crate::common::golden::{self, shown};
use airlock::analysis::{Home, Place, Shares, home_of};
use airlock::graph::{Arg, BodyId, Dtype, Graph, NewNode, NodeId, NodeKind, ValueType};
use airlock::ops::{Base, Bound, Given, Operator, PLAIN, Registry, Total, parts_of};
use airlock::sym::Dim;
use rayon::prelude::*;
use serde_json::Value;

/// What a recording said about a statement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum About {
    /// Dtype or sizes.
    Type,
    /// Strides or offset.
    Strides,
    /// In whose memory a result lies.
    Sharing,
    /// What is written.
    Writes,
    /// Whether the generator moves.
    Draws,
    /// Whether operands commute.
    Commutes,
    /// Whether a result equals an operand.
    Same,
    /// Whether an operator that never raises did.
    Total,
}

/// What became of the lines of one operator.
#[derive(Default)]
struct Tally {
    contradicted: Vec<(About, String, String)>,
    lines: usize,
    /// Calls whose type or strides the rule leaves open; results that may or may not share.
    open_type: usize,
    open_strides: usize,
    maybe: usize,
    /// Calls that PyTorch refuses, whatever the contents, and the rule takes.
    admitted: Vec<String>,
    /// Calls that PyTorch takes and the rule refuses: the graph is called ill-formed then, which is safe.
    refused: Vec<String>,
    /// Whether contents alone made a call raise.
    raised_by_contents: bool,
    /// Whether a call ended the process: PyTorch reads or writes where nothing is.
    crashed: bool,
    /// Whether some result shared memory in one call and not in another.
    shared: (usize, usize),
    /// Calls of mixed dtypes or with a scalar that do not commute, though the mark says so.
    mixed: usize,
}

/// Whether a recorded tensor lies row by row.
fn lies_row_by_row(row: &Value) -> bool {
    let numbers = |v: &Value| v.as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect::<Vec<_>>();
    let mut step = 1;
    numbers(&row[1]).iter().zip(numbers(&row[2])).rev().all(|(size, stride)| {
        let fits = stride == step;
        step *= (*size).max(1);
        fits
    })
}

/// Whether the registry says that this call never raises, its types being right.
fn is_total(operator: &Operator, rows: &[Value], bound: Option<&Bound<'_>>, result: Option<Dtype>) -> bool {
    let facts = &operator.facts;
    let laid_out = |r: &Value| !lies_row_by_row(r);
    let given = |b: &Bound<'_>| {
        b.args.iter().zip(&operator.schema.params).all(|(a, p)| !p.ty.holds_tensors() || **a != Arg::None)
    };
    let filled = |r: &Value| r[1].as_array().unwrap().iter().all(|n| *n != 0);
    let holds = bound.is_some_and(given) && rows.iter().all(filled);
    if facts.if_contiguous && rows.iter().any(laid_out) || facts.if_given.is_some() && !holds {
        return false;
    }
    let float = |r: &Value| r[0] == "f32" || r[0] == "f64";
    match operator.facts.total {
        Total::Always => true,
        Total::Floats => rows.iter().all(float),
        Total::Numbers => {
            let numbers = ["f16", "bf16", "f32", "f64", "i8", "i16", "i32", "i64", "u8"];
            rows.iter().all(|r| r[0] == rows[0][0] && numbers.iter().any(|n| r[0] == *n))
        }
        total if total.goes_by_dtypes() => {
            let dtypes: Option<Vec<Dtype>> = rows.iter().map(|r| Dtype::from_short(r[0].as_str()?)).collect();
            let (Some(mut dtypes), Some(bound)) = (dtypes, bound) else { return false };
            let none = dtypes.is_empty();
            let count = dtypes.len();
            dtypes.extend(result);
            let Some((dtypes, complex)) = parts_of(&dtypes) else { return false };
            let given = &dtypes[..count];
            let taken = (!complex || operator.facts.complex) && operator.facts.total.takes_all(given) == Some(true);
            let numbers = operator.schema.params.iter().zip(&bound.args).filter(|(p, _)| p.ty.base == Base::Scalar);
            let floats = !dtypes.is_empty() && dtypes.iter().all(|d| d.is_float());
            let finite = |a: &Arg| !none || floats || !matches!(a, Arg::Float(v) if !v.is_finite());
            let fit = numbers.into_iter().all(|(_, a)| operator.facts.total.fits(a, &dtypes) && finite(a));
            let divides = match bound.get(1) {
                Arg::Int(v) => *v != 0,
                Arg::Float(v) => *v != 0.0,
                _ => false,
            };
            let leads = (0..3).all(|i| match bound.args.get(i) {
                Some(Arg::Int(v)) => i < 2 || *v != 0,
                Some(Arg::Float(v)) => v.is_finite() && (i < 2 || *v != 0.0),
                _ => false,
            });
            let shaped =
                operator.facts.total != Total::OneShape || rows.windows(2).all(|pair| pair[0][1] == pair[1][1]);
            fit && taken
                && shaped
                && dtypes.iter().all(|d| PLAIN.contains(d))
                && (operator.facts.total != Total::Divisor || divides)
                && (operator.facts.total != Total::Steps || leads)
        }
        _ => false,
    }
}

/// Whether a call divides by how often each place is named: nothing is said of such a one.
fn weighs_by_count(operator: &Operator, bound: &Bound<'_>) -> bool {
    let weighs = operator.schema.param_index("scale_grad_by_freq").map(|i| bound.get(i));
    weighs.is_some_and(|given| *given != Arg::Bool(false))
}

/// Whether the registry says that this call raises for integers that are no places at most.
fn raises_for_places(operator: &Operator, rows: &[Value]) -> bool {
    let dtype = |r: &Value| r[0].as_str().and_then(Dtype::from_short);
    let first = rows.first().and_then(dtype).is_some_and(|d| d.is_float());
    // Along a dimension without places, every integer is none.
    let none = |r: &Value| r[1].as_array().is_none_or(|d| d.is_empty() || d.iter().any(|n| n == 0));
    if rows.first().is_none_or(none) {
        return false;
    }
    let places = rows.iter().any(|r| matches!(dtype(r), Some(Dtype::I32 | Dtype::I64)));
    operator.facts.reaches.is_some() && places && first
}

/// Whether an operator that may draw is excused by its arguments.
fn excused(operator: &Operator, bound: &Bound<'_>) -> bool {
    let unless = &operator.facts.draws_unless;
    unless.iter().any(|u| operator.schema.param_index(&u.param).is_some_and(|i| u.holds(bound.get(i))))
}

/// Whether an operator that may write an argument does so in this call.
fn writes(operator: &Operator, bound: &Bound<'_>, param: usize) -> bool {
    let access = operator.effects.params[param];
    let spared = operator.facts.writes_if.as_ref().is_some_and(|flag| {
        operator.schema.param_index(flag).is_some_and(|i| *bound.get(i) == Arg::Bool(false)) && access.hidden
    });
    access.writes && !spared
}

fn index(v: &Value) -> Option<usize> {
    v.get("t").and_then(Value::as_u64).map(|i| usize::try_from(i).unwrap())
}

/// The type of a recorded result.
fn recorded(v: &Value, rows: &[Value]) -> ValueType {
    match v {
        Value::Object(_) if index(v).is_some() => ValueType::tensor(golden::tensor(&rows[index(v).unwrap()])),
        Value::Array(all) => ValueType::Many(all.iter().map(|x| recorded(x, rows)).collect()),
        Value::Null => ValueType::None,
        Value::Number(n) if n.is_i64() => ValueType::SymInt(Dim::Fixed(n.as_i64().unwrap())),
        _ => ValueType::Unknown,
    }
}

/// Whether strides of sizes of 1 are compared too.
fn exact() -> bool {
    std::env::var_os("AIRLOCK_FACTS_EXACT").is_some()
}

/// Compares what the rule says with what came out.
fn compare(found: &ValueType, wanted: &ValueType, differ: &mut BTreeSet<About>, open: &mut (bool, bool)) {
    match (found, wanted) {
        (ValueType::Tensor(a), ValueType::Tensor(b)) => {
            let told = |d: &Dim| d.fixed().is_some();
            let sizes = a.sizes.len() == b.sizes.len() && a.sizes.iter().zip(&b.sizes).all(|(x, y)| !told(x) || x == y);
            if a.dtype != b.dtype || !sizes {
                differ.insert(About::Type);
                return;
            }
            let empty = b.sizes.contains(&Dim::Fixed(0));
            match &a.strides {
                None => open.1 = true,
                Some(own) => {
                    let other = b.strides.as_ref().unwrap();
                    let ones = !exact();
                    let stray = |(i, (x, y)): (usize, (&Dim, &Dim))| {
                        (!ones || b.sizes[i] != Dim::Fixed(1)) && told(x) && x != y
                    };
                    // Of no elements strides are nobody's business.
                    if !empty && own.iter().zip(other).enumerate().any(stray) {
                        differ.insert(About::Strides);
                    }
                    if told(&a.offset) && a.offset != b.offset && !empty {
                        differ.insert(About::Strides);
                    }
                }
            }
        }
        (ValueType::Many(a), ValueType::Many(b)) if a.len() == b.len() => {
            a.iter().zip(b.iter()).for_each(|(x, y)| compare(x, y, differ, open));
        }
        (ValueType::Many(a), ValueType::None) if a.is_empty() => {}
        (_, ValueType::Unknown) => {}
        (ValueType::Unknown, _) => open.0 = true,
        (ValueType::SymInt(d), ValueType::SymInt(_)) if d.fixed().is_none() => {}
        (ValueType::SymFloat(_) | ValueType::SymBool(_), ValueType::SymInt(_)) => {}
        _ if found == wanted => {}
        _ => {
            differ.insert(About::Type);
        }
    }
}

/// Results one by one: those of the schema, or the items of a list.
fn results(out: &Value) -> Vec<(u32, &Value)> {
    match out {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .filter(|(_, v)| index(v).is_some())
            .map(|(i, v)| (u32::try_from(i).unwrap(), v))
            .collect(),
        one if index(one).is_some() => vec![(Place::WHOLE, one)],
        _ => Vec::new(),
    }
}

struct Made {
    graph: Graph,
    node: NodeId,
    /// The storage of each operand that is a placeholder.
    rows: Vec<Value>,
}

impl Made {
    fn storage(&self, row: usize) -> u64 {
        self.rows[row][4].as_u64().unwrap()
    }

    fn storage_of(&self, node: NodeId) -> u64 {
        self.storage(golden::place(&self.graph, node))
    }
}

/// Which elements of its storage a tensor has.
fn elements(row: &Value) -> BTreeSet<i64> {
    let numbers = |v: &Value| -> Vec<i64> { v.as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect() };
    let mut all = BTreeSet::from([row[3].as_i64().unwrap()]);
    for (size, stride) in numbers(&row[1]).into_iter().zip(numbers(&row[2])) {
        all = all.into_iter().flat_map(|at| (0..size).map(move |k| at + k * stride)).collect();
    }
    all
}

fn sharing(made: &Made, line: &Line, home: &Home, result: usize) -> Result<(), String> {
    let own = made.storage(result);
    let with_operand = (0..line.operands).any(|i| made.storage(i) == own);
    // A storage of no bytes is nobody's memory.
    if made.rows[result][1].as_array().unwrap().iter().any(|n| n == 0) {
        return Ok(());
    }
    let named: Vec<u64> = home.iter().map(|s| made.storage_of(s.place().node)).collect();
    match home.as_slice() {
        _ if with_operand && !named.contains(&own) => Err("it shares memory, which nothing says".into()),
        [Shares::Same(p) | Shares::View(p)] if made.storage_of(p.node) != own => {
            Err("it is said to share surely, and is another tensor".into())
        }
        [Shares::Same(p)] => {
            let (a, b) = (&made.rows[result], &made.rows[golden::place(&made.graph, p.node)]);
            if a[1] == b[1] { Ok(()) } else { Err("it is said to be the operand, and has other sizes".into()) }
        }
        _ => Ok(()),
    }
}

fn check(registry: &Registry, target: &str, line: &Line, tally: &mut Tally) {
    let operator = registry.get(target).unwrap();
    tally.crashed |= line.raised.as_ref().is_some_and(|(class, _)| class == "Crash");
    let mut graph = Graph::new();
    let Some((args, kwargs)) = golden::call(&mut graph, &line.sample) else {
        panic!("{target}: arguments of an unknown form: {}", line.text)
    };
    let inferred = registry.infer(&mut graph, target, &args, &kwargs);
    tally.lines += 1;
    let mut rows = line.sample["tensors"].as_array().unwrap().clone();
    if let Some((class, contents)) = &line.raised {
        tally.raised_by_contents |= contents;
        let taken = inferred.is_ok();
        if taken && !contents && class != "Crash" {
            let message = line.text.split("\"e\":").nth(1).unwrap_or("").to_string();
            tally.admitted.push(message);
        }
        let operands = &line.sample["tensors"].as_array().unwrap()[..];
        // Operands that lie one in another are not what a graph's inputs are taken to be.
        let aliased = line.text.contains("unsupported operation: ") || line.text.contains("NVIDIA");
        let bound = Bound::bind(&operator.schema, &graph, &args, &kwargs).ok();
        let result = inferred.as_ref().ok().and_then(|t| t.as_tensor()).map(|t| t.dtype);
        let weighed = bound.as_ref().is_some_and(|b| weighs_by_count(operator, b));
        if taken && !aliased && !contents && !weighed && raises_for_places(operator, operands) {
            let why = format!("it is said to raise for places at most: {class}");
            tally.contradicted.push((About::Total, why, line.text.clone()));
        }
        if taken && !aliased && is_total(operator, operands, bound.as_ref(), result) {
            let why = if *contents {
                "it is said never to raise, and did for its contents"
            } else {
                "it is said never to raise"
            };
            tally.contradicted.push((About::Total, format!("{why}: {class}"), line.text.clone()));
        }
        return;
    }
    let mut say = |about: About, why: String| tally.contradicted.push((about, why, line.text.clone()));
    for (i, row) in &line.reshaped {
        rows[*i] = row.clone();
    }
    let wanted = recorded(&line.sample["out"], &rows);
    let ty = match inferred {
        Ok(ty) => {
            let (mut differ, mut open) = (BTreeSet::new(), (false, false));
            compare(&ty, &wanted, &mut differ, &mut open);
            for about in differ {
                say(about, format!("{} but PyTorch {}", shown(&ty), shown(&wanted)));
            }
            tally.open_type += usize::from(open.0);
            tally.open_strides += usize::from(open.1);
            ty
        }
        Err(e) if e.fault.is_ignorance() => {
            tally.open_type += 1;
            wanted
        }
        Err(e) => {
            tally.refused.push(e.to_string());
            return;
        }
    };
    let name = graph.texts.intern(target);
    let new = NewNode { kind: NodeKind::Call, target: name, args: args.into(), kwargs: kwargs.into(), ty };
    let node = graph.push(BodyId::ROOT, "call", new);
    let made = Made { graph, node, rows: line.sample["tensors"].as_array().unwrap().clone() };
    let mut say = |about: About, why: String| tally.contradicted.push((about, why, line.text.clone()));
    let mut fresh: Vec<(u64, BTreeSet<i64>)> = Vec::new();
    for (item, value) in results(&line.sample["out"]) {
        let mut home = home_of(&made.graph, registry, Place { node: made.node, item });
        // What another result of the call may lie in is no operand's memory.
        let of_the_call = home.iter().any(|s| s.place().node == made.node);
        home.retain(|s| s.place().node != made.node);
        let result = index(value).unwrap();
        tally.maybe += usize::from(home.iter().any(|s| matches!(s, Shares::Maybe(_))));
        let own = made.storage(result);
        if made.rows[result][1].as_array().unwrap().iter().any(|n| n == 0) {
            // Of no elements nothing is shared.
        } else if (0..line.operands).any(|i| made.storage(i) == own) {
            tally.shared.0 += 1;
        } else {
            tally.shared.1 += 1;
            // Results may lie side by side in one new storage, as long as no write to one is seen in another.
            let elements = elements(&made.rows[result]);
            if home.is_empty()
                && !of_the_call
                && fresh.iter().any(|(s, e)| *s == own && e.iter().any(|x| elements.contains(x)))
            {
                say(About::Sharing, "two results share memory that is no operand's".into());
            }
            fresh.push((own, elements));
        }
        if let Err(why) = sharing(&made, line, &home, result) {
            say(About::Sharing, format!("{why}: {home:?}"));
        }
    }
    let bound = Bound::bind(&operator.schema, &made.graph, made.graph_args(), made.graph_kwargs());
    let Ok(bound) = bound else { return };
    let written = |storage: u64| {
        let params = (0..operator.effects.params.len()).filter(|i| writes(operator, &bound, *i));
        params.flat_map(|i| bound.get(i).nodes()).any(|n| made.storage_of(n) == storage)
    };
    for storage in &line.written {
        if !written(*storage) {
            say(About::Writes, format!("storage {storage} changed"));
        }
    }
    for (i, _) in &line.reshaped {
        if !written(made.storage(*i)) {
            say(About::Writes, format!("tensor {i} has another form"));
        }
    }
    if line.drew && (!operator.effects.random || excused(operator, &bound)) {
        say(About::Draws, "the generator moved".into());
    }
    if let (Some(equals), Some(operand)) = (&line.equals, same_as(operator, &bound, &made)) {
        let rows = &made.rows;
        let result = results(&line.sample["out"]).first().and_then(|(_, v)| index(v)).unwrap();
        let alike = rows[result][0] == rows[operand][0] && rows[result][1] == rows[operand][1];
        if alike && !equals.contains(&operand) {
            say(About::Same, format!("it is said to equal tensor {operand}"));
        }
    }
    if operator.commutes && line.commutes == Some(false) && bound_to_defaults(&bound, operator) {
        let (a, b) = (&made.rows[0], &made.rows[1.min(line.operands - 1)]);
        // A product of complex numbers is rounded in another order in the middle of a vector than at its end.
        let complex = a[0].as_str().is_some_and(|d| d.starts_with('c'));
        if a[0] == b[0] && !complex {
            say(About::Commutes, "other bits the other way round".into());
        } else {
            tally.mixed += 1;
        }
    }
}

/// The operand, as a row, that the registry says the first result of this call equals.
fn same_as(operator: &Operator, bound: &Bound<'_>, made: &Made) -> Option<usize> {
    let same = operator.facts.same_as.as_ref()?;
    let place = operator.schema.param_index(&same.param)?;
    let mut nodes = bound.get(place).nodes();
    let (operand, None) = (golden::place(&made.graph, nodes.next()?), nodes.next()) else { return None };
    let dtype = made.rows[operand][0].as_str()?;
    let holds = match &same.given {
        Given::Always => true,
        Given::Integer => dtype.starts_with(['i', 'u']),
        // Of a view of other strides: the judge compares them.
        Given::LaidOut => return None,
        Given::Argument(all) => {
            all.iter().any(|is| operator.schema.param_index(&is.param).is_some_and(|i| is.holds(bound.get(i))))
        }
    };
    holds.then_some(operand)
}

impl Made {
    fn graph_args(&self) -> &[Arg] {
        use airlock::graph::View as _;
        self.graph.args(self.node)
    }

    fn graph_kwargs(&self) -> &[(airlock::graph::StrId, Arg)] {
        use airlock::graph::View as _;
        self.graph.kwargs(self.node)
    }
}

fn bound_to_defaults(bound: &Bound<'_>, operator: &Operator) -> bool {
    let params = operator.schema.params.iter().enumerate().skip(2);
    params.into_iter().all(|(i, p)| p.default.as_ref().is_some_and(|d| d.value == *bound.get(i)))
}

fn judge(all: &[Facts]) -> BTreeMap<String, Tally> {
    let registry = Registry::standard();
    all.par_iter()
        .map(|facts| {
            let mut tally = Tally { raised_by_contents: facts.raised_by_contents > 0, ..Tally::default() };
            facts.lines.iter().for_each(|line| check(&registry, &facts.target, line, &mut tally));
            (facts.target.clone(), tally)
        })
        .collect()
}

fn number(name: &str, otherwise: usize) -> usize {
    std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise)
}

fn recordings() -> Vec<Facts> {
    let only = std::env::var("AIRLOCK_FACTS_ONLY").unwrap_or_default();
    let mut all = facts::read(&facts::folder());
    all.retain(|f| f.target.contains(&only));
    all
}

#[test]
fn nothing_that_the_registry_states_is_contradicted_by_pytorch() {
    let all = recordings();
    let tally = judge(&all);
    let (calls, lines) = (all.iter().map(|f| f.calls).sum::<u64>(), tally.values().map(|t| t.lines).sum::<usize>());
    let wrong: usize = tally.values().map(|t| t.contradicted.len()).sum();
    let sum =
        |f: fn(&Tally) -> usize| (tally.values().map(f).sum::<usize>(), tally.values().filter(|t| f(t) > 0).count());
    println!("{calls} calls of {} operators were made, {lines} lines are kept", all.len());
    println!(
        "{wrong} statements contradicted, of {} operators",
        tally.values().filter(|t| !t.contradicted.is_empty()).count()
    );
    let mut kinds: BTreeMap<About, (usize, BTreeSet<&str>)> = BTreeMap::new();
    for (op, t) in &tally {
        for (about, ..) in &t.contradicted {
            let kind = kinds.entry(*about).or_default();
            kind.0 += 1;
            kind.1.insert(op);
        }
    }
    for (about, (count, operators)) in &kinds {
        let names: Vec<&str> = operators.iter().copied().collect();
        println!("  {about:?}: {count} lines of {} operators: {}", operators.len(), names.join(" "));
    }
    let (open, strides, maybe, mixed) =
        (sum(|t| t.open_type), sum(|t| t.open_strides), sum(|t| t.maybe), sum(|t| t.mixed));
    println!("states no type: {} lines of {} operators; no strides: {} of {}", open.0, open.1, strides.0, strides.1);
    println!("shares by its operands (maybe): {} lines of {} operators", maybe.0, maybe.1);
    println!("commutes, but not with mixed or complex dtypes: {} lines of {} operators", mixed.0, mixed.1);
    let without: Vec<String> = Registry::standard()
        .operators()
        .filter(|o| ["aten", "prims"].contains(&&*o.schema.namespace))
        .map(|o| o.target.to_string())
        .filter(|t| !tally.contains_key(t))
        .collect();
    println!("without a recording: {} operators: {}", without.len(), without.join(" "));
    let (show, each) = (number("AIRLOCK_FACTS_SHOW", 0), number("AIRLOCK_FACTS_EACH", 3));
    for (op, t) in tally.iter().filter(|(_, t)| !t.contradicted.is_empty()).take(show) {
        println!("{op}: {} of {}", t.contradicted.len(), t.lines);
        for (about, why, text) in t.contradicted.iter().take(each) {
            println!("    {about:?}: {why}\n        {}", text.chars().take(360).collect::<String>());
        }
    }
    if std::env::var_os("AIRLOCK_FACTS_LIST").is_some() {
        let conditional: Vec<&String> =
            tally.iter().filter(|(_, t)| t.shared.0 > 0 && t.shared.1 > 0).map(|(op, _)| op).collect();
        println!("shares in some calls and not in others: {conditional:?}");
        let open: Vec<String> = tally
            .iter()
            .filter(|(_, t)| t.open_strides + t.open_type > 0)
            .map(|(op, t)| format!("{op} {}/{}/{}", t.open_type, t.open_strides, t.lines))
            .collect();
        println!("open: {open:?}");
        for (op, t) in tally.iter().filter(|(_, t)| !t.refused.is_empty()) {
            println!(
                "refused: {op} {} {:?}",
                t.refused.len(),
                t.refused.iter().collect::<BTreeSet<_>>().iter().take(4).collect::<Vec<_>>()
            );
        }
        for (op, t) in tally.iter().filter(|(_, t)| !t.admitted.is_empty()) {
            let mut words: BTreeMap<&str, usize> = BTreeMap::new();
            t.admitted.iter().for_each(|m| *words.entry(m.as_str()).or_default() += 1);
            println!("taken: {op} {words:?}");
        }
    }
    assert!(lines > 0, "no recordings");
    assert_eq!(wrong, 0, "statements that PyTorch contradicts; AIRLOCK_FACTS_SHOW=20 shows them");
}

/// Holds a table against its file.
fn hold(file: &str, about: &str, rows: &[String]) {
    committed::hold(format!("tests/facts/{file}"), format!("{about}\n{}\n", rows.join("\n")));
}

#[test]
fn operators_that_raise_for_contents_alone_are_listed() {
    if std::env::var_os("AIRLOCK_FACTS").is_some() || std::env::var_os("AIRLOCK_FACTS_ONLY").is_some() {
        return;
    }
    let tally = judge(&recordings());
    let row = |(op, t): (&String, &Tally)| match (t.raised_by_contents, t.crashed) {
        (false, false) => None,
        (_, true) => Some(format!("{op} (some call ended the process)")),
        _ => Some(op.clone()),
    };
    let rows: Vec<String> = tally.iter().filter_map(row).collect();
    let about = "# Operators that raised in a recorded call and did not with other contents, all else being the same.";
    hold("raises_by_contents.txt", about, &rows);
}

#[test]
fn calls_that_the_rules_refuse_and_pytorch_takes_are_listed() {
    if std::env::var_os("AIRLOCK_FACTS").is_some() || std::env::var_os("AIRLOCK_FACTS_ONLY").is_some() {
        return;
    }
    let tally = judge(&recordings());
    let mut rows = Vec::new();
    for t in tally.values().filter(|t| !t.refused.is_empty()) {
        rows.push(format!("{} {}", t.refused.len(), t.refused.first().unwrap()));
    }
    hold(
        "refused_though_taken.txt",
        "# How many recorded calls of an operator PyTorch takes and the type rules refuse, and the first refusal.",
        &rows,
    );
}

#[test]
fn calls_that_the_rules_take_and_pytorch_refuses_are_listed() {
    if std::env::var_os("AIRLOCK_FACTS").is_some() || std::env::var_os("AIRLOCK_FACTS_ONLY").is_some() {
        return;
    }
    let tally = judge(&recordings());
    let mut rows = Vec::new();
    for (op, t) in tally.iter().filter(|(_, t)| !t.admitted.is_empty()) {
        let first = t.admitted.first().unwrap();
        rows.push(format!(
            "{op} {} {}",
            t.admitted.len(),
            first.chars().take(90).collect::<String>().trim_end_matches('}')
        ));
    }
    hold(
        "taken_though_refused.txt",
        "# Operators, how many recorded calls PyTorch refuses whatever the contents and the type rules take, and the first exception.",
        &rows,
    );
}
