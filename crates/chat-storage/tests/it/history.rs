//! Windows of messages, against a model that looks at every message.

use chat_core::event_log::event::EventAudience;
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::{ChannelId, MessageId, UserId};
use chat_core::messages::narrow::{
    Anchor, MessageText, MessageWindow, NEWEST_ANCHOR, NarrowCandidate, NarrowCondition, NarrowTerm,
    ReadableMessageSelection,
};
use chat_core::messages::store::{MessagePage, MessageStore as _};
use chat_core::model::channel::ChannelPrivacy;
use chat_core::model::flag_change::FlagOp;
use chat_core::model::message::{Conversation, MessageFlag, Recipient};
use chat_core::text_processing::search_words::SearchWords;
use chat_storage::ChatStore;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestRunner};

use crate::home::{NOW_S, on_each_engine};
use crate::people::{
    change, channel, decided_copies, found, message, notice, say, send, subscription, to_channel, to_users,
    unsubscription,
};

const READER: UserId = UserId(2);
const TOPICS: [&str; 3] = ["Lunch", "lunch", "✔ done"];
/// What is written and what is looked for share some words.
const TEXTS: [&str; 5] = ["hello", "Meetings next week", "the next meeting", "two weeks, hello", "会議 next"];
const SEARCHES: [&str; 8] =
    ["hello", "meeting week", "\"next week\"", "lunch", "the", "会議", "\"hello\" weeks", "nowhere"];

/// Many messages of several senders; the reader comes and goes.
async fn tell(store: &ChatStore) -> Vec<MessageId> {
    found(store).await;
    change(
        store,
        vec![
            chat_core::model::realm_change::RealmChange::Channel(Box::new(channel(
                13,
                ChannelPrivacy::PrivateProtectedHistory,
            ))),
            subscription(12, 2),
        ],
    )
    .await;
    let mut ids = Vec::new();
    for at in 0_i64..120 {
        match at {
            20 | 90 => drop(change(store, vec![subscription(11, 2), subscription(13, 2)]).await),
            60 => drop(change(store, vec![unsubscription(11, 2), unsubscription(13, 2)]).await),
            _ => {}
        }
        let sender = at % 4 + 1;
        let topic = TOPICS[usize::try_from(at % 3).unwrap()];
        let mut message = match at % 7 {
            0 => message(store, 2, to_users(&[2, 5]), ("", "psst")),
            1 => message(store, 1, to_users(&[1, 3]), ("", "not yours")),
            2 => message(store, 1, to_users(&[1, 2, 6]), ("", "three")),
            place => {
                let text = TEXTS[usize::try_from(at % 5).unwrap()];
                message(store, sender, to_channel(11 + place % 3), (topic, text))
            }
        };
        message.event.message.content_flags.has_link = at % 5 == 0;
        message.event.message.content_flags.mentions_channel = at % 11 == 0;
        if at % 6 == 0 {
            message.event.flags = vec![(READER, MessageFlag::Mentioned), (UserId(3), MessageFlag::Mentioned)];
        }
        ids.push(send(store, message).await);
    }
    let some = |every: usize| ids.iter().copied().step_by(every).collect::<Vec<_>>();
    for (flag, op, messages) in [
        (MessageFlag::Read, FlagOp::Add, ids[..50].to_vec()),
        (MessageFlag::Read, FlagOp::Add, some(3)),
        (MessageFlag::Read, FlagOp::Remove, some(10)),
        (MessageFlag::Starred, FlagOp::Add, some(4)),
    ] {
        store
            .change_flag(
                READER,
                (flag, op),
                &decided_copies(store, &messages),
                (NOW_S, notice(EventAudience::Everyone, "f")),
            )
            .await
            .unwrap();
    }
    ids
}

