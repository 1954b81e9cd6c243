//! The right side of a search parameter: its values.

use std::sync::Arc;

use fhir_resource::reference::is_absolute_reference;
use fhir_resource::{ResourceId, ResourceType};

use super::result::shown;
use super::{SearchError, SearchParseContext};
use crate::clause::{
    CodeSystemMatch, IndexEntryPredicate, QuantityUnitMatch, SearchClause, StringMatchMode, UriMatchMode,
};
use crate::date;
use crate::decimal::Decimal;
use crate::fold::fold_case_and_accents;
use crate::implied;
use crate::limits;
use crate::parameter::{CompiledSearchParameter, SearchParameterType};
use crate::range::{ComparisonPrefix, RangeComparison};
use crate::search_value_escaping::{split_at_unescaped_separator, unescape};
use crate::target::Target;

const NUMBER: &str = "a number, with a prefix such as gt or without";
const QUANTITY: &str = "a number, number|system|code or number||code, with a prefix such as gt or without";
const DATE: &str = "a date or a time such as 2013-01-14 or 2013-01-14T10:00:00Z, with a prefix such as gt or without";
const TOKEN: &str = "code, system|code, |code or system|";
const OF_TYPE: &str = "the system and the code of the type of an identifier, and its value: system|code|value";
const REFERENCE: &str = "an id, Type/id or an absolute URL; versions are not compared";
const COMPOSITE: &str = "one value for each part, with dollar signs between them";
const EMPTY: &str = "something has to stand beside each comma";

/// The values of one parameter on their way to tests.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) request: &'a SearchParseContext<'a>,
    /// The type the parameter is of: in a chain another one than is searched.
    pub(super) resource_type: &'a ResourceType,
    /// The parameter's name as it stands in the query.
    pub(super) name: &'a str,
    pub(super) parameter: &'a Arc<CompiledSearchParameter>,
}

