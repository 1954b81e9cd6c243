//! An organization that is handed out, taken over elsewhere, and handed out again.

use std::collections::BTreeMap;

use chat_core::event_log::store::{EventLog as _, RealmStore as _};
use chat_core::files::{Attachment, AttachmentStore as _, ImageMetadata};
use chat_core::id::{AttachmentId, ChannelId, MessageId, UserId};
use chat_core::import_export::export::{
    ExportStore as _, ExportTableFile, ExportWriteError, ExportWriter, ExportedUploadFile, OrganizationExport,
};
use chat_core::import_export::import::export_tables::{MessageFile, RealmTables};
use chat_core::import_export::import::{
    self, ImportCheckpoint, ImportReferences, ImportStepOutcome, ImportStore as _, ImportedImageUrls, ImportedUpload,
    MessageSurvey, OrganizationImportSource, TransferReport,
};
use chat_core::messages::draft::{DraftDestination, DraftStore as _};
use chat_core::messages::scheduled::{ScheduledDestination, ScheduledMessageStore as _};
use chat_core::messages::store::MessageStore;
use chat_core::model::render_context::{RenderContext, RenderSettings};
use chat_core::model::user::ApiKey;
use chat_core::people::bots::BotStorage as _;
use chat_storage::ChatStore;
use serde_json::{Map, Value, json};

use crate::home::{Home, NOW_S, on_each_engine};

/// What was written, by sheet and table, and which files are to be fetched.
#[derive(Debug, Default, PartialEq)]
struct Desk(BTreeMap<ExportTableFile, Map<String, Value>>, Vec<String>);

impl ExportWriter for Desk {
    fn expect_messages(&mut self, _: u64) {}

    fn add_uploaded_file(&mut self, file: ExportedUploadFile) {
        self.1.push(format!("{} {} {}", file.cabinet.folder_name(), file.key.as_str(), file.record));
    }

    fn write_row(&mut self, sheet: ExportTableFile, table: &'static str, row: Value) -> Result<(), ExportWriteError> {
        let rows = self.0.entry(sheet).or_default().entry(table).or_insert_with(|| json!([]));
        rows.as_array_mut().unwrap().push(row);
        Ok(())
    }
}

impl Desk {
    fn rows(&self, sheet: ExportTableFile, table: &str) -> &[Value] {
        self.0.get(&sheet).and_then(|tables| tables.get(table)?.as_array()).map_or(&[], Vec::as_slice)
    }

    fn organization(&self, table: &str) -> &[Value] {
        self.rows(ExportTableFile::Organization, table)
    }

    fn one(&self, table: &str, id: i64) -> &Value {
        let is_it = |row: &&Value| row["id"] == id || row["usergroup_ptr"] == id;
        self.organization(table).iter().find(is_it).unwrap()
    }
}

async fn exported(store: &ChatStore) -> (Desk, TransferReport) {
    let mut desk = Desk::default();
    let mut export =
        OrganizationExport::new(&mut desk, chat_core::import_export::export::OriginalServerRelease::R11_0, NOW_S);
    store.export_organization(&mut export).await.unwrap();
    let report = export.into_report();
    (desk, report)
}

