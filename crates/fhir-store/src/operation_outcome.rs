//! `OperationOutcome`: the report of a failure to the caller.
//!
//! Which failure gets which HTTP status is decided where HTTP is. The [`IssueKind`]s here are the rows
//! of that table without the status.

use serde_json::{Map, Value, json};

use crate::bundle::{BundleEntryError, RequestBundleError};
use crate::ports::{SearchExecutionError, WriteError};
use crate::query_parsing::QueryError;

/// The severity of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueSeverity {
    /// The request was not even tried.
    Fatal,
    /// The request failed.
    Error,
    /// The request succeeded, but not quite as asked.
    Warning,
    /// Something worth knowing.
    Information,
}

impl IssueSeverity {
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

/// A kind of issue: the outcome's id, severity, code and default text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssueKind {
    /// `OperationOutcome.id`, a short name for programs.
    pub id: Option<&'static str>,
    /// `issue.severity`.
    pub severity: IssueSeverity,
    /// `issue.code`, of the value set `issue-type`.
    pub code: &'static str,
    /// The text for people, and the diagnostics unless others are set.
    pub text: &'static str,
}

const fn kind(id: &'static str, code: &'static str, text: &'static str) -> IssueKind {
    IssueKind { id: Some(id), severity: IssueSeverity::Fatal, code, text }
}

/// A request that cannot be understood (400).
pub const BAD_REQUEST: IssueKind = kind("bad-request", "invalid", "Bad request");
/// A body that is not JSON or not of the expected form (400).
pub const MALFORMED_BODY: IssueKind = kind("invalid", "structure", "Malformed body");
/// No credentials, or wrong ones (401).
pub const UNAUTHORIZED: IssueKind = kind("unauthorized", "login", "Unauthorized");
/// Access that the credentials do not allow (403).
pub const FORBIDDEN: IssueKind = kind("forbidden", "forbidden", "Forbidden");
/// Nothing under this address (404).
pub const NOT_FOUND: IssueKind = kind("not-found", "not-found", "Not found");
/// A method that the address does not support (405).
pub const METHOD_NOT_SUPPORTED: IssueKind =
    IssueKind { id: None, severity: IssueSeverity::Fatal, code: "not-supported", text: "Method not allowed" };
/// A create of a resource that exists already (409).
pub const ALREADY_EXISTS: IssueKind = kind("duplicate", "duplicate", "Duplicate key");
/// Concurrent writes to the same rows that conflicted repeatedly (409).
pub const WRITE_CONFLICT: IssueKind = kind("conflict", "conflict", "Conflict");
/// A resource that was deleted (410).
pub const DELETED: IssueKind = kind("deleted", "deleted", "Deleted");
/// Another version than the expected one (412).
pub const VERSION_MISMATCH: IssueKind = kind("precondition-failed", "conflict", "Version Id mismatch");
/// A condition that matches several resources (412).
pub const MULTIPLE_MATCHES: IssueKind =
    kind("precondition-failed", "multiple-matches", "The condition matches several resources");
/// A body too large (413).
pub const BODY_TOO_LARGE: IssueKind = kind("too-long", "too-long", "The body is too large");
/// A request whose answer would be too large (413).
pub const ANSWER_TOO_LARGE: IssueKind = kind("too-costly", "too-costly", "The answer is too large");
/// A search that takes longer than a search may (400).
pub const SEARCH_TOO_SLOW: IssueKind = kind("too-costly", "too-costly", "The search takes too long");
/// A resource that breaks a rule (422).
pub const INVALID_RESOURCE: IssueKind = kind("invalid", "invalid", "Invalid resource");
/// Too many calls (429).
pub const THROTTLED: IssueKind =
    IssueKind { id: None, severity: IssueSeverity::Fatal, code: "throttled", text: "Too many requests" };
/// A failure of the server itself (500).
pub const INTERNAL_ERROR: IssueKind = kind("internal", "exception", "Internal error");
/// A server that cannot answer now (503).
pub const UNAVAILABLE: IssueKind = kind("unavailable", "transient", "Not available");

impl IssueKind {
    /// Returns an outcome with one issue of this kind.
    #[must_use]
    pub fn to_outcome(self) -> OperationOutcome {
        OperationOutcome { id: self.id, text: Some(self.text.to_owned()), issues: vec![self.to_issue()], error: None }
    }

