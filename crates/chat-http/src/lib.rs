//! The chat server's wire: routes under `/api/v1` and `/json`, envelope, parameter decoding, pages for browsers.
//!
//! Owned here: which address takes which method, how parameters are read from query and body in both encodings,
//! who is asked whether a caller is who they say, how many requests they may send, and the one table from the
//! cause of a refusal to its status, code and text. Around every endpoint: request id, metrics, the log line, the
//! settling of the method, the end of a panic.
//!
//! Refused here: SQL, the environment, a clock of its own, and every rule about who may do what. Those are
//! [`chat_core`]'s; an endpoint reads, asks once, and answers.
//!
//! The decision that shapes the crate: **an endpoint is a function from typed parameters to an answer**, and the
//! code around it is the same for all. The parameters are a struct that reads itself ([`params`]), so what is asked
//! for is known, and what was sent beside it is reported without a list kept by hand. The road not taken is an
//! extractor per source, as frameworks have it: this API takes every parameter from the query or the body on every
//! method, some as JSON text and some raw, and its refusals name the parameter.
//!
//! ```
//! use chat_http::{BaseComponents, ChatComponents, ChatService, build_chat_service};
//!
//! /// The server as a service, from what the binary put together.
//! fn service(parts: BaseComponents, domain: ChatComponents) -> ChatService {
//!     build_chat_service(parts, Some(domain))
//! }
//! ```

mod router;
mod routes;
mod state;

mod restart;

pub mod api_call;
mod endpoint;

pub mod json_schema;
pub mod params;

mod openapi;

pub mod authentication;
mod browser;
mod file_body;
mod image_jobs;
mod long_wait;
mod password;
mod polls;
mod rate;
mod raw_endpoint;
mod traffic;
pub mod user_agent;

pub mod api_response;
mod body;
pub mod error;
pub mod limits;
mod middleware;

pub use long_wait::{LongPollSignal, RepollableRequest};
pub use polls::RunningPolls;
pub use rate::{RateLimitExceededError, RemainingRateLimit};
pub use router::{ChatService, build_chat_service};
pub use state::{
    ApiSettings, BaseComponents, BrowserComponents, ChatComponents, ClockAndRandomness, InvitationComponents,
    OrganizationSetupCode, PasswordHashing, PushComponents, UploadSettings, WebClientFiles,
};

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
