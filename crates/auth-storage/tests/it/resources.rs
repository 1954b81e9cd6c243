//! Resources: what two at once may do, what the tables look like, what names mean.

use auth_storage::AuthDatabase;
use fhir_resource::ResourceKey;
use fhir_store::{
    ElementEqualityFilter, ListQuery, PatchDocument, ResourceLookup, ResourceStore as _, ResourceWrite,
    TransactionError, WriteError, WriteOperation, WriteOutcome, WritePrecondition,
};
use oauth_core::ports::RegistrationStore as _;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::home::{NOW_US, told};

fn key(text: &str) -> ResourceKey {
    text.parse().unwrap()
}

fn put(at: &str, body: Value) -> ResourceWrite {
    ResourceWrite::unconditional(key(at), WriteOperation::Put(body))
}

fn create(at: &str, body: Value) -> ResourceWrite {
    ResourceWrite::unconditional(key(at), WriteOperation::Create(body))
}

/// A create without id, unless something of the type has this name.
fn create_unless_named(kind: &str, name: &str) -> ResourceWrite {
    let precondition = WritePrecondition {
        if_none_exist: Some(vec![ElementEqualityFilter::new(["name"], name)].into()),
        ..WritePrecondition::default()
    };
    ResourceWrite::conditional(kind.parse().unwrap(), WriteOperation::Create(json!({"name": name})), precondition)
}

async fn transact(db: &AuthDatabase, writes: Vec<ResourceWrite>) -> Result<Vec<WriteOutcome>, TransactionError> {
    db.transact_writes(writes, NOW_US).await.unwrap()
}

async fn total(db: &AuthDatabase, kind: &str, filters: Vec<ElementEqualityFilter>) -> u64 {
    let query = ListQuery { filters, ..ListQuery::all_of_type(kind.parse().unwrap()) };
    let page = db.list(&query).await.unwrap();
    assert_eq!(page.total, u64::try_from(page.entries.len()).unwrap());
    page.total
}

