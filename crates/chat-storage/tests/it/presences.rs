//! Who was there.

use chat_core::event_log::event::LogRecord;
use chat_core::event_log::store::EventLog as _;
use chat_core::id::UserId;
use chat_core::model::realm_change::RealmChange;
use chat_core::people::presence::{ChangedPresences, Presence, PresenceStatus, PresenceStore as _};
use chat_storage::ChatStore;

use crate::home::{NOW_S, on_each_engine};
use crate::people::{change, found, user};

const ROWS: &str = "SELECT user_id || ' ' || (active_s - 1800000000) || ' ' || (connected_s - 1800000000)
FROM presence ORDER BY user_id";

fn note(store: &ChatStore, user: i64, status: PresenceStatus, after_s: i64) {
    store.record_presence(UserId(user), status, NOW_S + after_s);
}

/// Who is new after a batch, each with the seconds since the tests' now, and the last batch.
fn since(store: &ChatStore, batch: i64) -> (Vec<(i64, i64, i64)>, i64) {
    let ChangedPresences { presences, last } = store.presences_since(batch);
    let shown = presences.into_iter().map(|(id, seen)| (id.0, seen.active_s - NOW_S, seen.connected_s - NOW_S));
    (shown.collect(), last)
}

async fn events(store: &ChatStore) -> usize {
    let count =
        |records: Vec<std::sync::Arc<LogRecord>>| records.iter().filter(|it| it.event_type() == "presence").count();
    count(store.records_after(chat_core::id::EventId::BEFORE_FIRST, 1_000).await.unwrap().unwrap())
}

