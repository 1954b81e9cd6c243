//! What administrators choose for the organization: its name, who may do what, and how long.
//!
//! The settings are those that a rule asks for ([`RealmPermissionSettings`]), and what the organization says of itself;
//! there is none that could be chosen and would change nothing.

use serde_json::{Map, Value, json};

use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::ChannelId;
use crate::model::group::GroupSettingChange;
use crate::model::realm::{EditHistoryVisibility, Realm, RealmPermissionSettings};
use crate::model::realm_change::RealmChange;
use crate::model::realm_permission::RealmPermission;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::organization::policy_numbers::{self, PolicyNumbers};
use crate::permission::access::{
    ChannelNotFound, PermissionError, find_visible_channel, require_administrator, require_owner,
};
use crate::permission::group_settings::{GroupSettingError, check_group_setting_change};
use crate::text_processing::printable_names::{find_unprintable_in_name, find_unprintable_in_text};
use crate::wire_format;

/// The setting that is the organization's name.
const NAME: &str = "name";
/// The setting that says which earlier states of messages are shown.
const EDIT_HISTORY: &str = "message_edit_history_visibility_policy";
/// The setting that names the channel of reports, which is private.
const MODERATION_REQUESTS: &str = "moderation_request_channel_id";
/// Characters of the organization's name.
const NAME_MAX_CHARS: usize = 40;
/// Characters of its description.
const DESCRIPTION_MAX_CHARS: usize = 1_000;

/// The number of retention days that means messages are never deleted.
pub const UNLIMITED_RETENTION_DAYS: i64 = -1;

/// The number of a channel that stands for none.
pub const NO_CHANNEL: i64 = -1;

/// Characters that are repeated of a value that is none.
const SHOWN_MAX_CHARS: usize = 100;

/// A setting of the organization: its name and type.
#[derive(Debug)]
pub struct RealmSetting {
    /// Its name on the wire.
    pub name: &'static str,
    /// What it can be.
    pub kind: RealmSettingType,
    owners_only: bool,
    is_told_in_a_dict: bool,
}

/// The value type of an organization setting.
#[derive(Debug)]
pub enum RealmSettingType {
    /// A text of so many characters at most.
    Text(usize, fn(&mut Realm) -> &mut String),
    /// Yes or no.
    Switch(fn(&mut RealmPermissionSettings) -> &mut bool),
    /// Days, not negative.
    Days(fn(&mut RealmPermissionSettings) -> &mut i64),
    /// Seconds, above 0; null for ever.
    Limit(fn(&mut RealmPermissionSettings) -> &mut Option<i64>),
    /// Days, above 0; -1 for ever.
    Keep(fn(&mut RealmPermissionSettings) -> &mut i64),
    /// The id of a channel; -1 for none.
    Channel(fn(&mut RealmPermissionSettings) -> &mut Option<ChannelId>),
    /// One of some words.
    Word(WordSetting),
    /// The number of a policy, which sets permissions.
    Policy(&'static PolicyNumbers),
    /// The group that has a permission.
    Group(RealmPermission),
}

/// How a setting that is one of some words is read and written.
#[derive(Debug)]
pub struct WordSetting {
    /// The words.
    pub words: &'static [&'static str],
    get: fn(&RealmPermissionSettings) -> &'static str,
    /// Returns whether it is one of the words.
    set: fn(&mut RealmPermissionSettings, &str) -> bool,
}

const EDIT_HISTORY_VISIBILITY: WordSetting = WordSetting {
    words: &["all", "moves", "none"],
    get: |rules| rules.edit_history_visibility.wire_name(),
    set: |rules, word| {
        let parsed = EditHistoryVisibility::parse(word);
        rules.edit_history_visibility = parsed.unwrap_or(rules.edit_history_visibility);
        parsed.is_some()
    },
};

const fn setting(name: &'static str, kind: RealmSettingType) -> RealmSetting {
    RealmSetting { name, kind, owners_only: false, is_told_in_a_dict: false }
}

