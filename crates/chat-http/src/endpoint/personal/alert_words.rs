//! `/users/me/alert_words`: the words the caller watches for. Every answer has all of them.

use chat_core::limits::MAX_ALERT_WORD_CHARS;
use chat_core::log::commit::RealmCommit;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::people::personal::alert;
use serde_json::json;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::Call;
use crate::error::Fault;
use crate::params::{Json, ParamFault, Params, Reader, Short};
use crate::schema::{Member, Schema, has};

/// The words a request names.
pub(crate) struct Named(Vec<String>);

impl Params for Named {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let words = given.required::<Json<Vec<Short<MAX_ALERT_WORD_CHARS>>>>("alert_words")?;
        Ok(Self(words.into_iter().map(|Short(word)| word).collect()))
    }
}

/// Returns the caller's words.
pub(crate) async fn get(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    answer(&alert::of(&call.who.realm, call.who.id()))
}

/// Watches for more words.
pub(crate) async fn post(call: Call<Caller>, Named(words): Named) -> Result<Answer, Fault> {
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(alert::watch(realm, call.who.again(realm)?, &words, commit)?)
    };
    answer(&call.app.commit(decide).await?)
}

/// Watches for words no longer.
pub(crate) async fn delete(call: Call<Caller>, Named(words): Named) -> Result<Answer, Fault> {
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(alert::forget(realm, call.who.again(realm)?, &words, commit))
    };
    answer(&call.app.commit(decide).await?)
}

fn answer(words: &[String]) -> Result<Answer, Fault> {
    Answer::of(&json!({"alert_words": words}))
}

/// Returns the members of the response.
pub(super) fn told() -> Vec<Member> {
    vec![has("alert_words", Schema::list(Schema::string()))]
}
