//! Data exports: who orders, downloads and deletes them, and what administrators are told of them.

use chat_core::files::{FileKey, FileStore as _};
use chat_core::id::UserId;
use chat_core::model::realm_change::{RealmChange, RealmItemKind};
use chat_core::model::role::Role;
use chat_core::organization::data_exports::{DataExport, DataExportStatus, DataExportType};
use serde_json::{Value, json};

use crate::personal::{heard, listen, put};
use crate::test_app::{NOW_S, TestApp};
use crate::users::{assert_nothing_written, everybody};

const LIST: &str = "GET /export/realm";
const REQUEST: &str = "POST /export/realm";
const EVENTS: &str = r#"["realm_export","realm_export_consent"]"#;

/// An archive that was made long ago, with these bytes.
pub(crate) async fn archived(app: &TestApp) -> i64 {
    let id = app.realm().new_realm_item_id(RealmItemKind::DataExport);
    app.files.put_bytes(&FileKey::of_data_export(id), b"0123456789".as_slice().into()).await.unwrap();
    keep(app, id, DataExportStatus::Succeeded { at_s: NOW_S - 60, size_bytes: 10 }).await;
    id
}

async fn keep(app: &TestApp, id: i64, status: DataExportStatus) {
    let export = DataExport {
        export_type: DataExportType::Public,
        acting_user_id: UserId(app.ada.id),
        requested_s: 1,
        status,
        has_bytes: true,
    };
    put(app, vec![RealmChange::Item { kind: RealmItemKind::DataExport, id, document: Some(json!(export)) }]).await;
}

async fn listed(app: &TestApp) -> Value {
    app.call(&app.ada, LIST, &[]).await.success()["exports"].clone()
}

fn shown(id: &Value, export_type: i64) -> Value {
    json!({
        "id": id, "acting_user_id": 9, "export_time": NOW_S, "export_type": export_type, "export_url": null,
        "deleted_timestamp": null, "failed_timestamp": null, "pending": true,
    })
}

#[tokio::test]
async fn an_export_that_is_requested_is_listed_and_told_to_administrators_alone() {
    let app = TestApp::found().await;
    let people = everybody(&app).await;
    let mut queues = Vec::new();
    for person in &people {
        queues.push(listen(&app, person, EVENTS, &[]).await);
    }
    let id = app.call(&app.ada, REQUEST, &[]).await.success()["id"].clone();
    assert_eq!(listed(&app).await, json!([shown(&id, 1)]));
    app.call(&app.ada, "PATCH /settings", &[("allow_private_data_export", "true")]).await.success();
    let second = app.call(&app.ada, REQUEST, &[("export_type", "2")]).await.success()["id"].clone();
    assert_eq!(listed(&app).await, json!([shown(&id, 1), shown(&second, 2)]));
    let events = json!([
        {"type": "realm_export", "exports": [shown(&id, 1)]},
        {"type": "realm_export_consent", "user_id": 9, "consented": true},
        {"type": "realm_export", "exports": [shown(&id, 1), shown(&second, 2)]},
    ]);
    for (place, queue) in queues.iter().enumerate() {
        let told = json!(heard(&app, queue).await);
        assert_eq!(told, if place < 2 { events.clone() } else { json!([]) }, "{place}");
    }
}

#[tokio::test]
async fn only_administrators_have_anything_to_do_with_exports() {
    let app = TestApp::found().await;
    let people = everybody(&app).await;
    let id = archived(&app).await;
    let (delete, path) = (format!("DELETE /export/realm/{id}"), format!("/exports/organization-{id}.tar.gz"));
    let before = app.realm().log_position();
    for call in [LIST, REQUEST, &delete, "GET /export/realm/consents"] {
        for person in &people[2..] {
            app.call(person, call, &[]).await.refused("Must be an organization administrator");
        }
        assert_eq!(app.call_as_nobody(call, &[]).await.status, 401, "{call}");
        assert_nothing_written(&app, before, call);
    }
    for person in &people[2..] {
        assert_eq!(app.fetch_as(person, &path).await.0, 400);
    }
    assert_eq!(app.fetch_bytes(&path, &[]).await.0, 401);
    let (status, headers, bytes) = app.fetch_as(&people[1], &path).await;
    assert_eq!((status, bytes.as_slice()), (200, b"0123456789".as_slice()));
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "application/gzip");
    assert_eq!(header("content-disposition"), format!("attachment; filename=\"organization-{id}.tar.gz\""));
    assert_eq!((header("cache-control"), header("x-content-type-options")), ("no-store".into(), "nosniff".into()));
    let (status, _, bytes) = app.fetch_range(&people[1], &path, "bytes=3-5").await;
    assert_eq!((status, bytes.as_slice()), (206, b"345".as_slice()));
}

