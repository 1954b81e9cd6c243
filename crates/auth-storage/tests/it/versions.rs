//! Versions: told alike while they stand and afterwards, whoever supersedes them, and stored once.

use std::collections::BTreeMap;

use auth_storage::AuthDatabase;
use fhir_store::{
    AccessFilter, HistoryPageRange, HistoryQuery, ResourceStore as _, ResourceVersion, ResourceWrite, WriteOperation,
};
use serde_json::{Value, json};

use crate::home::{NOW_US, told};

/// Documents that the history has of its own.
const DOCUMENTS: &str = "SELECT CAST(count(*) AS TEXT) FROM client_history WHERE CAST(resource AS TEXT) <> 'null'";

fn put(n: i64) -> ResourceWrite {
    ResourceWrite::unconditional(
        "Client/x".parse().unwrap(),
        WriteOperation::Put(json!({"n": n, "é": ["ü", {"b": 1, "a": null}]})),
    )
}

fn delete() -> ResourceWrite {
    ResourceWrite::unconditional("Client/x".parse().unwrap(), WriteOperation::Delete)
}

async fn history(db: &AuthDatabase, id: Option<&str>) -> Vec<ResourceVersion> {
    let kinds = vec![("Client".parse().unwrap(), AccessFilter::Everything)];
    let window = HistoryPageRange { count: 100, ..HistoryPageRange::default() };
    let query = HistoryQuery { kinds, id: id.map(|id| id.parse().unwrap()), window };
    db.read_history(&query).await.unwrap().entries
}

/// Every version as it is told, which has to be alike in every place.
async fn told(db: &AuthDatabase) -> BTreeMap<i64, ResourceVersion> {
    let (of_type, of_resource) = (history(db, None).await, history(db, Some("x")).await);
    assert_eq!(of_type, of_resource);
    for version in &of_type {
        let read = db.read_version(&version.stored.key, version.stored.version).await.unwrap();
        assert_eq!(read.as_ref(), Some(version));
    }
    of_type.into_iter().map(|version| (version.stored.version, version)).collect()
}

/// The numbers the documents have, newest first.
fn numbers(versions: &[ResourceVersion]) -> Vec<Value> {
    versions.iter().map(|version| version.stored.resource["n"].clone()).collect()
}

