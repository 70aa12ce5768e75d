//! `airlock new`: a pass to start from.

use std::path::PathBuf;

use clap::Args;

use super::{Exit, Format, Global, output};
use crate::guest::{Language, scaffold};

/// Begins a pass: a folder that builds with `airlock build`.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  airlock new my-pass && airlock build my-pass && airlock run model.pt2 --pass my-pass.wasm"
)]
pub struct NewArgs {
    /// The folder to make; its last part names the pass.
    dir: PathBuf,
    /// The language: rust, c, cpp, python, javascript or typescript.
    #[arg(long, default_value = "rust", value_name = "LANG")]
    lang: String,
}

pub fn new(args: &NewArgs, global: &Global) -> anyhow::Result<Exit> {
    let language: Language = args.lang.parse()?;
    let made = scaffold(&args.dir, language)?;
    match global.format {
        Format::Json => output::print_json(&serde_json::json!({ "name": made.name, "files": made.files }))?,
        _ => {
            let dir = args.dir.display();
            output::status(global, "Created", &format!("pass `{}` in {dir}", made.name));
            output::status(global, "Next", &format!("airlock build {dir} -o {}.wasm", made.name));
        }
    }
    Ok(Exit::Done)
}
