//! `/drafts` and `/drafts/{draft_id}`.
//!
//! Not specified; parameters, keys and texts are those existing clients know.

use chat_core::id::DraftId;
use chat_core::messages::draft::{self, DraftError, DraftRequest, DraftType};
use serde_json::{Value, json};

use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::error::ApiError;
use crate::params::{
    FromJson, Json, JsonObject, JsonPath, JsonWord, ParamError, ParamReader, Params, WordEnum, not_blank,
};
use crate::response::ApiResponse;
use crate::routes::{Routes, get, no_members, patch};
use crate::schema::{Member, Schema, has};

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
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        let request = members(JsonObject::of(value, path)?)?;
        not_blank(&request.content, &path.key("content"))?;
        Ok(request)
    }

    fn schema() -> Schema {
        JsonObject::schema(members)
    }
}

fn members(mut object: JsonObject<'_>) -> Result<DraftRequest, ParamError> {
    let JsonWord(kind) = object.required("type")?;
    let to = object.required("to")?;
    let topic = object.required("topic")?;
    let content = object.required("content")?;
    let touched_s =
        object.optional::<Option<DraftTimestamp>>("timestamp")?.flatten().map(|DraftTimestamp(touched_s)| touched_s);
    object.end()?;
    Ok(DraftRequest { kind, to, topic, content, touched_s })
}

/// Unix seconds; of what clients send as a fraction the whole seconds count.
struct DraftTimestamp(i64);

impl FromJson for DraftTimestamp {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        let whole = value.as_number().map(ToString::to_string).and_then(|digits| {
            let (seconds, _) = digits.split_once('.').unwrap_or((&digits, ""));
            seconds.parse().ok()
        });
        match whole {
            Some(seconds) => Ok(Self(seconds)),
            None => i64::from_json(value, path).map(Self),
        }
    }

    fn schema() -> Schema {
        Schema::any().with("type", "number").such_as(1_800_000_000)
    }
}

/// Returns the caller's drafts.
async fn list(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    draft::require_kept(&call.caller.realm, &call.caller.user)?;
    let drafts = call.app.drafts.drafts_of(call.caller.id()).await?;
    let objects: Value = drafts.iter().map(|(id, draft)| draft.object(*id)).collect();
    ApiResponse::from_payload(&json!({"count": drafts.len(), "drafts": objects}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("count", Schema::integer()), has("drafts", Schema::list(Schema::named("Draft")))]
}

/// The parameters of `POST /drafts`.
struct CreateDraftsParams(Vec<DraftRequest>);

impl Params for CreateDraftsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self(reader.required::<Json<Vec<DraftRequest>>>("drafts")?))
    }
}

/// Keeps drafts, all of them or none.
async fn create(
    call: ApiCall<Caller>,
    CreateDraftsParams(requests): CreateDraftsParams,
) -> Result<ApiResponse, ApiError> {
    let (ports, drafts) = (call.app.message_ports(), call.app.drafts.as_ref());
    let ids = draft::create(&ports, drafts, &|realm| call.caller.account_in(realm), &requests).await?;
    ApiResponse::from_payload(&json!({"ids": ids}))
}

/// Returns the members of the response.
fn kept() -> Vec<Member> {
    vec![has("ids", Schema::list(Schema::integer()))]
}

/// The parameters of `PATCH /drafts/{draft_id}`.
struct EditDraftParams(DraftRequest);

impl Params for EditDraftParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self(reader.required::<Json<DraftRequest>>("draft")?))
    }
}

/// Makes a draft another.
async fn edit(call: ApiCall<Caller>, EditDraftParams(request): EditDraftParams) -> Result<ApiResponse, ApiError> {
    let id = DraftId(call.path_id("draft_id")?);
    let Caller { realm, user, .. } = &call.caller;
    draft::change(call.app.drafts.as_ref(), (realm, user), id, &request, call.app.now_s()).await?;
    Ok(ApiResponse::empty())
}

/// Deletes a draft.
async fn remove(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let id = DraftId(call.path_id("draft_id")?);
    draft::require_kept(&call.caller.realm, &call.caller.user)?;
    if !call.app.drafts.delete_draft(call.caller.id(), id, call.app.now_s()).await? {
        return Err(DraftError::NoneSuch.into());
    }
    Ok(ApiResponse::empty())
}
