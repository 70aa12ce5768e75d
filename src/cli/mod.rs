//! The command line: one file a command; each parses, calls, prints, exits.
//!
//! Promises: results on standard output, everything else on standard error; exit 0 done, 1 refused or different, 2 bad
//! input or usage (nothing written), 3 a pass faulted. Leaves every decision to the layers below.

#[cfg(feature = "sandbox")]
mod bench;
mod build;
#[cfg(all(feature = "sandbox", target_os = "linux"))]
mod cache;
mod check_certificate;
mod convert;
mod diff;
mod exec;
mod host;
mod inspect;
mod load;
mod lower;
mod new;
mod ops;
mod output;
#[cfg(feature = "sandbox")]
mod passing;
mod progress;
#[cfg(feature = "sandbox")]
mod reduce;
mod rules;
#[cfg(feature = "sandbox")]
mod run;
#[cfg(all(feature = "sandbox", target_os = "linux"))]
mod serve;
mod test;
#[cfg(feature = "sandbox")]
mod test_pass;
mod verify;
mod watch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};

pub use output::Exit;

use crate::graph::InputLayout;
use crate::ops::Registry;
use crate::pipeline::Config;
use crate::pipeline::settle::Search;
use crate::pipeline::user_rules;
use crate::verify::{Mode, Policy, UserRules};

/// Lets people who did not write your compiler change the graphs that it compiles, without being able to break them.
#[derive(Parser, Debug)]
#[command(name = "airlock", version, max_term_width = 120, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    global: Global,
}

const EXAMPLES: &str = "\
Examples:
  airlock run model.pt2 --pass split.wasm -o out.pt2 --lower out.pbtxt
  airlock verify before.fx after.fx
  airlock diff model.pt2 out.pt2
  airlock new my-pass && airlock build my-pass -o my-pass.wasm";

/// Options that every command takes.
#[derive(Args, Debug, Clone)]
pub struct Global {
    /// Form of the results on standard output.
    #[arg(long, value_enum, default_value = "text", global = true)]
    pub format: Format,
    /// Say less: no summaries, only results and errors.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Say more; adds up.
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub verbose: u8,
    /// Colours.
    #[arg(long, value_enum, default_value = "auto", global = true)]
    pub color: Color,
    /// No progress bars.
    #[arg(long, global = true)]
    pub no_progress: bool,
}

/// Form of the results.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people.
    Text,
    /// One object.
    Json,
    /// SARIF 2.1.0 (`test`, `verify`).
    Sarif,
    /// JUnit XML (`test`).
    Junit,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Text => "text",
            Format::Json => "json",
            Format::Sarif => "sarif",
            Format::Junit => "junit",
        }
    }
}

/// When to colour.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Reads a mode's name.
fn modes() -> impl TypedValueParser<Value = Mode> {
    PossibleValuesParser::new(["max-autotune", "reduce-overhead"])
        .map(|name| Mode::from_name(&name).unwrap_or_default())
}

/// Reads a policy's name.
fn policies() -> impl TypedValueParser<Value = Policy> {
    PossibleValuesParser::new(["strict", "default", "advisory"])
        .map(|name| Policy::from_name(&name).unwrap_or_default())
}

/// How graphs are read.
#[derive(Args, Debug, Clone, Default)]
pub struct Reading {
    /// More operators: an `ops.toml` with schemas. May be given more than once.
    #[arg(long, value_name = "FILE")]
    pub ops: Vec<PathBuf>,
    /// Weights of a `.fx` model.
    #[arg(long, value_name = "FILE.safetensors")]
    pub weights: Option<PathBuf>,
    /// Take what the text of a `.fx` model leaves out from this model of the same inputs and outputs: values of constant inputs, trees of
    /// arguments, strides of inputs, and weights.
    #[arg(long, value_name = "MODEL.pt2")]
    pub like: Option<PathBuf>,
    /// How inputs lie of which a model states no strides, as the configuration says.
    #[arg(skip)]
    pub layout: InputLayout,
}

impl Reading {
    /// Adds what a configuration says of reading.
    pub fn under(&self, config: &Config) -> Reading {
        let mut all = self.clone();
        all.ops.extend(config.file.ops.iter().cloned());
        all.layout = config.file.inputs.layout;
        all
    }

