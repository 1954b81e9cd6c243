//! What the rest of a server sees of a store: its types, and the trait an engine implements.
//!
//! The rules an engine has to follow are in [`crate::transaction_plan`], so that its own code is statements
//! and nothing else.

mod search;

use std::error::Error;
use std::str::FromStr;

use async_trait::async_trait;
use fhir_resource::{ResourceId, ResourceKey, ResourceType, StoredResource, StoredResourceText};
use serde_json::Value;

use crate::access_filter::{AccessFilter, WriteAccess};
use crate::body_validation::RequestBodyError;
use crate::element_filter::ElementEqualityFilter;
use crate::history::{HistoryPage, HistoryQuery, ResourceVersion};
use crate::limits;
use crate::operation_outcome::OutcomeIssue;
use crate::write_criteria::ConditionalWriteCriteria;

pub use search::{MatchCountMode, RevincludeQuery, SearchExecutionError, SearchMatches, SearchQuery, SearchStore};

/// The result of looking up a resource key: found, deleted or unknown.
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceLookup<S = StoredResource> {
    /// The current version.
    Found(S),
    /// The resource existed and was deleted.
    Deleted {
        /// The number of the write that deleted it.
        version: i64,
    },
    /// The resource never existed.
    Missing,
}

/// A request for one page of a list of resources of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListQuery {
    /// The type to list.
    pub resource_type: ResourceType,
    /// The filters, all of which a resource meets; empty for every resource.
    pub filters: Vec<ElementEqualityFilter>,
    /// The filter of what the caller may access; nothing else is listed or counted.
    pub within: AccessFilter,
    /// Entries per page, at most [`fhir_search::limits::MAX_PAGE_SIZE`]; 0 asks for the total alone.
    pub count: u32,
    /// The page, from 1.
    pub page: u32,
}

impl ListQuery {
    /// Returns the query for the first page of all resources of a type.
    #[must_use]
    pub fn all_of_type(resource_type: ResourceType) -> Self {
        Self {
            resource_type,
            filters: Vec::new(),
            within: AccessFilter::Everything,
            count: fhir_search::limits::DEFAULT_PAGE_SIZE,
            page: 1,
        }
    }

    /// Returns the number of entries before this page.
    #[must_use]
    pub fn offset(&self) -> u64 {
        u64::from(self.count) * u64::from(self.page.saturating_sub(1))
    }
}

/// A page of a list of resources, ordered by id.
#[derive(Clone, Debug, PartialEq)]
pub struct ListPage {
    /// The number of resources on all pages.
    pub total: u64,
    /// The resources of this page.
    pub entries: Vec<StoredResource>,
}

/// One write of a transaction.
#[derive(Clone, Debug, PartialEq)]
pub struct ResourceWrite {
    /// The type written to.
    pub resource_type: ResourceType,
    /// The requested id. A create without one is assigned an id; a put, patch or delete without one finds its target by
    /// `precondition.if_none_exist`.
    pub id: Option<ResourceId>,
    /// The operation.
    pub operation: WriteOperation,
    /// The precondition.
    pub precondition: WritePrecondition,
    /// The name by which other writes of the transaction refer to this one, usually `urn:uuid:…`.
    pub full_url: Option<String>,
    /// The access of the writer: to the write, all other resources are as if they did not exist.
    pub reach: WriteAccess,
    /// The validator of the document that a patch makes. Other bodies are validated by the caller before the
    /// transaction begins; the result of a patch is known inside of it alone.
    pub patch_check: Option<DocumentValidator>,
    /// Paths of members that a put keeps when its document omits them: no reader is shown them, so a document that was
    /// read and is put back has none.
    pub preserved: PreservedMemberPaths,
}

/// A validator of documents by the rules of their type.
///
/// A write carries it, so that the store need not know the rules of types.
#[derive(Clone, Copy, Debug)]
pub struct DocumentValidator(pub fn(&ResourceType, &Value) -> Vec<OutcomeIssue>);

impl PartialEq for DocumentValidator {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::fn_addr_eq(self.0, other.0)
    }
}

