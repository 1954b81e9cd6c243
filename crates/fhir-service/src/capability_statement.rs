//! The `CapabilityStatement`: everything the FHIR endpoint does, and nothing else.
//!
//! It names the types of R4, because it has no word for others; the platform's own types (`Client`, `User`,
//! `AccessPolicy` and the like) take the same interactions and are listed by their elements.
//!
//! # Source
//! FHIR R4, `CapabilityStatement`; SMART App Launch 2.2.0, conformance; the `oauth-uris` extension is
//! SMART 1's and still what older clients read. Operations are named as Bulk Data Access 2.0, Da Vinci `HRex`, `PDex`
//! and Member Attribution name theirs.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use fhir_resource::patient_compartment;
use fhir_search::SearchParameterCatalog;
use fhir_search::search_capability::{self, ResourceTypeSearchCapability};
use migrations::package::InstalledConformance;
use oauth_core::static_document::StaticDocument;
use serde_json::{Value, json};

use crate::error::ServiceError;
use crate::service_state::{FhirService, FhirSettings};

/// The day of the last change to the statement, apart from search parameters and packages.
const DATE: &str = "2026-11-24";

/// The interactions with the resources of every type.
const INTERACTIONS: [&str; 9] =
    ["read", "vread", "update", "patch", "delete", "history-instance", "history-type", "create", "search-type"];

/// The compartment that is searched below `Patient/{id}`.
const PATIENT_COMPARTMENT: &str = "http://hl7.org/fhir/CompartmentDefinition/patient";
/// The interactions with several types at once.
const SYSTEM_INTERACTIONS: [&str; 3] = ["transaction", "batch", "history-system"];

/// The operations: the type they are called on, none for the whole system, their name and what defines them.
const OPERATIONS: [(Option<&str>, &str, &str); 8] = [
    (Some("Patient"), "everything", "http://hl7.org/fhir/OperationDefinition/Patient-everything"),
    (Some("Patient"), "export", "http://hl7.org/fhir/uv/bulkdata/OperationDefinition/patient-export"),
    (Some("Patient"), "member-match", "http://hl7.org/fhir/us/davinci-hrex/OperationDefinition/member-match"),
    (Some("Group"), "export", "http://hl7.org/fhir/uv/bulkdata/OperationDefinition/group-export"),
    (Some("Group"), "bulk-member-match", "http://hl7.org/fhir/us/davinci-pdex/OperationDefinition/BulkMemberMatch"),
    (
        Some("Group"),
        "provider-member-match",
        "http://hl7.org/fhir/us/davinci-pdex/OperationDefinition/ProviderMemberMatch",
    ),
    (
        Some("Group"),
        "davinci-data-export",
        "http://hl7.org/fhir/us/davinci-atr/OperationDefinition/davinci-data-export",
    ),
    (None, "export", "http://hl7.org/fhir/uv/bulkdata/OperationDefinition/export"),
];
/// The operation on every type.
const VALIDATE: (&str, &str) = ("validate", "http://hl7.org/fhir/OperationDefinition/Resource-validate");
/// The operations of the administrator on packages, which this platform defines itself.
const OF_PACKAGES: [&str; 3] = ["packages", "fhir-package-install", "fhir-package-uninstall"];

/// Returns the `CapabilityStatement` as bytes with an entity tag. It is built again only when search parameters or
/// packages have changed.
///
/// # Errors
/// When the store fails.
pub async fn capability_statement_document(service: &FhirService) -> Result<Arc<StaticDocument>, ServiceError> {
    let catalog = service.search.cached_search_parameter_catalog().await?;
    let packages = service.packages.store().installed_packages().await?;
    if let Some(known) = service.statement.get(&catalog, &packages) {
        return Ok(known);
    }
    let conformance = service.packages.store().installed_conformance().await?;
    let text = statement(service, &catalog, conformance).to_string();
    Ok(service.statement.put(&catalog, packages, StaticDocument::from_json_bytes(Bytes::from(text))))
}

