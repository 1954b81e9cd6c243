//! Access policies: who may call what, apart from scopes.
//!
//! A policy applies to the Clients, Users and operations it links, or to everyone when it links
//! nothing. A request passes when one policy that applies to its caller passes; without one it is
//! denied. So a policy can only ever add rights, and the order of policies carries no meaning.
//!
//! The key decision: policies are compiled when they are read, never at a request. What does not
//! compile is refused when written, and skipped (never "allowed") when it is found in the database.
//! The road not taken: engines that run code or SQL of the policy (`sql`, `clj`); a policy here
//! costs microseconds, reads nothing but the request and cannot fail.
//!
//! ```
//! use oauth_core::policy::{PolicyBook, Subject, Verdict};
//! use oauth_core::ports::PolicySet;
//! use serde_json::json;
//!
//! let partner = json!({
//!     "engine": "matcho",
//!     "link": [{"reference": "Client/partner"}],
//!     "matcho": {"uri": "#^/fhir/Patient", "request-method": {"$enum": ["get", "post"]}},
//! });
//! let book = PolicyBook::compile(&PolicySet { revision: 1, policies: vec![("partner-reads".into(), partner)] });
//! let subject = Subject { client_id: Some("partner"), ..Subject::default() };
//! let request = json!({"uri": "/fhir/Patient/1", "request-method": "get"});
//! assert!(matches!(book.judge(&subject, || request), Verdict::Allowed { .. }));
//! ```

mod access_policy;
mod book;
mod issue;
pub mod matcho;

pub use access_policy::{AccessPolicy, Engine, Link, PolicyType};
pub use book::{PolicyBook, Skipped, Subject, Verdict};
pub use issue::{Issue, IssueCode};
