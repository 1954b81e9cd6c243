//! `/`: what runs here, and where to go.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;

use super::join::{finish, name_of, rendered};
use crate::state::App;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/", get(show))
}

/// The page.
#[derive(Template)]
#[template(path = "home.html")]
struct HomePage<'a> {
    realm: &'a str,
    base_url: &'a str,
}

/// Says that messages are read in an app, and which address the app wants.
async fn show(State(app): State<App>) -> Response {
    let page = rendered(&HomePage { realm: name_of(&app.realm()), base_url: &app.settings.base_url });
    finish(&app, page)
}
