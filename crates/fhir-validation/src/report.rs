//! Collects issues, within a limit.

use std::fmt::Write as _;

use fhir_store::operation_outcome::{IssueSeverity, OutcomeIssue};
use serde_json::Value;

use crate::document_path::DocumentPath;
use crate::limits;

/// The type of an issue: codes of the value set `issue-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IssueType {
    /// The names and nesting of elements.
    Structure,
    /// Something has to be there.
    Required,
    /// The form of a value.
    Value,
    /// A code has to be of a value set.
    Binding,
    /// A rule over several elements.
    Invariant,
}

impl IssueType {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Required => "required",
            Self::Value => "value",
            Self::Binding => "code-invalid",
            Self::Invariant => "invariant",
        }
    }
}

/// The issues of a document.
#[derive(Default)]
pub(crate) struct Report {
    issues: Vec<OutcomeIssue>,
    is_cut: bool,
}

impl Report {
    /// Adds an issue, if there is room.
    pub(crate) fn add(&mut self, code: IssueType, place: &DocumentPath<'_>, text: impl FnOnce() -> String) {
        if self.issues.len() >= limits::MAX_ISSUES {
            self.is_cut = true;
            return;
        }
        self.issues.push(issue(IssueSeverity::Error, code.as_str(), place, &text()));
    }

    /// Adds that something is not validated, if there is room.
    pub(crate) fn note(&mut self, place: &DocumentPath<'_>, text: &str) {
        if self.issues.len() < limits::MAX_ISSUES {
            self.issues.push(issue(IssueSeverity::Information, "not-supported", place, text));
        }
    }

    /// Returns whether further issues are dropped, so that the caller can stop.
    pub(crate) const fn is_full(&self) -> bool {
        self.is_cut
    }

    /// Returns every issue, and one that says so where some were dropped.
    pub(crate) fn finish(mut self) -> Vec<OutcomeIssue> {
        if self.is_cut {
            let text = format!("only the first {} issues are listed", limits::MAX_ISSUES);
            let (severity, code) = (IssueSeverity::Information, "incomplete");
            self.issues.push(OutcomeIssue { severity, code, diagnostics: Some(text), expression: Vec::new() });
        }
        self.issues
    }
}

fn issue(severity: IssueSeverity, code: &'static str, place: &DocumentPath<'_>, text: &str) -> OutcomeIssue {
    // A NUL in a name must not reach the answer.
    let expression = place.to_string().replace('\0', "\u{fffd}");
    let diagnostics = Some(format!("{expression}: {text}"));
    OutcomeIssue { severity, code, diagnostics, expression: vec![expression] }
}

/// Returns a value as an issue shows it: the beginning of a scalar, the JSON type of anything else.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => cut(&number.to_string()),
        Value::String(text) => quoted(text),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Returns a text as an issue shows it.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in cut(text).chars() {
        if character.is_control() {
            // Writing to a String cannot fail.
            let _ = write!(quoted, "{}", character.escape_unicode());
        } else {
            quoted.push(character);
        }
    }
    quoted.push('"');
    quoted
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(limits::MAX_SHOWN_VALUE_CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
