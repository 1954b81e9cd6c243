//! The request of `$validate`.

use fhir_resource::ResourceType;
use serde_json::Value;

use crate::error::ValidateOperationError;
use crate::limits::PROFILES_PER_DOCUMENT_MAX;
use crate::request_context::RequestContext;

/// The mode of `$validate`: what a document is judged as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValidationMode {
    Create,
    Update,
    Delete,
    /// As it is stored.
    Profile,
}

/// The parameters of a call.
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
    pub(crate) fn read(
        kind: &ResourceType,
        context: &RequestContext,
        body: Option<Value>,
    ) -> Result<Self, ValidateOperationError> {
        let mut request = Self { mode: None, profiles: Vec::new(), resource: None };
        for (name, value) in &context.parameters {
            request.parameter(name, value)?;
        }
        let Some(body) = body else { return Ok(request) };
        if is_parameters(kind, &body) {
            for parameter in parameters(&body) {
                let name = parameter.get("name").and_then(Value::as_str).unwrap_or_default();
                let value = ["valueCode", "valueUri", "valueCanonical", "valueString"];
                match value.into_iter().find_map(|value| parameter.get(value)?.as_str()) {
                    Some(value) => request.parameter(name, value)?,
                    None if name == "resource" => request.resource = parameter.get("resource").cloned(),
                    None => {}
                }
            }
        } else {
            request.resource = Some(body);
        }
        Ok(request)
    }

    fn parameter(&mut self, name: &str, value: &str) -> Result<(), ValidateOperationError> {
        match (name, value) {
            ("mode", "create") => self.mode = Some(ValidationMode::Create),
            ("mode", "update") => self.mode = Some(ValidationMode::Update),
            ("mode", "delete") => self.mode = Some(ValidationMode::Delete),
            ("mode", "profile") => self.mode = Some(ValidationMode::Profile),
            ("mode", other) => return Err(ValidateOperationError::Mode(other.to_owned())),
            ("profile", _) if self.profiles.len() == PROFILES_PER_DOCUMENT_MAX => {
                return Err(ValidateOperationError::TooManyProfiles);
            }
            ("profile", url) => self.profiles.push(url.to_owned()),
            _ => {}
        }
        Ok(())
    }
}

/// Returns whether a body holds the resource to judge; a `Parameters` may also be that resource.
fn is_parameters(kind: &ResourceType, body: &Value) -> bool {
    let holds = |name: &str| parameters(body).any(|parameter| parameter.get("name").is_some_and(|is| is == name));
    body.get("resourceType").is_some_and(|is| is == "Parameters")
        && (kind.as_str() != "Parameters" || holds("resource") || holds("mode") || holds("profile"))
}

fn parameters(body: &Value) -> impl Iterator<Item = &Value> {
    body.get("parameter").and_then(Value::as_array).into_iter().flatten()
}
