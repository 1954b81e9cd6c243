//! What the user chose and keeps for themselves.

use chat_core::event_log::event::ClientCapability;
use chat_core::people::personal_settings::{alert_words, navigation_view, snippet};
use chat_core::wire_format::realm_and_user_items;
use chat_core::wire_format::user_settings::{self, LegacySettingGroup, USER_SETTINGS};
use serde_json::{Value, json};

use super::{InitialState, InitialStateRequest};

pub(super) fn alert_words(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("alert_words", alert_words::alert_words_of_user(request.realm, request.user.id));
}

/// The older form of `user_topics`: not for who asks for the newer by name.
pub(super) fn muted_topics(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    if !request.names("user_topic") {
        state.put("muted_topics", realm_and_user_items::legacy_muted_topics(request.realm, request.user.id));
    }
}

pub(super) fn user_topics(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("user_topics", realm_and_user_items::user_topic_objects(request.realm, request.user.id));
}

pub(super) fn muted_users(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("muted_users", realm_and_user_items::muted_user_objects(request.realm, request.user.id));
}

pub(super) fn navigation_views(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("navigation_views", navigation_view::list(request.realm, request.user.id));
}

pub(super) fn saved_snippets(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("saved_snippets", snippet::list(request.realm, request.user.id));
}

/// No device can be registered for encrypted notifications of this form.
pub(super) fn push_devices(_: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("push_devices", json!({}));
}

pub(super) fn user_settings(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    let mut settings = user_settings::user_settings_of(request.realm, request.user);
    settings.extend(user_settings::setting_choices());
    state.put("user_settings", settings);
}

pub(super) fn display_settings(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    if older_settings(request, LegacySettingGroup::Display, state) {
        state.put("timezone", request.user.timezone.as_str());
        state.put_all(Value::Object(user_settings::setting_choices()));
    }
}

pub(super) fn notification_settings(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    older_settings(request, LegacySettingGroup::Notification, state);
}

/// Returns the preferences one by one beside the object that holds them all, for clients that do not know it.
fn older_settings(request: &InitialStateRequest<'_>, family: LegacySettingGroup, state: &mut InitialState) -> bool {
    if request.filter.capabilities.contains(&ClientCapability::UserSettingsObject) {
        return false;
    }
    let settings = user_settings::user_settings_of(request.realm, request.user);
    for (name, ..) in USER_SETTINGS.iter().filter(|(_, of, _)| *of == family) {
        state.put(name, settings.get(*name).cloned().unwrap_or_default());
    }
    true
}

/// There are no video calls to have a token for.
pub(super) fn video_calls(_: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("has_zoom_token", false);
}
