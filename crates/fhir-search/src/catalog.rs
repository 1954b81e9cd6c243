//! Which search parameters there are.

mod base;
mod definition;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use fhir_resource::ResourceType;
use serde_json::Value;

use self::definition::Definition;
use crate::entry::{IndexEntry, IndexedDocument};
use crate::parameter::{ParameterSummary, SearchParameter};

pub use definition::{SearchParameterError, UnusableSearchParameter};

/// The least number of an installed parameter; R4's own have smaller ones.
pub const FIRST_INSTALLED: i64 = 10_000;

/// The types every resource is of.
const ROOTS: [&str; 2] = ["Resource", "DomainResource"];

/// The search parameters of every type: R4's own and the installed ones.
///
/// What a type has is read and compiled when the type is first asked for and cached from then on: a
/// deployment uses some twenty of the 133 types R4 has parameters of. A catalog does not change; when installed packages do,
/// it is replaced as a whole.
#[derive(Debug)]
pub struct SearchParameterCatalog {
    installed: Vec<Definition>,
    kinds: BTreeMap<String, OnceLock<Parameters>>,
    /// What the types have that no definition names: those of this platform.
    unnamed: OnceLock<Parameters>,
}

/// The parameters of one type, in the order of their codes.
#[derive(Debug)]
struct Parameters(Vec<Arc<SearchParameter>>);

impl SearchParameterCatalog {
    /// Returns the parameters of R4 alone.
    #[must_use]
    pub fn base() -> Arc<Self> {
        Arc::new(Self::of(Vec::new()))
    }

    /// R4's parameters and those of `SearchParameter` resources, each with the number its rows have:
    /// [`FIRST_INSTALLED`] or more, and the same for the same URL for as long as there are rows.
    ///
    /// What cannot be compiled is left out and returned with its reason. So is a parameter whose code its
    /// type has already: the first one stays, R4's before all. A URL of R4 itself is passed over, since it
    /// is here already.
    #[must_use]
    pub fn with<'a>(
        installed: impl IntoIterator<Item = (i64, &'a Value)>,
    ) -> (Arc<Self>, Vec<UnusableSearchParameter>) {
        let documents: Vec<(i64, &Value)> = installed.into_iter().collect();
        let (definitions, refused) = definition::read_all(&documents);
        (Arc::new(Self::of(definitions)), refused)
    }

    fn of(installed: Vec<Definition>) -> Self {
        let named = installed.iter().flat_map(|definition| definition.bases.iter().cloned());
        let kinds = base::kinds()
            .map(str::to_owned)
            .chain(named)
            .map(|resource_type| (resource_type, OnceLock::new()))
            .collect();
        Self { installed, kinds, unnamed: OnceLock::new() }
    }

    /// Returns the parameter a type has under a name; those of all resources (`_id`, `_tag`) every type has.
    #[must_use]
    pub fn parameter(&self, resource_type: &ResourceType, code: &str) -> Option<&Arc<SearchParameter>> {
        let parameters = &self.of_kind(resource_type).0;
        let found = parameters.binary_search_by(|parameter| parameter.code.as_str().cmp(code)).ok()?;
        parameters.get(found)
    }

    /// Returns the parameters of a type in the order of their codes.
    pub fn parameters(&self, resource_type: &ResourceType) -> impl Iterator<Item = &Arc<SearchParameter>> {
        self.of_kind(resource_type).0.iter()
    }

    /// Returns what the parameters of a type are called, in the order of their codes. Asking it of all types keeps none
    /// of their parameters in memory.
    #[must_use]
    pub fn outlines(&self, resource_type: &ResourceType) -> Vec<ParameterSummary> {
        let outlined =
            |parameters: &Parameters| parameters.0.iter().map(|parameter| parameter.as_ref().into()).collect();
        match self.kinds.get(resource_type.as_str()).and_then(OnceLock::get) {
            Some(kept) => outlined(kept),
            None => outlined(&self.compiled(resource_type.as_str())),
        }
    }

    /// Returns whether a definition names the type, so that it has more than what all resources have.
    #[must_use]
    pub fn names(&self, resource_type: &ResourceType) -> bool {
        !ROOTS.contains(&resource_type.as_str()) && self.kinds.contains_key(resource_type.as_str())
    }

    /// Returns the types that definitions name, in their order.
    pub fn kinds(&self) -> impl Iterator<Item = &str> {
        self.kinds.keys().map(String::as_str).filter(|resource_type| !ROOTS.contains(resource_type))
    }

