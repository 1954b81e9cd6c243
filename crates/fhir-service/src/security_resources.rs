//! Security resources (Clients, Users, policies and the like): checked, and their secrets hashed, when they are
//! written; without secrets when they are shown. The rules are [`oauth_core::registration`]'s.

use std::sync::Arc;

use fhir_resource::{ResourceKey, ResourceType, StoredResource};
use fhir_store::{
    ElementEqualityFilter, ListQuery, PatchDocument, ResourceLookup, ResourceWrite, WriteOperation, patch,
};
use migrations::PlatformMigration;
use oauth_core::security_resource_rules::{self, ResourceIssue, ResourceIssueCode, ResourceSecretHashing};
use oauth_core::time_and_randomness::TimeAndRandomness;
use serde_json::Value;

use crate::error::ServiceError;
use crate::service_state::FhirService;

/// The type of audit records, which the server alone writes.
pub(crate) const AUDIT_EVENT: &str = "AuditEvent";

/// Hashes the secret in a document from outside, and checks the document; other types pass as they are.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) async fn prepare_write(service: &FhirService, write: ResourceWrite) -> Result<ResourceWrite, ServiceError> {
    if let Some(criteria) = &write.precondition.if_none_exist {
        check_filters(&write.resource_type, &criteria.filters)?;
    }
    let held = stored_before(service, &write).await?;
    let operation = match write.operation {
        WriteOperation::Create(body) => {
            WriteOperation::Create(prepare_document(service, &write.resource_type, (body, held)).await?)
        }
        WriteOperation::Put(body) => {
            WriteOperation::Put(prepare_document(service, &write.resource_type, (body, held)).await?)
        }
        WriteOperation::Patch(_) if is_ruled(&write.resource_type) => {
            return Err(ServiceError::PatchInBundle(write.resource_type));
        }
        as_it_is @ (WriteOperation::Patch(_) | WriteOperation::Delete) => as_it_is,
    };
    Ok(ResourceWrite {
        operation,
        preserved: security_resource_rules::redacted_members(write.resource_type.as_str()),
        ..write
    })
}

/// Returns the resource that a write with a secret replaces, as it is stored: a secret that it has already is not
/// hashed again.
async fn stored_before(service: &FhirService, write: &ResourceWrite) -> Result<Option<Value>, ServiceError> {
    let WriteOperation::Put(body) = &write.operation else { return Ok(None) };
    if !security_resource_rules::needs_secret_hashing(write.resource_type.as_str(), body) {
        return Ok(None);
    }
    if let Some(id) = &write.id {
        let key = ResourceKey { resource_type: write.resource_type.clone(), id: id.clone() };
        return Ok(match service.resources.read(&key).await? {
            ResourceLookup::Found(stored) => Some(stored.resource),
            ResourceLookup::Deleted { .. } | ResourceLookup::Missing => None,
        });
    }
    // What a search finds is read in the transaction alone; then the secret gets another hash.
    let by_elements = write.precondition.if_none_exist.as_ref().filter(|criteria| criteria.search.is_none());
    let Some(criteria) = by_elements else { return Ok(None) };
    let query = ListQuery {
        filters: criteria.filters.clone(),
        count: 2,
        ..ListQuery::all_of_type(write.resource_type.clone())
    };
    let found = service.resources.list(&query).await?.entries;
    Ok(<[StoredResource; 1]>::try_from(found).ok().map(|[only]| only.resource))
}

async fn prepare_document(
    service: &FhirService,
    kind: &ResourceType,
    (body, held): (Value, Option<Value>),
) -> Result<Value, ServiceError> {
    let body = hash_secrets(service, kind, (body, held), security_resource_rules::hash_resource_secrets).await?;
    check(service, kind, &body)?;
    Ok(body)
}

/// Hashes the secrets in a patch from outside; `held` is the stored resource. The patched document is still to be
/// checked.
///
/// # Errors
/// What is wrong with a secret, or that the patch would probe one.
pub(crate) async fn prepare_patch(
    service: &FhirService,
    kind: &ResourceType,
    (change, held): (PatchDocument, Value),
) -> Result<PatchDocument, ServiceError> {
    match change {
        PatchDocument::Merge(change) => {
            hash_secrets(service, kind, (change, Some(held)), security_resource_rules::hash_resource_secrets)
                .await
                .map(PatchDocument::Merge)
        }
        PatchDocument::Json(operations) | PatchDocument::FhirJson(operations) => {
            let operations = serde_json::to_value(operations).map_err(ServiceError::Unwritable)?;
            let hashed =
                hash_secrets(service, kind, (operations, Some(held)), security_resource_rules::hash_json_patch_secrets)
                    .await?;
            patch::parse_json_patch(hashed).map_err(ServiceError::NotAPatch)
        }
    }
}

