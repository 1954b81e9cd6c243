//! One step of the run: timed, logged, and a row of the table.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

use super::count::Count;
use xtask::table::Table;

/// Lines shown of the end of a log when its step fails.
const LAST_LINES: usize = 60;

/// Lines shown of what the failed tests of a log printed.
const FAILURE_LINES: usize = 300;

/// How a step ended, when it could be judged at all.
#[derive(Debug)]
pub(super) struct Outcome {
    result: Mark,
    what: String,
    tests: Count,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Passed,
    Failed,
}

impl Outcome {
    /// A step without tests of its own that went well.
    pub(super) fn passed(what: &str) -> Self {
        Self::new(Mark::Passed, what.to_owned(), Count::default())
    }

    /// A step that runs tests. No test at all is a failure: the step would prove nothing.
    pub(super) fn counted(what: &str, tests: Count, ended: Result<()>) -> Self {
        let mut text = format!("{} {what}", tests.passed + tests.failed);
        if tests.ignored > 0 {
            text = format!("{text}, {} ignored", tests.ignored);
        }
        match ended {
            Err(error) => Self::new(Mark::Failed, format!("{text}: {error:#}"), tests),
            Ok(()) if tests.failed > 0 || tests.passed == 0 => Self::new(Mark::Failed, text, tests),
            Ok(()) => Self::new(Mark::Passed, text, tests),
        }
    }

    fn new(result: Mark, what: String, tests: Count) -> Self {
        Self { result, what, tests }
    }
}

/// How a step ended, and after what time.
#[derive(Debug)]
pub(super) struct Timed {
    outcome: Outcome,
    took: Duration,
}

impl Timed {
    /// Does the work; an error is a failed step.
    pub(super) fn of(work: impl FnOnce() -> Result<Outcome>) -> Self {
        let started = Instant::now();
        let outcome = work().unwrap_or_else(|error| Outcome::new(Mark::Failed, format!("{error:#}"), Count::default()));
        Self { outcome, took: started.elapsed() }
    }

    /// Whether it went well.
    pub(super) fn is_passed(&self) -> bool {
        self.outcome.result == Mark::Passed
    }
}

/// The rows so far.
#[derive(Debug)]
pub(super) struct Report {
    logs: PathBuf,
    steps: Vec<(&'static str, Outcome, Duration)>,
}

impl Report {
    /// A report whose steps log into a folder.
    pub(super) fn new(logs: PathBuf) -> Self {
        Self { logs, steps: Vec::new() }
    }

    /// Runs one step and says at once how it ended; an error is a failed step.
    pub(super) fn step(&mut self, name: &'static str, work: impl FnOnce() -> Result<Outcome>) {
        println!("{name} …");
        self.ended(name, Timed::of(work));
    }

    /// Says how a step ended that ran beside others.
    pub(super) fn ended(&mut self, name: &'static str, Timed { outcome, took }: Timed) {
        if outcome.result == Mark::Failed {
            let log = log(&self.logs, name);
            let text = read(&log);
            if !text.is_empty() {
                println!("{}\n(the end of {})", last_lines(&text), log.display());
                print!("{}", failures(&text));
            }
        }
        println!("{name}: {}, {} s, {}", word(outcome.result), took.as_secs(), outcome.what);
        self.steps.push((name, outcome, took));
    }

    /// Prints the table and the counts.
    ///
    /// # Errors
    /// When a step failed.
    pub(super) fn finish(&self) -> Result<()> {
        let count = self.count();
        for (name, outcome, _) in &self.steps {
            // A row holds one line; the commands to run where a tool is missing stand below it.
            if outcome.what.contains('\n') {
                println!("\n{name}: {}", outcome.what);
            }
        }
        println!("\n{}", self.table());
        // The last line on standard output, in this exact form: programs read it.
        println!("{} passed, {} failed", count.passed, count.failed);
        if self.steps.iter().any(|(_, outcome, _)| outcome.result == Mark::Failed) {
            bail!("test-all failed");
        }
        Ok(())
    }

