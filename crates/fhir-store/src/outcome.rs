//! `OperationOutcome`: what a caller is told about a failure.
//!
//! Which failure gets which HTTP status is decided where HTTP is. The [`Kind`]s here are the rows
//! of that table without the status.

use serde_json::{Map, Value, json};

use crate::bundle::{BundleFault, EntryFault};
use crate::ports::{SearchRefused, WriteFault};
use crate::query::QueryFault;

/// The severity of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The call was not even tried.
    Fatal,
    /// The call failed.
    Error,
    /// The call succeeded, not quite as asked.
    Warning,
    /// Something worth knowing.
    Information,
}

impl Severity {
    /// Returns the code in the value set `issue-severity`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fatal => "fatal",
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Information => "information",
        }
    }
}

/// The registry that the `error`s of OAuth are in.
const OAUTH_ERRORS: &str = "https://www.iana.org/assignments/oauth-parameters";

/// The kind of an issue: its code and default text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// `OperationOutcome.id`, the short name programs look at.
    pub id: Option<&'static str>,
    /// `issue.severity`.
    pub severity: Severity,
    /// `issue.code`, of the value set `issue-type`.
    pub code: &'static str,
    /// The sentence a person reads, and the diagnostics when nothing more is known.
    pub text: &'static str,
}

const fn kind(id: &'static str, code: &'static str, text: &'static str) -> Kind {
    Kind { id: Some(id), severity: Severity::Fatal, code, text }
}

/// A request that cannot be understood (400).
pub const BAD_REQUEST: Kind = kind("bad-request", "invalid", "Bad request");
/// A body that is no JSON, or not of the expected form (400).
pub const STRUCTURE: Kind = kind("invalid", "structure", "Malformed body");
/// No credentials, or wrong ones (401).
pub const UNAUTHORIZED: Kind = kind("unauthorized", "login", "Unauthorized");
/// Credentials that do not allow the call (403).
pub const FORBIDDEN: Kind = kind("forbidden", "forbidden", "Forbidden");
/// Nothing under this address (404).
pub const NOT_FOUND: Kind = kind("not-found", "not-found", "Not found");
/// A method the address does not take (405).
pub const NOT_SUPPORTED: Kind =
    Kind { id: None, severity: Severity::Fatal, code: "not-supported", text: "Method not allowed" };
/// A create of what exists (409).
pub const DUPLICATE: Kind = kind("duplicate", "duplicate", "Duplicate key");
/// Writers that kept getting into each other's way (409).
pub const CONFLICT: Kind = kind("conflict", "conflict", "Conflict");
/// Something that was deleted (410).
pub const DELETED: Kind = kind("deleted", "deleted", "Deleted");
/// Another version than the expected one (412).
pub const VERSION_MISMATCH: Kind = kind("precondition-failed", "conflict", "Version Id mismatch");
/// A condition that matches several resources (412).
pub const MULTIPLE_MATCHES: Kind =
    kind("precondition-failed", "multiple-matches", "The condition matches several resources");
/// A body too large (413).
pub const TOO_LARGE: Kind = kind("too-long", "too-long", "The body is too large");
/// A question whose answer is too large (413).
pub const TOO_COSTLY: Kind = kind("too-costly", "too-costly", "The answer is too large");
/// A search takes longer than a search may.
pub const SEARCH_TOO_COSTLY: Kind = kind("too-costly", "too-costly", "The search takes too long");
/// A resource that breaks a rule (422).
pub const INVALID: Kind = kind("invalid", "invalid", "Invalid resource");
/// Too many calls (429).
pub const THROTTLED: Kind = Kind { id: None, severity: Severity::Fatal, code: "throttled", text: "Too many requests" };
/// A failure of the server itself (500).
pub const INTERNAL: Kind = kind("internal", "exception", "Internal error");
/// A server that cannot answer now (503).
pub const UNAVAILABLE: Kind = kind("unavailable", "transient", "Not available");

impl Kind {
    /// An outcome with one issue of this kind.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        Outcome { id: self.id, text: Some(self.text.to_owned()), issues: vec![self.issue()], error: None }
    }

    /// An issue of this kind.
    #[must_use]
    pub fn issue(self) -> Issue {
        Issue {
            severity: self.severity,
            code: self.code,
            diagnostics: Some(self.text.to_owned()),
            expression: Vec::new(),
        }
    }
}

/// One issue of an outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// How bad.
    pub severity: Severity,
    /// `issue-type` code.
    pub code: &'static str,
    /// What a developer has to know; it reaches the caller, so nothing internal belongs here.
    pub diagnostics: Option<String>,
    /// Where, as `FHIRPath`s.
    pub expression: Vec<String>,
}

