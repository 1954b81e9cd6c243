//! `/messages/{message_id}/reactions`.

use chat_core::log::decision::DECISIONS_MAX;
use chat_core::log::event;
use chat_core::messages::reaction::{RequestedEmoji, to_add, to_remove};
use chat_core::messages::store::WriteOutcome;
use chat_core::messages::topic_policy::automatic;
use chat_core::model::flag_change::FlagOp;
use chat_core::permission::access;

use super::readable_message;
use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::params::{ParamError, ParamReader, Params, TextParam};
use crate::response::ApiResponse;
use crate::routes::{Routes, no_members, post};

pub(crate) fn routes() -> Routes {
    let reactions = post(endpoint(add).documented("Put an emoji on a message.", no_members))
        .delete(endpoint(remove).documented("Take an emoji off a message.", no_members));
    Routes::of("messages").api("/messages/{message_id}/reactions", reactions)
}

/// The parameters of `POST /messages/{message_id}/reactions`.
pub(crate) struct AddReactionParams {
    name: String,
    code: Option<String>,
    kind: Option<String>,
}

impl Params for AddReactionParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            name: reader.required::<TextParam>("emoji_name")?,
            code: reader.optional::<TextParam>("emoji_code")?,
            kind: reader.optional::<TextParam>("reaction_type")?,
        })
    }
}

/// The parameters of `DELETE /messages/{message_id}/reactions`.
pub(crate) struct RemoveReactionParams {
    name: Option<String>,
    code: Option<String>,
    kind: Option<String>,
}

impl Params for RemoveReactionParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            name: reader.optional::<TextParam>("emoji_name")?,
            code: reader.optional::<TextParam>("emoji_code")?,
            kind: reader.optional::<TextParam>("reaction_type")?,
        })
    }
}

/// Puts the caller's emoji on a message.
pub(crate) async fn add(call: ApiCall<Caller>, params: AddReactionParams) -> Result<ApiResponse, ApiError> {
    let requested =
        RequestedEmoji { name: Some(&params.name), code: params.code.as_deref(), kind: params.kind.as_deref() };
    for _ in 0..DECISIONS_MAX {
        let copy = readable_message::find(&call).await?;
        access::add_to(&copy.realm, &copy.user, &copy.message)?;
        let reaction = to_add(&copy.realm, copy.user.id, &copy.message, requested)?;
        let event = event::reacted(&copy.user, &copy.message, &reaction, FlagOp::Add);
        let written = call.app.messages.react(&copy.decided(), &reaction, (call.app.now_s(), event)).await?;
        if written != WriteOutcome::Unchanged {
            automatic::after_taking_part(&call.app.message_ports(), copy.user.id, &copy.message).await;
            return Ok(ApiResponse::empty());
        }
    }
    Err(readable_message::outrun())
}

/// Takes the caller's emoji off a message.
///
/// # Source
/// Specification, `DELETE /messages/{message_id}/reactions`.
pub(crate) async fn remove(call: ApiCall<Caller>, params: RemoveReactionParams) -> Result<ApiResponse, ApiError> {
    let requested =
        RequestedEmoji { name: params.name.as_deref(), code: params.code.as_deref(), kind: params.kind.as_deref() };
    for _ in 0..DECISIONS_MAX {
        let copy = readable_message::find(&call).await?;
        let reaction = to_remove(&copy.realm, copy.user.id, &copy.message, requested)?;
        let event = event::reacted(&copy.user, &copy.message, &reaction, FlagOp::Remove);
        let written = call.app.messages.unreact(&copy.decided(), &reaction, (call.app.now_s(), event)).await?;
        if written != WriteOutcome::Unchanged {
            return Ok(ApiResponse::empty());
        }
    }
    Err(readable_message::outrun())
}
