//! The identifier that `$member-match` answers with: by it a search finds the member, and no other Patient.

use std::collections::BTreeMap;

use fhir_store::payer::member_identifier::{MemberIdentifier, candidates, with_identifier};
use fhir_store::search::{self, Request};
use fhir_store::{Counting, IfMatch, Lookup, Operation, ResourceKey, SearchQuery, Selection, Write, WriteFault};

use crate::error::Fault;
use crate::payer::PayerFault;
use crate::state::App;

/// How often an identifier is made again for a Patient that was written in the meantime.
const ATTEMPTS: usize = 4;

/// Returns the identifier of a patient. One that has none of its own is given one, once, which stays with the Patient.
///
/// # Errors
/// When the store fails, or the Patient goes away.
pub(crate) async fn of(app: &App, patient: &str) -> Result<MemberIdentifier, Fault> {
    let key: ResourceKey = format!("Patient/{patient}").parse().map_err(|_| PayerFault::NoMatch)?;
    for _ in 0..ATTEMPTS {
        let Lookup::Found(stored) = app.resources.read(&key).await? else {
            return Err(PayerFault::NoMatch.into());
        };
        for candidate in candidates(&stored.resource) {
            if finds_only(app, &candidate, &key).await? {
                return Ok(candidate);
            }
        }
        let made = made(app);
        let mut write = Write::to(key.clone(), Operation::Put(with_identifier(stored.resource, &made)));
        write.precondition.if_match = Some(IfMatch::Version(stored.version));
        match app.resources.transact(vec![write], app.now_us()).await? {
            Ok(_) => return Ok(made),
            Err(refusal) if matches!(refusal.cause, WriteFault::VersionMismatch { .. }) => {}
            Err(refusal) => return Err(Fault::Refused { cause: refusal.cause, entry: None }),
        }
    }
    Err(Fault::Unsettled)
}

/// Returns whether a search by the value alone, without the system, finds this Patient and no other.
async fn finds_only(app: &App, identifier: &MemberIdentifier, key: &ResourceKey) -> Result<bool, Fault> {
    let (catalog, own) = (app.search.known_catalog().await?, app.settings.fhir_base());
    let pairs = [("identifier", identifier.value.as_str())];
    let (search, _) = search::parse(&catalog, &Request::strict(&key.kind, &own, app.now_us()), pairs)?;
    let query = SearchQuery {
        search,
        filters: Vec::new(),
        within: Selection::Everything,
        reaches: BTreeMap::new(),
        count: 2,
        counting: Counting::No,
    };
    let found = app.search.search(&query).await??;
    Ok(matches!(found.entries.as_slice(), [only] if only.key == *key))
}

fn made(app: &App) -> MemberIdentifier {
    let number = u128::from_be_bytes(app.env().bytes());
    MemberIdentifier { system: format!("{}/sid/member", app.settings.base_url), value: format!("{number:032x}") }
}
