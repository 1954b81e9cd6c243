//! The description of the API, and whether answers are what it says.

mod bad_input;
mod sweep;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use http::StatusCode;
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;

use crate::test_app::TestApp;

/// The description, as the server tells it.
static DOCUMENT: OnceCell<Document> = OnceCell::const_new();

/// The operations of a description.
pub(crate) struct Document {
    whole: Value,
    pub(crate) operations: Vec<Operation>,
    validators: Mutex<BTreeMap<(usize, u16), Arc<Validator>>>,
}

/// A method at a path.
pub(crate) struct Operation {
    /// As `GET /users/{user_id}`.
    pub(crate) call: String,
    pub(crate) described: Value,
}

/// A parameter of an operation.
#[derive(Debug, Clone)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) schema: Value,
    pub(crate) is_json: bool,
    pub(crate) is_required: bool,
}

/// The description of the test app's API. All test apps have the same.
pub(crate) async fn of(app: &TestApp) -> &'static Document {
    DOCUMENT.get_or_init(|| async { Document::read(app.describe().await) }).await
}

impl Document {
    fn read(whole: Value) -> Self {
        let mut operations = Vec::new();
        for (path, item) in whole["paths"].as_object().unwrap() {
            for (method, described) in item.as_object().unwrap().iter().filter(|(key, _)| *key != "parameters") {
                let call = format!("{} {path}", method.to_uppercase());
                operations.push(Operation { call, described: described.clone() });
            }
        }
        Self { whole, operations, validators: Mutex::default() }
    }

    /// Which operation a call is of: of several, the one that says most of its path.
    pub(crate) fn find(&self, call: &str) -> Option<usize> {
        let fits = |(_, operation): &(usize, &Operation)| operation.fits(call);
        let found = self.operations.iter().enumerate().filter(fits);
        found.min_by_key(|(_, operation)| operation.call.matches('{').count()).map(|(place, _)| place)
    }

    /// Asserts that an answer of a call is one that is described.
    pub(crate) fn check(&self, call: &str, (status, body): (StatusCode, &Value)) {
        let call = call.split('?').next().unwrap();
        let Some(place) = self.find(call) else {
            assert!(!status.is_success(), "{call} is answered and not described: {body}");
            return;
        };
        let faults = self.faults(place, status.as_u16(), body);
        assert!(faults.is_empty(), "{call}: {status} is not as described: {faults:#?}\n{body}");
    }

    /// Where an answer is not as described.
    fn faults(&self, place: usize, status: u16, body: &Value) -> Vec<String> {
        let validator = self.validator(place, status);
        validator.iter_errors(body).map(|fault| format!("{}: {fault}", fault.instance_path())).collect()
    }

    /// Asserts that of the parameters of a call that was answered those were ignored that are not described.
    pub(crate) fn check_ignored(&self, call: &str, sent: BTreeSet<&str>, body: &Value) {
        let Some(place) = self.find(call.split('?').next().unwrap()) else { return };
        let known: BTreeSet<_> = self.operations[place].parameters().into_iter().map(|one| one.name).collect();
        let unknown = sent.into_iter().filter(|name| *name != "client" && !known.contains(*name));
        let unknown: Vec<_> = unknown.collect();
        let ignored = body.get("ignored_parameters_unsupported").and_then(Value::as_array);
        let ignored: Vec<_> = ignored.into_iter().flatten().filter_map(Value::as_str).collect();
        assert_eq!(ignored, unknown, "{call} ignores what it does not describe");
    }

    fn validator(&self, place: usize, status: u16) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap();
        let compile = || Arc::new(self.compiled(self.answer(place, status)));
        Arc::clone(validators.entry((place, status)).or_insert_with(compile))
    }

    /// What an operation answers with that status, without anything that is not described.
    fn answer(&self, place: usize, status: u16) -> Value {
        let responses = &self.operations[place].described["responses"];
        let mut response = responses.get(status.to_string()).unwrap_or(&responses["default"]);
        if let Some(named) = response["$ref"].as_str() {
            response = self.whole.pointer(named.trim_start_matches('#')).unwrap();
        }
        let mut schema = response["content"]["application/json"]["schema"].clone();
        // The brand of the server is in the names of a few members.
        schema["patternProperties"] = json!({"zulip_": {}});
        schema
    }

    fn compiled(&self, mut schema: Value) -> Validator {
        schema["components"] = json!({"schemas": self.whole["components"]["schemas"]});
        if let Some(restart) = schema.pointer_mut("/components/schemas/Event.restart") {
            restart["patternProperties"] = json!({"zulip_": {}});
        }
        close(&mut schema);
        jsonschema::draft202012::new(&schema).unwrap()
    }

    /// What says whether a value is what a schema of the document describes.
    pub(crate) fn judge(&self, schema: &Value) -> Validator {
        let mut schema = schema.clone();
        schema["components"] = json!({"schemas": self.whole["components"]["schemas"]});
        jsonschema::draft202012::new(&schema).unwrap()
    }
}

/// Has objects no members that are not described, unless they are said to have some.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            let is_object = members.get("properties").is_some_and(Value::is_object) && members.get("type").is_some();
            if is_object && !members.contains_key("additionalProperties") {
                members.insert("additionalProperties".to_owned(), false.into());
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(close),
        _ => {}
    }
}

