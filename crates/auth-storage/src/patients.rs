//! Patients as pages show them, and whom a person is related to.

use std::collections::BTreeMap;

use async_trait::async_trait;
use fhir_resource::ResourceType;
use oauth_core::ports::{PATIENT_SEARCH_RESULTS_MAX, PatientIdentifier, PatientStore, PatientSummary, StoreError};
use serde_json::Value;

use sql_engines::run;

use crate::db::AuthDatabase;
use crate::document::Document;
use crate::fault::oauth;
use crate::resources::Table;
use crate::search::{self, Begins};

/// Patients that begin with what was typed and are enough: names with blanks inside are not read as a whole then.
const ENOUGH: usize = 50;
/// Most words of a search that count.
const WORDS_MAX: usize = 8;
/// The names to show, best first; any other use comes after them.
const NAME_USES: [&str; 2] = ["official", "usual"];
/// Codes of identifiers in the order in which they are shown, and whether payers give them to members; any other
/// comes after them.
///
/// # Source
/// HL7 v2, table 0203: member number, subscriber number, medical record number. `um`, unique member id, is CARIN's.
const NUMBERS: [(&str, bool); 4] = [("MB", true), ("um", true), ("SN", true), ("MR", false)];
/// Uses of an address that is not shown.
const PAST: [&str; 2] = ["old", "billing"];

const BY_ID: &str = "SELECT t.id, t.resource FROM {table} t WHERE t.id = $1";

/// A row of it.
type Row = (String, Document);

#[async_trait]
impl PatientStore for AuthDatabase {
    async fn patient_by_id(&self, id: &str) -> Result<Option<PatientSummary>, StoreError> {
        let resource = resource(self, "Patient", id).await.map_err(oauth)?;
        Ok(resource.map(|resource| summary(id, &resource)))
    }

    async fn related_person_or_person(&self, resource_type: &str, id: &str) -> Result<Option<Value>, StoreError> {
        resource(self, resource_type, id).await.map_err(oauth)
    }

    async fn search_patients_by_words(&self, text: &str, limit: u32) -> Result<Vec<PatientSummary>, StoreError> {
        find(self, text, usize::try_from(limit).unwrap_or(usize::MAX)).await.map_err(oauth)
    }
}

async fn resource(db: &AuthDatabase, kind: &str, id: &str) -> Result<Option<Value>, sqlx::Error> {
    let Some(table) = table(db, kind).await? else {
        return Ok(None);
    };
    // No id has the character NUL, and Postgres refuses it even as a parameter.
    if id.contains('\0') {
        return Ok(None);
    }
    let sql = table.sql(db.dialect(), BY_ID);
    let row: Option<Row> = run!(db.reader(), fetch_optional: sqlx::query_as(sql).bind(id))?;
    Ok(row.and_then(|(id, document)| document.read(kind, &id)))
}

/// Returns the table of a type, `None` also when no resource of the type was ever written.
async fn table(db: &AuthDatabase, kind: &str) -> Result<Option<Table>, sqlx::Error> {
    match kind.parse::<ResourceType>() {
        Ok(kind) => Table::find(db, &kind).await,
        Err(_) => Ok(None),
    }
}

/// Names with blanks inside are read as a whole only where too few begin with what was typed.
async fn find(db: &AuthDatabase, text: &str, limit: usize) -> Result<Vec<PatientSummary>, sqlx::Error> {
    let words: Vec<&str> = text.split_whitespace().take(WORDS_MAX).collect();
    if words.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let mut found = Found { patients: BTreeMap::new(), limit };
    for begins in [Begins::Part, Begins::Word] {
        for patient in search::patients(db, (&words, begins), PATIENT_SEARCH_RESULTS_MAX).await? {
            found.add(summary(patient.key.id.as_str(), &patient.resource));
        }
        if found.patients.len() >= limit.min(ENOUGH) {
            break;
        }
    }
    Ok(found.patients.into_values().collect())
}

/// The first patients by name.
struct Found {
    patients: BTreeMap<(String, String), PatientSummary>,
    limit: usize,
}

impl Found {
    fn add(&mut self, patient: PatientSummary) {
        self.patients.insert((patient.name.to_lowercase(), patient.id.clone()), patient);
        if self.patients.len() > self.limit {
            self.patients.pop_last();
        }
    }
}

fn elements<'r>(resource: &'r Value, name: &str) -> impl Iterator<Item = &'r Value> {
    resource.get(name).and_then(Value::as_array).into_iter().flatten()
}

fn summary(id: &str, resource: &Value) -> PatientSummary {
    let rank = |name: &&Value| {
        let usage = name.get("use").and_then(Value::as_str);
        NAME_USES.iter().position(|known| usage == Some(*known)).unwrap_or(NAME_USES.len())
    };
    let mut names: Vec<&Value> = elements(resource, "name").collect();
    names.sort_by_key(rank);
    let name = names.into_iter().find_map(written_name);
    let birth_date = resource.get("birthDate").and_then(Value::as_str).map(str::to_owned);
    let gender = resource.get("gender").and_then(Value::as_str).map(str::to_owned);
    let (number, address) = (number(resource), address(resource));
    PatientSummary {
        id: id.to_owned(),
        name: name.unwrap_or_else(|| id.to_owned()),
        birth_date,
        gender,
        number,
        address,
    }
}

/// Returns the identifier that people know best.
fn number(resource: &Value) -> Option<PatientIdentifier> {
    let found = elements(resource, "identifier").filter_map(|identifier| {
        let value = identifier.get("value").and_then(Value::as_str).map(str::trim).filter(|value| !value.is_empty())?;
        let codings = identifier.get("type").into_iter().flat_map(|of_type| elements(of_type, "coding"));
        let codes = codings.filter_map(|coding| coding.get("code").and_then(Value::as_str));
        let rank = codes.filter_map(|code| NUMBERS.iter().position(|(known, _)| *known == code)).min();
        Some((rank.unwrap_or(NUMBERS.len()), value))
    });
    let (rank, value) = found.min_by_key(|(rank, _)| *rank)?;
    let is_members = NUMBERS.get(rank).is_some_and(|(_, is_members)| *is_members);
    Some(PatientIdentifier { is_members, value: value.to_owned() })
}

/// Returns the first line and the city of the first address that is not past.
fn address(resource: &Value) -> Option<String> {
    let is_present = |address: &&Value| {
        let usage = address.get("use").and_then(Value::as_str);
        usage.is_none_or(|usage| !PAST.contains(&usage))
    };
    let address = elements(resource, "address").find(is_present)?;
    let line = elements(address, "line").next().and_then(Value::as_str);
    let city = address.get("city").and_then(Value::as_str);
    let parts: Vec<&str> = [line, city].into_iter().flatten().map(str::trim).filter(|part| !part.is_empty()).collect();
    let text = || address.get("text").and_then(Value::as_str).and_then(|text| text.lines().next()).map(str::to_owned);
    Some(parts.join(", ")).filter(|parts| !parts.is_empty()).or_else(text)
}

/// Given names and family name; the text where there is neither.
fn written_name(name: &Value) -> Option<String> {
    let given = name.get("given").and_then(Value::as_array).into_iter().flatten();
    let parts: Vec<&str> = given.chain(name.get("family")).filter_map(Value::as_str).map(str::trim).collect();
    let written = parts.join(" ");
    let text = || name.get("text").and_then(Value::as_str).map(|text| text.trim().to_owned());
    Some(written.trim().to_owned()).filter(|name| !name.is_empty()).or_else(text).filter(|name| !name.is_empty())
}
