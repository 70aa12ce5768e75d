//! What host and worker say to each other: frames, and what may stand in them.
//!
//! A frame is four bytes that name this version, the length of what follows in eight, a message as postcard writes it, and behind it the bytes of
//! its [`Blob`], if it has one. The host begins:
//! each [`Order`] has one [`Report`], but that a worker may ask for weights before it reports a run.
//!
//! Promises: a reader takes no more memory than the sender has sent, and no more than it was told to take; it waits no longer than it was
//! told to. Whatever a worker sends is a message or an error. Leaves to `edits` and `guest` what a message may mean.

use std::fmt;
use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::time::Instant;

use serde::de::{DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::walls::Wall;
use crate::contract::Limits;
use crate::graph::Bytes;
use crate::sandbox::{FaultKind, Frame, Info, Level, Said};

/// The version of these messages. Both ends are one program, so there is no other to understand.
const VERSION: [u8; 4] = *b"ALW4";

/// What a worker is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Role {
    /// To compile one component. Nothing of it runs.
    Compile,
    /// To run one compiled component.
    Run,
}

/// What the host wants.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// To begin: raise the walls.
    Begin(Box<Begin>),
    /// To compile a component.
    Compile(Blob),
    /// To load what was compiled; errors name it by this label, and these are its limits.
    Load(String, Blob, Box<Limits>),
    /// To load what was compiled from what stands where its standard output would be: from that byte on, so many.
    Map(String, u64, u64, Box<Limits>),
    /// To ask the pass what it is.
    Describe,
    /// To run it.
    Run(Box<Run>),
    /// Weight bytes that were asked for.
    Weights(Result<Blob, String>),
}

/// How a worker begins.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Begin {
    /// What it is for.
    pub role: Role,
    /// Limits, of which it takes the stack and how many memories there may be.
    pub limits: Limits,
    /// Bytes of memory that the process may fill.
    pub data_bytes: u64,
    /// Seconds of processor time.
    pub cpu_seconds: u64,
    /// Operator files that add to the registry, each with its name.
    pub operators: Vec<(String, String)>,
    /// Whether it tells where in its functions a guest traps.
    pub locates: bool,
}

/// A run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Run {
    /// The user's text.
    pub config: String,
    /// The stage.
    pub stage: String,
    /// The mode.
    pub mode: String,
    /// The user's options.
    pub options: std::collections::BTreeMap<String, String>,
    /// Whether weight bytes may be asked for.
    pub constants: bool,
    /// The graph, as [`crate::graph::Graph`] is written.
    pub graph: Blob,
}

/// What a worker answers. To the host it is as hostile as the pass.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report {
    /// The walls that stand.
    Begun(Few<Wall, 64>),
    /// What was compiled: native code, which no host loads.
    Compiled(Blob),
    /// It was loaded.
    Loaded,
    /// It could not be compiled or loaded.
    Failed(Failure),
    /// What the pass says of itself.
    Described(Result<Info, Failed>),
    /// It asks for weights.
    Weights {
        /// The node.
        node: u64,
        /// From where.
        offset: u64,
        /// How many bytes at most.
        len: u32,
    },
    /// The run is over.
    Ran(Box<Ran>),
}

/// Why nothing was compiled or loaded.
#[derive(Debug, Serialize, Deserialize)]
pub enum Failure {
    /// The compiler refused it.
    Compile(String),
    /// Its types are not those of the contract.
    Mismatch(String),
    /// The engine or the worker does not start.
    Engine(String),
}

/// A fault, without what the host knows better.
#[derive(Debug, Serialize, Deserialize)]
pub struct Failed {
    /// What happened.
    pub kind: FaultKind,
    /// Whether it was in the start function, not in the function that was called.
    pub in_start: bool,
    /// For people.
    pub message: String,
    /// How much was used.
    pub used: Option<u64>,
    /// How much there was.
    pub limit: Option<u64>,
    /// The guest's functions.
    pub frames: Few<Frame, 64>,
}

/// A run that is over.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ran {
    /// How it ended.
    pub ended: Result<Said, Failed>,
    /// What it edited: see `edits`. Empty where it failed.
    pub journal: Blob,
    /// Its log.
    pub log: Few<(Level, String), 1_000_000>,
    /// How many lines it wrote besides.
    pub log_dropped: u64,
    /// Fuel that it used.
    pub fuel: u64,
    /// Bytes of its memories.
    pub memory_bytes: u64,
    /// Bytes that calls filled.
    pub host_bytes: u64,
    /// How many calls.
    pub calls: u64,
}

