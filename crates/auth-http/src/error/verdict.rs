//! What a fault comes to, before it takes the form of one face of the server.

use fhir_store::operation_outcome::{IssueKind, OperationOutcome};
use http::header::{ALLOW, HeaderMap, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};

/// A row of the table.
#[derive(Debug, Clone)]
pub(crate) struct ErrorResponse {
    /// The status, the same on every face.
    pub(crate) status: StatusCode,
    outcome: OperationOutcome,
    /// `issue.code` of it.
    code: &'static str,
    /// `error` of RFC 6749.
    error: &'static str,
    /// `error_description` of RFC 6749.
    text: String,
    challenge: Option<AuthenticateChallenge>,
    retry_after_s: Option<u64>,
    allow: Option<&'static str>,
}

/// What `WWW-Authenticate` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AuthenticateChallenge {
    /// RFC 7617.
    Basic,
    /// RFC 6750, section 3: no credentials were sent.
    Bearer,
    /// RFC 6750, section 3.1.
    InvalidToken,
    /// RFC 6750, section 3.1, with the scope that would do.
    InsufficientScope(String),
}

impl ErrorResponse {
    /// A row; as OAuth JSON it is an `invalid_request` unless [`ErrorResponse::oauth`] says otherwise.
    pub(crate) fn new(status: StatusCode, kind: IssueKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            status,
            outcome: kind.to_outcome().with_diagnostics(text.as_str()),
            code: kind.code,
            error: "invalid_request",
            text,
            challenge: None,
            retry_after_s: None,
            allow: None,
        }
    }

    /// With this code of RFC 6749.
    pub(crate) fn oauth(self, error: &'static str) -> Self {
        Self { error, ..self }
    }

    /// With this outcome instead of the one made of the text.
    pub(crate) fn outcome(self, outcome: OperationOutcome) -> Self {
        Self { outcome, ..self }
    }

    /// With the Bundle entry it happened at, if it happened at one.
    pub(crate) fn at_entry(self, entry: Option<usize>) -> Self {
        match entry {
            Some(index) => {
                Self { outcome: self.outcome.prepend_expression(&fhir_store::bundle::entry_fhirpath(index)), ..self }
            }
            None => self,
        }
    }

    /// With `WWW-Authenticate`.
    pub(crate) fn challenge(self, challenge: AuthenticateChallenge) -> Self {
        Self { challenge: Some(challenge), ..self }
    }

    /// With `Retry-After`, in seconds.
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        Self { retry_after_s: Some(seconds), ..self }
    }

    /// With `Allow`, the methods that the address takes.
    pub(crate) fn allow(self, methods: &'static str) -> Self {
        Self { allow: Some(methods), ..self }
    }

    /// `error` of RFC 6749.
    pub(crate) const fn error(&self) -> &'static str {
        self.error
    }

    /// The text for developers.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the body under `/auth` (RFC 6749, section 5.2).
    pub(crate) fn oauth_body(&self) -> Value {
        json!({"error": self.error, "error_description": printable(&self.text)})
    }

    /// Returns the body at `/rpc`.
    pub(crate) fn rpc_body(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.text}})
    }

    /// Returns the body elsewhere.
    ///
    /// # Source
    /// Specification, OAuth errors: `insufficient_scope` is an `OperationOutcome`. `WWW-Authenticate` has the
    /// word, and so has the body, as has that of `invalid_token`.
    pub(crate) fn outcome_body(&self) -> Value {
        match self.error {
            "insufficient_scope" | "invalid_token" => self.outcome.clone().with_oauth_error(self.error).to_value(),
            _ => self.outcome.to_value(),
        }
    }

    /// Adds `WWW-Authenticate`, `Retry-After` and `Allow` where they belong; `realm` is the server's address.
    pub(crate) fn add_headers(&self, headers: &mut HeaderMap, realm: &str) {
        let challenge = self.challenge.as_ref().map(|challenge| match challenge {
            AuthenticateChallenge::Basic => format!("Basic realm=\"{realm}\", charset=\"UTF-8\""),
            AuthenticateChallenge::Bearer => format!("Bearer realm=\"{realm}\""),
            AuthenticateChallenge::InvalidToken => format!("Bearer realm=\"{realm}\", error=\"invalid_token\""),
            AuthenticateChallenge::InsufficientScope(needed) => {
                format!("Bearer realm=\"{realm}\", error=\"insufficient_scope\", scope=\"{needed}\"")
            }
        });
        if let Some(Ok(value)) = challenge.map(HeaderValue::try_from) {
            headers.insert(WWW_AUTHENTICATE, value);
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(methods) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(methods));
        }
    }
}

/// `text` as far as an `error_description` may hold it: printable ASCII without `"` and `\`.
///
/// # Source
/// RFC 6749, section 5.2.
fn printable(text: &str) -> String {
    let allowed = |c: char| c == ' ' || (c.is_ascii_graphic() && c != '"' && c != '\\');
    text.chars().map(|c| if allowed(c) { c } else { '\'' }).collect()
}

#[cfg(test)]
mod tests {
    use fhir_store::operation_outcome;

    use super::*;

    fn verdict(text: &str) -> ErrorResponse {
        ErrorResponse::new(StatusCode::NOT_FOUND, operation_outcome::NOT_FOUND, text)
    }

    #[test]
    fn a_description_holds_nothing_rfc_6749_forbids() {
        let body = verdict("a \"b\" \\ \u{1} é").oauth_body();
        assert_eq!(body["error_description"], "a 'b' ' ' '");
    }

    #[test]
    fn an_outcome_names_its_entry() {
        let body = verdict("gone").at_entry(Some(2)).outcome_body();
        assert_eq!(body["issue"][0]["expression"], json!(["Bundle.entry[2]"]));
        assert_eq!(verdict("gone").at_entry(None).outcome_body()["issue"][0].get("expression"), None);
    }

    #[test]
    fn the_outcome_says_insufficient_scope_and_invalid_token_too() {
        let coded = |error| verdict("").oauth(error).outcome_body()["issue"][0]["details"]["coding"][0]["code"].clone();
        assert_eq!(coded("insufficient_scope"), "insufficient_scope");
        assert_eq!(coded("invalid_token"), "invalid_token");
        assert_eq!(verdict("").outcome_body()["issue"][0].get("details"), None);
    }

    #[test]
    fn a_challenge_names_the_realm_and_what_was_wrong() {
        let header = |challenge| {
            let mut headers = HeaderMap::new();
            verdict("").challenge(challenge).add_headers(&mut headers, "https://a.example");
            headers[WWW_AUTHENTICATE].to_str().unwrap().to_owned()
        };
        assert_eq!(header(AuthenticateChallenge::Bearer), "Bearer realm=\"https://a.example\"");
        assert_eq!(
            header(AuthenticateChallenge::InvalidToken),
            "Bearer realm=\"https://a.example\", error=\"invalid_token\""
        );
        assert_eq!(
            header(AuthenticateChallenge::InsufficientScope("system/Patient.r".to_owned())),
            "Bearer realm=\"https://a.example\", error=\"insufficient_scope\", scope=\"system/Patient.r\""
        );
    }
}