/// Paths of members that a write preserves when its document omits them.
pub type PreservedMemberPaths = &'static [&'static [&'static str]];

impl ResourceWrite {
    /// Creates a write to the resource under `key`, without conditions, by a writer with access to everything.
    #[must_use]
    pub fn unconditional(key: ResourceKey, operation: WriteOperation) -> Self {
        Self { id: Some(key.id), ..Self::conditional(key.resource_type, operation, WritePrecondition::default()) }
    }

    /// Creates a conditional write, or a create, whose target the body or condition names, by a writer with access to
    /// everything.
    #[must_use]
    pub fn conditional(
        resource_type: ResourceType,
        operation: WriteOperation,
        precondition: WritePrecondition,
    ) -> Self {
        let (full_url, reach) = (None, WriteAccess::default());
        Self { resource_type, id: None, operation, precondition, full_url, reach, patch_check: None, preserved: &[] }
    }
}

/// The operation of a write: create, update, patch or delete.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteOperation {
    /// Creates a resource that does not exist.
    Create(Value),
    /// Creates a resource or replaces it.
    Put(Value),
    /// Changes an existing resource.
    Patch(PatchDocument),
    /// Deletes a resource.
    Delete,
}

/// A patch of a resource: JSON Merge Patch or JSON Patch, applied to the document as a reader sees it.
#[derive(Clone, Debug, PartialEq)]
pub enum PatchDocument {
    /// JSON Merge Patch (RFC 7396).
    Merge(Value),
    /// JSON Patch (RFC 6902).
    Json(json_patch::Patch),
    /// JSON Patch whose paths are those of the document in FHIR's format, while it is stored in the native one.
    FhirJson(json_patch::Patch),
}

/// The precondition of a write, such as `If-Match` or search criteria.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WritePrecondition {
    /// The version that must be the current one (`If-Match`).
    pub if_match: Option<IfMatch>,
    /// The version that must not be the current one (`If-None-Match`); `*` where no version may exist.
    pub if_none_match: Option<IfMatch>,
    /// For a write with an id, and for every create: the write happens only when no resource matches. For a put, patch
    /// or delete without an id: the criteria that find the target.
    pub if_none_exist: Option<ConditionalWriteCriteria>,
}

/// The value of `If-Match`, or of `If-None-Match`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfMatch {
    /// `*`: the resource exists.
    Any,
    /// `W/"7"`: the resource exists in this version.
    Version(i64),
}

/// The error of a text that is not a valid `If-Match`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("If-Match and If-None-Match are `*` or one entity tag such as `W/\"1\"`")]
pub struct ParseIfMatchError;

impl FromStr for IfMatch {
    type Err = ParseIfMatchError;

    /// Reads `*`, `W/"7"`, `"7"` and the bare `7` some clients send.
    fn from_str(text: &str) -> Result<Self, ParseIfMatchError> {
        let text = text.trim();
        if text == "*" {
            return Ok(Self::Any);
        }
        let tag = text.strip_prefix("W/").unwrap_or(text);
        let bare = match tag.strip_prefix('"') {
            Some(opened) => opened.strip_suffix('"').ok_or(ParseIfMatchError)?,
            None if tag.len() == text.len() => tag,
            None => return Err(ParseIfMatchError),
        };
        if bare.is_empty() || !bare.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(ParseIfMatchError);
        }
        bare.parse().map(Self::Version).map_err(|_| ParseIfMatchError)
    }
}

/// The outcome of a write: created, updated, unchanged, existing, deleted or absent.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteOutcome {
    /// The resource did not exist, or was deleted, and exists now.
    Created(StoredResource),
    /// The resource has a new version.
    Updated(StoredResource),
    /// The content has not changed; there is no new version.
    Unchanged(StoredResource),
    /// `ifNoneExist` matched this resource; nothing was written.
    Existing(StoredResource),
    /// The resource was deleted; this was its last version.
    Deleted(StoredResource),
    /// There was nothing to delete.
    Absent,
}

