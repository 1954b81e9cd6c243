//! `/realm/playgrounds`: places to run code.

use chat_core::organization::code_playgrounds::{self, PlaygroundRequest};
use serde_json::json;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, required_schema_member};
use crate::params::{EndpointParams, ParamError, ParamReader, TrimmedTextParam};
use crate::routes::{Routes, delete, no_members, post};

pub(crate) fn routes() -> Routes {
    let add = endpoint(add)
        .documented("Add a place to run code.", || vec![required_schema_member("id", JsonSchema::integer())]);
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

impl EndpointParams for PlaygroundParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            name: reader.required::<TrimmedTextParam>("name")?,
            pygments_language: reader.required::<TrimmedTextParam>("pygments_language")?,
            url_template: reader.required::<TrimmedTextParam>("url_template")?,
        })
    }
}

/// Adds a playground.
async fn add(call: ApiCall<AuthenticatedCaller>, request: PlaygroundParams) -> Result<ApiResponsePayload, ApiError> {
    let PlaygroundParams { name, pygments_language, url_template } = &request;
    let request = PlaygroundRequest { name, pygments_language, url_template };
    let id = call.app.commit(|realm, commit| {
        Ok(code_playgrounds::add_playground(realm, call.caller.account_in_realm(realm)?, request, commit)?)
    });
    ApiResponsePayload::from_payload(&json!({"id": id.await?}))
}

/// Removes a playground.
async fn remove(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let id = call.path_id("playground_id")?;
    call.app
        .commit(|realm, commit| {
            Ok(code_playgrounds::remove_playground(realm, call.caller.account_in_realm(realm)?, id, commit)?)
        })
        .await?;
    Ok(ApiResponsePayload::empty())
}