impl Values<'_> {
    /// Returns the tests of a parameter without a modifier.
    pub(super) fn plain(&self, value: &str) -> Result<Vec<IndexEntryPredicate>, SearchError> {
        self.each(value, |text| self.test(self.parameter.parameter_type, text))
    }

    /// Returns the clause of a parameter with a modifier.
    pub(super) fn modified(&self, modifier: &str, value: &str) -> Result<SearchClause, SearchError> {
        let any = |tests| SearchClause::Any { parameter: Arc::clone(self.parameter), tests };
        let none = |tests| SearchClause::None { parameter: Arc::clone(self.parameter), tests };
        let all = |read: &dyn Fn(&str) -> Result<IndexEntryPredicate, SearchError>| self.each(value, read);
        match (self.parameter.parameter_type, modifier) {
            (SearchParameterType::Token, "not") => self.plain(value).map(none),
            (SearchParameterType::Token, "not-in") => {
                all(&|text| Ok(IndexEntryPredicate::In(unescape(text)))).map(none)
            }
            (SearchParameterType::Token, "in") => all(&|text| Ok(IndexEntryPredicate::In(unescape(text)))).map(any),
            (SearchParameterType::Token, "text") => {
                all(&|text| self.words(text).map(IndexEntryPredicate::Display)).map(any)
            }
            (SearchParameterType::Token, "of-type") => all(&|text| self.of_type(text)).map(any),
            (SearchParameterType::String, "exact") => {
                all(&|text| Ok(IndexEntryPredicate::Text { how: StringMatchMode::Exact, text: unescape(text) }))
                    .map(any)
            }
            (SearchParameterType::String, "contains") => {
                all(&|text| Ok(IndexEntryPredicate::Text { how: StringMatchMode::Contains, text: self.words(text)? }))
                    .map(any)
            }
            (SearchParameterType::Uri, "below") => all(&|text| Ok(uri(UriMatchMode::Below, text))).map(any),
            (SearchParameterType::Uri, "above") => all(&|text| Ok(uri(UriMatchMode::Above, text))).map(any),
            (SearchParameterType::Reference, "identifier") => all(&|text| self.token(text)).map(any),
            (SearchParameterType::Reference, resource_type) => match resource_type.parse() {
                Ok(resource_type) => all(&|text| self.typed(&resource_type, text)).map(any),
                Err(_) => Err(self.unknown(modifier)),
            },
            _ => Err(self.unknown(modifier)),
        }
    }

    fn unknown(&self, modifier: &str) -> SearchError {
        let parameter_type = self.parameter.parameter_type;
        let supported = parameter_type.supported_modifiers().iter().chain(&["missing"]).map(|name| format!(":{name}"));
        SearchError::Modifier {
            code: self.parameter.code.clone(),
            parameter_type: parameter_type.as_str(),
            modifier: shown(modifier),
            supported: supported.collect::<Vec<_>>().join(", "),
        }
    }

    fn fault(&self, value: &str, expected: &'static str) -> SearchError {
        SearchError::Value { name: shown(self.name), value: shown(value), expected }
    }

    fn each(
        &self,
        value: &str,
        read: impl Fn(&str) -> Result<IndexEntryPredicate, SearchError>,
    ) -> Result<Vec<IndexEntryPredicate>, SearchError> {
        let parts = split_at_unescaped_separator(value, ',');
        if parts.len() > limits::MAX_VALUES_PER_PARAMETER {
            return Err(SearchError::TooManyValues(shown(self.name)));
        }
        let checked = parts.into_iter().map(|part| match part.len() {
            0 => Err(self.fault(value, EMPTY)),
            1..=limits::MAX_SEARCH_VALUE_BYTES => read(part),
            _ => Err(SearchError::LongValue(shown(self.name))),
        });
        checked.collect()
    }

    fn test(&self, parameter_type: SearchParameterType, text: &str) -> Result<IndexEntryPredicate, SearchError> {
        match parameter_type {
            SearchParameterType::Number => self.number(text, NUMBER).map(IndexEntryPredicate::Number),
            SearchParameterType::Date => self.date(text),
            SearchParameterType::String => {
                Ok(IndexEntryPredicate::Text { how: StringMatchMode::Starts, text: self.words(text)? })
            }
            SearchParameterType::Token => self.token(text),
            SearchParameterType::Reference => self.reference(text),
            SearchParameterType::Quantity => self.quantity(text),
            SearchParameterType::Uri => Ok(uri(UriMatchMode::Equals, text)),
            SearchParameterType::Composite => self.composite(text),
        }
    }

    /// Folded text; what folds to nothing begins every text and is refused.
    fn words(&self, text: &str) -> Result<String, SearchError> {
        let words = fold_case_and_accents(&unescape(text));
        if words.is_empty() { Err(self.fault(text, "text to compare")) } else { Ok(words) }
    }

    fn number(&self, text: &str, expected: &'static str) -> Result<RangeComparison<f64>, SearchError> {
        let (prefix, digits) = ComparisonPrefix::split_from_value(text);
        let Decimal { value, low, high } = Decimal::read(digits).ok_or_else(|| self.fault(text, expected))?;
        let (low, high) = match prefix {
            ComparisonPrefix::Equal | ComparisonPrefix::NotEqual => (low, high),
            ComparisonPrefix::Approximate => {
                let margin = value.abs() / 10.0;
                (low.min(value - margin), high.max(value + margin))
            }
            _ => (value, value),
        };
        Ok(RangeComparison { prefix, low, high })
    }

    fn date(&self, text: &str) -> Result<IndexEntryPredicate, SearchError> {
        let (prefix, rest) = ComparisonPrefix::split_from_value(text);
        let (from, to) = date::period(rest).ok_or_else(|| self.fault(text, DATE))?;
        let margin = match prefix {
            ComparisonPrefix::Approximate => date::margin_us(self.request.now_us, (from, to)),
            _ => 0,
        };
        let (low, high) = (from.saturating_sub(margin), to.saturating_add(margin));
        Ok(IndexEntryPredicate::Period(RangeComparison { prefix, low, high }))
    }

    fn quantity(&self, text: &str) -> Result<IndexEntryPredicate, SearchError> {
        let parts = split_at_unescaped_separator(text, '|');
        let number = |text: &str| self.number(text, QUANTITY);
        let (comparison, unit) = match parts.as_slice() {
            [value] => (number(value)?, QuantityUnitMatch::Any),
            [value, "", unit] if !unit.is_empty() => (number(value)?, QuantityUnitMatch::Named(unescape(unit))),
            [value, system, code] if !code.is_empty() => {
                (number(value)?, QuantityUnitMatch::Coded { system: unescape(system), code: unescape(code) })
            }
            _ => return Err(self.fault(text, QUANTITY)),
        };
        Ok(IndexEntryPredicate::Quantity { comparison, unit })
    }

    fn token(&self, text: &str) -> Result<IndexEntryPredicate, SearchError> {
        let parts: Vec<String> = split_at_unescaped_separator(text, '|').into_iter().map(unescape).collect();
        let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let (system, code) = match parts.as_slice() {
            [code] => (CodeSystemMatch::Any, some(code)),
            [system, code] => (some(system).map_or(CodeSystemMatch::None, CodeSystemMatch::Is), some(code)),
            _ => return Err(self.fault(text, TOKEN)),
        };
        match (system, code) {
            (CodeSystemMatch::None, None) => Err(self.fault(text, TOKEN)),
            (CodeSystemMatch::Is(system), code) if self.is_implied(&system, code.as_deref()) => {
                Ok(IndexEntryPredicate::Token { system: CodeSystemMatch::None, code })
            }
            (system, code) => Ok(IndexEntryPredicate::Token { system, code }),
        }
    }

    /// Returns whether codes that stand alone in the resource are of this system.
    fn is_implied(&self, system: &str, code: Option<&str>) -> bool {
        let bound = (self.parameter.parameter_type == SearchParameterType::Token)
            .then(|| implied::codes(self.resource_type, self.parameter))
            .flatten();
        bound.is_some_and(|codes| match code {
            Some(code) => codes.contains(system, code),
            None => codes.iter().all(|(of, _)| of == system),
        })
    }

    fn of_type(&self, text: &str) -> Result<IndexEntryPredicate, SearchError> {
        let parts: Vec<String> = split_at_unescaped_separator(text, '|').into_iter().map(unescape).collect();
        match parts.as_slice() {
            [system, code, value] if !code.is_empty() && !value.is_empty() => Ok(IndexEntryPredicate::OfType {
                system: Some(system.clone()).filter(|system| !system.is_empty()),
                code: code.clone(),
                value: value.clone(),
            }),
            _ => Err(self.fault(text, OF_TYPE)),
        }
    }

    fn reference(&self, text: &str) -> Result<IndexEntryPredicate, SearchError> {
        let plain = unescape(text);
        if is_absolute_reference(&plain) {
            return self.absolute(&plain).ok_or_else(|| self.fault(text, REFERENCE));
        }
        if let Ok(id) = plain.parse::<ResourceId>() {
            return Ok(IndexEntryPredicate::Reference { resource_type: None, id: id.to_string() });
        }
        match plain.parse() {
            Ok(fhir_resource::ResourceKey { resource_type, id }) => {
                Ok(IndexEntryPredicate::Reference { resource_type: Some(resource_type), id: id.to_string() })
            }
            Err(_) => Err(self.fault(text, REFERENCE)),
        }
    }

    fn absolute(&self, plain: &str) -> Option<IndexEntryPredicate> {
        match Target::read(plain, self.request.base_url) {
            _ if plain.contains("/_history/") => None,
            Some(Target::Resource { resource_type, id }) => Some(IndexEntryPredicate::Reference {
                resource_type: Some(resource_type.parse().ok()?),
                id: id.to_owned(),
            }),
            _ => Some(uri(UriMatchMode::Equals, plain)),
        }
    }

    /// `subject:Patient=1`.
    fn typed(&self, resource_type: &ResourceType, text: &str) -> Result<IndexEntryPredicate, SearchError> {
        match self.reference(text)? {
            IndexEntryPredicate::Reference { resource_type: None, id } => {
                Ok(IndexEntryPredicate::Reference { resource_type: Some(resource_type.clone()), id })
            }
            IndexEntryPredicate::Reference { resource_type: Some(of), id } if of == *resource_type => {
                Ok(IndexEntryPredicate::Reference { resource_type: Some(of), id })
            }
            _ => Err(self.fault(text, "an id, or a reference to the type behind the colon")),
        }
    }

    fn composite(&self, text: &str) -> Result<IndexEntryPredicate, SearchError> {
        let parts = split_at_unescaped_separator(text, '$');
        if parts.len() != self.parameter.components.len() || parts.contains(&"") {
            return Err(self.fault(text, COMPOSITE));
        }
        let tests =
            parts.iter().zip(&self.parameter.components).map(|(part, component)| match component.parameter_type {
                SearchParameterType::Composite => Err(self.fault(text, COMPOSITE)),
                parameter_type => self.test(parameter_type, part),
            });
        tests.collect::<Result<_, _>>().map(IndexEntryPredicate::Composite)
    }
}

/// A URI with its version behind a bar, if it has one.
fn uri(how: UriMatchMode, text: &str) -> IndexEntryPredicate {
    let plain = unescape(text);
    let (uri, version) = plain.rsplit_once('|').map_or((plain.as_str(), None), |(uri, version)| (uri, Some(version)));
    IndexEntryPredicate::Uri { how, uri: uri.to_owned(), version: version.map(str::to_owned) }
}
