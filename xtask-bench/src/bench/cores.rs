//! Which core does what: the work that is measured has one to itself, who asks for it another.

use std::{
    fs,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};

use xtask::process;

/// The cores this run uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cores {
    /// Where the measured work runs.
    measured: u32,
    /// Where everything else runs; the same one on a machine with one core.
    beside: u32,
}

impl Cores {
    /// The first two cores this process may run on; `None` where there is no `taskset`.
    ///
    /// # Errors
    /// When the kernel does not say which cores those are.
    pub(super) fn choose() -> Result<Option<Self>> {
        if !process::exists("taskset") {
            return Ok(None);
        }
        let status = fs::read_to_string("/proc/self/status").context("cannot read /proc/self/status")?;
        parse(&status).map(Some).context("/proc/self/status names no core")
    }

    /// Moves this process, and with it everything it starts from now on, to the core of the measured work.
    ///
    /// # Errors
    /// When `taskset` refuses.
    pub(super) fn take_measured(self) -> Result<()> {
        pin(std::process::id(), &self.measured.to_string())
    }

    /// The same, to the other core. What was started before stays where it is.
    ///
    /// # Errors
    /// When `taskset` refuses.
    pub(super) fn take_beside(self) -> Result<()> {
        pin(std::process::id(), &self.beside.to_string())
    }

    /// Lets a server that runs use both.
    ///
    /// # Errors
    /// When `taskset` refuses.
    pub(super) fn give_both(self, process: u32) -> Result<()> {
        pin(process, &format!("{},{}", self.measured, self.beside))
    }

    /// In words, for the head of the output.
    pub(super) fn describe(self) -> String {
        format!("What is measured runs on core {}, who asks for it on core {}.", self.measured, self.beside)
    }
}

/// While this lives, the thread it was made by goes before all others of the machine, and what it starts does not.
///
/// For load that is asked by the clock: a caller that waits for a core is late, and would take that for the server.
pub(super) struct First(());

impl First {
    /// `None` where there is no `chrt`, or it is not allowed: raising a priority is for administrators.
    ///
    /// # Errors
    /// When `chrt` cannot be run.
    pub(super) fn take() -> Result<Option<Self>> {
        if !process::exists("chrt") {
            return Ok(None);
        }
        let first = schedule(&["--reset-on-fork", "--fifo", "--pid", "1"])?;
        Ok(first.then_some(Self(())))
    }
}

impl Drop for First {
    fn drop(&mut self) {
        // The program ends soon; what it then measures, it measures as nobody special.
        let _ = schedule(&["--other", "--pid", "0"]);
    }
}

/// Whether `chrt` did it, to the first thread of this process.
fn schedule(how: &[&str]) -> Result<bool> {
    let mut command = Command::new("chrt");
    command.args(how).arg(std::process::id().to_string()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command.status().context("chrt cannot be run")?.success())
}

fn pin(process: u32, cores: &str) -> Result<()> {
    let status = Command::new("taskset")
        .args(["--all-tasks", "--cpu-list", "--pid"])
        .args([cores, &process.to_string()])
        .stdout(Stdio::null())
        .status()?;
    if status.success() {
        return Ok(());
    }
    bail!("taskset refused to pin process {process}: {status}")
}

/// # Source
/// `proc_pid_status(5)`, `Cpus_allowed_list`; `cpuset(7)`, List Format: `0-3,8`.
fn parse(status: &str) -> Option<Cores> {
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let mut cores = allowed.trim().split(',').flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let bounds = first.parse::<u32>().ok().zip(last.parse::<u32>().ok());
        bounds.into_iter().flat_map(|(first, last)| first..=last)
    });
    let measured = cores.next()?;
    Some(Cores { measured, beside: cores.next().unwrap_or(measured) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_allowed_cores_are_taken() {
        for (list, measured, beside) in [("0-1", 0, 1), ("2,5-7", 2, 5), ("4-8", 4, 5), ("3", 3, 3)] {
            let status = format!("Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t{list}\n");
            assert_eq!(parse(&status), Some(Cores { measured, beside }), "{list}");
        }
        assert_eq!(parse("Name:\tx\n"), None);
    }
}
