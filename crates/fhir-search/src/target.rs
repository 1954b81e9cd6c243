//! The target of a reference, in whichever format it is.

use serde_json::Value;

use fhir_resource::{ResourceId, ResourceType};

/// What separates a reference to a resource from the version it names.
const VERSION: &str = "/_history/";

/// What a reference is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'a> {
    /// A resource of this server.
    Resource { resource_type: &'a str, id: &'a str },
    /// Something elsewhere, by its address.
    Elsewhere(&'a str),
}

impl<'a> Target<'a> {
    /// Reads the text of a reference; `own` is the address of our own endpoint. `None` for what is
    /// contained, for a condition, and for what is no reference.
    pub(super) fn read(text: &'a str, base_url: &str) -> Option<Self> {
        let relative =
            text.strip_prefix(base_url).and_then(|rest| rest.strip_prefix('/')).filter(|_| !base_url.is_empty());
        if let Some((resource_type, id)) = key_of(relative.unwrap_or(text)) {
            return Some(Self::Resource { resource_type, id });
        }
        fhir_resource::reference::is_absolute_reference(text).then(|| Self::Elsewhere(unversioned(text)))
    }
}

/// `Type/id`, of one version or of none.
fn key_of(relative: &str) -> Option<(&str, &str)> {
    let (resource_type, id) = unversioned(relative).split_once('/')?;
    (ResourceType::is_valid(resource_type) && ResourceId::is_valid(id)).then_some((resource_type, id))
}

fn unversioned(text: &str) -> &str {
    text.split_once(VERSION).map_or(text, |(resource, _)| resource)
}

/// The targets a reference names. It has one format, but nothing prevents a writer from sending several, and then all
/// of them count, as they do for a compartment. An absolute reference to this server is also an address: by those rows
/// it is known which resources another base URL concerns.
pub(super) fn each<'a>(reference: &'a Value, base_url: &str, out: &mut dyn FnMut(Target<'a>)) {
    let text = |name: &str| reference.get(name).and_then(Value::as_str);
    if let (Some(resource_type), Some(id)) = (text("resourceType"), text("id")) {
        out(Target::Resource { resource_type, id });
    }
    for spelled in [text("reference"), text("uri")].into_iter().flatten() {
        let Some(target) = Target::read(spelled, base_url) else { continue };
        out(target);
        if matches!(target, Target::Resource { .. }) && fhir_resource::reference::is_absolute_reference(spelled) {
            out(Target::Elsewhere(unversioned(spelled)));
        }
    }
}

/// Returns the type of what a reference is to, without following it.
pub(super) fn kind_of<'a>(reference: &'a Value, resource: &'a Value) -> Option<&'a str> {
    if let Value::String(text) = reference {
        return named_by(text, resource);
    }
    let text = |name: &str| reference.get(name).and_then(Value::as_str);
    let spelled = text("reference").or_else(|| text("uri")).and_then(|text| named_by(text, resource));
    let local = text("localRef").and_then(|name| contained(name, resource));
    text("resourceType").or(spelled).or(local).or_else(|| text("type"))
}

/// `Patient/1`, `https://elsewhere.example/fhir/Patient/1`, `#p`.
fn named_by<'a>(text: &'a str, resource: &'a Value) -> Option<&'a str> {
    if let Some(name) = text.strip_prefix('#') {
        return contained(name, resource);
    }
    let (path, id) = unversioned(text).rsplit_once('/')?;
    let resource_type = path.rsplit_once('/').map_or(path, |(_, resource_type)| resource_type);
    (ResourceId::is_valid(id) && ResourceType::is_valid(resource_type)).then_some(resource_type)
}

fn contained<'a>(name: &str, resource: &'a Value) -> Option<&'a str> {
    let mut contained = resource.get("contained")?.as_array()?.iter();
    contained.find(|inner| inner.get("id").is_some_and(|id| id == name))?.get("resourceType")?.as_str()
}
