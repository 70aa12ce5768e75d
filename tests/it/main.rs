//! What Airlock promises, one module a promise, in one binary: linked once.
//!
//! - `e2e`: the binary, as a user runs it; `common`: files of the tree, archives, recordings; `graphs`, `components`: what sandboxes are tried on.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects,
    clippy::explicit_auto_deref,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    missing_docs
)]

mod common;
#[cfg(feature = "sandbox")]
mod components;
mod e2e;
#[cfg(feature = "sandbox")]
mod graphs;

mod bad_input;
mod bad_pt2;
#[cfg(all(feature = "sandbox", target_os = "linux"))]
mod bench;
mod builtin_passes;
mod calling;
mod certificates;
mod commands;
mod decompositions;
mod effects_of_calls;
mod exec;
mod exec_facts;
mod exec_models;
mod exec_tiles;
mod families;
mod fuzz_corpus;
mod ge_proto;
mod golden;
mod golden_types;
mod guests;
#[cfg(all(feature = "sandbox", target_os = "linux"))]
mod hostile;
mod hostile_files;
mod hostile_pickle;
mod inputs_config;
mod judge_cases;
mod judge_fuzz;
mod judge_laws;
mod judge_promises;
#[cfg(feature = "sandbox")]
mod languages;
mod layers;
mod lower_beyond;
mod lower_converters;
mod lower_faults;
mod lower_forms;
mod lower_ge_files;
mod lower_lines;
mod lower_options;
mod lower_runs;
mod lower_torchair;
mod lower_verified;
mod lower_wrong;
mod mutants;
mod operator_facts;
mod operators_doc;
mod pt2;
mod pt2_older;
mod real_graphs;
#[cfg(feature = "sandbox")]
mod reduce;
mod refuted;
mod regions;
#[cfg(feature = "sandbox")]
mod released_components;
mod rule_admission;
mod rules_doc;
#[cfg(feature = "sandbox")]
mod run;
#[cfg(feature = "sandbox")]
mod sandbox_guests;
#[cfg(feature = "sandbox")]
mod sandbox_hostile;
#[cfg(all(feature = "sandbox", target_os = "linux"))]
mod sandbox_many;
#[cfg(feature = "sandbox")]
mod sandbox_refused;
#[cfg(all(feature = "sandbox", target_os = "linux"))]
mod sandbox_walls;
#[cfg(all(feature = "sandbox", target_os = "linux"))]
mod sandbox_workers;
#[cfg(all(feature = "sandbox", target_os = "linux"))]
mod serve;
mod streams_cases;
mod streams_lowered;
mod streams_schedules;
mod symbolic_text_is_pytorchs;
mod text_errors_show_the_line;
mod text_laws;
mod text_prints_as_read;
mod text_reads_cases;
mod torchair_fusions;
mod type_rules;
mod user_rules;
mod xla_rules;
