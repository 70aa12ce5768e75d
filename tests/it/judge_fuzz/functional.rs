//! Random programs and their graphs without writes, run on the same inputs.

use airlock::functionalize::{functionalize_fully, writes};
use airlock::graph::{BodyId, View};

use super::compare::{Kind, compare};
use super::generate::Gen;
use super::pair::{self, First};
use super::random::mix;
use super::run;

/// How many programs are made, and how many of these at least must write and be run.
const PROGRAMS: u64 = 700;
const RUN: usize = 60;

/// What differs when a program is run with its writes taken out; `None` where nothing does, or it cannot be taken out or run.
fn different(first: &First, ran: &mut usize) -> Option<String> {
    let taken = functionalize_fully(&first.graph, run::registry()).ok()?;
    for (binding, seen) in first.bindings.iter().zip(&first.seen) {
        let Some(x) = seen.as_ref().filter(|s| s.raised.is_none() && !binding.alias) else { continue };
        let Ok(y) = run::run(&first.program, &taken.graph, binding) else { continue };
        *ran += 1;
        let found = compare(&first.program, &first.program, x, &y);
        // Where outputs lie is asked of the graphs as they are.
        if let Some(d) = found.filter(|d| !matches!(d.kind, Kind::Sharing | Kind::Storage)) {
            let again = run::run(&first.program, &first.graph, binding).ok()?;
            if compare(&first.program, &first.program, x, &again).is_none() {
                return Some(format!("{:?}: {}\n{}", d.kind, d.what, first.program.text(false)));
            }
        }
    }
    None
}

#[test]
fn random_programs_with_their_writes_taken_out_leave_the_same() {
    let (mut ran, mut writing, mut wrong) = (0, 0, Vec::new());
    let programs = std::env::var("AIRLOCK_FUZZ_FUNCTIONAL").ok().and_then(|t| t.parse().ok()).unwrap_or(PROGRAMS);
    for number in 0..programs {
        let seed = mix(number.wrapping_add(0xF0_0000));
        let mut g = Gen::new(seed, &[]);
        g.program();
        // The last places of products of complex numbers depend on how these lie.
        if g.opaque || g.p.text(false).contains("c64") {
            continue;
        }
        let Some(first) = pair::first(&g.p, seed) else { continue };
        let graph = &first.graph;
        if graph.bodies().count() > 1 || !graph.nodes(BodyId::ROOT).any(|n| writes(graph, run::registry(), n)) {
            continue;
        }
        // A draw fills memory in its order, and values that are made anew may lie otherwise.
        let draws = |n| run::registry().operator_of(graph, n).is_some_and(|o| o.effects.random);
        if graph.nodes(BodyId::ROOT).any(draws) {
            continue;
        }
        writing += 1;
        wrong.extend(different(&first, &mut ran));
    }
    println!("{writing} programs write; {ran} runs without writes");
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong[..wrong.len().min(3)].join("\n"));
    assert!(ran > RUN, "{ran}");
}
