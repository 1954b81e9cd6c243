//! Flags of the caller's own copies: one by one, by narrow, and whatever is not read.

use chat_core::id::{ChannelId, EventId, MessageId, UserId};
use chat_core::limits::MAX_WINDOW;
use chat_core::log::decision::DECISIONS_MAX;
use chat_core::log::event::FlaggedMessages;
use chat_core::messages::narrow::{MessageSelection, NarrowCondition, NarrowTerm};
use chat_core::messages::store::{FlagWriteGuard, WriteOutcome};
use chat_core::model::flag_change::{FlagChange, FlagOp};
use chat_core::model::message::{Conversation, Flag, Recipient, topic_key};
use chat_core::model::user::User;
use chat_core::permission::access::{self, MessageNotFound, reads_copy};
use serde::Serialize;
use serde_json::json;

use crate::auth::Caller;
use crate::call::{ApiCall, endpoint};
use crate::endpoint::narrow_selection::{self, AnchorParams};
use crate::endpoint::readable_message::outrun;
use crate::error::ApiError;
use crate::params::{Json, Narrow, ParamError, ParamReader, Params, TextParam, TrimmedText};
use crate::response::ApiResponse;
use crate::routes::{Routes, no_members, post};
use crate::schema::{Member, Schema, has};
use crate::state::AppState;

/// Messages looked at in one step: as many as one answer holds, which clients ask about at once.
const STEP: usize = 5_000;
/// Unread messages that become read in one transaction.
const READ_AT_ONCE: usize = 5_000;
/// Users times channels that they leave at once of which the unread messages are looked up.
const LEAVERS_MAX: usize = 100;
/// Such transactions of one call; the response says where more is unread, and the client calls again.
const READS_MAX: usize = 200;

pub(crate) fn routes() -> Routes {
    let all = endpoint(all_as_read).documented("Mark everything as read.", || vec![has("complete", Schema::boolean())]);
    Routes::of("messages")
        .api("/messages/flags", post(endpoint(messages).documented("Set a flag on messages, or take it away.", marked)))
        .api(
            "/messages/flags/narrow",
            post(endpoint(narrow).documented("Set a flag on what a narrow selects.", stretched)),
        )
        .api("/mark_all_as_read", post(all))
        .api("/mark_stream_as_read", post(endpoint(channel_as_read).documented("Mark a channel as read.", no_members)))
        .api("/mark_topic_as_read", post(endpoint(topic_as_read).documented("Mark a topic as read.", no_members)))
}

/// The parameters of `POST /messages/flags`.
pub(crate) struct UpdateFlagsParams {
    ids: Vec<i64>,
    op: String,
    flag: String,
}

impl Params for UpdateFlagsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            ids: reader.required::<Json<Vec<i64>>>("messages")?,
            op: reader.required::<TextParam>("op")?,
            flag: reader.required::<TextParam>("flag")?,
        })
    }
}

/// Sets a flag on messages, or takes it away.
///
/// # Source
/// Not specified; as existing clients know it: a mark that keeps a message for the caller (`starred`, `collapsed`) is
/// set on all of the messages or refused, in the same words for a message that is not there and for one they may not
/// read. What becomes read, or loses a mark, may have gone in the meantime, and is passed over.
pub(crate) async fn messages(call: ApiCall<Caller>, params: UpdateFlagsParams) -> Result<ApiResponse, ApiError> {
    let mark = FlagChange::parse(&params.flag, &params.op)?;
    let mut ids: Vec<MessageId> = params.ids.iter().copied().map(MessageId).collect();
    ids.sort_unstable();
    ids.dedup();
    if mark.op == FlagOp::Add && mark.flag != Flag::Read && readable(&call, &ids).await?.len() < ids.len() {
        return Err(MessageNotFound.into());
    }
    set(&call, mark, &ids).await?;
    ApiResponse::from_payload(&FlaggedIds { messages: &params.ids })
}

/// Those of the messages, in the order of their numbers, that are there and that the caller may read.
pub(crate) async fn readable(call: &ApiCall<Caller>, ids: &[MessageId]) -> Result<Vec<MessageId>, ApiError> {
    readable_by(&call.app, &call.caller.user, ids).await
}