/// Takes it over into an empty database.
async fn imported(home: &Home, desk: &Desk) -> ChatStore {
    let read = |tables: &Map<String, Value>| serde_json::to_string(tables).unwrap();
    let mut tables: RealmTables = serde_json::from_str(&read(&desk.0[&ExportTableFile::Organization])).unwrap();
    let uploads: RealmTables = serde_json::from_str(&read(&desk.0[&ExportTableFile::Attachments])).unwrap();
    tables.attachments = uploads.attachments;
    let files = desk.0.iter().filter(|(sheet, _)| matches!(sheet, ExportTableFile::Messages(_)));
    let files: Vec<MessageFile> = files.map(|(_, tables)| serde_json::from_str(&read(tables)).unwrap()).collect();
    let mut survey = MessageSurvey::default();
    for file in &files {
        survey.add_file(file);
    }
    let mut seed = 0;
    let key = || {
        seed += 1;
        ApiKey::from_random(&[seed; 64])
    };
    let mut report = TransferReport::default();
    let pictures = ImportedImageUrls::default();
    let source = OrganizationImportSource { tables: &tables, survey: &survey, pictures: &pictures };
    let made = import::convert_organization(source, "https://chat.example.org", key, &mut report).unwrap();
    let mark = |steps: usize, is_done| ImportCheckpoint {
        source: "a".to_owned(),
        steps: i64::try_from(steps).unwrap(),
        is_done,
        report: TransferReport::default(),
    };
    let store = home.open().await;
    assert_eq!(store.import_organization(&made, &mark(1, false)).await.unwrap(), ImportStepOutcome::Done);
    store.flush_and_close().await;
    let store = home.open().await;
    let realm = store.snapshot();
    let render_context = RenderContext::from_realm(&realm);
    let setting = RenderSettings {
        realm_url: "https://chat.example.org",
        render_context: &render_context,
        uploads: None,
        now_s: NOW_S,
    };
    let uploads = import::convert_uploads(&tables, "a");
    let atlas = ImportReferences::from_tables(&tables, &survey).with_uploads(&uploads);
    let kept: Vec<Attachment> = uploads.iter().map(kept).collect();
    assert_eq!(store.import_uploads(&kept, &mark(2, false)).await.unwrap(), ImportStepOutcome::Done);
    for (place, file) in files.iter().enumerate() {
        let uploads = store.attachments_at_paths(&atlas.uploads_used_by(file)).await.unwrap();
        let messages = import::convert_messages(&setting, &realm, &atlas, (file, &uploads), &mut report);
        assert_eq!(store.import_messages(&messages, &mark(place + 3, false)).await.unwrap(), ImportStepOutcome::Done);
    }
    let things = import::convert_drafts_and_bot_storage(&setting, &realm, (&tables, &atlas), &mut report);
    assert_eq!(
        store.import_drafts_and_bot_storage(&things, &mark(files.len() + 3, false)).await.unwrap(),
        ImportStepOutcome::Done
    );
    let reactions = import::convert_reactions(&realm, &tables.reactions, &mut report);
    assert_eq!(
        store.import_reactions(&reactions, &mark(files.len() + 4, true)).await.unwrap(),
        ImportStepOutcome::Done
    );
    store
}

/// An upload whose bytes were looked at.
fn kept(upload: &ImportedUpload) -> Attachment {
    Attachment {
        id: AttachmentId(upload.row.id),
        path_id: upload.path_id.clone(),
        owner_id: UserId(upload.row.owner),
        name: upload.row.file_name.clone(),
        media_type: "image/png".to_owned(),
        size_bytes: 400,
        created_s: upload.row.create_time,
        picture: Some(ImageMetadata { width: 30, height: 20, is_animated: false }),
    }
}

/// Where an upload was.
const ELSEWHERE: &str = "2/3f/9cAB_-x/mein-Plänchen.png";
/// As a client may write it in a link.
const ELSEWHERE_ENCODED: &str = "2/3f/9cAB_-x/mein-Pl%C3%A4nchen.png";

fn uploads() -> Value {
    json!({"zerver_attachment": [
        {"id": 108, "owner": 7, "path_id": ELSEWHERE, "file_name": "mein Plänchen.png", "create_time": 9,
            "messages": [106], "scheduled_messages": [121]},
        {"id": 109, "owner": 8, "path_id": format!("1/ab/{}/x.png", "c".repeat(30)), "file_name": "x.png"},
    ]})
}

fn unsent() -> Value {
    json!({
        "zerver_scheduledmessage": [
            {"id": 120, "sender": 7, "recipient": 1, "subject": "Later", "content": "to *dev*", "sending_client": 2,
                "scheduled_timestamp": 5_000, "read_by_sender": true, "delivered": false, "delivery_type": 1},
            {"id": 121, "sender": 8, "recipient": 4, "content": format!("to us [x](/user_uploads/{ELSEWHERE})"), "scheduled_timestamp": 6_000, "failed": true,
                "failure_message": "no"},
            {"id": 122, "sender": 8, "recipient": 4, "content": "gone", "scheduled_timestamp": 6_000, "delivered": true},
            {"id": 123, "sender": 8, "recipient": 3, "content": "to myself", "scheduled_timestamp": 7_000},
        ],
        "zerver_draft": [
            {"id": 130, "user_profile": 7, "recipient": 1, "topic": "", "content": "in dev", "last_edit_time": 10},
            {"id": 131, "user_profile": 7, "recipient": 3, "topic": "", "content": format!("to Bob [x](/user_uploads/{ELSEWHERE})"), "last_edit_time": 11},
            {"id": 132, "user_profile": 8, "content": "nowhere", "last_edit_time": 12},
            {"id": 133, "user_profile": 8, "type": "private", "content": "to nobody yet", "last_edit_time": 13},
        ],
        "zerver_botstoragedata": [{"bot_profile": 9, "key": "b", "value": "2"}, {"bot_profile": 9, "key": "a", "value": "1"}],
    })
}

