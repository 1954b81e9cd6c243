//! Flags and what is read, against a model.

use std::collections::BTreeSet;

use chat_core::event_log::event::{EventAudience, MessageFlagsUpdate};
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::{MessageId, UserId};
use chat_core::messages::narrow::{Anchor, MessageWindow, NarrowCondition, NarrowTerm, ReadableMessageSelection};
use chat_core::messages::store::{MessageStore as _, MessageWriteOutcome};
use chat_core::model::flag_change::{FlagChange, FlagOp};
use chat_core::model::message::{Message, MessageFlag};
use chat_core::model::user_message::UserMessage;
use chat_storage::ChatStore;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestRunner};

use crate::home::{NOW_S, on_each_engine};
use crate::people::{
    change, decided, decided_copies, found, message, notice, say, send, subscription, to_channel, to_users,
};

const READER: UserId = UserId(2);
const POSTGRES_SETS: &str = include_str!("../../../../migrations/chat/postgres/0015_flag_sets.sql");
const SQLITE_SETS: &str = include_str!("../../../../migrations/chat/sqlite/0015_flag_sets.sql");

async fn set(store: &ChatStore, flag: MessageFlag, op: FlagOp, ids: &[MessageId]) {
    store
        .change_flag(
            READER,
            (flag, op),
            &decided_copies(store, ids),
            (NOW_S, notice(EventAudience::from_users([READER]), "flags")),
        )
        .await
        .unwrap();
}

fn selection(store: &ChatStore, conditions: &[NarrowCondition]) -> ReadableMessageSelection {
    let realm = store.snapshot();
    let reader = realm.user(READER).unwrap();
    let term = |condition: &NarrowCondition| NarrowTerm { condition: condition.clone(), negated: false };
    ReadableMessageSelection::new(&realm, reader, conditions.iter().map(term).collect())
}

async fn unread(store: &ChatStore) -> BTreeSet<MessageId> {
    let found = store.unread_messages(&selection(store, &[]), 1_000).await.unwrap();
    assert!(found.places.iter().all(|place| !place.ids.is_empty() && place.ids.is_sorted()));
    found.message_ids().into_iter().collect()
}

/// Steps of a reader: which messages, and whether they read them.
fn steps() -> Vec<(Vec<usize>, bool)> {
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let step = (proptest::collection::vec(0_usize..40, 1..12), proptest::bool::weighted(0.7));
    proptest::collection::vec(step, 40).new_tree(&mut runner).unwrap().current()
}

