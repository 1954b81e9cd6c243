//! What people see of an organization that was handed out and taken over elsewhere: what they saw before.

use std::collections::BTreeMap;

use chat_core::event_log::store::RealmStore as _;
use chat_core::files::{AttachmentStore as _, PathId};
use chat_core::id::UserId;
use chat_core::import_export::export::{
    ExportContent, ExportStore as _, ExportTableFile, ExportWriteError, ExportWriter, ExportedUploadFile,
    OrganizationExport,
};
use chat_core::import_export::import::export_tables::{MessageFile, RealmTables};
use chat_core::import_export::import::{
    self, ImportCheckpoint, ImportReferences, ImportStepOutcome, ImportStore as _, ImportedImageUrls, MessageSurvey,
    OrganizationImportSource, TransferReport,
};
use chat_core::model::realm_change::RealmItemKind;
use chat_core::model::render_context::{RenderContext, RenderSettings};
use chat_core::model::role::Role;
use chat_core::model::user::ApiKey;
use chat_core::organization::custom_emoji;
use chat_storage::{ChatDatabase, ChatStore};
use serde_json::{Map, Value, json};

use crate::file_store::{form, png};
use crate::test_app::{NOW_S, Person, TestApp};

/// What was written, by sheet and table.
#[derive(Debug, Default, PartialEq)]
struct Desk(BTreeMap<ExportTableFile, Map<String, Value>>);

impl ExportWriter for Desk {
    fn expect_messages(&mut self, _: u64) {}

    fn write_row(&mut self, sheet: ExportTableFile, table: &'static str, row: Value) -> Result<(), ExportWriteError> {
        let rows = self.0.entry(sheet).or_default().entry(table).or_insert_with(|| json!([]));
        rows.as_array_mut().unwrap().push(row);
        Ok(())
    }

    fn add_uploaded_file(&mut self, _: ExportedUploadFile) {}
}

async fn exported(store: &ChatStore) -> Desk {
    let mut desk = Desk::default();
    store
        .export_organization(&mut OrganizationExport::new(
            &mut desk,
            chat_core::import_export::export::OriginalServerRelease::R11_0,
            NOW_S,
        ))
        .await
        .unwrap();
    desk
}

/// Takes it over into an empty database. The bytes of files are where they were.
async fn imported(desk: &Desk, from: &ChatStore, folder: &std::path::Path) -> ChatStore {
    let text = |sheet: ExportTableFile| serde_json::to_string(&desk.0[&sheet]).unwrap();
    let mut tables: RealmTables = serde_json::from_str(&text(ExportTableFile::Organization)).unwrap();
    let uploads: RealmTables = serde_json::from_str(&text(ExportTableFile::Attachments)).unwrap();
    tables.attachments = uploads.attachments;
    let file: MessageFile = serde_json::from_str(&text(ExportTableFile::Messages(1))).unwrap();
    let mut survey = MessageSurvey::default();
    survey.add_file(&file);
    let uploads = import::convert_uploads(&tables, "a");
    let atlas = ImportReferences::from_tables(&tables, &survey).with_uploads(&uploads);
    let pictures = pictures(from);
    let source = OrganizationImportSource { tables: &tables, survey: &survey, pictures: &pictures };
    let mut seed = 100;
    let key = || {
        seed += 1;
        ApiKey::from_random(&[seed; 64])
    };
    let mut report = TransferReport::default();
    let made = import::convert_organization(source, "https://chat.example.org", key, &mut report).unwrap();
    let mark = |steps: i64| ImportCheckpoint {
        source: "a".to_owned(),
        steps,
        is_done: steps == 5,
        report: TransferReport::default(),
    };
    let store =
        ChatStore::start_without_secret(ChatDatabase::open_and_migrate(None, folder, 4).await.unwrap()).await.unwrap();
    assert_eq!(store.import_organization(&made, &mark(1)).await.unwrap(), ImportStepOutcome::Done);
    store.flush_and_close().await;
    let store =
        ChatStore::start_without_secret(ChatDatabase::open_and_migrate(None, folder, 4).await.unwrap()).await.unwrap();
    let realm = store.snapshot();
    let render_context = RenderContext::from_realm(&realm);
    let setting = RenderSettings {
        realm_url: "https://chat.example.org",
        render_context: &render_context,
        uploads: None,
        now_s: NOW_S,
    };
    let paths: Vec<PathId> = uploads.iter().map(|upload| upload.path_id.clone()).collect();
    let kept = from.attachments_at_paths(&paths).await.unwrap();
    assert_eq!(store.import_uploads(&kept, &mark(2)).await.unwrap(), ImportStepOutcome::Done);
    let messages = import::convert_messages(&setting, &realm, &atlas, (&file, &kept), &mut report);
    assert_eq!(store.import_messages(&messages, &mark(3)).await.unwrap(), ImportStepOutcome::Done);
    let things = import::convert_drafts_and_bot_storage(&setting, &realm, (&tables, &atlas), &mut report);
    assert_eq!(store.import_drafts_and_bot_storage(&things, &mark(4)).await.unwrap(), ImportStepOutcome::Done);
    let reactions = import::convert_reactions(&realm, &tables.reactions, &mut report);
    assert_eq!(store.import_reactions(&reactions, &mark(5)).await.unwrap(), ImportStepOutcome::Done);
    let others = ["zerver_huddle", "zerver_realmauthenticationmethod"];
    report.left.retain(|what, _| !what.starts_with("passwords") && !others.contains(&what.as_str()));
    assert!(report.left.is_empty(), "{report:?}");
    store
}