    /// Returns the parameters of the type whose rows serve this one, where it has no rows.
    pub fn sources<'a>(
        &'a self,
        resource_type: &ResourceType,
        parameter: &'a SearchParameter,
    ) -> impl Iterator<Item = &'a Arc<SearchParameter>> {
        let sources = &parameter.sources;
        let of_kind = if sources.is_empty() { [].iter() } else { self.of_kind(resource_type).0.iter() };
        of_kind.filter(|other| sources.contains(&other.number))
    }

    /// Returns the parameters of the type that have the rows of the parts of this composite, in the order of its parts,
    /// where it has no rows.
    #[must_use]
    pub fn parts(&self, resource_type: &ResourceType, composite: &SearchParameter) -> Vec<Arc<SearchParameter>> {
        if composite.parts.is_empty() {
            return Vec::new();
        }
        let of_kind = &self.of_kind(resource_type).0;
        let found = |number: &i64| of_kind.iter().find(|other| other.number == *number).cloned();
        composite.parts.iter().filter_map(found).collect()
    }

    /// Returns what a resource puts into the index: the parameter's number and the value, each pair once, and the
    /// compartments under [`COMPARTMENT`]. What has [`sources`](Self::sources) or [`parts`](Self::parts) puts nothing
    /// there.
    ///
    /// Nothing stands for `_id` and `_lastUpdated`, which are columns. At most
    /// [`MAX_ENTRIES`](crate::limits::MAX_ENTRIES).
    #[must_use]
    pub fn entries(&self, document: &IndexedDocument<'_>) -> Vec<(i64, IndexEntry)> {
        let parameters = self.parameters(document.resource_type).filter(|parameter| parameter.has_rows());
        crate::entry::all(parameters, document)
    }

    fn of_kind(&self, resource_type: &ResourceType) -> &Parameters {
        let cell = self.kinds.get(resource_type.as_str()).unwrap_or(&self.unnamed);
        cell.get_or_init(|| self.compiled(resource_type.as_str()))
    }

    /// A definition that does not compile for the type is left out: R4's own are shown to compile by a
    /// test, installed ones by [`SearchParameterCatalog::with`].
    fn compiled(&self, resource_type: &str) -> Parameters {
        let definitions = base::of(resource_type).into_iter().chain(self.installed_of(resource_type));
        let compiled = definitions.filter_map(|definition| definition.compile(resource_type).ok().flatten());
        let mut parameters: Vec<SearchParameter> = compiled.collect();
        parameters.sort_by(|left, right| left.code.cmp(&right.code));
        parameters.dedup_by(|later, first| later.code == first.code);
        let sources = sources(&parameters);
        for (parameter, sources) in parameters.iter_mut().zip(sources) {
            parameter.sources = sources;
        }
        let parts = parts(&parameters);
        for (parameter, parts) in parameters.iter_mut().zip(parts) {
            parameter.parts = parts;
        }
        Parameters(parameters.into_iter().map(Arc::new).collect())
    }

    fn installed_of(&self, resource_type: &str) -> impl Iterator<Item = Definition> {
        self.installed.iter().filter(move |definition| definition.is_about(resource_type)).cloned()
    }
}

/// Returns the numbers of the parameters that have the rows of each, for those that need none of their own.
///
/// An installed parameter comes and goes, and its rows with it, so it has rows and is no source of another one.
fn sources(parameters: &[SearchParameter]) -> Vec<Vec<i64>> {
    let base: Vec<&SearchParameter> =
        parameters.iter().filter(|parameter| parameter.number < FIRST_INSTALLED).collect();
    let found_by: Vec<(i64, Vec<&SearchParameter>)> =
        base.iter().map(|parameter| (parameter.number, parameter.found_by(&base))).collect();
    let of = |number: i64| found_by.iter().find(|(of, _)| *of == number).map_or(&[][..], |(_, sources)| sources);
    let with_rows = |parameter: &SearchParameter| {
        let sources = of(parameter.number).iter().map(|source| source.number);
        sources.filter(|number| of(*number).is_empty()).collect()
    };
    parameters.iter().map(with_rows).collect()
}

/// Returns the numbers of the parameters that have the rows of the parts of each composite, for those that need none of
/// their own. The same ones as above have rows of their own.
fn parts(parameters: &[SearchParameter]) -> Vec<Vec<i64>> {
    let is_base = |parameter: &&SearchParameter| parameter.number < FIRST_INSTALLED && parameter.has_rows();
    let base: Vec<&SearchParameter> = parameters.iter().filter(is_base).collect();
    let of = |parameter: &SearchParameter| {
        let made_of = if is_base(&parameter) { parameter.made_of(&base) } else { Vec::new() };
        made_of.iter().map(|part| part.number).collect()
    };
    parameters.iter().map(of).collect()
}

#[cfg(test)]
mod tests;