on_each_engine! {
    async fn what_is_read_is_what_was_marked_read(home) {
        let store = home.open().await;
        found(&store).await;
        // Before the reader came: not theirs, never unread.
        say(&store, 1, 11, "before").await;
        change(&store, vec![subscription(11, 2)]).await;
        let mut ids = Vec::new();
        for at in 0..40 {
            ids.push(match at % 4 {
                0 => send(&store, message(&store, 1, to_users(&[1, 2]), ("", "psst"))).await,
                // Not in this channel.
                1 => say(&store, 1, 12, "elsewhere").await,
                _ => say(&store, 3, 11, "t").await,
            });
        }
        let received = |at: &usize| at % 4 != 1;
        let mut model: BTreeSet<MessageId> = (0..40).filter(received).map(|at| ids[at]).collect();
        assert_eq!(unread(&store).await, model);
        for (places, is_read) in steps() {
            let marked: Vec<MessageId> = places.iter().map(|at| ids[*at]).collect();
            set(&store, MessageFlag::Read, if is_read { FlagOp::Add } else { FlagOp::Remove }, &marked).await;
            for at in places.iter().filter(|at| received(at)) {
                if is_read { model.remove(&ids[*at]) } else { model.insert(ids[*at]) };
            }
            assert_eq!(unread(&store).await, model);
        }
        store.flush_and_close().await;
        let store = home.open().await;
        assert_eq!(unread(&store).await, model);
        store.flush_and_close().await;
    }

    async fn what_is_read_at_once_is_kept_where_something_was_read_and_where_nothing_was(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, vec![subscription(11, 2), subscription(12, 2)]).await;
        let mut ids = Vec::new();
        for (channel, topic) in [(11, "a"), (11, "b"), (11, "a"), (12, "a"), (12, "b"), (12, "a")] {
            ids.push(say(&store, 1, channel, topic).await);
        }
        let rows = "SELECT CAST(count(*) AS TEXT) FROM read_set WHERE user_id = 2";
        set(&store, MessageFlag::Read, FlagOp::Add, &ids[1..2]).await;
        assert_eq!(home.ask(rows).await, ["1"]);
        set(&store, MessageFlag::Read, FlagOp::Add, &[ids[2], ids[4]]).await;
        assert_eq!(home.ask(rows).await, ["2"]);
        assert_eq!(unread(&store).await, [ids[0], ids[3], ids[5]].into());
        set(&store, MessageFlag::Read, FlagOp::Remove, &[ids[1], ids[4]]).await;
        assert_eq!(home.ask(rows).await, ["2"]);
        assert_eq!(unread(&store).await, [ids[0], ids[1], ids[3], ids[4], ids[5]].into());
        store.flush_and_close().await;
    }

    async fn what_is_found_has_the_flags_of_the_moment(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, vec![subscription(11, 2), subscription(12, 2)]).await;
        let mut ids = vec![say(&store, 1, 11, "t").await, say(&store, 1, 12, "t").await];
        let mark = async |flag: &str, op: FlagOp, ids: &[MessageId]| {
            let mark = FlagChange::parse(flag, if op == FlagOp::Add { "add" } else { "remove" }).unwrap();
            let event = MessageFlagsUpdate::without_locations(mark, ids.to_vec()).event_for_user(READER);
            store.change_flag(READER, (mark.flag, op), &decided_copies(&store, ids), (NOW_S, event)).await.unwrap();
        };
        // Twice, because what was read once is known then.
        let flags = async || {
            let window = MessageWindow { anchor: Anchor::Newest, before: 10, after: 0, include_anchor: true };
            let mut seen = Vec::new();
            for _ in 0..2 {
                let page = store.load_message_window(&selection(&store, &[]), window).await.unwrap();
                seen.push(page.messages.into_iter().map(|(_, flags)| flags).collect::<Vec<_>>());
            }
            assert_eq!(seen[0], seen[1]);
            seen.remove(0)
        };
        assert_eq!(flags().await, [vec![], vec![]]);
        mark("read", FlagOp::Add, &ids[..1]).await;
        assert_eq!(flags().await, [vec![MessageFlag::Read], vec![]]);
        // In another place than those that are known, and in the same.
        ids.push(send(&store, message(&store, 1, to_users(&[1, 2]), ("", "psst"))).await);
        ids.push(say(&store, 3, 11, "t").await);
        assert_eq!(flags().await, [vec![MessageFlag::Read], vec![], vec![], vec![]]);
        mark("starred", FlagOp::Add, &ids[2..3]).await;
        mark("read", FlagOp::Add, &ids[1..]).await;
        assert_eq!(flags().await, [vec![MessageFlag::Read], vec![MessageFlag::Read], vec![MessageFlag::Read, MessageFlag::Starred], vec![MessageFlag::Read]]);
        mark("read", FlagOp::Remove, &ids[..3]).await;
        assert_eq!(flags().await, [vec![], vec![], vec![MessageFlag::Starred], vec![MessageFlag::Read]]);
        store.flush_and_close().await;
    }

    async fn reading_everything_leaves_a_mark_and_no_set(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, vec![subscription(11, 2)]).await;
        let mut ids = Vec::new();
        for _ in 0..30 {
            ids.push(say(&store, 1, 11, "t").await);
        }
        let (odd, even): (Vec<MessageId>, Vec<MessageId>) = ids.iter().partition(|id| id.0 % 2 == 1);
        set(&store, MessageFlag::Read, FlagOp::Add, &odd).await;
        assert_eq!(unread(&store).await, even.iter().copied().collect());
        set(&store, MessageFlag::Read, FlagOp::Add, &even).await;
        assert!(unread(&store).await.is_empty());
        let rows = home.ask("SELECT CAST(all_until AS TEXT) || ' ' || CAST(length(messages) AS TEXT) FROM read_set").await;
        assert_eq!(rows, [format!("{} 8", ids.last().unwrap())]);
        store.flush_and_close().await;
    }

    async fn a_sender_who_sees_what_they_send_has_read_it(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, vec![subscription(11, 2)]).await;
        let mut own = message(&store, 2, to_channel(11), ("t", "mine"));
        own.event.message.content_flags.read_by_sender = true;
        let seen = send(&store, own.clone()).await;
        own.event.message.content_flags.read_by_sender = false;
        let unseen = send(&store, own).await;
        assert_eq!(unread(&store).await, [unseen].into());
        let found = store.find_messages(READER, &[seen, unseen]).await.unwrap();
        assert_eq!(found.into_iter().map(|(_, flags)| flags).collect::<Vec<_>>(), [vec![MessageFlag::Read], vec![]]);
        set(&store, MessageFlag::Read, FlagOp::Remove, &[seen]).await;
        assert_eq!(unread(&store).await, [seen, unseen].into());
        set(&store, MessageFlag::Read, FlagOp::Add, &[seen, unseen]).await;
        assert!(unread(&store).await.is_empty());
        store.flush_and_close().await;
    }

    async fn what_a_receiver_does_not_want_to_hear_is_read_as_it_comes(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, vec![subscription(11, 2)]).await;
        let mut ids = Vec::new();
        for (sender, to, is_read) in [
            (3, to_channel(11), true),
            (1, to_channel(11), false),
            (3, to_users(&[2, 3]), true),
            (3, to_channel(11), true),
        ] {
            let mut said = message(&store, sender, to, ("t", "hello"));
            said.event.flags = is_read.then_some((READER, MessageFlag::Read)).into_iter().collect();
            let id = send(&store, said).await;
            let (_, flags) = store.find_messages(READER, &[id]).await.unwrap().remove(0);
            assert_eq!(flags, if is_read { vec![MessageFlag::Read] } else { vec![] }, "{id}");
            ids.push(id);
        }
        assert_eq!(unread(&store).await, [ids[1]].into());
        set(&store, MessageFlag::Read, FlagOp::Remove, &ids[..1]).await;
        assert_eq!(unread(&store).await, [ids[0], ids[1]].into());
        store.flush_and_close().await;
    }

    async fn rare_flags_are_set_once_and_taken_away(home) {
        let store = home.open().await;
        found(&store).await;
        let id = say(&store, 1, 11, "t").await;
        let missing = MessageId(9_999);
        set(&store, MessageFlag::Starred, FlagOp::Add, &[id, missing]).await;
        set(&store, MessageFlag::Starred, FlagOp::Add, &[id]).await;
        assert_eq!(store.flagged_message_ids(READER, MessageFlag::Starred).await.unwrap(), [id]);
        // Not received: it was there before, and counts as read.
        let (_, flags) = store.find_messages(READER, &[id]).await.unwrap().remove(0);
        assert_eq!(flags, [MessageFlag::Read, MessageFlag::Starred, MessageFlag::Historical]);
        set(&store, MessageFlag::Starred, FlagOp::Remove, &[id]).await;
        assert!(store.flagged_message_ids(READER, MessageFlag::Starred).await.unwrap().is_empty());
        store.flush_and_close().await;
    }

    async fn what_is_starred_is_what_was_marked_wherever_it_is(home) {
        let mut store = home.open().await;
        found(&store).await;
        change(&store, vec![subscription(11, 2)]).await;
        let mut ids = Vec::new();
        // Their numbers are far from each other, and on both sides of what is kept together.
        for head in ["UPDATE log_head SET last_event = 1020, pruned = 1020 RETURNING 'moved'",
            "UPDATE log_head SET last_event = 9000, pruned = 9000 RETURNING 'moved'"] {
            for _ in 0..10 {
                ids.push(say(&store, 1, 11, "t").await);
            }
            store.flush_and_close().await;
            assert_eq!(home.ask(head).await, ["moved"]);
            store = home.open().await;
        }
        for _ in 0..10 {
            ids.push(say(&store, 1, 11, "t").await);
        }
        let mut model = BTreeSet::new();
        for (places, is_marked) in steps() {
            let marked: Vec<MessageId> = places.iter().map(|at| ids[*at % ids.len()]).collect();
            set(&store, MessageFlag::Starred, if is_marked { FlagOp::Add } else { FlagOp::Remove }, &marked).await;
            for id in marked {
                if is_marked { model.insert(id) } else { model.remove(&id) };
            }
            let all: Vec<MessageId> = model.iter().copied().collect();
            assert_eq!(store.flagged_message_ids(READER, MessageFlag::Starred).await.unwrap(), all);
        }
        assert!(store.flagged_message_ids(READER, MessageFlag::Collapsed).await.unwrap().is_empty());
        assert!(store.flagged_message_ids(UserId(3), MessageFlag::Starred).await.unwrap().is_empty());
        let starred = |found: Vec<(Message, Vec<MessageFlag>)>| {
            let is_starred = |(_, flags): &(Message, Vec<MessageFlag>)| flags.contains(&MessageFlag::Starred);
            found.into_iter().filter(is_starred).map(|(message, _)| message.id).collect::<BTreeSet<_>>()
        };
        assert!(model.len() > 5 && model.len() < ids.len(), "{model:?}");
        assert_eq!(starred(store.find_messages(READER, &ids).await.unwrap()), model);
        assert!(starred(store.find_messages(UserId(3), &ids).await.unwrap()).is_empty());
        let narrow = selection(&store, &[NarrowCondition::IsFlag(MessageFlag::Starred)]);
        let newest = MessageWindow { anchor: Anchor::Newest, before: 4, after: 0, include_anchor: true };
        let shown = store.load_message_window(&narrow, newest).await.unwrap();
        let shown: Vec<MessageId> = shown.messages.iter().map(|(message, _)| message.id).collect();
        assert_eq!(shown, model.iter().copied().skip(model.len() - 4).collect::<Vec<_>>());
        let left: Vec<MessageId> = model.into_iter().collect();
        set(&store, MessageFlag::Starred, FlagOp::Remove, &left).await;
        assert!(home.ask("SELECT messages FROM flag_set").await.is_empty());
        store.flush_and_close().await;
    }

    async fn two_nodes_that_mark_the_same_messages_at_once_lose_nothing(home) {
        let store = home.open().await;
        found(&store).await;
        store.flush_and_close().await;
        // So that the messages are on both sides of what is kept together.
        let head = "UPDATE log_head SET last_event = 1009, pruned = 1009 RETURNING 'moved'";
        assert_eq!(home.ask(head).await, ["moved"]);
        let (one, two) = (home.open().await, home.open().await);
        let mut ids = Vec::new();
        for _ in 0..30 {
            ids.push(say(&one, 1, 11, "t").await);
        }
        let mark = async |node: &ChatStore, op: FlagOp, ids: &[MessageId]| {
            let event = || (NOW_S, notice(EventAudience::from_users([READER]), "flags"));
            loop {
                let decided = decided_copies(node, ids);
                if let MessageWriteOutcome::Done(at) = node.change_flag(READER, (MessageFlag::Starred, op), &decided, event()).await.unwrap() {
                    return at;
                }
            }
        };
        // Every third message is marked by one node, every third by the other, and the rest by both, who do not agree.
        let mut model: BTreeSet<MessageId> = BTreeSet::new();
        for (round, (places, adds)) in steps().into_iter().enumerate() {
            let of = |node: usize| {
                let theirs = |at: &&usize| *at % 3 != node;
                places.iter().filter(theirs).map(|at| ids[at % ids.len()]).collect::<Vec<MessageId>>()
            };
            let op = |adds: bool| if adds { FlagOp::Add } else { FlagOp::Remove };
            let requests = [(op(adds), of(0)), (op(adds ^ (round % 2 == 0)), of(1))];
            let at = tokio::join!(mark(&one, requests[0].0, &requests[0].1), mark(&two, requests[1].0, &requests[1].1));
            let mut done = [(at.0, &requests[0]), (at.1, &requests[1])];
            done.sort_by_key(|(at, _)| *at);
            // What both marked is as the later one in the log says.
            for (_, (op, marked)) in done {
                match op {
                    FlagOp::Add => model.extend(marked),
                    FlagOp::Remove => model.retain(|id| !marked.contains(id)),
                }
            }
            let all: Vec<MessageId> = model.iter().copied().collect();
            for node in [&one, &two] {
                assert_eq!(node.flagged_message_ids(READER, MessageFlag::Starred).await.unwrap(), all, "round {round}");
            }
        }
        assert!(!model.is_empty() && model.len() < ids.len(), "{model:?}");
        tokio::join!(mark(&one, FlagOp::Remove, &ids), mark(&two, FlagOp::Remove, &ids));
        assert!(home.ask("SELECT messages FROM flag_set").await.is_empty());
        one.flush_and_close().await;
        two.flush_and_close().await;
    }

    async fn what_two_nodes_mark_read_and_unread_at_once_is_what_both_tell(home) {
        let one = home.open().await;
        found(&one).await;
        // SQLite has one node.
        let two = if home.is_postgres() { home.open().await } else { one.clone() };
        change(&one, vec![subscription(11, 2), subscription(12, 2)]).await;
        let mut ids = Vec::new();
        for at in 0..40 {
            ids.push(say(&one, 1, 11 + at % 2, "t").await);
        }
        let mark = async |node: &ChatStore, op: FlagOp, ids: &[MessageId]| {
            let event = MessageFlagsUpdate::without_locations(FlagChange { flag: MessageFlag::Read, op }, ids.to_vec()).event_for_user(READER);
            node.find_user_messages(READER, ids, MessageFlag::Read).await.unwrap();
            loop {
                let (decided, event) = (decided_copies(node, ids), (NOW_S, event.clone()));
                if let MessageWriteOutcome::Done(at) = node.change_flag(READER, (MessageFlag::Read, op), &decided, event).await.unwrap() {
                    return at;
                }
            }
        };
        let mut model: BTreeSet<MessageId> = BTreeSet::new();
        for (round, (places, adds)) in steps().into_iter().enumerate() {
            // What others write in the meantime changes nothing of it.
            if round % 3 == 0 {
                ids.push(say(&two, 1, 12, "t").await);
            }
            let flag_request = |node: usize, adds: bool| {
                let theirs: BTreeSet<_> = places.iter().filter(|at| *at % 3 != node).map(|at| ids[*at]).collect();
                (if adds { FlagOp::Add } else { FlagOp::Remove }, theirs.into_iter().collect::<Vec<_>>())
            };
            let requests = [flag_request(0, adds), flag_request(1, adds ^ (round % 2 == 0))];
            let at = tokio::join!(mark(&one, requests[0].0, &requests[0].1), mark(&two, requests[1].0, &requests[1].1));
            let mut done = [(at.0, &requests[0]), (at.1, &requests[1])];
            done.sort_by_key(|(at, _)| *at);
            for (_, (op, marked)) in done {
                match op {
                    FlagOp::Add => model.extend(marked),
                    FlagOp::Remove => model.retain(|id| !marked.contains(id)),
                }
            }
            for node in [&one, &two] {
                let copies = node.find_user_messages(READER, &ids, MessageFlag::Read).await.unwrap();
                let read = copies.iter().filter(|copy| copy.flags.contains(&MessageFlag::Read)).map(|copy| copy.id);
                assert_eq!(read.collect::<BTreeSet<_>>(), model, "round {round}");
                let not_read: BTreeSet<_> = ids.iter().copied().filter(|id| !model.contains(id)).collect();
                assert_eq!(unread(node).await, not_read, "round {round}");
            }
        }
        assert!(!model.is_empty() && model.len() < ids.len(), "{model:?}");
        one.flush_and_close().await;
        two.flush_and_close().await;
    }

    async fn a_message_that_goes_is_in_nobodys_set(home) {
        let store = home.open().await;
        found(&store).await;
        let (gone, kept) = (say(&store, 1, 11, "t").await, say(&store, 1, 11, "t").await);
        for (user, ids) in [(2, vec![gone, kept]), (3, vec![gone])] {
            let event = (NOW_S, notice(EventAudience::from_users([UserId(user)]), "star"));
            store.change_flag(UserId(user), (MessageFlag::Starred, FlagOp::Add), &decided_copies(&store, &ids), event).await.unwrap();
        }
        let (message, _) = store.find_messages(READER, &[gone]).await.unwrap().remove(0);
        store.delete_messages(&decided(&store, &[(message.id, message.revision)]), (NOW_S, vec![notice(EventAudience::Everyone, "gone")])).await.unwrap();
        // Nor does it come back.
        set(&store, MessageFlag::Starred, FlagOp::Add, &[gone]).await;
        let rows = home.ask("SELECT CAST(user_id AS TEXT) || ' ' || messages FROM flag_set").await;
        assert_eq!(rows, [format!("2 [{kept}]")]);
        store.flush_and_close().await;
    }

    async fn stars_from_before_there_were_sets_are_taken_into_them(home) {
        let store = home.open().await;
        found(&store).await;
        let mut mention = message(&store, 1, to_channel(11), ("t", "@2"));
        mention.event.flags = vec![(READER, MessageFlag::Mentioned)];
        let id = send(&store, mention).await;
        store.flush_and_close().await;
        let insert = "INSERT INTO message_flag (user_id, flag, message_id) SELECT 2, 1, id FROM message
            UNION ALL SELECT 3, 2, id FROM message RETURNING 'row'";
        assert_eq!(home.ask(insert).await, ["row", "row"]);
        home.ask("DROP TABLE flag_set").await;
        let file = if home.is_postgres() { POSTGRES_SETS } else { SQLITE_SETS };
        for statement in file.split_inclusive(';').filter(|statement| statement.contains(';')) {
            home.ask(statement).await;
        }
        let store = home.open().await;
        assert_eq!(store.flagged_message_ids(READER, MessageFlag::Starred).await.unwrap(), [id]);
        assert_eq!(store.flagged_message_ids(UserId(3), MessageFlag::Collapsed).await.unwrap(), [id]);
        assert_eq!(store.flagged_message_ids(READER, MessageFlag::Mentioned).await.unwrap(), [id]);
        assert_eq!(home.ask("SELECT 'row' FROM message_flag").await, ["row"]);
        store.flush_and_close().await;
    }

    async fn many_copies_at_once_say_what_the_messages_do(home) {
        let store = home.open().await;
        found(&store).await;
        say(&store, 1, 11, "before").await;
        change(&store, vec![subscription(11, 2)]).await;
        let mut ids = Vec::new();
        for at in 0..520 {
            ids.push(match at % 3 {
                0 => send(&store, message(&store, 1, to_users(&[1, 2]), ("", "psst"))).await,
                1 => say(&store, 2, 11, "mine").await,
                _ => say(&store, 1, 11, "yours").await,
            });
        }
        assert!(!unread(&store).await.is_empty());
        set(&store, MessageFlag::Starred, FlagOp::Add, &ids[..9]).await;
        set(&store, MessageFlag::Read, FlagOp::Add, &ids[5..505]).await;
        set(&store, MessageFlag::Read, FlagOp::Remove, &ids[300..310]).await;
        let (gone, _) = store.find_messages(READER, &ids[7..8]).await.unwrap().remove(0);
        let event = (NOW_S, vec![notice(EventAudience::Everyone, "gone")]);
        store.delete_messages(&decided(&store, &[(gone.id, gone.revision)]), event).await.unwrap();
        let messages = store.find_messages(READER, &ids).await.unwrap();
        assert_eq!(messages.len(), 519);
        let whole: Vec<UserMessage> = messages.into_iter().map(|(message, flags)| UserMessage::from_message(&message, flags)).collect();
        // Of many copies nothing is told that does not matter to the flag they are asked for.
        let stars_alone = |mut copy: UserMessage| {
            copy.flags.retain(|flag| *flag == MessageFlag::Starred);
            copy
        };
        let expected: Vec<UserMessage> = whole.iter().cloned().map(stars_alone).collect();
        assert_eq!(store.find_user_messages(READER, &ids, MessageFlag::Starred).await.unwrap(), expected);
        let few = whole.iter().filter(|copy| ids[..20].contains(&copy.id)).cloned().collect::<Vec<_>>();
        assert_eq!(store.find_user_messages(READER, &ids[..20], MessageFlag::Starred).await.unwrap(), few);
        let without_stars = |mut copy: UserMessage| {
            copy.flags.retain(|flag| *flag != MessageFlag::Starred);
            copy
        };
        let expected: Vec<UserMessage> = whole.into_iter().map(without_stars).collect();
        assert_eq!(store.find_user_messages(READER, &ids, MessageFlag::Read).await.unwrap(), expected);
        store.flush_and_close().await;
    }

    async fn what_was_read_since_copies_were_looked_at_stays_read(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, vec![subscription(11, 2), subscription(12, 2)]).await;
        let mut ids = Vec::new();
        for _ in 0..500 {
            ids.push(say(&store, 1, 11, "yours").await);
        }
        // Copies of one channel say nothing of another.
        let other = [say(&store, 1, 12, "there").await, say(&store, 1, 12, "there").await];
        set(&store, MessageFlag::Read, FlagOp::Add, &other[1..]).await;
        assert_eq!(store.find_user_messages(READER, &ids, MessageFlag::Read).await.unwrap().len(), 500);
        set(&store, MessageFlag::Read, FlagOp::Add, &other[..1]).await;
        assert_eq!(unread(&store).await, ids.iter().copied().collect());
        // Nor do they say what came later.
        assert_eq!(store.find_user_messages(READER, &ids, MessageFlag::Read).await.unwrap().len(), 500);
        let mut unheard = message(&store, 1, to_channel(11), ("t", "psst"));
        unheard.event.flags = vec![(READER, MessageFlag::Read)];
        send(&store, unheard).await;
        set(&store, MessageFlag::Read, FlagOp::Add, &ids[..9]).await;
        assert_eq!(unread(&store).await, ids[9..].iter().copied().collect());
        assert_eq!(store.find_user_messages(READER, &ids, MessageFlag::Read).await.unwrap().len(), 500);
        set(&store, MessageFlag::Read, FlagOp::Add, &ids[100..]).await;
        assert_eq!(unread(&store).await, ids[9..100].iter().copied().collect());
        store.flush_and_close().await;
    }

    async fn everybody_is_mentioned_without_a_row(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, vec![subscription(11, 2)]).await;
        let mut all = message(&store, 1, to_channel(11), ("t", "@all"));
        all.event.message.content_flags.mentions_channel = true;
        all.event.wildcard = true;
        let id = send(&store, all).await;
        let found = store.unread_messages(&selection(&store, &[NarrowCondition::IsMentioned]), 10).await.unwrap();
        assert_eq!((found.message_ids(), found.mentions), (vec![id], vec![id]));
        assert_eq!(store.unread_messages(&selection(&store, &[]), 10).await.unwrap().mentions, [id]);
        assert!(home.ask("SELECT 'row' FROM message_flag").await.is_empty());
        store.flush_and_close().await;
    }

    async fn readers_of_a_message_are_who_received_and_read_it(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, [2, 3, 4].map(|user| subscription(11, user)).to_vec()).await;
        let mut own = message(&store, 2, to_channel(11), ("t", "mine"));
        own.event.message.content_flags.read_by_sender = true;
        let id = send(&store, own).await;
        let later = say(&store, 1, 11, "t").await;
        // Came later, and has read all there was for them.
        change(&store, vec![subscription(11, 5)]).await;
        for (user, ids) in [(2, vec![id]), (3, vec![id]), (4, vec![later]), (5, vec![id, later])] {
            let event = (NOW_S, notice(EventAudience::from_users([UserId(user)]), "read"));
            store.change_flag(UserId(user), (MessageFlag::Read, FlagOp::Add), &decided_copies(&store, &ids), event).await.unwrap();
        }
        let (message, _) = store.find_messages(READER, &[id]).await.unwrap().remove(0);
        assert_eq!(store.message_readers(&message).await.unwrap(), [UserId(3)]);
        store.flush_and_close().await;
    }
}
