//! Resources and searches that a seed decides.

use super::*;

/// A sequence of choices that a seed decides.
pub(super) struct Seeded(pub(super) u64);

impl Seeded {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    pub(super) fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    pub(super) fn sometimes(&mut self) -> bool {
        self.below(2) == 0
    }
}

pub(super) const SYSTEMS: [&str; 2] = ["http://loinc.org", "http://snomed.info/sct"];
pub(super) const CODES: [&str; 4] = ["1234-5", "8480-6", "a", "b|c"];
pub(super) const NAMES: [&str; 6] = ["Müller", "Muller-Ost", "Smith", "smithers", "O'Brien\\", "%_x"];
pub(super) const DATES: [&str; 6] =
    ["2020", "2020-05", "2020-05-17", "2020-05-17T10:00:00Z", "2021-01-01", "1999-12-31"];
pub(super) const NUMBERS: [&str; 5] = ["5.4", "5.40", "100", "-3", "0.1"];
pub(super) const UNITS: [&str; 2] = ["mg", "kg"];
/// Parameters that are asked for with `:missing`.
pub(super) const MISSED: [&str; 8] = [
    "code-value-quantity",
    "code-value-concept",
    "code-value-date",
    "combo-code-value-quantity",
    "subject",
    "date",
    "combo-code",
    "combo-value-quantity",
];

pub(super) fn patient(seeded: &mut Seeded) -> Value {
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

pub(super) fn observation(seeded: &mut Seeded) -> Value {
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

pub(super) async fn fill(db: &AuthDatabase, seeded: &mut Seeded) {
    let mut writes: Vec<ResourceWrite> = Vec::new();
    writes.extend(
        (0..3)
            .map(|at| put(&format!("Practitioner/d{at}"), json!({"name": [{"family": NAMES[at]}], "active": at > 0}))),
    );
    writes.extend((0..8).map(|at| put(&format!("Patient/p{at}"), patient(seeded))));
    writes.extend((0..60).map(|at| put(&format!("Observation/o{at:02}"), observation(seeded))));
    transact(db, writes).await;
    // What is replaced and deleted is found as it is now.
    let mut later: Vec<ResourceWrite> =
        (0..20).map(|_| put(&format!("Observation/o{:02}", seeded.below(60)), observation(seeded))).collect();
    later.extend((0..3).map(|_| {
        ResourceWrite::unconditional(
            format!("Observation/o{:02}", seeded.below(60)).parse().unwrap(),
            WriteOperation::Delete,
        )
    }));
    later.push(put("Patient/p0", patient(seeded)));
    transact(db, later).await;
}

pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if matches!(c, '\\' | ',' | '|' | '$') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

pub(super) fn token(seeded: &mut Seeded) -> String {
    let (system, code) = (seeded.one(&SYSTEMS), escaped(seeded.one(&CODES)));
    match seeded.below(4) {
        0 => code,
        1 => format!("|{code}"),
        2 => format!("{system}|"),
        _ => format!("{system}|{code}"),
    }
}

pub(super) fn tokens(seeded: &mut Seeded) -> String {
    let first = token(seeded);
    if seeded.sometimes() { format!("{first},{}", token(seeded)) } else { first }
}

pub(super) fn prefixed(seeded: &mut Seeded, values: &[&str]) -> String {
    let prefix = seeded.one(&["", "eq", "ne", "gt", "lt", "ge", "le", "sa", "eb", "ap"]);
    format!("{prefix}{}", seeded.one(values))
}

pub(super) fn quantity(seeded: &mut Seeded) -> String {
    let number = prefixed(seeded, &NUMBERS);
    match seeded.below(3) {
        0 => number,
        1 => format!("{number}||{}", seeded.one(&UNITS)),
        _ => format!("{number}|http://unitsofmeasure.org|{}", seeded.one(&UNITS)),
    }
}

pub(super) fn of_patient(seeded: &mut Seeded) -> (String, String) {
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

pub(super) fn of_observation(seeded: &mut Seeded) -> (String, String) {
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

pub(super) fn query(seeded: &mut Seeded) -> (&'static str, String) {
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
