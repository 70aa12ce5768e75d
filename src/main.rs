//! The `airlock` command.

fn main() -> std::process::ExitCode {
    airlock::cli::main()
}
