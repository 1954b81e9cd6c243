//! `/realm/playgrounds`: places to run code.

use chat_core::organization::playgrounds::{self, PlaygroundRequest};
use serde_json::json;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{ParamFault, Params, Reader, Stripped};
use crate::routes::{Routes, delete, nothing, post};
use crate::schema::{Schema, has};

pub(crate) fn routes() -> Routes {
    let add = endpoint(add).says("Add a place to run code.", || vec![has("id", Schema::integer())]);
    let remove = endpoint(remove).says("Remove a place to run code.", nothing);
    Routes::of("organization")
        .api("/realm/playgrounds", post(add))
        .api("/realm/playgrounds/{playground_id}", delete(remove))
}

/// What a playground shall be.
struct Playground {
    name: String,
    pygments_language: String,
    url_template: String,
}

impl Params for Playground {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            name: given.required::<Stripped>("name")?,
            pygments_language: given.required::<Stripped>("pygments_language")?,
            url_template: given.required::<Stripped>("url_template")?,
        })
    }
}

/// Adds a playground.
async fn add(call: Call<Caller>, wish: Playground) -> Result<Answer, Fault> {
    let Playground { name, pygments_language, url_template } = &wish;
    let wish = PlaygroundRequest { name, pygments_language, url_template };
    let id = call.app.commit(|realm, commit| Ok(playgrounds::add(realm, call.who.again(realm)?, wish, commit)?));
    Answer::of(&json!({"id": id.await?}))
}

/// Removes a playground.
async fn remove(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let id = call.path_id("playground_id")?;
    call.app.commit(|realm, commit| Ok(playgrounds::remove(realm, call.who.again(realm)?, id, commit)?)).await?;
    Ok(Answer::empty())
}
