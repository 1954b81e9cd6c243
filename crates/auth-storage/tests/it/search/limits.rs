//! What a search may cost: its time, its values, and how little of the rest it holds up.

use std::time::Duration;

use fhir_store::{ConditionalWriteCriteria, StoreError, WriteAccess, WritePrecondition};

use super::*;
use crate::home::Home;

const PATIENTS: usize = 300;
/// Less than the search below takes on any machine.
const SHORT: Duration = Duration::from_millis(2);

/// Patients with names of some length.
async fn crowd(db: &AuthDatabase) {
    let names = |n: usize| json!({"name": [{"family": format!("{n}{}", "abc ".repeat(200))}]});
    let writes = (0..PATIENTS).map(|n| put(&format!("Patient/p{n}"), names(n)));
    transact(db, writes.collect()).await;
}

/// As many values as a search may have, none of which is in any name.
fn expensive() -> String {
    let values = |from: usize| (from..from + 500).map(|n| format!("z{n}")).collect::<Vec<_>>().join(",");
    format!("family:contains={}&name:contains={}", values(0), values(500))
}

fn of_caller(search: SearchRequest, within: AccessFilter) -> SearchQuery {
    SearchQuery { within, ..asking(search) }
}

/// A write that first searches for a Patient.
async fn create_unless_found(db: &AuthDatabase) -> ResourceWrite {
    let patient = kind("Patient");
    let request = SearchParseContext::strict(&patient, OWN, NOW_US);
    let criteria = ConditionalWriteCriteria::parse_search_criteria(
        &db.current_search_parameter_catalog().await.unwrap(),
        &request,
        "family=abc",
    )
    .unwrap();
    let precondition = WritePrecondition { if_none_exist: Some(criteria), ..WritePrecondition::default() };
    ResourceWrite {
        reach: WriteAccess::default(),
        ..ResourceWrite::conditional(patient, WriteOperation::Create(json!({})), precondition)
    }
}

/// Returns when no statement waits in a Postgres database, for long enough that one more would have arrived.
async fn nothing_waits_for_a_lock(home: &Home) {
    let waiting = "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let ended = async {
        let mut quiet = 0;
        while quiet < 5 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            quiet = if home.ask(waiting).await.is_empty() { quiet + 1 } else { 0 };
        }
    };
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("statements that nobody waits for end");
}

