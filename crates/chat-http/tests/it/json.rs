//! JSON-encoded values.

use std::collections::BTreeMap;

use chat_core::id::UserId;
use chat_http::json_schema::JsonSchema;
use chat_http::params::{
    BoundedInteger, BoundedString, EnumNumberJson, EnumWordJson, EnumWordParam, ExpectedJsonType, FromJson,
    JsonObjectReader, JsonParam, NonNegativeInteger, NumberEnum, ParamError, ParamValuePath, WordEnum, check_max_chars,
    check_not_blank,
};
use serde_json::{Value, json};

use crate::request_parsing::{refusal, sent};

#[test]
fn a_boolean_is_true_or_false_and_nothing_else() {
    assert!(sent::<JsonParam<bool>>("true").unwrap());
    assert!(!sent::<JsonParam<bool>>(" false ").unwrap());
    for other in ["1", "0", "null", "\"true\"", "[]"] {
        assert_eq!(refusal::<JsonParam<bool>>(other), "value is not a boolean", "{other}");
    }
    for other in ["True", "yes", "", "tru", "true false"] {
        assert_eq!(refusal::<JsonParam<bool>>(other), "value is not valid JSON", "{other}");
    }
}

#[test]
fn an_integer_has_neither_quotes_nor_fraction() {
    for (text, integer) in [("5", 5), ("-7", -7), ("0", 0), ("9223372036854775807", i64::MAX), ("-0", 0)] {
        assert_eq!(sent::<JsonParam<i64>>(text).unwrap(), integer, "{text}");
    }
    for other in
        ["\"5\"", "5.0", "5.5", "1e3", "true", "null", "[5]", "{}", r#"{"$serde_json::private::Number":"5.5"}"#]
    {
        assert_eq!(refusal::<JsonParam<i64>>(other), "value is not an integer", "{other}");
    }
    for other in ["", "05", "+5", "abc", "5 6", "NaN"] {
        assert_eq!(refusal::<JsonParam<i64>>(other), "value is not valid JSON", "{other}");
    }
}

#[test]
fn an_integer_out_of_its_range_is_too_small_or_too_large() {
    assert_eq!(sent::<JsonParam<BoundedInteger<1, 3>>>("3").unwrap().get(), 3);
    assert_eq!(refusal::<JsonParam<BoundedInteger<1, 3>>>("0"), "value is too small");
    assert_eq!(refusal::<JsonParam<BoundedInteger<1, 3>>>("4"), "value is too large");
    assert_eq!(refusal::<JsonParam<NonNegativeInteger>>("-1"), "value is too small");
    assert_eq!(refusal::<JsonParam<i64>>("9223372036854775808"), "value is too large");
    assert_eq!(refusal::<JsonParam<i64>>(&format!("-{}", "9".repeat(400))), "value is too small");
}

#[test]
fn a_refusal_names_the_element() {
    assert_eq!(sent::<JsonParam<Vec<i64>>>("[1, 2]").unwrap(), [1, 2]);
    assert_eq!(sent::<JsonParam<Vec<UserId>>>("[3]").unwrap(), [UserId(3)]);
    assert_eq!(refusal::<JsonParam<Vec<i64>>>("[1, \"2\"]"), "value[1] is not an integer");
    assert_eq!(refusal::<JsonParam<Vec<Vec<String>>>>("[[\"a\"], [\"b\", 3]]"), "value[1][1] is not a string");
    assert_eq!(refusal::<JsonParam<Vec<i64>>>("1,2"), "value is not valid JSON");
    assert_eq!(refusal::<JsonParam<Vec<i64>>>("null"), "value is not a list");
    assert_eq!(refusal::<JsonParam<BTreeMap<String, bool>>>("{\"a\": 1}"), "value[\"a\"] is not a boolean");
    assert_eq!(refusal::<JsonParam<BTreeMap<String, bool>>>("[]"), "value is not a dict");
    assert_eq!(
        refusal::<JsonParam<Vec<BoundedString<2>>>>("[\"ab\", \"abc\"]"),
        "value[1] is too long (limit: 2 characters)"
    );
}

#[test]
fn null_is_none_where_it_may_be_and_absence_is_told_apart() {
    assert_eq!(sent::<JsonParam<Option<Vec<i64>>>>("null").unwrap(), None);
    assert_eq!(sent::<JsonParam<Option<Vec<i64>>>>("[]").unwrap(), Some(vec![]));
    assert_eq!(refusal::<JsonParam<Option<i64>>>("\"x\""), "value is not an integer");
    assert_eq!(refusal::<JsonParam<String>>("null"), "value is not a string");
}

#[test]
fn nesting_has_a_limit_and_no_string_holds_a_nul() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(sent::<JsonParam<Value>>(&nested(32)).is_ok());
    for levels in [33, 127, 128, 10_000] {
        assert_eq!(refusal::<JsonParam<Value>>(&nested(levels)), "value is not valid JSON", "{levels}");
    }
    let objects = format!("{}1{}", "{\"a\":".repeat(33), "}".repeat(33));
    assert_eq!(refusal::<JsonParam<Value>>(&objects), "value is not valid JSON");
    for text in [r#""a\u0000""#, r#"{"\u0000": 1}"#, r#"[["\u0000"]]"#] {
        assert!(matches!(sent::<JsonParam<Value>>(text), Err(ParamError::Unreadable { .. })), "{text}");
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
    assert_eq!(sent::<JsonParam<EnumNumberJson<Role>>>("100").unwrap(), EnumNumberJson(Role::Owner));
    assert_eq!(sent::<JsonParam<EnumNumberJson<Role>>>("400").unwrap(), EnumNumberJson(Role::Member));
    let text = "Invalid value: Value error, Not in the list of possible values";
    assert_eq!(refusal::<JsonParam<EnumNumberJson<Role>>>("401"), text);
    assert_eq!(refusal::<JsonParam<EnumNumberJson<Role>>>("\"100\""), "value is not an integer");
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
    fn from_json(value: Value, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        Self::members(JsonObjectReader::from_value(value, path)?, path)
    }

    fn json_schema() -> JsonSchema {
        JsonObjectReader::infer_schema(|object| Self::members(object, &ParamValuePath::root("")))
    }
}

impl<const STRICT: bool> Draft<STRICT> {
    fn members(mut object: JsonObjectReader<'_>, path: &ParamValuePath<'_>) -> Result<Self, ParamError> {
        let EnumWordJson(Kind::Stream) = object.required_member("type")?;
        let content: String = object.required_member("content")?;
        check_not_blank(&content, &path.member("content"))?;
        check_max_chars(&content, 3, &path.member("content"))?;
        object.required_member::<i64>("order")?;
        object.optional_member::<Option<bool>>("flag")?;
        if STRICT {
            object.reject_unread_members()?;
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
    assert_eq!(Value::from(Draft::<false>::json_schema()), expected);
    assert_eq!(Value::from(Draft::<true>::json_schema())["additionalProperties"], false);
}

#[test]
fn an_object_says_which_key_is_wrong_missing_or_too_many() {
    let draft = |more: &str| format!(r#"[{{"type": "stream", "content": "abc", "order": 1{more}}}]"#);
    assert!(sent::<JsonParam<Vec<Draft<true>>>>(&draft(r#", "flag": null"#)).is_ok());
    assert!(sent::<JsonParam<Vec<Draft<false>>>>(&draft(r#", "foo": 1"#)).is_ok());
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
        assert_eq!(refusal::<JsonParam<Vec<Draft<true>>>>(&json), text, "{json}");
    }
}

#[test]
fn an_alternative_of_a_type_stands_in_the_path_like_a_key() {
    let root = ParamValuePath::root("can_mention_group");
    assert_eq!(
        root.member("int").wrong_type_error(ExpectedJsonType::Integer).to_string(),
        "can_mention_group[\"int\"] is not an integer"
    );
}

#[test]
fn a_json_string_is_no_raw_word() {
    assert_eq!(sent::<JsonParam<String>>("\"stream\"").unwrap(), "stream");
    assert_eq!(refusal::<EnumWordParam<Kind>>("\"stream\""), "Invalid value");
}
