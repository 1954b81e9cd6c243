//! `/bot_storage`: what a bot's program keeps at the server, under keys of its own. Every account has such a place.

use std::collections::{BTreeMap, BTreeSet};

use chat_core::limits::{MAX_STORAGE_CHARS, MAX_STORAGE_KEY_CHARS};
use chat_core::people::bots::{BotError, BotStorageKeyError, BotStorageOutcome};
use serde_json::json;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{Json, ParamFault, Params, Path, Reader, max_chars};
use crate::routes::{Routes, get, nothing};
use crate::schema::{Member, Schema, has};

pub(crate) fn routes() -> Routes {
    let storage = get(endpoint(read).says("Tell what the caller has kept at the server.", kept))
        .put(endpoint(write).says("Keep texts for the caller, under keys of its own.", nothing))
        .delete(endpoint(forget).says("Forget what the caller has kept.", nothing));
    Routes::of("bots").api("/bot_storage", storage)
}

/// Texts to keep.
struct Storage(Vec<(String, String)>);

impl Params for Storage {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let storage = given.required::<Json<BTreeMap<String, String>>>("storage")?;
        let whole = Path::name("storage");
        storage.keys().try_for_each(|key| max_chars(key, MAX_STORAGE_KEY_CHARS, &whole.key(key)))?;
        Ok(Self(storage.into_iter().collect()))
    }
}

/// Keeps texts, in place of those under the same keys.
async fn write(call: Call<Caller>, Storage(entries): Storage) -> Result<Answer, Fault> {
    match call.app.bot_storage.keep(call.who.id(), &entries, MAX_STORAGE_CHARS).await? {
        BotStorageOutcome::Done => Ok(Answer::empty()),
        BotStorageOutcome::TooMuch(by) => Err(BotError::StorageFull(by).into()),
    }
}

/// Keys that are asked for, each once; all when nothing is said.
struct Keys(Option<Vec<String>>);

impl Params for Keys {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let keys = given.optional::<Json<Option<Vec<String>>>>("keys")?.flatten();
        let each_once = |keys: Vec<String>| keys.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
        Ok(Self(keys.map(each_once)))
    }
}

/// What is kept.
async fn read(call: Call<Caller>, Keys(keys): Keys) -> Result<Answer, Fault> {
    let found = call.app.bot_storage.kept(call.who.id(), keys.as_deref()).await?;
    if keys.is_some_and(|keys| keys.len() > found.len()) {
        return Err(BotError::from(BotStorageKeyError).into());
    }
    let storage: BTreeMap<String, String> = found.into_iter().collect();
    Answer::of(&json!({"storage": storage}))
}

/// Returns the members of the response.
fn kept() -> Vec<Member> {
    vec![has("storage", Schema::map(Schema::string()))]
}

/// Forgets what is kept.
async fn forget(call: Call<Caller>, Keys(keys): Keys) -> Result<Answer, Fault> {
    call.app.bot_storage.forget(call.who.id(), keys.as_deref()).await?.map_err(BotError::from)?;
    Ok(Answer::empty())
}
