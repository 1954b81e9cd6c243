//! Small things of the organization.

use chat_core::event_log::event::ClientCapability;
use chat_core::wire_format::{realm_and_user_items, user_settings};
use serde_json::{Value, json};

use super::{InitialState, InitialStateRequest};

/// Types whose state is an empty list, because the server has no such things, with their keys.
pub(super) const EMPTY: [(&str, &str); 6] = [
    ("default_stream_groups", "realm_default_stream_groups"),
    ("onboarding_steps", "onboarding_steps"),
    ("realm_embedded_bots", "realm_embedded_bots"),
    // Replaced by linkifiers long ago.
    ("realm_filters", "realm_filters"),
    ("realm_incoming_webhook_bots", "realm_incoming_webhook_bots"),
    ("stop_words", "stop_words"),
];

pub(super) fn emoji(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("realm_emoji", realm_and_user_items::custom_emoji_objects(request.realm));
}

/// None for clients that would read a template as an older kind of pattern.
pub(super) fn linkifiers(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    let understood = request.filter.capabilities.contains(&ClientCapability::LinkifierUrlTemplate);
    let linkifiers = if understood { realm_and_user_items::linkifier_objects(request.realm) } else { Vec::new() };
    state.put("realm_linkifiers", linkifiers);
}

pub(super) fn domains(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("realm_domains", chat_core::organization::email_domains::list_realm_domains(request.realm));
}

pub(super) fn playgrounds(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("realm_playgrounds", realm_and_user_items::playground_objects(request.realm));
}

pub(super) fn settings_defaults(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    let mut defaults = user_settings::default_user_settings(request.realm);
    defaults.extend(user_settings::setting_choices());
    state.put("realm_user_settings_defaults", Value::Object(defaults));
}

/// No service for moving pictures is connected.
pub(super) fn giphy(_: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("giphy_api_key", json!(""));
}

/// There is no video that explains the client.
pub(super) fn navigation_tour(_: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("navigation_tour_video_url", Value::Null);
}

/// There is no plan to pay for, so there is no request for a sponsorship.
pub(super) fn billing(_: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("realm_billing", json!({"has_pending_sponsorship_request": false}));
}
