//! An organization from elsewhere, as the store has it afterwards.

use chat_core::event_log::event::QueueFilter;
use chat_core::event_log::store::{EventLog as _, EventQueue, EventQueueStore, RealmStore as _};
use chat_core::id::{ChannelId, EventId, MessageId, UserId};
use chat_core::import_export::import::export_tables::{MessageFile, RealmTables};
use chat_core::import_export::import::{
    self, ImportCheckpoint, ImportReferences, ImportStepOutcome, ImportStore as _, ImportedImageUrls, ImportedMessage,
    ImportedOrganization, MessageSurvey, OrganizationImportSource, TransferReport,
};
use chat_core::messages::store::MessageStore;
use chat_core::model::message::{MessageFlag, Recipient};
use chat_core::model::render_context::{RenderContext, RenderSettings};
use chat_core::model::user::ApiKey;
use chat_storage::ChatStore;
use serde_json::{Value, json};

use crate::home::{Home, NOW_S, on_each_engine};

fn tables() -> RealmTables {
    let tables = json!({
        "zerver_realm": [{"name": "Acme"}],
        "zerver_userprofile": [
            {"id": 7, "email": "ann@x.org", "full_name": "Ann", "role": 100},
            {"id": 8, "email": "bob@x.org", "full_name": "Bob", "role": 400},
            {"id": 9, "email": "eve@x.org", "full_name": "Eve", "role": 400},
        ],
        "zerver_stream": [{"id": 20, "name": "dev"}],
        "zerver_recipient": [{"id": 1, "type": 2, "type_id": 20}, {"id": 2, "type": 1, "type_id": 8}],
        "zerver_subscription": [{"user_profile": 7, "recipient": 1}, {"user_profile": 8, "recipient": 1},
            {"user_profile": 9, "recipient": 1}],
        "zerver_realmauditlog": [
            {"id": 1, "event_type": 301, "modified_user": 7, "modified_stream": 20, "event_last_message_id": 1},
            {"id": 2, "event_type": 301, "modified_user": 8, "modified_stream": 20, "event_last_message_id": 1},
            {"id": 3, "event_type": 301, "modified_user": 9, "modified_stream": 20, "event_last_message_id": 1001},
        ],
        "zerver_reaction": [{"id": 3, "user_profile": 8, "message": 1000, "emoji_name": "tada", "emoji_code": "1f389",
            "reaction_type": "unicode_emoji"}],
    });
    serde_json::from_value(tables).unwrap()
}

fn files() -> [MessageFile; 2] {
    let message = |id: i64, recipient: i64, content: &str| json!({"id": id, "sender": 7, "recipient": recipient, "subject": "Lunch", "date_sent": 20.0, "content": content});
    let copy =
        |user: i64, message: i64, flags: i64| json!({"user_profile": user, "message": message, "flags_mask": flags});
    let mut edited = message(1_000, 1, "sandwiches today");
    edited["edit_history"] = json!(json!([{"user_id": 8, "timestamp": 30, "prev_topic": "Food"}]).to_string());
    let file = |messages: &[Value], copies: &[Value]| {
        serde_json::from_value(json!({"zerver_message": messages, "zerver_usermessage": copies})).unwrap()
    };
    [
        file(
            &[edited, message(1_002, 1, "more"), message(1_003, 2, "psst")],
            &[
                copy(7, 1_000, 1),
                copy(8, 1_000, 1),
                copy(7, 1_002, 1),
                copy(8, 1_002, 8),
                copy(9, 1_002, 1),
                copy(7, 1_003, 1),
                copy(8, 1_003, 0),
            ],
        ),
        // Older than what the file before has, as exports may be.
        file(&[message(1_001, 1, "older"), message(1_004, 2, "again")], &[copy(7, 1_001, 1), copy(8, 1_001, 0)]),
    ]
}

fn mark(steps: i64) -> ImportCheckpoint {
    ImportCheckpoint { source: "a".to_owned(), steps, is_done: steps == 4, report: TransferReport::default() }
}

fn organization() -> ImportedOrganization {
    let mut survey = MessageSurvey::default();
    for file in files() {
        survey.add_file(&file);
    }
    let mut seed = 0;
    let key = || {
        seed += 1;
        ApiKey::from_random(&[seed; 64])
    };
    let (tables, pictures) = (tables(), ImportedImageUrls::default());
    let source = OrganizationImportSource { tables: &tables, survey: &survey, pictures: &pictures };
    import::convert_organization(source, "https://chat.example.org", key, &mut TransferReport::default()).unwrap()
}

fn messages(store: &ChatStore, file: &MessageFile) -> Vec<ImportedMessage> {
    let realm = store.snapshot();
    let render_context = RenderContext::from_realm(&realm);
    let setting = RenderSettings {
        realm_url: "https://chat.example.org",
        render_context: &render_context,
        uploads: None,
        now_s: NOW_S,
    };
    import::convert_messages(
        &setting,
        &realm,
        &ImportReferences::from_tables(&tables(), &MessageSurvey::default()),
        (file, &[]),
        &mut TransferReport::default(),
    )
}

