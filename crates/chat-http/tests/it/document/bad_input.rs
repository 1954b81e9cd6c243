//! What every endpoint says of parameters that are missing, wrong, too long, out of range or unreadable, worked out
//! from the description of the API: a refusal in the documented words, and nothing changed.

use chat_core::event_log::store::EventLog as _;
use form_urlencoded::Serializer;
use http::StatusCode;
use serde_json::{Value, json};

use super::{Document, Operation, Parameter};
use crate::test_app::{Person, TestApp, TestResponse};

/// A call that is right.
#[derive(Clone, Copy)]
pub(super) struct Right<'a> {
    pub(super) who: &'a Person,
    pub(super) call: &'a str,
    pub(super) parameters: &'a [(&'a str, &'a str)],
}

/// What is said of a value that is wrong.
enum Said {
    /// This.
    Exactly(String),
    /// One of these.
    Either([String; 2]),
    /// Something that names the parameter.
    Names,
    /// Something.
    Anything,
}

/// More than any text may have.
const LONG_CHARS: usize = 200_000;

/// Sends the call with each of its parameters wrong in every way. All are refused and change nothing.
pub(super) async fn refuses(app: &TestApp, document: &Document, place: usize, right: Right<'_>) {
    let operation = &document.operations[place];
    for parameter in operation.parameters() {
        if is_passed_over(right, &parameter.name) {
            continue;
        }
        if parameter.is_required {
            let response = missing(app, right, &parameter.name).await;
            response.refused(&format!("Missing '{}' argument", parameter.name));
            assert_eq!(response.body["var_name"], parameter.name.as_str());
        }
        for (value, said) in wrong(document, &parameter) {
            refused(app, right, (&parameter.name, &value), &said).await;
        }
    }
    path(app, operation, right).await;
}

/// Sends the call with each of its texts longer than any may be: a refusal, or what is left of it is taken.
pub(super) async fn survives_long_texts(app: &TestApp, document: &Document, place: usize, right: Right<'_>) {
    for parameter in document.operations[place].parameters() {
        if parameter.schema["type"] == "string" && !parameter.is_json {
            let response = with(app, right, &parameter.name, &"x".repeat(LONG_CHARS)).await;
            assert!(!response.status.is_server_error(), "{} {}: {}", right.call, parameter.name, response.body);
        }
    }
}

/// The parameters of the kind of typing that is not meant may be anything.
fn is_passed_over(right: Right<'_>, name: &str) -> bool {
    let to_channel = right.parameters.contains(&("type", "channel"));
    right.call == "POST /typing"
        && if to_channel { name == "to" } else { ["stream_id", "topic", "subject"].contains(&name) }
}

async fn missing(app: &TestApp, right: Right<'_>, name: &str) -> TestResponse {
    let others = right.parameters.iter().filter(|(other, _)| *other != name);
    send(app, right, Serializer::new(String::new()).extend_pairs(others).finish()).await
}

/// Of a name that is sent twice the last value counts. Another name of the same parameter would be refused for itself.
async fn with(app: &TestApp, right: Right<'_>, name: &str, value: &str) -> TestResponse {
    let older = [("topic", "subject"), ("subject", "topic")].into_iter().find(|(one, _)| *one == name);
    let others = right.parameters.iter().filter(|(other, _)| older.is_none_or(|(_, older)| older != *other));
    let mut form = Serializer::new(String::new());
    form.extend_pairs(others);
    send(app, right, form.append_pair(name, value).finish()).await
}

async fn send(app: &TestApp, Right { who, call, .. }: Right<'_>, form: String) -> TestResponse {
    let before = app.store.last_event_id();
    let response = app.call_with_body(who, call, form).await;
    if !response.status.is_success() {
        assert_eq!(app.store.last_event_id(), before, "{call} is refused and did something");
    }
    response
}

async fn refused(app: &TestApp, right: Right<'_>, (name, value): (&str, &str), said: &Said) {
    let response = with(app, right, name, value).await;
    let shown: String = value.chars().take(60).collect();
    let context = format!("{} with {name}={shown}: {}", right.call, response.body);
    assert_eq!(
        (response.status, &response.body["code"]),
        (StatusCode::BAD_REQUEST, &json!("BAD_REQUEST")),
        "{context}"
    );
    let text = response.body["msg"].as_str().unwrap();
    match said {
        Said::Exactly(expected) => assert_eq!(text, expected, "{context}"),
        Said::Either(expected) => assert!(expected.iter().any(|expected| expected == text), "{context}"),
        Said::Names => assert!(text.contains(name), "{context}"),
        Said::Anything => assert!(!text.is_empty(), "{context}"),
    }
}

/// Values that are wrong, and what is said of each.
fn wrong(document: &Document, parameter: &Parameter) -> Vec<(String, Said)> {
    let Parameter { name, schema, is_json, .. } = parameter;
    // Texts of messages and topics have their own words for it.
    let mut wrong = vec![("a\0b".to_owned(), Said::Anything)];
    if *is_json {
        wrong.push(("{".to_owned(), Said::Exactly(format!("{name} is not valid JSON"))));
        wrong.extend(of_other_types(document, name, schema));
    } else if schema["enum"].is_array() {
        let unknown = [format!("Invalid {name}"), format!("Invalid {name}: Value error, {NOT_LISTED}")];
        let said = if name == "property" { Said::Anything } else { Said::Either(unknown) };
        wrong.push(("no-such-word".to_owned(), said));
    }
    if let Some(limit) = schema["maxLength"].as_u64() {
        let long = "x".repeat(usize::try_from(limit).unwrap() + 1);
        wrong.push((long, Said::Names));
    }
    wrong
}

/// What existing clients are notified of a number that is none of a list.
const NOT_LISTED: &str = "Not in the list of possible values";

