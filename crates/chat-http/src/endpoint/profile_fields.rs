//! `/realm/profile_fields` and `/users/me/profile_data`: what a realm asks about its users, and what they answer.

mod form;

use chat_core::log::commit::RealmCommit;
use chat_core::model::render_context::RenderSettings;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::people::profile::{self, NewProfileField, ProfileError, ProfileFieldUpdate, ProfileValue as Reply};
use chat_core::permission::access;
use serde_json::json;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{Json, ParamFault, Params, Reader, Text};
use crate::routes::{Routes, get, nothing, patch};
use crate::schema::{Member, Schema, has};
use crate::state::Site;

use form::Data;

pub(crate) use form::Answers;

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).says("List the profile fields, in their order.", listed))
        .post(endpoint(create).says("Make a profile field.", || vec![has("id", Schema::integer())]))
        .patch(endpoint(reorder).says("Put the profile fields into another order.", nothing));
    let one = patch(endpoint(update).says("Change a profile field.", nothing))
        .delete(endpoint(remove).says("Remove a profile field.", nothing));
    let own = patch(endpoint(answer).says("Answer profile fields.", nothing))
        .delete(endpoint(take_back).says("Take answers to profile fields back.", nothing));
    Routes::of("users")
        .api("/realm/profile_fields", all)
        .api("/realm/profile_fields/{field_id}", one)
        .api("/users/me/profile_data", own)
}

/// All fields, in their order.
async fn list(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    Answer::of(&json!({"custom_fields": profile::listed(&call.who.realm)}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("custom_fields", Schema::list(Schema::named("ProfileField")))]
}

impl Params for NewProfileField {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            name: given.or::<Text>("name", String::new())?,
            hint: given.or::<Text>("hint", String::new())?,
            kind: given.required::<Json<i64>>("field_type")?,
            data: given.or::<Data>("field_data", profile::FieldData::new())?,
            in_summary: given.or::<Json<bool>>("display_in_profile_summary", false)?,
            required: given.or::<Json<bool>>("required", false)?,
        })
    }
}

/// Makes a field.
async fn create(call: Call<Caller>, new: NewProfileField) -> Result<Answer, Fault> {
    let id = decide(&call, |realm, caller, commit| profile::create(realm, caller, &new, commit)).await?;
    Answer::of(&json!({"id": id}))
}

impl Params for ProfileFieldUpdate {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            name: given.optional::<Text>("name")?,
            hint: given.optional::<Text>("hint")?,
            data: given.optional::<Data>("field_data")?,
            in_summary: given.optional::<Json<bool>>("display_in_profile_summary")?,
            required: given.optional::<Json<bool>>("required")?,
        })
    }
}

/// Changes a field.
async fn update(call: Call<Caller>, wish: ProfileFieldUpdate) -> Result<Answer, Fault> {
    let id = call.path_id("field_id")?;
    decide(&call, |realm, caller, commit| profile::update(realm, caller, (id, &wish), commit)).await?;
    Ok(Answer::empty())
}

/// The fields by their numbers, the first first.
struct Order(Vec<i64>);

impl Params for Order {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        given.required::<Json<Vec<i64>>>("order").map(Self)
    }
}

/// Puts the fields into another order.
async fn reorder(call: Call<Caller>, Order(order): Order) -> Result<Answer, Fault> {
    decide(&call, |realm, caller, commit| profile::reorder(realm, caller, &order, commit)).await?;
    Ok(Answer::empty())
}

/// Removes a field.
async fn remove(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let id = call.path_id("field_id")?;
    decide(&call, |realm, caller, commit| profile::remove(realm, caller, id, commit)).await?;
    Ok(Answer::empty())
}

/// Takes a decision about fields as the caller.
async fn decide<T>(
    call: &Call<Caller>,
    decide: impl Fn(&RealmSnapshot, &User, &mut RealmCommit) -> Result<T, ProfileError> + Send + Sync,
) -> Result<T, Fault> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.who.again(realm)?, commit)?)).await
}

/// Answers of the caller.
struct Given(Vec<(i64, Option<Reply>)>);

impl Params for Given {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        given.required::<Answers>("data").map(Self)
    }
}

/// Keeps what the caller answers.
async fn answer(call: Call<Caller>, Given(answers): Given) -> Result<Answer, Fault> {
    keep(&call, &answers).await
}

/// Fields whose answers the caller takes back.
struct Fields(Vec<i64>);

impl Params for Fields {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        given.required::<Json<Vec<i64>>>("data").map(Self)
    }
}

/// Takes the caller's answers back. One that was never given is none.
async fn take_back(call: Call<Caller>, Fields(ids): Fields) -> Result<Answer, Fault> {
    let answers: Vec<_> = ids.into_iter().map(|id| (id, None)).collect();
    keep(&call, &answers).await
}

async fn keep(call: &Call<Caller>, answers: &[(i64, Option<Reply>)]) -> Result<Answer, Fault> {
    access::require_human(&call.who.user)?;
    let keep = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        answered(&call.app, realm, (call.who.again(realm)?, answers), commit)
    };
    call.app.commit(keep).await?;
    Ok(Answer::empty())
}

/// Decides about the answers of a user.
pub(crate) fn answered(
    app: &Site,
    realm: &RealmSnapshot,
    (user, answers): (&User, &[(i64, Option<Reply>)]),
    commit: &mut RealmCommit,
) -> Result<(), Fault> {
    let lexicon = app.lexicon(realm);
    let (realm_url, now_s) = (&app.settings.base_url, commit.at_s);
    let setting = RenderSettings { realm_url, lexicon: &lexicon, uploads: None, now_s };
    Ok(profile::answer(realm, user, answers, &setting, commit)?)
}
