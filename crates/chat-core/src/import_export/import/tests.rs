use serde_json::{Value, json};

use super::export_tables::{MessageFile, RealmTables, codes};
use super::*;
use crate::event_log::event::LogRecord;
use crate::id::UserGroupId;
use crate::model::channel::{ChannelPostPolicy, ChannelPrivacy};
use crate::model::group::{GroupSettingValue, SystemGroup};
use crate::model::realm::EditHistoryVisibility;
use crate::model::realm_snapshot::{RealmSnapshot, StoredRealmState};
use crate::model::render_context::{RenderContext, RenderSettings};
use crate::model::role::Role;
use crate::model::user::BotKind;
use crate::wire_format::user_settings;

fn tables() -> Value {
    json!({
        "zerver_realm": [{"name": "Acme", "description": "We chat", "date_created": 10.5, "mandatory_topics": true,
            "waiting_period_threshold": 3, "can_create_groups": 31, "can_invite_users_group": 40}],
        "zerver_userprofile": [
            {"id": 7, "delivery_email": "ann@x.org", "email": "user7@x.org", "full_name": "Ann", "role": 100,
                "date_joined": 11.9, "avatar_source": "U", "enter_sends": true, "color_scheme": 99},
            {"id": 8, "email": "bob@x.org", "full_name": "Bob", "role": 400, "long_term_idle": true},
            {"id": 9, "email": "bot@x.org", "full_name": "Bot", "is_bot": true, "bot_type": 2, "bot_owner": 7},
        ],
        "zerver_userprofile_crossrealm": [{"id": 5, "email": "welcome-bot@z.com"}],
        "zerver_stream": [
            {"id": 20, "name": "dev", "description": "for *code*", "date_created": 12.0, "creator": 7,
                "can_send_message_group": 31},
            {"id": 21, "name": "secret", "invite_only": true, "history_public_to_subscribers": false},
        ],
        "zerver_namedusergroup": [
            {"usergroup_ptr": 31, "name": "role:moderators", "is_system_group": true},
            {"usergroup_ptr": 32, "name": "crew", "can_mention_group": 40},
        ],
        "zerver_usergroup": [{"id": 31}, {"id": 32}, {"id": 40}],
        "zerver_usergroupmembership": [{"user_group": 32, "user_profile": 8}, {"user_group": 40, "user_profile": 7}],
        "zerver_recipient": [
            {"id": 1, "type": 2, "type_id": 20}, {"id": 2, "type": 2, "type_id": 21}, {"id": 3, "type": 1, "type_id": 8},
        ],
        "zerver_subscription": [
            {"user_profile": 7, "recipient": 1, "color": "#ff0000", "is_muted": true},
            {"user_profile": 8, "recipient": 1, "active": false},
            {"user_profile": 8, "recipient": 3},
        ],
        "zerver_alertword": [{"user_profile": 7, "word": "cake"}],
        "zerver_usertopic": [{"user_profile": 7, "stream": 20, "topic_name": "Lunch", "visibility_policy": 3}],
        "zerver_customprofilefield": [{"id": 50, "name": "About", "field_type": 1, "order": 1}],
        "zerver_customprofilefieldvalue": [{"user_profile": 7, "field": 50, "value": "*tall*"}],
        "zerver_client": [{"id": 1, "name": "website"}],
        "zerver_service": [{}, {}],
    })
}

fn file() -> MessageFile {
    let file = json!({
        "zerver_message": [
            {"id": 100, "sender": 7, "recipient": 1, "subject": "Lunch", "content": "**hi**", "date_sent": 20.5,
                "sending_client": 1, "last_edit_time": 25.0, "edit_history":
                json!([{"user_id": 7, "timestamp": 25, "prev_content": "ho", "prev_topic": "Food", "prev_stream": 21}])
                    .to_string()},
            {"id": 102, "sender": 7, "recipient": 3, "subject": "", "content": "psst", "date_sent": 21.0},
            {"id": 103, "sender": 99, "recipient": 1, "subject": "x", "content": "who", "date_sent": 22.0},
        ],
        "zerver_usermessage": [
            {"user_profile": 7, "message": 100, "flags_mask": 3},
            {"user_profile": 8, "message": 100, "flags_mask": 8},
            {"user_profile": 8, "message": 102, "flags_mask": 0},
        ],
    });
    serde_json::from_value(file).unwrap()
}

