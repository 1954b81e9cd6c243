//! What a search walks: the plans of both engines for the searches that clients send, on tables of tens of thousands of
//! rows.
//!
//! A step of a plan either looks rows up, by the key of an index down to a value, or it walks: it begins somewhere and
//! reads until it is stopped. Only what ends with the page may walk, and no walk may be sorted, because sorting reads
//! it to its end.

use std::collections::BTreeMap;
use std::time::Duration;

use auth_storage::AuthDatabase;
use fhir_resource::{PatientCompartment, ResourceId, ResourceType};
use fhir_search::{SearchParseContext, parse_search};
use fhir_store::{
    AccessFilter, AccessFilterBranch, MatchCountMode, ResourceStore as _, ResourceWrite, RevincludeQuery, SearchQuery,
    SearchStore as _, WriteOperation,
};
use serde_json::{Value, json};

use crate::home::{Home, NOW_US, told};

const OWN: &str = "https://payer.example/fhir";
const PATIENTS: usize = 150;
const OBSERVATIONS: usize = 900;
const OTHERS: usize = 150;
/// Documents are as long as real ones: a table of few pages is read as a whole with good reason.
const WORDS: &str = "Nothing else is to be said of it. ";
/// Resources of one write; each is an hour after the one before.
const BATCH: usize = 250;

/// Makes fifteen more of each row, with other ids: what a server with more members has.
macro_rules! more {
    ($table:literal, $columns:literal, $values:literal) => {
        concat!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 15) INSERT INTO ",
            $table,
            " (",
            $columns,
            ") SELECT ",
            $values,
            " FROM ",
            $table,
            " CROSS JOIN n"
        )
    };
}

const MORE: [&str; 14] = [
    more!("patient", "id, txid, ts, resource", "n || '-' || id, txid, ts, resource"),
    more!("observation", "id, txid, ts, resource", "n || '-' || id, txid, ts, resource"),
    more!("condition", "id, txid, ts, resource", "n || '-' || id, txid, ts, resource"),
    more!("encounter", "id, txid, ts, resource", "n || '-' || id, txid, ts, resource"),
    more!("medicationrequest", "id, txid, ts, resource", "n || '-' || id, txid, ts, resource"),
    more!("immunization", "id, txid, ts, resource", "n || '-' || id, txid, ts, resource"),
    more!("provenance", "id, txid, ts, resource", "n || '-' || id, txid, ts, resource"),
    more!("valueset", "id, txid, ts, resource", "n || '-' || id, txid, ts, resource"),
    more!("auditevent", "id, txid, ts, resource", "n || '-' || id, txid, ts, resource"),
    more!("search_token", "parameter, code, id, system", "parameter, code, n || '-' || id, system"),
    more!("search_reference", "parameter, target, id, kind", "parameter, n || '-' || target, n || '-' || id, kind"),
    more!("search_string", "parameter, folded, id, exact", "parameter, folded, n || '-' || id, exact"),
    more!("search_range", "parameter, id, low, high", "parameter, n || '-' || id, low, high"),
    more!(
        "search_quantity",
        "parameter, id, low, high, code, system",
        "parameter, n || '-' || id, low, high, code, system"
    ),
];

/// The table of texts, whose primary key has the order of names.
const TEXTS: &str = "search_string";

/// What may be walked for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walks {
    /// Nothing: every step looks something up.
    Nothing,
    /// This index, in its order.
    Index(&'static str),
    /// The ids of the type in their order.
    Ids,
}

use Walks::{Ids, Index, Nothing};

