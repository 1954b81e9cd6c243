//! `/users/me/presence`, `/users/{user_id}/presence` and `/realm/presence`: who is there.
//!
//! Not specified; parameters, keys and texts are those existing clients know.

use chat_core::people::presence::presence_report::PresenceFormat;
use chat_core::people::presence::{self, PresenceQuery, PresenceStatus};
use serde_json::json;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, optional_schema_member, required_schema_member};
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader, TextParam};
use crate::routes::{Routes, get, post};

pub(crate) fn routes() -> Routes {
    let one = endpoint(one).documented("Tell when a user was last there.", one_schema);
    Routes::of("users")
        .api(
            "/users/me/presence",
            post(endpoint(update).documented("Say that the caller is there, and ask who is.", response_schema)),
        )
        .api("/users/{user_id}/presence", get(one.by(&[("user_id", "The user's number or address.")])))
        .api("/realm/presence", get(endpoint(all).documented("Tell who is there.", all_schema)))
}

/// The parameters of `POST /users/me/presence`.
struct PresenceParams {
    status: String,
    ping_only: bool,
    question: PresenceQuery,
}

impl EndpointParams for PresenceParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let after = reader.optional::<JsonParam<Option<i64>>>("last_update_id")?.flatten();
        let slim = reader.optional_or::<JsonParam<bool>>("slim_presence", false)?;
        // A client that asks for changes knows the short form.
        let form = if slim || after.is_some() { PresenceFormat::Slim } else { PresenceFormat::Legacy };
        // How long people use their clients is not counted here.
        reader.optional_or::<JsonParam<bool>>("new_user_input", false)?;
        Ok(Self {
            status: reader.required::<TextParam>("status")?,
            ping_only: reader.optional_or::<JsonParam<bool>>("ping_only", false)?,
            question: PresenceQuery {
                form,
                after,
                history_limit_days: reader.optional::<JsonParam<Option<i64>>>("history_limit_days")?.flatten(),
            },
        })
    }
}

/// Notes that the caller is there, and returns who else is. Costs no query.
async fn update(call: ApiCall<AuthenticatedCaller>, sign: PresenceParams) -> Result<ApiResponsePayload, ApiError> {
    let (app, AuthenticatedCaller { user, realm, .. }) = (&call.app, &call.caller);
    let heard = (PresenceStatus::parse(&sign.status)?, app.now_s());
    presence::record_presence_if_shared(app.presences.as_ref(), realm, user, heard)?;
    if sign.ping_only {
        return Ok(ApiResponsePayload::empty());
    }
    ApiResponsePayload::from_payload(&presence::report_presences(
        app.presences.as_ref(),
        realm,
        sign.question,
        app.server.runtime.now_us(),
    ))
}

/// Returns the members of the response.
fn response_schema() -> Vec<SchemaMember> {
    vec![
        optional_schema_member("presences", JsonSchema::map(JsonSchema::reference_to("Presence"))),
        optional_schema_member("server_timestamp", JsonSchema::any().with_keyword("type", "number")),
        optional_schema_member("presence_last_update_id", JsonSchema::integer()),
    ]
}

/// When someone was last there, by their number or address.
async fn one(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let (app, named) = (&call.app, call.path_text("user_id")?);
    let single = presence::find_user_presence(
        app.presences.as_ref(),
        &call.caller.realm,
        (&call.caller.user, named),
        app.now_s(),
    )?;
    ApiResponsePayload::from_payload(&json!({"presence": single}))
}

/// Returns the members of the response.
fn one_schema() -> Vec<SchemaMember> {
    let of_client = JsonSchema::object([
        required_schema_member("status", JsonSchema::one_of_words(["active", "idle", "offline"])),
        required_schema_member("timestamp", JsonSchema::integer()),
    ]);
    vec![required_schema_member("presence", JsonSchema::map(of_client))]
}

/// Returns who is there, in the older form; for bots too.
async fn all(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let (app, question) =
        (&call.app, PresenceQuery { form: PresenceFormat::Legacy, after: None, history_limit_days: None });
    let mut report =
        presence::report_presences(app.presences.as_ref(), &call.caller.realm, question, app.server.runtime.now_us());
    // No answer to this question is about changes.
    report.presence_last_update_id = None;
    ApiResponsePayload::from_payload(&report)
}

/// Returns the members of the response.
fn all_schema() -> Vec<SchemaMember> {
    vec![
        required_schema_member("presences", JsonSchema::map(JsonSchema::reference_to("Presence"))),
        required_schema_member("server_timestamp", JsonSchema::any().with_keyword("type", "number")),
    ]
}
