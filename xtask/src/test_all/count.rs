//! Counting tests in what the test programs print.

use std::ops::AddAssign;

/// How many tests ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) passed: u32,
    pub(super) failed: u32,
    pub(super) ignored: u32,
}

impl Count {
    /// Sums the `test result:` lines, one per test binary and one per crate's doc tests.
    pub(super) fn of_cargo_test(output: &str) -> Self {
        let mut sum = Self::default();
        for line in output.lines() {
            if let Some(result) = line.trim_start().strip_prefix("test result: ") {
                sum += Self {
                    passed: number_before(result, " passed"),
                    failed: number_before(result, " failed"),
                    ignored: number_before(result, " ignored"),
                };
            }
        }
        sum
    }

    /// Reads the counts of a report in the format of `JUnit`, which a runner writes at its end.
    ///
    /// A test whose teardown failed as well counts as one failure more.
    pub(super) fn of_junit(report: &str) -> Option<Self> {
        let (_, suite) = report.split_once("<testsuite ")?;
        let (attributes, _) = suite.split_once('>')?;
        let number = |name: &str| -> Option<u32> {
            let (_, value) = attributes.split_once(&format!("{name}=\""))?;
            value.split_once('"')?.0.parse().ok()
        };
        let (failed, ignored) = (number("failures")? + number("errors")?, number("skipped")?);
        Some(Self { passed: number("tests")?.saturating_sub(failed + ignored), failed, ignored })
    }

    /// Reads the sums at the end of what `node --test` prints in the Test Anything Protocol.
    pub(super) fn of_tap(output: &str) -> Self {
        let sum = |name: &str| {
            let number = |line: &str| line.strip_prefix("# ")?.strip_prefix(name)?.trim().parse::<u32>().ok();
            output.lines().rev().find_map(number).unwrap_or_default()
        };
        Self { passed: sum("pass "), failed: sum("fail ") + sum("cancelled "), ignored: sum("skipped ") + sum("todo ") }
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// The number in front of a word, 0 where the word is absent.
fn number_before(text: &str, word: &str) -> u32 {
    text.split_once(word).and_then(|(before, _)| before.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_results_of_all_test_binaries_are_summed() {
        let output = "running 3 tests\n\
            test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s\n\
            test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n\
            this is no test result: 9 passed\n";
        let counted = Count::of_cargo_test(output);
        assert_eq!((counted.passed, counted.failed, counted.ignored), (15, 2, 1));
    }

    #[test]
    fn a_report_in_junits_format_is_counted_by_its_suite() {
        let report = "<?xml version=\"1.0\"?><testsuites name=\"pytest tests\"><testsuite name=\"pytest\" errors=\"1\" \
            failures=\"2\" skipped=\"3\" tests=\"50\" time=\"9.1\"><testcase name=\"a\" /></testsuite></testsuites>";
        let counted = Count::of_junit(report).unwrap();
        assert_eq!((counted.passed, counted.failed, counted.ignored), (44, 3, 3));
        assert_eq!(Count::of_junit("<testsuites></testsuites>"), None);
        assert_eq!(Count::of_junit(""), None);
    }

    #[test]
    fn the_sums_of_a_node_run_are_read() {
        let output = "ok 1 - a\n# pass 9\n1..2\n# tests 5\n# pass 3\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0\n";
        let counted = Count::of_tap(output);
        assert_eq!((counted.passed, counted.failed, counted.ignored), (3, 1, 1));
        assert_eq!(Count::of_tap("no test ran"), Count::default());
    }
}