/// As [`readable`], for another user.
pub(crate) async fn readable_by(app: &AppState, user: &User, ids: &[MessageId]) -> Result<Vec<MessageId>, ApiError> {
    let mut found = Vec::new();
    for some in ids.chunks(STEP) {
        let copies = app.messages.copies(user.id, some, Flag::Starred).await?;
        let realm = app.realm();
        let user = realm.user(user.id).map_or(user, AsRef::as_ref);
        found.extend(copies.iter().filter(|copy| reads_copy(&realm, user, copy)).map(|copy| copy.id));
    }
    Ok(found)
}

/// The response to `POST /messages/flags`; a list of thousands is written as it is.
#[derive(Serialize)]
struct FlaggedIds<'a> {
    messages: &'a [i64],
}

/// Returns the members of the response.
fn marked() -> Vec<Member> {
    vec![has("messages", Schema::list(Schema::integer()))]
}

/// The parameters of `POST /messages/flags/narrow`.
pub(crate) struct UpdateNarrowFlagsParams {
    anchor: AnchorParams,
    narrow: Option<Narrow>,
    op: String,
    flag: String,
}

impl Params for UpdateNarrowFlagsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            anchor: AnchorParams::from_reader(reader)?,
            narrow: reader.required::<Json<Option<Narrow>>>("narrow")?,
            op: reader.required::<TextParam>("op")?,
            flag: reader.required::<TextParam>("flag")?,
        })
    }
}

/// Sets a flag on messages around an anchor, as far as a narrow selects them, or takes it away.
///
/// # Source
/// The specification names it as what `POST /mark_topic_as_read` was replaced by and does not describe it. Who asks for
/// more messages than one answer holds gets fewer and no refusal: existing clients ask again from where it ended.
pub(crate) async fn narrow(call: ApiCall<Caller>, params: UpdateNarrowFlagsParams) -> Result<ApiResponse, ApiError> {
    let mark = FlagChange::parse(&params.flag, &params.op)?;
    let window = params.anchor.window(cut(params.anchor.counts()), false)?;
    let Caller { user, realm, .. } = &call.caller;
    let selection = narrow_selection::select(&call.app, realm, user, params.narrow.as_ref()).await?;
    let page = call.app.messages.window(&selection, window).await?;
    let ids: Vec<MessageId> = page.messages.iter().map(|(message, _)| message.id).collect();
    let updated = set(&call, mark, &ids).await?;
    ApiResponse::from_payload(&json!({
        "processed_count": ids.len(),
        "updated_count": updated,
        "first_processed_id": ids.first(),
        "last_processed_id": ids.last(),
        "found_oldest": page.found_oldest,
        "found_newest": page.found_newest,
    }))
}

/// Returns the members of the response.
fn stretched() -> Vec<Member> {
    vec![
        has("processed_count", Schema::integer()),
        has("updated_count", Schema::integer()),
        has("first_processed_id", Schema::integer().or_null()),
        has("last_processed_id", Schema::integer().or_null()),
        has("found_oldest", Schema::boolean()),
        has("found_newest", Schema::boolean()),
    ]
}

/// So many messages before and after an anchor as one call handles: each side gets half of them, and what the other
/// side leaves.
fn cut((before, after): (u64, u64)) -> (u64, u64) {
    let half = MAX_WINDOW / 2;
    let before = before.min(MAX_WINDOW.saturating_sub(after).max(half));
    (before, after.min(MAX_WINDOW - before))
}

/// Sets a flag on those messages whose copy it changes; returns how many. Where it changes none, nothing is written
/// and no client is notified.
pub(crate) async fn set(call: &ApiCall<Caller>, mark: FlagChange, ids: &[MessageId]) -> Result<usize, ApiError> {
    for _ in 0..DECISIONS_MAX {
        let log = call.app.log.head();
        // The oldest realm that a part of the messages was judged in.
        let mut decided_at = None;
        let mut flagged = FlaggedMessages { mark, places: Vec::new() };
        for some in ids.chunks(STEP) {
            let copies = call.app.messages.copies(call.caller.id(), some, mark.flag).await?;
            let realm = call.app.realm();
            decided_at.get_or_insert(realm.changed());
            let user = realm.user(call.caller.id()).unwrap_or(&call.caller.user);
            flagged.places.extend(mark.set(&realm, user, &copies).places);
        }
        let Some(realm) = decided_at else { return Ok(0) };
        if let Some(count) = write(call, flagged, (realm, log)).await? {
            return Ok(count);
        }
    }
    Err(outrun())
}

