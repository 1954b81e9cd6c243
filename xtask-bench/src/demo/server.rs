//! A server as a child process: started on a free port, its address read from its log, ended with us.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::http::Call;
use xtask::{interrupt, process};

/// How long a server may take until it answers.
const START_LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);
/// Every server listens here, on a port the system picks.
const ANY_PORT: &str = "127.0.0.1:0";

/// A server that answered its health check; dropping it ends it.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    name: &'static str,
    log: PathBuf,
    base_url: String,
}

/// A server as its contract names it.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// The variable of `--listen`.
    pub(crate) listen: &'static str,
    /// The variable of `--data-dir`.
    pub(crate) data_dir: &'static str,
}

/// How a start ended.
#[derive(Debug)]
pub(crate) enum Start {
    /// It serves.
    Serving(Server),
    /// It ended by itself; with what it logged.
    Ended { status: ExitStatus, log: String },
}

impl Server {
    /// Starts the program in `binaries` on the embedded database in `<folder>/<name>`, or on the one the
    /// environment names in `DATABASE_URL`.
    ///
    /// # Errors
    /// When it cannot start, or is not healthy within 30 s.
    pub(crate) fn start(
        program: &Program,
        binaries: &Path,
        folder: &Path,
        environment: &[(&str, &str)],
        interrupted: &interrupt::Flag,
    ) -> Result<Start> {
        let name = program.name;
        let log = folder.join(format!("{name}.log"));
        let out = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = Command::new(binaries.join(name))
            // By environment: no secret stands in the list of processes, and a setting that a server does
            // not have yet is no error.
            .env_remove("DATABASE_URL")
            .envs(environment.iter().copied())
            .env(program.data_dir, folder.join(name))
            .env(program.listen, ANY_PORT)
            .env("NO_COLOR", "1")
            .env("RUST_LOG", "info")
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let mut server = Self { child, name, log, base_url: String::new() };
        match server.wait_until_healthy(interrupted)? {
            None => Ok(Start::Serving(server)),
            Some(status) => Ok(Start::Ended { status, log: server.logged() }),
        }
    }

    /// `http://` and the bound address, without a slash at the end.
    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The process, for whoever measures it.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// `Some` when the process ended instead.
    fn wait_until_healthy(&mut self, interrupted: &interrupt::Flag) -> Result<Option<ExitStatus>> {
        let asked = Instant::now();
        while asked.elapsed() < START_LIMIT && !interrupted.is_raised() {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if let Some(port) = bound_port(&self.logged()) {
                self.base_url = format!("http://127.0.0.1:{port}");
                let health = Call::get(format!("{}/health", self.base_url)).send();
                if health.is_ok_and(|answer| answer.status == 200) {
                    return Ok(None);
                }
            }
            thread::sleep(POLL);
        }
        let log = self.logged();
        bail!("{} did not become healthy within {} s; its log:\n{log}", self.name, START_LIMIT.as_secs())
    }

    /// What it has logged until now.
    fn logged(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(Some(status)) = self.child.try_wait() {
            // Whoever asked it something knows only that there was no answer. One that never served told its caller.
            if !self.base_url.is_empty() && !status.success() {
                eprintln!("{} ended by itself, {status}; its log:\n{}", self.name, self.logged());
            }
            return;
        }
        if let Err(error) = process::end(&mut self.child, "TERM") {
            eprintln!("cannot stop {}: {error}", self.name);
        }
    }
}

/// The port in the log line that says `listening` and the bound address.
fn bound_port(log: &str) -> Option<u16> {
    let line = log.lines().find(|line| line.contains("listening"))?;
    line.split("127.0.0.1:").skip(1).find_map(|rest| {
        let digits = rest.split(|character: char| !character.is_ascii_digit()).next()?;
        digits.parse().ok().filter(|port| *port > 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_port_is_read_from_the_listening_line() {
        let log = "INFO database sqlite at 127.0.0.1:5432\nINFO listening address=127.0.0.1:40123 base=x\n";
        assert_eq!(bound_port(log), Some(40123));
        assert_eq!(bound_port("INFO listening on http://127.0.0.1:8080\n"), Some(8080));
    }

    #[test]
    fn a_port_that_was_only_asked_for_is_not_bound() {
        assert_eq!(bound_port("INFO listening wanted=127.0.0.1:0 bound=127.0.0.1:4000"), Some(4000));
        assert_eq!(bound_port("INFO starting 127.0.0.1:4000"), None);
        assert_eq!(bound_port(""), None);
    }
}
