//! The patient compartment: which resources are one patient's.
//!
//! A resource is in the compartment of a patient when one of the elements that its type has for that
//! refers to the patient, in whichever format the reference is stored. Deciding needs the resource
//! alone, so a read is judged without another query, and the same elements are what an engine looks
//! at when it lists.
//!
//! # Source
//! FHIR R4, `CompartmentDefinition/patient`; `docs/decisions.md`, "Scopes".

mod patient;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::resource_key::{ResourceId, ResourceKey, ResourceType};

/// The type whose resources have compartments.
const PATIENT: &str = "Patient";

/// What separates a reference to a resource from the version it names.
const VERSION: &str = "/_history/";

/// The names of the elements on the way from the root of a resource to one of its elements.
pub type ElementPath = &'static [&'static str];

/// The rule by which resources of a type belong to a patient's compartment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompartmentMembership {
    /// The type is `Patient`: each patient is in its own compartment. A patient that another one links to is not in
    /// that one's compartment: a link says that two records may be of one person, not that a reader of one may see the
    /// other.
    Itself,
    /// A resource belongs to the patient that it refers to at one of these paths.
    Reference(&'static [ElementPath]),
    /// No resource of the type belongs to a compartment, and none is about a person: practitioners, organizations,
    /// medications.
    Shared,
    /// No resource of the type belongs to a compartment, but it may hold data of any patient, or the type is the
    /// platform's own.
    Closed,
}

/// Returns the rule by which resources of this type belong to patient compartments.
#[must_use]
pub fn patient_compartment_membership(resource_type: &ResourceType) -> CompartmentMembership {
    let name = resource_type.as_str();
    if name == PATIENT {
        return CompartmentMembership::Itself;
    }
    if let Ok(found) = patient::PATHS.binary_search_by_key(&name, |(resource_type, _)| resource_type)
        && let Some((_, paths)) = patient::PATHS.get(found)
    {
        return CompartmentMembership::Reference(paths);
    }
    if patient::SHARED.binary_search(&name).is_ok() {
        CompartmentMembership::Shared
    } else {
        CompartmentMembership::Closed
    }
}

/// Returns the types whose resources may belong to a patient's compartment through references, in the order of their
/// names.
pub fn patient_compartment_types() -> impl Iterator<Item = &'static str> {
    patient::PATHS.iter().map(|(resource_type, _)| *resource_type)
}

/// Returns the types whose resources are about no person ([`CompartmentMembership::Shared`]), in the order of their
/// names.
pub fn patient_independent_types() -> impl Iterator<Item = &'static str> {
    patient::SHARED.iter().copied()
}

/// The compartment of one patient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatientCompartment {
    patient: ResourceId,
    /// `{base_url}/fhir/`: absolute references that begin with it are to our own resources.
    own: String,
}

impl PatientCompartment {
    /// Returns the compartment of this patient; `fhir_base` is the address of our own FHIR endpoint, without a slash at
    /// the end.
    #[must_use]
    pub fn of_patient(patient: ResourceId, fhir_base: &str) -> Self {
        Self { patient, own: format!("{fhir_base}/") }
    }

    /// Returns the id of the patient.
    #[must_use]
    pub fn patient_id(&self) -> &ResourceId {
        &self.patient
    }

    /// Returns the two texts of a reference to the patient without a version: the relative and the absolute one.
    #[must_use]
    pub fn patient_references(&self) -> [String; 2] {
        let relative = format!("{PATIENT}/{}", self.patient);
        let absolute = format!("{}{relative}", self.own);
        [relative, absolute]
    }

    /// Returns the two prefixes of references to a version of the patient: the relative and the absolute one.
    #[must_use]
    pub fn versioned_reference_prefixes(&self) -> [String; 2] {
        self.patient_references().map(|text| text + VERSION)
    }

    /// Returns whether a resource, in either format, is in the compartment.
    #[must_use]
    pub fn contains_resource(&self, key: &ResourceKey, resource: &Value) -> bool {
        match patient_compartment_membership(&key.resource_type) {
            CompartmentMembership::Itself => key.id == self.patient,
            CompartmentMembership::Reference(paths) => {
                paths.iter().any(|path| any_object_at_path(path, resource, &mut |value| self.refers(value)))
            }
            CompartmentMembership::Shared | CompartmentMembership::Closed => false,
        }
    }

    /// Returns the ids of the other patients whose compartments also contain the resource.
    #[must_use]
    pub fn other_patient_ids(&self, key: &ResourceKey, resource: &Value) -> BTreeSet<String> {
        let mut others = BTreeSet::new();
        each_patient(&key.resource_type, resource, &self.own, &mut |id| {
            if id != self.patient.as_str() {
                others.insert(id.to_owned());
            }
        });
        others
    }

    fn refers(&self, reference: &Value) -> bool {
        patients_named_by(reference, &self.own).any(|id| id == self.patient.as_str())
    }
}

/// Returns the ids of all patients whose compartments contain a resource, in either format.
#[must_use]
pub fn compartment_patient_ids(
    resource_type: &ResourceType,
    id: &str,
    resource: &Value,
    fhir_base: &str,
) -> BTreeSet<String> {
    if patient_compartment_membership(resource_type) == CompartmentMembership::Itself {
        return BTreeSet::from([id.to_owned()]);
    }
    let mut patients = BTreeSet::new();
    each_patient(resource_type, resource, &format!("{fhir_base}/"), &mut |id| {
        patients.insert(id.to_owned());
    });
    patients
}

/// The patients that the elements of a resource name, some more than once.
fn each_patient(resource_type: &ResourceType, resource: &Value, own: &str, out: &mut dyn FnMut(&str)) {
    if let CompartmentMembership::Reference(paths) = patient_compartment_membership(resource_type) {
        for path in paths {
            any_object_at_path(path, resource, &mut |value| {
                patients_named_by(value, own).for_each(&mut *out);
                false
            });
        }
    }
}

/// Returns the patients a reference names. It has one format, but nothing prevents a writer from sending several in one
/// object, and then all of them count.
fn patients_named_by<'a>(reference: &'a Value, own: &str) -> impl Iterator<Item = &'a str> {
    let text = |name: &str| reference.get(name).and_then(Value::as_str);
    let native = (text("resourceType") == Some(PATIENT)).then(|| text("id")).flatten();
    let spelled = [text("reference"), text("uri")].into_iter().flatten();
    native.into_iter().chain(spelled.filter_map(move |text| patient_in(text, own)))
}

fn patient_in<'a>(text: &'a str, own: &str) -> Option<&'a str> {
    let relative = text.strip_prefix(own).unwrap_or(text);
    let id = relative.strip_prefix(PATIENT)?.strip_prefix('/')?;
    Some(id.split_once(VERSION).map_or(id, |(id, _)| id))
}

/// Returns whether `holds` is true for any object at `path`. Arrays on the way and at the end are searched through.
pub fn any_object_at_path(path: &[&str], value: &Value, holds: &mut dyn FnMut(&Value) -> bool) -> bool {
    match (value, path.split_first()) {
        (Value::Array(elements), _) => elements.iter().any(|element| any_object_at_path(path, element, holds)),
        (Value::Object(object), Some((name, rest))) => {
            object.get(*name).is_some_and(|inner| any_object_at_path(rest, inner, holds))
        }
        (Value::Object(_), None) => holds(value),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
