//! The secrets of links that are shown again: they stand encrypted in a table for them, and neither in the log nor in
//! memory.

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::model::user::InvitationSecret;
use chat_core::people::invitation::ReusableInvitationStore;

use crate::encryption::{SecretCipher, SecretLocation};
use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::store::ChatStore;

const PUT: &str = "INSERT INTO invitation_link (number, encrypted_secret) VALUES ($1, $2)
ON CONFLICT (number) DO UPDATE SET encrypted_secret = excluded.encrypted_secret";
const DELETE: &str = "DELETE FROM invitation_link WHERE number = $1";
const ALL: &str = "SELECT number, encrypted_secret FROM invitation_link ORDER BY number";

/// Writes a secret down, or forgets it.
pub(crate) async fn put(
    tx: &mut Tx,
    cipher: &SecretCipher,
    number: i64,
    secret: Option<&InvitationSecret>,
) -> Result<(), StoreError> {
    match secret {
        Some(secret) => {
            let encrypted = cipher.encrypt(SecretLocation::InvitationLink(number), secret.expose())?;
            run!(tx.on(), execute: sqlx::query(PUT).bind(number).bind(&encrypted))
        }
        None => run!(tx.on(), execute: sqlx::query(DELETE).bind(number)),
    }
    .map_err(failed)?;
    Ok(())
}

#[async_trait]
impl ReusableInvitationStore for ChatStore {
    async fn reusable_link_secrets(&self) -> Result<Vec<(i64, InvitationSecret)>, StoreError> {
        let rows: Vec<(i64, String)> = run!(self.shared.db.reader(), fetch_all: sqlx::query_as(ALL)).map_err(failed)?;
        let decrypt = |(number, secret): (i64, String)| {
            let secret = self.shared.cipher.decrypt(SecretLocation::InvitationLink(number), &secret)?;
            Ok((number, InvitationSecret::parse(&secret).map_err(failed)?))
        };
        rows.into_iter().map(decrypt).collect()
    }
}
