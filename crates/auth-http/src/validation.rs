//! What `$validate` is asked, and what is wrong with a document by all that judges it.

use std::collections::HashMap;

use async_trait::async_trait;
use fhir_store::definitions::{self, CanonicalSource};
use fhir_store::outcome::{IssueSeverity, OutcomeIssue};
use fhir_store::validate::{self, CompiledProfile};
use fhir_store::{ResourceId, ResourceKey, ResourceType, StoreError, Write, WriteOperation, format, shape};
use oauth_core::registration;
use serde_json::Value;

use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::guarded;
use crate::state::App;

/// Most profiles that one document is judged by.
const MAX_PROFILES: usize = 10;
/// Where the base definitions have their urls.
const BASE: &str = "http://hl7.org/fhir/StructureDefinition/";
/// Under which id a document without one is judged.
const NAMELESS: &str = "nameless";

/// What a document is judged as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValidationMode {
    Create,
    Update,
    Delete,
    /// As it is stored.
    Profile,
}

/// The reason why nothing was judged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ValidateError {
    #[error("the mode {0} is not known; there are create, update, delete and profile")]
    Mode(String),
    #[error("a resource is needed: as the body, or as the parameter resource of a Parameters")]
    NoResource,
    #[error("this mode is about a resource that is there: ask at its address")]
    NoInstance,
    #[error("a resource that is there is not created: ask for another mode, or at the address of the type")]
    Instance,
    #[error("a document is judged by {MAX_PROFILES} profiles at most")]
    TooManyProfiles,
}

/// What a call asks.
#[derive(Debug)]
pub(crate) struct ValidationRequest {
    pub(crate) mode: Option<ValidationMode>,
    pub(crate) profiles: Vec<String>,
    pub(crate) resource: Option<Value>,
}

impl ValidationRequest {
    /// Reads the query and the body: a `Parameters`, or the resource itself.
    ///
    /// # Errors
    /// When a parameter is not understood.
    pub(crate) fn read(kind: &ResourceType, call: &mut ResourceRequest) -> Result<Self, ValidateError> {
        let mut question = Self { mode: None, profiles: Vec::new(), resource: None };
        for (name, value) in &call.query {
            question.parameter(name, value)?;
        }
        let Ok(body) = call.take_resource() else { return Ok(question) };
        if is_parameters(kind, &body) {
            for parameter in parameters(&body) {
                let name = parameter.get("name").and_then(Value::as_str).unwrap_or_default();
                let value = ["valueCode", "valueUri", "valueCanonical", "valueString"];
                match value.into_iter().find_map(|value| parameter.get(value)?.as_str()) {
                    Some(value) => question.parameter(name, value)?,
                    None if name == "resource" => question.resource = parameter.get("resource").cloned(),
                    None => {}
                }
            }
        } else {
            question.resource = Some(body);
        }
        Ok(question)
    }

    fn parameter(&mut self, name: &str, value: &str) -> Result<(), ValidateError> {
        match (name, value) {
            ("mode", "create") => self.mode = Some(ValidationMode::Create),
            ("mode", "update") => self.mode = Some(ValidationMode::Update),
            ("mode", "delete") => self.mode = Some(ValidationMode::Delete),
            ("mode", "profile") => self.mode = Some(ValidationMode::Profile),
            ("mode", other) => return Err(ValidateError::Mode(other.to_owned())),
            ("profile", _) if self.profiles.len() == MAX_PROFILES => return Err(ValidateError::TooManyProfiles),
            ("profile", url) => self.profiles.push(url.to_owned()),
            _ => {}
        }
        Ok(())
    }
}

/// Returns whether a body asks about a resource inside of it; a `Parameters` may be what is asked about.
fn is_parameters(kind: &ResourceType, body: &Value) -> bool {
    let holds = |name: &str| parameters(body).any(|parameter| parameter.get("name").is_some_and(|is| is == name));
    body.get("resourceType").is_some_and(|is| is == "Parameters")
        && (kind.as_str() != "Parameters" || holds("resource") || holds("mode") || holds("profile"))
}

fn parameters(body: &Value) -> impl Iterator<Item = &Value> {
    body.get("parameter").and_then(Value::as_array).into_iter().flatten()
}

