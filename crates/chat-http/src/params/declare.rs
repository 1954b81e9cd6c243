//! What an endpoint's parameters are, found out by having them read.
//!
//! There is no second list of them. A reader that takes notes is given first nothing, and then a sample of whatever is
//! said to be missing, until everything was asked for; and once more for every word that a parameter can be, because
//! what else is asked for may depend on it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::raw::RawRequest;
use super::{ParamFault, Params, Reader};
use crate::schema::Schema;

/// How a parameter is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// What it can be.
    pub schema: Schema,
    /// Whether it is written as JSON: texts in quotes then.
    pub is_json: bool,
}

impl Form {
    /// As it is, without quotes.
    #[must_use]
    pub const fn raw(schema: Schema) -> Self {
        Self { schema, is_json: false }
    }

    /// As JSON.
    #[must_use]
    pub const fn json(schema: Schema) -> Self {
        Self { schema, is_json: true }
    }

    /// A value as it is sent.
    #[must_use]
    pub fn sample(&self) -> String {
        match self.schema.sample() {
            Value::String(text) if !self.is_json => text,
            value => value.to_string(),
        }
    }

    /// Returns the words it can be; none when it is no word.
    fn words(&self) -> impl Iterator<Item = &str> {
        let words = self.schema.keyword("enum").filter(|_| !self.is_json).and_then(Value::as_array);
        words.into_iter().flatten().filter_map(Value::as_str)
    }
}

/// What happens when a parameter is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absence {
    /// The request is refused.
    Refused,
    /// The endpoint goes on without it.
    Fine,
    /// It is as if this was sent; `None` where that has no short name.
    Means(Option<Value>),
}

/// A parameter of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Its name.
    pub name: &'static str,
    /// What it was called before, and may still be.
    pub older: Option<&'static str>,
    /// How it is written.
    pub form: Form,
    /// What happens without it.
    pub absence: Absence,
}

/// Returns the parameters of an endpoint, in the order in which they are asked for. One that only some requests must
/// have is not refused when absent.
#[must_use]
pub fn declared<P: Params>() -> Vec<Declared> {
    let (mut all, _) = read::<P>(None);
    let choices: Vec<_> = all.iter().flat_map(|one| one.form.words().map(|word| (one.name, word.to_owned()))).collect();
    for (name, word) in choices {
        let (asked, ended) = read::<P>(Some((name, word)));
        for one in &mut all {
            let is_asked = asked.iter().any(|other| other.name == one.name);
            if ended.is_ok() && !is_asked && one.absence == Absence::Refused {
                one.absence = Absence::Fine;
            }
        }
        for one in asked {
            match all.iter_mut().find(|known| known.name == one.name) {
                None => {
                    let absence = if one.absence == Absence::Refused { Absence::Fine } else { one.absence };
                    all.push(Declared { absence, ..one });
                }
                Some(known) if known.absence == Absence::Refused => known.absence = one.absence,
                Some(_) => {}
            }
        }
    }
    all
}

/// Returns what is asked for when one parameter has that value, and how reading ended.
pub(crate) fn read<P: Params>(set: Option<(&'static str, String)>) -> (Vec<Declared>, Result<(), ParamFault>) {
    let mut given: BTreeMap<&'static str, String> = set.into_iter().collect();
    loop {
        let raw = RawRequest::of(given.iter().map(|(name, value)| (*name, value.as_str())));
        let mut asked = Vec::new();
        let ended = P::read(&mut Reader::noting(&raw, &mut asked)).map(drop);
        match (&ended, asked.iter().find(|one: &&Declared| missing(&ended) == Some(one.name))) {
            (Err(_), Some(one)) if !given.contains_key(one.name) => drop(given.insert(one.name, one.form.sample())),
            _ => return (asked, ended),
        }
    }
}

fn missing(ended: &Result<(), ParamFault>) -> Option<&'static str> {
    match ended {
        Err(ParamFault::Missing { name }) => Some(name),
        _ => None,
    }
}