fn made(tables: Value) -> Result<(ImportedOrganization, TransferReport), ImportError> {
    let (tables, mut survey, mut report): (RealmTables, _, _) =
        (serde_json::from_value(tables).unwrap(), MessageSurvey::default(), TransferReport::default());
    survey.add_file(&file());
    let mut seed = 0;
    let key = || {
        seed += 1;
        ApiKey::from_random(&[seed; 64])
    };
    let pictures = ImportedImageUrls::default();
    let source = OrganizationImportSource { tables: &tables, survey: &survey, pictures: &pictures };
    convert_organization(source, "https://chat.example.org", key, &mut report).map(|made| (made, report))
}

fn loaded() -> RealmSnapshot {
    loaded_from(made(tables()).unwrap().0)
}

fn loaded_from(made: ImportedOrganization) -> RealmSnapshot {
    let ImportedOrganization { head, changes, spans, .. } = made;
    RealmSnapshot::from_stored_state(StoredRealmState {
        at: head,
        changed: head,
        last_id: 100,
        changes,
        spans,
        ..StoredRealmState::default()
    })
}

/// Returns the messages of a file as they are imported into an organization, and the report.
fn imported(realm: &RealmSnapshot, tables: Value, file: &MessageFile) -> (Vec<ImportedMessage>, TransferReport) {
    let tables: RealmTables = serde_json::from_value(tables).unwrap();
    let render_context = RenderContext::from_realm(realm);
    let setting = RenderSettings {
        realm_url: "https://chat.example.org",
        render_context: &render_context,
        uploads: None,
        now_s: 30,
    };
    let references = ImportReferences::from_tables(&tables, &MessageSurvey::default());
    let mut report = TransferReport::default();
    let made = convert_messages(&setting, realm, &references, (file, &[]), &mut report);
    (made, report)
}

#[test]
fn channels_stay_in_their_folders_and_leave_those_that_are_not_there() {
    let mut tables = tables();
    tables["zerver_channelfolder"] = json!([
        {"id": 60, "name": "Work", "description": "for *all*", "date_created": 15.5, "creator": 7, "is_archived": true,
            "order": 2},
        {"id": 61, "name": "Play", "creator": 99},
    ]);
    tables["zerver_stream"][0]["folder"] = json!(60);
    tables["zerver_stream"][1]["folder"] = json!(62);
    let (organization, _) = made(tables).unwrap();
    let realm = RealmSnapshot::default().preview_changes(&organization.changes);
    let folders = [20, 21].map(|id| realm.channel(ChannelId(id)).unwrap().folder_id);
    assert_eq!(folders, [Some(60), None]);
    let expected = [
        json!({"id": 60, "name": "Work", "description": "for *all*", "rendered_description": "<p>for <em>all</em></p>",
            "order": 2, "date_created": 15, "creator_id": 7, "is_archived": true}),
        json!({"id": 61, "name": "Play", "description": "", "rendered_description": "", "order": 61, "date_created": 0,
            "creator_id": null, "is_archived": false}),
    ];
    assert_eq!(crate::wire_format::realm_and_user_items::channel_folder_objects(&realm), expected);
}

#[test]
fn an_organization_keeps_its_numbers_and_is_what_it_was() {
    let realm = loaded();
    let ann = realm.user(UserId(7)).unwrap();
    assert_eq!((ann.email.as_str(), ann.role, ann.joined_s), ("ann@x.org", Role::Owner, 11));
    assert_eq!(realm.user(UserId(9)).unwrap().bot.as_ref().unwrap().owner_id, Some(UserId(7)));
    assert_eq!(realm.user(UserId(5)).unwrap().full_name, "Welcome Bot");
    let rules = &realm.realm().unwrap().rules;
    assert_eq!((rules.mandatory_topics, rules.waiting_period_days), (true, 3));
    let [dev, secret] = [20, 21].map(|id| realm.channel(ChannelId(id)).unwrap());
    assert_eq!((dev.privacy, dev.post_policy), (ChannelPrivacy::Public, ChannelPostPolicy::Moderators));
    assert_eq!(dev.rendered_description, "<p>for <em>code</em></p>");
    assert_eq!(secret.privacy, ChannelPrivacy::PrivateProtectedHistory);
    assert!(realm.subscription(ChannelId(20), UserId(7)).unwrap().is_muted);
    assert!(realm.subscription(ChannelId(20), UserId(8)).is_none());
    assert_eq!(user_settings::user_settings_of(&realm, ann)["enter_sends"], true);
    let about = realm.user_item(UserId(7), crate::model::realm_change::UserItemKind::ProfileValue, "50").unwrap();
    assert_eq!(*about, json!({"value": "*tall*", "rendered_value": "<p><em>tall</em></p>"}));
}

