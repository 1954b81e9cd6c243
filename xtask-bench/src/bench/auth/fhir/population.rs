//! A payer's records, made up: 4,000 patients with 24 resources each, 100,000 in all, the same in every run.
//!
//! Each patient has 20 Observations, and each code of an Observation is that of 20 patients, so that a search by
//! either fills a page. Everything else is drawn from a sequence that a seed decides.

use serde_json::{Value, json};

/// Patients, named `p0000` and so on.
pub(super) const PATIENTS: usize = 4_000;
/// Observations of each patient, and Observations of each code.
pub(super) const OBSERVATIONS: usize = 20;
/// Resources of a patient: a Coverage, an Encounter, two Conditions, the Observations, and the Patient.
pub(super) const EACH: usize = 5 + OBSERVATIONS;

const CODES: &str = "http://loinc.example";
const CATEGORIES: &str = "http://terminology.hl7.org/CodeSystem/observation-category";
const UNITS: &str = "http://unitsofmeasure.org";

/// Numbers that a seed decides.
#[derive(Debug)]
pub(super) struct Seeded(u64);

impl Seeded {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next one, from 0 to before `end`.
    ///
    /// # Source
    /// D. Knuth, MMIX: the constants of its generator, of which the upper bits are used.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % end.max(1)
    }

    fn one_of(&mut self, words: &[&'static str]) -> &'static str {
        words.get(self.below(words.len())).copied().unwrap_or_default()
    }

    fn date(&mut self, from_year: usize, years: usize) -> String {
        format!("{}-{:02}-{:02}", from_year + self.below(years), 1 + self.below(12), 1 + self.below(28))
    }
}

/// The code that the Observation of this place has of a patient.
pub(super) fn code(patient: usize, place: usize) -> String {
    format!("c{:04}", (patient + place * (PATIENTS / OBSERVATIONS)) % PATIENTS)
}

/// The id of a patient.
pub(super) fn patient_id(patient: usize) -> String {
    format!("p{patient:04}")
}

/// The id of an Observation of a patient.
pub(super) fn observation_id(patient: usize, place: usize) -> String {
    format!("o{patient:04}-{place}")
}

/// All resources of a patient.
pub(super) fn record(patient: usize, seeded: &mut Seeded) -> Vec<Value> {
    let mut record = vec![person(patient, seeded), coverage(patient, seeded), encounter(patient, seeded)];
    record.extend((0..2).map(|place| condition(patient, place, seeded)));
    record.extend((0..OBSERVATIONS).map(|place| {
        let mut observation = observation(patient, place, seeded);
        if let Some(members) = observation.as_object_mut() {
            members.insert("id".to_owned(), observation_id(patient, place).into());
        }
        observation
    }));
    record
}

fn person(patient: usize, seeded: &mut Seeded) -> Value {
    let family = format!("Family{}", seeded.below(700));
    json!({
        "resourceType": "Patient",
        "id": patient_id(patient),
        "identifier": [{"system": "http://payer.example/member", "value": format!("M{patient:06}")}],
        "active": true,
        "name": [{"use": "official", "family": family, "given": [format!("Given{}", seeded.below(300))]}],
        "telecom": [{"system": "phone", "value": format!("555-{:07}", seeded.below(10_000_000)), "use": "home"}],
        "gender": seeded.one_of(&["female", "male"]),
        "birthDate": seeded.date(1930, 90),
        "address": [{
            "line": [format!("{} Main Street", 1 + seeded.below(900))],
            "city": format!("City{}", seeded.below(80)),
            "postalCode": format!("{:05}", seeded.below(100_000)),
        }],
    })
}

fn coverage(patient: usize, seeded: &mut Seeded) -> Value {
    json!({
        "resourceType": "Coverage",
        "id": format!("v{patient:04}"),
        "status": "active",
        "subscriberId": format!("M{patient:06}"),
        "beneficiary": {"reference": format!("Patient/{}", patient_id(patient))},
        "period": {"start": seeded.date(2015, 9)},
        "payor": [{"reference": "Organization/acme-health"}],
    })
}

fn encounter(patient: usize, seeded: &mut Seeded) -> Value {
    let day = seeded.date(2018, 7);
    json!({
        "resourceType": "Encounter",
        "id": format!("e{patient:04}"),
        "status": "finished",
        "class": {"system": "http://terminology.hl7.org/CodeSystem/v3-ActCode", "code": "AMB"},
        "subject": {"reference": format!("Patient/{}", patient_id(patient))},
        "period": {"start": format!("{day}T08:00:00Z"), "end": format!("{day}T09:00:00Z")},
    })
}

fn condition(patient: usize, place: usize, seeded: &mut Seeded) -> Value {
    let clinical = "http://terminology.hl7.org/CodeSystem/condition-clinical";
    let number = seeded.below(600);
    json!({
        "resourceType": "Condition",
        "id": format!("d{patient:04}-{place}"),
        "clinicalStatus": {"coding": [{"system": clinical, "code": seeded.one_of(&["active", "resolved"])}]},
        "code": {
            "coding": [{"system": "http://snomed.example", "code": format!("s{number}"), "display": format!("Finding {number}")}],
            "text": format!("Finding {number}"),
        },
        "subject": {"reference": format!("Patient/{}", patient_id(patient))},
        "encounter": {"reference": format!("Encounter/e{patient:04}")},
        "onsetDateTime": seeded.date(2010, 14),
    })
}

/// An Observation without an id.
pub(super) fn observation(patient: usize, place: usize, seeded: &mut Seeded) -> Value {
    let (code, day) = (code(patient, place), seeded.date(2015, 10));
    let display = format!("Measurement {code}");
    json!({
        "resourceType": "Observation",
        "status": "final",
        "category": [{"coding": [{"system": CATEGORIES, "code": "laboratory", "display": "Laboratory"}]}],
        "code": {"coding": [{"system": CODES, "code": code, "display": display}], "text": display},
        "subject": {"reference": format!("Patient/{}", patient_id(patient))},
        "encounter": {"reference": format!("Encounter/e{patient:04}")},
        "effectiveDateTime": format!("{day}T08:00:00Z"),
        "issued": format!("{day}T10:00:00Z"),
        "valueQuantity": {"value": seeded.below(3_000), "unit": "mg/dL", "system": UNITS, "code": "mg/dL"},
    })
}

/// A transaction that puts resources under their ids, or creates those that have none.
pub(super) fn transaction(resources: Vec<Value>) -> Value {
    let entry = |resource: Value| {
        let member = |name| resource.get(name).and_then(Value::as_str).map(str::to_owned);
        let kind = member("resourceType").unwrap_or_default();
        let request = match member("id") {
            Some(id) => json!({"method": "PUT", "url": format!("{kind}/{id}")}),
            None => json!({"method": "POST", "url": kind}),
        };
        json!({"resource": resource, "request": request})
    };
    let entries: Vec<Value> = resources.into_iter().map(entry).collect();
    json!({"resourceType": "Bundle", "type": "transaction", "entry": entries})
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn everybody(seed: u64) -> Vec<Value> {
        let mut seeded = Seeded::new(seed);
        (0..PATIENTS).flat_map(|patient| record(patient, &mut seeded)).collect()
    }

    #[test]
    fn there_are_100_000_resources_and_each_has_an_id_of_its_own() {
        let resources = everybody(1);
        assert_eq!((resources.len(), PATIENTS * EACH), (100_000, 100_000));
        let ids: BTreeSet<(&str, &str)> =
            resources.iter().map(|one| (one["resourceType"].as_str().unwrap(), one["id"].as_str().unwrap())).collect();
        assert_eq!(ids.len(), resources.len());
    }

    #[test]
    fn every_code_is_that_of_a_page_of_observations() {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for patient in 0..PATIENTS {
            for place in 0..OBSERVATIONS {
                *counts.entry(code(patient, place)).or_default() += 1;
            }
        }
        assert_eq!(counts.len(), PATIENTS);
        assert!(counts.values().all(|count| *count == OBSERVATIONS));
    }

    #[test]
    fn a_seed_decides_everything() {
        let record = |seed| record(7, &mut Seeded::new(seed));
        assert_eq!(record(1), record(1));
        assert_ne!(record(1), record(2));
    }

    #[test]
    fn what_has_an_id_is_put_and_what_has_none_is_created() {
        let mut seeded = Seeded::new(1);
        let bundle = transaction(vec![person(3, &mut seeded), observation(3, 0, &mut seeded)]);
        assert_eq!(bundle["entry"][0]["request"], json!({"method": "PUT", "url": "Patient/p0003"}));
        assert_eq!(bundle["entry"][1]["request"], json!({"method": "POST", "url": "Observation"}));
    }
}
