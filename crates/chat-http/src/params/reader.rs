//! Asking a request for its parameters.

use super::declaration::{AbsentParamBehavior, ParamDeclaration};
use super::raw::{Field, RawRequestParams};
use super::{ParamDecoder, ParamError, RawParam};
use crate::json_schema::JsonSchema;
use crate::limits::ECHOED_VALUE_MAX_CHARS;

/// Taken by every endpoint, whether it declares it or not: the caller's own name for its client.
const CLIENT: &str = "client";

/// The parameters of one endpoint, as a type that is read from a request.
pub trait EndpointParams: Sized {
    /// Whether the endpoint may wait for a minute. Then nothing of the request is kept to answer it again.
    const MAY_LONG_POLL: bool = false;

    /// Reads every parameter of the endpoint, the conditional ones too: what is not read is reported to the caller as
    /// unsupported. Conditions between parameters are the endpoint's own, after this.
    ///
    /// # Errors
    /// The first parameter that is missing or cannot be read.
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError>;
}

/// An endpoint without parameters.
impl EndpointParams for () {
    fn from_reader(_: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(())
    }
}

/// Reads parameters by name and remembers which were read.
#[derive(Debug)]
pub struct ParamReader<'a> {
    raw: &'a RawRequestParams,
    /// A few names, with their repetitions.
    read_names: Vec<&'static str>,
    /// Where it is noted what they are, for who wants to know.
    notes: Option<&'a mut Vec<ParamDeclaration>>,
}

impl<'a> ParamReader<'a> {
    /// Creates a reader of the parameters of `raw` that has read none yet.
    #[must_use]
    pub const fn new(raw: &'a RawRequestParams) -> Self {
        Self { raw, read_names: Vec::new(), notes: None }
    }

    /// One that notes what is asked for.
    pub(super) const fn noting(raw: &'a RawRequestParams, notes: &'a mut Vec<ParamDeclaration>) -> Self {
        Self { raw, read_names: Vec::new(), notes: Some(notes) }
    }

    /// Returns the parameter, or `None` when it is absent.
    ///
    /// # Errors
    /// When it is present and not of this kind.
    pub fn optional<K: ParamDecoder>(&mut self, name: &'static str) -> Result<Option<K::Value>, ParamError> {
        self.note::<K>([name, name], || AbsentParamBehavior::Fine);
        self.take::<K>(name)
    }

    fn take<K: ParamDecoder>(&mut self, name: &'static str) -> Result<Option<K::Value>, ParamError> {
        self.read_names.push(name);
        self.raw.field(name).map(|field| decode::<K>(name, field)).transpose()
    }

    /// Returns the parameter.
    ///
    /// # Errors
    /// When it is absent, or not of this kind.
    pub fn required<K: ParamDecoder>(&mut self, name: &'static str) -> Result<K::Value, ParamError> {
        self.note::<K>([name, name], || AbsentParamBehavior::Refused);
        self.take::<K>(name)?.ok_or(ParamError::Missing { name })
    }

    /// Returns the parameter, or `default` when it is absent.
    ///
    /// # Errors
    /// When it is present and not of this kind.
    pub fn optional_or<K: ParamDecoder>(
        &mut self,
        name: &'static str,
        default: K::Value,
    ) -> Result<K::Value, ParamError> {
        self.note::<K>([name, name], || AbsentParamBehavior::Means(K::documented_default(&default)));
        Ok(self.take::<K>(name)?.unwrap_or(default))
    }

    /// Returns the parameter under its name or its older one; texts about its value use the name that was sent.
    ///
    /// # Errors
    /// When both are given, or the one given is not of this kind.
    pub fn optional_with_alias<K: ParamDecoder>(
        &mut self,
        names: [&'static str; 2],
    ) -> Result<Option<K::Value>, ParamError> {
        self.note::<K>(names, || AbsentParamBehavior::Fine);
        self.take_either::<K>(names)
    }

    fn take_either<K: ParamDecoder>(&mut self, names: [&'static str; 2]) -> Result<Option<K::Value>, ParamError> {
        let [first, second] = names;
        if self.has(first) && self.has(second) {
            return Err(ParamError::Confusing { first, second });
        }
        Ok(match self.take::<K>(first)? {
            Some(value) => Some(value),
            None => self.take::<K>(second)?,
        })
    }

    /// As [`Self::optional_with_alias`], for a parameter that must be there; the text names the newer name.
    ///
    /// # Errors
    /// When neither or both are given, or the one given is not of this kind.
    pub fn required_with_alias<K: ParamDecoder>(&mut self, names: [&'static str; 2]) -> Result<K::Value, ParamError> {
        self.note::<K>(names, || AbsentParamBehavior::Refused);
        self.take_either::<K>(names)?.ok_or(ParamError::Missing { name: names[0] })
    }

    /// Marks parameters as read without decoding them, so that they are not reported as unsupported: this request has
    /// no use for them, others have.
    pub fn skip_params(&mut self, names: &[&'static str]) {
        self.read_names.extend(names);
    }

    /// Refines the documented schema of the parameter read last, where the rules know it better than its decoder.
    pub fn refine_last_schema(&mut self, schema: impl FnOnce(JsonSchema) -> JsonSchema) {
        if let Some(last) = self.notes.as_mut().and_then(|notes| notes.last_mut()) {
            let known = std::mem::replace(&mut last.form.schema, JsonSchema::any());
            last.form.schema = schema(known);
        }
    }

    /// Refuses more than one of `names`.
    ///
    /// # Errors
    /// When two or more are given.
    pub fn reject_more_than_one(&mut self, names: &[&'static str]) -> Result<(), ParamError> {
        let present: Vec<_> = names.iter().copied().filter(|name| self.has(name)).collect();
        if present.len() > 1 { Err(ParamError::Incompatible { names: present }) } else { Ok(()) }
    }

    /// Returns the names of parameters that were sent but not read, sorted.
    ///
    /// # Source
    /// Specification, "Request encoding". It makes no exception of endpoints without parameters, as existing servers
    /// do.
    #[must_use]
    pub fn unread_names(&self) -> Vec<&'a str> {
        self.raw.names().filter(|name| *name != CLIENT && !self.read_names.contains(name)).collect()
    }

    /// Notes a parameter under its name and its older one, which is the same where there is none.
    fn note<K: ParamDecoder>(
        &mut self,
        [name, older]: [&'static str; 2],
        absence: impl FnOnce() -> AbsentParamBehavior,
    ) {
        if let Some(notes) = &mut self.notes {
            let older = Some(older).filter(|older| *older != name);
            notes.push(ParamDeclaration { name, older, form: K::wire_format(), absence: absence() });
        }
    }

    fn has(&self, name: &str) -> bool {
        self.raw.field(name).is_some()
    }
}

/// Returns the caller's own name for its client, when the request carries one that can be read.
pub(crate) fn client(raw: &RawRequestParams) -> Option<&str> {
    let field = raw.field(CLIENT)?;
    field.is_utf8.then_some(field.text.trim()).filter(|name| !name.is_empty())
}

fn decode<K: ParamDecoder>(name: &'static str, field: &Field) -> Result<K::Value, ParamError> {
    if !field.is_utf8 || (!K::ACCEPTS_NUL && field.text.contains('\0')) {
        return Err(unreadable(name, &field.text));
    }
    K::decode(RawParam { name, text: &field.text })
}

/// Returns the refusal of a value that is no text; it repeats the start of it.
pub(super) fn unreadable(name: &'static str, text: &str) -> ParamError {
    ParamError::Unreadable { name, shown: text.chars().take(ECHOED_VALUE_MAX_CHARS).collect() }
}