/// The shapes of searches that clients send, those that US Core requires of servers among them.
const SHAPES: [(&str, &str, Walks); 62] = [
    // A patient's record: its rows lead to everything.
    ("Observation", "patient=p7", Nothing),
    ("Observation", "subject=Patient/p7", Nothing),
    ("Observation", "patient=p7&category=laboratory", Nothing),
    ("Observation", "category=laboratory&patient=p7", Nothing),
    ("Observation", "patient=p7&category=laboratory&date=ge2020-01-01", Nothing),
    ("Observation", "patient=p7&code=http://loinc.example|c7", Nothing),
    ("Observation", "patient=p7&code=c7,c8&date=ge2020-01-01", Nothing),
    ("Observation", "patient=p7&category=laboratory&status=final", Nothing),
    ("Observation", "patient=p7&_lastUpdated=ge2020-01-01", Nothing),
    ("Observation", "patient=p7&code:not=c7", Nothing),
    ("Observation", "patient=p7&value-quantity=gt5", Nothing),
    ("Observation", "patient=p7&value-quantity:missing=true", Nothing),
    ("Observation", "patient=p7&_has:Provenance:target:recorded=ge2020", Nothing),
    ("Observation", "patient=p7&code-value-quantity=c7$gt2", Nothing),
    ("Condition", "patient=p7&clinical-status=active", Nothing),
    ("Condition", "patient=p7&category=encounter-diagnosis", Nothing),
    ("Condition", "patient=p7&onset-date=ge2020", Nothing),
    ("MedicationRequest", "patient=p7&intent=order&status=active", Nothing),
    ("MedicationRequest", "patient=p7&intent=order&authoredon=ge2020", Nothing),
    ("Encounter", "patient=p7&date=ge2020", Nothing),
    ("Encounter", "patient=p7&type=http://cpt.example|99213", Nothing),
    ("Encounter", "patient=p7&status=finished", Nothing),
    ("Immunization", "patient=p7&date=ge2020&status=completed", Nothing),
    ("Observation", "patient=p7&_sort=-date", Nothing),
    ("Observation", "patient=p7&category=laboratory&_sort=-date", Nothing),
    ("Observation", "patient=p7&date=ge2020&_sort=date", Nothing),
    ("Observation", "patient=p7&_sort=_lastUpdated", Nothing),
    // Of a type, in an order: its index is walked until the page is full.
    ("Observation", "_sort=-date", Index("search_range_high")),
    ("Observation", "_sort=date", Index("search_range_low")),
    ("Observation", "status=final&_sort=-date", Index("search_range_high")),
    ("Observation", "category=laboratory&status=final&_sort=-date", Index("search_range_high")),
    ("Observation", "date=ge2018&_sort=-date", Index("search_range_high")),
    ("Observation", "date=ge2018", Index("search_range_high")),
    ("Observation", "date=lt2022", Index("search_range_low")),
    ("Observation", "_sort=-_lastUpdated", Index("observation_at")),
    ("Observation", "_lastUpdated=ge2020&_sort=-_lastUpdated", Index("observation_at")),
    ("Patient", "_sort=family", Index(TEXTS)),
    // By codes: the rarest leads, and where all have many, any of them in the order of the ids.
    ("Observation", "code=http://loinc.example|c7", Nothing),
    ("Observation", "category=laboratory&code=c7", Nothing),
    ("Observation", "code=c7&category=laboratory", Nothing),
    ("Observation", "category=laboratory&status=final", Nothing),
    ("Observation", "category=laboratory&date=ge2018", Nothing),
    ("Observation", "code=c7&_sort=-date", Nothing),
    ("Observation", "code=c7,c8,c9", Nothing),
    ("Observation", "date=2017-05-17", Nothing),
    // Patients, and through other resources.
    ("Patient", "identifier=http://payer.example/member|m7", Nothing),
    ("Patient", "name=name123&birthdate=1980-04-08", Nothing),
    ("Patient", "family=name1&gender=female", Nothing),
    ("Patient", "_has:Observation:patient:code=c7", Nothing),
    ("Patient", "_has:Observation:patient:status=final", Ids),
    ("Observation", "patient.identifier=http://payer.example/member|m7", Nothing),
    ("Observation", "subject:Patient.active=true", Ids),
    // What an auditor asks for.
    ("AuditEvent", "agent=Client/c7", Nothing),
    ("AuditEvent", "agent=Client/c7&date=ge2017&_sort=-date", Nothing),
    ("AuditEvent", "patient=Patient/p7", Nothing),
    ("AuditEvent", "entity=Patient/p7&_sort=-date", Nothing),
    ("AuditEvent", "type=rest&outcome=8", Nothing),
    ("AuditEvent", "type=rest&date=ge2018", Nothing),
    ("AuditEvent", "outcome=0&_sort=-date", Index("search_range_high")),
    ("AuditEvent", "date=ge2018", Index("search_range_high")),
    ("AuditEvent", "_sort=-date", Index("search_range_high")),
    ("AuditEvent", "_lastUpdated=ge2020&_sort=-_lastUpdated", Index("auditevent_at")),
];

