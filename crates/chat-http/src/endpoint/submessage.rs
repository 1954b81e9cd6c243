//! `/submessage`: taking part in a poll or a list.
//!
//! Not specified; parameters, keys and texts are those existing clients know.

use chat_core::id::MessageId;
use chat_core::log::decision::DECISIONS_MAX;
use chat_core::messages::store::WriteOutcome;
use chat_core::messages::topic_policy::automatic;
use chat_core::messages::widget;
use chat_core::model::message::SUBMESSAGE_KIND;
use chat_core::permission::access::add_to;

use super::readable_message;
use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::params::{Json, ParamError, ParamReader, Params, TextParam, WordEnum, WordParam};
use crate::response::ApiResponse;
use crate::routes::{self, Routes, no_members};

pub(crate) fn routes() -> Routes {
    Routes::of("messages")
        .api("/submessage", routes::post(endpoint(post).documented("Add to a poll or a list.", no_members)))
}

/// The one kind of submessage there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SubmessageKind;

impl WordEnum for SubmessageKind {
    const WORDS: &'static [(&'static str, Self)] = &[(SUBMESSAGE_KIND, Self)];
}

/// The parameters of `POST /submessage`.
struct SubmessageParams {
    message_id: i64,
    content: String,
}

impl Params for SubmessageParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let message_id = reader.required::<Json<i64>>("message_id")?;
        reader.required::<WordParam<SubmessageKind>>("msg_type")?;
        Ok(Self { message_id, content: reader.required::<TextParam>("content")? })
    }
}

/// Adds to a poll or a list.
async fn post(call: ApiCall<Caller>, addition: SubmessageParams) -> Result<ApiResponse, ApiError> {
    for _ in 0..DECISIONS_MAX {
        let readable_message::ReadableMessage { realm, user, message } =
            readable_message::find_by_id(&call, MessageId(addition.message_id)).await?;
        add_to(&realm, &user, &message)?;
        widget::may_add(&message, user.id, &addition.content)?;
        let added = (user.id, addition.content.as_str());
        let decided = (&message, realm.changed());
        if call.app.widgets.add_submessage(decided, added, call.app.now_s()).await? != WriteOutcome::Unchanged {
            automatic::after_taking_part(&call.app.message_ports(), user.id, &message).await;
            return Ok(ApiResponse::empty());
        }
    }
    Err(readable_message::outrun())
}
