//! The description of the API: an `OpenAPI` document, made of what the operations say of themselves.
//!
//! # Source
//! `OpenAPI` Specification 3.1.

mod event_schemas;
pub(crate) mod schemas;

use serde_json::{Map, Value, json};

use crate::error::ERROR_CODES;
use crate::json_schema::{JsonSchema, SchemaMember, optional_schema_member, required_schema_member};
use crate::params::{AbsentParamBehavior, ParamDeclaration};
use crate::routes::{API, ApiOperation, OperationDoc};

/// What holds for every operation.
const ABOUT: &str = "The chat server's API. Parameters are taken from the query and from forms alike, on every method; \
    one that is described as JSON is sent as JSON text. Parameters an operation does not know are ignored and named in \
    `ignored_parameters_unsupported`. An object of an answer may have members that are not described here.";

/// The media types of forms.
const FORMS: [&str; 2] = ["application/x-www-form-urlencoded", "multipart/form-data"];

/// Returns the whole document.
pub(crate) fn document(operations: &[ApiOperation]) -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {"title": "Chat API", "version": env!("CARGO_PKG_VERSION"), "description": ABOUT},
        "servers": [{"url": API}],
        "security": [{"apiKey": []}],
        "tags": tags(operations),
        "paths": paths(operations),
        "components": {
            "schemas": schemas::all(),
            "parameters": {"client": client()},
            "responses": error_responses(),
            "securitySchemes": {"apiKey": {
                "type": "http",
                "scheme": "basic",
                "description": "The address of an account as the name, and its API key as the password.",
            }},
        },
    })
}

fn tags(operations: &[ApiOperation]) -> Vec<Value> {
    let mut areas: Vec<_> = operations.iter().map(|operation| operation.area).collect();
    areas.sort_unstable();
    areas.dedup();
    areas.into_iter().map(|area| json!({"name": area})).collect()
}

fn paths(operations: &[ApiOperation]) -> Map<String, Value> {
    let mut paths = Map::new();
    for operation in operations {
        let path = operation.path.replace("{*", "{");
        let item =
            paths.entry(path).or_insert_with(|| json!({"parameters": [{"$ref": "#/components/parameters/client"}]}));
        if let Value::Object(item) = item {
            item.insert(operation.method.to_owned(), operation_object(operation));
        }
    }
    paths
}

/// Taken everywhere.
fn client() -> Value {
    json!({
        "name": "client",
        "in": "query",
        "description": "What the caller calls its program, in place of its `User-Agent`.",
        "schema": Value::from(JsonSchema::string()),
    })
}

fn operation_object(operation: &ApiOperation) -> Value {
    let ApiOperation { method, area, doc, .. } = operation;
    let parameters = (doc.parameters)();
    let in_query = matches!(*method, "get" | "delete");
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    put("operationId", id(operation).into());
    put("summary", doc.summary.into());
    put("tags", json!([area]));
    if !doc.needs_account {
        put("security", json!([]));
    }
    let mut listed = in_path(operation);
    if in_query {
        listed.extend(parameters.iter().flat_map(query_parameters));
    } else if !parameters.is_empty() || doc.takes_file {
        put("requestBody", form(&parameters, doc));
    }
    if !listed.is_empty() {
        put("parameters", listed.into());
    }
    put("responses", responses(operation));
    Value::Object(object)
}

fn id(operation: &ApiOperation) -> String {
    let words = operation.path.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    [operation.method].into_iter().chain(words).collect::<Vec<_>>().join("_")
}

/// Returns what differs in the path: numbers, but for what the operation says.
fn in_path(operation: &ApiOperation) -> Vec<Value> {
    let names = operation.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let path_parameter = |name: &str| {
        let name = name.trim_start_matches('*');
        let text = operation.doc.texts.iter().find(|(known, _)| *known == name);
        let schema = match text {
            Some((_, meaning)) => JsonSchema::string().with_description(meaning),
            None => JsonSchema::integer().with_minimum(0),
        };
        json!({"name": name, "in": "path", "required": true, "schema": Value::from(schema)})
    };
    names.map(path_parameter).collect()
}

/// Returns the parameter, and what it was called before.
fn query_parameters(parameter: &ParamDeclaration) -> Vec<Value> {
    let named = |name: &str, is_older: bool| {
        let schema = Value::from(schema(parameter));
        let mut object = Map::new();
        object.insert("name".to_owned(), name.into());
        object.insert("in".to_owned(), "query".into());
        if is_older {
            object.insert("deprecated".to_owned(), true.into());
        } else if parameter.absence == AbsentParamBehavior::Refused && parameter.older.is_none() {
            object.insert("required".to_owned(), true.into());
        }
        if parameter.form.is_json {
            object.insert("content".to_owned(), json!({"application/json": {"schema": schema}}));
        } else {
            object.insert("schema".to_owned(), schema);
        }
        Value::Object(object)
    };
    [Some((parameter.name, false)), parameter.older.map(|older| (older, true))]
        .into_iter()
        .flatten()
        .map(|(name, is_older)| named(name, is_older))
        .collect()
}

