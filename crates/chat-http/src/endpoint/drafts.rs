//! `/drafts` and `/drafts/{draft_id}`.
//!
//! Not specified; parameters, keys and texts are those existing clients know.

use chat_core::id::DraftId;
use chat_core::messages::draft::{self, Draft, DraftError, DraftOutcome, DraftRequest, DraftType};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::{Failure, Fault};
use crate::params::{FromJson, Json, Object, ParamFault, Params, Path, Quoted, Reader, Words, not_blank};
use crate::routes::{Routes, get, nothing, patch};
use crate::schema::{Member, Schema, has};
use crate::state::DECISIONS_MAX;

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).says("List the caller's drafts.", listed))
        .post(endpoint(create).says("Keep drafts, all of them or none.", kept));
    let one = patch(endpoint(edit).says("Make a draft another.", nothing))
        .delete(endpoint(remove).says("Delete a draft.", nothing));
    Routes::of("drafts").api("/drafts", all).api("/drafts/{draft_id}", one)
}

impl Words for DraftType {
    const WORDS: &'static [(&'static str, Self)] =
        &[("", Self::Nowhere), ("stream", Self::Channel), ("private", Self::Direct)];
}

impl FromJson for DraftRequest {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        let wish = members(Object::of(value, path)?)?;
        not_blank(&wish.content, &path.key("content"))?;
        Ok(wish)
    }

    fn schema() -> Schema {
        Object::schema(members)
    }
}

fn members(mut object: Object<'_>) -> Result<DraftRequest, ParamFault> {
    let Quoted(kind) = object.required("type")?;
    let to = object.required("to")?;
    let topic = object.required("topic")?;
    let content = object.required("content")?;
    let touched_s = object.optional::<Option<Moment>>("timestamp")?.flatten().map(|Moment(touched_s)| touched_s);
    object.end()?;
    Ok(DraftRequest { kind, to, topic, content, touched_s })
}

/// Unix seconds; of what clients send as a fraction the whole seconds count.
struct Moment(i64);

impl FromJson for Moment {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
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
async fn list(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    draft::require_kept(&call.who.realm, &call.who.user)?;
    let drafts = call.app.drafts.drafts_of(call.who.id()).await?;
    let objects: Value = drafts.iter().map(|(id, draft)| draft.object(*id)).collect();
    Answer::of(&json!({"count": drafts.len(), "drafts": objects}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("count", Schema::integer()), has("drafts", Schema::list(Schema::named("Draft")))]
}

/// New drafts.
struct Wishes(Vec<DraftRequest>);

impl Params for Wishes {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self(given.required::<Json<Vec<DraftRequest>>>("drafts")?))
    }
}

/// Keeps drafts, all of them or none.
async fn create(call: Call<Caller>, Wishes(wishes): Wishes) -> Result<Answer, Fault> {
    let now_s = call.app.now_s();
    for _ in 0..DECISIONS_MAX {
        let realm = call.app.realm();
        let user = call.who.again(&realm)?;
        draft::require_kept(&realm, user)?;
        let drafts = wishes.iter().map(|wish| draft::draft(&realm, user, wish, now_s));
        let drafts: Vec<Draft> = drafts.collect::<Result<_, DraftError>>()?;
        match call.app.drafts.add_drafts(user.id, &drafts, (realm.changed(), now_s)).await? {
            DraftOutcome::Done(ids) => return Answer::of(&json!({"ids": ids})),
            DraftOutcome::Full => return Err(DraftError::TooMany.into()),
            DraftOutcome::Stale => {}
        }
    }
    Err(Failure::said("the realm changed faster than drafts could be kept").into())
}

/// Returns the members of the response.
fn kept() -> Vec<Member> {
    vec![has("ids", Schema::list(Schema::integer()))]
}

/// What a draft becomes.
struct Changed(DraftRequest);

impl Params for Changed {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self(given.required::<Json<DraftRequest>>("draft")?))
    }
}

/// Makes a draft another. Of a number that is none of theirs nothing else is said, whatever the draft would become.
async fn edit(call: Call<Caller>, Changed(wish): Changed) -> Result<Answer, Fault> {
    let id = DraftId(call.path_id("draft_id")?);
    let (realm, user, now_s) = (&call.who.realm, &call.who.user, call.app.now_s());
    draft::require_kept(realm, user)?;
    let draft = match draft::draft(realm, user, &wish, now_s) {
        Ok(draft) => draft,
        Err(refused) if call.app.drafts.has_draft(user.id, id).await? => return Err(refused.into()),
        Err(_) => return Err(DraftError::NoneSuch.into()),
    };
    if !call.app.drafts.change_draft(user.id, id, &draft, now_s).await? {
        return Err(DraftError::NoneSuch.into());
    }
    Ok(Answer::empty())
}

/// Deletes a draft.
async fn remove(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let id = DraftId(call.path_id("draft_id")?);
    draft::require_kept(&call.who.realm, &call.who.user)?;
    if !call.app.drafts.delete_draft(call.who.id(), id, call.app.now_s()).await? {
        return Err(DraftError::NoneSuch.into());
    }
    Ok(Answer::empty())
}
