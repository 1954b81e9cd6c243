//! Reading a Bundle of requests.

use std::collections::BTreeSet;

use fhir_resource::{ResourceId, ResourceKey, ResourceType};
use serde_json::{Map, Value};

use crate::history::HistoryPageRange;
use crate::limits;
use crate::patch;
use crate::ports::{IfMatch, ParseIfMatchError, PatchDocument, ResourceWrite, WriteOperation, WritePrecondition};
use crate::query_parsing::{self, QueryError};
use crate::write_criteria::{ConditionalWriteCriteria, CriteriaParseError};

/// The processing mode of a Bundle: batch or transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleType {
    /// Each entry succeeds or fails alone.
    Batch,
    /// All entries succeed, or none is executed.
    Transaction,
}

/// A parsed batch or transaction Bundle, in the order of its entries.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestBundle {
    /// Batch or transaction.
    pub bundle_type: BundleType,
    /// The requests. In a batch an entry that cannot be read is a fault of that entry alone; a
    /// transaction has no such entries.
    pub entries: Vec<Result<BundleEntryRequest, BundleEntryError>>,
}

/// The request of one Bundle entry.
#[derive(Clone, Debug, PartialEq)]
pub enum BundleEntryRequest {
    /// A write.
    Write(ResourceWrite),
    /// A read.
    Read(BundleReadRequest),
}

/// A read request of a Bundle entry.
#[derive(Clone, Debug, PartialEq)]
pub enum BundleReadRequest {
    /// The current version of a resource.
    One(ResourceKey),
    /// A version of a resource.
    Version(ResourceKey, i64),
    /// A list of resources, or a search: the caller of [`parse_request_bundle`] decides which.
    List {
        /// The type.
        resource_type: ResourceType,
        /// The parameters, decoded, in the order sent.
        parameters: Vec<(String, String)>,
    },
    /// The versions of a resource, or of a type.
    History {
        /// The type.
        resource_type: ResourceType,
        /// The id of the resource; every resource of the type when `None`.
        id: Option<ResourceId>,
        /// The page of the history that is requested.
        window: HistoryPageRange,
    },
}

/// The entries of a Bundle grouped into writes, reads and invalid entries, each with its index in the Bundle.
///
/// In a transaction the writes go first, in their order, and the reads see what they did (FHIR's
/// rule for GET; the writes themselves are not reordered).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BundleEntriesByAction {
    /// The writes. The error of a transaction names one of them by its position in this list.
    pub writes: Vec<(usize, ResourceWrite)>,
    /// The reads.
    pub reads: Vec<(usize, BundleReadRequest)>,
    /// The entries that cannot be read; a transaction has none.
    pub faults: Vec<BundleEntryError>,
}

impl RequestBundle {
    /// Groups the entries into writes, reads and invalid ones.
    #[must_use]
    pub fn into_entries_by_action(self) -> BundleEntriesByAction {
        let mut entries = BundleEntriesByAction::default();
        for (index, entry) in self.entries.into_iter().enumerate() {
            match entry {
                Ok(BundleEntryRequest::Write(write)) => entries.writes.push((index, write)),
                Ok(BundleEntryRequest::Read(read)) => entries.reads.push((index, read)),
                Err(fault) => entries.faults.push(fault),
            }
        }
        entries
    }
}

/// The reason why a Bundle as a whole cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestBundleError {
    /// The body is no Bundle.
    #[error("the body is not a Bundle")]
    NotABundle,
    /// The Bundle is of a type that is nothing to execute.
    #[error("a Bundle to execute has the type `batch` or `transaction`")]
    Type,
    /// `entry` is no list.
    #[error("Bundle.entry must be an array")]
    EntriesNotAnArray,
    /// More entries than [`limits::MAX_BUNDLE_ENTRIES`].
    #[error("a Bundle has at most {} entries", limits::MAX_BUNDLE_ENTRIES)]
    TooManyEntries,
    /// An entry of a transaction cannot be read.
    #[error(transparent)]
    Entry(#[from] BundleEntryError),
}

