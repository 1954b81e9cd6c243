//! Forms of the OAuth endpoints.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, FromRequest, Request};
use http::header::AUTHORIZATION;
use http::{Extensions, HeaderMap, HeaderValue};
use oauth_core::limits::FORM_MAX_BYTES;
use oauth_core::token_endpoint::{TokenError, TokenRequest};

use crate::error::{ApiError, CredentialsLocation};
use crate::state::App;
use crate::{body, media, rate_limit_key};

/// A form, read and counted against the caller's rate; what its parameters mean is the rules'
/// business.
#[derive(Debug)]
pub(crate) struct OAuthForm {
    parameters: oauth_core::form_fields::FormFields,
    authorization: Option<String>,
    /// From where; `None` where the listener names no peer.
    address: Option<String>,
}

impl OAuthForm {
    /// Returns the request as the rules read it.
    pub(crate) fn request(&self) -> TokenRequest<'_> {
        TokenRequest {
            authorization: self.authorization.as_deref(),
            form: &self.parameters,
            address: self.address.as_deref(),
        }
    }

    /// Where its credentials are.
    pub(crate) const fn credentials(&self) -> CredentialsLocation {
        if self.authorization.is_some() { CredentialsLocation::Header } else { CredentialsLocation::Form }
    }
}

impl FromRequest<App> for OAuthForm {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        if !media::is_form(&parts.headers) {
            return Err(ApiError::NotAForm);
        }
        let authorization = authorization(&parts.headers)?.map(str::to_owned);
        let limit_bytes = app.max_body_bytes.min(FORM_MAX_BYTES);
        let body = body::read(&parts.headers, body, limit_bytes).await?;
        let pairs: Vec<_> = form_urlencoded::parse(&body).into_owned().collect();

        let named_in_header = authorization.as_deref().and_then(rate_limit_key::claimed_client);
        let claimed = named_in_header.or_else(|| rate_limit_key::claimed_in_form(&pairs));
        app.limiter.check(&parts.extensions, claimed.as_deref())?;

        let parameters = oauth_core::form_fields::FormFields::new(pairs).map_err(|repeated| ApiError::Token {
            cause: TokenError::Repeated(repeated),
            credentials: CredentialsLocation::Form,
        })?;
        Ok(Self { parameters, authorization, address: address(&parts.extensions) })
    }
}

/// Returns the address a request comes from; `None` where the listener names no peer.
pub(crate) fn address(of: &Extensions) -> Option<String> {
    of.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip().to_canonical().to_string())
}

/// Returns the one `Authorization` header of a request.
///
/// Two of them are a fault, as is one that is no text: which one counts would be a guess.
pub(crate) fn authorization(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let mut sent = headers.get_all(AUTHORIZATION).iter();
    let first = sent.next();
    if sent.next().is_some() {
        return Err(ApiError::Header("Authorization"));
    }
    first.map(HeaderValue::to_str).transpose().map_err(|_| ApiError::Header("Authorization"))
}
