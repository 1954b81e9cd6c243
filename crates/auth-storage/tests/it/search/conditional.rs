//! Conditional writes by search parameters: what the model finds decides what is written.

use std::sync::Arc;

use fhir_store::{
    ConditionalWriteCriteria, TransactionError, WriteAccess, WriteError, WriteOutcome, WritePrecondition,
};
use tokio::task::JoinSet;

use super::*;

async fn criteria(db: &AuthDatabase, of: &str, text: &str) -> ConditionalWriteCriteria {
    let (kind, catalog) = (kind(of), db.current_search_parameter_catalog().await.unwrap());
    let read = ConditionalWriteCriteria::parse_search_criteria(
        &catalog,
        &SearchParseContext::strict(&kind, OWN, NOW_US),
        text,
    );
    read.unwrap_or_else(|fault| panic!("{text}: {fault}"))
}

/// A write under a condition, by who reaches everything.
fn conditional(of: &str, operation: WriteOperation, criteria: ConditionalWriteCriteria) -> ResourceWrite {
    let precondition = WritePrecondition { if_none_exist: Some(criteria), ..WritePrecondition::default() };
    let chained = KINDS.into_iter().map(|name| (kind(name), AccessFilter::Everything)).collect();
    let reach = WriteAccess { chained, ..WriteAccess::default() };
    ResourceWrite { reach, ..ResourceWrite::conditional(kind(of), operation, precondition) }
}

async fn one(db: &AuthDatabase, write: ResourceWrite) -> Result<WriteOutcome, WriteError> {
    match db.transact_writes(vec![write], NOW_US).await.unwrap() {
        Ok(mut written) => Ok(written.pop().unwrap()),
        Err(TransactionError { cause, .. }) => Err(cause),
    }
}

told! {
    async fn a_condition_decides_as_the_model_says(home) {
        let db = home.open().await;
        db.set_fhir_base_url(OWN).await.unwrap();
        let mut seeded = Seeded(21);
        fill(&db, &mut seeded).await;
        let world = World::of(&db).await;
        let mut counts = [0; 3];
        for _ in 0..200 {
            let (of, mut text) = query(&mut seeded);
            if seeded.sometimes() {
                let ids: Vec<_> = world.resources_of_type(&kind(of)).into_iter().map(|stored| stored.key.id).collect();
                text = format!("_id={}&{}", seeded.one(&ids), if seeded.sometimes() { "" } else { &text });
            }
            let expected = world.expected(&read(&db, of, &text).await);
            let criteria = criteria(&db, of, &text).await;
            let created = one(&db, conditional(of, WriteOperation::Create(json!({})), criteria.clone())).await;
            let deleted = match &created {
                // It went in because nothing met the condition, and goes again.
                Ok(WriteOutcome::Created(stored)) => {
                    transact(&db, vec![ResourceWrite::unconditional(stored.key.clone(), WriteOperation::Delete)]).await;
                    one(&db, conditional(of, WriteOperation::Delete, criteria)).await
                }
                _ => one(&db, conditional(of, WriteOperation::Delete, criteria)).await,
            };
            let many = || WriteError::MultipleMatches { resource_type: kind(of) };
            match expected.len() {
                0 => {
                    assert!(matches!(created, Ok(WriteOutcome::Created(_))), "{of}?{text}: {created:?}");
                    assert_eq!(deleted, Ok(WriteOutcome::Absent), "{of}?{text}");
                }
                1 => {
                    let (Ok(WriteOutcome::Existing(found)), Ok(WriteOutcome::Deleted(gone))) = (created, deleted) else {
                        panic!("{of}?{text}")
                    };
                    assert_eq!((found.key.id.as_str(), &gone), (expected.first().unwrap().as_str(), &found), "{of}?{text}");
                    transact(&db, vec![ResourceWrite::unconditional(gone.key, WriteOperation::Put(gone.resource))]).await;
                }
                _ => assert_eq!((created, deleted), (Err(many()), Err(many())), "{of}?{text}"),
            }
            counts[expected.len().min(2)] += 1;
        }
        assert!(counts.iter().all(|count| *count > 10), "none, one and several: {counts:?}");
        assert_eq!(World::of(&db).await.0.len(), world.0.len());
        db.close().await;
    }

    async fn of_many_creates_under_one_condition_one_creates(home) {
        let db = Arc::new(home.open().await);
        let condition = criteria(&db, "Patient", "identifier=http://s|1&_has:Observation:patient:code:missing=false").await;
        let alone = criteria(&db, "Patient", "identifier=http://s|1").await;
        let body = json!({"identifier": [{"system": "http://s", "value": "1"}]});
        let mut tries = JoinSet::new();
        for _ in 0..12 {
            let (db, write) = (Arc::clone(&db), conditional("Patient", WriteOperation::Create(body.clone()), alone.clone()));
            tries.spawn(async move { one(&db, write).await });
        }
        let answers = tries.join_all().await;
        let created = answers.iter().filter(|answer| matches!(answer, Ok(WriteOutcome::Created(_)))).count();
        assert_eq!(created, 1);
        // A transaction sees what was there before it, and its own writes do not count.
        let second = one(&db, conditional("Patient", WriteOperation::Create(body), condition)).await;
        assert!(matches!(second, Ok(WriteOutcome::Created(_))), "nothing refers to a Patient: {second:?}");
        db.close().await;
    }

    async fn a_condition_that_cannot_be_answered_writes_nothing(home) {
        let db = home.open().await;
        transact(&db, vec![put("Patient/p", json!({"active": true})), put("Practitioner/d", json!({}))]).await;
        let chained = criteria(&db, "Patient", "general-practitioner:Practitioner.name=x").await;
        let closed = conditional("Patient", WriteOperation::Create(json!({})), chained);
        let closed = ResourceWrite { reach: WriteAccess::default(), ..closed };
        assert_eq!(one(&db, closed).await, Err(SearchExecutionError::Closed.into()));
        for table in ["search_type", "search_token"] {
            db.run_user_sql(&format!("DELETE FROM {table}")).await.unwrap().unwrap();
        }
        db.run_user_sql("UPDATE search_state SET revision = revision + 1").await.unwrap().unwrap();
        let unindexed = || async { criteria(&db, "Patient", "active=true").await };
        for operation in [WriteOperation::Create(json!({})), WriteOperation::Put(json!({})), WriteOperation::Delete] {
            let refused = one(&db, conditional("Patient", operation, unindexed().await)).await;
            let parameter = "Patient.active".to_owned();
            assert_eq!(refused, Err(SearchExecutionError::Indexing { parameter }.into()), "not as if nothing were there");
        }
        assert_eq!(db.list(&ListQuery::all_of_type(kind("Patient"))).await.unwrap().total, 1);
        db.close().await;
    }
}
