//! What administrators choose for the organization: its name, who may do what, and how long.
//!
//! The settings are those that a rule asks for ([`RealmPermissionSettings`]), and what the organization says of itself;
//! there is none that could be chosen and would change nothing.

use serde_json::{Map, Value, json};

use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserGroupId;
use crate::model::group::SystemGroup;
use crate::model::realm::{EditHistoryVisibility, Realm, RealmPermissionSettings};
use crate::model::realm_change::RealmChange;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::PermissionPolicy;
use crate::model::user::User;
use crate::permission::access::{PermissionError, require_administrator, require_owner};
use crate::text_processing::printable_names::{find_unprintable_in_name, find_unprintable_in_text};

/// The setting that is the organization's name.
const NAME: &str = "name";
/// The setting that says which earlier states of messages are shown.
const EDIT_HISTORY: &str = "message_edit_history_visibility_policy";
/// Characters of the organization's name.
const NAME_MAX_CHARS: usize = 40;
/// Characters of its description.
const DESCRIPTION_MAX_CHARS: usize = 1_000;

/// The number of retention days that means messages are never deleted.
pub const UNLIMITED_RETENTION_DAYS: i64 = -1;

/// Characters that are repeated of a value that is none.
const SHOWN_MAX_CHARS: usize = 100;

/// Numbers of most policies.
const PLAIN: &[(i64, PermissionPolicy)] = &[
    (1, PermissionPolicy::Members),
    (2, PermissionPolicy::Administrators),
    (3, PermissionPolicy::FullMembers),
    (4, PermissionPolicy::Moderators),
];
/// Those of policies that may be nobody's.
const OR_NOBODY: &[(i64, PermissionPolicy)] = &[
    (1, PermissionPolicy::Members),
    (2, PermissionPolicy::Administrators),
    (3, PermissionPolicy::FullMembers),
    (4, PermissionPolicy::Moderators),
    (6, PermissionPolicy::Nobody),
];
/// Those of policies that may be guests' too.
const OR_GUESTS: &[(i64, PermissionPolicy)] = &[
    (1, PermissionPolicy::Members),
    (2, PermissionPolicy::Administrators),
    (3, PermissionPolicy::FullMembers),
    (4, PermissionPolicy::Moderators),
    (5, PermissionPolicy::Everyone),
];
const TOPICS: &[(i64, PermissionPolicy)] = &[
    (1, PermissionPolicy::Members),
    (2, PermissionPolicy::Administrators),
    (3, PermissionPolicy::FullMembers),
    (4, PermissionPolicy::Moderators),
    (5, PermissionPolicy::Everyone),
    (6, PermissionPolicy::Nobody),
];
const WEB_PUBLIC: &[(i64, PermissionPolicy)] = &[
    (2, PermissionPolicy::Administrators),
    (4, PermissionPolicy::Moderators),
    (6, PermissionPolicy::Nobody),
    (7, PermissionPolicy::Owners),
];
const WILDCARD: &[(i64, PermissionPolicy)] = &[
    (1, PermissionPolicy::Everyone),
    (2, PermissionPolicy::Members),
    (3, PermissionPolicy::FullMembers),
    (5, PermissionPolicy::Administrators),
    (6, PermissionPolicy::Nobody),
    (7, PermissionPolicy::Moderators),
];
/// The number between them lets some make one kind of bots and not the other, which no rule here distinguishes.
const BOTS: &[(i64, PermissionPolicy)] = &[(1, PermissionPolicy::Members), (3, PermissionPolicy::Administrators)];

