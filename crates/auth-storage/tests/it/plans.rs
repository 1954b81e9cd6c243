//! Searches walk indexes: the plans of both engines for each kind of search, on tables that are worth an index.

use std::collections::BTreeMap;

use auth_storage::Db;
use fhir_store::search::{Request, parse};
use fhir_store::{
    Compartment, Counting, Operation, Region, ResourceStore as _, ResourceType, SearchQuery, SearchStore as _,
    Selection, Write,
};
use serde_json::{Value, json};

use crate::home::{Home, NOW_US, told};

const OWN: &str = "https://payer.example/fhir";
const PATIENTS: usize = 1_500;
const OBSERVATIONS: usize = 2_500;
const OTHERS: usize = 1_000;
/// Documents are as long as real ones: a table of few pages is read as a whole with good reason.
const WORDS: &str = "Nothing else is to be said of it. ";
/// Resources of one write; each is an hour after the one before.
const BATCH: usize = 250;

/// Each kind of search, one that finds little.
const SEARCHES: [(&str, &str); 29] = [
    ("Observation", "_id=o7"),
    ("Observation", "code=http://loinc.example|c7"),
    ("Observation", "code=c7,c8"),
    ("Patient", "identifier=http://payer.example/member|m7"),
    ("Patient", "family=name1234"),
    ("Patient", "family:exact=Name1234"),
    ("Observation", "subject=Patient/p7"),
    ("Observation", "date=2017-05-17"),
    ("Observation", "date=ge2024-12-20"),
    ("RiskAssessment", "probability=0.007"),
    ("RiskAssessment", "probability=gt0.99"),
    ("Observation", "value-quantity=7|http://unitsofmeasure.org|mg"),
    ("Observation", "value-quantity=gt2490"),
    ("ValueSet", "url=http://payer.example/sets/7"),
    ("ValueSet", "url:below=http://payer.example/sets/7"),
    ("Observation", "code-value-quantity=http://loinc.example|c7$7"),
    ("Observation", "combo-code-value-quantity=http://loinc.example|c7$7"),
    ("Observation", "subject=Patient/p7&code-value-quantity=c7$gt2"),
    ("Patient", "_has:Observation:subject:code-value-quantity=c7$7"),
    ("Observation", "subject:Patient.family=name1234"),
    ("Observation", "patient.identifier=http://payer.example/member|m7"),
    ("Patient", "_has:Observation:patient:code=c7"),
    ("Observation", "_lastUpdated=ge2027-01-15T23:00:00Z"),
    ("Observation", "code=c7&date=ge2017"),
    ("Observation", "subject=Patient/p7&code:not=c7"),
    ("Observation", "subject=Patient/p7&_sort=-date"),
    ("Observation", "subject=Patient/p7&_sort=_lastUpdated"),
    ("Observation", "subject=Patient/p7&value-quantity:missing=true"),
    ("Observation", "subject=Patient/p7&_has:Provenance:target:recorded=ge2020"),
];

fn kind(name: &str) -> ResourceType {
    name.parse().unwrap()
}

fn observation(n: usize) -> Value {
    let (year, month, day) = (2016 + n % 9, 1 + n % 12, 1 + n % 28);
    json!({
        "status": "final",
        "code": {"coding": [{"system": "http://loinc.example", "code": format!("c{}", n / 5)}]},
        "subject": {"reference": format!("Patient/p{}", n % PATIENTS)},
        "effectiveDateTime": format!("{year}-{month:02}-{day:02}"),
        "valueQuantity": {"value": n, "system": "http://unitsofmeasure.org", "code": "mg"},
        "note": [{"text": WORDS.repeat(10)}],
    })
}

fn patient(n: usize) -> Value {
    json!({
        "identifier": [{"system": "http://payer.example/member", "value": format!("m{n}")}],
        "name": [{"family": format!("Name{n}"), "given": [format!("Given{n}")]}],
        "address": [{"text": WORDS.repeat(10)}],
    })
}

