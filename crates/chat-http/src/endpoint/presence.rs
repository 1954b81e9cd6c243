//! `/users/me/presence`, `/users/{user_id}/presence` and `/realm/presence`: who is there.
//!
//! Not specified; parameters, keys and texts are those existing clients know.

use chat_core::people::presence::report::PresenceFormat;
use chat_core::people::presence::{self, PresenceQuery, PresenceStatus};
use serde_json::json;

use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::params::{Json, ParamError, ParamReader, Params, TextParam};
use crate::response::ApiResponse;
use crate::routes::{Routes, get, post};
use crate::schema::{Member, Schema, has, may};

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

impl Params for PresenceParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let after = reader.optional::<Json<Option<i64>>>("last_update_id")?.flatten();
        let slim = reader.or::<Json<bool>>("slim_presence", false)?;
        // A client that asks for changes knows the short form.
        let form = if slim || after.is_some() { PresenceFormat::Slim } else { PresenceFormat::Legacy };
        // How long people use their clients is not counted here.
        reader.or::<Json<bool>>("new_user_input", false)?;
        Ok(Self {
            status: reader.required::<TextParam>("status")?,
            ping_only: reader.or::<Json<bool>>("ping_only", false)?,
            question: PresenceQuery {
                form,
                after,
                history_limit_days: reader.optional::<Json<Option<i64>>>("history_limit_days")?.flatten(),
            },
        })
    }
}

/// Notes that the caller is there, and returns who else is. Costs no query.
async fn update(call: ApiCall<Caller>, sign: PresenceParams) -> Result<ApiResponse, ApiError> {
    let (app, Caller { user, realm, .. }) = (&call.app, &call.caller);
    let heard = (PresenceStatus::parse(&sign.status)?, app.now_s());
    presence::note(app.presences.as_ref(), realm, user, heard)?;
    if sign.ping_only {
        return Ok(ApiResponse::empty());
    }
    ApiResponse::from_payload(&presence::report(
        app.presences.as_ref(),
        realm,
        sign.question,
        app.server.runtime.now_us(),
    ))
}

/// Returns the members of the response.
fn response_schema() -> Vec<Member> {
    vec![
        may("presences", Schema::map(Schema::named("Presence"))),
        may("server_timestamp", Schema::any().with("type", "number")),
        may("presence_last_update_id", Schema::integer()),
    ]
}

/// When someone was last there, by their number or address.
async fn one(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let (app, named) = (&call.app, call.path_text("user_id")?);
    let single = presence::of(app.presences.as_ref(), &call.caller.realm, (&call.caller.user, named), app.now_s())?;
    ApiResponse::from_payload(&json!({"presence": single}))
}

/// Returns the members of the response.
fn one_schema() -> Vec<Member> {
    let of_client = Schema::object([
        has("status", Schema::words(["active", "idle", "offline"])),
        has("timestamp", Schema::integer()),
    ]);
    vec![has("presence", Schema::map(of_client))]
}

/// Returns who is there, in the older form; for bots too.
async fn all(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let (app, question) =
        (&call.app, PresenceQuery { form: PresenceFormat::Legacy, after: None, history_limit_days: None });
    let mut report =
        presence::report(app.presences.as_ref(), &call.caller.realm, question, app.server.runtime.now_us());
    // No answer to this question is about changes.
    report.presence_last_update_id = None;
    ApiResponse::from_payload(&report)
}

/// Returns the members of the response.
fn all_schema() -> Vec<Member> {
    vec![
        has("presences", Schema::map(Schema::named("Presence"))),
        has("server_timestamp", Schema::any().with("type", "number")),
    ]
}
