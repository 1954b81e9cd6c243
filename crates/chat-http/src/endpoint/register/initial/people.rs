//! Users, bots, groups, and what is known of them.

use chat_core::event_log::event::ClientCapability;
use chat_core::model::realm_permission::RealmPermission;
use chat_core::model::role::Role;
use chat_core::model::user::User;
use chat_core::people::personal_settings::user_status;
use chat_core::people::presence::presence_report::PresenceFormat;
use chat_core::people::presence::{self, PresenceQuery};
use chat_core::permission::group_settings::has_realm_permission;
use chat_core::wire_format::{self, UserObjectFields, realm_and_user_items};
use serde_json::{Map, Value, json};

use super::{InitialState, InitialStateRequest};

/// All users, and what the user themselves are and may do.
pub(super) fn users(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    let form = UserObjectFields {
        client_gravatar: request.filter.client_gravatar,
        profile_data: true,
        ..UserObjectFields::default()
    };
    let (system_bots, users): (Vec<&User>, Vec<&User>) =
        sorted(request).into_iter().partition(|user| user.is_system_bot());
    let (active, gone): (Vec<&User>, Vec<&User>) = users.into_iter().partition(|user| user.is_active);
    let shown = |users: Vec<&User>| -> Value {
        let shown = |user: &User| wire_format::user_object(request.realm, user, form.visible_to(request.user, user));
        users.into_iter().map(shown).collect()
    };
    state.put("realm_users", shown(active));
    state.put("realm_non_active_users", shown(gone));
    let form = UserObjectFields { is_active: true, ..form };
    let system_bot = |bot: &User| wire_format::user_object(request.realm, bot, form.visible_to(request.user, bot));
    state.put("cross_realm_bots", system_bots.into_iter().map(system_bot).collect::<Value>());
    oneself(request.user, state);
    permissions(request, state);
}

fn sorted<'a>(request: &InitialStateRequest<'a>) -> Vec<&'a User> {
    let mut users: Vec<_> = request.realm.users().map(AsRef::as_ref).collect();
    users.sort_unstable_by_key(|user: &&User| user.id);
    users
}

fn oneself(user: &User, state: &mut InitialState) {
    let avatar = wire_format::avatar_urls(user);
    state.put_all(json!({
        "user_id": user.id,
        "email": user.public_email(),
        "delivery_email": user.email,
        "full_name": user.full_name,
        "avatar_source": if avatar.is_gravatar { "G" } else { "U" },
        "avatar_url": avatar.url,
        "avatar_url_medium": avatar.medium_url,
        "is_owner": user.role == Role::Owner,
        "is_admin": user.is_administrator(),
        "is_moderator": user.role == Role::Moderator,
        "is_guest": user.is_guest(),
        "is_billing_admin": false,
    }));
}

fn permissions(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    let may = |permission| has_realm_permission(request.realm, request.user, permission, request.now_s);
    let (public, private) = (may(RealmPermission::CreatePublicChannel), may(RealmPermission::CreatePrivateChannel));
    let web_public = may(RealmPermission::CreateWebPublicChannel);
    state.put("can_create_streams", public || private || web_public);
    state.put("can_create_public_streams", public);
    state.put("can_create_private_streams", private);
    state.put("can_create_web_public_streams", web_public);
    state.put("can_subscribe_other_users", may(RealmPermission::SubscribeOthers));
    state.put("can_invite_others_to_realm", may(RealmPermission::Invite));
}

/// The user's own bots, and for administrators all.
pub(super) fn bots(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    let of_interest = |user: &&User| {
        let owner = user.bot.as_ref().filter(|_| !user.is_system_bot()).map(|bot| bot.owner_id);
        owner.is_some_and(|owner| request.user.is_administrator() || owner == Some(request.user.id))
    };
    state.put(
        "realm_bots",
        sorted(request).into_iter().filter(of_interest).map(wire_format::bot_object).collect::<Value>(),
    );
}

/// All groups; those out of use for clients that know of such alone.
pub(super) fn groups(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    let knows_unused = request.filter.capabilities.contains(&ClientCapability::IncludeDeactivatedGroups);
    let mut groups: Vec<_> = request.realm.groups().filter(|group| knows_unused || !group.is_deactivated).collect();
    groups.sort_unstable_by_key(|group| group.id);
    let shown = groups.into_iter().map(|group| wire_format::user_group_object(request.realm, group, request.now_s));
    state.put("realm_user_groups", shown.collect::<Value>());
}

pub(super) fn statuses(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    let in_use = request.realm.users().filter(|user| user.is_active);
    let said =
        in_use.map(|user| (user.id.to_string(), Value::Object(user_status::user_status_object(request.realm, user))));
    let said: Map<_, _> = said.filter(|(_, status)| *status != json!({})).collect();
    state.put("user_status", said);
}

/// Who is there. The client asks with the number in it for what came since.
pub(super) fn presences(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    let short = [ClientCapability::SlimPresence, ClientCapability::SimplifiedPresenceEvents];
    let is_slim = short.iter().any(|capability| request.filter.capabilities.contains(capability));
    let question = PresenceQuery {
        form: if is_slim { PresenceFormat::Slim } else { PresenceFormat::Legacy },
        after: None,
        history_limit_days: request.presence_history_limit_days,
    };
    let now_us = request.app.server.runtime.now_us();
    state.put_all(json!(presence::report_presences(request.app.presences.as_ref(), request.realm, question, now_us)));
}

pub(super) fn profile_fields(request: &InitialStateRequest<'_>, state: &mut InitialState) {
    state.put("custom_profile_fields", realm_and_user_items::profile_field_objects(request.realm));
    state.put_all(json!({"custom_profile_field_types": {
        "SHORT_TEXT": {"id": 1, "name": "Text (short)"},
        "LONG_TEXT": {"id": 2, "name": "Text (long)"},
        "SELECT": {"id": 3, "name": "List of options"},
        "DATE": {"id": 4, "name": "Date"},
        "URL": {"id": 5, "name": "Link"},
        "USER": {"id": 6, "name": "Users"},
        "EXTERNAL_ACCOUNT": {"id": 7, "name": "External account"},
        "PRONOUNS": {"id": 8, "name": "Pronouns"},
    }}));
}
