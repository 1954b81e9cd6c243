use std::ffi::OsString;
use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chat_core::id::{ChannelId, MessageId, UserId};
use chat_core::messages::store::MessageStore as _;
use chat_core::model::message::MessageFlag;
use tempfile::TempDir;

use super::*;
use crate::config;

/// An unpacked export, and the data directory of a server.
struct Place {
    export: TempDir,
    data: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { export: tempfile::tempdir().unwrap(), data: tempfile::tempdir().unwrap() };
        place.write("realm.json", &realm());
        place.write("messages-000001.json", &messages(100..103));
        place.write("messages-000002.json", &messages(103..106));
        place
            .write("attachment.json", &json!({"zerver_attachment": [{"id": 1, "owner": 7, "path_id": "2/a/b/c.txt"}]}));
        place
    }

    fn write(&self, name: &str, content: &Value) {
        fs::write(self.export.path().join(name), content.to_string()).unwrap();
    }

    fn config(&self) -> Config {
        let arguments: [OsString; 5] = [
            "chat-server".into(),
            "import".into(),
            self.export.path().into(),
            "--data-dir".into(),
            self.data.path().into(),
        ];
        config::read(arguments).unwrap()
    }

    fn config_accepting_loss(&self) -> Config {
        let flag = "--accept-lost-restrictions".into();
        let arguments: [OsString; 6] = [
            "chat-server".into(),
            "import".into(),
            self.export.path().into(),
            flag,
            "--data-dir".into(),
            self.data.path().into(),
        ];
        config::read(arguments).unwrap()
    }

    fn export(&self) -> anyhow::Result<Export> {
        Export::read(Folder::open(self.export.path())?)
    }

    async fn import(&self) -> anyhow::Result<ImportCheckpoint> {
        import(&self.config(), &self.export()?, "https://chat.example.org").await
    }

    /// Each message as both users see it.
    async fn seen(&self) -> Vec<(i64, String, Vec<Vec<MessageFlag>>, usize)> {
        let store = database::start(&self.config()).await.unwrap();
        check(&store).await.unwrap();
        let ids: Vec<MessageId> = (100..106).map(MessageId).collect();
        let mut seen: Vec<(i64, String, Vec<Vec<MessageFlag>>, usize)> = Vec::new();
        for user in [7, 8] {
            for (place, (message, flags)) in
                store.find_messages(UserId(user), &ids).await.unwrap().into_iter().enumerate()
            {
                match seen.get_mut(place) {
                    Some(known) => known.2.push(flags),
                    None => seen.push((message.id.0, message.html, vec![flags], message.reactions.len())),
                }
            }
        }
        store.flush_and_close().await;
        seen
    }
}

fn realm() -> Value {
    json!({
        "zerver_realm": [{"name": "Acme", "date_created": 10.5}],
        "zerver_userprofile": [
            {"id": 7, "email": "ann@x.org", "full_name": "Ann", "role": 100, "avatar_source": "U"},
            {"id": 8, "email": "bob@x.org", "full_name": "Bob", "role": 400},
        ],
        "zerver_stream": [{"id": 20, "name": "dev"}],
        "zerver_recipient": [{"id": 1, "type": 2, "type_id": 20}, {"id": 2, "type": 1, "type_id": 8}],
        "zerver_subscription": [{"user_profile": 7, "recipient": 1}, {"user_profile": 8, "recipient": 1}],
        "zerver_reaction": [{"id": 1, "user_profile": 8, "message": 104, "emoji_name": "tada", "emoji_code": "1f389",
            "reaction_type": "unicode_emoji"}],
        "zerver_service": [{}, {}, {}],
    })
}

fn messages(ids: std::ops::Range<i64>) -> Value {
    let message = |id: i64| json!({"id": id, "sender": 7, "recipient": 1 + id % 2, "subject": "Lunch", "date_sent": 20.5, "content": format!("no **{id}**")});
    let copies = |id: i64| {
        let copy = |user: i64, flags: i64| json!({"user_profile": user, "message": id, "flags_mask": flags});
        [copy(7, 1), copy(8, if id < 104 { 1 } else { 2 })]
    };
    let messages: Vec<Value> = ids.clone().map(message).collect();
    json!({"zerver_message": messages, "zerver_usermessage": ids.flat_map(copies).collect::<Vec<_>>()})
}

