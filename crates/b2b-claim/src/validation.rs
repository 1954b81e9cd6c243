//! The check of the extension when a Client is written.

use std::fmt;

use serde_json::Value;

use crate::extension::{StoredValue, members, of_client, parts, quoted, stored_value};
use crate::{DeploymentUrls, OrganizationReference, PurposeOfUse, SubExtension};

/// An issue with the extension of a Client that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionIssue {
    /// The severity: whether the write should be refused.
    pub severity: ExtensionIssueSeverity,
    /// The position as a `FHIRPath` expression: `Client.extension[0].extension[2]`.
    pub expression: String,
    /// The kind of the issue.
    pub problem: ExtensionProblem,
}

/// The severity of an issue: the write is refused, or the writer is warned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtensionIssueSeverity {
    /// The Client contradicts itself and should not be stored.
    Error,
    /// The Client can be stored; its tokens will lack the claim or a part of it.
    Warning,
}

/// The kind of an issue with the extension.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExtensionProblem {
    /// The extension is there more than once.
    #[error("client-hl7B2b must be there once, not {count} times")]
    RepeatedExtension {
        /// The number of occurrences.
        count: usize,
    },
    /// A sub-extension of 1..1 occurs more than once.
    #[error("'{sub_extension}' must be there once, not {count} times")]
    Repeated {
        /// The sub-extension.
        sub_extension: SubExtension,
        /// The number of occurrences.
        count: usize,
    },
    /// A sub-extension of 1..1 is missing.
    #[error("'{0}' is missing: tokens will carry no hl7-b2b claim")]
    Missing(SubExtension),
    /// A sub-extension with an unknown URL.
    #[error("'{url}' is no part of client-hl7B2b and is not read")]
    UnknownUrl {
        /// Its URL, or its JSON when it is not a text.
        url: String,
    },
    /// A sub-extension is in the union form, which the token builder does not read.
    #[error("'{0}' is in the union form and is not read: write the Client through the native base endpoint")]
    UnionForm(SubExtension),
    /// A sub-extension has no value in its element.
    #[error("'{sub_extension}' has no '{}'", sub_extension.value_element())]
    WrongValueElement {
        /// The sub-extension.
        sub_extension: SubExtension,
    },
    /// A value that cannot be read.
    #[error("'{sub_extension}' has a value that is not read: {stored}")]
    BadValue {
        /// The sub-extension.
        sub_extension: SubExtension,
        /// The value, cut to [`MAX_QUOTED_CHARS`](crate::limits::MAX_QUOTED_CHARS) characters.
        stored: String,
    },
}

/// Validates the `client-hl7B2b` extension of a Client, and returns its issues.
///
/// Repetitions are errors: a Client has at most one organization identifier system, and a second organization would
/// make it ambiguous who calls. Everything else is a warning, because the specification describes Clients with an
/// incomplete extension, with other sub-extension URLs or in the union form as stored Clients whose tokens lack the
/// claim.
///
/// The Organization is not looked up: its later edits and its deletion apply to the next token anyway.
///
/// # Source
/// Specification "Extension `client-hl7B2b`" (cardinalities), "Client registration rule for the B2B
/// extension", and "Limits".
#[must_use]
pub fn validate_b2b_extension<'a>(client: &Value, deployment: impl Into<DeploymentUrls<'a>>) -> Vec<ExtensionIssue> {
    let deployment = deployment.into();
    let extensions = of_client(client, deployment.ext_base);
    let mut issues = Vec::new();
    if extensions.len() > 1 {
        let problem = ExtensionProblem::RepeatedExtension { count: extensions.len() };
        issues.push(ExtensionIssue::new("Client.extension".to_owned(), problem));
    }
    for (at, extension) in extensions {
        check_parts((&format!("Client.extension[{at}]"), extension), deployment, &mut issues);
    }
    issues
}

fn check_parts((place, extension): (&str, &Value), deployment: DeploymentUrls<'_>, issues: &mut Vec<ExtensionIssue>) {
    for kind in SubExtension::ALL {
        let parts = parts(extension, kind);
        if kind.is_single() && parts.is_empty() {
            issues.push(ExtensionIssue::new(place.to_owned(), ExtensionProblem::Missing(kind)));
        }
        if kind.is_single() && parts.len() > 1 {
            let problem = ExtensionProblem::Repeated { sub_extension: kind, count: parts.len() };
            issues.push(ExtensionIssue::new(place.to_owned(), problem));
        }
        for (at, part) in parts {
            let problem = problem_of_value(part, kind, deployment);
            issues.extend(problem.map(|problem| ExtensionIssue::new(format!("{place}.extension[{at}]"), problem)));
        }
    }
    for (at, part) in members(extension, "extension").iter().enumerate() {
        let url = part.get("url").unwrap_or(&Value::Null);
        if !SubExtension::ALL.iter().any(|kind| url.as_str() == Some(kind.url())) {
            let problem = ExtensionProblem::UnknownUrl { url: quoted(url) };
            issues.push(ExtensionIssue::new(format!("{place}.extension[{at}]"), problem));
        }
    }
}

fn problem_of_value(part: &Value, kind: SubExtension, deployment: DeploymentUrls<'_>) -> Option<ExtensionProblem> {
    let value = match stored_value(part, kind) {
        StoredValue::Element(value) => value,
        StoredValue::Union => return Some(ExtensionProblem::UnionForm(kind)),
        StoredValue::Other(_) => return Some(ExtensionProblem::WrongValueElement { sub_extension: kind }),
    };
    let is_read = match kind {
        SubExtension::Organization => OrganizationReference::parse(value, deployment).is_some(),
        SubExtension::OrganizationIdentifierSystem => value.as_str().is_some_and(|system| !system.trim().is_empty()),
        SubExtension::PurposeOfUse => PurposeOfUse::read(value).is_some(),
    };
    (!is_read).then(|| ExtensionProblem::BadValue { sub_extension: kind, stored: quoted(value) })
}

impl ExtensionIssue {
    fn new(expression: String, problem: ExtensionProblem) -> Self {
        Self { severity: problem.severity(), expression, problem }
    }
}

impl ExtensionProblem {
    const fn severity(&self) -> ExtensionIssueSeverity {
        match self {
            Self::RepeatedExtension { .. } | Self::Repeated { .. } => ExtensionIssueSeverity::Error,
            Self::Missing(_)
            | Self::UnknownUrl { .. }
            | Self::UnionForm(_)
            | Self::WrongValueElement { .. }
            | Self::BadValue { .. } => ExtensionIssueSeverity::Warning,
        }
    }
}

impl fmt::Display for ExtensionIssue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.expression, self.problem)
    }
}
