//! Whether a resource is what a search asks for, decided in memory.

use std::collections::{BTreeMap, BTreeSet};

use fhir_resource::{ResourceKey, ResourceType, StoredResource};

use crate::clause::{
    ChainedClause, CodeSystemMatch, IndexEntryPredicate, ReverseChainedClause, SearchClause, SearchRequest,
};
use crate::entry::{IndexEntry, IndexedDocument};
use crate::error::SearchError;
use crate::limits;
use crate::parameter::CompiledSearchParameter;

/// Access to other resources, which chained searches need.
pub trait ReferenceResolver {
    /// Returns the resource under this key, if it exists.
    fn find_resource(&self, key: &ResourceKey) -> Option<StoredResource>;

    /// Returns all resources of a type.
    fn resources_of_type(&self, resource_type: &ResourceType) -> Vec<StoredResource>;
}

/// The error of a search condition that cannot be decided from the resource alone, because it needs other resources or
/// a value set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UndecidableConditionError {
    /// A chain or `_has`, without a [`ReferenceResolver`].
    #[error("the search {0} looks at other resources")]
    Chain(String),
    /// A value set whose codes are not in the search; see [`SearchRequest::expand_value_sets`].
    #[error("the codes of the value set {0} are not known")]
    ValueSet(String),
}

/// A code of a value set, with its system.
pub type ValueSetCoding = (Option<String>, String);

impl SearchRequest {
    /// Returns whether the resource meets every clause. The type of the resource is not compared.
    ///
    /// # Errors
    /// [`UndecidableConditionError`], when the answer needs more than the resource.
    pub fn matches(
        &self,
        document: &IndexedDocument<'_>,
        resolver: Option<&dyn ReferenceResolver>,
    ) -> Result<bool, UndecidableConditionError> {
        let matching = Matching { base_url: document.base_url, resolver };
        for clause in &self.clauses {
            if !matching.holds(clause, document)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the URLs of the value sets that the search names (`:in`, `:not-in`).
    #[must_use]
    pub fn value_set_urls(&self) -> BTreeSet<String> {
        let mut named = BTreeSet::new();
        for clause in &self.clauses {
            visit(clause, &mut |tests| {
                named.extend(tests.iter().filter_map(|test| match test {
                    IndexEntryPredicate::In(url) => Some(url.clone()),
                    _ => None,
                }));
            });
        }
        named
    }

    /// Replaces the value set URLs of the search by the codes of the value sets.
    ///
    /// # Errors
    /// [`SearchError::UnknownValueSet`] for one that `codes` does not have, or that has none: a search would
    /// find nothing, or everything, for want of knowledge; [`SearchError::TooManyTests`] when there are more codes than
    /// a search may have values.
    pub fn expand_value_sets(&mut self, codes: &BTreeMap<String, Vec<ValueSetCoding>>) -> Result<(), SearchError> {
        let unknown = self.value_set_urls().into_iter().find(|url| codes.get(url).is_none_or(Vec::is_empty));
        if let Some(url) = unknown {
            return Err(SearchError::UnknownValueSet(url));
        }
        for clause in &mut self.clauses {
            replace(clause, codes);
        }
        let mut tests = 0;
        self.clauses.iter().for_each(|clause| visit(clause, &mut |list| tests += list.len()));
        let fits = codes.is_empty() || tests <= limits::MAX_SEARCH_CONDITIONS;
        fits.then_some(())
            .ok_or_else(|| SearchError::TooManyTests(codes.keys().cloned().collect::<Vec<_>>().join(", ")))
    }
}

/// Every list of tests in a clause.
fn visit<'a>(clause: &'a SearchClause, look: &mut dyn FnMut(&'a [IndexEntryPredicate])) {
    match clause {
        SearchClause::Any { tests, .. } | SearchClause::None { tests, .. } => look(tests),
        SearchClause::Missing { .. } => {}
        SearchClause::Chain(chain) => chain.any_of.iter().for_each(|(_, clause)| visit(clause, look)),
        SearchClause::Has(has) => visit(&has.clause, look),
    }
}

fn replace(clause: &mut SearchClause, codes: &BTreeMap<String, Vec<ValueSetCoding>>) {
    match clause {
        SearchClause::Any { tests, .. } | SearchClause::None { tests, .. } => {
            let named = std::mem::take(tests);
            tests.extend(named.into_iter().flat_map(|test| match test {
                IndexEntryPredicate::In(url) => codes.get(&url).into_iter().flatten().map(of_coding).collect(),
                test => vec![test],
            }));
        }
        SearchClause::Missing { .. } => {}
        SearchClause::Chain(chain) => chain.any_of.iter_mut().for_each(|(_, clause)| replace(clause, codes)),
        SearchClause::Has(has) => replace(&mut has.clause, codes),
    }
}

fn of_coding((system, code): &ValueSetCoding) -> IndexEntryPredicate {
    let system = system.clone().map_or(CodeSystemMatch::Any, CodeSystemMatch::Is);
    IndexEntryPredicate::Token { system, code: Some(code.clone()) }
}

struct Matching<'a> {
    base_url: &'a str,
    resolver: Option<&'a dyn ReferenceResolver>,
}

impl Matching<'_> {
    fn holds(&self, clause: &SearchClause, document: &IndexedDocument<'_>) -> Result<bool, UndecidableConditionError> {
        match clause {
            SearchClause::Any { parameter, tests } => meets(parameter, tests, document),
            SearchClause::None { parameter, tests } => meets(parameter, tests, document).map(|found| !found),
            SearchClause::Missing { parameter, missing } => {
                let mut present = false;
                parameter.each(document, &mut |_| present = true);
                Ok(present != *missing)
            }
            SearchClause::Chain(chain) => self.chain(chain, document),
            SearchClause::Has(has) => self.has(has, document),
        }
    }

