//! Names to sign in with: taken once, whoever writes at the same moment.

use auth_storage::AuthDatabase;
use fhir_store::{ResourceStore as _, ResourceWrite, TransactionError, WriteError, WriteOperation};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::home::{NOW_US, told};

const TAKEN: WriteError = WriteError::Taken("userName or email");

fn put(id: &str, user: Value) -> ResourceWrite {
    ResourceWrite::unconditional(format!("User/{id}").parse().unwrap(), WriteOperation::Put(user))
}

async fn store(db: &AuthDatabase, writes: Vec<ResourceWrite>) -> Result<(), TransactionError> {
    db.transact_writes(writes, NOW_US).await.unwrap().map(drop)
}

async fn refused(db: &AuthDatabase, user: Value) {
    let refusal = store(db, vec![put("other", user.clone())]).await.unwrap_err();
    assert_eq!(refusal, TransactionError { index: 0, cause: TAKEN }, "{user}");
}

told! {
    async fn of_twenty_users_that_take_one_name_at_once_one_is_stored(home) {
        let nodes = [home.open().await, home.open().await, home.open().await];
        store(&nodes[0], vec![put("first", json!({"userName": "first"}))]).await.unwrap();
        let mut all = JoinSet::new();
        for n in 0..20 {
            let db = nodes[n % nodes.len()].clone();
            // Half of them are named as the others' address is.
            let by_address = json!({"userName": n.to_string(), "email": "ada@X.org"});
            let user = if n % 2 == 0 { json!({"userName": "Ada@x.org"}) } else { by_address };
            all.spawn(async move { (n, store(&db, vec![put(&format!("u{n}"), user)]).await) });
        }
        let outcomes = all.join_all().await;
        let stored: Vec<_> = outcomes.iter().filter(|(_, outcome)| outcome.is_ok()).map(|(n, _)| n % 2).collect();
        // Of those with the name one, or all that only share the address.
        assert!(stored == [0] || (stored.len() == 10 && stored.iter().all(|kind| *kind == 1)), "{stored:?}");
        for refusal in outcomes.into_iter().filter_map(|(_, outcome)| outcome.err()) {
            assert_eq!(refusal.cause, TAKEN);
        }
    }

    async fn a_name_that_finds_another_user_is_refused_in_any_case(home) {
        let db = home.open().await;
        store(&db, vec![put("ada", json!({"userName": "Ada", "email": "Ada@Example.org"}))]).await.unwrap();
        refused(&db, json!({"userName": "ADA"})).await;
        refused(&db, json!({"userName": "ada@example.ORG"})).await;
        refused(&db, json!({"userName": "other", "email": "aDa"})).await;
        refused(&db, json!({"email": "ada@example.org"})).await;
        assert_eq!(home.ask("SELECT id FROM \"user\"").await, ["ada"]);
        let shared = json!({"userName": "grace", "email": "ada@example.org"});
        store(&db, vec![put("grace", shared)]).await.unwrap();
        store(&db, vec![put("nameless", json!({"active": true})), put("empty", json!({"userName": ""}))]).await.unwrap();
        store(&db, vec![put("nameless2", json!({"active": true})), put("empty2", json!({"userName": ""}))]).await.unwrap();
        store(&db, vec![put("only", json!({"email": "only@example.org"}))]).await.unwrap();
        refused(&db, json!({"userName": "x", "email": "only@example.org"})).await;
    }

    async fn a_user_keeps_its_own_names_and_two_may_swap_them_in_one_transaction(home) {
        let db = home.open().await;
        store(&db, vec![put("a", json!({"userName": "a@x.org", "email": "a@x.org"})), put("b", json!({"userName": "b"}))])
            .await
            .unwrap();
        store(&db, vec![put("a", json!({"userName": "A@x.org", "email": "a@x.org", "active": true}))]).await.unwrap();
        let swapped = vec![put("a", json!({"userName": "b"})), put("b", json!({"userName": "a@x.org"}))];
        store(&db, swapped).await.unwrap();
        let refusal = store(&db, vec![put("c", json!({"userName": "c"})), put("d", json!({"userName": "B"}))]).await;
        assert_eq!(refusal.unwrap_err(), TransactionError { index: 1, cause: TAKEN });
        assert_eq!(home.ask("SELECT id FROM \"user\" ORDER BY id").await, ["a", "b"]);
        // Of two that share a name since before there was this rule, each can still be changed.
        db.run_user_sql("INSERT INTO \"user\" (id, resource) VALUES ('old', '{\"userName\": \"b\"}')").await.unwrap().unwrap();
        store(&db, vec![put("old", json!({"userName": "b", "active": false}))]).await.unwrap();
        store(&db, vec![put("old", json!({"userName": "old"}))]).await.unwrap();
    }
}
