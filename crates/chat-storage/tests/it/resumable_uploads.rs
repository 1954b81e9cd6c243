//! Uploads that come in several requests: their parts, and the limits that they keep to.

use chat_core::files::{
    ResumableUpload, ResumableUploadCreation, ResumableUploadId, ResumableUploadLimits, ResumableUploadStore as _,
    UploadPart,
};
use chat_core::id::UserId;
use chat_storage::ChatStore;

use crate::home::{NOW_S, on_each_engine};
use crate::people::found;

const LIMITS: ResumableUploadLimits = ResumableUploadLimits { per_user: 3, quota_bytes: Some(1_000) };

fn id(letter: &str) -> ResumableUploadId {
    ResumableUploadId::parse(&letter.repeat(32)).unwrap()
}

fn upload(letter: &str, owner: i64, length_bytes: i64) -> ResumableUpload {
    ResumableUpload {
        id: id(letter),
        owner_id: UserId(owner),
        name: "notes.txt".to_owned(),
        metadata: "filename bm90ZXMudHh0".to_owned(),
        length_bytes,
        received_bytes: 0,
        expires_s: NOW_S + 100,
    }
}

fn part(letter: &str, name: &str, (at_bytes, size_bytes): (i64, i64)) -> UploadPart {
    UploadPart { upload_id: id(letter), name: name.to_owned(), at_bytes, size_bytes }
}

async fn create(store: &ChatStore, upload: &ResumableUpload) -> ResumableUploadCreation {
    store.create_resumable_upload(upload, LIMITS, NOW_S).await.unwrap()
}

async fn append(store: &ChatStore, part: &UploadPart) -> bool {
    assert!(store.announce_upload_part(part).await.unwrap());
    store.append_upload_part(part, NOW_S + 200).await.unwrap()
}

on_each_engine! {
    async fn an_unfinished_upload_grows_where_it_ends_and_is_its_users_alone(home) {
        let store = home.open().await;
        found(&store).await;
        let new = upload("a", 2, 10);
        assert_eq!(create(&store, &new).await, ResumableUploadCreation::Created);
        assert_eq!(store.find_resumable_upload(UserId(2), &id("a"), NOW_S).await.unwrap(), Some(new.clone()));
        assert_eq!(store.find_resumable_upload(UserId(3), &id("a"), NOW_S).await.unwrap(), None);
        let (first, second) = (part("a", "x", (0, 4)), part("a", "y", (4, 6)));
        assert!(append(&store, &first).await);
        assert!(!append(&store, &part("a", "late", (0, 4))).await, "it goes on elsewhere");
        assert!(!append(&store, &part("a", "long", (4, 7))).await, "it is longer than it was to be");
        assert!(append(&store, &second).await);
        let whole = ResumableUpload { received_bytes: 10, expires_s: NOW_S + 200, ..new };
        assert_eq!(store.find_resumable_upload(UserId(2), &id("a"), NOW_S + 150).await.unwrap(), Some(whole));
        assert_eq!(store.upload_parts(&id("a")).await.unwrap(), [first.clone(), second.clone()]);
        assert_eq!(store.take_resumable_upload(&id("a"), Some(4)).await.unwrap(), None);
        let mut taken = store.take_resumable_upload(&id("a"), Some(10)).await.unwrap().unwrap();
        taken.sort_by_key(|part| part.at_bytes);
        assert_eq!(taken, [first, second]);
        assert_eq!(store.take_resumable_upload(&id("a"), None).await.unwrap(), None);
        assert!(!store.announce_upload_part(&part("a", "z", (10, 1))).await.unwrap());
        store.flush_and_close().await;
    }

    async fn a_part_that_was_announced_and_not_appended_goes_with_its_upload(home) {
        let store = home.open().await;
        found(&store).await;
        create(&store, &upload("a", 2, 10)).await;
        let lost = part("a", "x", (0, 4));
        assert!(store.announce_upload_part(&lost).await.unwrap());
        assert_eq!(store.upload_parts(&id("a")).await.unwrap(), []);
        assert_eq!(store.take_resumable_upload(&id("a"), None).await.unwrap(), Some(vec![lost.clone()]));
        assert!(!store.append_upload_part(&lost, NOW_S).await.unwrap());
        store.flush_and_close().await;
    }

    async fn concurrent_parts_at_one_place_are_one(home) {
        let store = home.open().await;
        found(&store).await;
        create(&store, &upload("a", 2, 100)).await;
        let mut appending = tokio::task::JoinSet::new();
        for number in 0..8 {
            let store = store.clone();
            appending.spawn(async move { append(&store, &part("a", &format!("p{number}"), (0, 5))).await });
        }
        let appended = appending.join_all().await;
        assert_eq!(appended.into_iter().filter(|appended| *appended).count(), 1);
        assert_eq!(store.upload_parts(&id("a")).await.unwrap().len(), 1);
        store.flush_and_close().await;
    }

    async fn unfinished_uploads_have_limits_in_number_size_and_time(home) {
        let store = home.open().await;
        found(&store).await;
        assert_eq!(create(&store, &upload("a", 2, 1_001)).await, ResumableUploadCreation::OverQuota);
        let mut creating = tokio::task::JoinSet::new();
        for letter in ["a", "b", "c", "d", "e"] {
            let store = store.clone();
            creating.spawn(async move { create(&store, &upload(letter, 2, 100)).await });
        }
        let created = creating.join_all().await;
        assert_eq!(created.iter().filter(|outcome| **outcome == ResumableUploadCreation::Created).count(), 3);
        assert_eq!(created.iter().filter(|outcome| **outcome == ResumableUploadCreation::TooMany).count(), 2);
        assert_eq!(create(&store, &upload("f", 3, 701)).await, ResumableUploadCreation::OverQuota);
        assert_eq!(create(&store, &upload("f", 3, 700)).await, ResumableUploadCreation::Created);
        assert!(store.abandoned_uploads(NOW_S + 99, 10).await.unwrap().is_empty());
        assert_eq!(store.abandoned_uploads(NOW_S + 100, 10).await.unwrap().len(), 4);
        assert_eq!(store.abandoned_uploads(NOW_S + 100, 2).await.unwrap().len(), 2);
        // What is abandoned counts no more.
        let later = store.create_resumable_upload(&upload("g", 2, 1_000), LIMITS, NOW_S + 100).await.unwrap();
        assert_eq!(later, ResumableUploadCreation::Created);
        assert_eq!(store.find_resumable_upload(UserId(3), &id("f"), NOW_S + 100).await.unwrap(), None);
        store.flush_and_close().await;
    }
}
