//! The interfaces `host` and `constants`.

use wasmtime::Result as Trap;

use super::super::bindings::airlock::pass::constants::Host as ConstantsHost;
use super::super::bindings::airlock::pass::host::{Host as ServiceHost, Level as WitLevel};
use super::super::bindings::airlock::pass::types::{EditCode, EditError};
use super::state::{live, refused};
use super::weights::{Named, bytes_of};
use super::{Host, Level};

impl ServiceHost for Host {
    fn log(&mut self, l: WitLevel, message: String) -> Trap<()> {
        self.calls = self.calls.saturating_add(1);
        let level = match l {
            WitLevel::Debug => Level::Debug,
            WitLevel::Info => Level::Info,
            WitLevel::Warn => Level::Warn,
        };
        self.write_log(level, &message);
        Ok(())
    }

    fn stage(&mut self) -> Trap<String> {
        self.calls = self.calls.saturating_add(1);
        Ok(self.job.stage.clone())
    }

    fn mode(&mut self) -> Trap<String> {
        self.calls = self.calls.saturating_add(1);
        Ok(self.job.mode.clone())
    }

    fn get_option(&mut self, key: String) -> Trap<Option<String>> {
        self.calls = self.calls.saturating_add(1);
        Ok(self.job.options.get(&key).cloned())
    }
}

impl ConstantsHost for Host {
    fn read(&mut self, n: u64, offset: u64, len: u32) -> Trap<Result<Vec<u8>, EditError>> {
        self.enter("constants.read")?;
        let Self { editor, job, named, limits, .. } = self;
        let graph = editor.graph();
        let refuse = |code, message: String| Ok(Err(refused(code, Some(n), message)));
        let Some(weights) = &job.constants else {
            let message = "reading weights needs the grant `constants`, which this run does not give";
            return refuse(EditCode::NotAllowed, message.to_string());
        };
        if u64::from(len) > limits.call_bytes {
            return refuse(EditCode::OverLimit, format!("at most {} bytes a call", limits.call_bytes));
        }
        let node = match live(graph, n) {
            Ok(node) => node,
            Err(error) => return Ok(Err(error)),
        };
        let Some(name) = named.get_or_insert_with(|| Named::of(graph)).weight(graph, node) else {
            return refuse(EditCode::NotAllowed, "the node is no parameter, buffer or constant".to_string());
        };
        let bytes = match bytes_of(weights, name) {
            Ok(bytes) => bytes,
            Err(error) => return refuse(EditCode::NotAllowed, error.to_string()),
        };
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(len as usize).min(bytes.len());
        Ok(Ok(bytes.get(start..end).unwrap_or_default().to_vec()))
    }
}
