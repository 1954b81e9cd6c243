//! `/auth/token`.

use axum::extract::State;
use axum::response::Response;
use oauth_core::token;

use super::introspect::private_json;
use crate::error::{self, Fault};
use crate::form::Form;
use crate::state::App;

/// Issues a token.
///
/// # Source
/// Specification, POST /auth/token variants; RFC 6749, section 5.
pub(crate) async fn post(State(app): State<App>, form: Form) -> Result<Response, Fault> {
    match token::exchange(&app.env(), &app.authority, &form.request()).await {
        Ok(issued) => {
            metrics::counter!("oauth_tokens_issued_total").increment(1);
            if let Err(omission) = &issued.b2b {
                let reason = omission.code();
                metrics::counter!("oauth_b2b_claim_omitted_total", "reason" => reason).increment(1);
            }
            private_json(&issued)
        }
        Err(cause) => {
            metrics::counter!("oauth_tokens_refused_total", "cause" => error::label(&cause)).increment(1);
            Err(Fault::Token { cause, credentials: form.credentials() })
        }
    }
}
