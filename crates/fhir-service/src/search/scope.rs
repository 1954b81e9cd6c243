//! The resources that a search is about.

use fhir_resource::{Compartment, ResourceId, ResourceType};
use fhir_store::{AccessFilter, FilterBranch};

use crate::resource_format::ResourceFormat;
use crate::service::FhirService;

/// The resources of a type, or of one patient.
#[derive(Debug, Clone, Copy)]
pub struct SearchScope<'a> {
    /// The type.
    pub kind: &'a ResourceType,
    /// The patient, where the address names one.
    pub patient: Option<&'a ResourceId>,
}

impl<'a> SearchScope<'a> {
    /// Returns all resources of a type.
    #[must_use]
    pub const fn of_type(kind: &'a ResourceType) -> Self {
        Self { kind, patient: None }
    }

    /// Returns the part of a filter that is in the scope.
    pub(crate) fn narrow(self, service: &FhirService, within: AccessFilter) -> AccessFilter {
        let Some(patient) = self.patient else { return within };
        let compartment = Some(Compartment::of(patient.clone(), &service.settings.fhir_base()));
        within.narrowed(&FilterBranch { compartment, criteria: Vec::new() })
    }

    /// Returns the address of the search.
    pub(crate) fn address(self, service: &FhirService, format: ResourceFormat) -> String {
        let base = service.settings.base(format);
        match self.patient {
            Some(patient) => format!("{base}/Patient/{patient}/{}", self.kind),
            None => format!("{base}/{}", self.kind),
        }
    }
}
