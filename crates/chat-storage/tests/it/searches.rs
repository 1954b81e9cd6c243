//! Searches that find little among much: many at once, and those that take too long.

use std::sync::Arc;
use std::time::Duration;

use chat_core::StoreError;
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::{ChannelId, MessageId, UserId};
use chat_core::messages::narrow::{
    Anchor, HasOperand, MessageWindow, NarrowCondition, NarrowTerm, ReadableMessageSelection,
};
use chat_core::messages::store::MessageStore as _;
use chat_core::model::flag_change::FlagOp;
use chat_core::model::message::MessageFlag;
use chat_core::model::realm_change::{RealmChange, UserItemKind};
use chat_core::text_processing::search_words::SearchWords;
use chat_storage::ChatStore;
use serde_json::json;
use tokio::task::JoinSet;

use crate::home::{Home, on_each_engine};
use crate::people::{decided_copies, found, notice, send, subscription, to_channel};

/// A condition, and whether the opposite is asked for.
type Asked = (NarrowCondition, bool);

const READER: UserId = UserId(2);
/// Messages, each with the word `common`, every second with `even`, one in 5,000 with `seldom`.
const MESSAGES: i64 = 20_000;

/// Written by SQL, because so many would be sent for minutes.
const FILL: &str = "INSERT INTO message (id, sender_id, recipient_id, topic, topic_key, content, html, sent_s, client,
    marks, last_edit_s, revision)
WITH RECURSIVE step (i) AS (SELECT CAST(1001 AS BIGINT) UNION ALL SELECT i + 1 FROM step WHERE i < 21000)
SELECT i, i % 4 + 1, CASE WHEN i % 100 = 0 THEN 24 ELSE 22 END, 'Lunch', 'lunch', 'common', '<p>common</p>', 1800000000,
    'test', 0, NULL, i FROM step";
const TEXTS: &str = "UPDATE message SET content = 'common even', html = '<p>common even</p>' WHERE id % 2 = 0";
const SELDOM: &str = "UPDATE message SET content = 'common seldom', html = '<p>common seldom</p>' WHERE id % 5000 = 1";
/// 8: an attachment, 2: a link.
const MARKS: &str =
    "UPDATE message SET marks = CASE WHEN id IN (1201, 7777) THEN 10 ELSE 2 END WHERE id % 3 = 1 OR id = 7777";
/// Two messages to the users 2 and 3, two under another topic of the large channel and one where that is resolved.
const TOPICS: &str = "UPDATE message SET topic = CASE WHEN id = 2607 THEN '\u{2714} Tea' ELSE 'Tea' END,
    topic_key = CASE WHEN id = 2607 THEN '\u{2714} tea' ELSE 'tea' END WHERE id IN (2503, 17003, 2607)";
const DIRECT: &str = "INSERT INTO direct (recipient_id, users) VALUES (901, '2,3')";
const DIRECT_USERS: &str = "INSERT INTO direct_user (user_id, recipient_id) VALUES (2, 901), (3, 901)";
const DIRECTS: &str = "UPDATE message SET recipient_id = 901, topic = '', topic_key = '' WHERE id IN (3003, 18003)";
const HEAD: &str = "UPDATE log_head SET last_event = 21000, pruned = 21000 WHERE one = 1";
const MANY_RESOLVED: &str = "UPDATE message SET topic = '\u{2714} Lunch', topic_key = '\u{2714} lunch'
WHERE id > 8000 AND id <= 9000";
const RESOLVED_WORDS: &str =
    "UPDATE message_words SET words = 'common \u{a7}22 \u{b6}e29c94206c756e6368' WHERE rowid > 8000 AND rowid <= 9000";
const FEW_REACTIONS: &str = "INSERT INTO reaction (message_id, user_id, kind, code, name, event_id) VALUES
    (1600, 2, 'unicode_emoji', '1f44d', 'thumbs_up', 1), (19003, 2, 'unicode_emoji', '1f44d', 'thumbs_up', 1)";
