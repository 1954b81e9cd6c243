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
use std::sync::Arc;

use chat_core::event_log::event::QueueFilter;
use chat_core::id::ChannelId;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::User;
use chat_core::wire_format::channel::ChannelStatistics;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::api_response::ApiResponsePayload;
use crate::error::{ApiError, InternalError};
use crate::state::AppState;

/// Seconds after which a client gives a poll up.
pub(super) const LONGPOLL_TIMEOUT_S: u32 = 90;

/// The members of the state that `/register` returns.
#[derive(Default)]
pub(super) struct InitialState {
    members: Map<String, Value>,
    /// What is long, as the members of an object that were serialized already: each with its key and a comma behind
    /// it. As a [`Value`] each of its numbers would be a text of its own.
    written: Vec<u8>,
}

impl InitialState {
    pub(super) fn put(&mut self, key: &str, value: impl Into<Value>) {
        self.members.insert(key.to_owned(), value.into());
    }

    /// As [`InitialState::put`], for what is long. No key is written twice.
    fn write(&mut self, key: &str, value: &impl Serialize) -> Result<(), ApiError> {
        let failed = |error| InternalError::new("a part of the state was not serialized", error);
        serde_json::to_writer(&mut self.written, key).map_err(failed)?;
        self.written.push(b':');
        serde_json::to_writer(&mut self.written, value).map_err(failed)?;
        self.written.push(b',');
        Ok(())
    }

    /// The members of an object.
    pub(super) fn put_all(&mut self, object: Value) {
        if let Value::Object(members) = object {
            self.members.extend(members);
        }
    }

    /// As an answer.
    pub(super) fn answer(self) -> Result<ApiResponsePayload, ApiError> {
        let mut body = ApiResponsePayload::open_body(self.written.len());
        body.push(b'{');
        body.extend_from_slice(&self.written);
        let members = serde_json::to_vec(&self.members)
            .map_err(|error| InternalError::new("the state was not serialized", error))?;
        // The members of both stand in one object.
        body.extend_from_slice(members.strip_prefix(b"{").unwrap_or_default());
        Ok(ApiResponsePayload::close_body(body))
    }
}

/// The user and queue an initial state is made for, and where it is read from.
pub(super) struct InitialStateRequest<'a> {
    pub(super) app: &'a AppState,
    pub(super) realm: &'a Arc<RealmSnapshot>,
    pub(super) user: &'a User,
    pub(super) filter: &'a QueueFilter,
    /// Now, in unix seconds.
    pub(super) now_s: i64,
    /// The types that are fetched; `None` for all.
    pub(super) fetched: Option<&'a BTreeSet<String>>,
    /// [`PresenceQuery::history_limit_days`](chat_core::people::presence::PresenceQuery) of the presences.
    pub(super) presence_history_limit_days: Option<i64>,
}

/// A function that adds a part of the state that needs no database.
type StatePart = fn(&InitialStateRequest<'_>, &mut InitialState);

/// The types and the functions of their state.
const PARTS: [(&str, StatePart); 32] = [
    ("alert_words", own::alert_words),
    ("giphy", organization::giphy),
    ("muted_topics", own::muted_topics),
    ("muted_users", own::muted_users),
    ("channel_folders", channels::folders),
    ("navigation_views", own::navigation_views),
    ("saved_snippets", own::saved_snippets),
    ("push_device", own::push_devices),
    ("onboarding_steps", organization::navigation_tour),
    ("realm_billing", organization::billing),
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

/// As [`StatePart`], for a part that also has statistics of the channels' messages.
type ChannelStatePart = fn(&InitialStateRequest<'_>, &ChannelStatistics, &mut InitialState);

const CHANNEL_PARTS: [(&str, ChannelStatePart); 3] = [
    ("default_streams", channels::defaults),
    ("stream", channels::channels),
    ("subscription", channels::subscriptions),
];

impl InitialStateRequest<'_> {
    /// Returns the keys of the types that are fetched.
    pub(super) async fn state(&self) -> Result<InitialState, ApiError> {
        let mut state = InitialState::default();
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

    /// Returns whether the type was asked for by its name, and not with all.
    fn names(&self, kind: &str) -> bool {
        self.fetched.is_some_and(|fetched| fetched.contains(kind))
    }
}
