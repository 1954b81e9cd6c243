//! `/realm/playgrounds`: places to run code.

use chat_core::organization::playgrounds::{self, PlaygroundRequest};
use serde_json::json;

use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::params::{ParamError, ParamReader, Params, TrimmedText};
use crate::response::ApiResponse;
use crate::routes::{Routes, delete, no_members, post};
use crate::schema::{Schema, has};

pub(crate) fn routes() -> Routes {
    let add = endpoint(add).documented("Add a place to run code.", || vec![has("id", Schema::integer())]);
    let remove = endpoint(remove).documented("Remove a place to run code.", no_members);
    Routes::of("organization")
        .api("/realm/playgrounds", post(add))
        .api("/realm/playgrounds/{playground_id}", delete(remove))
}

/// The parameters of `POST /realm/playgrounds`.
struct PlaygroundParams {
    name: String,
    pygments_language: String,
    url_template: String,
}

impl Params for PlaygroundParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            name: reader.required::<TrimmedText>("name")?,
            pygments_language: reader.required::<TrimmedText>("pygments_language")?,
            url_template: reader.required::<TrimmedText>("url_template")?,
        })
    }
}

/// Adds a playground.
async fn add(call: ApiCall<Caller>, request: PlaygroundParams) -> Result<ApiResponse, ApiError> {
    let PlaygroundParams { name, pygments_language, url_template } = &request;
    let request = PlaygroundRequest { name, pygments_language, url_template };
    let id =
        call.app.commit(|realm, commit| Ok(playgrounds::add(realm, call.caller.account_in(realm)?, request, commit)?));
    ApiResponse::from_payload(&json!({"id": id.await?}))
}

/// Removes a playground.
async fn remove(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let id = call.path_id("playground_id")?;
    call.app
        .commit(|realm, commit| Ok(playgrounds::remove(realm, call.caller.account_in(realm)?, id, commit)?))
        .await?;
    Ok(ApiResponse::empty())
}
