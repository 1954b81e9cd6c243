//! Every OAuth 2.0, OpenID and SMART rule of the authorization server, without I/O.
//!
//! Owned here: who a client is ([`client`]), how it proves it ([`authenticate`], [`assertion`]), what
//! it gets ([`token`]), how people sign in and let apps in ([`sign_in`], [`authorize`], [`connected`]), what a token is worth later ([`bearer`], [`introspection`]), who may call what
//! ([`caller`], [`access`], [`policy`]), which security resources may be written how ([`registration`]), the
//! server's own keys ([`keys`]) and what it publishes ([`discovery`]).
//!
//! Refused here: HTTP, SQL, the clock, randomness of the process, the environment. A rule gets the
//! moment and a generator as an [`env::Env`] and reaches storage through the narrow traits of
//! [`ports`], of which one method is one transaction.
//!
//! The decision that shapes the crate: **a token request touches storage once.** Clients, keys and
//! Organizations are kept parsed in memory ([`directory`]), and the one statement that claims the
//! assertion's nonce returns the versions that are current at that moment; a decision made on another
//! version is made again. The road not taken is a cache with a lifetime, which is simpler and lets a
//! deactivated client in until the lifetime ends.
//!
//! ```
//! use oauth_core::form::FormFields;
//!
//! let form = FormFields::new([("grant_type".to_owned(), "client_credentials".to_owned())])?;
//! assert_eq!(form.get("grant_type"), Some("client_credentials"));
//! # Ok::<(), oauth_core::form::RepeatedFieldError>(())
//! ```

pub mod access;
mod acting;
pub mod assertion;
mod audit;
pub mod authenticate;
pub mod authorization;
pub mod authorize;
pub mod bearer;
pub mod caller;
pub mod client;
pub mod connected;
pub mod csrf;
pub mod diagnosis;
pub mod directory;
pub mod discovery;
pub mod document;
pub mod env;
pub mod explanation;
pub mod form;
pub mod identity;
pub mod introspection;
mod introspector;
pub mod issuer;
pub mod jose;
pub mod jwks;
pub mod keys;
pub mod launch;
pub mod limits;
#[cfg(feature = "memory")]
pub mod memory;
pub mod password;
mod period;
pub mod person;
pub mod policy;
pub mod ports;
pub mod reach;
pub mod registration;
pub mod root;
pub mod seal;
pub mod secret;
mod secret_attempts;
pub mod server;
pub mod session;
pub mod settings;
pub mod sign_in;
pub mod smart_style;
pub mod token;
pub mod userinfo;
pub mod verifier;

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
