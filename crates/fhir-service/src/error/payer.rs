//! The errors of the operations of payers.

use fhir_resource::ResourceType;
use payer_exchange::bulk_export::ExportParametersError;
use payer_exchange::davinci_export::DavinciExportError;
use payer_exchange::jobs::TooManyJobsError;
use payer_exchange::member_match::MatchRequestError;

/// The reason why a payer operation failed.
#[derive(Debug, thiserror::Error)]
pub enum PayerOperationError {
    /// The request lacks `Prefer: respond-async`.
    #[error("This operation requires Prefer: respond-async header")]
    Prefer,
    /// The parameters of an export were not understood.
    #[error("{0}")]
    Export(#[from] ExportParametersError),
    /// A type that this export does not have.
    #[error("_type names a type that is not exported here: {0}")]
    NotExported(ResourceType),
    /// A plain export of a match Group, whose members have to consent.
    #[error(
        "A Group that a member match made is exported by $davinci-data-export, which asks for its members' consent"
    )]
    MatchedGroup,
    /// The Group or the parameters do not fit a Da Vinci export.
    #[error("{0}")]
    Davinci(#[from] DavinciExportError),
    /// The token does not prove an organization.
    #[error("The access token must carry the hl7-b2b organization_id claim; it is missing")]
    NoClaim,
    /// The token of an export does not prove an organization.
    #[error("payertopayer export requires the caller UDAP hl7-b2b organization_id claim; it is missing")]
    NoClaimForExport,
    /// The request does not contain members that can be matched.
    #[error("{0}")]
    Sent(#[from] MatchRequestError),
    /// The organization of the token is registered more than once.
    #[error("More than one Organization has the identifier {system}#{value}")]
    SeveralOrganizations {
        /// The system of the identifier.
        system: String,
        /// Its value.
        value: String,
    },
    /// The administrator requests a match for a payer that is not registered.
    #[error("Coverage.payor[0] of the first member names no Organization that is registered here")]
    UnresolvedPayor,
    /// No member, several, or one without an acceptable consent.
    #[error("No single member with an acceptable consent was found")]
    NoMatch,
    /// No such job, or one of another client.
    #[error("There is no such job")]
    NoJob,
    /// The job failed.
    #[error("Internal error processing request")]
    JobFailed,
    /// The client has too many open jobs.
    #[error("{0}")]
    TooManyJobs(#[from] TooManyJobsError),
}
