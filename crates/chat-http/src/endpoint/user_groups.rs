//! `/user_groups`.

use axum::Router;
use axum::routing::get;
use chat_core::{access, object};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::router::ApiRoutes;
use crate::state::App;

pub(crate) fn routes() -> Router<App> {
    Router::new().api("/user_groups", get(endpoint(list)))
}

/// All groups, those of the system first, in the order of their numbers.
async fn list(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    access::require_member(&call.who.user)?;
    let realm = &call.who.realm;
    let mut groups: Vec<_> = realm.groups().collect();
    groups.sort_unstable_by_key(|group| group.id);
    let groups: Vec<Value> = groups.into_iter().map(|group| object::group(realm, group, call.app.now_s())).collect();
    Answer::of(&json!({"user_groups": groups}))
}
