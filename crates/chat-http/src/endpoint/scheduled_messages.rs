//! `/scheduled_messages` and `/scheduled_messages/{scheduled_message_id}`.

use chat_core::id::{EventId, ScheduledId};
use chat_core::messages::scheduled::{
    ScheduledDestination, ScheduledError, ScheduledMessage, ScheduledMessageUpdate, ScheduledRecipient, ScheduledType,
    in_future,
};
use chat_core::messages::store::WriteOutcome;
use chat_core::permission::send::SendError;
use serde_json::{Value, json};

use super::messages::send;
use crate::answer::Answer;
use crate::auth::{Caller, Unauthenticated};
use crate::call::{Call, endpoint};
use crate::error::{Failure, Fault};
use crate::params::{Json, ParamFault, Params, Reader, Recipients, Stripped, To, Verbatim, Word, Words};
use crate::routes::{Routes, get, nothing, patch};
use crate::schema::{Member, Schema, has};
use crate::state::{DECISIONS_MAX, Site};

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).says("List the caller's scheduled messages.", listed))
        .post(endpoint(create).says("Schedule a message.", scheduled));
    let one = patch(endpoint(edit).says("Change a scheduled message.", nothing))
        .delete(endpoint(remove).says("Give a scheduled message up.", nothing));
    Routes::of("scheduled messages")
        .api("/scheduled_messages", all)
        .api("/scheduled_messages/{scheduled_message_id}", one)
}

impl Words for ScheduledType {
    const WORDS: &'static [(&'static str, Self)] =
        &[("direct", Self::Direct), ("private", Self::Direct), ("stream", Self::Channel), ("channel", Self::Channel)];
}

/// Returns the caller's messages that wait, and those that failed.
async fn list(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let scheduled = call.app.scheduled.scheduled_of(call.who.id()).await?;
    Answer::of(&json!({"scheduled_messages": scheduled.iter().map(ScheduledMessage::object).collect::<Value>()}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("scheduled_messages", Schema::list(Schema::named("ScheduledMessage")))]
}

/// What is to be sent later.
struct Later {
    kind: ScheduledType,
    to: To,
    topic: Option<String>,
    content: String,
    due_s: i64,
    read_by_sender: Option<bool>,
}

impl Params for Later {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            kind: given.required::<Word<ScheduledType>>("type")?,
            to: given.required::<Recipients>("to")?,
            topic: given.optional_either::<Stripped>(["topic", "subject"])?,
            content: given.required::<Verbatim>("content")?,
            due_s: given.required::<Json<i64>>("scheduled_delivery_timestamp")?,
            read_by_sender: given.optional::<Json<bool>>("read_by_sender")?,
        })
    }
}

/// Schedules a message.
///
/// # Source
/// The specification names scheduled messages and describes editing them alone; this is what existing clients know.
async fn create(call: Call<Caller>, later: Later) -> Result<Answer, Fault> {
    let now_s = call.app.now_s();
    let due_s = in_future(later.due_s, now_s)?;
    let client = call.client();
    let to = match receiver(later.kind, &later.to)? {
        ScheduledRecipient::Channel(id) => ScheduledDestination::Channel(id, later.topic.ok_or(SendError::NoTopic)?),
        ScheduledRecipient::Direct(users) => ScheduledDestination::Direct(users),
    };
    let message = ScheduledMessage {
        id: ScheduledId(0),
        user_id: call.who.id(),
        to,
        content: later.content,
        html: String::new(),
        read_by_sender: later.read_by_sender.unwrap_or_else(|| send::shows_what_it_sends(&client)),
        client,
        due_s,
        failure: None,
        revision: EventId::NONE,
    };
    let message = composed(&call.app, message).await?;
    let id = call.app.scheduled.schedule(message, now_s).await?.ok_or(ScheduledError::TooMany)?;
    Answer::of(&json!({"scheduled_message_id": id}))
}

/// Returns the members of the response.
fn scheduled() -> Vec<Member> {
    vec![has("scheduled_message_id", Schema::integer())]
}

fn receiver(kind: ScheduledType, to: &To) -> Result<ScheduledRecipient, Fault> {
    let read = match kind {
        ScheduledType::Channel => to.channel_id().map(ScheduledRecipient::Channel),
        ScheduledType::Direct => to.user_ids().map(ScheduledRecipient::Direct),
    };
    read.map_err(|fault| Fault::Parameter(ParamFault::Recipients(fault)))
}

/// Returns the message as it would be sent now, if it may be.
async fn composed(app: &Site, message: ScheduledMessage) -> Result<ScheduledMessage, Fault> {
    let realm = app.realm();
    let sender = realm.user(message.user_id).ok_or(Unauthenticated::UnknownKey)?;
    let as_sent = send::composed(app, &realm, sender, message.wish()).await?;
    Ok(message.composed(&as_sent))
}

/// What is to change of a scheduled message.
struct Change(ScheduledMessageUpdate<To>);

impl Params for Change {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self(ScheduledMessageUpdate {
            kind: given.optional::<Word<ScheduledType>>("type")?,
            to: given.optional::<Recipients>("to")?,
            content: given.optional::<Verbatim>("content")?,
            topic: given.optional_either::<Stripped>(["topic", "subject"])?,
            due_s: given.optional::<Json<i64>>("scheduled_delivery_timestamp")?,
        }))
    }
}

/// Changes a message that waits, or that failed.
///
/// # Source
/// Specification, `PATCH /scheduled_messages/{scheduled_message_id}`.
async fn edit(call: Call<Caller>, Change(wanted): Change) -> Result<Answer, Fault> {
    let id = ScheduledId(call.path_id("scheduled_message_id")?);
    let (app, now_s) = (&call.app, call.app.now_s());
    wanted.check(now_s)?;
    for _ in 0..DECISIONS_MAX {
        let before = app.scheduled.scheduled(call.who.id(), id).await?.ok_or(ScheduledError::NoneSuch)?;
        let (message, recompose) = wanted.read(&before, receiver)?.applied(&before)?;
        let message = ScheduledMessage { client: call.client(), ..message };
        let message = if recompose { composed(app, message).await? } else { message };
        if app.scheduled.reschedule(message, now_s).await? != WriteOutcome::Unchanged {
            return Ok(Answer::empty());
        }
    }
    Err(Failure::said("a scheduled message changed faster than a decision on it").into())
}

/// Gives a message up.
async fn remove(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let id = ScheduledId(call.path_id("scheduled_message_id")?);
    if !call.app.scheduled.unschedule(call.who.id(), id, call.app.now_s()).await? {
        return Err(ScheduledError::NoneSuch.into());
    }
    Ok(Answer::empty())
}