/// The reason why an entry of a Bundle cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", super::entry_fhirpath(*index))]
pub struct BundleEntryError {
    /// The entry, from 0.
    pub index: usize,
    /// The kind of the error.
    pub problem: BundleEntryErrorKind,
}

impl BundleEntryError {
    /// Returns the `FHIRPath` expression of the entry.
    #[must_use]
    pub fn entry_fhirpath(&self) -> String {
        super::entry_fhirpath(self.index)
    }
}

/// The kind of error in a Bundle entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleEntryErrorKind {
    /// The entry, or its `request`, is no object.
    #[error("an entry is an object with a `request`")]
    NotARequest,
    /// A member of the request has to be a string and is not.
    #[error("request.{0} must be a string")]
    NotAString(&'static str),
    /// The method is none of POST, PUT, PATCH, DELETE, GET, HEAD.
    #[error("request.method is POST, PUT, PATCH, DELETE, GET or HEAD")]
    Method,
    /// The URL does not fit the method.
    #[error("request.url of this method is {0}")]
    Url(&'static str),
    /// A write without `resource`.
    #[error("the method needs a `resource`")]
    NoResource,
    /// The patch is in none of the forms understood.
    #[error("a patch is a Binary or an array (JSON Patch), or an object (JSON merge patch): {0}")]
    Patch(String),
    /// `ifMatch` or `ifNoneMatch` cannot be read.
    #[error("request.ifMatch or request.ifNoneMatch: {0}")]
    IfMatch(#[from] ParseIfMatchError),
    /// The query of a history cannot be read.
    #[error("the query of the request: {0}")]
    Query(#[from] QueryError),
    /// The condition cannot be read.
    #[error("the query of the request: {0}")]
    Criteria(#[from] CriteriaParseError),
    /// A create with a query in its URL and `ifNoneExist`.
    #[error("`ifNoneExist` and a query in the URL exclude each other")]
    TwoConditions,
    /// Two entries have the same `fullUrl`, so a reference to it has no one meaning.
    #[error("another entry has the same fullUrl")]
    DuplicateFullUrl,
}

/// A function that parses the criteria of a conditional write in a Bundle entry.
pub type WriteCriteriaParser<'a> =
    &'a dyn Fn(&ResourceType, &str) -> Result<ConditionalWriteCriteria, CriteriaParseError>;

/// Parses a batch or transaction Bundle, with `criteria` as the parser of conditions.
///
/// Bodies are not converted: at the FHIR endpoint the caller applies
/// [`convert_write_to_native`](crate::write_conversion::convert_write_to_native) to each write. The id in the body of a
/// POST is honored.
///
/// # Errors
/// See [`RequestBundleError`].
pub fn parse_request_bundle(
    body: Value,
    criteria: WriteCriteriaParser<'_>,
) -> Result<RequestBundle, RequestBundleError> {
    let Value::Object(mut bundle) = body else { return Err(RequestBundleError::NotABundle) };
    if bundle.get("resourceType").and_then(Value::as_str) != Some("Bundle") {
        return Err(RequestBundleError::NotABundle);
    }
    let bundle_type = match bundle.get("type").and_then(Value::as_str) {
        Some("batch") => BundleType::Batch,
        Some("transaction") => BundleType::Transaction,
        _ => return Err(RequestBundleError::Type),
    };
    let entries = match bundle.remove("entry") {
        None => Vec::new(),
        Some(Value::Array(entries)) => entries,
        Some(_) => return Err(RequestBundleError::EntriesNotAnArray),
    };
    if entries.len() > limits::MAX_BUNDLE_ENTRIES {
        return Err(RequestBundleError::TooManyEntries);
    }
    let mut reading = Reading { names: BTreeSet::new(), patch_bytes: limits::MAX_BUNDLE_ENCODED_PATCH_BYTES, criteria };
    let entries = entries
        .into_iter()
        .enumerate()
        .map(|(index, value)| entry(value, &mut reading).map_err(|problem| BundleEntryError { index, problem }));
    let entries = match bundle_type {
        BundleType::Batch => entries.collect(),
        BundleType::Transaction => entries.map(|read| read.map(Ok)).collect::<Result<_, _>>()?,
    };
    Ok(RequestBundle { bundle_type, entries })
}

/// What the entries of one Bundle are read with.
struct Reading<'a> {
    /// The `fullUrl`s so far.
    names: BTreeSet<String>,
    /// How many bytes of encoded patches may still come.
    patch_bytes: usize,
    criteria: WriteCriteriaParser<'a>,
}

fn entry(value: Value, reading: &mut Reading<'_>) -> Result<BundleEntryRequest, BundleEntryErrorKind> {
    let Value::Object(mut entry) = value else { return Err(BundleEntryErrorKind::NotARequest) };
    let Some(Value::Object(request)) = entry.remove("request") else {
        return Err(BundleEntryErrorKind::NotARequest);
    };
    let full_url = text(&entry, "fullUrl")?.map(str::to_owned);
    if full_url.as_ref().is_some_and(|full_url| !reading.names.insert(full_url.clone())) {
        return Err(BundleEntryErrorKind::DuplicateFullUrl);
    }
    let method = text(&request, "method")?.ok_or(BundleEntryErrorKind::Method)?;
    let address = text(&request, "url")?.unwrap_or_default();
    // Not specified of HEAD; an entry is never without a body, so it is reported as for GET.
    if matches!(method, "GET" | "HEAD") {
        return get(address).map(BundleEntryRequest::Read);
    }
    let url = Url::read(address)?;
    let operation = operation(method, &url, entry.remove("resource"), &mut reading.patch_bytes)?;
    let precondition = precondition(&request, &url, reading.criteria)?;
    let write = ResourceWrite::conditional(url.resource_type, operation, precondition);
    Ok(BundleEntryRequest::Write(ResourceWrite { id: url.id, full_url, ..write }))
}

fn text<'a>(object: &'a Map<String, Value>, name: &'static str) -> Result<Option<&'a str>, BundleEntryErrorKind> {
    match object.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(BundleEntryErrorKind::NotAString(name)),
    }
}

fn operation(
    method: &str,
    url: &Url<'_>,
    resource: Option<Value>,
    patch_bytes: &mut usize,
) -> Result<WriteOperation, BundleEntryErrorKind> {
    let body = || resource.ok_or(BundleEntryErrorKind::NoResource);
    let named = url.id.is_some() || url.query.is_some();
    match method {
        "POST" if url.id.is_some() || url.query.is_some() => Err(BundleEntryErrorKind::Url("`Type`")),
        "POST" => Ok(WriteOperation::Create(body()?)),
        "PUT" | "PATCH" | "DELETE" if !named => Err(BundleEntryErrorKind::Url("`Type/id` or `Type?condition`")),
        "PUT" => Ok(WriteOperation::Put(body()?)),
        "PATCH" => patch_document(&url.resource_type, body()?, patch_bytes).map(WriteOperation::Patch),
        "DELETE" => Ok(WriteOperation::Delete),
        _ => Err(BundleEntryErrorKind::Method),
    }
}

/// A patch as an entry carries it: itself, or in a Binary as FHIR has it.
///
/// A Parameters with `FHIRPath`s is refused by name: read as a merge patch it would write nonsense. A Binary that is
/// patched itself differs from one that carries a patch by the media type.
///
/// # Source
/// FHIR R4, `RESTful` API, patch: in a Bundle a JSON Patch is a Binary.
fn patch_document(
    resource_type: &ResourceType,
    body: Value,
    patch_bytes: &mut usize,
) -> Result<PatchDocument, BundleEntryErrorKind> {
    match body {
        Value::Array(_) => patch::parse_json_patch(body).map_err(BundleEntryErrorKind::Patch),
        Value::Object(ref binary) if patch::is_encoded(resource_type.as_str(), binary) => {
            patch::read_encoded(binary, patch_bytes).map_err(BundleEntryErrorKind::Patch)
        }
        Value::Object(ref change) => match change.get("resourceType").and_then(Value::as_str) {
            Some(other) if other != resource_type.as_str() => {
                Err(BundleEntryErrorKind::Patch(format!("the form {other} is not supported")))
            }
            _ => Ok(PatchDocument::Merge(body)),
        },
        _ => Err(BundleEntryErrorKind::Patch("it is neither".to_owned())),
    }
}

fn precondition(
    request: &Map<String, Value>,
    url: &Url<'_>,
    criteria: WriteCriteriaParser<'_>,
) -> Result<WritePrecondition, BundleEntryErrorKind> {
    let if_match = text(request, "ifMatch")?.map(str::parse::<IfMatch>).transpose()?;
    let if_none_match = text(request, "ifNoneMatch")?.map(str::parse::<IfMatch>).transpose()?;
    let if_none_exist = match (text(request, "ifNoneExist")?, url.query) {
        (Some(_), Some(_)) => return Err(BundleEntryErrorKind::TwoConditions),
        (Some(text), None) | (None, Some(text)) => Some(criteria(&url.resource_type, text)?),
        (None, None) => None,
    };
    Ok(WritePrecondition { if_match, if_none_match, if_none_exist })
}

/// `Type`, `Type/id` or `Type?query`, with or without a slash in front.
struct Url<'a> {
    resource_type: ResourceType,
    id: Option<ResourceId>,
    query: Option<&'a str>,
}

impl<'a> Url<'a> {
    fn read(text: &'a str) -> Result<Self, BundleEntryErrorKind> {
        const FORM: BundleEntryErrorKind = BundleEntryErrorKind::Url("`Type`, `Type/id` or `Type?condition`");
        let text = text.strip_prefix('/').unwrap_or(text);
        let (path, query) = match text.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (text, None),
        };
        let (resource_type, id) = match path.split_once('/') {
            Some((resource_type, id)) => (resource_type, Some(id.parse().map_err(|_| FORM)?)),
            None => (path, None),
        };
        if id.is_some() && query.is_some() {
            return Err(FORM);
        }
        Ok(Self { resource_type: resource_type.parse().map_err(|_| FORM)?, id, query })
    }
}

