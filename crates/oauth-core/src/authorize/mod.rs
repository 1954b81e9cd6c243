//! `/auth/authorize`: an app asks, a person decides.
//!
//! A request is checked, and then put before whoever sits at the browser: sign in, choose a patient, allow
//! or deny. Between those pages nothing is stored; the request travels sealed with the browser, as the
//! `transaction`, and every step checks it again against the registration of that moment. What is stored at
//! the end is one code, with the grant it was given under, in one statement.
//!
//! Until the redirect address is known to be the registered one every fault is a page of ours
//! ([`PageFault`]); from then on it is a redirect with an `error` ([`Refusal`]).
//!
//! # Source
//! Specification, GET /auth/authorize; SMART App Launch 2.2.0; RFC 6749, section 4.1; RFC 9700; RFC 9207.

mod fault;
pub mod limits;
mod pages;
mod parameters;
mod target;

pub use fault::{AuthorizeFault, PageFault, Refusal};
pub use pages::{AppCard, Browser, ConsentItem, ConsentPage, Decision, ItemGroup, PatientPage, SignInPage, Step};
pub use parameters::Parameters;
pub use target::Departure;
