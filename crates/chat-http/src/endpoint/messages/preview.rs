//! Rendering a text without sending it.

use chat_core::model::message;
use chat_core::model::render_context::RenderSettings;
use serde_json::json;

use crate::auth::Caller;
use crate::call::ApiCall;
use crate::error::ApiError;
use crate::params::{ParamError, ParamReader, Params, TextParamWithNul};
use crate::response::ApiResponse;
use crate::schema::{Member, Schema, has};

/// The parameters of `POST /messages/render`.
pub(crate) struct RenderParams {
    content: String,
}

impl Params for RenderParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { content: reader.required::<TextParamWithNul>("content")? })
    }
}

/// Returns how a message of the caller would look. A text that is too long is cut as a message is; blanks at its end
/// stay, which a message loses when it is sent.
pub(crate) async fn post(call: ApiCall<Caller>, params: RenderParams) -> Result<ApiResponse, ApiError> {
    let content = message::shown_content(&params.content)?;
    let realm = call.app.realm();
    let render_context = call.app.render_contexts.get(&realm);
    let uploads = call.app.message_ports().uploads().linked(&realm, &call.caller.user, &content).await?;
    let (realm_url, now_s) = (&call.app.settings.base_url, call.app.now_s());
    let setting = RenderSettings { realm_url, render_context: &render_context, uploads: Some(&uploads), now_s };
    ApiResponse::from_payload(&json!({"rendered": setting.render(&realm, &call.caller.user, &content).html}))
}

/// Returns the members of the response.
pub(super) fn response_schema() -> Vec<Member> {
    vec![has("rendered", Schema::string())]
}