/// Writes what was decided on a realm and a place of the log; returns how many messages it changed, or `None` when what
/// was decided on has changed.
async fn write(
    call: &ApiCall<Caller>,
    flagged: FlaggedMessages,
    (realm, log): (EventId, EventId),
) -> Result<Option<usize>, ApiError> {
    write_for(&call.app, call.caller.id(), flagged, (realm, log)).await
}

async fn write_for(
    app: &AppState,
    user_id: UserId,
    flagged: FlaggedMessages,
    (realm, log): (EventId, EventId),
) -> Result<Option<usize>, ApiError> {
    let (FlagChange { flag, op }, messages) = (flagged.mark, flagged.messages());
    let count = messages.len();
    if count == 0 {
        return Ok(Some(0));
    }
    let decided = FlagWriteGuard { realm, log, messages };
    let event = (app.now_s(), flagged.event_for(user_id));
    let written = app.messages.set_flag(user_id, (flag, op), &decided, event).await?;
    Ok((written != WriteOutcome::Unchanged).then_some(count))
}

/// Returns what users have not read in channels that they are about to leave: it counts as read from then on, and their
/// clients are notified by [`mark_left`]. Where more users leave at once than [`LEAVERS_MAX`], nothing is looked up:
/// clients give up what is unread in a channel when they hear that it was left.
///
/// # Errors
/// When the database failed.
pub(crate) async fn unread_where_left(
    app: &AppState,
    users: &[UserId],
    channels: &[ChannelId],
) -> Result<Vec<(UserId, Vec<MessageId>)>, ApiError> {
    if users.len().saturating_mul(channels.len()) > LEAVERS_MAX {
        return Ok(Vec::new());
    }
    let realm = app.realm();
    let mut found = Vec::new();
    for user in users.iter().filter_map(|id| realm.user(*id)) {
        for channel_id in channels.iter().filter(|id| realm.subscription(**id, user.id).is_some()) {
            let selection = MessageSelection::new(&realm, user, unread_terms([NarrowCondition::Channel(*channel_id)]));
            let unread = app.messages.unread(&selection, READ_AT_ONCE).await?;
            if unread.count() > 0 {
                found.push((user.id, unread.ids()));
            }
        }
    }
    Ok(found)
}

/// Stores that the unread messages of channels which users have left are read, and reports it to their clients. It runs
/// after the users left and decides nothing: the messages count as read already. A concurrent change of the realm makes
/// the write stale, so it is tried again.
pub(crate) async fn mark_left(app: &AppState, left: Vec<(UserId, Vec<MessageId>)>) {
    for (user_id, ids) in left {
        if let Err(error) = mark_left_by(app, user_id, &ids).await {
            tracing::warn!(%error, user_id = user_id.0, "messages of a left channel were not reported as read");
        }
    }
}

async fn mark_left_by(app: &AppState, user_id: UserId, ids: &[MessageId]) -> Result<(), ApiError> {
    for _ in 0..DECISIONS_MAX {
        let decided = (app.realm().changed(), app.log.head());
        let flagged = FlaggedMessages::anywhere(FlagChange::READ, ids.to_vec());
        if write_for(app, user_id, flagged, decided).await?.is_some() {
            return Ok(());
        }
    }
    Err(outrun())
}

/// Everything a user wrote is read by the caller.
///
/// # Errors
/// When the database failed.
pub(crate) async fn read_sender(call: &ApiCall<Caller>, sender: UserId) -> Result<(), ApiError> {
    read(call, vec![NarrowCondition::Sender(sender)]).await.map(drop)
}

