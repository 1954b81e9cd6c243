//! The `AuditEvent` of a record.
//!
//! # Source
//! FHIR R4, `AuditEvent`; the codes are those of DICOM (PS3.16, CID 400 and 401) that FHIR names for
//! its type and subtype. They have none for a token or a consent. Not specified; we take the
//! nearest and add the endpoint's name by the RFC that defines it.

use fhir_store::ResourceId;
use oauth_core::ports::{AuditAction, AuditRecord};
use serde_json::{Map, Value, json};

/// The type of the resources.
pub(super) const TYPE: &str = "AuditEvent";
/// Most characters of a text that came from outside.
const TEXT_MAX: usize = 1024;

const DICOM: &str = "http://dicom.nema.org/resources/ontology/DCM";
const OBJECT_ROLE: &str = "http://terminology.hl7.org/CodeSystem/object-role";

/// A coding: system, code and display.
type Code = (&'static str, &'static str, &'static str);

const AUTHENTICATION: Code = (DICOM, "110114", "User Authentication");
const SECURITY: Code = (DICOM, "110113", "Security Alert");
const LOGIN: Code = (DICOM, "110122", "Login");
const ATTRIBUTES_CHANGED: Code = (DICOM, "110137", "User Security Attributes Changed");
const AUTHORIZATION: Code = ("urn:ietf:rfc:6749", "authorization", "Consent to an authorization request");
const TOKEN: Code = ("urn:ietf:rfc:6749", "token", "Token issue");
const REVOCATION: Code = ("urn:ietf:rfc:7009", "revocation", "Revocation");

/// The resource, in the native spelling.
pub(super) fn of(record: &AuditRecord) -> Value {
    let (kind, subtypes) = codes(record.action);
    let mut event = Map::new();
    event.insert("type".to_owned(), coding(&kind));
    event.insert("subtype".to_owned(), subtypes.iter().map(coding).collect());
    event.insert("action".to_owned(), "E".into());
    event.insert("recorded".to_owned(), instant(record.at_us).into());
    event.insert("outcome".to_owned(), if record.refused.is_some() { "4" } else { "0" }.into());
    if let Some(reason) = &record.refused {
        event.insert("outcomeDesc".to_owned(), text(reason).into());
    }
    event.insert("agent".to_owned(), agents(record));
    event.insert("source".to_owned(), json!({"observer": {"display": "auth-server"}}));
    if let Some(entity) = entity(record) {
        event.insert("entity".to_owned(), json!([entity]));
    }
    Value::Object(event)
}

fn codes(action: AuditAction) -> (Code, Vec<Code>) {
    match action {
        AuditAction::SignIn => (AUTHENTICATION, vec![LOGIN]),
        AuditAction::Consent => (SECURITY, vec![ATTRIBUTES_CHANGED, AUTHORIZATION]),
        AuditAction::Token => (AUTHENTICATION, vec![TOKEN]),
        AuditAction::Revocation => (SECURITY, vec![ATTRIBUTES_CHANGED, REVOCATION]),
    }
}

fn coding((system, code, display): &Code) -> Value {
    json!({"system": system, "code": code, "display": display})
}

/// The person, who acts through the app; an app without a person acts itself.
fn agents(record: &AuditRecord) -> Value {
    let user = record.user_id.as_deref().map(|id| reference("User", id));
    let client = record.client_id.as_deref().map(|id| reference("Client", id));
    let mut agents: Vec<Map<String, Value>> =
        user.into_iter().chain(client).map(|who| Map::from_iter([("who".to_owned(), who)])).collect();
    if agents.is_empty() {
        agents.push(Map::new());
    }
    for (place, agent) in agents.iter_mut().enumerate() {
        agent.insert("requestor".to_owned(), (place == 0).into());
    }
    if let (Some(agent), Some(address)) = (agents.first_mut(), &record.address) {
        // 2 stands for an IP address.
        agent.insert("network".to_owned(), json!({"address": text(address), "type": "2"}));
    }
    agents.into_iter().map(Value::Object).collect()
}

fn entity(record: &AuditRecord) -> Option<Value> {
    let mut entity = Map::new();
    if let Some(id) = &record.patient_id {
        entity.insert("what".to_owned(), reference("Patient", id));
        entity.insert("role".to_owned(), json!({"system": OBJECT_ROLE, "code": "1", "display": "Patient"}));
    }
    if let Some(scope) = &record.scope {
        entity.insert("detail".to_owned(), json!([{"type": "scope", "valueString": text(scope)}]));
    }
    (!entity.is_empty()).then_some(Value::Object(entity))
}

/// A reference; what cannot be an id is told as it came.
fn reference(kind: &str, id: &str) -> Value {
    match id.parse::<ResourceId>() {
        Ok(id) => json!({"resourceType": kind, "id": id.as_str()}),
        Err(_) => json!({"identifier": {"value": text(id)}}),
    }
}

/// A text as far as a document can hold it: no engine stores the character NUL.
fn text(text: &str) -> String {
    text.chars().filter(|character| *character != '\0').take(TEXT_MAX).collect()
}

/// A time outside the years a FHIR `instant` has is told as the first of them.
fn instant(at_us: i64) -> String {
    jiff::Timestamp::from_microsecond(at_us).unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}
