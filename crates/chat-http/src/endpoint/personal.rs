//! What people choose for themselves beside their preferences: a status, whom and which topics they do not hear, words
//! they watch for.

mod alert_words;
mod muted_users;
mod status;
mod topics;

use crate::call::endpoint;
use crate::routes::{Routes, get, nothing, patch, post};

pub(crate) fn routes() -> Routes {
    let words = get(endpoint(alert_words::get).says("List the words the caller watches for.", alert_words::told))
        .post(endpoint(alert_words::post).says("Watch for more words.", alert_words::told))
        .delete(endpoint(alert_words::delete).says("Watch for words no longer.", alert_words::told));
    let mute = post(endpoint(muted_users::post).says("Mute a user.", nothing))
        .delete(endpoint(muted_users::delete).says("Let a user be heard again.", nothing));
    let muted_topics = patch(endpoint(topics::patch).says("Mute a topic, or no longer.", nothing));
    Routes::of("users")
        .api("/users/me/status", post(endpoint(status::post).says("Change the caller's status.", nothing)))
        .api("/users/{user_id}/status", get(endpoint(status::get).says("Tell a user's status.", status::told)))
        .api("/users/me/muted_users/{muted_user_id}", mute)
        .api("/users/me/subscriptions/muted_topics", muted_topics)
        .api("/user_topics", post(endpoint(topics::post).says("Follow a topic in another way.", nothing)))
        .api("/users/me/alert_words", words)
}
