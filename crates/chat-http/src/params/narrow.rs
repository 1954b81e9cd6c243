//! `narrow`: a list of terms, each an object or, in older words, a pair of strings.

use chat_core::limits::MAX_NARROW_TERMS;
use chat_core::messages::narrow::NarrowOperand;
use serde_json::{Map, Value, json};

use super::{ExpectedJsonType, FromJson, ParamError, ParamValuePath};
use crate::json_schema::{JsonSchema, optional_schema_member, required_schema_member};

/// A narrow as sent, before its terms are interpreted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RawNarrow(pub Vec<RawNarrowTerm>);

/// A term of a narrow as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawNarrowTerm {
    /// What is asked.
    pub operator: String,
    /// Of what.
    pub operand: NarrowOperand,
    /// Whether the opposite is.
    pub negated: bool,
}

/// Operators whose operand may be a number.
const NUMBER: [&str; 8] =
    ["channel", "stream", "id", "sender", "group-pm-with", "group_pm_with", "dm-including", "with"];
/// Operators whose operand may be a list of numbers.
const NUMBERS: [&str; 3] = ["dm", "pm-with", "pm_with"];

impl FromJson for RawNarrow {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let terms = Vec::<RawNarrowTerm>::from_json(value, path)?;
        if terms.len() > MAX_NARROW_TERMS {
            return Err(ParamError::Unfit {
                path: path.to_string(),
                what: format!("too many terms (limit: {MAX_NARROW_TERMS})"),
            });
        }
        Ok(Self(terms))
    }

    fn json_schema() -> JsonSchema {
        JsonSchema::list(RawNarrowTerm::json_schema()).with_keyword("maxItems", MAX_NARROW_TERMS)
    }
}

impl FromJson for RawNarrowTerm {
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let unfit = |what: &str| Err(ParamError::Unfit { path: path.to_string(), what: what.to_owned() });
        match value {
            Value::Array(pair) => match <[Value; 2]>::try_from(pair) {
                Ok([Value::String(operator), Value::String(operand)]) => {
                    let operand = read_operand(&operator, Value::String(operand))?;
                    Ok(Self { operator, operand, negated: false })
                }
                _ => unfit("element is not a string pair"),
            },
            Value::Object(mut members) => {
                let mut take = |key: &str| members.remove(key).filter(|member| !member.is_null());
                let Some(operand) = take("operand") else { return unfit("operand is missing") };
                let Some(operator) = take("operator") else { return unfit("operator is missing") };
                Self::of(operator, operand, members, path)
            }
            _ => unfit("dict or list required"),
        }
    }

    fn json_schema() -> JsonSchema {
        let numbers = JsonSchema::list(JsonSchema::integer());
        let term = JsonSchema::object([
            required_schema_member("operator", JsonSchema::string()),
            required_schema_member(
                "operand",
                JsonSchema::any_of([JsonSchema::string(), JsonSchema::integer(), numbers]),
            ),
            optional_schema_member("negated", JsonSchema::boolean()),
        ]);
        let pair = JsonSchema::list(JsonSchema::string()).with_keyword("minItems", 2).with_keyword("maxItems", 2);
        let term = term.with_example(json!({"operator": "is", "operand": "starred"}));
        JsonSchema::any_of([term, pair.with_example(json!(["is", "starred"]))])
    }
}

impl RawNarrowTerm {
    /// Members of other names are ignored.
    fn of(
        operator: Value,
        operand: Value,
        mut members: Map<String, Value>,
        path: &ParamValuePath<'_>,
    ) -> Result<Self, ParamError> {
        let operator = String::from_json(operator, &path.member("operator"))?;
        let negated =
            members.remove("negated").map(|value| bool::from_json(value, &path.member("negated"))).transpose()?;
        let operand = read_operand(&operator, operand)?;
        Ok(Self { operator, operand, negated: negated.unwrap_or_default() })
    }
}

/// Returns the texts name the operand alone, without its place, as existing clients know them.
fn read_operand(operator: &str, operand: Value) -> Result<NarrowOperand, ParamError> {
    let wrong = |text: &str| Err(ParamError::Operand(text.to_owned()));
    let takes_number = NUMBER.contains(&operator) || operator == "near";
    match operand {
        Value::String(text) if operator == "search" && text.trim().is_empty() => wrong("operand cannot be blank."),
        Value::String(text) => Ok(NarrowOperand::Text(text)),
        Value::Number(number) if takes_number => match number.as_i64() {
            Some(number) => Ok(NarrowOperand::Number(number)),
            None => wrong("operand is not a string or integer"),
        },
        Value::Array(list) if NUMBERS.contains(&operator) => {
            let path = ParamValuePath::root("operand");
            let number = |(place, value): (usize, Value)| match value.as_i64() {
                Some(number) => Ok(number),
                None => Err(path.element(place).wrong_type_error(ExpectedJsonType::Integer)),
            };
            Ok(NarrowOperand::Numbers(list.into_iter().enumerate().map(number).collect::<Result<_, _>>()?))
        }
        _ if takes_number => wrong("operand is not a string or integer"),
        _ if NUMBERS.contains(&operator) => wrong("operand is not a string or an integer list"),
        _ => wrong("operand is not a string"),
    }
}
