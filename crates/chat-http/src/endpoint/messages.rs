//! `/messages`: sending and reading.

mod find;
mod list;
mod matches;
mod preview;
pub(crate) mod send;

use crate::api_call::endpoint;
use crate::routes::{Routes, get, post};

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list::get).documented("Read messages around an anchor.", list::response_schema))
        .post(endpoint(send::post).documented("Send a message.", send::response_schema));
    let matches =
        endpoint(matches::get).documented("Tell which of some messages a narrow selects.", matches::response_schema);
    let preview = endpoint(preview::post).documented("Render a text without sending it.", preview::response_schema);
    Routes::of("messages")
        .api("/messages", all)
        .api("/messages/matches_narrow", get(matches))
        .api("/messages/render", post(preview))
        .api("/messages/{message_id}", get(endpoint(find::get).documented("Read one message.", find::response_schema)))
}
