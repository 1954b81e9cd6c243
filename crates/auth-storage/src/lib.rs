//! All SQL of the authorization database, one text for SQLite and Postgres.
//!
//! It owns the connections, the schema, every statement and every lock. It refuses rules: what a
//! write means is decided by [`fhir_store::transaction_plan`], what a token is by [`oauth_core`], and this
//! crate carries it out. One method of a store is one transaction.
//!
//! **The decision:** a statement is written once and runs on either engine through that engine's
//! own typed driver; a short macro repeats the call, not the text. What differs is a dozen named
//! fragments in one module. SQLite makes the server one binary and a folder, Postgres lets it
//! grow to many nodes, and one contract suite holds both to the same behaviour.
//!
//! **Roads not taken:** the driver that speaks to any database, because it halves the speed and
//! refuses half the types; an object mapper, because users' own SQL addresses the tables and the
//! statements are the contract; each statement written twice, because the second copy is the one
//! that is wrong.
//!
//! # Example
//! ```
//! use auth_storage::{JtiClaimTask, AuthDatabase};
//! use oauth_core::ports::{JtiClaim, ReplayStore as _, JtiClaimOutcome, ExpiringJti};
//!
//! # async fn example(data_dir: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
//! let db = AuthDatabase::open(None, data_dir, AuthDatabase::DEFAULT_POSTGRES_CONNECTIONS).await?;
//! let admissions = JtiClaimTask::start(&db);
//! let admitted = admissions
//!     .claim_jti(JtiClaim {
//!         client_id: "payer-1".into(),
//!         organization_id: None,
//!         nonce: Some(ExpiringJti { jti: "f3a1".to_owned(), expires_s: 1_060 }),
//!         now_s: 1_000,
//!     })
//!     .await?;
//! assert_eq!(admitted.claim, JtiClaimOutcome::Fresh);
//! admissions.drain_and_stop().await;
//! db.close().await;
//! # Ok(())
//! # }
//! # let dir = tempfile::tempdir().unwrap();
//! # tokio::runtime::Runtime::new().unwrap().block_on(example(dir.path())).unwrap();
//! ```

mod db;
mod fault;
mod schema;

mod admission;
mod replay;

mod audit;

mod client_store;
mod jobs;
mod keys;
mod members;
mod migration;
mod packages;
mod patients;
mod pg_searchers;
mod pools;
mod readers;
mod resources;
mod search;
mod sql_policy;
mod tokens;

mod attendant;
mod batcher;
mod caller_status;
mod dialect;
mod document;
mod elements;
mod engine;
mod group_commit;
mod insert_batch;
mod script;
mod shared_work;
mod stopwatch;

pub use admission::JtiClaimTask;
pub use audit::AuditLogWriter;
pub use db::AuthDatabase;
pub use fault::StartupLockError;
pub use jobs::{JobQueue, JobQueueConfig};
pub use sql_engines::DatabaseOpenError;

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