impl Issue {
    /// Returns the issue with other diagnostics.
    #[must_use]
    pub fn diagnostics(mut self, text: impl Into<String>) -> Self {
        self.diagnostics = Some(text.into());
        self
    }

    /// Returns the issue at one more place.
    #[must_use]
    pub fn at(mut self, expression: impl Into<String>) -> Self {
        self.expression.push(expression.into());
        self
    }

    fn to_value(&self) -> Value {
        let mut issue = Map::new();
        issue.insert("severity".to_owned(), self.severity.as_str().into());
        issue.insert("code".to_owned(), self.code.into());
        if let Some(diagnostics) = &self.diagnostics {
            issue.insert("diagnostics".to_owned(), diagnostics.as_str().into());
        }
        if !self.expression.is_empty() {
            issue.insert("expression".to_owned(), self.expression.clone().into());
        }
        Value::Object(issue)
    }
}

/// An `OperationOutcome`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    id: Option<&'static str>,
    text: Option<String>,
    issues: Vec<Issue>,
    error: Option<&'static str>,
}

impl Outcome {
    /// An outcome of issues alone, without id and text; it needs one issue at least to be valid.
    #[must_use]
    pub fn of(issues: Vec<Issue>) -> Self {
        Self { id: None, text: None, issues, error: None }
    }

    /// Returns the outcome with diagnostics in its first issue.
    #[must_use]
    pub fn diagnostics(mut self, text: impl Into<String>) -> Self {
        if let Some(first) = self.issues.first_mut() {
            first.diagnostics = Some(text.into());
        }
        self
    }

    /// Returns the outcome with the `error` of OAuth as `issue.details` of its first issue, for programs that know no
    /// better than to look into the body.
    #[must_use]
    pub fn oauth_error(mut self, error: &'static str) -> Self {
        self.error = Some(error);
        self
    }

    /// Returns the outcome with one more place in front of those of every issue.
    #[must_use]
    pub fn within(mut self, expression: &str) -> Self {
        for issue in &mut self.issues {
            issue.expression.insert(0, expression.to_owned());
        }
        self
    }

    /// Returns the outcome with these issues instead of its own, if there are any.
    #[must_use]
    pub fn issues(mut self, issues: Vec<Issue>) -> Self {
        if !issues.is_empty() {
            self.issues = issues;
        }
        self
    }