fn conditions(ids: Vec<MessageId>) -> impl Strategy<Value = Vec<NarrowTerm>> {
    let condition = prop_oneof![
        (11_i64..14).prop_map(|id| NarrowCondition::Channel(ChannelId(id))),
        Just(NarrowCondition::PublicChannels),
        prop_oneof![Just("lunch"), Just("✔ done")].prop_map(|key| NarrowCondition::Topic(key.to_owned())),
        prop_oneof![Just(vec![2, 5]), Just(vec![1, 2, 6]), Just(vec![2, 7])]
            .prop_map(|users| NarrowCondition::Direct(users.into_iter().map(UserId).collect())),
        (1_i64..7).prop_map(|id| NarrowCondition::DirectIncluding(UserId(id))),
        (1_i64..5).prop_map(|id| NarrowCondition::Sender(UserId(id))),
        Just(NarrowCondition::IsDirect),
        Just(NarrowCondition::IsFlag(MessageFlag::Starred)),
        Just(NarrowCondition::IsUnread),
        Just(NarrowCondition::IsMentioned),
        Just(NarrowCondition::IsResolved),
        Just(NarrowCondition::Has(chat_core::messages::narrow::HasOperand::Link)),
        proptest::sample::select(ids).prop_map(NarrowCondition::Id),
        proptest::sample::select(&SEARCHES).prop_map(|typed| NarrowCondition::Search(SearchWords::parse(typed))),
        Just(NarrowCondition::IsFollowed(READER)),
        Just(NarrowCondition::InHome(READER)),
        Just(NarrowCondition::IsMuted(READER)),
    ];
    let term =
        (condition, proptest::bool::weighted(0.2)).prop_map(|(condition, negated)| NarrowTerm { condition, negated });
    proptest::collection::vec(term, 0..4)
}

fn windows(ids: Vec<MessageId>) -> impl Strategy<Value = MessageWindow> {
    let anchor = prop_oneof![
        Just(Anchor::Oldest),
        Just(Anchor::Newest),
        Just(Anchor::FirstUnread),
        proptest::sample::select(ids).prop_map(Anchor::At),
        (0_i64..200).prop_map(|id| Anchor::At(MessageId(id))),
    ];
    let count = prop_oneof![Just(0_u64), 1_u64..5, Just(200)];
    (anchor, count.clone(), count, any::<bool>()).prop_map(|(anchor, before, after, include_anchor)| MessageWindow {
        anchor,
        before,
        after,
        include_anchor,
    })
}

