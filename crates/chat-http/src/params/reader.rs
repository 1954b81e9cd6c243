//! Asking a request for its parameters.

use super::declare::{Absence, Declared};
use super::raw::{Field, RawRequest};
use super::{Given, Kind, ParamFault};
use crate::limits::BAD_VALUE_MAX_CHARS;
use crate::schema::Schema;

/// Taken by every endpoint, whether it declares it or not: the caller's own name for its client.
const CLIENT: &str = "client";

/// The parameters of one endpoint.
pub trait Params: Sized {
    /// Whether the endpoint may wait for a minute. Then nothing of the request is kept to answer it again.
    const WAITS: bool = false;

    /// Asks `given` for every parameter, the conditional ones too: what is not asked for is reported to the caller
    /// as unsupported. Conditions between parameters are the endpoint's own, after this.
    ///
    /// # Errors
    /// The first parameter that is missing or cannot be read.
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault>;
}

/// An endpoint without parameters.
impl Params for () {
    fn read(_: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(())
    }
}

/// Hands out parameters and remembers which were asked for.
#[derive(Debug)]
pub struct Reader<'a> {
    raw: &'a RawRequest,
    /// A few names, with their repetitions.
    asked: Vec<&'static str>,
    /// Where it is noted what they are, for who wants to know.
    notes: Option<&'a mut Vec<Declared>>,
}

impl<'a> Reader<'a> {
    /// A reader that has handed out nothing.
    #[must_use]
    pub const fn new(raw: &'a RawRequest) -> Self {
        Self { raw, asked: Vec::new(), notes: None }
    }

    /// One that notes what is asked for.
    pub(super) const fn noting(raw: &'a RawRequest, notes: &'a mut Vec<Declared>) -> Self {
        Self { raw, asked: Vec::new(), notes: Some(notes) }
    }

    /// Returns the parameter, or `None` when it is absent.
    ///
    /// # Errors
    /// When it is present and not of this kind.
    pub fn optional<K: Kind>(&mut self, name: &'static str) -> Result<Option<K::Value>, ParamFault> {
        self.note::<K>([name, name], || Absence::Fine);
        self.take::<K>(name)
    }

    fn take<K: Kind>(&mut self, name: &'static str) -> Result<Option<K::Value>, ParamFault> {
        self.asked.push(name);
        self.raw.field(name).map(|field| decode::<K>(name, field)).transpose()
    }

    /// Returns the parameter.
    ///
    /// # Errors
    /// When it is absent, or not of this kind.
    pub fn required<K: Kind>(&mut self, name: &'static str) -> Result<K::Value, ParamFault> {
        self.note::<K>([name, name], || Absence::Refused);
        self.take::<K>(name)?.ok_or(ParamFault::Missing { name })
    }

    /// Returns the parameter, or `default` when it is absent.
    ///
    /// # Errors
    /// When it is present and not of this kind.
    pub fn or<K: Kind>(&mut self, name: &'static str, default: K::Value) -> Result<K::Value, ParamFault> {
        self.note::<K>([name, name], || Absence::Means(K::told(&default)));
        Ok(self.take::<K>(name)?.unwrap_or(default))
    }

    /// Returns the parameter under its name or its older one; texts about its value use the name that was sent.
    ///
    /// # Errors
    /// When both are given, or the one given is not of this kind.
    pub fn optional_either<K: Kind>(&mut self, names: [&'static str; 2]) -> Result<Option<K::Value>, ParamFault> {
        self.note::<K>(names, || Absence::Fine);
        self.take_either::<K>(names)
    }

    fn take_either<K: Kind>(&mut self, names: [&'static str; 2]) -> Result<Option<K::Value>, ParamFault> {
        let [first, second] = names;
        if self.has(first) && self.has(second) {
            return Err(ParamFault::Confusing { first, second });
        }
        Ok(match self.take::<K>(first)? {
            Some(value) => Some(value),
            None => self.take::<K>(second)?,
        })
    }

    /// As [`Self::optional_either`], for a parameter that must be there; the text names the newer name.
    ///
    /// # Errors
    /// When neither or both are given, or the one given is not of this kind.
    pub fn required_either<K: Kind>(&mut self, names: [&'static str; 2]) -> Result<K::Value, ParamFault> {
        self.note::<K>(names, || Absence::Refused);
        self.take_either::<K>(names)?.ok_or(ParamFault::Missing { name: names[0] })
    }

    /// Lets parameters be whatever they are: this request has no use for them, others have.
    pub fn pass_over(&mut self, names: &[&'static str]) {
        self.asked.extend(names);
    }

    /// Says what the parameter asked for last can be, where the rules know it better than its kind.
    pub fn more_precisely(&mut self, schema: impl FnOnce(Schema) -> Schema) {
        if let Some(last) = self.notes.as_mut().and_then(|notes| notes.last_mut()) {
            let known = std::mem::replace(&mut last.form.schema, Schema::any());
            last.form.schema = schema(known);
        }
    }

    /// Refuses more than one of `names`.
    ///
    /// # Errors
    /// When two or more are given.
    pub fn at_most_one(&mut self, names: &[&'static str]) -> Result<(), ParamFault> {
        let given: Vec<_> = names.iter().copied().filter(|name| self.has(name)).collect();
        if given.len() > 1 { Err(ParamFault::Incompatible { names: given }) } else { Ok(()) }
    }

    /// Returns the names that were sent and not asked for, sorted.
    ///
    /// # Source
    /// Specification, "Request encoding". It makes no exception of endpoints without parameters, as existing servers
    /// do.
    #[must_use]
    pub fn ignored(&self) -> Vec<&'a str> {
        self.raw.names().filter(|name| *name != CLIENT && !self.asked.contains(name)).collect()
    }

    /// Notes a parameter under its name and its older one, which is the same where there is none.
    fn note<K: Kind>(&mut self, [name, older]: [&'static str; 2], absence: impl FnOnce() -> Absence) {
        if let Some(notes) = &mut self.notes {
            let older = Some(older).filter(|older| *older != name);
            notes.push(Declared { name, older, form: K::form(), absence: absence() });
        }
    }

    fn has(&self, name: &str) -> bool {
        self.raw.field(name).is_some()
    }
}

/// Returns the caller's own name for its client, when the request carries one that can be read.
pub(crate) fn client(raw: &RawRequest) -> Option<&str> {
    let field = raw.field(CLIENT)?;
    field.is_utf8.then_some(field.text.trim()).filter(|name| !name.is_empty())
}

fn decode<K: Kind>(name: &'static str, field: &Field) -> Result<K::Value, ParamFault> {
    if !field.is_utf8 || (!K::TAKES_NUL && field.text.contains('\0')) {
        return Err(unreadable(name, &field.text));
    }
    K::decode(Given { name, text: &field.text })
}

/// Returns the refusal of a value that is no text; it repeats the start of it.
pub(super) fn unreadable(name: &'static str, text: &str) -> ParamFault {
    ParamFault::Unreadable { name, shown: text.chars().take(BAD_VALUE_MAX_CHARS).collect() }
}
