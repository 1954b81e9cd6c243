//! The organization, its users, channels and groups as rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::original_address::original_address;
use super::{ExportWriteError, OrganizationExport, channel_recipient, person};
use crate::id::{ChannelId, EventId, MessageId, UserGroupId, UserId};
use crate::import_export::import::export_tables::codes::{self, BEGAN, ENDED, TOPICS_FREE, TOPICS_NEEDED};
use crate::model::channel::{Channel, ChannelPrivacy, SubscriptionPeriod};
use crate::model::group::{GroupSettingValue, SystemGroup, UserGroup};
use crate::model::organization_image::OrganizationImage;
use crate::model::realm::{EditHistoryVisibility, Realm};
use crate::model::realm_permission::RealmPermission;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::organization::settings::{REALM_SETTINGS, RealmSettingType};
use crate::organization::system_bots::SystemBot;
use crate::wire_format::user_settings;

/// The number of the one organization.
pub(super) const REALM: i64 = 1;

/// All users, in the order of their numbers.
pub(super) fn users(realm: &RealmSnapshot) -> impl Iterator<Item = &User> {
    let users: BTreeMap<UserId, &User> = realm.users().map(|user| (user.id, user.as_ref())).collect();
    users.into_values()
}

/// Bots that every original server has, under these addresses. They belong to no organization there. Imports of former
/// versions made ordinary bots of them.
const SYSTEM_BOTS: [&str; 3] = [SystemBot::Notification.email(), SystemBot::Welcome.email(), "emailgateway@zulip.com"];

/// Returns whether the account stands for a bot that an original server has already.
fn is_system_bot(user: &User) -> bool {
    let is_ownerless_bot = user.bot.as_ref().is_some_and(|bot| bot.owner_id.is_none());
    user.is_system_bot() || is_ownerless_bot && SYSTEM_BOTS.contains(&user.email_key().as_str())
}

/// Returns the users that belong to the organization, in the order of their numbers.
pub(super) fn accounts(realm: &RealmSnapshot) -> impl Iterator<Item = &User> {
    users(realm).filter(|user| !is_system_bot(user))
}

/// All channels, in the order of their numbers.
pub(super) fn channels(realm: &RealmSnapshot) -> impl Iterator<Item = &Channel> {
    let channels: BTreeMap<ChannelId, &Channel> =
        realm.channels().map(|channel| (channel.id, channel.as_ref())).collect();
    channels.into_values()
}

fn groups(realm: &RealmSnapshot) -> impl Iterator<Item = &UserGroup> {
    let groups: BTreeMap<UserGroupId, &UserGroup> = realm.groups().map(|group| (group.id, group.as_ref())).collect();
    groups.into_values()
}

