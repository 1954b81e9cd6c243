//! `/submessage`: taking part in a poll or a list.
//!
//! Not specified; parameters, keys and texts are those existing clients know.

use chat_core::id::MessageId;
use chat_core::messages::submessage;
use chat_core::model::message::WIDGET_SUBMESSAGE_TYPE;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::params::{EndpointParams, EnumWordParam, JsonParam, ParamError, ParamReader, TextParam, WordEnum};
use crate::routes::{self, Routes, no_members};

pub(crate) fn routes() -> Routes {
    Routes::of("messages")
        .api("/submessage", routes::post(endpoint(post).documented("Add to a poll or a list.", no_members)))
}

/// The one kind of submessage there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SubmessageKind;

impl WordEnum for SubmessageKind {
    const WORDS: &'static [(&'static str, Self)] = &[(WIDGET_SUBMESSAGE_TYPE, Self)];
}

/// The parameters of `POST /submessage`.
struct SubmessageParams {
    message_id: i64,
    content: String,
}

impl EndpointParams for SubmessageParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let message_id = reader.required::<JsonParam<i64>>("message_id")?;
        reader.required::<EnumWordParam<SubmessageKind>>("msg_type")?;
        Ok(Self { message_id, content: reader.required::<TextParam>("content")? })
    }
}

/// Adds to a poll or a list.
async fn post(call: ApiCall<AuthenticatedCaller>, addition: SubmessageParams) -> Result<ApiResponsePayload, ApiError> {
    let (ports, widgets) = (call.app.message_ports(), call.app.widgets.as_ref());
    let id = MessageId(addition.message_id);
    submessage::add_submessage(&ports, widgets, &call.caller.user, id, &addition.content).await?;
    Ok(ApiResponsePayload::empty())
}
