//! Signing keys and secrets that several nodes share.

use oauth_core::ports::SigningKeyStore as _;
use oauth_core::signing_keys::{SigningAlg, StoredSigningKey};
use tokio::task::JoinSet;

use crate::home::{NOW_S, told};

fn key(kid: &str, alg: SigningAlg, created_s: i64) -> StoredSigningKey {
    StoredSigningKey {
        kid: kid.to_owned(),
        alg,
        public_jwk: format!(r#"{{"kid":"{kid}"}}"#),
        private_key: vec![0, 1, 255],
        sealed: created_s % 2 == 1,
        created_s,
        signs_from_s: created_s + 60,
    }
}

told! {
    async fn keys_come_back_as_stored_oldest_first(home) {
        let db = home.open().await;
        let keys = [
            key("c", SigningAlg::ES256, 1),
            key("b", SigningAlg::ES384, 2),
            key("a", SigningAlg::RS256, 3),
            key("d", SigningAlg::RS384, 4),
        ];
        for key in keys.iter().rev() {
            assert!(db.save_keys_if_unchanged(&db.unretired_keys().await.unwrap(), vec![key.clone()]).await.unwrap());
        }
        assert_eq!(db.unretired_keys().await.unwrap(), keys);
    }

    async fn keys_that_have_changed_in_the_meantime_are_left_as_they_are(home) {
        let (db, other) = (home.open().await, home.open().await);
        let first = db.store_initial_keys(vec![key("a", SigningAlg::ES256, 1)]).await.unwrap();
        let resealed = vec![StoredSigningKey { private_key: vec![9; 40], sealed: true, ..first[0].clone() }];
        assert!(other.save_keys_if_unchanged(&first, vec![key("b", SigningAlg::ES256, 3)]).await.unwrap());
        let held = db.unretired_keys().await.unwrap();
        assert!(!db.save_keys_if_unchanged(&first, resealed.clone()).await.unwrap());
        assert_eq!(db.unretired_keys().await.unwrap(), held);
        assert!(db.save_keys_if_unchanged(&held, resealed.clone()).await.unwrap());
        assert_eq!(other.unretired_keys().await.unwrap(), [resealed[0].clone(), held[1].clone()]);
    }

    async fn the_private_part_of_a_retired_key_is_forgotten_when_keys_are_resealed(home) {
        let db = home.open().await;
        db.store_initial_keys(vec![key("a", SigningAlg::ES256, 1), key("b", SigningAlg::ES256, 2)]).await.unwrap();
        db.retire_key("a", NOW_S).await.unwrap();
        let held = db.unretired_keys().await.unwrap();
        assert!(db.save_keys_if_unchanged(&held, held.clone()).await.unwrap());
        let lengths = "SELECT kid || ' ' || CAST(length(private_key) AS TEXT) FROM signing_key ORDER BY kid";
        assert_eq!(home.ask(lengths).await, ["a 0", "b 3"]);
    }

    async fn nodes_that_start_at_once_get_the_keys_of_one(home) {
        let mut nodes = JoinSet::new();
        for n in 0..8 {
            let db = home.open().await;
            nodes.spawn(async move {
                let pair = [(SigningAlg::ES256, "es"), (SigningAlg::RS256, "rs")];
                let mine = pair.map(|(alg, name)| key(&format!("{name}{n}"), alg, n));
                db.store_initial_keys(mine.to_vec()).await.unwrap()
            });
        }
        let got = nodes.join_all().await;
        assert_eq!(got[0].len(), 2);
        assert!(got.iter().all(|keys| *keys == got[0]), "{got:?}");
        assert_eq!(home.open().await.unretired_keys().await.unwrap(), got[0]);
    }

    async fn a_retired_key_is_gone_and_retired_once(home) {
        let db = home.open().await;
        db.store_initial_keys(vec![key("a", SigningAlg::ES256, 1)]).await.unwrap();
        assert!(db.retire_key("a", NOW_S).await.unwrap());
        assert!(!db.retire_key("a", NOW_S).await.unwrap());
        assert!(!db.retire_key("unknown", NOW_S).await.unwrap());
        assert_eq!(db.unretired_keys().await.unwrap(), []);
        let next = vec![key("b", SigningAlg::ES256, 2)];
        assert_eq!(db.store_initial_keys(next.clone()).await.unwrap(), next);
    }

    async fn nodes_that_offer_a_secret_at_once_get_the_same_one(home) {
        let mut nodes = JoinSet::new();
        for n in 0..8 {
            let db = home.open().await;
            nodes.spawn(async move { db.get_or_store_secret("pepper", vec![n; 32]).await.unwrap() });
        }
        let got = nodes.join_all().await;
        assert!(got.iter().all(|secret| *secret == got[0]), "{got:?}");
        let db = home.open().await;
        assert_eq!(db.get_or_store_secret("other", vec![99]).await.unwrap(), [99]);
        assert_eq!(db.get_or_store_secret("pepper", vec![99]).await.unwrap(), got[0]);
    }
}