/// Groups that cannot make channels.
const NO_MAKERS: &[SystemGroup] = &[SystemGroup::Nobody, SystemGroup::Everyone, SystemGroup::Internet];
/// Groups whose members cannot write to people.
const NO_WRITERS: &[SystemGroup] = &[SystemGroup::Internet];

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
    /// One of some words.
    Word(WordSetting),
    /// The number of a policy.
    Policy(&'static [(i64, PermissionPolicy)], fn(&mut RealmPermissionSettings) -> &mut PermissionPolicy),
    /// The number of a group of the system, but for some.
    Group(&'static [SystemGroup], fn(&mut RealmPermissionSettings) -> &mut PermissionPolicy),
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
    in_dict(setting("edit_topic_policy", RealmSettingType::Policy(TOPICS, |rules| &mut rules.edit_topic))),
    setting("message_content_delete_limit_seconds", RealmSettingType::Limit(|rules| &mut rules.delete_limit_s)),
    setting(
        "move_messages_within_stream_limit_seconds",
        RealmSettingType::Limit(|rules| &mut rules.move_topic_limit_s),
    ),
    setting(
        "move_messages_between_streams_limit_seconds",
        RealmSettingType::Limit(|rules| &mut rules.move_channel_limit_s),
    ),
    setting("delete_own_message_policy", RealmSettingType::Policy(OR_GUESTS, |rules| &mut rules.delete_own_message)),
    setting(
        "move_messages_between_streams_policy",
        RealmSettingType::Policy(OR_NOBODY, |rules| &mut rules.move_between_channels),
    ),
    setting(
        "create_web_public_stream_policy",
        RealmSettingType::Policy(WEB_PUBLIC, |rules| &mut rules.create_web_public_channel),
    ),
    setting("invite_to_stream_policy", RealmSettingType::Policy(PLAIN, |rules| &mut rules.subscribe_others)),
    for_owners(setting("invite_to_realm_policy", RealmSettingType::Policy(OR_NOBODY, |rules| &mut rules.invite))),
    setting("add_custom_emoji_policy", RealmSettingType::Policy(PLAIN, |rules| &mut rules.add_custom_emoji)),
    setting("user_group_edit_policy", RealmSettingType::Policy(PLAIN, |rules| &mut rules.edit_groups)),
    setting("bot_creation_policy", RealmSettingType::Policy(BOTS, |rules| &mut rules.create_bots)),
    setting("wildcard_mention_policy", RealmSettingType::Policy(WILDCARD, |rules| &mut rules.wildcard_mention)),
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
    in_dict(setting(
        "can_create_public_channel_group",
        RealmSettingType::Group(NO_MAKERS, |rules| &mut rules.create_public_channel),
    )),
    in_dict(setting(
        "can_create_private_channel_group",
        RealmSettingType::Group(NO_MAKERS, |rules| &mut rules.create_private_channel),
    )),
    in_dict(setting(
        "direct_message_initiator_group",
        RealmSettingType::Group(NO_WRITERS, |rules| &mut rules.initiate_direct_messages),
    )),
    in_dict(setting(
        "direct_message_permission_group",
        RealmSettingType::Group(NO_WRITERS, |rules| &mut rules.direct_messages),
    )),
];

/// A new value of an organization setting, of the JSON type that its [`RealmSettingType`] requires.
pub type RealmSettingChange = (&'static RealmSetting, Value);

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
    /// There is no such group.
    #[error("Invalid user group")]
    NoGroup,
    /// A group that users made.
    #[error("'{0}' must be a system user group.")]
    NotOfSystem(&'static str),
    /// A group that cannot do this.
    #[error("'{name}' setting cannot be set to '{}' group.", group.wire_name())]
    GroupRefused {
        /// The setting.
        name: &'static str,
        /// The group.
        group: SystemGroup,
    },
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
        setting.put(realm, value, &mut now)?;
        if now != last {
            commit.events.push(setting_event(setting, value));
            commit.events.extend(former_edit_history_event(&last, &now));
            let is_text = matches!(setting.kind, RealmSettingType::Text(..));
            repeated.insert(setting.name.to_owned(), if is_text { json!("updated") } else { value.clone() });
        }
    }
    if now != *before {
        commit.changes.push(RealmChange::Realm(Box::new(now)));
    }
    Ok(repeated)
}

/// Returns the event for clients of levels below 358, which know yes and no only; `None` when that did not turn.
fn former_edit_history_event(before: &Realm, now: &Realm) -> Option<NewEvent> {
    let shows = |realm: &Realm| realm.rules.edit_history_visibility != EditHistoryVisibility::None;
    let event = json!({"type": "realm", "op": "update", "property": "allow_edit_history", "value": shows(now)});
    (shows(before) != shows(now)).then(|| NewEvent::same_for_everyone(EventAudience::Everyone, event))
}

fn setting_event(setting: &RealmSetting, value: &Value) -> NewEvent {
    let event = if setting.is_told_in_a_dict {
        json!({"type": "realm", "op": "update_dict", "property": "default", "data": {setting.name: value}})
    } else {
        json!({"type": "realm", "op": "update", "property": setting.name, "value": value})
    };
    NewEvent::same_for_everyone(EventAudience::Everyone, event)
}

impl RealmSetting {
    /// Returns what was chosen, in the form in which it is given; `None` for a policy that has no number.
    pub(crate) fn chosen(&self, realm: &Realm) -> Option<Value> {
        let mut realm = realm.clone();
        Some(match &self.kind {
            RealmSettingType::Text(_, field) => field(&mut realm).as_str().into(),
            RealmSettingType::Switch(field) => (*field(&mut realm.rules)).into(),
            RealmSettingType::Days(field) => (*field(&mut realm.rules)).into(),
            RealmSettingType::Limit(field) => (*field(&mut realm.rules)).into(),
            RealmSettingType::Keep(field) => (*field(&mut realm.rules)).into(),
            RealmSettingType::Word(word) => (word.get)(&realm.rules).into(),
            RealmSettingType::Policy(numbers, field) => {
                let policy = *field(&mut realm.rules);
                numbers.iter().find(|(_, known)| *known == policy)?.0.into()
            }
            RealmSettingType::Group(..) => return None,
        })
    }

    /// Returns the groups of the system that it cannot be given to, and the one that has it in a new organization;
    /// `None` for a setting that is not given to a group.
    pub(crate) fn group_rule(&self) -> Option<(&'static [SystemGroup], PermissionPolicy)> {
        match &self.kind {
            RealmSettingType::Group(refused, field) => Some((refused, *field(&mut RealmPermissionSettings::default()))),
            _ => None,
        }
    }

    pub(crate) fn put(
        &'static self,
        snapshot: &RealmSnapshot,
        value: &Value,
        realm: &mut Realm,
    ) -> Result<(), OrganizationError> {
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
            RealmSettingType::Word(word) => {
                if !(word.set)(&mut realm.rules, value.as_str().unwrap_or_default()) {
                    return Err(OrganizationError::UnknownWord(name));
                }
            }
            RealmSettingType::Policy(numbers, field) => {
                let found = numbers.iter().find(|(number, _)| Some(*number) == value.as_i64());
                let (_, policy) = found.ok_or(OrganizationError::NotListed(name))?;
                *field(&mut realm.rules) = *policy;
            }
            RealmSettingType::Group(refused, field) => {
                let group = snapshot.group(UserGroupId(value.as_i64().unwrap_or_default()));
                let group = group.ok_or(OrganizationError::NoGroup)?;
                let group = group.system.ok_or(OrganizationError::NotOfSystem(name))?;
                if refused.contains(&group) {
                    return Err(OrganizationError::GroupRefused { name, group });
                }
                *field(&mut realm.rules) = group.permission_policy();
            }
        }
        Ok(())
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
    use crate::id::UserId;
    use crate::model::group::{GroupSettingValue, UserGroup};
    use crate::testing;

    fn group(id: i64, system: Option<SystemGroup>) -> RealmChange {
        RealmChange::Group(Box::new(UserGroup {
            id: UserGroupId(id),
            name: system.map_or("club", SystemGroup::wire_name).to_owned(),
            description: String::new(),
            system,
            members: Vec::new(),
            subgroups: Vec::new(),
            can_mention: GroupSettingValue::Group(UserGroupId(id)),
            is_deactivated: false,
            origin: None,
        }))
    }

    fn of_name(name: &str) -> &'static RealmSetting {
        REALM_SETTINGS.iter().find(|setting| setting.name == name).unwrap()
    }

    fn changed(
        caller: i64,
        requested: &[(&str, Value)],
    ) -> Result<(Map<String, Value>, RealmCommit), OrganizationError> {
        let groups = (30..).zip(SystemGroup::ALL).map(|(id, system)| group(id, Some(system)));
        let realm = testing::realm(RealmPermissionSettings::default(), groups.chain([group(40, None)]).collect());
        let requested: Vec<RealmSettingChange> =
            requested.iter().map(|(name, value)| (of_name(name), value.clone())).collect();
        let mut commit = RealmCommit::default();
        let repeated = change_realm_settings(&realm, realm.user(UserId(caller)).unwrap(), &requested, &mut commit)?;
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

    #[test]
    fn each_number_of_each_policy_is_a_rule_and_no_other_number_is() {
        for setting in REALM_SETTINGS {
            let RealmSettingType::Policy(numbers, field) = &setting.kind else { continue };
            for number in 0..9 {
                let found = changed(1, &[(setting.name, json!(number))]);
                let Some((_, policy)) = numbers.iter().find(|(known, _)| *known == number) else {
                    assert_eq!(found.unwrap_err(), OrganizationError::NotListed(setting.name));
                    continue;
                };
                let (_, commit) = found.unwrap();
                let mut now =
                    if commit.changes.is_empty() { RealmPermissionSettings::default() } else { rules(&commit) };
                assert_eq!(field(&mut now), policy, "{} {number}", setting.name);
            }
        }
    }

    #[test]
    fn a_permission_goes_to_a_group_of_the_system_that_can_have_it() {
        let outcome = |name, id: i64| match changed(2, &[(name, json!(id))]) {
            Ok((_, commit)) => format!("{:?}", rules(&commit)),
            Err(refused) => refused.to_string(),
        };
        let admins = RealmPermissionSettings {
            create_public_channel: PermissionPolicy::Administrators,
            ..RealmPermissionSettings::default()
        };
        assert_eq!(outcome("can_create_public_channel_group", 32), format!("{admins:?}"));
        let nobody =
            RealmPermissionSettings { direct_messages: PermissionPolicy::Nobody, ..RealmPermissionSettings::default() };
        assert_eq!(outcome("direct_message_permission_group", 30), format!("{nobody:?}"));
        let refused = "'can_create_private_channel_group' setting cannot be set to 'role:everyone' group.";
        assert_eq!(outcome("can_create_private_channel_group", 36), refused);
        let refused = "'direct_message_initiator_group' setting cannot be set to 'role:internet' group.";
        assert_eq!(outcome("direct_message_initiator_group", 37), refused);
        assert_eq!(outcome("direct_message_initiator_group", 99), "Invalid user group");
        let refused = "'direct_message_initiator_group' must be a system user group.";
        assert_eq!(outcome("direct_message_initiator_group", 40), refused);
    }

    #[test]
    fn some_choices_are_owners_and_none_is_a_moderators() {
        for name in ["invite_to_realm_policy", "waiting_period_threshold"] {
            let refused = changed(2, &[(name, json!(2))]).unwrap_err();
            assert_eq!(refused, OrganizationError::NotAllowed(PermissionError::OwnerRequired));
            assert!(changed(1, &[(name, json!(2))]).is_ok());
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
