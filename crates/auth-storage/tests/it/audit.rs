//! Audit records: written in the order they came, by somebody else than who records.

use auth_storage::{AuditLog, Db};
use fhir_store::{ListQuery, Operation, ResourceStore as _, Stored, Write};
use oauth_core::ports::{AuditAction, AuditRecord, AuditSink as _};
use serde_json::json;

use crate::home::{NOW_US, told};

fn record(action: AuditAction) -> AuditRecord {
    AuditRecord {
        at_us: NOW_US + 1,
        action,
        refused: None,
        client_id: None,
        user_id: None,
        patient_id: None,
        address: None,
        scope: None,
    }
}

async fn events(db: &Db) -> Vec<Stored> {
    let query = ListQuery { count: 1000, ..ListQuery::all("AuditEvent".parse().unwrap()) };
    let mut entries = db.list(&query).await.unwrap().entries;
    entries.sort_by_key(|stored| stored.version);
    entries
}

told! {
    async fn a_record_becomes_an_audit_event(home) {
        let db = home.open().await;
        let log = AuditLog::start(db.clone());
        log.record(AuditRecord {
            refused: Some("access_denied".to_owned()),
            client_id: Some("app".to_owned()),
            user_id: Some("u".to_owned()),
            patient_id: Some("p".to_owned()),
            address: Some("192.0.2.7".to_owned()),
            scope: Some("patient/*.rs".to_owned()),
            ..record(AuditAction::Consent)
        });
        log.stop().await;
        let written = events(&db).await;
        assert_eq!(written.len(), 1);
        assert_eq!(written[0].updated_us, NOW_US + 1);
        let dicom = "http://dicom.nema.org/resources/ontology/DCM";
        let changed = json!({"system": dicom, "code": "110137", "display": "User Security Attributes Changed"});
        let consent = json!({
            "system": "urn:ietf:rfc:6749", "code": "authorization", "display": "Consent to an authorization request",
        });
        let patient = json!({
            "system": "http://terminology.hl7.org/CodeSystem/object-role", "code": "1", "display": "Patient",
        });
        let expected = json!({
            "type": {"system": dicom, "code": "110113", "display": "Security Alert"},
            "subtype": [changed, consent],
            "action": "E",
            "recorded": "2027-01-15T08:01:00.000001Z",
            "outcome": "4",
            "outcomeDesc": "access_denied",
            "agent": [
                {
                    "who": {"resourceType": "User", "id": "u"},
                    "requestor": true,
                    "network": {"address": "192.0.2.7", "type": "2"},
                },
                {"who": {"resourceType": "Client", "id": "app"}, "requestor": false},
            ],
            "source": {"observer": {"display": "auth-server"}},
            "entity": [{
                "what": {"resourceType": "Patient", "id": "p"},
                "role": patient,
                "detail": [{"type": "scope", "valueString": "patient/*.rs"}],
            }],
        });
        assert_eq!(written[0].resource, expected);
    }

    async fn what_came_from_outside_cannot_stop_a_batch(home) {
        let db = home.open().await;
        let log = AuditLog::start(db.clone());
        let odd = AuditRecord {
            client_id: Some("no id\0".to_owned()),
            scope: Some("x".repeat(1_000_000)),
            ..record(AuditAction::Token)
        };
        log.record(odd);
        log.record(record(AuditAction::SignIn));
        log.record(record(AuditAction::Revocation));
        log.stop().await;
        let written = events(&db).await;
        let first = &written[0].resource;
        assert_eq!(first["agent"], json!([{"who": {"identifier": {"value": "no id"}}, "requestor": true}]));
        assert_eq!(first["entity"][0]["detail"][0]["valueString"].as_str().unwrap().len(), 1024);
        assert_eq!(first["outcome"], "0");
        assert_eq!(written[1].resource["agent"], json!([{"requestor": true}]));
        assert_eq!(written.len(), 3);
    }

    async fn audit_events_have_a_history_and_versions_of_their_own(home) {
        let db = home.open().await;
        for round in 0..2 {
            let log = AuditLog::start(db.clone());
            for n in 0..300 {
                log.record(AuditRecord { scope: Some(n.to_string()), ..record(AuditAction::Token) });
            }
            log.stop().await;
            let put = Write::to(format!("Basic/{round}").parse().unwrap(), Operation::Put(json!({})));
            db.transact(vec![put], NOW_US).await.unwrap().unwrap();
        }
        let written = events(&db).await;
        assert_eq!(written.len(), 600);
        assert!(written.is_sorted_by(|one, next| one.version < next.version));
        let scopes = written.iter().map(|event| event.resource["entity"][0]["detail"][0]["valueString"].clone());
        assert_eq!(scopes.collect::<Vec<_>>(), (0..600).map(|n| json!((n % 300).to_string())).collect::<Vec<_>>());
        let history = "SELECT CAST(count(*) AS TEXT) FROM auditevent_history h JOIN auditevent t
            ON t.id = h.id AND t.txid = h.txid AND t.ts = h.ts WHERE h.op = 'create'";
        assert_eq!(home.ask(history).await, ["600"]);
        let versions = "SELECT DISTINCT CAST(txid AS TEXT) FROM (
            SELECT txid FROM auditevent UNION ALL SELECT txid FROM basic) AS of_all";
        assert_eq!(home.ask(versions).await.len(), 602);
    }

    async fn recording_never_waits_and_what_is_too_much_is_lost(home) {
        let db = home.open().await;
        let log = AuditLog::start(db.clone());
        // The task has no turn while nothing here is awaited, or few; more than fit are recorded.
        for _ in 0..50_000 {
            log.record(record(AuditAction::Token));
        }
        log.stop().await;
        log.stop().await;
        log.record(record(AuditAction::Token));
        let rows = home.ask("SELECT CAST(count(*) AS TEXT) FROM auditevent").await;
        let rows: usize = rows[0].parse().unwrap();
        assert!((8192..50_000).contains(&rows), "{rows}");
    }

    async fn a_database_that_is_gone_stops_no_shutdown(home) {
        let db = home.open().await;
        let log = AuditLog::start(db.clone());
        db.close().await;
        log.record(record(AuditAction::Token));
        log.stop().await;
        assert_eq!(events(&home.open().await).await.len(), 0);
    }
}
