//! Lists of types that no search parameter is about, and of the native endpoint.

use fhir_resource::patient_compartment::{CompartmentMembership, patient_compartment_membership};
use fhir_resource::{PatientCompartment, ResourceType};
use fhir_store::access_filter::AccessFilterCriterion;
use fhir_store::bundle::{self, ListRequestUrl};
use fhir_store::query_parsing::{self, QueryError};
use fhir_store::{AccessFilter, AccessFilterBranch, ListQuery, limits};
use serde_json::Value;

use super::scope::SearchScope;
use crate::access::{self, AccessCheck};
use crate::error::ServiceError;
use crate::request_context::RequestContext;
use crate::request_query::RequestQuery;
use crate::resource_format::ResourceFormat;
use crate::service_state::FhirService;
use crate::{known_types, representation, resource_lookup};

/// A list that the caller may read.
pub(crate) struct PreparedList<'a> {
    query: ListQuery,
    within: AccessFilter,
    pairs: &'a [(String, String)],
    address: String,
}

/// Reads the query of a list: the resources of a type that meet it, a page at a time.
pub(crate) async fn prepare<'a>(
    service: &FhirService,
    context: &RequestContext,
    scope: SearchScope<'_>,
    (pairs, query): (&'a [(String, String)], &RequestQuery),
) -> Result<PreparedList<'a>, ServiceError> {
    let kind = scope.kind;
    let within = scope.narrow(service, access::authorize(service, context, &AccessCheck::list(kind, query)).await?);
    known_types::check(service, context.format, kind).await?;
    let NarrowedList { within, others } = narrow(service, kind, within, (context.format, pairs))?;
    Ok(PreparedList {
        query: query_parsing::parse_list_query(kind.clone(), others)?,
        within,
        pairs,
        address: scope.address(service, context.format),
    })
}

impl PreparedList<'_> {
    /// Returns the Bundle that answers it.
    pub(crate) async fn answer(self, service: &FhirService, context: &RequestContext) -> Result<Value, ServiceError> {
        let (query, page) = resource_lookup::page(service, self.query, self.within).await?;
        let base = service.settings.format_base_url(context.format);
        let shown = |stored| representation::render(service, context.format, stored);
        let entries = page.entries.iter().map(|stored| bundle::searchset_entry(&base, stored, shown(stored)));
        let links = ListRequestUrl { address: &self.address, parameters: self.pairs };
        Ok(bundle::list_searchset_bundle(&query, &page, links, entries.collect()))
    }
}

/// A list that some of its parameters have narrowed.
struct NarrowedList<'a> {
    /// The rest of what the caller reaches.
    within: AccessFilter,
    /// The other parameters.
    others: Vec<(&'a str, &'a str)>,
}

/// Narrows a list at the FHIR endpoint by its parameters `patient` and `category`; the others are equalities on
/// elements.
///
/// Apps request a member's record by these two. `patient` finds what is in the patient's compartment, which
/// is what the parameter of that name finds and, of a few types, what the patient wrote down.
///
/// # Errors
/// [`QueryError::TooMany`].
fn narrow<'a>(
    service: &FhirService,
    kind: &ResourceType,
    mut within: AccessFilter,
    (format, query): (ResourceFormat, &'a [(String, String)]),
) -> Result<NarrowedList<'a>, ServiceError> {
    if query.len() > limits::MAX_QUERY_FILTERS {
        return Err(QueryError::TooMany.into());
    }
    let mut others = Vec::with_capacity(query.len());
    for (name, value) in query {
        match branch(service, kind, (name, value)).filter(|_| format == ResourceFormat::Fhir) {
            Some(branch) => within = within.narrowed_to_branch(&branch),
            None => others.push((name.as_str(), value.as_str())),
        }
    }
    Ok(NarrowedList { within, others })
}

fn branch(service: &FhirService, kind: &ResourceType, (name, value): (&str, &str)) -> Option<AccessFilterBranch> {
    match name {
        "patient" if is_about_patients(kind) => {
            Some(AccessFilterBranch { compartment: Some(compartment(service, value)?), criteria: Vec::new() })
        }
        _ => Some(AccessFilterBranch {
            compartment: None,
            criteria: vec![AccessFilterCriterion::parse(kind, name, value).ok()?],
        }),
    }
}

fn is_about_patients(kind: &ResourceType) -> bool {
    matches!(patient_compartment_membership(kind), CompartmentMembership::Reference(_))
}

/// Returns the compartment of a patient that is named by its id or by a reference.
fn compartment(service: &FhirService, value: &str) -> Option<PatientCompartment> {
    let base = service.settings.fhir_base_url();
    let own = value.strip_prefix(&base).and_then(|path| path.strip_prefix('/')).unwrap_or(value);
    let id = own.strip_prefix("Patient/").unwrap_or(own);
    Some(PatientCompartment::of_patient(id.parse().ok()?, &base))
}