/// Checks a document as it would be stored, and logs what its writer may not expect.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn check(service: &FhirService, kind: &ResourceType, body: &Value) -> Result<(), ServiceError> {
    let settings = &service.oauth_settings;
    if kind.as_str() == migrations::MIGRATION_RESOURCE_TYPE {
        return check_migration(service, body);
    }
    let issues = security_resource_rules::find_storage_obstacles(kind.as_str(), body, settings);
    if !issues.is_empty() {
        return Err(ServiceError::Invalid { issues, entry: None });
    }
    for ResourceIssue { expression, diagnostics, .. } in
        security_resource_rules::find_write_warnings(kind.as_str(), body, settings.b2b_deployment())
    {
        tracing::warn!(expression, diagnostics, "a resource is stored that will not do what its writer may expect");
    }
    Ok(())
}

/// Checks that a migration that is to run can be run. One that is done is stored and not run: it says that an operator
/// did.
fn check_migration(service: &FhirService, body: &Value) -> Result<(), ServiceError> {
    match PlatformMigration::parse_document(&service.settings.platform_name, body) {
        Ok(_) => Ok(()),
        Err(fault) => {
            let issue = ResourceIssue::new(ResourceIssueCode::Value, fault.element_fhirpath(), fault.to_string());
            Err(ServiceError::Invalid { issues: vec![issue], entry: None })
        }
    }
}

/// Returns a document without what is never shown.
pub(crate) fn redact(kind: &ResourceType, mut document: Value) -> Value {
    security_resource_rules::redact_secrets(kind.as_str(), &mut document);
    document
}

/// Refuses a condition on a member that is never shown, because what it matches would give it away,
/// and one on a number no resource can hold.
pub(crate) fn check_filters(kind: &ResourceType, filters: &[ElementEqualityFilter]) -> Result<(), ServiceError> {
    for filter in filters {
        let nest = |inner, segment: &String| Value::from_iter([(segment.clone(), inner)]);
        let probe = filter.path.iter().rev().fold(Value::from("probe"), nest);
        if redact(kind, probe.clone()) != probe {
            return Err(ServiceError::Hidden(filter.path.join(".")));
        }
        if filter.value.is_unstorable_number() {
            return Err(ServiceError::Number);
        }
    }
    Ok(())
}

/// Returns the document a patch makes as policies see it: without the secrets that were there before and stay, which
/// the patch does not write.
pub(crate) fn judged(kind: &ResourceType, before: &Value, mut patched: Value) -> Value {
    veil(before, &redact(kind, before.clone()), &mut patched);
    patched
}

/// Takes out of `patched` what `shown` lacks of `before`, where it is as before.
fn veil(before: &Value, shown: &Value, patched: &mut Value) {
    let (Value::Object(before), Value::Object(patched)) = (before, patched) else { return };
    for (name, was) in before {
        match (shown.get(name), patched.get_mut(name)) {
            (None, Some(is)) if is == was => drop(patched.shift_remove(name)),
            (Some(seen), Some(is)) if seen != was => veil(was, seen, is),
            _ => {}
        }
    }
}

/// Returns the types whose documents are checked after a patch, which a transaction of the store does not.
pub(crate) fn is_ruled(kind: &ResourceType) -> bool {
    matches!(
        kind.as_str(),
        "Client" | "User" | "AccessPolicy" | "Organization" | "TokenIntrospector" | migrations::MIGRATION_RESOURCE_TYPE
    )
}

type HashFunction = fn(&ResourceSecretHashing<'_>, &str, &mut Value) -> Result<(), Vec<ResourceIssue>>;

/// Hashes the secrets in a document or a patch of a type that has some, and keeps patches off stored ones.
async fn hash_secrets(
    service: &FhirService,
    kind: &ResourceType,
    (mut body, held): (Value, Option<Value>),
    hash: HashFunction,
) -> Result<Value, ServiceError> {
    if !security_resource_rules::may_hold_secrets(kind.as_str()) {
        return Ok(body);
    }
    let (secrets, kind) = (Arc::clone(&service.secrets), kind.clone());
    let password_min_chars = service.oauth_settings.password_min_chars;
    let (clock, random) = (Arc::clone(&service.clock), Arc::clone(&service.random));
    let hashed = service.hasher.run(move || {
        let env = TimeAndRandomness { now_us: clock.now_us(), random: random.as_ref() };
        let (pepper, held) = (secrets.pepper().as_ref(), held.as_ref());
        hash(&ResourceSecretHashing { env: &env, pepper, password_min_chars, held }, kind.as_str(), &mut body)
            .map(|()| body)
    });
    hashed.await?.map_err(|issues| ServiceError::Invalid { issues, entry: None })
}