#[tokio::test]
async fn an_archive_that_is_deleted_cannot_be_downloaded_and_the_list_says_when_it_was() {
    let app = TestApp::found().await;
    let id = archived(&app).await;
    let url = format!("https://chat.example.org/exports/organization-{id}.tar.gz");
    assert_eq!(listed(&app).await[0]["export_url"], json!(url));
    let queue = listen(&app, &app.ada, EVENTS, &[]).await;
    app.call(&app.ada, &format!("DELETE /export/realm/{id}"), &[]).await.success();
    let export = listed(&app).await[0].clone();
    assert_eq!(
        ["export_url", "deleted_timestamp", "failed_timestamp", "pending"].map(|key| export[key].clone()),
        [Value::Null, json!(NOW_S), Value::Null, json!(false)]
    );
    assert_eq!(heard(&app, &queue).await, [json!({"type": "realm_export", "exports": [export]})]);
    let path = format!("/exports/organization-{id}.tar.gz");
    assert_eq!(app.fetch_as(&app.ada, &path).await.0, 404);
    app.call(&app.ada, &format!("DELETE /export/realm/{id}"), &[]).await.refused("Export already deleted");
}

#[tokio::test]
async fn what_is_no_archive_is_not_deleted_or_found() {
    let app = TestApp::found().await;
    let pending = app.call(&app.ada, REQUEST, &[]).await.success()["id"].as_i64().unwrap();
    keep(&app, pending + 100, DataExportStatus::Failed { at_s: NOW_S }).await;
    keep(&app, pending + 101, DataExportStatus::Started { node: "a".to_owned(), until_s: NOW_S }).await;
    let before = app.realm().log_position();
    for (id, text) in [
        (pending, "Export still in progress"),
        (pending + 100, "Export failed, nothing to delete"),
        (pending + 101, "Export still in progress"),
        (pending + 102, "Invalid data export ID"),
    ] {
        app.call(&app.ada, &format!("DELETE /export/realm/{id}"), &[]).await.refused(text);
        assert_eq!(app.fetch_as(&app.ada, &format!("/exports/organization-{id}.tar.gz")).await.0, 404, "{id}");
    }
    for name in ["organization-x.tar.gz", "organization-01.tar.gz", "x", "organization-1.zip"] {
        assert_eq!(app.fetch_as(&app.ada, &format!("/exports/{name}")).await.0, 404, "{name}");
    }
    assert_nothing_written(&app, before, "nothing to delete");
}

#[tokio::test]
async fn an_export_is_refused_that_comes_too_often_or_leaves_no_owner_where_it_goes() {
    let app = TestApp::found().await;
    let before = app.realm().log_position();
    let consent = "Make sure at least one Organization Owner is consenting to the export or contact the administrator \
                   of this server for help.";
    app.call(&app.ada, REQUEST, &[("export_type", "2")]).await.refused(consent);
    let unknown = app.call(&app.ada, REQUEST, &[("export_type", "3")]).await;
    unknown.refused("Invalid export_type: Value error, Not in the list of possible values");
    assert_nothing_written(&app, before, "refused");
    app.call(&app.ada, "PATCH /settings", &[("email_address_visibility", "4")]).await.success();
    let address = "Make sure at least one Organization Owner allows other Administrators to see their email address or \
                   contact the administrator of this server for help";
    app.call(&app.ada, REQUEST, &[]).await.refused(address);
    app.call(&app.ada, "PATCH /settings", &[("email_address_visibility", "1")]).await.success();
    for _ in 0..5 {
        app.call(&app.ada, REQUEST, &[]).await.success();
    }
    let before = app.realm().log_position();
    app.call(&app.ada, REQUEST, &[]).await.refused("Exceeded rate limit.");
    assert_nothing_written(&app, before, "too often");
}

#[tokio::test]
async fn consents_are_those_of_people_with_an_open_account() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    crate::personal::bot(&app, "robot").await;
    let gone = app.person("gone", Role::Member).await;
    crate::personal::close(&app, &gone).await;
    app.call(&sam, "PATCH /settings", &[("allow_private_data_export", "true")]).await.success();
    let consents = app.call(&app.ada, "GET /export/realm/consents", &[]).await.success()["export_consents"].clone();
    assert_eq!(consents, json!([{"user_id": 9, "consented": false}, {"user_id": sam.id, "consented": true}]));
}

#[tokio::test]
async fn administrators_learn_of_the_consent_of_who_joins_or_comes_back() {
    let app = TestApp::found().await;
    let queue = listen(&app, &app.ada, r#"["realm_export_consent"]"#, &[]).await;
    let new = [("email", "eve@example.org"), ("password", "correct horse"), ("full_name", "Eve Moneypenny")];
    let eve = app.call(&app.ada, "POST /users", &new).await.success()["user_id"].as_i64().unwrap();
    app.call(&app.ada, &format!("DELETE /users/{eve}"), &[]).await.success();
    app.call(&app.ada, &format!("POST /users/{eve}/reactivate"), &[]).await.success();
    let event = json!({"type": "realm_export_consent", "user_id": eve, "consented": false});
    assert_eq!(heard(&app, &queue).await, [event.clone(), event]);
}
