//! Drafts, kept for their other clients.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::StoreError;
use crate::event_log::decision_queue::{MAX_DECISION_ATTEMPTS, StaleDecisionError};
use crate::event_log::event::{EventAudience, NewEvent};
use crate::id::{ChannelId, DraftId, EventId, UserId};
use crate::limits::MAX_DIRECT_MESSAGE_USERS;
use crate::messages::workflow_context::{MessageWorkflowContext, MessageWorkflowError};
use crate::model::message::{self, MessageContentError, TopicError};
use crate::model::realm_change::UserItemKind;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access::{self, ChannelNotFound};
use crate::permission::authentication::AccountLookup;
use crate::permission::send_message::SendError;
use crate::wire_format::add;

/// Drafts of one user. Not specified; we stop where no person can know them all.
pub const MAX_DRAFTS_PER_USER: usize = 1_000;
/// The name of the user setting that enables draft synchronization: turning it off deletes the user's drafts.
///
/// # Source
/// Specification, `PATCH /realm/user_settings_defaults`: when it is disabled, drafts stored on the server are deleted.
pub const DRAFT_SYNC_SETTING: &str = "enable_drafts_synchronization";

/// A draft of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// Where it would go, as far as that is said.
    pub to: DraftDestination,
    /// What was typed.
    pub content: String,
    /// When it was last touched, in unix seconds, by its author's clock.
    pub touched_s: i64,
}

/// The destination of a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DraftDestination {
    /// Not said yet.
    Nowhere,
    /// To a channel, under a topic, which may be empty yet.
    Channel(ChannelId, String),
    /// To these users, of whom there may be none yet.
    Direct(Vec<UserId>),
}

/// The type of a draft's destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftType {
    /// Not said.
    Nowhere,
    /// A channel.
    Channel,
    /// People.
    Direct,
}

/// A draft as the request sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftRequest {
    /// The kind of its place.
    pub kind: DraftType,
    /// The number of a channel, or of people.
    pub to: Vec<i64>,
    /// The topic.
    pub topic: String,
    /// The text.
    pub content: String,
    /// When it was last touched, in unix seconds; now when it is not said.
    pub touched_s: Option<i64>,
}

