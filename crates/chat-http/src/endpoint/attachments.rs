//! `/attachments`: one's own uploads.

use chat_core::files::AttachmentUse;
use chat_core::id::AttachmentId;
use serde_json::json;

use super::uploads;
use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::{Fault, ThingFault};
use crate::routes::{Routes, delete, get, nothing};
use crate::schema::{Member, Schema, has};

pub(crate) fn routes() -> Routes {
    Routes::of("uploads")
        .api("/attachments", get(endpoint(list).says("List the caller's uploads, the newest first.", listed)))
        .api(
            "/attachments/{attachment_id}",
            delete(endpoint(remove).says("Delete one of the caller's uploads.", nothing)),
        )
}

/// Returns the caller's uploads, the newest first, and what those of everybody take together.
async fn list(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let uploads = call.app.attachments.of_owner(call.who.id()).await?;
    let used_bytes = call.app.attachments.used_bytes().await?;
    let shown: Vec<_> = uploads.iter().map(AttachmentUse::shown).collect();
    Answer::of(&json!({"attachments": shown, "upload_space_used": used_bytes}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("attachments", Schema::list(Schema::named("Attachment"))), has("upload_space_used", Schema::integer())]
}

/// Deletes an upload of the caller's. Messages that use it keep a link that leads nowhere.
async fn remove(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let id = AttachmentId(call.path_id("attachment_id")?);
    let removed = call.app.attachments.remove((call.who.id(), id), call.app.now_s()).await?;
    let removed = removed.ok_or(ThingFault::NoAttachment)?;
    uploads::delete(&call.app, &removed.path_id).await;
    Ok(Answer::empty())
}