/// Bytes that stand behind a message as they are, to the end of the frame: neither side copies them into it or out of it.
#[derive(Clone, Default)]
pub struct Blob(Option<Bytes>);

impl Blob {
    /// Returns the bytes.
    pub fn as_slice(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], Bytes::as_slice)
    }

    /// Returns the bytes.
    pub fn into_bytes(self) -> Bytes {
        self.0.unwrap_or_else(|| Bytes::new(Vec::new()))
    }
}

impl From<Bytes> for Blob {
    fn from(bytes: Bytes) -> Self {
        Self(Some(bytes))
    }
}

impl From<Vec<u8>> for Blob {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Some(Bytes::new(bytes)))
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.as_slice().len())
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <()>::deserialize(deserializer).map(|()| Self::default())
    }
}

/// A message that bytes may stand behind.
pub trait Message {
    /// Returns them, where the message has any.
    fn blob(&mut self) -> Option<&mut Blob>;
}

impl Message for Order {
    fn blob(&mut self) -> Option<&mut Blob> {
        match self {
            Order::Compile(blob) | Order::Load(_, blob, _) | Order::Weights(Ok(blob)) => Some(blob),
            Order::Run(run) => Some(&mut run.graph),
            Order::Begin(_) | Order::Map(..) | Order::Describe | Order::Weights(Err(_)) => None,
        }
    }
}

impl Message for Report {
    fn blob(&mut self) -> Option<&mut Blob> {
        match self {
            Report::Compiled(blob) => Some(blob),
            Report::Ran(ran) => Some(&mut ran.journal),
            Report::Begun(_) | Report::Loaded | Report::Failed(_) | Report::Described(_) | Report::Weights { .. } => {
                None
            }
        }
    }
}

/// At most `MOST` items: some bytes of a message cannot become many times as many of memory.
#[derive(Debug, Serialize)]
pub struct Few<T, const MOST: usize>(pub Vec<T>);

impl<T, const MOST: usize> FromIterator<T> for Few<T, MOST> {
    /// Takes the first of them.
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().take(MOST).collect())
    }
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Few<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Counted<T, const MOST: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for Counted<T, MOST> {
            type Value = Few<T, MOST>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "at most {MOST} items")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = sequence.next_element()? {
                    if items.len() == MOST {
                        return Err(serde::de::Error::custom("too many items"));
                    }
                    items.push(item);
                }
                Ok(Few(items))
            }
        }
        deserializer.deserialize_seq(Counted(PhantomData))
    }
}

/// Why no message came.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The other side is gone.
    #[error("it closed its end")]
    Closed,
    /// Nothing came in time.
    #[error("it said nothing in time")]
    Silent,
    /// It does not speak as agreed.
    #[error("it sent what is no message: {0}")]
    Nonsense(String),
    /// Something else.
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for WireError {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, TimedOut, UnexpectedEof, WouldBlock};
        match error.kind() {
            BrokenPipe | ConnectionReset | UnexpectedEof => WireError::Closed,
            TimedOut | WouldBlock => WireError::Silent,
            _ => WireError::Io(error),
        }
    }
}

/// A stream whose reads and writes can end in time.
pub trait Timed: Read + Write {
    /// Lets the next read or write end at that time.
    fn end_at(&mut self, until: Option<Instant>) -> io::Result<()>;
}

impl Timed for std::os::unix::net::UnixStream {
    fn end_at(&mut self, until: Option<Instant>) -> io::Result<()> {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.set_read_timeout(left)?;
        self.set_write_timeout(left)
    }
}

/// A file waits as long as it takes.
impl Timed for std::sync::Arc<std::fs::File> {
    fn end_at(&mut self, _until: Option<Instant>) -> io::Result<()> {
        Ok(())
    }
}

const CHUNK: usize = 1 << 20;

/// Sends a message.
pub fn send<T: Message + Serialize>(
    stream: &mut impl Timed,
    message: &mut T,
    until: Option<Instant>,
) -> Result<(), WireError> {
    let body = postcard::to_stdvec(message).map_err(|e| WireError::Nonsense(e.to_string()))?;
    let blob = message.blob().map_or(&[][..], |blob| blob.as_slice());
    let len = body.len().saturating_add(blob.len());
    let mut head = VERSION.to_vec();
    head.extend_from_slice(&u64::try_from(len).unwrap_or(u64::MAX).to_le_bytes());
    head.extend_from_slice(&body);
    for chunk in head.chunks(CHUNK).chain(blob.chunks(CHUNK)) {
        stream.end_at(until)?;
        stream.write_all(chunk)?;
    }
    Ok(())
}