told! {
    async fn a_search_that_takes_too_long_is_ended_and_what_is_no_search_is_not_held_up(home) {
        crowd(&home.open().await).await;
        let db = home.open_limited(SHORT).await;
        let query = asking(read(&db, "Patient", &expensive()).await);
        for _ in 0..10 {
            assert!(matches!(db.search(&query).await, Err(StoreError::TooCostly(_))));
        }
        assert!(matches!(db.read(&"Patient/p1".parse().unwrap()).await, Ok(ResourceLookup::Found(_))));
        let long = home.open_limited(Duration::from_mins(10)).await;
        assert_eq!(found(&long, &query).await.total, Some(0), "with more time there is an answer");
    }

    async fn a_condition_that_takes_too_long_fails_its_write_and_no_other(home) {
        crowd(&home.open().await).await;
        let db = home.open_limited(SHORT).await;
        let patient = kind("Patient");
        let request = SearchParseContext::strict(&patient, OWN, NOW_US);
        let criteria = ConditionalWriteCriteria::parse_search_criteria(&db.current_search_parameter_catalog().await.unwrap(), &request, &expensive()).unwrap();
        let precondition = WritePrecondition { if_none_exist: Some(criteria), ..WritePrecondition::default() };
        let write = ResourceWrite {
            reach: WriteAccess::default(),
            ..ResourceWrite::conditional(kind("Patient"), WriteOperation::Create(json!({})), precondition)
        };
        for _ in 0..3 {
            let ended = db.transact_writes(vec![write.clone()], NOW_US).await;
            assert!(matches!(ended, Err(StoreError::TooCostly(_))), "{ended:?}");
            transact(&db, vec![put("Patient/p1", json!({"active": true}))]).await;
        }
    }

    async fn searches_that_were_given_up_free_their_connections(home) {
        let db = home.open_limited(Duration::from_secs(2)).await;
        crowd(&db).await;
        let query = asking(read(&db, "Patient", &expensive()).await);
        for _ in 0..8 {
            assert!(tokio::time::timeout(Duration::from_millis(1), db.search(&query)).await.is_err());
        }
        let query = asking(read(&db, "Patient", "_id=p1").await);
        // On Postgres a connection is free again when its statement's time is over.
        let mut tries = 0;
        let found = loop {
            match db.search(&query).await {
                Ok(found) => break found.unwrap(),
                Err(StoreError::Busy(_)) if tries < 20 => tries += 1,
                Err(error) => panic!("{error:?}"),
            }
        };
        assert_eq!(ids(&found), ["p1"]);
    }

    async fn what_a_caller_gave_up_ends_in_the_database_and_frees_its_connection(home) {
        let db = home.open_limited(Duration::from_mins(10)).await;
        crowd(&db).await;
        // SQLite has no lock that a reader waits for; there the readers are tested by themselves.
        let Some(held) = home.lock("search_string").await else { return };
        let (query, write) = (asking(read(&db, "Patient", "family=abc").await), create_unless_found(&db).await);
        for _ in 0..8 {
            let (searched, written) = tokio::join!(
                tokio::time::timeout(Duration::from_millis(20), db.search(&query)),
                tokio::time::timeout(Duration::from_millis(20), db.transact_writes(vec![write.clone()], NOW_US)),
            );
            assert!(searched.is_err() && written.is_err());
        }
        nothing_waits_for_a_lock(&home).await;
        drop(held);
        let query = asking(read(&db, "Patient", "_id=p1").await);
        assert_eq!(ids(&found(&db, &query).await), ["p1"]);
    }

    async fn a_statement_that_arrives_after_its_cancellation_is_cancelled_too(home) {
        crowd(&home.open().await).await;
        let opened = home.open_with_late_statements(Duration::from_mins(10)).await;
        let Some((db, _network)) = opened else { return };
        let (query, write) = (asking(read(&db, "Patient", "family=abc").await), create_unless_found(&db).await);
        found(&db, &query).await;
        let held = home.lock("search_string").await;
        assert!(tokio::time::timeout(Duration::from_millis(50), db.search(&query)).await.is_err());
        // A transaction has several statements, each of which is late.
        for late in 1..8 {
            let patience = Duration::from_millis(150 + late * 300);
            assert!(tokio::time::timeout(patience, db.transact_writes(vec![write.clone()], NOW_US)).await.is_err());
        }
        nothing_waits_for_a_lock(&home).await;
        drop(held);
    }

    async fn five_hundred_values_of_any_parameter_are_answered(home) {
        let db = home.open_limited(Duration::from_mins(10)).await;
        transact(&db, vec![
            put("Patient/p", json!({"name": [{"family": "v7"}], "gender": "male", "birthDate": "2020-01-01"})),
            put("Observation/o", json!({"status": "final", "subject": {"reference": "Patient/p"}})),
            put("Practitioner/d", json!({})),
        ]).await;
        for (of, name, value) in [
            ("Patient", "_id", "v"), ("Patient", "family", "v"), ("Patient", "family:contains", "v"),
            ("Patient", "family:exact", "v"), ("Patient", "gender", "v"), ("Patient", "gender:not", "v"),
            ("Patient", "identifier", "s|v"), ("Patient", "identifier:of-type", "s|t|v"), ("Patient", "birthdate", "ne19"),
            ("Patient", "general-practitioner", "Practitioner/v"), ("Patient", "_lastUpdated", "gt19"),
            ("Observation", "value-quantity", "lt"), ("Observation", "code-value-quantity", "c$"),
            ("Observation", "combo-code-value-quantity", "c$"), ("Observation", "combo-code-value-quantity:missing", ""),
            ("Observation", "subject:Patient.family", "v"), ("Observation", "subject:Patient.identifier", "v"),
            ("Patient", "_has:Observation:subject:code", "v"), ("Observation", "code:text", "v"),
        ] {
            let values: Vec<String> = match value {
                "" => vec!["true".to_owned()],
                "gt19" => (0..100).map(|n| format!("{value}{:02}", n % 100)).collect(),
                // The whole value of a parameter that begins with `_` has 1,000 bytes at most.
                value if name.starts_with("_has") => (0..200).map(|n| format!("{value}{n}")).collect(),
                "ne19" => (0..500).map(|n| format!("{value}{:02}", n % 100)).collect(),
                value => (0..500).map(|n| format!("{value}{n}")).collect(),
            };
            let query = format!("{name}={}", values.join(","));
            let beside = if of == "Patient" { "name=nobody" } else { "category=none" };
            for query in [query.clone(), format!("{query}&{beside}")] {
                let search = read(&db, of, &query).await;
                let found = db.search(&asking(search)).await;
                assert!(matches!(found, Ok(Ok(_))), "{name}: {found:?}");
            }
        }
    }

    async fn a_patients_compartment_is_searched_resource_by_resource(home) {
        let db = home.open().await;
        let condition = |n: usize| json!({
            "subject": {"reference": format!("Patient/p{}", n % 100)}, "note": [{"text": "n"}],
            "code": {"text": format!("word{n}"), "coding": [{"code": format!("c{n}"), "display": format!("word{n}")}]},
        });
        let writes = (0..400).map(|n| put(&format!("Condition/c{n}"), condition(n)));
        transact(&db, writes.collect()).await;
        let compartment = Some(PatientCompartment::of_patient("p7".parse().unwrap(), OWN));
        let region = || AccessFilterBranch { compartment: compartment.clone(), criteria: Vec::new() };
        for within in [AccessFilter::union_of_branches(vec![region()]), AccessFilter::union_of_branches(vec![region(), region()])] {
            for query in ["code:text=word,other", "code=c7,c107,c8", "subject=Patient/p7,Patient/p8&code:text=word"] {
                let text = query.contains(":text");
                let query = of_caller(read(&db, "Condition", query).await, within.clone());
                let plan = db.explain_search_plan(&query).await.unwrap();
                let found = found(&db, &query).await;
                assert!(ids(&found).iter().all(|id| ["c7", "c107", "c207", "c307"].contains(id)), "{found:?}");
                assert!(ids(&found).len() > 1);
                // On Postgres the statistics decide; SQLite has none and goes by what the statement says.
                if !home.is_postgres() {
                    let has = |words: &str| plan.iter().any(|step| step.contains(words));
                    assert!(has("(parameter=? AND target=?"), "{plan:#?}");
                    assert!(!text || has("search_string_resource (parameter=? AND id=?"), "{plan:#?}");
                }
            }
        }
    }
}
