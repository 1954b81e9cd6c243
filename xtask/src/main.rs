//! The workspace's own commands: demo, test-all, check, tidy, bench.

fn main() {}
