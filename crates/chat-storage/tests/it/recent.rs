//! Windows of a channel's end, which a node keeps in memory, beside what a node finds that has just been started.

use chat_core::event_log::event::{EventAudience, MessageFlagsUpdate, NewEvent};
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::{ChannelId, EventId, MessageId, UserId};
use chat_core::messages::narrow::{Anchor, MessageWindow, NarrowCondition, NarrowTerm, ReadableMessageSelection};
use chat_core::messages::store::{MessageEdit, MessagePage, MessageStore as _};
use chat_core::model::flag_change::{FlagChange, FlagOp};
use chat_core::model::message::{ContentFlags, MessageFlag, Reaction, ReactionType};
use chat_storage::ChatStore;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::home::{Home, NOW_S, on_each_engine};
use crate::people::{
    change, decided, decided_copies, decided_now, found, message, say, send, subscription, to_channel, unsubscription,
};

const READERS: [i64; 3] = [1, 2, 3];

pub(crate) async fn page(store: &ChatStore, user: i64, channel: i64, window: (Anchor, u64, u64)) -> MessagePage {
    let realm = store.snapshot();
    let terms = vec![NarrowTerm { condition: NarrowCondition::Channel(ChannelId(channel)), negated: false }];
    let selection = ReadableMessageSelection::new(&realm, realm.user(UserId(user)).unwrap(), terms);
    let (anchor, before, after) = window;
    store.load_message_window(&selection, MessageWindow { anchor, before, after, include_anchor: true }).await.unwrap()
}

/// Each node shows each reader what a new node shows.
async fn check(home: &Home, nodes: &[ChatStore], step: &str) {
    let fresh = home.open().await;
    for user in READERS {
        for channel in [11, 12] {
            let expected = page(&fresh, user, channel, (Anchor::Newest, 100, 0)).await;
            for (place, node) in nodes.iter().enumerate() {
                let shown = page(node, user, channel, (Anchor::Newest, 100, 0)).await;
                assert_eq!(shown, expected, "{step}: user {user}, channel {channel}, node {place}");
            }
        }
    }
    fresh.flush_and_close().await;
}

fn smile(user: i64) -> Reaction {
    Reaction {
        user_id: UserId(user),
        emoji_name: "smile".to_owned(),
        emoji_code: "1f604".to_owned(),
        reaction_type: ReactionType::UnicodeEmoji,
    }
}

fn to(user: Option<i64>, event: Value) -> (i64, NewEvent) {
    let audience = user.map_or(EventAudience::Everyone, |user| EventAudience::from_users([UserId(user)]));
    (NOW_S, NewEvent::same_for_everyone(audience, event))
}

fn edit(id: MessageId, moves: &[MessageId], event: Value) -> MessageEdit {
    let flags = vec![(UserId(3), MessageFlag::Mentioned)];
    let events = vec![NewEvent::message_edit(EventAudience::Everyone, id, event)];
    let (content, to, user_id) = (None, None, Some(UserId(1)));
    let (decided_at, moves) = (EventId(i64::MAX), moves.to_vec());
    MessageEdit {
        decided_at,
        id,
        revision: id.into(),
        content,
        attachments: Vec::new(),
        to,
        moves,
        flags,
        user_id,
        at_s: NOW_S,
        events,
    }
}

/// Changes messages of channel 11 in every way there is. The events say what they must, or nothing of it.
async fn change_everything(home: &Home, nodes: &[ChatStore], ids: &[MessageId], tells: bool) {
    let store = &nodes[0];
    let said = |event: Value| if tells { event } else { json!({"type": "notice"}) };
    check(home, nodes, "at first").await;
    let reacted = || to(None, said(json!({"type": "reaction", "message_id": ids[0]})));
    store.add_reaction(&decided_now(store, ids[0]).await, &smile(2), reacted()).await.unwrap();
    check(home, nodes, "a reaction").await;
    store.remove_reaction(&decided_now(store, ids[0]).await, &smile(2), reacted()).await.unwrap();
    check(home, nodes, "a reaction taken away").await;
    for (user, flag, op) in [
        (2, MessageFlag::Starred, FlagOp::Add),
        (2, MessageFlag::Starred, FlagOp::Remove),
        (2, MessageFlag::Read, FlagOp::Add),
        (2, MessageFlag::Read, FlagOp::Remove),
        (1, MessageFlag::Read, FlagOp::Remove),
    ] {
        let event = if tells {
            (
                NOW_S,
                MessageFlagsUpdate::without_locations(FlagChange { flag, op }, ids[..2].to_vec())
                    .event_for_user(UserId(user)),
            )
        } else {
            to(Some(user), json!({"type": "notice"}))
        };
        let flag = (flag, op);
        store.change_flag(UserId(user), flag, &decided_copies(store, &ids[..2]), event).await.unwrap();
        check(home, nodes, &format!("{flag:?} of user {user}")).await;
    }
    let mut mentioning = message(store, 1, to_channel(11), ("t", "@you"));
    mentioning.event.flags = vec![(UserId(2), MessageFlag::Mentioned)];
    mentioning.event.message.content_flags.read_by_sender = true;
    send(store, mentioning).await;
    check(home, nodes, "a mention").await;
    let mut unheard = message(store, 1, to_channel(11), ("t", "psst"));
    unheard.event.flags = vec![(UserId(2), MessageFlag::Read)];
    send(store, unheard).await;
    check(home, nodes, "a message that one does not want to hear").await;
    let event = said(json!({"type": "update_message", "message_id": ids[1], "message_ids": [ids[1]]}));
    let text = ("new".to_owned(), "<p>new</p>".to_owned(), ContentFlags { has_link: true, ..ContentFlags::default() });
    store.edit_message(MessageEdit { content: Some(text), ..edit(ids[1], &[], event) }).await.unwrap();
    check(home, nodes, "an edit").await;
    let event = json!({"type": "update_message", "message_ids": &ids[2..4], "stream_id": 11, "new_stream_id": 12});
    let moved = Some((ChannelId(12), "elsewhere".to_owned()));
    store.edit_message(MessageEdit { to: moved, ..edit(ids[2], &ids[2..4], said(event)) }).await.unwrap();
    check(home, nodes, "a move").await;
    let (gone, event) = (ids[4], json!({"type": "delete_message", "message_ids": [ids[4]]}));
    let (at_s, event) = to(None, said(event));
    store.delete_messages(&decided(store, &[(gone, gone.into())]), (at_s, vec![event])).await.unwrap();
    check(home, nodes, "a deletion").await;
    change(store, vec![unsubscription(11, 2)]).await;
    say(store, 1, 11, "t").await;
    change(store, vec![subscription(11, 2)]).await;
    say(store, 1, 11, "t").await;
    check(home, nodes, "a reader who was away").await;
}

