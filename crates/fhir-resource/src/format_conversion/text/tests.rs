use proptest::prelude::*;
use serde_json::json;

use super::super::convert_to_fhir;
use super::super::tests::{ALL_KEYS, json_of};
use super::*;
use crate::stored::StoredResource;

const UPDATED_US: i64 = 1_767_225_600_000_001;

/// Returns the document of a text, after what was there before.
fn copied(text: &str, native: bool) -> Option<String> {
    let key = "Observation/o".parse().unwrap();
    let head = DocumentHead { key: &key, version: 7, last_updated: "2026-01-01T00:00:00.000001Z" };
    let mut out = b"before".to_vec();
    let copied = append_document_line(head, text, native, &mut out);
    let line = String::from_utf8(out).unwrap().strip_prefix("before").unwrap().to_owned();
    assert_eq!(copied.is_err(), line.is_empty(), "{text}");
    copied.is_ok().then_some(line)
}

/// The same by the rules on values.
fn model(body: &Value, native: bool) -> Value {
    let key = "Observation/o".parse().unwrap();
    let document = StoredResource { key, version: 7, updated_us: UPDATED_US, resource: body.clone() }.to_document();
    if native { convert_to_fhir(document) } else { document }
}

#[test]
fn a_document_is_copied_as_the_rules_on_values_say() {
    for body in [
        json!({}),
        json!({"status": "final", "valueQuantity": {"value": 1.20, "unit": "g"}, "note": []}),
        json!({"meta": {}, "a": [1, -2.5e+3, true, false, null, [], {}, [[{}]]]}),
        json!({"status": "final", "meta": {"profile": ["p"], "tag": [{"code": "x"}]}, "z": 1}),
        json!({"meta": {"extension": [{"url": "u", "value": {"uri": "x"}}]}}),
        json!({"subject": {"resourceType": "Patient", "id": "1", "display": "A \"B\" \\ \u{e9}\n"}}),
        json!({"performer": [{"uri": "https://h/fhir/Practitioner/2"}, {"localRef": "c"}, {"reference": "A/b"}]}),
        json!({"contained": [{"resourceType": "Patient", "id": "1"}], "related": {"uri": "x"}}),
        json!({"subject": {"id": "1", "resourceType": "Patient"}, "part": [{"resourceType": "Device", "id": "d"}]}),
        json!({"subject": {"resourceType": "Patient", "id": "a b"}, "a": {"resourceType": "", "id": "1"}}),
        json!({"subject": {"resourceType": "Patient", "id": 1}, "a": {"resourceType": "Patient"}, "b": {"id": "1"}}),
        json!({"subject": {"resourceType": "Pat\"ient", "id": "1"}, "a": {"resourceType": ["Patient"], "id": "1"}}),
        json!({"extension": [{"resourceType": "Patient", "id": "1"}, {"url": "u", "value": {"id": "1"}}]}),
        json!({"extension": [{"url": "u", "extension": [
            {"url": "v", "value": {"Reference": {"resourceType": "Organization", "id": "o"}}}]}]}),
    ] {
        for native in [false, true] {
            for text in [body.to_string(), serde_json::to_string_pretty(&body).unwrap()] {
                let line = copied(&text, native).unwrap();
                assert!(!line.contains('\n'));
                assert_eq!(line, model(&body, native).to_string(), "{text}");
            }
        }
    }
}

#[test]
fn an_escape_and_a_number_stay_as_they_are_spelled() {
    let line = copied(r#"{"a":"\u00e9\/\ud83d\ude00","b":1.00,"c":-0e1}"#, true).unwrap();
    assert!(line.ends_with(r#","a":"\u00e9\/\ud83d\ude00","b":1.00,"c":-0e1}"#), "{line}");
}

#[test]
fn blanks_between_words_are_not_copied_wherever_they_stand() {
    let text = r#" { "a" : 1 , "meta" : { "tag" : [ ] , "x" : { } } ,"b": [ { } , 2 ] , "c" :{ "resourceType" : "Patient" , "id": "1" } } "#;
    let body: Value = serde_json::from_str(text).unwrap();
    for (native, blank) in [(false, " "), (true, "\r\n\t")] {
        let line = copied(&text.replace(' ', blank), native).unwrap();
        assert_eq!(line, model(&body, native).to_string());
    }
}

#[test]
fn what_is_no_document_or_not_simple_is_left_to_others() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(DEPTH_MAX + 1), "]".repeat(DEPTH_MAX + 1));
    for text in [
        "",
        " ",
        "{",
        "}",
        "[]",
        "null",
        "1",
        "{} {}",
        "{}x",
        "{,}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":tru}",
        "{\"a\":01}",
        "{\"a\":.5}",
        "{\"a\":1.}",
        "{\"a\":+1}",
        "{\"a\":--1}",
        "{\"a\":NaN}",
        "{\"a\":\"\n\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12g4\"}",
        "{\"a\":\"}",
        "{\"a\":[1,]}",
        "{\"a\":[1 2]}",
        "{\"a\":[}",
        "{a:1}",
        "{'a':1}",
        "\u{c}{}",
        "{\"a\\u0062\":1}",
        "{\"id\":\"x\"}",
        "{\"resourceType\":\"Patient\"}",
        "{\"meta\":{\"versionId\":\"3\"}}",
        "{\"meta\":{\"lastUpdated\":\"2020\"}}",
        "{\"meta\":[]}",
        "{\"meta\":{},\"meta\":{}}",
        &deep,
    ] {
        assert_eq!(copied(text, true), None, "{text}");
    }
    let policy = "AccessPolicy/p".parse().unwrap();
    let head = DocumentHead { key: &policy, version: 1, last_updated: "" };
    assert_eq!(
        append_document_line(head, "{}", true, &mut Vec::new()),
        Err(NeedsParsingError),
        "its patterns are not ours to rewrite"
    );
}

proptest! {
    #![proptest_config(crate::property_testing::seeded_proptest_config(2000))]

    #[test]
    fn any_document_that_is_copied_is_what_the_rules_on_values_make(any in json_of(ALL_KEYS), meta in json_of(ALL_KEYS)) {
        for body in [json!({"a": any}), json!({"subject": any, "meta": meta, "b": [any]}), json!({"extension": any})] {
            for native in [false, true] {
                if let Some(line) = copied(&body.to_string(), native) {
                    prop_assert_eq!(line, model(&body, native).to_string());
                }
            }
        }
    }

    #[test]
    fn the_first_special_byte_is_found_however_far_it_is(plain in "[a-z\u{7f}é]{0,90}", special in r#"["\\\\\x00-\x1f]{0,2}"#) {
        let text = format!("{plain}{special}{plain}{special}");
        let first = text.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
        prop_assert_eq!(special_at(text.as_bytes()), first);
    }

    #[test]
    fn a_text_that_is_copied_is_json(text in r#"[{}\[\]",:a1\\ .e-]{0,24}"#) {
        if let Some(line) = copied(&format!("{{\"a\":{text}}}"), true) {
            prop_assert!(serde_json::from_str::<Value>(&line).is_ok(), "{line}");
        }
    }
}
