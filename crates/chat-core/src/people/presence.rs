//! Who is there: what a client's sign of life changes, who may be shown it, and when others are told at once.
//!
//! Every client says once a minute that it is there, so this is most of what a server is asked: a sign of life
//! changes two numbers in memory and nothing else. Others learn of it when they ask, once a minute themselves; only
//! who comes back is notified of by an event, so that nobody writes to someone whom their client still shows as away.

pub mod presence_report;

use serde_json::Value;

use crate::event_log::event::{ClientCapability, EventAudience, NewEvent, QueueCondition};
use crate::id::UserId;
use crate::limits::SECONDS_PER_DAY;
use crate::model::email_address_visibility;
use crate::model::realm_change::UserItemKind;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::people::presence::presence_report::{
    PresenceFormat, PresenceList, PresenceReport, UserPresence, presence_event, simplified_event,
};
use crate::permission::access::{PermissionError, require_human};

/// The seconds between two presence reports of a client.
pub const PRESENCE_PING_INTERVAL_S: i64 = 60;
/// The seconds without a presence report after which a user is shown as offline: three reports may be lost.
pub const OFFLINE_THRESHOLD_S: i64 = 200;
/// Several windows of one user are one user: within so many seconds a further sign of life changes nothing.
const HEARD_AGAIN_AFTER_S: i64 = 55;
/// Who was not active for so many seconds is offline to clients by the time they ask again, so their return is told.
const AWAY_AFTER_S: i64 = OFFLINE_THRESHOLD_S - PRESENCE_PING_INTERVAL_S - 10;
/// Who was not there for so many seconds is left out of a full list: two weeks.
const LISTED_S: i64 = 14 * SECONDS_PER_DAY;
/// In an organization with more people nobody's return is told: a morning would wake everybody for everybody.
const TOLD_PEOPLE_MAX: usize = 100;

/// The status that a client reports: active or idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresenceStatus {
    /// Uses it.
    Active,
    /// Has left it open.
    Idle,
}

/// A text that is not a presence status.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Invalid status: {0}")]
pub struct UnknownPresenceStatus(pub String);

impl PresenceStatus {
    /// Parses a presence status.
    ///
    /// # Errors
    /// When there is none.
    pub fn parse(word: &str) -> Result<Self, UnknownPresenceStatus> {
        match word {
            "active" => Ok(Self::Active),
            "idle" => Ok(Self::Idle),
            other => Err(UnknownPresenceStatus(other.to_owned())),
        }
    }

    /// Returns the name of the status on the wire.
    #[must_use]
    pub fn wire_name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Idle => "idle",
        }
    }
}

/// The times of a user's last activity, in unix seconds; 0 for never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Presence {
    /// When they last used a client.
    pub active_s: i64,
    /// When a client of theirs was last heard of; never before `active_s`.
    pub connected_s: i64,
}

impl Presence {
    /// Returns the presence after a client's report; `None` when nothing changes.
    #[must_use]
    pub fn after_ping(self, status: PresenceStatus, now_s: i64) -> Option<Self> {
        let is_due = |last_s: i64| now_s - last_s > HEARD_AGAIN_AFTER_S;
        let mut next = self;
        if is_due(self.connected_s) {
            next.connected_s = now_s;
        }
        if status == PresenceStatus::Active && is_due(self.active_s) {
            next.active_s = now_s;
            next.connected_s = next.connected_s.max(now_s);
        }
        (next != self).then_some(next)
    }

    /// Merges the presence that two nodes know of one user: the later times.
    #[must_use]
    pub fn merged_with(self, other: Self) -> Self {
        Self { active_s: self.active_s.max(other.active_s), connected_s: self.connected_s.max(other.connected_s) }
    }

    /// Returns whether the user was away before and is active again.
    #[must_use]
    pub fn has_come_back_since(self, before: Self) -> bool {
        self.active_s - before.active_s > AWAY_AFTER_S
    }
}

