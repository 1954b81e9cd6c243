//! What an operator is told of token requests: one line for a refusal, one for an omitted claim.
//!
//! A partner whose assertion is refused asks the operator, so the line has what both compare: the
//! client, the key, the algorithm, the audience sent and expected, and the server's time. No line
//! has a secret, an assertion or a token.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use oauth_core::authenticate::ClientAuthenticationError;
use oauth_core::authorize::AuthorizationError;
use oauth_core::token::{Omission, TokenError, TokenResponse};

use crate::error;
use crate::state::App;

/// Counts and logs an authorization that ended with an error at the app. A failure of the server is
/// logged here, as the app is told nothing of it.
pub(crate) fn not_authorized(cause: &AuthorizationError) {
    let code = cause.code();
    metrics::counter!("oauth_authorizations_refused_total", "cause" => code).increment(1);
    if cause.is_failure() {
        tracing::error!(%cause, "the server failed while it authorized an app");
    } else {
        tracing::info!(%cause, code, "authorization refused");
    }
}

/// Clients whose omissions are remembered; all are forgotten when there are more.
const CLIENTS_MAX: usize = 10_000;

/// For which reasons the tokens of each Client were logged to carry no B2B claim.
#[derive(Debug, Default)]
pub(crate) struct LoggedOmissions(Mutex<HashMap<String, HashSet<&'static str>>>);

impl LoggedOmissions {
    /// Returns whether no omission of this Client for this reason was logged yet; from now on one was.
    fn is_first(&self, client: &str, reason: &'static str) -> bool {
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reasons) = logged.get_mut(client) {
            return reasons.insert(reason);
        }
        if logged.len() >= CLIENTS_MAX {
            logged.clear();
        }
        logged.insert(client.to_owned(), HashSet::from([reason]));
        true
    }
}

/// Counts a token, and logs why it carries no B2B claim when it does not: once for each Client and reason, because the
/// next token would say the same.
pub(crate) fn issued(app: &App, response: &TokenResponse) {
    metrics::counter!("oauth_tokens_issued_total").increment(1);
    if let Err(omission) = &response.b2b {
        let reason = omission.code();
        metrics::counter!("oauth_b2b_claim_omitted_total", "reason" => reason).increment(1);
        omitted(&app.omissions, &response.client_id, omission);
    }
}

/// A Client without the extension does not ask for the claim: that is no news.
fn omitted(logged: &LoggedOmissions, client: &str, omission: &Omission) {
    let reason = omission.code();
    match omission {
        Omission::NoExtension { stored_urls, .. } if stored_urls.is_empty() => {
            tracing::debug!(client, reason, "token issued without the B2B claim");
        }
        _ if !logged.is_first(client, reason) => {}
        Omission::NotJwt { .. } => tracing::info!(client, reason, %omission, "token issued without the B2B claim"),
        _ => tracing::warn!(client, reason, %omission, "token issued without the B2B claim"),
    }
}

/// Counts and logs a refusal. Failures of the server are logged where they become an answer.
pub(crate) fn refused(app: &App, cause: &TokenError) {
    metrics::counter!("oauth_tokens_refused_total", "cause" => error::label(cause)).increment(1);
    match cause {
        TokenError::Client(
            fault @ (ClientAuthenticationError::Assertion { seen, .. }
            | ClientAuthenticationError::UnknownSubject { seen }),
        ) => {
            tracing::info!(
                client = seen.client,
                kid = seen.kid,
                alg = seen.alg,
                aud = seen.aud,
                expected_aud = app.authority.documents().token_endpoint(),
                server_time_s = app.env().now_s(),
                %fault,
                "client assertion refused"
            );
        }
        TokenError::Client(ClientAuthenticationError::Rejected { client_id, rejection }) => {
            tracing::info!(client = client_id, %rejection, "client refused");
        }
        TokenError::Store(_) | TokenError::Sign(_) => {}
        other => tracing::info!(cause = %other, "token request refused"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_of_each_client_is_logged_once() {
        let logged = LoggedOmissions::default();
        assert!(logged.is_first("a", "not_jwt"));
        assert!(!logged.is_first("a", "not_jwt"));
        assert!(logged.is_first("a", "union_form") && logged.is_first("b", "not_jwt"));
        assert!(!logged.is_first("a", "union_form") && !logged.is_first("b", "not_jwt"));
    }

    #[test]
    fn clients_beyond_the_limit_make_room() {
        let logged = LoggedOmissions::default();
        for n in 0..=CLIENTS_MAX {
            assert!(logged.is_first(&n.to_string(), "not_jwt"));
        }
        assert_eq!(logged.0.lock().unwrap().len(), 1);
        assert!(logged.is_first("0", "not_jwt"));
    }
}
