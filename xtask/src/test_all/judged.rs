//! Clippy's compiler in place of the plain one: it judges the crates of the workspace while it compiles them.
//!
//! What it compiles is right and a little slower than the plain compiler's, because clippy reads the code before it is
//! simplified. Dependencies are compiled by the plain compiler, as always.

use std::process::Command;

/// The program of the component `clippy`.
const COMPILER: &str = "clippy-driver";

/// How `cargo clippy -- -D warnings` hands its words on.
const DENIED: (&str, &str) = ("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");

/// Has cargo compile the workspace by clippy, with every warning denied.
pub(super) fn by_clippy(command: &mut Command) {
    command.env("RUSTC_WORKSPACE_WRAPPER", COMPILER).env(DENIED.0, DENIED.1);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A later clippy may want other words; then its warnings would pass for good.
    #[test]
    fn what_clippy_warns_of_does_not_compile() {
        let folder = tempfile::tempdir().expect("a folder");
        let compiles = |text: &str| {
            let source = folder.path().join("lib.rs");
            std::fs::write(&source, text).expect("a source");
            let mut command = Command::new(COMPILER);
            by_clippy(&mut command);
            command.args(["rustc", "--edition=2024", "--crate-type=lib", "--emit=metadata", "--out-dir"]);
            command.arg(folder.path()).arg(source).output().expect("clippy runs").status.success()
        };
        assert!(compiles("pub fn first(all: [u8; 2]) -> u8 { all[0] }"));
        assert!(!compiles("pub fn first(all: [u8; 2]) -> u8 { all[0].clone() }"), "a warning of clippy");
        assert!(!compiles("fn unused() {}"), "a warning of the compiler");
    }
}