async fn fill(db: &Db) {
    let of =
        |kind: &str, id: String, body: Value| Write::to(format!("{kind}/{id}").parse().unwrap(), Operation::Put(body));
    let patients = (0..PATIENTS).map(|n| of("Patient", format!("p{n}"), patient(n)));
    let observations = (0..OBSERVATIONS).map(|n| of("Observation", format!("o{n}"), observation(n)));
    let assessments = (0..OTHERS).map(|n| {
        let prediction = json!([{"probabilityDecimal": f64::from(u32::try_from(n).unwrap()) / 1000.0}]);
        let subject = json!({"reference": format!("Patient/p{}", n % PATIENTS)});
        let body = json!({
            "status": "final", "subject": subject, "prediction": prediction, "mitigation": WORDS.repeat(20),
        });
        of("RiskAssessment", format!("r{n}"), body)
    });
    let sets = (0..OTHERS).map(|n| {
        let url = format!("http://payer.example/sets/{n}");
        of("ValueSet", format!("s{n}"), json!({"status": "active", "url": url, "copyright": WORDS.repeat(20)}))
    });
    let traces = (0..OTHERS).map(|n| {
        let target = json!([{"reference": format!("Observation/o{n}")}]);
        of("Provenance", format!("t{n}"), json!({"target": target, "recorded": "2021-01-01T00:00:00Z"}))
    });
    let all: Vec<Write> = patients.chain(observations).chain(assessments).chain(sets).chain(traces).collect();
    for (hour, writes) in (0_i64..).zip(all.chunks(BATCH)) {
        db.transact(writes.to_vec(), NOW_US + hour * 3_600_000_000).await.unwrap().unwrap();
    }
}

async fn query(db: &Db, of: &str, text: &str) -> SearchQuery {
    let of = kind(of);
    let catalog = db.catalog().await.unwrap();
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(text.as_bytes()).into_owned().collect();
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let parsed = parse(&catalog, &Request::strict(&of, OWN, NOW_US), pairs);
    let search = parsed.unwrap_or_else(|fault| panic!("{text}: {fault}")).0;
    let reaches: BTreeMap<ResourceType, Selection> =
        ["Patient", "Observation", "Provenance"].map(|name| (kind(name), Selection::Everything)).into();
    SearchQuery {
        search,
        filters: Vec::new(),
        within: Selection::Everything,
        reaches,
        count: 20,
        counting: Counting::UpTo(200),
    }
}

/// The steps of a plan that read a table from its beginning to its end. What a statement makes itself, and the one
/// row that says how the index stands, are no tables of that sort.
fn whole_tables<'p>(home: &Home, plan: &'p [String]) -> Vec<&'p str> {
    let reads_all = |step: &&str| {
        if home.is_postgres() {
            step.contains("Seq Scan on ") && !step.contains("Seq Scan on search_state")
        } else {
            let scanned = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
            scanned.is_some_and(|name| {
                ["t", "i", "s"]
                    .iter()
                    .any(|alias| name.strip_prefix(alias).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit())))
            })
        }
    };
    plan.iter().map(|step| step.trim()).filter(reads_all).collect()
}

told! {
    async fn every_kind_of_search_walks_an_index_and_no_table_as_a_whole(home) {
        let db = home.open().await;
        db.set_fhir_base(OWN).await.unwrap();
        fill(&db).await;
        home.ask("ANALYZE").await;
        let mut wrong = Vec::new();
        for (of, text) in SEARCHES {
            let query = query(&db, of, text).await;
            let plan = db.explain_search(&query).await.unwrap();
            assert!(!plan.is_empty(), "{of}?{text} has no plan");
            if !whole_tables(&home, &plan).is_empty() {
                wrong.push(format!("{of}?{text}:\n{}", plan.join("\n")));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
        db.close().await;
    }

    async fn a_search_within_a_compartment_walks_the_compartment(home) {
        let db = home.open().await;
        db.set_fhir_base(OWN).await.unwrap();
        fill(&db).await;
        home.ask("ANALYZE").await;
        let compartment = Compartment::of("p7".parse().unwrap(), OWN);
        let within = Selection::union(vec![Region { compartment: Some(compartment), criteria: Vec::new() }]);
        for text in ["", "code=c7", "date=ge2017", "_sort=-date", "_lastUpdated=ge2000"] {
            let query = SearchQuery { within: within.clone(), ..query(&db, "Observation", text).await };
            let plan = db.explain_search(&query).await.unwrap();
            assert_eq!(whole_tables(&home, &plan), [""; 0], "{text}:\n{}", plan.join("\n"));
        }
        db.close().await;
    }

    async fn a_plan_tells_where_a_table_is_read_as_a_whole(home) {
        let db = home.open().await;
        fill(&db).await;
        home.ask("ANALYZE").await;
        // Nothing is asked for, so all of them are found.
        let everything = SearchQuery { count: 1000, counting: Counting::All, ..query(&db, "Patient", "_sort=-_lastUpdated").await };
        let plan = db.explain_search(&everything).await.unwrap();
        assert!(!whole_tables(&home, &plan).is_empty(), "{}", plan.join("\n"));
        db.close().await;
    }
}
