//! Checks references: their form, and the types they may lead to.

use fhir_resource::ResourceId;
use fhir_resource::reference::ReferenceTarget;
use fhir_resource::type_definitions::{self, ElementType};
use serde_json::{Map, Value};

use crate::document_path::DocumentPath;
use crate::report::{IssueType, Report, quoted};

/// Returns the ids and types of what a resource contains.
pub(crate) fn contained(resource: &Map<String, Value>) -> Vec<(&str, &str)> {
    let contained = resource.get("contained").and_then(Value::as_array);
    let named = contained.into_iter().flatten().filter_map(|inner| {
        let text = |name: &str| inner.get(name).and_then(Value::as_str);
        Some((text("id")?, text("resourceType")?))
    });
    named.collect()
}

/// Adds an issue unless a reference has the form of one and leads to a type its element allows.
///
/// A condition (`Patient?identifier=…`) is taken where a transaction may resolve it. Only a url that ends like
/// the address of a resource says its type.
pub(crate) fn check(
    element_type: &ElementType,
    reference: &Map<String, Value>,
    (place, contained): (&DocumentPath<'_>, &[(&str, &str)]),
    report: &mut Report,
) {
    let Some(text) = reference.get("reference").and_then(Value::as_str).filter(|text| !text.is_empty()) else { return };
    match target_of(text, contained) {
        Target::Type(found)
            if !element_type.targets.is_empty() && !element_type.targets.iter().any(|target| &**target == found) =>
        {
            let text = || format!("expected a reference to {}, found one to {found}", element_type.targets.join(", "));
            report.add(IssueType::Value, &place.named("reference"), text);
        }
        Target::Type(_) | Target::Somewhere => {}
        Target::Nothing => {
            let text = || format!("expected a resource in contained with this id, found none for {}", quoted(text));
            report.add(IssueType::Invariant, &place.named("reference"), text);
        }
        Target::Malformed => {
            let text = || format!("expected Type/id, a url or #id, found {}", quoted(text));
            report.add(IssueType::Value, &place.named("reference"), text);
        }
    }
}

/// The target of a reference, as far as its text says.
enum Target<'a> {
    /// To a resource of this type.
    Type(&'a str),
    /// Its text does not say to what.
    Somewhere,
    /// To a contained resource that is not there.
    Nothing,
    Malformed,
}

fn target_of<'a>(text: &'a str, contained: &[(&'a str, &'a str)]) -> Target<'a> {
    let of_type =
        |resource_type: &'a str| if is_type(resource_type) { Target::Type(resource_type) } else { Target::Malformed };
    match ReferenceTarget::parse(text) {
        // The resource that contains this one.
        Some(ReferenceTarget::Contained("")) => Target::Somewhere,
        Some(ReferenceTarget::Contained(id)) => {
            let found = contained.iter().find(|(contained, _)| *contained == id);
            found.map_or(Target::Nothing, |(_, resource_type)| Target::Type(resource_type))
        }
        // A type of the platform is a type as well.
        Some(ReferenceTarget::Resource { .. }) => {
            text.split_once('/').map_or(Target::Malformed, |(resource_type, _)| Target::Type(resource_type))
        }
        Some(ReferenceTarget::Absolute(url)) => type_in_url(url).map_or(Target::Somewhere, Target::Type),
        None if text.contains("://") && !text.contains(char::is_whitespace) => Target::Somewhere,
        None => text.split_once('?').map_or(Target::Malformed, |(resource_type, _)| of_type(resource_type)),
    }
}

fn is_type(resource_type: &str) -> bool {
    type_definitions::is_r4_resource_type(resource_type)
}

/// Returns the type of the resource whose address a url is, if its last two segments say so.
fn type_in_url(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
    let address = rest.split_once("/_history/").map_or(rest, |(address, _)| address);
    let (before, id) = address.rsplit_once('/')?;
    let (_, resource_type) = before.rsplit_once('/')?;
    Some(resource_type).filter(|resource_type| is_type(resource_type) && id.parse::<ResourceId>().is_ok())
}
