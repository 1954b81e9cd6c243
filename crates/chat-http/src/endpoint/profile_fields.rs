//! `/realm/profile_fields` and `/users/me/profile_data`: what a realm asks about its users, and what they answer.

mod form;

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::render_context::RenderSettings;
use chat_core::model::user::User;
use chat_core::people::custom_profile_fields::{
    self, NewProfileField, ProfileFieldError, ProfileFieldUpdate, ProfileFieldValue as Reply,
};
use chat_core::permission::access;
use serde_json::json;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, JsonParam, ParamError, ParamReader, TextParam};
use crate::routes::{Routes, get, no_members, patch};
use crate::state::AppState;

use form::FieldDataParam;

pub(crate) use form::ProfileAnswersParam;

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).documented("List the profile fields, in their order.", listed))
        .post(
            endpoint(create)
                .documented("Make a profile field.", || vec![required_schema_member("id", JsonSchema::integer())]),
        )
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
async fn list(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    ApiResponsePayload::from_payload(
        &json!({"custom_fields": custom_profile_fields::profile_field_objects(&call.caller.realm)}),
    )
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    vec![required_schema_member("custom_fields", JsonSchema::list(JsonSchema::reference_to("ProfileField")))]
}

impl EndpointParams for NewProfileField {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            name: reader.optional_or::<TextParam>("name", String::new())?,
            hint: reader.optional_or::<TextParam>("hint", String::new())?,
            kind: reader.required::<JsonParam<i64>>("field_type")?,
            data: reader.optional_or::<FieldDataParam>("field_data", custom_profile_fields::ProfileFieldData::new())?,
            in_summary: reader.optional_or::<JsonParam<bool>>("display_in_profile_summary", false)?,
            required: reader.optional_or::<JsonParam<bool>>("required", false)?,
            only_administrators_answer: !reader.optional_or::<JsonParam<bool>>("editable_by_user", true)?,
        })
    }
}

/// Makes a field.
async fn create(call: ApiCall<AuthenticatedCaller>, new: NewProfileField) -> Result<ApiResponsePayload, ApiError> {
    let id =
        decide(&call, |realm, caller, commit| custom_profile_fields::create_profile_field(realm, caller, &new, commit))
            .await?;
    ApiResponsePayload::from_payload(&json!({"id": id}))
}

impl EndpointParams for ProfileFieldUpdate {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            name: reader.optional::<TextParam>("name")?,
            hint: reader.optional::<TextParam>("hint")?,
            data: reader.optional::<FieldDataParam>("field_data")?,
            in_summary: reader.optional::<JsonParam<bool>>("display_in_profile_summary")?,
            required: reader.optional::<JsonParam<bool>>("required")?,
            editable_by_user: reader.optional::<JsonParam<bool>>("editable_by_user")?,
        })
    }
}

/// Changes a field.
async fn update(
    call: ApiCall<AuthenticatedCaller>,
    params: ProfileFieldUpdate,
) -> Result<ApiResponsePayload, ApiError> {
    let id = call.path_id("field_id")?;
    decide(&call, |realm, caller, commit| {
        custom_profile_fields::update_profile_field(realm, caller, (id, &params), commit)
    })
    .await?;
    Ok(ApiResponsePayload::empty())
}

/// The parameters of `PATCH /realm/profile_fields`: the fields by their numbers, in their new order.
struct FieldOrderParams(Vec<i64>);

impl EndpointParams for FieldOrderParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        reader.required::<JsonParam<Vec<i64>>>("order").map(Self)
    }
}

/// Puts the fields into another order.
async fn reorder(
    call: ApiCall<AuthenticatedCaller>,
    FieldOrderParams(order): FieldOrderParams,
) -> Result<ApiResponsePayload, ApiError> {
    decide(&call, |realm, caller, commit| custom_profile_fields::reorder_profile_fields(realm, caller, &order, commit))
        .await?;
    Ok(ApiResponsePayload::empty())
}

/// Removes a field.
async fn remove(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let id = call.path_id("field_id")?;
    decide(&call, |realm, caller, commit| custom_profile_fields::remove_profile_field(realm, caller, id, commit))
        .await?;
    Ok(ApiResponsePayload::empty())
}

/// Takes a decision about fields as the caller.
async fn decide<T>(
    call: &ApiCall<AuthenticatedCaller>,
    decide: impl Fn(&RealmSnapshot, &User, &mut RealmCommit) -> Result<T, ProfileFieldError> + Send + Sync,
) -> Result<T, ApiError> {
    call.app.commit(|realm, commit| Ok(decide(realm, call.caller.account_in_realm(realm)?, commit)?)).await
}

/// The parameters of `PATCH /users/me/profile_data`.
struct ProfileDataParams(Vec<(i64, Option<Reply>)>);

impl EndpointParams for ProfileDataParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        reader.required::<ProfileAnswersParam>("data").map(Self)
    }
}

/// Keeps what the caller answers.
async fn answer(
    call: ApiCall<AuthenticatedCaller>,
    ProfileDataParams(answers): ProfileDataParams,
) -> Result<ApiResponsePayload, ApiError> {
    keep(&call, &answers).await
}

/// The parameters of `DELETE /users/me/profile_data`: the fields whose values are removed.
struct ClearedFieldsParams(Vec<i64>);

impl EndpointParams for ClearedFieldsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        reader.required::<JsonParam<Vec<i64>>>("data").map(Self)
    }
}

/// Takes the caller's answers back. One that was never given is none.
async fn take_back(
    call: ApiCall<AuthenticatedCaller>,
    ClearedFieldsParams(ids): ClearedFieldsParams,
) -> Result<ApiResponsePayload, ApiError> {
    let answers: Vec<_> = ids.into_iter().map(|id| (id, None)).collect();
    keep(&call, &answers).await
}

async fn keep(
    call: &ApiCall<AuthenticatedCaller>,
    answers: &[(i64, Option<Reply>)],
) -> Result<ApiResponsePayload, ApiError> {
    access::require_human(&call.caller.user)?;
    let keep = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        let user = call.caller.account_in_realm(realm)?;
        custom_profile_fields::check_editable(realm, user, answers.iter().map(|(id, _)| *id))?;
        answered(&call.app, realm, (user, answers), commit)
    };
    call.app.commit(keep).await?;
    Ok(ApiResponsePayload::empty())
}

/// Decides about the answers of a user.
pub(crate) fn answered(
    app: &AppState,
    realm: &RealmSnapshot,
    (user, answers): (&User, &[(i64, Option<Reply>)]),
    commit: &mut RealmCommit,
) -> Result<(), ApiError> {
    let render_context = app.render_contexts.get_or_compile(realm);
    let (realm_url, now_s) = (&app.settings.base_url, commit.at_s);
    let setting = RenderSettings { realm_url, render_context: &render_context, uploads: None, now_s };
    Ok(custom_profile_fields::set_profile_values(realm, user, answers, &setting, commit)?)
}
