//! `/events`.

mod again;

use std::fmt::Write as _;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use chat_core::id::{EventId, MessageId, UserId};
use chat_core::log::event::{EventReader, EventRecord};
use chat_core::log::store::{EventQueue, LogListener};
use chat_core::model::message::Flag;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::User;
use tokio::time::{Instant, sleep, sleep_until};

use self::again::Again;
use crate::answer::Answer;
use crate::auth::{Caller, CallerSecret, holder};
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::long_wait::LongWait;
use crate::params::{Json, ParamFault, Params, Reader, Text};
use crate::polls::{Ended, Turn};
use crate::routes::{self, Routes, nothing};
use crate::schema::{Member, Schema, has};
use crate::state::{App, Site};

/// A poll without events is answered after this time at the least.
const HEARTBEAT_AFTER: Duration = Duration::from_secs(45);
/// And after so many milliseconds more at most, so that clients that came together do not come back together.
const HEARTBEAT_SPREAD_MS: u128 = 10_000;
/// Records looked at in one go.
const LOOK_AT: usize = 500;
/// An answer that has grown to so many bytes is sent; the rest is for the next poll.
const ANSWER_BYTES: usize = 1024 * 1024;
/// Room that is made for an answer at first: what a short message takes.
const EVENT_BYTES: usize = 1536;
/// How long a poll waits for this node to hear of an event that its client got from another node.
const CATCH_UP_WITHIN: Duration = Duration::from_secs(2);
/// How often it looks whether the node has.
const CATCH_UP_EVERY: Duration = Duration::from_millis(20);
/// After this time a poll that waits makes sure that no other node has deleted its queue meanwhile.
const CONFIRM_AFTER: Duration = Duration::from_secs(3);

/// Returns the paths of event queues.
pub(crate) fn routes() -> Routes {
    let queue = routes::get(endpoint(get).says("Wait for events of a queue, and tell them.", told))
        .delete(endpoint(delete).says("End a queue.", nothing));
    Routes::of("events").api("/events", queue)
}

/// The parameter that differs between a client's polls.
const LAST_EVENT_ID: &str = "last_event_id";

/// What a client asks its queue for.
pub(crate) struct Poll {
    queue_id: String,
    last_event_id: EventId,
    dont_block: bool,
}

impl Params for Poll {
    const WAITS: bool = true;

    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            queue_id: given.required::<Text>("queue_id")?,
            last_event_id: EventId(given.required::<Json<i64>>(LAST_EVENT_ID)?),
            dont_block: given.or::<Json<bool>>("dont_block", false)?,
        })
    }
}

/// Returns the events after the one that the client has, as soon as there are any.
///
/// The queue remembers nothing of what was sent: a client that asks again with an older number gets the same again,
/// so an answer that was lost on its way costs no event.
///
/// # Source
/// Specification, "Events"; the rest as existing clients know it. A heartbeat has the number of the last event that
/// was looked at, so that the client skips with it what its queue does not want. Numbers of the events of one
/// organization go on across queues; clients that begin with -1, as documented examples do because every queue of the
/// original server counts anew, get what their queue has.
pub(crate) async fn get(call: Call<Caller>, poll: Poll) -> Result<Answer, Fault> {
    // What a poll that waits for a minute does not need is let go first: the head, and the buffer it was read into.
    let (app, asker, wait) = essence(call, &poll);
    answer(&app, asker, poll, &wait).await
}

/// Returns the members of the response.
fn told() -> Vec<Member> {
    vec![has("queue_id", Schema::string()), has("events", Schema::list(Schema::named("Event")))]
}

/// Returns what of a call a poll keeps.
fn essence(call: Call<Caller>, poll: &Poll) -> (App, Asker, LongWait) {
    let Call { app, who, wait, is_plain, .. } = call;
    let asker = Asker { user_id: who.user.id, secret: who.secret };
    if is_plain && !poll.dont_block {
        wait.offer(|| Again::offered(&app, asker, &poll.queue_id));
    }
    (app, asker, wait)
}

/// The caller, and the secret it was let in with: once that is replaced, a poll opened with it gets no more events.
#[derive(Clone, Copy)]
struct Asker {
    user_id: UserId,
    secret: CallerSecret,
}

