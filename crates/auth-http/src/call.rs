//! One request to the resource endpoints: who sent it, and everything it says.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequest, Request};
use bytes::Bytes;
use fhir_store::{IfMatch, PatchDocument, Precondition, patch};
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName};
use oauth_core::access::{self, AccessError};
use oauth_core::caller::{self, Caller, CallerIdentity};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use crate::asked::RequestQuery;
use crate::error::ApiError;
use crate::media::{self, JsonMediaType};
use crate::middleware::accept;
use crate::state::App;
use crate::surface::ResourceFormat;
use crate::{body, brand, form};

/// The condition of a conditional create.
const IF_NONE_EXIST: HeaderName = HeaderName::from_static("if-none-exist");

/// What the addresses end with that take the parameters of a search in a form.
const SEARCH_BY_FORM: &str = "/_search";

/// A request, read whole.
///
/// The caller is identified before a byte of the body is read, and nobody's body is read when no
/// policy could allow what it says.
pub(crate) struct ResourceRequest {
    /// Who sent it.
    pub(crate) caller: Caller,
    /// From where; `None` where the listener names no peer.
    pub(crate) address: Option<IpAddr>,
    /// The spelling its resources are in.
    pub(crate) dialect: ResourceFormat,
    /// What its address asks with.
    pub(crate) asked: RequestQuery,
    /// Its headers.
    pub(crate) headers: HeaderMap,
    /// Its query, decoded, in the order sent.
    pub(crate) query: Vec<(String, String)>,
    /// Its body, as sent; `None` when there is none, or when it was taken.
    body: Option<Value>,
    kind: JsonMediaType,
    /// Its share of the bytes that all requests may hold at once, given back when it is answered.
    _held: Option<OwnedSemaphorePermit>,
}

impl FromRequest<App> for ResourceRequest {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let authorization = form::authorization(&parts.headers)?;
        let address = parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
        let from = form::address(&parts.extensions);
        let caller = caller::identify_from(&app.env(), &app.authority, authorization, from.as_deref()).await?;
        let anonymous = matches!(caller.identity, CallerIdentity::Anonymous);
        if anonymous && !access::admits_anonymous(&app.authority, &caller).await? {
            return Err(AccessError::Unauthenticated.into());
        }
        let limit_bytes = app.settings.max_body_bytes;
        let (bytes, held) = body::read_held(&app.bodies, &parts.headers, body, limit_bytes).await?;
        let is_form = parts.uri.path().ends_with(SEARCH_BY_FORM) && media::is_form(&parts.headers);
        let query = asked_with(parts.uri.query(), is_form.then_some(&bytes))?;
        let (kind, mut body) = if bytes.is_empty() || is_form {
            (JsonMediaType::Plain, None)
        } else {
            (media::json_kind(&parts.headers)?, Some(body::json(&bytes)?))
        };
        if let Some(body) = &mut body {
            brand::rename(&app.settings.platform_name, body);
        }
        let dialect = ResourceFormat::of(parts.uri.path());
        let pairs: Vec<_> =
            form_urlencoded::parse(query.as_deref().unwrap_or_default().as_bytes()).into_owned().collect();
        accept::check(dialect, &pairs)?;
        let condition = parts.headers.get(IF_NONE_EXIST).and_then(|value| value.to_str().ok());
        Ok(Self {
            caller,
            address,
            dialect,
            query: pairs,
            asked: RequestQuery::new(query, condition.map(str::to_owned)),
            headers: parts.headers,
            body,
            kind,
            _held: held,
        })
    }
}

/// Returns the query of the address, with the parameters of a form behind it.
fn asked_with(query: Option<&str>, form: Option<&Bytes>) -> Result<Option<String>, ApiError> {
    let Some(form) = form else { return Ok(query.map(str::to_owned)) };
    let form = std::str::from_utf8(form).map_err(|_| ApiError::NotAForm)?;
    let parts: Vec<&str> = query.into_iter().chain([form]).filter(|part| !part.is_empty()).collect();
    Ok(Some(parts.join("&")))
}

impl ResourceRequest {
    /// Returns what the server does on its own account, as its administrator.
    pub(crate) fn of_administrator(dialect: ResourceFormat) -> Self {
        Self {
            caller: Caller { identity: CallerIdentity::Root, policy_revision: 0 },
            address: None,
            dialect,
            asked: RequestQuery::NOTHING,
            headers: HeaderMap::new(),
            query: Vec::new(),
            body: None,
            kind: JsonMediaType::Plain,
            _held: None,
        }
    }

    /// A request that is only supposed, from a caller that is.
    pub(crate) fn supposed(caller: Caller, dialect: ResourceFormat, asked: RequestQuery) -> Self {
        Self { caller, asked, ..Self::of_administrator(dialect) }
    }

    /// Returns whether the caller wants a deletion answered without the resource.
    pub(crate) fn wants_no_content(&self) -> bool {
        self.query.iter().any(|(name, value)| name == "_no-content" && value == "true")
    }

    /// Takes the body of a write; it is there once.
    pub(crate) fn take_resource(&mut self) -> Result<Value, ApiError> {
        self.body.take().ok_or(ApiError::NoBody)
    }

    /// `body` as a patch: by its media type, else an array is a JSON Patch and an object a merge.
    pub(crate) fn read_patch(&self, body: Value) -> Result<PatchDocument, ApiError> {
        match (self.kind, &body) {
            (JsonMediaType::JsonPatch, _) | (JsonMediaType::Plain, Value::Array(_)) => {
                patch::read_json_patch(body).map_err(ApiError::NotAPatch)
            }
            (JsonMediaType::MergePatch | JsonMediaType::Plain, _) => Ok(PatchDocument::Merge(body)),
        }
    }

    /// Returns the version the caller has seen.
    pub(crate) fn if_match(&self) -> Result<Option<IfMatch>, ApiError> {
        let sent = self.header(&IF_MATCH, "If-Match")?;
        sent.map(|text| text.parse().map_err(|_| ApiError::Header("If-Match"))).transpose()
    }

    /// Returns the version that must not be there, or `*` for none at all.
    pub(crate) fn if_none_match(&self) -> Result<Option<IfMatch>, ApiError> {
        let sent = self.header(&IF_NONE_MATCH, "If-None-Match")?;
        sent.map(|text| text.parse().map_err(|_| ApiError::Header("If-None-Match"))).transpose()
    }

    /// Returns the condition of a write to one resource: `If-Match` and `If-None-Match`. Not specified; `If-None-Exist`
    /// is refused, because what it finds is another resource than the address names.
    pub(crate) fn guard(&self) -> Result<Precondition, ApiError> {
        if self.headers.contains_key(IF_NONE_EXIST) {
            return Err(ApiError::ConditionOnPut);
        }
        Ok(Precondition { if_match: self.if_match()?, if_none_match: self.if_none_match()?, if_none_exist: None })
    }

    /// Returns the condition of a create, as it was sent.
    pub(crate) fn if_none_exist(&self) -> Result<Option<&str>, ApiError> {
        self.header(&IF_NONE_EXIST, "If-None-Exist")
    }

    fn header(&self, name: &HeaderName, shown: &'static str) -> Result<Option<&str>, ApiError> {
        self.headers.get(name).map(|value| value.to_str().map_err(|_| ApiError::Header(shown))).transpose()
    }
}
