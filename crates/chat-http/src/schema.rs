//! What values on the wire can be, as JSON Schema: of parameters ([`crate::params`]) and of answers.

use serde_json::{Map, Value, json};

/// A value's JSON Schema, of draft 2020-12, which `OpenAPI` 3.1 has its schemas in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema(Map<String, Value>);

impl Schema {
    /// Anything.
    #[must_use]
    pub fn any() -> Self {
        Self(Map::new())
    }

    fn typed(name: &str) -> Self {
        Self::any().with("type", name)
    }

    /// `true` or `false`.
    #[must_use]
    pub fn boolean() -> Self {
        Self::typed("boolean")
    }

    /// A number without fraction.
    #[must_use]
    pub fn integer() -> Self {
        Self::typed("integer")
    }

    /// Text.
    #[must_use]
    pub fn string() -> Self {
        Self::typed("string")
    }

    /// A list of such values.
    #[must_use]
    pub fn list(of: Self) -> Self {
        Self::typed("array").with("items", of)
    }

    /// An object whose keys are not known before.
    #[must_use]
    pub fn map(of: Self) -> Self {
        Self::typed("object").with("additionalProperties", of)
    }

    /// An object with these members. It may have others, unless it is [`Self::closed`].
    #[must_use]
    pub fn object(members: impl IntoIterator<Item = Member>) -> Self {
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for Member { key, schema, is_always } in members {
            if is_always {
                required.push(Value::from(key));
            }
            properties.insert(key.to_owned(), schema.into());
        }
        let object = Self::typed("object").with("properties", properties);
        if required.is_empty() { object } else { object.with("required", required) }
    }

    /// The same object without members that are not named.
    #[must_use]
    pub fn closed(self) -> Self {
        self.with("additionalProperties", false)
    }

    /// One of several.
    #[must_use]
    pub fn any_of(choices: impl IntoIterator<Item = Self>) -> Self {
        Self::any().with("anyOf", choices.into_iter().map(Value::from).collect::<Vec<_>>())
    }

    /// One of these words.
    #[must_use]
    pub fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self::string().with("enum", words.into_iter().collect::<Vec<_>>())
    }

    /// One of these numbers.
    #[must_use]
    pub fn numbers(numbers: impl IntoIterator<Item = i64>) -> Self {
        Self::integer().with("enum", numbers.into_iter().collect::<Vec<_>>())
    }

    /// Returns what the document describes under that name ([`crate::openapi::schemas`]).
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::any().with("$ref", format!("#/components/schemas/{name}"))
    }

    /// Returns the same, or null.
    #[must_use]
    pub fn or_null(self) -> Self {
        Self::any_of([self, Self::typed("null")])
    }

    /// The same number, from here on.
    #[must_use]
    pub fn at_least(self, least: i64) -> Self {
        self.with("minimum", least)
    }

    /// The same number, up to here.
    #[must_use]
    pub fn at_most(self, most: i64) -> Self {
        self.with("maximum", most)
    }

    /// The same text, of so many characters at most.
    #[must_use]
    pub fn at_most_chars(self, characters: usize) -> Self {
        self.with("maxLength", characters)
    }

    /// Returns the same, with what it means.
    #[must_use]
    pub fn meaning(self, text: &str) -> Self {
        self.with("description", text)
    }

    /// Returns the same, with a value that is one.
    #[must_use]
    pub fn such_as(self, example: impl Into<Value>) -> Self {
        let examples = vec![example.into()];
        self.with("examples", examples)
    }

    /// Returns the same, with one more keyword.
    #[must_use]
    pub fn with(mut self, keyword: &str, value: impl Into<Value>) -> Self {
        self.0.insert(keyword.to_owned(), value.into());
        self
    }

    /// Returns the value of a keyword.
    #[must_use]
    pub fn keyword(&self, keyword: &str) -> Option<&Value> {
        self.0.get(keyword)
    }

    /// A value that is one: its example, its first choice, or the least there is.
    #[must_use]
    pub fn sample(&self) -> Value {
        sample(&self.0)
    }
}

impl From<Schema> for Value {
    fn from(schema: Schema) -> Self {
        Self::Object(schema.0)
    }
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    key: &'static str,
    schema: Schema,
    is_always: bool,
}

/// A member that is always there.
#[must_use]
pub const fn has(key: &'static str, schema: Schema) -> Member {
    Member { key, schema, is_always: true }
}

/// A member that is not always there.
#[must_use]
pub const fn may(key: &'static str, schema: Schema) -> Member {
    Member { key, schema, is_always: false }
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
            (Schema::boolean(), json!(true)),
            (Schema::integer(), json!(1)),
            (Schema::integer().at_least(5), json!(5)),
            (Schema::integer().at_least(-5).at_most(0), json!(0)),
            (Schema::words(["b", "a"]), json!("b")),
            (Schema::string().such_as("y"), json!("y")),
            (Schema::list(Schema::integer()), json!([1])),
            (Schema::string().or_null(), json!("x")),
            (Schema::object([has("a", Schema::boolean()), may("b", Schema::string())]).closed(), json!({"a": true})),
            (Schema::map(Schema::string()), json!({})),
            (Schema::any(), json!(true)),
        ] {
            assert_eq!(schema.sample(), value, "{schema:?}");
        }
    }
}