/// Searches by one parameter of each kind, which finds little.
const OTHER_KINDS: [(&str, &str); 8] = [
    ("Observation", "_id=o7"),
    ("Patient", "family:exact=Name123"),
    ("Observation", "value-quantity=7|http://unitsofmeasure.org|mg"),
    ("ValueSet", "url=http://payer.example/sets/7"),
    ("ValueSet", "url:below=http://payer.example/sets/7"),
    ("Observation", "code-value-quantity=http://loinc.example|c7$7"),
    ("Observation", "combo-code-value-quantity=http://loinc.example|c7$7"),
    ("Observation", "subject:Patient.family=name123"),
];

fn kind(name: &str) -> ResourceType {
    name.parse().unwrap()
}

fn observation(n: usize) -> Value {
    let (year, month, day) = (2016 + n % 9, 1 + n % 12, 1 + n % 28);
    let category = if n.is_multiple_of(4) { "vital-signs" } else { "laboratory" };
    json!({
        "status": "final",
        "category": [{"coding": [{"system": "http://categories.example", "code": category}]}],
        "code": {"coding": [{"system": "http://loinc.example", "code": format!("c{}", n / 5)}]},
        "subject": {"reference": format!("Patient/p{}", n % PATIENTS)},
        "effectiveDateTime": format!("{year}-{month:02}-{day:02}"),
        "valueQuantity": {"value": n, "system": "http://unitsofmeasure.org", "code": "mg"},
        "note": [{"text": WORDS.repeat(5)}],
    })
}

fn patient(n: usize) -> Value {
    json!({
        "active": true,
        "gender": if n.is_multiple_of(2) { "female" } else { "male" },
        "birthDate": format!("{}-{:02}-{:02}", 1940 + n % 60, 1 + n % 12, 1 + n % 28),
        "identifier": [{"system": "http://payer.example/member", "value": format!("m{n}")}],
        "name": [{"family": format!("Name{n}"), "given": [format!("Given{n}")]}],
        "address": [{"text": WORDS.repeat(5)}],
    })
}