    /// Returns an issue of this kind.
    #[must_use]
    pub fn to_issue(self) -> OutcomeIssue {
        OutcomeIssue {
            severity: self.severity,
            code: self.code,
            diagnostics: Some(self.text.to_owned()),
            expression: Vec::new(),
        }
    }
}

/// One issue of an `OperationOutcome`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutcomeIssue {
    /// The severity of the issue.
    pub severity: IssueSeverity,
    /// `issue-type` code.
    pub code: &'static str,
    /// An explanation for developers. It reaches the caller, so it has nothing internal.
    pub diagnostics: Option<String>,
    /// The positions of the issue, as `FHIRPath` expressions.
    pub expression: Vec<String>,
}

impl OutcomeIssue {
    /// Returns the issue with these diagnostics.
    #[must_use]
    pub fn with_diagnostics(mut self, text: impl Into<String>) -> Self {
        self.diagnostics = Some(text.into());
        self
    }

    /// Returns the issue with one more `expression`.
    #[must_use]
    pub fn with_expression(mut self, expression: impl Into<String>) -> Self {
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

/// An `OperationOutcome` resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationOutcome {
    id: Option<&'static str>,
    text: Option<String>,
    issues: Vec<OutcomeIssue>,
    error: Option<&'static str>,
}

impl OperationOutcome {
    /// Creates an outcome from at least one issue, without id and text.
    #[must_use]
    pub fn from_issues(issues: Vec<OutcomeIssue>) -> Self {
        Self { id: None, text: None, issues, error: None }
    }

    /// Returns the outcome with diagnostics in its first issue.
    #[must_use]
    pub fn with_diagnostics(mut self, text: impl Into<String>) -> Self {
        if let Some(first) = self.issues.first_mut() {
            first.diagnostics = Some(text.into());
        }
        self
    }

    /// Returns the outcome with an OAuth error code in `details` of its first issue.
    #[must_use]
    pub fn with_oauth_error(mut self, error: &'static str) -> Self {
        self.error = Some(error);
        self
    }

    /// Returns the outcome with `expression` as the first expression of every issue.
    #[must_use]
    pub fn prepend_expression(mut self, expression: &str) -> Self {
        for issue in &mut self.issues {
            issue.expression.insert(0, expression.to_owned());
        }
        self
    }

    /// Returns the outcome with its issues replaced by these, unless there are none.
    #[must_use]
    pub fn with_issues(mut self, issues: Vec<OutcomeIssue>) -> Self {
        if !issues.is_empty() {
            self.issues = issues;
        }
        self
    }

