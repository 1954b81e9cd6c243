//! `/users/me/status` and `/users/{user_id}/status`: what somebody says they are doing.

use chat_core::id::UserId;
use chat_core::limits::MAX_STATUS_CHARS;
use chat_core::log::commit::RealmCommit;
use chat_core::messages::reaction::RequestedEmoji;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::people::personal::status::{self, StatusUpdate};
use chat_core::permission::administer::AccountError;
use serde_json::json;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::Call;
use crate::error::Fault;
use crate::params::{Json, MaxChars, ParamFault, Params, Reader, Stripped, Text};
use crate::schema::{Member, Schema, has};

/// What of the status shall be different.
pub(crate) struct Update {
    text: Option<String>,
    emoji_name: Option<String>,
    emoji_code: Option<String>,
    reaction_type: Option<String>,
    away: Option<bool>,
}

impl Params for Update {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            text: given.optional::<MaxChars<Stripped, MAX_STATUS_CHARS>>("status_text")?,
            emoji_name: given.optional::<Text>("emoji_name")?,
            emoji_code: given.optional::<Text>("emoji_code")?,
            reaction_type: given.optional::<Text>("reaction_type")?,
            away: given.optional::<Json<bool>>("away")?,
        })
    }
}

/// Changes the caller's status.
pub(crate) async fn post(call: Call<Caller>, update: Update) -> Result<Answer, Fault> {
    let wish = StatusUpdate {
        text: update.text.as_deref(),
        emoji: RequestedEmoji {
            name: update.emoji_name.as_deref(),
            code: update.emoji_code.as_deref(),
            kind: update.reaction_type.as_deref(),
        },
        away: update.away,
    };
    let decide =
        |realm: &RealmSnapshot, commit: &mut RealmCommit| Ok(status::set(realm, call.who.again(realm)?, wish, commit)?);
    call.app.commit(decide).await?;
    Ok(Answer::empty())
}

/// Returns the status of a user, empty where nothing is set.
pub(crate) async fn get(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let user = call.who.realm.user(UserId(call.path_id("user_id")?)).ok_or(AccountError::NoSuchUser)?;
    Answer::of(&json!({"status": status::of(&call.who.realm, user)}))
}

/// Returns the members of the response.
pub(super) fn told() -> Vec<Member> {
    vec![has("status", Schema::named("Status"))]
}