/// A narrow of unread messages.
fn unread_terms(conditions: impl IntoIterator<Item = NarrowCondition>) -> Vec<NarrowTerm> {
    let conditions = conditions.into_iter().chain([NarrowCondition::IsUnread]);
    conditions.map(|condition| NarrowTerm { condition, negated: false }).collect()
}

/// Everything is read.
pub(crate) async fn all_as_read(call: ApiCall<Caller>, (): ()) -> Result<ApiResponse, ApiError> {
    let complete = read(&call, Vec::new()).await?;
    ApiResponse::from_payload(&json!({"complete": complete}))
}

/// The parameters of `POST /mark_stream_as_read`.
pub(crate) struct ReadChannelParams {
    channel_id: i64,
}

impl Params for ReadChannelParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self { channel_id: reader.required::<Json<i64>>("stream_id")? })
    }
}

/// Everything in a channel is read.
pub(crate) async fn channel_as_read(call: ApiCall<Caller>, params: ReadChannelParams) -> Result<ApiResponse, ApiError> {
    let channel_id = ChannelId(params.channel_id);
    access::channel(&call.app.realm(), &call.caller.user, channel_id)?;
    read(&call, vec![NarrowCondition::Channel(channel_id)]).await?;
    Ok(ApiResponse::empty())
}

/// The parameters of `POST /mark_topic_as_read`.
pub(crate) struct ReadTopicParams {
    channel_id: i64,
    topic: String,
}

impl Params for ReadTopicParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            channel_id: reader.required::<Json<i64>>("stream_id")?,
            topic: reader.required::<TrimmedText>("topic_name")?,
        })
    }
}

/// Everything in a topic is read; without a name, in the channel.
///
/// # Source
/// Specification, `POST /mark_topic_as_read`. Not specified: a topic of which the caller received nothing is refused,
/// as existing clients know it.
pub(crate) async fn topic_as_read(call: ApiCall<Caller>, params: ReadTopicParams) -> Result<ApiResponse, ApiError> {
    let channel_id = ChannelId(params.channel_id);
    access::channel(&call.app.realm(), &call.caller.user, channel_id)?;
    let mut conditions = vec![NarrowCondition::Channel(channel_id)];
    if !params.topic.is_empty() {
        let topic = Conversation { recipient: Recipient::Channel(channel_id), topic_key: topic_key(&params.topic) };
        if !received_any(&call, channel_id, &topic).await? {
            return Err(ApiError::NoTopic { name: params.topic });
        }
        conditions.push(NarrowCondition::Topic(topic.topic_key));
    }
    read(&call, conditions).await?;
    Ok(ApiResponse::empty())
}

async fn received_any(call: &ApiCall<Caller>, channel_id: ChannelId, topic: &Conversation) -> Result<bool, ApiError> {
    let all = call.app.messages.conversation(topic, MessageId(0)).await?;
    let realm = call.app.realm();
    let membership = realm.membership(channel_id, call.caller.id());
    Ok(membership.is_some_and(|membership| all.iter().any(|(id, _)| membership.received(*id))))
}

/// Everything for which the conditions hold is read. Says whether nothing is left.
async fn read(call: &ApiCall<Caller>, conditions: Vec<NarrowCondition>) -> Result<bool, ApiError> {
    let terms = unread_terms(conditions);
    for _ in 0..READS_MAX {
        let (log, realm) = (call.app.log.head(), call.app.realm());
        let selection = MessageSelection::new(&realm, &call.caller.user, terms.clone());
        let unread = call.app.messages.unread(&selection, READ_AT_ONCE).await?;
        let written =
            write(call, FlaggedMessages::anywhere(FlagChange::READ, unread.ids()), (realm.changed(), log)).await?;
        if written.is_some_and(|count| count < READ_AT_ONCE) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_of_an_anchor_gets_half_and_what_the_other_leaves() {
        assert_eq!(cut((10, 20)), (10, 20));
        assert_eq!(cut((9_000, 9_000)), (2_500, 2_500));
        assert_eq!(cut((0, 9_000)), (0, 5_000));
        assert_eq!(cut((9_000, 100)), (4_900, 100));
        assert_eq!(cut((u64::MAX, u64::MAX)), (2_500, 2_500));
    }
}
