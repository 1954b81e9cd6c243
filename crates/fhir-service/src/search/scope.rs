//! The resources that a search is about.

use fhir_resource::{PatientCompartment, ResourceId, ResourceType};
use fhir_store::{AccessFilter, AccessFilterBranch};

use crate::resource_format::ResourceFormat;
use crate::service_state::FhirService;

/// The resources that a search covers: those of a type, or those in a patient's compartment.
#[derive(Debug, Clone, Copy)]
pub struct SearchScope<'a> {
    /// The type.
    pub kind: &'a ResourceType,
    /// The patient whose compartment is searched; `None` for all resources of the type.
    pub patient: Option<&'a ResourceId>,
}

impl<'a> SearchScope<'a> {
    /// Returns the scope of all resources of a type.
    #[must_use]
    pub const fn of_type(kind: &'a ResourceType) -> Self {
        Self { kind, patient: None }
    }

    /// Returns the part of a filter that is in the scope.
    pub(crate) fn narrow(self, service: &FhirService, within: AccessFilter) -> AccessFilter {
        let Some(patient) = self.patient else { return within };
        let compartment = Some(PatientCompartment::of_patient(patient.clone(), &service.settings.fhir_base_url()));
        within.narrowed_to_branch(&AccessFilterBranch { compartment, criteria: Vec::new() })
    }

    /// Returns the address of the search.
    pub(crate) fn address(self, service: &FhirService, format: ResourceFormat) -> String {
        let base = service.settings.format_base_url(format);
        match self.patient {
            Some(patient) => format!("{base}/Patient/{patient}/{}", self.kind),
            None => format!("{base}/{}", self.kind),
        }
    }
}
