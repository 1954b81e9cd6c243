//! `/accounts/find`: the page that tells people which organization is at this address and how they get in.
//!
//! The desktop app opens it in a browser for who does not know the address of their organization. A server is one
//! organization, so the page sends no letter: who asks for a new password learns by mail, and alone, whether they have an
//! account.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::Extensions;
use axum::response::Response;
use axum::routing::get;
use http::HeaderMap;

use super::form_page::redirect;
use super::join::{finish, name_of, rendered};
use crate::error::ApiError;
use crate::rate::address;
use crate::state::{App, AppState};

const PATH: &str = "/accounts/find";

pub(crate) fn routes() -> Router<App> {
    Router::new().route(PATH, get(show)).route("/accounts/find/", get(redirect_to_page))
}

#[derive(Template)]
#[template(path = "find-account.html")]
struct FindAccountPage<'a> {
    realm: &'a str,
    server: &'a str,
}

/// Shows the page.
async fn show(State(app): State<App>, extensions: Extensions) -> Response {
    let admitted = app.server.by_address.check(&address(&extensions)).map_err(ApiError::from);
    let page = admitted.and_then(|_| page(&app));
    finish(&app, page)
}

fn page(app: &AppState) -> Result<String, ApiError> {
    rendered(&FindAccountPage { realm: name_of(&app.realm()), server: &app.settings.base_url })
}

/// The links of the page are relative to its address without a slash at the end.
async fn redirect_to_page(State(app): State<App>, extensions: Extensions) -> Response {
    match app.server.by_address.check(&address(&extensions)) {
        Ok(_) => redirect(&app, PATH, HeaderMap::new()),
        Err(exceeded) => finish(&app, Err(exceeded.into())),
    }
}