#[tokio::test]
async fn an_export_is_taken_over_and_the_report_says_what_is_not() {
    let place = Place::new();
    let mark = place.import().await.unwrap();
    assert!(mark.is_done);
    let report = report_json(&mark.report);
    assert_eq!((&report["taken_over"]["users"], &report["taken_over"]["messages"]), (&json!(2), &json!(6)));
    let left = &report["not_taken_over"];
    assert_eq!((&left["zerver_service"], &left["pictures of users"]), (&json!(3), &json!(1)));
    assert_eq!(left["uploads whose bytes are not in the export"], 1);
    let seen = place.seen().await;
    assert_eq!(seen[0], (100, "<p>no <strong>100</strong></p>".to_owned(), vec![vec![MessageFlag::Read]; 2], 0));
    let unread = vec![vec![MessageFlag::Read], vec![MessageFlag::Starred]];
    assert_eq!(seen[4], (104, "<p>no <strong>104</strong></p>".to_owned(), unread, 1));
    let store = database::start(&place.config()).await.unwrap();
    assert!(store.snapshot().subscription(ChannelId(20), UserId(8)).is_some());
    store.flush_and_close().await;
}

/// A picture of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test]
async fn a_picture_of_a_user_is_made_of_the_png_when_the_original_is_a_tiff() {
    let place = Place::new();
    let folder = place.export.path().join("avatars/2");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("7.original"), b"II*\0\x08\0\0\0\0\0").unwrap();
    fs::write(folder.join("7.png"), STANDARD.decode(PNG).unwrap()).unwrap();
    let of = |path: &str| json!({"path": path, "user_profile_id": 7});
    place.write("avatars/records.json", &json!([of("2/7.original"), of("2/7.png")]));
    let mark = place.import().await.unwrap();
    assert_eq!(report_json(&mark.report)["taken_over"]["pictures of users"], 1);
    let store = database::start(&place.config()).await.unwrap();
    assert!(store.snapshot().user(UserId(7)).unwrap().avatar_url.is_some());
    store.flush_and_close().await;
}

#[tokio::test]
async fn an_import_that_broke_off_goes_on_and_nobody_is_served_before() {
    let whole = Place::new();
    let expected = whole.import().await.unwrap();

    let place = Place::new();
    let export = place.export().unwrap();
    // What is read the second time is not what was looked through.
    place.write("messages-000002.json", &json!({"zerver_message": "gone"}));
    let broken = import(&place.config(), &export, "https://chat.example.org").await.unwrap_err();
    assert!(format!("{broken:#}").contains("messages-000002.json"), "{broken:#}");
    let store = database::start(&place.config()).await.unwrap();
    let refusal = check(&store).await.unwrap_err().to_string();
    assert!(refusal.contains("not finished") && !refusal.contains('\n'), "{refusal}");
    assert_eq!(store.import_checkpoint().await.unwrap().map(|mark| mark.steps), Some(3));
    store.flush_and_close().await;

    place.write("messages-000002.json", &messages(103..106));
    assert_eq!(place.import().await.unwrap(), expected);
    assert_eq!(place.seen().await, whole.seen().await);
    // Once more changes nothing, and says the same.
    assert_eq!(place.import().await.unwrap(), expected);
}

#[tokio::test]
async fn only_an_empty_database_is_imported_into() {
    let place = Place::new();
    place.import().await.unwrap();
    let other = Place { export: Place::new().export, data: place.data };
    let mut realm = realm();
    realm["zerver_realm"][0]["name"] = json!("Other");
    other.write("realm.json", &realm);
    let refusal = other.import().await.unwrap_err().to_string();
    assert!(refusal.contains("another export"), "{refusal}");

    let founded = Place::new();
    let store = database::start(&founded.config()).await.unwrap();
    let flags = ["chat-server", "--owner-email", "ada@example.org", "--owner-password", "correct horse"];
    let realm = config::read(flags.map(OsString::from)).unwrap().realm;
    crate::bootstrap::establish_realm(&store, &crate::passwords::Argon2id::new(), &realm).await.unwrap();
    store.flush_and_close().await;
    let refusal = founded.import().await.unwrap_err().to_string();
    assert!(refusal.contains("holds an organization already"), "{refusal}");
    let store = database::start(&founded.config()).await.unwrap();
    assert!(store.snapshot().user(UserId(7)).is_none() && store.import_checkpoint().await.unwrap().is_none());
    store.flush_and_close().await;
}

