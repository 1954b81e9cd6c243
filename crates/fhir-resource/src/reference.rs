//! References between resources, in both formats, and those between entries of a transaction.

mod element_context;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use self::element_context::ElementContext;
use crate::resource_key::{ResourceId, ResourceKey};

/// What may stand beside the target in a reference. An object with anything else is no reference.
const COMPANIONS: [&str; 7] = ["display", "type", "identifier", "extension", "_reference", "_display", "_type"];

/// The target of a reference, as the text of the reference states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReferenceTarget<'a> {
    /// `Type/id` or `Type/id/_history/version`.
    Resource {
        /// The resource.
        key: ResourceKey,
        /// The version, when the reference is to one version.
        version: Option<ResourceId>,
    },
    /// An absolute URL or a URN.
    Absolute(&'a str),
    /// `#name`: a resource contained in this one; without the `#`.
    Contained(&'a str),
}

impl<'a> ReferenceTarget<'a> {
    /// Parses the text of a reference; `None` for anything else, such as a conditional reference.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        if let Some(name) = text.strip_prefix('#') {
            return Some(Self::Contained(name));
        }
        if is_absolute_reference(text) {
            return Some(Self::Absolute(text));
        }
        let (key, version) = match text.split_once("/_history/") {
            Some((key, version)) => (key, Some(version.parse().ok()?)),
            None => (text, None),
        };
        Some(Self::Resource { key: key.parse().ok()?, version })
    }
}

/// Returns whether a text is a URL or URN rather than a relative reference.
#[must_use]
pub fn is_absolute_reference(text: &str) -> bool {
    ["http://", "https://", "urn:"].iter().any(|scheme| text.starts_with(scheme))
}

/// Returns whether an object has no keys but those in `own` and those that may accompany a reference, such as
/// `display`.
#[must_use]
pub fn has_only_reference_members(object: &Map<String, Value>, own: &[&str]) -> bool {
    object.keys().all(|key| own.contains(&key.as_str()) || COMPANIONS.contains(&key.as_str()))
}

/// Returns whether a name is one that may stand beside the target in a reference.
pub(crate) fn is_companion(name: &[u8]) -> bool {
    COMPANIONS.iter().any(|companion| companion.as_bytes() == name)
}

/// A map from the `fullUrl` of each transaction entry to the key of its resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FullUrlMap(BTreeMap<String, ResourceKey>);

impl FullUrlMap {
    /// Adds the `fullUrl` of an entry. When it is there already, the first key stays.
    pub fn insert(&mut self, full_url: &str, key: &ResourceKey) {
        self.0.entry(full_url.to_owned()).or_insert_with(|| key.clone());
    }

    /// Returns the key of the resource under a `fullUrl`.
    #[must_use]
    pub fn get(&self, full_url: &str) -> Option<&ResourceKey> {
        self.0.get(full_url)
    }

    /// Replaces the references to a `fullUrl` in a value by references to the resources, in the format that each has.
    ///
    /// References inside a `Bundle` resource mean that Bundle's own entries and are left alone, as are URNs outside
    /// references (narrative, `uri` values). `path` is the position of the value.
    ///
    /// # Errors
    /// The first `urn:uuid:…` that no entry carries.
    pub fn rewrite_references(&self, path: &ElementContext<'_>, value: &mut Value) -> Result<(), String> {
        match value {
            Value::Array(elements) => elements.iter_mut().try_for_each(|inner| self.rewrite_references(path, inner)),
            Value::Object(object) if is_bundle(object) => Ok(()),
            Value::Object(object) => {
                let path = path.with_object_type(|| declared_resource_type(object));
                if object.contains_key("reference") && path.may_be_reference() {
                    self.rewrite_fhir(object)?;
                }
                if has_only_reference_members(object, &["uri"]) && path.may_be_uri_reference() {
                    self.rewrite_native(object)?;
                }
                object
                    .iter_mut()
                    .try_for_each(|(name, inner)| self.rewrite_references(&path.child_member(name.as_bytes()), inner))
            }
            _ => Ok(()),
        }
    }

    fn rewrite_fhir(&self, object: &mut Map<String, Value>) -> Result<(), String> {
        if let Some(Value::String(text)) = object.get_mut("reference")
            && let Some(key) = self.resolve(text)?
        {
            *text = key.to_string();
        }
        Ok(())
    }

