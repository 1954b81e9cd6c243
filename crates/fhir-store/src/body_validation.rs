//! Whether a body may be stored: an object of the right type and id, not too deep, without what no
//! engine can give back.
//!
//! Only the shape is looked at here. What the elements of a type have to be is decided
//! by the crate that has its rules.

use fhir_resource::{ResourceId, ResourceKey, ResourceType};
use serde_json::{Map, Number, Value};

use crate::limits;

/// Most faults reported of one body; the rest would tell the writer nothing new.
const MAX_FAULTS: usize = 20;

/// One error in a request body.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{expression}: {problem}")]
pub struct RequestBodyError {
    /// The position as a `FHIRPath` expression: `Client.auth.client_credentials`, `Client.extension[0]`.
    pub expression: String,
    /// The kind of the error.
    pub problem: RequestBodyErrorKind,
}

/// The kind of error in a request body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestBodyErrorKind {
    /// A resource, or its `meta`, is not a JSON object.
    #[error("must be an object")]
    NotAnObject,
    /// `resourceType` or `id` is no string.
    #[error("must be a string")]
    NotAString,
    /// `resourceType` differs from the address.
    #[error("does not name the type that is written")]
    OtherType,
    /// `id` is needed, because neither address nor condition names the resource.
    #[error("is required")]
    Required,
    /// `id` has characters or a length an id cannot have.
    #[error("is not an id")]
    NotAnId,
    /// `id` differs from the address.
    #[error("does not equal the id that is written")]
    OtherId,
    /// Nested deeper than [`limits::MAX_RESOURCE_DEPTH`].
    #[error("is nested too deeply")]
    TooDeep,
    /// A string or a key holds the character NUL, which no engine stores.
    #[error("contains the character NUL")]
    Nul,
    /// A key that the JSON library takes for a command when it reads the body back.
    #[error("is a name no element can have")]
    ReservedName,
    /// A number that [`is_number_storable`] refuses.
    #[error("is a number beyond what a double can hold, or has more than 256 characters")]
    Number,
}

/// What the names begin with that the JSON library keeps for itself. An object whose first member has
/// such a name is no object when it is read again, and which member comes first is up to the engine.
const RESERVED: &str = "$serde_json::private::";

/// Longest number in JSON, in characters. Not specified; a FHIR decimal has 18 digits.
const MAX_NUMBER_CHARACTERS: usize = 256;

/// Returns whether an element name may be stored: a prefix that the JSON library uses itself is reserved.
#[must_use]
pub fn is_element_name_storable(name: &str) -> bool {
    !name.starts_with(RESERVED)
}

/// Returns whether a number may be stored or searched for: it has at most 256 characters, and a double represents it at
/// least roughly.
///
/// Not specified; a number beyond a double measures nothing, and one engine fails on it. The digits of a stored number
/// stay as they were sent.
#[must_use]
pub fn is_number_storable(number: &Number) -> bool {
    if number.is_i64() || number.is_u64() {
        return true;
    }
    let text = number.to_string();
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
    let is_zero = !mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    // The engine that fails on numbers it cannot hold counts the exponent of a zero too.
    let is_near = exponent.parse::<i16>().is_ok_and(|exponent| exponent.unsigned_abs() <= MAX_EXPONENT);
    let rough = number.as_f64().filter(|rough| rough.is_finite());
    text.len() <= MAX_NUMBER_CHARACTERS && is_near && rough.is_some_and(|rough| is_zero || rough != 0.0)
}

/// Largest exponent of ten either way: a little more than a double has.
const MAX_EXPONENT: u16 = 400;

/// Returns what about a value, whatever it becomes a part of, no engine could give back.
pub(crate) fn unstorable(value: &Value) -> Option<RequestBodyErrorKind> {
    match value {
        Value::Number(number) => (!is_number_storable(number)).then_some(RequestBodyErrorKind::Number),
        Value::String(text) => text.contains('\0').then_some(RequestBodyErrorKind::Nul),
        Value::Array(elements) => elements.iter().find_map(unstorable),
        Value::Object(members) => members.iter().find_map(|(name, inner)| {
            if is_element_name_storable(name) { unstorable(inner) } else { Some(RequestBodyErrorKind::ReservedName) }
        }),
        Value::Null | Value::Bool(_) => None,
    }
}

impl RequestBodyError {
    pub(crate) fn new(expression: impl Into<String>, problem: RequestBodyErrorKind) -> Self {
        Self { expression: expression.into(), problem }
    }
}

/// Returns the id in a request body, if it has one.
///
/// # Errors
/// [`RequestBodyErrorKind::NotAnId`] or [`RequestBodyErrorKind::NotAString`] for an `id` that is not one.
pub fn read_body_id(resource_type: &ResourceType, body: &Value) -> Result<Option<ResourceId>, RequestBodyError> {
    let fault = |problem| RequestBodyError::new(format!("{resource_type}.id"), problem);
    match body.get("id") {
        None => Ok(None),
        Some(Value::String(id)) => id.parse().map(Some).map_err(|_| fault(RequestBodyErrorKind::NotAnId)),
        Some(_) => Err(fault(RequestBodyErrorKind::NotAString)),
    }
}

