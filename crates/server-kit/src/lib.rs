//! What both servers have in common around their domains.
//!
//! It owns the accept loop with its quotas and time limits, TLS, the addresses that trusted proxies report, the end of
//! the server, its health, logs and metrics, the values of its configuration, and the filter of outbound addresses. It
//! refuses domains: nothing here knows OAuth, FHIR or chat. What differs between the servers is a parameter.
//!
//! **Decision:** the accept loop is written here, over `hyper`. The ready-made ones stop accepting at the connection
//! limit, where the caller then waits without an answer; this one answers 503. The road not taken is one accept loop
//! per binary: two copies drifted apart, and each defect had to be found twice.

pub mod http_listener;
pub mod tls;
pub mod trusted_proxies;

pub mod health;
pub mod instance_lock;
pub mod shutdown;

pub mod config;

pub mod middleware;
pub mod rate_limit_clock;

pub mod error_chain;
pub mod logging;
pub mod metrics;

pub mod outbound_address_filter;

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
