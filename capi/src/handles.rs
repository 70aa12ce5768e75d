//! Ids of objects: an index and a generation in one number, so that the id of an object that was freed is one of no other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::editor::Editor;
use crate::host::Host;
use crate::model::Model;
use crate::pass::Pass;
use crate::run::Report;
use crate::status::{Failure, Status};

/// The id of an object. 0 is none.
pub type Id = u64;

/// An object that C has an id of.
#[derive(Clone)]
pub enum Object {
    Host(Arc<Host>),
    Model(Arc<Mutex<Model>>),
    Pass(Arc<Mutex<Pass>>),
    Report(Arc<Report>),
    Editor(Arc<Mutex<Editor>>),
}

impl Object {
    fn kind(&self) -> &'static str {
        match self {
            Object::Host(_) => "host",
            Object::Model(_) => "model",
            Object::Pass(_) => "pass",
            Object::Report(_) => "report",
            Object::Editor(_) => "editor",
        }
    }
}

struct Slot {
    generation: u32,
    object: Option<Object>,
}

struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

static TABLE: Mutex<Table> = Mutex::new(Table { slots: Vec::new(), free: Vec::new() });

fn table() -> MutexGuard<'static, Table> {
    // No code of this module panics between two changes.
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn id(index: u32, generation: u32) -> Id {
    u64::from(generation) << 32 | u64::from(index)
}

fn parts(id: Id) -> (usize, u32) {
    #[allow(clippy::cast_possible_truncation)]
    ((id & u64::from(u32::MAX)) as usize, (id >> 32) as u32)
}

fn bad(id: Id, what: &str) -> Failure {
    let message = match id {
        0 => format!("`{what}` is 0, which is the id of nothing"),
        _ => format!("`{what}` is {id}, which was never given out, or whose object was freed"),
    };
    Failure::new(Status::BadHandle, message)
}

/// Gives an object an id.
pub fn add(object: Object) -> Result<Id, Failure> {
    let mut table = table();
    let index = match table.free.pop() {
        Some(index) => index,
        None => {
            let index = u32::try_from(table.slots.len());
            let index = index.map_err(|_| Failure::new(Status::Internal, "there are too many objects"))?;
            table.slots.push(Slot { generation: 1, object: None });
            index
        }
    };
    match table.slots.get_mut(index as usize) {
        Some(slot) => {
            slot.object = Some(object);
            Ok(id(index, slot.generation))
        }
        None => Err(Failure::new(Status::Internal, "an index beyond the table")),
    }
}

fn get(id: Id, what: &str) -> Result<Object, Failure> {
    let (index, generation) = parts(id);
    let table = table();
    let slot = table.slots.get(index).filter(|slot| slot.generation == generation);
    slot.and_then(|slot| slot.object.clone()).ok_or_else(|| bad(id, what))
}

/// Takes an object out of the table: its id is one of nothing from here on.
pub fn remove(id: Id, what: &str) -> Result<Object, Failure> {
    let (index, generation) = parts(id);
    let mut table = table();
    let slot = table.slots.get_mut(index).filter(|slot| slot.generation == generation);
    let Some((object, next)) = slot.and_then(|slot| Some((slot.object.take()?, slot.generation.checked_add(1)))) else {
        return Err(bad(id, what));
    };
    // A place whose generations are used up is not used again.
    if let (Some(next), Ok(at)) = (next, u32::try_from(index)) {
        if let Some(slot) = table.slots.get_mut(index) {
            slot.generation = next;
        }
        table.free.push(at);
    }
    Ok(object)
}

fn wrong(object: &Object, what: &str, wanted: &str) -> Failure {
    Failure::new(Status::WrongKind, format!("`{what}` is the id of a {}, a {wanted} was expected", object.kind()))
}

macro_rules! getters {
    ($($name:ident $kind:ident $type:ty;)*) => {$(
        /// The object of an id.
        pub fn $name(id: Id) -> Result<$type, Failure> {
            match get(id, stringify!($name))? {
                Object::$kind(object) => Ok(object),
                other => Err(wrong(&other, stringify!($name), stringify!($name))),
            }
        }
    )*};
}

getters! {
    host Host Arc<Host>;
    model Model Arc<Mutex<Model>>;
    pass Pass Arc<Mutex<Pass>>;
    report Report Arc<Report>;
    editor Editor Arc<Mutex<Editor>>;
}

/// Waits for an object that another thread uses.
pub fn lock<T>(object: &Mutex<T>) -> Result<MutexGuard<'_, T>, Failure> {
    let message = "a call on this object ended in a defect of Airlock: it is of no more use";
    object.lock().map_err(|_| Failure::new(Status::Internal, message))
}

/// Frees an object. What it gave, texts and lists, is freed with it; of an editor its edits are taken back. 0 is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn airlock_free(id: Id) -> Status {
    crate::status::call(|| match id {
        0 => Ok(()),
        _ => {
            if let Object::Editor(editor) = get(id, "id")? {
                crate::editor::abandon(&editor)?;
            }
            remove(id, "id").map(drop)
        }
    })
}
