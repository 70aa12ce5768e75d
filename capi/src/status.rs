//! What a call gives: a status, and for this thread's last failure its message and, of a refused edit, what it is about.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use engine::sandbox::wit;

use crate::texts::Text;

/// How a call ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It did what it is for.
    Ok = 0,
    /// A pointer is null that may not be.
    NullPointer = 1,
    /// An id was never given out, or its object was freed.
    BadHandle = 2,
    /// An id is of an object of another kind.
    WrongKind = 3,
    /// The model is being edited: its editor is to be judged or freed first.
    Busy = 4,
    /// An editor belongs to the thread that opened it.
    WrongThread = 5,
    /// The program was built with the header of another version.
    WrongVersion = 6,
    /// A text is no UTF-8, a number means nothing, a setting does not exist.
    BadInput = 7,
    /// A file cannot be read or written, or holds no model or pass.
    BadFile = 8,
    /// A pass may not run: it asks for what it was not granted.
    NotGranted = 9,
    /// The edit or read is refused, and the graph is as it was: `airlock_last_error` tells more.
    Refused = 10,
    /// The graph cannot be lowered.
    NotLowered = 11,
    /// A defect of Airlock. The objects of the call may be of no more use.
    Internal = 12,
}

/// Why a call failed.
#[derive(Debug)]
pub struct Failure {
    pub status: Status,
    pub message: String,
    /// What was refused, and its position in a batch.
    pub edit: Option<(wit::EditError, Option<u32>)>,
}

impl Failure {
    pub fn new(status: Status, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into(), edit: None }
    }

    pub fn null(what: &str) -> Failure {
        Failure::new(Status::NullPointer, format!("`{what}` is null"))
    }

    pub fn input(message: impl Into<String>) -> Failure {
        Failure::new(Status::BadInput, message)
    }

    pub fn file(message: impl Into<String>) -> Failure {
        Failure::new(Status::BadFile, message)
    }

    pub fn refused(error: wit::EditError, index: Option<u32>) -> Failure {
        let at = error.argument.as_deref().map_or_else(String::new, |argument| format!(" (argument {argument})"));
        let edit = index.map_or_else(String::new, |index| format!("edit {index} of the batch: "));
        Failure { status: Status::Refused, message: format!("{edit}{}{at}", error.message), edit: Some((error, index)) }
    }
}

/// Why an edit or a read was refused: the contract's `edit-code`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditCode {
    /// Nothing was refused.
    None = 0,
    /// The id is of no node of this graph (any more).
    Stale = 1,
    /// Nobody knows the operator.
    UnknownTarget = 2,
    /// An argument does not fit the operator's schema.
    BadArgument = 3,
    /// Types do not fit.
    TypeMismatch = 4,
    /// A node would stand before what it uses.
    UseBeforeDefinition = 5,
    /// The node has users.
    StillUsed = 6,
    /// The model's calling convention is not a pass's to change.
    NotAllowed = 7,
    /// A limit would be passed.
    OverLimit = 8,
}

/// The last failure of this thread.
#[repr(C)]
pub struct Error {
    /// What the call gave.
    pub status: Status,
    /// What was expected and what was found, for people. Ends with a null byte, as every text that is given.
    pub message: Text,
    /// Of a refused edit or read: why.
    pub code: EditCode,
    /// The node that it is about, or 0.
    pub node: u64,
    /// The argument that it is about, a position or a keyword, or empty.
    pub argument: Text,
    /// The position of the refused edit in its batch, or -1.
    pub index: i64,
}

struct Last {
    error: Error,
    // What `error` points into.
    _texts: [Box<[u8]>; 2],
}

thread_local! {
    static LAST: RefCell<Option<Box<Last>>> = const { RefCell::new(None) };
}

fn code(code: wit::EditCode) -> EditCode {
    match code {
        wit::EditCode::Stale => EditCode::Stale,
        wit::EditCode::UnknownTarget => EditCode::UnknownTarget,
        wit::EditCode::BadArgument => EditCode::BadArgument,
        wit::EditCode::TypeMismatch => EditCode::TypeMismatch,
        wit::EditCode::UseBeforeDefinition => EditCode::UseBeforeDefinition,
        wit::EditCode::StillUsed => EditCode::StillUsed,
        wit::EditCode::NotAllowed => EditCode::NotAllowed,
        wit::EditCode::OverLimit => EditCode::OverLimit,
    }
}

fn remember(failure: Failure) -> Status {
    let (edit, index) = failure.edit.map_or((None, None), |(error, index)| (Some(error), index));
    let (argument, node) = edit.as_ref().map_or((None, None), |e| (e.argument.clone(), e.node));
    let texts = [failure.message, argument.unwrap_or_default()].map(crate::texts::ended);
    let [message, argument] = [&texts[0], &texts[1]].map(|bytes| Text::of_ended(bytes));
    let error = Error {
        status: failure.status,
        message,
        code: edit.map_or(EditCode::None, |edit| code(edit.code)),
        node: node.unwrap_or(0),
        argument,
        index: index.map_or(-1, i64::from),
    };
    LAST.with(|last| *last.borrow_mut() = Some(Box::new(Last { error, _texts: texts })));
    failure.status
}

/// Makes a call: what goes wrong is this thread's last error.
pub fn call(body: impl FnOnce() -> Result<(), Failure>) -> Status {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => Status::Ok,
        Ok(Err(failure)) => remember(failure),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
            let message = format!("a defect of Airlock: {}", said.unwrap_or("no word"));
            remember(Failure::new(Status::Internal, message))
        }
    }
}

/// The last failure of this thread, or null where none was. It lasts until the next one.
#[unsafe(no_mangle)]
pub extern "C" fn airlock_last_error() -> *const Error {
    LAST.with(|last| last.borrow().as_ref().map_or(std::ptr::null(), |last| &raw const last.error))
}
