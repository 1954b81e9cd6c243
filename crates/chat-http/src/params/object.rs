//! JSON objects with known keys.

use serde_json::{Map, Value};

use super::{Expected, FromJson, JsonPath, ParamError};
use crate::schema::{Member, Schema, has, may};

/// An object whose members are taken one by one, as parameters are.
#[derive(Debug)]
pub struct JsonObject<'a> {
    members: Map<String, Value>,
    path: &'a JsonPath<'a>,
    /// Where it is noted what they are, for who wants to know.
    notes: Option<&'a mut ReadMembers>,
}

/// The members that were read from an object.
#[derive(Debug, Default)]
struct ReadMembers {
    members: Vec<Member>,
    /// A key that has to be there and was not.
    missing: Option<(&'static str, Schema)>,
    is_closed: bool,
}

impl<'a> JsonObject<'a> {
    /// Returns the object found at `path`.
    ///
    /// # Errors
    /// When the value is no object.
    pub fn of(value: Value, path: &'a JsonPath<'a>) -> Result<Self, ParamError> {
        match value {
            Value::Object(members) => Ok(Self { members, path, notes: None }),
            _ => Err(path.is_not(Expected::Dict)),
        }
    }

    /// Returns what values `read` reads, found out by having it read: it is given a sample of whatever is missing,
    /// until it has asked for everything.
    pub fn schema<T>(read: impl Fn(JsonObject<'_>) -> Result<T, ParamError>) -> Schema {
        let mut members = Map::new();
        loop {
            let mut notes = ReadMembers::default();
            // How it ends does not matter: what a sample is not fit for comes after all was asked for.
            drop(read(JsonObject { members: members.clone(), path: &JsonPath::name(""), notes: Some(&mut notes) }));
            let Some((key, schema)) = notes.missing else {
                let object = Schema::object(notes.members);
                return if notes.is_closed { object.closed() } else { object };
            };
            members.insert(key.to_owned(), schema.sample());
        }
    }

    /// A member, or `None` when it is absent.
    ///
    /// # Errors
    /// When it is present and of another type.
    pub fn optional<T: FromJson>(&mut self, key: &'static str) -> Result<Option<T>, ParamError> {
        if let Some(notes) = &mut self.notes {
            notes.members.push(may(key, T::schema()));
        }
        self.take(key)
    }

    fn take<T: FromJson>(&mut self, key: &'static str) -> Result<Option<T>, ParamError> {
        self.members.remove(key).map(|value| T::from_json(value, &self.path.key(key))).transpose()
    }

    /// A member.
    ///
    /// # Errors
    /// When it is absent, or of another type.
    pub fn required<T: FromJson>(&mut self, key: &'static str) -> Result<T, ParamError> {
        if let Some(notes) = &mut self.notes {
            notes.members.push(has(key, T::schema()));
            if !self.members.contains_key(key) {
                notes.missing = Some((key, T::schema()));
            }
        }
        let value = self.take(key)?;
        value.ok_or_else(|| ParamError::KeyMissing { path: self.path.key(key).to_string() })
    }

    /// Refuses members nobody took. Objects that ignore unknown keys are simply dropped instead.
    ///
    /// # Errors
    /// When there are any; the text names the first.
    pub fn end(self) -> Result<(), ParamError> {
        if let Some(notes) = self.notes {
            notes.is_closed = true;
        }
        match self.members.into_iter().next() {
            None => Ok(()),
            Some((key, _)) => Err(ParamError::KeyUnexpected { path: self.path.key(&key).to_string(), key }),
        }
    }
}
