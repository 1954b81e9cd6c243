//! `/fhir/metadata`.

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use fhir_store::compartment;
use fhir_store::selection::Criterion;
use http::{HeaderMap, HeaderValue};
use oauth_core::document::StaticDocument;
use serde_json::{Value, json};

use crate::state::{App, HttpSettings};
use crate::{document, media};

/// The day of the last change to what [`statement`] says.
const DATE: &str = "2026-11-22";

/// What the server can do.
pub(crate) async fn get(State(app): State<App>, headers: HeaderMap) -> Response {
    document::answer(&headers, HeaderValue::from_static(media::FHIR_JSON), &app.metadata)
}

/// The statement, made once.
pub(crate) fn document(settings: &HttpSettings) -> StaticDocument {
    StaticDocument::json(Bytes::from(statement(settings).to_string()))
}

/// A `CapabilityStatement` that lists what the server does and nothing else. Any resource type can
/// be stored; named are those the server itself gives a meaning, and those of which a patient's record is
/// made, with the parameters by which apps ask for them.
///
/// # Source
/// FHIR R4, `CapabilityStatement`; SMART App Launch 2.2.0, conformance; the `oauth-uris` extension is
/// SMART 1's and still what older clients read.
fn statement(settings: &HttpSettings) -> Value {
    let own = ["AccessPolicy", "Client", "Organization", "Patient", "PlatformMigration", "TokenIntrospector", "User"];
    let types: Vec<Value> = own.into_iter().chain(compartment::types()).map(resource).collect();
    json!({
        "resourceType": "CapabilityStatement",
        "status": "active",
        "date": DATE,
        "kind": "instance",
        "software": {"name": "auth-server", "version": settings.version},
        "implementation": {"description": "Authorization server of a health-data platform", "url": settings.fhir_base()},
        "fhirVersion": "4.0.1",
        "format": ["json"],
        "patchFormat": ["application/json-patch+json", "application/merge-patch+json"],
        "rest": [{
            "mode": "server",
            "security": security(settings),
            "resource": types,
            "interaction": [{"code": "transaction"}, {"code": "batch"}, {"code": "history-system"}],
        }],
    })
}

fn resource(name: &str) -> Value {
    let interactions =
        ["read", "vread", "history-instance", "history-type", "create", "update", "patch", "delete", "search-type"];
    json!({
        "type": name,
        "interaction": interactions.map(|code| json!({"code": code})),
        "versioning": "versioned-update",
        "readHistory": true,
        "conditionalRead": "full-support",
        "updateCreate": true,
        "conditionalCreate": true,
        "conditionalUpdate": true,
        "conditionalDelete": "single",
        "searchParam": parameters(name),
        "operation": operations(name),
    })
}

fn operations(name: &str) -> Vec<Value> {
    let everything = "http://hl7.org/fhir/OperationDefinition/Patient-everything";
    let known = (name == "Patient").then(|| json!({"name": "everything", "definition": everything}));
    known.into_iter().collect()
}

fn parameters(name: &str) -> Vec<Value> {
    let of_a_record = compartment::types().any(|kind| kind == name);
    let coded = name.parse().is_ok_and(|kind| Criterion::read(&kind, "category", "any").is_ok());
    let known = [("_id", "token", true), ("patient", "reference", of_a_record), ("category", "token", coded)];
    let known = known.into_iter().filter(|(.., is_known)| *is_known);
    known.map(|(name, kind, _)| json!({"name": name, "type": kind})).collect()
}

fn security(settings: &HttpSettings) -> Value {
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
