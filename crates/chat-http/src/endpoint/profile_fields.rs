//! `/realm/profile_fields` and `/users/me/profile_data`: what a realm asks about its users, and what they answer.

mod form;

use chat_core::log::commit::RealmCommit;
use chat_core::model::render_context::RenderSettings;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::people::profile::{self, NewProfileField, ProfileError, ProfileFieldUpdate, ProfileValue as Reply};
use chat_core::permission::access;
use serde_json::json;

use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::params::{Json, ParamError, ParamReader, Params, TextParam};
use crate::response::ApiResponse;
use crate::routes::{Routes, get, no_members, patch};
use crate::schema::{Member, Schema, has};
use crate::state::AppState;

use form::FieldDataParam;

pub(crate) use form::ProfileAnswersParam;

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).documented("List the profile fields, in their order.", listed))
        .post(endpoint(create).documented("Make a profile field.", || vec![has("id", Schema::integer())]))
        .patch(endpoint(reorder).documented("Put the profile fields into another order.", no_members));
    let one = patch(endpoint(update).documented("Change a profile field.", no_members))
        .delete(endpoint(remove).documented("Remove a profile field.", no_members));
    let own = patch(endpoint(answer).documented("Answer profile fields.", no_members))
        .delete(endpoint(take_back).documented("Take answers to profile fields back.", no_members));
    Routes::of("users")
        .api("/realm/profile_fields", all)
        .api("/realm/profile_fields/{field_id}", one)
        .api("/users/me/profile_data", own)
}

/// All fields, in their order.
async fn list(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    ApiResponse::from_payload(&json!({"custom_fields": profile::listed(&call.caller.realm)}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("custom_fields", Schema::list(Schema::named("ProfileField")))]
}

impl Params for NewProfileField {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            name: reader.or::<TextParam>("name", String::new())?,
            hint: reader.or::<TextParam>("hint", String::new())?,
            kind: reader.required::<Json<i64>>("field_type")?,
            data: reader.or::<FieldDataParam>("field_data", profile::FieldData::new())?,
            in_summary: reader.or::<Json<bool>>("display_in_profile_summary", false)?,
            required: reader.or::<Json<bool>>("required", false)?,
            only_administrators_answer: !reader.or::<Json<bool>>("editable_by_user", true)?,
        })
    }
}

/// Makes a field.
async fn create(call: ApiCall<Caller>, new: NewProfileField) -> Result<ApiResponse, ApiError> {
    let id = decide(&call, |realm, caller, commit| profile::create(realm, caller, &new, commit)).await?;
    ApiResponse::from_payload(&json!({"id": id}))
}

impl Params for ProfileFieldUpdate {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            name: reader.optional::<TextParam>("name")?,
            hint: reader.optional::<TextParam>("hint")?,
            data: reader.optional::<FieldDataParam>("field_data")?,
            in_summary: reader.optional::<Json<bool>>("display_in_profile_summary")?,
            required: reader.optional::<Json<bool>>("required")?,
            editable_by_user: reader.optional::<Json<bool>>("editable_by_user")?,
        })
    }
}

/// Changes a field.
async fn update(call: ApiCall<Caller>, params: ProfileFieldUpdate) -> Result<ApiResponse, ApiError> {
    let id = call.path_id("field_id")?;
    decide(&call, |realm, caller, commit| profile::update(realm, caller, (id, &params), commit)).await?;
    Ok(ApiResponse::empty())
}

/// The parameters of `PATCH /realm/profile_fields`: the fields by their numbers, in their new order.
struct FieldOrderParams(Vec<i64>);

impl Params for FieldOrderParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        reader.required::<Json<Vec<i64>>>("order").map(Self)
    }
}

/// Puts the fields into another order.
async fn reorder(call: ApiCall<Caller>, FieldOrderParams(order): FieldOrderParams) -> Result<ApiResponse, ApiError> {
    decide(&call, |realm, caller, commit| profile::reorder(realm, caller, &order, commit)).await?;
    Ok(ApiResponse::empty())
}

/// Removes a field.
async fn remove(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let id = call.path_id("field_id")?;
    decide(&call, |realm, caller, commit| profile::remove(realm, caller, id, commit)).await?;
    Ok(ApiResponse::empty())
}

/// Takes a decision about fields as the caller.
async fn decide<T>(
    call: &ApiCall<Caller>,
    decide: impl Fn(&RealmSnapshot, &User, &mut RealmCommit) -> Result<T, ProfileError> + Send + Sync,
) -> Result<T, ApiError> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.caller.account_in(realm)?, commit)?)).await
}

/// The parameters of `PATCH /users/me/profile_data`.
struct ProfileDataParams(Vec<(i64, Option<Reply>)>);

impl Params for ProfileDataParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        reader.required::<ProfileAnswersParam>("data").map(Self)
    }
}

/// Keeps what the caller answers.
async fn answer(call: ApiCall<Caller>, ProfileDataParams(answers): ProfileDataParams) -> Result<ApiResponse, ApiError> {
    keep(&call, &answers).await
}

/// The parameters of `DELETE /users/me/profile_data`: the fields whose values are removed.
struct ClearedFieldsParams(Vec<i64>);

impl Params for ClearedFieldsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        reader.required::<Json<Vec<i64>>>("data").map(Self)
    }
}

/// Takes the caller's answers back. One that was never given is none.
async fn take_back(
    call: ApiCall<Caller>,
    ClearedFieldsParams(ids): ClearedFieldsParams,
) -> Result<ApiResponse, ApiError> {
    let answers: Vec<_> = ids.into_iter().map(|id| (id, None)).collect();
    keep(&call, &answers).await
}

async fn keep(call: &ApiCall<Caller>, answers: &[(i64, Option<Reply>)]) -> Result<ApiResponse, ApiError> {
    access::require_human(&call.caller.user)?;
    let keep = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let user = call.caller.account_in(realm)?;
        profile::check_editable(realm, user, answers.iter().map(|(id, _)| *id))?;
        answered(&call.app, realm, (user, answers), commit)
    };
    call.app.commit(keep).await?;
    Ok(ApiResponse::empty())
}

/// Decides about the answers of a user.
pub(crate) fn answered(
    app: &AppState,
    realm: &RealmSnapshot,
    (user, answers): (&User, &[(i64, Option<Reply>)]),
    commit: &mut RealmCommit,
) -> Result<(), ApiError> {
    let render_context = app.render_contexts.get(realm);
    let (realm_url, now_s) = (&app.settings.base_url, commit.at_s);
    let setting = RenderSettings { realm_url, render_context: &render_context, uploads: None, now_s };
    Ok(profile::answer(realm, user, answers, &setting, commit)?)
}
