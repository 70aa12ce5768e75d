//! `airlock inspect --host`: which walls stand around what runs passes on this machine.

use serde::Serialize;

use super::{Exit, Format, Global, output};

#[derive(Serialize)]
struct Host {
    kind: &'static str,
    /// Whether passes run without `--in-process`.
    safe: bool,
    walls: Vec<Wall>,
}

#[derive(Serialize)]
struct Wall {
    name: String,
    stands: bool,
    detail: String,
}

pub fn inspect(global: &Global) -> anyhow::Result<Exit> {
    let walls = walls()?;
    let safe = walls.iter().any(|w| w.name == "seccomp" && w.stands);
    if global.format == Format::Json {
        output::print_json(&Host { kind: "host", safe, walls })?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for Wall { name, stands, detail } in &walls {
        let word = if *stands { "stands" } else { "missing" };
        text.push_str(&format!("{name:<12} {word:<8} {detail}\n"));
    }
    text.push_str(if safe {
        "passes run in processes of their own\n"
    } else {
        "passes run with --in-process only: system calls of a process of their own would not be filtered\n"
    });
    output::print(&text)?;
    Ok(Exit::Done)
}

#[cfg(all(feature = "sandbox", target_os = "linux"))]
fn walls() -> anyhow::Result<Vec<Wall>> {
    use crate::sandbox::worker::{self, Workers};
    let walls = worker::walls_here(&Workers::of_this_program())?;
    Ok(walls.into_iter().map(|w| Wall { name: w.name, stands: w.stands, detail: w.detail }).collect())
}

#[cfg(not(all(feature = "sandbox", target_os = "linux")))]
fn walls() -> anyhow::Result<Vec<Wall>> {
    anyhow::bail!("this Airlock has no worker processes: they are there on Linux, in builds with passes");
}
