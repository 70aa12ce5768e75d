//! The type rules say of every node of the exported models what PyTorch annotated: dtype and sizes in the printed form, strides too in
//! the `.pt2` form. No call of these models is without a rule.

use crate::common;
use airlock::formats::{pt2, text};
use airlock::graph::{Dtype, Graph, NodeId, NodeKind, TensorType, ValueType, View};
use airlock::ops::{Base, CallSite, Registry, Total};

fn calls(graph: &Graph) -> Vec<NodeId> {
    graph
        .bodies()
        .flat_map(|b| graph.nodes(b).collect::<Vec<_>>())
        .filter(|n| graph.kind(*n) == NodeKind::Call)
        .collect()
}

fn in_repository(ending: &str) -> Vec<std::path::PathBuf> {
    common::files(ending).into_iter().filter(|f| f.display().to_string().contains("tests/models")).collect()
}

#[test]
fn types_that_were_checked_are_the_same_when_they_are_checked_again() {
    let registry = Registry::standard();
    let mut nodes = 0;
    let mut graphs = Vec::new();
    for file in in_repository("fx") {
        let text = std::fs::read_to_string(&file).unwrap();
        graphs.push((file, text::read(&text, &text::ReadOptions::default()).unwrap()));
    }
    for file in in_repository("pt2") {
        let graph = pt2::read(&file, &registry).unwrap().graph;
        graphs.push((file, graph));
    }
    for (file, mut graph) in graphs {
        let said = |g: &Graph| -> Vec<_> {
            let nodes = g.bodies().flat_map(|b| g.nodes(b).collect::<Vec<_>>());
            nodes.map(|n| (g.ty(n).clone(), g.hearsay(n), g.printed(n).map(str::to_string))).collect()
        };
        let first = registry.check_types(&mut graph);
        let once = said(&graph);
        assert_eq!(registry.check_types(&mut graph), first, "{}", file.display());
        assert_eq!(said(&graph), once, "{}", file.display());
        nodes += once.len();
    }
    assert!(nodes > 1000, "{nodes}");
}

