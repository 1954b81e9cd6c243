//! The authorization server through its router, in process, on a database of its own.
//!
//! `cfg(test)` on the modules tells the lints that their helpers are test code too.

#[cfg(test)]
mod access;
#[cfg(test)]
mod apps;
#[cfg(test)]
mod attacks;
#[cfg(test)]
mod audited;
#[cfg(test)]
mod browser;
#[cfg(test)]
mod bundles;
#[cfg(test)]
mod capability;
#[cfg(test)]
mod conditional;
#[cfg(test)]
mod conditional_references;
#[cfg(test)]
mod costly;
#[cfg(test)]
mod discovery;
#[cfg(test)]
mod documented_policies;
#[cfg(test)]
mod everything;
#[cfg(test)]
mod exchange;
#[cfg(test)]
mod existence;
mod grant;
#[cfg(test)]
mod granular;
#[cfg(test)]
mod history;
#[cfg(test)]
mod introspection;
#[cfg(test)]
mod malformed;
#[cfg(test)]
mod match_groups;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod member;
#[cfg(test)]
mod member_match;
#[cfg(test)]
mod member_tokens;
#[cfg(test)]
mod members;
#[cfg(test)]
mod middleware;
#[cfg(test)]
mod migrations;
#[cfg(test)]
mod negotiation;
#[cfg(test)]
mod packages;
#[cfg(test)]
mod pages;
#[cfg(test)]
mod payers;
#[cfg(test)]
mod policies;
#[cfg(test)]
mod registration_edits;
#[cfg(test)]
mod registrations;
#[cfg(test)]
mod resources;
#[cfg(test)]
mod route_facts;
#[cfg(test)]
mod rpc;
#[cfg(test)]
mod search;
#[cfg(test)]
mod session;
#[cfg(test)]
mod sign_in;
#[cfg(test)]
mod standalone;
#[cfg(test)]
mod token;
#[cfg(test)]
mod uris;
#[cfg(test)]
mod userinfo;
#[cfg(test)]
mod validation;
#[cfg(test)]
mod world;