#[test]
fn a_folder_without_a_finished_export_is_refused_by_name() {
    let place = Place::new();
    let refused = |path: &Path| Folder::open(path).unwrap_err().to_string();
    assert!(refused(place.data.path()).contains("has no realm.json"));
    assert!(refused(&place.data.path().join("nowhere")).contains("nowhere"));
    place.write("messages-000003.json.partial", &json!({}));
    assert!(refused(place.export.path()).contains("messages-000003.json.partial"));
}

#[tokio::test]
async fn an_export_with_a_link_to_a_file_of_the_system_is_refused_by_name_and_nothing_is_written() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "{}").unwrap();
    fs::write(outside.path().join("records.json"), "[]").unwrap();
    let files = ["realm.json", "attachment.json", "messages-000002.json", "analytics.json", "uploads/2/a/b/c.txt"]
        .map(|link| (link, "secret"));
    let folders = ["uploads", "uploads/2/a", "avatars", "emoji", "realm_icons"].map(|link| (link, ""));
    let listed = ["avatars/2/7.png", "emoji/2/emoji/images/1.png", "realm_icons/2/icon.original"];
    let pictures = listed.map(|link| (link, "secret"));
    for (link, target) in files.into_iter().chain(folders).chain(pictures) {
        let place = Place::new();
        for path in listed {
            let (folder, below) = path.split_once('/').unwrap();
            fs::create_dir_all(place.export.path().join(path).parent().unwrap()).unwrap();
            place.write(&format!("{folder}/records.json"), &json!([{"path": below, "user_profile_id": 7}]));
        }
        let path = place.export.path().join(link);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
        } else if path.exists() {
            fs::remove_file(&path).unwrap();
        }
        std::os::unix::fs::symlink(outside.path().join(target), &path).unwrap();
        let refused = place.import().await.map(|_| link).unwrap_err().to_string();
        assert!(refused.starts_with(&format!("{} is a symbolic link", path.display())), "{refused}");
        let store = database::start(&place.config()).await.unwrap();
        assert!(store.snapshot().realm().is_none() && store.import_checkpoint().await.unwrap().is_none(), "{link}");
        store.flush_and_close().await;
    }
}

#[tokio::test]
async fn a_restriction_that_cannot_be_kept_stops_the_import_unless_the_operator_accepts_its_loss() {
    let place = Place::new();
    let mut tables = realm();
    let columns = [
        ("enable_read_receipts", json!(false)),
        ("name_changes_disabled", json!(true)),
        ("can_access_all_users_group", json!(31)),
        ("create_multiuse_invite_group", json!(30)),
        ("invite_required", json!(false)),
        ("default_language", json!("de")),
        ("avatar_changes_disabled", json!(false)),
        ("digest_weekday", json!(1)),
        ("something_new", json!(7)),
        ("nothing_new", Value::Null),
    ];
    for (column, value) in columns {
        tables["zerver_realm"][0][column] = value;
    }
    tables["zerver_namedusergroup"] = json!([
        {"id": 30, "name": "role:nobody", "is_system_group": true},
        {"id": 31, "name": "role:members", "is_system_group": true},
    ]);
    tables["zerver_userprofile"][1]["can_forge_sender"] = json!(true);
    place.write("realm.json", &tables);
    let lost = [
        "zerver_realm.can_access_all_users_group = role:members",
        "zerver_realm.enable_read_receipts = false",
        "zerver_realm.name_changes_disabled = true",
    ];
    let refused = place.import().await.unwrap_err().to_string();
    assert!(refused.contains(&lost.join(", ")) && refused.contains("--accept-lost-restrictions"), "{refused}");
    let store = database::start(&place.config()).await.unwrap();
    assert!(store.snapshot().realm().is_none() && store.import_checkpoint().await.unwrap().is_none());
    store.flush_and_close().await;

    let mark = import(&place.config_accepting_loss(), &place.export().unwrap(), "https://x.org").await.unwrap();
    let report = report_json(&mark.report);
    assert_eq!(report["restrictions_lost"], json!(lost));
    let left = report["not_taken_over"].as_object().unwrap();
    let named = [
        "zerver_realm.invite_required = false",
        "zerver_realm.default_language = \"de\"",
        "zerver_realm.something_new = 7",
        "zerver_userprofile.can_forge_sender: not the usual value",
    ];
    for name in named.into_iter().chain(lost) {
        assert_eq!(left.get(name), Some(&json!(1)), "{name}");
    }
    for name in ["avatar_changes_disabled", "digest_weekday", "nothing_new"] {
        assert!(!left.keys().any(|key| key.contains(name)), "{name}");
    }
}