fn organization() -> Value {
    let joined = |user: i64, channel: i64, kind: i64, at: i64| json!({"event_type": kind, "modified_user": user, "modified_stream": channel, "event_last_message_id": at});
    let in_channel = |user: i64, channel: i64| json!({"user_profile": user, "recipient": channel});
    json!({
        "zerver_realm": [{"name": "Acme", "description": "We *chat*", "date_created": 10, "mandatory_topics": true,
            "message_content_edit_limit_seconds": null, "waiting_period_threshold": 3, "wildcard_mention_policy": 7,
            "can_create_groups": 31, "can_create_bots_group": 31}],
        "zerver_realmuserdefault": [{"enter_sends": true}],
        "zerver_userprofile": [
            {"id": 7, "delivery_email": "Ann@x.org", "full_name": "Ann", "role": 100, "date_joined": 11,
                "timezone": "Europe/Paris", "enter_sends": true, "color_scheme": 2},
            {"id": 8, "email": "bob@x.org", "full_name": "Bob", "role": 400},
            {"id": 9, "email": "bot@x.org", "full_name": "Bot", "is_bot": true, "bot_type": 2, "bot_owner": 7},
            {"id": 10, "email": "eve@x.org", "full_name": "Eve", "role": 600, "is_active": false},
        ],
        "zerver_stream": [
            {"id": 20, "name": "dev", "description": "for *code*", "date_created": 12, "creator": 7,
                "stream_post_policy": 4, "message_retention_days": 90},
            {"id": 21, "name": "secret", "invite_only": true, "history_public_to_subscribers": false},
            {"id": 22, "name": "old", "deactivated": true},
            {"id": 23, "name": "open", "is_web_public": true, "history_public_to_subscribers": true},
        ],
        "zerver_defaultstream": [{"stream": 20}],
        "zerver_namedusergroup": [
            {"usergroup_ptr": 31, "name": "role:moderators", "is_system_group": true},
            {"usergroup_ptr": 32, "name": "crew", "description": "us", "can_mention_group": 40},
            {"usergroup_ptr": 33, "name": "past", "deactivated": true, "can_mention_group": 31},
        ],
        "zerver_usergroup": [{"id": 31}, {"id": 32}, {"id": 33}, {"id": 40}],
        "zerver_usergroupmembership": [{"user_group": 32, "user_profile": 8}, {"user_group": 40, "user_profile": 7}],
        "zerver_groupgroupmembership": [{"supergroup": 32, "subgroup": 33}],
        "zerver_recipient": [
            {"id": 1, "type": 2, "type_id": 20}, {"id": 2, "type": 2, "type_id": 21}, {"id": 3, "type": 1, "type_id": 8},
            {"id": 4, "type": 3, "type_id": 90}, {"id": 5, "type": 1, "type_id": 7},
        ],
        "zerver_subscription": [
            {"user_profile": 7, "recipient": 1, "color": "#ff0000", "is_muted": true, "push_notifications": false},
            in_channel(8, 1), in_channel(7, 2), {"user_profile": 8, "recipient": 2, "active": false},
            in_channel(7, 4), in_channel(8, 4), in_channel(9, 4),
        ],
        "zerver_realmauditlog": [
            joined(7, 20, 301, 1), joined(8, 20, 301, 102), joined(7, 21, 301, 1),
            joined(8, 21, 301, 1), joined(8, 21, 303, 101), joined(8, 21, 302, 103), joined(8, 21, 303, 106),
        ],
        "zerver_client": [{"id": 1, "name": "website"}, {"id": 2, "name": "phone"}],
        "zerver_reaction": [
            {"id": 3, "user_profile": 8, "message": 103, "emoji_name": "tada", "emoji_code": "1f389", "reaction_type": "unicode_emoji"},
            {"id": 2, "user_profile": 7, "message": 103, "emoji_name": "wave", "emoji_code": "1f44b", "reaction_type": "unicode_emoji"},
        ],
    })
}

