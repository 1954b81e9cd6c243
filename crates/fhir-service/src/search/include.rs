//! What comes with the matches of a search: what they refer to, and what refers to them.

use std::collections::{BTreeMap, BTreeSet};

use fhir_resource::{ResourceId, ResourceKey, ResourceType, StoredResource, StoredResourceText};
use fhir_search::{
    IncludeClause, IncludeReferences, IndexEntry, IndexedDocument, SearchError, SearchParameterCatalog,
    SearchParameterType, SearchRequest,
};
use fhir_store::{AccessFilter, RevincludeQuery};

use crate::access;
use crate::error::ServiceError;
use crate::request_context::RequestContext;
use crate::service_state::FhirService;

/// Most resources that come with a page.
///
/// Not specified; 1000, as many as a page has at most. What is beyond is left out.
const INCLUDED_MAX: usize = 1000;
/// How often what was included is looked at again (`:iterate`).
const ROUNDS_MAX: usize = 4;

/// Returns what comes with the matches, each once and none of the matches.
pub(crate) async fn all(
    service: &FhirService,
    context: &RequestContext,
    catalog: &SearchParameterCatalog,
    (search, matches): (&SearchRequest, &[StoredResourceText]),
) -> Result<Vec<StoredResource>, ServiceError> {
    if search.includes.is_empty() && search.revincludes.is_empty() {
        return Ok(Vec::new());
    }
    let matches: Vec<StoredResource> = matches.iter().filter_map(StoredResourceText::parse_body).collect();
    let seen = matches.iter().map(|stored| stored.key.clone()).collect();
    let mut including = Including { service, context, catalog, seen, reaches: BTreeMap::new(), found: Vec::new() };
    let mut looked_at = including.round(search, &matches, |_| true).await?;
    for _ in 1..ROUNDS_MAX {
        if looked_at.is_empty() {
            break;
        }
        looked_at = including.round(search, &looked_at, |include| include.iterate).await?;
    }
    Ok(including.found)
}

struct Including<'a> {
    service: &'a FhirService,
    context: &'a RequestContext,
    catalog: &'a SearchParameterCatalog,
    seen: BTreeSet<ResourceKey>,
    reaches: BTreeMap<ResourceType, Option<AccessFilter>>,
    found: Vec<StoredResource>,
}

impl Including<'_> {
    /// Returns what comes with these resources, and is new.
    async fn round(
        &mut self,
        search: &SearchRequest,
        of: &[StoredResource],
        counts: impl Fn(&IncludeClause) -> bool,
    ) -> Result<Vec<StoredResource>, ServiceError> {
        let mut new = Vec::new();
        for include in search.includes.iter().filter(|include| counts(include)) {
            new.extend(self.referred(include, of).await?);
        }
        for include in search.revincludes.iter().filter(|include| counts(include)) {
            new.extend(self.referring(include, of).await?);
        }
        Ok(new)
    }

    async fn referred(
        &mut self,
        include: &IncludeClause,
        of: &[StoredResource],
    ) -> Result<Vec<StoredResource>, ServiceError> {
        let mut targets: BTreeMap<ResourceType, BTreeSet<ResourceId>> = BTreeMap::new();
        let of = of
            .iter()
            .filter(|stored| include.resource_type.as_ref().is_none_or(|kind| *kind == stored.key.resource_type));
        for key in of.flat_map(|stored| self.references(include, stored)) {
            targets.entry(key.resource_type).or_default().insert(key.id);
        }
        let mut new = Vec::new();
        for (kind, ids) in targets {
            let ids: Vec<ResourceId> = ids.into_iter().take(self.room()).collect();
            let Some(within) = self.reach(&kind).await? else { continue };
            if ids.is_empty() {
                continue;
            }
            new.extend(self.keep(self.service.search.read_by_ids(&kind, &ids, &within).await??));
        }
        Ok(new)
    }

    /// Returns what a resource refers to that was not seen yet.
    fn references(&self, include: &IncludeClause, stored: &StoredResource) -> Vec<ResourceKey> {
        let kind = &stored.key.resource_type;
        let numbers: BTreeSet<i64> = match &include.by {
            IncludeReferences::Parameter(parameter) => BTreeSet::from([parameter.number]),
            IncludeReferences::All => {
                let references = self
                    .catalog
                    .parameters_of_type(kind)
                    .filter(|parameter| parameter.parameter_type == SearchParameterType::Reference);
                references.map(|parameter| parameter.number).collect()
            }
        };
        let own = self.service.settings.fhir_base_url();
        let (id, updated_us) = (stored.key.id.as_str(), stored.updated_us);
        let document = IndexedDocument { resource_type: kind, id, updated_us, body: &stored.resource, base_url: &own };
        let entries =
            self.catalog.index_entries_of(&document).into_iter().filter(|(number, _)| numbers.contains(number));
        let keys = entries.filter_map(|(_, entry)| match entry {
            IndexEntry::Reference { resource_type: kind, id } => {
                Some(ResourceKey { resource_type: kind.parse().ok()?, id: id.parse().ok()? })
            }
            _ => None,
        });
        let wanted = keys.filter(|key| include.target.as_ref().is_none_or(|target| *target == key.resource_type));
        wanted.filter(|key| !self.seen.contains(key)).collect()
    }

    async fn referring(
        &mut self,
        include: &IncludeClause,
        of: &[StoredResource],
    ) -> Result<Vec<StoredResource>, ServiceError> {
        let Some(kind) = &include.resource_type else {
            return Err(SearchError::Unsupported("_revinclude=*".to_owned()).into());
        };
        let Some(within) = self.reach(kind).await? else { return Ok(Vec::new()) };
        let by = match &include.by {
            IncludeReferences::Parameter(parameter) => Some(parameter.as_ref()),
            IncludeReferences::All => None,
        };
        let mut targets: BTreeMap<&ResourceType, Vec<ResourceId>> = BTreeMap::new();
        for stored in of {
            targets.entry(&stored.key.resource_type).or_default().push(stored.key.id.clone());
        }
        let mut new = Vec::new();
        for (to, ids) in targets {
            if include.target.as_ref().is_some_and(|target| target != to) {
                continue;
            }
            let limit = u32::try_from(self.room()).unwrap_or(u32::MAX);
            let referring = RevincludeQuery { resource_type: kind, by, to, ids: &ids };
            new.extend(self.keep(self.service.search.read_referring_resources(referring, &within, limit).await??));
        }
        Ok(new)
    }

    async fn reach(&mut self, kind: &ResourceType) -> Result<Option<AccessFilter>, ServiceError> {
        if let Some(known) = self.reaches.get(kind) {
            return Ok(known.clone());
        }
        let reach = access::searchable(self.service, self.context, kind).await?;
        self.reaches.insert(kind.clone(), reach.clone());
        Ok(reach)
    }

    fn room(&self) -> usize {
        INCLUDED_MAX.saturating_sub(self.found.len())
    }

    /// Those that are new.
    fn keep(&mut self, found: Vec<StoredResource>) -> Vec<StoredResource> {
        let room = self.room();
        let new: Vec<StoredResource> =
            found.into_iter().filter(|stored| self.seen.insert(stored.key.clone())).take(room).collect();
        self.found.extend(new.iter().cloned());
        new
    }
}