/// Returns where the same event can say of several such settings that they changed.
const fn in_dict(setting: RealmSetting) -> RealmSetting {
    RealmSetting { is_told_in_a_dict: true, ..setting }
}

const fn for_owners(setting: RealmSetting) -> RealmSetting {
    RealmSetting { owners_only: true, ..setting }
}

const fn policy(numbers: &'static PolicyNumbers) -> RealmSetting {
    setting(numbers.name, RealmSettingType::Policy(numbers))
}

const fn group(permission: RealmPermission) -> RealmSetting {
    let setting = in_dict(setting(permission.rule().name, RealmSettingType::Group(permission)));
    if permission.is_owners_choice() { for_owners(setting) } else { setting }
}

/// All settings of the organization that can be changed.
///
/// # Source
/// Not specified; names, numbers, and whose choice each is as existing servers have them.
pub const REALM_SETTINGS: &[RealmSetting] = &[
    setting(NAME, RealmSettingType::Text(NAME_MAX_CHARS, |realm| &mut realm.name)),
    setting("description", RealmSettingType::Text(DESCRIPTION_MAX_CHARS, |realm| &mut realm.description)),
    setting("mandatory_topics", RealmSettingType::Switch(|rules| &mut rules.mandatory_topics)),
    in_dict(setting("allow_message_editing", RealmSettingType::Switch(|rules| &mut rules.allow_editing))),
    in_dict(setting("message_content_edit_limit_seconds", RealmSettingType::Limit(|rules| &mut rules.edit_limit_s))),
    setting("require_e2ee_push_notifications", RealmSettingType::Switch(|rules| &mut rules.require_e2ee_push)),
    setting(EDIT_HISTORY, RealmSettingType::Word(EDIT_HISTORY_VISIBILITY)),
    in_dict(policy(policy_numbers::EDIT_TOPIC)),
    setting("message_content_delete_limit_seconds", RealmSettingType::Limit(|rules| &mut rules.delete_limit_s)),
    setting(
        "move_messages_within_stream_limit_seconds",
        RealmSettingType::Limit(|rules| &mut rules.move_topic_limit_s),
    ),
    setting(
        "move_messages_between_streams_limit_seconds",
        RealmSettingType::Limit(|rules| &mut rules.move_channel_limit_s),
    ),
    policy(policy_numbers::DELETE_OWN_MESSAGE),
    policy(policy_numbers::MOVE_BETWEEN_CHANNELS),
    policy(policy_numbers::CREATE_WEB_PUBLIC_CHANNEL),
    policy(policy_numbers::SUBSCRIBE_OTHERS),
    for_owners(policy(policy_numbers::INVITE)),
    policy(policy_numbers::ADD_CUSTOM_EMOJI),
    policy(policy_numbers::CREATE_GROUPS),
    policy(policy_numbers::CREATE_BOTS),
    policy(policy_numbers::MENTION_MANY_USERS),
    for_owners(setting(
        "emails_restricted_to_domains",
        RealmSettingType::Switch(|rules| &mut rules.emails_restricted_to_domains),
    )),
    for_owners(setting(
        "disallow_disposable_email_addresses",
        RealmSettingType::Switch(|rules| &mut rules.disallow_disposable_addresses),
    )),
    for_owners(setting("waiting_period_threshold", RealmSettingType::Days(|rules| &mut rules.waiting_period_days))),
    for_owners(setting("message_retention_days", RealmSettingType::Keep(|rules| &mut rules.message_retention_days))),
    setting(
        "new_stream_announcements_stream_id",
        RealmSettingType::Channel(|rules| &mut rules.new_channel_announcements),
    ),
    setting("signup_announcements_stream_id", RealmSettingType::Channel(|rules| &mut rules.signup_announcements)),
    setting(MODERATION_REQUESTS, RealmSettingType::Channel(|rules| &mut rules.moderation_requests)),
    group(RealmPermission::CreatePublicChannel),
    group(RealmPermission::CreatePrivateChannel),
    group(RealmPermission::CreateWebPublicChannel),
    group(RealmPermission::DirectMessages),
    group(RealmPermission::InitiateDirectMessages),
    group(RealmPermission::DeleteAnyMessage),
    group(RealmPermission::DeleteOwnMessage),
    group(RealmPermission::CreateGroups),
    group(RealmPermission::ManageAllGroups),
    group(RealmPermission::AddCustomEmoji),
    group(RealmPermission::MoveBetweenChannels),
    group(RealmPermission::CreateReusableInvitation),
    group(RealmPermission::MoveBetweenTopics),
    group(RealmPermission::Invite),
    group(RealmPermission::SubscribeOthers),
    group(RealmPermission::CreateBots),
    group(RealmPermission::CreateWriteOnlyBots),
    group(RealmPermission::SummarizeTopics),
    group(RealmPermission::MentionManyUsers),
    group(RealmPermission::ManageBilling),
    group(RealmPermission::ResolveTopics),
    group(RealmPermission::SetTopicsPolicy),
    group(RealmPermission::SetDeleteMessagePolicy),
];