fn small_things() -> Value {
    json!({
        "zerver_customprofilefield": [{"id": 50, "name": "About", "hint": "you", "field_type": 1, "order": 1},
            {"id": 51, "name": "Boss", "field_type": 6, "order": 2, "display_in_profile_summary": true}],
        "zerver_customprofilefieldvalue": [{"user_profile": 7, "field": 50, "value": "*tall*"},
            {"user_profile": 8, "field": 51, "value": "[7]"}],
        "zerver_realmfilter": [{"id": 60, "pattern": "#(?P<id>[0-9]+)", "url_template": "https://x.org/{id}", "order": 2},
            {"id": 61, "pattern": "T(?P<id>[0-9]+)", "url_template": "https://t.org/{id}", "order": 1}],
        "zerver_realmplayground": [{"id": 62, "name": "Rust", "pygments_language": "Rust", "url_template": "https://r.org/{code}"}],
        "zerver_realmdomain": [{"id": 63, "domain": "x.org", "allow_subdomains": true}],
        "zerver_usertopic": [{"user_profile": 7, "stream": 20, "topic_name": "Lunch", "visibility_policy": 3, "last_updated": 40}],
        "zerver_muteduser": [{"user_profile": 7, "muted_user": 8, "date_muted": 41}],
        "zerver_userstatus": [{"user_profile": 8, "status_text": "away", "emoji_name": "car", "emoji_code": "1f697",
            "reaction_type": "unicode_emoji"}],
        "zerver_alertword": [{"user_profile": 7, "word": "cake"}, {"user_profile": 7, "word": "apple"}],
    })
}

