//! The engines against the store in memory: any transactions, the same answers.

use std::collections::HashMap;

use fhir_resource::{PatientCompartment, ResourceKey, StoredResource};
use fhir_store::access_filter::AccessFilterCriterion;
use fhir_store::memory_store::MemoryStore;
use fhir_store::{
    AccessFilter, AccessFilterBranch, ElementEqualityFilter, IfMatch, ListQuery, PatchDocument, ResourceLookup,
    ResourceStore, ResourceWrite, WriteAccess, WriteError, WriteOperation, WriteOutcome, WritePrecondition,
};
use serde_json::{Value, json};

use crate::home::{NOW_US, told};

/// Transactions per engine.
const TRANSACTIONS: i64 = 250;

/// Numbers that look random and are the same in every run (Knuth's MMIX generator).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())].clone()
    }

    fn body(&mut self, id: &str) -> Value {
        let n = self.roll(3);
        let name = self.pick(&["x", "y", "it's \"quoted\"", "true"]);
        let codes: Vec<Value> = (0..self.roll(3)).map(|_| json!({"code": self.pick(&["a", "b"])})).collect();
        let flag = self.pick(&[json!(true), json!("true"), json!(null), json!(1.5)]);
        let performers: Vec<Value> = (0..self.roll(2)).map(|_| self.reference()).collect();
        json!({
            "id": id, "n": n, "name": name, "coding": codes, "tags": ["t", n], "deep": {"flag": flag},
            "subject": self.reference(), "performer": performers, "category": [self.category()],
        })
    }

    fn filter(&mut self) -> ElementEqualityFilter {
        match self.roll(7) {
            0 => ElementEqualityFilter::by_id(self.pick(&["a", "b", "c", "nobody"])),
            1 => ElementEqualityFilter::new(["name"], self.pick(&["x", "it's \"quoted\"", "true", ""])),
            2 => ElementEqualityFilter::new(["n"], self.pick(&["0", "1", "1.0", " 1"])),
            3 => ElementEqualityFilter::new(["coding", "code"], self.pick(&["a", "b", "c"])),
            4 => ElementEqualityFilter::new(["tags"], self.pick(&["t", "2", "u"])),
            5 => ElementEqualityFilter::new(["deep", "flag"], self.pick(&["true", "1.5", "null"])),
            _ => ElementEqualityFilter::new(["coding"], "a"),
        }
    }

    fn write(&mut self, at: &dyn Fn(&ResourceKey) -> Option<i64>) -> ResourceWrite {
        let id = self.pick(&["a", "b", "c", "d"]);
        let kind = self.pick(&["Client", "Patient", "Observation"]);
        let key: ResourceKey = format!("{kind}/{id}").parse().unwrap();
        let operation = match self.roll(8) {
            0..3 => WriteOperation::Create(self.body(id)),
            3..5 => WriteOperation::Put(self.body(id)),
            5 => WriteOperation::Patch(PatchDocument::Merge(json!({"n": self.roll(3)}))),
            _ => WriteOperation::Delete,
        };
        let if_match = match self.roll(8) {
            0 => Some(IfMatch::Any),
            1 => Some(IfMatch::Version(-1)),
            2 => at(&key).map(IfMatch::Version),
            _ => None,
        };
        let if_none_exist = (self.roll(3) == 0).then(|| (0..=self.roll(2)).map(|_| self.filter()).collect());
        let if_none_match = (self.roll(8) == 0).then_some(IfMatch::Any);
        let conditional = if_none_exist.is_some() && self.roll(2) == 0;
        let write = ResourceWrite::conditional(
            key.resource_type,
            operation,
            WritePrecondition { if_match, if_none_match, if_none_exist },
        );
        let reach = WriteAccess { search: self.selection(), target: self.selection(), ..WriteAccess::default() };
        ResourceWrite { id: (!conditional).then_some(key.id), reach, ..write }
    }

    /// Of what a writer or reader may reach: mostly everything, sometimes one record, a category of it
    /// or both.
    fn selection(&mut self) -> AccessFilter {
        if self.roll(2) == 0 {
            return AccessFilter::Everything;
        }
        AccessFilter::union_of_branches((0..self.roll(3)).map(|_| self.region()).collect())
    }

    fn region(&mut self) -> AccessFilterBranch {
        let patient = self.pick(&["a", "b", "nobody"]).parse().unwrap();
        let compartment = PatientCompartment::of_patient(patient, "https://payer.example/fhir");
        let kind = "Observation".parse().unwrap();
        let value = self.pick(&["x", "s|x", "|x", "s|", "y,s|x", "none"]);
        let category = AccessFilterCriterion::parse(&kind, "category", value).unwrap();
        match self.roll(4) {
            0 | 1 => AccessFilterBranch { compartment: Some(compartment), criteria: Vec::new() },
            2 => AccessFilterBranch { compartment: None, criteria: vec![category] },
            _ => AccessFilterBranch { compartment: Some(compartment), criteria: vec![category] },
        }
    }

    /// A reference to a patient or something else, in any spelling.
    fn reference(&mut self) -> Value {
        let id = self.pick(&["a", "b", "ab"]);
        let text = match self.roll(6) {
            0 | 1 => format!("Patient/{id}"),
            2 => format!("Patient/{id}/_history/3"),
            3 => format!("https://payer.example/fhir/Patient/{id}"),
            4 => format!("https://payer.example/fhir/Patient/{id}/_history/3"),
            _ => format!("Group/{id}"),
        };
        match self.roll(4) {
            0 => json!({"resourceType": self.pick(&["Patient", "Group"]), "id": id}),
            1 => json!({"uri": text}),
            2 => json!({"reference": text, "display": "x"}),
            _ => json!({"reference": text}),
        }
    }

    /// Codings with and without a system.
    fn category(&mut self) -> Value {
        let coding = self.pick(&[
            json!({"system": "s", "code": "x"}),
            json!({"code": "x"}),
            json!({"system": "t", "code": "y"}),
            json!({"system": "s"}),
            json!("x"),
        ]);
        json!({"coding": [coding, {"code": "z"}]})
    }
}