impl Operation {
    fn fits(&self, call: &str) -> bool {
        let (mut known, mut sent) = (self.call.split(['/', ' ']), call.split(['/', ' ']));
        loop {
            match (known.next(), sent.next()) {
                (None, None) | (Some("{path}" | "{fragment}"), Some(_)) => return true,
                (Some(known), Some(sent)) if known == sent || known.starts_with('{') => {}
                _ => return false,
            }
        }
    }

    /// Its parameters, but for those of its path.
    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        let listed = self.described["parameters"].as_array().into_iter().flatten();
        let in_query = listed.filter(|parameter| parameter["in"] == "query").map(|parameter| {
            let content = &parameter["content"]["application/json"]["schema"];
            Parameter {
                name: parameter["name"].as_str().unwrap().to_owned(),
                schema: if content.is_null() { parameter["schema"].clone() } else { content.clone() },
                is_json: !content.is_null(),
                is_required: parameter["required"] == true,
            }
        });
        let form = &self.described["requestBody"]["content"]["multipart/form-data"];
        let required = form["schema"]["required"].as_array().into_iter().flatten();
        let required: BTreeSet<_> = required.filter_map(Value::as_str).collect();
        let members = form["schema"]["properties"].as_object().into_iter().flatten();
        let in_form = members.filter(|(_, schema)| schema.get("contentMediaType").is_none());
        let in_form = in_form.map(|(name, schema)| Parameter {
            name: name.clone(),
            schema: schema.clone(),
            is_json: form["encoding"][name]["contentType"] == "application/json",
            is_required: required.contains(name.as_str()),
        });
        in_query.chain(in_form).collect()
    }

    /// What differs in its path, and whether each is a number.
    pub(crate) fn path_parameters(&self) -> Map<String, Value> {
        let listed = self.described["parameters"].as_array().into_iter().flatten();
        let in_path = listed.filter(|parameter| parameter["in"] == "path");
        in_path
            .map(|parameter| {
                let is_number = parameter["schema"]["type"] == "integer";
                (parameter["name"].as_str().unwrap().to_owned(), is_number.into())
            })
            .collect()
    }
}

#[tokio::test]
async fn the_description_is_for_everybody_and_known_by_its_tag() {
    let app = TestApp::found().await;
    let (status, headers, body) = app.fetch("/api/v1/openapi.json", &[]).await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "application/json"));
    assert_eq!((&body["openapi"], &body["servers"]), (&json!("3.1.0"), &json!([{"url": "/api/v1"}])));
    let tag = headers["etag"].to_str().unwrap();
    let (status, headers, body) = app.fetch("/api/v1/openapi.json", &[("if-none-match", tag)]).await;
    assert_eq!((status, headers.get("content-type"), body), (304, None, Value::Null));
}

#[tokio::test]
async fn every_reference_of_the_description_leads_somewhere() {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str));
                members.values().for_each(|member| references(member, found));
            }
            Value::Array(elements) => elements.iter().for_each(|element| references(element, found)),
            _ => {}
        }
    }
    let app = TestApp::found().await;
    let document = of(&app).await;
    let mut found = Vec::new();
    references(&document.whole, &mut found);
    assert!(found.len() > 100, "{}", found.len());
    for reference in found {
        let place = document.whole.pointer(reference.trim_start_matches('#'));
        assert!(place.is_some_and(|place| !place.is_null()), "{reference}");
    }
}

#[tokio::test]
async fn a_parameter_of_some_requests_is_described_and_not_required() {
    let app = TestApp::found().await;
    let document = of(&app).await;
    let typing = &document.operations[document.find("POST /typing").unwrap()];
    let shown: Vec<_> = typing.parameters().into_iter().map(|one| (one.name, one.is_required, one.is_json)).collect();
    let named = |name: &str, is_required, is_json| (name.to_owned(), is_required, is_json);
    assert_eq!(
        shown,
        [
            named("type", false, false),
            named("op", true, false),
            named("to", false, true),
            named("stream_id", false, true),
            named("topic", false, false),
            named("subject", false, false),
        ]
    );
}

#[tokio::test]
async fn an_answer_that_is_not_as_described_is_found() {
    let app = TestApp::found().await;
    let document = of(&app).await;
    let place = document.find("GET /bot_storage").unwrap();
    let refusal = |code: &str| json!({"result": "error", "msg": "No", "code": code});
    for (status, body, is_right) in [
        (200, json!({"result": "success", "msg": "", "storage": {"a": "b"}}), true),
        (200, json!({"result": "success", "msg": "", "storage": {"a": 1}}), false),
        (200, json!({"result": "success", "msg": "", "storage": {}, "more": 1}), false),
        (200, json!({"result": "success", "msg": ""}), false),
        (200, refusal("BAD_REQUEST"), false),
        (400, refusal("BAD_REQUEST"), true),
        (400, refusal("NO_SUCH_CODE"), false),
    ] {
        assert_eq!(document.faults(place, status, &body).is_empty(), is_right, "{status} {body}");
    }
}

#[tokio::test]
async fn an_example_of_each_parameter_is_what_its_schema_describes() {
    let app = TestApp::found().await;
    let document = of(&app).await;
    for operation in &document.operations {
        for parameter in operation.parameters() {
            let examples = parameter.schema["examples"].as_array().into_iter().flatten();
            let judge = document.judge(&parameter.schema);
            for value in examples.chain(parameter.schema.get("default")) {
                assert!(judge.is_valid(value), "{} {}: {value}", operation.call, parameter.name);
            }
        }
    }
}
