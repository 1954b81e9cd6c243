//! What people choose for themselves beside their preferences: a status, whom and which topics they do not hear, words
//! they watch for.

mod alert_words;
mod muted_users;
mod status;
mod topics;

use axum::Router;
use axum::routing::{get, patch, post};

use crate::call::endpoint;
use crate::router::ApiRoutes;
use crate::state::App;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .api("/users/me/status", post(endpoint(status::post)))
        .api("/users/{user_id}/status", get(endpoint(status::get)))
        .api("/users/me/muted_users/{user_id}", post(endpoint(muted_users::post)).delete(endpoint(muted_users::delete)))
        .api("/users/me/subscriptions/muted_topics", patch(endpoint(topics::patch)))
        .api("/user_topics", post(endpoint(topics::post)))
        .api(
            "/users/me/alert_words",
            get(endpoint(alert_words::get)).post(endpoint(alert_words::post)).delete(endpoint(alert_words::delete)),
        )
}
