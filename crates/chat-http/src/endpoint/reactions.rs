//! `/messages/{message_id}/reactions`.

use chat_core::id::MessageId;
use chat_core::messages::reaction::{self, RequestedEmoji};
use chat_core::model::flag_change::FlagOp;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::params::{EndpointParams, ParamError, ParamReader, TextParam};
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

impl EndpointParams for AddReactionParams {
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

impl EndpointParams for RemoveReactionParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            name: reader.optional::<TextParam>("emoji_name")?,
            code: reader.optional::<TextParam>("emoji_code")?,
            kind: reader.optional::<TextParam>("reaction_type")?,
        })
    }
}

/// Puts the caller's emoji on a message.
pub(crate) async fn add(
    call: ApiCall<AuthenticatedCaller>,
    params: AddReactionParams,
) -> Result<ApiResponsePayload, ApiError> {
    let requested =
        RequestedEmoji { name: Some(&params.name), code: params.code.as_deref(), kind: params.kind.as_deref() };
    let id = MessageId(call.path_id("message_id")?);
    reaction::add_or_remove_reaction(&call.app.message_ports(), &call.caller.user, id, (FlagOp::Add, requested))
        .await?;
    Ok(ApiResponsePayload::empty())
}

/// Takes the caller's emoji off a message.
///
/// # Source
/// Specification, `DELETE /messages/{message_id}/reactions`.
pub(crate) async fn remove(
    call: ApiCall<AuthenticatedCaller>,
    params: RemoveReactionParams,
) -> Result<ApiResponsePayload, ApiError> {
    let requested =
        RequestedEmoji { name: params.name.as_deref(), code: params.code.as_deref(), kind: params.kind.as_deref() };
    let id = MessageId(call.path_id("message_id")?);
    reaction::add_or_remove_reaction(&call.app.message_ports(), &call.caller.user, id, (FlagOp::Remove, requested))
        .await?;
    Ok(ApiResponsePayload::empty())
}
