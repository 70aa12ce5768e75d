//! The `airlock` command.

fn main() {}
