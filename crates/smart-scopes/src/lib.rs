//! SMART App Launch scope strings, syntax v1 and v2: parse, compare, restrict, permit, print.
//!
//! **Owns** what a scope string means. [`Scope`] is one scope, [`ScopeSet`] an ordered list of them,
//! [`restrict`] the intersection of what was asked with what is registered, and
//! [`ScopeSet::permits`] the question the resource server asks on every call.
//!
//! **Refuses** a malformed scope with the cause ([`ScopeParseError`]); one bad scope refuses its whole
//! list. It knows no FHIR model (any well-formed type name is taken), no clients, no policies, and does
//! no I/O. Whether a search parameter exists on a type is for the search engine to say.
//!
//! **Key decision: equality is text, covering is meaning.** `patient/*.read` and `patient/*.rs`
//! grant the same and are different values, because a client must get back the format it asked for.
//! Printing a parsed scope gives the input byte for byte. Meaning is asked with
//! [`ClinicalScope::covers`], [`ScopeSet::covers`] and [`ScopeSet::permits`].
//!
//! **Road not taken:** normalising every scope to sorted v2 at the door. It makes comparison trivial and
//! loses the v1 format and the query's own encoding, both of which clients compare as text.
//!
//! **Choices where the specification is silent**
//! - A query is refused on the resource type `*`, because search parameters belong to a type, and on v1
//!   permissions, because the specification describes queries on v2 scopes only.
//! - Two queries on one type intersect as `a&b`: a FHIR search with both parameters is their conjunction.
//! - The context prefixes are unrelated: `system/` does not cover `user/`, nor `user/` `patient/`.
//! - The URI formats of SMART scopes (`http://smarthealthit.org/fhir/scopes/…`) are [`Scope::Custom`]:
//!   they are granted when registered in that format and give no access by themselves.
//!
//! ```
//! use smart_scopes::{Context, Interaction, Permission, ScopeSet, restrict};
//!
//! let requested = ScopeSet::parse("system/*.read system/Claim.c openid")?;
//! let registered = ScopeSet::from_registered(["system/Patient.rs", "system/Observation.r"])?;
//!
//! let restriction = restrict(&requested, &registered);
//! assert_eq!(restriction.granted.to_string(), "system/Patient.read system/Observation.r");
//! assert_eq!(restriction.refused.len(), 2);
//!
//! let read = restriction.granted.permits(Context::System, "Patient", Interaction::Read);
//! assert_eq!(read, Permission::Allowed);
//! let delete = restriction.granted.permits(Context::System, "Patient", Interaction::Delete);
//! assert_eq!(delete, Permission::Denied);
//! # Ok::<(), smart_scopes::ScopeParseError>(())
//! ```

mod characters;
mod clinical;
mod error;
pub mod limits;
mod permissions;
mod query;
mod restrict;
mod scope;
#[cfg(feature = "serde")]
mod serialized;
mod set;

pub use clinical::{ClinicalScope, Context, ResourceSelector, TypeName};
pub use error::ScopeParseError;
pub use permissions::{Interaction, Permissions, Syntax};
pub use query::{QueryParameter, ScopeQuery};
pub use restrict::{Restriction, restrict};
pub use scope::{LaunchContext, Scope};
pub use set::{Permission, ScopeSet};

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
