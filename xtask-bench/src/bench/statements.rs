//! The bare statements that requests are compared with, asked of the program that speaks to the database.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, bail};

use super::Bench;

/// That program, a bench of a `*-storage` crate; dropping it ends it.
#[derive(Debug)]
pub(super) struct Statements {
    child: Child,
    asked: Option<ChildStdin>,
    told: BufReader<ChildStdout>,
}

/// What one operation took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Each {
    /// CPU, that of the database's process included.
    pub(super) cpu_us: f64,
    /// Time on the clock.
    pub(super) clock_us: f64,
}

impl Statements {
    /// Starts the bench of that package and name on the measured core; `database` is the file or the address of the
    /// server's database.
    ///
    /// # Errors
    /// When it does not build or start.
    pub(super) fn start(bench: &Bench<'_>, (package, name): (&str, &str), database: &str) -> Result<Self> {
        bench.take_measured_core()?;
        let spawned = Command::new("cargo")
            .args(["bench", "--quiet", "--package", package, "--bench", name])
            .current_dir(&bench.workspace.root)
            .env("BENCH_DATABASE", database)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        bench.take_other_core()?;
        let mut child = spawned.context("cannot start cargo bench")?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (asked, told) = pipes.context("the bare statements have no pipes")?;
        Ok(Self { child, asked: Some(asked), told: BufReader::new(told) })
    }

    /// Does so many operations of a kind.
    ///
    /// # Errors
    /// When the program ends or says what is no answer; what it was about stands in its own output.
    pub(super) fn ask(&mut self, work: &str, count: usize) -> Result<Each> {
        let asked = self.asked.as_mut().context("the bare statements are not asked any more")?;
        writeln!(asked, "{work} {count}")?;
        let mut line = String::new();
        if self.told.read_line(&mut line)? == 0 {
            bail!("the bare statements ended at {work}");
        }
        parse(&line).with_context(|| format!("no answer about {work}: {line}"))
    }
}

impl Drop for Statements {
    fn drop(&mut self) {
        // Nobody asks any more: it ends by itself.
        self.asked = None;
        if let Err(error) = self.child.wait() {
            eprintln!("cannot wait for the bare statements: {error}");
        }
    }
}

fn parse(line: &str) -> Option<Each> {
    let (cpu_us, clock_us) = line.trim().split_once(' ')?;
    Some(Each { cpu_us: cpu_us.parse().ok()?, clock_us: clock_us.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_two_numbers() {
        assert_eq!(parse("1.500 20.000\n"), Some(Each { cpu_us: 1.5, clock_us: 20.0 }));
        assert_eq!(parse("running 0 tests\n"), None);
    }
}
