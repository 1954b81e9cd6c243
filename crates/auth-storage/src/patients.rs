//! Patients as pages show them, and whom a person is related to.
//!
//! There is no search index yet, so a search reads the patients one chunk after the other in the
//! order of their ids and stops at [`SCANNED_MAX`]: in a larger deployment it finds those of the
//! first ids, and one whose whole id was asked for. Names are compared here and not by the engines,
//! which do not agree on the lower case of a letter beyond ASCII.

use std::collections::BTreeMap;

use async_trait::async_trait;
use fhir_store::ResourceType;
use oauth_core::ports::{PatientStore, PatientSummary, StoreError};
use serde_json::Value;

use crate::db::Db;
use crate::document::Document;
use crate::engine::run;
use crate::fault::oauth;
use crate::resources::Table;

/// Most patients one search reads.
const SCANNED_MAX: usize = 50_000;
/// Patients read in one statement.
const CHUNK_ROWS: usize = 500;
/// Most words of a search that count.
const WORDS_MAX: usize = 8;
/// The names to show, best first; any other use comes after them.
const NAME_USES: [&str; 2] = ["official", "usual"];

const BY_ID: &str = "SELECT t.id, t.resource FROM {table} t WHERE t.id = $1";
const AFTER: &str = "SELECT t.id, t.resource FROM {table} t WHERE t.id > $1 ORDER BY t.id LIMIT $2";

/// A row of either statement.
type Row = (String, Document);

#[async_trait]
impl PatientStore for Db {
    async fn patient(&self, id: &str) -> Result<Option<PatientSummary>, StoreError> {
        let resource = resource(self, "Patient", id).await.map_err(oauth)?;
        Ok(resource.map(|resource| summary(id, &resource)))
    }

    async fn relation(&self, resource_type: &str, id: &str) -> Result<Option<Value>, StoreError> {
        resource(self, resource_type, id).await.map_err(oauth)
    }

    async fn find_patients(&self, text: &str, limit: u32) -> Result<Vec<PatientSummary>, StoreError> {
        find(self, text, usize::try_from(limit).unwrap_or(usize::MAX)).await.map_err(oauth)
    }
}

async fn resource(db: &Db, kind: &str, id: &str) -> Result<Option<Value>, sqlx::Error> {
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

/// The table of a type, `None` also when no resource of the type was ever written.
async fn table(db: &Db, kind: &str) -> Result<Option<Table>, sqlx::Error> {
    match kind.parse::<ResourceType>() {
        Ok(kind) => Table::find(db, &kind).await,
        Err(_) => Ok(None),
    }
}

async fn find(db: &Db, text: &str, limit: usize) -> Result<Vec<PatientSummary>, sqlx::Error> {
    let words: Vec<String> = text.split_whitespace().take(WORDS_MAX).map(str::to_lowercase).collect();
    let Some(table) = table(db, "Patient").await? else {
        return Ok(Vec::new());
    };
    if words.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let mut found = Found { patients: BTreeMap::new(), limit };
    if let Some(resource) = resource(db, "Patient", text.trim()).await? {
        found.add(summary(text.trim(), &resource));
    }
    let sql = table.sql(db.dialect(), AFTER);
    let chunk = i64::try_from(CHUNK_ROWS).unwrap_or(i64::MAX);
    let mut last = String::new();
    for _ in 0..SCANNED_MAX / CHUNK_ROWS {
        let rows: Vec<Row> = run!(db.reader(), fetch_all: sqlx::query_as(sql.clone()).bind(&last).bind(chunk))?;
        let read = rows.len();
        for (id, document) in rows {
            if let Some(resource) = document.read("Patient", &id)
                && matches(&words, &id, &resource)
            {
                found.add(summary(&id, &resource));
            }
            last = id;
        }
        if read < CHUNK_ROWS {
            return Ok(found.patients.into_values().collect());
        }
    }
    tracing::warn!(scanned = SCANNED_MAX, "a search for patients ended before it had seen all of them");
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

/// Whether every word begins a word of a name, the id or an identifier.
fn matches(words: &[String], id: &str, resource: &Value) -> bool {
    let names = elements(resource, "name").flat_map(name_parts).flat_map(str::split_whitespace);
    let identifiers = elements(resource, "identifier").filter_map(|identifier| identifier.get("value")?.as_str());
    let held: Vec<String> = names.chain(identifiers).chain([id]).map(str::to_lowercase).collect();
    words.iter().all(|word| held.iter().any(|held| held.starts_with(word.as_str())))
}

fn name_parts(name: &Value) -> impl Iterator<Item = &str> {
    let given = name.get("given").and_then(Value::as_array).into_iter().flatten();
    given.chain(name.get("family")).chain(name.get("text")).filter_map(Value::as_str)
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
    PatientSummary { id: id.to_owned(), name: name.unwrap_or_else(|| id.to_owned()), birth_date }
}

/// Given names and family name; the text where there is neither.
fn written_name(name: &Value) -> Option<String> {
    let given = name.get("given").and_then(Value::as_array).into_iter().flatten();
    let parts: Vec<&str> = given.chain(name.get("family")).filter_map(Value::as_str).map(str::trim).collect();
    let written = parts.join(" ");
    let text = || name.get("text").and_then(Value::as_str).map(|text| text.trim().to_owned());
    Some(written.trim().to_owned()).filter(|name| !name.is_empty()).or_else(text).filter(|name| !name.is_empty())
}
