//! A FHIR resource as a JSON document: its name, its references, its two formats, the definition of its type.
//!
//! **Owns** keys ([`resource_key`]), references ([`mod@reference`]), the native format and FHIR's
//! ([`mod@format_conversion`]), a stored version of a resource ([`StoredResource`]), the definitions of the types of
//! FHIR R4 ([`type_definitions`]), and the patient compartment ([`patient_compartment`]).
//!
//! **Refuses** everything that needs more than one resource: conditions, transactions, search and validation are crates
//! above. No I/O and no clock.
//!
//! **Key decision:** a resource stays the JSON that its writer sent. There is no struct per resource type: a deployment
//! decides which types exist, and an element that no definition has survives. The definitions are data, which formats,
//! search and validation read. **Road not taken:** typed models. They would lose every element that they do not know,
//! and cost a program of the size of R4.
//!
//! # Example
//! ```
//! use fhir_resource::{PatientCompartment, ResourceKey, format_conversion};
//! use serde_json::json;
//!
//! let fhir = json!({"resourceType": "Observation", "subject": {"reference": "Patient/ada"}});
//! let native = format_conversion::convert_to_native(fhir.clone());
//! assert_eq!(native["subject"], json!({"resourceType": "Patient", "id": "ada"}));
//! assert_eq!(format_conversion::convert_to_fhir(native.clone()), fhir);
//!
//! let key: ResourceKey = "Observation/o".parse()?;
//! let compartment = PatientCompartment::of_patient("ada".parse()?, "https://payer.example/fhir");
//! assert!(compartment.contains_resource(&key, &native));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod format_conversion;
pub mod patient_compartment;
#[cfg(any(test, feature = "testing"))]
pub mod property_testing;
pub mod reference;
pub mod resource_key;
mod stored;
pub mod type_definitions;

pub use patient_compartment::PatientCompartment;
pub use resource_key::{ResourceId, ResourceKey, ResourceType};
pub use stored::{StoredResource, StoredResourceText, format_instant};

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
