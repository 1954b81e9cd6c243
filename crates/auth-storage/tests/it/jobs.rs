//! Jobs: taken once, gone on with, and what they make.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use auth_storage::{AuthDatabase, JobQueue, JobQueueConfig};
use fhir_resource::ResourceId;
use fhir_store::{ResourceLookup, ResourceStore as _, ResourceWrite, WriteOperation};
use payer_exchange::bulk_export::{ElementSelection, ExportSubjects, ExportWork, ExportedType};
use payer_exchange::consent::ExportConsentRule;
use payer_exchange::jobs::{Job, JobEndOutcome, JobState, JobStore as _, JobWork, NewJob, OPEN_JOBS_PER_OWNER_MAX};
use payer_exchange::member_match::{MatchWork, MemberIdentifierRule, SubmittedMember};
use payer_exchange::{MatchRequesterKind, RequestingOrganization};
use serde_json::{Value, json};

use crate::home::{NOW_US, told};

const BASE: &str = "https://payer.example/fhir";
const OWNER: &str = "partner";
/// A little longer than a lease.
const LEASE_US: i64 = 31_000_000;

/// A clock that moves when told.
#[derive(Clone)]
struct Ticker(Arc<AtomicI64>);

impl Ticker {
    fn new() -> Self {
        Self(Arc::new(AtomicI64::new(NOW_US)))
    }

    fn node(&self, db: &AuthDatabase, at_once: usize) -> JobQueue {
        let ticker = self.0.clone();
        let now_us = Arc::new(move || ticker.load(Ordering::SeqCst));
        JobQueue::start(
            db.clone(),
            JobQueueConfig { fhir_base: BASE.to_owned(), correct_format: true, at_once, now_us },
        )
    }

    fn wait(&self, us: i64) {
        self.0.fetch_add(us, Ordering::SeqCst);
    }
}

fn export(types: &[&str], subjects: ExportSubjects) -> NewJob {
    let types = types
        .iter()
        .map(|kind| ExportedType {
            resource_type: (*kind).to_owned(),
            within: Vec::new(),
            elements: Vec::new(),
            ownership: None,
        })
        .collect();
    let work =
        ExportWork { types, subjects, since_us: None, until_us: None, consent: None, shape: ElementSelection::Whole };
    NewJob {
        owner: OWNER.to_owned(),
        url: "https://payer.example/fhir/$export".to_owned(),
        work: JobWork::Export(work),
    }
}

async fn enqueue(jobs: &JobQueue, job: NewJob, now_us: i64) -> ResourceId {
    jobs.enqueue(job, now_us).await.unwrap().unwrap()
}

