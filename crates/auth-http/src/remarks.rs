//! What the writer of a resource should know of what it wrote, although it was stored.
//!
//! A policy that opens the server to everyone, a Client whose tokens will carry no B2B claim: the writer may see it in
//! the answer, and not only the operator in the log. The answer to a write shows the resource, so remarks stand in
//! `Warning` headers, in the `OperationOutcome` where one is preferred, and in the response of a Bundle's entry.
//!
//! # Source
//! RFC 7234, section 5.5 (`Warning`, code 199, and the text in quotes); FHIR R4, Bundle, `entry.response.outcome`.

use fhir_store::history::HistoryPosition;
use fhir_store::outcome::{self, IssueSeverity};
use fhir_store::{AccessFilter, HistoryQuery, HistoryRange, StoreError, StoredResource, WriteOutcome};
use http::header::WARNING;
use http::{HeaderMap, HeaderValue};
use oauth_core::registration::{self, PolicyIssue};

use crate::call::ResourceRequest;
use crate::gate;
use crate::guarded;
use crate::state::App;

/// Most remarks in one answer.
pub(crate) const REMARKS_MAX: usize = 10;
/// Longest remark in a header, in characters.
const TEXT_MAX_CHARS: usize = 500;

/// Returns the remarks about a write, for a caller who may read what it wrote. The write is done, so a store that fails
/// here is logged and costs the remarks alone.
pub(crate) async fn of(app: &App, call: &ResourceRequest, written: &WriteOutcome) -> Vec<PolicyIssue> {
    let (WriteOutcome::Created(stored) | WriteOutcome::Updated(stored) | WriteOutcome::Unchanged(stored)) = written
    else {
        return Vec::new();
    };
    if !guarded::is_ruled(&stored.key.kind) {
        return Vec::new();
    }
    let kind = stored.key.kind.as_str();
    let mut remarks = registration::warnings(kind, &stored.resource, app.authority.settings.deployment());
    if kind == "Client" && matches!(written, WriteOutcome::Updated(_)) {
        match lost_claim(app, stored).await {
            Ok(lost) => remarks.extend(lost),
            Err(failed) => {
                let cause: &dyn std::error::Error = &failed;
                tracing::error!(cause, key = %stored.key, "the version before a write was not read");
            }
        }
    }
    remarks.truncate(REMARKS_MAX);
    if remarks.is_empty() || !gate::may_read(app, call, stored).await { Vec::new() } else { remarks }
}

async fn lost_claim(app: &App, stored: &StoredResource) -> Result<Option<PolicyIssue>, StoreError> {
    let before = HistoryQuery {
        kinds: vec![(stored.key.kind.clone(), AccessFilter::Everything)],
        id: Some(stored.key.id.clone()),
        window: HistoryRange { since_us: None, after: Some(HistoryPosition::of(stored)), count: 1 },
    };
    let before = app.resources.history(&before).await?.entries.into_iter().next();
    let settings = &app.authority.settings;
    Ok(before.and_then(|before| {
        registration::lost_claim(stored.key.kind.as_str(), &before.stored.resource, &stored.resource, settings)
    }))
}

/// Adds remarks to the headers of an answer.
pub(crate) fn append(headers: &mut HeaderMap, remarks: &[PolicyIssue]) {
    for PolicyIssue { expression, diagnostics, .. } in remarks {
        let text = format!("{expression} {diagnostics}");
        let text: String =
            text.chars().filter(|c| c.is_ascii() && !c.is_ascii_control()).take(TEXT_MAX_CHARS).collect();
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::try_from(format!("199 - \"{text}\"")) {
            headers.append(WARNING, value);
        }
    }
}

/// Remarks as issues of an `OperationOutcome`.
pub(crate) fn issues(remarks: Vec<PolicyIssue>) -> impl Iterator<Item = outcome::OutcomeIssue> {
    remarks.into_iter().map(|PolicyIssue { expression, code, diagnostics }| outcome::OutcomeIssue {
        severity: IssueSeverity::Warning,
        code: code.as_str(),
        diagnostics: Some(diagnostics),
        expression: vec![expression],
    })
}

#[cfg(test)]
mod tests {
    use oauth_core::registration::PolicyIssueCode;

    use super::*;

    #[test]
    fn a_remark_never_leaves_its_quotes() {
        let mut headers = HeaderMap::new();
        append(&mut headers, &[PolicyIssue::new(PolicyIssueCode::Value, "Client.name", "a \"b\" \\ c\r\nX: y \u{e9}")]);
        assert_eq!(headers[WARNING], r#"199 - "Client.name a \"b\" \\ cX: y ""#);
    }
}
