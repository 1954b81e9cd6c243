//! Whether a resource is what a search asks for, decided in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::clause::{Chain, Clause, Has, Search, System, Test};
use super::entry::{Document, Entry};
use super::fault::SearchFault;
use super::parameter::Parameter;
use crate::key::{ResourceKey, ResourceType};
use crate::limits;
use crate::ports::Stored;

/// Resolves references for chained searches.
pub trait Resolver {
    /// Returns the resource of this name.
    fn read(&self, key: &ResourceKey) -> Option<Stored>;

    /// All the resources of a type.
    fn all(&self, kind: &ResourceType) -> Vec<Stored>;
}

/// A condition that the resource alone cannot decide.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// A chain or `_has`, without a [`Resolver`].
    #[error("the search {0} looks at other resources")]
    Chain(String),
    /// A value set whose codes are not in the search; see [`Search::expand`].
    #[error("the codes of the value set {0} are not known")]
    ValueSet(String),
}

/// A code of a value set, with its system.
pub type Coding = (Option<String>, String);

impl Search {
    /// Returns whether the resource meets every clause. Its type is not looked at.
    ///
    /// # Errors
    /// [`Unresolved`], when the answer needs more than the resource.
    pub fn matches(&self, document: &Document<'_>, resolver: Option<&dyn Resolver>) -> Result<bool, Unresolved> {
        let matching = Matching { own: document.own, resolver };
        for clause in &self.clauses {
            if !matching.holds(clause, document)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the URLs of the value sets the search names.
    #[must_use]
    pub fn value_sets(&self) -> BTreeSet<String> {
        let mut named = BTreeSet::new();
        for clause in &self.clauses {
            visit(clause, &mut |tests| {
                named.extend(tests.iter().filter_map(|test| match test {
                    Test::In(url) => Some(url.clone()),
                    _ => None,
                }));
            });
        }
        named
    }

    /// Puts the codes of the value sets in the place of their URLs.
    ///
    /// # Errors
    /// [`SearchFault::UnknownValueSet`] for one that `codes` does not have, or that has none: a search would
    /// find nothing, or everything, for want of knowledge; [`SearchFault::TooManyTests`] when there are more codes than
    /// a search may have values.
    pub fn expand(&mut self, codes: &BTreeMap<String, Vec<Coding>>) -> Result<(), SearchFault> {
        let unknown = self.value_sets().into_iter().find(|url| codes.get(url).is_none_or(Vec::is_empty));
        if let Some(url) = unknown {
            return Err(SearchFault::UnknownValueSet(url));
        }
        for clause in &mut self.clauses {
            replace(clause, codes);
        }
        let mut tests = 0;
        self.clauses.iter().for_each(|clause| visit(clause, &mut |list| tests += list.len()));
        let fits = codes.is_empty() || tests <= limits::MAX_TESTS;
        fits.then_some(())
            .ok_or_else(|| SearchFault::TooManyTests(codes.keys().cloned().collect::<Vec<_>>().join(", ")))
    }
}

/// Every list of tests in a clause.
fn visit<'a>(clause: &'a Clause, look: &mut dyn FnMut(&'a [Test])) {
    match clause {
        Clause::Any { tests, .. } | Clause::None { tests, .. } => look(tests),
        Clause::Missing { .. } => {}
        Clause::Chain(chain) => chain.any_of.iter().for_each(|(_, clause)| visit(clause, look)),
        Clause::Has(has) => visit(&has.clause, look),
    }
}

fn replace(clause: &mut Clause, codes: &BTreeMap<String, Vec<Coding>>) {
    match clause {
        Clause::Any { tests, .. } | Clause::None { tests, .. } => {
            let named = std::mem::take(tests);
            tests.extend(named.into_iter().flat_map(|test| match test {
                Test::In(url) => codes.get(&url).into_iter().flatten().map(of_coding).collect(),
                test => vec![test],
            }));
        }
        Clause::Missing { .. } => {}
        Clause::Chain(chain) => chain.any_of.iter_mut().for_each(|(_, clause)| replace(clause, codes)),
        Clause::Has(has) => replace(&mut has.clause, codes),
    }
}

fn of_coding((system, code): &Coding) -> Test {
    let system = system.clone().map_or(System::Any, System::Is);
    Test::Token { system, code: Some(code.clone()) }
}

struct Matching<'a> {
    own: &'a str,
    resolver: Option<&'a dyn Resolver>,
}

impl Matching<'_> {
    fn holds(&self, clause: &Clause, document: &Document<'_>) -> Result<bool, Unresolved> {
        match clause {
            Clause::Any { parameter, tests } => meets(parameter, tests, document),
            Clause::None { parameter, tests } => meets(parameter, tests, document).map(|found| !found),
            Clause::Missing { parameter, missing } => {
                let mut present = false;
                parameter.each(document, &mut |_| present = true);
                Ok(present != *missing)
            }
            Clause::Chain(chain) => self.chain(chain, document),
            Clause::Has(has) => self.has(has, document),
        }
    }

    fn resolver(&self, parameter: &Parameter) -> Result<&dyn Resolver, Unresolved> {
        self.resolver.ok_or_else(|| Unresolved::Chain(parameter.code.clone()))
    }

    fn stored(&self, clause: &Clause, stored: &Stored) -> Result<bool, Unresolved> {
        let key = &stored.key;
        let document = Document {
            kind: &key.kind,
            id: key.id.as_str(),
            updated_us: stored.updated_us,
            body: &stored.resource,
            own: self.own,
        };
        self.holds(clause, &document)
    }

    fn chain(&self, chain: &Chain, document: &Document<'_>) -> Result<bool, Unresolved> {
        let resolver = self.resolver(&chain.parameter)?;
        for key in targets(&chain.parameter, document) {
            for (_, clause) in chain.any_of.iter().filter(|(kind, _)| *kind == key.kind) {
                if let Some(stored) = resolver.read(&key)
                    && self.stored(clause, &stored)?
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn has(&self, has: &Has, document: &Document<'_>) -> Result<bool, Unresolved> {
        for stored in self.resolver(&has.parameter)?.all(&has.kind) {
            let referring = Document {
                kind: &stored.key.kind,
                id: stored.key.id.as_str(),
                updated_us: stored.updated_us,
                body: &stored.resource,
                own: self.own,
            };
            let refers = targets(&has.parameter, &referring).iter().any(|key| is(key, document));
            if refers && self.holds(&has.clause, &referring)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn is(key: &ResourceKey, document: &Document<'_>) -> bool {
    key.kind == *document.kind && key.id.as_str() == document.id
}

/// Returns the resources of this server that a reference names.
fn targets(parameter: &Parameter, document: &Document<'_>) -> Vec<ResourceKey> {
    let mut keys = Vec::new();
    parameter.each(document, &mut |entry| {
        if let Entry::Reference { kind, id } = entry
            && let (Ok(kind), Ok(id)) = (kind.parse(), id.parse())
        {
            keys.push(ResourceKey { kind, id });
        }
    });
    keys
}

fn meets(parameter: &Parameter, tests: &[Test], document: &Document<'_>) -> Result<bool, Unresolved> {
    if let Some(Test::In(url)) = tests.iter().find(|test| matches!(test, Test::In(_))) {
        return Err(Unresolved::ValueSet(url.clone()));
    }
    let mut found = false;
    parameter.each(document, &mut |entry| found = found || tests.iter().any(|test| test.holds(&entry)));
    Ok(found)
}

#[cfg(test)]
mod tests;