/// Everything for which a write would be refused, whatever is stored now.
///
/// # Errors
/// Only when the server cannot judge.
pub(crate) async fn of_write(app: &App, write: Write) -> Result<Vec<OutcomeIssue>, ApiError> {
    let (WriteOperation::Create(document) | WriteOperation::Put(document)) = &write.operation else {
        return Ok(Vec::new());
    };
    let mut issues = of_document(&write.kind, document);
    if let Some(key) = key(&write)
        && let Err(faults) = shape::stored_body(&key, document.clone())
    {
        let told = |fault: &shape::BodyError| error("invalid", &fault.expression, fault.to_string());
        issues.extend(faults.iter().map(told));
    }
    match guarded::admit(app, format::write_to_native(write)).await {
        Ok(_) => {}
        Err(ApiError::Invalid { issues: broken, .. }) => issues.extend(broken.iter().map(by_rule)),
        Err(fault) => return Err(fault),
    }
    Ok(issues)
}

/// Returns the resource a write is to, or would be.
fn key(write: &Write) -> Option<ResourceKey> {
    let id: Option<ResourceId> = write.id.clone().or_else(|| NAMELESS.parse().ok());
    Some(ResourceKey { kind: write.kind.clone(), id: id? })
}

fn by_rule(issue: &registration::PolicyIssue) -> OutcomeIssue {
    error(issue.code.as_str(), &issue.expression, format!("{} {}", issue.expression, issue.diagnostics))
}

/// Returns what is wrong with a document by the base definition of its type.
pub(crate) fn of_document(kind: &ResourceType, document: &Value) -> Vec<OutcomeIssue> {
    validate::either_spelling(kind.as_str(), document).unwrap_or_else(|| {
        let text = format!("{kind} is no type of FHIR R4: it is judged by the rules of this platform alone");
        vec![information("not-supported", &text)]
    })
}

/// Returns what is wrong with a document by the profiles that are asked for, and by those it says it follows.
///
/// # Errors
/// Only when the store fails.
pub(crate) async fn of_profiles(
    app: &App,
    kind: &ResourceType,
    document: &Value,
    asked: &[String],
) -> Result<Vec<OutcomeIssue>, ApiError> {
    let document = format::to_fhir_of(kind.as_str(), document.clone());
    let claimed = document.pointer("/meta/profile").and_then(Value::as_array).into_iter().flatten();
    let claimed = claimed.filter_map(Value::as_str).take(MAX_PROFILES);
    let mut profiles: Vec<(&str, IssueSeverity)> =
        asked.iter().map(|url| (url.as_str(), IssueSeverity::Error)).collect();
    // A profile that nobody asked for need not be here.
    profiles.extend(
        claimed.filter(|url| !asked.iter().any(|asked| asked == url)).map(|url| (url, IssueSeverity::Information)),
    );
    let mut issues = Vec::new();
    for (url, severity) in profiles {
        issues.extend(by_profile(app, kind, &document, (url, severity)).await?);
    }
    Ok(issues)
}

async fn by_profile(
    app: &App,
    kind: &ResourceType,
    document: &Value,
    (url, severity): (&str, IssueSeverity),
) -> Result<Vec<OutcomeIssue>, ApiError> {
    let (bare, version) = url.split_once('|').map_or((url, None), |(url, version)| (url, Some(version)));
    let told =
        |code, text: String| vec![OutcomeIssue { severity, code, diagnostics: Some(text), expression: Vec::new() }];
    if let Some(base) = bare.strip_prefix(BASE).filter(|base| definitions::is_resource_type(base)) {
        // The base definition has judged it.
        return Ok(if base == kind.as_str() { Vec::new() } else { told("invalid", format!("{url} is about {base}")) });
    }
    let installed = InstalledDefinitions(app);
    let Some(definition) = installed.canonical("StructureDefinition", bare, version).await? else {
        return Ok(told("not-found", format!("the profile {url} is not installed, so it does not judge")));
    };
    match CompiledProfile::read(&definition) {
        Ok(profile) if profile.kind() == kind.as_str() => {
            let mut codes = HashMap::new();
            for url in profile.value_sets() {
                if let Some(members) = definitions::members_of(&installed, url).await? {
                    codes.insert(url.to_owned(), members);
                }
            }
            Ok(profile.judge(document, &codes))
        }
        Ok(profile) => Ok(told("invalid", format!("the profile {url} is about {}", profile.kind()))),
        Err(fault) => Ok(vec![information("not-supported", &format!("the profile {url} does not judge: {fault}"))]),
    }
}

/// The canonicals of installed packages.
pub(crate) struct InstalledDefinitions<'a>(pub(crate) &'a App);

#[async_trait]
impl CanonicalSource for InstalledDefinitions<'_> {
    async fn canonical(&self, kind: &str, url: &str, version: Option<&str>) -> Result<Option<Value>, StoreError> {
        let Ok(kind) = kind.parse() else { return Ok(None) };
        let found = self.0.packages.store().canonical(&kind, url, version).await?;
        Ok(found.map(|stored| format::to_fhir(stored.document())))
    }
}

/// Something worth knowing that is no fault.
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
