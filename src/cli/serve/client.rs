//! One connection: lines, jobs, answers.
//!
//! Promises: a line is read when the one before it is answered; what is no job, and what a job panics with, is an answer too.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Parser;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tracing::{info, warn};

use super::lines::{self, Came, Lines};
use super::shared::Shared;
use super::{Server, is_over};
use crate::cli::run::{self, RunArgs};
use crate::cli::{Color, Exit, Format, Global, output};
use crate::contract::Limits;
use crate::pipeline::Place;

/// How long a client may take to take its answer.
const TAKING: Duration = Duration::from_secs(30);

/// What a client asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// Comes back with the answer.
    #[serde(default)]
    id: Value,
    /// What `airlock run` takes.
    run: Option<Vec<String>>,
    /// Names in it that are memory: of the model, whose descriptor comes with the line, and of outputs.
    #[serde(default)]
    shared: Vec<String>,
    /// Asks for what is counted.
    #[serde(default)]
    metrics: bool,
}

#[derive(Serialize, Default)]
struct Answer {
    id: Value,
    exit: u8,
    /// Outputs whose descriptors come with this line, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shared: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<super::metrics::Told>,
}

impl Answer {
    /// To what is no job, or nobody's.
    fn bad(why: String) -> Self {
        Self { exit: 2, error: Some(why), ..Self::default() }
    }
}

#[derive(Parser, Debug)]
#[command(name = "run", no_binary_name = true, disable_help_flag = true)]
struct Line {
    #[command(flatten)]
    run: RunArgs,
}

/// Lets a client in, and serves it on a thread of its own; one too many is told so.
pub(super) fn welcome(server: &Arc<Server>, stream: UnixStream) -> Option<JoinHandle<()>> {
    let served = enter(server, &stream).and_then(|(number, client)| {
        let own = server.clone();
        let thread = std::thread::Builder::new().name("airlock-client".into());
        let thread = thread.spawn(move || {
            serve(&own, &stream, client);
            own.connections().open.remove(&number);
            info!(client, "gone");
        });
        thread.context("no thread for it")
    });
    server.metrics.welcomed(served.is_ok());
    served.inspect_err(|error| warn!(%error, "a client is sent away")).ok()
}

fn enter(server: &Server, stream: &UnixStream) -> anyhow::Result<(u64, i32)> {
    stream.set_write_timeout(Some(TAKING))?;
    let who = getsockopt(stream, PeerCredentials)?;
    let refused = |why: String| {
        // It may be gone.
        let _ = send(stream, Answer::bad(why.clone()), &Shared::default());
        anyhow::anyhow!(why)
    };
    if who.uid() != nix::unistd::geteuid().as_raw() {
        return Err(refused("this server is another user's".into()));
    }
    let mut connections = server.connections();
    let own = connections.open.values().filter(|(_, client)| *client == who.pid()).count();
    if connections.open.len() >= server.most || own >= server.most_of_one {
        return Err(refused(format!(
            "too many connections: {} of {}, {own} of {} of this process",
            connections.open.len(),
            server.most,
            server.most_of_one
        )));
    }
    let number = connections.next;
    connections.next = number.wrapping_add(1);
    connections.open.insert(number, (stream.try_clone()?, who.pid()));
    info!(client = who.pid(), "connected");
    Ok((number, who.pid()))
}

