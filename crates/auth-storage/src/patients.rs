//! Patients as pages show them, and whom a person is related to.

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
use crate::search::{self, Begins};

/// Most patients a search reads, to put the first of them by name on the page: whoever gets none of theirs among so
/// many has to say more.
const READ_MAX: u32 = 500;
/// Most words of a search that count.
const WORDS_MAX: usize = 8;
/// The names to show, best first; any other use comes after them.
const NAME_USES: [&str; 2] = ["official", "usual"];

const BY_ID: &str = "SELECT t.id, t.resource FROM {table} t WHERE t.id = $1";

/// A row of it.
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

/// Names with blanks inside are read as a whole only where too few begin with what was typed.
async fn find(db: &Db, text: &str, limit: usize) -> Result<Vec<PatientSummary>, sqlx::Error> {
    let words: Vec<&str> = text.split_whitespace().take(WORDS_MAX).collect();
    if words.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let mut found = Found { patients: BTreeMap::new(), limit };
    for begins in [Begins::Part, Begins::Word] {
        for patient in search::patients(db, (&words, begins), READ_MAX).await? {
            found.add(summary(patient.key.id.as_str(), &patient.resource));
        }
        if found.patients.len() >= limit {
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