    fn resolver(
        &self,
        parameter: &CompiledSearchParameter,
    ) -> Result<&dyn ReferenceResolver, UndecidableConditionError> {
        self.resolver.ok_or_else(|| UndecidableConditionError::Chain(parameter.code.clone()))
    }

    fn stored(&self, clause: &SearchClause, stored: &StoredResource) -> Result<bool, UndecidableConditionError> {
        let key = &stored.key;
        let document = IndexedDocument {
            resource_type: &key.resource_type,
            id: key.id.as_str(),
            updated_us: stored.updated_us,
            body: &stored.resource,
            base_url: self.base_url,
        };
        self.holds(clause, &document)
    }

    fn chain(&self, chain: &ChainedClause, document: &IndexedDocument<'_>) -> Result<bool, UndecidableConditionError> {
        let resolver = self.resolver(&chain.parameter)?;
        for key in targets(&chain.parameter, document) {
            for (_, clause) in chain.any_of.iter().filter(|(resource_type, _)| *resource_type == key.resource_type) {
                if let Some(stored) = resolver.find_resource(&key)
                    && self.stored(clause, &stored)?
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn has(
        &self,
        has: &ReverseChainedClause,
        document: &IndexedDocument<'_>,
    ) -> Result<bool, UndecidableConditionError> {
        for stored in self.resolver(&has.parameter)?.resources_of_type(&has.resource_type) {
            let referring = IndexedDocument {
                resource_type: &stored.key.resource_type,
                id: stored.key.id.as_str(),
                updated_us: stored.updated_us,
                body: &stored.resource,
                base_url: self.base_url,
            };
            let refers = targets(&has.parameter, &referring).iter().any(|key| is(key, document));
            if refers && self.holds(&has.clause, &referring)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn is(key: &ResourceKey, document: &IndexedDocument<'_>) -> bool {
    key.resource_type == *document.resource_type && key.id.as_str() == document.id
}

/// Returns the resources of this server that a reference names.
fn targets(parameter: &CompiledSearchParameter, document: &IndexedDocument<'_>) -> Vec<ResourceKey> {
    let mut keys = Vec::new();
    parameter.each(document, &mut |entry| {
        if let IndexEntry::Reference { resource_type, id } = entry
            && let (Ok(resource_type), Ok(id)) = (resource_type.parse(), id.parse())
        {
            keys.push(ResourceKey { resource_type, id });
        }
    });
    keys
}

fn meets(
    parameter: &CompiledSearchParameter,
    tests: &[IndexEntryPredicate],
    document: &IndexedDocument<'_>,
) -> Result<bool, UndecidableConditionError> {
    if let Some(IndexEntryPredicate::In(url)) = tests.iter().find(|test| matches!(test, IndexEntryPredicate::In(_))) {
        return Err(UndecidableConditionError::ValueSet(url.clone()));
    }
    let mut found = false;
    parameter.each(document, &mut |entry| found = found || tests.iter().any(|test| test.matches_entry(&entry)));
    Ok(found)
}

#[cfg(test)]
mod tests;
