//! The identifier that `$member-match` answers with: by it a search finds the member, and no other Patient.

use std::collections::BTreeMap;

use fhir_resource::ResourceKey;
use fhir_search::SearchParseContext;
use fhir_store::{
    AccessFilter, IfMatch, MatchCountMode, ResourceLookup, ResourceWrite, SearchQuery, WriteError, WriteOperation,
};
use payer_exchange::member_identifier::{MemberIdentifier, candidate_member_identifiers, with_member_identifier};

use crate::error::PayerOperationError;
use crate::error::ServiceError;
use crate::service_state::FhirService;

/// How often an identifier is made again for a Patient that was written in the meantime.
const ATTEMPTS: usize = 4;

/// Returns the identifier of a patient. A patient without one is given one, once, which stays with the Patient.
///
/// # Errors
/// When the store fails, or the Patient goes away.
pub(crate) async fn of(service: &FhirService, patient: &str) -> Result<MemberIdentifier, ServiceError> {
    let key: ResourceKey = format!("Patient/{patient}").parse().map_err(|_| PayerOperationError::NoMatch)?;
    for _ in 0..ATTEMPTS {
        let ResourceLookup::Found(stored) = service.resources.read(&key).await? else {
            return Err(PayerOperationError::NoMatch.into());
        };
        for candidate in candidate_member_identifiers(&stored.resource) {
            if finds_only(service, &candidate, &key).await? {
                return Ok(candidate);
            }
        }
        let made = made(service);
        let mut write = ResourceWrite::unconditional(
            key.clone(),
            WriteOperation::Put(with_member_identifier(stored.resource, &made)),
        );
        write.precondition.if_match = Some(IfMatch::Version(stored.version));
        match service.resources.transact_writes(vec![write], service.now_us()).await? {
            Ok(_) => return Ok(made),
            Err(refusal) if matches!(refusal.cause, WriteError::VersionMismatch { .. }) => {}
            Err(refusal) => return Err(ServiceError::Refused { cause: refusal.cause, entry: None }),
        }
    }
    Err(ServiceError::Unsettled)
}

/// Returns whether a search by the value alone, without the system, finds this Patient and no other.
async fn finds_only(
    service: &FhirService,
    identifier: &MemberIdentifier,
    key: &ResourceKey,
) -> Result<bool, ServiceError> {
    let (catalog, own) = (service.search.cached_search_parameter_catalog().await?, service.settings.fhir_base_url());
    let pairs = [("identifier", identifier.value.as_str())];
    let (search, _) = fhir_search::parse_search(
        &catalog,
        &SearchParseContext::strict(&key.resource_type, &own, service.now_us()),
        pairs,
    )?;
    let query = SearchQuery {
        search,
        filters: Vec::new(),
        within: AccessFilter::Everything,
        reaches: BTreeMap::new(),
        count: 2,
        counting: MatchCountMode::No,
    };
    let found = service.search.search(&query).await??;
    Ok(matches!(found.entries.as_slice(), [only] if only.key == *key))
}

fn made(service: &FhirService) -> MemberIdentifier {
    let number = u128::from_be_bytes(service.env().random_bytes());
    MemberIdentifier { system: format!("{}/sid/member", service.settings.base_url), value: format!("{number:032x}") }
}
