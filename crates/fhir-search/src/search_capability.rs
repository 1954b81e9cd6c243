//! What can be searched for, as a `CapabilityStatement` says it: of every type of R4 its search parameters, and
//! what can be included with it.
//!
//! It is made of a [`SearchParameterCatalog`], so it is true of what is installed as well.
//!
//! # Source
//! FHIR R4, `CapabilityStatement.rest.resource`.

use std::collections::BTreeMap;

use fhir_resource::{ResourceType, type_definitions};
use serde_json::{Value, json};

use crate::{SearchParameterCatalog, SearchParameterSummary, SearchParameterType};

/// The search parameters and includes that one resource type supports, for the `CapabilityStatement`.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceTypeSearchCapability {
    /// The type.
    pub resource_type: ResourceType,
    /// `searchParam`: name, definition and type of each.
    pub parameters: Vec<Value>,
    /// `searchInclude`: the values that `_include` takes.
    pub includes: Vec<String>,
    /// `searchRevInclude`: the values that `_revinclude` takes.
    pub revincludes: Vec<String>,
}

/// Returns the search capability of every R4 resource type, in the order of type names. A type for which `indexes`
/// returns false has no parameters and includes.
pub fn search_capabilities_by_type(
    catalog: &SearchParameterCatalog,
    indexes: impl Fn(&ResourceType) -> bool,
) -> Vec<ResourceTypeSearchCapability> {
    let kinds = type_definitions::r4_resource_types().filter_map(|name| name.parse::<ResourceType>().ok());
    let told_of = |resource_type: &ResourceType| {
        if indexes(resource_type) { catalog.parameter_summaries_of_type(resource_type) } else { Vec::new() }
    };
    let outlines: BTreeMap<ResourceType, Vec<SearchParameterSummary>> =
        kinds.map(|resource_type| (resource_type.clone(), told_of(&resource_type))).collect();
    let mut revincludes: BTreeMap<&ResourceType, Vec<String>> = BTreeMap::new();
    for (resource_type, outline) in
        outlines.iter().flat_map(|(resource_type, all)| all.iter().map(move |outline| (resource_type, outline)))
    {
        if outline.parameter_type == SearchParameterType::Reference {
            // What may refer to any type refers to each.
            let named: Vec<&ResourceType> =
                if outline.targets.is_empty() { outlines.keys().collect() } else { outline.targets.iter().collect() };
            for target in named {
                revincludes.entry(target).or_default().push(include(resource_type, outline));
            }
        }
    }
    let told = outlines.iter().map(|(resource_type, outlines)| {
        let references = outlines.iter().filter(|outline| outline.parameter_type == SearchParameterType::Reference);
        ResourceTypeSearchCapability {
            resource_type: resource_type.clone(),
            parameters: outlines.iter().map(parameter).collect(),
            includes: references.map(|outline| include(resource_type, outline)).collect(),
            revincludes: revincludes.get(resource_type).filter(|_| indexes(resource_type)).cloned().unwrap_or_default(),
        }
    });
    told.collect()
}

fn include(resource_type: &ResourceType, outline: &SearchParameterSummary) -> String {
    format!("{resource_type}:{}", outline.code)
}

fn parameter(outline: &SearchParameterSummary) -> Value {
    json!({"name": outline.code, "definition": outline.url, "type": outline.parameter_type.as_str()})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(all: &'a [ResourceTypeSearchCapability], resource_type: &str) -> &'a ResourceTypeSearchCapability {
        all.iter().find(|searchable| searchable.resource_type.as_str() == resource_type).unwrap()
    }

    #[test]
    fn every_type_of_r4_is_told_of_with_what_its_catalog_has() {
        let catalog = SearchParameterCatalog::with_r4_only();
        let all = search_capabilities_by_type(&catalog, |resource_type| resource_type.as_str() != "Parameters");
        assert_eq!(all.len(), 146);
        for ResourceTypeSearchCapability { resource_type, parameters, includes, revincludes } in &all {
            for parameter in parameters {
                let known = catalog.find_parameter_by_code(resource_type, parameter["name"].as_str().unwrap()).unwrap();
                assert_eq!(
                    (&parameter["definition"], &parameter["type"]),
                    (&json!(known.url), &json!(known.parameter_type.as_str()))
                );
            }
            assert_eq!(parameters.is_empty(), resource_type.as_str() == "Parameters", "{resource_type}");
            for text in includes.iter().chain(revincludes) {
                let (resource_type, code) = text.split_once(':').unwrap();
                assert_eq!(
                    catalog.find_parameter_by_code(&resource_type.parse().unwrap(), code).unwrap().parameter_type,
                    SearchParameterType::Reference,
                    "{text}"
                );
            }
        }
        let patient = of(&all, "Patient");
        assert!(patient.includes.contains(&"Patient:general-practitioner".to_owned()));
        assert!(patient.revincludes.contains(&"Observation:patient".to_owned()));
        assert!(patient.revincludes.contains(&"Provenance:target".to_owned()), "a reference to anything");
        let audited = of(&all, "AuditEvent").parameters.iter().filter_map(|told| told["name"].as_str());
        let audited: Vec<&str> = audited.filter(|name| !name.starts_with('_')).collect();
        assert_eq!(audited, ["action", "agent", "date", "entity", "outcome", "patient", "subtype", "type"]);
        assert!(!of(&all, "Practitioner").revincludes.contains(&"Observation:patient".to_owned()));
    }

    #[test]
    fn what_is_installed_is_told_of() {
        let installed = json!({
            "resourceType": "SearchParameter", "url": "http://payer.example/SearchParameter/nickname",
            "code": "nickname", "base": ["Patient"], "type": "string", "expression": "Patient.nickname",
        });
        let (catalog, refused) = SearchParameterCatalog::with_installed([(10_000, &installed)]);
        assert_eq!(refused, []);
        let all = search_capabilities_by_type(&catalog, |_| true);
        let told = json!({"name": "nickname", "definition": installed["url"], "type": "string"});
        assert!(of(&all, "Patient").parameters.contains(&told));
        assert!(!of(&all, "Group").parameters.contains(&told));
    }
}
