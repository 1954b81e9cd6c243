//! One request to the resource endpoints as it arrives: its context, headers and body.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, FromRequest, Request};
use bytes::Bytes;
use fhir_resource::ResourceType;
use fhir_service::brand_type_names;
use fhir_service::error::ServiceError;
use fhir_service::prefer_header::RequestPreferences;
use fhir_service::request_context::{RequestContext, RequestHeaders};
use fhir_service::request_query::RequestQuery;
use fhir_service::resource_format::ResourceFormat;
use fhir_service::write_criteria;
use fhir_store::{IfMatch, PatchDocument, WritePrecondition, patch};
use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName};
use oauth_core::access::{self, AccessError};
use oauth_core::resource_caller::CallerIdentity;
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use crate::error::ApiError;
use crate::media::{self, JsonMediaType};
use crate::middleware::accept;
use crate::state::App;
use crate::{body, form};

/// The condition of a conditional create.
const IF_NONE_EXIST: HeaderName = HeaderName::from_static("if-none-exist");
/// RFC 7240.
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// What the addresses end with that take the parameters of a search in a form.
const SEARCH_BY_FORM: &str = "/_search";

/// A request, read whole.
///
/// The caller is identified before a byte of the body is read, and the body of an anonymous caller is not read when no
/// policy could allow what it contains.
pub(crate) struct ResourceRequest {
    /// Everything but the body and the headers of HTTP.
    pub(crate) context: RequestContext,
    /// Its headers.
    pub(crate) headers: HeaderMap,
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
        let caller =
            app.oauth.callers.authenticate_header_from_address(&app.env(), authorization, from.as_deref()).await?;
        let anonymous = matches!(caller.identity, CallerIdentity::Anonymous);
        if anonymous && !access::may_admit_anonymous(&app.oauth.directory, &caller).await? {
            return Err(AccessError::Unauthenticated.into());
        }
        let limit_bytes = app.max_body_bytes;
        let (bytes, held) = body::read_held(&app.bodies, &parts.headers, body, limit_bytes).await?;
        let is_form = parts.uri.path().ends_with(SEARCH_BY_FORM) && media::is_form(&parts.headers);
        let query = query_with(parts.uri.query(), is_form.then_some(&bytes))?;
        let (kind, mut body) = if bytes.is_empty() || is_form {
            (JsonMediaType::Plain, None)
        } else {
            (media::json_kind(&parts.headers)?, Some(body::json(&bytes)?))
        };
        if let Some(body) = &mut body {
            brand_type_names::rename_brand_types(&app.fhir.settings().platform_name, body);
        }
        let format = ResourceFormat::of_path(parts.uri.path());
        let parameters: Vec<_> =
            form_urlencoded::parse(query.as_deref().unwrap_or_default().as_bytes()).into_owned().collect();
        accept::check(format, &parameters)?;
        let condition = parts.headers.get(IF_NONE_EXIST).and_then(|value| value.to_str().ok());
        let context = RequestContext {
            caller,
            address,
            format,
            query: RequestQuery::new(query, condition.map(str::to_owned)),
            parameters,
            headers: texts(&parts.headers),
            preferences: preferences(&parts.headers),
        };
        Ok(Self { context, headers: parts.headers, body, kind, _held: held })
    }
}

/// Returns the headers that are text, without credentials.
fn texts(headers: &HeaderMap) -> RequestHeaders {
    let texts = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
    RequestHeaders::without_credentials(texts)
}

fn preferences(headers: &HeaderMap) -> RequestPreferences {
    RequestPreferences::parse_prefer_headers(headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok()))
}

/// Returns the query of the address, with the parameters of a form behind it.
fn query_with(query: Option<&str>, form: Option<&Bytes>) -> Result<Option<String>, ApiError> {
    let Some(form) = form else { return Ok(query.map(str::to_owned)) };
    let form = std::str::from_utf8(form).map_err(|_| ApiError::NotAForm)?;
    let parts: Vec<&str> = query.into_iter().chain([form]).filter(|part| !part.is_empty()).collect();
    Ok(Some(parts.join("&")))
}

impl ResourceRequest {
    /// Returns whether the caller wants a deletion answered without the resource.
    pub(crate) fn wants_no_content(&self) -> bool {
        self.context.parameters.iter().any(|(name, value)| name == "_no-content" && value == "true")
    }

    /// Takes the body; it is there once.
    pub(crate) fn take_body(&mut self) -> Option<Value> {
        self.body.take()
    }

    /// Takes the body of a write.
    pub(crate) fn take_resource(&mut self) -> Result<Value, ApiError> {
        Ok(self.take_body().ok_or(ServiceError::NoBody)?)
    }

    /// `body` as a patch: by its media type, else an array is a JSON Patch and an object a merge.
    pub(crate) fn read_patch(&self, body: Value) -> Result<PatchDocument, ApiError> {
        match (self.kind, &body) {
            (JsonMediaType::JsonPatch, _) | (JsonMediaType::Plain, Value::Array(_)) => {
                Ok(patch::parse_json_patch(body).map_err(ServiceError::NotAPatch)?)
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
    /// is refused, because it may find a resource that the address does not name.
    pub(crate) fn guard(&self) -> Result<WritePrecondition, ApiError> {
        if self.headers.contains_key(IF_NONE_EXIST) {
            return Err(ApiError::ConditionOnPut);
        }
        Ok(WritePrecondition { if_match: self.if_match()?, if_none_match: self.if_none_match()?, if_none_exist: None })
    }

    /// Returns the conditions of a create: `If-Match`, `If-None-Match` and `If-None-Exist`.
    pub(crate) async fn create_condition(&self, app: &App, kind: &ResourceType) -> Result<WritePrecondition, ApiError> {
        let if_none_exist = match self.if_none_exist()? {
            Some(text) => Some(write_criteria::parse_write_criteria(&app.fhir, self.context.format, kind, text).await?),
            None => None,
        };
        Ok(WritePrecondition { if_match: self.if_match()?, if_none_match: self.if_none_match()?, if_none_exist })
    }

    /// Returns the conditions of a write whose target the query finds. A second condition in a header is refused:
    /// policies judge the one that decides.
    pub(crate) async fn address_condition(
        &self,
        app: &App,
        kind: &ResourceType,
    ) -> Result<WritePrecondition, ApiError> {
        if self.if_none_exist()?.is_some() {
            return Err(ApiError::ConditionOnPut);
        }
        let text = self.context.query.query_string().unwrap_or_default();
        let if_none_exist =
            Some(write_criteria::parse_write_criteria(&app.fhir, self.context.format, kind, text).await?);
        Ok(WritePrecondition { if_match: self.if_match()?, if_none_match: self.if_none_match()?, if_none_exist })
    }

    fn if_none_exist(&self) -> Result<Option<&str>, ApiError> {
        self.header(&IF_NONE_EXIST, "If-None-Exist")
    }

    fn header(&self, name: &HeaderName, shown: &'static str) -> Result<Option<&str>, ApiError> {
        self.headers.get(name).map(|value| value.to_str().map_err(|_| ApiError::Header(shown))).transpose()
    }
}
