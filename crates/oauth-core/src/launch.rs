//! The EHR launch: the address an EHR opens an app with, and the context it carries.

use serde::Serialize;

use crate::jose::SignError;
use crate::ports::StoreError;

/// Why a launch context is good for nothing.
#[derive(Debug, thiserror::Error)]
pub enum LaunchFault {
    /// No JWT of this server for this purpose.
    #[error("not a launch context of this server")]
    Unknown,
    /// `exp` has passed.
    #[error("the launch context expired; launch the app again")]
    Expired,
    /// For another Client.
    #[error("the launch context is another client's")]
    OtherClient,
    /// It gave a code before.
    #[error("the launch context was used before; launch the app again")]
    Used,
}

/// Why there is no launch address.
#[derive(Debug, thiserror::Error)]
pub enum LaunchUriFault {
    /// A parameter is missing or of the wrong type.
    #[error("params.{0} is missing or malformed")]
    Malformed(&'static str),
    /// There is no such Client, or it is not active.
    #[error("params.client is no active client")]
    UnknownClient,
    /// The Client has no `smart.launch_uri`.
    #[error("the client is not registered for EHR launch: it has no smart.launch_uri")]
    NotLaunchable,
    /// There is no such User, or it is not active.
    #[error("params.user is no active user")]
    UnknownUser,
    /// There is no such Patient.
    #[error("params.ctx.patient is no patient of this server")]
    UnknownPatient,
    /// `iss` is another server's.
    #[error("params.iss must be {expected}")]
    OtherIssuer {
        /// `{base_url}/fhir`.
        expected: String,
    },
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Signing failed.
    #[error(transparent)]
    Sign(#[from] SignError),
}

/// The answer of `platform.smart/get-launch-uri`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LaunchUri {
    /// What the EHR opens: the app's launch address with `iss` and `launch`.
    pub uri: String,
    /// The launch JWT.
    pub launch: String,
    /// The FHIR base.
    pub iss: String,
    /// The app's launch address as registered.
    #[serde(rename = "launch-uri")]
    pub launch_uri: String,
}
