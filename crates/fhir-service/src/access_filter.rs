//! What a caller's scopes leave open, as an [`AccessFilter`] of the store.
//!
//! Scopes leave open a union of parts: a patient's compartment, a search, both. A read is compared with the filter;
//! lists and writes carry it into the statement that lists and the transaction that writes.
//!
//! # Source
//! SMART App Launch, scopes; `docs/decisions.md`, "Scopes".

use std::sync::Arc;

use fhir_resource::patient_compartment::{CompartmentMembership, patient_compartment_membership};
use fhir_resource::{PatientCompartment, ResourceType};
use fhir_search::{SearchParameterCatalog, SearchParseContext};
use fhir_store::access_filter::{
    AccessFilterCriterion, GranularScopeSearch, GroupOwnershipFilter, OrganizationIdentifier, UnsupportedCriterionError,
};
use fhir_store::{AccessFilter, AccessFilterBranch};
use oauth_core::access::AccessError;
use oauth_core::resource_caller::{CallerIdentity, ResourceCaller};
use oauth_core::scope_access::{ScopeAccess, SingleScopeFilter};
use smart_scopes::{Context, Interaction, QueryParameter, ScopeQuery};

use crate::request_context::RequestContext;
use crate::service_state::FhirService;

/// Returns the resources of a type that an interaction may touch.
///
/// # Errors
/// When no resource is left: [`AccessError::InsufficientScope`] where a type is in no patient's
/// compartment, [`AccessError::UnappliedQuery`] where every scope has a search that is not applied here.
pub(crate) async fn from_scopes(
    service: &FhirService,
    context: &RequestContext,
    target: (&ResourceType, Interaction),
    reach: ScopeAccess,
) -> Result<AccessFilter, AccessError> {
    let opened = opened(service, context, target, reach).await?;
    Ok(match ownership(&context.caller, target.0) {
        Some(ownership) => opened.narrowed_to_branch(&AccessFilterBranch {
            compartment: None,
            criteria: vec![AccessFilterCriterion::Ownership(ownership)],
        }),
        None => opened,
    })
}

/// Returns which Groups a caller reaches, whatever scopes and policies open; `None` for the administrator, and of other
/// types.
///
/// A Group that a match made is reached by the organization that the caller's token proves.
pub(crate) fn ownership(caller: &ResourceCaller, kind: &ResourceType) -> Option<GroupOwnershipFilter> {
    if kind.as_str() != "Group" || matches!(caller.identity, CallerIdentity::Root) {
        return None;
    }
    let owner = caller
        .organization_identifier()
        .map(|(system, value)| OrganizationIdentifier { system: system.to_owned(), value: value.to_owned() });
    Some(GroupOwnershipFilter { owner })
}

/// Returns what scopes open.
async fn opened(
    service: &FhirService,
    context: &RequestContext,
    target: (&ResourceType, Interaction),
    reach: ScopeAccess,
) -> Result<AccessFilter, AccessError> {
    let ScopeAccess::Parts(parts) = reach else { return Ok(AccessFilter::Everything) };
    let store = |failed| AccessError::Store(oauth_core::ports::StoreError(Box::new(failed)));
    let known = service.search.cached_search_parameter_catalog().await.map_err(store)?;
    let mut opened = OpenedType::by((service, &known), context, target, &parts);
    if opened.unapplied.is_some() {
        // Another node may have installed the parameter a moment ago.
        let now = service.search.current_search_parameter_catalog().await.map_err(store)?;
        if !Arc::ptr_eq(&now, &known) {
            opened = OpenedType::by((service, &now), context, target, &parts);
        }
    }
    let OpenedType { branches, needed, unapplied } = opened;
    match unapplied {
        _ if !branches.is_empty() => Ok(AccessFilter::union_of_branches(branches)),
        Some((needed, cause)) => Err(AccessError::UnappliedQuery { needed, cause: cause.to_string() }),
        None => Err(AccessError::InsufficientScope { needed }),
    }
}

/// The part of a type that scopes open.
struct OpenedType {
    branches: Vec<AccessFilterBranch>,
    /// The scope that would open it.
    needed: String,
    /// A scope whose search is not applied, and so opens nothing.
    unapplied: Option<(String, UnsupportedCriterionError)>,
}