    /// Returns these files and those that are read beside them.
    pub fn files<'a>(&'a self, models: &[&'a Path]) -> Vec<&'a Path> {
        let more = self.ops.iter().chain(&self.weights).chain(&self.like).map(PathBuf::as_path);
        models.iter().copied().chain(more).collect()
    }
}

/// How long is looked for inputs that show a difference.
#[derive(Args, Debug, Clone, Default)]
pub struct Searching {
    /// Seed of the inputs on which both graphs are run; with it nothing rests on fingerprints, which are drawn anew in every run.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// On how many inputs both graphs are run where values are not proved; 0: on none.
    #[arg(long, value_name = "N")]
    pub trials: Option<usize>,
    /// How many seconds this may take.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub time: Option<f64>,
}

/// Rules that the user states.
#[derive(Args, Debug, Clone, Default)]
pub struct Stating {
    /// Rules that may be used beside those of the judge: a `.case` each, which must pass the gate first (`airlock rules --admit FILE`). Verdicts name what they rest on.
    #[arg(long, value_name = "FILE.case")]
    pub rules: Vec<PathBuf>,
}

impl Stating {
    /// Reads these rules, and those of a configuration.
    pub fn read(&self, config: Option<&Config>, registry: &Registry) -> anyhow::Result<UserRules> {
        let stated = config.map(|config| config.file.rules.as_slice()).unwrap_or_default();
        let files: Vec<PathBuf> = stated.iter().chain(&self.rules).cloned().collect();
        Ok(user_rules::read(&files, registry)?)
    }
}

/// Reads a number of seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|v| (0.0..=1e6).contains(v));
    number.ok_or_else(|| "expected seconds from 0 to 1000000".into())
}

impl Searching {
    /// Returns what is stated of the search.
    pub fn search(&self) -> Search {
        Search { seed: self.seed, trials: self.trials, seconds: self.time }
    }
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run passes on a model, judge each, write what was accepted.
    #[cfg(feature = "sandbox")]
    Run(Box<run::RunArgs>),
    /// Find the smallest model on which a pass is still refused, or a command still fails.
    #[cfg(feature = "sandbox")]
    Reduce(reduce::ReduceArgs),
    /// Judge a rewrite that something else made.
    Verify(verify::VerifyArgs),
    /// Show again what a certificate states, without a search.
    CheckCertificate(check_certificate::CheckCertificateArgs),
    /// Tell what is in a model, a graph, a pass or a GE graph.
    Inspect(inspect::InspectArgs),
    /// Show the edit between two graphs, node by node.
    Diff(diff::DiffArgs),
    /// Convert between `.pt2` and `.fx`; the output's ending decides.
    Convert(convert::ConvertArgs),
    /// Run a model on the CPU, and compare.
    Exec(exec::ExecArgs),
    /// Lower a model to a GE graph, or compare with one.
    Lower(lower::LowerArgs),
    /// Judge `.case` files and folders of them.
    Test(test::TestArgs),
    /// Tell what Airlock knows of operators.
    Ops(ops::OpsArgs),
    /// Tell by which rules values are shown equal.
    Rules(rules::RulesArgs),
    /// Begin a pass.
    New(new::NewArgs),
    /// Build a guest's sources to a component.
    Build(build::BuildArgs),
    /// Tell which passes are kept compiled, or let go of them.
    #[cfg(all(feature = "sandbox", target_os = "linux"))]
    Cache(cache::CacheArgs),
    /// Tell what a pass costs on a model.
    #[cfg(feature = "sandbox")]
    Bench(Box<bench::BenchArgs>),
    /// Run passes for programs that run them often: jobs come over a local socket.
    #[cfg(all(feature = "sandbox", target_os = "linux"))]
    Serve(serve::ServeArgs),
    /// Serve the host that started this process: standard input is its end.
    #[cfg(all(feature = "sandbox", target_os = "linux"))]
    #[command(hide = true)]
    Worker,
}

