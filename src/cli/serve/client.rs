//! One connection: lines, jobs, answers.
//!
//! Promises: a line is read when the one before it is answered, and takes no more memory than a line may have; what is no job, and what a job panics
//! with, is an answer too.

use std::io::{BufRead, BufReader, Write};
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

use super::{Server, is_over};
use crate::cli::run::{self, RunArgs};
use crate::cli::{Color, Exit, Format, Global, output};
use crate::contract::Limits;
use crate::pipeline::Place;

/// Bytes of a line.
const LINE: usize = 1 << 20;
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
    /// Asks for what is counted.
    #[serde(default)]
    metrics: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    id: &'a Value,
    exit: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<super::metrics::Told>,
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
        let answer = Answer { id: &Value::Null, exit: 2, report: None, error: Some(why.clone()), metrics: None };
        // It may be gone.
        let _ = send(stream, &answer);
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
    let mut lines = BufReader::new(stream);
    while !is_over() {
        match line(&mut lines) {
            Ok(Some(line)) if line.trim_ascii().is_empty() => {}
            Ok(Some(line)) => {
                if !answer(server, stream, client, &line) {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                let error = Some(error.to_string());
                let answer = Answer { id: &Value::Null, exit: 2, report: None, error, metrics: None };
                // What comes next cannot be told from the rest of this.
                let _ = send(stream, &answer);
                return;
            }
        }
    }
}

/// Reads a line; nothing where no further one comes.
fn line(lines: &mut impl BufRead) -> anyhow::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    loop {
        let come = match lines.fill_buf() {
            Ok(come) => come,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return Ok(None),
        };
        if come.is_empty() {
            // A line without an end is none.
            return Ok(None);
        }
        let end = come.iter().position(|b| *b == b'\n');
        line.extend_from_slice(come.get(..end.unwrap_or(come.len())).unwrap_or_default());
        let used = end.map_or(come.len(), |end| end.saturating_add(1));
        lines.consume(used);
        if line.len() > LINE {
            bail!("a line of more than {LINE} bytes");
        }
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

/// Answers a line; returns whether the client took the answer.
fn answer(server: &Server, stream: &UnixStream, client: i32, line: &[u8]) -> bool {
    let began = Instant::now();
    let asked: Asked = match serde_json::from_slice(line) {
        Ok(asked) => asked,
        Err(error) => {
            let error = Some(format!("this is no job: {error}"));
            server.metrics.begun();
            let is_sent = send(stream, &Answer { id: &Value::Null, exit: 2, report: None, error, metrics: None });
            server.metrics.answered(Exit::Bad, began.elapsed(), is_sent);
            return is_sent;
        }
    };
    if asked.metrics {
        let metrics = Some(server.metrics.told(&server.workers));
        return send(stream, &Answer { id: &asked.id, exit: 0, report: None, error: None, metrics });
    }
    server.metrics.begun();
    let place = server.gate.enter(client);
    let waited = began.elapsed();
    let done = catch_unwind(AssertUnwindSafe(|| job(server, asked.run)));
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
    let is_sent = send(stream, &Answer { id: &asked.id, exit: code(exit), report, error, metrics: None });
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

fn job(server: &Server, words: Option<Vec<String>>) -> anyhow::Result<(Exit, Value)> {
    let Some(words) = words else { bail!("this is no job: it has neither `run` nor `metrics`") };
    let Line { run: mut args } = Line::try_parse_from(words).map_err(|e| anyhow::anyhow!("{}", e.render()))?;
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
    Ok((done.exit, serde_json::to_value(done.report())?))
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

/// Sends an answer as one line; returns whether the client took it.
fn send(mut stream: &UnixStream, answer: &Answer<'_>) -> bool {
    let Ok(text) = serde_json::to_string(answer) else { return false };
    let mut text = output::ascii(&text);
    text.push('\n');
    stream.write_all(text.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_an_end_and_a_length() {
        let mut lines = BufReader::with_capacity(3, &b"first\n\nlast without end"[..]);
        assert_eq!(line(&mut lines).unwrap().unwrap(), b"first");
        assert_eq!(line(&mut lines).unwrap().unwrap(), b"");
        assert_eq!(line(&mut lines).unwrap(), None);
        let long = vec![b'x'; LINE + 2];
        assert!(line(&mut BufReader::new(&long[..])).unwrap_err().to_string().contains("a line of more than"));
    }

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