/// Records a user's presence, unless they hide it. Does no I/O. Costs no I/O.
///
/// # Errors
/// For bots, which are always there or never.
pub fn record_presence_if_shared(
    store: &dyn PresenceStore,
    realm: &RealmSnapshot,
    user: &User,
    (status, now_s): (PresenceStatus, i64),
) -> Result<(), PermissionError> {
    require_human(user)?;
    if shares_presence(realm, user.id) {
        store.record_presence(user.id, status, now_s);
    }
    Ok(())
}

/// A client's request for presence data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PresenceQuery {
    /// In which form.
    pub form: PresenceFormat,
    /// The [`PresenceReport::presence_last_update_id`] it was told last; `None`, 0 and below for a client that knows
    /// nothing.
    pub after: Option<i64>,
    /// Days after which a user who was not there is left out of the answer to a client that knows nothing; `None` for
    /// two weeks, 0 and below for an answer without any user.
    pub history_limit_days: Option<i64>,
}

/// Returns the presence report for a client: what changed since its last query, or else all users of the last two
/// weeks. Does no I/O. Costs no I/O.
///
/// Everybody may see everybody here, guests too.
#[must_use]
pub fn report_presences<'a>(
    store: &dyn PresenceStore,
    realm: &'a RealmSnapshot,
    question: PresenceQuery,
    now_us: i64,
) -> PresenceReport<'a> {
    let after = question.after.filter(|after| *after > 0);
    let listed_s = question.history_limit_days.map_or(LISTED_S, |days| days.saturating_mul(SECONDS_PER_DAY));
    let oldest_s = now_us.div_euclid(1_000_000).saturating_sub(listed_s);
    let known = store.presences_since(after.unwrap_or(0));
    let is_listed = |presence: Presence| after.is_some() || (listed_s > 0 && presence.connected_s >= oldest_s);
    let listed = known.presences.into_iter().filter(|(_, presence)| is_listed(*presence));
    let shown = listed.filter_map(|(id, presence)| Some((shown(realm, id)?, presence))).collect();
    let last = match (known.last, question.after) {
        (0, None) => NOTHING_KNOWN,
        (0, Some(asked)) => asked,
        (last, asked) => last.max(asked.unwrap_or(0)),
    };
    PresenceReport { presences: PresenceList::new(question.form, shown), now_us, presence_last_update_id: Some(last) }
}

/// What clients are told who were told of nobody.
const NOTHING_KNOWN: i64 = -1;

/// The reason why a user's presence cannot be returned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PresenceError {
    /// There is no such user, or the account is closed.
    #[error("No such user")]
    NoSuchUser,
    /// A bot.
    #[error("Presence is not supported for bot users.")]
    Bot,
    /// Nothing was ever heard of them, or they do not want it known.
    #[error("No presence data for {0}")]
    Unknown(String),
}

/// Returns the presence of one user. `named` is their id or e-mail address, as the caller wrote it.
///
/// # Errors
/// See [`PresenceError`].
pub fn find_user_presence(
    store: &dyn PresenceStore,
    realm: &RealmSnapshot,
    (reader, named): (&User, &str),
    now_s: i64,
) -> Result<UserPresence, PresenceError> {
    let user = match named.parse() {
        Ok(id) => realm.user(UserId(id)),
        Err(_) => email_address_visibility::find_user_by_visible_email(realm, reader, named),
    };
    let user = user.filter(|user| user.is_active).ok_or(PresenceError::NoSuchUser)?;
    if user.bot.is_some() {
        return Err(PresenceError::Bot);
    }
    let presence = store.presence_of_user(user.id).filter(|_| shares_presence(realm, user.id));
    let presence = presence.ok_or_else(|| PresenceError::Unknown(named.to_owned()))?;
    Ok(UserPresence::new(presence, now_s))
}