told! {
    async fn a_version_is_told_alike_while_it_stands_and_afterwards(home) {
        let db = home.open().await;
        let steps = vec![
            put(1), put(2), delete(), put(3), put(4), put(5), delete(), put(6), put(7), put(7), put(8), delete(),
        ];
        let mut before = BTreeMap::new();
        for (step, write) in (0..).zip(steps) {
            db.transact_writes(vec![write], NOW_US + step).await.unwrap().unwrap();
            let after = told(&db).await;
            for (number, version) in &before {
                assert_eq!(after.get(number), Some(version), "step {step}");
            }
            before = after;
        }
        let words: Vec<Value> = before.values().map(|version| version.stored.resource["n"].clone()).collect();
        assert_eq!(words, [1, 2, 2, 3, 4, 5, 5, 6, 7, 8, 8].map(Value::from));
        assert_eq!(told(&home.open().await).await, before);
    }

    async fn a_document_that_stands_is_stored_once(home) {
        let db = home.open().await;
        for (writes, documents) in [(put(1), "0"), (put(1), "0"), (put(2), "1"), (delete(), "3"), (put(3), "3")] {
            db.transact_writes(vec![writes], NOW_US).await.unwrap().unwrap();
            assert_eq!(home.ask(DOCUMENTS).await, [documents]);
        }
    }

    async fn what_users_sql_changes_and_deletes_stays_in_the_history(home) {
        let db = home.open().await;
        db.transact_writes(vec![put(1)], NOW_US).await.unwrap().unwrap();
        let first = told(&db).await;
        let change = r#"UPDATE client SET txid = txid + 1000, resource = '{"n": 2}' WHERE id = 'x'"#;
        db.run_user_sql(change).await.unwrap().unwrap();
        assert_eq!(history(&db, None).await, first.values().cloned().collect::<Vec<_>>());
        assert_eq!(numbers(&history(&db, Some("x")).await), [2, 1].map(Value::from));

        db.transact_writes(vec![put(3)], NOW_US + 1).await.unwrap().unwrap();
        let change = r#"UPDATE client SET resource = '{"n": 4}' WHERE id = 'x'"#;
        db.run_user_sql(change).await.unwrap().unwrap();
        assert_eq!(numbers(&history(&db, None).await), [3, 1].map(Value::from), "as it was written");
        db.run_user_sql("DELETE FROM client").await.unwrap().unwrap();
        assert_eq!(numbers(&history(&db, None).await), [3, 1].map(Value::from));
        assert_eq!(numbers(&history(&db, Some("x")).await), [3, 1].map(Value::from));
    }

    async fn a_document_that_was_lost_past_every_trigger_takes_no_other_with_it(home) {
        let db = home.open().await;
        let first = db.transact_writes(vec![put(1)], NOW_US).await.unwrap().unwrap().remove(0).stored_resource().cloned().unwrap();
        let second = db.transact_writes(vec![put(2)], NOW_US + 1).await.unwrap().unwrap().remove(0).stored_resource().cloned().unwrap();
        let lose = if home.is_postgres() {
            r#"TRUNCATE client; INSERT INTO client (id, resource) VALUES ('x', '{"n": 3}')"#
        } else {
            r#"REPLACE INTO client (id, resource) VALUES ('x', '{"n": 3}')"#
        };
        db.run_user_sql(lose).await.unwrap().unwrap();
        assert!(db.read_version(&first.key, first.version).await.unwrap().is_some());
        assert_eq!(db.read_version(&first.key, second.version).await.unwrap(), None);
        assert_eq!(numbers(&history(&db, None).await), [Value::from(1)]);
        db.transact_writes(vec![put(4)], NOW_US + 2).await.unwrap().unwrap();
        assert_eq!(numbers(&history(&db, None).await), [4, 1].map(Value::from));
    }

    async fn a_database_of_the_version_before_goes_on(home) {
        let db = home.open().await;
        db.transact_writes(vec![put(1)], NOW_US).await.unwrap().unwrap();
        db.transact_writes(vec![put(2)], NOW_US + 1).await.unwrap().unwrap();
        let before = told(&db).await;
        db.close().await;
        home.ask("UPDATE client_history AS h SET resource = t.resource FROM client t WHERE h.txid = t.txid").await;
        home.ask("DELETE FROM schema_file WHERE number = 20").await;
        if home.is_postgres() {
            home.ask("DROP FUNCTION client_superseded CASCADE").await;
        } else {
            home.ask("DROP TRIGGER client_replaced").await;
            home.ask("DROP TRIGGER client_removed").await;
        }

        let db = home.open().await;
        assert_eq!(told(&db).await, before);
        for n in 3..5 {
            db.transact_writes(vec![put(n)], NOW_US + n).await.unwrap().unwrap();
        }
        assert_eq!(home.ask(DOCUMENTS).await, ["3"]);
        let after = told(&db).await;
        assert!(before.iter().all(|(number, version)| after.get(number) == Some(version)), "{after:?}");
        assert_eq!(numbers(&history(&db, None).await), [4, 3, 2, 1].map(Value::from));
    }

    async fn a_table_that_users_sql_made_again_keeps_its_history_too(home) {
        let db = home.open().await;
        db.transact_writes(vec![put(1)], NOW_US).await.unwrap().unwrap();
        let again = "CREATE TABLE other AS SELECT * FROM client; DROP TABLE client; ALTER TABLE other RENAME TO client;
            CREATE UNIQUE INDEX client_ids ON client (id)";
        db.run_user_sql(again).await.unwrap().unwrap();
        db.transact_writes(vec![put(2)], NOW_US + 1).await.unwrap().unwrap();
        assert_eq!(numbers(&history(&db, None).await), [2, 1].map(Value::from));
    }
}
