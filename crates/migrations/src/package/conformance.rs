//! What a package says a server conforms to: its guide, the requirements for servers, its profiles.
//!
//! # Source
//! FHIR R4, `CapabilityStatement`: `implementationGuide`, `instantiates`, `rest.resource.supportedProfile`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::canonical::Head;
use super::limits;

/// The canonical URLs that the `CapabilityStatement` lists for the installed packages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InstalledConformance {
    /// The URLs of `ImplementationGuide`s.
    pub guides: BTreeSet<String>,
    /// The URLs of `CapabilityStatement`s that state requirements on a server.
    pub requirements: BTreeSet<String>,
    /// The URLs of profiles that resources may claim, by the resource type that they constrain.
    pub profiles: BTreeMap<String, BTreeSet<String>>,
}

impl InstalledConformance {
    /// Adds what a resource of a package says.
    pub(super) fn add(&mut self, head: &Head) {
        let text = |value: &Option<Value>| value.as_ref().and_then(Value::as_str).map(str::to_owned);
        let Some(url) = text(&head.url).filter(|url| url.len() <= limits::CANONICAL_KEY_MAX_BYTES) else { return };
        let is = |value: &Option<Value>, expected: &str| value.as_ref().is_some_and(|value| value == expected);
        match text(&head.kind).as_deref() {
            Some("ImplementationGuide") => drop(self.guides.insert(url)),
            Some("CapabilityStatement") if is(&head.flavor, "requirements") && is_about_servers(head) => {
                self.requirements.insert(url);
            }
            Some("StructureDefinition") if is(&head.flavor, "resource") && is(&head.derivation, "constraint") => {
                let is_abstract = head.is_abstract.as_ref().and_then(Value::as_bool).unwrap_or(false);
                if let (Some(kind), false) = (text(&head.of_type), is_abstract) {
                    self.profiles.entry(kind).or_default().insert(url);
                }
            }
            _ => {}
        }
    }

    /// Adds the URLs in `other`.
    pub fn extend(&mut self, other: Self) {
        self.guides.extend(other.guides);
        self.requirements.extend(other.requirements);
        for (kind, profiles) in other.profiles {
            self.profiles.entry(kind).or_default().extend(profiles);
        }
    }
}

fn is_about_servers(head: &Head) -> bool {
    let rest = head.rest.as_ref().and_then(Value::as_array);
    rest.into_iter().flatten().any(|rest| rest.get("mode").is_some_and(|mode| mode == "server"))
}
