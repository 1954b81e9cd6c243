//! Code within a line: between two runs of as many backticks.

use std::collections::HashMap;
use std::ops::Range;

/// A piece of code: all of it, and what is between the backticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) whole: Range<usize>,
    pub(super) inside: Range<usize>,
}

/// Returns the code in a text, in order. A run of backticks behind a backslash opens nothing.
pub(super) fn spans(text: &str) -> Vec<Span> {
    let runs = runs(text);
    let closing = closing(&runs);
    let mut spans: Vec<Span> = Vec::new();
    for (run, close) in runs.iter().zip(closing) {
        let free = spans.last().is_none_or(|last| last.whole.end <= run.start);
        let escaped = text.as_bytes().get(run.start.wrapping_sub(1)) == Some(&b'\\');
        if let (Some(close), true, false) = (close, free, escaped) {
            spans.push(Span { whole: run.start..close.end, inside: run.end..close.start });
        }
    }
    spans
}

fn runs(text: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.match_indices('`') {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// For each run the next one of the same length, found from the end.
fn closing(runs: &[Range<usize>]) -> Vec<Option<Range<usize>>> {
    let mut nearest: HashMap<usize, Range<usize>> = HashMap::new();
    let mut closing: Vec<_> = runs.iter().rev().map(|run| nearest.insert(run.len(), run.clone())).collect();
    closing.reverse();
    closing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(text: &str) -> Vec<&str> {
        spans(text).into_iter().filter_map(|span| text.get(span.inside)).collect()
    }

    #[test]
    fn a_run_is_closed_by_the_next_of_its_length() {
        assert_eq!(inside("a `b` ``c ` d`` e"), ["b", "c ` d"]);
        assert_eq!(inside("` outer ` ```    space    ```"), [" outer ", "    space    "]);
        assert_eq!(inside("`a``b"), Vec::<&str>::new());
        assert_eq!(inside("\\`a`b`"), ["b"]);
    }
}
