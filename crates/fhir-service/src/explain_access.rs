//! `/$explain-access`: which scope and which policy decide about a request, and what is missing.
//!
//! Not specified whose request it is: an administrator asks for others, so the caller is named in the query
//! (`client`, `user`, `patient`, `scope`), and no caller's token has to be at hand. The decision is the one a
//! request would get, by the same code; only that a request has a body is not known here, so a policy that looks
//! into it says no.

use fhir_resource::{ResourceKey, ResourceType};
use fhir_store::{PatchDocument, ResourceWrite, WriteOperation, WritePrecondition};
use oauth_core::access::AccessError;
use oauth_core::access_explanation::{self, AssumedCaller};
use serde_json::{Value, json};

use crate::access::{self, AccessCheck};
use crate::brand_type_names;
use crate::error::{ExplainAccessError, ServiceError};
use crate::request_context::RequestContext;
use crate::request_query::RequestQuery;
use crate::resource_format::ResourceFormat;
use crate::service_state::FhirService;

/// Returns the explanation of the access decision about the request that the parameters describe.
///
/// # Errors
/// [`ServiceError::Unexplained`], and [`ServiceError::Denied`] unless the caller is the administrator.
pub async fn explain_access(service: &FhirService, context: &RequestContext) -> Result<Value, ServiceError> {
    access::require_administrator(context)?;
    let sent = |name: &str| context.parameters.iter().find(|(sent, _)| sent == name).map(|(_, value)| value.as_str());
    let required = |name: &'static str| sent(name).ok_or(missing(name));
    let (method, address) = (required("method")?, required("path")?);
    let (path, query) = address.split_once('?').map_or((address, None), |(path, query)| (path, Some(query)));
    let assumed =
        AssumedCaller { client: sent("client"), user: sent("user"), patient: sent("patient"), scope: sent("scope") };
    let caller = access_explanation::assume_caller(&service.env(), &service.directory, assumed).await?;
    let query = RequestQuery::new(query.map(str::to_owned), None);
    let context = RequestContext::for_assumed_caller(caller, ResourceFormat::of_path(path), query);
    let request = ExplainedRequest::read(service, method, path)?;
    let write = request.write();
    let check = match &write {
        Some(write) => AccessCheck::write(write, &context.query),
        None => request.check(&context.query),
    };
    let decided = match &write {
        Some(_) => access::authorize_write(service, &context, &check).await.map(|reach| reach.target.is_restricted()),
        None => access::authorize(service, &context, &check)
            .await
            .map(|within| within.is_restricted())
            .map_err(ServiceError::from),
    };
    let explained = access::explain(service, &context, &check).await?;
    let (allowed, only_in_part, because) = match decided {
        Ok(confined) => (true, confined, None),
        Err(failed @ ServiceError::Denied { cause: AccessError::Store(_), .. }) => return Err(failed),
        Err(ServiceError::Denied { cause, .. }) => (false, false, Some(cause.to_string())),
        Err(failed) => return Err(failed),
    };
    Ok(json!({
        "allowed": allowed,
        "only_in_part": only_in_part,
        "because": because,
        "operation": check.operation(),
        "explanation": explained,
    }))
}

const fn missing(name: &'static str) -> ServiceError {
    ServiceError::Unexplained(ExplainAccessError::Missing(name))
}

/// A request about resources, without its body.
struct ExplainedRequest {
    method: RequestMethod,
    kind: ResourceType,
    /// The resource, and the rest of the address below it or the type.
    key: Option<ResourceKey>,
    beneath: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestMethod {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl ExplainedRequest {
    fn read(service: &FhirService, method: &str, path: &str) -> Result<Self, ServiceError> {
        const PATH: ServiceError = missing("path");
        let method = match method.to_ascii_uppercase().as_str() {
            "GET" | "HEAD" => RequestMethod::Get,
            "POST" => RequestMethod::Post,
            "PUT" => RequestMethod::Put,
            "PATCH" => RequestMethod::Patch,
            "DELETE" => RequestMethod::Delete,
            _ => return Err(missing("method")),
        };
        let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
        let segments = segments.strip_prefix(["fhir"].as_slice()).unwrap_or(&segments);
        let Some((kind, rest)) = segments.split_first() else { return Err(PATH) };
        let kind: ResourceType =
            brand_type_names::stored_type_name(&service.settings.platform_name, kind).parse().map_err(|_| PATH)?;
        let key = |id: &str| Ok::<_, ServiceError>(Some(ResourceKey { resource_type: kind.clone(), id: id.parse()? }));
        let (key, beneath) = match rest {
            [] => (None, String::new()),
            ["_history"] if method == RequestMethod::Get => (None, "/_history".to_owned()),
            [id] => (key(id)?, String::new()),
            [id, "_history"] if method == RequestMethod::Get => (key(id)?, "/_history".to_owned()),
            [id, "_history", version] if method == RequestMethod::Get => (key(id)?, format!("/_history/{version}")),
            _ => return Err(PATH),
        };
        Ok(Self { method, kind, key, beneath })
    }

    /// Returns the check of a GET.
    fn check<'a>(&'a self, query: &'a RequestQuery) -> AccessCheck<'a> {
        match (&self.key, self.beneath.as_str()) {
            (None, "") => AccessCheck::list(&self.kind, query),
            (None, _) => AccessCheck::history(&self.kind, query),
            (Some(key), "") => AccessCheck::read(key, query),
            (Some(key), "/_history") => AccessCheck::history_of(key, query),
            (Some(key), beneath) => AccessCheck::vread(key, beneath, query),
        }
    }

    /// Returns the write of any other method, with an empty body.
    fn write(&self) -> Option<ResourceWrite> {
        let operation = match self.method {
            RequestMethod::Get => return None,
            RequestMethod::Post => WriteOperation::Create(json!({})),
            RequestMethod::Put => WriteOperation::Put(json!({})),
            RequestMethod::Patch => WriteOperation::Patch(PatchDocument::Merge(json!({}))),
            RequestMethod::Delete => WriteOperation::Delete,
        };
        Some(match &self.key {
            Some(key) => ResourceWrite::unconditional(key.clone(), operation),
            None => ResourceWrite::conditional(self.kind.clone(), operation, WritePrecondition::default()),
        })
    }
}
