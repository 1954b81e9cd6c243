//! Searches: what the statements find is what the model finds, on every engine.

mod base_url;
mod composite;
mod conditional;
mod included;
mod limits;
mod modifiers;
mod shapes;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use auth_storage::Db;
use fhir_store::search::{IndexedDocument, ReferenceResolver, SearchContext, SearchRequest, parse};
use fhir_store::selection::{FilterCriterion, ScopeSearch};
use fhir_store::{
    AccessFilter, Compartment, FilterBranch, ListQuery, MatchCounting, ReferringResources, ResourceKey, ResourceLookup,
    ResourceStore as _, ResourceType, SearchExecutionError, SearchMatches, SearchQuery, SearchStore as _,
    StoredResource, Write, WriteOperation,
};
use serde_json::{Value, json};

use crate::home::{NOW_US, told};

const OWN: &str = "https://payer.example/fhir";
const KINDS: [&str; 3] = ["Observation", "Patient", "Practitioner"];

fn kind(name: &str) -> ResourceType {
    name.parse().unwrap()
}

fn put(at: &str, body: Value) -> Write {
    Write::to(at.parse().unwrap(), WriteOperation::Put(body))
}

/// Does the writes in as few transactions as there can be, since one writes a resource once.
async fn transact(db: &Db, mut writes: Vec<Write>) {
    while !writes.is_empty() {
        let mut met = HashSet::new();
        let end = writes.iter().position(|write| !met.insert((write.kind.clone(), write.id.clone())));
        let later = writes.split_off(end.unwrap_or(writes.len()));
        db.transact(writes, NOW_US).await.unwrap().unwrap();
        writes = later;
    }
}

/// A search as a query string has it.
async fn read(db: &Db, of: &str, query: &str) -> SearchRequest {
    let kind = kind(of);
    let catalog = db.catalog().await.unwrap();
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    parse(&catalog, &SearchContext::strict(&kind, OWN, NOW_US), pairs)
        .unwrap_or_else(|fault| panic!("{query}: {fault}"))
        .0
}

fn asking(search: SearchRequest) -> SearchQuery {
    let reaches: BTreeMap<ResourceType, AccessFilter> =
        KINDS.into_iter().map(|name| (kind(name), AccessFilter::Everything)).collect();
    let count = search.count.unwrap_or(1000);
    SearchQuery {
        search,
        filters: Vec::new(),
        within: AccessFilter::Everything,
        reaches,
        count,
        counting: MatchCounting::All,
    }
}

async fn found(db: &Db, query: &SearchQuery) -> SearchMatches {
    db.search(query).await.unwrap().unwrap()
}

fn ids(matches: &SearchMatches) -> Vec<&str> {
    matches.entries.iter().map(|stored| stored.key.id.as_str()).collect()
}

async fn ids_of(db: &Db, of: &str, query: &str) -> Vec<String> {
    let matches = found(db, &asking(read(db, of, query).await)).await;
    ids(&matches).into_iter().map(str::to_owned).collect()
}

/// All resources there are, for the model.
struct World(Vec<StoredResource>);

impl World {
    async fn of(db: &Db) -> Self {
        let mut all = Vec::new();
        for name in KINDS {
            let query = ListQuery { count: 1000, ..ListQuery::all(kind(name)) };
            all.extend(db.list(&query).await.unwrap().entries);
        }
        Self(all)
    }

    fn expected(&self, search: &SearchRequest) -> BTreeSet<String> {
        let of_kind = self.0.iter().filter(|stored| stored.key.kind == search.kind);
        let matching = of_kind.filter(|stored| {
            let document = IndexedDocument {
                kind: &stored.key.kind,
                id: stored.key.id.as_str(),
                updated_us: stored.updated_us,
                body: &stored.resource,
                own: OWN,
            };
            search.matches(&document, Some(self)).unwrap()
        });
        matching.map(|stored| stored.key.id.to_string()).collect()
    }
}

impl ReferenceResolver for World {
    fn read(&self, key: &ResourceKey) -> Option<StoredResource> {
        self.0.iter().find(|stored| stored.key == *key).cloned()
    }

