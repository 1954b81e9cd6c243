//! `/messages`: sending and reading.

mod send;

use axum::Router;
use axum::routing::post;

use crate::call::endpoint;
use crate::state::App;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/messages", post(endpoint(send::post)))
}
