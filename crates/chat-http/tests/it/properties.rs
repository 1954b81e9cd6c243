//! What holds for every request a stranger can send, and for every value a client can.

use bytes::Bytes;
use chat_core::id::UserId;
use chat_http::authentication::credentials_from_headers;
use chat_http::limits::REQUEST_PARAMETERS_MAX;
use chat_http::params::{
    BodyEncoding, BoundedInteger, BoundedString, DirectMessageRecipients, JsonParam, NonBlankParam, ParamDecoder,
    ParamReader, RawRequestParams, RawTextParamAllowingNul, RecipientsParam, TextParam, TrimmedTextParam,
};
use chat_http::user_agent::ParsedUserAgent;
use http::{HeaderMap, HeaderValue};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::request_parsing::{NAME, asked, multipart, urlencoded, wait};

/// The value comes back from both encodings.
fn returns<K: ParamDecoder>(text: &str, expected: &K::Value) -> Result<(), TestCaseError>
where
    K::Value: PartialEq + std::fmt::Debug,
{
    for raw in [urlencoded(text), multipart(text)] {
        prop_assert_eq!(&asked::<K>(&raw).unwrap(), expected);
    }
    Ok(())
}

/// Asks for every kind; refusals are fine, panics are not.
fn ask_everything(raw: &RawRequestParams) {
    let mut reader = ParamReader::new(raw);
    for name in ["a", "to", NAME] {
        let _ = reader.optional::<TextParam>(name);
        let _ = reader.optional::<RawTextParamAllowingNul>(name);
        let _ = reader.optional::<NonBlankParam<TrimmedTextParam>>(name);
        let _ = reader.optional::<JsonParam<bool>>(name);
        let _ = reader.optional::<JsonParam<BoundedInteger<0, 5000>>>(name);
        let _ = reader.optional::<JsonParam<Option<Vec<BoundedString<3>>>>>(name);
        let _ = reader.optional::<JsonParam<Value>>(name);
        if let Ok(Some(to)) = reader.optional::<RecipientsParam>(name) {
            let _ = (to.parse_channel(), to.parse_direct_recipients(), to.parse_channel_id(), to.parse_user_ids());
        }
    }
    let _ = reader.unread_names();
}

/// Bytes that look enough like a multipart body to get far into its parser.
fn almost_multipart() -> impl Strategy<Value = Vec<u8>> {
    let fragment = prop_oneof![
        Just(b"--XX".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\r\n\r\n".to_vec()),
        Just(b"--".to_vec()),
        Just(b"Content-Disposition: form-data; name=\"a\"".to_vec()),
        Just(b"Content-Disposition: form-data; name=\"a\"; filename=\"\"".to_vec()),
        Just(b"Content-Type: x".to_vec()),
        vec(any::<u8>(), 0..8),
    ];
    vec(fragment, 0..24).prop_map(|fragments| fragments.concat())
}

/// JSON of every shape, none deeper than is allowed, no NUL in it.
fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[^\0]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec(("[^\0$]{0,8}", inner), 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_bytes_make_decoding_panic(query in ".{0,40}", body in vec(any::<u8>(), 0..80)) {
        let boundary = BodyEncoding::Multipart("XX".to_owned());
        for encoding in [BodyEncoding::Urlencoded, boundary, BodyEncoding::None] {
            if let Ok(raw) = wait(RawRequestParams::parse(&query, &encoding, Bytes::from(body.clone()))) {
                ask_everything(&raw);
            }
        }
    }

    #[test]
    fn no_multipart_body_makes_decoding_panic(body in almost_multipart()) {
        let encoding = BodyEncoding::Multipart("XX".to_owned());
        if let Ok(raw) = wait(RawRequestParams::parse("a=1", &encoding, Bytes::from(body))) {
            ask_everything(&raw);
        }
    }

    #[test]
    fn no_value_makes_a_kind_panic(value in r#"([\[\]{}",:0-9a\\u.\-]|true|null|\PC){0,24}"#) {
        ask_everything(&urlencoded(&value));
    }

    #[test]
    fn no_header_makes_reading_it_panic(bytes in vec(any::<u8>(), 0..60)) {
        let mut headers = HeaderMap::new();
        if let Ok(value) = HeaderValue::from_bytes(&bytes) {
            for name in ["authorization", "user-agent", "content-type"] {
                headers.insert(name, value.clone());
            }
        }
        let _ = (credentials_from_headers(&headers), BodyEncoding::from_headers(&headers));
        prop_assert!(!ParsedUserAgent::from_headers(&headers).name.is_empty());
    }

    #[test]
    fn a_text_comes_back_as_it_was_sent(text in any::<String>()) {
        returns::<RawTextParamAllowingNul>(&text, &text)?;
        let text = text.replace('\0', "");
        returns::<TextParam>(&text, &text)?;
        returns::<TrimmedTextParam>(&text, &text.trim().to_owned())?;
    }

    #[test]
    fn json_comes_back_as_it_was_sent(value in document()) {
        returns::<JsonParam<Value>>(&value.to_string(), &value)?;
    }

    #[test]
    fn numbers_booleans_strings_and_lists_come_back_as_they_were_sent(
        integer in any::<i64>(), flag in any::<bool>(), text in "[^\0]{0,20}", list in vec(any::<i64>(), 0..9),
    ) {
        returns::<JsonParam<i64>>(&json!(integer).to_string(), &integer)?;
        returns::<JsonParam<bool>>(&json!(flag).to_string(), &flag)?;
        returns::<JsonParam<String>>(&json!(text).to_string(), &text)?;
        returns::<JsonParam<Option<i64>>>(&json!(integer).to_string(), &Some(integer))?;
        returns::<JsonParam<Vec<i64>>>(&json!(list).to_string(), &list)?;
    }

    #[test]
    fn people_come_back_as_a_set(ids in vec(any::<i64>(), 0..9)) {
        let to = asked::<RecipientsParam>(&multipart(&json!(ids).to_string())).unwrap();
        let mut expected: Vec<_> = ids.into_iter().map(UserId).collect();
        expected.sort_unstable();
        expected.dedup();
        prop_assert_eq!(to.parse_direct_recipients().unwrap(), DirectMessageRecipients::Ids(expected));
    }

    #[test]
    fn what_is_ignored_is_what_was_sent_less_what_was_asked_for(names in vec("[a-e]{1,2}", 0..20)) {
        prop_assert!(names.len() <= REQUEST_PARAMETERS_MAX);
        let query = names.join("=1&");
        let raw = wait(RawRequestParams::parse(&query, &BodyEncoding::None, Bytes::new())).unwrap();
        let mut reader = ParamReader::new(&raw);
        let _ = (reader.optional::<TextParam>("a"), reader.optional::<TextParam>("bb"));
        let sent = names.iter().map(String::as_str);
        let mut expected: Vec<&str> = sent.filter(|name| !["a", "bb"].contains(name)).collect();
        expected.sort_unstable();
        expected.dedup();
        prop_assert_eq!(reader.unread_names(), expected);
    }
}