async fn imported(home: &Home) -> ChatStore {
    let store = home.open().await;
    assert_eq!(store.import_organization(&organization(), &mark(1)).await.unwrap(), ImportStepOutcome::Done);
    store.flush_and_close().await;
    let store = home.open().await;
    for (steps, file) in (2..).zip(files()) {
        assert_eq!(
            store.import_messages(&messages(&store, &file), &mark(steps)).await.unwrap(),
            ImportStepOutcome::Done
        );
    }
    let reactions = import::convert_reactions(&store.snapshot(), &tables().reactions, &mut TransferReport::default());
    assert_eq!(store.import_reactions(&reactions, &mark(4)).await.unwrap(), ImportStepOutcome::Done);
    store
}

async fn flags(store: &ChatStore, user: i64) -> Vec<(i64, Vec<MessageFlag>)> {
    let ids: Vec<MessageId> = (1_000..1_005).map(MessageId).collect();
    let found = MessageStore::find_messages(store, UserId(user), &ids).await.unwrap();
    found.into_iter().map(|(message, flags)| (message.id.0, flags)).collect()
}

on_each_engine! {
    async fn what_was_read_and_received_elsewhere_is_so_here(home) {
        let store = imported(&home).await;
        let (read, new) = (vec![MessageFlag::Read], Vec::new());
        assert_eq!(flags(&store, 7).await, (1_000..1_005).map(|id| (id, read.clone())).collect::<Vec<_>>());
        let bob = [read.clone(), new.clone(), vec![MessageFlag::Mentioned], new, read.clone()];
        assert_eq!(flags(&store, 8).await, (1_000..).zip(bob).collect::<Vec<_>>());
        let before = vec![MessageFlag::Read, MessageFlag::Historical];
        let eve: Vec<_> = flags(&store, 9).await.into_iter().take(3).map(|(_, flags)| flags).collect();
        assert_eq!(eve, [before.clone(), before, read]);
        store.flush_and_close().await;
    }

    async fn messages_keep_their_numbers_their_reactions_and_their_past(home) {
        let store = imported(&home).await;
        let ids = [1_000, 1_003, 1_004].map(MessageId);
        let found = MessageStore::find_messages(&store, UserId(8), &ids).await.unwrap();
        let [(first, _), (direct, _), (again, _)] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((first.recipient, first.html.as_str()), (Recipient::Channel(ChannelId(20)), "<p>sandwiches today</p>"));
        assert_eq!((first.reactions.len(), first.reactions[0].user_id), (1, UserId(8)));
        assert_eq!((direct.recipient, direct.direct_users.clone()), (again.recipient, vec![UserId(7), UserId(8)]));
        let past = store.edit_history(MessageId(1_000)).await.unwrap();
        assert_eq!(past[0].topic, Some(("Food".to_owned(), "Lunch".to_owned())));
        assert_eq!((past.len(), past[0].user_id, past[0].channel), (1, Some(UserId(8)), None));
        let recent = store.recent_direct_conversations(UserId(8), 10).await.unwrap();
        assert_eq!(recent, [(vec![UserId(7), UserId(8)], MessageId(1_004))]);
        let words = home.ask("SELECT CAST(count(*) AS TEXT) FROM message_words").await;
        assert_eq!(words, ["5"]);
        store.flush_and_close().await;
    }

    async fn the_log_begins_after_the_last_message(home) {
        let store = imported(&home).await;
        assert_eq!(store.last_event_id(), EventId(1_004));
        let queue = EventQueue {
            id: "q".to_owned(),
            user_id: UserId(7),
            filter: QueueFilter::default(),
            begins_after: store.last_event_id(),
            seen_s: NOW_S,
            idle_limit_s: 600,
        };
        store.register_queue(queue).await.unwrap();
        assert!(store.records_after(EventId(1_004), 10).await.unwrap().unwrap().is_empty());
        assert!(store.records_after(EventId(5), 10).await.unwrap().is_err());
        let pushed = home.ask("SELECT CAST(event_id AS TEXT) FROM push_turn").await;
        assert_eq!(pushed, ["1004"]);
        store.flush_and_close().await;
    }

    async fn a_step_is_done_once_and_in_its_turn(home) {
        let store = home.open().await;
        assert_eq!(store.import_checkpoint().await.unwrap(), None);
        assert_eq!(store.import_messages(&[], &mark(2)).await.unwrap(), ImportStepOutcome::Refused);
        assert_eq!(store.import_organization(&organization(), &mark(1)).await.unwrap(), ImportStepOutcome::Done);
        assert_eq!(store.import_organization(&organization(), &mark(1)).await.unwrap(), ImportStepOutcome::Refused);
        store.flush_and_close().await;
        let store = home.open().await;
        let [first, second] = files();
        assert_eq!(store.import_messages(&messages(&store, &second), &mark(3)).await.unwrap(), ImportStepOutcome::Refused);
        assert_eq!(store.import_messages(&messages(&store, &first), &mark(2)).await.unwrap(), ImportStepOutcome::Done);
        assert_eq!(store.import_messages(&messages(&store, &first), &mark(2)).await.unwrap(), ImportStepOutcome::Refused);
        assert_eq!(store.import_checkpoint().await.unwrap(), Some(mark(2)));
        assert_eq!(flags(&store, 7).await.len(), 3);
        store.flush_and_close().await;
    }
}