/// Returns the whole statement of a server that has these search parameters.
fn statement(service: &FhirService, catalog: &SearchParameterCatalog, installed: InstalledConformance) -> Value {
    let settings = &service.settings;
    let mut conformance = settings.conforms_to.clone();
    conformance.extend(installed);
    let searchable =
        search_capability::search_capabilities_by_type(catalog, |kind| service.search.is_type_indexed(catalog, kind));
    let resources = searchable.into_iter().map(|searchable| {
        let profiles = conformance.profiles.remove(searchable.resource_type.as_str()).unwrap_or_default();
        resource(searchable, profiles)
    });
    let resources: Vec<Value> = resources.collect();
    let mut statement = json!({
        "resourceType": "CapabilityStatement",
        "status": "active",
        "date": DATE,
        "kind": "instance",
        "software": {"name": "auth-server", "version": settings.version},
        "implementation": {"description": "Authorization server of a health-data platform", "url": settings.fhir_base_url()},
        "fhirVersion": "4.0.1",
        "format": ["json"],
        "patchFormat": ["application/json-patch+json", "application/merge-patch+json"],
        "rest": [{
            "mode": "server",
            "documentation": "Conditional patch is supported as conditional update is.",
            "security": security(settings),
            "resource": resources,
            "interaction": SYSTEM_INTERACTIONS.map(|code| json!({"code": code})),
            "operation": system_operations(&service.oauth_settings.ext_base),
            "compartment": [PATIENT_COMPARTMENT],
        }],
    });
    put_texts(&mut statement, "instantiates", conformance.requirements);
    put_texts(&mut statement, "implementationGuide", conformance.guides);
    statement
}

/// Adds texts under a name, unless there are none: an element without a value is not allowed.
fn put_texts(element: &mut Value, name: &str, texts: impl IntoIterator<Item = String>) {
    let texts: Vec<Value> = texts.into_iter().map(Value::from).collect();
    if let (false, Some(members)) = (texts.is_empty(), element.as_object_mut()) {
        members.insert(name.to_owned(), texts.into());
    }
}

fn resource(searchable: ResourceTypeSearchCapability, profiles: BTreeSet<String>) -> Value {
    let ResourceTypeSearchCapability { resource_type: kind, parameters, includes, revincludes } = searchable;
    let parameters = if parameters.is_empty() { listed(kind.as_str()) } else { parameters };
    let mut described = json!({
        "type": kind.as_str(),
        "interaction": INTERACTIONS.map(|code| json!({"code": code})),
        "versioning": "versioned-update",
        "readHistory": true,
        "updateCreate": true,
        "conditionalCreate": true,
        "conditionalRead": "full-support",
        "conditionalUpdate": true,
        "conditionalDelete": "single",
        "searchParam": parameters,
        "operation": operations(kind.as_str()),
    });
    put_texts(&mut described, "searchInclude", includes);
    put_texts(&mut described, "searchRevInclude", revincludes);
    put_texts(&mut described, "supportedProfile", profiles);
    described
}

/// Returns the parameters of a type that is listed by its elements.
fn listed(kind: &str) -> Vec<Value> {
    let mut parameters = vec![json!({"name": "_id", "type": "token"})];
    if patient_compartment::patient_compartment_types().any(|of_a_record| of_a_record == kind) {
        parameters.push(json!({"name": "patient", "type": "reference"}));
    }
    parameters
}

fn operations(kind: &str) -> Vec<Value> {
    let own = OPERATIONS.iter().filter(|(of, ..)| *of == Some(kind)).map(|(_, name, definition)| (*name, *definition));
    own.chain([VALIDATE]).map(|(name, definition)| operation(name, definition)).collect()
}

fn system_operations(ext_base: &str) -> Vec<Value> {
    let of_packages = OF_PACKAGES.iter().map(|name| operation(name, &format!("{ext_base}/OperationDefinition/{name}")));
    let named = OPERATIONS.iter().filter(|(of, ..)| of.is_none());
    named.map(|(_, name, definition)| operation(name, definition)).chain(of_packages).collect()
}

fn operation(name: &str, definition: &str) -> Value {
    json!({"name": name, "definition": definition})
}

fn security(settings: &FhirSettings) -> Value {
    let uri = |name: &str, path: &str| json!({"url": name, "valueUri": format!("{}{path}", settings.base_url)});
    json!({
        "cors": true,
        "service": [{
            "coding": [{
                "system": "http://terminology.hl7.org/CodeSystem/restful-security-service",
                "code": "SMART-on-FHIR",
            }],
            "text": "OAuth2 using SMART-on-FHIR profile (see http://docs.smarthealthit.org)",
        }],
        "extension": [{
            "url": "http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris",
            "extension": [
                uri("authorize", "/auth/authorize"),
                uri("token", "/auth/token"),
                uri("introspect", "/auth/introspect"),
                uri("revoke", "/auth/revoke"),
                uri("manage", "/auth/apps"),
            ],
        }],
    })
}
