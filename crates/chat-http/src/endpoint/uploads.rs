//! `/user_uploads`: files that people upload.

mod receive;
mod serve;
pub(crate) mod thumbnails;
mod tus;

pub(crate) use serve::file_response;

use axum::routing;
use chat_core::files::{Attachment, PathId};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::User;

use crate::api_call::endpoint;
use crate::error::{ApiError, OrganizationItemError};
use crate::raw_endpoint::raw_endpoint;
use crate::routes::{Routes, get, post};
use crate::state::AppState;

/// In the API what hands files in, and outside of it, as every address of a file is, what hands them out.
pub(crate) fn routes() -> Routes {
    let upload = raw_endpoint(receive::post).documented("Upload a file.", receive::response_schema).with_file();
    let lend = endpoint(serve::lend).documented("Make an address that opens a file for a minute.", serve::lent);
    let texts = &[("realm", "The first part of the file's path."), ("path", "The rest of it, with its slashes.")];
    tus::add_routes(Routes::of("uploads"))
        .api("/user_uploads", post(upload))
        .api("/user_uploads/{realm}/{*path}", get(lend.by(texts)))
        .route("/user_uploads/{*path}", routing::get(raw_endpoint(serve::get)))
        .route("/user_uploads/download/{*path}", routing::get(raw_endpoint(serve::download)))
        .route("/user_uploads/thumbnail/{*path}", routing::get(raw_endpoint(thumbnails::get)))
        .route("/user_uploads/temporary/{ticket}/{name}", routing::get(raw_endpoint(serve::temporary)))
}

/// Returns the upload of that path, when the user may read it.
async fn readable(app: &AppState, realm: &RealmSnapshot, user: &User, path: &PathId) -> Result<Attachment, ApiError> {
    let found = app.message_ports().upload_access_stores().find_readable_upload(realm, user, path).await?;
    found.ok_or_else(|| OrganizationItemError::NoFile.into())
}
