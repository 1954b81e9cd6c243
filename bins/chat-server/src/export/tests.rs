use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;
use crate::config;

/// The data directory of a server, and room for exports.
pub(super) struct Place {
    pub(super) data: TempDir,
    exports: TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        Self { data: tempfile::tempdir().unwrap(), exports: tempfile::tempdir().unwrap() }
    }

    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.exports.path().join(name)
    }

    pub(super) fn config(&self, command: &str, folder: &Path) -> Config {
        let arguments: [OsString; 5] =
            ["chat-server".into(), command.into(), folder.into(), "--data-dir".into(), self.data.path().into()];
        config::read(arguments).unwrap()
    }

    async fn export(&self, name: &str) -> anyhow::Result<TransferReport> {
        let config = self.config("export", &self.folder(name));
        let store = ChatStore::start_without_secret(database::open(&config.database).await?).await?;
        let report = export(&store, &Files::open(&config)?, (&self.folder(name), OriginalServerRelease::R11_0)).await;
        store.flush_and_close().await;
        report
    }

    pub(super) async fn import(&self, folder: &Path) {
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

/// A picture of four pixels.
const PICTURE: &[u8] =
    b"\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x02\x00\x00\x00\x02\x08\
    \x02\x00\x00\x00\xfd\xd4\x9a\x73\x00\x00\x00\x15\x49\x44\x41\x54\x78\x9c\x63\x38\xc1\xc0\x70\x82\x21\
    \x8a\xe1\x84\x1c\x10\x45\x01\x00\x1d\x0a\x04\x11\x1d\xb2\xa1\xaf\x00\x00\x00\x00\x49\x45\x4e\x44\xae\
    \x42\x60\x82";
/// Where an upload was.
const UPLOAD: &str = "2/3f/9cAB_-x/my-plan.png";

/// Files as another server has them, and tables that tell of them.
fn with_files(folder: &Path) {
    let put = |path: &str, bytes: &[u8]| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    put(&format!("uploads/{UPLOAD}"), PICTURE);
    put("uploads/2/3f/9cAB_-y/note.txt", b"hello");
    put("avatars/2/5c1f.original", PICTURE);
    put("avatars/2/5c1f.png", b"not looked at");
    put("emoji/2/emoji/images/3.png", PICTURE);
    put("emoji/2/emoji/images/4.png", b"no picture");
    put("realm_icons/2/icon.png", b"not looked at");
    put("realm_icons/2/icon.original", PICTURE);
    put("realm_icons/2/logo.original", b"no picture");
    put("realm_icons/2/night_logo.png", PICTURE);
    put("secret.txt", b"not in a folder of files");
    let avatar = |path: &str| json!({"path": path, "s3_path": path, "user_profile_id": 7});
    let outside = json!({"path": "../secret.txt", "user_profile_id": 8});
    put(
        "avatars/records.json",
        json!([avatar("2/5c1f.png"), avatar("2/5c1f.original"), outside]).to_string().as_bytes(),
    );
    let emoji = |name: &str| json!({"path": format!("2/emoji/images/{name}"), "file_name": name});
    put("emoji/records.json", json!([emoji("3.png"), emoji("4.png")]).to_string().as_bytes());
    let image = |name: &str| json!({"path": format!("2/{name}"), "realm_id": 2});
    let images = ["icon.png", "icon.original", "logo.original", "night_logo.png"].map(image);
    put("realm_icons/records.json", json!(images).to_string().as_bytes());
    let attachment = |id: i64, path: &str, messages: &[i64]| json!({"id": id, "owner": 7, "path_id": path, "file_name": "my plan.png", "create_time": 9, "messages": messages});
    let attachments = [
        attachment(1, UPLOAD, &[2]),
        attachment(2, "2/3f/9cAB_-y/note.txt", &[]),
        attachment(3, "2/gone.txt", &[]),
        attachment(4, "../secret.txt", &[]),
    ];
    put("attachment.json", json!({"zerver_attachment": attachments}).to_string().as_bytes());
    let mut realm: Value = serde_json::from_slice(&fs::read(folder.join("realm.json")).unwrap()).unwrap();
    for user in 0..2 {
        realm["zerver_userprofile"][user]["avatar_source"] = json!("U");
        realm["zerver_userprofile"][user]["avatar_version"] = json!(5);
    }
    for name in ["icon", "logo", "night_logo"] {
        realm["zerver_realm"][0][format!("{name}_source")] = json!("U");
    }
    let emoji = |id: i64, name: &str| json!({"id": id, "author": 8, "name": name, "file_name": format!("{id}.png")});
    realm["zerver_realmemoji"] = json!([emoji(3, "party"), emoji(4, "broken")]);
    let reaction = |id: i64, code: &str| json!({"id": id, "user_profile": 8, "message": 2, "emoji_name": "party", "emoji_code": code, "reaction_type": "realm_emoji"});
    realm["zerver_reaction"] = json!([reaction(1, "3"), reaction(2, "4")]);
    put("realm.json", realm.to_string().as_bytes());
    let file = folder.join("messages-000001.json");
    let mut messages: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    messages["zerver_message"][1]["content"] = json!(format!(":party: [plan](/user_uploads/{UPLOAD})"));
    fs::write(file, messages.to_string()).unwrap();
}

/// Every file below the folder, with what is in it.
fn all_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[tokio::test]
async fn files_go_along_and_come_back_as_they_are_kept() {
    let (first, second, source) = (Place::new(), Place::new(), tempfile::tempdir().unwrap());
    elsewhere(source.path());
    with_files(source.path());
    first.import(source.path()).await;
    let report = first.export("one").await.unwrap();
    let taken = |what: &str| report.taken.get(what).copied();
    assert_eq!((taken("uploads"), taken("pictures of users"), taken("custom emoji")), (Some(2), Some(1), Some(1)));
    assert_eq!(taken("pictures of the organization"), Some(2));
    let one = all_files(&first.folder("one"));
    let within = |folder: &str| one.keys().filter(|name| name.starts_with(folder)).cloned().collect::<Vec<_>>();
    assert_eq!((within("uploads/").len(), within("avatars/").len(), within("emoji/").len()), (3, 3, 2));
    let images = ["icon.original", "icon.png", "night_logo.original", "night_logo.png"];
    let images: Vec<String> = images.iter().map(|name| format!("realm_icons/1/{name}")).collect();
    assert_eq!(within("realm_icons/1/"), images);
    let plan = within("uploads/").into_iter().find(|name| name.ends_with("/my-plan.png")).unwrap();
    assert_eq!(one[&plan], PICTURE);
    let path = plan.strip_prefix("uploads/").unwrap();
    let messages = String::from_utf8(one["messages-000001.json"].clone()).unwrap();
    assert!(messages.contains(&format!("[plan](/user_uploads/{path})")) && !messages.contains(UPLOAD));
    assert!(messages.contains("/user_avatars/2/emoji/images/"), "the emoji is shown in the message");
    let realm: Value = serde_json::from_slice(&one["realm.json"]).unwrap();
    let source = |name: &str| realm["zerver_realm"][0][format!("{name}_source")].as_str();
    assert_eq!(["icon", "logo", "night_logo"].map(source), ["U", "D", "U"].map(Some));
    let ann = &realm["zerver_userprofile"][0];
    assert_eq!((&ann["avatar_source"], &ann["avatar_version"]), (&json!("U"), &json!(5)));
    assert_eq!(realm["zerver_userprofile"][1]["avatar_source"], "G");
    assert_eq!(
        (realm["zerver_realmemoji"].as_array().unwrap().len(), realm["zerver_reaction"].as_array().unwrap().len()),
        (1, 1)
    );
    second.import(&first.folder("one")).await;
    second.export("two").await.unwrap();
    let two = all_files(&second.folder("two"));
    assert_eq!(two.keys().collect::<Vec<_>>(), one.keys().collect::<Vec<_>>());
    for (name, bytes) in &one {
        assert!(two[name] == *bytes, "{name}");
    }
}

#[tokio::test]
async fn files_of_an_import_that_broke_off_are_there_once_when_it_went_on() {
    let (place, source) = (Place::new(), tempfile::tempdir().unwrap());
    elsewhere(source.path());
    with_files(source.path());
    let config = place.config("import", source.path());
    let file = source.path().join("messages-000002.json");
    let more = json!({"zerver_message": [{"id": 2_000, "sender": 7, "recipient": 1, "content": "hm", "date_sent": 1}]});
    fs::write(&file, more.to_string()).unwrap();
    let export = import::read(source.path()).unwrap();
    fs::write(&file, "{").unwrap();
    import::import(&config, &export, "https://chat.example.org").await.unwrap_err();
    let kept = all_files(&place.data.path().join("files"));
    assert_eq!(kept.len(), 7, "{:?}", kept.keys());
    fs::write(&file, more.to_string()).unwrap();
    place.import(source.path()).await;
    assert!(all_files(&place.data.path().join("files")) == kept);
    let report = place.export("one").await.unwrap();
    assert_eq!((report.taken["uploads"], report.taken["messages"]), (2, 1_501));
    // Bytes that are gone are counted, and nothing else is missing.
    let note = kept.keys().find(|name| name.ends_with("/note.txt") || name.contains("uploads")).unwrap();
    fs::remove_file(place.data.path().join("files").join(note)).unwrap();
    assert_eq!(place.export("two").await.unwrap().left["files whose bytes are gone"], 1);
}

/// Says which row is another.
fn assert_same(files: &[(String, Value)], others: &[(String, Value)]) {
    for ((name, tables), (_, other)) in files.iter().zip(others) {
        for (table, rows) in other.as_object().unwrap() {
            let (Some(rows), Some(now)) = (rows.as_array(), tables[table].as_array()) else { continue };
            for (row, now) in rows.iter().zip(now) {
                assert_eq!(now, row, "{name} {table}");
            }
            assert_eq!(now.len(), rows.len(), "{name} {table}");
        }
    }
    assert!(files == others);
}

/// An organization of more messages than one file holds.
pub(super) fn elsewhere(folder: &Path) {
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
        "zerver_stream": [{"id": 20, "name": "dev", "folder": 60}],
        "zerver_channelfolder": [
            {"id": 60, "name": "Work", "description": "a *b*", "date_created": 15.5, "creator": 7, "order": 3}
        ],
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
    let expected =
        ["attachment.json", "messages-000001.json", "messages-000002.json", "migration_status.json", "realm.json"];
    assert_eq!(names, expected);
    assert_known_columns(OriginalServerRelease::R11_0, &one);
    // An original compares the major number, and finds no step of its schema that is not its own.
    assert_eq!(one[3].1, json!({"migrations_by_app": {}, "zulip_version": "11.0"}));
    assert_eq!(one[2].1["zerver_message"].as_array().map(Vec::len), Some(500));
    let folder = json!({"id": 60, "realm": 1, "name": "Work", "description": "a *b*", "order": 3, "creator": 7,
        "rendered_description": "<p>a <em>b</em></p>", "date_created": 15, "is_archived": false});
    assert_eq!(
        (&one[4].1["zerver_channelfolder"], &one[4].1["zerver_stream"][0]["folder"]),
        (&json!([folder]), &json!(60))
    );
    second.import(&first.folder("one")).await;
    second.export("two").await.unwrap();
    assert_same(&written(&second.folder("two")), &one);
}

#[tokio::test]
async fn files_and_tables_that_the_original_asks_for_are_there_with_nothing_in_them() {
    let (place, source) = (Place::new(), tempfile::tempdir().unwrap());
    elsewhere(source.path());
    place.import(source.path()).await;
    place.export("one").await.unwrap();
    let read =
        |path: &str| -> Value { serde_json::from_slice(&fs::read(place.folder("one").join(path)).unwrap()).unwrap() };
    for folder in ["uploads", "avatars", "emoji", "realm_icons"] {
        assert_eq!(read(&format!("{folder}/records.json")), json!([]), "{folder}");
    }
    assert_eq!(read("attachment.json"), json!({"zerver_attachment": []}));
    let realm = read("realm.json");
    for table in
        ["zerver_userprofile_mirrordummy", "zerver_userprofile_crossrealm", "zerver_huddle", "zerver_userpresence"]
    {
        assert_eq!(realm[table], json!([]), "{table}");
    }
    assert_eq!(realm["import_source"], "zulip");
    let message = &read("messages-000001.json")["zerver_message"][0];
    assert_eq!(message["realm"], realm["zerver_realm"][0]["id"]);
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
    let store = ChatStore::start_without_secret(database::open(&config.database).await.unwrap()).await.unwrap();
    let key = store.load_credentials(chat_core::id::UserId(7)).await.unwrap().unwrap().api_key.unwrap();
    store.flush_and_close().await;
    for (name, bytes) in all_files(&place.folder("one")) {
        let path = place.folder("one").join(&name);
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700), "{name}");
        assert!(!String::from_utf8(bytes).unwrap().contains(key.expose()), "{name}");
    }
}