/// One store, with its versions and the ids it gave renamed in the order they were first seen.
struct Watched<'a> {
    store: &'a dyn ResourceStore,
    versions: HashMap<i64, i64>,
    given: HashMap<fhir_resource::ResourceId, fhir_resource::ResourceId>,
}

impl Watched<'_> {
    fn rename(&mut self, version: &mut i64) {
        if *version >= 0 {
            let next = i64::try_from(self.versions.len()).unwrap();
            *version = *self.versions.entry(*version).or_insert(next);
        }
    }

    fn rename_given(&mut self, key: &mut ResourceKey) {
        if !IDS.contains(&key.id.as_str()) {
            let next = format!("given-{}", self.given.len()).parse().unwrap();
            key.id = self.given.entry(key.id.clone()).or_insert(next).clone();
        }
    }

    async fn transact(
        &mut self,
        writes: Vec<ResourceWrite>,
        now_us: i64,
    ) -> Result<Vec<WriteOutcome>, (usize, WriteError)> {
        let mut outcome = self.store.transact_writes(writes, now_us).await.unwrap();
        match &mut outcome {
            Ok(written) => {
                for written in written {
                    match written {
                        WriteOutcome::Created(stored)
                        | WriteOutcome::Updated(stored)
                        | WriteOutcome::Unchanged(stored)
                        | WriteOutcome::Existing(stored)
                        | WriteOutcome::Deleted(stored) => {
                            self.rename(&mut stored.version);
                            self.rename_given(&mut stored.key);
                        }
                        WriteOutcome::Absent => {}
                    }
                }
            }
            Err(refusal) => {
                if let WriteError::VersionMismatch { key, .. } = &mut refusal.cause
                    && !IDS.contains(&key.id.as_str())
                    && !self.given.contains_key(&key.id)
                {
                    // What was to be made went away with the transaction; a store may give its id again.
                    key.id = "refused".parse().unwrap();
                }
                if let WriteError::VersionMismatch { current: Some(version), .. } = &mut refusal.cause {
                    // A version that a write of this very transaction made went away with it, and
                    // only some stores use its number again.
                    *version = self.versions.get(version).copied().unwrap_or(i64::MAX);
                }
            }
        }
        outcome.map_err(|refusal| (refusal.index, refusal.cause))
    }

    async fn read(&mut self, key: &ResourceKey) -> ResourceLookup {
        let mut found = self.store.read(key).await.unwrap();
        match &mut found {
            ResourceLookup::Found(StoredResource { version, .. }) | ResourceLookup::Deleted { version } => {
                self.rename(version);
            }
            ResourceLookup::Missing => {}
        }
        found
    }

    async fn list(&mut self, query: &ListQuery) -> (u64, Vec<StoredResource>) {
        let mut page = self.store.list(query).await.unwrap();
        for stored in &mut page.entries {
            self.rename(&mut stored.version);
            self.rename_given(&mut stored.key);
        }
        (page.total, page.entries)
    }

    async fn version(&self, key: &ResourceKey) -> Option<i64> {
        match self.store.read(key).await.unwrap() {
            ResourceLookup::Found(stored) => Some(stored.version),
            ResourceLookup::Deleted { .. } | ResourceLookup::Missing => None,
        }
    }
}

