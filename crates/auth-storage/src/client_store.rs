//! The resources authorization decisions are made from, each read in one statement.

use async_trait::async_trait;
use fhir_resource::ResourceType;
use oauth_core::access_policies::BoundSqlPolicyQuery;
use oauth_core::ports::{
    CallerStatus, CallerStatusQuery, RegistrationStore, StoreError, StoredAccessPolicies, VersionedDocument,
};
use serde_json::Value;
use sql_engines::run;
use sqlx::types::Json;

use crate::caller_status::StatusRequest;
use crate::db::AuthDatabase;
use crate::document::Document;
use crate::fault::oauth;
use crate::resources::Table;
use crate::sql_policy;

/// A type without a table until the first is written.
const INTROSPECTOR: &str = "TokenIntrospector";
const CLIENT: &str = "SELECT txid, resource FROM client WHERE id = $1";
const USER: &str = "SELECT txid, resource FROM \"user\" WHERE id = $1";
const ORGANIZATION: &str = "SELECT txid, resource FROM organization WHERE id = $1";
/// The row without an id stands for a deployment without policies. A statement sees one moment, so
/// revision and policies belong together. A policy that cannot be read allows nothing, as one that
/// does not compile.
const POLICIES: &str = "SELECT security_revision.revision, accesspolicy.id, accesspolicy.resource
FROM security_revision LEFT JOIN accesspolicy ON TRUE ORDER BY accesspolicy.id";
/// A document that cannot be read has no issuer.
const INTROSPECTORS: &str = "SELECT t.id, t.resource FROM {table} t WHERE {introspected_issuer} = $1 ORDER BY t.id";
#[async_trait]
impl RegistrationStore for AuthDatabase {
    async fn client(&self, id: &str) -> Result<Option<VersionedDocument>, StoreError> {
        party(self, CLIENT, id).await
    }

    async fn user(&self, id: &str) -> Result<Option<VersionedDocument>, StoreError> {
        party(self, USER, id).await
    }

    async fn organization(&self, id: &str) -> Result<Option<VersionedDocument>, StoreError> {
        party(self, ORGANIZATION, id).await
    }

    async fn introspectors_of_issuer(&self, issuer: &str) -> Result<Vec<Value>, StoreError> {
        // Postgres refuses the character NUL even as a parameter, and no document has it there.
        if issuer.contains('\0') {
            return Ok(Vec::new());
        }
        let kind: ResourceType = INTROSPECTOR.parse().map_err(|fault| StoreError(Box::new(fault)))?;
        let Some(table) = Table::find(self, &kind).await.map_err(oauth)? else { return Ok(Vec::new()) };
        let sql = table.sql(self.dialect(), INTROSPECTORS);
        let rows: Vec<(String, Document)> =
            run!(self.reader(), fetch_all: sqlx::query_as(sql).bind(issuer)).map_err(oauth)?;
        Ok(rows.into_iter().filter_map(|(id, document)| document.read(INTROSPECTOR, &id)).collect())
    }

    async fn stored_access_policies(&self) -> Result<StoredAccessPolicies, StoreError> {
        let rows: Vec<(i64, Option<String>, Option<Document>)> =
            run!(self.reader(), fetch_all: sqlx::query_as(POLICIES)).map_err(oauth)?;
        let revision = rows.first().map_or(0, |(revision, ..)| *revision);
        let readable = |(_, id, document): (i64, Option<String>, Option<Document>)| {
            let (id, document) = (id?, document?);
            let resource = document.read("AccessPolicy", &id)?;
            Some((id, resource))
        };
        let policies = rows.into_iter().filter_map(readable).collect();
        Ok(StoredAccessPolicies { revision, policies })
    }

    async fn evaluate_sql_policy(&self, question: &BoundSqlPolicyQuery) -> Result<bool, StoreError> {
        sql_policy::answer(self, question).await.map_err(oauth)
    }

    async fn caller_status(&self, of: &CallerStatusQuery<'_>) -> Result<CallerStatus, StoreError> {
        Ok(self.statuses().ask(StatusRequest::named(of)).await?.standing)
    }
}

async fn party(db: &AuthDatabase, sql: &'static str, id: &str) -> Result<Option<VersionedDocument>, StoreError> {
    // No id has the character NUL, and Postgres refuses it even as a parameter.
    if id.contains('\0') {
        return Ok(None);
    }
    let row: Option<(i64, Json<Value>)> =
        run!(db.reader(), fetch_optional: sqlx::query_as(sql).bind(id)).map_err(oauth)?;
    Ok(row.map(|(version, Json(resource))| VersionedDocument { version, resource }))
}
