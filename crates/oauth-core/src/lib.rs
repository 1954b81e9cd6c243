//! Every OAuth 2.0, OpenID and SMART rule of the authorization server, without I/O.
//!
//! Owned here: who a client is ([`client`]), how it proves it ([`client_authentication`], [`client_assertion`]), what
//! it gets ([`token_endpoint`]), how people sign in and let apps in ([`sign_in`], [`authorization_endpoint`],
//! [`connected_apps`]), what a token is worth later ([`access_token_verification`], [`introspection`]), who may call
//! what ([`resource_caller`], [`access`], [`access_policies`]), which security resources may be written how
//! ([`security_resource_rules`]), the server's own keys ([`signing_keys`]) and what it publishes ([`discovery`]).
//!
//! Refused here: HTTP, SQL, the clock, randomness of the process, the environment. A rule gets the moment and a
//! generator as an [`time_and_randomness::TimeAndRandomness`] and reaches storage through the narrow traits of
//! [`ports`], of which one method is one transaction.
//!
//! The decision that shapes the crate: **a token request touches storage once.** Clients, keys and
//! Organizations are kept parsed in memory ([`registration_cache`]), and the one statement that claims the
//! assertion's nonce returns the versions that are current at that moment; a decision made on another
//! version is made again. The road not taken is a cache with a lifetime, which is simpler and lets a
//! deactivated client in until the lifetime ends.
//!
//! ```
//! use oauth_core::form_fields::FormFields;
//!
//! let form = FormFields::new([("grant_type".to_owned(), "client_credentials".to_owned())])?;
//! assert_eq!(form.get("grant_type"), Some("client_credentials"));
//! # Ok::<(), oauth_core::form_fields::RepeatedFieldError>(())
//! ```

pub mod access;
pub mod access_explanation;
pub mod access_policies;
pub mod access_token_verification;
mod acting;
mod audit;
pub mod authorization_endpoint;
pub mod authorization_server;
pub mod b2b_claim_diagnosis;
pub mod bootstrap_admin;
pub mod browser_session;
pub mod client;
pub mod client_assertion;
pub mod client_authentication;
pub mod connected_apps;
pub mod csrf;
pub mod discovery;
pub mod end_user;
pub mod end_user_claims;
pub mod form_fields;
pub mod granted_authorization;
pub mod introspection;
mod introspector;
pub mod jose;
pub mod jwks_cache;
pub mod launch;
pub mod limits;
#[cfg(feature = "memory")]
pub mod memory_store;
pub mod password_rules;
mod period;
pub mod ports;
pub mod registration_cache;
pub mod resource_caller;
pub mod scope_access;
mod secret_attempts;
pub mod secret_hash;
pub mod secret_verifier;
pub mod security_resource_rules;
pub mod settings;
pub mod sign_in;
pub mod signing_key_encryption;
pub mod signing_keys;
pub mod smart_style;
pub mod static_document;
pub mod time_and_randomness;
pub mod token_endpoint;
pub mod token_issuer;
pub mod userinfo;

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
