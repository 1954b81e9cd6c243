//! JSON objects with known keys.

use serde_json::{Map, Value};

use super::{ExpectedJsonType, FromJson, ParamError, ParamValuePath};
use crate::json_schema::{JsonSchema, SchemaMember, optional_schema_member, required_schema_member};

/// A reader of a JSON object, whose members are taken one by one, as parameters are.
#[derive(Debug)]
pub struct JsonObjectReader<'a> {
    members: Map<String, Value>,
    path: &'a ParamValuePath<'a>,
    /// Where it is noted what they are, for who wants to know.
    notes: Option<&'a mut ReadMembers>,
}

/// The members that were read from an object.
#[derive(Debug, Default)]
struct ReadMembers {
    members: Vec<SchemaMember>,
    /// A key that has to be there and was not.
    missing: Option<(&'static str, JsonSchema)>,
    is_closed: bool,
}

impl<'a> JsonObjectReader<'a> {
    /// Returns the object found at `path`.
    ///
    /// # Errors
    /// When the value is no object.
    pub fn from_value(value: Value, path: &'a ParamValuePath<'a>) -> Result<Self, ParamError> {
        match value {
            Value::Object(members) => Ok(Self { members, path, notes: None }),
            _ => Err(path.wrong_type_error(ExpectedJsonType::Dict)),
        }
    }

    /// Infers the JSON Schema of the objects that `read` accepts: `read` is given a sample of each missing member until
    /// it has asked for everything.
    pub fn infer_schema<T>(read: impl Fn(JsonObjectReader<'_>) -> Result<T, ParamError>) -> JsonSchema {
        let mut members = Map::new();
        loop {
            let mut notes = ReadMembers::default();
            // How it ends does not matter: what a sample is not fit for comes after all was asked for.
            drop(read(JsonObjectReader {
                members: members.clone(),
                path: &ParamValuePath::root(""),
                notes: Some(&mut notes),
            }));
            let Some((key, schema)) = notes.missing else {
                let object = JsonSchema::object(notes.members);
                return if notes.is_closed { object.without_additional_members() } else { object };
            };
            members.insert(key.to_owned(), schema.sample_value());
        }
    }

    /// Takes an optional member; `None` when it is absent.
    ///
    /// # Errors
    /// When it is present and of another type.
    pub fn optional_member<T: FromJson>(&mut self, key: &'static str) -> Result<Option<T>, ParamError> {
        if let Some(notes) = &mut self.notes {
            notes.members.push(optional_schema_member(key, T::json_schema()));
        }
        self.take(key)
    }

    fn take<T: FromJson>(&mut self, key: &'static str) -> Result<Option<T>, ParamError> {
        self.members.remove(key).map(|value| T::from_json(value, &self.path.member(key))).transpose()
    }

    /// Takes a required member.
    ///
    /// # Errors
    /// When it is absent, or of another type.
    pub fn required_member<T: FromJson>(&mut self, key: &'static str) -> Result<T, ParamError> {
        if let Some(notes) = &mut self.notes {
            notes.members.push(required_schema_member(key, T::json_schema()));
            if !self.members.contains_key(key) {
                notes.missing = Some((key, T::json_schema()));
            }
        }
        let value = self.take(key)?;
        value.ok_or_else(|| ParamError::KeyMissing { path: self.path.member(key).to_string() })
    }

    /// Refuses the object when it has members that were not read. Objects that ignore unknown keys are simply dropped
    /// instead.
    ///
    /// # Errors
    /// When there are any; the text names the first.
    pub fn reject_unread_members(self) -> Result<(), ParamError> {
        if let Some(notes) = self.notes {
            notes.is_closed = true;
        }
        match self.members.into_iter().next() {
            None => Ok(()),
            Some((key, _)) => Err(ParamError::KeyUnexpected { path: self.path.member(&key).to_string(), key }),
        }
    }
}
