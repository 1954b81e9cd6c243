//! Opaque tokens and revocations.

use oauth_core::ports::{OpaqueToken, PartyStore as _, StandingQuery, TokenStore as _};
use serde_json::json;

use crate::home::{NOW_S, told};

fn token(first: u8, expires_s: i64) -> OpaqueToken {
    let mut hash = [7; 32];
    hash[0] = first;
    OpaqueToken {
        hash,
        token_id: format!("t{first}"),
        client_id: "app".to_owned(),
        claims: json!({"z": 1, "a": ["x", null], "exp": expires_s}),
        expires_s,
    }
}

told! {
    async fn an_opaque_token_is_found_by_its_hash_alone(home) {
        let db = home.open().await;
        let stored = token(1, NOW_S + 60);
        db.insert_opaque(stored.clone()).await.unwrap();
        let found = db.find_opaque(&stored.hash).await.unwrap().unwrap();
        assert_eq!(found, stored);
        assert_eq!(found.claims.to_string(), stored.claims.to_string(), "the order of claims is kept");
        assert_eq!(db.find_opaque(&token(2, 0).hash).await.unwrap(), None);
    }

    async fn a_hash_is_stored_once(home) {
        let db = home.open().await;
        db.insert_opaque(token(1, NOW_S + 60)).await.unwrap();
        let same = OpaqueToken { token_id: "other".to_owned(), ..token(1, NOW_S + 90) };
        assert!(db.insert_opaque(same).await.is_err());
        assert_eq!(db.find_opaque(&token(1, 0).hash).await.unwrap(), Some(token(1, NOW_S + 60)));
    }

    async fn a_revoked_token_stays_revoked_for_the_longest_time_named(home) {
        let db = home.open().await;
        let revoked = async |db: &auth_storage::Db| {
            let of = StandingQuery { token_id: Some("t1"), ..StandingQuery::default() };
            db.standing(&of).await.unwrap().token_revoked
        };
        assert!(!revoked(&db).await);
        db.revoke("t1", NOW_S + 60).await.unwrap();
        db.revoke("t1", NOW_S + 10).await.unwrap();
        assert!(revoked(&db).await);
        assert_eq!(db.forget_expired(NOW_S + 60).await.unwrap(), 0);
        assert!(revoked(&db).await);
        assert_eq!(db.forget_expired(NOW_S + 61).await.unwrap(), 1);
        assert!(!revoked(&db).await);
    }

    async fn what_expired_is_forgotten_and_the_rest_kept(home) {
        let db = home.open().await;
        for (first, expires_s) in [(1, NOW_S - 1), (2, NOW_S), (3, NOW_S + 1)] {
            db.insert_opaque(token(first, expires_s)).await.unwrap();
        }
        db.revoke("old", NOW_S - 1).await.unwrap();
        assert_eq!(db.forget_expired(NOW_S).await.unwrap(), 2);
        let mut found = Vec::new();
        for first in 1..=3 {
            found.push(db.find_opaque(&token(first, 0).hash).await.unwrap().is_some());
        }
        assert_eq!(found, [false, true, true]);
    }

    async fn more_than_one_chunk_is_forgotten_in_one_call(home) {
        let db = home.open().await;
        let many = "INSERT INTO token_revocation (token_id, expires)
            WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2500)
            SELECT CAST(n AS TEXT), n FROM n";
        db.run_sql(many).await.unwrap().unwrap();
        assert_eq!(db.forget_expired(2301).await.unwrap(), 2300);
        assert_eq!(home.ask("SELECT CAST(count(*) AS TEXT) FROM token_revocation").await, ["200"]);
    }
}
