use super::*;
use crate::event_log::event::{EventBody, LogRecord};
use crate::id::{EventId, UserGroupId};
use crate::model::channel::ChannelPrivacy;
use crate::model::group::{GroupSettingValue, UserGroup};
use crate::model::realm::RealmPermissionSettings;
use crate::model::user::{BotKind, BotProperties, FullNameError, MalformedEmail};
use crate::testing::{self, NOW_S};

fn group(system: SystemGroup, id: i64) -> RealmChange {
    RealmChange::Group(Box::new(UserGroup {
        id: UserGroupId(id),
        name: system.wire_name().to_owned(),
        description: String::new(),
        system: Some(system),
        members: Vec::new(),
        subgroups: Vec::new(),
        can_mention: GroupSettingValue::Group(UserGroupId(id)),
        is_deactivated: false,
        origin: None,
    }))
}

/// Returns the usual people; channels 20 (public, for new users), 21 (private, of user 4) and 22 (for new users,
/// archived); user 4's bot 8; some groups of the system from 30 on.
fn realm() -> RealmSnapshot {
    let mut bot = testing::user(8, Role::Member);
    bot.bot = Some(BotProperties { kind: BotKind::Generic, owner_id: Some(UserId(4)) });
    let archived = Channel { is_archived: true, ..testing::channel(22, ChannelPrivacy::Public) };
    let default = |id| RealmChange::Item { kind: RealmItemKind::DefaultChannel, id, document: Some(json!({})) };
    let changes = vec![
        RealmChange::User(Box::new(bot)),
        RealmChange::Channel(Box::new(testing::channel(20, ChannelPrivacy::Public))),
        RealmChange::Channel(Box::new(testing::channel(21, ChannelPrivacy::PrivateSharedHistory))),
        RealmChange::Channel(Box::new(archived)),
        default(20),
        default(22),
        RealmChange::Subscription(Box::new(testing::subscription(21, 4))),
        group(SystemGroup::Administrators, 30),
        group(SystemGroup::FullMembers, 31),
        group(SystemGroup::Members, 32),
        group(SystemGroup::Everyone, 33),
    ];
    testing::realm(RealmPermissionSettings::default(), changes)
}

fn events_of(commit: &RealmCommit) -> Vec<(EventAudience, Value)> {
    let plain = |event: &NewEvent| match &event.body {
        EventBody::Plain { event: body, .. } => (event.audience.clone(), body.clone()),
        EventBody::Message(_) | EventBody::Edit { .. } | EventBody::Flagged(_) => {
            unreachable!("an account sends and edits no message")
        }
    };
    commit.events.iter().map(plain).collect()
}

fn new(email: &str, full_name: &str) -> NewUser {
    NewUser {
        email: email.to_owned(),
        full_name: full_name.to_owned(),
        role: Role::Member,
        password_hash: Some(PasswordHash("hash".to_owned())),
        api_key: ApiKey::from_random(&[5; 64]).unwrap(),
    }
}

fn member_event(op: &str, group_id: i64, user_id: i64) -> (EventAudience, Value) {
    let event = json!({"type": "user_group", "op": op, "group_id": group_id, "user_ids": [user_id]});
    (EventAudience::Everyone, event)
}

/// The event by which administrators learn that the user allows no export of private data.
fn no_consent(user_id: i64) -> Value {
    json!({"type": "realm_export_consent", "user_id": user_id, "consented": false})
}

#[test]
fn a_new_account_is_in_the_default_channels_in_use_and_everybody_hears_of_it() {
    let realm = realm();
    let mut commit = RealmCommit { at_s: NOW_S, ..RealmCommit::default() };
    let id = create_account(&realm, &new(" Eve@example.org ", " Eve "), &mut commit).unwrap();
    let events = events_of(&commit);
    assert_eq!((&events[0].1["type"], &events[0].1["op"]), (&json!("realm_user"), &json!("add")));
    let person = &events[0].1["person"];
    assert_eq!((&person["user_id"], &person["email"]), (&json!(id), &json!("Eve@example.org")));
    assert_eq!((&person["full_name"], &person["is_active"]), (&json!("Eve"), &json!(true)));
    let watchers = EventAudience::ChannelWatchers { channel_id: ChannelId(20), except: vec![id, UserId(6)] };
    let peer = json!({"type": "subscription", "op": "peer_add", "stream_ids": [20], "user_ids": [id]});
    let full = realm.realm().unwrap().rules.waiting_period_days == 0;
    let groups: &[i64] = if full { &[31, 32] } else { &[32] };
    let mut after: Vec<_> = groups.iter().map(|group| member_event("add_members", *group, id.0)).collect();
    after.push((EventAudience::Administrators, no_consent(id.0)));
    after.push((watchers, peer));
    assert_eq!(events[1..], after);
    let next = realm.after_record(&LogRecord::new(EventId(60), NOW_S, commit.changes, None));
    let eve = next.user_by_key_hash(&next.key_hasher().hash(&ApiKey::from_random(&[5; 64]).unwrap())).unwrap();
    assert_eq!((eve.id, eve.joined_s, eve.role), (id, NOW_S, Role::Member));
    assert!(next.subscription(ChannelId(20), id).is_some() && next.subscription(ChannelId(22), id).is_none());
    assert_eq!(commit.credentials.len(), 2);
}

