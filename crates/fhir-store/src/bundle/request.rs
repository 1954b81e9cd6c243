//! Reading a Bundle of requests.

use std::collections::BTreeSet;

use fhir_resource::{ResourceId, ResourceKey, ResourceType};
use serde_json::{Map, Value};

use crate::criteria::{CriteriaError, WriteCriteria};
use crate::history::HistoryRange;
use crate::limits;
use crate::patch;
use crate::ports::{IfMatch, IfMatchError, PatchDocument, Precondition, Write, WriteOperation};
use crate::query::{self, QueryError};

/// The processing mode of a Bundle: batch or transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleType {
    /// Each entry on its own.
    Batch,
    /// All or none.
    Transaction,
}

/// A Bundle of requests, in the order of its entries.
#[derive(Clone, Debug, PartialEq)]
pub struct BundleRequest {
    /// Batch or transaction.
    pub bundle_type: BundleType,
    /// The requests. In a batch an entry that cannot be read is a fault of that entry alone; a
    /// transaction has no such entries.
    pub entries: Vec<Result<EntryRequest, EntryError>>,
}

/// The request of one Bundle entry.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryRequest {
    /// A write.
    Write(Write),
    /// A read.
    Read(ReadRequest),
}

/// A read request of a Bundle entry.
#[derive(Clone, Debug, PartialEq)]
pub enum ReadRequest {
    /// The current version of a resource.
    One(ResourceKey),
    /// A version of a resource.
    Version(ResourceKey, i64),
    /// A list of resources, or a search: the caller of [`read`] decides which.
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
        /// The resource.
        id: Option<ResourceId>,
        /// Which of the versions.
        window: HistoryRange,
    },
}

/// The entries of a Bundle by what is done with them, each with its index in the Bundle.
///
/// In a transaction the writes go first, in their order, and the reads see what they did (FHIR's
/// rule for GET; the writes themselves are not reordered).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntriesByAction {
    /// The writes: the refusal of a transaction names one of these by its position here.
    pub writes: Vec<(usize, Write)>,
    /// The reads.
    pub reads: Vec<(usize, ReadRequest)>,
    /// The entries that cannot be read; a transaction has none.
    pub faults: Vec<EntryError>,
}

impl BundleRequest {
    /// Returns the entries sorted by what is done with them.
    #[must_use]
    pub fn into_entries(self) -> EntriesByAction {
        let mut entries = EntriesByAction::default();
        for (index, entry) in self.entries.into_iter().enumerate() {
            match entry {
                Ok(EntryRequest::Write(write)) => entries.writes.push((index, write)),
                Ok(EntryRequest::Read(read)) => entries.reads.push((index, read)),
                Err(fault) => entries.faults.push(fault),
            }
        }
        entries
    }
}

/// The reason why a Bundle cannot be executed at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
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
    Entry(#[from] EntryError),
}

/// The reason why an entry cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {problem}", super::expression(*index))]
pub struct EntryError {
    /// The entry, from 0.
    pub index: usize,
    /// Why.
    pub problem: EntryErrorKind,
}

impl EntryError {
    /// Where, as a `FHIRPath`.
    #[must_use]
    pub fn expression(&self) -> String {
        super::expression(self.index)
    }
}

