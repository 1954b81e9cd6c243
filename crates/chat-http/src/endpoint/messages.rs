//! `/messages`: sending and reading.

mod find;
mod list;
mod matches;
mod preview;
pub(crate) mod send;

use axum::Router;
use axum::routing::{get, post};

use crate::call::endpoint;
use crate::router::ApiRoutes;
use crate::state::App;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .api("/messages", get(endpoint(list::get)).post(endpoint(send::post)))
        .api("/messages/matches_narrow", get(endpoint(matches::get)))
        .api("/messages/render", post(endpoint(preview::post)))
        .api("/messages/{message_id}", get(endpoint(find::get)))
}
