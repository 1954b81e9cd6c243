//! Everything that is wrong with a document: by its base definition, the rules of its type, and profiles.

use std::collections::HashMap;

use async_trait::async_trait;
use fhir_resource::{ResourceId, ResourceKey, ResourceType, format_conversion, type_definitions};
use fhir_store::operation_outcome::{IssueSeverity, OutcomeIssue};
use fhir_store::{ResourceWrite, StoreError, WriteOperation, body_validation, write_conversion};
use fhir_validation::{CanonicalSource, CompiledProfile, validate_document_in_either_format, value_set_codes_by_url};
use oauth_core::security_resource_rules;
use serde_json::Value;

use crate::error::ServiceError;
use crate::limits::PROFILES_PER_DOCUMENT_MAX;
use crate::security_resources;
use crate::service_state::FhirService;

/// Where the base definitions have their urls.
const BASE: &str = "http://hl7.org/fhir/StructureDefinition/";
/// Under which id a document without one is judged.
const NAMELESS: &str = "nameless";

/// Returns everything for which a write would be refused, whatever is stored now.
///
/// # Errors
/// When the server cannot judge.
pub(crate) async fn of_write(service: &FhirService, write: ResourceWrite) -> Result<Vec<OutcomeIssue>, ServiceError> {
    let (WriteOperation::Create(document) | WriteOperation::Put(document)) = &write.operation else {
        return Ok(Vec::new());
    };
    let mut issues = of_document(&write.resource_type, document);
    if let Some(key) = key(&write)
        && let Err(faults) = body_validation::prepare_stored_body(&key, document.clone())
    {
        let to_issue =
            |fault: &body_validation::RequestBodyError| error("invalid", &fault.expression, fault.to_string());
        issues.extend(faults.iter().map(to_issue));
    }
    match security_resources::prepare_write(service, write_conversion::convert_write_to_native(write)).await {
        Ok(_) => {}
        Err(ServiceError::Invalid { issues: broken, .. }) => issues.extend(broken.iter().map(by_rule)),
        Err(fault) => return Err(fault),
    }
    Ok(issues)
}

/// Returns the resource a write is to, or would be.
fn key(write: &ResourceWrite) -> Option<ResourceKey> {
    let id: Option<ResourceId> = write.id.clone().or_else(|| NAMELESS.parse().ok());
    Some(ResourceKey { resource_type: write.resource_type.clone(), id: id? })
}

fn by_rule(issue: &security_resource_rules::ResourceIssue) -> OutcomeIssue {
    error(issue.code.as_str(), &issue.expression, format!("{} {}", issue.expression, issue.diagnostics))
}

/// Returns what is wrong with a document by the base definition of its type.
pub(crate) fn of_document(kind: &ResourceType, document: &Value) -> Vec<OutcomeIssue> {
    validate_document_in_either_format(kind.as_str(), document).unwrap_or_else(|| {
        let text = format!("{kind} is no type of FHIR R4: it is judged by the rules of this platform alone");
        vec![information("not-supported", &text)]
    })
}

/// Returns what is wrong with a document by the profiles that are asked for, and by those it says it follows.
///
/// # Errors
/// When the store fails.
pub(crate) async fn of_profiles(
    service: &FhirService,
    kind: &ResourceType,
    document: &Value,
    asked: &[String],
) -> Result<Vec<OutcomeIssue>, ServiceError> {
    let document = format_conversion::convert_typed_to_fhir(kind.as_str(), document.clone());
    let claimed = document.pointer("/meta/profile").and_then(Value::as_array).into_iter().flatten();
    let claimed = claimed.filter_map(Value::as_str).take(PROFILES_PER_DOCUMENT_MAX);
    let mut profiles: Vec<(&str, IssueSeverity)> =
        asked.iter().map(|url| (url.as_str(), IssueSeverity::Error)).collect();
    // A profile that only the document names need not be installed.
    profiles.extend(
        claimed.filter(|url| !asked.iter().any(|asked| asked == url)).map(|url| (url, IssueSeverity::Information)),
    );
    let mut issues = Vec::new();
    for (url, severity) in profiles {
        issues.extend(by_profile(service, kind, &document, (url, severity)).await?);
    }
    Ok(issues)
}

async fn by_profile(
    service: &FhirService,
    kind: &ResourceType,
    document: &Value,
    (url, severity): (&str, IssueSeverity),
) -> Result<Vec<OutcomeIssue>, ServiceError> {
    let (bare, version) = url.split_once('|').map_or((url, None), |(url, version)| (url, Some(version)));
    let issue =
        |code, text: String| vec![OutcomeIssue { severity, code, diagnostics: Some(text), expression: Vec::new() }];
    if let Some(base) = bare.strip_prefix(BASE).filter(|base| type_definitions::is_r4_resource_type(base)) {
        // The base definition has judged it.
        return Ok(if base == kind.as_str() { Vec::new() } else { issue("invalid", format!("{url} is about {base}")) });
    }
    let installed = InstalledDefinitions(service);
    let Some(definition) = installed.find_canonical("StructureDefinition", bare, version).await? else {
        return Ok(issue("not-found", format!("the profile {url} is not installed, so it does not judge")));
    };
    match CompiledProfile::from_structure_definition(&definition) {
        Ok(profile) if profile.resource_type() == kind.as_str() => {
            let mut codes = HashMap::new();
            for url in profile.required_value_sets() {
                if let Some(members) = value_set_codes_by_url(&installed, url).await? {
                    codes.insert(url.to_owned(), members);
                }
            }
            Ok(profile.validate_resource(document, &codes))
        }
        Ok(profile) => Ok(issue("invalid", format!("the profile {url} is about {}", profile.resource_type()))),
        Err(fault) => Ok(vec![information("not-supported", &format!("the profile {url} does not judge: {fault}"))]),
    }
}

/// The canonicals of installed packages.
struct InstalledDefinitions<'a>(&'a FhirService);

#[async_trait]
impl CanonicalSource for InstalledDefinitions<'_> {
    async fn find_canonical(&self, kind: &str, url: &str, version: Option<&str>) -> Result<Option<Value>, StoreError> {
        let Ok(kind) = kind.parse() else { return Ok(None) };
        let found = self.0.packages.store().find_canonical(&kind, url, version).await?;
        Ok(found.map(|stored| format_conversion::convert_to_fhir(stored.to_document())))
    }
}

/// Returns an issue that is not a defect.
pub(crate) fn information(code: &'static str, text: &str) -> OutcomeIssue {
    OutcomeIssue {
        severity: IssueSeverity::Information,
        code,
        diagnostics: Some(text.to_owned()),
        expression: Vec::new(),
    }
}

fn error(code: &'static str, expression: &str, text: String) -> OutcomeIssue {
    OutcomeIssue {
        severity: IssueSeverity::Error,
        code,
        diagnostics: Some(text),
        expression: vec![expression.to_owned()],
    }
}