    /// Returns the resource.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut outcome = Map::new();
        outcome.insert("resourceType".to_owned(), "OperationOutcome".into());
        if let Some(id) = self.id {
            outcome.insert("id".to_owned(), id.into());
        }
        if let Some(text) = &self.text {
            let div = format!("<div xmlns=\"http://www.w3.org/1999/xhtml\">{}</div>", escape(text));
            outcome.insert("text".to_owned(), json!({"status": "generated", "div": div}));
        }
        let mut issues: Vec<Value> = self.issues.iter().map(Issue::to_value).collect();
        if let Some((error, Value::Object(first))) = self.error.zip(issues.first_mut()) {
            first.insert("details".to_owned(), json!({"coding": [{"system": OAUTH_ERRORS, "code": error}]}));
        }
        outcome.insert("issue".to_owned(), Value::Array(issues));
        Value::Object(outcome)
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

impl From<&WriteFault> for Outcome {
    fn from(fault: &WriteFault) -> Self {
        let with = |kind: Kind| kind.outcome().diagnostics(fault.to_string());
        match fault {
            WriteFault::AlreadyExists(key) => {
                DUPLICATE.outcome().diagnostics(format!("Duplicate key: {key} already exists"))
            }
            WriteFault::Taken(_) => with(DUPLICATE),
            WriteFault::VersionMismatch { .. } | WriteFault::VersionExcluded(_) => with(VERSION_MISMATCH),
            WriteFault::MultipleMatches { .. } | WriteFault::SeveralReferents(_) => with(MULTIPLE_MATCHES),
            WriteFault::NotFound(key) => NOT_FOUND.outcome().diagnostics(format!("Resource {key} not found")),
            WriteFault::NothingMatches(_) | WriteFault::NoReferent(_) => with(NOT_FOUND),
            WriteFault::TooManyReferents => with(TOO_COSTLY),
            WriteFault::ReadOnly(_) => with(NOT_SUPPORTED),
            WriteFault::Gone(key) => DELETED.outcome().diagnostics(format!("Resource {key} was deleted")),
            WriteFault::Outside | WriteFault::MatchGroup | WriteFault::NotSearched(SearchRefused::Closed) => {
                with(FORBIDDEN)
            }
            WriteFault::Patch(_) | WriteFault::UnresolvedReference(_) => with(INVALID),
            WriteFault::NotSearched(SearchRefused::Indexing { .. }) => with(UNAVAILABLE),
            WriteFault::WrittenTwice(_) | WriteFault::NotSearched(SearchRefused::Cursor) => with(BAD_REQUEST),
            WriteFault::Nonconforming(issues) => INVALID.outcome().issues(issues.clone()),
            WriteFault::Invalid(faults) => {
                let issues = faults
                    .iter()
                    .map(|fault| INVALID.issue().diagnostics(fault.to_string()).at(fault.expression.as_str()));
                INVALID.outcome().issues(issues.collect())
            }
        }
    }
}

impl From<&BundleFault> for Outcome {
    fn from(fault: &BundleFault) -> Self {
        match fault {
            BundleFault::Entry(fault) => Self::from(fault),
            BundleFault::NotABundle | BundleFault::Type | BundleFault::EntriesNotAnArray => {
                STRUCTURE.outcome().diagnostics(fault.to_string())
            }
            BundleFault::TooManyEntries => TOO_LARGE.outcome().diagnostics(fault.to_string()),
        }
    }
}

impl From<&EntryFault> for Outcome {
    fn from(fault: &EntryFault) -> Self {
        let outcome = BAD_REQUEST.outcome().diagnostics(fault.problem.to_string());
        outcome.within(&fault.expression())
    }
}

impl From<&QueryFault> for Outcome {
    fn from(fault: &QueryFault) -> Self {
        BAD_REQUEST.outcome().diagnostics(fault.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::{ShapeFault, ShapeProblem};

    #[test]
    fn a_denial_reads_as_the_platform_writes_it() {
        let expected = json!({
            "resourceType": "OperationOutcome",
            "id": "forbidden",
            "text": {
                "status": "generated",
                "div": "<div xmlns=\"http://www.w3.org/1999/xhtml\">Forbidden</div>",
            },
            "issue": [{"severity": "fatal", "code": "forbidden", "diagnostics": "Forbidden"}],
        });
        assert_eq!(FORBIDDEN.outcome().to_value(), expected);
    }

    #[test]
    fn a_missing_resource_is_named() {
        let fault = WriteFault::NotFound("Client/x".parse().unwrap());
        let outcome = Outcome::from(&fault).within("Bundle.entry[2]").to_value();
        assert_eq!(outcome["id"], "not-found");
        assert_eq!(outcome["issue"][0]["diagnostics"], "Resource Client/x not found");
        assert_eq!(outcome["issue"][0]["expression"], json!(["Bundle.entry[2]"]));
    }

    #[test]
    fn every_fault_of_a_body_is_an_issue_with_its_place() {
        let fault = WriteFault::Invalid(vec![
            ShapeFault::new("Client.id", ShapeProblem::OtherId),
            ShapeFault::new("Client.meta", ShapeProblem::NotAnObject),
        ]);
        let outcome = Outcome::from(&fault).to_value();
        assert_eq!(outcome["issue"].as_array().map(Vec::len), Some(2));
        assert_eq!(outcome["issue"][0]["expression"], json!(["Client.id"]));
        assert_eq!(outcome["issue"][1]["diagnostics"], "Client.meta: must be an object");
    }

    #[test]
    fn a_fault_of_an_entry_names_the_entry() {
        let problem = crate::bundle::EntryProblem::Method;
        let fault = BundleFault::Entry(EntryFault { index: 3, problem });
        let outcome = Outcome::from(&fault).to_value();
        assert_eq!(outcome["id"], "bad-request");
        assert_eq!(outcome["issue"][0]["expression"], json!(["Bundle.entry[3]"]));
    }

    #[test]
    fn the_text_is_escaped() {
        let outcome = Outcome { text: Some("<b>&".to_owned()), ..FORBIDDEN.outcome() };
        let div = "<div xmlns=\"http://www.w3.org/1999/xhtml\">&lt;b&gt;&amp;</div>";
        assert_eq!(outcome.to_value()["text"]["div"], div);
    }

    #[test]
    fn an_outcome_never_loses_its_last_issue() {
        assert_eq!(INVALID.outcome().issues(Vec::new()), INVALID.outcome());
        let outcome = Outcome::from(&WriteFault::Invalid(Vec::new())).to_value();
        assert_eq!(outcome["issue"][0]["code"], "invalid");
    }
}
