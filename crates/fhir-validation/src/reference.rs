//! References: what they say, and what they may lead to.

use serde_json::{Map, Value};

use super::place::Place;
use super::report::{Code, Report, quoted};
use crate::definitions::{self, Type};
use crate::key::ResourceId;
use crate::reference::ReferenceTarget;

/// Returns the ids and types of what a resource contains.
pub(super) fn contained(resource: &Map<String, Value>) -> Vec<(&str, &str)> {
    let contained = resource.get("contained").and_then(Value::as_array);
    let named = contained.into_iter().flatten().filter_map(|inner| {
        let text = |name: &str| inner.get(name).and_then(Value::as_str);
        Some((text("id")?, text("resourceType")?))
    });
    named.collect()
}

/// Whether a reference has the form of one, and leads to a type its element allows.
///
/// A condition (`Patient?identifier=…`) is taken where a transaction may resolve it. Of a url only one that
/// ends like the address of a resource tells its type.
pub(super) fn check(
    kind: &Type,
    reference: &Map<String, Value>,
    (place, contained): (&Place<'_>, &[(&str, &str)]),
    report: &mut Report,
) {
    let Some(text) = reference.get("reference").and_then(Value::as_str).filter(|text| !text.is_empty()) else { return };
    match leads_to(text, contained) {
        Lead::Type(found) if !kind.targets.is_empty() && !kind.targets.iter().any(|target| &**target == found) => {
            let text = || format!("expected a reference to {}, found one to {found}", kind.targets.join(", "));
            report.add(Code::Value, &place.named("reference"), text);
        }
        Lead::Type(_) | Lead::Somewhere => {}
        Lead::Nothing => {
            let text = || format!("expected a resource in contained with this id, found none for {}", quoted(text));
            report.add(Code::Invariant, &place.named("reference"), text);
        }
        Lead::Malformed => {
            let text = || format!("expected Type/id, a url or #id, found {}", quoted(text));
            report.add(Code::Value, &place.named("reference"), text);
        }
    }
}

/// Where a reference leads.
enum Lead<'a> {
    /// To a resource of this type.
    Type(&'a str),
    /// Its text does not say to what.
    Somewhere,
    /// To a contained resource that is not there.
    Nothing,
    Malformed,
}

fn leads_to<'a>(text: &'a str, contained: &[(&'a str, &'a str)]) -> Lead<'a> {
    let of_type = |kind: &'a str| if is_type(kind) { Lead::Type(kind) } else { Lead::Malformed };
    match ReferenceTarget::parse(text) {
        // The resource that contains this one.
        Some(ReferenceTarget::Contained("")) => Lead::Somewhere,
        Some(ReferenceTarget::Contained(id)) => {
            let found = contained.iter().find(|(contained, _)| *contained == id);
            found.map_or(Lead::Nothing, |(_, kind)| Lead::Type(kind))
        }
        // A type of the platform's own is a type as well.
        Some(ReferenceTarget::Resource { .. }) => {
            text.split_once('/').map_or(Lead::Malformed, |(kind, _)| Lead::Type(kind))
        }
        Some(ReferenceTarget::Absolute(url)) => type_in_url(url).map_or(Lead::Somewhere, Lead::Type),
        None if text.contains("://") && !text.contains(char::is_whitespace) => Lead::Somewhere,
        None => text.split_once('?').map_or(Lead::Malformed, |(kind, _)| of_type(kind)),
    }
}

fn is_type(kind: &str) -> bool {
    definitions::is_resource_type(kind)
}

/// Returns the type of the resource whose address a url is, if its last two segments say so.
fn type_in_url(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
    let address = rest.split_once("/_history/").map_or(rest, |(address, _)| address);
    let (before, id) = address.rsplit_once('/')?;
    let (_, kind) = before.rsplit_once('/')?;
    Some(kind).filter(|kind| is_type(kind) && id.parse::<ResourceId>().is_ok())
}