impl OpenedType {
    fn by(
        (service, catalog): (&FhirService, &SearchParameterCatalog),
        context: &RequestContext,
        (kind, interaction): (&ResourceType, Interaction),
        parts: &[SingleScopeFilter],
    ) -> Self {
        let needed = |context: Context| format!("{context}/{kind}.{}", interaction.letter());
        let own = if context.caller.user_id().is_some() { Context::User } else { Context::System };
        let mut opened = Self { branches: Vec::with_capacity(parts.len()), needed: needed(own), unapplied: None };
        for part in parts {
            let context = if part.patient.is_some() { Context::Patient } else { own };
            match branch((service, catalog), (kind, interaction), part) {
                Ok(branch) => opened.branches.push(branch),
                Err(ClosedPart::Nothing) => {}
                Err(ClosedPart::Unapplied(cause)) => opened.unapplied = Some((needed(context), cause)),
            }
        }
        opened
    }
}

/// The reason why a part of what scopes leave open holds nothing of a type.
enum ClosedPart {
    /// A patient opens nothing of it.
    Nothing,
    /// It is limited by a search that is not applied.
    Unapplied(UnsupportedCriterionError),
}

impl From<UnsupportedCriterionError> for ClosedPart {
    fn from(cause: UnsupportedCriterionError) -> Self {
        Self::Unapplied(cause)
    }
}

/// Returns what one part of what scopes leave open holds of a type.
fn branch(
    (service, catalog): (&FhirService, &SearchParameterCatalog),
    (kind, interaction): (&ResourceType, Interaction),
    part: &SingleScopeFilter,
) -> Result<AccessFilterBranch, ClosedPart> {
    let parameters = part.query.iter().flat_map(ScopeQuery::parameters);
    let criteria =
        parameters.map(|parameter| criterion((service, catalog), kind, parameter)).collect::<Result<_, _>>()?;
    let Some(patient) = &part.patient else {
        return Ok(AccessFilterBranch { compartment: None, criteria });
    };
    let reads = matches!(interaction, Interaction::Read | Interaction::Search);
    let compartment = match patient_compartment_membership(kind) {
        CompartmentMembership::Itself if interaction == Interaction::Create => return Err(ClosedPart::Nothing),
        CompartmentMembership::Itself | CompartmentMembership::Reference(_) => {
            let patient = patient.parse().map_err(|_| ClosedPart::Nothing)?;
            Some(PatientCompartment::of_patient(patient, &service.settings.fhir_base_url()))
        }
        // Not specified; what belongs to no patient may be read and not written: every record uses it.
        CompartmentMembership::Shared if reads => None,
        CompartmentMembership::Shared | CompartmentMembership::Closed => return Err(ClosedPart::Nothing),
    };
    Ok(AccessFilterBranch { compartment, criteria })
}

/// A parameter of a granular scope as a condition: on the codings of an element, which needs no index, or by any
/// search parameter, of R4 or installed, that can be decided of a resource alone.
fn criterion(
    (service, catalog): (&FhirService, &SearchParameterCatalog),
    kind: &ResourceType,
    parameter: &QueryParameter,
) -> Result<AccessFilterCriterion, UnsupportedCriterionError> {
    let QueryParameter { name, value } = parameter;
    let own = service.settings.fhir_base_url();
    let request = SearchParseContext::strict(kind, &own, service.now_us());
    AccessFilterCriterion::parse(kind, name, value)
        .or_else(|_| GranularScopeSearch::parse(catalog, &request, (name, value)).map(AccessFilterCriterion::Search))
}

/// Refuses to list by conditions what scopes limit by a search that only the index answers: the list would miss what is
/// there, and a conditional create would make it again.
///
/// # Errors
/// [`AccessError::UnappliedQuery`].
pub(crate) fn check_listable(kind: &ResourceType, within: &AccessFilter) -> Result<(), AccessError> {
    if !within.needs_search_index() {
        return Ok(());
    }
    let cause = format!("{kind} is searched by it at the FHIR endpoint alone, and not in conditions");
    Err(AccessError::UnappliedQuery { needed: format!("{kind}.s"), cause })
}