/// More than are compared one by one.
const MANY_REACTIONS: &str = "INSERT INTO reaction (message_id, user_id, kind, code, name, event_id)
SELECT id, 3, 'unicode_emoji', '1f44d', 'thumbs_up', 1 FROM message WHERE id > 5000 AND id <= 6000";
/// Beside the properties that a search may be narrowed by on an engine.
const WORDS_SQLITE: &str = "INSERT INTO message_words (rowid, words)
SELECT id, content || ' \u{a7}' || recipient_id || ' \u{a4}' || sender_id || ' \u{b6}' || lower(hex(topic_key))
    || CASE WHEN (marks & 2) <> 0 THEN ' \u{ac}2' ELSE '' END || CASE WHEN (marks & 8) <> 0 THEN ' \u{ac}8' ELSE '' END
FROM message WHERE id > 1000";
const WORDS_POSTGRES: &str = "INSERT INTO message_words (rowid, words)
SELECT id, array_to_tsvector(string_to_array(content || CASE WHEN (marks & 2) <> 0 THEN ' \u{ac}2' ELSE '' END
    || CASE WHEN (marks & 8) <> 0 THEN ' \u{ac}8' ELSE '' END || ' \u{b1}11_' || (id >> 11) || ' \u{b1}14_' || (id >> 14) || ' \u{b1}17_' || (id >> 17), ' '))
FROM message WHERE id > 1000";

/// For what a search finds: a busy machine takes longer than a search may.
const LONG: Option<Duration> = Some(Duration::from_mins(2));

/// A store of two channels, the small one 12, with the reader in both and everything in the index of words.
async fn filled(home: &Home, search_time: Option<Duration>) -> ChatStore {
    let store = home.open().await;
    found(&store).await;
    crate::people::change(&store, vec![subscription(11, 2), subscription(12, 2)]).await;
    store.flush_and_close().await;
    let words = if home.is_postgres() { WORDS_POSTGRES } else { WORDS_SQLITE };
    for sql in [FILL, TEXTS, SELDOM, MARKS, TOPICS, DIRECT, DIRECT_USERS, DIRECTS, HEAD, words] {
        home.ask(sql).await;
    }
    let db = home.try_open().await.unwrap();
    if let Some(time) = search_time {
        db.set_search_timeout(time);
    }
    ChatStore::start_without_secret(db).await.unwrap()
}

fn selection(store: &ChatStore, conditions: &[Asked]) -> ReadableMessageSelection {
    let realm = store.snapshot();
    let terms =
        conditions.iter().map(|(condition, negated)| NarrowTerm { condition: condition.clone(), negated: *negated });
    ReadableMessageSelection::new(&realm, realm.user(READER).unwrap(), terms.collect())
}

fn search(words: &str) -> NarrowCondition {
    NarrowCondition::Search(SearchWords::parse(words))
}

const NEWEST: MessageWindow = MessageWindow { anchor: Anchor::Newest, before: 20, after: 0, include_anchor: false };

/// The messages that a narrow finds in the small channel or anywhere, the newest of them.
async fn newest(store: &ChatStore, conditions: &[Asked]) -> Vec<i64> {
    let page = store.load_message_window(&selection(store, conditions), NEWEST).await.unwrap();
    page.messages.iter().map(|(message, _)| message.id.0).collect()
}

