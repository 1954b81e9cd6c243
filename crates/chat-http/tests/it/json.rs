//! JSON-encoded values.

use std::collections::BTreeMap;

use chat_core::id::UserId;
use chat_http::params::{
    BoundedInteger, BoundedString, Expected, FromJson, Json, JsonObject, JsonPath, JsonWord, ListedNumber, NonNegative,
    NumberEnum, ParamError, WordEnum, WordParam, max_chars, not_blank,
};
use chat_http::schema::Schema;
use serde_json::{Value, json};

use crate::request_parsing::{refusal, sent};

#[test]
fn a_boolean_is_true_or_false_and_nothing_else() {
    assert!(sent::<Json<bool>>("true").unwrap());
    assert!(!sent::<Json<bool>>(" false ").unwrap());
    for other in ["1", "0", "null", "\"true\"", "[]"] {
        assert_eq!(refusal::<Json<bool>>(other), "value is not a boolean", "{other}");
    }
    for other in ["True", "yes", "", "tru", "true false"] {
        assert_eq!(refusal::<Json<bool>>(other), "value is not valid JSON", "{other}");
    }
}

#[test]
fn an_integer_has_neither_quotes_nor_fraction() {
    for (text, integer) in [("5", 5), ("-7", -7), ("0", 0), ("9223372036854775807", i64::MAX), ("-0", 0)] {
        assert_eq!(sent::<Json<i64>>(text).unwrap(), integer, "{text}");
    }
    for other in
        ["\"5\"", "5.0", "5.5", "1e3", "true", "null", "[5]", "{}", r#"{"$serde_json::private::Number":"5.5"}"#]
    {
        assert_eq!(refusal::<Json<i64>>(other), "value is not an integer", "{other}");
    }
    for other in ["", "05", "+5", "abc", "5 6", "NaN"] {
        assert_eq!(refusal::<Json<i64>>(other), "value is not valid JSON", "{other}");
    }
}

#[test]
fn an_integer_out_of_its_range_is_too_small_or_too_large() {
    assert_eq!(sent::<Json<BoundedInteger<1, 3>>>("3").unwrap().get(), 3);
    assert_eq!(refusal::<Json<BoundedInteger<1, 3>>>("0"), "value is too small");
    assert_eq!(refusal::<Json<BoundedInteger<1, 3>>>("4"), "value is too large");
    assert_eq!(refusal::<Json<NonNegative>>("-1"), "value is too small");
    assert_eq!(refusal::<Json<i64>>("9223372036854775808"), "value is too large");
    assert_eq!(refusal::<Json<i64>>(&format!("-{}", "9".repeat(400))), "value is too small");
}

#[test]
fn a_refusal_names_the_element() {
    assert_eq!(sent::<Json<Vec<i64>>>("[1, 2]").unwrap(), [1, 2]);
    assert_eq!(sent::<Json<Vec<UserId>>>("[3]").unwrap(), [UserId(3)]);
    assert_eq!(refusal::<Json<Vec<i64>>>("[1, \"2\"]"), "value[1] is not an integer");
    assert_eq!(refusal::<Json<Vec<Vec<String>>>>("[[\"a\"], [\"b\", 3]]"), "value[1][1] is not a string");
    assert_eq!(refusal::<Json<Vec<i64>>>("1,2"), "value is not valid JSON");
    assert_eq!(refusal::<Json<Vec<i64>>>("null"), "value is not a list");
    assert_eq!(refusal::<Json<BTreeMap<String, bool>>>("{\"a\": 1}"), "value[\"a\"] is not a boolean");
    assert_eq!(refusal::<Json<BTreeMap<String, bool>>>("[]"), "value is not a dict");
    assert_eq!(
        refusal::<Json<Vec<BoundedString<2>>>>("[\"ab\", \"abc\"]"),
        "value[1] is too long (limit: 2 characters)"
    );
}

#[test]
fn null_is_none_where_it_may_be_and_absence_is_told_apart() {
    assert_eq!(sent::<Json<Option<Vec<i64>>>>("null").unwrap(), None);
    assert_eq!(sent::<Json<Option<Vec<i64>>>>("[]").unwrap(), Some(vec![]));
    assert_eq!(refusal::<Json<Option<i64>>>("\"x\""), "value is not an integer");
    assert_eq!(refusal::<Json<String>>("null"), "value is not a string");
}

#[test]
fn nesting_has_a_limit_and_no_string_holds_a_nul() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(sent::<Json<Value>>(&nested(32)).is_ok());
    for levels in [33, 127, 128, 10_000] {
        assert_eq!(refusal::<Json<Value>>(&nested(levels)), "value is not valid JSON", "{levels}");
    }
    let objects = format!("{}1{}", "{\"a\":".repeat(33), "}".repeat(33));
    assert_eq!(refusal::<Json<Value>>(&objects), "value is not valid JSON");
    for text in [r#""a\u0000""#, r#"{"\u0000": 1}"#, r#"[["\u0000"]]"#] {
        assert!(matches!(sent::<Json<Value>>(text), Err(ParamError::Unreadable { .. })), "{text}");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Owner,
    Member,
}

impl NumberEnum for Role {
    const NUMBERS: &'static [(i64, Self)] = &[(100, Self::Owner), (400, Self::Member)];
}

#[test]
fn a_number_of_a_list_is_one_of_it() {
    assert_eq!(sent::<Json<ListedNumber<Role>>>("100").unwrap(), ListedNumber(Role::Owner));
    assert_eq!(sent::<Json<ListedNumber<Role>>>("400").unwrap(), ListedNumber(Role::Member));
    let text = "Invalid value: Value error, Not in the list of possible values";
    assert_eq!(refusal::<Json<ListedNumber<Role>>>("401"), text);
    assert_eq!(refusal::<Json<ListedNumber<Role>>>("\"100\""), "value is not an integer");
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Stream,
}

impl WordEnum for Kind {
    const WORDS: &'static [(&'static str, Self)] = &[("stream", Self::Stream)];
}

