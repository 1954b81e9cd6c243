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

    /// Reads `N passed, N failed` from the last line that is not blank.
    pub(super) fn of_last_line(output: &str) -> Option<Self> {
        let last = output.lines().rev().find(|line| !line.trim().is_empty())?;
        let (passed, failed) = last.trim().strip_suffix(" failed")?.split_once(" passed, ")?;
        Some(Self { passed: passed.parse().ok()?, failed: failed.parse().ok()?, ignored: 0 })
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
    fn a_runner_is_counted_by_its_last_line_alone() {
        let counted = Count::of_last_line("1 passed, 0 failed\n41 passed, 2 failed\n\n").unwrap();
        assert_eq!((counted.passed, counted.failed), (41, 2));
        assert_eq!(Count::of_last_line("41 passed, 2 failed\nTraceback\n"), None);
        assert_eq!(Count::of_last_line(""), None);
    }
}
