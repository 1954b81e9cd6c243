//! Editing, moving, deleting, reacting.

use chat_core::event_log::event::EventAudience;
use chat_core::event_log::store::{EventLog as _, RealmStore as _};
use chat_core::id::{ChannelId, EventId, MessageId, UserId};
use chat_core::messages::store::{
    FlagWriteGuard, MessageEdit, MessageEditOutcome, MessageStore as _, MessageWriteGuard, MessageWriteOutcome,
};
use chat_core::messages::widget::SubmessageStore as _;
use chat_core::model::flag_change::FlagOp;
use chat_core::model::message::{
    ContentFlags, Conversation, EditHistoryEntry, Message, MessageFlag, Reaction, ReactionType, Recipient,
};
use chat_storage::ChatStore;

use crate::home::{NOW_S, on_each_engine};
use crate::people::{
    change, decided, decided_copies, decided_now, found, message, notice, say, send, subscription, to_users,
    unsubscription,
};

fn edit(id: MessageId) -> MessageEdit {
    MessageEdit {
        decided_at: EventId(i64::MAX),
        id,
        revision: id.into(),
        content: None,
        attachments: Vec::new(),
        to: None,
        moves: Vec::new(),
        flags: Vec::new(),
        user_id: Some(UserId(1)),
        at_s: NOW_S + 5,
        events: vec![notice(EventAudience::Everyone, "edited")],
    }
}

fn new_text(text: &str) -> (String, String, ContentFlags) {
    (text.to_owned(), format!("<p>{text}</p>"), ContentFlags::default())
}

async fn flags(store: &ChatStore, user: i64, id: MessageId) -> Vec<MessageFlag> {
    store.find_messages(UserId(user), &[id]).await.unwrap().remove(0).1
}

fn reaction(user: i64) -> Reaction {
    let (emoji_name, emoji_code) = ("smile".to_owned(), "1f642".to_owned());
    Reaction { user_id: UserId(user), emoji_name, emoji_code, reaction_type: ReactionType::UnicodeEmoji }
}

/// Asserts that nothing is written of what was decided on an older state: reactions, flags, submessages, deletes.
async fn refuses_all(store: &ChatStore, (message, decided, copies): (&Message, &MessageWriteGuard, &FlagWriteGuard)) {
    let head = store.last_event_id();
    let event = || (NOW_S, notice(EventAudience::Everyone, "x"));
    let written = [
        store.add_reaction(decided, &reaction(3), event()).await.unwrap(),
        store.remove_reaction(decided, &reaction(2), event()).await.unwrap(),
        store.change_flag(UserId(2), (MessageFlag::Starred, FlagOp::Add), copies, event()).await.unwrap(),
        store.change_flag(UserId(2), (MessageFlag::Read, FlagOp::Add), copies, event()).await.unwrap(),
        store.add_submessage((message, decided.realm), (UserId(2), "{}"), NOW_S).await.unwrap(),
        store.delete_messages(decided, (NOW_S, vec![event().1])).await.unwrap(),
    ];
    assert_eq!(written, [MessageWriteOutcome::Unchanged; 6]);
    assert_eq!(store.last_event_id(), head);
    let (now, own) = store.find_messages(UserId(2), &[message.id]).await.unwrap().remove(0);
    assert_eq!((now.reactions.len(), now.submessages.len()), (1, 0));
    assert!(!own.contains(&MessageFlag::Starred), "{own:?}");
}

async fn revision(store: &ChatStore, id: MessageId) -> EventId {
    store.find_messages(UserId(1), &[id]).await.unwrap().remove(0).0.revision
}

