//! `/messages`: sending and reading.

mod find;
mod list;
mod matches;
mod preview;
pub(crate) mod send;

use crate::call::endpoint;
use crate::routes::{Routes, get, post};

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list::get).says("Read messages around an anchor.", list::told))
        .post(endpoint(send::post).says("Send a message.", send::told));
    let matches = endpoint(matches::get).says("Tell which of some messages a narrow selects.", matches::told);
    let preview = endpoint(preview::post).says("Render a text without sending it.", preview::told);
    Routes::of("messages")
        .api("/messages", all)
        .api("/messages/matches_narrow", get(matches))
        .api("/messages/render", post(preview))
        .api("/messages/{message_id}", get(endpoint(find::get).says("Read one message.", find::told)))
}