on_each_engine! {
    async fn who_was_there_is_known_at_once_and_written_down_together(home) {
        let store = home.open().await;
        found(&store).await;
        store.sync_presences().await.unwrap();
        assert_eq!(store.presence_of_user(UserId(3)), None);
        note(&store, 3, PresenceStatus::Active, 0);
        note(&store, 4, PresenceStatus::Idle, 5);
        assert_eq!(store.presence_of_user(UserId(3)), Some(Presence { active_s: NOW_S, connected_s: NOW_S }));
        store.sync_presences().await.unwrap();
        assert_eq!(home.ask(ROWS).await, ["3 0 0", "4 -1800000000 5"]);
        note(&store, 3, PresenceStatus::Idle, 60);
        note(&store, 3, PresenceStatus::Active, 61);
        note(&store, 3, PresenceStatus::Active, 62);
        store.sync_presences().await.unwrap();
        assert_eq!(home.ask(ROWS).await, ["3 61 61", "4 -1800000000 5"]);
        store.flush_and_close().await;
    }

    async fn a_sign_of_life_takes_no_memory(home) {
        let store = home.open().await;
        found(&store).await;
        note(&store, 3, PresenceStatus::Active, 0);
        let signs = allocation_counter::measure(|| {
            for minute in 1..=1_000 {
                note(&store, 3, PresenceStatus::Active, minute * 60);
                assert_eq!(store.presence_of_user(UserId(3)).map(|seen| seen.active_s), Some(NOW_S + minute * 60));
            }
        });
        assert_eq!((signs.count_total, signs.bytes_total), (0, 0));
        // The counter counts: a list is made of memory.
        let list = allocation_counter::measure(|| assert_eq!(store.presences_since(0).presences.len(), 1));
        assert!(list.count_total > 0);
        store.flush_and_close().await;
    }

    async fn what_was_noted_survives_its_node(home) {
        let store = home.open().await;
        found(&store).await;
        note(&store, 3, PresenceStatus::Active, 0);
        store.flush_and_close().await;

        let store = home.open().await;
        let (known, last) = since(&store, 0);
        assert_eq!(known, [(3, 0, 0)]);
        assert!(last > 0);
        assert_eq!(since(&store, last), (Vec::new(), last));
        store.flush_and_close().await;
    }

    async fn who_asks_again_gets_what_came_since_and_misses_nothing(home) {
        let store = home.open().await;
        found(&store).await;
        note(&store, 3, PresenceStatus::Active, 0);
        store.sync_presences().await.unwrap();
        let (_, first) = since(&store, 0);
        note(&store, 4, PresenceStatus::Active, 1);
        // Told before it is written down, and once more with the number that stands for it.
        let (known, last) = since(&store, first);
        assert_eq!(known, [(4, 1, 1)]);
        assert!(last >= first);
        store.sync_presences().await.unwrap();
        let (known, second) = since(&store, first);
        assert_eq!(known, [(4, 1, 1)]);
        assert!(second > first);
        assert_eq!(since(&store, second).0, []);
        store.flush_and_close().await;
    }

    async fn only_who_was_away_is_told_of(home) {
        let store = home.open().await;
        found(&store).await;
        note(&store, 3, PresenceStatus::Active, 0);
        note(&store, 4, PresenceStatus::Idle, 0);
        store.sync_presences().await.unwrap();
        // One for each form.
        assert_eq!(events(&store).await, 3);
        for after_s in [60, 120, 240] {
            note(&store, 3, PresenceStatus::Active, after_s);
            note(&store, 4, PresenceStatus::Idle, after_s);
            store.sync_presences().await.unwrap();
        }
        assert_eq!(events(&store).await, 3);
        note(&store, 3, PresenceStatus::Active, 600);
        store.sync_presences().await.unwrap();
        store.sync_presences().await.unwrap();
        assert_eq!(events(&store).await, 6);
        store.flush_and_close().await;
    }

    async fn of_a_closed_account_nothing_is_told(home) {
        let store = home.open().await;
        found(&store).await;
        let closed = chat_core::model::user::User { is_active: false, ..user(3) };
        change(&store, vec![RealmChange::User(Box::new(closed))]).await;
        note(&store, 3, PresenceStatus::Active, 0);
        store.sync_presences().await.unwrap();
        assert_eq!(events(&store).await, 0);
        store.flush_and_close().await;
    }

    async fn nodes_know_the_later_of_what_they_heard(home) {
        // SQLite serves one node.
        if !home.is_postgres() {
            return;
        }
        let (here, there) = (home.open().await, home.open().await);
        found(&here).await;
        note(&here, 3, PresenceStatus::Active, 0);
        here.sync_presences().await.unwrap();
        there.sync_presences().await.unwrap();
        let (known, first) = since(&there, 0);
        assert_eq!(known, [(3, 0, 0)]);
        // Both hear of one user, the later one writes first.
        note(&here, 3, PresenceStatus::Active, 60);
        note(&there, 3, PresenceStatus::Idle, 70);
        there.sync_presences().await.unwrap();
        here.sync_presences().await.unwrap();
        there.sync_presences().await.unwrap();
        assert_eq!((since(&here, first).0, since(&there, first).0), (vec![(3, 60, 70)], vec![(3, 60, 70)]));
        assert_eq!(home.ask(ROWS).await, ["3 60 70"]);
        // Whoever asked one node may ask the other.
        let (_, last) = since(&here, 0);
        note(&there, 5, PresenceStatus::Active, 80);
        there.sync_presences().await.unwrap();
        here.sync_presences().await.unwrap();
        assert_eq!(since(&here, last).0, [(5, 80, 80)]);
        here.flush_and_close().await;
        there.flush_and_close().await;
    }

    async fn a_turn_that_failed_is_made_up_for(home) {
        let store = home.open().await;
        found(&store).await;
        // Nobody of that number has an account, so the batch is refused whole.
        note(&store, 99, PresenceStatus::Active, 0);
        note(&store, 3, PresenceStatus::Active, 0);
        assert!(store.sync_presences().await.is_err());
        assert!(home.ask(ROWS).await.is_empty());
        change(&store, vec![RealmChange::User(Box::new(user(99)))]).await;
        store.sync_presences().await.unwrap();
        assert_eq!(home.ask(ROWS).await, ["3 0 0", "99 0 0"]);
        store.flush_and_close().await;
    }
}