/// Checks a request body, and returns it in the form in which it is stored under `key`, without the members that the
/// store keeps in columns.
///
/// `resourceType` and `id` may be left out; when they are there they have to be the key's.
/// `meta.versionId` and `meta.lastUpdated` are dropped without a look, because writers send back
/// what they read.
///
/// # Errors
/// Every error found, twenty at most.
pub fn prepare_stored_body(key: &ResourceKey, body: Value) -> Result<Value, Vec<RequestBodyError>> {
    let root = key.resource_type.as_str();
    let Value::Object(mut object) = body else {
        return Err(vec![RequestBodyError::new(root, RequestBodyErrorKind::NotAnObject)]);
    };
    let mut faults = identity_faults(key, &object);
    for (name, value) in &object {
        let mut walk = Walk { path: root.to_owned(), faults: &mut faults };
        walk.member(name, value, 1);
    }
    faults.truncate(MAX_FAULTS);
    if !faults.is_empty() {
        return Err(faults);
    }
    object.shift_remove("resourceType");
    object.shift_remove("id");
    strip_meta(&mut object);
    Ok(Value::Object(object))
}

fn identity_faults(key: &ResourceKey, object: &Map<String, Value>) -> Vec<RequestBodyError> {
    let mut faults = Vec::new();
    let mut compare = |name: &str, expected: &str, other| {
        let problem = match object.get(name) {
            None => return,
            Some(Value::String(text)) if text == expected => return,
            Some(Value::String(_)) => other,
            Some(_) => RequestBodyErrorKind::NotAString,
        };
        faults.push(RequestBodyError::new(format!("{}.{name}", key.resource_type), problem));
    };
    compare("resourceType", key.resource_type.as_str(), RequestBodyErrorKind::OtherType);
    compare("id", key.id.as_str(), RequestBodyErrorKind::OtherId);
    if object.get("meta").is_some_and(|meta| !meta.is_object()) {
        let expression = format!("{}.meta", key.resource_type);
        faults.push(RequestBodyError::new(expression, RequestBodyErrorKind::NotAnObject));
    }
    faults
}

fn strip_meta(object: &mut Map<String, Value>) {
    let Some(Value::Object(meta)) = object.get_mut("meta") else { return };
    meta.shift_remove("versionId");
    meta.shift_remove("lastUpdated");
    if meta.is_empty() {
        object.shift_remove("meta");
    }
}

/// Returns how many levels of objects and arrays a value has; a scalar has none.
pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Returns the approximate size of a value as JSON, in bytes.
#[must_use]
pub fn approximate_json_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len() + 2,
        Value::Array(elements) => 2 + elements.iter().map(approximate_json_bytes).sum::<usize>(),
        Value::Object(members) => {
            let pairs = members.iter().map(|(name, inner)| name.len() + 4 + approximate_json_bytes(inner));
            2 + pairs.sum::<usize>()
        }
    }
}

/// A walk over a body that keeps the expression of where it is.
struct Walk<'a> {
    path: String,
    faults: &'a mut Vec<RequestBodyError>,
}

