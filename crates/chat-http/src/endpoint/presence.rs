//! `/users/me/presence`, `/users/{user_id}/presence` and `/realm/presence`: who is there.
//!
//! Not specified; parameters, keys and texts are those existing clients know. `history_limit_days` is of a later
//! feature level than ours and reported as unsupported.

use chat_core::people::presence::report::PresenceFormat;
use chat_core::people::presence::{self, PresenceQuery, PresenceStatus};
use serde_json::json;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{Json, ParamFault, Params, Reader, Text};
use crate::routes::{Routes, get, post};
use crate::schema::{Member, Schema, has, may};

pub(crate) fn routes() -> Routes {
    let one = endpoint(one).says("Tell when a user was last there.", one_told);
    Routes::of("users")
        .api("/users/me/presence", post(endpoint(update).says("Say that the caller is there, and ask who is.", told)))
        .api("/users/{user_id}/presence", get(one.by(&[("user_id", "The user's number or address.")])))
        .api("/realm/presence", get(endpoint(all).says("Tell who is there.", all_told)))
}

/// A sign of life, and what its client wants to know.
struct SignOfLife {
    status: String,
    ping_only: bool,
    question: PresenceQuery,
}

impl Params for SignOfLife {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let after = given.optional::<Json<Option<i64>>>("last_update_id")?.flatten();
        let slim = given.or::<Json<bool>>("slim_presence", false)?;
        // Whoever asks for changes knows the short form.
        let form = if slim || after.is_some() { PresenceFormat::Slim } else { PresenceFormat::Legacy };
        // How long people use their clients is not counted here.
        given.or::<Json<bool>>("new_user_input", false)?;
        Ok(Self {
            status: given.required::<Text>("status")?,
            ping_only: given.or::<Json<bool>>("ping_only", false)?,
            question: PresenceQuery { form, after },
        })
    }
}

/// Notes that the caller is there, and tells who else is. Costs no query.
async fn update(call: Call<Caller>, sign: SignOfLife) -> Result<Answer, Fault> {
    let (app, Caller { user, realm, .. }) = (&call.app, &call.who);
    let heard = (PresenceStatus::parse(&sign.status)?, app.now_s());
    presence::note(app.presences.as_ref(), realm, user, heard)?;
    if sign.ping_only {
        return Ok(Answer::empty());
    }
    Answer::of(&presence::report(app.presences.as_ref(), realm, sign.question, app.frame.outside.now_us()))
}

/// Returns the members of the response.
fn told() -> Vec<Member> {
    vec![
        may("presences", Schema::map(Schema::named("Presence"))),
        may("server_timestamp", Schema::any().with("type", "number")),
        may("presence_last_update_id", Schema::integer()),
    ]
}

/// When someone was last there, by their number or address.
async fn one(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let (app, named) = (&call.app, call.path_text("user_id")?);
    let single = presence::of(app.presences.as_ref(), &call.who.realm, (&call.who.user, named), app.now_s())?;
    Answer::of(&json!({"presence": single}))
}

/// Returns the members of the response.
fn one_told() -> Vec<Member> {
    let of_client = Schema::object([
        has("status", Schema::words(["active", "idle", "offline"])),
        has("timestamp", Schema::integer()),
    ]);
    vec![has("presence", Schema::map(of_client))]
}

/// Returns who is there, in the older form; for bots too.
async fn all(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let (app, question) = (&call.app, PresenceQuery { form: PresenceFormat::Legacy, after: None });
    let mut report = presence::report(app.presences.as_ref(), &call.who.realm, question, app.frame.outside.now_us());
    // No answer to this question is about changes.
    report.presence_last_update_id = None;
    Answer::of(&report)
}

/// Returns the members of the response.
fn all_told() -> Vec<Member> {
    vec![
        has("presences", Schema::map(Schema::named("Presence"))),
        has("server_timestamp", Schema::any().with("type", "number")),
    ]
}