/// Returns what a GET of an address asks for.
fn get(address: &str) -> Result<BundleReadRequest, BundleEntryErrorKind> {
    const FORM: BundleEntryErrorKind =
        BundleEntryErrorKind::Url("`Type?query`, `Type/id`, or one of them with `/_history`");
    let address = address.strip_prefix('/').unwrap_or(address);
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let pairs: Vec<_> = form_urlencoded::parse(query.as_bytes()).collect();
    let pairs = || pairs.iter().map(|(name, value)| (name.as_ref(), value.as_ref()));
    let resource_type = |text: &str| text.parse::<ResourceType>().map_err(|_| FORM);
    let key =
        |resource_type: ResourceType, id: &str| Ok(ResourceKey { resource_type, id: id.parse().map_err(|_| FORM)? });
    match path.split('/').collect::<Vec<_>>().as_slice() {
        [name] => {
            let parameters = pairs().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            Ok(BundleReadRequest::List { resource_type: resource_type(name)?, parameters })
        }
        [name, "_history"] => Ok(BundleReadRequest::History {
            resource_type: resource_type(name)?,
            id: None,
            window: query_parsing::parse_history_range(pairs())?,
        }),
        [name, id] if query.is_empty() => key(resource_type(name)?, id).map(BundleReadRequest::One),
        [name, id, "_history"] => {
            let ResourceKey { resource_type, id } = key(resource_type(name)?, id)?;
            Ok(BundleReadRequest::History {
                resource_type,
                id: Some(id),
                window: query_parsing::parse_history_range(pairs())?,
            })
        }
        [name, id, "_history", version] if query.is_empty() => {
            Ok(BundleReadRequest::Version(key(resource_type(name)?, id)?, version.parse().map_err(|_| FORM)?))
        }
        _ => Err(FORM),
    }
}

#[cfg(test)]
mod tests;
