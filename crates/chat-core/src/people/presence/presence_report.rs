//! When users were last there, as clients see it: in a short form by number, and in the older one by address.
//!
//! # Source
//! Not specified; forms and keys are those existing clients know. `client` and `pushable` of the older form say
//! nothing any more and are always the same.

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::model::user::User;
use crate::people::presence::{OFFLINE_THRESHOLD_S, Presence, PresenceStatus};

/// In the older form who was active within so many seconds before their client was heard of is active.
const ACTIVE_WITHIN_S: i64 = 70;
/// The only client there is in the older form.
const CLIENT: &str = "website";

/// The format of presence data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PresenceFormat {
    /// Two times, by the number of the user.
    Slim,
    /// A status and its time, by the address of the user.
    Legacy,
}

/// The presence of all users, in the format of the request.
#[derive(Debug)]
pub struct PresenceReport<'a> {
    /// By user.
    pub presences: PresenceList<'a>,
    /// When it was asked, in microseconds since the UNIX epoch.
    pub now_us: i64,
    /// What the client asks with next time to be told of changes alone; `None` is not told.
    pub presence_last_update_id: Option<i64>,
}

/// A list of users' presences in one format.
#[derive(Debug)]
pub struct PresenceList<'a> {
    form: PresenceFormat,
    entries: Vec<(&'a User, Presence)>,
}

impl<'a> PresenceList<'a> {
    /// Makes the list from users and their presences, each user once.
    #[must_use]
    pub fn new(form: PresenceFormat, entries: Vec<(&'a User, Presence)>) -> Self {
        Self { form, entries }
    }
}

#[derive(Serialize)]
struct ReportKeys<'a> {
    presences: &'a PresenceList<'a>,
    server_timestamp: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    presence_last_update_id: Option<i64>,
}

impl Serialize for PresenceReport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { presences, now_us, presence_last_update_id } = self;
        let server_timestamp = timestamp(*now_us);
        ReportKeys { presences, server_timestamp, presence_last_update_id: *presence_last_update_id }
            .serialize(serializer)
    }
}

impl Serialize for PresenceList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.form {
            PresenceFormat::Slim => {
                serializer.collect_map(self.entries.iter().map(|(user, seen)| (user.id, Slim::of(user, *seen))))
            }
            PresenceFormat::Legacy => {
                serializer.collect_map(self.entries.iter().map(|(user, seen)| (user.public_email(), Legacy::of(*seen))))
            }
        }
    }
}

/// The short form. Both times are there: clients ask for both.
#[derive(Serialize)]
struct Slim {
    active_timestamp: i64,
    idle_timestamp: i64,
}

impl Slim {
    fn of(user: &User, presence: Presence) -> Self {
        // Who never was active counts from the day they came, because clients want a time.
        let active_timestamp = if presence.active_s > 0 { presence.active_s } else { user.joined_s };
        Self { active_timestamp, idle_timestamp: presence.connected_s }
    }
}

/// The older form.
#[derive(Serialize)]
struct Legacy {
    aggregated: Aggregated,
    website: Website,
}

#[derive(Serialize)]
struct Aggregated {
    client: &'static str,
    status: &'static str,
    timestamp: i64,
}

#[derive(Serialize)]
struct Website {
    client: &'static str,
    status: &'static str,
    timestamp: i64,
    pushable: bool,
}

impl Legacy {
    fn of(presence: Presence) -> Self {
        let (status, timestamp) = presence_state(presence);
        let status = status.wire_name();
        Self {
            aggregated: Aggregated { client: CLIENT, status, timestamp },
            website: Website { client: CLIENT, status, timestamp, pushable: false },
        }
    }
}

/// The presence of one user, as returned by its own endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UserPresence {
    aggregated: PresenceState,
    website: PresenceState,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct PresenceState {
    status: &'static str,
    timestamp: i64,
}

impl UserPresence {
    /// Makes the user's presence at that time, in unix seconds; only here the server itself decides who is offline.
    #[must_use]
    pub fn new(presence: Presence, now_s: i64) -> Self {
        let (status, timestamp) = presence_state(presence);
        let is_offline = now_s - timestamp > OFFLINE_THRESHOLD_S;
        Self {
            aggregated: PresenceState { status: if is_offline { "offline" } else { status.wire_name() }, timestamp },
            website: PresenceState { status: status.wire_name(), timestamp },
        }
    }
}

/// Returns the event that reports a user's presence, at that time in unix seconds. Its `presence` has one format; the
/// slim one leaves out the e-mail address.
#[must_use]
pub fn presence_event(user: &User, presence: Presence, (form, now_s): (PresenceFormat, i64)) -> Value {
    let mut event = json!({
        "type": "presence",
        "user_id": user.id,
        "server_timestamp": timestamp(now_s.saturating_mul(1_000_000)),
        "presence": {CLIENT: Legacy::of(presence).website},
    });
    if form == PresenceFormat::Legacy {
        crate::wire_format::add(&mut event, json!({"email": user.public_email()}));
    }
    event
}

/// Returns the event that says when a user was there as two times alone.
#[must_use]
pub fn simplified_event(user: &User, presence: Presence) -> Value {
    json!({"type": "presence", "presences": {user.id.to_string(): Slim::of(user, presence)}})
}

/// Status and time in one. Who never was active is idle, also on the day they came.
fn presence_state(presence: Presence) -> (PresenceStatus, i64) {
    if presence.active_s > 0 && presence.active_s + ACTIVE_WITHIN_S >= presence.connected_s {
        (PresenceStatus::Active, presence.active_s)
    } else {
        (PresenceStatus::Idle, presence.connected_s)
    }
}

/// A float on the wire.
fn timestamp(at_us: i64) -> f64 {
    std::time::Duration::from_micros(at_us.unsigned_abs()).as_secs_f64()
}
