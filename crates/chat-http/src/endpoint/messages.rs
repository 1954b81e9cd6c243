//! `/messages`: sending and reading.

mod find;
mod list;
mod matches;
mod preview;
mod send;

use axum::Router;
use axum::routing::{get, post};

use crate::call::endpoint;
use crate::state::App;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/messages", get(endpoint(list::get)).post(endpoint(send::post)))
        .route("/messages/matches_narrow", get(endpoint(matches::get)))
        .route("/messages/render", post(endpoint(preview::post)))
        .route("/messages/{message_id}", get(endpoint(find::get)))
}