/// What else a patient's record has, each with an id and a body.
fn record(n: usize) -> [(&'static str, Value); 7] {
    let subject = json!({"reference": format!("Patient/p{}", n % PATIENTS)});
    let day = format!("20{:02}-{:02}-{:02}", 16 + n % 9, 1 + n % 12, 1 + n % 28);
    [
        (
            "Condition",
            json!({
                "subject": subject, "onsetDateTime": day,
                "clinicalStatus": {"coding": [{"system": "http://clinical.example", "code": "active"}]},
                "category": [{"coding": [{"code": "encounter-diagnosis"}]}],
            }),
        ),
        (
            "Encounter",
            json!({
                "status": "finished", "subject": subject, "period": {"start": day, "end": day},
                "type": [{"coding": [{"system": "http://cpt.example", "code": "99213"}]}],
            }),
        ),
        (
            "MedicationRequest",
            json!({
                "status": "active", "intent": "order", "subject": subject, "authoredOn": day,
            }),
        ),
        ("Immunization", json!({"status": "completed", "patient": subject, "occurrenceDateTime": day})),
        (
            "Provenance",
            json!({
                "target": [{"reference": format!("Observation/o{n}")}], "recorded": "2021-01-01T00:00:00Z",
            }),
        ),
        ("ValueSet", json!({"status": "active", "url": format!("http://payer.example/sets/{n}")})),
        (
            "AuditEvent",
            json!({
                "type": {"system": "http://terminology.hl7.org/CodeSystem/audit-event-type", "code": "rest"},
                "recorded": format!("{day}T10:00:00Z"), "outcome": if n.is_multiple_of(50) { "8" } else { "0" },
                "agent": [{"who": {"reference": format!("Client/c{}", n % 20)}, "requestor": true}],
                "source": {"observer": {"display": "auth-server"}}, "entity": [{"what": subject}],
            }),
        ),
    ]
}

async fn fill(home: &Home, db: &AuthDatabase) {
    let of = |kind: &str, id: String, body: Value| {
        ResourceWrite::unconditional(format!("{kind}/{id}").parse().unwrap(), WriteOperation::Put(body))
    };
    let patients = (0..PATIENTS).map(|n| of("Patient", format!("p{n}"), patient(n)));
    let observations = (0..OBSERVATIONS).map(|n| of("Observation", format!("o{n}"), observation(n)));
    let others = (0..OTHERS).flat_map(|n| record(n).map(|(kind, body)| of(kind, format!("x{n}"), body)));
    let all: Vec<ResourceWrite> = patients.chain(observations).chain(others).collect();
    for (hour, writes) in (0_i64..).zip(all.chunks(BATCH)) {
        db.transact_writes(writes.to_vec(), NOW_US + hour * 3_600_000_000).await.unwrap().unwrap();
    }
    for more in MORE {
        home.ask(more).await;
    }
}

async fn query(db: &AuthDatabase, of: &str, text: &str) -> SearchQuery {
    let of = kind(of);
    let catalog = db.current_search_parameter_catalog().await.unwrap();
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(text.as_bytes()).into_owned().collect();
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let parsed = parse_search(&catalog, &SearchParseContext::strict(&of, OWN, NOW_US), pairs);
    let search = parsed.unwrap_or_else(|fault| panic!("{text}: {fault}")).0;
    let reaches: BTreeMap<ResourceType, AccessFilter> =
        ["Patient", "Observation", "Provenance"].map(|name| (kind(name), AccessFilter::Everything)).into();
    SearchQuery {
        search,
        filters: Vec::new(),
        within: AccessFilter::Everything,
        reaches,
        count: 20,
        counting: MatchCountMode::UpTo(200),
    }
}

/// A step of a plan that reads rows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Read {
    /// Its line, with the conditions.
    line: String,
    depth: usize,
    /// The line it is at.
    at: usize,
}

fn depth_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The steps that walk.
fn walks(home: &Home, plan: &[String]) -> Vec<Read> {
    let reads = plan.iter().enumerate().filter_map(|(at, line)| {
        let read = if home.is_postgres() { read_of_postgres(plan, at) } else { read_of_sqlite(line) };
        read.map(|line| Read { depth: depth_of(&plan[at]), line, at })
    });
    reads.filter(|read| is_walk(&read.line)).collect()
}

/// `SEARCH d USING COVERING INDEX search_range_high (parameter=? AND high>?)`
fn read_of_sqlite(line: &str) -> Option<String> {
    let line = line.trim();
    let is_table = |line: &str| {
        line.contains(" USING ")
            || line.strip_prefix("SCAN ").is_some_and(|name| name.len() == 1 && "tioxrsb".contains(name))
    };
    let is_read = line.starts_with("SEARCH ") || (line.starts_with("SCAN ") && is_table(line));
    (is_read && !line.contains("AUTOMATIC") && !line.contains("VIRTUAL TABLE")).then(|| line.to_owned())
}

/// `Index Only Scan using search_range_high on search_range d`, and its condition.
fn read_of_postgres(plan: &[String], at: usize) -> Option<String> {
    let line = plan[at].trim().trim_start_matches("->").trim();
    if !line.contains(" Scan ")
        || line.starts_with("CTE")
        || line.starts_with("Subquery")
        || line.starts_with("Function")
    {
        return None;
    }
    if line.contains(" on search_state") {
        return None;
    }
    let condition = plan[at + 1..].iter().take(2).map(|line| line.trim()).find(|line| line.starts_with("Index Cond:"));
    Some(format!("{line} {}", condition.unwrap_or_default()))
}

