//! What a pass may use: every limit of a run and of what may be loaded at all, in one place.
//!
//! The names are those of `[limits]` in `airlock.toml`. Defaults fit guests of every language: the same work costs a
//! component written in JavaScript about 150 times the fuel of one written in C, and a Python component has 40 core
//! instances. Whatever passes a limit ends as a typed fault that gives what was used and what was allowed.

use serde::{Deserialize, Serialize};

/// Limits of loading and running one pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Fuel (about one unit a wasm instruction, one a byte of bulk copies) that a run has whatever the graph.
    pub fuel_base: u64,
    /// Fuel that it has besides for each node of the graph.
    pub fuel_per_node: u64,
    /// Seconds by the clock, host calls included. Fuel is the limit that ends runs the same way each time; this one is
    /// for a machine that is slower than thought.
    pub time_seconds: f64,
    /// Bytes of all linear memories together.
    pub memory_bytes: u64,
    /// Elements of all tables together.
    pub table_elements: u64,
    /// Core instances in the component.
    pub instances: u32,
    /// Linear memories in the component.
    pub memories: u32,
    /// Tables in the component.
    pub tables: u32,
    /// Resource handles that the component holds at once.
    pub handles: u32,
    /// Bytes of wasm stack, 64 KiB to 2 MiB: bounds recursion.
    pub stack_bytes: u64,
    /// Bytes that one call may hand to the host.
    pub call_bytes: u64,
    /// Bytes of host memory that all calls of a run may fill: nodes, arguments, texts, notes, log.
    pub host_bytes: u64,
    /// Lines of log that are kept.
    pub log_lines: u32,
    /// Characters of a line of log, or of a message, that are kept.
    pub message_chars: u32,
    /// Bytes of the component file.
    pub component_bytes: u64,
    /// Functions in the component.
    pub functions: u64,
    /// Definitions (instances, aliases, imports, exports, types, canonical functions) of the component, those of a part as often
    /// as it is instantiated. A file of 3 kB can instantiate 2^30 parts, which the compiler takes one by one.
    pub definitions: u64,
    /// Bytes of one function's code.
    pub function_bytes: u64,
    /// Locals of one function, parameters aside.
    pub function_locals: u64,
    /// Levels of nested blocks in one function.
    pub function_nesting: u64,
    /// Targets of all branch tables of one function.
    pub function_branches: u64,
    /// Values on the operand stack of one function at once: the compiler's time grows with their square. Compiled languages
    /// have some 70.
    pub function_stack: u64,
    /// Values that blocks, branches and their ends take and give, beyond two each, of one function: the compiler keeps each. Compiled
    /// languages have none. A file of 20 kB with 6 million makes it use more than 2 GB.
    pub function_block_values: u64,
    /// Parameters and locals times blocks and branches of one function: what the compiler's time and memory grow with. The largest
    /// of CPython's has 100,000, of a JavaScript engine's 400,000.
    pub function_locals_times_blocks: u64,
    /// The same over all functions. CPython has 3 million, a JavaScript engine 7, a specialised one 23.
    pub locals_times_blocks: u64,
    /// The squares of parameters, locals and operands over all functions.
    pub values_squared: u64,
    /// Parameters and locals times loops of one function: what the compiler's memory grows with. A file of 13 kB whose product is
    /// 500,000 makes it use 870 MB.
    pub function_locals_times_loops: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel_base: 1_000_000_000,
            fuel_per_node: 500_000,
            time_seconds: 60.0,
            memory_bytes: 256 << 20,
            table_elements: 100_000,
            instances: 64,
            memories: 4,
            tables: 16,
            handles: 10_000,
            stack_bytes: 1 << 20,
            call_bytes: 32 << 20,
            host_bytes: 512 << 20,
            log_lines: 1_000,
            message_chars: 2_000,
            component_bytes: 64 << 20,
            functions: 100_000,
            definitions: 100_000,
            function_bytes: 4 << 20,
            function_locals: 10_000,
            function_nesting: 2_000,
            function_branches: 60_000,
            function_stack: 5_000,
            function_block_values: 500_000,
            function_locals_times_blocks: 2_000_000,
            locals_times_blocks: 50_000_000,
            values_squared: 400_000_000,
            function_locals_times_loops: 200_000,
        }
    }
}

impl Limits {
    /// Returns the fuel of a run over a graph of that many nodes.
    pub fn fuel(&self, nodes: usize) -> u64 {
        let nodes = u64::try_from(nodes).unwrap_or(u64::MAX);
        self.fuel_base.saturating_add(self.fuel_per_node.saturating_mul(nodes))
    }

    /// Sets the fuel of a run, whatever the graph.
    pub fn set_fuel(&mut self, fuel: u64) {
        self.fuel_base = fuel;
        self.fuel_per_node = 0;
    }

    /// Returns the time limit; what is no sensible number of seconds counts as a day.
    pub fn time(&self) -> std::time::Duration {
        const DAY: f64 = 86_400.0;
        let seconds = if self.time_seconds.is_finite() { self.time_seconds.clamp(0.0, DAY) } else { DAY };
        std::time::Duration::from_secs_f64(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuel_grows_with_the_graph_and_never_wraps() {
        let limits = Limits { fuel_base: 10, fuel_per_node: 3, ..Limits::default() };
        assert_eq!(limits.fuel(4), 22);
        assert_eq!(limits.fuel(usize::MAX), u64::MAX);
    }

    #[test]
    fn a_table_of_some_limits_keeps_the_other_defaults() {
        let limits: Limits = toml::from_str("memory_bytes = 1000\ntime_seconds = 2.5").unwrap();
        assert_eq!(limits, Limits { memory_bytes: 1000, time_seconds: 2.5, ..Limits::default() });
    }

    #[test]
    fn a_limit_nobody_knows_is_an_error() {
        let error = toml::from_str::<Limits>("memmory_bytes = 1").unwrap_err().to_string();
        assert!(error.contains("memmory_bytes") && error.contains("memory_bytes"), "{error}");
    }

    #[test]
    fn no_number_of_seconds_is_no_reason_to_panic() {
        for seconds in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
            let limits = Limits { time_seconds: seconds, ..Limits::default() };
            assert!(limits.time() <= std::time::Duration::from_secs(86_400));
        }
    }
}
