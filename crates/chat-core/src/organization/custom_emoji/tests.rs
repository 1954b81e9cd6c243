use super::*;
use crate::id::UserId;
use crate::model::group::SystemGroup;
use crate::model::realm::RealmPermissionSettings;
use crate::testing;

fn pictures() -> CustomEmojiImageUrls {
    CustomEmojiImageUrls { source_url: "/user_avatars/1/emoji/images/a.png".to_owned(), still_url: None }
}

fn added(realm: &RealmSnapshot, user: i64, name: &str) -> Result<RealmSnapshot, CustomEmojiError> {
    let mut commit = RealmCommit::default();
    add_custom_emoji(realm, realm.user(UserId(user)).unwrap(), (name, &pictures()), &mut commit)?;
    Ok(realm.preview_changes(&commit.changes))
}

fn refused(realm: &RealmSnapshot, user: i64, name: &str) -> String {
    added(realm, user, name).unwrap_err().to_string()
}

fn taken_out(realm: &RealmSnapshot, user: i64, name: &str) -> Result<RealmSnapshot, CustomEmojiError> {
    let mut commit = RealmCommit::default();
    deactivate_custom_emoji(realm, realm.user(UserId(user)).unwrap(), name, &mut commit)?;
    Ok(realm.preview_changes(&commit.changes))
}

#[test]
fn a_name_is_of_small_letters_and_ends_in_one() {
    let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
    for (written, kept) in [("green_tick", "green_tick"), (" my own tick ", "my_own_tick"), ("a-1", "a-1"), ("7", "7")]
    {
        assert_eq!(check_new_custom_emoji(&realm, realm.user(UserId(4)).unwrap(), written, 0), Ok(kept.to_owned()));
    }
    let characters =
        "Emoji names must contain only lowercase English letters, digits, spaces, dashes, and underscores.";
    for written in ["Tick", "tick!", "häkchen", "../tick", "a\tb"] {
        assert_eq!(refused(&realm, 4, written), characters, "{written}");
    }
    assert_eq!(refused(&realm, 4, "tick_"), "Emoji names must end with either a letter or digit.");
    assert_eq!(refused(&realm, 4, "  "), "Emoji name is missing");
    assert_eq!(refused(&realm, 4, &"a".repeat(101)), "emoji_name is too long (limit: 100 characters)");
}

#[test]
fn who_may_add_one_the_realm_says() {
    let open = testing::realm(RealmPermissionSettings::default(), Vec::new());
    assert!(added(&open, 4, "tick").is_ok());
    assert_eq!(refused(&open, 6, "tick"), "Not allowed for guest users");
    let rules = RealmPermissionSettings {
        add_custom_emoji: SystemGroup::Administrators.into(),
        ..RealmPermissionSettings::default()
    };
    let closed = testing::realm(rules, Vec::new());
    assert_eq!(refused(&closed, 4, "tick"), "Insufficient permission");
    assert!(added(&closed, 2, "tick").is_ok());
}

#[test]
fn a_name_in_use_is_taken_and_one_out_of_use_is_free() {
    let realm = added(&testing::realm(RealmPermissionSettings::default(), Vec::new()), 4, "tick").unwrap();
    assert_eq!(refused(&realm, 3, "tick"), "A custom emoji with this name already exists.");
    let without = taken_out(&realm, 4, "tick").unwrap();
    let again = added(&without, 3, "tick").unwrap();
    assert_eq!(again.realm_items(RealmItemKind::Emoji).count(), 2);
    assert_eq!(in_use(&again, "tick").unwrap().1["author_id"], 3);
}

#[test]
fn only_administrators_give_a_default_emoji_another_picture() {
    let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
    for name in ["smile", "thumbs_up", "zulip"] {
        assert_eq!(refused(&realm, 4, name), "Only administrators can override default emoji.", "{name}");
        assert!(added(&realm, 2, name).is_ok(), "{name}");
    }
}

#[test]
fn who_added_one_or_administers_takes_it_out_of_use() {
    let realm = added(&testing::realm(RealmPermissionSettings::default(), Vec::new()), 4, "tick").unwrap();
    assert_eq!(taken_out(&realm, 3, "tick").unwrap_err(), CustomEmojiError::NotAuthor);
    assert_eq!(taken_out(&realm, 3, "nope").unwrap_err().to_string(), "Emoji 'nope' does not exist");
    for user in [4, 2] {
        let gone = taken_out(&realm, user, "tick").unwrap();
        let (_, emoji) = gone.realm_items(RealmItemKind::Emoji).next().unwrap();
        assert_eq!((&emoji["deactivated"], &emoji["name"]), (&json!(true), &json!("tick")));
        assert_eq!(taken_out(&gone, user, "tick").unwrap_err(), CustomEmojiError::NotFound("tick".to_owned()));
    }
}

#[test]
fn everybody_is_told_all_of_them() {
    let realm = added(&testing::realm(RealmPermissionSettings::default(), Vec::new()), 4, "tick").unwrap();
    let mut commit = RealmCommit::default();
    let id = add_custom_emoji(&realm, realm.user(UserId(3)).unwrap(), ("crossed", &pictures()), &mut commit).unwrap();
    assert_eq!(commit.events[0].audience, EventAudience::Everyone);
    let body = serde_json::to_value(&commit.events[0].body).unwrap();
    let event = &body["plain"]["event"];
    assert_eq!((&event["type"], &event["op"]), (&json!("realm_emoji"), &json!("update")));
    let map = event["realm_emoji"].as_object().unwrap();
    let emoji = json!({
        "name": "crossed",
        "source_url": "/user_avatars/1/emoji/images/a.png",
        "still_url": null,
        "deactivated": false,
        "author_id": 3,
        "id": id.to_string(),
    });
    assert_eq!((map.len(), &map[&id.to_string()]), (2, &emoji));
}
