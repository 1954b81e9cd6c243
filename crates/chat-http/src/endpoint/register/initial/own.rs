//! What the user chose and keeps for themselves.

use chat_core::log::event::ClientCapability;
use chat_core::people::personal::{alert, navigation_view, snippet};
use chat_core::wire::item;
use chat_core::wire::settings::{self, LegacySettingGroup, SETTINGS};
use serde_json::{Value, json};

use super::{InitialState, InitialStateRequest};

pub(super) fn alert_words(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("alert_words", alert::of(request.realm, request.user.id));
}

/// The older form of `user_topics`: not for who asks for the newer by name.
pub(super) fn muted_topics(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    if !request.names("user_topic") {
        state.put("muted_topics", item::muted_topics(request.realm, request.user.id));
    }
}

pub(super) fn user_topics(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("user_topics", item::topic_policies(request.realm, request.user.id));
}

pub(super) fn muted_users(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("muted_users", item::muted_users(request.realm, request.user.id));
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
    let mut settings = settings::of(request.realm, request.user);
    settings.extend(settings::choices());
    state.put("user_settings", settings);
}

pub(super) fn display_settings(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    if older_settings(request, LegacySettingGroup::Display, state) {
        state.put("timezone", request.user.timezone.as_str());
        state.put_all(Value::Object(settings::choices()));
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
    let settings = settings::of(request.realm, request.user);
    for (name, ..) in SETTINGS.iter().filter(|(_, of, _)| *of == family) {
        state.put(name, settings.get(*name).cloned().unwrap_or_default());
    }
    true
}

/// There are no video calls to have a token for.
pub(super) fn video_calls(_: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("has_zoom_token", false);
}
