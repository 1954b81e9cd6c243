//! Searches: what the statements find is what the model finds, on every engine.

mod base_url;
mod composite;
mod conditional;
mod generated;
mod included;
mod limits;
mod modifiers;
mod shapes;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use auth_storage::AuthDatabase;
use fhir_resource::{PatientCompartment, ResourceKey, ResourceType, StoredResource};
use fhir_search::{IndexedDocument, ReferenceResolver, SearchParseContext, SearchRequest, parse_search};
use fhir_store::access_filter::{AccessFilterCriterion, GranularScopeSearch};
use fhir_store::{
    AccessFilter, AccessFilterBranch, ListQuery, MatchCountMode, ResourceLookup, ResourceStore as _, ResourceWrite,
    RevincludeQuery, SearchExecutionError, SearchMatches, SearchQuery, SearchStore as _, WriteOperation,
};
use serde_json::{Value, json};

use self::generated::*;
use crate::home::{NOW_US, told};

const OWN: &str = "https://payer.example/fhir";
const KINDS: [&str; 3] = ["Observation", "Patient", "Practitioner"];

fn kind(name: &str) -> ResourceType {
    name.parse().unwrap()
}

fn put(at: &str, body: Value) -> ResourceWrite {
    ResourceWrite::unconditional(at.parse().unwrap(), WriteOperation::Put(body))
}

/// Does the writes in as few transactions as there can be, since one writes a resource once.
async fn transact(db: &AuthDatabase, mut writes: Vec<ResourceWrite>) {
    while !writes.is_empty() {
        let mut met = HashSet::new();
        let end = writes.iter().position(|write| !met.insert((write.resource_type.clone(), write.id.clone())));
        let later = writes.split_off(end.unwrap_or(writes.len()));
        db.transact_writes(writes, NOW_US).await.unwrap().unwrap();
        writes = later;
    }
}

/// A search as a query string has it.
async fn read(db: &AuthDatabase, of: &str, query: &str) -> SearchRequest {
    let kind = kind(of);
    let catalog = db.current_search_parameter_catalog().await.unwrap();
    let pairs: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let pairs = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    parse_search(&catalog, &SearchParseContext::strict(&kind, OWN, NOW_US), pairs)
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
        counting: MatchCountMode::All,
    }
}

async fn found(db: &AuthDatabase, query: &SearchQuery) -> SearchMatches {
    db.search(query).await.unwrap().unwrap()
}

fn ids(matches: &SearchMatches) -> Vec<&str> {
    matches.entries.iter().map(|stored| stored.key.id.as_str()).collect()
}

async fn ids_of(db: &AuthDatabase, of: &str, query: &str) -> Vec<String> {
    let matches = found(db, &asking(read(db, of, query).await)).await;
    ids(&matches).into_iter().map(str::to_owned).collect()
}

/// All resources there are, for the model.
struct World(Vec<StoredResource>);

impl World {
    async fn of(db: &AuthDatabase) -> Self {
        let mut all = Vec::new();
        for name in KINDS {
            let query = ListQuery { count: 1000, ..ListQuery::all_of_type(kind(name)) };
            all.extend(db.list(&query).await.unwrap().entries);
        }
        Self(all)
    }

    fn expected(&self, search: &SearchRequest) -> BTreeSet<String> {
        let of_kind = self.0.iter().filter(|stored| stored.key.resource_type == search.resource_type);
        let matching = of_kind.filter(|stored| {
            let document = IndexedDocument {
                resource_type: &stored.key.resource_type,
                id: stored.key.id.as_str(),
                updated_us: stored.updated_us,
                body: &stored.resource,
                base_url: OWN,
            };
            search.matches(&document, Some(self)).unwrap()
        });
        matching.map(|stored| stored.key.id.to_string()).collect()
    }
}

impl ReferenceResolver for World {
    fn find_resource(&self, key: &ResourceKey) -> Option<StoredResource> {
        self.0.iter().find(|stored| stored.key == *key).cloned()
    }

