//! Which search parameters there are.

mod base;
mod definition;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use fhir_resource::ResourceType;
use serde_json::Value;

use self::definition::Definition;
use crate::entry::{IndexEntry, IndexedDocument};
use crate::parameter::{CompiledSearchParameter, SearchParameterSummary};

pub use definition::{SearchParameterDefinitionError, UnusableSearchParameter};

/// The lowest number of a search parameter of an installed package; R4's own parameters have lower numbers.
pub const FIRST_INSTALLED_PARAMETER_NUMBER: i64 = 10_000;

/// The types every resource is of.
const ROOTS: [&str; 2] = ["Resource", "DomainResource"];

/// The search parameters of every type: R4's own and the installed ones.
///
/// The parameters of a type are compiled when the type is first used and cached from then on: a deployment uses some
/// twenty of the 133 types that R4 has parameters of. A catalog does not change; when installed packages do, it is
/// replaced as a whole.
#[derive(Debug)]
pub struct SearchParameterCatalog {
    installed: Vec<Definition>,
    kinds: BTreeMap<String, OnceLock<Parameters>>,
    /// What the types have that no definition names: those of this platform.
    unnamed: OnceLock<Parameters>,
}

/// The parameters of one type, in the order of their codes.
#[derive(Debug)]
struct Parameters(Vec<Arc<CompiledSearchParameter>>);

impl SearchParameterCatalog {
    /// Creates a catalog of R4's own search parameters alone.
    #[must_use]
    pub fn with_r4_only() -> Arc<Self> {
        Arc::new(Self::of(Vec::new()))
    }

    /// Creates a catalog of R4's parameters and of installed `SearchParameter` resources, each with its number.
    ///
    /// A parameter that cannot be compiled is left out and returned with the reason. So is one whose code its type
    /// already has: the first one stays, R4's before all. A parameter with a URL of R4 itself is ignored, because the
    /// catalog has it already.
    #[must_use]
    pub fn with_installed<'a>(
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

    /// Returns the search parameter that a resource type has under a code, including those of every type (`_id`,
    /// `_tag`).
    #[must_use]
    pub fn find_parameter_by_code(
        &self,
        resource_type: &ResourceType,
        code: &str,
    ) -> Option<&Arc<CompiledSearchParameter>> {
        let parameters = &self.of_kind(resource_type).0;
        let found = parameters.binary_search_by(|parameter| parameter.code.as_str().cmp(code)).ok()?;
        parameters.get(found)
    }

    /// Returns the search parameters of a resource type in the order of their codes.
    pub fn parameters_of_type(
        &self,
        resource_type: &ResourceType,
    ) -> impl Iterator<Item = &Arc<CompiledSearchParameter>> {
        self.of_kind(resource_type).0.iter()
    }

    /// Returns summaries of the search parameters of a resource type in the order of their codes. Unlike
    /// [`parameters_of_type`](Self::parameters_of_type) it does not cache the compiled parameters, so that a caller may
    /// ask for every type.
    #[must_use]
    pub fn parameter_summaries_of_type(&self, resource_type: &ResourceType) -> Vec<SearchParameterSummary> {
        let outlined =
            |parameters: &Parameters| parameters.0.iter().map(|parameter| parameter.as_ref().into()).collect();
        match self.kinds.get(resource_type.as_str()).and_then(OnceLock::get) {
            Some(kept) => outlined(kept),
            None => outlined(&self.compiled(resource_type.as_str())),
        }
    }

    /// Returns whether search parameters are defined for the type itself, beyond those of every resource.
    #[must_use]
    pub fn has_type_specific_parameters(&self, resource_type: &ResourceType) -> bool {
        !ROOTS.contains(&resource_type.as_str()) && self.kinds.contains_key(resource_type.as_str())
    }

    /// Returns the resource types that have search parameters of their own, in alphabetical order.
    pub fn types_with_parameters(&self) -> impl Iterator<Item = &str> {
        self.kinds.keys().map(String::as_str).filter(|resource_type| !ROOTS.contains(resource_type))
    }