/// The same questions each time.
fn questions(ids: &[MessageId]) -> Vec<(Vec<NarrowTerm>, MessageWindow)> {
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let strategy = (conditions(ids.to_vec()), windows(ids.to_vec()));
    (0..400).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

/// Every message with the reader's flags, asked for one by one.
async fn every(store: &ChatStore, ids: &[MessageId]) -> Vec<(NarrowCandidate<'static>, Vec<MessageFlag>)> {
    let all = store.find_messages(READER, ids).await.unwrap();
    assert_eq!(all.len(), ids.len());
    let candidate = |(message, flags): (chat_core::model::message::Message, Vec<MessageFlag>)| {
        let candidate = NarrowCandidate {
            id: message.id,
            recipient: message.recipient,
            direct_users: message.direct_users.into(),
            topic: message.topic.into(),
            sender_id: message.sender_id,
            content_flags: message.content_flags,
            has_reaction: !message.reactions.is_empty(),
            wording: Some(MessageText::new(message.content, message.html)),
        };
        (candidate, flags)
    };
    all.into_iter().map(candidate).collect()
}

/// What a window holds, worked out by looking at everything.
fn expected(
    store: &ChatStore,
    all: &[(NarrowCandidate<'static>, Vec<MessageFlag>)],
    selection: &ReadableMessageSelection,
    window: MessageWindow,
) -> (Vec<MessageId>, MessageId, [bool; 3]) {
    let realm = store.snapshot();
    let admitted: Vec<&(NarrowCandidate<'static>, Vec<MessageFlag>)> =
        all.iter().filter(|(candidate, flags)| selection.matches(candidate, flags, &realm)).collect();
    let first_unread = || admitted.iter().find(|(_, flags)| !flags.contains(&MessageFlag::Read));
    let anchor = match window.anchor {
        Anchor::At(id) => id,
        Anchor::Oldest => MessageId(0),
        Anchor::Newest => NEWEST_ANCHOR,
        Anchor::FirstUnread => first_unread().map_or(NEWEST_ANCHOR, |(candidate, _)| candidate.id),
    };
    let ids: Vec<MessageId> = admitted.iter().map(|(candidate, _)| candidate.id).collect();
    let older: Vec<MessageId> = ids.iter().copied().filter(|id| *id < anchor).collect();
    let newer: Vec<MessageId> = ids.iter().copied().filter(|id| *id > anchor).collect();
    let (before, after) = (usize::try_from(window.before).unwrap(), usize::try_from(window.after).unwrap());
    let at = window.include_anchor && ids.contains(&anchor);
    let mut found = older[older.len().saturating_sub(before)..].to_vec();
    found.extend(at.then_some(anchor));
    found.extend(newer.iter().take(after));
    (found, anchor, [at, older.len() <= before, newer.len() <= after])
}

fn seen(page: &MessagePage) -> (Vec<MessageId>, MessageId, [bool; 3]) {
    let ids = page.messages.iter().map(|(message, _)| message.id).collect();
    (ids, page.anchor, [page.found_anchor, page.found_oldest, page.found_newest])
}

on_each_engine! {
    async fn a_window_is_what_looking_at_everything_finds(home) {
        let store = home.open().await;
        let ids = tell(&store).await;
        let all = every(&store, &ids).await;
        let mut with_something = 0;
        for (terms, window) in questions(&ids) {
            let realm = store.snapshot();
            let selection = ReadableMessageSelection::new(&realm, realm.user(READER).unwrap(), terms);
            let page = store.load_message_window(&selection, window).await.unwrap();
            assert_eq!(seen(&page), expected(&store, &all, &selection, window), "{:?} {window:?}", selection.terms);
            for (message, flags) in &page.messages {
                let (_, known) = all.iter().find(|(candidate, _)| candidate.id == message.id).unwrap();
                assert_eq!(flags, known);
            }
            with_something += usize::from(!page.messages.is_empty());
        }
        assert!(with_something > 100, "{with_something}");
        store.flush_and_close().await;
    }

    async fn topics_are_the_newest_first_and_each_once(home) {
        let store = home.open().await;
        found(&store).await;
        for topic in ["b", "a", "B", "c", "a"] {
            say(&store, 1, 11, topic).await;
        }
        let newest = say(&store, 1, 12, "elsewhere").await;
        let realm = store.snapshot();
        let terms = vec![NarrowTerm { condition: NarrowCondition::Channel(ChannelId(11)), negated: false }];
        let selection = ReadableMessageSelection::new(&realm, realm.user(READER).unwrap(), terms);
        let topics = store.channel_topics(&selection, ChannelId(11)).await.unwrap();
        let named: Vec<(&str, i64)> = topics.iter().map(|topic| (topic.name.as_str(), topic.max_id.0 - newest.0)).collect();
        assert_eq!(named, [("a", -1), ("c", -2), ("B", -3)]);
        store.flush_and_close().await;
    }

    async fn a_private_channel_shows_the_topics_its_reader_received(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, vec![chat_core::model::realm_change::RealmChange::Channel(Box::new(channel(13, ChannelPrivacy::PrivateProtectedHistory)))])
            .await;
        say(&store, 1, 13, "before").await;
        let joined = change(&store, vec![subscription(13, 2)]).await;
        let within = say(&store, 1, 13, "within").await;
        change(&store, vec![unsubscription(13, 2)]).await;
        say(&store, 1, 13, "after").await;
        assert!(MessageId::from(joined) < within);
        let realm = store.snapshot();
        let terms = vec![NarrowTerm { condition: NarrowCondition::Channel(ChannelId(13)), negated: false }];
        let selection = ReadableMessageSelection::new(&realm, realm.user(READER).unwrap(), terms);
        let topics = store.channel_topics(&selection, ChannelId(13)).await.unwrap();
        assert_eq!(topics.iter().map(|topic| topic.name.as_str()).collect::<Vec<_>>(), ["within"]);
        store.flush_and_close().await;
    }

    async fn a_set_of_users_is_one_conversation_whoever_writes_first(home) {
        let store = home.open().await;
        found(&store).await;
        let mut sending = tokio::task::JoinSet::new();
        for sender in [2, 5, 2, 5] {
            let message = message(&store, sender, to_users(&[2, 5]), ("", "psst"));
            let store = store.clone();
            sending.spawn(async move { send(&store, message).await });
        }
        let ids = sending.join_all().await;
        let found = store.find_messages(READER, &ids).await.unwrap();
        let recipient = found[0].0.recipient;
        assert!(matches!(recipient, Recipient::Direct(_)));
        assert!(found.iter().all(|(message, _)| message.recipient == recipient));
        let conversation = Conversation { recipient, topic_key: String::new() };
        assert_eq!(store.conversation_messages_from(&conversation, ids.iter().copied().min().unwrap()).await.unwrap().len(), 4);
        store.flush_and_close().await;
    }

    async fn what_channels_were_sent_since_a_time_is_counted(home) {
        let store = home.open().await;
        found(&store).await;
        assert_eq!(store.channel_message_counts_since(NOW_S).await.unwrap(), []);
        send(&store, message(&store, 1, to_users(&[1, 2]), ("", "psst"))).await;
        for (channel, later_s) in [(11, 0), (12, 5), (11, 5), (11, 6)] {
            let mut message = message(&store, 1, to_channel(channel), ("t", "hi"));
            message.event.message.sent_s = NOW_S + later_s;
            send(&store, message).await;
        }
        let since = async |since_s| {
            let mut counts = store.channel_message_counts_since(since_s).await.unwrap();
            counts.sort_unstable();
            counts
        };
        let counts = |counts: &[(i64, i64)]| counts.iter().map(|(id, count)| (ChannelId(*id), *count)).collect::<Vec<_>>();
        assert_eq!(since(NOW_S).await, counts(&[(11, 3), (12, 1)]));
        assert_eq!(since(NOW_S + 5).await, counts(&[(11, 2), (12, 1)]));
        assert_eq!(since(NOW_S + 7).await, []);
        store.flush_and_close().await;
    }

    async fn channels_without_messages_since_a_time_are_found(home) {
        let store = home.open().await;
        found(&store).await;
        let mut late = message(&store, 1, to_channel(11), ("t", "hi"));
        late.event.message.sent_s = NOW_S + 5;
        send(&store, late).await;
        let since = async |since_s| {
            let channels = [ChannelId(11), ChannelId(12), ChannelId(4_711)];
            let mut found = store.channels_without_messages_since(&channels, since_s).await.unwrap();
            found.sort_unstable();
            found
        };
        assert_eq!(since(NOW_S + 5).await, [ChannelId(12)]);
        assert_eq!(since(NOW_S + 6).await, [ChannelId(11), ChannelId(12)]);
        store.flush_and_close().await;
    }

    async fn channels_know_their_first_message_and_users_their_conversations(home) {
        let store = home.open().await;
        found(&store).await;
        let first = say(&store, 1, 11, "t").await;
        say(&store, 1, 11, "t").await;
        let none = store.first_channel_messages(&[ChannelId(11), ChannelId(12)]).await.unwrap();
        assert_eq!(none, [(ChannelId(11), first)]);
        let to = |users: &'static [i64]| message(&store, users[0], to_users(users), ("", "psst"));
        let self_note = send(&store, to(&[2])).await;
        send(&store, to(&[2, 5])).await;
        send(&store, to(&[3, 5])).await;
        let newest = send(&store, to(&[2, 5])).await;
        let users = |users: &[i64]| users.iter().copied().map(UserId).collect::<Vec<_>>();
        let recent = store.recent_direct_conversations(READER, 10).await.unwrap();
        assert_eq!(recent, [(users(&[2, 5]), newest), (users(&[2]), self_note)]);
        assert_eq!(store.recent_direct_conversations(READER, 1).await.unwrap().len(), 1);
        store.flush_and_close().await;
    }
}
