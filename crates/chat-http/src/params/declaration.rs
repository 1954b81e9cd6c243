//! What an endpoint's parameters are, found out by having them read.
//!
//! There is no second list of them. A reader that takes notes is given first nothing, and then a sample of whatever is
//! said to be missing, until everything was asked for; and once more for every word that a parameter can be, because
//! what else is asked for may depend on it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::raw::RawRequestParams;
use super::{EndpointParams, ParamError, ParamReader};
use crate::json_schema::JsonSchema;

/// The wire format of a parameter: raw text or JSON, and its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamWireFormat {
    /// What it can be.
    pub schema: JsonSchema,
    /// Whether it is written as JSON: texts in quotes then.
    pub is_json: bool,
}

impl ParamWireFormat {
    /// Returns the format of a raw text, without quotes.
    #[must_use]
    pub const fn raw(schema: JsonSchema) -> Self {
        Self { schema, is_json: false }
    }

    /// Returns the format of a JSON-encoded value.
    #[must_use]
    pub const fn json(schema: JsonSchema) -> Self {
        Self { schema, is_json: true }
    }

    /// Returns a sample value, as it is sent.
    #[must_use]
    pub fn sample_text(&self) -> String {
        match self.schema.sample_value() {
            Value::String(text) if !self.is_json => text,
            value => value.to_string(),
        }
    }

    /// Returns the words it can be; none when it is no word.
    fn words(&self) -> impl Iterator<Item = &str> {
        let words = self.schema.keyword_value("enum").filter(|_| !self.is_json).and_then(Value::as_array);
        words.into_iter().flatten().filter_map(Value::as_str)
    }
}

/// What happens when a parameter is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AbsentParamBehavior {
    /// The request is refused.
    Refused,
    /// The endpoint goes on without it.
    Fine,
    /// It is as if this was sent; `None` where that has no short name.
    Means(Option<Value>),
}

/// The declaration of an endpoint's parameter: name, format and what its absence means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamDeclaration {
    /// Its name.
    pub name: &'static str,
    /// What it was called before, and may still be.
    pub older: Option<&'static str>,
    /// How it is written.
    pub form: ParamWireFormat,
    /// What happens without it.
    pub absence: AbsentParamBehavior,
}

/// Returns the declared parameters of an endpoint, in the order in which they are read. One that only some requests
/// must have is not refused when absent.
#[must_use]
pub fn declared_params<P: EndpointParams>() -> Vec<ParamDeclaration> {
    let (mut all, _) = read::<P>(None);
    let choices: Vec<_> = all.iter().flat_map(|one| one.form.words().map(|word| (one.name, word.to_owned()))).collect();
    for (name, word) in choices {
        let (declared, ended) = read::<P>(Some((name, word)));
        for one in &mut all {
            let is_declared = declared.iter().any(|other| other.name == one.name);
            if ended.is_ok() && !is_declared && one.absence == AbsentParamBehavior::Refused {
                one.absence = AbsentParamBehavior::Fine;
            }
        }
        for one in declared {
            match all.iter_mut().find(|known| known.name == one.name) {
                None => {
                    let absence = if one.absence == AbsentParamBehavior::Refused {
                        AbsentParamBehavior::Fine
                    } else {
                        one.absence
                    };
                    all.push(ParamDeclaration { absence, ..one });
                }
                Some(known) if known.absence == AbsentParamBehavior::Refused => known.absence = one.absence,
                Some(_) => {}
            }
        }
    }
    all
}

/// Returns what is asked for when one parameter has that value, and how reading ended.
pub(crate) fn read<P: EndpointParams>(
    set: Option<(&'static str, String)>,
) -> (Vec<ParamDeclaration>, Result<(), ParamError>) {
    let mut values: BTreeMap<&'static str, String> = set.into_iter().collect();
    loop {
        let raw = RawRequestParams::of(values.iter().map(|(name, value)| (*name, value.as_str())));
        let mut declared = Vec::new();
        let ended = P::from_reader(&mut ParamReader::noting(&raw, &mut declared)).map(drop);
        match (&ended, declared.iter().find(|one: &&ParamDeclaration| missing(&ended) == Some(one.name))) {
            (Err(_), Some(one)) if !values.contains_key(one.name) => {
                drop(values.insert(one.name, one.form.sample_text()));
            }
            _ => return (declared, ended),
        }
    }
}

fn missing(ended: &Result<(), ParamError>) -> Option<&'static str> {
    match ended {
        Err(ParamError::Missing { name }) => Some(name),
        _ => None,
    }
}
