//! `/users/me/muted_users/{muted_user_id}`: whom the caller does not want to hear.

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::id::UserId;
use chat_core::messages::flag_update;
use chat_core::messages::narrow::NarrowCondition;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::people::personal_settings::muted_users::{self, MuteError};

use crate::api_call::ApiCall;
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;

/// Mutes a user.
///
/// What they wrote before is read, as what they write from then on is.
pub(crate) async fn post(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let other = UserId(call.path_id("muted_user_id")?);
    let realm = call.app.realm();
    muted_users::mute_user(&realm, call.caller.account_in_realm(&realm)?, other, &mut RealmCommit::default())?;
    // Before it is true: what a muted user wrote counts as read, and clients could not be notified of it any more.
    let written_by = vec![NarrowCondition::Sender(other)];
    flag_update::mark_matching_as_read(&call.app.message_ports(), &call.caller.user, written_by).await?;
    decide(&call, muted_users::mute_user).await
}

/// Lets a user be heard again.
pub(crate) async fn delete(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    decide(&call, muted_users::unmute_user).await
}

type Decision = fn(&RealmSnapshot, &User, UserId, &mut RealmCommit) -> Result<(), MuteError>;

async fn decide(call: &ApiCall<AuthenticatedCaller>, decision: Decision) -> Result<ApiResponsePayload, ApiError> {
    let other = UserId(call.path_id("muted_user_id")?);
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(decision(realm, call.caller.account_in_realm(realm)?, other, commit)?)
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}