/// An object as endpoints declare one: a word, a text with rules, a member in older words, and an end or none.
#[derive(Debug)]
struct Draft<const STRICT: bool>;

impl<const STRICT: bool> FromJson for Draft<STRICT> {
    fn from_json(value: Value, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        Self::members(JsonObject::of(value, path)?, path)
    }

    fn schema() -> Schema {
        JsonObject::schema(|object| Self::members(object, &JsonPath::name("")))
    }
}

impl<const STRICT: bool> Draft<STRICT> {
    fn members(mut object: JsonObject<'_>, path: &JsonPath<'_>) -> Result<Self, ParamError> {
        let JsonWord(Kind::Stream) = object.required("type")?;
        let content: String = object.required("content")?;
        not_blank(&content, &path.key("content"))?;
        max_chars(&content, 3, &path.key("content"))?;
        object.required::<i64>("order")?;
        object.optional::<Option<bool>>("flag")?;
        if STRICT {
            object.end()?;
        }
        Ok(Self)
    }
}

#[test]
fn what_an_object_can_be_is_what_it_reads() {
    let expected = json!({
        "type": "object",
        "properties": {
            "type": {"type": "string", "enum": ["stream"]},
            "content": {"type": "string"},
            "order": {"type": "integer"},
            "flag": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        },
        "required": ["type", "content", "order"],
    });
    assert_eq!(Value::from(Draft::<false>::schema()), expected);
    assert_eq!(Value::from(Draft::<true>::schema())["additionalProperties"], false);
}

#[test]
fn an_object_says_which_key_is_wrong_missing_or_too_many() {
    let draft = |more: &str| format!(r#"[{{"type": "stream", "content": "abc", "order": 1{more}}}]"#);
    assert!(sent::<Json<Vec<Draft<true>>>>(&draft(r#", "flag": null"#)).is_ok());
    assert!(sent::<Json<Vec<Draft<false>>>>(&draft(r#", "foo": 1"#)).is_ok());
    let cases = [
        (draft(r#", "foo": 1"#), r#"Argument "foo" at value[0]["foo"] is unexpected"#),
        (draft(r#", "flag": 1"#), r#"value[0]["flag"] is not a boolean"#),
        (r#"[{"type": "x"}]"#.to_owned(), r#"Invalid value[0]["type"]"#),
        ("[{}]".to_owned(), r#"value[0]["type"] field is missing: Field required"#),
        (r#"[{"type": "stream", "content": " "}]"#.to_owned(), r#"value[0]["content"] cannot be blank"#),
        (
            r#"[{"type": "stream", "content": "abcd"}]"#.to_owned(),
            r#"value[0]["content"] is too long (limit: 3 characters)"#,
        ),
        (r#"[{"type": "stream", "content": "a"}]"#.to_owned(), r#"value[0]["order"] field is missing: Field required"#),
        ("[1]".to_owned(), "value[0] is not a dict"),
    ];
    for (json, text) in cases {
        assert_eq!(refusal::<Json<Vec<Draft<true>>>>(&json), text, "{json}");
    }
}

#[test]
fn an_alternative_of_a_type_stands_in_the_path_like_a_key() {
    let root = JsonPath::name("can_mention_group");
    assert_eq!(root.key("int").is_not(Expected::Integer).to_string(), "can_mention_group[\"int\"] is not an integer");
}

#[test]
fn a_json_string_is_no_raw_word() {
    assert_eq!(sent::<Json<String>>("\"stream\"").unwrap(), "stream");
    assert_eq!(refusal::<WordParam<Kind>>("\"stream\""), "Invalid value");
}
