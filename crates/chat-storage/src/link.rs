//! The secrets of links that are shown again: they stand in a table of their own, and neither in the log nor in memory.

use async_trait::async_trait;
use chat_core::invitation::{LinkStore, Secret};
use chat_core::ports::StoreError;

use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::store::Store;

const PUT: &str = "INSERT INTO invitation_link (number, secret) VALUES ($1, $2)
ON CONFLICT (number) DO UPDATE SET secret = excluded.secret";
const DELETE: &str = "DELETE FROM invitation_link WHERE number = $1";
const ALL: &str = "SELECT number, secret FROM invitation_link ORDER BY number";

/// Writes a secret down, or forgets it.
pub(crate) async fn put(tx: &mut Tx, number: i64, secret: Option<&Secret>) -> Result<(), StoreError> {
    match secret {
        Some(secret) => run!(tx.on(), execute: sqlx::query(PUT).bind(number).bind(secret.expose())),
        None => run!(tx.on(), execute: sqlx::query(DELETE).bind(number)),
    }
    .map_err(failed)?;
    Ok(())
}

#[async_trait]
impl LinkStore for Store {
    async fn link_secrets(&self) -> Result<Vec<(i64, Secret)>, StoreError> {
        let rows: Vec<(i64, String)> = run!(self.shared.db.reader(), fetch_all: sqlx::query_as(ALL)).map_err(failed)?;
        rows.into_iter().map(|(number, secret)| Ok((number, Secret::parse(&secret).map_err(failed)?))).collect()
    }
}
