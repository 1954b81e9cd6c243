//! What values on the wire can be, as JSON Schema: of parameters ([`crate::params`]) and of answers.

use serde_json::{Map, Value, json};

/// The JSON Schema of a value, of draft 2020-12, in which `OpenAPI` 3.1 has its schemas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonSchema(Map<String, Value>);

impl JsonSchema {
    /// Returns the schema of any value.
    #[must_use]
    pub fn any() -> Self {
        Self(Map::new())
    }

    fn typed(name: &str) -> Self {
        Self::any().with_keyword("type", name)
    }

    /// Returns the schema of a boolean.
    #[must_use]
    pub fn boolean() -> Self {
        Self::typed("boolean")
    }

    /// Returns the schema of an integer.
    #[must_use]
    pub fn integer() -> Self {
        Self::typed("integer")
    }

    /// Returns the schema of a string.
    #[must_use]
    pub fn string() -> Self {
        Self::typed("string")
    }

    /// Returns the schema of a list whose elements match `of`.
    #[must_use]
    pub fn list(of: Self) -> Self {
        Self::typed("array").with_keyword("items", of)
    }

    /// Returns the schema of an object with arbitrary keys whose values match `of`.
    #[must_use]
    pub fn map(of: Self) -> Self {
        Self::typed("object").with_keyword("additionalProperties", of)
    }

    /// Returns the schema of an object with these members. It may have others, unless it is
    /// [`Self::without_additional_members`].
    #[must_use]
    pub fn object(members: impl IntoIterator<Item = SchemaMember>) -> Self {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for SchemaMember { key, schema, is_always } in members {
            if is_always {
                required.push(Value::from(key));
            }
            properties.insert(key.to_owned(), schema.into());
        }
        let object = Self::typed("object").with_keyword("properties", properties);
        if required.is_empty() { object } else { object.with_keyword("required", required) }
    }

    /// Forbids members that are not named.
    #[must_use]
    pub fn without_additional_members(self) -> Self {
        self.with_keyword("additionalProperties", false)
    }

    /// Returns the schema of a value that matches any of `choices`.
    #[must_use]
    pub fn any_of(choices: impl IntoIterator<Item = Self>) -> Self {
        Self::any().with_keyword("anyOf", choices.into_iter().map(Value::from).collect::<Vec<_>>())
    }

    /// Returns the schema of one of these strings.
    #[must_use]
    pub fn one_of_words<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self::string().with_keyword("enum", words.into_iter().collect::<Vec<_>>())
    }

    /// Returns the schema of one of these numbers.
    #[must_use]
    pub fn one_of_numbers(numbers: impl IntoIterator<Item = i64>) -> Self {
        Self::integer().with_keyword("enum", numbers.into_iter().collect::<Vec<_>>())
    }

    /// Returns a reference to the schema of that name in the API's document ([`crate::openapi::schemas`]).
    #[must_use]
    pub fn reference_to(name: &str) -> Self {
        Self::any().with_keyword("$ref", format!("#/components/schemas/{name}"))
    }

    /// Returns the schema that accepts null too.
    #[must_use]
    pub fn nullable(self) -> Self {
        Self::any_of([self, Self::typed("null")])
    }

    /// Adds a minimum to the schema of a number.
    #[must_use]
    pub fn with_minimum(self, least: i64) -> Self {
        self.with_keyword("minimum", least)
    }

    /// Adds a maximum to the schema of a number.
    #[must_use]
    pub fn with_maximum(self, most: i64) -> Self {
        self.with_keyword("maximum", most)
    }

    /// Adds a maximum length, in characters, to the schema of a string.
    #[must_use]
    pub fn with_max_length(self, characters: usize) -> Self {
        self.with_keyword("maxLength", characters)
    }

    /// Adds a description to the schema.
    #[must_use]
    pub fn with_description(self, text: &str) -> Self {
        self.with_keyword("description", text)
    }

    /// Adds an example to the schema.
    #[must_use]
    pub fn with_example(self, example: impl Into<Value>) -> Self {
        let examples = vec![example.into()];
        self.with_keyword("examples", examples)
    }

    /// Adds a keyword to the schema.
    #[must_use]
    pub fn with_keyword(mut self, keyword: &str, value: impl Into<Value>) -> Self {
        self.0.insert(keyword.to_owned(), value.into());
        self
    }

    /// Returns the value of a keyword.
    #[must_use]
    pub fn keyword_value(&self, keyword: &str) -> Option<&Value> {
        self.0.get(keyword)
    }

    /// Returns a sample value that matches the schema: its example, its first choice, or the least there is.
    #[must_use]
    pub fn sample_value(&self) -> Value {
        sample(&self.0)
    }
}

impl From<JsonSchema> for Value {
    fn from(schema: JsonSchema) -> Self {
        Self::Object(schema.0)
    }
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaMember {
    key: &'static str,
    schema: JsonSchema,
    is_always: bool,
}

/// Returns a required member of an object schema.
#[must_use]
pub const fn required_schema_member(key: &'static str, schema: JsonSchema) -> SchemaMember {
    SchemaMember { key, schema, is_always: true }
}

/// Returns an optional member of an object schema.
#[must_use]
pub const fn optional_schema_member(key: &'static str, schema: JsonSchema) -> SchemaMember {
    SchemaMember { key, schema, is_always: false }
}

fn sample(schema: &Map<String, Value>) -> Value {
    let first = |keyword: &str| schema.get(keyword).and_then(Value::as_array).and_then(|values| values.first());
    if let Some(value) = first("examples").or_else(|| first("enum")) {
        return value.clone();
    }
    if let Some(choice) = first("anyOf").and_then(Value::as_object) {
        return sample(choice);
    }
    let number = |keyword: &str| schema.get(keyword).and_then(Value::as_i64);
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") => number("minimum").unwrap_or(1).max(1).min(number("maximum").unwrap_or(i64::MAX)).into(),
        Some("string") => "x".into(),
        Some("array") => {
            schema.get("items").and_then(Value::as_object).map(|of| json!([sample(of)])).unwrap_or_default()
        }
        Some("object") => of_members(schema),
        Some("null") => Value::Null,
        _ => true.into(),
    }
}

fn of_members(schema: &Map<String, Value>) -> Value {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let of = |key: &str| schema.get("properties")?.get(key)?.as_object().map(sample);
    required.filter_map(|key| Some((key.to_owned(), of(key)?))).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_what_the_schema_describes() {
        for (schema, value) in [
            (JsonSchema::boolean(), json!(true)),
            (JsonSchema::integer(), json!(1)),
            (JsonSchema::integer().with_minimum(5), json!(5)),
            (JsonSchema::integer().with_minimum(-5).with_maximum(0), json!(0)),
            (JsonSchema::one_of_words(["b", "a"]), json!("b")),
            (JsonSchema::string().with_example("y"), json!("y")),
            (JsonSchema::list(JsonSchema::integer()), json!([1])),
            (JsonSchema::string().nullable(), json!("x")),
            (
                JsonSchema::object([
                    required_schema_member("a", JsonSchema::boolean()),
                    optional_schema_member("b", JsonSchema::string()),
                ])
                .without_additional_members(),
                json!({"a": true}),
            ),
            (JsonSchema::map(JsonSchema::string()), json!({})),
            (JsonSchema::any(), json!(true)),
        ] {
            assert_eq!(schema.sample_value(), value, "{schema:?}");
        }
    }
}