#[tokio::test]
async fn only_a_new_or_empty_folder_is_written() {
    let (place, source) = (Place::new(), tempfile::tempdir().unwrap());
    elsewhere(source.path());
    let refused = |done: anyhow::Result<TransferReport>| format!("{:#}", done.unwrap_err());
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

/// Tables of a release and their columns. What a table of the release has and is not written here is not in the file.
fn columns_of(release: OriginalServerRelease) -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let text = match release {
        OriginalServerRelease::R9_2 => include_str!("tests/columns_9_2.txt"),
        OriginalServerRelease::R11_0 => include_str!("tests/columns_11_0.txt"),
    };
    let mut tables: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let mut table = "";
    for line in text.lines() {
        if let Some(columns) = line.strip_prefix("    ") {
            tables.entry(table).or_default().extend(columns.split(' '));
        } else {
            table = line;
        }
    }
    tables
}

/// Panics when a row has a column that its release does not know.
#[track_caller]
fn assert_known_columns(release: OriginalServerRelease, files: &[(String, Value)]) {
    let known = columns_of(release);
    let tables = files.iter().filter_map(|(_, file)| file.as_object()).flatten();
    for (table, rows) in tables {
        // Accounts of one kind are in their own table. An original takes in neither addresses nor drafts.
        let of = if table == "zerver_userprofile_mirrordummy" { "zerver_userprofile" } else { table.as_str() };
        let rows = rows.as_array().into_iter().flatten().filter_map(Value::as_object);
        let columns: BTreeSet<&str> = rows.flat_map(|row| row.keys().map(String::as_str)).collect();
        let Some(known) = known.get(of) else {
            let is_read = release == OriginalServerRelease::R11_0 && of.starts_with("zerver_") && of != "zerver_draft";
            assert!(columns.is_empty() || !is_read, "the table {table} is not known");
            continue;
        };
        let unknown: Vec<_> = columns.difference(known).collect();
        assert!(unknown.is_empty(), "{table}: {unknown:?}");
    }
}

