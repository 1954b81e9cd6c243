//! `/drafts` and `/drafts/{draft_id}`.
//!
//! Not specified; parameters, keys and texts are those existing clients know.

use chat_core::id::DraftId;
use chat_core::messages::draft::{self, DraftRequest, DraftType, SavedDraftError};
use serde_json::{Value, json};

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{
    EndpointParams, EnumWordJson, FromJson, JsonObjectReader, JsonParam, ParamError, ParamReader, ParamValuePath,
    WordEnum, check_not_blank,
};
use crate::routes::{Routes, get, no_members, patch};

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).documented("List the caller's drafts.", listed))
        .post(endpoint(create).documented("Keep drafts, all of them or none.", kept));
    let one = patch(endpoint(edit).documented("Make a draft another.", no_members))
        .delete(endpoint(remove).documented("Delete a draft.", no_members));
    Routes::of("drafts").api("/drafts", all).api("/drafts/{draft_id}", one)
}

impl WordEnum for DraftType {
    const WORDS: &'static [(&'static str, Self)] =
        &[("", Self::Nowhere), ("stream", Self::Channel), ("private", Self::Direct)];
}

impl FromJson for DraftRequest {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let request = members(JsonObjectReader::from_value(value, path)?)?;
        check_not_blank(&request.content, &path.member("content"))?;
        Ok(request)
    }

    fn json_schema() -> JsonSchema {
        JsonObjectReader::infer_schema(members)
    }
}

fn members(mut object: JsonObjectReader<'_>) -> Result<DraftRequest, ParamError> {
    let EnumWordJson(kind) = object.required_member("type")?;
    let to = object.required_member("to")?;
    let topic = object.required_member("topic")?;
    let content = object.required_member("content")?;
    let touched_s = object
        .optional_member::<Option<DraftTimestamp>>("timestamp")?
        .flatten()
        .map(|DraftTimestamp(touched_s)| touched_s);
    object.reject_unread_members()?;
    Ok(DraftRequest { kind, to, topic, content, touched_s })
}

/// Unix seconds; of what clients send as a fraction the whole seconds count.
struct DraftTimestamp(i64);

impl FromJson for DraftTimestamp {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let whole = value.as_number().map(ToString::to_string).and_then(|digits| {
            let (seconds, _) = digits.split_once('.').unwrap_or((&digits, ""));
            seconds.parse().ok()
        });
        match whole {
            Some(seconds) => Ok(Self(seconds)),
            None => i64::from_json(value, path).map(Self),
        }
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::any().with_keyword("type", "number").with_example(1_800_000_000)
    }
}

/// Returns the caller's drafts.
async fn list(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    draft::require_draft_sync(&call.caller.realm, &call.caller.user)?;
    let drafts = call.app.drafts.drafts_of_user(call.caller.user_id()).await?;
    let objects: Value = drafts.iter().map(|(id, draft)| draft.to_wire_object(*id)).collect();
    ApiResponsePayload::from_payload(&json!({"count": drafts.len(), "drafts": objects}))
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    vec![
        required_schema_member("count", JsonSchema::integer()),
        required_schema_member("drafts", JsonSchema::list(JsonSchema::reference_to("Draft"))),
    ]
}

/// The parameters of `POST /drafts`.
struct CreateDraftsParams(Vec<DraftRequest>);

impl EndpointParams for CreateDraftsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self(reader.required::<JsonParam<Vec<DraftRequest>>>("drafts")?))
    }
}

/// Keeps drafts, all of them or none.
async fn create(
    call: ApiCall<AuthenticatedCaller>,
    CreateDraftsParams(requests): CreateDraftsParams,
) -> Result<ApiResponsePayload, ApiError> {
    let (ports, drafts) = (call.app.message_ports(), call.app.drafts.as_ref());
    let ids = draft::create_drafts(&ports, drafts, &|realm| call.caller.account_in_realm(realm), &requests).await?;
    ApiResponsePayload::from_payload(&json!({"ids": ids}))
}

/// Returns the members of the response.
fn kept() -> Vec<SchemaMember> {
    vec![required_schema_member("ids", JsonSchema::list(JsonSchema::integer()))]
}

/// The parameters of `PATCH /drafts/{draft_id}`.
struct EditDraftParams(DraftRequest);

impl EndpointParams for EditDraftParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self(reader.required::<JsonParam<DraftRequest>>("draft")?))
    }
}

/// Makes a draft another.
async fn edit(
    call: ApiCall<AuthenticatedCaller>,
    EditDraftParams(request): EditDraftParams,
) -> Result<ApiResponsePayload, ApiError> {
    let id = DraftId(call.path_id("draft_id")?);
    let AuthenticatedCaller { realm, user, .. } = &call.caller;
    draft::edit_draft(call.app.drafts.as_ref(), (realm, user), id, &request, call.app.now_s()).await?;
    Ok(ApiResponsePayload::empty())
}

/// Deletes a draft.
async fn remove(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let id = DraftId(call.path_id("draft_id")?);
    draft::require_draft_sync(&call.caller.realm, &call.caller.user)?;
    if !call.app.drafts.delete_draft(call.caller.user_id(), id, call.app.now_s()).await? {
        return Err(SavedDraftError::NoneSuch.into());
    }
    Ok(ApiResponsePayload::empty())
}
