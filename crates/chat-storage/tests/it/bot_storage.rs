//! What programs of bots keep.

use chat_core::id::UserId;
use chat_core::people::bots::{BotStorage as _, BotStorageOutcome, MissingBotStorageKey};
use chat_storage::ChatStore;

use crate::home::on_each_engine;
use crate::people::found;

const SIZES: &str = "SELECT user_id || ' ' || chars FROM bot_storage_size ORDER BY user_id";
const LIMIT: i64 = 20;

fn entries(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn keys(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

async fn keep(store: &ChatStore, user: i64, pairs: &[(&str, &str)]) -> BotStorageOutcome {
    store.store_bot_values(UserId(user), &entries(pairs), LIMIT).await.unwrap()
}

async fn kept(store: &ChatStore, user: i64, wanted: Option<&[&str]>) -> Vec<(String, String)> {
    let wanted = wanted.map(keys);
    let mut found = store.load_bot_values(UserId(user), wanted.as_deref()).await.unwrap();
    found.sort();
    found
}

on_each_engine! {
    async fn texts_are_kept_replaced_and_forgotten_each_users_apart(home) {
        let store = home.open().await;
        found(&store).await;
        assert_eq!(keep(&store, 3, &[("a", "1"), ("b", "2")]).await, BotStorageOutcome::Done);
        assert_eq!(keep(&store, 4, &[("a", "other")]).await, BotStorageOutcome::Done);
        assert_eq!(keep(&store, 3, &[("b", "22"), ("ü", "")]).await, BotStorageOutcome::Done);
        assert_eq!(kept(&store, 3, None).await, entries(&[("a", "1"), ("b", "22"), ("ü", "")]));
        assert_eq!(kept(&store, 3, Some(&["b", "x"])).await, entries(&[("b", "22")]));
        assert_eq!(kept(&store, 4, None).await, entries(&[("a", "other")]));
        assert_eq!(home.ask(SIZES).await, ["3 6", "4 6"]);

        let missing = store.delete_bot_values(UserId(3), Some(&keys(&["a", "x"]))).await.unwrap();
        assert_eq!(missing, Err(MissingBotStorageKey));
        assert_eq!(kept(&store, 3, None).await.len(), 3);
        assert_eq!(store.delete_bot_values(UserId(3), Some(&keys(&["a", "ü"]))).await.unwrap(), Ok(()));
        assert_eq!(kept(&store, 3, None).await, entries(&[("b", "22")]));
        assert_eq!(home.ask(SIZES).await, ["3 3", "4 6"]);
        assert_eq!(store.delete_bot_values(UserId(3), None).await.unwrap(), Ok(()));
        assert_eq!(store.delete_bot_values(UserId(3), None).await.unwrap(), Ok(()));
        assert_eq!(kept(&store, 3, None).await, []);
        assert_eq!(kept(&store, 4, None).await.len(), 1);
        store.flush_and_close().await;
    }

    async fn what_is_too_much_is_not_kept_and_what_was_there_stays(home) {
        let store = home.open().await;
        found(&store).await;
        assert_eq!(keep(&store, 3, &[("a", "123456789"), ("b", "123456789")]).await, BotStorageOutcome::Done);
        assert_eq!(keep(&store, 3, &[("c", "12")]).await, BotStorageOutcome::TooMuch(3));
        assert_eq!(keep(&store, 3, &[("b", "1"), ("c", "1234567890")]).await, BotStorageOutcome::TooMuch(3));
        assert_eq!(kept(&store, 3, None).await, entries(&[("a", "123456789"), ("b", "123456789")]));
        assert_eq!(keep(&store, 3, &[("b", "1"), ("c", "123")]).await, BotStorageOutcome::Done);
        assert_eq!(home.ask(SIZES).await, ["3 16"]);
        store.flush_and_close().await;
    }

    async fn two_nodes_together_keep_no_more_than_one(home) {
        let (one, two) = (home.open().await, home.open().await);
        found(&one).await;
        let mut done = 0;
        for round in 0..10 {
            let name = |node: &str| format!("{node}{round}");
            let (a, b) = (name("a"), name("b"));
            let (first, second) = ([(a.as_str(), "12")], [(b.as_str(), "12")]);
            let both = tokio::join!(keep(&one, 3, &first), keep(&two, 3, &second));
            done += [both.0, both.1].into_iter().filter(|kept| *kept == BotStorageOutcome::Done).count();
        }
        assert_eq!((done, kept(&two, 3, None).await.len()), (5, 5));
        assert_eq!(home.ask(SIZES).await, ["3 20"]);
        one.flush_and_close().await;
        two.flush_and_close().await;
    }
}
