//! The left side of a search parameter: its code, a modifier, a chain.

use std::cell::Cell;
use std::sync::Arc;

use super::value::Values;
use super::{Request, SearchFault};
use crate::key::ResourceType;
use crate::limits;
use crate::search::catalog::Catalog;
use crate::search::clause::{Chain, Clause, Has};
use crate::search::escape::split;
use crate::search::parameter::{Kind, Parameter};

/// What a reverse chain begins with.
const HAS: &str = "_has:";

/// Parameters of R4 that are about the whole server or need what there is none of here.
const UNSUPPORTED: [&str; 9] =
    ["_content", "_text", "_filter", "_list", "_query", "_type", "near", "_contained", "_containedType"];

/// One parameter of a query on its way to a clause.
pub(super) struct Reader<'a> {
    pub(super) catalog: &'a Catalog,
    pub(super) request: &'a Request<'a>,
    /// As it stands in the query.
    pub(super) name: &'a str,
    pub(super) value: &'a str,
    /// How many conditions the search has by now, with those of the parameters before this one.
    pub(super) tests: &'a Cell<usize>,
}

impl Reader<'_> {
    /// Returns the clause that `name`, the rest of the parameter's name, says about `kind`.
    pub(super) fn clause(&self, kind: &ResourceType, name: &str, depth: usize) -> Result<Clause, SearchFault> {
        if depth > limits::MAX_CHAIN {
            return Err(SearchFault::LongChain(self.name.to_owned()));
        }
        if let Some(reverse) = name.strip_prefix(HAS) {
            return self.reverse(reverse, depth);
        }
        if let Some((head, rest)) = name.split_once('.') {
            return self.chain(kind, (head, rest), depth);
        }
        let (code, modifier) = split_modifier(name);
        let parameter = self.parameter(kind, code)?;
        self.count_tests()?;
        let values = Values { request: self.request, kind, name: self.name, parameter: &parameter };
        match modifier {
            Some("missing") => self.missing(parameter),
            Some(modifier) => values.modified(modifier, self.value),
            None => Ok(Clause::Any { tests: values.plain(self.value)?, parameter }),
        }
    }

    /// Counts the values once more.
    fn count_tests(&self) -> Result<(), SearchFault> {
        self.tests.set(self.tests.get() + split(self.value, ',').len());
        let fits = self.tests.get() <= limits::MAX_TESTS;
        fits.then_some(()).ok_or_else(|| SearchFault::TooManyTests(self.name.to_owned()))
    }

    fn missing(&self, parameter: Arc<Parameter>) -> Result<Clause, SearchFault> {
        match self.value {
            "true" => Ok(Clause::Missing { parameter, missing: true }),
            "false" => Ok(Clause::Missing { parameter, missing: false }),
            other => Err(SearchFault::Value {
                name: self.name.to_owned(),
                value: other.to_owned(),
                expected: "true or false",
            }),
        }
    }

    fn parameter(&self, kind: &ResourceType, code: &str) -> Result<Arc<Parameter>, SearchFault> {
        match self.catalog.parameter(kind, code) {
            Some(parameter) => Ok(Arc::clone(parameter)),
            None if UNSUPPORTED.contains(&code) => Err(SearchFault::Unsupported(self.name.to_owned())),
            None => Err(self.unknown(kind)),
        }
    }

    fn unknown(&self, kind: &ResourceType) -> SearchFault {
        SearchFault::UnknownParameter { kind: kind.to_string(), name: self.name.to_owned() }
    }

    /// `subject:Patient.name`.
    fn chain(&self, kind: &ResourceType, (head, rest): (&str, &str), depth: usize) -> Result<Clause, SearchFault> {
        let (code, target) = split_modifier(head);
        let parameter = self.reference(kind, code)?;
        let targets = match target {
            Some(name) => vec![self.kind(name)?],
            None if parameter.targets.is_empty() => return Err(self.untold()),
            None => parameter.targets.clone(),
        };
        let only = targets.len() == 1;
        let mut any_of = Vec::new();
        for target in targets {
            match self.clause(&target, rest, depth + 1) {
                Ok(clause) => any_of.push((target, clause)),
                // Of several types those count that have the parameter.
                Err(SearchFault::UnknownParameter { .. }) if !only => {}
                Err(fault) => return Err(fault),
            }
        }
        match any_of.len() {
            0 => Err(self.unknown(kind)),
            1..=limits::MAX_CHAIN_TYPES => Ok(Clause::Chain(Chain { parameter, any_of })),
            _ => Err(SearchFault::TooManyTypes(self.name.to_owned())),
        }
    }

    /// `Observation:patient:code`, behind `_has:`.
    fn reverse(&self, name: &str, depth: usize) -> Result<Clause, SearchFault> {
        let mut parts = name.splitn(3, ':');
        let (Some(kind), Some(code), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(self.malformed("_has:Observation:patient:code"));
        };
        let kind = self.kind(kind)?;
        let parameter = self.reference(&kind, code)?;
        let clause = Box::new(self.clause(&kind, rest, depth + 1)?);
        Ok(Clause::Has(Has { kind, parameter, clause }))
    }

    fn reference(&self, kind: &ResourceType, code: &str) -> Result<Arc<Parameter>, SearchFault> {
        let parameter = self.parameter(kind, code)?;
        match parameter.kind {
            Kind::Reference => Ok(parameter),
            _ => Err(SearchFault::NotAReference(code.to_owned())),
        }
    }

    fn kind(&self, name: &str) -> Result<ResourceType, SearchFault> {
        name.parse().map_err(|_| self.malformed("a resource type, such as Patient, behind the colon"))
    }

    fn untold(&self) -> SearchFault {
        self.malformed("the type of what is referred to, as in subject:Patient.name")
    }

    fn malformed(&self, expected: &'static str) -> SearchFault {
        SearchFault::Name { name: self.name.to_owned(), expected }
    }
}

fn split_modifier(name: &str) -> (&str, Option<&str>) {
    name.split_once(':').map_or((name, None), |(code, modifier)| (code, Some(modifier)))
}