    fn all(&self, kind: &ResourceType) -> Vec<StoredResource> {
        self.0.iter().filter(|stored| stored.key.kind == *kind).cloned().collect()
    }
}

/// A sequence of choices that a seed decides.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    fn sometimes(&mut self) -> bool {
        self.below(2) == 0
    }
}

const SYSTEMS: [&str; 2] = ["http://loinc.org", "http://snomed.info/sct"];
const CODES: [&str; 4] = ["1234-5", "8480-6", "a", "b|c"];
const NAMES: [&str; 6] = ["Müller", "Muller-Ost", "Smith", "smithers", "O'Brien\\", "%_x"];
const DATES: [&str; 6] = ["2020", "2020-05", "2020-05-17", "2020-05-17T10:00:00Z", "2021-01-01", "1999-12-31"];
const NUMBERS: [&str; 5] = ["5.4", "5.40", "100", "-3", "0.1"];
const UNITS: [&str; 2] = ["mg", "kg"];
/// Parameters that are asked for with `:missing`.
const MISSED: [&str; 8] = [
    "code-value-quantity",
    "code-value-concept",
    "code-value-date",
    "combo-code-value-quantity",
    "subject",
    "date",
    "combo-code",
    "combo-value-quantity",
];

fn patient(seeded: &mut Seeded) -> Value {
    let mut body = json!({"gender": seeded.one(&["male", "female", "other"]), "active": seeded.sometimes()});
    let names: Vec<Value> = (0..seeded.below(3))
        .map(|_| json!({"family": seeded.one(&NAMES), "given": [seeded.one(&NAMES), seeded.one(&NAMES)]}))
        .collect();
    if !names.is_empty() {
        body["name"] = names.into();
    }
    if seeded.sometimes() {
        body["birthDate"] = seeded.one(&["1999-12-31", "2000-01-01", "1970-06"]).into();
    }
    if seeded.sometimes() {
        body["identifier"] = json!([{
            "system": seeded.one(&SYSTEMS), "value": seeded.one(&CODES),
            "type": {"coding": [{"system": "http://t", "code": "MR"}]},
        }]);
    }
    if seeded.sometimes() {
        body["generalPractitioner"] = json!([{"reference": format!("Practitioner/d{}", seeded.below(3))}]);
    }
    body
}

fn observation(seeded: &mut Seeded) -> Value {
    let coding = |seeded: &mut Seeded| {
        let mut coding = json!({"code": seeded.one(&CODES)});
        if seeded.below(3) > 0 {
            coding["system"] = seeded.one(&SYSTEMS).into();
        }
        coding
    };
    let mut body = json!({
        "status": seeded.one(&["final", "amended"]),
        "code": {"coding": [coding(seeded), coding(seeded)], "text": seeded.one(&NAMES)},
    });
    if seeded.below(6) == 0 {
        // Words are found, and no part of a composite.
        body["code"] = json!({"text": seeded.one(&NAMES)});
    }
    if seeded.below(4) > 0 {
        let base = if seeded.below(4) == 0 { format!("{OWN}/") } else { String::new() };
        body["subject"] = json!({"reference": format!("{base}Patient/p{}", seeded.below(8))});
    }
    if seeded.below(4) > 0 {
        body["effectiveDateTime"] = seeded.one(&DATES).into();
    }
    match seeded.below(6) {
        0 => body["valueString"] = seeded.one(&NAMES).into(),
        1 => body["valueCodeableConcept"] = json!({"coding": [coding(seeded)]}),
        2 => {
            let number: Value = serde_json::from_str(seeded.one(&NUMBERS)).unwrap();
            let unit = seeded.one(&UNITS);
            body["valueQuantity"] =
                json!({"value": number, "unit": unit, "system": "http://unitsofmeasure.org", "code": unit});
        }
        3 => body["valueDateTime"] = seeded.one(&DATES).into(),
        4 => body["valuePeriod"] = json!({"start": seeded.one(&DATES)}),
        _ => {}
    }
    if seeded.below(3) == 0 {
        let number: Value = serde_json::from_str(seeded.one(&NUMBERS)).unwrap();
        body["component"] = json!([
            {"code": {"coding": [coding(seeded)]}, "valueQuantity": {"value": number, "unit": "mmHg"}},
            {"code": {"coding": [coding(seeded)]}, "valueCodeableConcept": {"coding": [coding(seeded)]}},
        ]);
    }
    body
}

