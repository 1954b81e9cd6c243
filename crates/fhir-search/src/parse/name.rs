//! The left side of a search parameter: its code, a modifier, a chain.

use std::cell::Cell;
use std::sync::Arc;

use fhir_resource::ResourceType;

use super::value::Values;
use super::{SearchError, SearchParseContext};
use crate::catalog::SearchParameterCatalog;
use crate::clause::{ChainedClause, ReverseChainedClause, SearchClause};
use crate::limits;
use crate::parameter::{CompiledSearchParameter, SearchParameterType};
use crate::search_value_escaping::split_at_unescaped_separator;

/// What a reverse chain begins with.
const HAS: &str = "_has:";

/// Parameters of R4 that are about the whole server or need what there is none of here.
const UNSUPPORTED: [&str; 9] =
    ["_content", "_text", "_filter", "_list", "_query", "_type", "near", "_contained", "_containedType"];

/// One parameter of a query on its way to a clause.
pub(super) struct Reader<'a> {
    pub(super) catalog: &'a SearchParameterCatalog,
    pub(super) request: &'a SearchParseContext<'a>,
    /// As it stands in the query.
    pub(super) name: &'a str,
    pub(super) value: &'a str,
    /// How many conditions the search has by now, with those of the parameters before this one.
    pub(super) tests: &'a Cell<usize>,
}

impl Reader<'_> {
    /// Returns the clause that `name`, the rest of the parameter's name, says about `resource_type`.
    pub(super) fn clause(
        &self,
        resource_type: &ResourceType,
        name: &str,
        depth: usize,
    ) -> Result<SearchClause, SearchError> {
        if depth > limits::MAX_CHAIN_REFERENCES {
            return Err(SearchError::LongChain(self.name.to_owned()));
        }
        if let Some(reverse) = name.strip_prefix(HAS) {
            return self.reverse(reverse, depth);
        }
        if let Some((head, rest)) = name.split_once('.') {
            return self.chain(resource_type, (head, rest), depth);
        }
        let (code, modifier) = split_modifier(name);
        let parameter = self.parameter(resource_type, code)?;
        self.count_tests()?;
        let values = Values { request: self.request, resource_type, name: self.name, parameter: &parameter };
        match modifier {
            Some("missing") => self.missing(parameter),
            Some(modifier) => values.modified(modifier, self.value),
            None => Ok(SearchClause::Any { tests: values.plain(self.value)?, parameter }),
        }
    }

    /// Counts the values once more.
    fn count_tests(&self) -> Result<(), SearchError> {
        self.tests.set(self.tests.get() + split_at_unescaped_separator(self.value, ',').len());
        let fits = self.tests.get() <= limits::MAX_SEARCH_CONDITIONS;
        fits.then_some(()).ok_or_else(|| SearchError::TooManyTests(self.name.to_owned()))
    }

    fn missing(&self, parameter: Arc<CompiledSearchParameter>) -> Result<SearchClause, SearchError> {
        match self.value {
            "true" => Ok(SearchClause::Missing { parameter, missing: true }),
            "false" => Ok(SearchClause::Missing { parameter, missing: false }),
            other => Err(SearchError::Value {
                name: self.name.to_owned(),
                value: other.to_owned(),
                expected: "true or false",
            }),
        }
    }

    fn parameter(&self, resource_type: &ResourceType, code: &str) -> Result<Arc<CompiledSearchParameter>, SearchError> {
        match self.catalog.find_parameter_by_code(resource_type, code) {
            Some(parameter) => Ok(Arc::clone(parameter)),
            None if UNSUPPORTED.contains(&code) => Err(SearchError::Unsupported(self.name.to_owned())),
            None => Err(self.unknown(resource_type)),
        }
    }

    fn unknown(&self, resource_type: &ResourceType) -> SearchError {
        SearchError::UnknownParameter { resource_type: resource_type.to_string(), name: self.name.to_owned() }
    }

    /// `subject:Patient.name`.
    fn chain(
        &self,
        resource_type: &ResourceType,
        (head, rest): (&str, &str),
        depth: usize,
    ) -> Result<SearchClause, SearchError> {
        let (code, target) = split_modifier(head);
        let parameter = self.reference(resource_type, code)?;
        let targets = match target {
            Some(name) => vec![self.resource_type(name)?],
            None if parameter.targets.is_empty() => return Err(self.untold()),
            None => parameter.targets.clone(),
        };
        let only = targets.len() == 1;
        let mut any_of = Vec::new();
        for target in targets {
            match self.clause(&target, rest, depth + 1) {
                Ok(clause) => any_of.push((target, clause)),
                // Of several types those count that have the parameter.
                Err(SearchError::UnknownParameter { .. }) if !only => {}
                Err(fault) => return Err(fault),
            }
        }
        match any_of.len() {
            0 => Err(self.unknown(resource_type)),
            1..=limits::MAX_CHAIN_TARGET_TYPES => Ok(SearchClause::Chain(ChainedClause { parameter, any_of })),
            _ => Err(SearchError::TooManyTypes(self.name.to_owned())),
        }
    }

    /// `Observation:patient:code`, behind `_has:`.
    fn reverse(&self, name: &str, depth: usize) -> Result<SearchClause, SearchError> {
        let mut parts = name.splitn(3, ':');
        let (Some(resource_type), Some(code), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(self.malformed("_has:Observation:patient:code"));
        };
        let resource_type = self.resource_type(resource_type)?;
        let parameter = self.reference(&resource_type, code)?;
        let clause = Box::new(self.clause(&resource_type, rest, depth + 1)?);
        Ok(SearchClause::Has(ReverseChainedClause { resource_type, parameter, clause }))
    }

    fn reference(&self, resource_type: &ResourceType, code: &str) -> Result<Arc<CompiledSearchParameter>, SearchError> {
        let parameter = self.parameter(resource_type, code)?;
        match parameter.parameter_type {
            SearchParameterType::Reference => Ok(parameter),
            _ => Err(SearchError::NotAReference(code.to_owned())),
        }
    }

    fn resource_type(&self, name: &str) -> Result<ResourceType, SearchError> {
        name.parse().map_err(|_| self.malformed("a resource type, such as Patient, behind the colon"))
    }

    fn untold(&self) -> SearchError {
        self.malformed("the type of what is referred to, as in subject:Patient.name")
    }

    fn malformed(&self, expected: &'static str) -> SearchError {
        SearchError::Name { name: self.name.to_owned(), expected }
    }
}

fn split_modifier(name: &str) -> (&str, Option<&str>) {
    name.split_once(':').map_or((name, None), |(code, modifier)| (code, Some(modifier)))
}
