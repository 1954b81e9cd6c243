//! Users' SQL: with the row that says it ran, before it, on demand.

use auth_storage::AuthDatabase;
use fhir_resource::ResourceKey;
use fhir_store::{
    ElementEqualityFilter, ResourceLookup, ResourceStore as _, ResourceWrite, WriteOperation, WriteOutcome,
};
use migrations::on_demand_scripts::{ScriptOutcome, SqlScript};
use migrations::{
    MigrationEffect, MigrationEffectError, MigrationStep, MigrationStepError, MigrationStore as _,
    OutsideTransactionMigrationError, ProgressReporter,
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::home::{NOW_US, told};

fn key(id: &str) -> ResourceKey {
    format!("PlatformMigration/{id}").parse().unwrap()
}

/// A migration that is to run unless there is one of its id.
fn step(id: &str, sql: &str) -> MigrationStep {
    let mut write =
        ResourceWrite::unconditional(key(id), WriteOperation::Create(json!({"status": "to-run", "sql": sql})));
    write.precondition.if_none_exist = Some(vec![ElementEqualityFilter::by_id(id)].into());
    MigrationStep { write, effect: Some(MigrationEffect::RunSql { sql: sql.to_owned() }) }
}

async fn transact(db: &AuthDatabase, steps: Vec<MigrationStep>) -> Result<Vec<WriteOutcome>, MigrationStepError> {
    db.transact_migration_steps(steps, &ProgressReporter::new(), NOW_US).await.unwrap()
}

/// What was answered is of no matter.
fn drop_answer<T>(_: T) {}

fn script(id: &str, sql: &str) -> SqlScript {
    SqlScript { id: id.to_owned(), sql: sql.to_owned() }
}

told! {
    async fn users_sql_runs_as_a_whole_or_not_at_all(home) {
        let db = home.open().await;
        let ran = db.run_user_sql("CREATE TABLE mine (a BIGINT); INSERT INTO mine (a) VALUES (7);").await.unwrap();
        assert!(ran.is_ok());
        let refused = db.run_user_sql("INSERT INTO mine (a) VALUES (8); INSERT INTO nowhere VALUES (1)").await.unwrap();
        let refused = refused.unwrap_err();
        assert_eq!(refused.engine, db.engine_name());
        assert!(refused.message.contains("nowhere"), "{refused}");
        assert_eq!(home.ask("SELECT CAST(a AS TEXT) FROM mine").await, ["7"]);
    }

    async fn users_sql_cannot_leave_a_transaction_to_others(home) {
        let db = home.open().await;
        drop(db.run_user_sql("COMMIT; BEGIN; CREATE TABLE half (a BIGINT)").await);
        drop(db.run_user_sql("ROLLBACK").await);
        let new = ResourceWrite::unconditional("Client/1".parse().unwrap(), WriteOperation::Put(json!({})));
        db.transact_writes(vec![new], NOW_US).await.unwrap().unwrap();
    }

    async fn a_migration_stands_or_falls_with_its_row(home) {
        let db = home.open().await;
        let first = step("one", "CREATE TABLE mine (a BIGINT); INSERT INTO mine (a) VALUES (1)");
        let broken = step("two", "SELECT 1;\nINSERT INTO nowhere VALUES (1)");
        let refusal = transact(&db, vec![first.clone(), broken]).await.unwrap_err();
        let MigrationStepError::Effect { index: 1, key: named, refused: MigrationEffectError::Sql(refused) } = &refusal else {
            panic!("{refusal}");
        };
        assert_eq!(*named, key("two"));
        assert!(refused.message.contains("nowhere"), "{refused}");
        assert_eq!((refused.place.statement, refused.place.at), (2, home.is_postgres().then_some((2, 13))));
        assert_eq!(home.ask("SELECT name FROM resource_type WHERE name = 'PlatformMigration'").await, [""; 0]);

        let steps = vec![first, step("two", "INSERT INTO mine (a) SELECT a + 1 FROM mine")];
        let written = transact(&db, steps.clone()).await.unwrap();
        for written in &written {
            let WriteOutcome::Created(stored) = written else { panic!("{written:?}") };
            assert_eq!((&stored.resource["status"], &stored.resource["result"]),
                (&json!("done"), &json!({"valueBoolean": true})));
        }
        let written = transact(&db, steps).await.unwrap();
        assert!(written.iter().all(|written| matches!(written, WriteOutcome::Existing(_))), "{written:?}");
        assert_eq!(home.ask("SELECT CAST(a AS TEXT) FROM mine ORDER BY a").await, ["1", "2"]);
        let history = "SELECT op || ' ' || coalesce(resource ->> 'status', 'as it stands')
            FROM platformmigration_history ORDER BY txid";
        assert_eq!(home.ask(history).await, ["create to-run", "update as it stands", "create to-run", "update as it stands"]);
    }

    async fn what_is_not_prepared_is_skipped_or_refused_and_never_done(home) {
        let db = home.open().await;
        let unprepared = || MigrationStep { effect: Some(MigrationEffect::Unprepared), ..step("one", "") };
        let refusal = transact(&db, vec![step("zero", "CREATE TABLE mine (a BIGINT)"), unprepared()]).await.unwrap_err();
        assert!(matches!(&refusal, MigrationStepError::Effect { index: 1, refused: MigrationEffectError::Unprepared, .. }), "{refusal}");
        assert_eq!(home.ask("SELECT name FROM resource_type WHERE name = 'PlatformMigration'").await, [""; 0]);
        transact(&db, vec![step("one", "CREATE TABLE mine (a BIGINT)")]).await.unwrap();
        let written = transact(&db, vec![unprepared()]).await.unwrap();
        assert!(matches!(written.as_slice(), [WriteOutcome::Existing(_)]), "{written:?}");
    }

    async fn an_interrupted_migration_runs_when_its_condition_finds_it(home) {
        let db = home.open().await;
        let left = ResourceWrite::unconditional(key("one"), WriteOperation::Put(json!({"status": "to-run", "sql": "of before"})));
        db.transact_writes(vec![left], NOW_US).await.unwrap().unwrap();
        let written = transact(&db, vec![step("one", "CREATE TABLE mine (a BIGINT)")]).await.unwrap();
        let [WriteOutcome::Updated(stored)] = written.as_slice() else { panic!("{written:?}") };
        let expected = json!({"status": "done", "sql": "CREATE TABLE mine (a BIGINT)", "result": {"valueBoolean": true}});
        assert_eq!(stored.resource, expected);
        assert_eq!(home.ask("SELECT CAST(count(*) AS TEXT) FROM mine").await, ["0"]);
    }

    async fn sql_that_ends_its_transaction_is_refused_and_never_done(home) {
        let db = home.open().await;
        for sql in ["CREATE TABLE kept (a BIGINT); COMMIT", "ROLLBACK", "COMMIT; BEGIN", "ROLLBACK; BEGIN"] {
            let refusal = transact(&db, vec![step("one", sql)]).await.unwrap_err();
            assert!(refusal.to_string().contains("ends the transaction"), "{sql}: {refusal}");
        }
        // What was committed with it says that it has yet to run.
        let left = home.ask("SELECT resource ->> 'status' FROM platformmigration").await;
        assert_eq!(left, ["to-run"]);
        transact(&db, vec![step("one", "DROP TABLE kept")]).await.unwrap();
        assert_eq!(home.ask("SELECT resource ->> 'status' FROM platformmigration").await, ["done"]);
    }

    async fn what_waits_for_the_end_of_the_transaction_is_refused_by_name(home) {
        let db = home.open().await;
        let sql = "CREATE TABLE parent (id BIGINT PRIMARY KEY);
            CREATE TABLE child (p BIGINT REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
            INSERT INTO child VALUES (1)";
        let refusal = transact(&db, vec![step("one", sql)]).await.unwrap_err();
        assert!(refusal.to_string().starts_with("PlatformMigration/one"), "{refusal}");
        assert!(refusal.to_string().to_lowercase().contains("foreign key"), "{refusal}");
        assert_eq!(home.ask("SELECT name FROM resource_type WHERE name = 'PlatformMigration'").await, [""; 0]);
    }

    async fn what_sql_sets_ends_with_it(home) {
        let db = home.open().await;
        let set = if home.is_postgres() {
            "SELECT pg_catalog.set_config('search_path', '', false); SET ROLE pg_monitor; SET TimeZone = 'Asia/Tokyo'"
        } else {
            "PRAGMA case_sensitive_like = ON"
        };
        let steps = vec![step("one", set), step("two", "CREATE TABLE mine (a BIGINT)")];
        assert_eq!(transact(&db, steps).await.unwrap().len(), 2);
        assert_eq!(home.ask("SELECT CAST(count(*) AS TEXT) FROM mine").await, ["0"]);
    }

    async fn what_no_transaction_can_hold_runs_before_its_row(home) {
        let db = home.open().await;
        transact(&db, vec![step("table", "CREATE TABLE mine (a BIGINT)")]).await.unwrap();
        let sql = if home.is_postgres() { "CREATE INDEX CONCURRENTLY mine_a ON mine (a)" } else { "VACUUM" };
        let refusal = transact(&db, vec![step("alone", sql)]).await.unwrap_err();
        assert!(refusal.to_string().to_lowercase().contains("transaction"), "{refusal}");

        let progress = ProgressReporter::new();
        let write = || step("alone", sql).write;
        let ran = db.run_outside_transaction(write(), sql, &progress, NOW_US).await.unwrap().unwrap();
        let WriteOutcome::Created(stored) = &ran else { panic!("{ran:?}") };
        assert_eq!((stored.key.clone(), &stored.resource["status"]), (key("alone"), &json!("done")));
        assert_eq!(progress.last_report(), "running PlatformMigration/alone outside a transaction");
        // Run again it would fail: there is such an index.
        let again = db.run_outside_transaction(write(), sql, &progress, NOW_US).await.unwrap().unwrap();
        assert!(matches!(again, WriteOutcome::Existing(_)), "{again:?}");

        let broken = step("broken", "INSERT INTO nowhere VALUES (1)").write;
        let refusal = db.run_outside_transaction(broken, "INSERT INTO nowhere VALUES (1)", &progress, NOW_US).await.unwrap();
        assert!(refusal.unwrap_err().to_string().contains("nowhere"));
        assert_eq!(home.ask("SELECT id FROM platformmigration ORDER BY id").await, ["alone", "table"]);
    }

    async fn a_type_whose_table_users_sql_dropped_is_written_again(home) {
        let db = home.open().await;
        let other = home.open().await;
        let drop = "DROP TABLE basic_history; DROP TABLE basic";
        let mut count = 0;
        let mut write = |db: &AuthDatabase| {
            count += 1;
            let put = WriteOperation::Put(json!({"code": {"text": count.to_string()}}));
            let (db, put) = (db.clone(), ResourceWrite::unconditional("Basic/b".parse().unwrap(), put));
            async move { db.transact_writes(vec![put], NOW_US).await }
        };
        for how in ["alone", "within", "script", "sql", "history"] {
            for node in [&db, &other] {
                write(node).await.unwrap().unwrap();
            }
            match how {
                "alone" => drop_answer(db.run_outside_transaction(step(how, drop).write, drop, &ProgressReporter::new(), NOW_US).await.unwrap().unwrap()),
                "within" => drop_answer(transact(&db, vec![step(how, drop)]).await.unwrap()),
                "script" => drop_answer(db.apply_script(&script(how, drop), NOW_US).await.unwrap().unwrap()),
                "sql" => db.run_user_sql(drop).await.unwrap().unwrap(),
                _ => db.run_user_sql("DROP TABLE basic_history").await.unwrap().unwrap(),
            }
            for node in [&other, &db] {
                write(node).await.unwrap().unwrap();
                let read = node.read(&"Basic/b".parse().unwrap()).await.unwrap();
                assert!(matches!(read, ResourceLookup::Found(_)), "{how}: {read:?}");
            }
            let versions = home.ask("SELECT CAST(count(*) AS TEXT) FROM basic_history").await;
            assert_ne!(versions, ["0"], "{how}");
        }
    }

    async fn users_sql_that_drops_a_table_of_registrations_is_refused(home) {
        let db = home.open().await;
        for (kind, table) in [("Client", "client"), ("User", "\"user\""), ("AccessPolicy", "accesspolicy")] {
            let sql = format!("DROP TABLE {table}");
            let refusal = transact(&db, vec![step("drop", &sql)]).await.unwrap_err().to_string();
            assert!(refusal.contains(&format!("it drops the table of {kind}, which the server needs")), "{refusal}");
            let refused = db.apply_script(&script("drop", &sql), NOW_US).await.unwrap().unwrap_err().to_string();
            assert!(refused.contains("delete its rows instead"), "{refused}");
        }
        let put = ResourceWrite::unconditional("Client/c".parse().unwrap(), WriteOperation::Put(json!({"active": true})));
        db.transact_writes(vec![put], NOW_US).await.unwrap().unwrap();
    }

    async fn of_many_that_run_one_alone_exactly_one_runs_it(home) {
        let db = home.open().await;
        transact(&db, vec![step("table", "CREATE TABLE mine (a BIGINT)")]).await.unwrap();
        let mut all = JoinSet::new();
        for _ in 0..6 {
            // On SQLite there is one node.
            let db = if home.is_postgres() { home.open().await } else { db.clone() };
            let sql = "INSERT INTO mine (a) VALUES (1)";
            all.spawn(async move { db.run_outside_transaction(step("alone", sql).write, sql, &ProgressReporter::new(), NOW_US).await });
        }
        for ended in all.join_all().await {
            let ended = ended.unwrap();
            let fits = matches!(&ended, Ok(WriteOutcome::Created(_) | WriteOutcome::Existing(_)) | Err(OutsideTransactionMigrationError::Running));
            assert!(fits, "{ended:?}");
        }
        assert_eq!(home.ask("SELECT CAST(a AS TEXT) FROM mine").await, ["1"]);
    }

    async fn a_node_that_waits_for_its_turn_is_in_nobodys_way(home) {
        if !home.is_postgres() {
            return;
        }
        let db = home.open().await;
        transact(&db, vec![step("table", "CREATE TABLE mine (a BIGINT)")]).await.unwrap();
        let mut nodes = JoinSet::new();
        for _ in 0..4 {
            let db = home.open().await;
            nodes.spawn(async move {
                let sql = "CREATE INDEX CONCURRENTLY mine_a ON mine (a)";
                db.with_startup_lock(db.run_outside_transaction(step("alone", sql).write, sql, &ProgressReporter::new(), NOW_US)).await
            });
        }
        let ended = nodes.join_all().await;
        let ran = ended.into_iter().map(|ended| ended.unwrap().unwrap().unwrap());
        assert_eq!(ran.filter(|written| matches!(written, WriteOutcome::Created(_))).count(), 1);
    }

    async fn a_script_is_applied_once_by_its_id(home) {
        let db = home.open().await;
        let first = script("one", "CREATE TABLE mine (a BIGINT)");
        assert_eq!(db.apply_script(&first, NOW_US).await.unwrap(), Ok(ScriptOutcome::Now));
        let refused = db.apply_script(&script("two", "INSERT INTO nowhere VALUES (1)"), NOW_US).await.unwrap();
        assert!(refused.unwrap_err().message.contains("nowhere"));

        let mut nodes = JoinSet::new();
        for _ in 0..6 {
            let db = home.open().await;
            nodes.spawn(async move {
                db.apply_script(&script("three", "INSERT INTO mine (a) VALUES (1)"), NOW_US + 1).await.unwrap()
            });
        }
        let ended = nodes.join_all().await;
        assert_eq!(ended.iter().filter(|ended| **ended == Ok(ScriptOutcome::Now)).count(), 1, "{ended:?}");
        assert_eq!(home.ask("SELECT CAST(a AS TEXT) FROM mine").await, ["1"]);

        let Ok(ScriptOutcome::Before(before)) = db.apply_script(&script("one", "changed"), NOW_US).await.unwrap() else {
            panic!("it was run again");
        };
        assert_eq!((before.script, before.applied_us), (first, NOW_US));
        let applied = db.applied_scripts().await.unwrap();
        let ids: Vec<&str> = applied.iter().map(|record| record.script.id.as_str()).collect();
        assert_eq!(ids, ["one", "three"]);
    }
}
