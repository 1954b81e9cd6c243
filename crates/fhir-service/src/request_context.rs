//! One request to the resource endpoints as its handling sees it: who sent it, from where, and what it asks for.

use std::net::IpAddr;

use oauth_core::resource_caller::{CallerIdentity, ResourceCaller};

use crate::prefer_header::RequestPreferences;
use crate::request_query::RequestQuery;
use crate::resource_format::ResourceFormat;

/// Headers that no policy needs, and that traces of policies must not show.
const CREDENTIALS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// A request without its body: caller, address, query, headers and format.
#[derive(Debug)]
pub struct RequestContext {
    /// The authenticated caller.
    pub caller: ResourceCaller,
    /// The address of the peer; `None` where the listener names none.
    pub address: Option<IpAddr>,
    /// The format of resources at the endpoint.
    pub format: ResourceFormat,
    /// The query string as sent, and the condition beside it.
    pub query: RequestQuery,
    /// The parameters of the query and of a form, decoded, in the order sent.
    pub parameters: Vec<(String, String)>,
    /// The headers that policies may use.
    pub headers: RequestHeaders,
    /// The preferences of the caller (`Prefer`).
    pub preferences: RequestPreferences,
}

impl RequestContext {
    /// Returns the context of a request that the server makes as its administrator.
    #[must_use]
    pub fn of_administrator(format: ResourceFormat) -> Self {
        let caller = ResourceCaller { identity: CallerIdentity::Root, policy_revision: 0 };
        Self::for_assumed_caller(caller, format, RequestQuery::EMPTY)
    }

    /// Returns the context of a hypothetical request by an assumed caller, as `$explain-access` needs.
    #[must_use]
    pub fn for_assumed_caller(caller: ResourceCaller, format: ResourceFormat, query: RequestQuery) -> Self {
        Self {
            caller,
            address: None,
            format,
            query,
            parameters: Vec::new(),
            headers: RequestHeaders::default(),
            preferences: RequestPreferences::default(),
        }
    }
}

/// The headers of a request without credentials, by lower-case name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestHeaders(Vec<(String, String)>);

impl RequestHeaders {
    /// Returns the headers without `Authorization`, `Cookie` and `Proxy-Authorization`. Names are given in lower case.
    #[must_use]
    pub fn without_credentials<'a>(sent: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let sent = sent.into_iter().filter(|(name, _)| !CREDENTIALS.contains(name));
        Self(sent.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Returns names and values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}
