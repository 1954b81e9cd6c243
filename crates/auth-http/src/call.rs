//! One request to the resource endpoints: who sent it, and everything it says.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{ConnectInfo, FromRequest, Request};
use fhir_store::{IfMatch, PatchDocument, Precondition, patch, query};
use http::header::IF_MATCH;
use http::{HeaderMap, HeaderName, Uri};
use oauth_core::caller::{self, Caller};
use serde_json::Value;

use crate::error::Fault;
use crate::media::{self, JsonKind};
use crate::state::App;
use crate::surface::Dialect;
use crate::{body, brand, form};

/// The condition of a conditional create.
const IF_NONE_EXIST: HeaderName = HeaderName::from_static("if-none-exist");

/// A request, read whole.
///
/// The caller is identified before a byte of the body is read.
pub(crate) struct Call {
    /// Who sent it.
    pub(crate) caller: Caller,
    /// From where; `None` where the listener names no peer.
    pub(crate) address: Option<IpAddr>,
    /// The spelling its resources are in.
    pub(crate) dialect: Dialect,
    /// Where to.
    pub(crate) uri: Uri,
    /// Its headers.
    pub(crate) headers: HeaderMap,
    /// Its query, decoded, in the order sent.
    pub(crate) query: Vec<(String, String)>,
    /// Its body, as sent; `None` when there is none.
    pub(crate) body: Option<Value>,
    kind: JsonKind,
}

impl FromRequest<App> for Call {
    type Rejection = Fault;

    async fn from_request(request: Request, app: &App) -> Result<Self, Fault> {
        let (parts, body) = request.into_parts();
        let authorization = form::authorization(&parts.headers)?;
        let caller = caller::identify(&app.env(), &app.authority, authorization).await?;
        let bytes = body::read(&parts.headers, body, app.settings.max_body_bytes).await?;
        let (kind, mut body) = if bytes.is_empty() {
            (JsonKind::Plain, None)
        } else {
            (media::json_kind(&parts.headers)?, Some(body::json(&bytes)?))
        };
        if let Some(body) = &mut body {
            brand::rename(&app.settings.platform_name, body);
        }
        let query = parts.uri.query().unwrap_or_default().as_bytes();
        Ok(Self {
            caller,
            address: parts.extensions.get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip()),
            dialect: Dialect::of(parts.uri.path()),
            query: form_urlencoded::parse(query).into_owned().collect(),
            uri: parts.uri,
            headers: parts.headers,
            body,
            kind,
        })
    }
}

impl Call {
    /// Whether the caller wants a deletion answered without the resource.
    pub(crate) fn wants_no_content(&self) -> bool {
        self.query.iter().any(|(name, value)| name == "_no-content" && value == "true")
    }

    /// The body of a write.
    pub(crate) fn resource(&self) -> Result<Value, Fault> {
        self.body.clone().ok_or(Fault::NoBody)
    }

    /// `body` as a patch: by its media type, else an array is a JSON Patch and an object a merge.
    pub(crate) fn patch(&self, body: Value) -> Result<PatchDocument, Fault> {
        match (self.kind, &body) {
            (JsonKind::JsonPatch, _) | (JsonKind::Plain, Value::Array(_)) => {
                patch::read_json_patch(body).map_err(Fault::NotAPatch)
            }
            (JsonKind::MergePatch | JsonKind::Plain, _) => Ok(PatchDocument::Merge(body)),
        }
    }

    /// The version the caller has seen.
    pub(crate) fn if_match(&self) -> Result<Option<IfMatch>, Fault> {
        let sent = self.header(&IF_MATCH, "If-Match")?;
        sent.map(|text| text.parse().map_err(|_| Fault::Header("If-Match"))).transpose()
    }

    /// The conditions of a write to one address: `If-Match` and `If-None-Exist`.
    pub(crate) fn precondition(&self) -> Result<Precondition, Fault> {
        let condition = self.header(&IF_NONE_EXIST, "If-None-Exist")?;
        let if_none_exist = condition.map(query::condition).transpose()?;
        Ok(Precondition { if_match: self.if_match()?, if_none_exist })
    }

    /// The conditions of a write whose target the query finds.
    pub(crate) fn search(&self) -> Result<Precondition, Fault> {
        let condition = query::condition(self.uri.query().unwrap_or_default())?;
        Ok(Precondition { if_match: self.if_match()?, if_none_exist: Some(condition) })
    }

    fn header(&self, name: &HeaderName, shown: &'static str) -> Result<Option<&str>, Fault> {
        self.headers.get(name).map(|value| value.to_str().map_err(|_| Fault::Header(shown))).transpose()
    }
}
