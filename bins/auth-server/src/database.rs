//! The choice of the engine.

use anyhow::Context as _;
use auth_storage::Db;
use url::Url;

use crate::config::DatabaseConfig;

/// Opens the database and brings its schema up to date; says first which one.
///
/// # Errors
/// When it cannot be reached, or is not ours.
pub(crate) async fn open(config: &DatabaseConfig) -> anyhow::Result<Db> {
    tracing::info!("database: {}", place(config));
    Db::open(config.url(), &config.data_dir, config.connections()).await.context("cannot open the database")
}

/// Engine and place, without user and password.
fn place(config: &DatabaseConfig) -> String {
    match config.url().map(Url::parse) {
        None => format!("SQLite (embedded) in {}", config.data_dir.display()),
        Some(Ok(url)) => {
            let host = url.host_str().unwrap_or("the local socket");
            let port = url.port().unwrap_or(5432);
            format!("Postgres at {host}:{port}{}", url.path())
        }
        Some(Err(_)) => "Postgres".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn said(flags: &[&str]) -> String {
        let arguments = std::iter::once("auth-server").chain(flags.iter().copied()).map(OsString::from);
        place(&crate::config::read(arguments, |_| None).unwrap().database)
    }

    #[test]
    fn the_place_is_said_without_user_and_password() {
        let url = "postgres://box:hunter2@db.example:6432/auth?sslmode=require&password=hunter2";
        assert_eq!(said(&["--database-url", url]), "Postgres at db.example:6432/auth");
        assert_eq!(said(&["--database-url", "postgres://box@db/auth"]), "Postgres at db:5432/auth");
        assert_eq!(said(&["--data-dir", "/srv/auth"]), "SQLite (embedded) in /srv/auth");
    }
}
