//! The `AuditEvent` of a record.
//!
//! # Source
//! FHIR R4, `AuditEvent`; the codes are those of DICOM (PS3.16, CID 400 and 401) that FHIR names for
//! its type and subtype. They have none for a token or a consent. Not specified; we take the
//! nearest and add the endpoint's name by the RFC that defines it.

use fhir_resource::ResourceId;
use oauth_core::ports::{AuditAction, AuditRecord, AuditedPayerOperation};
use serde_json::{Map, Value, json};

use super::refusal_aggregation::Entry;

/// The type of the resources.
pub(super) const TYPE: &str = "AuditEvent";
/// Most characters of a text that came from outside.
const TEXT_MAX: usize = 1024;

const DICOM: &str = "http://dicom.nema.org/resources/ontology/DCM";
const OBJECT_ROLE: &str = "http://terminology.hl7.org/CodeSystem/object-role";
const ENTITY_TYPE: &str = "http://terminology.hl7.org/CodeSystem/audit-entity-type";

/// A coding: system, code and display.
type Code = (&'static str, &'static str, &'static str);

const HUMAN: Code = ("http://terminology.hl7.org/CodeSystem/extra-security-role-type", "humanuser", "human user");
const APPLICATION: Code = (DICOM, "110150", "Application");
const SECURITY_SERVER: Code = ("http://terminology.hl7.org/CodeSystem/security-source-type", "6", "Security Server");
const PERSON: Code = (ENTITY_TYPE, "1", "Person");
const ORGANIZATION: Code = (ENTITY_TYPE, "3", "Organization");
const SYSTEM_OBJECT: Code = (ENTITY_TYPE, "2", "System Object");
const PATIENT: Code = (OBJECT_ROLE, "1", "Patient");
const SECURITY_RESOURCE: Code = (OBJECT_ROLE, "13", "Security Resource");

const AUTHENTICATION: Code = (DICOM, "110114", "User Authentication");
const ACTIVITY: Code = (DICOM, "110100", "Application Activity");
const SECURITY: Code = (DICOM, "110113", "Security Alert");
const LOGIN: Code = (DICOM, "110122", "Login");
const LOGOUT: Code = (DICOM, "110123", "Logout");
const START: Code = (DICOM, "110120", "Application Start");
const ATTRIBUTES_CHANGED: Code = (DICOM, "110137", "User Security Attributes Changed");
const CONSENT: Code = ("urn:ietf:rfc:6749", "consent", "Consent to an authorization request");
const AUTHORIZATION: Code = ("urn:ietf:rfc:6749", "authorization", "Authorization request");
const LAUNCH: Code = ("http://hl7.org/fhir/smart-app-launch", "launch", "Launch of an app by an EHR");
const TOKEN: Code = ("urn:ietf:rfc:6749", "token", "Token issue");
const QUERY: Code = (DICOM, "110112", "Query");
const EXPORT: Code = (DICOM, "110106", "Export");
const OPERATION: Code = ("http://hl7.org/fhir/restful-interaction", "operation", "operation");
const REVOCATION: Code = ("urn:ietf:rfc:7009", "revocation", "Revocation");

/// Returns the resource, in the native spelling.
pub(super) fn of(entry: &Entry) -> Value {
    let record = &entry.record;
    let (kind, subtypes) = codes(record.action);
    let mut event = Map::new();
    event.insert("type".to_owned(), coding(&kind));
    event.insert("subtype".to_owned(), subtypes.iter().map(coding).collect());
    event.insert("action".to_owned(), "E".into());
    if entry.times > 1 {
        let period = json!({"start": instant(entry.first_us), "end": instant(record.at_us)});
        event.insert("period".to_owned(), period);
    }
    event.insert("recorded".to_owned(), instant(record.at_us).into());
    event.insert("outcome".to_owned(), if record.refused.is_some() { "4" } else { "0" }.into());
    if let Some(reason) = &record.refused {
        event.insert("outcomeDesc".to_owned(), text(reason).into());
    }
    let asked = record.operation.as_deref();
    let purposes: Vec<Value> =
        asked.iter().flat_map(|asked| asked.purposes.iter().filter_map(|one| purpose(one))).collect();
    if !purposes.is_empty() {
        event.insert("purposeOfEvent".to_owned(), purposes.into());
    }
    event.insert("agent".to_owned(), agents(record));
    event.insert("source".to_owned(), source());
    let entities: Vec<Value> =
        patient(record).into_iter().chain(authorization(entry)).chain(asked.map(operation)).collect();
    if !entities.is_empty() {
        event.insert("entity".to_owned(), entities.into());
    }
    Value::Object(event)
}

fn codes(action: AuditAction) -> (Code, Vec<Code>) {
    match action {
        AuditAction::SignIn => (AUTHENTICATION, vec![LOGIN]),
        AuditAction::SignOut => (AUTHENTICATION, vec![LOGOUT]),
        AuditAction::Consent => (SECURITY, vec![ATTRIBUTES_CHANGED, CONSENT]),
        AuditAction::Authorization => (AUTHENTICATION, vec![AUTHORIZATION]),
        AuditAction::Launch => (ACTIVITY, vec![START, LAUNCH]),
        AuditAction::Token => (AUTHENTICATION, vec![TOKEN]),
        AuditAction::Revocation => (SECURITY, vec![ATTRIBUTES_CHANGED, REVOCATION]),
        AuditAction::Match => (QUERY, vec![OPERATION]),
        AuditAction::Export => (EXPORT, vec![OPERATION]),
    }
}

fn coding((system, code, display): &Code) -> Value {
    json!({"system": system, "code": code, "display": display})
}

fn source() -> Value {
    json!({"observer": {"display": "auth-server"}, "type": [coding(&SECURITY_SERVER)]})
}

/// Whoever asked comes first: the person, who acts through the app; an app without a person acts itself; for a
/// launch it is the EHR.
fn agents(record: &AuditRecord) -> Value {
    let agent = |code, who| Map::from_iter([("type".to_owned(), kind(code)), ("who".to_owned(), who)]);
    let asked_by = record.asked_by.as_deref().map(|id| agent(&APPLICATION, named(id)));
    let user = record.user_id.as_deref().map(|id| agent(&HUMAN, reference("User", id)));
    let client = record.client_id.as_deref().map(|id| agent(&APPLICATION, reference("Client", id)));
    let claimed = record.claimed_id.as_deref().map(|id| agent(&APPLICATION, named(id)));
    let organization = record.operation.as_deref().and_then(|asked| asked.organization.as_ref());
    let organization = organization.map(|(system, value)| {
        agent(&ORGANIZATION, json!({"identifier": {"system": text(system), "value": text(value)}}))
    });
    let mut agents: Vec<Map<String, Value>> =
        [asked_by, user, client, claimed, organization].into_iter().flatten().collect();
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

fn patient(record: &AuditRecord) -> Option<Value> {
    let what = reference("Patient", record.patient_id.as_deref()?);
    Some(json!({"what": what, "type": coding(&PERSON), "role": coding(&PATIENT)}))
}

/// Returns what was authorized: the grant, its launch and its scopes; of refusals alike, their number.
fn authorization(entry: &Entry) -> Option<Value> {
    let record = &entry.record;
    let times = (entry.times > 1).then(|| entry.times.to_string());
    let details =
        [("scope", record.scope.as_deref()), ("launch", record.launch_id.as_deref()), ("count", times.as_deref())];
    let details = details.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let details: Vec<Value> = details.map(|(name, value)| json!({"type": name, "valueString": text(value)})).collect();
    let grant = record.grant_id.as_deref();
    if details.is_empty() && grant.is_none() {
        return None;
    }
    let mut entity = Map::new();
    if let Some(id) = grant {
        entity.insert("what".to_owned(), named(id));
    }
    entity.insert("type".to_owned(), coding(&SYSTEM_OBJECT));
    entity.insert("role".to_owned(), coding(&SECURITY_RESOURCE));
    if !details.is_empty() {
        entity.insert("detail".to_owned(), details.into());
    }
    Some(Value::Object(entity))
}

/// Returns what an operation was about: its Group, its job and how many of what.
fn operation(asked: &AuditedPayerOperation) -> Value {
    let counts = asked.counts.iter().map(|(name, count)| (*name, count.to_string()));
    let job = asked.job_id.iter().map(|job| ("job", job.clone()));
    let details = std::iter::once(("operation", asked.name.clone())).chain(job).chain(counts);
    let details: Vec<Value> = details.map(|(name, value)| json!({"type": name, "valueString": text(&value)})).collect();
    let mut entity = Map::new();
    if let Some(id) = &asked.group_id {
        entity.insert("what".to_owned(), reference("Group", id));
    }
    entity.insert("type".to_owned(), coding(&SYSTEM_OBJECT));
    entity.insert("detail".to_owned(), details.into());
    Value::Object(entity)
}

/// `system#code`, as the claim has it.
fn purpose(spelled: &str) -> Option<Value> {
    let (system, code) = spelled.rsplit_once('#')?;
    Some(json!({"coding": [{"system": text(system), "code": text(code)}]}))
}

fn kind(code: &Code) -> Value {
    json!({"coding": [coding(code)]})
}

/// A name that is no resource's.
fn named(id: &str) -> Value {
    json!({"identifier": {"value": text(id)}})
}

/// A reference; what cannot be an id is told as it came.
fn reference(kind: &str, id: &str) -> Value {
    match id.parse::<ResourceId>() {
        Ok(id) => json!({"resourceType": kind, "id": id.as_str()}),
        Err(_) => named(id),
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