#[tokio::test]
async fn a_message_to_a_bot_of_the_server_is_not_dropped() {
    let place = Place::new();
    let mut tables = realm();
    tables["zerver_userprofile_crossrealm"] = json!([{"id": 5, "email": "welcome-bot@zulip.com", "recipient_id": 77}]);
    place.write("realm.json", &tables);
    let message =
        json!({"id": 106, "sender": 8, "recipient": 77, "subject": "", "content": "hello bot", "date_sent": 9.0});
    let copy = json!({"user_profile": 8, "message": 106, "flags_mask": 1});
    place.write("messages-000003.json", &json!({"zerver_message": [message], "zerver_usermessage": [copy]}));
    let mark = place.import().await.unwrap();
    assert_eq!(mark.report.taken["messages"], 7);
    let store = database::start(&place.config()).await.unwrap();
    let found = store.find_messages(UserId(8), &[MessageId(106)]).await.unwrap();
    assert_eq!(found[0].0.direct_users, [UserId(5), UserId(8)]);
    // It is a bot of this server now, and no user of the organization.
    let bot = store.snapshot().user(UserId(5)).unwrap().clone();
    assert_eq!((bot.is_system_bot(), bot.full_name.as_str()), (true, "Welcome Bot"));
    store.flush_and_close().await;
}

#[tokio::test]
async fn copies_decide_who_received_a_message_that_was_moved() {
    let place = Place::new();
    let mut tables = realm();
    tables["zerver_stream"] = json!([
        {"id": 20, "name": "dev", "invite_only": true, "history_public_to_subscribers": false}, {"id": 21, "name": "old"},
    ]);
    place.write("realm.json", &tables);
    let moved = json!([{"user_id": 7, "timestamp": 30, "prev_stream": 21}]).to_string();
    let message = |id: i64, history: Option<&str>| {
        json!({"id": id, "sender": 7, "recipient": 1, "subject": "x", "content": "y", "date_sent": 20.5,
            "edit_history": history})
    };
    let copy = |user: i64, id: i64| json!({"user_profile": user, "message": id, "flags_mask": 1});
    // Bob came with 101; 90 was moved to where he is and given to him, 102 was not.
    let messages = json!({
        "zerver_message": [message(90, Some(&moved)), message(101, None), message(102, Some(&moved)), message(103, None)],
        "zerver_usermessage": [copy(7, 90), copy(8, 90), copy(7, 101), copy(8, 101), copy(7, 102), copy(7, 103), copy(8, 103)],
    });
    tables["zerver_realmauditlog"] = json!([
        {"id": 1, "event_type": 301, "modified_user": 7, "modified_stream": 20, "event_last_message_id": 80},
        {"id": 2, "event_type": 301, "modified_user": 8, "modified_stream": 20, "event_last_message_id": 100},
    ]);
    place.write("realm.json", &tables);
    place.write("messages-000001.json", &messages);
    place.write("messages-000002.json", &json!({"zerver_message": []}));
    place.import().await.unwrap();
    let store = database::start(&place.config()).await.unwrap();
    let ids: Vec<MessageId> = [90, 101, 102, 103].map(MessageId).into();
    let realm = store.snapshot();
    let seen = |user: i64| {
        let membership = realm.membership(ChannelId(20), UserId(user)).unwrap();
        ids.iter().filter(|id| membership.was_subscribed_at(**id)).map(|id| id.0).collect::<Vec<_>>()
    };
    assert_eq!((seen(7), seen(8)), (vec![90, 101, 102, 103], vec![90, 101, 103]));
    assert_eq!(store.find_messages(UserId(8), &[MessageId(90)]).await.unwrap().len(), 1);
    drop(realm);
    store.flush_and_close().await;
}