impl Command {
    /// The command's name, and the forms of results that it has.
    fn forms(&self) -> (&'static str, &'static [Format]) {
        use Format::{Json, Junit, Sarif, Text};
        match self {
            #[cfg(feature = "sandbox")]
            Command::Run(_) => ("run", &[Text, Json]),
            #[cfg(feature = "sandbox")]
            Command::Reduce(_) => ("reduce", &[Text, Json]),
            Command::Verify(_) => ("verify", &[Text, Json, Sarif]),
            Command::CheckCertificate(_) => ("check-certificate", &[Text, Json]),
            Command::Inspect(_) => ("inspect", &[Text, Json]),
            Command::Diff(_) => ("diff", &[Text, Json]),
            Command::Convert(_) => ("convert", &[Text, Json]),
            Command::Exec(_) => ("exec", &[Text, Json]),
            Command::Lower(_) => ("lower", &[Text, Json]),
            Command::Test(_) => ("test", &[Text, Json, Sarif, Junit]),
            Command::Ops(_) => ("ops", &[Text, Json]),
            Command::Rules(_) => ("rules", &[Text, Json]),
            Command::New(_) => ("new", &[Text, Json]),
            Command::Build(_) => ("build", &[Text, Json]),
            #[cfg(all(feature = "sandbox", target_os = "linux"))]
            Command::Cache(_) => ("cache", &[Text, Json]),
            #[cfg(feature = "sandbox")]
            Command::Bench(_) => ("bench", &[Text, Json]),
            #[cfg(all(feature = "sandbox", target_os = "linux"))]
            Command::Serve(_) => ("serve", &[Text]),
            #[cfg(all(feature = "sandbox", target_os = "linux"))]
            Command::Worker => ("worker", &[Text]),
        }
    }
}

/// Refuses a form of results that the command does not have.
fn check_format(command: &Command, wanted: Format) -> anyhow::Result<()> {
    let (name, forms) = command.forms();
    if !forms.contains(&wanted) {
        let known: Vec<&str> = forms.iter().map(|f| f.name()).collect();
        anyhow::bail!("`airlock {name}` has no --format {}; it has {}", wanted.name(), known.join(", "));
    }
    Ok(())
}

/// Runs the command line; this is all of `main`.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    #[cfg(all(feature = "sandbox", target_os = "linux"))]
    if matches!(cli.command, Command::Worker) {
        // Before anything else starts a thread.
        return crate::sandbox::worker::main();
    }
    let global = &cli.global;
    // Without a handler an interrupt still ends the process; only what is being written would stay behind.
    let _ = ctrlc::set_handler(|| {
        #[cfg(all(feature = "sandbox", target_os = "linux"))]
        if serve::drain() {
            return;
        }
        crate::formats::remove_unfinished();
        std::process::exit(130);
    });
    output::set_color(global.color);
    let result = check_format(&cli.command, global.format).and_then(|()| dispatch(&cli.command, global));
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            output::error(&error);
            Exit::Bad.into()
        }
    }
}

fn dispatch(command: &Command, global: &Global) -> anyhow::Result<Exit> {
    match command {
        #[cfg(feature = "sandbox")]
        Command::Run(args) => run::run(args, global),
        #[cfg(feature = "sandbox")]
        Command::Reduce(args) => reduce::reduce(args, global),
        Command::Verify(args) => verify::verify(args, global),
        Command::CheckCertificate(args) => check_certificate::check_certificate(args, global),
        Command::Inspect(args) => inspect::inspect(args, global),
        Command::Diff(args) => diff::diff(args, global),
        Command::Convert(args) => convert::convert(args, global),
        Command::Exec(args) => exec::exec(args, global),
        Command::Lower(args) => lower::lower(args, global),
        Command::Test(args) => test::test(args, global),
        Command::Ops(args) => ops::ops(args, global),
        Command::Rules(args) => rules::rules(args, global),
        Command::New(args) => new::new(args, global),
        Command::Build(args) => build::build(args, global),
        #[cfg(all(feature = "sandbox", target_os = "linux"))]
        Command::Cache(args) => cache::cache(args, global),
        #[cfg(feature = "sandbox")]
        Command::Bench(args) => bench::bench(args, global),
        #[cfg(all(feature = "sandbox", target_os = "linux"))]
        Command::Serve(args) => serve::serve(args, global),
        #[cfg(all(feature = "sandbox", target_os = "linux"))]
        Command::Worker => anyhow::bail!("a worker is no command for people"),
    }
}