    fn resources_of_type(&self, kind: &ResourceType) -> Vec<StoredResource> {
        self.0.iter().filter(|stored| stored.key.resource_type == *kind).cloned().collect()
    }
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
        db.set_fhir_base_url(OWN).await.unwrap();
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
        db.set_fhir_base_url(OWN).await.unwrap();
        let mut seeded = Seeded(11);
        fill(&db, &mut seeded).await;
        let compartment = PatientCompartment::of_patient("p1".parse().unwrap(), OWN);
        let within = AccessFilter::union_of_branches(vec![AccessFilterBranch { compartment: Some(compartment.clone()), criteria: Vec::new() }]);
        let world = World::of(&db).await;
        for text in ["", "code=a", "date=ge2020", "_sort=-date", "subject:Patient.active:missing=false"] {
            let search = read(&db, "Observation", text).await;
            let expected: BTreeSet<String> = world.expected(&search);
            let own = |id: &String| {
                let key: ResourceKey = format!("Observation/{id}").parse().unwrap();
                compartment.contains_resource(&key, &world.find_resource(&key).unwrap().resource)
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
        db.set_fhir_base_url(OWN).await.unwrap();
        let mut seeded = Seeded(12);
        fill(&db, &mut seeded).await;
        let world = World::of(&db).await;
        let kind: ResourceType = "Observation".parse().unwrap();
        let catalog = db.current_search_parameter_catalog().await.unwrap();
        let compartment = PatientCompartment::of_patient("p1".parse().unwrap(), OWN);
        let all: BTreeSet<String> = world.expected(&read(&db, "Observation", "").await);
        for (name, value) in [("code", "a"), ("code:not", "a"), ("date", "ge2020"), ("subject:missing", "false")] {
            let scoped = GranularScopeSearch::parse(&catalog, &SearchParseContext::strict(&kind, OWN, 0), (name, value)).unwrap();
            for compartment in [None, Some(compartment.clone())] {
                let within = AccessFilter::union_of_branches(vec![AccessFilterBranch { compartment, criteria: vec![AccessFilterCriterion::Search(scoped.clone())] }]);
                let inside = |id: &&String| {
                    let key: ResourceKey = format!("Observation/{id}").parse().unwrap();
                    within.contains_resource(&key, &world.find_resource(&key).unwrap().resource)
                };
                let expected: BTreeSet<String> = all.iter().filter(inside).cloned().collect();
                let query = SearchQuery { within: within.clone(), ..asking(read(&db, "Observation", "").await) };
                let matches = found(&db, &query).await;
                assert_eq!(ids(&matches).into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), expected, "{name}={value}");
                assert_eq!(matches.total, Some(expected.len() as u64), "{name}={value}");
                // Without the index nothing is listed rather than everything.
                let listed = db.list(&ListQuery { within: within.clone(), ..ListQuery::all_of_type(kind.clone()) }).await.unwrap();
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
                let (kind, catalog) = (kind("Patient"), db.current_search_parameter_catalog().await.unwrap());
                let request = SearchParseContext::strict(&kind, OWN, NOW_US);
                let Ok((search, _)) = parse_search(&catalog, &request, [(name, value.as_str())]) else { continue };
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
            db.run_user_sql(&format!("DELETE FROM {table}")).await.unwrap().unwrap();
        }
        db.run_user_sql("UPDATE search_state SET revision = revision + 1").await.unwrap().unwrap();
        let search = read(&db, "Patient", "active=true").await;
        let refused = db.search(&asking(search.clone())).await.unwrap();
        assert_eq!(refused, Err(SearchExecutionError::Indexing { parameter: "Patient.active".to_owned() }));
        transact(&db, vec![put("Patient/p000", json!({"active": false}))]).await;
        assert!(db.search(&asking(search.clone())).await.unwrap().is_err());

        let (one, other) = (home.open().await, home.open().await);
        let (first, second) = tokio::join!(one.rebuild_search_index(), other.rebuild_search_index());
        first.unwrap();
        second.unwrap();
        db.rebuild_search_index().await.unwrap();
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
        db.rebuild_search_index().await.unwrap();
        assert_eq!(ids_of(&other, "Patient", "nickname=al").await, ["b", "c"]);
        transact(&db, vec![ResourceWrite::unconditional("SearchParameter/nickname".parse().unwrap(), WriteOperation::Delete)]).await;
        let catalog = other.current_search_parameter_catalog().await.unwrap();
        assert!(catalog.find_parameter_by_code(&kind("Patient"), "nickname").is_none());
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
        db.rebuild_search_index().await.unwrap();
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
        let catalog = db.current_search_parameter_catalog().await.unwrap();
        let by = Some(catalog.find_parameter_by_code(&of, "has-member").unwrap().as_ref());
        let request = SearchParseContext::strict(&of, OWN, NOW_US);
        let coded = AccessFilterCriterion::parse(&of, "category", "laboratory").unwrap();
        let scoped = AccessFilterCriterion::Search(GranularScopeSearch::parse(&catalog, &request, ("category", "laboratory")).unwrap());
        for criterion in [coded, scoped] {
            let within = AccessFilter::union_of_branches(vec![AccessFilterBranch { compartment: None, criteria: vec![criterion] }]);
            let among = db.read_by_ids(&of, &ids, &within).await.unwrap().unwrap();
            let referring = RevincludeQuery { resource_type: &of, by, to: &of, ids: &ids };
            let referring = db.read_referring_resources(referring, &within, 10).await.unwrap().unwrap();
            for found in [among, referring] {
                let found: Vec<&str> = found.iter().map(|stored| stored.key.id.as_str()).collect();
                assert_eq!(found, ["lab"], "{within:?}");
            }
        }
        db.close().await;
    }
}
