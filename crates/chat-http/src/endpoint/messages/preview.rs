//! Rendering a text without sending it.

use chat_core::model::message;
use chat_core::model::render_context::RenderSettings;
use serde_json::json;

use crate::api_call::ApiCall;
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, ParamError, ParamReader, RawTextParamAllowingNul};

/// The parameters of `POST /messages/render`.
pub(crate) struct RenderParams {
    content: String,
}

impl EndpointParams for RenderParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { content: reader.required::<RawTextParamAllowingNul>("content")? })
    }
}

/// Returns how a message of the caller would look. A text that is too long is cut as a message is; blanks at its end
/// stay, which a message loses when it is sent.
pub(crate) async fn post(
    call: ApiCall<AuthenticatedCaller>,
    params: RenderParams,
) -> Result<ApiResponsePayload, ApiError> {
    let content = message::normalize_preview_content(&params.content)?;
    let realm = call.app.realm();
    let render_context = call.app.render_contexts.get_or_compile(&realm);
    let uploads = call
        .app
        .message_ports()
        .upload_access_stores()
        .linked_readable_uploads(&realm, &call.caller.user, &content)
        .await?;
    let (realm_url, now_s) = (&call.app.settings.base_url, call.app.now_s());
    let setting = RenderSettings { realm_url, render_context: &render_context, uploads: Some(&uploads), now_s };
    ApiResponsePayload::from_payload(
        &json!({"rendered": setting.render_message(&realm, &call.caller.user, &content).html}),
    )
}

/// Returns the members of the response.
pub(super) fn response_schema() -> Vec<SchemaMember> {
    vec![required_schema_member("rendered", JsonSchema::string())]
}
