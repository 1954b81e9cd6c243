//! The rows of the table about packages. Only the administrator gets here.

use fhir_store::outcome;
use http::StatusCode;
use migrations::package::{PackageRefused, PrepareFault};

use super::{Verdict, resources};
use crate::packages::PackageFault;

/// How soon it is worth asking a registry again that does not answer.
const REGISTRY_RETRY_S: u64 = 30;

/// Packages that were not installed or uninstalled.
pub(super) fn refused(cause: &PackageFault) -> Verdict {
    match cause {
        PackageFault::NotParameters => Verdict::new(StatusCode::BAD_REQUEST, outcome::STRUCTURE, cause.to_string()),
        PackageFault::Unsupported(_) => unprocessable(outcome::NOT_SUPPORTED, cause.to_string()),
        PackageFault::Id(_) | PackageFault::Several(..) => unprocessable(outcome::INVALID, cause.to_string()),
        PackageFault::Unknown(_) => unprocessable(outcome::NOT_FOUND, cause.to_string()),
        PackageFault::Prepare(cause) => unprepared(cause),
        PackageFault::Refused(cause) => unwritten(cause),
    }
}

/// Packages that cannot be had. A registry that failed is no fault of the request.
pub(super) fn unprepared(cause: &PrepareFault) -> Verdict {
    match cause {
        PrepareFault::Store(cause) => resources::failed(cause),
        PrepareFault::Registry { .. } if cause.is_outage() => {
            Verdict::new(StatusCode::SERVICE_UNAVAILABLE, outcome::UNAVAILABLE, cause.to_string())
                .retry_after(REGISTRY_RETRY_S)
        }
        PrepareFault::Registry { .. } | PrepareFault::NoneOfSeries { .. } => {
            unprocessable(outcome::NOT_FOUND, cause.to_string())
        }
        PrepareFault::MovingNeed { .. } | PrepareFault::FhirVersion { .. } => {
            unprocessable(outcome::NOT_SUPPORTED, cause.to_string())
        }
        PrepareFault::TooMany => unprocessable(outcome::TOO_COSTLY, cause.to_string()),
    }
}

/// Packages that the store refuses.
pub(super) fn unwritten(cause: &PackageRefused) -> Verdict {
    let kind = match cause {
        PackageRefused::NotInstalled(_) => outcome::NOT_FOUND,
        PackageRefused::Needed { .. } | PackageRefused::NeedGone { .. } => outcome::CONFLICT,
        PackageRefused::Tarball { .. } => outcome::INVALID,
    };
    unprocessable(kind, cause.to_string())
}

fn unprocessable(kind: outcome::Kind, text: String) -> Verdict {
    Verdict::new(StatusCode::UNPROCESSABLE_ENTITY, kind, text)
}