    /// Returns the resource as JSON.
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
        let mut issues: Vec<Value> = self.issues.iter().map(OutcomeIssue::to_value).collect();
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

impl From<&WriteError> for OperationOutcome {
    fn from(fault: &WriteError) -> Self {
        let with = |kind: IssueKind| kind.to_outcome().with_diagnostics(fault.to_string());
        match fault {
            WriteError::AlreadyExists(key) => {
                ALREADY_EXISTS.to_outcome().with_diagnostics(format!("Duplicate key: {key} already exists"))
            }
            WriteError::Taken(_) => with(ALREADY_EXISTS),
            WriteError::VersionMismatch { .. } | WriteError::VersionExcluded(_) => with(VERSION_MISMATCH),
            WriteError::MultipleMatches { .. } | WriteError::SeveralReferents(_) => with(MULTIPLE_MATCHES),
            WriteError::NotFound(key) => NOT_FOUND.to_outcome().with_diagnostics(format!("Resource {key} not found")),
            WriteError::NothingMatches(_) | WriteError::NoReferent(_) => with(NOT_FOUND),
            WriteError::TooManyReferents => with(ANSWER_TOO_LARGE),
            WriteError::ReadOnly(_) => with(METHOD_NOT_SUPPORTED),
            WriteError::Gone(key) => DELETED.to_outcome().with_diagnostics(format!("Resource {key} was deleted")),
            WriteError::Outside | WriteError::MatchGroup | WriteError::NotSearched(SearchExecutionError::Closed) => {
                with(FORBIDDEN)
            }
            WriteError::Patch(_) | WriteError::PatchedReferent(_) | WriteError::UnresolvedReference(_) => {
                with(INVALID_RESOURCE)
            }
            WriteError::NotSearched(SearchExecutionError::Indexing { .. }) => with(UNAVAILABLE),
            WriteError::WrittenTwice(_) | WriteError::NotSearched(SearchExecutionError::Cursor) => with(BAD_REQUEST),
            WriteError::Nonconforming(issues) => INVALID_RESOURCE.to_outcome().with_issues(issues.clone()),
            WriteError::Invalid(faults) => {
                let issues = faults.iter().map(|fault| {
                    INVALID_RESOURCE
                        .to_issue()
                        .with_diagnostics(fault.to_string())
                        .with_expression(fault.expression.as_str())
                });
                INVALID_RESOURCE.to_outcome().with_issues(issues.collect())
            }
        }
    }
}

impl From<&RequestBundleError> for OperationOutcome {
    fn from(fault: &RequestBundleError) -> Self {
        match fault {
            RequestBundleError::Entry(fault) => Self::from(fault),
            RequestBundleError::NotABundle | RequestBundleError::Type | RequestBundleError::EntriesNotAnArray => {
                MALFORMED_BODY.to_outcome().with_diagnostics(fault.to_string())
            }
            RequestBundleError::TooManyEntries => BODY_TOO_LARGE.to_outcome().with_diagnostics(fault.to_string()),
        }
    }
}

impl From<&BundleEntryError> for OperationOutcome {
    fn from(fault: &BundleEntryError) -> Self {
        let outcome = BAD_REQUEST.to_outcome().with_diagnostics(fault.problem.to_string());
        outcome.prepend_expression(&fault.entry_fhirpath())
    }
}

impl From<&QueryError> for OperationOutcome {
    fn from(fault: &QueryError) -> Self {
        BAD_REQUEST.to_outcome().with_diagnostics(fault.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body_validation::{RequestBodyError, RequestBodyErrorKind};

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
        assert_eq!(FORBIDDEN.to_outcome().to_value(), expected);
    }

    #[test]
    fn a_missing_resource_is_named() {
        let fault = WriteError::NotFound("Client/x".parse().unwrap());
        let outcome = OperationOutcome::from(&fault).prepend_expression("Bundle.entry[2]").to_value();
        assert_eq!(outcome["id"], "not-found");
        assert_eq!(outcome["issue"][0]["diagnostics"], "Resource Client/x not found");
        assert_eq!(outcome["issue"][0]["expression"], json!(["Bundle.entry[2]"]));
    }

    #[test]
    fn every_fault_of_a_body_is_an_issue_with_its_place() {
        let fault = WriteError::Invalid(vec![
            RequestBodyError::new("Client.id", RequestBodyErrorKind::OtherId),
            RequestBodyError::new("Client.meta", RequestBodyErrorKind::NotAnObject),
        ]);
        let outcome = OperationOutcome::from(&fault).to_value();
        assert_eq!(outcome["issue"].as_array().map(Vec::len), Some(2));
        assert_eq!(outcome["issue"][0]["expression"], json!(["Client.id"]));
        assert_eq!(outcome["issue"][1]["diagnostics"], "Client.meta: must be an object");
    }

    #[test]
    fn a_fault_of_an_entry_names_the_entry() {
        let problem = crate::bundle::BundleEntryErrorKind::Method;
        let fault = RequestBundleError::Entry(BundleEntryError { index: 3, problem });
        let outcome = OperationOutcome::from(&fault).to_value();
        assert_eq!(outcome["id"], "bad-request");
        assert_eq!(outcome["issue"][0]["expression"], json!(["Bundle.entry[3]"]));
    }

    #[test]
    fn the_text_is_escaped() {
        let outcome = OperationOutcome { text: Some("<b>&".to_owned()), ..FORBIDDEN.to_outcome() };
        let div = "<div xmlns=\"http://www.w3.org/1999/xhtml\">&lt;b&gt;&amp;</div>";
        assert_eq!(outcome.to_value()["text"]["div"], div);
    }

    #[test]
    fn an_outcome_never_loses_its_last_issue() {
        assert_eq!(INVALID_RESOURCE.to_outcome().with_issues(Vec::new()), INVALID_RESOURCE.to_outcome());
        let outcome = OperationOutcome::from(&WriteError::Invalid(Vec::new())).to_value();
        assert_eq!(outcome["issue"][0]["code"], "invalid");
    }
}
