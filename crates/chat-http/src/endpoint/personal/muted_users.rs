//! `/users/me/muted_users/{muted_user_id}`: whom the caller does not want to hear.

use chat_core::change::Commit;
use chat_core::id::UserId;
use chat_core::personal::mute::{self, MuteError};
use chat_core::snapshot::RealmSnapshot;
use chat_core::user::User;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::Call;
use crate::error::Fault;

/// Mutes a user.
pub(crate) async fn post(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    decide(&call, mute::mute).await
}

/// Lets a user be heard again.
pub(crate) async fn delete(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    decide(&call, mute::unmute).await
}

type Decision = fn(&RealmSnapshot, &User, UserId, &mut Commit) -> Result<(), MuteError>;

async fn decide(call: &Call<Caller>, decision: Decision) -> Result<Answer, Fault> {
    let other = UserId(call.path_id("muted_user_id")?);
    let decide =
        |realm: &RealmSnapshot, commit: &mut Commit| Ok(decision(realm, call.who.again(realm)?, other, commit)?);
    call.app.commit(decide).await?;
    Ok(Answer::empty())
}
