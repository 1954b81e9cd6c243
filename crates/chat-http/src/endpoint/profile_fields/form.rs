//! Parameters that profile fields and answers to them are described with.

use chat_core::id::UserId;
use chat_core::people::custom_profile_fields::{ProfileFieldData, ProfileFieldValue};
use serde_json::Value;

use crate::json_schema::JsonSchema;
use crate::params::{
    ExpectedJsonType, FromJson, JsonObjectReader, JsonParam, ParamDecoder, ParamError, ParamValuePath, ParamWireFormat,
    RawParam,
};

/// `field_data`, as JSON: an object of texts and of objects of texts, in the order sent.
#[derive(Debug)]
pub(super) struct FieldDataParam;

impl ParamDecoder for FieldDataParam {
    type Value = ProfileFieldData;

    fn wire_format() -> ParamWireFormat {
        JsonParam::<JsonFieldData>::wire_format()
    }

    fn documented_default(data: &ProfileFieldData) -> Option<Value> {
        Some(Value::Object(data.clone()))
    }

    fn decode(param: RawParam<'_>) -> Result<ProfileFieldData, ParamError> {
        JsonParam::<JsonFieldData>::decode(param).map(|JsonFieldData(data)| data)
    }
}

struct JsonFieldData(ProfileFieldData);

impl FromJson for JsonFieldData {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let Value::Object(members) = value else { return Err(path.wrong_type_error(ExpectedJsonType::Dict)) };
        members.iter().try_for_each(|(key, member)| check_member(member, &path.member(key)))?;
        Ok(Self(members))
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::map(JsonSchema::any_of([JsonSchema::string(), JsonSchema::map(JsonSchema::string())]))
    }
}

/// A path through a value of several types names the alternative it took.
fn check_member(member: &Value, path: &ParamValuePath<'_>) -> Result<(), ParamError> {
    match member {
        Value::String(_) => Ok(()),
        Value::Object(members) => match members.iter().find(|(_, text)| !text.is_string()) {
            Some((key, _)) => Err(path.member("dict[str,str]").member(key).wrong_type_error(ExpectedJsonType::String)),
            None => Ok(()),
        },
        _ => Err(path.member("str").wrong_type_error(ExpectedJsonType::String)),
    }
}

/// Answers, as JSON: objects with `id` and `value`. An empty value takes an answer back.
#[derive(Debug)]
pub(crate) struct ProfileAnswersParam;

impl ParamDecoder for ProfileAnswersParam {
    type Value = Vec<(i64, Option<ProfileFieldValue>)>;

    fn wire_format() -> ParamWireFormat {
        JsonParam::<Vec<JsonProfileAnswer>>::wire_format()
    }

    fn decode(param: RawParam<'_>) -> Result<Self::Value, ParamError> {
        let answers = JsonParam::<Vec<JsonProfileAnswer>>::decode(param)?;
        Ok(answers.into_iter().map(|JsonProfileAnswer(id, answer)| (id, answer)).collect())
    }
}

struct JsonProfileAnswer(i64, Option<ProfileFieldValue>);

impl FromJson for JsonProfileAnswer {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let (id, value) = members(JsonObjectReader::from_value(value, path)?)?;
        let answer = match value {
            Value::Null => None,
            Value::String(text) if text.is_empty() => None,
            Value::Array(people) if people.is_empty() => None,
            value => Some(answer(value, &path.member("value"))?),
        };
        Ok(Self(id, answer))
    }

    fn json_schema() -> JsonSchema {
        JsonObjectReader::infer_schema(members)
    }
}

fn members(mut object: JsonObjectReader<'_>) -> Result<(i64, Value), ParamError> {
    let id = object.required_member("id")?;
    let JsonProfileValue(value) = object.required_member("value")?;
    Ok((id, value))
}

/// An answer as it is given: a text, people, or nothing.
struct JsonProfileValue(Value);

impl FromJson for JsonProfileValue {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        Value::from_json(value, path).map(Self)
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::any_of([JsonSchema::string(), Vec::<UserId>::json_schema()]).nullable()
    }
}

fn answer(value: Value, path: &ParamValuePath<'_>) -> Result<ProfileFieldValue, ParamError> {
    match value {
        Value::String(text) => Ok(ProfileFieldValue::Text(text)),
        Value::Array(_) => Vec::<UserId>::from_json(value, &path.member("list[int]")).map(ProfileFieldValue::People),
        _ => Err(path.member("str").wrong_type_error(ExpectedJsonType::String)),
    }
}
