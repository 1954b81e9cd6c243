//! The identifier that `$member-match` answers with: by it a search finds the member, and no other Patient.

use std::collections::BTreeMap;

use fhir_store::payer::member_identifier::{MemberIdentifier, candidates, with_identifier};
use fhir_store::search::{self, SearchContext};
use fhir_store::{
    AccessFilter, IfMatch, MatchCounting, ResourceKey, ResourceLookup, SearchQuery, Write, WriteError, WriteOperation,
};

use crate::error::ApiError;
use crate::payer::PayerError;
use crate::state::App;

/// How often an identifier is made again for a Patient that was written in the meantime.
const ATTEMPTS: usize = 4;

/// Returns the identifier of a patient. One that has none of its own is given one, once, which stays with the Patient.
///
/// # Errors
/// When the store fails, or the Patient goes away.
pub(crate) async fn of(app: &App, patient: &str) -> Result<MemberIdentifier, ApiError> {
    let key: ResourceKey = format!("Patient/{patient}").parse().map_err(|_| PayerError::NoMatch)?;
    for _ in 0..ATTEMPTS {
        let ResourceLookup::Found(stored) = app.resources.read(&key).await? else {
            return Err(PayerError::NoMatch.into());
        };
        for candidate in candidates(&stored.resource) {
            if finds_only(app, &candidate, &key).await? {
                return Ok(candidate);
            }
        }
        let made = made(app);
        let mut write = Write::to(key.clone(), WriteOperation::Put(with_identifier(stored.resource, &made)));
        write.precondition.if_match = Some(IfMatch::Version(stored.version));
        match app.resources.transact(vec![write], app.now_us()).await? {
            Ok(_) => return Ok(made),
            Err(refusal) if matches!(refusal.cause, WriteError::VersionMismatch { .. }) => {}
            Err(refusal) => return Err(ApiError::Refused { cause: refusal.cause, entry: None }),
        }
    }
    Err(ApiError::Unsettled)
}

/// Returns whether a search by the value alone, without the system, finds this Patient and no other.
async fn finds_only(app: &App, identifier: &MemberIdentifier, key: &ResourceKey) -> Result<bool, ApiError> {
    let (catalog, own) = (app.search.known_catalog().await?, app.settings.fhir_base());
    let pairs = [("identifier", identifier.value.as_str())];
    let (search, _) = search::parse(&catalog, &SearchContext::strict(&key.kind, &own, app.now_us()), pairs)?;
    let query = SearchQuery {
        search,
        filters: Vec::new(),
        within: AccessFilter::Everything,
        reaches: BTreeMap::new(),
        count: 2,
        counting: MatchCounting::No,
    };
    let found = app.search.search(&query).await??;
    Ok(matches!(found.entries.as_slice(), [only] if only.key == *key))
}

fn made(app: &App) -> MemberIdentifier {
    let number = u128::from_be_bytes(app.env().bytes());
    MemberIdentifier { system: format!("{}/sid/member", app.settings.base_url), value: format!("{number:032x}") }
}
