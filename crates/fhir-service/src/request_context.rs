//! One request to the resource endpoints as its handling sees it: who sent it, from where, and what it asks for.

use std::net::IpAddr;

use oauth_core::caller::{Caller, CallerIdentity};

use crate::preferences::Preferences;
use crate::request_query::RequestQuery;
use crate::resource_format::ResourceFormat;

/// Headers that no policy needs, and that traces of policies must not show.
const CREDENTIALS: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];

/// A request without its body.
#[derive(Debug)]
pub struct RequestContext {
    /// The authenticated caller.
    pub caller: Caller,
    /// The address of the peer; `None` where the listener names none.
    pub address: Option<IpAddr>,
    /// The form of the endpoint's resources.
    pub format: ResourceFormat,
    /// The query of the address as sent, and the condition beside it.
    pub query: RequestQuery,
    /// The parameters of the query and of a form, decoded, in the order sent.
    pub parameters: Vec<(String, String)>,
    /// The headers that policies may look at.
    pub headers: RequestHeaders,
    /// How the caller prefers to be answered.
    pub preferences: Preferences,
}

impl RequestContext {
    /// Returns the context of what the server does by itself, as its administrator.
    #[must_use]
    pub fn of_administrator(format: ResourceFormat) -> Self {
        let caller = Caller { identity: CallerIdentity::Root, policy_revision: 0 };
        Self::assumed(caller, format, RequestQuery::NOTHING)
    }

    /// Returns the context of a request that was not made, from a caller that is assumed.
    #[must_use]
    pub fn assumed(caller: Caller, format: ResourceFormat, query: RequestQuery) -> Self {
        Self {
            caller,
            address: None,
            format,
            query,
            parameters: Vec::new(),
            headers: RequestHeaders::default(),
            preferences: Preferences::default(),
        }
    }
}

/// The headers of a request without credentials: names in lower case, those of one name together.
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
