//! The right side of a search parameter: its values.

use std::sync::Arc;

use super::result::shown;
use super::{Decimal, Request, SearchFault, date};
use crate::key::{ResourceId, ResourceType};
use crate::limits;
use crate::reference::is_absolute;
use crate::search::clause::{Clause, System, Test, TextMatch, Unit, UriMatch};
use crate::search::escape::{split, unescaped};
use crate::search::fold::folded;
use crate::search::implied;
use crate::search::parameter::{Kind, Parameter};
use crate::search::range::{Comparison, Prefix};
use crate::search::target::Target;

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
    pub(super) request: &'a Request<'a>,
    /// The type the parameter is of: in a chain another one than is searched.
    pub(super) kind: &'a ResourceType,
    /// The parameter's name as it stands in the query.
    pub(super) name: &'a str,
    pub(super) parameter: &'a Arc<Parameter>,
}

impl Values<'_> {
    /// Returns the tests of a parameter without a modifier.
    pub(super) fn plain(&self, value: &str) -> Result<Vec<Test>, SearchFault> {
        self.each(value, |text| self.test(self.parameter.kind, text))
    }

    /// Returns the clause of a parameter with a modifier.
    pub(super) fn modified(&self, modifier: &str, value: &str) -> Result<Clause, SearchFault> {
        let any = |tests| Clause::Any { parameter: Arc::clone(self.parameter), tests };
        let none = |tests| Clause::None { parameter: Arc::clone(self.parameter), tests };
        let all = |read: &dyn Fn(&str) -> Result<Test, SearchFault>| self.each(value, read);
        match (self.parameter.kind, modifier) {
            (Kind::Token, "not") => self.plain(value).map(none),
            (Kind::Token, "not-in") => all(&|text| Ok(Test::In(unescaped(text)))).map(none),
            (Kind::Token, "in") => all(&|text| Ok(Test::In(unescaped(text)))).map(any),
            (Kind::Token, "text") => all(&|text| self.words(text).map(Test::Display)).map(any),
            (Kind::Token, "of-type") => all(&|text| self.of_type(text)).map(any),
            (Kind::String, "exact") => {
                all(&|text| Ok(Test::Text { how: TextMatch::Exact, text: unescaped(text) })).map(any)
            }
            (Kind::String, "contains") => {
                all(&|text| Ok(Test::Text { how: TextMatch::Contains, text: self.words(text)? })).map(any)
            }
            (Kind::Uri, "below") => all(&|text| Ok(uri(UriMatch::Below, text))).map(any),
            (Kind::Uri, "above") => all(&|text| Ok(uri(UriMatch::Above, text))).map(any),
            (Kind::Reference, "identifier") => all(&|text| self.token(text)).map(any),
            (Kind::Reference, kind) => match kind.parse() {
                Ok(kind) => all(&|text| self.typed(&kind, text)).map(any),
                Err(_) => Err(self.unknown(modifier)),
            },
            _ => Err(self.unknown(modifier)),
        }
    }

    fn unknown(&self, modifier: &str) -> SearchFault {
        let kind = self.parameter.kind;
        let supported = kind.modifiers().iter().chain(&["missing"]).map(|name| format!(":{name}"));
        SearchFault::Modifier {
            code: self.parameter.code.clone(),
            kind: kind.as_str(),
            modifier: shown(modifier),
            supported: supported.collect::<Vec<_>>().join(", "),
        }
    }

    fn fault(&self, value: &str, expected: &'static str) -> SearchFault {
        SearchFault::Value { name: shown(self.name), value: shown(value), expected }
    }

    fn each(&self, value: &str, read: impl Fn(&str) -> Result<Test, SearchFault>) -> Result<Vec<Test>, SearchFault> {
        let parts = split(value, ',');
        if parts.len() > limits::MAX_ALTERNATIVES {
            return Err(SearchFault::TooManyValues(shown(self.name)));
        }
        let checked = parts.into_iter().map(|part| match part.len() {
            0 => Err(self.fault(value, EMPTY)),
            1..=limits::MAX_SEARCH_VALUE_BYTES => read(part),
            _ => Err(SearchFault::LongValue(shown(self.name))),
        });
        checked.collect()
    }

    fn test(&self, kind: Kind, text: &str) -> Result<Test, SearchFault> {
        match kind {
            Kind::Number => self.number(text, NUMBER).map(Test::Number),
            Kind::Date => self.date(text),
            Kind::String => Ok(Test::Text { how: TextMatch::Starts, text: self.words(text)? }),
            Kind::Token => self.token(text),
            Kind::Reference => self.reference(text),
            Kind::Quantity => self.quantity(text),
            Kind::Uri => Ok(uri(UriMatch::Equals, text)),
            Kind::Composite => self.composite(text),
        }
    }

    /// Folded text; what folds to nothing begins every text and is refused.
    fn words(&self, text: &str) -> Result<String, SearchFault> {
        let words = folded(&unescaped(text));
        if words.is_empty() { Err(self.fault(text, "text to compare")) } else { Ok(words) }
    }

    fn number(&self, text: &str, expected: &'static str) -> Result<Comparison<f64>, SearchFault> {
        let (prefix, digits) = Prefix::split(text);
        let Decimal { value, low, high } = Decimal::read(digits).ok_or_else(|| self.fault(text, expected))?;
        let (low, high) = match prefix {
            Prefix::Equal | Prefix::NotEqual => (low, high),
            Prefix::Approximate => {
                let margin = value.abs() / 10.0;
                (low.min(value - margin), high.max(value + margin))
            }
            _ => (value, value),
        };
        Ok(Comparison { prefix, low, high })
    }

    fn date(&self, text: &str) -> Result<Test, SearchFault> {
        let (prefix, rest) = Prefix::split(text);
        let (from, to) = date::period(rest).ok_or_else(|| self.fault(text, DATE))?;
        let margin = match prefix {
            Prefix::Approximate => date::margin_us(self.request.now_us, (from, to)),
            _ => 0,
        };
        let (low, high) = (from.saturating_sub(margin), to.saturating_add(margin));
        Ok(Test::Period(Comparison { prefix, low, high }))
    }

    fn quantity(&self, text: &str) -> Result<Test, SearchFault> {
        let parts = split(text, '|');
        let number = |text: &str| self.number(text, QUANTITY);
        let (comparison, unit) = match parts.as_slice() {
            [value] => (number(value)?, Unit::Any),
            [value, "", unit] if !unit.is_empty() => (number(value)?, Unit::Named(unescaped(unit))),
            [value, system, code] if !code.is_empty() => {
                (number(value)?, Unit::Coded { system: unescaped(system), code: unescaped(code) })
            }
            _ => return Err(self.fault(text, QUANTITY)),
        };
        Ok(Test::Quantity { comparison, unit })
    }

    fn token(&self, text: &str) -> Result<Test, SearchFault> {
        let parts: Vec<String> = split(text, '|').into_iter().map(unescaped).collect();
        let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let (system, code) = match parts.as_slice() {
            [code] => (System::Any, some(code)),
            [system, code] => (some(system).map_or(System::None, System::Is), some(code)),
            _ => return Err(self.fault(text, TOKEN)),
        };
        match (system, code) {
            (System::None, None) => Err(self.fault(text, TOKEN)),
            (System::Is(system), code) if self.is_implied(&system, code.as_deref()) => {
                Ok(Test::Token { system: System::None, code })
            }
            (system, code) => Ok(Test::Token { system, code }),
        }
    }

    /// Returns whether codes that stand alone in the resource are of this system.
    fn is_implied(&self, system: &str, code: Option<&str>) -> bool {
        let bound = (self.parameter.kind == Kind::Token).then(|| implied::codes(self.kind, self.parameter)).flatten();
        bound.is_some_and(|codes| match code {
            Some(code) => codes.contains(system, code),
            None => codes.iter().all(|(of, _)| of == system),
        })
    }

    fn of_type(&self, text: &str) -> Result<Test, SearchFault> {
        let parts: Vec<String> = split(text, '|').into_iter().map(unescaped).collect();
        match parts.as_slice() {
            [system, code, value] if !code.is_empty() && !value.is_empty() => Ok(Test::OfType {
                system: Some(system.clone()).filter(|system| !system.is_empty()),
                code: code.clone(),
                value: value.clone(),
            }),
            _ => Err(self.fault(text, OF_TYPE)),
        }
    }

    fn reference(&self, text: &str) -> Result<Test, SearchFault> {
        let plain = unescaped(text);
        if is_absolute(&plain) {
            return self.absolute(&plain).ok_or_else(|| self.fault(text, REFERENCE));
        }
        if let Ok(id) = plain.parse::<ResourceId>() {
            return Ok(Test::Reference { kind: None, id: id.to_string() });
        }
        match plain.parse() {
            Ok(crate::key::ResourceKey { kind, id }) => Ok(Test::Reference { kind: Some(kind), id: id.to_string() }),
            Err(_) => Err(self.fault(text, REFERENCE)),
        }
    }

    fn absolute(&self, plain: &str) -> Option<Test> {
        match Target::read(plain, self.request.own) {
            _ if plain.contains("/_history/") => None,
            Some(Target::Resource { kind, id }) => {
                Some(Test::Reference { kind: Some(kind.parse().ok()?), id: id.to_owned() })
            }
            _ => Some(uri(UriMatch::Equals, plain)),
        }
    }

    /// `subject:Patient=1`.
    fn typed(&self, kind: &ResourceType, text: &str) -> Result<Test, SearchFault> {
        match self.reference(text)? {
            Test::Reference { kind: None, id } => Ok(Test::Reference { kind: Some(kind.clone()), id }),
            Test::Reference { kind: Some(of), id } if of == *kind => Ok(Test::Reference { kind: Some(of), id }),
            _ => Err(self.fault(text, "an id, or a reference to the type behind the colon")),
        }
    }

    fn composite(&self, text: &str) -> Result<Test, SearchFault> {
        let parts = split(text, '$');
        if parts.len() != self.parameter.components.len() || parts.contains(&"") {
            return Err(self.fault(text, COMPOSITE));
        }
        let tests = parts.iter().zip(&self.parameter.components).map(|(part, component)| match component.kind {
            Kind::Composite => Err(self.fault(text, COMPOSITE)),
            kind => self.test(kind, part),
        });
        tests.collect::<Result<_, _>>().map(Test::Composite)
    }
}

/// A URI with its version behind a bar, if it has one.
fn uri(how: UriMatch, text: &str) -> Test {
    let plain = unescaped(text);
    let (uri, version) = plain.rsplit_once('|').map_or((plain.as_str(), None), |(uri, version)| (uri, Some(version)));
    Test::Uri { how, uri: uri.to_owned(), version: version.map(str::to_owned) }
}