told! {
    async fn a_row_that_cannot_be_read_takes_no_other_with_it(home) {
        let db = home.open().await;
        let good = vec![put("Thing/a", json!({"n": 1})), put("Thing/z", json!({"n": 1}))];
        transact(&db, good).await.unwrap();
        let allow = json!({"engine": "allow"});
        transact(&db, vec![put("AccessPolicy/a", allow.clone()), put("AccessPolicy/z", allow.clone())]).await.unwrap();
        for table in ["thing", "accesspolicy"] {
            let unreadable = r#"{"$serde_json::private::Number": "x"}"#;
            let sql = format!("INSERT INTO {table} (id, resource) VALUES ('m', '{unreadable}')");
            db.run_user_sql(&sql).await.unwrap().unwrap();
        }

        for filters in [vec![], vec![ElementEqualityFilter::new(["n"], "1")]] {
            let query = ListQuery { filters, ..ListQuery::all_of_type("Thing".parse().unwrap()) };
            let page = db.list(&query).await.unwrap();
            let ids: Vec<&str> = page.entries.iter().map(|stored| stored.key.id.as_str()).collect();
            assert_eq!(ids, ["a", "z"]);
        }
        let policies = db.stored_access_policies().await.unwrap().policies;
        assert_eq!(policies, [("a".to_owned(), allow.clone()), ("z".to_owned(), allow)]);

        assert!(db.read(&key("Thing/m")).await.is_err(), "it is not shown as something else");
        let patch = WriteOperation::Patch(PatchDocument::Merge(json!({"a": 1})));
        assert!(db.transact_writes(vec![ResourceWrite::unconditional(key("Thing/m"), patch)], NOW_US).await.is_err());
        let removed = transact(&db, vec![ResourceWrite::unconditional(key("Thing/m"), WriteOperation::Delete)]).await.unwrap();
        assert!(matches!(removed.as_slice(), [WriteOutcome::Deleted(_)]), "{removed:?}");
        let replaced = transact(&db, vec![put("AccessPolicy/m", json!({"engine": "allow"}))]).await.unwrap();
        assert!(matches!(replaced.as_slice(), [WriteOutcome::Updated(_)]), "{replaced:?}");
        assert_eq!(db.stored_access_policies().await.unwrap().policies.len(), 3);
        db.close().await;
    }

    async fn each_of_a_crowd_that_reads_is_told_its_own(home) {
        let db = home.open().await;
        let things = (0..40).map(|n| put(&format!("Thing/t{n}"), json!({"n": n})));
        transact(&db, things.chain([put("Other/t1", json!({"other": true})), put("Thing/gone", json!({}))]).collect())
            .await
            .unwrap();
        transact(&db, vec![ResourceWrite::unconditional(key("Thing/gone"), WriteOperation::Delete)]).await.unwrap();

        let mut readers = JoinSet::new();
        for n in 0..400 {
            let db = db.clone();
            readers.spawn(async move {
                let at = match n % 4 {
                    0 => "Other/t1".to_owned(),
                    1 => "Thing/gone".to_owned(),
                    2 => format!("Thing/none{n}"),
                    _ => format!("Thing/t{}", n % 40),
                };
                (n, at.clone(), db.read(&key(&at)).await.unwrap())
            });
        }
        for (n, at, read) in readers.join_all().await {
            match (n % 4, read) {
                (1, ResourceLookup::Deleted { .. }) | (2, ResourceLookup::Missing) => {}
                (0, ResourceLookup::Found(stored)) if stored.resource == json!({"other": true}) => {}
                (3, ResourceLookup::Found(stored)) if stored.resource == json!({"n": n % 40}) && stored.key == key(&at) => {}
                (_, read) => panic!("{at}: {read:?}"),
            }
        }
    }

    async fn what_one_of_a_crowd_reads_in_vain_keeps_nobody_else_from_reading(home) {
        let db = home.open().await;
        transact(&db, vec![put("Thing/a", json!({"n": 1})), put("Other/a", json!({}))]).await.unwrap();
        assert!(matches!(db.read(&key("Other/a")).await.unwrap(), ResourceLookup::Found(_)));
        assert_eq!(home.ask("DROP TABLE other").await, [""; 0]);
        let mut readers = JoinSet::new();
        for n in 0..200 {
            let db = db.clone();
            readers.spawn(async move {
                let at = if n % 10 == 0 { "Other/a" } else { "Thing/a" };
                (at, db.read(&key(at)).await)
            });
        }
        for (at, read) in readers.join_all().await {
            match read {
                Ok(ResourceLookup::Found(stored)) => assert_eq!((at, stored.resource), ("Thing/a", json!({"n": 1}))),
                Err(_) => assert_eq!(at, "Other/a"),
                Ok(other) => panic!("{at}: {other:?}"),
            }
        }
    }

    async fn a_refused_third_write_leaves_nothing_of_the_others(home) {
        let db = home.open().await;
        transact(&db, vec![create("Client/taken", json!({}))]).await.unwrap();
        let writes = vec![
            create("Client/a", json!({})),
            create("Encounter/b", json!({})),
            create("Client/taken", json!({})),
        ];
        let refusal = transact(&db, writes).await.unwrap_err();
        assert_eq!(refusal, TransactionError { index: 2, cause: WriteError::AlreadyExists(key("Client/taken")) });
        for at in ["Client/a", "Encounter/b"] {
            assert_eq!(db.read(&key(at)).await.unwrap(), ResourceLookup::Missing);
        }
        assert_eq!(total(&db, "Client", vec![]).await, 1);
        assert_eq!(home.ask("SELECT id FROM client_history").await, ["taken"]);
        assert_eq!(home.ask("SELECT name FROM resource_type WHERE name = 'Encounter'").await, [""; 0]);
        transact(&db, vec![create("Encounter/b", json!({}))]).await.unwrap();
    }

    async fn simultaneous_conditional_creates_make_one_resource(home) {
        let nodes = [home.open().await, home.open().await];
        for kind in ["Client", "Patient"] {
            let mut writers = JoinSet::new();
            for n in 0..50 {
                let db = nodes[n % 2].clone();
                writers.spawn(async move { transact(&db, vec![create_unless_named(kind, "one")]).await.unwrap() });
            }
            let answers = writers.join_all().await.into_iter().flatten();
            let made = answers.filter(|written| matches!(written, WriteOutcome::Created(_))).count();
            assert_eq!((made, total(&nodes[0], kind, vec![]).await), (1, 1), "{kind}");
        }
    }

    async fn simultaneous_creates_of_one_id_make_one_resource(home) {
        let nodes = [home.open().await, home.open().await];
        total(&nodes[0], "Client", vec![]).await;
        let mut writers = JoinSet::new();
        for n in 0..30 {
            let db = nodes[n % 2].clone();
            writers.spawn(async move { transact(&db, vec![create("Client/x", json!({"n": n}))]).await });
        }
        let answers = writers.join_all().await;
        let (made, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((made.len(), refused.len()), (1, 29));
        let ResourceLookup::Found(found) = nodes[1].read(&key("Client/x")).await.unwrap() else { panic!() };
        assert_eq!(made[0].as_ref().unwrap()[0].stored_resource(), Some(&found));
    }

    async fn simultaneous_patches_lose_nothing(home) {
        let nodes = [home.open().await, home.open().await];
        transact(&nodes[0], vec![put("Client/x", json!({}))]).await.unwrap();
        let mut writers = JoinSet::new();
        for n in 0..30_usize {
            let db = nodes[n % 2].clone();
            let change = PatchDocument::Merge(json!({format!("k{n}"): n}));
            writers.spawn(async move {
                transact(&db, vec![ResourceWrite::unconditional(key("Client/x"), WriteOperation::Patch(change))]).await.unwrap()
            });
        }
        writers.join_all().await;
        let ResourceLookup::Found(found) = nodes[0].read(&key("Client/x")).await.unwrap() else { panic!() };
        assert_eq!(found.resource.as_object().unwrap().len(), 30);
        assert_eq!(home.ask("SELECT CAST(count(*) AS TEXT) FROM client_history").await, ["31"]);
    }

    async fn writers_that_meet_in_opposite_order_all_succeed(home) {
        let nodes = [home.open().await, home.open().await];
        let mut nodes_at_work = JoinSet::new();
        for n in 0..40_usize {
            let db = nodes[n % 2].clone();
            let mut writes = vec![put("Client/x", json!({"n": n})), put("Organization/y", json!({"n": n}))];
            if n % 4 < 2 {
                writes.reverse();
            }
            if n % 5 == 0 {
                writes.push(create_unless_named("Client", "one"));
            }
            nodes_at_work.spawn(async move { transact(&db, writes).await.unwrap().len() });
        }
        assert_eq!(nodes_at_work.join_all().await.len(), 40);
        assert_eq!(total(&nodes[0], "Client", vec![]).await, 2);
    }

    async fn simultaneous_first_writes_of_new_types_all_succeed(home) {
        let nodes = [home.open().await, home.open().await, home.open().await];
        let mut writers = JoinSet::new();
        for n in 0..45 {
            let db = nodes[n % 3].clone();
            let at = format!("{}/{n}", ["Patient", "Observation", "Encounter"][n / 3 % 3]);
            writers.spawn(async move { transact(&db, vec![create(&at, json!({"n": n}))]).await.unwrap() });
        }
        assert_eq!(writers.join_all().await.len(), 45);
        for kind in ["Patient", "Observation", "Encounter"] {
            assert_eq!(total(&nodes[0], kind, vec![]).await, 15, "{kind}");
        }
    }

    async fn a_type_without_resources_is_empty_and_stays_without_a_table(home) {
        let db = home.open().await;
        assert_eq!(db.read(&key("Encounter/x")).await.unwrap(), ResourceLookup::Missing);
        assert_eq!(total(&db, "Encounter", vec![ElementEqualityFilter::new(["name"], "x")]).await, 0);
        let delete = ResourceWrite::unconditional(key("Encounter/x"), WriteOperation::Delete);
        assert_eq!(transact(&db, vec![delete]).await.unwrap(), [WriteOutcome::Absent]);
        assert_eq!(home.ask("SELECT name FROM resource_type WHERE table_name = 'encounter'").await, [""; 0]);
    }

    async fn types_that_differ_in_case_alone_do_not_see_each_other(home) {
        let db = home.open().await;
        transact(&db, vec![put("Client/x", json!({"secret": "s"})), put("Patient/x", json!({}))]).await.unwrap();
        for other in ["CLIENT", "PATIENT"] {
            let at = format!("{other}/x");
            assert_eq!(db.read(&key(&at)).await.unwrap(), ResourceLookup::Missing);
            assert_eq!(total(&db, other, vec![]).await, 0);
            for write in [put(&at, json!({})), ResourceWrite::unconditional(key(&at), WriteOperation::Delete)] {
                let refusal = transact(&db, vec![write]).await.unwrap_err();
                assert!(matches!(refusal.cause, WriteError::Invalid(_)), "{refusal}");
            }
        }
        let both = vec![put("Encounter/x", json!({})), put("ENCOUNTER/x", json!({}))];
        assert_eq!(transact(&db, both).await.unwrap_err().index, 1);
        assert!(matches!(db.read(&key("Client/x")).await.unwrap(), ResourceLookup::Found(_)));
    }

    async fn the_longest_types_keep_to_themselves(home) {
        let db = home.open().await;
        let kinds = ["A", "B"].map(|end| format!("T{}{end}", "x".repeat(62)));
        for kind in &kinds {
            transact(&db, vec![put(&format!("{kind}/x"), json!({"of": kind}))]).await.unwrap();
            transact(&db, vec![ResourceWrite::unconditional(key(&format!("{kind}/x")), WriteOperation::Delete)]).await.unwrap();
            transact(&db, vec![put(&format!("{kind}/x"), json!({"of": kind}))]).await.unwrap();
        }
        for kind in &kinds {
            assert_eq!(total(&db, kind, vec![ElementEqualityFilter::new(["of"], kind)]).await, 1);
        }
    }

    async fn a_condition_reaches_through_arrays_and_compares_whole_values(home) {
        let db = home.open().await;
        let body = json!({
            "identifier": [{"system": "s1", "value": "1"}, {"system": "s2", "value": ["v", "w"]}],
            "odd \"key'": {"$.a[0]": "z"},
            "active": true, "n": 7, "text": "50%_off'; DROP TABLE client; --",
        });
        transact(&db, vec![put("Client/x", body)]).await.unwrap();
        let cases: [(&[&str], &str, u64); 14] = [
            (&["identifier", "system"], "s2", 1),
            (&["identifier", "value"], "w", 1),
            (&["identifier", "value"], "1", 1),
            (&["identifier", "value"], "s1", 0),
            (&["identifier"], "s1", 0),
            (&["odd \"key'", "$.a[0]"], "z", 1),
            (&["active"], "true", 1),
            (&["active"], "1", 0),
            (&["n"], "7.0", 1),
            (&["n"], "77", 0),
            (&["text"], "50%_off'; DROP TABLE client; --", 1),
            (&["text"], "50", 0),
            (&["missing", "path"], "null", 0),
            (&["text"], "nul\0", 0),
        ];
        for (path, value, expected) in cases {
            let filter = ElementEqualityFilter::new(path.iter().copied(), value);
            assert_eq!(total(&db, "Client", vec![filter.clone()]).await, expected, "{filter:?}");
        }
    }

    async fn users_sql_finds_the_documents_under_their_columns(home) {
        let db = home.open().await;
        transact(&db, vec![put("User/u", json!({"name": {"givenName": "Ada"}}))]).await.unwrap();
        let name = if home.is_postgres() {
            "SELECT resource #>> '{name,givenName}' FROM \"user\" WHERE id = 'u' AND ts > now() - INTERVAL '99 years'"
        } else {
            "SELECT resource ->> '$.name.givenName' FROM \"user\" WHERE id = 'u' AND ts > 0"
        };
        assert_eq!(home.ask(name).await, ["Ada"]);
        let insert = "INSERT INTO \"user\" (id, resource) VALUES ('v', '{\"name\": {\"givenName\": \"Bob\"}}')";
        db.run_user_sql(insert).await.unwrap().unwrap();
        let ResourceLookup::Found(found) = db.read(&key("User/v")).await.unwrap() else { panic!() };
        assert_eq!(found.resource, json!({"name": {"givenName": "Bob"}}));
        assert!(found.version > 0 && found.updated_us > 1_600_000_000_000_000, "{found:?}");
    }

    async fn every_write_leaves_a_row_of_history(home) {
        let db = home.open().await;
        transact(&db, vec![put("Client/x", json!({"n": 1}))]).await.unwrap();
        transact(&db, vec![put("Client/x", json!({"n": 2}))]).await.unwrap();
        transact(&db, vec![put("Client/x", json!({"n": 2}))]).await.unwrap();
        transact(&db, vec![ResourceWrite::unconditional(key("Client/x"), WriteOperation::Delete)]).await.unwrap();
        transact(&db, vec![put("Client/x", json!({"n": 3}))]).await.unwrap();
        let operations = home.ask("SELECT op FROM client_history ORDER BY txid").await;
        assert_eq!(operations, ["create", "update", "delete", "create"]);
    }

    async fn a_table_dropped_by_users_sql_is_a_type_without_resources(home) {
        let db = home.open().await;
        transact(&db, vec![put("Patient/x", json!({}))]).await.unwrap();
        let drop = "DROP TABLE patient; DROP TABLE patient_history;
            DELETE FROM resource_type WHERE name = 'Patient'";
        db.run_user_sql(drop).await.unwrap().unwrap();
        assert_eq!(db.read(&key("Patient/x")).await.unwrap(), ResourceLookup::Missing);
        transact(&db, vec![put("Patient/x", json!({}))]).await.unwrap();
    }

    async fn a_long_transaction_is_one_transaction(home) {
        let db = home.open().await;
        let mut writes: Vec<ResourceWrite> = (0..300).map(|n| create(&format!("Client/{n}"), json!({"n": n}))).collect();
        assert_eq!(transact(&db, writes.clone()).await.unwrap().len(), 300);
        writes.reverse();
        assert_eq!(transact(&db, writes).await.unwrap_err().index, 0);
        let query = ListQuery { count: 7, page: 3, ..ListQuery::all_of_type("Client".parse().unwrap()) };
        let page = db.list(&query).await.unwrap();
        let ids: Vec<String> = page.entries.iter().map(|entry| entry.key.id.to_string()).collect();
        assert_eq!((page.total, ids.as_slice()), (300, ["110", "111", "112", "113", "114", "115", "116"].map(str::to_owned).as_slice()));
    }
}