#[test]
fn an_account_needs_a_name_and_an_address_nobody_has() {
    let realm = realm();
    let mut commit = RealmCommit::default();
    let mut refused = |email, name| create_account(&realm, &new(email, name), &mut commit).unwrap_err();
    assert_eq!(refused("USER4@example.org", "Eve"), AccountChangeError::EmailTaken("USER4@example.org".to_owned()));
    assert_eq!(refused("eve", "Eve"), AccountChangeError::Email(MalformedEmail));
    assert_eq!(refused("eve@example.org", "E"), AccountChangeError::FullName(FullNameError::TooShort));
    assert!(commit.changes.is_empty() && commit.events.is_empty() && commit.credentials.is_empty());
}

#[test]
fn another_name_is_told_once() {
    let realm = realm();
    let user = realm.user(UserId(4)).unwrap();
    let mut commit = RealmCommit::default();
    rename_user(user, "User 4 ", &mut commit).unwrap();
    assert_eq!(events_of(&commit), []);
    rename_user(user, "Dan", &mut commit).unwrap();
    let event = json!({"type": "realm_user", "op": "update", "person": {"user_id": 4, "full_name": "Dan"}});
    assert_eq!(events_of(&commit), [(EventAudience::Everyone, event)]);
    assert_eq!(rename_user(user, "*", &mut commit).unwrap_err(), AccountChangeError::FullName(FullNameError::TooShort));
}

#[test]
fn a_role_moves_its_user_between_groups_and_shows_and_hides_channels() {
    let realm = realm();
    let sight = |user: i64, role| {
        let mut commit = RealmCommit { at_s: NOW_S, ..RealmCommit::default() };
        set_user_role(&realm, realm.user(UserId(user)).unwrap(), role, &ChannelStatistics::default(), &mut commit);
        let events = events_of(&commit);
        let update = json!({"user_id": user, "role": i64::from(role)});
        assert_eq!((&events[0].0, &events[0].1["person"]), (&EventAudience::Everyone, &update));
        let groups = events.iter().filter(|(_, event)| event["type"] == "user_group");
        let groups: Vec<_> = groups.map(|(_, event)| format!("{} {}", event["op"], event["group_id"])).collect();
        let streams = events.into_iter().filter(|(_, event)| event["type"] == "stream");
        let streams: Vec<_> = streams
            .map(|(audience, event)| {
                assert_eq!(audience, EventAudience::from_users([UserId(user)]));
                let ids = event["streams"].as_array().unwrap().iter().map(|stream| stream["stream_id"].to_string());
                format!("{} {}", event["op"], ids.collect::<Vec<_>>().join(" "))
            })
            .collect();
        (groups.contains(&"\"add_members\" 30".to_owned()), streams)
    };
    assert_eq!(sight(6, Role::Administrator), (true, vec!["\"create\" 20 21".to_owned(), "\"create\" 22".to_owned()]));
    assert_eq!(sight(4, Role::Guest), (false, vec!["\"delete\" 20".to_owned(), "\"delete\" 22".to_owned()]));
    assert_eq!(sight(2, Role::Member), (false, vec!["\"delete\" 21".to_owned()]));
    assert_eq!(sight(4, Role::Moderator), (false, Vec::new()));
}

#[test]
fn a_role_someone_has_is_not_told() {
    let realm = realm();
    let mut commit = RealmCommit::default();
    set_user_role(&realm, realm.user(UserId(4)).unwrap(), Role::Member, &ChannelStatistics::default(), &mut commit);
    assert!(commit.changes.is_empty() && commit.events.is_empty());
}

