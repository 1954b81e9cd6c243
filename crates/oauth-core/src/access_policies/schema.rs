//! The engine `json-schema`: a schema of draft 7 that the request object meets.
//!
//! A schema is compiled once, with the regular expressions of a linear engine. What it may not do is
//! what would let it run for ever: refer outside of itself, or lead back to itself. A request is no
//! tree of unknown depth, so nothing that describes one is lost.
//!
//! # Source
//! JSON Schema draft-07; `docs/decisions.md`, "Access policies".

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value};

/// Most values a schema may have, with everything it refers to written out. Not specified; far beyond
/// any schema of a request.
const MAX_VALUES: usize = 5_000;
/// Largest compiled form of one regular expression, in bytes.
const MAX_REGEX_BYTES: usize = 256 * 1024;
/// What a schema may refer to.
const DEFINITIONS: &str = "#/definitions/";

/// A compiled JSON Schema of an access policy.
#[derive(Clone)]
pub struct CompiledPolicySchema {
    validator: Arc<Validator>,
    is_anything: bool,
}

impl fmt::Debug for CompiledPolicySchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("is_anything", &self.is_anything).finish_non_exhaustive()
    }
}

/// The reason why the JSON Schema of a policy is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicySchemaError {
    /// It is no object and no boolean.
    #[error("schema is an object: a JSON Schema of draft 7")]
    NotASchema,
    /// It refers to something else than a definition of its own.
    #[error("the reference {0} is not to one of the schema's own definitions, #/definitions/…")]
    Reference(String),
    /// It gives a part of itself another address.
    #[error("$id is not supported: every reference is to the schema's own definitions")]
    Id,
    /// It leads back to itself.
    #[error("the definition {0} leads back to itself")]
    Cycle(String),
    /// It is too large.
    #[error("the schema has more than {MAX_VALUES} values, its references written out")]
    TooLarge,
    /// The compiler refuses it.
    #[error("the schema is not valid: {0}")]
    Invalid(String),
}

impl CompiledPolicySchema {
    /// Compiles a schema.
    ///
    /// # Errors
    /// [`PolicySchemaError`].
    pub fn compile(schema: &Value) -> Result<Self, PolicySchemaError> {
        if !(schema.is_object() || schema.is_boolean()) {
            return Err(PolicySchemaError::NotASchema);
        }
        let own = Map::new();
        let definitions = schema.get("definitions").and_then(Value::as_object).unwrap_or(&own);
        let mut sizes = Sizes { definitions, known: BTreeMap::new() };
        if sizes.of(schema, true)? > MAX_VALUES {
            return Err(PolicySchemaError::TooLarge);
        }
        let validator = jsonschema::options()
            .with_draft(Draft::Draft7)
            .with_pattern_options(PatternOptions::regex().size_limit(MAX_REGEX_BYTES))
            .build(schema)
            .map_err(|error| PolicySchemaError::Invalid(error.to_string()))?;
        let is_anything = schema == &Value::Bool(true) || schema.as_object().is_some_and(Map::is_empty);
        Ok(Self { validator: Arc::new(validator), is_anything })
    }

    /// Returns whether `request` is valid against the schema. Empty lists, objects and texts, and null, count as
    /// missing.
    #[must_use]
    pub fn accepts_request(&self, request: &Value) -> bool {
        self.validator.is_valid(&without_empty(request).unwrap_or_else(|| Value::Object(Map::new())))
    }

    /// Returns whether the schema accepts every request.
    #[must_use]
    pub fn accepts_everything(&self) -> bool {
        self.is_anything
    }
}

/// How large the parts of a schema are with everything they refer to.
struct Sizes<'a> {
    definitions: &'a Map<String, Value>,
    /// `None` while it is being counted.
    known: BTreeMap<&'a str, Option<usize>>,
}

impl<'a> Sizes<'a> {
    fn of(&mut self, value: &'a Value, is_root: bool) -> Result<usize, PolicySchemaError> {
        let mut size = 1_usize;
        match value {
            Value::Object(members) => {
                if members.contains_key("$id") && !is_root {
                    return Err(PolicySchemaError::Id);
                }
                if let Some(Value::String(reference)) = members.get("$ref") {
                    size = size.saturating_add(self.of_definition(reference)?);
                }
                for inner in members.values() {
                    size = size.saturating_add(self.of(inner, false)?);
                }
            }
            Value::Array(elements) => {
                for inner in elements {
                    size = size.saturating_add(self.of(inner, false)?);
                }
            }
            _ => {}
        }
        Ok(size)
    }

