//! `/realm/linkifiers` and `/realm/filters`: patterns that become links.

use chat_core::log::commit::RealmCommit;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::organization::linkifiers::{self, LinkifierRequest, LinkifiersError};
use chat_core::wire::item;
use serde_json::json;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{Json, ParamFault, Params, Reader, Text};
use crate::routes::{Routes, get, nothing, patch, post};
use crate::schema::{Member, Schema, has};

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).says("List the linkifiers, in the order in which they apply.", listed))
        .patch(endpoint(put_in_order).says("Put the linkifiers into another order.", nothing));
    let add = endpoint(add).says("Add a linkifier.", || vec![has("id", Schema::integer())]);
    let one = patch(endpoint(update).says("Change a linkifier.", nothing))
        .delete(endpoint(remove).says("Remove a linkifier.", nothing));
    Routes::of("organization")
        .api("/realm/linkifiers", all)
        .api("/realm/filters", post(add))
        .api("/realm/filters/{filter_id}", one)
}

/// Takes a decision as the caller.
async fn decide<T>(
    call: &Call<Caller>,
    decide: impl Fn(&RealmSnapshot, &User, &mut RealmCommit) -> Result<T, LinkifiersError> + Send + Sync,
) -> Result<T, Fault> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.who.again(realm)?, commit)?)).await
}

/// Returns the linkifiers in the order in which they apply.
async fn list(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    Answer::of(&json!({"linkifiers": item::linkifiers(&call.who.realm)}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("linkifiers", Schema::list(Schema::named("Linkifier")))]
}

/// What a linkifier shall be.
struct Filter {
    pattern: String,
    url_template: String,
}

impl Params for Filter {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self { pattern: given.required::<Text>("pattern")?, url_template: given.required::<Text>("url_template")? })
    }
}

impl Filter {
    fn wish(&self) -> LinkifierRequest<'_> {
        LinkifierRequest { pattern: &self.pattern, url_template: &self.url_template }
    }
}

/// Adds a linkifier.
async fn add(call: Call<Caller>, filter: Filter) -> Result<Answer, Fault> {
    let id = decide(&call, |realm, caller, commit| linkifiers::add(realm, caller, filter.wish(), commit)).await?;
    Answer::of(&json!({"id": id}))
}

/// Changes a linkifier.
async fn update(call: Call<Caller>, filter: Filter) -> Result<Answer, Fault> {
    let id = call.path_id("filter_id")?;
    decide(&call, |realm, caller, commit| linkifiers::update(realm, caller, (id, filter.wish()), commit)).await?;
    Ok(Answer::empty())
}

/// Removes a linkifier.
async fn remove(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let id = call.path_id("filter_id")?;
    decide(&call, |realm, caller, commit| linkifiers::remove(realm, caller, id, commit)).await?;
    Ok(Answer::empty())
}

/// The order the linkifiers shall apply in.
struct Order(Vec<i64>);

impl Params for Order {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self(given.required::<Json<Vec<i64>>>("ordered_linkifier_ids")?))
    }
}

/// Puts the linkifiers into another order.
async fn put_in_order(call: Call<Caller>, Order(ids): Order) -> Result<Answer, Fault> {
    decide(&call, |realm, caller, commit| linkifiers::put_in_order(realm, caller, &ids, commit)).await?;
    Ok(Answer::empty())
}
