//! The authorization server's wire: routes, forms, error table.
//!
//! Owned here: which address takes which method, how a request is read and how far (size, media
//! type, nesting), how an answer looks on each of the server's faces, pages included, and the one table from the
//! cause of a refusal to its status, code and text. Around every handler: request id, metrics, the
//! log line, cross-origin rules, rate limit, the end of a panic.
//!
//! Refused here: SQL, the environment, reading the clock, and every rule about who may do what.
//! Those are [`oauth_core`]'s and [`fhir_service`]'s; a handler reads the request, calls one of them once, and answers.
//!
//! The decision that shapes the crate: **a handler answers a fault, not a response.** The fault travels in the
//! response's extensions to the outermost layer, which knows the face the path belongs to and renders it: a page where
//! people are, RFC 6749 JSON elsewhere under `/auth`, an `OperationOutcome` everywhere else. So the same refusal looks
//! right at every address, also when it comes from an extractor, a layer or a panic, and it is logged in one place. The
//! road not taken is an error type per face: every shared step, from authentication to the body limit, would exist
//! twice.
//!
//! ```
//! use auth_http::{RouterComponents, authorization_router};
//!
//! /// The server as a service, from what the binary put together.
//! fn service(parts: RouterComponents) -> axum::Router {
//!     authorization_router(parts)
//! }
//! ```

mod router;
mod start;
mod state;

mod endpoint;

mod address;
mod form;
mod rate_limit;
mod rate_limit_key;
mod resource_request;

mod api;
mod document;
mod error;
mod error_rendering;
mod omission_log;
mod response;
mod token_log;

mod page;
mod page_frame;

mod body;
mod media;
mod middleware;

pub use fhir_service::service_state::{Clock, FhirSettings};
pub use page_frame::{
    AccentColors, LOGO_MAX_BYTES, LogoFormat, PageLogo, PageTheme, PageThemeError, PageTitle, SrgbColor,
};
pub use router::authorization_router;
pub use start::{ExecuteInitBundleError, InitBundleReport, execute_init_bundle, startup_router};
pub use state::{HttpSettings, RouterComponents};

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