#[test]
fn the_history_of_edits_is_shown_no_wider_than_before() {
    let visibility = |columns: &[(&str, Value)]| {
        let mut tables = tables();
        for (column, value) in columns {
            tables["zerver_realm"][0][*column] = value.clone();
        }
        let (changes, report) = made(tables).unwrap();
        assert!(!report.left.keys().any(|what| what.contains("edit_history")), "{:?}", report.left);
        loaded_from(changes).edit_history_visibility()
    };
    let (name, older) = ("message_edit_history_visibility_policy", "allow_edit_history");
    assert_eq!(visibility(&[]), EditHistoryVisibility::All);
    for (number, expected) in [1, 2, 3].into_iter().zip(EditHistoryVisibility::ALL) {
        assert_eq!(visibility(&[(name, json!(number))]), expected);
    }
    assert_eq!(visibility(&[(name, json!(4))]), EditHistoryVisibility::None);
    assert_eq!(visibility(&[(older, json!(false))]), EditHistoryVisibility::None);
    assert_eq!(visibility(&[(older, json!(true))]), EditHistoryVisibility::All);
}

#[test]
fn groups_of_the_system_are_there_once_and_permissions_are_no_wider() {
    let realm = loaded();
    assert_eq!(realm.groups().count(), 9);
    assert_eq!(realm.system_group(SystemGroup::Moderators).unwrap().id, UserGroupId(31));
    let crew = realm.group(UserGroupId(32)).unwrap();
    assert_eq!(crew.members, [UserId(8)]);
    let only_ann = GroupSettingValue::Named { direct_members: vec![UserId(7)], direct_subgroups: Vec::new() };
    assert_eq!(crew.can_mention, only_ann);
    let rules = &realm.realm().unwrap().rules;
    assert_eq!((&rules.edit_groups, &rules.invite), (&SystemGroup::Moderators.into(), &only_ann));
    let guest = crate::testing::user(8, Role::Guest);
    assert!(!realm.is_in_group(&guest, UserGroupId(31), 0));
    let owner = realm.user(UserId(7)).unwrap();
    assert!(realm.is_in_group(owner, UserGroupId(31), 0));
}

/// The permissions of an organization of an export with these columns more.
fn permissions_with(columns: &Value) -> crate::model::realm::RealmPermissionSettings {
    let mut tables = tables();
    tables["zerver_realm"][0].as_object_mut().unwrap().extend(columns.as_object().unwrap().clone());
    let organization = made(tables).unwrap().0;
    let realm = organization.changes.iter().find_map(|change| match change {
        RealmChange::Realm(realm) => Some(realm.rules.clone()),
        _ => None,
    });
    realm.unwrap()
}

#[test]
fn permissions_that_an_export_does_not_have_are_those_they_were_part_of() {
    let older = permissions_with(&json!({"edit_topic_policy": 4, "bot_creation_policy": 2}));
    assert_eq!(
        (&older.edit_topic, &older.resolve_topics),
        (&SystemGroup::Moderators.into(), &SystemGroup::Moderators.into())
    );
    let bots = (&older.create_bots, &older.create_write_only_bots);
    assert_eq!(bots, (&SystemGroup::Administrators.into(), &SystemGroup::Members.into()));
    let managers = (&older.manage_all_groups, &older.manage_billing);
    assert_eq!(managers, (&SystemGroup::Administrators.into(), &SystemGroup::Owners.into()));
    let newer = permissions_with(&json!({"can_create_bots_group": 31, "can_resolve_topics_group": 32}));
    assert_eq!(newer.create_write_only_bots, SystemGroup::Moderators.into());
    assert_eq!(newer.resolve_topics, GroupSettingValue::Group(UserGroupId(32)));
}

