//! Audit events as an auditor finds them, and that only the server writes them.

use auth_storage::AuditLogWriter;
use oauth_core::ports::{AuditAction, AuditRecord, AuditSink as _};
use serde_json::{Value, json};

use crate::world::{Answer, World, on_every_engine};

/// 2027-01-15T08:00:00Z in microseconds.
const FIRST_US: i64 = 1_800_000_000_000_000;

/// The events of a search, which are so many.
async fn events(world: &World, query: &str, count: usize) -> Vec<Value> {
    let answer = world.get(&format!("/fhir/AuditEvent?{query}")).by_root().send().await;
    assert_eq!(answer.status, 200, "{query}: {answer:?}");
    let entries = answer.body["entry"].as_array().cloned().unwrap_or_default();
    assert_eq!(entries.len(), count, "{query}: {answer:?}");
    entries.into_iter().map(|entry| entry["resource"].clone()).collect()
}

/// Two tokens of a partner, a minute apart. What is written together has one time, so each is written alone.
async fn record(world: &World) {
    for minute in [0, 1] {
        let log = AuditLogWriter::start(world.db().clone());
        log.record(AuditRecord {
            client_id: Some("partner".to_owned()),
            ..AuditRecord::new(FIRST_US + minute * 60_000_000, AuditAction::Token)
        });
        log.drain_and_stop().await;
    }
}

fn link<'a>(answer: &'a Answer, relation: &str) -> Option<&'a str> {
    let links = answer.body["link"].as_array()?;
    links.iter().find(|link| link["relation"] == relation)?["url"].as_str()
}

#[tokio::test]
async fn an_auditor_finds_events_by_what_they_are_about() {
    on_every_engine(async |world| {
        record(world).await;
        let all = events(world, "agent=Client/partner&_sort=date", 2).await;
        assert!(all[0]["recorded"].as_str() < all[1]["recorded"].as_str());
        let newest = events(world, "agent=Client/partner&_sort=-date&_count=1", 1).await;
        assert_eq!(newest[0]["id"], all[1]["id"]);
        let recorded = all[1]["recorded"].as_str().unwrap();
        for query in [
            format!("date=ge{recorded}&type=110114"),
            format!("_lastUpdated=ge{recorded}&outcome=0"),
            format!("subtype=urn:ietf:rfc:6749%7Ctoken&agent=partner&date={recorded}"),
        ] {
            assert_eq!(events(world, &query, 1).await[0]["id"], all[1]["id"], "{query}");
        }
        for query in ["patient=nobody", "entity=Patient/nobody", "outcome=8", "agent=Client/other"] {
            let none = world.get(&format!("/fhir/AuditEvent?{query}")).by_root().send().await;
            assert_eq!((none.status.as_u16(), &none.body["total"]), (200, &json!(0)), "{query}");
        }
        let page = world.get("/fhir/AuditEvent?agent=Client/partner&_sort=date&_count=1").by_root().send().await;
        let next = link(&page, "next").unwrap().strip_prefix("https://payer.example").unwrap().to_owned();
        let page = world.get(&next).by_root().send().await;
        assert_eq!(page.body["entry"][0]["resource"]["id"], all[1]["id"]);
        assert_eq!(link(&page, "next"), None);
    })
    .await;
}

#[tokio::test]
async fn a_search_of_audit_events_by_what_they_are_not_found_by_is_refused() {
    on_every_engine(async |world| {
        for query in ["unheard=of", "site=x", "agent-name=x", "address=192.0.2.1", "patient="] {
            let url = format!("AuditEvent?{query}");
            let answer = world.get(&format!("/fhir/{url}")).by_root().send().await;
            assert_eq!(answer.outcome().0, 400, "{query}: {answer:?}");
            let lenient = world.get(&format!("/fhir/{url}")).by_root().header("prefer", "handling=lenient").send().await;
            assert_eq!(lenient.status, 400, "{query}");
            let bundle = json!({"resourceType": "Bundle", "type": "batch", "entry": [{"request": {"method": "GET", "url": url}}]});
            let answer = world.post("/fhir").by_root().fhir(&bundle).send().await;
            assert_eq!(answer.body["entry"][0]["response"]["status"], "400", "{query}: {answer:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn nobody_creates_changes_or_deletes_an_audit_event() {
    on_every_engine(async |world| {
        record(world).await;
        let event = events(world, "agent=Client/partner", 2).await.remove(0);
        let id = event["id"].as_str().unwrap();
        for base in ["", "/fhir"] {
            let calls = [
                ("POST", format!("{base}/AuditEvent"), Some(event.clone())),
                ("PUT", format!("{base}/AuditEvent/{id}"), Some(event.clone())),
                ("PUT", format!("{base}/AuditEvent/{id}"), Some(json!({"resourceType": "AuditEvent", "id": id}))),
                ("PATCH", format!("{base}/AuditEvent/{id}"), Some(json!({"outcome": "0"}))),
                ("DELETE", format!("{base}/AuditEvent/{id}"), None),
            ];
            for (method, path, body) in calls {
                let text = body.map(|mut body| {
                    if method == "POST" {
                        body.as_object_mut().unwrap().remove("id");
                    }
                    body.to_string()
                });
                let answer = world.call(method, &path).by_root();
                let answer = match text {
                    Some(text) if method == "PATCH" => answer.text("application/merge-patch+json", text),
                    Some(text) => answer.text("application/fhir+json", text),
                    None => answer,
                };
                let answer = answer.send().await;
                assert_eq!(answer.status, 405, "{method} {path}: {answer:?}");
                assert_eq!(answer.header("allow"), "GET");
            }
            for kind in ["batch", "transaction"] {
                for request in [
                    json!({"method": "DELETE", "url": format!("AuditEvent/{id}")}),
                    json!({"method": "PUT", "url": format!("AuditEvent/{id}")}),
                ] {
                    let mut entry = json!({"request": request});
                    if request["method"] == "PUT" {
                        entry["resource"] = event.clone();
                    }
                    let bundle = json!({"resourceType": "Bundle", "type": kind, "entry": [entry]});
                    let path = if base.is_empty() { "/" } else { base };
                    let answer = world.post(path).by_root().json(&bundle).send().await;
                    match kind {
                        "batch" => assert_eq!(answer.body["entry"][0]["response"]["status"], "405", "{answer:?}"),
                        _ => assert_eq!(answer.status, 405, "{answer:?}"),
                    }
                }
            }
        }
        let left = world.get(&format!("/fhir/AuditEvent/{id}")).by_root().send().await;
        assert_eq!(left.body, event, "it is as it was");
    })
    .await;
}
