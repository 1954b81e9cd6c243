//! `/`: the client for who is signed in, the way to sign in for everyone else, and in an empty installation the page
//! that makes its organization. A server without a client says what runs here.

use askama::Template;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::Extensions;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::HeaderMap;

use super::form_page::{FORM_MAX_BYTES, SubmittedForm, redirect};
use super::join::{finish, name_of, rendered};
use super::setup;
use crate::browser;
use crate::error::ApiError;
use crate::state::{App, AppState};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/", get(show).post(found))
        .route("/static/web/{*name}", get(file))
        .layer(DefaultBodyLimit::max(FORM_MAX_BYTES))
}

/// The page at `/` where no client is served: it names the apps.
#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    realm: &'a str,
    base_url: &'a str,
}

/// Serves the client to a browser that is signed in, and sends every other one to the page to sign in. The fragment of
/// a link to a message stays in the address: a redirect without one inherits it.
async fn show(State(app): State<App>, headers: HeaderMap, extensions: Extensions) -> Response {
    if setup::code(&app).is_some() {
        return setup::show(&app, &headers);
    }
    let Some(client) = &app.browser.client else { return about(&app) };
    match browser::account(&app, &headers, &extensions).await {
        Ok(Some(_)) => client.serve_start_page(&headers),
        Ok(None) => redirect(&app, "/login/", HeaderMap::new()),
        Err(error) => finish(&app, Err(error)),
    }
}

/// Says that messages are read in an app, and which address the app wants.
fn about(app: &AppState) -> Response {
    let page = rendered(&HomePage { realm: name_of(&app.realm()), base_url: &app.settings.base_url });
    finish(app, page)
}

/// Makes the organization of an empty installation.
async fn found(State(app): State<App>, form: SubmittedForm<setup::SetupForm>) -> Response {
    setup::submit(&app, form).await
}

/// Serves a file of the client. It holds nothing of the organization.
async fn file(State(app): State<App>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    let file = app.browser.client.as_ref().and_then(|client| client.serve_file(&name, &headers));
    file.unwrap_or_else(|| ApiError::UnknownRoute.into_response())
}