/// Whether a step reads from somewhere on: it has less than two columns that are equal to something, and is not
/// bounded at both ends. One is enough in a table of resources, where it is the id.
fn is_walk(line: &str) -> bool {
    let conditions = line.split_once(" (").map_or("", |(_, conditions)| conditions);
    let conditions = if line.contains("Index Cond:") { line.split("Index Cond:").nth(1).unwrap() } else { conditions };
    let conditions = if line.contains("Scan ") && !line.contains("Index Cond:") { "" } else { conditions };
    let flat = conditions.replace(" = ", "=").replace("= ANY", "=ANY");
    let equal = flat.matches('=').count() - flat.matches(">=").count() - flat.matches("<=").count();
    let is_bounded = flat.contains('>') && flat.contains('<');
    let wanted = if is_of_index(line) { 2 } else { 1 };
    equal < wanted && !(equal == 1 && is_bounded)
}

/// Whether a step reads the rows by which resources are found. SQLite does not name the table of a primary key.
fn is_of_index(line: &str) -> bool {
    line.contains("search_") || line.contains("parameter")
}

/// Whether a step walks this index, or the primary key of this table.
fn is_walk_of(line: &str, name: &str) -> bool {
    line.contains(name) || (name == TEXTS && line.contains("PRIMARY KEY (parameter=?)"))
}

/// Whether a walk is read to its end by a step that sorts it or makes a table of it.
fn is_sorted(home: &Home, plan: &[String], walk: &Read) -> bool {
    if home.is_postgres() {
        // What is around it, from the inside to the outside, until something ends with the page.
        let mut depth = walk.depth;
        for line in plan[..walk.at].iter().rev() {
            if depth_of(line) >= depth {
                continue;
            }
            depth = depth_of(line);
            let step = line.trim().trim_start_matches("->").trim();
            if step.starts_with("Limit") || step.starts_with("Aggregate") {
                return false;
            }
            if ["Sort", "HashAggregate", "Hash", "Materialize"]
                .iter()
                .any(|name| step.split("  ").next() == Some(*name))
            {
                return true;
            }
        }
        return false;
    }
    // Of the steps beside it, sorting comes after it.
    let beside = plan[walk.at..].iter().take_while(|line| depth_of(line) >= walk.depth);
    let mut beside = beside.filter(|line| depth_of(line) == walk.depth);
    beside.any(|line| line.trim().starts_with("USE TEMP B-TREE FOR ORDER BY") || line.contains("FOR DISTINCT"))
}

/// The plan of a page, without that of counting rows before it.
fn page_of(plan: &[String]) -> &[String] {
    plan.iter().position(|line| line == "Page").map_or(plan, |at| &plan[at + 1..])
}

/// What is wrong with a plan.
fn wrong(home: &Home, plan: &[String], may: Walks) -> Option<String> {
    let page = page_of(plan);
    let counted = plan.iter().take_while(|line| *line != "Page").cloned().collect::<Vec<_>>();
    let everything = ["Seq Scan on ", "Hash Join", "Merge Join", "Bitmap", "AUTOMATIC"];
    let reads_all =
        |line: &&String| everything.iter().any(|step| line.contains(step)) && !line.contains("search_state");
    if let Some(line) = plan.iter().find(reads_all) {
        return Some(format!("reads everything: {line}"));
    }
    if page.len() != plan.len() && walks(home, &counted).iter().any(|walk| is_sorted(home, &counted, walk)) {
        return Some("counts what it sorts".to_owned());
    }
    let walks = walks(home, page);
    if let Index(name) = may
        && !walks.iter().any(|walk| is_walk_of(&walk.line, name))
    {
        return Some(format!("does not walk {name}"));
    }
    walks.into_iter().find_map(|walk| {
        let line = walk.line.as_str();
        let is_allowed = match may {
            Nothing => false,
            // Behind the values come the resources without one.
            Index(name) => is_walk_of(line, name) || !is_of_index(line),
            Ids => !is_of_index(line),
        };
        // What is counted is counted by any way, up to a limit.
        let is_counted = plan_is_limited(home, page, &walk);
        match (is_allowed || is_counted, is_sorted(home, page, &walk)) {
            (false, _) => Some(format!("walks {line}")),
            (true, true) => Some(format!("sorts a walk of {line}")),
            (true, false) => None,
        }
    })
}