    fn rewrite_native(&self, object: &mut Map<String, Value>) -> Result<(), String> {
        let Some(Value::String(text)) = object.get("uri") else { return Ok(()) };
        let Some(key) = self.resolve(text)? else { return Ok(()) };
        let mut rewritten = Map::new();
        rewritten.insert("resourceType".to_owned(), key.resource_type.as_str().into());
        rewritten.insert("id".to_owned(), key.id.as_str().into());
        object.shift_remove("uri");
        rewritten.append(object);
        *object = rewritten;
        Ok(())
    }

    fn resolve(&self, text: &str) -> Result<Option<&ResourceKey>, String> {
        match self.get(text) {
            None if text.starts_with("urn:uuid:") => Err(text.to_owned()),
            found => Ok(found),
        }
    }
}

/// Returns the `resourceType` of an object; `None` when it has none or it is not a string.
#[must_use]
pub fn declared_resource_type(object: &Map<String, Value>) -> Option<&str> {
    object.get("resourceType")?.as_str()
}

fn is_bundle(object: &Map<String, Value>) -> bool {
    object.get("resourceType").is_some_and(|resource_type| resource_type == "Bundle")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const URN: &str = "urn:uuid:4f6c9d3a-0000-4000-8000-000000000001";

    fn urls() -> FullUrlMap {
        let mut urls = FullUrlMap::default();
        urls.insert(URN, &"Organization/o1".parse().unwrap());
        urls
    }

    fn rewritten(mut value: Value) -> Result<Value, String> {
        let path = ElementContext::document_root(None);
        urls().rewrite_references(&path.child_member(b"any"), &mut value).map(|()| value)
    }

    #[test]
    fn a_reference_text_says_where_it_points() {
        let key: ResourceKey = "Patient/1".parse().unwrap();
        let version = Some("2".parse().unwrap());
        assert_eq!(
            ReferenceTarget::parse("Patient/1"),
            Some(ReferenceTarget::Resource { key: key.clone(), version: None })
        );
        assert_eq!(ReferenceTarget::parse("Patient/1/_history/2"), Some(ReferenceTarget::Resource { key, version }));
        assert_eq!(ReferenceTarget::parse("#c1"), Some(ReferenceTarget::Contained("c1")));
        assert_eq!(ReferenceTarget::parse("urn:oid:1.2"), Some(ReferenceTarget::Absolute("urn:oid:1.2")));
        for text in ["", "Patient", "Patient?identifier=1", "patient/1", "Patient/1/x", "A/b/_history/"] {
            assert_eq!(ReferenceTarget::parse(text), None, "{text}");
        }
    }

    #[test]
    fn both_spellings_of_a_reference_to_an_entry_are_resolved_where_they_stand() {
        let value = rewritten(json!({
            "a": {"reference": URN, "display": "x"},
            "b": [{"uri": URN, "display": "y"}],
            "extension": [{"url": "u", "valueReference": {"reference": URN}}],
        }));
        let expected = json!({
            "a": {"reference": "Organization/o1", "display": "x"},
            "b": [{"resourceType": "Organization", "id": "o1", "display": "y"}],
            "extension": [{"url": "u", "valueReference": {"reference": "Organization/o1"}}],
        });
        assert_eq!(value, Ok(expected));
    }

    #[test]
    fn a_urn_that_no_entry_carries_is_named() {
        let other = "urn:uuid:00000000-0000-0000-0000-000000000000";
        assert_eq!(rewritten(json!({"a": {"reference": other}})), Err(other.to_owned()));
        assert_eq!(rewritten(json!({"a": {"uri": other}})), Err(other.to_owned()));
    }

    #[test]
    fn a_uri_that_is_no_reference_is_left_alone() {
        for value in [
            json!({"extension": [{"url": "u", "value": {"uri": URN}}]}),
            json!({"extension": [{"url": "u", "valueUri": URN}]}),
            json!({"dependsOn": [{"uri": URN}]}),
            json!({"a": {"uri": URN, "version": "1"}}),
            json!({"a": {"reference": "http://h/Patient/1"}}),
        ] {
            assert_eq!(rewritten(value.clone()), Ok(value));
        }
    }

    #[test]
    fn a_bundle_inside_a_resource_keeps_its_own_names() {
        let value = json!({"contained": [
            {"resourceType": "Bundle", "entry": [{"resource": {"subject": {"reference": "urn:uuid:x"}}}]},
        ]});
        assert_eq!(rewritten(value.clone()), Ok(value));
    }
}