/// The job once it has ended.
async fn ended(jobs: &JobQueue, id: &ResourceId) -> Job {
    let ended = async {
        loop {
            let job = jobs.find_job(id, OWNER).await.unwrap().unwrap();
            if matches!(job.state, JobState::Completed | JobState::Failed) {
                return job;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_mins(2), ended).await.unwrap()
}

/// The lines of a file.
async fn lines(jobs: &JobQueue, id: &ResourceId, file: &str) -> Vec<Value> {
    let mut lines = Vec::new();
    let mut number = 0;
    while let Some(part) = jobs.read_file_part(id, file, number).await.unwrap() {
        lines.extend(String::from_utf8(part).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()));
        number += 1;
    }
    lines
}

async fn put(db: &AuthDatabase, key: &str, resource: Value, now_us: i64) {
    let write = ResourceWrite::unconditional(key.parse().unwrap(), WriteOperation::Put(resource));
    db.transact_writes(vec![write], now_us).await.unwrap().unwrap();
}

/// Enough resources for several parts.
async fn many(db: &AuthDatabase, count: usize) {
    let text = "x".repeat(4000);
    for some in (0..count).collect::<Vec<_>>().chunks(500) {
        let write = |n: &usize| {
            let body =
                json!({"text": {"div": text}, "subject": {"resourceType": "Patient", "id": format!("p{}", n % 3)}});
            ResourceWrite::unconditional(format!("Observation/o{n:05}").parse().unwrap(), WriteOperation::Put(body))
        };
        db.transact_writes(some.iter().map(write).collect(), NOW_US - 1).await.unwrap().unwrap();
    }
}

fn person(family: &str) -> Value {
    json!({"name": [{"family": family, "given": ["Ann"]}], "birthDate": "1980-01-01", "gender": "female"})
}

fn member(family: &str, status: &str) -> SubmittedMember {
    let sensitive = "http://hl7.org/fhir/us/davinci-hrex/StructureDefinition-hrex-consent.html#sensitive";
    let role =
        json!({"coding": [{"system": "http://terminology.hl7.org/CodeSystem/v3-ParticipationType", "code": "IRCP"}]});
    let consent = json!({
        "resourceType": "Consent", "status": status, "policy": [{"uri": sensitive}],
        "provision": {
            "period": {"start": "2000"}, "actor": [{"role": role, "reference": {"reference": "Organization/payer-b"}}],
        },
    });
    let coverage = json!({"resourceType": "Coverage", "subscriberId": format!("sub-{family}")});
    SubmittedMember { patient: person(family), coverage, consent: Some(consent) }
}

fn requester() -> RequestingOrganization {
    let organization = Some("payer-b".to_owned());
    RequestingOrganization { system: "urn:npi".to_owned(), value: "1".to_owned(), organization }
}

fn matching(members: Vec<SubmittedMember>) -> NewJob {
    let work = MatchWork {
        kind: MatchRequesterKind::Payer,
        requester: requester(),
        members,
        within: Vec::new(),
        identifier: MemberIdentifierRule::Required,
    };
    NewJob { owner: OWNER.to_owned(), url: String::new(), work: JobWork::Match(Box::new(work)) }
}

/// Patients with a Coverage each, in either spelling of its beneficiary.
async fn people(db: &AuthDatabase, count: usize) {
    for n in 0..count {
        put(db, &format!("Patient/p{n}"), person(&format!("F{n}")), NOW_US - 1).await;
        let beneficiary = match n % 2 {
            0 => json!({"resourceType": "Patient", "id": format!("p{n}")}),
            _ => json!({"reference": format!("{BASE}/Patient/p{n}")}),
        };
        let coverage = json!({"subscriberId": format!("sub-F{n}"), "beneficiary": beneficiary});
        put(db, &format!("Coverage/c{n}"), coverage, NOW_US - 1).await;
    }
}

fn references(group: &Value) -> Vec<&str> {
    let members = group["member"].as_array().into_iter().flatten();
    members.map(|member| member["entity"]["reference"].as_str().unwrap()).collect()
}

told! {
    async fn an_export_is_every_resource_once_as_it_was_when_it_was_asked_for(home) {
        let (db, ticker) = (home.open().await, Ticker::new());
        many(&db, 700).await;
        put(&db, "Patient/p0", json!({"gender": "male"}), NOW_US - 1).await;
        let queue = ticker.node(&db, 0);
        let id = enqueue(&queue, export(&["Patient", "Observation", "Device"], ExportSubjects::Patients), NOW_US).await;
        put(&db, "Patient/p0", json!({"gender": "female"}), NOW_US + 1).await;
        put(&db, "Patient/later", json!({}), NOW_US + 1).await;
        let node = ticker.node(&db, 1);
        let job = ended(&node, &id).await;
        assert_eq!(job.state, JobState::Completed);
        let files: Vec<_> = job.files.iter().map(|file| (file.name.as_str(), file.resources)).collect();
        assert_eq!(files, [("Observation", 700), ("Patient", 1)]);
        let [patient] = lines(&node, &id, "Patient").await.try_into().unwrap();
        assert_eq!((&patient["gender"], &patient["id"]), (&json!("male"), &json!("p0")));
        let observations = lines(&node, &id, "Observation").await;
        let ids: Vec<_> = observations.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect();
        assert_eq!(ids, (0..700).map(|n| format!("o{n:05}")).collect::<Vec<_>>());
        assert_eq!(observations[0]["subject"], json!({"reference": "Patient/p0"}), "as FHIR spells it");
        assert!(job.files[0].size_bytes > 2_000_000, "more than one part");
        assert!(job.files[0].packed_bytes < job.files[0].size_bytes / 10, "{:?}", job.files[0]);
        node.stop_and_release_jobs().await;
    }

    async fn a_job_whose_node_is_gone_is_gone_on_with_and_nothing_is_there_twice(home) {
        let (db, ticker) = (home.open().await, Ticker::new());
        many(&db, 2000).await;
        let node = ticker.node(&db, 1);
        let id = enqueue(&node, export(&["Observation"], ExportSubjects::Patients), NOW_US).await;
        while node.find_job(&id, OWNER).await.unwrap().unwrap().done == 0 {
            tokio::task::yield_now().await;
        }
        // Its tasks end where they are, as with the process.
        drop(node);
        ticker.wait(LEASE_US);
        let other = ticker.node(&home.open().await, 1);
        let job = ended(&other, &id).await;
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        for one in lines(&other, &id, "Observation").await {
            *times.entry(one["id"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        assert_eq!((times.len(), job.done), (2000, 2000));
        assert!(times.values().all(|times| *times == 1));
        let events = "SELECT id FROM auditevent_history";
        assert_eq!(home.ask(events).await, [id.to_string()], "that it ended is told once");
        other.stop_and_release_jobs().await;
    }

    async fn many_nodes_do_each_job_once(home) {
        let (db, ticker) = (home.open().await, Ticker::new());
        many(&db, 20).await;
        let queue = ticker.node(&db, 0);
        let mut ids = Vec::new();
        for _ in 0..6 {
            ids.push(enqueue(&queue, export(&["Observation"], ExportSubjects::Everything), NOW_US).await);
        }
        let nodes = [ticker.node(&home.open().await, 2), ticker.node(&home.open().await, 2)];
        for id in &ids {
            assert_eq!(ended(&queue, id).await.state, JobState::Completed);
            assert_eq!(lines(&queue, id, "Observation").await.len(), 20);
        }
        for node in nodes {
            node.stop_and_release_jobs().await;
        }
    }

    async fn a_job_is_its_owners_and_ends_with_all_it_made(home) {
        let (db, ticker) = (home.open().await, Ticker::new());
        many(&db, 5).await;
        let node = ticker.node(&db, 1);
        let id = enqueue(&node, export(&["Observation"], ExportSubjects::Everything), NOW_US).await;
        ended(&node, &id).await;
        assert_eq!(node.find_job(&id, "other").await.unwrap(), None);
        assert_eq!(node.cancel_or_delete_job(&id, "other", NOW_US).await.unwrap(), None);
        assert_eq!(node.cancel_or_delete_job(&id, OWNER, NOW_US).await.unwrap(), Some(JobEndOutcome::Deleted));
        assert_eq!(node.cancel_or_delete_job(&id, OWNER, NOW_US).await.unwrap(), None);
        let left = "SELECT CAST((SELECT count(*) FROM bulk_job) + (SELECT count(*) FROM bulk_job_part) AS TEXT)";
        assert_eq!(home.ask(left).await, ["0"]);
        node.stop_and_release_jobs().await;

        let queue = ticker.node(&db, 0);
        let waiting = enqueue(&queue, export(&["Observation"], ExportSubjects::Everything), NOW_US).await;
        assert_eq!(queue.cancel_or_delete_job(&waiting, OWNER, NOW_US).await.unwrap(), Some(JobEndOutcome::Cancelled));
        assert_eq!(queue.find_job(&waiting, OWNER).await.unwrap(), None);
        for _ in 0..OPEN_JOBS_PER_OWNER_MAX {
            enqueue(&queue, export(&["Observation"], ExportSubjects::Everything), NOW_US).await;
        }
        let one_more = queue.enqueue(export(&["Observation"], ExportSubjects::Everything), NOW_US).await.unwrap();
        assert!(one_more.is_err());
    }

    async fn what_ended_before_a_moment_is_forgotten_and_nothing_else(home) {
        let (db, ticker) = (home.open().await, Ticker::new());
        many(&db, 5).await;
        let node = ticker.node(&db, 1);
        let old = enqueue(&node, export(&["Observation"], ExportSubjects::Everything), NOW_US).await;
        ended(&node, &old).await;
        ticker.wait(10);
        let new = enqueue(&node, export(&["Observation"], ExportSubjects::Everything), NOW_US + 10).await;
        ended(&node, &new).await;
        assert_eq!(node.delete_jobs_ended_before(NOW_US + 10).await.unwrap(), 1);
        assert_eq!(node.find_job(&old, OWNER).await.unwrap(), None);
        assert!(node.find_job(&new, OWNER).await.unwrap().is_some());
        node.stop_and_release_jobs().await;
    }

    async fn a_group_of_a_provider_ends_with_its_time_and_goes_three_months_later(home) {
        let (db, ticker) = (home.open().await, Ticker::new());
        people(&db, 1).await;
        let node = ticker.node(&db, 1);
        let asked = |kind| {
            let mut job = matching(vec![member("F0", "active")]);
            let JobWork::Match(work) = &mut job.work else { panic!("no match") };
            work.kind = kind;
            job
        };
        let provider = enqueue(&node, asked(MatchRequesterKind::Provider), NOW_US).await;
        let payer = enqueue(&node, asked(MatchRequesterKind::Payer), NOW_US).await;
        for id in [&provider, &payer] {
            assert_eq!(ended(&node, id).await.state, JobState::Completed);
        }
        let active = "SELECT id || ' ' || CAST(resource ->> 'active' AS TEXT) FROM \"group\" ORDER BY id";
        let sweep = async |days: i64| {
            ticker.wait(days * 24 * 3600 * 1_000_000);
            node.delete_jobs_ended_before(0).await.unwrap();
            let mut told = home.ask(active).await;
            told.retain(|group| group.contains(provider.as_str()));
            told.iter().map(|group| group.ends_with('1') || group.ends_with("true")).collect::<Vec<_>>()
        };
        assert_eq!(sweep(29).await, [true]);
        assert_eq!(sweep(3).await, [false], "its time is over");
        assert_eq!(sweep(89).await, [false]);
        assert!(sweep(2).await.is_empty(), "three months later");
        assert_eq!(home.ask(active).await.len(), 1, "a payer's Group has no end");
        node.stop_and_release_jobs().await;
    }

    async fn a_match_puts_everybody_into_one_group_and_keeps_the_consents(home) {
        let (db, ticker) = (home.open().await, Ticker::new());
        people(&db, 3).await;
        let node = ticker.node(&db, 1);
        let broken = SubmittedMember { patient: json!(1), coverage: json!(2), consent: None };
        let other_number = SubmittedMember { coverage: json!({"subscriberId": "sub-F0"}), ..member("F2", "active") };
        let members = vec![member("F0", "active"), member("F1", "active"), broken, member("F2", "inactive"), other_number];
        let id = enqueue(&node, matching(members), NOW_US).await;
        assert_eq!(ended(&node, &id).await.files.len(), 1, "what a job keeps for itself is no file");
        let [answer] = lines(&node, &id, "Parameters").await.try_into().unwrap();
        let group = |index: usize| answer["parameter"][index]["resource"].clone();
        assert_eq!(references(&group(0)), ["Patient/p0", "Patient/p1"]);
        assert_eq!(references(&group(1)), ["#1", "#2"]);
        assert_eq!(references(&group(2)), ["#1"], "by what was sent, and not by our id");
        let key = format!("Group/{id}-matched").parse().unwrap();
        let ResourceLookup::Found(stored) = db.read(&key).await.unwrap() else { panic!("no Group") };
        assert_eq!(stored.resource["characteristic"][0]["valueReference"]["id"], "payer-b", "as we spell it");
        let kept = "SELECT id FROM consent ORDER BY id";
        assert_eq!(home.ask(kept).await.len(), 2);

        // The export of that Group is theirs who allow it, as it is asked for.
        put(&db, "Observation/a", json!({"subject": {"reference": "Patient/p0"}}), NOW_US - 1).await;
        put(&db, "Observation/b", json!({"subject": {"reference": "Patient/p2"}}), NOW_US - 1).await;
        let these = ExportSubjects::These(["p0", "p1", "p2"].map(str::to_owned).into());
        let mut asked = export(&["Observation"], these);
        let JobWork::Export(work) = &mut asked.work else { panic!("no export") };
        work.consent = Some(ExportConsentRule::OptIn(requester()));
        let exported = enqueue(&node, asked, NOW_US).await;
        ended(&node, &exported).await;
        assert_eq!(lines(&node, &exported, "Observation").await.len(), 1);

        assert_eq!(node.cancel_or_delete_job(&id, OWNER, NOW_US).await.unwrap(), Some(JobEndOutcome::Deleted));
        assert!(matches!(db.read(&key).await.unwrap(), ResourceLookup::Deleted { .. }));
        assert!(home.ask(kept).await.is_empty());
        node.stop_and_release_jobs().await;
    }

    async fn a_match_that_a_node_left_is_gone_on_with_member_by_member(home) {
        let (db, ticker) = (home.open().await, Ticker::new());
        people(&db, 10).await;
        let members: Vec<SubmittedMember> = (0..900).map(|n| member(&format!("F{n}"), "active")).collect();
        let node = ticker.node(&db, 1);
        let id = enqueue(&node, matching(members), NOW_US).await;
        while node.find_job(&id, OWNER).await.unwrap().unwrap().done == 0 {
            tokio::task::yield_now().await;
        }
        drop(node);
        ticker.wait(LEASE_US);
        let other = ticker.node(&home.open().await, 1);
        ended(&other, &id).await;
        let [answer] = lines(&other, &id, "Parameters").await.try_into().unwrap();
        let quantity = |index: usize| answer["parameter"][index]["resource"]["quantity"].clone();
        assert_eq!((quantity(0), quantity(1)), (json!(10), json!(890)));
        assert_eq!(home.ask("SELECT id FROM group_history").await.len(), 2, "each Group was written once");
        other.stop_and_release_jobs().await;
    }
}
