//! All SQL of the chat database, one text for SQLite and Postgres.
//!
//! It owns the connections, the schema, every statement, and a node's copy of the end of the log. It refuses rules:
//! [`chat_core`] decides, and this crate carries out. One method of a store is one transaction.
//!
//! **The decision:** everything that changes goes through one append-only log. A writer first locks the one row that
//! holds the log's head, or moves it from where it has to be in the statement that writes, so places in the log are
//! given in the order of commits and a reader that has read up to a place has missed nothing before it. Rows and
//! events are one transaction: what was answered with success is in the log, and what is in the log is what every
//! node knows. A queue is a row that says where in it the queue begins.
//!
//! **Roads not taken:** a sequence for the numbers of events, because a number that commits late is skipped by who
//! reads in between; a buffer of events per queue, because it grows with queues that nobody reads and dies with the
//! process; a row per message and receiver, because one message to a thousand users is then a thousand writes.
//!
//! A database holds one organization. Several are several databases.
//!
//! # Example
//! ```
//! use chat_core::id::EventId;
//! use chat_core::event_log::realm_commit::RealmCommit;
//! use chat_core::event_log::store::RealmStore as _;
//! use chat_core::model::realm_change::RealmChange;
//! use chat_core::model::organization_image::OrganizationImageUrls;
//! use chat_core::model::realm::{Realm, RealmPermissionSettings};
//! use chat_storage::{ChatDatabase, ChatStore};
//!
//! # async fn example(data_dir: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
//! let db = ChatDatabase::open_and_migrate(None, data_dir, ChatDatabase::DEFAULT_MAX_CONNECTIONS).await?;
//! let store = ChatStore::start_without_secret(db).await?;
//! let realm = Realm {
//!     name: "Example".to_owned(),
//!     description: String::new(),
//!     created_s: 1_000,
//!     is_deactivated: false,
//!     rules: RealmPermissionSettings::default(),
//!     images: OrganizationImageUrls::default(),
//! };
//! let changes = vec![RealmChange::Realm(Box::new(realm))];
//! let commit = RealmCommit { decided_at: EventId::BEFORE_FIRST, at_s: 1_000, changes, ..RealmCommit::default() };
//! store.commit(commit).await?;
//! assert_eq!(store.snapshot().realm().map(|realm| realm.name.as_str()), Some("Example"));
//! store.flush_and_close().await;
//! # Ok(())
//! # }
//! # let dir = tempfile::tempdir().unwrap();
//! # tokio::runtime::Runtime::new().unwrap().block_on(example(dir.path())).unwrap();
//! ```

mod candidate_query;
mod data_key;
mod db;
mod fault;
mod first_message;
mod log_follower;
mod memory;
mod outage;
mod pg_pools;
mod schema;
mod search_connections;
mod store;

mod bot_storage;
mod coalesce;
mod invitation_links;
mod log;
mod log_transaction;
mod mail;
mod presence;
mod push;
mod queue;
mod realm;
mod word_index;

mod append;
mod append_single_statement;
mod attachment;
mod draft;
mod edit;
mod export;
mod flag_set;
mod flags;
mod import;
mod message_batch;
mod message_decoding;
mod message_rows;
mod message_search;
mod message_store;
mod newcomer_history;
mod read_set;
mod reminder;
mod resumable_upload;
mod retention;
mod scheduled;
mod subscription;
mod text_matching;
mod typing;
mod unread;
mod widget;
mod write_guard;

mod clear_secrets;
mod dialect;
mod encryption;
mod engine;
#[cfg(test)]
mod plans;

pub use data_key::DiscardedSecretCounts;
pub use db::ChatDatabase;
pub use fault::StoredSecretsError;
pub use sql_engines::DatabaseOpenError;
pub use store::ChatStore;

/// The examples of the README, which are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