impl OrganizationExport<'_> {
    pub(super) fn organization(
        &mut self,
        realm: &Arc<RealmSnapshot>,
        last_message: MessageId,
    ) -> Result<(), ExportWriteError> {
        let mut unnamed = UnnamedGroups::of(realm);
        if let Some(organization) = realm.realm() {
            let mut row = organization_row(realm, organization, &mut unnamed);
            if let Value::Object(columns) = &mut row {
                columns.extend(self.release.policies(organization));
            }
            self.put("zerver_realm", row)?;
            self.report.count_transferred("organizations", 1);
            self.images(organization);
            // Who comes along has an address and chooses another password.
            self.put_numbered("zerver_realmauthenticationmethod", json!({"name": "Email"}))?;
        }
        for user in accounts(realm) {
            let mut row = user_row(realm, user);
            let is_placeholder = self.scope.is_placeholder(user.id);
            if let (Value::Object(columns), true) = (&mut row, is_placeholder) {
                columns.insert("is_mirror_dummy".to_owned(), true.into());
            }
            self.put(if is_placeholder { "zerver_userprofile_mirrordummy" } else { "zerver_userprofile" }, row)?;
            self.report.count_transferred("users", 1);
        }
        self.refused_addresses(realm)?;
        for user in users(realm).filter(|user| is_system_bot(user)) {
            let row = json!({"id": user.id, "email": user.email, "recipient_id": person(user.id)});
            self.put("zerver_userprofile_crossrealm", row)?;
        }
        let people = users(realm).filter(|user| user.bot.is_none() && user.is_active).count();
        self.report.count_omitted("passwords and keys, which no export has: people need others where they go", people);
        for channel in channels(realm) {
            let mut row = channel_row(realm, channel);
            if let Value::Object(columns) = &mut row {
                columns.extend(self.release.post_policy(channel));
            }
            self.put("zerver_stream", row)?;
            self.report.count_transferred("channels", 1);
        }
        self.pictures(realm)?;
        self.groups(realm, unnamed)?;
        self.happened(realm, last_message.into())
    }

    /// Writes the addresses that the original server refuses, into a table that it passes over.
    fn refused_addresses(&mut self, realm: &RealmSnapshot) -> Result<(), ExportWriteError> {
        for user in accounts(realm).filter(|user| original_address(user) != user.email.as_str()) {
            self.put("chat_address", json!({"user_profile": user.id, "address": user.email}))?;
            self.report
                .count_omitted("addresses that the original server refuses: those users have another one there", 1);
        }
        Ok(())
    }

    fn groups(&mut self, realm: &RealmSnapshot, mut unnamed: UnnamedGroups) -> Result<(), ExportWriteError> {
        let rows: Vec<_> =
            groups(realm).map(|group| group_row(realm, group, unnamed.number(realm, &group.can_mention))).collect();
        let named = groups(realm).map(|group| (group.id.0, self.members(realm, group), group.subgroups.clone()));
        let all: Vec<_> = named.collect::<Vec<_>>().into_iter().chain(unnamed.rows).collect();
        for (id, ..) in &all {
            self.put("zerver_usergroup", json!({"id": id, "realm": REALM}))?;
        }
        self.report.count_transferred("user groups", rows.len());
        if !self.release.has_unused_groups() {
            let unused = groups(realm).filter(|group| group.is_deactivated).count();
            self.report.count_omitted("user groups out of use, which are in use there", unused);
        }
        for row in rows {
            self.put("zerver_namedusergroup", row)?;
        }
        for (id, members, _) in &all {
            for user in members {
                self.put_numbered("zerver_usergroupmembership", json!({"user_group": id, "user_profile": user}))?;
            }
        }
        for (id, _, subgroups) in &all {
            for subgroup in subgroups {
                self.put_numbered("zerver_groupgroupmembership", json!({"supergroup": id, "subgroup": subgroup}))?;
            }
        }
        Ok(())
    }

    /// Returns who stands in a group by themselves. For those of the system that follows from roles, and is written all
    /// the same.
    fn members(&self, realm: &RealmSnapshot, group: &UserGroup) -> Vec<UserId> {
        let Some(system) = group.system else { return group.members.clone() };
        let waiting_days = realm.realm().map_or(0, |realm| realm.rules.waiting_period_days);
        let stands = |user: &&User| system.has_direct_member(user, waiting_days, self.now_s);
        accounts(realm).filter(stands).map(|user| user.id).collect()
    }

    /// When users came into channels and left them.
    fn happened(&mut self, realm: &RealmSnapshot, last: EventId) -> Result<(), ExportWriteError> {
        for user in users(realm) {
            for (channel, membership) in realm.memberships_of_user(user.id) {
                for (place, span) in settled(&membership.spans, last).into_iter().enumerate() {
                    let [first, again] = BEGAN;
                    let began = if place == 0 { first } else { again };
                    self.happening(began, (user.id, channel), span.after)?;
                    if let Some(until) = span.until {
                        self.happening(ENDED, (user.id, channel), until)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn happening(
        &mut self,
        kind: i64,
        (user, channel): (UserId, ChannelId),
        at: EventId,
    ) -> Result<(), ExportWriteError> {
        let row = json!({
            "realm": REALM,
            "event_type": kind,
            "modified_user": user,
            "modified_stream": channel,
            "event_last_message_id": at,
            "event_time": 0,
        });
        self.put_numbered("zerver_realmauditlog", row)
    }

    pub(super) fn channel_subscriptions(&mut self, realm: &RealmSnapshot) -> Result<(), ExportWriteError> {
        for user in users(realm) {
            for (channel, membership) in realm.memberships_of_user(user.id) {
                let mut row = json!({
                    "user_profile": user.id,
                    "recipient": channel_recipient(channel),
                    "active": membership.subscription.is_some(),
                });
                if let (Some(chosen), Value::Object(columns)) = (&membership.subscription, &mut row) {
                    columns.insert("color".to_owned(), chosen.color.as_str().into());
                    columns.insert("is_muted".to_owned(), chosen.is_muted.into());
                    columns.insert("pin_to_top".to_owned(), chosen.pin_to_top.into());
                    let notifications = chosen.notifications;
                    columns.insert("desktop_notifications".to_owned(), notifications.desktop.into());
                    columns.insert("audible_notifications".to_owned(), notifications.audible.into());
                    columns.insert("push_notifications".to_owned(), notifications.push.into());
                    columns.insert("email_notifications".to_owned(), notifications.email.into());
                    columns.insert("wildcard_mentions_notify".to_owned(), notifications.wildcard_mentions.into());
                    self.report.count_transferred("subscriptions", 1);
                }
                self.put_numbered("zerver_subscription", row)?;
            }
        }
        Ok(())
    }

    /// A user hears of what goes to a recipient that is no channel.
    pub(super) fn subscribed(&mut self, user: UserId, recipient: i64) -> Result<(), ExportWriteError> {
        self.put_numbered("zerver_subscription", json!({"user_profile": user, "recipient": recipient, "active": true}))
    }
}

/// Spans as messages tell them: what lies after the last message is where it is, and what holds none is left out.
fn settled(spans: &[SubscriptionPeriod], last: EventId) -> Vec<SubscriptionPeriod> {
    let mut settled: Vec<SubscriptionPeriod> = Vec::with_capacity(spans.len());
    for span in spans {
        let (after, until) = (span.after.min(last), span.until.map(|until| until.min(last)));
        match settled.last_mut() {
            _ if until == Some(after) => {}
            Some(before) if before.until == Some(after) => before.until = until,
            _ => settled.push(SubscriptionPeriod { after, until }),
        }
    }
    settled
}

/// The groups without a name of an export, which stand for permissions of users and groups named one by one. They are
/// numbered after everything else.
struct UnnamedGroups {
    last: i64,
    rows: Vec<(i64, Vec<UserId>, Vec<UserGroupId>)>,
}

impl UnnamedGroups {
    fn of(realm: &RealmSnapshot) -> Self {
        let taken = users(realm).map(|user| user.id.0).chain(channels(realm).map(|channel| channel.id.0));
        let last = taken.chain(groups(realm).map(|group| group.id.0)).max().unwrap_or_default();
        Self { last, rows: Vec::new() }
    }

    /// Returns the number of the group that has the permission.
    fn number(&mut self, realm: &RealmSnapshot, setting: &GroupSettingValue) -> Option<i64> {
        match setting {
            GroupSettingValue::System(system) => group_of(realm, *system).map(|id| id.0),
            GroupSettingValue::Group(id) => Some(id.0),
            GroupSettingValue::Named { direct_members, direct_subgroups } => {
                self.last = self.last.saturating_add(1);
                self.rows.push((self.last, direct_members.clone(), direct_subgroups.clone()));
                Some(self.last)
            }
        }
    }
}

/// Returns the id of a system group.
fn group_of(realm: &RealmSnapshot, system: SystemGroup) -> Option<UserGroupId> {
    realm.system_group(system).map(|group| group.id)
}

fn organization_row(realm: &RealmSnapshot, organization: &Realm, unnamed: &mut UnnamedGroups) -> Value {
    let mut row = Map::new();
    row.insert("id".to_owned(), REALM.into());
    row.insert("name".to_owned(), organization.name.as_str().into());
    row.insert("description".to_owned(), organization.description.as_str().into());
    row.insert("date_created".to_owned(), organization.created_s.into());
    row.insert("deactivated".to_owned(), organization.is_deactivated.into());
    // Policies are said by groups, which newer servers have instead of numbers.
    let is_plain = |kind: &RealmSettingType| {
        !matches!(
            kind,
            RealmSettingType::Text(..)
                | RealmSettingType::Group(..)
                | RealmSettingType::Policy(..)
                | RealmSettingType::Word(_)
                | RealmSettingType::Channel(_)
        )
    };
    for setting in REALM_SETTINGS.iter().filter(|setting| is_plain(&setting.kind) && setting.name != "mandatory_topics")
    {
        if let Some(value) = setting.chosen(organization) {
            row.insert(setting.name.to_owned(), value);
        }
    }
    let rules = &organization.rules;
    row.insert("new_stream_announcements_stream".to_owned(), json!(rules.new_channel_announcements));
    row.insert("signup_announcements_stream".to_owned(), json!(rules.signup_announcements));
    row.insert("moderation_request_channel".to_owned(), json!(rules.moderation_requests));
    let topics_policy = if rules.mandatory_topics { TOPICS_NEEDED } else { TOPICS_FREE };
    row.insert("topics_policy".to_owned(), topics_policy.into());
    let visibility = rules.edit_history_visibility;
    let number = EditHistoryVisibility::ALL.iter().position(|known| *known == visibility).map(|place| place + 1);
    row.insert("message_edit_history_visibility_policy".to_owned(), json!(number));
    // Where there is only yes and no, what is hidden stays hidden.
    row.insert("allow_edit_history".to_owned(), (visibility == EditHistoryVisibility::All).into());
    // An original server takes a column that is not there for no.
    row.insert("enable_read_receipts".to_owned(), true.into());
    // Not a setting here, and required elsewhere.
    row.insert("can_access_all_users_group".to_owned(), json!(group_of(realm, SystemGroup::Everyone)));
    for permission in RealmPermission::ALL {
        row.insert(permission.rule().name.to_owned(), json!(unnamed.number(realm, permission.value(rules))));
    }
    for image in OrganizationImage::ALL {
        row.insert(format!("{}_source", image.wire_name()), organization.images.wire_source(image).into());
    }
    Value::Object(row)
}

/// Permissions that are no settings of a channel here, and have to be a group's elsewhere.
const OF_CHANNEL: [(&str, SystemGroup); 8] = [
    ("can_add_subscribers_group", SystemGroup::Nobody),
    ("can_administer_channel_group", SystemGroup::Nobody),
    ("can_delete_any_message_group", SystemGroup::Nobody),
    ("can_delete_own_message_group", SystemGroup::Nobody),
    ("can_move_messages_out_of_channel_group", SystemGroup::Nobody),
    ("can_move_messages_within_channel_group", SystemGroup::Nobody),
    ("can_resolve_topics_group", SystemGroup::Nobody),
    ("can_subscribe_group", SystemGroup::Nobody),
];

/// The same for a group.
const OF_GROUP: [&str; 5] =
    ["can_add_members_group", "can_join_group", "can_leave_group", "can_manage_group", "can_remove_members_group"];

/// Returns what an account is, and its preferences, which are columns too.
fn user_row(realm: &RealmSnapshot, user: &User) -> Value {
    let mut row = user_settings::user_settings_of(realm, user);
    codes::number_preferences(&mut row);
    let address = original_address(user);
    let shown = if user.public_email() == user.email.as_str() { address.clone() } else { user.public_email() };
    let is = json!({
        "id": user.id,
        "realm": REALM,
        "delivery_email": address,
        "email": shown,
        "full_name": user.full_name,
        "role": user.role,
        "is_active": user.is_active,
        "is_bot": user.bot.is_some(),
        "bot_type": user.bot.as_ref().map(|bot| codes::bot_number(bot.kind)),
        "bot_owner": user.bot.as_ref().and_then(|bot| bot.owner_id),
        "date_joined": user.joined_s,
        "timezone": user.timezone,
        "avatar_source": if user.avatar_url.is_some() { "U" } else { "G" },
        "avatar_version": user.avatar_version,
        "groups": [],
        "user_permissions": [],
    });
    if let Value::Object(is) = is {
        row.extend(is);
    }
    Value::Object(row)
}

fn channel_row(realm: &RealmSnapshot, channel: &Channel) -> Value {
    let mut row = Map::new();
    row.extend(OF_CHANNEL.map(|(column, policy)| (column.to_owned(), json!(group_of(realm, policy)))));
    let is = json!({
        "id": channel.id,
        "realm": REALM,
        "name": channel.name,
        "description": channel.description,
        "rendered_description": channel.rendered_description,
        "date_created": channel.created_s,
        "creator": channel.creator_id,
        "deactivated": channel.is_archived,
        "folder": channel.folder_id,
        "is_recently_active": channel.is_recently_active,
        "invite_only": channel.privacy.is_invite_only(),
        "is_web_public": channel.privacy == ChannelPrivacy::WebPublic,
        "history_public_to_subscribers": channel.privacy.history_public_to_subscribers(),
        "can_send_message_group": group_of(realm, codes::writers(channel.post_policy)),
        "can_remove_subscribers_group": channel.can_remove_subscribers_group,
        "message_retention_days": channel.message_retention_days,
    });
    if let Value::Object(is) = is {
        row.extend(is);
    }
    Value::Object(row)
}

fn group_row(realm: &RealmSnapshot, group: &UserGroup, can_mention: Option<i64>) -> Value {
    let nobody = group_of(realm, SystemGroup::Nobody);
    let mut row = Map::new();
    row.extend(OF_GROUP.map(|column| (column.to_owned(), json!(nobody))));
    let is = json!({
        "id": group.id,
        "usergroup_ptr": group.id,
        "realm_for_sharding": REALM,
        "name": group.name,
        "description": group.description,
        "is_system_group": group.system.is_some(),
        "deactivated": group.is_deactivated,
        "can_mention_group": can_mention,
    });
    if let Value::Object(is) = is {
        row.extend(is);
    }
    Value::Object(row)
}
