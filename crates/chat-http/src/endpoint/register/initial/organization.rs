//! Small things of the organization.

use chat_core::log::event::ClientCapability;
use chat_core::wire::{item, settings};
use serde_json::{Value, json};

use super::{Newcomer, State};

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

pub(super) fn emoji(newcomer: &Newcomer<'_>, state: &mut State) {
    state.put("realm_emoji", item::emoji(newcomer.realm));
}

/// None for clients that would read a template as an older kind of pattern.
pub(super) fn linkifiers(newcomer: &Newcomer<'_>, state: &mut State) {
    let understood = newcomer.filter.capabilities.contains(&ClientCapability::LinkifierUrlTemplate);
    let linkifiers = if understood { item::linkifiers(newcomer.realm) } else { Vec::new() };
    state.put("realm_linkifiers", linkifiers);
}

pub(super) fn domains(newcomer: &Newcomer<'_>, state: &mut State) {
    state.put("realm_domains", chat_core::organization::domains::list(newcomer.realm));
}

pub(super) fn playgrounds(newcomer: &Newcomer<'_>, state: &mut State) {
    state.put("realm_playgrounds", item::playgrounds(newcomer.realm));
}

pub(super) fn settings_defaults(newcomer: &Newcomer<'_>, state: &mut State) {
    let mut defaults = settings::defaults(newcomer.realm);
    defaults.extend(settings::choices());
    state.put("realm_user_settings_defaults", Value::Object(defaults));
}

/// No service for moving pictures is connected.
pub(super) fn giphy(_: &Newcomer<'_>, state: &mut State) {
    state.put("giphy_api_key", json!(""));
}