/// Returns the presence events of users who were away and are active again, each with its time in unix seconds.
/// `changed` has the users with their previous and present presence. `changed` has who was there, before and now.
#[must_use]
pub fn came_back_events(realm: &RealmSnapshot, changed: &[(UserId, Presence, Presence)]) -> Vec<(i64, NewEvent)> {
    let back = changed.iter().filter(|(_, before, now)| now.has_come_back_since(*before));
    let mut back = back.filter_map(|(id, _, now)| Some((shown(realm, *id)?, *now))).peekable();
    let people = || realm.users().filter(|user| user.is_active && user.bot.is_none()).count();
    if back.peek().is_none() || people() > TOLD_PEOPLE_MAX {
        return Vec::new();
    }
    let events = back.flat_map(|(user, presence)| {
        presence_events(user, presence, presence.connected_s).map(|event| (presence.active_s, event))
    });
    events.collect()
}

/// Returns the user, if others are shown when they were there: people with an account in use who let it be known.
fn shown(realm: &RealmSnapshot, id: UserId) -> Option<&User> {
    let user = realm.user(id).filter(|user| user.is_active && user.bot.is_none());
    user.filter(|user| shares_presence(realm, user.id)).map(AsRef::as_ref)
}

/// Returns the presence events when a user starts or stops sharing their presence: as if they had just come, or had
/// been gone for long.
#[must_use]
pub fn presence_sharing_events(user: &User, is_shared: bool, now_s: i64) -> [NewEvent; 3] {
    let presence = if is_shared {
        Presence { active_s: now_s, connected_s: now_s }
    } else {
        Presence { active_s: 0, connected_s: now_s - OFFLINE_THRESHOLD_S - PRESENCE_PING_INTERVAL_S }
    };
    presence_events(user, presence, now_s)
}

/// That someone is there, to clients of each kind.
fn presence_events(user: &User, presence: Presence, now_s: i64) -> [NewEvent; 3] {
    const SIMPLIFIED: ClientCapability = ClientCapability::SimplifiedPresenceEvents;
    let older = |form, is_slim| {
        let gate = QueueCondition::Both([(SIMPLIFIED, false), (ClientCapability::SlimPresence, is_slim)]);
        NewEvent::same_for_everyone(EventAudience::Everyone, presence_event(user, presence, (form, now_s)))
            .with_queue_condition(gate)
    };
    let simplified = NewEvent::same_for_everyone(EventAudience::Everyone, simplified_event(user, presence));
    [
        older(PresenceFormat::Slim, true),
        older(PresenceFormat::Legacy, false),
        simplified.with_queue_condition(QueueCondition::With(SIMPLIFIED)),
    ]
}

/// Returns whether the user shares their presence with others.
///
/// Not specified beyond the name of the setting; who turns it off is as if nothing had ever been heard of them.
#[must_use]
pub fn shares_presence(realm: &RealmSnapshot, id: UserId) -> bool {
    let settings = realm.user_item(id, UserItemKind::Settings, "");
    settings.and_then(|settings| settings.get("presence_enabled")).and_then(Value::as_bool) != Some(false)
}

/// The store of users' presence, in memory: no method does I/O, and [`PresenceStore::record_presence`] takes no more
/// memory for a user known before.
///
/// What was noted is written down in the background, about once a second for all together, and other nodes read it
/// then. A node that is killed loses the signs of life of that second; the next ones, a minute later, bring them back.
pub trait PresenceStore: Send + Sync {
    /// Records a client's presence report for a user; [`Presence::after_ping`] defines what it changes.
    fn record_presence(&self, user_id: UserId, status: PresenceStatus, now_s: i64);

    /// Returns a user's presence; `None` when none was ever recorded.
    fn presence_of_user(&self, user_id: UserId) -> Option<Presence>;

    /// Returns the known presences in ascending order of users; for a batch above 0, only those written after it or not
    /// yet written.
    fn presences_since(&self, batch: i64) -> ChangedPresences;
}

/// The presences that changed since a client's last request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPresences {
    /// Each user once.
    pub presences: Vec<(UserId, Presence)>,
    /// The last batch that is in them; 0 before the first. Batches are numbered in the order of their commits, on all
    /// nodes alike.
    pub last: i64,
}

#[cfg(test)]
mod tests;