/// The reason why drafts are not stored or returned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SavedDraftError {
    /// Their author chose that none are.
    #[error("User has disabled synchronizing drafts.")]
    Disabled,
    /// None of that number is the caller's.
    #[error("Draft does not exist")]
    NoneSuch,
    /// A channel message goes to one channel.
    #[error("Must specify exactly 1 channel ID for channel messages")]
    NotOneChannel,
    /// A time before all times.
    #[error("Timestamp must not be negative.")]
    NegativeTime,
    /// The author has as many as one may have.
    #[error("Too many drafts (maximum {MAX_DRAFTS_PER_USER}).")]
    TooMany,
    /// The channel is not there for the author.
    #[error(transparent)]
    Channel(#[from] ChannelNotFound),
    /// One of the people does not exist, or there are too many.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The text is none.
    #[error(transparent)]
    Content(#[from] MessageContentError),
    /// The topic is none.
    #[error(transparent)]
    Topic(#[from] TopicError),
}

/// Returns whether the user has draft synchronization enabled.
#[must_use]
pub fn is_draft_sync_enabled(realm: &RealmSnapshot, user_id: UserId) -> bool {
    let settings = realm.user_item(user_id, UserItemKind::Settings, "");
    settings.and_then(|settings| settings.get(DRAFT_SYNC_SETTING)).and_then(Value::as_bool) != Some(false)
}

/// Succeeds when the user has draft synchronization enabled.
///
/// # Errors
/// [`SavedDraftError::Disabled`].
pub fn require_draft_sync(realm: &RealmSnapshot, user: &User) -> Result<(), SavedDraftError> {
    if is_draft_sync_enabled(realm, user.id) { Ok(()) } else { Err(SavedDraftError::Disabled) }
}

/// Stores drafts of the caller, all of them or none. `account` finds the caller in the realm that is decided on.
///
/// # Errors
/// See [`SavedDraftError`]; when the caller is not let in any more, or the server failed.
pub async fn create_drafts(
    ports: &MessageWorkflowContext<'_>,
    drafts: &dyn DraftStore,
    account: AccountLookup<'_>,
    requests: &[DraftRequest],
) -> Result<Vec<DraftId>, MessageWorkflowError> {
    for _ in 0..MAX_DECISION_ATTEMPTS {
        let realm = ports.snapshot();
        let user = account(&realm)?;
        require_draft_sync(&realm, user)?;
        let new = requests.iter().map(|request| draft(&realm, user, request, ports.now_s));
        let new: Vec<Draft> = new.collect::<Result<_, SavedDraftError>>()?;
        match drafts.add_drafts(user.id, &new, (realm.changed_at(), ports.now_s)).await? {
            AddDraftsOutcome::Done(ids) => return Ok(ids),
            AddDraftsOutcome::Full => return Err(SavedDraftError::TooMany.into()),
            AddDraftsOutcome::Stale => {}
        }
    }
    Err(StaleDecisionError("the realm").into())
}

/// Edits a draft of the user. An id that is not theirs gives the same error whatever the new draft is. Of a number that
/// is none of the user's nothing else is said, whatever the draft would become.
///
/// # Errors
/// See [`SavedDraftError`]; or when the database failed.
pub async fn edit_draft(
    drafts: &dyn DraftStore,
    (realm, user): (&RealmSnapshot, &User),
    id: DraftId,
    request: &DraftRequest,
    now_s: i64,
) -> Result<(), MessageWorkflowError> {
    require_draft_sync(realm, user)?;
    let draft = match draft(realm, user, request, now_s) {
        Ok(draft) => draft,
        Err(refused) if drafts.has_draft(user.id, id).await? => return Err(refused.into()),
        Err(_) => return Err(SavedDraftError::NoneSuch.into()),
    };
    let is_there = drafts.change_draft(user.id, id, &draft, now_s).await?;
    if is_there { Ok(()) } else { Err(SavedDraftError::NoneSuch.into()) }
}

/// Returns the draft as it is kept. Whether it could be sent is not asked: it is not done yet.
///
/// # Errors
/// The first of: the text is none; the time, the topic, the channel, one of the people is none.
fn draft(realm: &RealmSnapshot, user: &User, request: &DraftRequest, now_s: i64) -> Result<Draft, SavedDraftError> {
    let content = message::normalize_message_content(&request.content)?;
    let touched_s = request.touched_s.unwrap_or(now_s);
    if touched_s < 0 {
        return Err(SavedDraftError::NegativeTime);
    }
    let to = match request.kind {
        DraftType::Nowhere => DraftDestination::Nowhere,
        DraftType::Channel => {
            let [id] = request.to.as_slice() else { return Err(SavedDraftError::NotOneChannel) };
            let channel = access::find_visible_channel(realm, user, ChannelId(*id))?;
            // It may have none yet.
            let topic =
                if request.topic.trim().is_empty() { String::new() } else { message::normalize_topic(&request.topic)? };
            DraftDestination::Channel(channel.id, topic)
        }
        DraftType::Direct => DraftDestination::Direct(people(realm, &request.to)?),
    };
    Ok(Draft { to, content, touched_s })
}

fn people(realm: &RealmSnapshot, ids: &[i64]) -> Result<Vec<UserId>, SendError> {
    if ids.len() > MAX_DIRECT_MESSAGE_USERS {
        return Err(SendError::TooManyRecipients);
    }
    let mut users: Vec<UserId> = ids.iter().copied().map(UserId).collect();
    users.sort_unstable();
    users.dedup();
    match users.iter().find(|id| realm.user(**id).is_none()) {
        Some(unknown) => Err(SendError::NoUserWithId(*unknown)),
        None => Ok(users),
    }
}

impl Draft {
    /// Returns the draft object of the wire.
    #[must_use]
    pub fn to_wire_object(&self, id: DraftId) -> Value {
        let mut object = json!({"id": id, "content": self.content, "timestamp": self.touched_s});
        let place = match &self.to {
            DraftDestination::Nowhere => json!({"type": "", "to": [], "topic": ""}),
            DraftDestination::Channel(channel, topic) => json!({"type": "stream", "to": [channel], "topic": topic}),
            DraftDestination::Direct(users) => json!({"type": "private", "to": users, "topic": ""}),
        };
        add(&mut object, place);
        object
    }
}

/// A change of drafts that is reported to the user's clients.
#[derive(Debug, Clone, Copy)]
pub enum DraftChange<'a> {
    /// One is new.
    Added(DraftId, &'a Draft),
    /// One is another now.
    Updated(DraftId, &'a Draft),
    /// One is gone.
    Removed(DraftId),
}

impl DraftChange<'_> {
    /// Returns the event for the user's own clients.
    #[must_use]
    pub fn into_event(self, user_id: UserId) -> NewEvent {
        let event = match self {
            Self::Added(id, draft) => json!({"type": "drafts", "op": "add", "drafts": [draft.to_wire_object(id)]}),
            Self::Updated(id, draft) => json!({"type": "drafts", "op": "update", "draft": draft.to_wire_object(id)}),
            Self::Removed(id) => json!({"type": "drafts", "op": "remove", "draft_id": id}),
        };
        NewEvent::same_for_everyone(EventAudience::from_users([user_id]), event)
    }
}

/// The outcome of storing drafts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddDraftsOutcome {
    /// They are durable, under these numbers, in the order given.
    Done(Vec<DraftId>),
    /// The realm had changed since it was decided that they are kept; nothing was written.
    Stale,
    /// There would be more than [`MAX_DRAFTS_PER_USER`]; nothing was written.
    Full,
}

/// The store of drafts. [`crate::event_log::realm_commit::RealmCommit::drafts_gone`] deletes all of a user.
#[async_trait]
pub trait DraftStore: Send + Sync {
    /// Stores drafts of a user and notifies their clients. `decided_at` is [`RealmSnapshot::changed_at`] of the state
    /// that allowed it: when the user turns that off in the meantime, no draft is left behind.
    async fn add_drafts(
        &self,
        user_id: UserId,
        drafts: &[Draft],
        (decided_at, at_s): (EventId, i64),
    ) -> Result<AddDraftsOutcome, StoreError>;

    /// Returns a user's drafts, the least recently edited first.
    async fn drafts_of_user(&self, user_id: UserId) -> Result<Vec<(DraftId, Draft)>, StoreError>;

    /// Returns whether a draft of that number is the user's.
    async fn has_draft(&self, user_id: UserId, id: DraftId) -> Result<bool, StoreError>;

    /// Replaces a user's draft and notifies their clients. Returns whether the user has a draft of that id.
    async fn change_draft(&self, user_id: UserId, id: DraftId, draft: &Draft, at_s: i64) -> Result<bool, StoreError>;

    /// Deletes a user's draft and notifies their clients. Returns whether the draft existed. Says whether there was one
    /// of that number.
    async fn delete_draft(&self, user_id: UserId, id: DraftId, at_s: i64) -> Result<bool, StoreError>;
}
