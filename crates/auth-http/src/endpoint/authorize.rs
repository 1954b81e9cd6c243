//! `/auth/authorize`: an app sends a browser here to be let in.

use axum::extract::{RawQuery, Request, State};
use axum::response::Response;
use oauth_core::authorization_endpoint::AuthorizationParameters;

use crate::error::ApiError;
use crate::page::{self, AUTHORIZE, BrowserContext, next};
use crate::state::App;

/// Checks the request and sends the browser on: to the app, or to the page that comes first.
pub(crate) async fn get(
    State(app): State<App>,
    visitor: BrowserContext,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let pairs = form_urlencoded::parse(query.as_deref().unwrap_or_default().as_bytes()).into_owned();
    let parameters = AuthorizationParameters::new(pairs);
    let step = app.oauth.authorize.begin_authorization(&app.env(), &parameters, visitor.as_browser()).await;
    next::go(&app, step)
}

/// The same request, sent as a form by the app's own page. A browser adds no `Lax` cookie to that, so it
/// is asked to come again with GET.
///
/// # Source
/// SMART App Launch 2.2.0, capability `authorize-post`; OpenID Connect Core 1.0, section 3.1.2.1.
pub(crate) async fn post(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let fields = page::fields(&app, &parts.headers, body).await?;
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    page::see(&format!("{}?{query}", app.pages.link(AUTHORIZE)))
}
