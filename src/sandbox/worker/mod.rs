//! Passes in processes of their own.
//!
//! - `walls`: what a worker gives up before it sees anything of a component;
//! - `wire`: what host and worker say to each other;
//! - `inside`: the worker: compiles, or loads, describes and runs;
//! - `process`: the host's end of one worker: starting it, asking it, ending it, how it died; `pool`: workers that wait for a pass;
//!   `reaper`: waits for those that were killed;
//! - `cache`: compiled components, kept between runs;
//! - `pass`: a pass whose code is only ever compiled and run by workers.
//!
//! Promises: whatever a worker does, the host lives, ends it in time and says how it ended; what it sends is data, looked at as what a
//! hostile pass sends. One worker serves one pass; code that a worker compiled is never loaded by the host. Linux only: elsewhere there are
//! no walls to put around a process, and passes run in the process of their host where its user wants that.

mod cache;
mod inside;
mod kept;
mod pass;
mod pool;
mod process;
mod reaper;
mod walls;
mod wire;

pub use cache::{Cache, CacheError, Entry};
pub use inside::{Step, Stream, enter, main};
pub use pass::WorkerPass;
pub use process::{Counts, Workers, walls_here};
pub use walls::Wall;