#[test]
fn a_group_of_the_system_stands_for_its_policy_whoever_is_in_it() {
    let mut tables = tables();
    tables["zerver_namedusergroup"] = json!([
        {"usergroup_ptr": 30, "name": "role:members", "is_system_group": true},
        {"usergroup_ptr": 31, "name": "role:everyone", "is_system_group": true},
    ]);
    tables["zerver_usergroup"] = json!([{"id": 30}, {"id": 31}]);
    tables["zerver_usergroupmembership"] = json!([{"user_group": 30, "user_profile": 7}]);
    tables["zerver_groupgroupmembership"] = json!([{"supergroup": 31, "subgroup": 30}]);
    let ImportedOrganization { head, changes, spans, .. } = made(tables).unwrap().0;
    let realm = RealmSnapshot::from_stored_state(StoredRealmState {
        at: head,
        changed: head,
        last_id: 100,
        changes,
        spans,
        ..StoredRealmState::default()
    });
    assert_eq!(realm.realm().unwrap().rules.edit_groups, SystemGroup::Everyone.into());
    assert_eq!(realm.channel(ChannelId(20)).unwrap().post_policy, ChannelPostPolicy::Everyone);
}

#[test]
fn the_report_says_what_is_left() {
    let mut tables = tables();
    tables["zerver_realm"][0]["can_add_subscribers_group"] = json!(99);
    let (_, report) = made(tables).unwrap();
    let left = |what: &str| report.left.get(what).copied();
    assert_eq!(left("zerver_service"), Some(2));
    assert_eq!(left("pictures of users"), Some(1));
    assert_eq!(left("preferences with a value that is none here"), Some(1));
    assert_eq!(left("permissions of groups that are not in the export, which administrators have now"), Some(1));
    assert!(report.restrictions.contains("zerver_realm.can_add_subscribers_group: an unknown group"));
    assert_eq!(left("votes in polls, drafts and invitations, of which the export has none"), Some(1));
    assert_eq!((report.taken["users"], report.taken["channels"], report.taken["subscriptions"]), (4, 2, 1));
    assert_eq!(report.taken["answers to profile fields"], 1);
}

#[test]
fn a_choice_of_the_organization_that_is_not_kept_is_named_with_its_value() {
    let restrictions = [
        ("enable_read_receipts", json!(false)),
        ("message_content_allowed_in_email_notifications", json!(false)),
        ("name_changes_disabled", json!(true)),
        ("email_changes_disabled", json!(true)),
        ("avatar_changes_disabled", json!(true)),
        ("require_unique_names", json!(true)),
        ("can_access_all_users_group", json!(31)),
    ];
    let choices = [
        ("default_language", json!("de")),
        ("default_code_block_language", json!("rust")),
        ("digest_emails_enabled", json!(true)),
        ("digest_weekday", json!(4)),
        ("org_type", json!(10)),
        ("video_chat_provider", json!(4)),
        ("giphy_rating", json!(3)),
        ("invite_required", json!(false)),
        ("enable_spectator_access", json!(true)),
        ("enable_guest_user_indicator", json!(false)),
        ("zulip_update_announcements_stream", json!(20)),
        ("a_column_of_a_later_release", json!("x")),
    ];
    for (restricts, (column, value)) in
        restrictions.into_iter().map(|row| (true, row)).chain(choices.into_iter().map(|row| (false, row)))
    {
        let mut tables = tables();
        tables["zerver_realm"][0][column] = value.clone();
        let report = made(tables).unwrap().1;
        let named = format!("zerver_realm.{column} = ");
        let left: Vec<_> = report.left.keys().filter(|what| what.starts_with(&named)).collect();
        assert_eq!(left.len(), 1, "{column}: {:?}", report.left);
        assert!(value.is_i64() || left[0].ends_with(&value.to_string()), "{left:?}");
        assert_eq!(report.restrictions.iter().any(|what| what.starts_with(&named)), restricts, "{column}");
    }
    let mut tables = tables();
    tables["zerver_userprofile"][2]["default_sending_stream"] = json!(20);
    let report = made(tables).unwrap().1;
    assert_eq!(report.left["zerver_userprofile.default_sending_stream: not the usual value"], 1);
}

