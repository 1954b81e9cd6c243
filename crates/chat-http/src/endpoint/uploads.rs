//! `/user_uploads`: files that people upload.

mod receive;
mod serve;
pub(crate) mod thumbnails;

use axum::routing;
use chat_core::files::{Attachment, FileKey, LinkedUploads, MAX_ATTACHMENTS, PathId, THUMBNAILS};
use chat_core::id::MessageId;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::permission::access;

use crate::call::endpoint;
use crate::error::{Fault, ThingFault};
use crate::plain::plain;
use crate::routes::{Routes, get, post};
use crate::state::Site;

/// Messages that are looked at together for one that the caller may read.
const USES_AT_ONCE: i64 = 100;
/// How many such looks there are at most. Not specified; who may read none of the thousand newest messages that use a
/// file is not let through by an older one.
const LOOKS_MAX: usize = 10;

/// In the API what hands files in, and outside of it, as every address of a file is, what hands them out.
pub(crate) fn routes() -> Routes {
    let upload = plain(receive::post).says("Upload a file.", receive::told).with_file();
    let lend = endpoint(serve::lend).says("Make an address that opens a file for a minute.", serve::lent);
    let texts = &[("realm", "The first part of the file's path."), ("path", "The rest of it, with its slashes.")];
    Routes::of("uploads")
        .api("/user_uploads", post(upload))
        .api("/user_uploads/{realm}/{*path}", get(lend.by(texts)))
        .route("/user_uploads/{*path}", routing::get(plain(serve::get)))
        .route("/user_uploads/download/{*path}", routing::get(plain(serve::download)))
        .route("/user_uploads/thumbnail/{*path}", routing::get(plain(thumbnails::get)))
        .route("/user_uploads/temporary/{ticket}/{name}", routing::get(plain(serve::temporary)))
}

/// Deletes the bytes of an upload that is nobody's any more, and of its smaller pictures. Those that stay cost room and
/// nothing else: they cannot be found.
pub(crate) async fn delete(app: &Site, path: &PathId) {
    let small = THUMBNAILS.map(|name| FileKey::of_thumbnail(path, name));
    for key in small.into_iter().chain([FileKey::from(path)]) {
        if let Err(error) = app.files.delete(&key).await {
            tracing::warn!(%error, "bytes of an upload that is gone stay");
        }
    }
}

/// Returns the upload of that path, when the user may read it. Whether there is another they may not is not told.
async fn readable(app: &Site, realm: &RealmSnapshot, user: &User, path: &PathId) -> Result<Attachment, Fault> {
    let found = app.attachments.at_paths(std::slice::from_ref(path)).await?.into_iter().next();
    let found = found.ok_or(ThingFault::NoFile)?;
    if reads(app, realm, user, &found).await? { Ok(found) } else { Err(ThingFault::NoFile.into()) }
}

/// Returns the uploads that a text links and its writer may read. Costs nothing for a text that links none.
pub(crate) async fn usable(
    app: &Site,
    realm: &RealmSnapshot,
    writer: &User,
    content: &str,
) -> Result<LinkedUploads, Fault> {
    let paths = PathId::linked_in(content, MAX_ATTACHMENTS);
    if paths.is_empty() {
        return Ok(LinkedUploads::default());
    }
    let mut usable = Vec::new();
    for upload in app.attachments.at_paths(&paths).await? {
        if reads(app, realm, writer, &upload).await? {
            usable.push(upload);
        }
    }
    Ok(LinkedUploads::new(usable))
}

/// Returns whether the user may read the upload: it is theirs, or they may read a message that uses it.
async fn reads(app: &Site, realm: &RealmSnapshot, user: &User, upload: &Attachment) -> Result<bool, Fault> {
    if upload.owner_id == user.id {
        return Ok(true);
    }
    let mut before = MessageId(i64::MAX);
    for _ in 0..LOOKS_MAX {
        let ids = app.attachments.uses(upload.id, before, USES_AT_ONCE).await?;
        let Some(last) = ids.last() else { return Ok(false) };
        before = *last;
        let messages = app.messages.find(user.id, &ids).await?;
        if messages.iter().any(|(message, _)| access::reads(realm, user, message)) {
            return Ok(true);
        }
    }
    Ok(false)
}