async fn answer(
    app: &App,
    Asker { user_id, secret }: Asker,
    poll: Poll,
    long_wait: &LongWait,
) -> Result<Answer, Fault> {
    let Poll { queue_id, last_event_id, dont_block } = poll;
    let queue = owned(app, queue_id, user_id).await?;
    let mut turn = app.polls.begin(&queue.id);
    catch_up(app, last_event_id).await?;
    app.queues.note(&queue, app.now_s());
    let mut delivery = Delivery::after(last_event_id.max(queue.begins_after), &queue.id, secret);
    let begun = Instant::now();
    let (mut until, mut confirmed) = (begun + CONFIRM_AFTER, false);
    while delivery.look(app, &queue).await? && !dont_block {
        let from = (delivery.at, delivery.told);
        long_wait.begin();
        match wait(app, &queue, from, (&mut turn, until)).await {
            Woken::Told => {}
            Woken::Ended(Ended::Superseded) => break,
            Woken::Ended(Ended::Stopping) => {
                delivery.beat();
                break;
            }
            Woken::Ended(Ended::Deleted) => return Err(Fault::NoQueue { queue_id: queue.id.clone() }),
            Woken::Late if confirmed => {
                delivery.beat();
                break;
            }
            Woken::Late => {
                (until, confirmed) = (begun + heartbeat_after(app), true);
                owned(app, queue.id.clone(), user_id).await?;
            }
        }
    }
    Ok(delivery.answer())
}

/// Ends a queue whose events were pruned before its client got them: it cannot go on without a hole.
///
/// # Source
/// The code is the one at which clients register again. The existing server has another one for numbers that its
/// client has confirmed before; a queue here is not pruned by what its client says.
async fn lost(app: &Site, queue: &EventQueue) -> Result<Fault, Fault> {
    app.queues.delete(&queue.id, queue.user_id).await?;
    Ok(Fault::NoQueue { queue_id: queue.id.clone() })
}

/// Returns the caller's queue of that name.
async fn owned(app: &Site, queue_id: String, user_id: UserId) -> Result<Arc<EventQueue>, Fault> {
    let found = app.queues.find(&queue_id).await?;
    found.filter(|queue| queue.user_id == user_id).ok_or(Fault::NoQueue { queue_id })
}

fn heartbeat_after(app: &Site) -> Duration {
    let more_ms = u64::try_from(app.frame.outside.fresh_id() % HEARTBEAT_SPREAD_MS).unwrap_or(0);
    HEARTBEAT_AFTER + Duration::from_millis(more_ms)
}

/// Waits until this node knows of the event that the client has, if another node told it.
async fn catch_up(app: &Site, last: EventId) -> Result<(), Fault> {
    let give_up = Instant::now() + CATCH_UP_WITHIN;
    while app.log.head() < last {
        if Instant::now() >= give_up {
            return Err(Fault::NotInQueue { event_id: last });
        }
        sleep(CATCH_UP_EVERY).await;
    }
    Ok(())
}

/// The reason why waiting is over.
enum Woken {
    /// Something was told that may concern the queue.
    Told,
    /// The poll is to end.
    Ended(Ended),
    /// The time has come.
    Late,
}

