//! Migrations over HTTP and from an init bundle: the table of states, who may, what is told.

use serde_json::{Value, json};

use crate::world::{Answer, Choice, SECRET, World, on_every_engine};

/// A migration that adds a row to `ran`.
fn migration(id: &str, status: &str) -> Value {
    sql(id, status, "INSERT INTO ran (id) VALUES (1)")
}

fn sql(id: &str, status: &str, sql: &str) -> Value {
    json!({"resourceType": "PlatformMigration", "id": id, "action": "aidbox-migration-run-sql", "status": status,
        "params": {"resourceType": "Parameters", "parameter": [{"name": "sql", "valueString": sql}]}})
}

/// The same outside of a transaction.
fn apart(id: &str, text: &str) -> Value {
    let mut migration = sql(id, "to-run", text);
    let parameters = migration["params"]["parameter"].as_array_mut().unwrap();
    parameters.push(json!({"name": "execution-type", "valueCode": "not-in-transaction"}));
    migration
}

fn entry(resource: &Value) -> Value {
    json!({"request": {"method": "POST", "url": "PlatformMigration"}, "resource": resource})
}

fn unless_there(resource: &Value, condition: &str) -> Value {
    let mut entry = entry(resource);
    entry["request"]["ifNoneExist"] = format!("{condition}={}", resource["id"].as_str().unwrap()).into();
    entry
}

fn bundle(kind: &str, entries: &[Value]) -> Value {
    json!({"resourceType": "Bundle", "type": kind, "entry": entries})
}

async fn prepare(world: &World) {
    let table = sql("table", "to-run", "CREATE TABLE ran (id BIGINT)");
    assert_eq!(post(world, &table).await.status, 201);
}

async fn post(world: &World, migration: &Value) -> Answer {
    world.post("/fhir/PlatformMigration").by_root().fhir(migration).send().await
}

async fn transact(world: &World, entries: &[Value]) -> Answer {
    world.post("/fhir").by_root().fhir(&bundle("transaction", entries)).send().await
}

/// Asserts how often migrations made by [`migration`] ran.
async fn ran(world: &World, times: u32) {
    let count = format!(
        "CREATE TABLE expected (n BIGINT CHECK (n = {times}));
         INSERT INTO expected SELECT count(*) FROM ran;
         DROP TABLE expected"
    );
    world.db().run_user_sql(&count).await.unwrap().unwrap_or_else(|refused| panic!("not {times} times: {refused}"));
}

/// The status of a migration, `None` where there is none.
async fn status(world: &World, id: &str) -> Option<String> {
    let answer = world.get(&format!("/PlatformMigration/{id}")).by_root().send().await;
    (answer.status == 200).then(|| answer.body["status"].as_str().unwrap().to_owned())
}

/// A row of the table of states: what is there, what is sent, and what comes of it.
struct Row {
    there: Option<&'static str>,
    sent: fn(Value) -> Value,
    answer: &'static str,
    after: Option<&'static str>,
    runs: u32,
}

const ROWS: [Row; 12] = [
    Row { there: None, sent: |m| entry(&m), answer: "201", after: Some("done"), runs: 1 },
    Row { there: None, sent: |m| unless_there(&m, "id"), answer: "201", after: Some("done"), runs: 1 },
    Row { there: None, sent: |m| unless_there(&m, "_id"), answer: "201", after: Some("done"), runs: 1 },
    Row { there: None, sent: |m| entry(&done(m)), answer: "201", after: Some("done"), runs: 0 },
    Row { there: Some("done"), sent: |m| unless_there(&m, "id"), answer: "200", after: Some("done"), runs: 0 },
    Row { there: Some("done"), sent: |m| unless_there(&m, "_id"), answer: "200", after: Some("done"), runs: 0 },
    Row { there: Some("done"), sent: |m| entry(&m), answer: "409", after: Some("done"), runs: 0 },
    Row { there: Some("done"), sent: |m| put(&m), answer: "200", after: Some("done"), runs: 1 },
    Row { there: Some("done"), sent: |m| put(&done(m)), answer: "200", after: Some("done"), runs: 0 },
    Row { there: Some("done"), sent: |_| delete(), answer: "200", after: None, runs: 0 },
    Row { there: Some("to-run"), sent: |m| unless_there(&m, "id"), answer: "200", after: Some("done"), runs: 1 },
    Row { there: None, sent: |m| entry(&invalid(m)), answer: "422", after: None, runs: 0 },
];

