//! Running other programs: with a log, a time limit and a certain end.

use std::{
    fs::File,
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use crate::interrupt;

/// How often a running program is looked at.
const POLL: Duration = Duration::from_millis(50);
/// What a program gets between the polite signal and the hard one.
const GRACE: Duration = Duration::from_secs(10);

/// Runs a program to its end, both outputs into `log`, its whole process group ended at `limit`.
///
/// # Errors
/// When it cannot start, exits with another status than 0, exceeds the limit, or the user interrupts.
pub fn run_logged(command: &mut Command, log: &Path, limit: Duration, interrupted: &interrupt::Flag) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let out = File::options()
        .create(true)
        .append(true)
        .open(log)
        .with_context(|| format!("cannot write {}", log.display()))?;
    // A group of its own, so that the test binaries below cargo end with it.
    let mut child = command
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(out)
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if interrupted.is_raised() {
            end_group(&mut child);
            bail!("interrupted");
        }
        if started.elapsed() > limit {
            end_group(&mut child);
            bail!("{program} ran longer than {} s", limit.as_secs());
        }
        thread::sleep(POLL);
    };
    if status.success() {
        return Ok(());
    }
    bail!("{program} failed: {status}")
}

/// Ends a child politely, then hard, and collects it.
///
/// # Errors
/// When the child cannot be waited for.
pub fn end(child: &mut Child, polite: &str) -> io::Result<ExitStatus> {
    signal(polite, &child.id().to_string());
    let asked = Instant::now();
    while asked.elapsed() < GRACE {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        thread::sleep(POLL);
    }
    child.kill()?;
    child.wait()
}

fn end_group(child: &mut Child) {
    let group = format!("-{}", child.id());
    signal("TERM", &group);
    let asked = Instant::now();
    while asked.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(POLL);
    }
    signal("KILL", &group);
    // Reaped, so that no zombie outlives the step; how it ended no longer matters.
    let _ = child.wait();
}

/// Sends a signal through `kill`, the call itself being unsafe code; a target that is gone is no fault.
fn signal(name: &str, target: &str) {
    let _ = Command::new("kill").args(["-s", name, "--", target]).stderr(Stdio::null()).status();
}

/// Whether a program can be started: it answers `--version` with status 0.
#[must_use]
pub fn exists(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether this process may install packages: user id 0 and an `apt-get`.
#[must_use]
pub fn may_install() -> bool {
    is_root() && exists("apt-get")
}

/// Whether the effective user id is 0.
#[must_use]
pub fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_outputs_reach_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let never = interrupt::Flag::never();
        run_logged(&mut sh("echo out; echo err >&2"), &log, GRACE, &never).unwrap();
        assert_eq!(std::fs::read_to_string(log).unwrap(), "out\nerr\n");
    }

    #[test]
    fn a_failing_program_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let never = interrupt::Flag::never();
        let error = run_logged(&mut sh("exit 3"), &dir.path().join("log"), GRACE, &never).unwrap_err();
        assert!(error.to_string().starts_with("sh failed"), "{error}");
    }

    #[test]
    fn a_program_over_its_time_ends_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let never = interrupt::Flag::never();
        let mut command = sh("sleep 300 & echo $!; wait");
        let error = run_logged(&mut command, &log, Duration::from_millis(300), &never).unwrap_err();
        assert!(error.to_string().contains("longer than"), "{error}");
        let child = std::fs::read_to_string(log).unwrap();
        // Gone, or a zombie that its new parent has not collected yet. A process dies at its next turn on a core, which
        // may be some time after it was told to.
        let is_over = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
            stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z "))
        };
        let told = Instant::now();
        while !is_over() {
            assert!(told.elapsed() < GRACE, "the grandchild still runs");
            thread::yield_now();
        }
    }
}