/// Receives a message of at most `most` bytes.
pub fn receive<T: Message + DeserializeOwned>(
    stream: &mut impl Timed,
    most: u64,
    until: Option<Instant>,
) -> Result<T, WireError> {
    let head = read(stream, 12, until)?;
    let (version, len) = head.split_at_checked(4).unwrap_or_default();
    if version != VERSION {
        return Err(WireError::Nonsense(format!("it begins with {version:02x?}")));
    }
    let len = u64::from_le_bytes(len.try_into().unwrap_or_default());
    if len > most {
        return Err(WireError::Nonsense(format!("{len} bytes, at most {most} are possible here")));
    }
    let body = read(stream, usize::try_from(len).unwrap_or(usize::MAX), until)?;
    let nonsense = |e: postcard::Error| WireError::Nonsense(e.to_string());
    let (mut message, rest) = postcard::take_from_bytes::<T>(&body).map_err(nonsense)?;
    let rest = rest.len();
    match message.blob() {
        Some(blob) => {
            let start = body.len().saturating_sub(rest);
            *blob = Blob(Bytes::new(body).cut(start, rest));
        }
        None if rest > 0 => return Err(WireError::Nonsense(format!("{rest} bytes more than the message"))),
        None => {}
    }
    Ok(message)
}

/// Reads that many bytes. Memory grows with what comes.
fn read(stream: &mut impl Timed, len: usize, until: Option<Instant>) -> Result<Vec<u8>, WireError> {
    let mut bytes = Vec::new();
    if until.is_none() {
        // From the host, as long as it takes, and as much as it says.
        bytes.reserve_exact(len);
        let come = stream.take(u64::try_from(len).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
        return if come == len { Ok(bytes) } else { Err(WireError::Closed) };
    }
    while bytes.len() < len {
        let start = bytes.len();
        bytes.resize(start.saturating_add(CHUNK.min(len.saturating_sub(start))), 0);
        let mut at = start;
        while at < bytes.len() {
            stream.end_at(until)?;
            match stream.read(bytes.get_mut(at..).unwrap_or_default()) {
                Ok(0) => return Err(WireError::Closed),
                Ok(n) => at = at.saturating_add(n),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::*;

    fn soon() -> Option<Instant> {
        Instant::now().checked_add(Duration::from_millis(50))
    }

    #[test]
    fn a_message_comes_as_it_was_sent() {
        let (mut a, mut b) = UnixStream::pair().unwrap();
        for until in [soon(), None] {
            send(&mut a, &mut Order::Load("p".into(), vec![7; 100].into(), Box::default()), soon()).unwrap();
            send(&mut a, &mut Order::Weights(Ok(Blob::default())), soon()).unwrap();
            let Order::Load(label, bytes, _) = receive(&mut b, 1000, until).unwrap() else { panic!() };
            assert_eq!((label.as_str(), bytes.as_slice()), ("p", &[7; 100][..]));
            let Order::Weights(Ok(bytes)) = receive(&mut b, 1000, until).unwrap() else { panic!() };
            assert!(bytes.as_slice().is_empty());
        }
    }

    #[test]
    fn what_is_no_message_is_an_error_that_says_what_came() {
        let frame = |body: &[u8], len: u64| [&VERSION[..], &len.to_le_bytes(), body].concat();
        for (sent, said) in [
            (b"hello, I am a worker".to_vec(), "begins with"),
            (frame(&[], u64::MAX), "18446744073709551615 bytes, at most 100"),
            (frame(&[250; 4], 4), "no message"),
            (frame(&[2, 0, 0], 3), "2 bytes more"),
        ] {
            let (mut a, mut b) = UnixStream::pair().unwrap();
            a.write_all(&sent).unwrap();
            let error = receive::<Report>(&mut b, 100, soon()).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn silence_and_a_closed_end_are_told_apart() {
        let (a, mut b) = UnixStream::pair().unwrap();
        assert!(matches!(receive::<Report>(&mut b, 100, soon()), Err(WireError::Silent)));
        drop(a);
        assert!(matches!(receive::<Report>(&mut b, 100, soon()), Err(WireError::Closed)));
        assert!(matches!(send(&mut b, &mut Order::Describe, soon()), Err(WireError::Closed)));
    }
}
