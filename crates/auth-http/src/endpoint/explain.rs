//! `/$explain-access`: which scope and which policy decide about a request, and what is missing.
//!
//! Not specified whose request it is: an administrator asks for others, so the caller is named in the query
//! (`client`, `user`, `patient`, `scope`), and nobody's token has to be at hand. The decision is the one a
//! request would get, by the same code; only that a request has a body is not known here, so a policy that looks
//! into it says no.

use axum::extract::State;
use axum::response::Response;
use fhir_store::{ResourceKey, ResourceType, Write, WriteOperation};
use http::StatusCode;
use oauth_core::access::AccessError;
use oauth_core::explanation::{self, AssumedRequest, ExplainError};
use serde_json::json;

use crate::asked::RequestQuery;
use crate::call::ResourceRequest;
use crate::error::ApiError;
use crate::gate::{self, AccessCheck};
use crate::state::App;
use crate::surface::ResourceFormat;
use crate::{answer, brand};

/// Explains.
pub(crate) async fn get(State(app): State<App>, call: ResourceRequest) -> Result<Response, ApiError> {
    gate::permit_administrator(&call)?;
    let sent = |name: &str| call.query.iter().find(|(sent, _)| sent == name).map(|(_, value)| value.as_str());
    let required = |name: &'static str| sent(name).ok_or(missing(name));
    let (method, address) = (required("method")?, required("path")?);
    let (path, query) = address.split_once('?').map_or((address, None), |(path, query)| (path, Some(query)));
    let supposed =
        AssumedRequest { client: sent("client"), user: sent("user"), patient: sent("patient"), scope: sent("scope") };
    let caller = explanation::caller(&app.env(), &app.authority, supposed).await?;
    let call =
        ResourceRequest::supposed(caller, ResourceFormat::of(path), RequestQuery::new(query.map(str::to_owned), None));
    let request = Request::read(&app, method, path)?;
    let write = request.write();
    let act = match &write {
        Some(write) => AccessCheck::write(write, &call.asked),
        None => request.act(&call.asked),
    };
    let decided = match &write {
        Some(_) => gate::permit_write(&app, &call, &act).await.map(|reach| reach.target.is_confined()),
        None => gate::permit(&app, &call, &act).await.map(|within| within.is_confined()).map_err(ApiError::from),
    };
    let explained = gate::explain(&app, &call, &act).await?;
    let (allowed, only_in_part, because) = match decided {
        Ok(confined) => (true, confined, None),
        Err(failed @ ApiError::Denied { cause: AccessError::Store(_), .. }) => return Err(failed),
        Err(ApiError::Denied { cause, .. }) => (false, false, Some(cause.to_string())),
        Err(failed) => return Err(failed),
    };
    let told = json!({
        "allowed": allowed,
        "only_in_part": only_in_part,
        "because": because,
        "operation": act.operation(),
        "explanation": explained,
    });
    Ok(answer::json(StatusCode::OK, ResourceFormat::Native, &told))
}

/// The reason why nothing is explained.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExplainRequestError {
    /// A parameter is missing, or says nothing that can be explained.
    #[error("an explanation needs a method and a path of resources: {0}")]
    Missing(&'static str),
    /// The caller cannot be supposed.
    #[error("{0}")]
    Supposed(ExplainError),
}

const fn missing(name: &'static str) -> ApiError {
    ApiError::Unexplained(ExplainRequestError::Missing(name))
}

/// A request about resources, without its body.
struct Request {
    method: Method,
    kind: ResourceType,
    /// The resource, and what the address has below it or the type.
    key: Option<ResourceKey>,
    beneath: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Request {
    fn read(app: &App, method: &str, path: &str) -> Result<Self, ApiError> {
        const PATH: ApiError = missing("path");
        let method = match method.to_ascii_uppercase().as_str() {
            "GET" | "HEAD" => Method::Get,
            "POST" => Method::Post,
            "PUT" => Method::Put,
            "PATCH" => Method::Patch,
            "DELETE" => Method::Delete,
            _ => return Err(missing("method")),
        };
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        let segments = segments.strip_prefix(["fhir"].as_slice()).unwrap_or(&segments);
        let Some((kind, rest)) = segments.split_first() else { return Err(PATH) };
        let kind: ResourceType = brand::type_name(&app.settings.platform_name, kind).parse().map_err(|_| PATH)?;
        let key = |id: &str| Ok::<_, ApiError>(Some(ResourceKey { kind: kind.clone(), id: id.parse()? }));
        let (key, beneath) = match rest {
            [] => (None, String::new()),
            ["_history"] if method == Method::Get => (None, "/_history".to_owned()),
            [id] => (key(id)?, String::new()),
            [id, "_history"] if method == Method::Get => (key(id)?, "/_history".to_owned()),
            [id, "_history", version] if method == Method::Get => (key(id)?, format!("/_history/{version}")),
            _ => return Err(PATH),
        };
        Ok(Self { method, kind, key, beneath })
    }

    /// Returns what a GET asks for.
    fn act<'a>(&'a self, asked: &'a RequestQuery) -> AccessCheck<'a> {
        match (&self.key, self.beneath.as_str()) {
            (None, "") => AccessCheck::list(&self.kind, asked),
            (None, _) => AccessCheck::history(&self.kind, asked),
            (Some(key), "") => AccessCheck::read(key, asked),
            (Some(key), "/_history") => AccessCheck::history_of(key, asked),
            (Some(key), beneath) => AccessCheck::vread(key, beneath, asked),
        }
    }

    /// Returns what any other method writes; without a body it is an empty one.
    fn write(&self) -> Option<Write> {
        let operation = match self.method {
            Method::Get => return None,
            Method::Post => WriteOperation::Create(json!({})),
            Method::Put => WriteOperation::Put(json!({})),
            Method::Patch => WriteOperation::Patch(fhir_store::PatchDocument::Merge(json!({}))),
            Method::Delete => WriteOperation::Delete,
        };
        Some(match &self.key {
            Some(key) => Write::to(key.clone(), operation),
            None => Write::by_condition(self.kind.clone(), operation, fhir_store::Precondition::default()),
        })
    }
}
