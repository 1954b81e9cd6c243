//! `/attachments`: one's own uploads.

use chat_core::files::AttachmentUse;
use chat_core::id::AttachmentId;
use serde_json::json;

use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::response::ApiResponse;
use crate::routes::{Routes, delete, get, no_members};
use crate::schema::{Member, Schema, has};

pub(crate) fn routes() -> Routes {
    Routes::of("uploads")
        .api("/attachments", get(endpoint(list).documented("List the caller's uploads, the newest first.", listed)))
        .api(
            "/attachments/{attachment_id}",
            delete(endpoint(remove).documented("Delete one of the caller's uploads.", no_members)),
        )
}

/// Returns the caller's uploads, the newest first, and what those of everybody take together.
async fn list(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let uploads = call.app.attachments.of_owner(call.caller.id()).await?;
    let used_bytes = call.app.attachments.used_bytes().await?;
    let shown: Vec<_> = uploads.iter().map(AttachmentUse::shown).collect();
    ApiResponse::from_payload(&json!({"attachments": shown, "upload_space_used": used_bytes}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("attachments", Schema::list(Schema::named("Attachment"))), has("upload_space_used", Schema::integer())]
}

/// Deletes an upload of the caller's.
async fn remove(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let id = AttachmentId(call.path_id("attachment_id")?);
    call.app.upload_storage().delete(call.caller.id(), id, call.app.now_s()).await?;
    Ok(ApiResponse::empty())
}
