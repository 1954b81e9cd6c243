//! JSON objects with known keys.

use serde_json::{Map, Value};

use super::{Expected, FromJson, ParamFault, Path};

/// An object whose members are taken one by one, as parameters are.
#[derive(Debug)]
pub struct Object<'a> {
    members: Map<String, Value>,
    path: &'a Path<'a>,
}

impl<'a> Object<'a> {
    /// The object found at `path`.
    ///
    /// # Errors
    /// When the value is no object.
    pub fn of(value: Value, path: &'a Path<'a>) -> Result<Self, ParamFault> {
        match value {
            Value::Object(members) => Ok(Self { members, path }),
            _ => Err(path.is_not(Expected::Dict)),
        }
    }

    /// A member, or `None` when it is absent.
    ///
    /// # Errors
    /// When it is present and of another type.
    pub fn optional<T: FromJson>(&mut self, key: &'static str) -> Result<Option<T>, ParamFault> {
        self.members.remove(key).map(|value| T::from_json(value, &self.path.key(key))).transpose()
    }

    /// A member.
    ///
    /// # Errors
    /// When it is absent, or of another type.
    pub fn required<T: FromJson>(&mut self, key: &'static str) -> Result<T, ParamFault> {
        let value = self.optional(key)?;
        value.ok_or_else(|| ParamFault::KeyMissing { path: self.path.key(key).to_string() })
    }

    /// As [`Self::required`], for the objects whose refusal keeps older words (`client_capabilities`, `field_data`).
    ///
    /// # Errors
    /// When it is absent, or of another type.
    pub fn required_key<T: FromJson>(&mut self, key: &'static str) -> Result<T, ParamFault> {
        let value = self.optional(key)?;
        value.ok_or_else(|| ParamFault::KeyMissingFrom { key, path: self.path.to_string() })
    }

    /// Refuses members nobody took. Objects that ignore unknown keys are simply dropped instead.
    ///
    /// # Errors
    /// When there are any; the text names the first.
    pub fn end(self) -> Result<(), ParamFault> {
        match self.members.into_iter().next() {
            None => Ok(()),
            Some((key, _)) => Err(ParamFault::KeyUnexpected { path: self.path.key(&key).to_string(), key }),
        }
    }
}
