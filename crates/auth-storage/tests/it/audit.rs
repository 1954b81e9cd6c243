//! Audit records: written in the order they came, by somebody else than who records.

use auth_storage::{AuditLogWriter, AuthDatabase};
use fhir_resource::StoredResource;
use fhir_search::{SearchParseContext, parse_search};
use fhir_store::{
    AccessFilter, ListQuery, MatchCountMode, ResourceStore as _, ResourceWrite, SearchQuery, SearchStore as _,
    WriteOperation,
};
use oauth_core::ports::{AuditAction, AuditRecord, AuditSink as _};
use serde_json::json;

use crate::home::{NOW_US, told};

fn record(action: AuditAction) -> AuditRecord {
    AuditRecord::new(NOW_US + 1, action)
}

async fn events(db: &AuthDatabase) -> Vec<StoredResource> {
    let query = ListQuery { count: 1000, ..ListQuery::all_of_type("AuditEvent".parse().unwrap()) };
    let mut entries = db.list(&query).await.unwrap().entries;
    entries.sort_by_key(|stored| stored.version);
    entries
}

told! {
    async fn a_record_becomes_an_audit_event(home) {
        let db = home.open().await;
        let log = AuditLogWriter::start(db.clone());
        log.record(AuditRecord {
            refused: Some("access_denied".to_owned()),
            client_id: Some("app".to_owned()),
            user_id: Some("u".to_owned()),
            patient_id: Some("p".to_owned()),
            grant_id: Some("g-1".to_owned()),
            launch_id: Some("l-1".to_owned()),
            address: Some("192.0.2.7".to_owned()),
            scope: Some("patient/*.rs".to_owned()),
            ..record(AuditAction::Consent)
        });
        log.drain_and_stop().await;
        let written = events(&db).await;
        assert_eq!(written.len(), 1);
        assert_eq!(written[0].updated_us, NOW_US + 1);
        let dicom = "http://dicom.nema.org/resources/ontology/DCM";
        let changed = json!({"system": dicom, "code": "110137", "display": "User Security Attributes Changed"});
        let consent = json!({
            "system": "urn:ietf:rfc:6749", "code": "consent", "display": "Consent to an authorization request",
        });
        let coding = |system: &str, code: &str, display: &str| {
            json!({"system": format!("http://terminology.hl7.org/CodeSystem/{system}"), "code": code, "display": display})
        };
        let human = json!({"coding": [coding("extra-security-role-type", "humanuser", "human user")]});
        let application = json!({"coding": [{"system": dicom, "code": "110150", "display": "Application"}]});
        let expected = json!({
            "type": {"system": dicom, "code": "110113", "display": "Security Alert"},
            "subtype": [changed, consent],
            "action": "E",
            "recorded": "2027-01-15T08:01:00.000001Z",
            "outcome": "4",
            "outcomeDesc": "access_denied",
            "agent": [
                {
                    "type": human,
                    "who": {"resourceType": "User", "id": "u"},
                    "requestor": true,
                    "network": {"address": "192.0.2.7", "type": "2"},
                },
                {"type": application, "who": {"resourceType": "Client", "id": "app"}, "requestor": false},
            ],
            "source": {
                "observer": {"display": "auth-server"},
                "type": [coding("security-source-type", "6", "Security Server")],
            },
            "entity": [
                {
                    "what": {"resourceType": "Patient", "id": "p"},
                    "type": coding("audit-entity-type", "1", "Person"),
                    "role": coding("object-role", "1", "Patient"),
                },
                {
                    "what": {"identifier": {"value": "g-1"}},
                    "type": coding("audit-entity-type", "2", "System Object"),
                    "role": coding("object-role", "13", "Security Resource"),
                    "detail": [
                        {"type": "scope", "valueString": "patient/*.rs"},
                        {"type": "launch", "valueString": "l-1"},
                    ],
                },
            ],
        });
        assert_eq!(written[0].resource, expected);
    }

    async fn what_came_from_outside_cannot_stop_a_batch(home) {
        let db = home.open().await;
        let log = AuditLogWriter::start(db.clone());
        let odd = AuditRecord {
            claimed_id: Some("no id\0".to_owned()),
            scope: Some("x".repeat(1_000_000)),
            ..record(AuditAction::Token)
        };
        log.record(odd);
        log.record(record(AuditAction::SignIn));
        log.record(record(AuditAction::Revocation));
        log.drain_and_stop().await;
        let written = events(&db).await;
        let first = &written[0].resource;
        assert_eq!(first["agent"][0]["who"], json!({"identifier": {"value": "no id"}}));
        assert_eq!(first["entity"][0]["detail"][0]["valueString"].as_str().unwrap().len(), 1024);
        assert_eq!(first["outcome"], "0");
        assert_eq!(written[1].resource["agent"], json!([{"requestor": true}]));
        assert_eq!(written.len(), 3);
    }

    async fn audit_events_have_a_history_and_versions_of_their_own(home) {
        let db = home.open().await;
        for round in 0..2 {
            let log = AuditLogWriter::start(db.clone());
            for n in 0..300 {
                log.record(AuditRecord { scope: Some(n.to_string()), ..record(AuditAction::Token) });
            }
            log.drain_and_stop().await;
            let put = ResourceWrite::unconditional(format!("Basic/{round}").parse().unwrap(), WriteOperation::Put(json!({})));
            db.transact_writes(vec![put], NOW_US).await.unwrap().unwrap();
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

    async fn a_stranger_who_is_refused_a_million_times_costs_two_records_and_hides_nobodys(home) {
        let db = home.open().await;
        let log = AuditLogWriter::start(db.clone());
        for n in 0..1_000_000 {
            log.record(AuditRecord {
                at_us: NOW_US + n,
                refused: Some("invalid_client: there is no such client".to_owned()),
                address: Some(format!("2001:db8::{:x}", n % 0xffff)),
                ..record(AuditAction::Token)
            });
        }
        log.record(AuditRecord { user_id: Some("ada".to_owned()), ..record(AuditAction::SignIn) });
        log.drain_and_stop().await;
        let written = events(&db).await;
        assert_eq!(written.len(), 3);
        let member = written.iter().filter(|event| event.resource["agent"][0]["who"]["id"] == "ada");
        assert_eq!(member.count(), 1);
        let sum = &written[2].resource;
        assert_eq!(sum["entity"][0]["detail"], json!([{"type": "count", "valueString": "999999"}]));
        assert_eq!((&sum["period"]["start"], &sum["period"]["end"]), (
            &json!("2027-01-15T08:01:00.000001Z"), &json!("2027-01-15T08:01:00.999999Z"),
        ));
        assert_eq!((&sum["outcome"], &sum["recorded"]), (&json!("4"), &sum["period"]["end"]));
    }

    async fn the_first_refusal_of_a_kind_is_not_kept_back(home) {
        let db = home.open().await;
        let log = AuditLogWriter::start(db.clone());
        log.record(AuditRecord { refused: Some("no".to_owned()), ..record(AuditAction::SignIn) });
        let mut looks = 0;
        while events(&db).await.is_empty() {
            looks += 1;
            assert!(looks < 100_000, "nothing was written");
            tokio::task::yield_now().await;
        }
        log.drain_and_stop().await;
        assert_eq!(events(&db).await.len(), 1);
    }

    async fn what_is_older_than_its_time_is_forgotten_with_its_history(home) {
        let db = home.open().await;
        assert_eq!(db.delete_audit_events_before(NOW_US).await.unwrap(), 0, "there is none yet");
        let log = AuditLogWriter::start(db.clone());
        log.record(AuditRecord { at_us: NOW_US - 10, ..record(AuditAction::SignIn) });
        log.drain_and_stop().await;
        let log = AuditLogWriter::start(db.clone());
        log.record(AuditRecord { at_us: NOW_US + 10, ..record(AuditAction::SignOut) });
        log.drain_and_stop().await;
        assert_eq!(db.delete_audit_events_before(NOW_US).await.unwrap(), 2);
        assert_eq!(db.delete_audit_events_before(NOW_US).await.unwrap(), 0);
        let kept = events(&db).await;
        assert_eq!(kept.len(), 1);
        assert_eq!(kept[0].resource["subtype"][0]["code"], "110123");
        assert_eq!(home.ask("SELECT CAST(count(*) AS TEXT) FROM auditevent_history").await, ["1"]);
    }

    async fn recording_never_waits_and_what_is_too_much_is_lost(home) {
        let db = home.open().await;
        let log = AuditLogWriter::start(db.clone());
        // The task has no turn while nothing here is awaited, or few; more than fit are recorded.
        for _ in 0..50_000 {
            log.record(record(AuditAction::Token));
        }
        log.drain_and_stop().await;
        log.drain_and_stop().await;
        log.record(record(AuditAction::Token));
        let rows = home.ask("SELECT CAST(count(*) AS TEXT) FROM auditevent").await;
        let rows: usize = rows[0].parse().unwrap();
        assert!((8192..50_000).contains(&rows), "{rows}");
    }

    async fn a_database_that_is_gone_stops_no_shutdown(home) {
        let db = home.open().await;
        let log = AuditLogWriter::start(db.clone());
        db.close().await;
        log.record(record(AuditAction::Token));
        log.drain_and_stop().await;
        assert_eq!(events(&home.open().await).await.len(), 0);
    }

    async fn audit_events_are_found_by_what_an_auditor_asks_and_forgotten_with_their_rows(home) {
        let db = home.open().await;
        let none = found(&db, "patient=p1").await;
        assert!(none.is_empty(), "nothing was recorded yet");
        for (n, (patient, user, refused)) in
            [("p1", "ada", None), ("p2", "ada", Some("access_denied")), ("p1", "bob", None)].into_iter().enumerate()
        {
            // What is written together has one time.
            let log = AuditLogWriter::start(db.clone());
            log.record(AuditRecord {
                at_us: NOW_US + 86_400_000_000 * i64::try_from(n).unwrap(),
                patient_id: Some(patient.to_owned()),
                user_id: Some(user.to_owned()),
                client_id: Some("app".to_owned()),
                refused: refused.map(str::to_owned),
                ..record(if n == 2 { AuditAction::Token } else { AuditAction::Consent })
            });
            log.drain_and_stop().await;
        }
        let days = ["2027-01-15", "2027-01-16", "2027-01-17"];
        for (query, expected) in [
            ("patient=p1", &[0, 2][..]),
            ("patient=Patient/p2", &[1]),
            ("agent=User/ada", &[0, 1]),
            ("agent=Client/app&patient=p1", &[0, 2]),
            ("entity=Patient/p2", &[1]),
            ("date=2027-01-16", &[1]),
            ("date=ge2027-01-16", &[1, 2]),
            ("_lastUpdated=lt2027-01-16", &[0]),
            ("type=http://dicom.nema.org/resources/ontology/DCM|110114", &[2]),
            ("subtype=consent", &[0, 1]),
            ("outcome=4", &[1]),
            ("outcome:not=4", &[0, 2]),
            ("patient=nobody", &[]),
        ] {
            let expected: Vec<&str> = expected.iter().map(|at| days[*at]).collect();
            assert_eq!(found(&db, &format!("{query}&_sort=date")).await, expected, "{query}");
            let reversed: Vec<&str> = expected.into_iter().rev().collect();
            assert_eq!(found(&db, &format!("{query}&_sort=-_lastUpdated")).await, reversed, "{query}");
        }
        db.delete_audit_events_before(NOW_US + 86_400_000_000).await.unwrap();
        assert_eq!(found(&db, "agent=Client/app&_sort=date").await, days[1..]);
        let left = "SELECT CAST(count(*) AS TEXT) FROM (
            SELECT id FROM search_token UNION ALL SELECT id FROM search_reference UNION ALL SELECT id FROM search_string
            UNION ALL SELECT id FROM search_range) AS i WHERE i.id NOT IN (SELECT id FROM auditevent)";
        assert_eq!(home.ask(left).await, ["0"], "rows of what is forgotten stay in no table");
    }
}

/// The days of the events that a search finds, in its order.
async fn found(db: &AuthDatabase, query: &str) -> Vec<String> {
    let kind = "AuditEvent".parse().unwrap();
    let catalog = db.current_search_parameter_catalog().await.unwrap();
    let pairs: Vec<(&str, &str)> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
    let (search, _) =
        parse_search(&catalog, &SearchParseContext::strict(&kind, "https://payer.example/fhir", NOW_US), pairs)
            .unwrap();
    let query = SearchQuery {
        search,
        filters: Vec::new(),
        within: AccessFilter::Everything,
        reaches: std::collections::BTreeMap::new(),
        count: 100,
        counting: MatchCountMode::All,
    };
    let found = db.search(&query).await.unwrap().unwrap();
    let day = |text: &fhir_resource::StoredResourceText| {
        text.parse_body().unwrap().resource["recorded"].as_str().unwrap()[..10].to_owned()
    };
    found.entries.iter().map(day).collect()
}