impl WriteOutcome {
    /// Returns the resource that the write stored, found or deleted; `None` for [`WriteOutcome::Absent`].
    #[must_use]
    pub fn stored_resource(&self) -> Option<&StoredResource> {
        match self {
            Self::Created(stored)
            | Self::Updated(stored)
            | Self::Unchanged(stored)
            | Self::Existing(stored)
            | Self::Deleted(stored) => Some(stored),
            Self::Absent => None,
        }
    }
}

/// The reason why a transaction was refused; nothing of it was written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("write {index} of the transaction: {cause}")]
pub struct TransactionError {
    /// The number of the write that failed, from 0, in the order given.
    pub index: usize,
    /// The reason.
    #[source]
    pub cause: WriteError,
}

/// The reason why a write cannot be done.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WriteError {
    /// A create of what is already there.
    #[error("{0} already exists")]
    AlreadyExists(ResourceKey),
    /// Another resource already has this element's value, which only one resource may have.
    #[error("another resource has the same {0} already")]
    Taken(&'static str),
    /// `If-Match` named another version than the current one.
    #[error("{key} is not in the expected version")]
    VersionMismatch {
        /// The resource.
        key: ResourceKey,
        /// Its current version; `None` when it does not exist.
        current: Option<i64>,
    },
    /// `If-None-Match` excluded the current version.
    #[error("{0} is in a version that If-None-Match excludes")]
    VersionExcluded(ResourceKey),
    /// An earlier write of the same transaction is to this resource too.
    #[error("another entry of the transaction writes {0} too")]
    WrittenTwice(ResourceKey),
    /// The condition of a conditional write matches more than one resource.
    #[error("the condition matches more than one {resource_type}")]
    MultipleMatches {
        /// The type the condition was evaluated on.
        resource_type: ResourceType,
    },
    /// A patch of a resource that never existed.
    #[error("{0} not found")]
    NotFound(ResourceKey),
    /// A conditional patch whose condition matches nothing.
    #[error("no {0} matches the condition")]
    NothingMatches(ResourceType),
    /// A patch of a resource that was deleted, or a write whose condition found a resource that an earlier write of the
    /// transaction deleted.
    #[error("{0} was deleted")]
    Gone(ResourceKey),
    /// The patch does not apply; the text says why and is fit for the caller.
    #[error("the patch does not apply: {0}")]
    Patch(String),
    /// A reference `urn:uuid:…` that no entry of the transaction carries.
    #[error("the reference {0} names no entry of the transaction")]
    UnresolvedReference(String),
    /// A conditional reference that finds nothing.
    #[error("the conditional reference {0} finds no resource")]
    NoReferent(String),
    /// A conditional reference that finds more than one resource.
    #[error("the conditional reference {0} finds more than one resource")]
    SeveralReferents(String),
    /// A conditional reference that a patch puts in.
    #[error("the patch adds the conditional reference {0}: name the resource, or replace the whole resource with PUT")]
    PatchedReferent(String),
    /// More than [`limits::MAX_CONDITIONAL_REFERENCES`] of them in one request.
    #[error("a request has at most {max} different conditional references", max = limits::MAX_CONDITIONAL_REFERENCES)]
    TooManyReferents,
    /// A resource of a type that the server alone writes.
    #[error("a {0} is written by the server alone: it cannot be created, changed or deleted")]
    ReadOnly(ResourceType),
    /// A Group would become one of a match, or one of a match would become more than the match made.
    #[error("a Group that a member match made stays as it was matched: no member, owner or profile of it is changed")]
    MatchGroup,
    /// The resource would be outside of what the writer may access.
    #[error("the resource would not be of the patient the access token is for, or of another one as well")]
    Outside,
    /// The body is not a storable resource.
    #[error("the resource is not valid: {}", first_of(.0))]
    Invalid(Vec<RequestBodyError>),
    /// The resource does not conform to FHIR's definition of its type; every issue, at least one.
    #[error("the resource is not what FHIR says a resource of its type is")]
    Nonconforming(Vec<OutcomeIssue>),
    /// The search of a condition cannot be carried out.
    #[error(transparent)]
    NotSearched(#[from] SearchExecutionError),
}

fn first_of(faults: &[RequestBodyError]) -> String {
    faults.first().map(ToString::to_string).unwrap_or_default()
}

/// A store of resources.
///
/// One method is one transaction of the engine, at serializable isolation or with the same effect for the rows that it
/// reads and writes.
#[async_trait]
pub trait ResourceStore: Send + Sync {
    /// Returns the current state of one resource.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn read(&self, key: &ResourceKey) -> Result<ResourceLookup, StoreError>;

    /// Returns the current state of one resource with its body as unparsed text.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn read_as_text(&self, key: &ResourceKey) -> Result<ResourceLookup<StoredResourceText>, StoreError>;

    /// Returns one page of the resources that meet every filter, and the total.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn list(&self, query: &ListQuery) -> Result<ListPage, StoreError>;

    /// Returns one version of a resource; `None` when it does not exist.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn read_version(&self, key: &ResourceKey, version: i64) -> Result<Option<ResourceVersion>, StoreError>;

    /// Returns one page of a history, newest first.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn read_history(&self, query: &HistoryQuery) -> Result<HistoryPage, StoreError>;

    /// Returns the resource types of which anything was ever written, in no order.
    ///
    /// # Errors
    /// Only when the store itself fails.
    async fn types_ever_written(&self) -> Result<Vec<ResourceType>, StoreError>;

    /// Applies all writes in the given order, or none of them, and returns their outcomes in that order.
    ///
    /// `now_us` is the time of every version made, UNIX microseconds. Each write that changes something makes a
    /// separate version. Two writes of one resource are refused ([`WriteError::WrittenTwice`]).
    ///
    /// # Errors
    /// The outer error means that the store itself failed, the inner one that a rule refuses the transaction; nothing
    /// is written in either case.
    async fn transact_writes(
        &self,
        writes: Vec<ResourceWrite>,
        now_us: i64,
    ) -> Result<Result<Vec<WriteOutcome>, TransactionError>, StoreError>;
}

/// The engine's cause of a failure. It may hold statements and addresses, so it goes to the log and never to a caller.
pub type EngineError = Box<dyn Error + Send + Sync>;

/// A failure of a storage operation. Its text is safe to show to a caller, its source is not.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The engine cannot be used at the moment: it cannot be reached, has no room, or takes no writes. The same call
    /// may succeed later.
    #[error("the store is not available")]
    Unavailable(#[source] EngineError),
    /// The engine answered with an error that waiting does not mend.
    #[error("the store failed")]
    Failed(#[source] EngineError),
    /// Other writers changed the same rows again and again; the whole call may be retried.
    #[error("the store is busy with the same resources")]
    Contended(#[source] EngineError),
    /// No connection to the engine was free in time; nothing was done.
    #[error("the store is too busy")]
    Busy(#[source] EngineError),
    /// The engine ended a statement because it ran for longer than a search may.
    #[error("the search took longer than a search may; narrow it, or ask for fewer values")]
    TooCostly(#[source] EngineError),
    /// The store holds data that this crate does not write.
    #[error("the store holds a resource that cannot be read")]
    Corrupt(#[source] EngineError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn if_match_is_a_star_or_one_tag() {
        assert_eq!("*".parse(), Ok(IfMatch::Any));
        for text in ["W/\"12\"", "\"12\"", "12", " W/\"12\" "] {
            assert_eq!(text.parse(), Ok(IfMatch::Version(12)), "{text}");
        }
        let refused = ["", "W/", "W/12", "W/\"", "\"\"", "\"a\"", "-1", "W/\"1\", W/\"2\"", "9999999999999999999"];
        for text in refused {
            assert_eq!(text.parse::<IfMatch>(), Err(ParseIfMatchError), "{text}");
        }
    }

    #[test]
    fn what_a_store_error_prints_tells_nothing_of_its_cause() {
        let cause = || EngineError::from("password=hunter2");
        let errors = [
            StoreError::Unavailable(cause()),
            StoreError::Failed(cause()),
            StoreError::Contended(cause()),
            StoreError::Busy(cause()),
            StoreError::TooCostly(cause()),
            StoreError::Corrupt(cause()),
        ];
        for error in errors {
            assert!(!error.to_string().contains("hunter2"));
            assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("password=hunter2"));
        }
    }
}
