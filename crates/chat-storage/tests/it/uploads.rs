//! Uploads: what is written down of them, which messages use them, and the log.

use chat_core::event_log::event::{EventBody, LogRecord};
use chat_core::event_log::store::EventLog as _;
use chat_core::files::{Attachment, AttachmentStore as _, ImageMetadata, NewAttachment, PathId, TemporaryFileAccess};
use chat_core::id::{AttachmentId, EventId, MessageId, UserId};
use chat_core::messages::store::{MessageEdit, MessageEditOutcome, MessageStore as _, NewMessage};
use chat_core::model::message::ContentFlags;
use chat_storage::ChatStore;
use serde_json::Value;

use crate::home::{NOW_S, on_each_engine};
use crate::people::{decided, found, message, send, to_channel};

fn upload(owner: i64, name: &str, size_bytes: i64) -> NewAttachment {
    let random = format!("{:0<32}", name.replace('.', ""));
    NewAttachment {
        path_id: PathId::new(&random, name).unwrap(),
        owner_id: UserId(owner),
        name: name.to_owned(),
        media_type: "image/png",
        size_bytes,
        created_s: NOW_S,
        picture: Some(ImageMetadata { width: 30, height: 20, is_animated: true }),
    }
}

async fn add(store: &ChatStore, upload: NewAttachment) -> Attachment {
    store.add_attachment(upload, None).await.unwrap().unwrap()
}

fn using(store: &ChatStore, ids: &[AttachmentId]) -> NewMessage {
    let message = message(store, 1, to_channel(11), ("t", "look"));
    NewMessage { attachments: ids.to_vec(), ..message }
}

fn rewritten(id: MessageId, attachments: Vec<AttachmentId>) -> MessageEdit {
    MessageEdit {
        decided_at: EventId(i64::MAX),
        id,
        revision: id.into(),
        content: Some(("x".to_owned(), "<p>x</p>".to_owned(), ContentFlags::default())),
        attachments,
        to: None,
        moves: Vec::new(),
        flags: Vec::new(),
        user_id: Some(UserId(1)),
        at_s: NOW_S + 5,
        events: Vec::new(),
    }
}

/// The events of uploads after a place: what happened, the number, the messages, what all take together.
async fn events_after(store: &ChatStore, place: EventId) -> Vec<(String, i64, Option<usize>, i64)> {
    let records = store.records_after(place, 1_000).await.unwrap().unwrap();
    let shown = |record: &LogRecord| match &record.event.as_ref()?.body {
        EventBody::Plain { kind, event } if kind == "attachment" => Some((
            event["op"].as_str()?.to_owned(),
            event["attachment"]["id"].as_i64()?,
            event["attachment"]["messages"].as_array().map(Vec::len),
            event.get("upload_space_used").and_then(Value::as_i64)?,
        )),
        _ => None,
    };
    records.iter().filter_map(|record| shown(record)).collect()
}

