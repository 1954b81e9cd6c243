//! Opaque tokens and revocations.

use auth_storage::AuthDatabase;
use fhir_store::{ResourceStore as _, ResourceWrite, WriteOperation};
use oauth_core::ports::{AccessTokenStore as _, CallerStatusQuery, OpaqueTokenRecord, RegistrationStore as _};
use serde_json::json;
use tokio::task::JoinSet;

use crate::home::{NOW_S, NOW_US, told};

fn token(first: u8, expires_s: i64) -> OpaqueTokenRecord {
    let mut hash = [7; 32];
    hash[0] = first;
    OpaqueTokenRecord {
        hash,
        token_id: format!("t{first}"),
        client_id: "app".to_owned(),
        claims: json!({"z": 1, "a": ["x", null], "exp": expires_s}),
        expires_s,
    }
}

/// Writes the Client the tokens are issued to, and returns its version.
async fn put_client(db: &AuthDatabase) -> i64 {
    let write =
        ResourceWrite::unconditional("Client/app".parse().unwrap(), WriteOperation::Put(json!({"name": "App"})));
    let written = db.transact_writes(vec![write], NOW_US).await.unwrap().unwrap();
    written[0].stored_resource().unwrap().version
}

async fn found(db: &AuthDatabase, first: u8) -> Option<OpaqueTokenRecord> {
    db.find_opaque_token(&token(first, 0).hash).await.unwrap().map(|(token, _)| token)
}

