//! What the user chose and keeps for themselves.

use chat_core::log::event::ClientCapability;
use chat_core::people::personal::alert;
use chat_core::wire::item;
use chat_core::wire::settings::{self, LegacySettingGroup, SETTINGS};
use serde_json::Value;

use super::{Newcomer, State};

pub(super) fn alert_words(newcomer: &Newcomer<'_>, state: &mut State) {
    state.put("alert_words", alert::of(newcomer.realm, newcomer.user.id));
}

/// The older form of `user_topics`: not for who asks for the newer by name.
pub(super) fn muted_topics(newcomer: &Newcomer<'_>, state: &mut State) {
    if !newcomer.names("user_topic") {
        state.put("muted_topics", item::muted_topics(newcomer.realm, newcomer.user.id));
    }
}

pub(super) fn user_topics(newcomer: &Newcomer<'_>, state: &mut State) {
    state.put("user_topics", item::topic_policies(newcomer.realm, newcomer.user.id));
}

pub(super) fn muted_users(newcomer: &Newcomer<'_>, state: &mut State) {
    state.put("muted_users", item::muted_users(newcomer.realm, newcomer.user.id));
}

pub(super) fn user_settings(newcomer: &Newcomer<'_>, state: &mut State) {
    let mut settings = settings::of(newcomer.realm, newcomer.user);
    settings.extend(settings::choices());
    state.put("user_settings", settings);
}

pub(super) fn display_settings(newcomer: &Newcomer<'_>, state: &mut State) {
    if older_settings(newcomer, LegacySettingGroup::Display, state) {
        state.put("timezone", newcomer.user.timezone.as_str());
        state.put_all(Value::Object(settings::choices()));
    }
}

pub(super) fn notification_settings(newcomer: &Newcomer<'_>, state: &mut State) {
    older_settings(newcomer, LegacySettingGroup::Notification, state);
}

/// Returns the preferences one by one beside the object that holds them all, for clients that do not know it.
fn older_settings(newcomer: &Newcomer<'_>, family: LegacySettingGroup, state: &mut State) -> bool {
    if newcomer.filter.capabilities.contains(&ClientCapability::UserSettingsObject) {
        return false;
    }
    let settings = settings::of(newcomer.realm, newcomer.user);
    for (name, ..) in SETTINGS.iter().filter(|(_, of, _)| *of == family) {
        state.put(name, settings.get(*name).cloned().unwrap_or_default());
    }
    true
}

/// There are no video calls to have a token for.
pub(super) fn video_calls(_: &Newcomer<'_>, state: &mut State) {
    state.put("has_zoom_token", false);
}
