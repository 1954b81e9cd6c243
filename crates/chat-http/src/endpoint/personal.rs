//! What people choose for themselves beside their preferences: a status, whom and which topics they do not hear, words
//! they watch for, texts they keep to write them again, and which views their clients list.

mod alert_words;
mod muted_users;
mod navigation_views;
mod saved_snippets;
mod status;
mod topics;

use crate::api_call::endpoint;
use crate::routes::{Routes, get, no_members, patch, post};

pub(crate) fn routes() -> Routes {
    let words =
        get(endpoint(alert_words::get)
            .documented("List the words the caller watches for.", alert_words::response_schema))
        .post(endpoint(alert_words::post).documented("Watch for more words.", alert_words::response_schema))
        .delete(endpoint(alert_words::delete).documented("Watch for words no longer.", alert_words::response_schema));
    let mute = post(endpoint(muted_users::post).documented("Mute a user.", no_members))
        .delete(endpoint(muted_users::delete).documented("Let a user be heard again.", no_members));
    let muted_topics = patch(endpoint(topics::patch).documented("Mute a topic, or no longer.", no_members));
    Routes::of("users")
        .merge(saved_snippets::routes())
        .merge(navigation_views::routes())
        .api("/users/me/status", post(endpoint(status::post).documented("Change the caller's status.", no_members)))
        .api(
            "/users/{user_id}/status",
            get(endpoint(status::get).documented("Tell a user's status.", status::response_schema))
                .post(endpoint(status::post_for).documented("Change a user's status for them.", no_members)),
        )
        .api("/users/me/muted_users/{muted_user_id}", mute)
        .api("/users/me/subscriptions/muted_topics", muted_topics)
        .api("/user_topics", post(endpoint(topics::post).documented("Follow a topic in another way.", no_members)))
        .api("/users/me/alert_words", words)
}
