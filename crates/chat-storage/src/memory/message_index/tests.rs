use chat_core::event_log::event::MessageFlagsUpdate;
use chat_core::id::{ChannelId, EventId};
use chat_core::model::flag_change::{FlagChange, FlagOp};
use chat_core::model::message::MessageFlag;

use super::*;

const HERE: Recipient = Recipient::Channel(ChannelId(11));
const THERE: Recipient = Recipient::Channel(ChannelId(12));

fn found(id: i64, recipient: Recipient, topic: &str) -> FoundMessage {
    let content_flags = ContentFlags { read_by_sender: true, ..ContentFlags::default() };
    FoundMessage {
        id,
        recipient,
        direct_users: [].into(),
        topic: topic.into(),
        sender_id: UserId(id % 2),
        content_flags,
    }
}

fn kept(ids: impl IntoIterator<Item = i64>) -> IndexedMessages {
    let mut kept = IndexedMessages::default();
    ids.into_iter().for_each(|id| kept.push(found(id, HERE, "Lunch")));
    kept
}

fn place(kept: &IndexedMessages, id: i64) -> Option<(Recipient, IndexEntry)> {
    kept.entries(&[MessageId(id)]).next().map(|(recipient, entry)| (recipient, *entry))
}

fn ids(kept: &IndexedMessages, recipient: Recipient, after: i64) -> Vec<i64> {
    kept.entries_after(recipient, after).map(|entry| entry.id.0).collect()
}

/// With nothing to read but what it is given.
fn index(kept: IndexedMessages) -> MessageIndex {
    let index = MessageIndex::default();
    index.lock().kept = Some(kept);
    index
}

fn record_of(event: Value) -> LogRecord {
    let event = NewEvent::same_for_everyone(EventAudience::from_users([UserId(1)]), event);
    LogRecord::new(EventId(99), 0, Vec::new(), Some(event))
}

#[test]
fn the_oldest_go_when_there_are_too_many() {
    let last = i64::try_from(KEPT).unwrap() + 3;
    let kept = kept(1..=last);
    assert_eq!((kept.after, ids(&kept, HERE, 0).first().copied()), (3, Some(4)));
    assert_eq!((place(&kept, 3), place(&kept, 4).map(|(there, _)| there)), (None, Some(HERE)));
    assert_eq!(ids(&kept, HERE, last - 2), [last - 1, last]);
}

#[test]
fn messages_are_found_whatever_is_missing_between_them() {
    let kept = kept([2, 3, 7, 8, 9, 40]);
    let found = |ids: &[i64]| {
        let ids: Vec<_> = ids.iter().copied().map(MessageId).collect();
        kept.entries(&ids).map(|(_, entry)| entry.id.0).collect::<Vec<_>>()
    };
    assert_eq!(found(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 39, 40, 41, 90]), [2, 3, 7, 8, 9, 40]);
    assert_eq!(found(&[4, 9, 40]), [9, 40]);
    assert_eq!(found(&[40, 1, 3]), [40, 3]);
    assert_eq!(found(&[i64::MIN, 2, i64::MAX]), [2]);
}

#[test]
fn what_was_read_again_stands_where_it_is_now() {
    let mut kept = kept([1, 3, 5]);
    kept.put(3, Some(found(3, THERE, "Dinner")));
    kept.put(5, None);
    assert_eq!((ids(&kept, HERE, 0), ids(&kept, THERE, 0)), (vec![1], vec![3]));
    assert_eq!(&*kept.topic(&place(&kept, 3).unwrap().1), "Dinner");
    kept.put(3, Some(found(3, HERE, "Dinner")));
    assert_eq!((ids(&kept, HERE, 0), place(&kept, 5)), (vec![1, 3], None));
}

#[test]
fn nothing_is_told_of_while_a_message_is_not_known() {
    let index = index(kept([1, 3]));
    assert_eq!(index.look(|kept| ids(kept, HERE, 0)), Some(vec![1, 3]));
    index.apply(&record_of(serde_json::json!({"type": "delete_message", "message_ids": [3]})));
    assert_eq!(index.look(|kept| ids(kept, HERE, 0)), None);
    index.apply(&record_of(serde_json::json!({"type": "update_message"})));
    assert!(index.lock().kept.is_none());
}

#[test]
fn a_message_its_sender_has_no_longer_read_says_so() {
    let index = index(kept([1, 2, 3]));
    let set = |mark| {
        let event =
            MessageFlagsUpdate::without_locations(mark, vec![MessageId(1), MessageId(2)]).event_for_user(UserId(1));
        index.apply(&LogRecord::new(EventId(99), 0, Vec::new(), Some(event)));
    };
    let read = |kept: &IndexedMessages| {
        let entries = kept.entries_after(HERE, 0);
        entries.map(|entry| entry.content_flags().read_by_sender).collect::<Vec<_>>()
    };
    set(FlagChange { flag: MessageFlag::Starred, op: FlagOp::Remove });
    assert_eq!(index.look(read), Some(vec![true, true, true]));
    set(FlagChange { flag: MessageFlag::Read, op: FlagOp::Remove });
    assert_eq!(index.look(read), Some(vec![false, true, true]));
    // Whichever way it is found.
    let found = |kept: &IndexedMessages| place(kept, 1).map(|(_, entry)| entry.content_flags().read_by_sender);
    assert_eq!(index.look(found), Some(Some(false)));
}

#[test]
fn what_arrives_while_the_database_is_read_is_added_once() {
    let index = index(kept([5, 7]));
    index.lock().is_partial = true;
    assert!(index.look(|_| ()).is_none());
    index.lock().fill(kept([1, 3, 5]));
    assert_eq!(index.look(|kept| ids(kept, HERE, 0)), Some(vec![1, 3, 5, 7]));
    // What was given up in the meantime is not filled.
    index.lock().reset();
    index.lock().fill(kept([1]));
    assert!(index.look(|_| ()).is_none());
}