#[test]
fn an_account_closes_with_its_bots_and_opens_without_them() {
    let realm = realm();
    let update = |id: i64, is_active: bool| {
        let person = json!({"user_id": id, "is_active": is_active});
        (EventAudience::Everyone, json!({"type": "realm_user", "op": "update", "person": person}))
    };
    let mut commit = RealmCommit::default();
    deactivate_account(&realm, realm.user(UserId(4)).unwrap(), &mut commit);
    let bot = json!({"type": "realm_bot", "op": "update", "bot": {"user_id": 8, "is_active": false}});
    let audience = EventAudience::from_users([UserId(1), UserId(2), UserId(4)]);
    let peer = |op: &str| json!({"type": "subscription", "op": op, "stream_ids": [21], "user_ids": [4]});
    let watchers = EventAudience::from_users([UserId(1), UserId(2)]);
    let left = (watchers.clone(), peer("peer_remove"));
    assert_eq!(events_of(&commit), [left, update(4, false), update(8, false), (audience, bot)]);
    let closed = realm.after_record(&LogRecord::new(EventId(60), NOW_S, commit.changes, None));
    assert!([4, 8].iter().all(|id| !closed.user(UserId(*id)).unwrap().is_active));
    assert!(closed.subscription(ChannelId(21), UserId(4)).is_some());

    let mut again = RealmCommit::default();
    deactivate_account(&closed, closed.user(UserId(4)).unwrap(), &mut again);
    assert!(again.changes.is_empty() && again.events.is_empty());

    let mut back = RealmCommit::default();
    reactivate_account(&closed, closed.user(UserId(4)).unwrap(), &mut back);
    let consent = (EventAudience::Administrators, no_consent(4));
    let events = events_of(&back);
    assert_eq!(events[..3], [update(4, true), consent, (watchers, peer("peer_add"))]);
    assert!(events[3..].iter().all(|(_, event)| event["op"] == "add_members"), "{events:?}");
    let open = closed.after_record(&LogRecord::new(EventId(61), NOW_S, back.changes, None));
    assert_eq!([4, 8].map(|id| open.user(UserId(id)).unwrap().is_active), [true, false]);
}

#[test]
fn who_joins_begins_with_what_the_realm_chose_and_keeps_it() {
    let chosen = |document| RealmChange::Item { kind: RealmItemKind::UserDefaults, id: 0, document: Some(document) };
    let record = |at, changes| LogRecord::new(EventId(at), 0, changes, None);
    let chose = realm().after_record(&record(11, vec![chosen(json!({"enter_sends": true}))]));
    let mut commit = RealmCommit { at_s: NOW_S, ..RealmCommit::default() };
    let id = create_account(&chose, &new("eve@example.org", "Eve"), &mut commit).unwrap();
    let joined = chose
        .after_record(&record(12, commit.changes))
        .after_record(&record(13, vec![chosen(json!({"enter_sends": false}))]));
    let enter_sends = |id| {
        crate::wire_format::user_settings::user_settings_of(&joined, joined.user(id).unwrap())["enter_sends"].clone()
    };
    assert_eq!((enter_sends(id), enter_sends(UserId(4))), (json!(true), json!(false)));
}

#[test]
fn a_time_zone_is_told_to_everybody_and_stands_with_the_user() {
    let realm = realm();
    let user = realm.user(UserId(4)).unwrap();
    let mut commit = RealmCommit::default();
    let after = set_timezone(user, "Europe/Berlin", &mut commit).unwrap();
    assert_eq!(commit.changes, [RealmChange::User(Box::new(after.clone()))]);
    let person = json!({"user_id": 4, "email": "User4@example.org", "timezone": "Europe/Berlin"});
    let all = (EventAudience::Everyone, json!({"type": "realm_user", "op": "update", "person": person}));
    let all_events = events_of(&commit);
    assert_eq!((all_events.len(), &all_events[2]), (3, &all));
    assert_eq!(
        (&all_events[0].1["property"], &all_events[1].1["setting_name"]),
        (&json!("timezone"), &json!("timezone"))
    );
    let mut again = RealmCommit::default();
    set_timezone(&after, "Europe/Berlin", &mut again).unwrap();
    assert!(again.changes.is_empty() && again.events.is_empty());
    assert!(set_timezone(&after, "Europe Berlin", &mut again).is_err());
}
