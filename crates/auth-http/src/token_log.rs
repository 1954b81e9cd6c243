//! The log of token requests: one line for a refusal, one for an omitted claim.
//!
//! A partner whose assertion is refused asks the operator, so the line has what both compare: the
//! client, the key, the algorithm, the audience sent and expected, and the server's time. No line
//! has a secret, an assertion or a token.

use oauth_core::authorization_endpoint::AuthorizationRedirectError;
use oauth_core::client_authentication::ClientAuthenticationError;
use oauth_core::token_endpoint::{Omission, TokenError, TokenResponse};

use crate::error;
use crate::omission_log::LoggedOmissions;
use crate::state::App;

/// Counts and logs an authorization that ended with an error at the app. A failure of the server is
/// logged here, because the app does not learn of it.
pub(crate) fn not_authorized(cause: &AuthorizationRedirectError) {
    let code = cause.error_code();
    metrics::counter!("oauth_authorizations_refused_total", "cause" => code).increment(1);
    if cause.is_server_failure() {
        tracing::error!(%cause, "the server failed while it authorized an app");
    } else {
        tracing::info!(%cause, code, "authorization refused");
    }
}

/// Counts a token, and logs why it carries no B2B claim when it does not: once for each Client and reason, because the
/// next token would say the same.
pub(crate) fn issued(app: &App, response: &TokenResponse) {
    metrics::counter!("oauth_tokens_issued_total").increment(1);
    if let Err(omission) = &response.b2b {
        let reason = omission.metric_label();
        metrics::counter!("oauth_b2b_claim_omitted_total", "reason" => reason).increment(1);
        omitted(&app.omissions, &response.client_id, omission);
    }
}

/// A Client without the extension does not ask for the claim: that is no news.
fn omitted(logged: &LoggedOmissions, client: &str, omission: &Omission) {
    let reason = omission.metric_label();
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
                expected_aud = app.oauth.issuer.documents.token_endpoint_url(),
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