async fn fill(db: &Db, seeded: &mut Seeded) {
    let mut writes: Vec<Write> = Vec::new();
    writes.extend(
        (0..3)
            .map(|at| put(&format!("Practitioner/d{at}"), json!({"name": [{"family": NAMES[at]}], "active": at > 0}))),
    );
    writes.extend((0..8).map(|at| put(&format!("Patient/p{at}"), patient(seeded))));
    writes.extend((0..60).map(|at| put(&format!("Observation/o{at:02}"), observation(seeded))));
    transact(db, writes).await;
    // What is replaced and deleted is found as it is now.
    let mut later: Vec<Write> =
        (0..20).map(|_| put(&format!("Observation/o{:02}", seeded.below(60)), observation(seeded))).collect();
    later.extend(
        (0..3).map(|_| {
            Write::to(format!("Observation/o{:02}", seeded.below(60)).parse().unwrap(), WriteOperation::Delete)
        }),
    );
    later.push(put("Patient/p0", patient(seeded)));
    transact(db, later).await;
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if matches!(c, '\\' | ',' | '|' | '$') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn token(seeded: &mut Seeded) -> String {
    let (system, code) = (seeded.one(&SYSTEMS), escaped(seeded.one(&CODES)));
    match seeded.below(4) {
        0 => code,
        1 => format!("|{code}"),
        2 => format!("{system}|"),
        _ => format!("{system}|{code}"),
    }
}

fn tokens(seeded: &mut Seeded) -> String {
    let first = token(seeded);
    if seeded.sometimes() { format!("{first},{}", token(seeded)) } else { first }
}

fn prefixed(seeded: &mut Seeded, values: &[&str]) -> String {
    let prefix = seeded.one(&["", "eq", "ne", "gt", "lt", "ge", "le", "sa", "eb", "ap"]);
    format!("{prefix}{}", seeded.one(values))
}

fn quantity(seeded: &mut Seeded) -> String {
    let number = prefixed(seeded, &NUMBERS);
    match seeded.below(3) {
        0 => number,
        1 => format!("{number}||{}", seeded.one(&UNITS)),
        _ => format!("{number}|http://unitsofmeasure.org|{}", seeded.one(&UNITS)),
    }
}

fn of_patient(seeded: &mut Seeded) -> (String, String) {
    let name = escaped(&seeded.one(&NAMES).chars().take(1 + seeded.below(5)).collect::<String>());
    let (code, value) = match seeded.below(9) {
        0 => ("family".to_owned(), name),
        1 => ("name:contains".to_owned(), name),
        2 => ("family:exact".to_owned(), escaped(seeded.one(&NAMES))),
        3 => ("gender".to_owned(), "female,other".to_owned()),
        4 => ("birthdate".to_owned(), prefixed(seeded, &["1999", "2000-01-01", "1970-06-01"])),
        5 => ("identifier".to_owned(), tokens(seeded)),
        6 => ("identifier:of-type".to_owned(), format!("http://t|MR|{}", escaped(seeded.one(&CODES)))),
        7 => ("active:not".to_owned(), "true".to_owned()),
        _ => (
            format!("{}:missing", seeded.one(&["name", "identifier", "birthdate", "general-practitioner"])),
            seeded.sometimes().to_string(),
        ),
    };
    (code, value)
}

fn of_observation(seeded: &mut Seeded) -> (String, String) {
    let patient = format!("p{}", seeded.below(9));
    match seeded.below(18) {
        0 => ("code".into(), tokens(seeded)),
        1 => ("code:not".into(), tokens(seeded)),
        2 => ("code:text".into(), seeded.one(&["mul", "SMITH", "o'b"]).into()),
        3 => (
            "subject".into(),
            seeded.one(&[patient.clone(), format!("Patient/{patient}"), format!("{OWN}/Patient/{patient}")]),
        ),
        4 => ("patient".into(), patient),
        5 => ("date".into(), prefixed(seeded, &DATES)),
        6 => (seeded.one(&["value-quantity", "combo-value-quantity"]).into(), quantity(seeded)),
        7 => (seeded.one(&["combo-code", "combo-code:not", "combo-value-concept"]).into(), tokens(seeded)),
        8 => ("code-value-quantity".into(), format!("{}${}", token(seeded), quantity(seeded))),
        9 => (
            seeded.one(&["component-code-value-quantity", "combo-code-value-quantity"]).into(),
            format!("{}${}", token(seeded), quantity(seeded)),
        ),
        10 => ("combo-code-value-concept".into(), format!("{}${}", token(seeded), token(seeded))),
        11 => (format!("{}:missing", seeded.one(&MISSED)), seeded.sometimes().to_string()),
        12 => {
            let (code, value) = of_patient(seeded);
            (format!("subject:Patient.{code}"), value)
        }
        13 => ("subject:Patient.general-practitioner.family".into(), "mul".into()),
        14 => ("_id".into(), format!("o{:02},o{:02},none", seeded.below(60), seeded.below(60))),
        15 => ("code-value-concept".into(), format!("{}${}", token(seeded), token(seeded))),
        16 => ("code-value-date".into(), format!("{}${}", token(seeded), prefixed(seeded, &DATES))),
        _ => ("value-string".into(), "smi".into()),
    }
}

fn query(seeded: &mut Seeded) -> (&'static str, String) {
    let of_patients = seeded.below(3) == 0;
    let mut written = url::form_urlencoded::Serializer::new(String::new());
    for _ in 0..=seeded.below(3) {
        let (name, value) = match (of_patients, seeded.below(5)) {
            (true, 0) => {
                let (code, value) = of_observation(seeded);
                (format!("_has:Observation:patient:{code}"), value)
            }
            (true, _) => of_patient(seeded),
            (false, _) => of_observation(seeded),
        };
        written.append_pair(&name, &value);
    }
    (if of_patients { "Patient" } else { "Observation" }, written.finish())
}

told! {
    async fn rows_that_somebody_left_behind_refuse_no_write(home) {
        let db = home.open().await;
        let body = || json!({"gender": "female", "birthDate": "1980-01-01", "name": [{"family": "Roe"}]});
        transact(&db, vec![put("Patient/a", body())]).await;
        // Past the server, so that what it was found by stays.
        assert_eq!(home.ask("DELETE FROM patient RETURNING id").await, ["a"]);
        transact(&db, vec![put("Patient/a", body()), put("Patient/b", body())]).await;
        assert_eq!(ids_of(&db, "Patient", "gender=female&name=roe").await, ["a", "b"]);
        let rows = home.ask("SELECT id FROM search_range WHERE id = 'b'").await;
        assert_eq!(rows.len(), 1, "each row is there once");
    }

    async fn a_search_finds_what_the_model_finds(home) {
        let db = home.open().await;
        db.set_fhir_base(OWN).await.unwrap();
        for seed in 0..3 {
            let mut seeded = Seeded(seed);
            fill(&db, &mut seeded).await;
            let world = World::of(&db).await;
            let mut some = 0;
            for _ in 0..150 {
                let (of, text) = query(&mut seeded);
                let search = read(&db, of, &text).await;
                let expected = world.expected(&search);
                let matches = found(&db, &asking(search)).await;
                let ids: BTreeSet<String> = ids(&matches).into_iter().map(str::to_owned).collect();
                assert_eq!(ids, expected, "seed {seed}: {of}?{text}");
                assert_eq!(matches.total, Some(expected.len() as u64), "seed {seed}: {of}?{text}");
                some += usize::from(!expected.is_empty());
            }
            assert!(some > 50, "{some} of the searches find anything");
        }
        db.close().await;
    }

    async fn pages_in_any_order_neither_overlap_nor_leave_gaps(home) {
        let db = home.open().await;
        let mut seeded = Seeded(7);
        fill(&db, &mut seeded).await;
        for sort in ["_id", "-_id", "date", "-date", "code,-date", "value-quantity", "-value-quantity,_lastUpdated", "-subject", "value-string", "combo-code,-combo-value-quantity"] {
            let whole = ids_of(&db, "Observation", &format!("_sort={sort}")).await;
            let mut paged = Vec::new();
            let mut cursor = None;
            loop {
                let mut search = read(&db, "Observation", &format!("_sort={sort}&_count=7")).await;
                search.cursor = cursor;
                let page = found(&db, &asking(search)).await;
                assert!(page.entries.len() <= 7);
                paged.extend(ids(&page).into_iter().map(str::to_owned));
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(paged, whole, "{sort}");
            assert!(whole.len() > 50, "{sort}");
        }
        for cursor in ["", "0", "zz", "5b5d", "5b2278222c2261225d"] {
            let mut search = read(&db, "Observation", "_sort=date").await;
            search.cursor = Some(cursor.to_owned());
            assert_eq!(db.search(&asking(search)).await.unwrap(), Err(SearchExecutionError::Cursor), "{cursor}");
        }
        db.close().await;
    }

    async fn a_caller_finds_its_own_compartment_alone(home) {
        let db = home.open().await;
        db.set_fhir_base(OWN).await.unwrap();
        let mut seeded = Seeded(11);
        fill(&db, &mut seeded).await;
        let compartment = Compartment::of("p1".parse().unwrap(), OWN);
        let within = AccessFilter::union(vec![FilterBranch { compartment: Some(compartment.clone()), criteria: Vec::new() }]);
        let world = World::of(&db).await;
        for text in ["", "code=a", "date=ge2020", "_sort=-date", "subject:Patient.active:missing=false"] {
            let search = read(&db, "Observation", text).await;
            let expected: BTreeSet<String> = world.expected(&search);
            let own = |id: &String| {
                let key: ResourceKey = format!("Observation/{id}").parse().unwrap();
                compartment.contains(&key, &world.read(&key).unwrap().resource)
            };
            let expected: BTreeSet<String> = expected.into_iter().filter(own).collect();
            let query = SearchQuery { within: within.clone(), ..asking(search) };
            let matches = found(&db, &query).await;
            assert_eq!(ids(&matches).into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), expected, "{text}");
            assert_eq!(matches.total, Some(expected.len() as u64), "{text}");
        }
        let chained = read(&db, "Observation", "subject:Patient.active=true").await;
        let closed = SearchQuery { reaches: BTreeMap::new(), ..asking(chained) };
        assert_eq!(db.search(&closed).await.unwrap(), Err(SearchExecutionError::Closed));
        db.close().await;
    }

    async fn a_scope_of_any_search_selects_as_it_decides_of_one_resource(home) {
        let db = home.open().await;
        db.set_fhir_base(OWN).await.unwrap();
        let mut seeded = Seeded(12);
        fill(&db, &mut seeded).await;
        let world = World::of(&db).await;
        let kind: ResourceType = "Observation".parse().unwrap();
        let catalog = db.catalog().await.unwrap();
        let compartment = Compartment::of("p1".parse().unwrap(), OWN);
        let all: BTreeSet<String> = world.expected(&read(&db, "Observation", "").await);
        for (name, value) in [("code", "a"), ("code:not", "a"), ("date", "ge2020"), ("subject:missing", "false")] {
            let scoped = ScopeSearch::read(&catalog, &SearchContext::strict(&kind, OWN, 0), (name, value)).unwrap();
            for compartment in [None, Some(compartment.clone())] {
                let within = AccessFilter::union(vec![FilterBranch { compartment, criteria: vec![FilterCriterion::Search(scoped.clone())] }]);
                let inside = |id: &&String| {
                    let key: ResourceKey = format!("Observation/{id}").parse().unwrap();
                    within.contains(&key, &world.read(&key).unwrap().resource)
                };
                let expected: BTreeSet<String> = all.iter().filter(inside).cloned().collect();
                let query = SearchQuery { within: within.clone(), ..asking(read(&db, "Observation", "").await) };
                let matches = found(&db, &query).await;
                assert_eq!(ids(&matches).into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), expected, "{name}={value}");
                assert_eq!(matches.total, Some(expected.len() as u64), "{name}={value}");
                // Without the index nothing is listed rather than everything.
                let listed = db.list(&ListQuery { within: within.clone(), ..ListQuery::all(kind.clone()) }).await.unwrap();
                assert_eq!(listed.total, 0);
            }
        }
        db.close().await;
    }

    async fn what_is_searched_for_never_becomes_part_of_a_statement(home) {
        let db = home.open().await;
        transact(&db, vec![put("Patient/a", json!({"name": [{"family": "Plain"}], "active": true}))]).await;
        let evil = [
            "' OR '1'='1", "'; DELETE FROM patient; --", "\") OR 1=1 --", "%", "_", "$1", "{table}", "{us:t.ts}", "?", "\u{0}",
            "x'||(SELECT resource FROM client)||'", "\\", "\u{10FFFF}", "\u{1}", "i.code", "$<1>",
        ];
        for value in evil {
            let value = escaped(value);
            for name in ["family", "family:contains", "family:exact", "identifier", "identifier:of-type", "_id", "general-practitioner", "_profile", "_profile:below", "_tag:not", "name:missing"] {
                let (kind, catalog) = (kind("Patient"), db.catalog().await.unwrap());
                let request = SearchContext::strict(&kind, OWN, NOW_US);
                let Ok((search, _)) = parse(&catalog, &request, [(name, value.as_str())]) else { continue };
                let world = World::of(&db).await;
                let expected = world.expected(&search);
                let matches = found(&db, &asking(search)).await;
                assert_eq!(ids(&matches).len(), expected.len(), "{name}={value:?}");
            }
        }
        assert!(matches!(db.read(&"Patient/a".parse().unwrap()).await.unwrap(), ResourceLookup::Found(_)));
        db.close().await;
    }

    async fn resources_of_before_are_indexed_in_steps_and_refused_by_name_until_then(home) {
        let db = home.open().await;
        let writes = (0..450).map(|at| put(&format!("Patient/p{at:03}"), json!({"active": at % 2 == 0})));
        transact(&db, writes.collect()).await;
        // As an older version of this server left them.
        for table in ["search_type", "search_token", "search_reference", "search_string", "search_range"] {
            db.run_sql(&format!("DELETE FROM {table}")).await.unwrap().unwrap();
        }
        db.run_sql("UPDATE search_state SET revision = revision + 1").await.unwrap().unwrap();
        let search = read(&db, "Patient", "active=true").await;
        let refused = db.search(&asking(search.clone())).await.unwrap();
        assert_eq!(refused, Err(SearchExecutionError::Indexing { parameter: "Patient.active".to_owned() }));
        transact(&db, vec![put("Patient/p000", json!({"active": false}))]).await;
        assert!(db.search(&asking(search.clone())).await.unwrap().is_err());

        let (one, other) = (home.open().await, home.open().await);
        let (first, second) = tokio::join!(one.index_resources(), other.index_resources());
        first.unwrap();
        second.unwrap();
        db.index_resources().await.unwrap();
        assert_eq!(found(&db, &asking(search)).await.entries.len(), 224);
        db.close().await;
    }

    async fn a_definition_takes_effect_without_a_restart_and_once_its_rows_are_complete(home) {
        let (db, other) = (home.open().await, home.open().await);
        let nickname = |text: &str| json!({"nickname": text});
        transact(&db, vec![put("Patient/a", nickname("Bo")), put("Patient/b", nickname("Al"))]).await;
        let definition = json!({
            "url": "http://payer.example/SearchParameter/nickname", "name": "nickname", "status": "active",
            "code": "nickname", "base": ["Patient"], "type": "string", "expression": "Patient.nickname",
        });
        transact(&db, vec![put("SearchParameter/nickname", definition)]).await;
        let search = read(&other, "Patient", "nickname=al").await;
        let refused = other.search(&asking(search.clone())).await.unwrap();
        assert_eq!(refused, Err(SearchExecutionError::Indexing { parameter: "Patient.nickname".to_owned() }));
        assert_eq!(ids_of(&other, "Patient", "_id=a").await, ["a"], "the others answer meanwhile");
        transact(&other, vec![put("Patient/c", nickname("Alma"))]).await;
        db.index_resources().await.unwrap();
        assert_eq!(ids_of(&other, "Patient", "nickname=al").await, ["b", "c"]);
        transact(&db, vec![Write::to("SearchParameter/nickname".parse().unwrap(), WriteOperation::Delete)]).await;
        let catalog = other.catalog().await.unwrap();
        assert!(catalog.parameter(&kind("Patient"), "nickname").is_none());
        db.close().await;
    }

    async fn no_definition_makes_found_what_no_answer_shows(home) {
        let db = home.open().await;
        let definition = |code: &str, expression: &str| {
            let url = format!("http://payer.example/SearchParameter/{code}");
            json!({
                "url": url, "name": code, "status": "active", "code": code, "base": ["User", "Client"],
                "type": "string", "expression": expression,
            })
        };
        let user = json!({"password": "$argon2id$x", "twoFactor": {"secretKey": "JBSW"}, "nick": "ada"});
        let writes = vec![
            put("SearchParameter/hidden", definition("hidden", "User.password | Client.secret | User.twoFactor.secretKey")),
            put("SearchParameter/nick", definition("nick", "User.nick | Client.nick")),
        ];
        transact(&db, writes).await;
        transact(&db, vec![put("User/ada", user), put("Client/app", json!({"secret": "$argon2id$y", "nick": "app"}))]).await;
        db.index_resources().await.unwrap();
        for of in ["User", "Client"] {
            for query in ["hidden=$argon2id", "hidden:contains=a", "hidden:missing=false", "hidden=jbsw"] {
                assert!(ids_of(&db, of, query).await.is_empty(), "{of}?{query}");
            }
        }
        assert_eq!(ids_of(&db, "User", "nick=ada").await, ["ada"], "what is shown is found");
        assert_eq!(ids_of(&db, "Client", "nick=app").await, ["app"]);
        db.close().await;
    }

    async fn what_comes_with_matches_lies_within_what_the_caller_reaches(home) {
        let db = home.open().await;
        let result = |category: &str, member: &str| {
            json!({
                "status": "final", "category": [{"coding": [{"code": category}]}],
                "hasMember": [{"reference": format!("Observation/{member}")}],
            })
        };
        let writes = vec![put("Observation/lab", result("laboratory", "vital")), put("Observation/vital", result("vital-signs", "lab"))];
        transact(&db, writes).await;
        let of = kind("Observation");
        let ids = ["lab", "vital"].map(|id| id.parse().unwrap());
        let catalog = db.catalog().await.unwrap();
        let by = Some(catalog.parameter(&of, "has-member").unwrap().as_ref());
        let request = SearchContext::strict(&of, OWN, NOW_US);
        let coded = FilterCriterion::read(&of, "category", "laboratory").unwrap();
        let scoped = FilterCriterion::Search(ScopeSearch::read(&catalog, &request, ("category", "laboratory")).unwrap());
        for criterion in [coded, scoped] {
            let within = AccessFilter::union(vec![FilterBranch { compartment: None, criteria: vec![criterion] }]);
            let among = db.among(&of, &ids, &within).await.unwrap().unwrap();
            let referring = ReferringResources { kind: &of, by, to: &of, ids: &ids };
            let referring = db.referring(referring, &within, 10).await.unwrap().unwrap();
            for found in [among, referring] {
                let found: Vec<&str> = found.iter().map(|stored| stored.key.id.as_str()).collect();
                assert_eq!(found, ["lab"], "{within:?}");
            }
        }
        db.close().await;
    }
}
