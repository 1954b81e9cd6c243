//! `/attachments`: one's own uploads.

use chat_core::files::AttachmentWithMessages;
use chat_core::id::AttachmentId;
use serde_json::json;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::routes::{Routes, delete, get, no_members};

pub(crate) fn routes() -> Routes {
    Routes::of("uploads")
        .api("/attachments", get(endpoint(list).documented("List the caller's uploads, the newest first.", listed)))
        .api(
            "/attachments/{attachment_id}",
            delete(endpoint(remove).documented("Delete one of the caller's uploads.", no_members)),
        )
}

/// Returns the caller's uploads, the newest first, and what those of everybody take together.
async fn list(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let uploads = call.app.attachments.attachments_of_owner(call.caller.user_id()).await?;
    let used_bytes = call.app.attachments.total_upload_bytes().await?;
    let shown: Vec<_> = uploads.iter().map(AttachmentWithMessages::to_wire_object).collect();
    ApiResponsePayload::from_payload(&json!({"attachments": shown, "upload_space_used": used_bytes}))
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    vec![
        required_schema_member("attachments", JsonSchema::list(JsonSchema::reference_to("Attachment"))),
        required_schema_member("upload_space_used", JsonSchema::integer()),
    ]
}

/// Deletes an upload of the caller's.
async fn remove(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let id = AttachmentId(call.path_id("attachment_id")?);
    call.app.upload_storage().delete_upload(call.caller.user_id(), id, call.app.now_s()).await?;
    Ok(ApiResponsePayload::empty())
}
