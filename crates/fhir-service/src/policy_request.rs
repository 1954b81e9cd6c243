//! The request object that access policies are matched against.
//!
//! What the caller sent and what the route determined are separate until the last step ([`PolicyInput::into_value`]),
//! where the facts of the route win, also in what they lack: a search has no `resource/id`, so no parameter of that
//! name is one. Refusing such parameters by name was the road not taken, because every new fact would need its own
//! refusal at every way in.
//!
//! # Source
//! `docs/decisions.md`, "Access policies".

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use crate::request_context::RequestHeaders;

/// The facts of a request that policies are matched against, before its caller is described.
pub(crate) struct PolicyInput<'a> {
    /// The method in small letters.
    pub(crate) method: &'a str,
    /// The path.
    pub(crate) uri: String,
    /// The scheme of the server's public address.
    pub(crate) scheme: Option<&'a str>,
    /// The headers without credentials.
    pub(crate) headers: &'a RequestHeaders,
    /// The query as sent, with the parameters of a form behind it.
    pub(crate) query: Option<&'a str>,
    /// The address of the peer.
    pub(crate) remote_addr: Option<IpAddr>,
    /// The facts that the route determines.
    pub(crate) route: RouteFacts<'a>,
    /// The document or patch that was sent to be written.
    pub(crate) body: Option<Value>,
    /// The resource that the write makes.
    pub(crate) resource: Option<Value>,
}

/// What the route of a request determines. Policies read it beside the caller's parameters.
#[derive(Clone, Copy, Default)]
pub(crate) struct RouteFacts<'a> {
    /// The type of the resources it touches, the parameter `resource/type`.
    pub(crate) resource_type: Option<&'a str>,
    /// The id of the resource it names, the parameter `resource/id`.
    pub(crate) resource_id: Option<&'a str>,
}

impl RouteFacts<'_> {
    /// Returns the parameters of the caller with the facts, which take the place of every parameter of their names.
    fn over(self, mut parameters: Map<String, Value>) -> Map<String, Value> {
        let Self { resource_type, resource_id } = self;
        for (name, fact) in [("resource/type", resource_type), ("resource/id", resource_id)] {
            match fact {
                Some(fact) => parameters.insert(name.to_owned(), fact.into()),
                None => parameters.remove(name),
            };
        }
        parameters
    }
}

impl PolicyInput<'_> {
    /// Returns the request object.
    pub(crate) fn into_value(self) -> Value {
        let mut request = json!({
            "request-method": self.method,
            "uri": self.uri,
            "scheme": self.scheme,
            "headers": headers(self.headers),
            "params": self.route.over(sent_parameters(self.query.unwrap_or_default())),
        });
        if let Some(members) = request.as_object_mut() {
            members.extend(self.query.map(|query| ("query-string".to_owned(), query.into())));
            members.extend(self.remote_addr.map(|address| ("remote-addr".to_owned(), address.to_string().into())));
            members.extend(self.body.map(|body| ("body".to_owned(), body)));
            members.extend(self.resource.map(|resource| ("resource".to_owned(), resource)));
        }
        request
    }
}

/// Returns the parameters of a query.
fn sent_parameters(query: &str) -> Map<String, Value> {
    let mut parameters = Map::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        insert(&mut parameters, &name, &value);
    }
    parameters
}

/// Returns the headers. One that is sent again becomes a list: a caller cannot put its own value in the place of the
/// one that a proxy adds.
fn headers(sent: &RequestHeaders) -> Map<String, Value> {
    let mut headers = Map::new();
    for (name, value) in sent.iter() {
        insert(&mut headers, name, value);
    }
    headers
}

/// Adds a value; a name that is sent again becomes a list.
fn insert(values: &mut Map<String, Value>, name: &str, value: &str) {
    match values.get_mut(name) {
        None => {
            values.insert(name.to_owned(), value.into());
        }
        Some(Value::Array(all)) => all.push(value.into()),
        Some(first) => *first = json!([first.take(), value]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(query: &str, route: RouteFacts<'_>, headers: &RequestHeaders) -> Value {
        let request = PolicyInput {
            method: "get",
            uri: "/fhir/Patient".to_owned(),
            scheme: Some("https"),
            headers,
            query: Some(query),
            remote_addr: None,
            route,
            body: None,
            resource: None,
        };
        request.into_value()
    }

    #[test]
    fn the_facts_of_the_route_win_also_where_there_is_none() {
        let query = "resource%2Ftype=Client&resource/id=a&resource/id=b&name=x&name=y";
        let list = RouteFacts { resource_type: Some("Patient"), resource_id: None };
        let params = |route| request(query, route, &RequestHeaders::default())["params"].clone();
        assert_eq!(params(list), json!({"resource/type": "Patient", "name": ["x", "y"]}));
        let read = RouteFacts { resource_id: Some("c"), ..list };
        assert_eq!(params(read), json!({"resource/type": "Patient", "resource/id": "c", "name": ["x", "y"]}));
        assert_eq!(params(RouteFacts::default()), json!({"name": ["x", "y"]}));
    }

    #[test]
    fn no_parameter_and_no_header_becomes_a_member_of_the_request() {
        let sent = [("operation", "FhirRead"), ("x-role", "clerk"), ("x-role", "admin"), ("cookie", "s=1")];
        let headers = RequestHeaders::without_credentials(sent);
        let query = "operation=FhirRead&operation.id=FhirRead&remote-addr=10.0.0.1&uri=/x&jwt=1&user=root";
        let request = request(query, RouteFacts::default(), &headers);
        let names: Vec<&str> = request.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["request-method", "uri", "scheme", "headers", "params", "query-string"]);
        assert_eq!(request["headers"], json!({"operation": "FhirRead", "x-role": ["clerk", "admin"]}));
    }
}