async fn wait(
    app: &Site,
    queue: &EventQueue,
    (at, told): (EventId, u64),
    (turn, until): (&mut Turn<'_>, Instant),
) -> Woken {
    let listener = LogListener { user_id: queue.user_id, overhears: queue.filter.overhears(), told };
    let time = pin!(sleep_until(until));
    tokio::select! {
        biased;
        ended = turn.ended() => Woken::Ended(ended),
        () = app.log.wait(listener, at) => Woken::Told,
        () = time => Woken::Late,
    }
}

/// The events of one answer, as they come together.
struct Delivery {
    /// The last record that was looked at.
    at: EventId,
    /// How far it was looked at who is typing.
    told: u64,
    /// `{"queue_id":"…","events":[` and the events; nothing while there is none.
    text: String,
    queue_id: String,
    /// What the poll was opened with.
    secret: CallerSecret,
}

impl Delivery {
    fn after(at: EventId, queue_id: &str, secret: CallerSecret) -> Self {
        Self { at, told: 0, text: String::new(), queue_id: queue_id.to_owned(), secret }
    }

    /// Takes in what the queue wants of what was not looked at yet. Says whether there is still nothing to answer.
    async fn look(&mut self, app: &Site, queue: &EventQueue) -> Result<bool, Fault> {
        self.look_at_log(app, queue).await?;
        if self.text.len() < ANSWER_BYTES {
            self.look_at_typing(app, queue)?;
        }
        Ok(self.text.is_empty())
    }

    async fn look_at_log(&mut self, app: &Site, queue: &EventQueue) -> Result<(), Fault> {
        loop {
            let Ok(records) = app.log.after(self.at, LOOK_AT).await? else { return Err(lost(app, queue).await?) };
            let full = records.len() == LOOK_AT;
            let Some(last) = records.last().map(|record| record.id) else { return Ok(()) };
            self.take(app, queue, &records).await?;
            if self.text.len() >= ANSWER_BYTES {
                return Ok(());
            }
            self.at = last;
            if !full {
                return Ok(());
            }
        }
    }

    /// Writes who is typing. These events have no place in the log; they come after all that was looked at and have,
    /// like a heartbeat, the number of the last of it.
    fn look_at_typing(&mut self, app: &Site, queue: &EventQueue) -> Result<(), Fault> {
        let told = app.typing.take(&queue.id);
        self.told = told.until;
        if told.events.is_empty() {
            return Ok(());
        }
        let realm = app.realm();
        let user = self.owner(&realm, queue)?;
        for record in told.events.iter().filter(|record| queue.filter.accepts(record, user, &realm)) {
            self.open();
            record.write_between(self.at, &mut self.text);
        }
        Ok(())
    }

    /// Returns the queue's owner, if they may still hear.
    fn owner<'a>(&self, realm: &'a RealmSnapshot, queue: &EventQueue) -> Result<&'a User, Fault> {
        let user = realm.user(queue.user_id).filter(|user| user.is_active);
        let user = user.ok_or_else(|| Fault::NoQueue { queue_id: queue.id.clone() })?;
        Ok(holder(realm, user.id, self.secret)?)
    }

    /// Writes those records that the queue wants, up to the size of an answer.
    async fn take(&mut self, app: &Site, queue: &EventQueue, records: &[Arc<EventRecord>]) -> Result<(), Fault> {
        // Read after the records, so it holds what they changed.
        let realm = app.realm();
        let user = self.owner(&realm, queue)?;
        let reader = EventReader { user, queue_id: &queue.id, filter: &queue.filter, realm: &realm };
        for record in records {
            if self.text.len() >= ANSWER_BYTES {
                return Ok(());
            }
            self.at = record.id;
            if queue.filter.accepts(record, user, &realm) {
                let flags = match record.wants_flags_of() {
                    None => Vec::new(),
                    Some(message) => Box::pin(flags_of(app, user.id, message)).await?,
                };
                self.open();
                record.write(&reader, &flags, &mut self.text);
            }
        }
        Ok(())
    }

    /// A sign of life.
    fn beat(&mut self) {
        self.open();
        // Writing to a string does not fail.
        let _ = write!(self.text, r#"{{"id":{},"type":"heartbeat"}}"#, self.at);
    }

    /// Makes room for one more event.
    fn open(&mut self) {
        if self.text.is_empty() {
            self.begin();
        } else {
            self.text.push(',');
        }
    }

    fn begin(&mut self) {
        self.text.reserve(EVENT_BYTES);
        // Queues are found by their names, which are letters, digits and hyphens.
        let _ = write!(self.text, r#"{{"queue_id":"{}","events":["#, self.queue_id);
    }

    fn answer(mut self) -> Answer {
        if self.text.is_empty() {
            self.begin();
        }
        self.text.push_str("]}");
        Answer::from_object(self.text.as_bytes())
    }
}

/// Returns the receiver's flags of a message, by now. One that is gone has none.
async fn flags_of(app: &Site, user_id: UserId, message: MessageId) -> Result<Vec<Flag>, Fault> {
    let found = app.messages.find(user_id, &[message]).await?;
    Ok(found.into_iter().next().map(|(_, flags)| flags).unwrap_or_default())
}

/// A queue by its name.
pub(crate) struct Named {
    queue_id: String,
}

impl Params for Named {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self { queue_id: given.required::<Text>("queue_id")? })
    }
}

/// Ends a queue.
///
/// # Source
/// Specification, `DELETE /events`.
pub(crate) async fn delete(call: Call<Caller>, named: Named) -> Result<Answer, Fault> {
    let Named { queue_id } = named;
    if !call.app.queues.delete(&queue_id, call.who.id()).await? {
        return Err(Fault::NoQueue { queue_id });
    }
    call.app.polls.end(&queue_id);
    Ok(Answer::empty())
}
