//! Parameters that profile fields and answers to them are described with.

use chat_core::id::UserId;
use chat_core::people::profile::{FieldData, ProfileValue};
use serde_json::Value;

use crate::params::{Expected, FromJson, Json, JsonObject, JsonPath, ParamError, ParamFormat, ParamKind, RawParam};
use crate::schema::Schema;

/// `field_data`, as JSON: an object of texts and of objects of texts, in the order sent.
#[derive(Debug)]
pub(super) struct FieldDataParam;

impl ParamKind for FieldDataParam {
    type Value = FieldData;

    fn form() -> ParamFormat {
        Json::<JsonFieldData>::form()
    }

    fn to_json(data: &FieldData) -> Option<Value> {
        Some(Value::Object(data.clone()))
    }

    fn decode(param: RawParam<'_>) -> Result<FieldData, ParamError> {
        Json::<JsonFieldData>::decode(param).map(|JsonFieldData(data)| data)
    }
}

struct JsonFieldData(FieldData);

impl FromJson for JsonFieldData {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        let Value::Object(members) = value else { return Err(path.is_not(Expected::Dict)) };
        members.iter().try_for_each(|(key, member)| check_member(member, &path.key(key)))?;
        Ok(Self(members))
    }

    fn schema() -> Schema {
        Schema::map(Schema::any_of([Schema::string(), Schema::map(Schema::string())]))
    }
}

/// A path through a value of several types names the alternative it took.
fn check_member(member: &Value, path: &JsonPath<'_>) -> Result<(), ParamError> {
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
pub(crate) struct ProfileAnswersParam;

impl ParamKind for ProfileAnswersParam {
    type Value = Vec<(i64, Option<ProfileValue>)>;

    fn form() -> ParamFormat {
        Json::<Vec<JsonProfileAnswer>>::form()
    }

    fn decode(param: RawParam<'_>) -> Result<Self::Value, ParamError> {
        let answers = Json::<Vec<JsonProfileAnswer>>::decode(param)?;
        Ok(answers.into_iter().map(|JsonProfileAnswer(id, answer)| (id, answer)).collect())
    }
}

struct JsonProfileAnswer(i64, Option<ProfileValue>);

impl FromJson for JsonProfileAnswer {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        let (id, value) = members(JsonObject::of(value, path)?)?;
        let answer = match value {
            Value::Null => None,
            Value::String(text) if text.is_empty() => None,
            Value::Array(people) if people.is_empty() => None,
            value => Some(answer(value, &path.key("value"))?),
        };
        Ok(Self(id, answer))
    }

    fn schema() -> Schema {
        JsonObject::schema(members)
    }
}

fn members(mut object: JsonObject<'_>) -> Result<(i64, Value), ParamError> {
    let id = object.required("id")?;
    let JsonProfileValue(value) = object.required("value")?;
    Ok((id, value))
}

/// An answer as it is given: a text, people, or nothing.
struct JsonProfileValue(Value);

impl FromJson for JsonProfileValue {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        Value::from_json(value, path).map(Self)
    }

    fn schema() -> Schema {
        Schema::any_of([Schema::string(), Vec::<UserId>::schema()]).or_null()
    }
}

fn answer(value: Value, path: &JsonPath<'_>) -> Result<ProfileValue, ParamError> {
    match value {
        Value::String(text) => Ok(ProfileValue::Text(text)),
        Value::Array(_) => Vec::<UserId>::from_json(value, &path.key("list[int]")).map(ProfileValue::People),
        _ => Err(path.key("str").is_not(Expected::String)),
    }
}