/// JSON that the schema does not describe.
fn of_other_types(document: &Document, name: &str, schema: &Value) -> Vec<(String, Said)> {
    let examples = [
        json!(true),
        json!(7.5),
        json!("x"),
        json!([]),
        json!({}),
        Value::Null,
        json!(["x"]),
        json!([7]),
        json!([[]]),
        json!([null]),
        json!({"x": []}),
        json!([{}]),
    ];
    let is_not = match schema["type"].as_str() {
        Some("boolean") => Some("a boolean"),
        Some("integer") => Some("an integer"),
        Some("array") => Some("a list"),
        Some("object") => Some("a dict"),
        _ => None,
    };
    let judge = document.judge(schema);
    let wrong_ones = |value: &&Value| !judge.is_valid(value);
    let mut wrong: Vec<_> = examples
        .iter()
        .filter(wrong_ones)
        .map(|value| {
            let is_outside = !value.is_array() || schema["type"] != "array";
            let is_outside = is_outside && (!value.is_object() || schema["type"] != "object");
            match is_not.filter(|_| is_outside) {
                Some(expected) => (value.to_string(), Said::Exactly(format!("{name} is not {expected}"))),
                None => (value.to_string(), Said::Anything),
            }
        })
        .collect();
    if schema["type"] == "integer" {
        wrong.extend(out_of_range(name, schema));
    }
    wrong.extend(within_lists(name, schema));
    wrong
}

/// Lists of which an element is wrong, or there are too many. A list that may also be null is one.
fn within_lists(name: &str, schema: &Value) -> Vec<(String, Said)> {
    let schema = if schema["type"] == "array" { schema } else { &schema["anyOf"][0] };
    if schema["type"] != "array" {
        return Vec::new();
    }
    let element = &schema["items"];
    let right = sample(element);
    let mut wrong = Vec::new();
    if let Some(most) = schema["maxItems"].as_u64() {
        let many = vec![right.clone(); usize::try_from(most).unwrap() + 1];
        wrong.push((Value::from(many).to_string(), Said::Names));
    }
    if let Some(most) = element["maxLength"].as_u64() {
        let most = usize::try_from(most).unwrap();
        let text = format!("{name}[1] is too long (limit: {most} characters)");
        wrong.push((json!([right, "x".repeat(most + 1)]).to_string(), Said::Exactly(text)));
    }
    match element["type"].as_str() {
        Some("integer") => wrong.push((json!([right, "x"]).to_string(), said(name, "[1] is not an integer"))),
        Some("string") => wrong.push((json!([right, 7]).to_string(), said(name, "[1] is not a string"))),
        Some("object") => {
            wrong.push((json!([right, 7]).to_string(), said(name, "[1] is not a dict")));
            if element["additionalProperties"] == false {
                let mut foreign = right;
                foreign["foreign"] = json!(1);
                let text = format!("Argument \"foreign\" at {name}[0][\"foreign\"] is unexpected");
                wrong.push((json!([foreign]).to_string(), Said::Exactly(text)));
            }
        }
        _ => {}
    }
    wrong
}

fn said(name: &str, rest: &str) -> Said {
    Said::Exactly(format!("{name}{rest}"))
}

/// A value that the schema describes.
fn sample(schema: &Value) -> Value {
    if let Some(value) = schema["examples"].get(0).or_else(|| schema["enum"].get(0)) {
        return value.clone();
    }
    match schema["type"].as_str() {
        Some("integer") => json!(1),
        Some("string") => json!("x"),
        Some("array") => json!([sample(&schema["items"])]),
        Some("object") => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            required.map(|key| (key.to_owned(), sample(&schema["properties"][key]))).collect()
        }
        _ => schema["anyOf"].get(0).map_or(json!(true), sample),
    }
}

/// Whole numbers that are none of the schema's.
fn out_of_range(name: &str, schema: &Value) -> Vec<(String, Said)> {
    let (small, large) = (format!("{name} is too small"), format!("{name} is too large"));
    let mut wrong = vec![
        ("9223372036854775808".to_owned(), Said::Exactly(large.clone())),
        ("-9223372036854775809".to_owned(), Said::Exactly(small.clone())),
    ];
    if schema["enum"].is_array() {
        wrong.push(("987654".to_owned(), Said::Names));
    }
    // How long to wait for e-mails is refused in words of its own.
    let pause = |number: i64| format!("Invalid email batching period: {number} seconds");
    if let Some(least) = schema["minimum"].as_i64() {
        wrong.push(((least - 1).to_string(), Said::Either([small, pause(least - 1)])));
    }
    if let Some(most) = schema["maximum"].as_i64() {
        wrong.push(((most + 1).to_string(), Said::Either([large, pause(most + 1)])));
    }
    wrong
}

/// What stands in the path and is no number, or none this server gives, is no address; nor is a text with a NUL.
async fn path(app: &TestApp, operation: &Operation, right: Right<'_>) {
    let known: Vec<&str> = operation.call.split('/').collect();
    for (name, is_number) in operation.path_parameters() {
        let Some(place) = known.iter().position(|part| *part == format!("{{{name}}}")) else { panic!("{name}") };
        let wrong: &[&str] = if is_number == true { &["x1", "-1", "1.5", "99999999999999999999"] } else { &["%00"] };
        for wrong in wrong {
            let mut parts: Vec<&str> = right.call.split('/').collect();
            parts[place] = wrong;
            let call = parts.join("/");
            let form = Serializer::new(String::new()).extend_pairs(right.parameters).finish();
            let response = send(app, Right { call: &call, ..right }, form).await;
            assert_eq!(response.error(), (404, "BAD_REQUEST", "Not Found"), "{call}");
        }
    }
}