on_each_engine! {
    async fn a_common_word_beside_every_other_term_finds_what_has_both(home) {
        let store = filled(&home, LONG).await;
        let starred = [MessageId(1_400), MessageId(20_002)];
        let flag = (MessageFlag::Starred, FlagOp::Add);
        let event = (crate::home::NOW_S, notice(chat_core::event_log::event::EventAudience::Everyone, "f"));
        store.change_flag(READER, flag, &decided_copies(&store, &starred), event).await.unwrap();
        let small = || (NarrowCondition::Channel(ChannelId(12)), false);
        let common = || (search("common"), false);
        let has = |what| (NarrowCondition::Has(what), false);
        let rows: [(&[Asked], &[i64]); 12] = [
            (&[common(), (NarrowCondition::IsFlag(MessageFlag::Starred), false)], &[1_400, 20_002]),
            (&[(search("even"), false), small(), (NarrowCondition::IsFlag(MessageFlag::Starred), false)], &[1_400]),
            (&[(search("seldom"), false), (NarrowCondition::IsFlag(MessageFlag::Starred), false)], &[]),
            (&[common(), (search("seldom"), false)], &[5_001, 10_001, 15_001, 20_001]),
            (&[(search("even"), false), (search("seldom"), false)], &[]),
            (&[common(), small(), (NarrowCondition::Sender(UserId(2)), false)], &[]),
            (&[common(), small(), has(HasOperand::Attachment)], &[]),
            (&[common(), has(HasOperand::Attachment)], &[1_201, 7_777]),
            (&[(search("even"), false), has(HasOperand::Attachment)], &[]),
            (&[common(), has(HasOperand::Image)], &[]),
            (&[common(), small(), (search("even"), true)], &[]),
            (&[common(), (NarrowCondition::IsMentioned, false)], &[]),
        ];
        for (conditions, expected) in rows {
            assert_eq!(newest(&store, conditions).await, expected, "{conditions:?}");
        }
        assert_eq!(newest(&store, &[common(), small()]).await.len(), 20);
        assert_eq!(newest(&store, &[(search("even"), false), small()]).await.last(), Some(&21_000));
        store.flush_and_close().await;
    }

    async fn a_message_of_stop_words_with_a_link_is_stored_and_found_by_its_link(home) {
        let store = home.open().await;
        found(&store).await;
        crate::people::change(&store, vec![subscription(11, 2)]).await;
        let mut message = crate::people::message(&store, 2, to_channel(11), ("the", "[it](/x)"));
        message.event.message.html = r#"<p><a href="/x">it</a></p>"#.to_owned();
        message.event.message.content_flags.has_link = true;
        let id = send(&store, message).await;
        assert_eq!(newest(&store, &[(NarrowCondition::Has(HasOperand::Link), false)]).await, [id.0]);
        store.flush_and_close().await;
    }

    async fn a_common_word_in_few_places_finds_what_is_there(home) {
        let store = filled(&home, LONG).await;
        let policy = |channel: i64, topic: &str, number: i64| RealmChange::UserItem {
            user_id: READER,
            kind: UserItemKind::TopicPolicy,
            key: format!("{channel}/{topic}"),
            document: Some(json!({
                "stream_id": channel, "topic_name": topic, "last_updated": 1, "visibility_policy": number,
            })),
        };
        let common = || (search("common"), false);
        let with = |condition| [common(), (condition, false)];
        // Nothing is followed, muted or heard apart from its channel yet.
        for condition in [NarrowCondition::IsFollowed(READER), NarrowCondition::IsMuted(READER)] {
            assert_eq!(newest(&store, &with(condition.clone())).await, [0; 0], "{condition:?}");
        }
        crate::people::change(&store, vec![policy(11, "tea", 3), policy(11, "\u{2714} tea", 1)]).await;
        let rows: [(NarrowCondition, &[i64]); 9] = [
            (NarrowCondition::IsDirect, &[3_003, 18_003]),
            (NarrowCondition::DirectIncluding(UserId(3)), &[3_003, 18_003]),
            (NarrowCondition::DirectIncluding(UserId(4)), &[]),
            (NarrowCondition::Direct(vec![UserId(2), UserId(3)]), &[3_003, 18_003]),
            (NarrowCondition::Topic("tea".to_owned()), &[2_503, 17_003]),
            (NarrowCondition::IsFollowed(READER), &[2_503, 17_003]),
            (NarrowCondition::IsMuted(READER), &[2_607]),
            (NarrowCondition::IsResolved, &[2_607]),
            (NarrowCondition::WebPublicChannels, &[]),
        ];
        for (condition, expected) in rows {
            assert_eq!(newest(&store, &with(condition.clone())).await, expected, "{condition:?}");
        }
        // Many resolved topics are found by the index of words.
        home.ask(MANY_RESOLVED).await;
        if !home.is_postgres() {
            home.ask(RESOLVED_WORDS).await;
        }
        let resolved = newest(&store, &with(NarrowCondition::IsResolved)).await;
        assert_eq!((resolved.len(), resolved[0], resolved[19]), (20, 8_981, 9_000));
        // A muted channel is out of the home view but for the topics that are heard all the same.
        let mut muted = subscription(11, 2);
        if let RealmChange::Subscription(subscription) = &mut muted {
            subscription.is_muted = true;
        }
        crate::people::change(&store, vec![muted]).await;
        let in_home = [common(), (NarrowCondition::InHome(READER), false), (search("even"), true)];
        assert_eq!(newest(&store, &in_home).await, [2_503, 3_003, 17_003, 18_003]);
        let is_muted = newest(&store, &with(NarrowCondition::IsMuted(READER))).await;
        assert_eq!((is_muted.len(), is_muted.last()), (20, Some(&20_999)));
        store.flush_and_close().await;
    }

    async fn a_common_word_among_unread_messages_finds_what_was_not_read(home) {
        let store = filled(&home, LONG).await;
        let unread = [(search("common"), false), (NarrowCondition::IsUnread, false)];
        assert_eq!(newest(&store, &unread).await.len(), 20);
        let all: Vec<MessageId> = (1_001..=21_000).map(MessageId).collect();
        let read = |add| (MessageFlag::Read, if add { FlagOp::Add } else { FlagOp::Remove });
        let event = || (crate::home::NOW_S, notice(chat_core::event_log::event::EventAudience::Everyone, "f"));
        store.change_flag(READER, read(true), &decided_copies(&store, &all), event()).await.unwrap();
        assert_eq!(newest(&store, &unread).await, [0; 0]);
        let again = [MessageId(18_003), MessageId(20_500)];
        store.change_flag(READER, read(false), &decided_copies(&store, &again), event()).await.unwrap();
        assert_eq!(newest(&store, &unread).await, [18_003, 20_500]);
        store.flush_and_close().await;
    }

    async fn a_common_word_beside_few_and_many_reactions_finds_what_has_both(home) {
        let store = filled(&home, LONG).await;
        let reacted = [(search("common"), false), (NarrowCondition::Has(HasOperand::Reaction), false)];
        assert_eq!(newest(&store, &reacted).await, [0; 0]);
        home.ask(FEW_REACTIONS).await;
        assert_eq!(newest(&store, &reacted).await, [1_600, 19_003]);
        let seldom = [(search("seldom"), false), (NarrowCondition::Has(HasOperand::Reaction), false)];
        assert_eq!(newest(&store, &seldom).await, [0; 0]);
        home.ask(MANY_REACTIONS).await;
        assert_eq!(newest(&store, &seldom).await, [5_001]);
        let even = [(search("even"), false), (NarrowCondition::Has(HasOperand::Reaction), false)];
        assert_eq!(newest(&store, &even).await, (5_961..6_000).filter(|id| id % 2 == 0).chain([6_000]).collect::<Vec<_>>());
        store.flush_and_close().await;
    }

    async fn searches_at_once_are_answered_or_given_up_and_nothing_else(home) {
        let store = Arc::new(filled(&home, Some(Duration::from_millis(1))).await);
        let narrows = [
            vec![(search("common"), false)],
            vec![(search("common"), false), (NarrowCondition::Channel(ChannelId(12)), false)],
            vec![(search("common"), false), (search("even"), true), (NarrowCondition::Sender(UserId(1)), false)],
            vec![(search("common"), false), (NarrowCondition::Has(HasOperand::Reaction), false)],
        ];
        let mut searches = JoinSet::new();
        for narrow in narrows.iter().cycle().take(32) {
            let (store, narrow) = (Arc::clone(&store), narrow.clone());
            searches.spawn(async move { store.load_message_window(&selection(&store, &narrow), NEWEST).await });
        }
        let ended = searches.join_all().await;
        assert!(ended.iter().all(|outcome| outcome.as_ref().err().is_none_or(StoreError::is_search_timeout)));
        assert!(ended.iter().any(Result::is_err), "a millisecond is not enough for 20,000 messages");
        // What is no search is read as before.
        assert_eq!(newest(&store, &[(NarrowCondition::Channel(ChannelId(12)), false)]).await.len(), 20);
        store.flush_and_close().await;
    }
}

#[test]
fn the_numbers_of_the_messages_are_those_of_the_statement() {
    assert!(FILL.contains(&format!("i < {}", MESSAGES + 1_000)));
}
