//! One core for the work that is measured, so that it does not wander between caches.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::process;

/// The first core: every machine has it.
const CORE: u32 = 0;

/// Pins this process, and with it everything it starts from now on; `None` where there is no `taskset`.
///
/// # Errors
/// When `taskset` refuses.
pub(super) fn pin() -> Result<Option<u32>> {
    if !process::exists("taskset") {
        return Ok(None);
    }
    let status = Command::new("taskset")
        .args(["--all-tasks", "--cpu-list", "--pid"])
        .args([CORE.to_string(), std::process::id().to_string()])
        .stdout(Stdio::null())
        .status()?;
    if status.success() {
        return Ok(Some(CORE));
    }
    bail!("taskset refused to pin this process: {status}")
}
