//! The causes for which a request is not done. Statuses and codes are the table's of the HTTP crate.

mod explain;
mod migration;
mod packages;
mod payer;
mod validate;

use fhir_resource::resource_key::ParseResourceIdError;
use fhir_resource::{ResourceKey, ResourceType};
use fhir_search::SearchError;
use fhir_store::bundle::{BundleEntryError, RequestBundleError};
use fhir_store::query_parsing::QueryError;
use fhir_store::{CriteriaParseError, SearchExecutionError, StoreError, WriteError};
use oauth_core::access::AccessError;
use oauth_core::access_explanation::AssumedCallerError;
use oauth_core::security_resource_rules::ResourceIssue;
use payer_exchange::bulk_export::ExportParametersError;
use payer_exchange::davinci_export::DavinciExportError;
use payer_exchange::member_match::MatchRequestError;

pub use explain::ExplainAccessError;
pub use migration::{MigrationRunError, ScriptRunError};
pub use packages::PackageOperationError;
pub use payer::PayerOperationError;
pub use validate::ValidateOperationError;

/// The reason why a resource request failed.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// The FHIR endpoint does not have this type.
    #[error(
        "{0} is not a type of FHIR R4, of an installed package or of this server, and no resource of it was written at \
         the native endpoint"
    )]
    UnknownType(ResourceType),
    /// The body of an operation is not a plain `Parameters` resource.
    #[error("the body has to be a Parameters resource, and each parameter a name and one plain value")]
    NotParameters,
    /// A number that no resource can hold.
    #[error("a number is beyond what a double can hold, or has more than 256 characters")]
    Number,
    /// The operation needs a body and there is none.
    #[error("the request needs a body")]
    NoBody,
    /// The body is not a patch. The text is fit for the caller.
    #[error("the body is no JSON Patch: {0}")]
    NotAPatch(String),
    /// An id that no resource can have.
    #[error("{0}")]
    Id(#[from] ParseResourceIdError),
    /// A list query that cannot be parsed.
    #[error("{0}")]
    Query(#[from] QueryError),
    /// A search that cannot be parsed.
    #[error("{0}")]
    Search(#[from] SearchError),
    /// A search that cannot be carried out.
    #[error("{0}")]
    NotSearched(#[from] SearchExecutionError),
    /// A condition on an element that is never shown.
    #[error("{0} is kept secret and cannot be searched by")]
    Hidden(String),
    /// A Bundle entry patches a resource that has rules of security, such as a Client.
    #[error("a {0} is patched by a request of its own, not in a Bundle")]
    PatchInBundle(ResourceType),
    /// The document breaks the rules of its type.
    #[error("the resource breaks the rules of its type")]
    Invalid {
        /// Everything that is wrong with it.
        issues: Vec<ResourceIssue>,
        /// The entry of the Bundle, counted from 0.
        entry: Option<usize>,
    },
    /// There is no such resource, or the caller does not reach it.
    #[error("Resource {0} not found")]
    NotFound(ResourceKey),
    /// The resource was deleted.
    #[error("Resource {0} was deleted")]
    Gone(ResourceKey),
    /// The store refuses a write.
    #[error("{cause}")]
    Refused {
        /// The rule that refuses it.
        cause: WriteError,
        /// The entry of the Bundle, counted from 0.
        entry: Option<usize>,
    },
    /// The document is not a Bundle that can be executed.
    #[error("{0}")]
    Bundle(#[from] RequestBundleError),
    /// An entry of a Bundle cannot be executed.
    #[error("{0}")]
    Entry(#[from] BundleEntryError),
    /// The resource does not have this version, or the caller does not reach it.
    #[error("Version {version} of {key} not found")]
    NoVersion {
        /// The resource.
        key: ResourceKey,
        /// The version as the request names it.
        version: String,
    },
    /// `$explain-access` cannot explain the decision.
    #[error("{0}")]
    Unexplained(ExplainAccessError),
    /// The body is not a list of resources.
    #[error("the body has to be a list of resources")]
    NotAList,
    /// An element of a list of resources does not say which resource it is.
    #[error("resource {index} of the list needs a resourceType and an id")]
    Unnamed {
        /// The number of the element, from 0.
        index: usize,
    },
    /// Other writers changed the resource during every attempt to patch it.
    #[error("the resource changed again and again while it was being patched")]
    Unsettled,
    /// The response to a Bundle is as large as it may be.
    #[error("the answer to this Bundle is full; ask for this entry in a request of its own")]
    TooCostly,
    /// A migration was not run.
    #[error("{cause}")]
    Migration {
        /// The reason.
        cause: Box<MigrationRunError>,
        /// The entry of the Bundle, counted from 0.
        entry: Option<usize>,
    },
    /// SQL scripts were not applied, or not all of them.
    #[error("{0}")]
    Scripts(Box<ScriptRunError>),
    /// Packages were not installed or uninstalled.
    #[error("{0}")]
    Packages(Box<PackageOperationError>),
    /// An operation of payers was not done.
    #[error("{0}")]
    Payer(Box<PayerOperationError>),
    /// The client requests member matches more often than it may.
    #[error("{0}")]
    TooManyGuesses(#[from] TooManyMatchRequestsError),
    /// The store returned no outcome of a write.
    #[error("the store of resources left a write unanswered")]
    Unanswered,
    /// The store of resources failed.
    #[error("the store of resources failed")]
    Resources(#[from] StoreError),
    /// The caller may not make the request.
    #[error("{cause}")]
    Denied {
        /// The reason.
        #[source]
        cause: AccessError,
        /// The entry of the Bundle, counted from 0.
        entry: Option<usize>,
    },
    /// The store of clients failed.
    #[error("the store of clients failed")]
    Parties(#[from] oauth_core::ports::StoreError),
    /// The threads that hash secrets are gone.
    #[error("the pool for hashing ended")]
    HashingEnded,
    /// A value cannot be written as JSON.
    #[error("an answer cannot be written as JSON")]
    Unwritable(#[source] serde_json::Error),
    /// A call of `$validate` that cannot be understood.
    #[error("{0}")]
    Validate(#[from] ValidateOperationError),
}

/// The error of a client that exceeds its rate limit of member match requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many requests; try again in {retry_after_s} s")]
pub struct TooManyMatchRequestsError {
    /// Seconds until the next request is accepted.
    pub retry_after_s: u64,
}

/// The error of a stored body that is not a valid document.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("a stored resource cannot be read")]
pub struct UnreadableResourceError;

impl ServiceError {
    /// Returns the error with the number of a Bundle entry, where its kind has one.
    #[must_use]
    pub fn at_bundle_entry(self, entry: Option<usize>) -> Self {
        match self {
            Self::Invalid { issues, .. } => Self::Invalid { issues, entry },
            Self::Refused { cause, .. } => Self::Refused { cause, entry },
            Self::Migration { cause, .. } => Self::Migration { cause, entry },
            Self::Denied { cause, .. } => Self::Denied { cause, entry },
            other => other,
        }
    }
}

impl From<UnreadableResourceError> for ServiceError {
    fn from(cause: UnreadableResourceError) -> Self {
        StoreError::Corrupt(Box::new(cause)).into()
    }
}

impl From<AssumedCallerError> for ServiceError {
    fn from(cause: AssumedCallerError) -> Self {
        match cause {
            AssumedCallerError::Store(failed) => Self::Parties(failed),
            fault => Self::Unexplained(ExplainAccessError::Assumed(fault)),
        }
    }
}

impl From<CriteriaParseError> for ServiceError {
    fn from(cause: CriteriaParseError) -> Self {
        match cause {
            CriteriaParseError::Query(cause) => cause.into(),
            CriteriaParseError::Search(cause) => cause.into(),
        }
    }
}

impl From<AccessError> for ServiceError {
    fn from(cause: AccessError) -> Self {
        Self::Denied { cause, entry: None }
    }
}

impl From<ScriptRunError> for ServiceError {
    fn from(cause: ScriptRunError) -> Self {
        Self::Scripts(Box::new(cause))
    }
}

impl From<MigrationRunError> for ServiceError {
    fn from(cause: MigrationRunError) -> Self {
        Self::Migration { cause: Box::new(cause), entry: None }
    }
}

impl From<PackageOperationError> for ServiceError {
    fn from(cause: PackageOperationError) -> Self {
        Self::Packages(Box::new(cause))
    }
}

impl From<PayerOperationError> for ServiceError {
    fn from(cause: PayerOperationError) -> Self {
        Self::Payer(Box::new(cause))
    }
}

impl From<ExportParametersError> for ServiceError {
    fn from(cause: ExportParametersError) -> Self {
        PayerOperationError::from(cause).into()
    }
}

impl From<DavinciExportError> for ServiceError {
    fn from(cause: DavinciExportError) -> Self {
        PayerOperationError::from(cause).into()
    }
}

impl From<MatchRequestError> for ServiceError {
    fn from(cause: MatchRequestError) -> Self {
        PayerOperationError::from(cause).into()
    }
}