impl Walk<'_> {
    fn member(&mut self, name: &str, value: &Value, depth: usize) {
        let length = self.path.len();
        self.path.push('.');
        self.path.push_str(name);
        if name.contains('\0') {
            self.report(RequestBodyErrorKind::Nul);
        }
        if !is_element_name_storable(name) {
            self.report(RequestBodyErrorKind::ReservedName);
        }
        self.value(value, depth);
        self.path.truncate(length);
    }

    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::String(text) if text.contains('\0') => self.report(RequestBodyErrorKind::Nul),
            Value::Number(number) if !is_number_storable(number) => self.report(RequestBodyErrorKind::Number),
            Value::Array(_) | Value::Object(_) if depth >= limits::MAX_RESOURCE_DEPTH => {
                self.report(RequestBodyErrorKind::TooDeep);
            }
            Value::Array(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    let length = self.path.len();
                    self.path.extend(["[", &index.to_string(), "]"]);
                    self.value(element, depth + 1);
                    self.path.truncate(length);
                }
            }
            Value::Object(members) => {
                for (name, inner) in members {
                    self.member(name, inner, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn report(&mut self, problem: RequestBodyErrorKind) {
        if self.faults.len() < MAX_FAULTS {
            // A NUL in a key must not travel on into the answer.
            let expression = self.path.replace('\0', "\u{fffd}");
            self.faults.push(RequestBodyError::new(expression, problem));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn client() -> ResourceKey {
        "Client/c1".parse().unwrap()
    }

    fn faults(body: Value) -> Vec<(String, RequestBodyErrorKind)> {
        let faults = prepare_stored_body(&client(), body).unwrap_err();
        faults.into_iter().map(|fault| (fault.expression, fault.problem)).collect()
    }

    #[test]
    fn a_stored_body_has_nothing_the_columns_hold() {
        let body = json!({
            "resourceType": "Client", "id": "c1", "active": true,
            "meta": {"versionId": "7", "lastUpdated": "2020-01-01T00:00:00Z", "tag": [1]},
        });
        let stored = prepare_stored_body(&client(), body).unwrap();
        assert_eq!(stored, json!({"active": true, "meta": {"tag": [1]}}));
    }

    #[test]
    fn a_meta_of_nothing_but_columns_is_dropped_whole() {
        let stored = prepare_stored_body(&client(), json!({"meta": {"versionId": "7"}})).unwrap();
        assert_eq!(stored, json!({}));
    }

    #[test]
    fn type_and_id_may_be_left_out_but_not_differ() {
        assert_eq!(prepare_stored_body(&client(), json!({})).unwrap(), json!({}));
        let body = json!({"resourceType": "User", "id": "c2"});
        let expected = vec![
            ("Client.resourceType".to_owned(), RequestBodyErrorKind::OtherType),
            ("Client.id".to_owned(), RequestBodyErrorKind::OtherId),
        ];
        assert_eq!(faults(body), expected);
        let expected = vec![("Client.id".to_owned(), RequestBodyErrorKind::NotAString)];
        assert_eq!(faults(json!({"id": 1})), expected);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for body in [json!([]), json!("x"), json!(null), json!(1)] {
            assert_eq!(faults(body), vec![("Client".to_owned(), RequestBodyErrorKind::NotAnObject)]);
        }
        let expected = vec![("Client.meta".to_owned(), RequestBodyErrorKind::NotAnObject)];
        assert_eq!(faults(json!({"meta": []})), expected);
    }

    #[test]
    fn nul_is_refused_with_its_place() {
        let expected = vec![("Client.a[1].b".to_owned(), RequestBodyErrorKind::Nul)];
        assert_eq!(faults(json!({"a": [0, {"b": "x\0"}]})), expected);
        let expected = vec![("Client.a\u{fffd}".to_owned(), RequestBodyErrorKind::Nul)];
        assert_eq!(faults(json!({"a\0": 1})), expected);
    }

    #[test]
    fn the_deepest_allowed_nesting_passes_and_one_more_is_refused() {
        let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
        let fits = json!({"a": nested(limits::MAX_RESOURCE_DEPTH - 1)});
        assert_eq!(depth(&fits), limits::MAX_RESOURCE_DEPTH);
        assert!(prepare_stored_body(&client(), fits).is_ok());
        let found = faults(json!({"a": nested(limits::MAX_RESOURCE_DEPTH)}));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].1, RequestBodyErrorKind::TooDeep);
    }

    #[test]
    fn a_name_that_would_not_be_read_back_is_refused_at_every_depth() {
        for name in ["$serde_json::private::Number", "$serde_json::private::RawValue", "$serde_json::private::x"] {
            let object = |value: Value| Value::from_iter([(name.to_owned(), value)]);
            for body in [
                json!({"resourceType": "Client", name: "x"}),
                json!({"a": object(json!("1"))}),
                json!({"a": [[object(json!({}))]]}),
                json!({"a": {"b": 1, name: {name: 1}}}),
            ] {
                let found = faults(body.clone());
                assert!(
                    found.iter().all(|(_, problem)| *problem == RequestBodyErrorKind::ReservedName),
                    "{body}: {found:?}"
                );
            }
        }
        assert!(
            prepare_stored_body(&client(), json!({"$serde_json": 1, "private": "$serde_json::private::Number"}))
                .is_ok()
        );
    }

    #[test]
    fn a_number_beyond_a_double_is_refused() {
        let number = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        for text in ["0", "-0.0", "0e300", "18446744073709551616", "1.10", "1e308", "1e-307", "-2.5E3"] {
            assert!(prepare_stored_body(&client(), json!({"a": [number(text)]})).is_ok(), "{text}");
        }
        let long = format!("0.{}", "1".repeat(MAX_NUMBER_CHARACTERS));
        for text in ["1e309", "-1e309", "1e-999", "1e200000", "0e-20000", "1e99999999999999999999", &long] {
            let expected = vec![("Client.a[0]".to_owned(), RequestBodyErrorKind::Number)];
            assert_eq!(faults(json!({"a": [number(text)]})), expected, "{text}");
        }
    }

    #[test]
    fn faults_are_counted_only_so_far() {
        let body = json!({"a": vec!["\0"; 500]});
        assert_eq!(faults(body).len(), MAX_FAULTS);
    }
}