/// The kind of error in a Bundle entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EntryErrorKind {
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
    IfMatch(#[from] IfMatchError),
    /// The query of a history cannot be read.
    #[error("the query of the request: {0}")]
    Query(#[from] QueryError),
    /// The condition cannot be read.
    #[error("the query of the request: {0}")]
    Criteria(#[from] CriteriaError),
    /// A create with a condition in its URL.
    #[error("`ifNoneExist` and a query in the URL exclude each other")]
    TwoConditions,
    /// Two entries have the same `fullUrl`, so a reference to it has no one meaning.
    #[error("another entry has the same fullUrl")]
    DuplicateFullUrl,
}

/// Reads the condition of an entry that writes to a type.
pub type ParseCriteria<'a> = &'a dyn Fn(&ResourceType, &str) -> Result<WriteCriteria, CriteriaError>;

/// Reads a Bundle of requests, their conditions as `criteria` reads them.
///
/// The bodies are taken as they are; at the FHIR endpoint
/// [`write_to_native`](crate::native_write::write_to_native) is for each write. The id in the body of a
/// POST is honoured.
///
/// # Errors
/// See [`BundleError`].
pub fn read(body: Value, criteria: ParseCriteria<'_>) -> Result<BundleRequest, BundleError> {
    let Value::Object(mut bundle) = body else { return Err(BundleError::NotABundle) };
    if bundle.get("resourceType").and_then(Value::as_str) != Some("Bundle") {
        return Err(BundleError::NotABundle);
    }
    let bundle_type = match bundle.get("type").and_then(Value::as_str) {
        Some("batch") => BundleType::Batch,
        Some("transaction") => BundleType::Transaction,
        _ => return Err(BundleError::Type),
    };
    let entries = match bundle.remove("entry") {
        None => Vec::new(),
        Some(Value::Array(entries)) => entries,
        Some(_) => return Err(BundleError::EntriesNotAnArray),
    };
    if entries.len() > limits::MAX_BUNDLE_ENTRIES {
        return Err(BundleError::TooManyEntries);
    }
    let mut reading = Reading { names: BTreeSet::new(), patch_bytes: limits::MAX_ENCODED_PATCH_BYTES, criteria };
    let entries = entries
        .into_iter()
        .enumerate()
        .map(|(index, value)| entry(value, &mut reading).map_err(|problem| EntryError { index, problem }));
    let entries = match bundle_type {
        BundleType::Batch => entries.collect(),
        BundleType::Transaction => entries.map(|read| read.map(Ok)).collect::<Result<_, _>>()?,
    };
    Ok(BundleRequest { bundle_type, entries })
}

/// What the entries of one Bundle are read with.
struct Reading<'a> {
    /// The `fullUrl`s so far.
    names: BTreeSet<String>,
    /// How many bytes of encoded patches may still come.
    patch_bytes: usize,
    criteria: ParseCriteria<'a>,
}

fn entry(value: Value, reading: &mut Reading<'_>) -> Result<EntryRequest, EntryErrorKind> {
    let Value::Object(mut entry) = value else { return Err(EntryErrorKind::NotARequest) };
    let Some(Value::Object(request)) = entry.remove("request") else {
        return Err(EntryErrorKind::NotARequest);
    };
    let full_url = text(&entry, "fullUrl")?.map(str::to_owned);
    if full_url.as_ref().is_some_and(|full_url| !reading.names.insert(full_url.clone())) {
        return Err(EntryErrorKind::DuplicateFullUrl);
    }
    let method = text(&request, "method")?.ok_or(EntryErrorKind::Method)?;
    let address = text(&request, "url")?.unwrap_or_default();
    // Not specified of HEAD; an entry is never without a body, so it is reported as for GET.
    if matches!(method, "GET" | "HEAD") {
        return get(address).map(EntryRequest::Read);
    }
    let url = Url::read(address)?;
    let operation = operation(method, &url, entry.remove("resource"), &mut reading.patch_bytes)?;
    let precondition = precondition(&request, &url, reading.criteria)?;
    let write = Write::by_condition(url.resource_type, operation, precondition);
    Ok(EntryRequest::Write(Write { id: url.id, full_url, ..write }))
}

fn text<'a>(object: &'a Map<String, Value>, name: &'static str) -> Result<Option<&'a str>, EntryErrorKind> {
    match object.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(EntryErrorKind::NotAString(name)),
    }
}

