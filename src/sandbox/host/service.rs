//! The interfaces `host` and `constants`.

use wasmtime::Result as Trap;

use super::super::bindings::airlock::pass::constants::Host as ConstantsHost;
use super::super::bindings::airlock::pass::host::{Host as ServiceHost, Level as WitLevel};
use super::super::bindings::airlock::pass::types::{EditCode, EditError};
use super::state::{live, refused};
use super::weights::weight_bytes;
use super::{Host, Level};

impl ServiceHost for Host {
    fn log(&mut self, l: WitLevel, message: String) -> Trap<()> {
        self.count("host.log");
        let level = match l {
            WitLevel::Debug => Level::Debug,
            WitLevel::Info => Level::Info,
            WitLevel::Warn => Level::Warn,
        };
        self.write_log(level, &message);
        Ok(())
    }

    fn stage(&mut self) -> Trap<String> {
        self.count("host.stage");
        Ok(self.job.stage.clone())
    }

    fn mode(&mut self) -> Trap<String> {
        self.count("host.mode");
        Ok(self.job.mode.clone())
    }

    fn get_option(&mut self, key: String) -> Trap<Option<String>> {
        self.count("host.get-option");
        Ok(self.job.options.get(&key).cloned())
    }
}

impl ConstantsHost for Host {
    fn read(&mut self, n: u64, offset: u64, len: u32) -> Trap<Result<Vec<u8>, EditError>> {
        self.enter("constants.read")?;
        let Self { editor, job, named, limits, asked, deadline, .. } = self;
        let graph = editor.graph();
        let refuse = |code, message: String| Ok(Err(refused(code, Some(n), message)));
        if job.constants.is_none() && asked.is_none() {
            let message = "reading weights needs the grant `constants`, which this run does not give";
            return refuse(EditCode::NotAllowed, message.to_string());
        }
        if u64::from(len) > limits.call_bytes {
            return refuse(EditCode::OverLimit, format!("at most {} bytes a call", limits.call_bytes));
        }
        let node = match live(graph, n) {
            Ok(node) => node,
            Err(error) => return Ok(Err(error)),
        };
        let read = match (&job.constants, asked) {
            (Some(weights), _) => weight_bytes(weights, graph, named, node, offset, len).map(<[u8]>::to_vec),
            (None, Some(asked)) => asked.read(node, offset, len)?,
            (None, None) => Err(String::new()),
        };
        deadline.check()?;
        read.map_or_else(|message| refuse(EditCode::NotAllowed, message), |bytes| Ok(Ok(bytes)))
    }
}