on_each_engine! {
    async fn an_edit_keeps_what_was_and_tells_of_it(home) {
        let store = home.open().await;
        found(&store).await;
        let id = say(&store, 1, 11, "t").await;
        let flags = vec![(UserId(2), MessageFlag::Mentioned)];
        let done = store.edit_message(MessageEdit { content: Some(new_text("new")), flags, ..edit(id) }).await.unwrap();
        let at = store.last_event_id();
        assert_eq!(done, MessageEditOutcome::Done { at, detached_uploads: Vec::new() });
        let (message, own) = store.find_messages(UserId(2), &[id]).await.unwrap().remove(0);
        assert_eq!((message.content.as_str(), message.html.as_str()), ("new", "<p>new</p>"));
        assert_eq!(message.last_edit_s, Some(NOW_S + 5));
        assert!(own.contains(&MessageFlag::Mentioned));
        let past = store.edit_history(id).await.unwrap();
        let before = Some(("hello".to_owned(), "<p>hello</p>".to_owned()));
        let expected = EditHistoryEntry { at_s: NOW_S + 5, user_id: Some(UserId(1)), content: before, channel: None, topic: None };
        assert_eq!(past, [expected]);
        store.flush_and_close().await;
    }

    async fn the_flags_of_a_new_text_take_the_place_of_those_before_and_stars_stay(home) {
        let store = home.open().await;
        found(&store).await;
        let id = say(&store, 1, 11, "t").await;
        let star = (NOW_S, notice(EventAudience::Everyone, "star"));
        store.change_flag(UserId(2), (MessageFlag::Starred, FlagOp::Add), &decided_copies(&store, &[id]), star).await.unwrap();
        for (new_flags, expected) in [
            (vec![(UserId(2), MessageFlag::Mentioned), (UserId(2), MessageFlag::HasAlertWord)], vec![MessageFlag::Mentioned, MessageFlag::HasAlertWord]),
            (vec![(UserId(2), MessageFlag::TopicWildcardMentioned)], vec![MessageFlag::TopicWildcardMentioned]),
            (vec![(UserId(3), MessageFlag::Mentioned)], vec![]),
        ] {
            let revision = revision(&store, id).await;
            let change = MessageEdit { content: Some(new_text("new")), flags: new_flags, revision, ..edit(id) };
            assert!(matches!(store.edit_message(change).await.unwrap(), MessageEditOutcome::Done { .. }));
            let mut expected: Vec<MessageFlag> = expected.into_iter().chain([MessageFlag::Starred]).collect();
            expected.sort_unstable();
            let mut own = flags(&store, 2, id).await;
            // They were not there when it was sent.
            own.retain(|flag| !matches!(flag, MessageFlag::Read | MessageFlag::Historical));
            assert_eq!(own, expected);
        }
        store.flush_and_close().await;
    }

    async fn an_edit_that_was_permitted_before_the_realm_changed_is_not_written(home) {
        let store = home.open().await;
        found(&store).await;
        let id = say(&store, 1, 11, "t").await;
        let decided_at = store.snapshot().changed_at();
        change(&store, vec![subscription(11, 3)]).await;
        let head = store.last_event_id();
        let late = MessageEdit { decided_at, content: Some(new_text("late")), ..edit(id) };
        assert_eq!((store.edit_message(late).await.unwrap(), store.last_event_id()), (MessageEditOutcome::Unchanged, head));
        assert_eq!(store.find_messages(UserId(1), &[id]).await.unwrap().remove(0).0.content, "hello");
        let anew = MessageEdit { decided_at: store.snapshot().changed_at(), content: Some(new_text("anew")), ..edit(id) };
        assert!(matches!(store.edit_message(anew).await.unwrap(), MessageEditOutcome::Done { .. }));
        store.flush_and_close().await;
    }

    async fn of_two_edits_of_one_state_the_second_changes_nothing(home) {
        let store = home.open().await;
        found(&store).await;
        let id = say(&store, 1, 11, "t").await;
        store.edit_message(MessageEdit { content: Some(new_text("first")), ..edit(id) }).await.unwrap();
        let head = store.last_event_id();
        let late = store.edit_message(MessageEdit { content: Some(new_text("second")), ..edit(id) }).await.unwrap();
        assert_eq!((late, store.last_event_id()), (MessageEditOutcome::Unchanged, head));
        let (message, _) = store.find_messages(UserId(2), &[id]).await.unwrap().remove(0);
        assert_eq!(message.content, "first");
        assert_eq!(store.edit_history(id).await.unwrap().len(), 1);
        store.flush_and_close().await;
    }

    async fn messages_move_and_stay_read_or_unread(home) {
        let store = home.open().await;
        found(&store).await;
        let both = |user| [subscription(11, user), subscription(12, user)];
        change(&store, [2, 3, 4].into_iter().flat_map(both).collect()).await;
        let first = say(&store, 1, 11, "t").await;
        let second = say(&store, 1, 11, "t").await;
        let stays = say(&store, 1, 12, "u").await;
        let read = |user: i64, ids: Vec<MessageId>| {
            let store = store.clone();
            async move {
                let event = (NOW_S, notice(EventAudience::from_users([UserId(user)]), "read"));
                store.change_flag(UserId(user), (MessageFlag::Read, FlagOp::Add), &decided_copies(&store, &ids), event).await.unwrap();
            }
        };
        read(2, vec![first]).await;
        // Everything there up to here is read, and what moves in below that is not.
        read(3, vec![stays]).await;
        let to = Some((ChannelId(12), "New".to_owned()));
        let head = store.last_event_id();
        let scattered = MessageEdit { to: to.clone(), moves: vec![first, stays], ..edit(first) };
        assert_eq!((store.edit_message(scattered).await.unwrap(), store.last_event_id()), (MessageEditOutcome::Unchanged, head));
        assert!(store.edit_history(first).await.unwrap().is_empty());
        let done = store.edit_message(MessageEdit { to, moves: vec![first, second], ..edit(first) }).await.unwrap();
        assert!(matches!(done, MessageEditOutcome::Done { .. }));
        for (user, ids) in [(2, [true, false, false]), (3, [false, false, true]), (4, [false, false, false])] {
            for (id, is_read) in [first, second, stays].into_iter().zip(ids) {
                assert_eq!(flags(&store, user, id).await.contains(&MessageFlag::Read), is_read, "user {user}, message {id}");
            }
        }
        let moved = store.find_messages(UserId(2), &[second]).await.unwrap().remove(0).0;
        assert_eq!((moved.recipient, moved.topic.as_str()), (Recipient::Channel(ChannelId(12)), "New"));
        let past = store.edit_history(second).await.unwrap().remove(0);
        assert_eq!(past.channel, Some((ChannelId(11), ChannelId(12))));
        assert_eq!(past.topic, Some(("t".to_owned(), "New".to_owned())));
        assert_eq!(past.content, None);
        assert!(store.edit_history(stays).await.unwrap().is_empty());
        store.flush_and_close().await;
    }

    async fn what_moves_in_from_where_somebody_is_not_is_new_to_them(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, vec![subscription(12, 2)]).await;
        let mut seen = Vec::new();
        for _ in 0..2 {
            seen.push(say(&store, 1, 12, "t").await);
        }
        let event = (NOW_S, notice(EventAudience::from_users([UserId(2)]), "read"));
        store.change_flag(UserId(2), (MessageFlag::Read, FlagOp::Add), &decided_copies(&store, &seen), event).await.unwrap();
        let relocate = |id: MessageId, channel: i64| {
            let store = store.clone();
            async move {
                let to = Some((ChannelId(channel), "t".to_owned()));
                let change = MessageEdit { to, moves: vec![id], revision: revision(&store, id).await, ..edit(id) };
                assert!(matches!(store.edit_message(change).await.unwrap(), MessageEditOutcome::Done { .. }));
            }
        };
        // They have read something that is there now, and that is all.
        let there = say(&store, 1, 11, "t").await;
        relocate(seen[1], 11).await;
        let later = say(&store, 1, 11, "t").await;
        for id in [there, later, seen[1]] {
            assert_eq!(flags(&store, 2, id).await, [MessageFlag::Read, MessageFlag::Historical]);
            relocate(id, 12).await;
        }
        for (id, expected) in [(seen[0], vec![MessageFlag::Read]), (there, vec![]), (seen[1], vec![MessageFlag::Read]), (later, vec![])] {
            assert_eq!(flags(&store, 2, id).await, expected, "{id:?}");
        }
        store.flush_and_close().await;
    }

    async fn a_deleted_message_leaves_nothing(home) {
        let store = home.open().await;
        found(&store).await;
        let id = say(&store, 1, 11, "t").await;
        let star = (NOW_S, notice(EventAudience::Everyone, "star"));
        store.change_flag(UserId(2), (MessageFlag::Starred, FlagOp::Add), &decided_copies(&store, &[id]), star).await.unwrap();
        let seen = (id, revision(&store, id).await);
        store.edit_message(MessageEdit { content: Some(new_text("x")), ..edit(id) }).await.unwrap();
        let event = || (NOW_S, vec![notice(EventAudience::Everyone, "gone")]);
        let other = say(&store, 1, 11, "t").await;
        let other = (other, revision(&store, other).await);
        for stale in [vec![seen], vec![other, seen], vec![]] {
            assert_eq!(store.delete_messages(&decided(&store, &stale), event()).await.unwrap(), MessageWriteOutcome::Unchanged);
        }
        let seen = (id, revision(&store, id).await);
        assert!(matches!(store.delete_messages(&decided(&store, &[seen]), event()).await.unwrap(), MessageWriteOutcome::Done(_)));
        assert!(store.find_messages(UserId(2), &[id]).await.unwrap().is_empty());
        assert!(store.flagged_message_ids(UserId(2), MessageFlag::Starred).await.unwrap().is_empty());
        let head = store.last_event_id();
        assert_eq!(store.delete_messages(&decided(&store, &[seen]), event()).await.unwrap(), MessageWriteOutcome::Unchanged);
        assert_eq!(store.last_event_id(), head);
        store.flush_and_close().await;
    }

    async fn no_write_to_a_message_is_made_that_was_decided_before_it_moved(home) {
        let store = home.open().await;
        found(&store).await;
        let id = say(&store, 1, 11, "t").await;
        let before = store.find_messages(UserId(1), &[id]).await.unwrap().remove(0).0;
        let there = reaction(2);
        store.add_reaction(&decided_now(&store, id).await, &there, (NOW_S, notice(EventAudience::Everyone, "r"))).await.unwrap();
        let (decided, copies) = (decided_now(&store, id).await, decided_copies(&store, &[id]));
        let to = Some((ChannelId(12), "u".to_owned()));
        let moved = store.edit_message(MessageEdit { to, moves: vec![id], ..edit(id) }).await.unwrap();
        assert!(matches!(moved, MessageEditOutcome::Done { .. }));
        refuses_all(&store, (&before, &decided, &copies)).await;
        // Decided on the message where it is now, all of it is written.
        let after = store.find_messages(UserId(1), &[id]).await.unwrap().remove(0).0;
        let decided = decided_now(&store, id).await;
        let event = || (NOW_S, notice(EventAudience::Everyone, "x"));
        assert!(matches!(store.remove_reaction(&decided, &there, event()).await.unwrap(), MessageWriteOutcome::Done(_)));
        assert!(matches!(store.add_reaction(&decided, &reaction(3), event()).await.unwrap(), MessageWriteOutcome::Done(_)));
        let star = (MessageFlag::Starred, FlagOp::Add);
        let starred = store.change_flag(UserId(2), star, &decided_copies(&store, &[id]), event()).await.unwrap();
        assert!(matches!(starred, MessageWriteOutcome::Done(_)));
        let added = store.add_submessage((&after, decided.realm), (UserId(2), "{}"), NOW_S).await.unwrap();
        assert!(matches!(added, MessageWriteOutcome::Done(_)));
        store.flush_and_close().await;
    }

    async fn no_write_to_a_message_is_made_that_was_decided_before_a_right_changed(home) {
        let store = home.open().await;
        found(&store).await;
        change(&store, vec![subscription(11, 2)]).await;
        let id = say(&store, 1, 11, "t").await;
        let message = store.find_messages(UserId(1), &[id]).await.unwrap().remove(0).0;
        let there = reaction(2);
        store.add_reaction(&decided_now(&store, id).await, &there, (NOW_S, notice(EventAudience::Everyone, "r"))).await.unwrap();
        let (decided, copies) = (decided_now(&store, id).await, decided_copies(&store, &[id]));
        change(&store, vec![unsubscription(11, 2)]).await;
        refuses_all(&store, (&message, &decided, &copies)).await;
        store.flush_and_close().await;
    }

    async fn the_earlier_states_of_several_messages_come_together(home) {
        let store = home.open().await;
        found(&store).await;
        let (first, still, second) =
            (say(&store, 1, 11, "t").await, say(&store, 1, 11, "t").await, say(&store, 1, 11, "t").await);
        store.edit_message(MessageEdit { content: Some(new_text("a")), ..edit(second) }).await.unwrap();
        store.edit_message(MessageEdit { content: Some(new_text("b")), ..edit(first) }).await.unwrap();
        let again = revision(&store, first).await;
        store.edit_message(MessageEdit { content: Some(new_text("c")), revision: again, ..edit(first) }).await.unwrap();
        let past = store.edit_histories(&[second, still, first]).await.unwrap();
        let texts: Vec<_> =
            past.iter().map(|(id, edit)| (*id, edit.content.as_ref().unwrap().0.as_str())).collect();
        assert_eq!(texts, [(first, "b"), (first, "hello"), (second, "hello")]);
        assert_eq!(store.edit_histories(&[]).await.unwrap(), []);
        store.flush_and_close().await;
    }

    async fn who_wrote_or_reacted_in_a_topic_took_part_in_it(home) {
        let store = home.open().await;
        found(&store).await;
        let id = say(&store, 3, 11, "Lunch").await;
        say(&store, 1, 11, "lunch").await;
        say(&store, 2, 11, "other").await;
        say(&store, 2, 12, "lunch").await;
        let reaction = Reaction {
            user_id: UserId(4),
            emoji_name: "tada".to_owned(),
            emoji_code: "1f389".to_owned(),
            reaction_type: ReactionType::UnicodeEmoji,
        };
        store.add_reaction(&decided_now(&store, id).await, &reaction, (NOW_S, notice(EventAudience::Everyone, "reaction"))).await.unwrap();
        let of = |topic: &str| Conversation { recipient: Recipient::Channel(ChannelId(11)), topic_key: topic.to_owned() };
        assert_eq!(store.conversation_participants(&of("lunch")).await.unwrap(), [UserId(1), UserId(3), UserId(4)]);
        assert_eq!(store.conversation_participants(&of("nothing")).await.unwrap(), []);
        store.flush_and_close().await;
    }

    async fn users_have_written_to_each_other_when_exactly_they_have(home) {
        let store = home.open().await;
        found(&store).await;
        let users = [UserId(1), UserId(2)];
        assert!(!store.direct_conversation_exists(&users).await.unwrap());
        send(&store, message(&store, 1, to_users(&[1, 2]), ("", "hi"))).await;
        assert!(store.direct_conversation_exists(&users).await.unwrap());
        assert!(!store.direct_conversation_exists(&[UserId(1), UserId(2), UserId(3)]).await.unwrap());
        assert!(!store.direct_conversation_exists(&[UserId(1)]).await.unwrap());
        store.flush_and_close().await;
    }

    async fn a_reaction_is_added_once_and_removed_once(home) {
        let store = home.open().await;
        found(&store).await;
        let id = say(&store, 1, 11, "t").await;
        let reaction = |user| Reaction {
            user_id: UserId(user),
            emoji_name: "tada".to_owned(),
            emoji_code: "1f389".to_owned(),
            reaction_type: ReactionType::UnicodeEmoji,
        };
        let event = || (NOW_S, notice(EventAudience::Everyone, "reaction"));
        let mut reacting = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let (store, reaction) = (store.clone(), reaction(2));
            reacting.spawn(async move { store.add_reaction(&decided_now(&store, id).await, &reaction, event()).await.unwrap() });
        }
        let added = reacting.join_all().await;
        assert_eq!(added.iter().filter(|written| **written != MessageWriteOutcome::Unchanged).count(), 1);
        store.add_reaction(&decided_now(&store, id).await, &reaction(3), event()).await.unwrap();
        let (message, _) = store.find_messages(UserId(2), &[id]).await.unwrap().remove(0);
        assert_eq!(message.reactions, [reaction(2), reaction(3)]);
        assert!(matches!(store.remove_reaction(&decided_now(&store, id).await, &reaction(2), event()).await.unwrap(), MessageWriteOutcome::Done(_)));
        assert_eq!(store.remove_reaction(&decided_now(&store, id).await, &reaction(2), event()).await.unwrap(), MessageWriteOutcome::Unchanged);
        assert_eq!(store.add_reaction(&decided_now(&store, MessageId(9_999)).await, &reaction(2), event()).await.unwrap(), MessageWriteOutcome::Unchanged);
        assert!(EventId::from(id) < store.last_event_id());
        store.flush_and_close().await;
    }

    async fn the_first_message_of_a_conversation_begins_it_until_it_is_gone(home) {
        let store = home.open().await;
        found(&store).await;
        let begins = async |topic: &str, id| {
            let recipient = Recipient::Channel(ChannelId(11));
            let conversation = Conversation { recipient, topic_key: topic.to_owned() };
            store.is_first_in_conversation(&conversation, id).await.unwrap()
        };
        let first = say(&store, 1, 11, "Lunch").await;
        let second = say(&store, 2, 11, "lunch").await;
        let other = say(&store, 1, 12, "lunch").await;
        // Twice: then the database is not asked.
        for _ in 0..2 {
            assert!(!begins("lunch", second).await);
        }
        let moved = MessageEdit { to: Some((ChannelId(11), "tea".to_owned())), moves: vec![second], ..edit(second) };
        store.edit_message(moved).await.unwrap();
        let third = say(&store, 3, 11, "lunch").await;
        assert!(begins("tea", second).await && !begins("lunch", third).await);
        let gone = [(first, revision(&store, first).await), (third, revision(&store, third).await)];
        let event = (NOW_S, vec![notice(EventAudience::Everyone, "gone")]);
        assert!(matches!(store.delete_messages(&decided(&store, &gone), event).await.unwrap(), MessageWriteOutcome::Done(_)));
        let fourth = say(&store, 3, 11, "lunch").await;
        assert!(other < fourth && begins("lunch", fourth).await);
        let fifth = say(&store, 3, 11, "lunch").await;
        assert!(!begins("lunch", fifth).await);
        store.flush_and_close().await;
    }
}