async fn settle(home: &Home) -> (ChatStore, Vec<MessageId>) {
    let store = home.open().await;
    found(&store).await;
    change(&store, [11, 12].into_iter().flat_map(|channel| READERS.map(|user| subscription(channel, user))).collect())
        .await;
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(say(&store, 1, 11, "t").await);
    }
    say(&store, 2, 12, "elsewhere").await;
    (store, ids)
}

on_each_engine! {
    async fn a_window_in_memory_shows_every_change_of_this_node_whatever_is_told(home) {
        let (store, ids) = settle(&home).await;
        change_everything(&home, std::slice::from_ref(&store), &ids, false).await;
        store.flush_and_close().await;
    }

    async fn a_window_in_memory_shows_every_change_of_another_node(home) {
        let (store, ids) = settle(&home).await;
        let mut nodes = vec![store];
        if home.is_postgres() {
            nodes.push(home.open().await);
        }
        change_everything(&home, &nodes, &ids, true).await;
        for node in nodes {
            node.flush_and_close().await;
        }
    }

    async fn what_one_node_answered_is_in_every_window_of_another_from_then_on(home) {
        // SQLite serves one node.
        if !home.is_postgres() {
            return;
        }
        let (here, _) = settle(&home).await;
        let there = home.open().await;
        let mut asking = JoinSet::new();
        for user in READERS {
            for place in 0..4 {
                let (here, there) = (here.clone(), there.clone());
                asking.spawn(async move {
                    for _ in 0..10 {
                        // Written by both, so that each finds the log moved by the other.
                        let (by, to) = if place % 2 == 0 { (&here, &there) } else { (&there, &here) };
                        let sent = say(by, user, 11, "t").await;
                        let page = page(to, user, 11, (Anchor::Newest, 300, 0)).await;
                        let ids: Vec<_> = page.messages.iter().map(|(message, _)| message.id).collect();
                        assert!(ids.contains(&sent) && ids.is_sorted(), "{sent} of {user} in {ids:?}");
                    }
                });
            }
        }
        while let Some(ended) = asking.join_next().await {
            ended.unwrap();
        }
        here.flush_and_close().await;
        there.flush_and_close().await;
    }

    async fn a_window_reaches_back_beyond_what_is_in_memory(home) {
        let (store, mut ids) = settle(&home).await;
        page(&store, 2, 11, (Anchor::Newest, 10, 0)).await;
        for _ in 0..500 {
            ids.push(say(&store, 1, 11, "t").await);
        }
        let ids_of = |page: MessagePage| page.messages.iter().map(|(message, _)| message.id).collect::<Vec<_>>();
        let newest = page(&store, 2, 11, (Anchor::Newest, 300, 0)).await;
        assert_eq!((newest.found_oldest, newest.found_newest), (false, true));
        assert_eq!(ids_of(newest), ids[ids.len() - 300..]);
        let all = page(&store, 2, 11, (Anchor::Newest, 1_000, 0)).await;
        assert!(all.found_oldest);
        assert_eq!(ids_of(all), ids);
        let old = page(&store, 2, 11, (Anchor::At(ids[100]), 5, 5)).await;
        assert_eq!((old.found_oldest, old.found_newest, old.found_anchor), (false, false, true));
        assert_eq!(ids_of(old), ids[95..=105]);
        store.flush_and_close().await;
    }
}