    /// Returns the parameters of the type whose index rows also answer `parameter`; none when `parameter` has index
    /// rows.
    pub fn parameters_sharing_rows<'a>(
        &'a self,
        resource_type: &ResourceType,
        parameter: &'a CompiledSearchParameter,
    ) -> impl Iterator<Item = &'a Arc<CompiledSearchParameter>> {
        let sources = &parameter.sources;
        let of_kind = if sources.is_empty() { [].iter() } else { self.of_kind(resource_type).0.iter() };
        of_kind.filter(|other| sources.contains(&other.number))
    }

    /// Returns the parameters whose index rows answer the components of `composite`, in the order of its components;
    /// none when `composite` has index rows.
    #[must_use]
    pub fn parameters_standing_in_for_composite(
        &self,
        resource_type: &ResourceType,
        composite: &CompiledSearchParameter,
    ) -> Vec<Arc<CompiledSearchParameter>> {
        if composite.parts.is_empty() {
            return Vec::new();
        }
        let of_kind = &self.of_kind(resource_type).0;
        let found = |number: &i64| of_kind.iter().find(|other| other.number == *number).cloned();
        composite.parts.iter().filter_map(found).collect()
    }

    /// Returns the index entries of a resource: parameter number and value, each pair once, at most
    /// [`MAX_INDEX_ENTRIES_PER_RESOURCE`](crate::limits::MAX_INDEX_ENTRIES_PER_RESOURCE).
    ///
    /// `_id` and `_lastUpdated` have no entries, because they are columns, nor has a parameter that the rows of others
    /// answer ([`parameters_sharing_rows`](Self::parameters_sharing_rows),
    /// [`parameters_standing_in_for_composite`](Self::parameters_standing_in_for_composite)).
    #[must_use]
    pub fn index_entries_of(&self, document: &IndexedDocument<'_>) -> Vec<(i64, IndexEntry)> {
        let parameters = self.parameters_of_type(document.resource_type).filter(|parameter| parameter.has_index_rows());
        crate::entry::all(parameters, document)
    }

    fn of_kind(&self, resource_type: &ResourceType) -> &Parameters {
        let cell = self.kinds.get(resource_type.as_str()).unwrap_or(&self.unnamed);
        cell.get_or_init(|| self.compiled(resource_type.as_str()))
    }

    /// A definition that does not compile for the type is left out: R4's own are shown to compile by a
    /// test, installed ones by [`SearchParameterCatalog::with_installed`].
    fn compiled(&self, resource_type: &str) -> Parameters {
        let definitions = base::of(resource_type).into_iter().chain(self.installed_of(resource_type));
        let compiled = definitions.filter_map(|definition| definition.compile(resource_type).ok().flatten());
        let mut parameters: Vec<CompiledSearchParameter> = compiled.collect();
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
fn sources(parameters: &[CompiledSearchParameter]) -> Vec<Vec<i64>> {
    let base: Vec<&CompiledSearchParameter> =
        parameters.iter().filter(|parameter| parameter.number < FIRST_INSTALLED_PARAMETER_NUMBER).collect();
    let found_by: Vec<(i64, Vec<&CompiledSearchParameter>)> =
        base.iter().map(|parameter| (parameter.number, parameter.found_by(&base))).collect();
    let of = |number: i64| found_by.iter().find(|(of, _)| *of == number).map_or(&[][..], |(_, sources)| sources);
    let with_rows = |parameter: &CompiledSearchParameter| {
        let sources = of(parameter.number).iter().map(|source| source.number);
        sources.filter(|number| of(*number).is_empty()).collect()
    };
    parameters.iter().map(with_rows).collect()
}

/// Returns the numbers of the parameters that have the rows of the parts of each composite, for those that need none of
/// their own. The same ones as above have rows of their own.
fn parts(parameters: &[CompiledSearchParameter]) -> Vec<Vec<i64>> {
    let is_base = |parameter: &&CompiledSearchParameter| {
        parameter.number < FIRST_INSTALLED_PARAMETER_NUMBER && parameter.has_index_rows()
    };
    let base: Vec<&CompiledSearchParameter> = parameters.iter().filter(is_base).collect();
    let of = |parameter: &CompiledSearchParameter| {
        let made_of = if is_base(&parameter) { parameter.made_of(&base) } else { Vec::new() };
        made_of.iter().map(|part| part.number).collect()
    };
    parameters.iter().map(of).collect()
}

#[cfg(test)]
mod tests;