on_each_engine! {
    async fn an_upload_is_found_as_it_was_written_down_under_the_number_of_its_event(home) {
        let store = home.open().await;
        found(&store).await;
        let before = store.last_event_id();
        let wanted = upload(2, "a.png", 100);
        let added = add(&store, wanted.clone()).await;
        assert_eq!(added.id.0, store.last_event_id().0);
        assert_eq!((&added.path_id, added.picture, added.size_bytes), (&wanted.path_id, wanted.picture, 100));
        let other = add(&store, NewAttachment { picture: None, ..upload(3, "b.txt", 11) }).await;
        let mut all = store.attachments_at_paths(&[wanted.path_id, other.path_id.clone(), upload(1, "c", 1).path_id]).await.unwrap();
        all.sort_by_key(|upload| upload.id);
        assert_eq!(all, [added.clone(), other.clone()]);
        assert_eq!(store.total_upload_bytes().await.unwrap(), 111);
        let events = events_after(&store, before).await;
        let add = "add".to_owned();
        assert_eq!(events, [(add.clone(), added.id.0, Some(0), 100), (add, other.id.0, Some(0), 111)]);
        store.flush_and_close().await;
    }

    async fn a_quota_is_kept_and_what_is_over_it_leaves_no_trace(home) {
        let store = home.open().await;
        found(&store).await;
        add(&store, upload(1, "a", 60)).await;
        let head = store.last_event_id();
        assert_eq!(store.add_attachment(upload(1, "b", 41), Some(100)).await.unwrap(), None);
        assert_eq!((store.last_event_id(), store.total_upload_bytes().await.unwrap()), (head, 60));
        assert!(store.add_attachment(upload(1, "b", 40), Some(100)).await.unwrap().is_some());
        store.flush_and_close().await;
    }

    async fn a_message_uses_uploads_from_the_moment_it_is_there(home) {
        let store = home.open().await;
        found(&store).await;
        let [first, second] = [add(&store, upload(2, "a", 1)).await, add(&store, upload(3, "b", 1)).await];
        let before = store.last_event_id();
        let id = send(&store, using(&store, &[first.id, second.id, AttachmentId(999)])).await;
        let again = send(&store, using(&store, &[first.id])).await;
        assert_eq!(store.messages_using_attachment(first.id, MessageId(i64::MAX), 10).await.unwrap(), [again, id]);
        assert_eq!(store.messages_using_attachment(first.id, again, 10).await.unwrap(), [id]);
        assert_eq!(store.messages_using_attachment(second.id, MessageId(i64::MAX), 1).await.unwrap(), [id]);
        let update = |upload: &Attachment, messages| ("update".to_owned(), upload.id.0, Some(messages), 2);
        let events = events_after(&store, before).await;
        assert_eq!(events, [update(&first, 1), update(&second, 1), update(&first, 2)]);
        let of_owner = store.attachments_of_owner(UserId(2)).await.unwrap();
        assert_eq!(of_owner.len(), 1);
        assert_eq!((&of_owner[0].attachment, &of_owner[0].messages), (&first, &vec![(again, NOW_S), (id, NOW_S)]));
        store.flush_and_close().await;
    }

    async fn fifty_at_once_of_which_every_second_uses_an_upload_are_all_sent(home) {
        let store = home.open().await;
        found(&store).await;
        let upload = add(&store, upload(2, "a", 1)).await;
        let mut sending = tokio::task::JoinSet::new();
        for place in 0..50 {
            let (store, ids) = (store.clone(), if place % 2 == 0 { vec![upload.id] } else { Vec::new() });
            sending.spawn(async move { (send(&store, using(&store, &ids)).await, ids.is_empty()) });
        }
        let sent = sending.join_all().await;
        let mut expected: Vec<_> = sent.iter().filter(|(_, is_plain)| !is_plain).map(|(id, _)| *id).collect();
        expected.sort_by(|one, other| other.cmp(one));
        assert_eq!(store.messages_using_attachment(upload.id, MessageId(i64::MAX), 100).await.unwrap(), expected);
        let all: Vec<_> = sent.iter().map(|(id, _)| *id).collect();
        assert_eq!(store.find_messages(UserId(1), &all).await.unwrap().len(), 50);
        store.flush_and_close().await;
    }

    async fn an_edit_and_the_end_of_a_message_end_its_uses(home) {
        let store = home.open().await;
        found(&store).await;
        let [first, second] = [add(&store, upload(2, "a", 1)).await, add(&store, upload(2, "b", 1)).await];
        let id = send(&store, using(&store, &[first.id])).await;
        let before = store.last_event_id();
        let done = store.edit_message(rewritten(id, vec![second.id])).await.unwrap();
        let MessageEditOutcome::Done { detached_uploads, .. } = done else { unreachable!("{done:?}") };
        assert!(detached_uploads.is_empty(), "the editor has none of them");
        let update = |upload: &Attachment, messages| ("update".to_owned(), upload.id.0, Some(messages), 2);
        assert_eq!(events_after(&store, before).await, [update(&first, 0), update(&second, 1)]);
        assert_eq!(store.messages_using_attachment(first.id, MessageId(i64::MAX), 10).await.unwrap(), []);
        assert_eq!(store.messages_using_attachment(second.id, MessageId(i64::MAX), 10).await.unwrap(), [id]);
        let revision = store.find_messages(UserId(1), &[id]).await.unwrap().remove(0).0.revision;
        store.delete_messages(&decided(&store, &[(id, revision)]), (NOW_S, Vec::new())).await.unwrap();
        assert_eq!(store.messages_using_attachment(second.id, MessageId(i64::MAX), 10).await.unwrap(), []);
        store.flush_and_close().await;
    }

    async fn an_upload_is_detached_when_no_message_uses_it_and_the_editor_has_it(home) {
        let store = home.open().await;
        found(&store).await;
        let uploads = [add(&store, upload(1, "a", 1)).await, add(&store, upload(1, "b", 1)).await, add(&store, upload(3, "c", 1)).await];
        let id = send(&store, using(&store, &uploads.each_ref().map(|upload| upload.id))).await;
        send(&store, using(&store, &[uploads[1].id])).await;
        let done = store.edit_message(rewritten(id, Vec::new())).await.unwrap();
        let at = store.last_event_id();
        assert_eq!(done, MessageEditOutcome::Done { at, detached_uploads: vec![uploads[0].clone()] });
        store.flush_and_close().await;
    }

    async fn only_its_owner_removes_an_upload_and_gets_the_room_back(home) {
        let store = home.open().await;
        found(&store).await;
        let upload = add(&store, upload(2, "a", 70)).await;
        send(&store, using(&store, &[upload.id])).await;
        let before = store.last_event_id();
        assert_eq!(store.delete_attachment((UserId(3), upload.id), NOW_S).await.unwrap(), None);
        assert_eq!(store.last_event_id(), before);
        assert_eq!(store.delete_attachment((UserId(2), upload.id), NOW_S).await.unwrap(), Some(upload.clone()));
        assert_eq!(events_after(&store, before).await, [("remove".to_owned(), upload.id.0, None, 0)]);
        assert_eq!((store.total_upload_bytes().await.unwrap(), store.attachments_at_paths(&[upload.path_id]).await.unwrap()), (0, vec![]));
        assert_eq!(store.delete_attachment((UserId(2), upload.id), NOW_S).await.unwrap(), None);
        assert_eq!(store.messages_using_attachment(upload.id, MessageId(i64::MAX), 10).await.unwrap(), []);
        store.flush_and_close().await;
    }

    async fn a_ticket_lasts_until_its_time_and_is_forgotten_then(home) {
        let store = home.open().await;
        found(&store).await;
        let upload = add(&store, upload(2, "a", 1)).await;
        let ticket = |hash: &str, until_s| TemporaryFileAccess { hash: hash.to_owned(), path_id: upload.path_id.clone(), until_s };
        store.grant_temporary_access(ticket("one", NOW_S + 60), NOW_S).await.unwrap();
        assert_eq!(store.find_temporary_access_path("one", NOW_S + 60).await.unwrap(), Some(upload.path_id.clone()));
        assert_eq!(store.find_temporary_access_path("one", NOW_S + 61).await.unwrap(), None);
        assert_eq!(store.find_temporary_access_path("two", NOW_S).await.unwrap(), None);
        store.grant_temporary_access(ticket("two", NOW_S + 200), NOW_S + 100).await.unwrap();
        // The first is gone: its name is free again.
        store.grant_temporary_access(ticket("one", NOW_S + 200), NOW_S + 100).await.unwrap();
        store.flush_and_close().await;
    }
}
