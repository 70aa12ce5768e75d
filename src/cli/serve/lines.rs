//! Lines and descriptors over a local socket.
//!
//! Promises: a line takes no more memory than a line may have, and no more than a few descriptors wait for its end. Descriptors belong to the line
//! with whose bytes they came: the system ends a read behind them, so that the last byte of a read is of that line.

use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use anyhow::bail;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Bytes of a line.
const LINE: usize = 1 << 20;
/// Descriptors that may come with a line.
const MOST: usize = 4;
/// Descriptors that go with an answer: a model, edits, a report, a GE graph and what belongs to it.
const MOST_GIVEN: usize = 8;
/// Bytes of a read.
const CHUNK: usize = 1 << 13;

/// A line without its end, and the descriptors that came with it.
pub(super) struct Came {
    pub(super) line: Vec<u8>,
    pub(super) descriptors: Vec<OwnedFd>,
}

/// Reads lines.
pub(super) struct Lines<'s> {
    stream: &'s UnixStream,
    /// What was read and is not taken.
    read: Vec<u8>,
    /// Descriptors, each with the place behind the last byte that came with it.
    come: VecDeque<(usize, OwnedFd)>,
}

impl<'s> Lines<'s> {
    pub(super) fn of(stream: &'s UnixStream) -> Self {
        Self { stream, read: Vec::new(), come: VecDeque::new() }
    }

    /// Returns the next line; nothing where no further one comes. What has no end is none.
    pub(super) fn next(&mut self) -> anyhow::Result<Option<Came>> {
        let mut looked = 0;
        loop {
            let rest = self.read.get(looked..).unwrap_or_default();
            let end = rest.iter().position(|b| *b == b'\n').map(|at| looked.saturating_add(at));
            if end.unwrap_or(self.read.len()) > LINE {
                bail!("a line of more than {LINE} bytes");
            }
            if let Some(end) = end {
                return Ok(Some(self.take(end)));
            }
            looked = self.read.len();
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Takes what stands before the line end there.
    fn take(&mut self, end: usize) -> Came {
        let after = end.saturating_add(1);
        let mut line: Vec<u8> = self.read.drain(..after).collect();
        line.pop();
        let own = self.come.iter().take_while(|(at, _)| *at <= after).count();
        let descriptors = self.come.drain(..own).map(|(_, descriptor)| descriptor).collect();
        for (at, _) in &mut self.come {
            *at = at.saturating_sub(after);
        }
        Came { line, descriptors }
    }

    /// Reads what has come; returns whether anything did before the other side was gone.
    fn fill(&mut self) -> anyhow::Result<bool> {
        let mut chunk = [0; CHUNK];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let got = loop {
            match recvmsg(self.stream, &mut [IoSliceMut::new(&mut chunk)], &mut control, RecvFlags::CMSG_CLOEXEC) {
                Err(Errno::INTR) => {}
                Err(_) => return Ok(false),
                Ok(got) => break got,
            }
        };
        self.read.extend_from_slice(chunk.get(..got.bytes).unwrap_or_default());
        let at = self.read.len();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.come.extend(descriptors.map(|descriptor| (at, descriptor)));
            }
        }
        if self.come.len() > MOST || got.flags.contains(ReturnFlags::CTRUNC) {
            bail!("more than {MOST} descriptors");
        }
        Ok(got.bytes > 0)
    }
}

/// Sends a line, and descriptors with its first byte; returns whether the other side took it.
pub(super) fn send(mut stream: &UnixStream, line: &str, descriptors: &[BorrowedFd<'_>]) -> bool {
    let mut rest = line.as_bytes();
    if !descriptors.is_empty() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_GIVEN))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return false;
        }
        let sent = loop {
            match sendmsg(stream, &[IoSlice::new(rest)], &mut control, SendFlags::NOSIGNAL) {
                Err(Errno::INTR) => {}
                sent => break sent,
            }
        };
        let Ok(sent) = sent else { return false };
        rest = rest.get(sent..).unwrap_or_default();
    }
    stream.write_all(rest).is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::AsFd;

    use super::*;

    fn with(stream: &UnixStream, text: &str, files: &[&File]) {
        assert!(send(stream, text, &files.iter().map(|f| f.as_fd()).collect::<Vec<_>>()));
    }

    #[test]
    fn a_line_has_an_end_and_a_length() {
        let (mut a, b) = UnixStream::pair().unwrap();
        let mut lines = Lines::of(&b);
        a.write_all(b"first\n\nin ").unwrap();
        assert_eq!(lines.next().unwrap().unwrap().line, b"first");
        assert_eq!(lines.next().unwrap().unwrap().line, b"");
        a.write_all(b"two\nlast without end").unwrap();
        assert_eq!(lines.next().unwrap().unwrap().line, b"in two");
        drop(a);
        assert!(lines.next().unwrap().is_none());
        let (mut a, b) = UnixStream::pair().unwrap();
        let writer = std::thread::spawn(move || a.write_all(&vec![b'x'; LINE + CHUNK]));
        assert!(Lines::of(&b).next().err().unwrap().to_string().contains("a line of more than"));
        drop(b);
        let _ = writer.join().unwrap();
    }

    #[test]
    fn descriptors_come_with_the_line_that_they_were_sent_with() {
        let (a, b) = UnixStream::pair().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = |text: &str| {
            let path = folder.path().join(text);
            std::fs::write(&path, text).unwrap();
            File::open(path).unwrap()
        };
        let (one, two) = (file("one"), file("two"));
        with(&a, "none\n", &[]);
        with(&a, "first\n", &[&one]);
        with(&a, "none either\nhalf of ", &[]);
        with(&a, "both\n", &[&two, &one]);
        let mut lines = Lines::of(&b);
        for (line, wanted) in
            [("none", &[][..]), ("first", &["one"]), ("none either", &[]), ("half of both", &["two", "one"])]
        {
            let came = lines.next().unwrap().unwrap();
            assert_eq!(came.line, line.as_bytes());
            let texts: Vec<String> = came
                .descriptors
                .into_iter()
                .map(|descriptor| {
                    let mut text = String::new();
                    File::from(descriptor).read_to_string(&mut text).unwrap();
                    text
                })
                .collect();
            assert_eq!(texts.iter().map(String::as_str).collect::<Vec<_>>(), *wanted, "{line}");
            for file in [&one, &two] {
                std::io::Seek::rewind(&mut &*file).unwrap();
            }
        }
    }

    #[test]
    fn a_line_that_gathers_descriptors_ends_the_connection() {
        let (a, b) = UnixStream::pair().unwrap();
        let file = File::open("/dev/null").unwrap();
        for _ in 0..=MOST {
            with(&a, "x", &[&file]);
        }
        assert!(Lines::of(&b).next().err().unwrap().to_string().contains("more than 4 descriptors"));
        let (a, b) = UnixStream::pair().unwrap();
        with(&a, "x", &[&file; MOST + 1]);
        assert!(Lines::of(&b).next().err().unwrap().to_string().contains("more than 4 descriptors"));
    }
}
