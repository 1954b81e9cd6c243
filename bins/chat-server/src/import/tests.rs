use std::ffi::OsString;
use std::fs;

use chat_core::id::{ChannelId, MessageId, UserId};
use chat_core::message::Flag;
use chat_core::ports::MessageStore as _;
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

    fn export(&self) -> anyhow::Result<Export> {
        Export::read(Folder::open(self.export.path())?)
    }

    async fn import(&self) -> anyhow::Result<Mark> {
        import(&self.config(), &self.export()?, "https://chat.example.org").await
    }

    /// Each message as both users see it.
    async fn seen(&self) -> Vec<(i64, String, Vec<Vec<Flag>>, usize)> {
        let store = open(&self.config()).await.unwrap();
        check(&store).await.unwrap();
        let ids: Vec<MessageId> = (100..106).map(MessageId).collect();
        let mut seen: Vec<(i64, String, Vec<Vec<Flag>>, usize)> = Vec::new();
        for user in [7, 8] {
            for (place, (message, flags)) in store.find(UserId(user), &ids).await.unwrap().into_iter().enumerate() {
                match seen.get_mut(place) {
                    Some(known) => known.2.push(flags),
                    None => seen.push((message.id.0, message.html, vec![flags], message.reactions.len())),
                }
            }
        }
        store.stop().await;
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
    let told = told(&mark.report);
    assert_eq!((&told["taken_over"]["users"], &told["taken_over"]["messages"]), (&json!(2), &json!(6)));
    let left = &told["not_taken_over"];
    assert_eq!((&left["zerver_service"], &left["pictures of users"]), (&json!(3), &json!(1)));
    assert_eq!(left["uploads whose bytes are not in the export"], 1);
    let seen = place.seen().await;
    assert_eq!(seen[0], (100, "<p>no <strong>100</strong></p>".to_owned(), vec![vec![Flag::Read]; 2], 0));
    let unread = vec![vec![Flag::Read], vec![Flag::Starred]];
    assert_eq!(seen[4], (104, "<p>no <strong>104</strong></p>".to_owned(), unread, 1));
    let store = open(&place.config()).await.unwrap();
    assert!(store.realm().subscription(ChannelId(20), UserId(8)).is_some());
    store.stop().await;
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
    let store = open(&place.config()).await.unwrap();
    let refusal = check(&store).await.unwrap_err().to_string();
    assert!(refusal.contains("not finished") && !refusal.contains('\n'), "{refusal}");
    assert_eq!(store.import_mark().await.unwrap().map(|mark| mark.steps), Some(3));
    store.stop().await;

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
    let store = open(&founded.config()).await.unwrap();
    let flags = ["chat-server", "--owner-email", "ada@example.org", "--owner-password", "correct horse"];
    let realm = config::read(flags.map(OsString::from)).unwrap().realm;
    crate::bootstrap::establish_realm(&store, &crate::passwords::Argon2id::new(), &realm).await.unwrap();
    store.stop().await;
    let refusal = founded.import().await.unwrap_err().to_string();
    assert!(refusal.contains("holds an organization already"), "{refusal}");
    let store = open(&founded.config()).await.unwrap();
    assert!(store.realm().user(UserId(7)).is_none() && store.import_mark().await.unwrap().is_none());
    store.stop().await;
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