#[test]
fn choices_of_a_subscription_that_ended_are_named_in_the_report() {
    let left = |chosen: Value, active: bool| {
        let mut tables = tables();
        let row = &mut tables["zerver_subscription"][1];
        row["active"] = json!(active);
        row.as_object_mut().unwrap().extend(chosen.as_object().unwrap().clone());
        made(tables).unwrap().1.left.get("colors and other choices of subscriptions that ended").copied()
    };
    assert_eq!(left(json!({}), false), None);
    for chosen in [json!({"color": "#ff0000"}), json!({"pin_to_top": true}), json!({"push_notifications": true})] {
        assert_eq!(left(chosen.clone(), false), Some(1), "{chosen}");
        assert_eq!(left(chosen, true), None);
    }
}

#[test]
fn an_embedded_bot_is_an_ordinary_bot_and_its_program_is_named_in_the_report() {
    let program = "programs of embedded bots, which are ordinary bots now";
    assert!(!made(tables()).unwrap().1.left.contains_key(program));
    let mut with_embedded = tables();
    with_embedded["zerver_userprofile"][2]["bot_type"] = json!(4);
    let (organization, report) = made(with_embedded).unwrap();
    assert_eq!(report.left[program], 1);
    let bot = organization.changes.iter().find_map(|change| match change {
        RealmChange::User(user) if user.id == UserId(9) => user.bot.as_ref(),
        _ => None,
    });
    assert_eq!(bot.map(|bot| (bot.kind, bot.owner_id)), Some((BotKind::Generic, Some(UserId(7)))));
}

#[test]
fn whether_a_message_has_a_link_is_what_the_export_says() {
    let realm = loaded();
    for (content, exported, expected) in [
        ("see https://example.org", None, true),
        ("see https://example.org", Some(true), true),
        ("see https://example.org", Some(false), false),
        ("no address", None, false),
        ("no address", Some(true), true),
    ] {
        let mut file = file();
        for row in &mut file.messages {
            (row.content, row.has_link) = (content.to_owned(), exported);
        }
        let (made, _) = imported(&realm, tables(), &file);
        assert_eq!(made.len(), 2);
        assert!(made.iter().all(|made| made.message.content_flags.has_link == expected), "{content} {exported:?}");
    }
}

#[test]
fn an_export_that_could_not_be_used_is_refused() {
    let refused = |change: fn(&mut Value)| {
        let mut tables = tables();
        change(&mut tables);
        made(tables).map(|_| ()).unwrap_err()
    };
    assert_eq!(refused(|tables| tables["zerver_realm"] = json!([])), ImportError::Organizations(0));
    let same = refused(|tables| tables["zerver_userprofile"][1]["email"] = json!("ANN@x.org"));
    assert_eq!(same, ImportError::SameAddress(UserId(7), UserId(8)));
    let same = refused(|tables| tables["zerver_stream"][1]["name"] = json!("Dev"));
    assert_eq!(same, ImportError::SameChannelName(ChannelId(20), ChannelId(21)));
    let nobody = refused(|tables| tables["zerver_userprofile"][0]["role"] = json!(400));
    assert_eq!(nobody, ImportError::NoAdministrator);
}

