//! `/users/me/avatar`, and `/avatar`, which leads to anybody's.

use std::io::Cursor;

use axum::body::Body;
use axum::response::Response;
use axum::routing;
use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::id::UserId;
use chat_core::model::email_address_visibility;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::people::avatar;
use chat_core::wire_format::{self, AvatarUrls};
use http::header::{CACHE_CONTROL, LOCATION};
use http::{HeaderValue, StatusCode};
use serde_json::json;

use super::pictures::{ImageKind, delete_at, give_up, keep, only_file};
use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::{ApiError, InternalError, OrganizationItemError};
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::raw_endpoint::{RawCall, raw_endpoint};
use crate::routes::{Routes, post};

pub(crate) fn routes() -> Routes {
    let own = post(endpoint(replace).documented("Give the caller another picture.", shown).with_file())
        .delete(endpoint(remove).documented("Give the caller the usual picture again.", shown));
    Routes::of("users")
        .api("/users/me/avatar", own)
        .route("/avatar/{user}", routing::get(raw_endpoint(small)))
        .route("/avatar/{user}/medium", routing::get(raw_endpoint(medium)))
}

/// Gives the caller another picture.
async fn replace(mut call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let file = only_file(std::mem::take(&mut call.files), OrganizationItemError::NotOneAvatar)?;
    let bytes = chat_pictures::estimate_decoding_bytes(Cursor::new(&file))?;
    let made = call.app.image_jobs.run(bytes, move || chat_pictures::make_avatar(&file)).await??;
    let kept = keep(&call.app, ImageKind::Avatar, vec![("", made.small), ("-medium", made.medium)]).await?;
    let url = kept.first().map(|picture| picture.url.clone());
    match change(&call, url.as_deref()).await {
        Ok(avatar) => ApiResponsePayload::from_payload(&json!({"avatar_url": avatar.url})),
        Err(error) => {
            give_up(&call.app, &kept).await;
            Err(error)
        }
    }
}

/// Gives the caller the usual picture again.
async fn remove(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let avatar = change(&call, None).await?;
    ApiResponsePayload::from_payload(&json!({"avatar_url": avatar.url}))
}

/// Returns the members of the response.
fn shown() -> Vec<SchemaMember> {
    vec![required_schema_member("avatar_url", JsonSchema::string())]
}

/// Makes the picture at `url` the caller's, and deletes the one before: a user who takes a picture back means it.
async fn change(call: &ApiCall<AuthenticatedCaller>, url: Option<&str>) -> Result<AvatarUrls, ApiError> {
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let user = call.caller.account_in_realm(realm)?;
        avatar::change_avatar(user, url.map(str::to_owned), commit);
        Ok(user.avatar_url.clone())
    };
    let before = call.app.commit(decide).await?;
    if let Some(before) = before.filter(|before| Some(before.as_str()) != url) {
        delete_at(&call.app, [before.as_str(), &wire_format::medium_avatar_url(&before)]).await;
    }
    let realm = call.app.realm();
    let user = realm.user(call.caller.user_id()).ok_or_else(|| InternalError::without_cause("an account is gone"))?;
    Ok(wire_format::avatar_urls(user))
}

async fn small(call: RawCall<AuthenticatedCaller>, _: Body) -> Result<Response, ApiError> {
    led_to(&named(&call)?.url)
}

async fn medium(call: RawCall<AuthenticatedCaller>, _: Body) -> Result<Response, ApiError> {
    led_to(&named(&call)?.medium_url)
}

/// Returns the picture of the user in the path, by number or address.
fn named(call: &RawCall<AuthenticatedCaller>) -> Result<AvatarUrls, ApiError> {
    let named = call.path_text("user")?;
    let realm = &call.caller.realm;
    let user = match named.parse() {
        Ok(id) => realm.user(UserId(id)),
        Err(_) => email_address_visibility::find_user_by_visible_email(realm, &call.caller.user, named),
    };
    let user: &User = user.ok_or(ApiError::UnknownRoute)?;
    Ok(wire_format::avatar_urls(user))
}

/// Not specified; for an hour at most, because the answer changes with the picture.
fn led_to(url: &str) -> Result<Response, ApiError> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::FOUND;
    let url = HeaderValue::try_from(url).map_err(|error| InternalError::new("a picture has no address", error))?;
    response.headers_mut().insert(LOCATION, url);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, max-age=3600"));
    Ok(response)
}
