//! A model: read, checked, written.

use std::path::Path;
use std::sync::{Arc, Mutex};

use engine::analysis::form::check_form;
use engine::formats::{map, pt2, text as fx, write_whole};
use engine::graph::Model as Inner;

use crate::handles::{self, Id, Object, add, lock};
use crate::host::Host;
use crate::status::{Failure, Status, call};
use crate::texts::{Text, give, path, place};

/// A model and what it is judged with.
pub struct Model {
    pub host: Arc<Host>,
    pub inner: Inner,
    /// An editor has its graph.
    pub is_edited: bool,
}

impl Model {
    /// The model, unless an editor has its graph.
    pub fn whole(&mut self) -> Result<&mut Inner, Failure> {
        match self.is_edited {
            false => Ok(&mut self.inner),
            true => Err(Failure::new(Status::Busy, "the model is being edited: judge or free its editor first")),
        }
    }
}

fn load(file: &Path, host: &Host) -> Result<Inner, Failure> {
    let name = file.display().to_string();
    let bytes = map(file).map_err(|e| Failure::file(format!("cannot read {name}: {e}")))?;
    let failed = |e: &dyn std::fmt::Display| Failure::file(e.to_string());
    let mut model = if pt2::is_pt2(bytes.as_slice()) {
        pt2::read_bytes(&name, bytes, &host.registry).map_err(|e| failed(&e))?
    } else {
        let inputs_lie = host.config.file.inputs.layout;
        let options = fx::ReadOptions { inputs_lie, ..fx::ReadOptions::of_file(&name) };
        let graph = fx::read_bytes(bytes.as_slice(), &options).map_err(|e| failed(&e))?;
        Inner { graph, ..Inner::default() }
    };
    let mut problems: Vec<String> = check_form(&model.graph).iter().map(ToString::to_string).collect();
    if problems.is_empty() {
        problems = host.registry.check_types(&mut model.graph).iter().map(ToString::to_string).collect();
    }
    match problems.first() {
        None => Ok(model),
        Some(first) => {
            let more = problems.len().saturating_sub(1);
            let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
            Err(Failure::file(format!("{name} is not a well-formed model: {first}{more}")))
        }
    }
}

/// Loads a model, `.pt2` or `.fx`.
///
/// # Safety
///
/// `file` is a text, `model` points to a place for an id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_model_load(host: Id, file: Text, model: *mut Id) -> Status {
    call(|| {
        place(model, "model")?;
        let host = handles::host(host)?;
        // SAFETY: a text of the caller.
        let file = unsafe { path(file, "file") }?;
        let inner = load(&file, &host)?;
        let made = add(Object::Model(Arc::new(Mutex::new(Model { host, inner, is_edited: false }))))?;
        // SAFETY: a place for an id, as the caller promises.
        unsafe { give(model, made, "model") }
    })
}

/// Writes a model; the ending of the file decides: `.pt2` or `.fx`. The file appears whole or not at all.
///
/// # Safety
///
/// `file` is a text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn airlock_model_write(model: Id, file: Text) -> Status {
    call(|| {
        let model = handles::model(model)?;
        // SAFETY: a text of the caller.
        let file = unsafe { path(file, "file") }?;
        let mut model = lock(&model)?;
        let host = model.host.clone();
        let inner = model.whole()?;
        let failed = |e: &dyn std::fmt::Display| Failure::file(format!("cannot write {}: {e}", file.display()));
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("pt2") => pt2::write(inner, &file, &host.registry).map_err(|e| failed(&e)),
            Some("fx") => {
                let text = fx::write_readable(&inner.graph).map_err(|e| failed(&e))?;
                write_whole(&file, |out| std::io::Write::write_all(out, text.as_bytes())).map_err(|e| failed(&e))
            }
            _ => Err(Failure::input(format!("{}: a model's ending is .pt2 or .fx", file.display()))),
        }
    })
}