fn serve(server: &Server, stream: &UnixStream, client: i32) {
    let mut lines = Lines::of(stream);
    while !is_over() {
        match lines.next() {
            Ok(Some(came)) if came.line.trim_ascii().is_empty() => {}
            Ok(Some(came)) => {
                if !answer(server, stream, client, &came) {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                // What comes next cannot be told from the rest of this.
                let _ = send(stream, Answer::bad(error.to_string()), &Shared::default());
                return;
            }
        }
    }
}

/// Answers a line; returns whether the client took the answer.
fn answer(server: &Server, stream: &UnixStream, client: i32, came: &Came) -> bool {
    let began = Instant::now();
    let mut shared = Shared::default();
    let asked: Asked = match serde_json::from_slice(&came.line) {
        Ok(asked) => asked,
        Err(error) => {
            server.metrics.begun();
            let is_sent = send(stream, Answer::bad(format!("this is no job: {error}")), &shared);
            server.metrics.answered(Exit::Bad, began.elapsed(), is_sent);
            return is_sent;
        }
    };
    if asked.metrics {
        let metrics = Some(server.metrics.told(&server.workers));
        return send(stream, Answer { id: asked.id, metrics, ..Answer::default() }, &shared);
    }
    server.metrics.begun();
    let place = server.gate.enter(client);
    let waited = began.elapsed();
    let done = catch_unwind(AssertUnwindSafe(|| job(server, &asked, &came.descriptors, &mut shared)));
    drop(place);
    let done = done.unwrap_or_else(|_| bail_defect());
    let (exit, report, error) = match done {
        Ok((exit, report)) => (exit, Some(report), None),
        Err(error) => (Exit::Bad, None, Some(format!("{error:#}"))),
    };
    let took = began.elapsed();
    info!(
        client,
        id = %shown(&asked.id),
        exit = code(exit),
        waited_ms = millis(waited),
        ms = millis(took),
        error = error.as_deref().map(|e| crate::contract::shown(e, 300)),
        "answered"
    );
    let answer = Answer { id: asked.id, exit: code(exit), report, error, ..Answer::default() };
    let is_sent = send(stream, answer, &shared);
    server.metrics.answered(exit, took, is_sent);
    is_sent
}

fn bail_defect<T>() -> anyhow::Result<T> {
    bail!("a defect of Airlock: this job panicked; what it said is in the server's log")
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn code(exit: Exit) -> u8 {
    match exit {
        Exit::Done => 0,
        Exit::Refused => 1,
        Exit::Bad => 2,
        Exit::Faulted => 3,
    }
}

fn shown(id: &Value) -> String {
    crate::contract::shown(&id.to_string(), 100)
}

fn job(server: &Server, asked: &Asked, came: &[OwnedFd], shared: &mut Shared) -> anyhow::Result<(Exit, Value)> {
    let Some(words) = &asked.run else { bail!("this is no job: it has neither `run` nor `metrics`") };
    let Line { run: mut args } = Line::try_parse_from(words).map_err(|e| anyhow::anyhow!("{}", e.render()))?;
    let mut made = Shared::take(&mut args, &asked.shared, came)?;
    args.check_served()?;
    if let Some(config) = &server.config {
        args.set_config(config);
    }
    let global = Global { format: Format::Json, quiet: true, verbose: 0, color: Color::Never, no_progress: true };
    let settled = run::settle(&args)?;
    check_limits(&settled.config.file.limits, &server.limits)?;
    let (reading, wanted) = run::checked(&args, &settled, &global)?;
    let done = if reading.ops == server.operators {
        run::perform(&args, &settled, (&reading, wanted), &server.place, &global)?
    } else {
        let place = Place::Apart(server.workers.clone(), reading.sources().operator_texts()?);
        run::perform(&args, &settled, (&reading, wanted), &place, &global)?
    };
    let report = serde_json::to_value(done.report())?;
    made.keep(&done.in_place)?;
    *shared = made;
    Ok((done.exit, report))
}

/// Refuses limits beyond those of the server.
fn check_limits(wanted: &Limits, most: &Limits) -> anyhow::Result<()> {
    let (Value::Object(wanted), Value::Object(most)) = (serde_json::to_value(wanted)?, serde_json::to_value(most)?)
    else {
        bail!("limits are no table");
    };
    for (name, value) in &wanted {
        let Some(most) = most.get(name) else { continue };
        if value.as_f64() > most.as_f64() {
            bail!("limits.{name} = {value} is more than this server allows: {most}");
        }
    }
    Ok(())
}

/// Sends an answer as one line, and what is shared with it; returns whether the client took it.
fn send(stream: &UnixStream, answer: Answer, shared: &Shared) -> bool {
    let (names, descriptors) = shared.given();
    let Ok(text) = serde_json::to_string(&Answer { shared: names, ..answer }) else { return false };
    let mut text = output::ascii(&text);
    text.push('\n');
    lines::send(stream, &text, &descriptors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_goes_no_further_than_the_server() {
        let most = Limits::default();
        let with = |change: fn(&mut Limits)| {
            let mut limits = most.clone();
            change(&mut limits);
            check_limits(&limits, &most).map_err(|e| e.to_string())
        };
        assert_eq!(with(|l| l.memory_bytes = 1), Ok(()));
        assert!(with(|l| l.memory_bytes = 1 << 40).unwrap_err().contains("limits.memory_bytes = 1099511627776"));
        assert!(with(|l| l.time_seconds = 61.0).unwrap_err().contains("limits.time_seconds"));
    }
}
