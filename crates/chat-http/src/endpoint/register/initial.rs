//! The state a client begins with: one function for each type whose state can be fetched.
//!
//! Not specified. The keys are those existing clients look for; a client that finds one missing does not start.
//! Keys of parts that the server does not have (video calls, bots of the server's own, …) are there and empty.

mod channels;
mod messages;
mod organization;
mod own;
mod people;
pub(super) mod realm;

use std::collections::BTreeSet;

use chat_core::event::Filter;
use chat_core::id::ChannelId;
use chat_core::object::channel::Figures;
use chat_core::snapshot::RealmSnapshot;
use chat_core::user::User;
use serde_json::{Map, Value};

use crate::error::Fault;
use crate::state::Site;

/// Seconds after which a client gives a poll up.
pub(super) const LONGPOLL_TIMEOUT_S: u32 = 90;

/// The keys of the state.
#[derive(Default)]
pub(super) struct State(Map<String, Value>);

impl State {
    fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.0.insert(key.to_owned(), value.into());
    }

    /// The members of an object.
    fn put_all(&mut self, object: Value) {
        if let Value::Object(members) = object {
            self.0.extend(members);
        }
    }

    /// As the members of the answer.
    pub(super) fn into_members(self) -> Map<String, Value> {
        self.0
    }
}

/// Whose state it is, and where it is taken from.
pub(super) struct Newcomer<'a> {
    pub(super) app: &'a Site,
    pub(super) realm: &'a RealmSnapshot,
    pub(super) user: &'a User,
    pub(super) filter: &'a Filter,
    /// Now, in unix seconds.
    pub(super) now_s: i64,
    /// The types that are fetched; `None` for all.
    pub(super) fetched: Option<&'a BTreeSet<String>>,
}

/// What of the state needs no database.
type Part = fn(&Newcomer<'_>, &mut State);

/// The types and the functions of their state.
const PARTS: [(&str, Part); 26] = [
    ("alert_words", own::alert_words),
    ("giphy", organization::giphy),
    ("muted_topics", own::muted_topics),
    ("muted_users", own::muted_users),
    ("update_display_settings", own::display_settings),
    ("update_global_notifications", own::notification_settings),
    ("user_settings", own::user_settings),
    ("user_topic", own::user_topics),
    ("video_calls", own::video_calls),
    ("custom_profile_fields", people::profile_fields),
    ("presence", people::presences),
    ("realm_bot", people::bots),
    ("realm_user", people::users),
    ("realm_user_groups", people::groups),
    ("user_status", people::statuses),
    ("realm", realm::identity),
    ("realm", realm::limits),
    ("realm", realm::switches),
    ("realm", realm::numbers),
    ("realm", realm::policies),
    ("realm", realm::choices),
    ("realm_domains", organization::domains),
    ("realm_emoji", organization::emoji),
    ("realm_linkifiers", organization::linkifiers),
    ("realm_playgrounds", organization::playgrounds),
    ("realm_user_settings_defaults", organization::settings_defaults),
];

/// As [`Part`], for what also says something of the channels' messages.
type ChannelPart = fn(&Newcomer<'_>, &Figures, &mut State);

const CHANNEL_PARTS: [(&str, ChannelPart); 3] = [
    ("default_streams", channels::defaults),
    ("stream", channels::channels),
    ("subscription", channels::subscriptions),
];

impl Newcomer<'_> {
    /// The keys of the types that are fetched.
    pub(super) async fn state(&self) -> Result<State, Fault> {
        let mut state = State::default();
        for (_, part) in PARTS.iter().filter(|(kind, _)| self.wants(kind)) {
            part(self, &mut state);
        }
        for (_, key) in organization::EMPTY.iter().filter(|(kind, _)| self.wants(kind)) {
            state.put(key, Value::Array(Vec::new()));
        }
        messages::add(self, &mut state).await?;
        if CHANNEL_PARTS.iter().any(|(kind, _)| self.wants(kind)) {
            let channels: Vec<ChannelId> = channels::visible(self).map(|channel| channel.id).collect();
            let figures = crate::endpoint::channels::figures(self.app, channels).await?;
            for (_, part) in CHANNEL_PARTS.iter().filter(|(kind, _)| self.wants(kind)) {
                part(self, &figures, &mut state);
            }
        }
        Ok(state)
    }

    fn wants(&self, kind: &str) -> bool {
        self.fetched.is_none_or(|fetched| fetched.contains(kind))
    }

    /// Whether the type was asked for by its name, and not with all.
    fn names(&self, kind: &str) -> bool {
        self.fetched.is_some_and(|fetched| fetched.contains(kind))
    }
}