#[test]
fn printed_models_have_the_types_that_the_rules_give() {
    let registry = Registry::standard();
    let (mut nodes, mut wrong, mut otherwise) = (0, Vec::new(), 0);
    for file in in_repository("fx") {
        let name = file.display().to_string();
        let mut graph = text::read(&std::fs::read_to_string(&file).unwrap(), &text::ReadOptions::default()).unwrap();
        let calls = calls(&graph);
        let before: Vec<ValueType> = calls.iter().map(|n| graph.ty(*n).clone()).collect();
        for problem in registry.check_types(&mut graph) {
            wrong.push(format!("{name}: {problem}"));
        }
        for (node, old) in calls.iter().zip(before) {
            nodes += 1;
            let new = graph.ty(*node);
            let site = format!("{name}: {} = {}", graph.name(*node), graph.target(*node));
            match (&old, new) {
                (_, ValueType::Unknown) => wrong.push(format!("{site}: no type")),
                (ValueType::Unknown, _) => {}
                _ if old.annotation(&graph.symbols) == new.annotation(&graph.symbols) => {}
                // `s77//((s77//2))` is 2 where the program asserts that s77 is even; the rule says 2.
                _ if graph.printed(*node).is_some() => otherwise += 1,
                _ => wrong.push(format!(
                    "{site}: annotated {:?}, the rule says {:?}",
                    old.annotation(&graph.symbols),
                    new.annotation(&graph.symbols)
                )),
            }
        }
    }
    println!("{nodes} calls, {otherwise} spelled otherwise, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(nodes > 4000 && otherwise <= 4, "{nodes} {otherwise}");
}

fn strides_differ(graph: &Graph, old: &TensorType, new: &TensorType) -> bool {
    let (Some(a), Some(b)) = (&old.strides, &new.strides) else { return false };
    let empty = old.sizes.iter().any(|d| d.fixed() == Some(0));
    !empty
        && (a.len() != b.len()
            || old.sizes.iter().zip(a.iter().zip(b)).any(|(size, (x, y))| {
                size.fixed() != Some(1) && graph.symbols.known(*x, airlock::sym::Relation::Equal, *y) == Some(false)
            }))
}

fn tensors<'a>(old: &'a ValueType, new: &'a ValueType) -> Vec<(&'a TensorType, &'a TensorType)> {
    match (old, new) {
        (ValueType::Tensor(a), ValueType::Tensor(b)) => vec![(a, b)],
        (ValueType::Many(a), ValueType::Many(b)) => {
            a.iter().zip(b.iter()).filter_map(|(x, y)| Some((x.as_tensor()?, y.as_tensor()?))).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn archived_models_have_the_strides_that_the_rules_give() {
    let registry = Registry::standard();
    let (mut stated, mut unknown, mut wrong) = (0, 0, Vec::new());
    for file in in_repository("pt2") {
        let name = file.display().to_string();
        let mut graph = pt2::read(&file, &registry).unwrap().graph;
        let mut symbols = std::mem::take(&mut graph.symbols);
        let mut found = Vec::new();
        for node in calls(&graph) {
            found.push((node, registry.infer_in(&graph, &mut symbols, CallSite::of(&graph, node))));
        }
        graph.symbols = symbols;
        for (node, result) in found {
            let site = format!("{name}: {} = {}", graph.name(node), graph.target(node));
            let new = match result {
                Ok(new) => new,
                Err(e) => {
                    wrong.push(format!("{site}: {e}"));
                    continue;
                }
            };
            for (a, b) in tensors(graph.ty(node), &new) {
                stated += 1;
                unknown += usize::from(b.strides.is_none());
                if a.dtype != b.dtype || strides_differ(&graph, a, b) {
                    wrong.push(format!(
                        "{site}: {} strides {:?}, the rule says {} {:?}",
                        a.print(&graph.symbols),
                        a.strides,
                        b.print(&graph.symbols),
                        b.strides
                    ));
                }
            }
        }
    }
    println!("{stated} tensors, strides of {unknown} left open, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(stated > 3800 && unknown * 50 < stated, "{stated} {unknown}");
}

#[test]
fn a_wrong_annotation_is_reported_where_it_is_provably_wrong() {
    let registry = Registry::standard();
    let program = |annotation: &str| {
        format!(
            "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[2, 3]\"):\n        \
             relu: \"{annotation}\" = torch.ops.aten.relu.default(x);  x = None\n        return (relu,)\n"
        )
    };
    let problems = |annotation: &str| {
        let mut graph = text::read(&program(annotation), &text::ReadOptions::default()).unwrap();
        registry.check_types(&mut graph).iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(problems("f32[2, 3]"), [] as [&str; 0]);
    assert_eq!(problems("f32[s0, 3]"), [] as [&str; 0]);
    assert_eq!(problems("f16[2, 3]"), ["node `relu`: annotated f16[2, 3], but `aten.relu.default` gives f32[2, 3]"]);
    assert_eq!(problems("f32[2, 4]"), ["node `relu`: annotated f32[2, 4], but `aten.relu.default` gives f32[2, 3]"]);
}

#[test]
fn types_that_nobody_annotated_come_from_the_rules() {
    let registry = Registry::standard();
    let text = "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[2, s0]\"):\n        \
                permute = torch.ops.aten.permute.default(x, [1, 0]);  x = None\n        \
                to = torch.ops.aten.to.dtype(permute, torch.float16)\n        return (to,)\n";
    let mut graph = text::read(text, &text::ReadOptions::default()).unwrap();
    assert_eq!(registry.check_types(&mut graph), []);
    let to = graph.find_name(airlock::graph::BodyId::ROOT, "to").unwrap();
    let ty = graph.ty(to).as_tensor().unwrap();
    assert_eq!((ty.dtype, ty.print(&graph.symbols)), (Dtype::F16, "f16[s0, 2]".to_string()));
    assert_eq!(ty.strides.as_ref().unwrap()[0].fixed(), Some(1));
}

/// Cases whose label says that they are well formed have nothing to report, and every call of a known operator is typed.
#[test]
fn cases_of_the_corpus_have_the_types_that_the_rules_give() {
    if std::env::var_os("AIRLOCK_CORPUS").is_none() {
        eprintln!("skipped: AIRLOCK_CORPUS is not set");
        return;
    }
    let mut registry = Registry::standard();
    let corpus = std::path::PathBuf::from(std::env::var_os("AIRLOCK_CORPUS").unwrap());
    registry.extend_toml(&std::fs::read_to_string(corpus.join("cases/ops.toml")).unwrap()).unwrap();
    let mut graphs: Vec<(String, Graph)> = Vec::new();
    for file in common::files("case") {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.display().to_string();
        let Ok(case) = text::case::read(&text, &text::ReadOptions::of_file(&name)) else { continue };
        graphs.push((format!("{name} before"), case.before));
        if !["malformed", "recorded"].contains(&case.meta.label.as_str()) {
            graphs.push((format!("{name} after"), case.after));
        }
    }
    for file in common::files("fx").into_iter().filter(|f| f.display().to_string().contains("torchair")) {
        let text = std::fs::read_to_string(&file).unwrap();
        if let Ok(graph) = text::read(&text, &text::ReadOptions::default()) {
            graphs.push((file.display().to_string(), graph));
        }
    }
    let (mut wrong, mut untyped, mut nodes) = (Vec::new(), std::collections::BTreeMap::<String, usize>::new(), 0);
    for (name, graph) in &mut graphs {
        wrong.extend(registry.check_types(graph).iter().map(|p| format!("{name}: {p}")));
        for node in calls(graph) {
            nodes += 1;
            if let Err(e) = registry.infer_node(graph, node)
                && e.fault.is_ignorance()
            {
                *untyped.entry(e.to_string()).or_default() += 1;
            }
        }
    }
    println!("{} graphs, {nodes} calls, {} wrong", graphs.len(), wrong.len());
    untyped.iter().for_each(|(why, n)| println!("  {n} not typed: {why}"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What never raises where types are right takes every word that its type rule takes: the rule must know them.
#[test]
fn operators_that_never_raise_refuse_words_that_they_do_not_know() {
    let registry = Registry::standard();
    let total = registry.operators().filter(|o| o.facts.total != Total::Never);
    let mut asked = 0;
    for operator in total {
        let Some(word) = operator.schema.params.iter().position(|p| p.ty.base == Base::Str) else { continue };
        let call = |word: &str| {
            let args: Vec<String> = operator
                .schema
                .params
                .iter()
                .filter(|p| p.default.is_none() || p.ty.base == Base::Str)
                .map(|p| match p.ty.base {
                    Base::Tensor if p.ty.suffixes.is_empty() => format!("{} = x", p.name),
                    Base::Tensor => format!("{} = [x]", p.name),
                    Base::Str => format!("{} = '{word}'", p.name),
                    _ if !p.ty.suffixes.is_empty() => format!("{} = [1, 1]", p.name),
                    _ => format!("{} = 1", p.name),
                })
                .collect();
            let call = format!("        r = torch.ops.{}({})\n", operator.target, args.join(", "));
            let text = format!(
                "class GraphModule(torch.nn.Module):\n    def forward(self, x: \"f32[2, 3]\"):\n{call}        return (r,)\n"
            );
            let mut graph =
                text::read(&text, &text::ReadOptions::default()).unwrap_or_else(|e| panic!("{}", e.render()));
            registry.check_types(&mut graph)
        };
        asked += 1;
        let param = &operator.schema.params[word].name;
        let problems: Vec<String> = call("no such word?").iter().map(ToString::to_string).collect();
        assert!(problems.iter().any(|p| p.contains(&**param)), "{}: {problems:?}", operator.target);
    }
    assert!(asked > 1, "{asked}");
}