told! {
    async fn an_opaque_token_is_found_by_its_hash_alone(home) {
        let db = home.open().await;
        let stored = token(1, NOW_S + 60);
        let version = put_client(&db).await;
        assert!(db.store_opaque_token(stored.clone(), version).await.unwrap());
        let read = found(&db, 1).await.unwrap();
        assert_eq!(read, stored);
        assert_eq!(read.claims.to_string(), stored.claims.to_string(), "the order of claims is kept");
        assert_eq!(found(&db, 2).await, None);
    }

    async fn a_hash_is_stored_once(home) {
        let db = home.open().await;
        let version = put_client(&db).await;
        assert!(db.store_opaque_token(token(1, NOW_S + 60), version).await.unwrap());
        let same = OpaqueTokenRecord { token_id: "other".to_owned(), ..token(1, NOW_S + 90) };
        assert!(db.store_opaque_token(same, version).await.is_err());
        assert_eq!(found(&db, 1).await, Some(token(1, NOW_S + 60)));
    }

    async fn an_opaque_token_of_a_client_that_has_changed_is_not_stored(home) {
        let db = home.open().await;
        assert!(!db.store_opaque_token(token(1, NOW_S + 60), 0).await.unwrap(), "there is no Client");
        let decided_on = put_client(&db).await;
        db.run_user_sql("UPDATE client SET resource = '{\"active\": false}'").await.unwrap().unwrap();
        assert!(!db.store_opaque_token(token(2, NOW_S + 60), decided_on).await.unwrap());
        assert_eq!((found(&db, 1).await, found(&db, 2).await), (None, None));
    }

    async fn opaque_tokens_of_one_moment_are_answered_each_for_itself(home) {
        let db = home.open().await;
        let version = put_client(&db).await;
        let mut issued = JoinSet::new();
        for first in 0..60 {
            let db = db.clone();
            // Every third was decided on an older version, and every seventh has the hash of the one before.
            let token = if first % 7 == 6 { token(first - 1, NOW_S + 61) } else { token(first, NOW_S + 60) };
            let version = if first % 3 == 2 { version - 1 } else { version };
            issued.spawn(async move { (first, db.store_opaque_token(token, version).await.ok()) });
        }
        let outcomes = issued.join_all().await;
        for (first, outcome) in &outcomes {
            let twice = first % 7 >= 5;
            if !twice {
                assert_eq!(*outcome, Some(first % 3 != 2), "{first}");
                assert_eq!(found(&db, *first).await.is_some(), first % 3 != 2, "{first}");
            }
        }
        // Of two of one hash that were both decided on what is stored, one is stored and the other fails.
        for pair in [(5_u8, 6_u8), (12, 13), (54, 55)] {
            let of = |first| outcomes.iter().find(|(other, _)| *other == first).unwrap().1;
            let stored = [of(pair.0), of(pair.1)].iter().filter(|outcome| **outcome == Some(true)).count();
            assert!(stored <= 1, "{pair:?}");
        }
    }

    async fn an_opaque_token_comes_with_the_standing_of_its_parties(home) {
        let db = home.open().await;
        let version = put_client(&db).await;
        assert!(db.store_opaque_token(token(1, NOW_S + 60), version).await.unwrap());
        let by_name = async |db: &AuthDatabase| {
            let of = CallerStatusQuery { client_id: Some("app"), token_id: Some("t1"), ..CallerStatusQuery::default() };
            db.caller_status(&of).await.unwrap()
        };
        let (_, standing) = db.find_opaque_token(&token(1, 0).hash).await.unwrap().unwrap();
        assert_eq!(standing, by_name(&db).await);
        assert_eq!((standing.client_version, standing.token_revoked), (Some(version), false));
        db.revoke_token_id("t1", NOW_S + 60).await.unwrap();
        let delete = ResourceWrite::unconditional("Client/app".parse().unwrap(), WriteOperation::Delete);
        db.transact_writes(vec![delete], NOW_US).await.unwrap().unwrap();
        let (_, standing) = db.find_opaque_token(&token(1, 0).hash).await.unwrap().unwrap();
        assert_eq!(standing, by_name(&db).await);
        assert_eq!((standing.client_version, standing.token_revoked), (None, true));
        assert_eq!(standing.client_deleted_us, Some(NOW_US));
    }

    async fn callers_of_one_moment_learn_each_their_own_standing(home) {
        let db = home.open().await;
        let version = put_client(&db).await;
        for first in 0..20 {
            assert!(db.store_opaque_token(token(first, NOW_S + 60), version).await.unwrap());
        }
        for first in (0..20).step_by(3) {
            db.revoke_token_id(&format!("t{first}"), NOW_S + 60).await.unwrap();
        }
        let mut asked = JoinSet::new();
        for n in 0..80_u8 {
            let db = db.clone();
            asked.spawn(async move {
                let first = n % 40;
                if n < 40 {
                    let found = db.find_opaque_token(&token(first, 0).hash).await.unwrap();
                    assert_eq!(found.as_ref().map(|(token, _)| token.token_id.clone()), (first < 20).then(|| format!("t{first}")));
                    return (first, found.is_some_and(|(_, standing)| standing.token_revoked));
                }
                let token_id = format!("t{first}");
                let of = CallerStatusQuery { token_id: Some(&token_id), ..CallerStatusQuery::default() };
                (first, db.caller_status(&of).await.unwrap().token_revoked)
            });
        }
        for (first, revoked) in asked.join_all().await {
            assert_eq!(revoked, first < 20 && first % 3 == 0, "{first}");
        }
    }

    async fn an_id_with_a_nul_stands_for_nobody_and_spoils_no_others_answer(home) {
        let db = home.open().await;
        let version = put_client(&db).await;
        let of = |client_id| CallerStatusQuery { client_id: Some(client_id), ..CallerStatusQuery::default() };
        let (odd, known) = (of("app\0"), of("app"));
        let (odd, known) = tokio::join!(db.caller_status(&odd), db.caller_status(&known));
        assert_eq!((odd.unwrap().client_version, known.unwrap().client_version), (None, Some(version)));
    }

    async fn a_revoked_token_stays_revoked_for_the_longest_time_named(home) {
        let db = home.open().await;
        let revoked = async |db: &AuthDatabase| {
            let of = CallerStatusQuery { token_id: Some("t1"), ..CallerStatusQuery::default() };
            db.caller_status(&of).await.unwrap().token_revoked
        };
        assert!(!revoked(&db).await);
        db.revoke_token_id("t1", NOW_S + 60).await.unwrap();
        db.revoke_token_id("t1", NOW_S + 10).await.unwrap();
        assert!(revoked(&db).await);
        assert_eq!(db.delete_expired_tokens(NOW_S + 60).await.unwrap(), 0);
        assert!(revoked(&db).await);
        assert_eq!(db.delete_expired_tokens(NOW_S + 61).await.unwrap(), 1);
        assert!(!revoked(&db).await);
    }

    async fn what_expired_is_forgotten_and_the_rest_kept(home) {
        let db = home.open().await;
        let version = put_client(&db).await;
        for (first, expires_s) in [(1, NOW_S - 1), (2, NOW_S), (3, NOW_S + 1)] {
            assert!(db.store_opaque_token(token(first, expires_s), version).await.unwrap());
        }
        db.revoke_token_id("old", NOW_S - 1).await.unwrap();
        assert_eq!(db.delete_expired_tokens(NOW_S).await.unwrap(), 2);
        let mut left = Vec::new();
        for first in 1..=3 {
            left.push(found(&db, first).await.is_some());
        }
        assert_eq!(left, [false, true, true]);
    }

    async fn more_than_one_chunk_is_forgotten_in_one_call(home) {
        let db = home.open().await;
        let many = "INSERT INTO token_revocation (token_id, expires)
            WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2500)
            SELECT CAST(n AS TEXT), n FROM n";
        db.run_user_sql(many).await.unwrap().unwrap();
        assert_eq!(db.delete_expired_tokens(2301).await.unwrap(), 2300);
        assert_eq!(home.ask("SELECT CAST(count(*) AS TEXT) FROM token_revocation").await, ["200"]);
    }
}
