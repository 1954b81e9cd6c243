//! Access policies: the rules, apart from scopes, that decide which caller may do what.
//!
//! A policy applies to the Clients, Users and operations it links, or to everyone when it links
//! nothing. A request passes when one policy that applies to its caller passes; without one it is
//! denied. So a policy can only ever add rights, and the order of policies carries no meaning.
//!
//! The key decision: policies are compiled when they are read, never at a request. What does not
//! compile is refused when written, and skipped (never "allowed") when it is found in the database.
//! All engines but `sql` cost microseconds, read nothing but the request and cannot fail. `sql` asks the
//! database one question, is asked last, and a question that fails is answered with no. The road not
//! taken: engines that run code of the policy (`clj`).
//!
//! ```
//! use oauth_core::access_policies::{CompiledPolicies, PolicyEvaluationSubject, CombinedPolicyDecision};
//! use oauth_core::ports::StoredAccessPolicies;
//! use serde_json::json;
//!
//! let partner = json!({
//!     "engine": "matcho",
//!     "link": [{"reference": "Client/partner"}],
//!     "matcho": {"uri": "#^/fhir/Patient", "request-method": {"$enum": ["get", "post"]}},
//! });
//! let policies = vec![("partner-reads".into(), partner)];
//! let book = CompiledPolicies::compile(&StoredAccessPolicies { revision: 1, policies });
//! let subject = PolicyEvaluationSubject { client_id: Some("partner"), ..PolicyEvaluationSubject::default() };
//! let request = json!({"uri": "/fhir/Patient/1", "request-method": "get"});
//! assert!(matches!(book.evaluate_without_database(&subject, || request), CombinedPolicyDecision::Allowed { .. }));
//! ```

mod access_policy;
mod book;
mod engine;
mod issue;
mod question;
mod schema;

pub use access_policy::{AccessPolicy, PolicyLinkTarget, PolicyRequestType};
pub use book::{
    CombinedPolicyDecision, CompiledPolicies, PolicyEvaluationSubject, SinglePolicyDecision, UncompilablePolicy,
};
pub use engine::PolicyEngine;
pub use issue::{ResourceIssue, ResourceIssueCode};
pub use question::{BoundSqlPolicyQuery, SqlPolicyQuery, SqlPolicyQueryError};
pub use schema::{CompiledPolicySchema, PolicySchemaError};