    fn of_definition(&mut self, reference: &'a str) -> Result<usize, PolicySchemaError> {
        let unknown = || PolicySchemaError::Reference(reference.to_owned());
        let name = reference.strip_prefix(DEFINITIONS).ok_or_else(unknown)?;
        match self.known.get(name) {
            Some(Some(size)) => return Ok(*size),
            Some(None) => return Err(PolicySchemaError::Cycle(name.to_owned())),
            None => {}
        }
        let definition = self.definitions.get(name).ok_or_else(unknown)?;
        self.known.insert(name, None);
        let size = self.of(definition, false)?;
        self.known.insert(name, Some(size));
        Ok(size)
    }
}

/// A value without what is empty in it; `None` when nothing is left.
fn without_empty(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) => (!text.is_empty()).then(|| value.clone()),
        Value::Array(elements) => {
            let kept: Vec<Value> = elements.iter().filter_map(without_empty).collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        Value::Object(members) => {
            let kept = members.iter().filter_map(|(name, inner)| Some((name.clone(), without_empty(inner)?)));
            let kept: Map<String, Value> = kept.collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Bool(_) | Value::Number(_) => Some(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fault(schema: &Value) -> PolicySchemaError {
        CompiledPolicySchema::compile(schema).unwrap_err()
    }

    #[test]
    fn a_request_meets_a_schema_of_draft_7() {
        let schema = CompiledPolicySchema::compile(&json!({
            "type": "object",
            "required": ["user"],
            "properties": {
                "uri": {"pattern": "^/fhir/Patient"},
                "user": {"$ref": "#/definitions/staff"},
            },
            "definitions": {"staff": {"properties": {"data": {"properties": {"roles": {"contains": {"const": "nurse"}}}}}}},
        }))
        .unwrap();
        let request = |roles: &[&str]| json!({"uri": "/fhir/Patient/1", "user": {"data": {"roles": roles}}});
        assert!(schema.accepts_request(&request(&["clerk", "nurse"])));
        assert!(!schema.accepts_request(&request(&["clerk"])));
        assert!(!schema.accepts_request(&json!({"uri": "/fhir/Patient/1"})));
        assert!(!schema.accepts_request(&json!({"uri": "/fhir/Claim", "user": {"x": 1}})));
        assert!(
            !schema.accepts_everything() && CompiledPolicySchema::compile(&json!({})).unwrap().accepts_everything()
        );
    }

    #[test]
    fn what_is_empty_counts_as_missing() {
        let schema = CompiledPolicySchema::compile(&json!({"required": ["user"]})).unwrap();
        for empty in [json!(null), json!(""), json!([]), json!({}), json!({"a": [{"b": ""}]})] {
            assert!(!schema.accepts_request(&json!({ "user": empty })), "{empty}");
        }
        assert!(schema.accepts_request(&json!({"user": false})) && schema.accepts_request(&json!({"user": 0})));
    }

    #[test]
    fn a_schema_that_would_run_for_ever_or_reach_outside_is_refused() {
        assert_eq!(fault(&json!("x")), PolicySchemaError::NotASchema);
        for reference in ["#", "#/properties/a", "https://elsewhere.example/s.json", "#/definitions/none"] {
            assert_eq!(fault(&json!({ "$ref": reference })), PolicySchemaError::Reference(reference.to_owned()));
        }
        let cycle = json!({"$ref": "#/definitions/a", "definitions": {
            "a": {"allOf": [{"$ref": "#/definitions/b"}]}, "b": {"properties": {"x": {"$ref": "#/definitions/a"}}},
        }});
        assert_eq!(fault(&cycle), PolicySchemaError::Cycle("a".to_owned()));
        assert_eq!(fault(&json!({"properties": {"a": {"$id": "x"}}})), PolicySchemaError::Id);
        let doubled = |n: usize| {
            (
                format!("d{n}"),
                json!({"allOf": [
                    {"$ref": format!("#/definitions/d{}", n + 1)}, {"$ref": format!("#/definitions/d{}", n + 1)},
                ]}),
            )
        };
        let mut definitions: Map<String, Value> = (0..40).map(doubled).collect();
        definitions.insert("d40".to_owned(), json!({}));
        assert_eq!(
            fault(&json!({"$ref": "#/definitions/d0", "definitions": definitions})),
            PolicySchemaError::TooLarge
        );
        for invalid in [json!({"type": "thing"}), json!({"pattern": "("}), json!({"pattern": "(?=a)"})] {
            assert!(matches!(fault(&invalid), PolicySchemaError::Invalid(_)), "{invalid}");
        }
    }
}
