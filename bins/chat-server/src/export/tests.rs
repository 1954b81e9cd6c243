use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::config;

/// The data directory of a server, and room for exports.
struct Place {
    data: TempDir,
    exports: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { data: tempfile::tempdir().unwrap(), exports: tempfile::tempdir().unwrap() }
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.exports.path().join(name)
    }

    fn config(&self, command: &str, folder: &Path) -> Config {
        let arguments: [OsString; 5] =
            ["chat-server".into(), command.into(), folder.into(), "--data-dir".into(), self.data.path().into()];
        config::read(arguments).unwrap()
    }

    async fn export(&self, name: &str) -> anyhow::Result<Report> {
        let config = self.config("export", &self.folder(name));
        let store = Store::start(database::open(&config.database).await?).await?;
        let report = export(&store, &self.folder(name)).await;
        store.stop().await;
        report
    }

    async fn import(&self, folder: &Path) {
        import::run(&self.config("import", folder), folder).await.unwrap();
    }
}

fn written(folder: &Path) -> Vec<(String, Value)> {
    let mut files: Vec<(String, Value)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| {
            let text = fs::read(entry.path()).unwrap();
            (entry.file_name().into_string().unwrap(), serde_json::from_slice(&text).unwrap())
        })
        .collect();
    files.sort_by(|one, other| one.0.cmp(&other.0));
    files
}

/// Says which row is another.
fn assert_same(files: &[(String, Value)], others: &[(String, Value)]) {
    for ((name, tables), (_, other)) in files.iter().zip(others) {
        for (table, rows) in other.as_object().unwrap() {
            let (rows, now) = (rows.as_array().unwrap(), tables[table].as_array().unwrap());
            for (row, now) in rows.iter().zip(now) {
                assert_eq!(now, row, "{name} {table}");
            }
            assert_eq!(now.len(), rows.len(), "{name} {table}");
        }
    }
    assert!(files == others);
}

/// An organization of more messages than one file holds.
fn elsewhere(folder: &Path) {
    let message = |id: i64| json!({"id": id, "sender": 7, "recipient": 1 + id % 2, "subject": "Lunch", "date_sent": 20.5, "content": format!("no **{id}**")});
    let copies = |id: i64| {
        let copy = |user: i64, flags: i64| json!({"user_profile": user, "message": id, "flags_mask": flags});
        [copy(7, 1), copy(8, if id < 700 { 1 } else { 2 })]
    };
    let realm = json!({
        "zerver_realm": [{"name": "Acme", "date_created": 10.5}],
        "zerver_userprofile": [
            {"id": 7, "email": "ann@x.org", "full_name": "Ann", "role": 100},
            {"id": 8, "email": "bob@x.org", "full_name": "Bob", "role": 400},
        ],
        "zerver_stream": [{"id": 20, "name": "dev"}],
        "zerver_recipient": [{"id": 1, "type": 2, "type_id": 20}, {"id": 2, "type": 1, "type_id": 8}],
        "zerver_subscription": [{"user_profile": 7, "recipient": 1}, {"user_profile": 8, "recipient": 1}],
    });
    let messages = json!({
        "zerver_message": (1..=1_500).map(message).collect::<Vec<_>>(),
        "zerver_usermessage": (1..=1_500).flat_map(copies).collect::<Vec<_>>(),
    });
    fs::write(folder.join("realm.json"), realm.to_string()).unwrap();
    fs::write(folder.join("messages-000001.json"), messages.to_string()).unwrap();
}

#[tokio::test]
async fn what_was_exported_imported_and_exported_again_is_the_same() {
    let (first, second, source) = (Place::new(), Place::new(), tempfile::tempdir().unwrap());
    elsewhere(source.path());
    first.import(source.path()).await;
    let report = first.export("one").await.unwrap();
    assert_eq!((report.taken["messages"], report.taken["users"]), (1_500, 2));
    assert_eq!(report.left["passwords and keys, which no export has: people need others where they go"], 2);
    let one = written(&first.folder("one"));
    let names: Vec<&str> = one.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["messages-000001.json", "messages-000002.json", "realm.json"]);
    assert_eq!(one[1].1["zerver_message"].as_array().map(Vec::len), Some(500));
    second.import(&first.folder("one")).await;
    second.export("two").await.unwrap();
    assert_same(&written(&second.folder("two")), &one);
}

#[tokio::test]
async fn an_export_is_its_owners_alone_and_has_no_secret() {
    let (place, source) = (Place::new(), tempfile::tempdir().unwrap());
    elsewhere(source.path());
    place.import(source.path()).await;
    place.export("one").await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&place.folder("one")), 0o700);
    let config = place.config("export", &place.folder("one"));
    let store = Store::start(database::open(&config.database).await.unwrap()).await.unwrap();
    let key = store.credentials(chat_core::id::UserId(7)).await.unwrap().unwrap().api_key.unwrap();
    store.stop().await;
    for entry in fs::read_dir(place.folder("one")).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        assert!(!fs::read_to_string(&path).unwrap().contains(key.expose()), "{}", path.display());
    }
}

#[tokio::test]
async fn only_a_new_or_empty_folder_is_written() {
    let (place, source) = (Place::new(), tempfile::tempdir().unwrap());
    elsewhere(source.path());
    let refused = |done: anyhow::Result<Report>| format!("{:#}", done.unwrap_err());
    assert!(refused(place.export("one").await).contains("no organization"));
    assert!(!place.folder("one").exists() && !place.folder("one.partial").exists());
    place.import(source.path()).await;
    fs::create_dir(place.folder("full")).unwrap();
    fs::write(place.folder("full").join("note"), "mine").unwrap();
    assert!(refused(place.export("full").await).contains("has something in it"));
    assert_eq!(fs::read_dir(place.folder("full")).unwrap().count(), 1);
    fs::create_dir(place.folder("empty")).unwrap();
    place.export("empty").await.unwrap();
    assert!(place.folder("empty").join("realm.json").is_file());
    // One that was not finished is in the way of another, and is no export.
    fs::create_dir(place.folder("two.partial")).unwrap();
    assert!(refused(place.export("two").await).contains("two.partial"));
    assert!(!place.folder("two").exists());
    fs::copy(place.folder("empty").join("realm.json"), place.folder("two.partial").join("realm.json")).unwrap();
    let config = place.config("import", &place.folder("two.partial"));
    let unfinished = import::run(&config, &place.folder("two.partial")).await.unwrap_err().to_string();
    assert!(unfinished.contains("was not finished"), "{unfinished}");
}