/// A parameter's value, and what its absence means.
fn schema(parameter: &ParamDeclaration) -> JsonSchema {
    let schema = parameter.form.schema.clone();
    match &parameter.absence {
        AbsentParamBehavior::Means(Some(usual)) => schema.with_keyword("default", usual.clone()),
        AbsentParamBehavior::Refused | AbsentParamBehavior::Fine | AbsentParamBehavior::Means(None) => schema,
    }
}

/// Returns the form of an operation. What it was called before stands beside each parameter, so none of the two is
/// required.
fn form(parameters: &[ParamDeclaration], doc: &OperationDoc) -> Value {
    let mut members = Vec::new();
    let mut encoding = Map::new();
    for parameter in parameters {
        let is_needed = parameter.absence == AbsentParamBehavior::Refused && parameter.older.is_none();
        members.push(if is_needed { required_schema_member } else { optional_schema_member }(
            parameter.name,
            schema(parameter),
        ));
        members.extend(
            parameter
                .older
                .map(|older| optional_schema_member(older, schema(parameter).with_keyword("deprecated", true))),
        );
        if parameter.form.is_json {
            for name in [Some(parameter.name), parameter.older].into_iter().flatten() {
                encoding.insert(name.to_owned(), json!({"contentType": "application/json"}));
            }
        }
    }
    if doc.takes_file {
        let file = JsonSchema::any().with_keyword("contentMediaType", "application/octet-stream");
        members.push(required_schema_member("file", file.with_description("The file, in a field of any name.")));
    }
    let object = Value::from(JsonSchema::object(members));
    let mut content = Map::new();
    for form in FORMS.into_iter().filter(|form| !doc.takes_file || form.starts_with("multipart")) {
        let mut media_type = json!({"schema": object});
        if let (Value::Object(media_type), false) = (&mut media_type, encoding.is_empty()) {
            media_type.insert("encoding".to_owned(), Value::Object(encoding.clone()));
        }
        content.insert(form.to_owned(), media_type);
    }
    let required = doc.takes_file || object.get("required").is_some();
    json!({"content": content, "required": required})
}

fn responses(operation: &ApiOperation) -> Value {
    let doc = &operation.doc;
    let refers = |name: &str| json!({"$ref": format!("#/components/responses/{name}")});
    let mut object = Map::new();
    object.insert("200".to_owned(), success(doc));
    if doc.is_document {
        object.insert("304".to_owned(), json!({"description": "The caller has it as it is."}));
    }
    object.insert("400".to_owned(), refers("Refused"));
    if doc.needs_account {
        object.insert("401".to_owned(), refers("Unauthorized"));
    }
    if operation.path.contains('{') {
        object.insert("404".to_owned(), refers("Unknown"));
    }
    object.insert("429".to_owned(), refers("Throttled"));
    object.insert("503".to_owned(), refers("Unavailable"));
    object.insert("default".to_owned(), refers("Refused"));
    Value::Object(object)
}

fn success(doc: &OperationDoc) -> Value {
    let answer = (doc.answer)();
    let schema = if doc.is_document { JsonSchema::object(answer) } else { enveloped(answer) };
    json!({"description": "Done.", "content": {"application/json": {"schema": Value::from(schema)}}})
}

/// An answer in the envelope of a success.
fn enveloped(answer: Vec<SchemaMember>) -> JsonSchema {
    let ignored = JsonSchema::list(JsonSchema::string())
        .with_description("Parameters that were sent and are none of this operation's.");
    let envelope = [
        required_schema_member("result", JsonSchema::one_of_words(["success"])),
        required_schema_member("msg", JsonSchema::one_of_words([""])),
    ];
    JsonSchema::object(
        envelope.into_iter().chain(answer).chain([optional_schema_member("ignored_parameters_unsupported", ignored)]),
    )
}

/// Returns the answers that are no success.
fn error_responses() -> Value {
    let error_schema = json!({"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}});
    let header = |meaning: &str, schema: JsonSchema| json!({"description": meaning, "schema": Value::from(schema)});
    json!({
        "Refused": {"description": "Nothing was done; `msg` and `code` say why.", "content": error_schema},
        "Unauthorized": {
            "description": "The caller has not shown an account that may be used.",
            "headers": {"WWW-Authenticate": header("What to show.", JsonSchema::string())},
            "content": error_schema,
        },
        "Unknown": {"description": "There is nothing at this address.", "content": error_schema},
        "Throttled": {
            "description": "Too many requests.",
            "headers": {"Retry-After": header("Seconds to wait.", JsonSchema::integer())},
            "content": error_schema,
        },
        "Unavailable": {
            "description": "The database cannot be used at the moment: it cannot be reached, is full or locked.",
            "headers": {"Retry-After": header("Seconds to wait.", JsonSchema::integer())},
            "content": error_schema,
        },
    })
}

/// Returns what says why nothing was done.
pub(crate) fn error_schema() -> JsonSchema {
    let code = JsonSchema::one_of_words(ERROR_CODES).with_description("Why, for programs.");
    JsonSchema::object([
        required_schema_member("result", JsonSchema::one_of_words(["error"])),
        required_schema_member("msg", JsonSchema::string().with_description("Why, for people.")),
        required_schema_member("code", code),
    ])
    .with_keyword("additionalProperties", true)
}