fn operation(
    method: &str,
    url: &Url<'_>,
    resource: Option<Value>,
    patch_bytes: &mut usize,
) -> Result<WriteOperation, EntryErrorKind> {
    let body = || resource.ok_or(EntryErrorKind::NoResource);
    let named = url.id.is_some() || url.query.is_some();
    match method {
        "POST" if url.id.is_some() || url.query.is_some() => Err(EntryErrorKind::Url("`Type`")),
        "POST" => Ok(WriteOperation::Create(body()?)),
        "PUT" | "PATCH" | "DELETE" if !named => Err(EntryErrorKind::Url("`Type/id` or `Type?condition`")),
        "PUT" => Ok(WriteOperation::Put(body()?)),
        "PATCH" => patch_document(&url.resource_type, body()?, patch_bytes).map(WriteOperation::Patch),
        "DELETE" => Ok(WriteOperation::Delete),
        _ => Err(EntryErrorKind::Method),
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
) -> Result<PatchDocument, EntryErrorKind> {
    match body {
        Value::Array(_) => patch::read_json_patch(body).map_err(EntryErrorKind::Patch),
        Value::Object(ref binary) if patch::is_encoded(resource_type.as_str(), binary) => {
            patch::read_encoded(binary, patch_bytes).map_err(EntryErrorKind::Patch)
        }
        Value::Object(ref change) => match change.get("resourceType").and_then(Value::as_str) {
            Some(other) if other != resource_type.as_str() => {
                Err(EntryErrorKind::Patch(format!("the form {other} is not supported")))
            }
            _ => Ok(PatchDocument::Merge(body)),
        },
        _ => Err(EntryErrorKind::Patch("it is neither".to_owned())),
    }
}

fn precondition(
    request: &Map<String, Value>,
    url: &Url<'_>,
    criteria: ParseCriteria<'_>,
) -> Result<Precondition, EntryErrorKind> {
    let if_match = text(request, "ifMatch")?.map(str::parse::<IfMatch>).transpose()?;
    let if_none_match = text(request, "ifNoneMatch")?.map(str::parse::<IfMatch>).transpose()?;
    let if_none_exist = match (text(request, "ifNoneExist")?, url.query) {
        (Some(_), Some(_)) => return Err(EntryErrorKind::TwoConditions),
        (Some(text), None) | (None, Some(text)) => Some(criteria(&url.resource_type, text)?),
        (None, None) => None,
    };
    Ok(Precondition { if_match, if_none_match, if_none_exist })
}

/// `Type`, `Type/id` or `Type?query`, with or without a slash in front.
struct Url<'a> {
    resource_type: ResourceType,
    id: Option<ResourceId>,
    query: Option<&'a str>,
}

impl<'a> Url<'a> {
    fn read(text: &'a str) -> Result<Self, EntryErrorKind> {
        const FORM: EntryErrorKind = EntryErrorKind::Url("`Type`, `Type/id` or `Type?condition`");
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
fn get(address: &str) -> Result<ReadRequest, EntryErrorKind> {
    const FORM: EntryErrorKind = EntryErrorKind::Url("`Type?query`, `Type/id`, or one of them with `/_history`");
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
            Ok(ReadRequest::List { resource_type: resource_type(name)?, parameters })
        }
        [name, "_history"] => {
            Ok(ReadRequest::History { resource_type: resource_type(name)?, id: None, window: query::history(pairs())? })
        }
        [name, id] if query.is_empty() => key(resource_type(name)?, id).map(ReadRequest::One),
        [name, id, "_history"] => {
            let ResourceKey { resource_type, id } = key(resource_type(name)?, id)?;
            Ok(ReadRequest::History { resource_type, id: Some(id), window: query::history(pairs())? })
        }
        [name, id, "_history", version] if query.is_empty() => {
            Ok(ReadRequest::Version(key(resource_type(name)?, id)?, version.parse().map_err(|_| FORM)?))
        }
        _ => Err(FORM),
    }
}

#[cfg(test)]
mod tests;
