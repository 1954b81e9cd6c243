//! What is stored about the people of a match.
//!
//! Members are found by what the platform's own index on Patient gives: of everybody born on a date, those who may
//! have the name are a handful, and the rules of matching pick among them. So there is nothing to keep up beside the
//! documents: the engine keeps the index at every write, also by users' own SQL.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use fhir_resource::ResourceType;
use fhir_store::{ElementEqualityFilter, ListQuery, ResourceStore as _, StoreError};
use payer_exchange::MemberMatchStore;
use payer_exchange::member_match::{MemberRecords, RequiredDemographics};
use serde_json::{Value, json};

use sql_engines::run;

use crate::db::AuthDatabase;
use crate::dialect::Sql;
use crate::document::Document;
use crate::fault::fhir;

/// `$1` is `[[birth date, part of a family name in small letters], …]`.
static BORN: Sql = Sql::new(
    "SELECT t.id, t.resource FROM {elements:$1}
JOIN patient t ON {member:birthDate} = e.value ->> 0 AND {may_be_named:e.value ->> 1}",
);
/// `$1` is `[[key], …]`.
static SUBSCRIBED: Sql =
    Sql::new("SELECT t.id, t.resource FROM {elements:$1} JOIN coverage t ON {member:subscriberId} = e.value ->> 0");
/// `$1` is `[[id, relative reference, absolute reference], …]`.
static CONSENTS: Sql = Sql::new(
    "SELECT t.id, t.resource FROM {elements:$1} JOIN consent t ON {of_patient:id} = e.value ->> 0
UNION ALL
SELECT t.id, t.resource FROM {elements:$1} JOIN consent t ON {of_patient:reference} = e.value ->> 1
UNION ALL
SELECT t.id, t.resource FROM {elements:$1} JOIN consent t ON {of_patient:reference} = e.value ->> 2
UNION ALL
SELECT t.id, t.resource FROM {elements:$1} JOIN consent t ON {of_patient:uri} = e.value ->> 2",
);
/// A row of any of these.
type Row = (String, Document);

#[async_trait]
impl MemberMatchStore for AuthDatabase {
    async fn load_member_records(&self, asked: &[&RequiredDemographics]) -> Result<MemberRecords, StoreError> {
        // What is small is not the same everywhere beyond ASCII; the rules of matching compare it then.
        let family = |asked: &RequiredDemographics| {
            if asked.family_name().is_ascii() { asked.family_name().to_owned() } else { String::new() }
        };
        let born = keys(asked.iter().map(|asked| [asked.birth_date().to_owned(), family(asked)]));
        let subscribed = keys(asked.iter().filter_map(|asked| Some([asked.subscriber_id()?.to_owned()])));
        let patients = ask(self, (&BORN, "Patient"), &born).await?;
        let coverages = ask(self, (&SUBSCRIBED, "Coverage"), &subscribed).await?;
        Ok(MemberRecords::from_resources(patients, coverages.into_iter().map(|(_, coverage)| coverage)))
    }

    async fn consents_of_patients(
        &self,
        patients: &[&str],
        fhir_base: &str,
    ) -> Result<Vec<(String, Value)>, StoreError> {
        let named = |id: &&str| json!([id, format!("Patient/{id}"), format!("{fhir_base}/Patient/{id}")]);
        ask(self, (&CONSENTS, "Consent"), &patients.iter().map(named).collect::<Vec<_>>()).await
    }

    async fn organization_ids_by_identifier(&self, system: &str, value: &str) -> Result<Vec<String>, StoreError> {
        let kind: ResourceType = "Organization".parse().map_err(|error| fhir(sqlx::Error::Decode(Box::new(error))))?;
        let filters = vec![ElementEqualityFilter::new(["identifier", "value"], value)];
        let query = ListQuery { filters, count: fhir_search::limits::MAX_PAGE_SIZE, ..ListQuery::all_of_type(kind) };
        let all = self.list(&query).await?.entries;
        let is = |identifier: &Value| {
            let text = |name: &str| identifier.get(name).and_then(Value::as_str);
            (text("system"), text("value")) == (Some(system), Some(value))
        };
        let has = |organization: &Value| {
            organization.get("identifier").and_then(Value::as_array).is_some_and(|all| all.iter().any(is))
        };
        Ok(all.into_iter().filter(|one| has(&one.resource)).map(|one| one.key.id.to_string()).collect())
    }
}

/// Each key once, as an array of JSON. No document holds the character NUL, and Postgres refuses it even as a
/// parameter.
fn keys<const PARTS: usize>(keys: impl Iterator<Item = [String; PARTS]>) -> Vec<Value> {
    let keys: BTreeSet<[String; PARTS]> = keys.filter(|key| !key.iter().any(|part| part.contains('\0'))).collect();
    keys.into_iter().map(|key| key.into_iter().collect()).collect()
}

/// Returns the resources that a statement finds, each once; none where nothing is asked.
async fn ask(
    db: &AuthDatabase,
    (sql, kind): (&Sql, &str),
    asked: &[Value],
) -> Result<Vec<(String, Value)>, StoreError> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let asked = Value::from(asked).to_string();
    let rows: Vec<Row> =
        run!(db.reader(), fetch_all: sqlx::query_as(sql.text_for_dialect(db.dialect())).bind(&asked)).map_err(fhir)?;
    let read = rows.into_iter().filter_map(|(id, document)| Some((id.clone(), document.read(kind, &id)?)));
    let once: BTreeMap<String, Value> = read.collect();
    Ok(once.into_iter().collect())
}