fn files() -> [Value; 2] {
    let message = |id: i64, (sender, recipient): (i64, i64), content: &str| json!({"id": id, "sender": sender, "recipient": recipient, "subject": "Lunch", "date_sent": 20 + id, "content": content, "sending_client": 1 + id % 2});
    let copy =
        |user: i64, message: i64, flags: i64| json!({"user_profile": user, "message": message, "flags_mask": flags});
    let mut edited = message(103, (7, 1), "**sandwiches** #5 today");
    edited["last_edit_time"] = json!(200);
    let edits = json!([{"user_id": 7, "timestamp": 200, "prev_content": "soup"},
        {"user_id": 8, "timestamp": 150, "prev_topic": "Food", "prev_stream": 21}]);
    edited["edit_history"] = json!(edits.to_string());
    let messages = [
        message(100, (7, 2), "in *secret*"),
        message(102, (7, 1), "before Bob"),
        edited,
        message(104, (7, 3), "psst"),
        message(105, (9, 4), "the three of us"),
        message(106, (8, 5), &format!("see [this](/user_uploads/{ELSEWHERE}), /user_uploads/{ELSEWHERE_ENCODED}.")),
        message(107, (7, 1), "@**all** look"),
    ];
    let copies = [
        copy(7, 100, 1),
        copy(8, 100, 1),
        copy(7, 102, 3),
        copy(8, 102, 1 | 2 | 1 << 10),
        copy(7, 103, 1),
        copy(8, 103, 8 | 512),
        copy(7, 104, 1),
        copy(8, 104, 4),
        copy(7, 105, 0),
        copy(8, 105, 1),
        copy(9, 105, 1),
        copy(7, 106, 0),
        copy(8, 106, 0),
        copy(7, 107, 1 | 16),
        copy(8, 107, 16 | 32),
    ];
    let poll = message(110, (8, 1), "/poll Where?\nHere");
    let part = |id: i64, sender: i64, content: &str| json!({"id": id, "message": 110, "sender": sender, "msg_type": "widget", "content": content});
    let parts = [part(110, 8, r#"{"widget_type": "poll", "extra_data": {}}"#), part(112, 7, r#"{"type":"vote"}"#)];
    [
        json!({"zerver_message": messages, "zerver_usermessage": copies}),
        json!({"zerver_message": [poll], "zerver_usermessage": [copy(7, 110, 0), copy(8, 110, 1)],
            "zerver_submessage": parts}),
    ]
}

fn elsewhere() -> Desk {
    let object = |value: Value| value.as_object().unwrap().clone();
    let [first, second] = files();
    let mut organization = object(organization());
    organization.extend(object(small_things()));
    organization.extend(object(unsent()));
    let sheets = BTreeMap::from([
        (ExportTableFile::Organization, organization),
        (ExportTableFile::Messages(1), object(first)),
        (ExportTableFile::Messages(2), object(second)),
        (ExportTableFile::Attachments, object(uploads())),
    ]);
    Desk(sheets, Vec::new())
}

/// Who sees what of each message.
async fn seen(store: &ChatStore) -> Vec<Value> {
    let ids: Vec<MessageId> = (100..113).map(MessageId).collect();
    let mut seen = Vec::new();
    for user in [7, 8, 9, 10] {
        for (mut message, flags) in MessageStore::find_messages(store, UserId(user), &ids).await.unwrap() {
            // The place of the last change is the server's own.
            message.revision = message.id.into();
            seen.push(json!([user, message, flags]));
        }
    }
    for id in ids {
        let past = store.edit_history(id).await.unwrap();
        seen.push(json!(format!("{past:?}")));
    }
    seen
}

on_each_engine! {
    async fn the_size_of_an_organization_is_counted_no_further_than_asked(home) {
        let store = imported(&home, &elsewhere()).await;
        let upload_bytes = store.total_upload_bytes().await.unwrap();
        assert!(upload_bytes > 0);
        for (most, messages) in [(3, 4), (7, 8), (8, 8), (1_000, 8)] {
            let size = store.organization_size(most).await.unwrap();
            assert_eq!((size.messages, size.upload_bytes), (messages, upload_bytes), "{most}");
        }
        store.flush_and_close().await;
    }
}

on_each_engine! {
    async fn what_was_exported_imported_and_exported_again_is_the_same(home) {
        let other = Home::embedded();
        let before = imported(&other, &elsewhere()).await;
        let (first, report) = exported(&before).await;
        let after = imported(&home, &first).await;
        let (second, same_report) = exported(&after).await;
        for (sheet, tables) in &first.0 {
            for (table, rows) in tables {
                assert_eq!(second.0[sheet].get(table), Some(rows), "{table}");
            }
        }
        assert_eq!((&second, same_report), (&first, report));
        assert_eq!(seen(&after).await, seen(&before).await);
        let realm = after.snapshot();
        for (user, channel) in [(7, 20), (8, 20), (7, 21), (8, 21)].map(|(user, channel)| (UserId(user), ChannelId(channel))) {
            assert_eq!(realm.membership(channel, user), before.snapshot().membership(channel, user));
        }
        before.flush_and_close().await;
        after.flush_and_close().await;
    }

    async fn an_export_says_what_the_one_before_it_said(home) {
        let elsewhere = elsewhere();
        let store = imported(&home, &elsewhere).await;
        let (desk, report) = exported(&store).await;
        for table in ["zerver_stream", "zerver_customprofilefield", "zerver_realmfilter", "zerver_realmplayground",
            "zerver_realmdomain", "zerver_userprofile", "zerver_namedusergroup"] {
            for row in elsewhere.organization(table) {
                let id = row["id"].as_i64().or(row["usergroup_ptr"].as_i64()).unwrap();
                let now = desk.one(table, id);
                let anew = ["can_mention_group", "email", "stream_post_policy"];
                for (column, value) in row.as_object().unwrap().iter().filter(|(column, _)| !anew.contains(&column.as_str())) {
                    assert_eq!(now[column], *value, "{table} {id} {column}");
                }
            }
        }
        let realm = &desk.organization("zerver_realm")[0];
        for (column, value) in elsewhere.organization("zerver_realm")[0].as_object().unwrap() {
            // Said as newer servers say it.
            if ["mandatory_topics", "wildcard_mention_policy"].contains(&column.as_str()) {
                continue;
            }
            assert_eq!(realm[column], *value, "{column}");
        }
        assert_eq!(realm["topics_policy"], 3);
        let group = |name: &str| desk.organization("zerver_namedusergroup").iter().find(|row| row["name"] == name).unwrap();
        assert_eq!(realm["can_mention_many_users_group"], group("role:moderators")["id"]);
        assert_eq!(desk.one("zerver_stream", 20)["can_send_message_group"], group("role:moderators")["id"]);
        let happened: Vec<_> = desk.organization("zerver_realmauditlog").iter()
            .filter(|row| row["modified_user"] == 8 && row["modified_stream"] == 21)
            .map(|row| (row["event_type"].as_i64().unwrap(), row["event_last_message_id"].as_i64().unwrap()))
            .collect();
        assert_eq!(happened, [(301, 1), (303, 101), (302, 103), (303, 106)]);
        let copies: Vec<_> = desk.rows(ExportTableFile::Messages(1), "zerver_usermessage").iter()
            .filter(|row| row["user_profile"] == 8)
            .map(|row| (row["message"].as_i64().unwrap(), row["flags_mask"].as_i64().unwrap()))
            .collect();
        let private = 1 << 11;
        let expected = [(100, 1), (102, 1 | 2 | 1 << 10), (103, 8 | 512), (104, 4 | private), (105, 1 | private),
            (106, private), (107, 16 | 32), (110, 1)];
        assert_eq!(copies, expected);
        let conversations: Vec<_> = desk.organization("zerver_huddle").iter().map(|row| &row["group_size"]).collect();
        assert_eq!(conversations, [3]);
        assert_eq!((report.taken["messages"], report.taken["users"], report.taken["reactions"]), (8, 4, 2));
        assert_eq!(report.taken["parts of polls and lists"], 2);
        store.flush_and_close().await;
    }

    async fn addresses_that_another_server_would_show_or_refuse_are_replaced_there_and_come_back_here(home) {
        let mut elsewhere = elsewhere();
        let tables = elsewhere.0.get_mut(&ExportTableFile::Organization).unwrap();
        let refused = [(9, "cook-bot@127.0.0.1"), (10, "jörg@x.org")];
        for user in tables["zerver_userprofile"].as_array_mut().unwrap() {
            match refused.iter().find(|(id, _)| user["id"] == *id) {
                Some((_, address)) => user["email"] = json!(address),
                None => user["email_address_visibility"] = json!(if user["id"] == 8 { 4 } else { 1 }),
            }
        }
        let other = Home::embedded();
        let store = imported(&other, &elsewhere).await;
        let (desk, report) = exported(&store).await;
        let own_and_shown = |id: i64| {
            let row = desk.one("zerver_userprofile", id);
            ["delivery_email", "email"].map(|column| row[column].as_str().unwrap())
        };
        assert_eq!(own_and_shown(8), ["bob@x.org", "user8@hidden.invalid"]);
        assert_eq!(own_and_shown(9), ["user9@hidden.invalid"; 2]);
        assert_eq!(own_and_shown(10), ["user10@hidden.invalid"; 2]);
        assert_eq!(report.left["addresses that the original server refuses: those users have another one there"], 2);
        let after = imported(&home, &desk).await;
        for (id, address) in [(8, "bob@x.org")].into_iter().chain(refused) {
            assert_eq!(after.snapshot().user(UserId(id)).unwrap().email, address);
        }
        store.flush_and_close().await;
        after.flush_and_close().await;
    }

    async fn what_was_not_sent_and_what_was_uploaded_goes_along(home) {
        let store = imported(&home, &elsewhere()).await;
        let mut waiting = store.scheduled_messages_of_user(UserId(7)).await.unwrap();
        let dev = waiting.remove(0);
        assert_eq!((dev.id.0, dev.html.as_str(), dev.due_s, waiting.len()), (120, "<p>to <em>dev</em></p>", 5_000, 0));
        let waiting = store.scheduled_messages_of_user(UserId(8)).await.unwrap();
        let to: Vec<_> = waiting.iter().map(|message| (message.id.0, message.to.clone(), message.failure.clone())).collect();
        let us = ScheduledDestination::Direct(vec![UserId(7), UserId(9)]);
        assert_eq!(to, [(121, us, Some("no".to_owned())), (123, ScheduledDestination::Direct(vec![UserId(8)]), None)]);
        let drafts = store.drafts_of_user(UserId(8)).await.unwrap();
        let places: Vec<_> = drafts.into_iter().map(|(id, draft)| (id.0, draft.to)).collect();
        assert_eq!(places, [(132, DraftDestination::Nowhere), (133, DraftDestination::Direct(Vec::new()))]);
        let linked: Vec<_> = store.drafts_of_user(UserId(7)).await.unwrap().into_iter().map(|(_, draft)| draft.content).collect();
        let mut kept = store.load_bot_values(UserId(9), None).await.unwrap();
        kept.sort();
        assert_eq!(kept, [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())]);
        let used = store.attachments_of_owner(UserId(7)).await.unwrap().remove(0);
        assert_eq!((used.attachment.name.as_str(), used.messages[0].0), ("mein Plänchen.png", MessageId(106)));
        let (message, _) = store.find_messages(UserId(7), &[MessageId(106)]).await.unwrap().remove(0);
        let path = &used.attachment.path_id;
        assert_eq!(message.content, format!("see [this](/user_uploads/{path}), /user_uploads/{path}."));
        assert!(message.content_flags.has_attachment);
        let link = format!("[x](/user_uploads/{path})");
        assert_eq!(linked, ["in dev".to_owned(), format!("to Bob {link}")]);
        assert_eq!(waiting[0].content, format!("to us {link}"));
        assert_eq!(store.total_upload_bytes().await.unwrap(), 800);
        // Nothing that comes gets a number that something has.
        assert!(store.last_event_id().0 >= 133);
        let (desk, report) = exported(&store).await;
        let left: Vec<&str> = report.taken.keys().map(String::as_str).collect();
        for what in ["uploads", "scheduled messages", "drafts", "texts that programs of bots keep"] {
            assert!(left.contains(&what), "{what}");
        }
        // A server deletes what nothing uses, also while a message waits that does.
        let row = &desk.rows(ExportTableFile::Attachments, "zerver_attachment")[0];
        assert_eq!((&row["messages"], &row["scheduled_messages"]), (&json!([106]), &json!([121])));
        assert_eq!(["is_realm_public", "is_web_public"].map(|column| row.get(column)), [Some(&Value::Null); 2]);
        assert_eq!(desk.1.iter().filter(|file| file.starts_with("uploads uploads/1/")).count(), 2);
        store.flush_and_close().await;
    }

    async fn an_export_is_the_organization_at_one_moment(home) {
        let store = imported(&home, &elsewhere()).await;
        let mut watcher = Watcher { store: store.clone(), desk: Desk::default(), has_deleted: false };
        let mut export = OrganizationExport::new(&mut watcher, chat_core::import_export::export::OriginalServerRelease::R11_0, NOW_S);
        store.export_organization(&mut export).await.unwrap();
        assert!(watcher.has_deleted);
        let left: Vec<i64> = flags_left(&store).await;
        assert_eq!(left, [100, 102, 104, 105, 106, 107, 110]);
        let messages = watcher.desk.rows(ExportTableFile::Messages(1), "zerver_message").len();
        assert_eq!((messages, watcher.desk.organization("zerver_reaction").len()), (8, 2));
        store.flush_and_close().await;
    }
}

async fn flags_left(store: &ChatStore) -> Vec<i64> {
    let ids: Vec<MessageId> = (100..113).map(MessageId).collect();
    let found = MessageStore::find_messages(store, UserId(7), &ids).await.unwrap();
    found.into_iter().map(|(message, _)| message.id.0).collect()
}

/// Deletes a message once the export has begun.
struct Watcher {
    store: ChatStore,
    desk: Desk,
    has_deleted: bool,
}

impl ExportWriter for Watcher {
    fn add_uploaded_file(&mut self, file: ExportedUploadFile) {
        self.desk.add_uploaded_file(file);
    }

    fn expect_messages(&mut self, _: u64) {
        let store = self.store.clone();
        let deleted = async move {
            let message = store.find_messages(UserId(7), &[MessageId(103)]).await.unwrap().remove(0).0;
            store
                .delete_messages(
                    &crate::people::decided(&store, &[(message.id, message.revision)]),
                    (NOW_S, Vec::new()),
                )
                .await
                .unwrap()
        };
        let deleted = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(deleted));
        self.has_deleted = matches!(deleted, chat_core::messages::store::MessageWriteOutcome::Done(_));
    }

    fn write_row(&mut self, sheet: ExportTableFile, table: &'static str, row: Value) -> Result<(), ExportWriteError> {
        self.desk.write_row(sheet, table, row)
    }
}