/// Whether a walk is of the count of matches, which ends after some hundreds.
fn plan_is_limited(home: &Home, plan: &[String], walk: &Read) -> bool {
    let mut depth = walk.depth;
    plan[..walk.at].iter().rev().any(|line| {
        if depth_of(line) >= depth {
            return false;
        }
        depth = depth_of(line);
        let step = line.trim();
        if home.is_postgres() { step.contains("Aggregate") } else { step.starts_with("CO-ROUTINE m") }
    })
}

told! {
    async fn every_shape_of_search_walks_no_more_than_its_page(home) {
        let db = home.open_limited(Duration::from_mins(1)).await;
        db.set_fhir_base_url(OWN).await.unwrap();
        fill(&home, &db).await;
        for statistics in [false, true] {
            if statistics {
                home.ask("ANALYZE").await;
            }
            let mut all_wrong = Vec::new();
            let others = OTHER_KINDS.iter().map(|(of, text)| (*of, *text, Nothing));
            for (of, text, may) in SHAPES.into_iter().chain(others) {
                let query = query(&db, of, text).await;
                let plan = db.explain_search_plan(&query).await;
                let plan = plan.unwrap_or_else(|error| panic!("{of}?{text}: {error}"));
                assert!(!plan.is_empty(), "{of}?{text} has no plan");
                if let Some(wrong) = wrong(&home, &plan, may) {
                    all_wrong.push(format!("{of}?{text} {wrong}:\n{}", plan.join("\n")));
                }
            }
            assert!(all_wrong.is_empty(), "statistics {statistics}: {}", all_wrong.join("\n\n"));
        }
        what_comes_with_matches_is_looked_up(&home, &db).await;
        a_compartment_leads_to_everything_in_it(&home, &db).await;
        db.close().await;
    }

    async fn a_plan_tells_where_a_table_is_read_as_a_whole(home) {
        let db = home.open().await;
        fill(&home, &db).await;
        home.ask("ANALYZE").await;
        // No index has the order of a code, so all of them are read.
        let everything = query(&db, "Observation", "_sort=code").await;
        let plan = db.explain_search_plan(&everything).await.unwrap();
        assert!(wrong(&home, &plan, Nothing).is_some(), "{}", plan.join("\n"));
        db.close().await;
    }
}

/// `_include` and `_revinclude`.
async fn what_comes_with_matches_is_looked_up(home: &Home, db: &AuthDatabase) {
    let ids: Vec<ResourceId> = ["o7", "o8", "o9"].map(|id| id.parse().unwrap()).into();
    let (observation, provenance) = (kind("Observation"), kind("Provenance"));
    let catalog = db.current_search_parameter_catalog().await.unwrap();
    let target = catalog.find_parameter_by_code(&provenance, "target").unwrap();
    for by in [Some(target.as_ref()), None] {
        let referring = RevincludeQuery { resource_type: &provenance, by, to: &observation, ids: &ids };
        let plan = db.explain_revinclude_plan(referring, &AccessFilter::Everything).await.unwrap();
        assert!(!plan.is_empty());
        assert_eq!(wrong(home, &plan, Nothing), None, "_revinclude:\n{}", plan.join("\n"));
    }
    let plan = db.explain_read_by_ids_plan((&observation, &ids), &AccessFilter::Everything).await.unwrap();
    assert!(!plan.is_empty());
    assert_eq!(wrong(home, &plan, Nothing), None, "_include:\n{}", plan.join("\n"));
}

/// A caller who may see one patient.
async fn a_compartment_leads_to_everything_in_it(home: &Home, db: &AuthDatabase) {
    let compartment = PatientCompartment::of_patient("p7".parse().unwrap(), OWN);
    let within = AccessFilter::union_of_branches(vec![AccessFilterBranch {
        compartment: Some(compartment),
        criteria: Vec::new(),
    }]);
    for text in ["", "code=c7", "date=ge2017", "_sort=-date", "_lastUpdated=ge2000", "status=final&_sort=-_lastUpdated"]
    {
        let query = SearchQuery { within: within.clone(), ..query(db, "Observation", text).await };
        let plan = db.explain_search_plan(&query).await.unwrap();
        assert_eq!(wrong(home, &plan, Nothing), None, "{text}:\n{}", plan.join("\n"));
    }
}