fn pictures(from: &ChatStore) -> ImportedImageUrls {
    let realm = from.snapshot();
    let avatars = realm.users().filter_map(|user| Some((user.id, user.avatar_url.clone()?))).collect();
    let url = |emoji: &Value, key: &str| emoji[key].as_str().map(str::to_owned);
    let emoji = realm.realm_items(RealmItemKind::Emoji);
    let emoji: std::collections::HashMap<_, _> =
        emoji.map(|(id, emoji)| (id, (url(emoji, "source_url").unwrap(), url(emoji, "still_url")))).collect();
    assert!(emoji.values().all(|(url, _)| url.starts_with(custom_emoji::CUSTOM_EMOJI_IMAGE_FOLDER)));
    ImportedImageUrls { avatars, emoji, ..ImportedImageUrls::default() }
}

/// Does something of everything.
struct Life<'a> {
    app: &'a TestApp,
    ada: Person,
    bob: Person,
    eve: Person,
}

impl Life<'_> {
    async fn does(&self, who: &Person, call: &str, parameters: &[(&str, &str)]) -> Value {
        self.app.call(who, call, parameters).await.success()
    }

    async fn says(&self, who: &Person, to: &str, topic: &str, content: &str) -> String {
        let kind = if to.starts_with('[') { "direct" } else { "channel" };
        let all = [("type", kind), ("to", to), ("topic", topic), ("content", content)];
        let parameters = if kind == "direct" { vec![all[0], all[1], all[3]] } else { all.to_vec() };
        self.does(who, "POST /messages", &parameters).await["id"].to_string()
    }

    async fn channel(&self, name: &str, more: &[(&str, &str)]) -> String {
        let wanted = format!(r#"[{{"name": "{name}", "description": "about *{name}*"}}]"#);
        let people = format!("[{}, {}]", self.ada.id, self.bob.id);
        let mut parameters = vec![("subscriptions", wanted.as_str()), ("principals", &people)];
        parameters.extend(more);
        self.does(&self.ada, "POST /users/me/subscriptions", &parameters).await;
        self.does(&self.ada, "GET /get_stream_id", &[("stream", name)]).await["stream_id"].to_string()
    }

    async fn organize(&self) {
        let Self { ada, bob, eve, .. } = self;
        self.does(ada, "PATCH /realm", &[("description", "We *chat*"), ("mandatory_topics", "true")]).await;
        self.does(ada, "PATCH /realm/user_settings_defaults", &[("enter_sends", "true")]).await;
        self.does(ada, "POST /realm/domains", &[("domain", "example.com"), ("allow_subdomains", "true")]).await;
        for (pattern, template) in
            [("#(?P<id>[0-9]+)", "https://a.org/{id}"), ("T(?P<id>[0-9]+)", "https://b.org/{id}")]
        {
            self.does(ada, "POST /realm/filters", &[("pattern", pattern), ("url_template", template)]).await;
        }
        let place = [("name", "Play"), ("pygments_language", "Rust"), ("url_template", "https://example.org/{code}")];
        self.does(ada, "POST /realm/playgrounds", &place).await;
        let field = self.does(ada, "POST /realm/profile_fields", &[("name", "Team"), ("field_type", "1")]).await;
        let answer = format!(r#"[{{"id": {}, "value": "*cooks*"}}]"#, field["id"]);
        self.does(bob, "PATCH /users/me/profile_data", &[("data", &answer)]).await;
        let picture = form(&[("f", "x.png", "image/png", &png(64, 64))]);
        self.app.call_with_files(ada, "POST /realm/emoji/party", picture.clone()).await.success();
        self.app.call_with_files(bob, "POST /users/me/avatar", picture).await.success();
        let members = format!("[{}, {}]", bob.id, eve.id);
        let group = [("name", "crew"), ("description", "us"), ("members", members.as_str())];
        self.does(ada, "POST /user_groups/create", &group).await;
        self.does(bob, "PATCH /settings", &[("twenty_four_hour_time", "true"), ("color_scheme", "2")]).await;
        self.does(bob, "POST /users/me/status", &[("status_text", "out"), ("emoji_name", "party")]).await;
        self.does(eve, "POST /users/me/alert_words", &[("alert_words", r#"["soup", "cake"]"#)]).await;
        self.does(ada, &format!("POST /users/me/muted_users/{}", eve.id), &[]).await;
        let bot = self.does(bob, "POST /bots", &[("full_name", "Cook"), ("short_name", "cook")]).await;
        assert!(bot["user_id"].is_number());
        self.does(bob, "PUT /bot_storage", &[("storage", r#"{"a": "b", "c": "d"}"#)]).await;
    }

    async fn talk(&self) {
        let Self { ada, bob, eve, .. } = self;
        let kitchen = self.channel("kitchen", &[]).await;
        self.channel("cellar", &[("invite_only", "true"), ("history_public_to_subscribers", "false")]).await;
        self.channel("vault", &[("invite_only", "true"), ("history_public_to_subscribers", "true")]).await;
        let attic = self.channel("attic", &[]).await;
        self.says(ada, "attic", "dust", "achoo").await;
        self.says(ada, "kitchen", "lunch", "before **Eve**").await;
        self.does(eve, "POST /users/me/subscriptions", &[("subscriptions", r#"[{"name": "kitchen"}]"#)]).await;
        let first = self.says(ada, "kitchen", "lunch", "soup for @**eve** and @*crew*, see #5 and T6").await;
        let moved = self.says(bob, "kitchen", "dinner", ":party: pasta").await;
        self.says(ada, "kitchen", "dinner", "@**all** come").await;
        self.does(bob, "DELETE /users/me/subscriptions", &[("subscriptions", r#"["cellar"]"#)]).await;
        self.says(ada, "cellar", "dark", "only for me").await;
        let again = [("subscriptions", r#"[{"name": "cellar"}]"#), ("principals", &format!("[{}]", bob.id))];
        self.does(ada, "POST /users/me/subscriptions", &again).await;
        self.says(ada, "cellar", "dark", "for both of us").await;
        self.does(ada, &format!("PATCH /messages/{first}"), &[("content", "stew for @**eve**")]).await;
        let to = [("topic", "supper"), ("propagate_mode", "change_one")];
        self.does(ada, &format!("PATCH /messages/{moved}"), &to).await;
        let to = [("stream_id", attic.as_str()), ("propagate_mode", "change_one")];
        self.does(ada, &format!("PATCH /messages/{moved}"), &to).await;
        for (who, emoji) in [(eve, "tada"), (bob, "wave"), (ada, "party")] {
            self.does(who, &format!("POST /messages/{first}/reactions"), &[("emoji_name", emoji)]).await;
        }
        let starred = format!("[{first}]");
        self.does(eve, "POST /messages/flags", &[("messages", &starred), ("op", "add"), ("flag", "starred")]).await;
        self.does(bob, "POST /messages/flags", &[("messages", &starred), ("op", "add"), ("flag", "read")]).await;
        self.does(ada, "POST /messages/flags", &[("messages", &starred), ("op", "remove"), ("flag", "read")]).await;
        let poll = self.says(bob, "kitchen", "lunch", "/poll Soup?\nyes\nno").await;
        let vote = r#"{"type": "vote", "key": "canned,0", "vote": 1}"#;
        self.does(eve, "POST /submessage", &[("message_id", &poll), ("msg_type", "widget"), ("content", vote)]).await;
        self.says(ada, &format!("[{}]", bob.id), "", "psst").await;
        self.says(bob, &format!("[{}]", ada.id), "", "what").await;
        self.says(eve, &format!("[{}]", eve.id), "", "to myself").await;
        self.says(eve, &format!("[{}, {}]", ada.id, bob.id), "", "us three").await;
        let gone = self.says(eve, "kitchen", "lunch", "never mind").await;
        self.does(ada, &format!("DELETE /messages/{gone}"), &[]).await;
        let followed = [("stream_id", kitchen.as_str()), ("topic", "lunch"), ("visibility_policy", "3")];
        self.does(bob, "POST /user_topics", &followed).await;
        let color = format!(r##"[{{"stream_id": {kitchen}, "property": "color", "value": "#123456"}}]"##);
        self.does(bob, "POST /users/me/subscriptions/properties", &[("subscription_data", &color)]).await;
        self.does(
            ada,
            &format!("PATCH /users/me/subscriptions/{kitchen}"),
            &[("property", "is_muted"), ("value", "true")],
        )
        .await;
        self.does(ada, "POST /default_streams", &[("stream_id", &kitchen)]).await;
        self.does(ada, &format!("DELETE /streams/{attic}"), &[]).await;
    }

    async fn prepare(&self) {
        let Self { ada, bob, eve, .. } = self;
        let upload = form(&[("file", "plan.png", "image/png", &png(300, 200))]);
        let url = self.app.call_with_files(bob, "POST /user_uploads", upload).await.success()["url"].clone();
        self.says(bob, "kitchen", "lunch", &format!("[plan]({})", url.as_str().unwrap())).await;
        let note = form(&[("file", "note.txt", "text/plain", b"unused")]);
        self.app.call_with_files(eve, "POST /user_uploads", note).await.success();
        let due = (NOW_S + 10_000).to_string();
        let channel = self.does(ada, "GET /get_stream_id", &[("stream", "kitchen")]).await["stream_id"].to_string();
        let later = [("type", "channel"), ("to", &channel), ("topic", "a"), ("content", "*b*")];
        let later: Vec<_> = later.into_iter().chain([("scheduled_delivery_timestamp", due.as_str())]).collect();
        self.does(ada, "POST /scheduled_messages", &later).await;
        let people = format!("[{}, {}]", bob.id, eve.id);
        let later = [("type", "direct"), ("to", &people), ("content", "soon"), ("scheduled_delivery_timestamp", &due)];
        self.does(ada, "POST /scheduled_messages", &later).await;
        let drafts = format!(
            r#"[{{"type": "", "to": [], "topic": "", "content": "x"}},
                {{"type": "private", "to": {people}, "topic": "", "content": "y"}},
                {{"type": "private", "to": [], "topic": "", "content": "z"}},
                {{"type": "stream", "to": [{channel}], "topic": "lunch", "content": "w"}}]"#
        );
        self.does(ada, "POST /drafts", &[("drafts", &drafts)]).await;
    }
}

/// What a user sees, but for what is theirs alone there, or is not carried.
async fn seen(app: &TestApp, who: &Person) -> Vec<(String, Value)> {
    let window = [("anchor", "newest"), ("num_before", "100"), ("num_after", "0")];
    let calls: [(&str, &[(&str, &str)]); 17] = [
        ("GET /users", &[("include_custom_profile_fields", "true")]),
        ("GET /streams", &[("include_default", "true")]),
        ("GET /users/me/subscriptions", &[("include_subscribers", "true")]),
        ("GET /user_groups", &[("include_deactivated_groups", "true")]),
        ("GET /realm/linkifiers", &[]),
        ("GET /realm/emoji", &[]),
        ("GET /realm/profile_fields", &[]),
        ("GET /realm/domains", &[]),
        ("GET /server_settings", &[]),
        ("GET /drafts", &[]),
        ("GET /scheduled_messages", &[]),
        ("GET /attachments", &[]),
        ("GET /users/me/alert_words", &[]),
        ("GET /bots", &[]),
        ("GET /bot_storage", &[]),
        ("GET /messages", &window),
        ("POST /register", &[]),
    ];
    let mut seen = Vec::new();
    for (call, parameters) in calls {
        let mut response = app.call(who, call, parameters).await.success();
        strip(&mut response);
        seen.push((call.to_owned(), response));
    }
    let ids: Vec<i64> = seen.iter().find(|(call, _)| call == "GET /messages").unwrap().1["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["id"].as_i64().unwrap())
        .collect();
    for id in ids {
        for call in [format!("GET /messages/{id}/history"), format!("GET /messages/{id}/read_receipts")] {
            let response = app.call(who, &call, &[]).await;
            seen.push((call, response.body));
        }
    }
    for user in app.realm().users().map(|user| user.id.0).collect::<std::collections::BTreeSet<_>>() {
        let call = format!("GET /users/{user}/status");
        seen.push((call.clone(), app.call(who, &call, &[]).await.body));
    }
    seen
}

/// Keys are new where people go, queues and times when they were there are not carried.
fn strip(response: &mut Value) {
    const NEW: [&str; 9] = [
        "api_key",
        "queue_id",
        "last_event_id",
        "presences",
        "max_message_id",
        "server_timestamp",
        "presence_last_update_id",
        "event_queue_longpoll_timeout_seconds",
        "services",
    ];
    match response {
        Value::Object(members) => {
            members.retain(|key, _| !NEW.contains(&key.as_str()));
            // Who created a user group is in no export.
            if members.contains_key("is_system_group") {
                members.retain(|key, _| !["creator_id", "date_created"].contains(&key.as_str()));
            }
            members.values_mut().for_each(strip);
        }
        Value::Array(elements) => elements.iter_mut().for_each(strip),
        _ => {}
    }
}

#[tokio::test]
async fn everybody_sees_the_same_where_their_organization_went() {
    let app = TestApp::found().await;
    let (bob, eve) = (app.person("bob", Role::Member).await, app.person("eve", Role::Member).await);
    app.person("gus", Role::Guest).await;
    let life = Life { app: &app, ada: app.ada.clone(), bob: bob.clone(), eve: eve.clone() };
    life.organize().await;
    life.talk().await;
    life.prepare().await;
    let first = exported(&app.store).await;
    let folder = tempfile::tempdir().unwrap();
    let store = imported(&first, &app.store, folder.path()).await;
    let second = exported(&store).await;
    for (sheet, tables) in &first.0 {
        for (table, rows) in tables {
            let (rows, now) = (rows.as_array().unwrap(), second.0[sheet][table].as_array().unwrap());
            for (row, now) in rows.iter().zip(now) {
                assert_eq!(now, row, "{sheet:?} {table}");
            }
            assert_eq!(now.len(), rows.len(), "{sheet:?} {table}");
        }
    }
    assert!(second == first);
    let there = app.gone_to(store, folder);
    for who in [&app.ada, &bob, &eve] {
        let key = there.store.load_credentials(UserId(who.id)).await.unwrap().unwrap().api_key.unwrap();
        let same = Person { key: key.expose().to_owned(), ..who.clone() };
        let (before, now) = (seen(&app, who).await, seen(&there, &same).await);
        assert_eq!(now.len(), before.len());
        for ((call, response), (_, before)) in now.iter().zip(&before) {
            if let (Value::Object(response), Value::Object(before)) = (response, before) {
                for (key, value) in before {
                    assert_eq!(response.get(key), Some(value), "{call} {key} {}", who.email);
                }
            }
            assert_eq!(response, before, "{call} {}", who.email);
        }
    }
}

/// What an export of a part of the organization has.
async fn exported_part(app: &TestApp, content: ExportContent) -> Desk {
    let mut desk = Desk::default();
    let export =
        OrganizationExport::new(&mut desk, chat_core::import_export::export::OriginalServerRelease::R11_0, NOW_S);
    app.store.export_organization(&mut export.with_content(content)).await.unwrap();
    desk
}

impl Desk {
    fn rows(&self, table: &str) -> Vec<&Value> {
        self.0.values().filter_map(|tables| tables.get(table)?.as_array()).flatten().collect()
    }

    /// Everything that was written, to look for texts in it.
    fn text(&self) -> String {
        self.0.values().map(|tables| Value::Object(tables.clone()).to_string()).collect()
    }
}

/// An organization with something of everything.
async fn lived_in() -> (TestApp, Person, Person) {
    let app = TestApp::found().await;
    let (bob, eve) = (app.person("bob", Role::Member).await, app.person("eve", Role::Member).await);
    let life = Life { app: &app, ada: app.ada.clone(), bob: bob.clone(), eve: eve.clone() };
    life.organize().await;
    life.talk().await;
    life.prepare().await;
    (app, bob, eve)
}

#[tokio::test]
async fn a_public_export_has_public_channels_and_nothing_private() {
    let (app, _, eve) = lived_in().await;
    app.call(&eve, "PATCH /settings", &[("email_address_visibility", "4")]).await.success();
    let desk = exported_part(&app, ExportContent::Public).await;
    let text = desk.text();
    for public in ["stew for", "kitchen", "attic", "cooks", "crew", "plan.png", "bob@example.org"] {
        assert!(text.contains(public), "{public}");
    }
    for private in [
        "cellar",
        "vault",
        "psst",
        "to myself",
        "us three",
        "only for me",
        "for both of us",
        "cake",
        "#123456",
        "soon",
        "note.txt",
        "eve@example.org",
    ] {
        assert!(!text.contains(private), "{private}");
    }
    for table in [
        "zerver_alertword",
        "zerver_usertopic",
        "zerver_muteduser",
        "zerver_userstatus",
        "zerver_scheduledmessage",
        "zerver_draft",
        "zerver_botstoragedata",
        "zerver_huddle",
    ] {
        assert_eq!(desk.rows(table), Vec::<&Value>::new(), "{table}");
    }
    // Read, and what follows from the text: mentions.
    let copies = desk.rows("zerver_usermessage");
    assert!(!copies.is_empty());
    for copy in copies {
        let mask = copy["flags_mask"].as_i64().unwrap();
        assert_eq!((mask & 1, mask & (2 | 4 | 512 | 1024)), (1, 0), "{copy}");
    }
    // Who hides their address has nothing to sign in with.
    let placeholders = desk.rows("zerver_userprofile_mirrordummy");
    let ids: Vec<_> = placeholders.iter().map(|row| row["id"].as_i64().unwrap()).collect();
    assert_eq!(ids, [eve.id]);
    let bob = desk.rows("zerver_userprofile").into_iter().find(|row| row["full_name"] == "bob").unwrap();
    assert_eq!((&bob["enter_sends"], &bob["color_scheme"], &bob["is_active"]), (&json!(true), &json!(1), &json!(true)));
}

#[tokio::test]
async fn an_export_with_consent_has_what_those_can_read_who_allow_it() {
    let (app, bob, eve) = lived_in().await;
    app.call(&bob, "PATCH /settings", &[("allow_private_data_export", "true")]).await.success();
    let desk = exported_part(&app, ExportContent::FullWithConsent).await;
    let text = desk.text();
    for his in ["stew for", "cellar", "vault", "psst", "us three", "for both of us", "#123456"] {
        assert!(text.contains(his), "{his}");
    }
    for not_his in ["only for me", "to myself", "cake", "soon", "note.txt"] {
        assert!(!text.contains(not_his), "{not_his}");
    }
    for (table, owner) in [("zerver_userstatus", "user_profile"), ("zerver_usermessage", "user_profile")] {
        let rows = desk.rows(table);
        assert!(!rows.is_empty() && rows.iter().all(|row| row[owner] == bob.id), "{table}");
    }
    assert_eq!(desk.rows("zerver_botstoragedata").len(), 2);
    let placeholders: Vec<_> =
        desk.rows("zerver_userprofile_mirrordummy").iter().map(|row| row["id"].clone()).collect();
    assert!(placeholders.contains(&json!(app.ada.id)) && placeholders.contains(&json!(eve.id)));
    assert!(!placeholders.contains(&json!(bob.id)));
}

#[tokio::test]
async fn a_part_of_an_organization_is_taken_over_as_a_whole_one_is() {
    let (app, bob, eve) = lived_in().await;
    for person in [&app.ada, &bob] {
        app.call(person, "PATCH /settings", &[("allow_private_data_export", "true")]).await.success();
    }
    for (content, is_account) in [(ExportContent::Public, true), (ExportContent::FullWithConsent, false)] {
        let desk = exported_part(&app, content).await;
        let folder = tempfile::tempdir().unwrap();
        let store = imported(&desk, &app.store, folder.path()).await;
        let realm = store.snapshot();
        let is_active = |person: &Person| realm.user(UserId(person.id)).unwrap().is_active;
        assert_eq!([&app.ada, &bob, &eve].map(is_active), [true, true, is_account], "{content:?}");
        store.flush_and_close().await;
    }
}