    fn table(&self) -> String {
        let mut table = Table::new(["step", "result", "seconds", "what"]);
        for (name, outcome, took) in &self.steps {
            let first_line = outcome.what.lines().next().unwrap_or_default();
            table.push([
                (*name).to_owned(),
                word(outcome.result).to_owned(),
                took.as_secs().to_string(),
                first_line.to_owned(),
            ]);
        }
        table.render()
    }

    /// The tests of all steps. A failed step in which no test failed counts as one failure, so that
    /// `0 failed` always means that all is well.
    fn count(&self) -> Count {
        let mut sum = Count::default();
        for (_, outcome, _) in &self.steps {
            sum += outcome.tests;
            if outcome.result == Mark::Failed && outcome.tests.failed == 0 {
                sum.failed += 1;
            }
        }
        sum
    }
}

/// Empties the log folder.
///
/// # Errors
/// When it cannot be removed or created.
pub(super) fn clear(logs: &Path) -> Result<()> {
    match fs::remove_dir_all(logs) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot empty {}", logs.display()));
        }
        _ => {}
    }
    fs::create_dir_all(logs).with_context(|| format!("cannot create {}", logs.display()))
}

/// Where a step logs.
pub(super) fn log(logs: &Path, step: &str) -> PathBuf {
    logs.join(format!("{step}.log"))
}

/// A log as text, empty when the step wrote none.
pub(super) fn read(log: &Path) -> String {
    String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned()
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let shown = lines.get(lines.len().saturating_sub(LAST_LINES)..);
    shown.unwrap_or_default().join("\n")
}

/// What the test programs print of the tests that failed. Many programs run after one another, so that the failed one
/// rarely stands at the end of the log.
fn failures(text: &str) -> String {
    let mut is_inside = false;
    let mut shown = String::new();
    let of_failed = text.lines().filter(|line| {
        is_inside = (is_inside || *line == "failures:") && !line.starts_with("test result: ");
        is_inside
    });
    for line in of_failed.take(FAILURE_LINES) {
        shown.push_str(line);
        shown.push('\n');
    }
    shown
}

fn word(mark: Mark) -> &'static str {
    match mark {
        Mark::Passed => "ok",
        Mark::Failed => "FAILED",
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    fn tests(passed: u32, failed: u32) -> Count {
        Count { passed, failed, ignored: 0 }
    }

    fn report(outcomes: Vec<Outcome>) -> Report {
        let steps = outcomes.into_iter().map(|outcome| ("a", outcome, Duration::ZERO));
        Report { logs: PathBuf::new(), steps: steps.collect() }
    }

    #[test]
    fn a_failed_step_without_failed_tests_counts_as_a_failure() {
        let broken = Outcome::counted("tests", tests(3, 0), Err(anyhow!("aborted")));
        assert_eq!(report(vec![broken]).count(), tests(3, 1));
        let failing = Outcome::counted("tests", tests(3, 2), Err(anyhow!("exit 1")));
        assert_eq!(report(vec![failing]).count(), tests(3, 2));
    }

    #[test]
    fn a_step_that_ran_no_test_has_failed() {
        let empty = Outcome::counted("tests", tests(0, 0), Ok(()));
        assert!(report(vec![empty]).finish().is_err());
        let some = Outcome::counted("tests", tests(1, 0), Ok(()));
        assert!(report(vec![some]).finish().is_ok());
    }

    #[test]
    fn the_end_of_a_long_log_is_shown() {
        let text: Vec<String> = (1..=100).map(|number| number.to_string()).collect();
        let shown = last_lines(&text.join("\n"));
        assert_eq!(shown.lines().next(), Some("41"));
        assert_eq!(shown.lines().last(), Some("100"));
        assert_eq!(last_lines("one"), "one");
    }

    #[test]
    fn what_failed_tests_printed_is_shown_from_the_middle_of_a_log() {
        let log = "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b stdout ----\npanicked at b.rs\n\n\
            failures:\n    b\n\ntest result: FAILED. 1 passed; 1 failed\n\nrunning 0 tests\ntest result: ok. 0 passed\n";
        assert_eq!(failures(log), "failures:\n\n---- b stdout ----\npanicked at b.rs\n\nfailures:\n    b\n\n");
        assert_eq!(failures("test a ... ok\ntest result: ok. 1 passed\n"), "");
    }
}
