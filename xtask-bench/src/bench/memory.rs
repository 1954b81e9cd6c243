//! Memory of a process, from `/proc`.

use std::fs;

use anyhow::{Context, Result};

/// Resident memory of this one process, in MiB.
///
/// # Errors
/// When the process is gone.
///
/// # Source
/// `proc_pid_status(5)`, `VmRSS`.
pub(super) fn resident_mib(process: u32) -> Result<f64> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    parse(&status).with_context(|| format!("{path} has no VmRSS"))
}

fn parse(status: &str) -> Option<f64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u32 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(f64::from(kib) / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resident_memory_is_told_in_mebibytes() {
        let read = parse("VmHWM:\t   99999 kB\nVmRSS:\t   10240 kB\n");
        assert!(read.is_some_and(|mib| (mib - 10.0).abs() < 1e-9), "{read:?}");
        assert_eq!(parse("VmHWM:\t   99999 kB\n"), None);
    }

    #[test]
    fn this_process_has_memory_and_a_dead_one_has_none() {
        assert!(resident_mib(std::process::id()).unwrap() > 0.1);
        // Process ids end at 4194304.
        assert!(resident_mib(4_999_999).is_err());
    }
}
