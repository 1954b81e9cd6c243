//! An error as one line of a log.

use std::error::Error;

/// Joins the texts of `error` and of its sources in one line. A source whose text is already in the line is left out,
/// because some errors repeat their source.
#[must_use]
pub fn format_error_chain(error: &(dyn Error + 'static)) -> String {
    let mut line = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
        if !line.contains(&text) {
            line.extend([if line.is_empty() { "" } else { ": " }, &text]);
        }
        next = error.source();
    }
    line.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        source: Option<Box<Layer>>,
    }

    #[test]
    fn every_cause_is_in_the_line_once() {
        let inner = Layer { text: "no\nroute", source: None };
        let repeated = Layer { text: "connect", source: Some(Box::new(inner)) };
        let outer = Layer { text: "cannot connect", source: Some(Box::new(repeated)) };
        assert_eq!(format_error_chain(&outer), "cannot connect: no route");
    }
}