#[tokio::test]
async fn an_export_for_an_older_release_has_the_columns_of_that_release_and_no_others() {
    let (first, second, source) = (Place::new(), Place::new(), tempfile::tempdir().unwrap());
    elsewhere(source.path());
    let path = source.path().join("realm.json");
    let mut realm: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    realm["zerver_realm"][0]["edit_topic_policy"] = json!(4);
    realm["zerver_stream"][0]["stream_post_policy"] = json!(4);
    // That release has no folders, so they would not come back.
    realm["zerver_stream"][0]["folder"] = Value::Null;
    realm.as_object_mut().unwrap().remove("zerver_channelfolder");
    realm["zerver_userprofile_crossrealm"] =
        json!([{"id": 5, "email": "notification-bot@zulip.com", "recipient_id": 9}]);
    realm["zerver_defaultstream"] = json!([{"stream": 20}]);
    realm["zerver_realmuserdefault"] = json!([{"enter_sends": true}]);
    realm["zerver_scheduledmessage"] = json!([{"id": 1_600, "sender": 7, "recipient": 1, "subject": "Later",
        "content": "hi", "scheduled_timestamp": 5_000, "delivery_type": 1}]);
    fs::write(&path, realm.to_string()).unwrap();
    first.import(source.path()).await;
    let config = first.config("export", &first.folder("old"));
    let store = ChatStore::start_without_secret(database::open(&config.database).await.unwrap()).await.unwrap();
    let files = Files::open(&config).unwrap();
    export(&store, &files, (&first.folder("old"), OriginalServerRelease::R9_2)).await.unwrap();
    store.flush_and_close().await;

    let written = written(&first.folder("old"));
    let tables = |file: &str| &written.iter().find(|(name, _)| name == file).unwrap().1;
    let realm = tables("realm.json");
    let row = &realm["zerver_realm"][0];
    assert_known_columns(OriginalServerRelease::R9_2, &written);
    assert_eq!((&row["edit_topic_policy"], &row["enable_read_receipts"]), (&json!(4), &json!(true)));
    for (column, usual) in [("wildcard_mention_policy", 5), ("bot_creation_policy", 1), ("invite_to_realm_policy", 1)] {
        assert_eq!(row[column], usual, "{column}");
    }
    let channel = &realm["zerver_stream"][0];
    assert_eq!((&channel["stream_post_policy"], channel.get("can_send_message_group")), (&json!(4), None));
    assert_eq!((channel.get("folder"), channel.get("can_subscribe_group")), (None, None));
    assert_eq!(realm.get("zerver_channelfolder"), None);
    let group = &realm["zerver_namedusergroup"][0];
    assert_eq!((group.get("deactivated"), group["can_mention_group"].is_i64()), (None, true));
    assert_eq!(realm["zerver_realmauditlog"][0].get("modified_channel_folder"), None);
    let message = &tables("messages-000001.json")["zerver_message"][0];
    assert_eq!((message.get("is_channel_message"), &message["rendered_content_version"]), (None, &json!(1)));
    // A bot that every server has is not one of the organization's.
    let bot = &realm["zerver_userprofile_crossrealm"][0];
    assert_eq!((&bot["id"], &bot["email"]), (&json!(5), &json!("notification-bot@zulip.com")));
    let is_bots = |row: &&Value| row["recipient"] == bot["recipient_id"] || row["id"] == bot["recipient_id"];
    assert!(realm["zerver_userprofile"].as_array().unwrap().iter().all(|user| user["id"] != 5));
    assert!(realm["zerver_recipient"].as_array().unwrap().iter().find(is_bots).is_none());
    assert!(realm["zerver_subscription"].as_array().unwrap().iter().find(is_bots).is_none());

    second.import(&first.folder("old")).await;
    second.export("new").await.unwrap();
    first.export("newest").await.unwrap();
    let newest = self::written(&first.folder("newest"));
    assert_known_columns(OriginalServerRelease::R11_0, &newest);
    assert_eq!(written.iter().find(|(name, _)| name == "migration_status.json"), None);
    assert_same(&self::written(&second.folder("new")), &newest);
}