fn done(mut migration: Value) -> Value {
    migration["status"] = "done".into();
    migration
}

fn invalid(mut migration: Value) -> Value {
    migration["params"]["parameter"][0]["valueString"] = "INSERT INTO ran (id) VALUES (1); SELECT nothing".into();
    migration
}

fn put(migration: &Value) -> Value {
    json!({"request": {"method": "PUT", "url": "PlatformMigration/m"}, "resource": migration})
}

fn delete() -> Value {
    json!({"request": {"method": "DELETE", "url": "PlatformMigration/m"}})
}

#[tokio::test]
async fn the_table_of_states_holds_in_batches_and_in_transactions() {
    on_every_engine(async |world| {
        prepare(world).await;
        let mut runs = 0;
        for (index, row) in ROWS.iter().enumerate() {
            for kind in ["batch", "transaction"] {
                let there = row.there.map(|status| json!({"status": status}));
                world.db().run_user_sql("DELETE FROM platformmigration WHERE id = 'm'").await.unwrap().unwrap();
                if let Some(there) = there {
                    let insert =
                        format!("INSERT INTO platformmigration (id, txid, resource) VALUES ('m', 1, '{there}')");
                    world.db().run_user_sql(&insert).await.unwrap().unwrap();
                }
                let sent = bundle(kind, &[(row.sent)(migration("m", "to-run"))]);
                let answer = world.post("/fhir").by_root().fhir(&sent).send().await;
                let told = if answer.status == 200 {
                    answer.body["entry"][0]["response"]["status"].as_str().unwrap().to_owned()
                } else {
                    answer.status.as_u16().to_string()
                };
                runs += row.runs;
                assert_eq!((told.as_str(), kind), (row.answer, kind), "row {index}: {answer:?}");
                assert_eq!(status(world, "m").await.as_deref(), row.after, "row {index} in a {kind}");
                ran(world, runs).await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_migration_posted_to_a_running_server_runs_at_once() {
    on_every_engine(async |world| {
        prepare(world).await;
        for (path, id) in [("/fhir/PlatformMigration", "one"), ("/PlatformMigration", "two")] {
            let answer = world.post(path).by_root().json(&migration(id, "to-run")).send().await;
            assert_eq!(answer.status, 201, "{answer:?}");
            assert_eq!(
                (&answer.body["status"], &answer.body["result"]),
                (&json!("done"), &json!({"valueBoolean": true}))
            );
            let again = world.post(path).by_root().json(&migration(id, "to-run")).send().await;
            assert_eq!(again.outcome(), (409, "duplicate"));
        }
        ran(world, 2).await;
        for path in ["/fhir/PlatformMigration", "/PlatformMigration"] {
            for (query, total) in [
                ("", 3),
                ("?status=done", 3),
                ("?status=to-run", 0),
                ("?_id=one", 1),
                ("?action=aidbox-migration-run-sql", 3),
                ("?action=far-migration-fhir-package-install", 0),
            ] {
                let list = world.get(&format!("{path}{query}")).by_root().send().await.body;
                assert_eq!((&list["type"], &list["total"]), (&json!("searchset"), &json!(total)), "{path}{query}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_patch_to_to_run_runs_it_again() {
    let world = World::new().await;
    prepare(&world).await;
    assert_eq!(post(&world, &migration("m", "to-run")).await.status, 201);
    let patch = world.call("PATCH", "/PlatformMigration/m").by_root().json(&json!({"status": "to-run"})).send().await;
    assert_eq!((patch.status.as_u16(), &patch.body["status"]), (200, &json!("done")), "{patch:?}");
    ran(&world, 2).await;
    world.end().await;
}

#[tokio::test]
async fn invalid_sql_is_422_with_its_place_and_leaves_nothing() {
    on_every_engine(async |world| {
        prepare(world).await;
        let text = "INSERT INTO ran (id) VALUES (2);\nINSERT INTO nowhere (id) VALUES (2)";
        let broken = sql("broken", "to-run", text);
        let place = if world.is_on_postgres() { "statement 2 at line 2, column 13" } else { "statement 2" };
        for (answer, expression) in [
            (post(world, &broken).await, None),
            (transact(world, &[entry(&migration("first", "to-run")), entry(&broken)]).await, Some("Bundle.entry[1]")),
        ] {
            assert_eq!(answer.outcome(), (422, "invalid"), "{answer:?}");
            let told = answer.body["issue"][0]["diagnostics"].as_str().unwrap();
            assert!(
                told.contains("PlatformMigration/broken") && told.contains(place) && told.contains("nowhere"),
                "{told}"
            );
            let at = answer.body["issue"][0]["expression"][0].as_str();
            assert_eq!(at, expression, "{answer:?}");
        }
        for id in ["first", "broken"] {
            assert_eq!(status(world, id).await, None);
        }
        ran(world, 0).await;
        // No row is left that a condition would find.
        let repaired = unless_there(&migration("broken", "to-run"), "id");
        assert_eq!(transact(world, &[repaired]).await.body["entry"][0]["response"]["status"], "201");
        ran(world, 1).await;
    })
    .await;
}

#[tokio::test]
async fn what_is_not_in_a_transaction_is_refused_in_one_and_run_elsewhere() {
    on_every_engine(async |world| {
        prepare(world).await;
        let text = if world.is_on_postgres() { "CREATE INDEX CONCURRENTLY ran_id ON ran (id)" } else { "VACUUM" };
        let refused = transact(world, &[entry(&migration("first", "to-run")), entry(&apart("a", text))]).await;
        assert_eq!(refused.outcome(), (422, "not-supported"), "{refused:?}");
        assert_eq!(refused.body["issue"][0]["expression"][0], "Bundle.entry[1]");
        ran(world, 0).await;
        assert_eq!(post(world, &apart("a", text)).await.status, 201);
        let batch = bundle("batch", &[unless_there(&apart("a", text), "id"), entry(&apart("b", "SELECT nothing"))]);
        let answer = world.post("/fhir").by_root().fhir(&batch).send().await;
        assert_eq!(answer.body["entry"][0]["response"]["status"], "200");
        assert_eq!(answer.body["entry"][1]["response"]["status"], "422", "{answer:?}");
        assert_eq!((status(world, "a").await.as_deref(), status(world, "b").await), (Some("done"), None));
    })
    .await;
}

#[tokio::test]
async fn nobody_but_the_administrator_writes_migrations() {
    let world = World::new().await;
    prepare(&world).await;
    world.client_with_policy("allowed", &json!({"engine": "allow"})).await;
    world.client_with_policy("spelled", &json!({"engine": "matcho", "matcho": {"uri": "#.*"}})).await;
    let token = world.token_with_scope("scoped", "system/*.cruds").await;
    let body = migration("m", "to-run");
    let patch = json!({"status": "to-run"});
    for (method, path, body) in [
        ("POST", "/fhir/PlatformMigration", body.clone()),
        ("POST", "/PlatformMigration", done(body.clone())),
        ("PUT", "/fhir/PlatformMigration/m", body.clone()),
        ("PATCH", "/PlatformMigration/table", patch),
        ("DELETE", "/PlatformMigration/table", Value::Null),
        ("POST", "/fhir", bundle("transaction", &[entry(&body)])),
        ("POST", "/db/migrations", json!([{"id": "m", "sql": "DROP TABLE ran"}])),
        ("GET", "/db/migrations", Value::Null),
    ] {
        let call = || {
            let call = world.call(method, path);
            if body.is_null() { call } else { call.json(&body) }
        };
        assert_eq!(call().send().await.status, 401, "{method} {path}");
        for id in ["allowed", "spelled"] {
            assert_eq!(call().basic(id, SECRET).send().await.outcome(), (403, "forbidden"), "{id}: {method} {path}");
        }
        assert_eq!(call().bearer(&token).send().await.status, 403, "{method} {path}");
    }
    let batch = bundle("batch", &[entry(&body)]);
    let answer = world.post("/fhir").basic("spelled", SECRET).fhir(&batch).send().await;
    assert_eq!(answer.body["entry"][0]["response"]["status"], "403", "{answer:?}");
    assert_eq!(status(&world, "m").await, None);
    ran(&world, 0).await;
    // Reading is what policies are for.
    assert_eq!(world.get("/fhir/PlatformMigration").basic("allowed", SECRET).send().await.status, 200);
    world.end().await;
}

#[tokio::test]
async fn scripts_are_applied_in_order_and_once() {
    on_every_engine(async |world| {
        prepare(world).await;
        let post = async |body: Value| world.post("/db/migrations").by_root().json(&body).send().await;
        let insert = "INSERT INTO ran (id) VALUES (1)";
        let answer =
            post(json!([{"id": "a", "sql": insert}, {"id": "b", "sql": insert}, {"id": "a", "sql": insert}])).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let told = |answer: &Answer| -> Vec<String> {
            let list = answer.body.as_array().unwrap().iter();
            list.map(|one| format!("{} {}", one["id"].as_str().unwrap(), one["applied"].as_str().unwrap())).collect()
        };
        assert_eq!(told(&answer), ["a now", "b now", "a before"]);
        assert_eq!((&answer.body[0]["sql"], answer.body[2].get("sql")), (&json!(insert), None));
        assert_eq!(
            told(&post(json!([{"id": "b", "sql": insert}, {"id": "a", "sql": insert}])).await),
            ["b before", "a before"]
        );
        assert_eq!(post(json!([])).await.body, json!([]));
        ran(world, 2).await;

        let changed = post(json!([{"id": "c", "sql": insert}, {"id": "a", "sql": "SELECT 1"}])).await;
        assert_eq!(changed.outcome(), (409, "conflict"));
        let told_of = changed.body["issue"][0]["diagnostics"].as_str().unwrap();
        let sums = [
            answer.body[0]["checksum"].as_str().unwrap(),
            "e004ebd5b5532a4b85984a62f8ad48a81aa3460c1ca07701f386135d72cdecf5",
        ];
        assert!(sums.iter().all(|sum| told_of.contains(sum)) && told_of.contains("\"a\""), "{told_of}");
        ran(world, 2).await;

        let failed =
            post(json!([{"id": "c", "sql": insert}, {"id": "d", "sql": "SELECT nothing"}, {"id": "e", "sql": insert}]))
                .await;
        assert_eq!(failed.outcome(), (422, "invalid"));
        let told_of = failed.body["issue"][0]["diagnostics"].as_str().unwrap();
        assert!(told_of.contains("\"d\"") && told_of.ends_with("applied before it, and kept: c"), "{told_of}");
        ran(world, 3).await;

        let list = world.get("/db/migrations").by_root().send().await.body;
        let ids: Vec<&str> = list.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
        assert_eq!(
            (ids, &list[0]["sql"], &list[0]["ts"]),
            (vec!["a", "b", "c"], &json!(insert), &json!("2026-01-01T00:00:00.000000Z"))
        );
        for wrong in [json!({}), json!([1]), json!([{"id": "x"}])] {
            assert_eq!(post(wrong.clone()).await.outcome().0, 400, "{wrong}");
        }
    })
    .await;
}

#[tokio::test]
async fn an_init_bundle_is_executed_as_the_administrator_would() {
    on_every_engine(async |world| {
        let entries = [
            unless_there(&sql("table", "to-run", "CREATE TABLE ran (id BIGINT)"), "id"),
            unless_there(&migration("m", "to-run"), "id"),
            json!({"request": {"method": "PUT", "url": "/Organization/payer"}, "resource": {"name": "Payer"}}),
        ];
        for _ in 0..2 {
            let report = world.start_with(bundle("transaction", &entries)).await.unwrap();
            assert_eq!((report.entries, report.failed), (3, Vec::new()));
        }
        ran(world, 1).await;
        assert_eq!(world.get("/fhir/Organization/payer").by_root().send().await.body["name"], "Payer");
    })
    .await;
}

#[tokio::test]
async fn an_init_bundle_that_fails_names_the_entry_and_keeps_nothing() {
    on_every_engine(async |world| {
        prepare(world).await;
        let broken = sql("broken", "to-run", "SELECT 1 FROM nowhere");
        let entries = [entry(&migration("m", "to-run")), entry(&broken)];
        let stop = world.start_with(bundle("transaction", &entries)).await.unwrap_err().to_string();
        assert!(stop.starts_with("Bundle.entry[1]: PlatformMigration/broken: "), "{stop}");
        assert!(stop.contains("statement 1") && stop.contains("nowhere"), "{stop}");
        ran(world, 0).await;

        let report = world.start_with(bundle("batch", &entries)).await.unwrap();
        let [(1, told)] = report.failed.as_slice() else { panic!("{report:?}") };
        assert!(told.starts_with("PlatformMigration/broken: ") && told.contains("nowhere"), "{told}");
        assert_eq!((status(world, "m").await.as_deref(), status(world, "broken").await), (Some("done"), None));
        ran(world, 1).await;
    })
    .await;
}

#[tokio::test]
async fn an_init_bundle_of_another_brand_is_understood() {
    let world = World::with(Choice { platform_name: "acme", ..Choice::default() }).await;
    let resource = json!({"resourceType": "AcmeMigration", "id": "m", "status": "to-run",
        "action": "acme-migration-run-sql", "params": {"parameter": [{"name": "sql", "valueString": "SELECT 1"}]}});
    let entry =
        json!({"request": {"method": "POST", "url": "/AcmeMigration", "ifNoneExist": "id=m"}, "resource": resource});
    world.start_with(bundle("transaction", &[entry])).await.unwrap();
    assert_eq!(status(&world, "m").await.as_deref(), Some("done"));
    world.end().await;
}

#[tokio::test]
async fn an_init_bundle_of_a_brand_that_is_not_set_stops_the_start_and_names_its_entry() {
    on_every_engine(async |world| {
        let resource = json!({"resourceType": "BetaMigration", "id": "m", "status": "to-run",
            "action": "beta-migration-run-sql", "params": {"parameter": [{"name": "sql", "valueString": "SELECT 1"}]}});
        let patient = json!({"request": {"method": "PUT", "url": "Patient/p"}, "resource": {}});
        let entry = |url: &str| json!({"request": {"method": "POST", "url": url}, "resource": resource});
        for kind in ["transaction", "batch"] {
            for url in ["BetaMigration", "/BetaMigration?x=y", "PlatformMigration"] {
                let stop =
                    world.start_with(bundle(kind, &[patient.clone(), entry(url)])).await.unwrap_err().to_string();
                assert_eq!(
                    stop,
                    "Bundle.entry[1]: BetaMigration is a migration of a platform named beta, and this one is named \
                     acme: start with --platform-name beta (BOX_PLATFORM_NAME), or write PlatformMigration"
                );
                assert_eq!(world.get("/Patient/p").by_root().send().await.status, 404, "nothing was executed");
            }
        }
        // Also where it was stored as a type of its own by an earlier start.
        world.put("/BetaMigration/m", &resource).await;
        assert!(world.start_with(bundle("batch", &[entry("BetaMigration")])).await.is_err());
    })
    .await;
}

#[tokio::test]
async fn a_server_that_gets_ready_is_503_and_tells_what_it_does() {
    let world = World::new().await;
    world.begin("running PlatformMigration/m");
    for (path, media_type, pointer, expected) in [
        ("/health", "application/json", "/progress", "running PlatformMigration/m"),
        ("/health", "application/json", "/status", "starting"),
        ("/auth/token", "application/json", "/error", "temporarily_unavailable"),
        ("/fhir/Patient", "application/fhir+json", "/resourceType", "OperationOutcome"),
    ] {
        let answer = world.ask_while_starting(path).await;
        assert_eq!((answer.status.as_u16(), answer.header("content-type")), (503, media_type), "{path}");
        assert_eq!(answer.body.pointer(pointer).unwrap(), expected, "{path}");
        assert!(!answer.header("x-request-id").is_empty(), "{path}");
    }
    world.end().await;
}