/// The ids that writers choose.
const IDS: [&str; 4] = ["a", "b", "c", "d"];

fn keys() -> Vec<ResourceKey> {
    let kinds = ["Client", "Patient", "Observation"];
    let all = kinds.iter().flat_map(|kind| IDS.map(|id| format!("{kind}/{id}")));
    all.map(|key| key.parse().unwrap()).collect()
}

/// The current version of every resource.
async fn versions(store: &Watched<'_>) -> HashMap<ResourceKey, i64> {
    let mut versions = HashMap::new();
    for key in keys() {
        if let Some(version) = store.version(&key).await {
            versions.insert(key, version);
        }
    }
    versions
}

told! {
    async fn an_engine_answers_as_the_store_in_memory(home) {
        let (db, memory) = (home.open().await, MemoryStore::new());
        let mut engine = Watched { store: &db, versions: HashMap::new(), given: HashMap::new() };
        let mut model = Watched { store: &memory, versions: HashMap::new(), given: HashMap::new() };
        let mut refused = 0;
        for step in 0..TRANSACTIONS {
            // The same seed twice: the writes differ only in the versions If-Match names.
            let (of_engine, of_model) = (versions(&engine).await, versions(&model).await);
            let writes = |versions: &HashMap<ResourceKey, i64>| {
                let mut dice = Dice(u64::try_from(step).unwrap());
                (0..=dice.roll(3)).map(|_| dice.write(&|key| versions.get(key).copied())).collect::<Vec<_>>()
            };
            let now_us = NOW_US + step;
            let said = engine.transact(writes(&of_engine), now_us).await;
            let expected = model.transact(writes(&of_model), now_us).await;
            assert_eq!(said, expected, "step {step}: {:#?}", writes(&of_engine));
            refused += u32::from(said.is_err());
            for key in keys() {
                assert_eq!(engine.read(&key).await, model.read(&key).await, "step {step}: {key}");
            }
            let mut dice = Dice(u64::try_from(step).unwrap() + 1_000_000);
            let kind = dice.pick(&["Client", "Patient", "Observation", "Encounter"]).parse().unwrap();
            let filters = (0..dice.roll(3)).map(|_| dice.filter()).collect();
            let (count, page) = (dice.pick(&[0, 1, 2, 100]), dice.pick(&[1, 2, 3]));
            let query = ListQuery { resource_type: kind, filters, within: dice.selection(), count, page };
            let (said, expected) = (engine.list(&query).await, model.list(&query).await);
            // Resources made at one moment under ids that the store gave are in no order among themselves.
            let is_ordered = |entries: &[StoredResource]| entries.iter().all(|stored| IDS.contains(&stored.key.id.as_str()));
            if is_ordered(&said.1) && is_ordered(&expected.1) {
                assert_eq!(said, expected, "step {step}: {query:?}");
            } else {
                assert_eq!((said.0, said.1.len()), (expected.0, expected.1.len()), "step {step}: {query:?}");
            }
        }
        let transactions = u32::try_from(TRANSACTIONS).unwrap();
        assert!(refused > transactions / 10 && refused < transactions * 9 / 10, "{refused} refused");
    }
}
