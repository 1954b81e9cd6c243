//! `/realm/emoji`: custom emoji.

use std::io::Cursor;

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::organization::custom_emoji::{self, CustomEmojiError, CustomEmojiImageUrls};
use chat_core::wire_format::realm_and_user_items;
use serde_json::json;

use super::pictures::{ImageKind, give_up, keep, only_file};
use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::{ApiError, OrganizationItemError};
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::routes::{Routes, get, no_members, post};

pub(crate) fn routes() -> Routes {
    const NAME: (&str, &str) = ("emoji_name", "The name of the emoji.");
    let one = post(endpoint(add).documented("Add a custom emoji.", no_members).with_file().by(&[NAME]))
        .delete(endpoint(deactivate).documented("Take a custom emoji out of use.", no_members).by(&[NAME]));
    Routes::of("organization")
        .api("/realm/emoji", get(endpoint(list).documented("List the custom emoji, in use or not.", listed)))
        .api("/realm/emoji/{emoji_name}", one)
}

/// All custom emoji, in use or not.
async fn list(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    ApiResponsePayload::from_payload(&json!({"emoji": realm_and_user_items::custom_emoji_objects(&call.caller.realm)}))
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    vec![required_schema_member("emoji", JsonSchema::map(JsonSchema::reference_to("CustomEmoji")))]
}

/// Adds an emoji. What can be refused without looking at the picture is.
async fn add(mut call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let written = call.path_text("emoji_name")?.to_owned();
    custom_emoji::check_new_custom_emoji(&call.caller.realm, &call.caller.user, &written, call.app.now_s())?;
    let file = only_file(std::mem::take(&mut call.files), OrganizationItemError::NotOneFile)?;
    let bytes = chat_pictures::estimate_decoding_bytes(Cursor::new(&file))?;
    let made = call.app.image_jobs.run(bytes, move || chat_pictures::make_emoji(&file)).await??;
    let still = made.still.map(|still| ("-still", still));
    let kept =
        keep(&call.app, ImageKind::Emoji, [Some(("", made.picture)), still].into_iter().flatten().collect()).await?;
    let mut urls = kept.iter().map(|picture| picture.url.clone());
    let pictures = CustomEmojiImageUrls { source_url: urls.next().unwrap_or_default(), still_url: urls.next() };
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(custom_emoji::add_custom_emoji(realm, call.caller.account_in_realm(realm)?, (&written, &pictures), commit)?)
    };
    if let Err(error) = call.app.commit(decide).await {
        give_up(&call.app, &kept).await;
        return Err(error);
    }
    Ok(ApiResponsePayload::empty())
}

/// Takes an emoji out of use.
async fn deactivate(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let name = call.path_text("emoji_name")?;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let decided: Result<(), CustomEmojiError> =
            custom_emoji::deactivate_custom_emoji(realm, call.caller.account_in_realm(realm)?, name, commit);
        Ok(decided?)
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}