#[test]
fn a_message_comes_with_its_readers_and_its_past() {
    let realm = loaded();
    let (made, report) = imported(&realm, tables(), &file());
    let [first, second] = made.as_slice() else { panic!("{made:?}") };
    assert_eq!(first.message.html, "<p><strong>hi</strong></p>");
    assert_eq!((first.message.sent_s, first.message.client.as_str()), (20, "website"));
    assert_eq!(first.message.last_edit_s, Some(25));
    assert!(first.message.content_flags.moved_in && first.message.content_flags.read_by_sender);
    let past = &first.past[0];
    assert_eq!((past.at_s, past.topic.clone()), (25, ("Food".to_owned(), "Lunch".to_owned())));
    assert_eq!(past.content, Some(("ho".to_owned(), "<p>ho</p>".to_owned())));
    let [from, to] = [21, 20].map(|id| Recipient::Channel(ChannelId(id)));
    assert_eq!(past.channel, Some((from, to)));
    // Bob left, but had received it: that follows from his copy.
    assert_eq!(first.readers, [(UserId(7), true), (UserId(8), false)]);
    assert_eq!(first.flags, [(UserId(7), MessageFlag::Starred), (UserId(8), MessageFlag::Mentioned)]);
    assert_eq!(second.message.direct_users, [UserId(7), UserId(8)]);
    assert_eq!(second.readers, [(UserId(7), true), (UserId(8), false)]);
    assert_eq!(report.left["messages of or to somebody the export does not have"], 1);
}

#[test]
fn who_was_away_for_long_has_read_nothing_and_who_has_no_copy_has_nothing_new() {
    let mut tables = tables();
    tables["zerver_subscription"][1]["active"] = json!(true);
    tables["zerver_realmauditlog"] = json!([
        {"id": 1, "event_type": 301, "modified_user": 7, "modified_stream": 20, "event_last_message_id": 3},
        {"id": 2, "event_type": 301, "modified_user": 8, "modified_stream": 20, "event_last_message_id": 3},
    ]);
    let ImportedOrganization { head, changes, spans, .. } = made(tables.clone()).unwrap().0;
    let realm = RealmSnapshot::from_stored_state(StoredRealmState {
        at: head,
        changed: head,
        last_id: 100,
        changes,
        spans,
        ..StoredRealmState::default()
    });
    let mut file = file();
    file.copies.clear();
    let (made, _) = imported(&realm, tables, &file);
    assert_eq!(made[0].readers, [(UserId(7), true), (UserId(8), false)]);
}

#[test]
fn reactions_come_in_their_order_and_custom_ones_are_counted() {
    let rows = json!({"zerver_reaction": [
        {"id": 9, "user_profile": 7, "message": 100, "emoji_name": "tada", "emoji_code": "1f389",
            "reaction_type": "unicode_emoji"},
        {"id": 4, "user_profile": 8, "message": 100, "emoji_name": "wave", "emoji_code": "1f44b",
            "reaction_type": "unicode_emoji"},
        {"id": 5, "user_profile": 8, "message": 100, "emoji_name": "own", "emoji_code": "3",
            "reaction_type": "realm_emoji"},
        {"id": 6, "user_profile": 99, "message": 100, "emoji_name": "wave", "emoji_code": "1f44b",
            "reaction_type": "unicode_emoji"},
    ]});
    let tables: RealmTables = serde_json::from_value(rows).unwrap();
    let mut report = TransferReport::default();
    let by_message = convert_reactions(&loaded(), &tables.reactions, &mut report);
    let names: Vec<&str> = by_message[0].1.iter().map(|reaction| reaction.emoji_name.as_str()).collect();
    assert_eq!((by_message.len(), by_message[0].0, names), (1, MessageId(100), vec!["wave", "tada"]));
    assert_eq!(report.taken["reactions"], 2);
    assert_eq!(report.left.values().sum::<u64>(), 2);
}

#[test]
fn the_log_of_an_import_goes_on_like_any_other() {
    let realm = loaded();
    let next = LogRecord::new(EventId(104), 40, Vec::new(), None);
    assert_eq!((realm.log_position(), realm.after_record(&next).log_position()), (EventId(103), EventId(104)));
}

#[test]
fn a_preference_that_is_a_number_in_an_export_is_a_word_here() {
    for (number, word) in [(1, "always"), (2, "except_followed"), (3, "never")] {
        let mut columns = serde_json::Map::new();
        columns.insert("resolved_topic_notice_auto_read_policy".to_owned(), json!(number));
        let before = columns.clone();
        codes::name_preferences(&mut columns);
        assert_eq!(columns["resolved_topic_notice_auto_read_policy"], json!(word));
        codes::number_preferences(&mut columns);
        assert_eq!(columns, before);
    }
}