/// A new value of an organization setting.
pub type RealmSettingChange = (&'static RealmSetting, RealmSettingValue);

/// What a setting of the organization shall be.
#[derive(Debug, Clone, PartialEq)]
pub enum RealmSettingValue {
    /// A value of the JSON type that the [`RealmSettingType`] requires.
    Plain(Value),
    /// The group of a [`RealmSettingType::Group`].
    Group(GroupSettingChange),
}

impl<T: Into<Value>> From<T> for RealmSettingValue {
    fn from(value: T) -> Self {
        Self::Plain(value.into())
    }
}

/// The reason why the settings of the organization are not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrganizationError {
    /// The caller is not who may.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// There is no organization.
    #[error("Invalid organization")]
    NoRealm,
    /// A text with too many characters.
    #[error("{name} is too long (limit: {limit} characters)")]
    TooLong {
        /// The setting.
        name: &'static str,
        /// Characters allowed.
        limit: usize,
    },
    /// A character no screen shows.
    #[error("Invalid characters in {0}!")]
    InvalidCharacters(&'static str),
    /// A number under its least value.
    #[error("{0} is too small")]
    TooSmall(&'static str),
    /// A limit that is none.
    #[error("Bad value for '{name}': {value}")]
    BadLimit {
        /// The setting.
        name: &'static str,
        /// The start of it, as it was sent.
        value: String,
    },
    /// None of the numbers it can be.
    #[error("Invalid {0}: Value error, Not in the list of possible values")]
    NotListed(&'static str),
    /// None of the words it can be.
    #[error("Invalid {0}")]
    UnknownWord(&'static str),
    /// There is no such channel for the caller.
    #[error(transparent)]
    NoChannel(#[from] ChannelNotFound),
    /// Reports would be public.
    #[error("Moderation request channel must be private.")]
    ModerationChannelNotPrivate,
    /// A permission cannot be given to the group.
    #[error(transparent)]
    GroupSetting(#[from] GroupSettingError),
}

/// Changes settings of the organization and notifies all users. Returns what changed as a response repeats it: of
/// texts, only that they changed.
///
/// # Errors
/// See [`OrganizationError`]; nothing changes then.
pub fn change_realm_settings(
    realm: &RealmSnapshot,
    caller: &User,
    changes: &[RealmSettingChange],
    commit: &mut RealmCommit,
) -> Result<Map<String, Value>, OrganizationError> {
    require_administrator(caller)?;
    if changes.iter().any(|(setting, _)| setting.owners_only) {
        require_owner(caller)?;
    }
    let before = realm.realm().ok_or(OrganizationError::NoRealm)?;
    let (mut now, mut repeated) = (before.clone(), Map::new());
    for (setting, value) in changes {
        let last = now.clone();
        match (&setting.kind, value) {
            (RealmSettingType::Group(permission), RealmSettingValue::Group(change)) => {
                let stored = permission.value_mut(&mut now.rules);
                *stored = check_group_setting_change(realm, permission.rule(), stored, change)?;
            }
            (kind, RealmSettingValue::Plain(value)) => {
                if matches!(kind, RealmSettingType::Channel(_)) {
                    require_channel(realm, caller, (setting, value))?;
                }
                setting.put(value, &mut now)?;
            }
            (_, RealmSettingValue::Group(_)) => return Err(OrganizationError::NotListed(setting.name)),
        }
        if now != last {
            let is_text = matches!(setting.kind, RealmSettingType::Text(..));
            let value = if is_text { json!("updated") } else { setting.wire_value(realm, &now) };
            repeated.insert(setting.name.to_owned(), value);
        }
    }
    if now != *before {
        commit.events.extend(differences(realm, before, &now));
        commit.events.extend(former_edit_history_event(before, &now));
        commit.changes.push(RealmChange::Realm(Box::new(now)));
    }
    Ok(repeated)
}

/// Checks that the number is that of an active channel which the caller may see, or stands for none.
fn require_channel(
    realm: &RealmSnapshot,
    caller: &User,
    (setting, value): (&RealmSetting, &Value),
) -> Result<(), OrganizationError> {
    let id = ChannelId(value.as_i64().unwrap_or(NO_CHANNEL));
    if id.0 == NO_CHANNEL {
        return Ok(());
    }
    let channel = find_visible_channel(realm, caller, id)?;
    if channel.is_archived {
        return Err(ChannelNotFound::Id(id).into());
    }
    if setting.name == MODERATION_REQUESTS && !channel.privacy.is_invite_only() {
        return Err(OrganizationError::ModerationChannelNotPrivate);
    }
    Ok(())
}

/// Takes a channel that is archived out of the settings that name it, and notifies all users.
pub(crate) fn release_archived_channel(realm: &RealmSnapshot, id: ChannelId, commit: &mut RealmCommit) {
    let earlier = commit.changes.iter().rev().find_map(|change| match change {
        RealmChange::Realm(realm) => Some(realm.as_ref()),
        _ => None,
    });
    let Some(before) = earlier.or(realm.realm()).cloned() else { return };
    let mut now = before.clone();
    for setting in REALM_SETTINGS {
        let RealmSettingType::Channel(field) = setting.kind else { continue };
        if field(&mut now.rules).take_if(|channel| *channel == id).is_some() {
            commit.events.push(dict_event(setting.name, &NO_CHANNEL.into()));
        }
    }
    if now != before {
        commit.changes.push(RealmChange::Realm(Box::new(now)));
    }
}

/// Returns the event for clients of levels below 358, which know yes and no only; `None` when that did not turn.
fn former_edit_history_event(before: &Realm, now: &Realm) -> Option<NewEvent> {
    let shows = |realm: &Realm| realm.rules.edit_history_visibility != EditHistoryVisibility::None;
    let event = json!({"type": "realm", "op": "update", "property": "allow_edit_history", "value": shows(now)});
    (shows(before) != shows(now)).then(|| NewEvent::same_for_everyone(EventAudience::Everyone, event))
}

/// Returns the events of everything that is different, policy numbers of older clients included.
fn differences(realm: &RealmSnapshot, before: &Realm, after: &Realm) -> Vec<NewEvent> {
    let event = |setting: &RealmSetting| {
        let value = setting.wire_value(realm, after);
        (value != setting.wire_value(realm, before)).then(|| setting_event(setting, &value))
    };
    REALM_SETTINGS.iter().filter_map(event).collect()
}

fn setting_event(setting: &RealmSetting, value: &Value) -> NewEvent {
    if setting.is_told_in_a_dict {
        return dict_event(setting.name, value);
    }
    let event = json!({"type": "realm", "op": "update", "property": setting.name, "value": value});
    NewEvent::same_for_everyone(EventAudience::Everyone, event)
}

fn dict_event(name: &str, value: &Value) -> NewEvent {
    let event = json!({"type": "realm", "op": "update_dict", "property": "default", "data": {name: value}});
    NewEvent::same_for_everyone(EventAudience::Everyone, event)
}

impl RealmSetting {
    /// Returns the value in the form in which it is set; `None` for a policy that has no number, and for groups.
    pub(crate) fn chosen(&self, realm: &Realm) -> Option<Value> {
        match &self.kind {
            RealmSettingType::Policy(numbers) => numbers.exact_number(&realm.rules).map(Value::from),
            RealmSettingType::Group(_) => None,
            kind => Some(plain_value(kind, realm)),
        }
    }

    /// Returns the value as clients see it.
    fn wire_value(&self, snapshot: &RealmSnapshot, realm: &Realm) -> Value {
        match &self.kind {
            RealmSettingType::Policy(numbers) => numbers.shown_number(&realm.rules).into(),
            RealmSettingType::Group(permission) => wire_format::group_setting(snapshot, permission.value(&realm.rules)),
            kind => plain_value(kind, realm),
        }
    }

    /// Sets the value of a setting that is not given to a group.
    ///
    /// # Errors
    /// See [`OrganizationError`].
    pub(crate) fn put(&'static self, value: &Value, realm: &mut Realm) -> Result<(), OrganizationError> {
        let name = self.name;
        match &self.kind {
            RealmSettingType::Text(limit, field) => {
                let text = value.as_str().unwrap_or_default();
                if text.chars().count() > *limit {
                    return Err(OrganizationError::TooLong { name, limit: *limit });
                }
                let (text, unfit) = if name == NAME {
                    (text.trim(), find_unprintable_in_name(text))
                } else {
                    (text, find_unprintable_in_text(text))
                };
                if unfit.is_some() {
                    return Err(OrganizationError::InvalidCharacters(name));
                }
                text.clone_into(field(realm));
            }
            RealmSettingType::Switch(field) => *field(&mut realm.rules) = value.as_bool().unwrap_or_default(),
            RealmSettingType::Days(field) => {
                let days = value.as_i64().unwrap_or_default();
                *field(&mut realm.rules) = if days < 0 { Err(OrganizationError::TooSmall(name)) } else { Ok(days) }?;
            }
            RealmSettingType::Limit(field) => {
                let limit_s = value.as_i64();
                if !value.is_null() && limit_s.is_none_or(|limit_s| limit_s < 1) {
                    return Err(bad_limit(name, value));
                }
                *field(&mut realm.rules) = limit_s;
            }
            RealmSettingType::Keep(field) => {
                let days = value.as_i64().filter(|days| *days == UNLIMITED_RETENTION_DAYS || *days > 0);
                *field(&mut realm.rules) = days.ok_or_else(|| bad_limit(name, value))?;
            }
            RealmSettingType::Channel(field) => {
                *field(&mut realm.rules) = value.as_i64().filter(|id| *id != NO_CHANNEL).map(ChannelId);
            }
            RealmSettingType::Word(word) => {
                if !(word.set)(&mut realm.rules, value.as_str().unwrap_or_default()) {
                    return Err(OrganizationError::UnknownWord(name));
                }
            }
            RealmSettingType::Policy(numbers) => {
                numbers.put(value.as_i64(), &mut realm.rules).ok_or(OrganizationError::NotListed(name))?;
            }
            RealmSettingType::Group(_) => return Err(OrganizationError::NotListed(name)),
        }
        Ok(())
    }
}

fn plain_value(kind: &RealmSettingType, realm: &Realm) -> Value {
    let mut realm = realm.clone();
    match kind {
        RealmSettingType::Text(_, field) => field(&mut realm).as_str().into(),
        RealmSettingType::Switch(field) => (*field(&mut realm.rules)).into(),
        RealmSettingType::Days(field) | RealmSettingType::Keep(field) => (*field(&mut realm.rules)).into(),
        RealmSettingType::Limit(field) => (*field(&mut realm.rules)).into(),
        RealmSettingType::Channel(field) => field(&mut realm.rules).map_or(NO_CHANNEL, |id| id.0).into(),
        RealmSettingType::Word(word) => (word.get)(&realm.rules).into(),
        RealmSettingType::Policy(_) | RealmSettingType::Group(_) => Value::Null,
    }
}

/// Repeats the start of what was sent.
fn bad_limit(name: &'static str, value: &Value) -> OrganizationError {
    let sent = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    OrganizationError::BadLimit { name, value: sent.chars().take(SHOWN_MAX_CHARS).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::event::EventBody;
    use crate::id::{UserGroupId, UserId};
    use crate::model::group::{GroupSettingValue, SystemGroup};
    use crate::testing;

    fn of_name(name: &str) -> &'static RealmSetting {
        REALM_SETTINGS.iter().find(|setting| setting.name == name).unwrap()
    }

    fn changed(
        caller: i64,
        requested: &[(&str, Value)],
    ) -> Result<(Map<String, Value>, RealmCommit), OrganizationError> {
        let requested: Vec<_> = requested.iter().map(|(name, value)| (of_name(name), value.clone().into())).collect();
        decided(caller, &requested)
    }

    fn decided(
        caller: i64,
        requested: &[RealmSettingChange],
    ) -> Result<(Map<String, Value>, RealmCommit), OrganizationError> {
        let club = RealmChange::Group(Box::new(testing::group(50, None)));
        let groups = testing::system_groups().chain([club]);
        let realm = testing::realm(RealmPermissionSettings::default(), groups.collect());
        let mut commit = RealmCommit::default();
        let repeated = change_realm_settings(&realm, realm.user(UserId(caller)).unwrap(), requested, &mut commit)?;
        Ok((repeated, commit))
    }

    fn rules(commit: &RealmCommit) -> RealmPermissionSettings {
        match &commit.changes[..] {
            [RealmChange::Realm(realm)] => realm.rules.clone(),
            other => unreachable!("{other:?}"),
        }
    }

    #[test]
    fn the_answer_repeats_what_is_otherwise_and_everybody_is_told() {
        let requested = [
            ("name", json!("Acme")),
            ("allow_message_editing", json!(false)),
            ("mandatory_topics", json!(false)),
            ("message_content_edit_limit_seconds", Value::Null),
        ];
        let (repeated, commit) = changed(2, &requested).unwrap();
        let expected =
            json!({"name": "updated", "allow_message_editing": false, "message_content_edit_limit_seconds": null});
        assert_eq!(Value::Object(repeated), expected);
        let events = commit.events.iter().map(|event| match &event.body {
            EventBody::Plain { event: body, .. } => (event.audience.clone(), body.clone()),
            EventBody::Message(_) | EventBody::Edit { .. } | EventBody::Flagged(_) => {
                unreachable!("no message is sent")
            }
        });
        let events: Vec<_> = events.collect();
        let update = json!({"type": "realm", "op": "update", "property": "name", "value": "Acme"});
        assert_eq!(events[0], (EventAudience::Everyone, update));
        let data = json!({"allow_message_editing": false});
        let dict = json!({"type": "realm", "op": "update_dict", "property": "default", "data": data});
        assert_eq!((&events[1].1, events.len()), (&dict, 3));
        assert!(!rules(&commit).allow_editing && rules(&commit).edit_limit_s.is_none());
        let (repeated, commit) = changed(2, &[("mandatory_topics", json!(false))]).unwrap();
        assert!(repeated.is_empty() && commit.changes.is_empty() && commit.events.is_empty());
    }

    /// The events of a change by the owner.
    fn events(requested: &[RealmSettingChange]) -> Vec<Value> {
        let (_, commit) = decided(1, requested).unwrap();
        let body = |event: NewEvent| match event.body {
            EventBody::Plain { event, .. } => event,
            _ => unreachable!("no message is sent"),
        };
        commit.events.into_iter().map(body).collect()
    }

    fn to_group(id: i64) -> RealmSettingValue {
        RealmSettingValue::Group(GroupSettingChange { new: GroupSettingValue::Group(UserGroupId(id)), old: None })
    }

    #[test]
    fn older_clients_hear_the_number_and_newer_ones_the_group_whichever_is_set() {
        let number =
            |value| json!({"type": "realm", "op": "update", "property": "invite_to_realm_policy", "value": value});
        let group = |value| {
            let data = json!({"can_invite_users_group": value});
            json!({"type": "realm", "op": "update_dict", "property": "default", "data": data})
        };
        let set = |name, value: RealmSettingValue| events(&[(of_name(name), value)]);
        assert_eq!(set("invite_to_realm_policy", json!(6).into()), [number(6), group(30)]);
        assert_eq!(set("can_invite_users_group", to_group(32)), [number(2), group(32)]);
        // Older clients see members in a group that they have no number for.
        assert_eq!(set("can_invite_users_group", to_group(50)), [group(50)]);
        assert_eq!(set("can_invite_users_group", to_group(35)), [] as [Value; 0]);
    }

    #[test]
    fn a_number_for_topics_sets_who_resolves_them_and_a_group_does_not() {
        let (_, commit) = changed(1, &[("edit_topic_policy", json!(4))]).unwrap();
        let now = rules(&commit);
        let both = [now.edit_topic, now.resolve_topics];
        assert_eq!(both, [SystemGroup::Moderators, SystemGroup::Moderators].map(Into::into));
        let topics = (of_name("can_move_messages_between_topics_group"), to_group(50));
        let now = rules(&decided(1, &[topics]).unwrap().1);
        let both = [now.edit_topic, now.resolve_topics];
        assert_eq!(both, [GroupSettingValue::Group(UserGroupId(50)), SystemGroup::Everyone.into()]);
    }

    #[test]
    fn a_number_for_bots_sets_both_kinds() {
        let kinds = |number: i64| {
            let (_, commit) = changed(1, &[("bot_creation_policy", json!(number))]).unwrap();
            let now = if commit.changes.is_empty() { RealmPermissionSettings::default() } else { rules(&commit) };
            [now.create_bots, now.create_write_only_bots]
        };
        let (members, administrators) = (SystemGroup::Members.into(), SystemGroup::Administrators.into());
        assert_eq!(kinds(1), [members, SystemGroup::Members.into()]);
        assert_eq!(kinds(2), [administrators, SystemGroup::Members.into()]);
        assert_eq!(kinds(3), [SystemGroup::Administrators, SystemGroup::Administrators].map(Into::into));
    }

    #[test]
    fn some_choices_are_owners_and_none_is_a_moderators() {
        let choices =
            ["invite_to_realm_policy", "waiting_period_threshold"].map(|name| (of_name(name), json!(2).into()));
        let groups = [
            "can_create_groups",
            "can_manage_all_groups",
            "create_multiuse_invite_group",
            "can_invite_users_group",
            "can_manage_billing_group",
        ];
        for choice in choices.into_iter().chain(groups.map(|name| (of_name(name), to_group(50)))) {
            let refused = decided(2, std::slice::from_ref(&choice)).unwrap_err();
            assert_eq!(refused, OrganizationError::NotAllowed(PermissionError::OwnerRequired));
            assert!(decided(1, &[choice]).is_ok());
        }
        let refused = changed(3, &[]).unwrap_err();
        assert_eq!(refused, OrganizationError::NotAllowed(PermissionError::AdministratorRequired));
    }

    #[test]
    fn texts_days_and_limits_have_bounds() {
        let outcome = |name, value: Value| changed(1, &[(name, value)]).unwrap_err().to_string();
        assert_eq!(outcome("name", json!("a".repeat(41))), "name is too long (limit: 40 characters)");
        assert_eq!(outcome("name", json!("Ac\u{202e}me")), "Invalid characters in name!");
        assert_eq!(outcome("description", json!("a\u{200b}b")), "Invalid characters in description!");
        assert_eq!(outcome("waiting_period_threshold", json!(-1)), "waiting_period_threshold is too small");
        for (value, shown) in [(json!(0), "0"), (json!(-1), "-1"), (json!("forever"), "forever")] {
            let text = format!("Bad value for 'message_content_delete_limit_seconds': {shown}");
            assert_eq!(outcome("message_content_delete_limit_seconds", value), text);
        }
    }
}
