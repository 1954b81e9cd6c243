//! Parameters that profile fields and answers to them are described with.

use chat_core::id::UserId;
use chat_core::people::profile::{FieldData, ProfileValue};
use serde_json::Value;

use crate::params::{Expected, Form, FromJson, Given, Json, Kind, Object, ParamFault, Path};
use crate::schema::Schema;

/// `field_data`, as JSON: an object of texts and of objects of texts, in the order sent.
#[derive(Debug)]
pub(super) struct Data;

impl Kind for Data {
    type Value = FieldData;

    fn form() -> Form {
        Json::<DataValue>::form()
    }

    fn told(data: &FieldData) -> Option<Value> {
        Some(Value::Object(data.clone()))
    }

    fn decode(given: Given<'_>) -> Result<FieldData, ParamFault> {
        Json::<DataValue>::decode(given).map(|DataValue(data)| data)
    }
}

struct DataValue(FieldData);

impl FromJson for DataValue {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        let Value::Object(members) = value else { return Err(path.is_not(Expected::Dict)) };
        members.iter().try_for_each(|(key, member)| check_member(member, &path.key(key)))?;
        Ok(Self(members))
    }

    fn schema() -> Schema {
        Schema::map(Schema::any_of([Schema::string(), Schema::map(Schema::string())]))
    }
}

/// A path through a value of several types names the alternative it took.
fn check_member(member: &Value, path: &Path<'_>) -> Result<(), ParamFault> {
    match member {
        Value::String(_) => Ok(()),
        Value::Object(members) => match members.iter().find(|(_, text)| !text.is_string()) {
            Some((key, _)) => Err(path.key("dict[str,str]").key(key).is_not(Expected::String)),
            None => Ok(()),
        },
        _ => Err(path.key("str").is_not(Expected::String)),
    }
}

/// Answers, as JSON: objects with `id` and `value`. An empty value takes an answer back.
#[derive(Debug)]
pub(crate) struct Answers;

impl Kind for Answers {
    type Value = Vec<(i64, Option<ProfileValue>)>;

    fn form() -> Form {
        Json::<Vec<Element>>::form()
    }

    fn decode(given: Given<'_>) -> Result<Self::Value, ParamFault> {
        let answers = Json::<Vec<Element>>::decode(given)?;
        Ok(answers.into_iter().map(|Element(id, answer)| (id, answer)).collect())
    }
}

struct Element(i64, Option<ProfileValue>);

impl FromJson for Element {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        let (id, value) = members(Object::of(value, path)?)?;
        let answer = match value {
            Value::Null => None,
            Value::String(text) if text.is_empty() => None,
            Value::Array(people) if people.is_empty() => None,
            value => Some(answer(value, &path.key("value"))?),
        };
        Ok(Self(id, answer))
    }

    fn schema() -> Schema {
        Object::schema(members)
    }
}

fn members(mut object: Object<'_>) -> Result<(i64, Value), ParamFault> {
    let id = object.required("id")?;
    let Said(value) = object.required("value")?;
    Ok((id, value))
}

/// An answer as it is given: a text, people, or nothing.
struct Said(Value);

impl FromJson for Said {
    fn from_json(value: Value, path: &Path<'_>) -> Result<Self, ParamFault> {
        Value::from_json(value, path).map(Self)
    }

    fn schema() -> Schema {
        Schema::any_of([Schema::string(), Vec::<UserId>::schema()]).or_null()
    }
}

fn answer(value: Value, path: &Path<'_>) -> Result<ProfileValue, ParamFault> {
    match value {
        Value::String(text) => Ok(ProfileValue::Text(text)),
        Value::Array(_) => Vec::<UserId>::from_json(value, &path.key("list[int]")).map(ProfileValue::People),
        _ => Err(path.key("str").is_not(Expected::String)),
    }
}
