//! What people leave behind when they let apps in: sessions, grants, codes and families of tokens.
//!
//! Once-only lives in a conditional `UPDATE`: whoever it changes a row for goes on, everybody else
//! is told why not by a second statement, which sees what the first one waited for. Families hang
//! on their grant by a foreign key, so nothing outlives a grant that was taken back, whatever
//! happens at the same time.
//!
//! Every method that writes returns after its commit, which SQLite syncs to the disk (`synchronous`
//! is FULL) and Postgres too unless it is told otherwise: what was answered survives a process that
//! is killed and a machine that loses its power.

mod authorization_states;
mod codes;
mod families;
mod grants;
mod sessions;

mod postgres;
mod sqlite;

use async_trait::async_trait;
use oauth_core::ports::{
    AuthorizationCodeRecord, AuthorizationCodeState, AuthorizationCodeStore, AuthorizationState,
    AuthorizationStateQuery, BrowserSession, CodeIssueOutcome, CodeRedemptionOutcome, ConsentGrant,
    ConsentGrantDecision, ConsentGrantStore, FirstFamilyTokens, RefreshTokenRotation, RefreshTokenRotationOutcome,
    RefreshTokenState, SecretSha256, SessionStore, SingleUseLaunchContext, StoreError, TokenFamily, TokenFamilyStore,
    VersionedDocument,
};

use sql_engines::retry_on_contention;

use crate::db::AuthDatabase;
use crate::dialect::Sql;
use crate::fault::oauth;
use crate::tokens::forget;

use authorization_states::Visitor;

pub(crate) use authorization_states::Visits;

/// Statements that delete what ended before `$1`, at most `$2` rows each.
static FORGET: [Sql; 5] = [
    Sql::new(
        "DELETE FROM browser_session WHERE hash IN (
    SELECT hash FROM browser_session WHERE expires_s < $1 ORDER BY expires_s LIMIT $2 {skip_locked}
)",
    ),
    Sql::new(
        "DELETE FROM authorization_code WHERE hash IN (
    SELECT hash FROM authorization_code WHERE expires_s < $1 ORDER BY expires_s LIMIT $2 {skip_locked}
)",
    ),
    Sql::new(
        "DELETE FROM launch_use WHERE jti IN (
    SELECT jti FROM launch_use WHERE expires_s < $1 ORDER BY expires_s LIMIT $2 {skip_locked}
)",
    ),
    Sql::new(
        "DELETE FROM refresh_token WHERE hash IN (
    SELECT hash FROM refresh_token WHERE expires_s < $1 ORDER BY expires_s LIMIT $2 {skip_locked}
)",
    ),
    Sql::new(
        "DELETE FROM token_family WHERE id IN (
    SELECT id FROM token_family WHERE expires_s < $1 ORDER BY expires_s LIMIT $2 {skip_locked}
)",
    ),
];

#[async_trait]
impl SessionStore for AuthDatabase {
    /// Only the letters of ASCII are the same in either case, on both engines. Folding more would
    /// take names that look alike for the same.
    async fn users_by_login(&self, login: &str) -> Result<Vec<(String, VersionedDocument)>, StoreError> {
        if has_nul(login) {
            return Ok(Vec::new());
        }
        sessions::users_by_login(self, login).await.map_err(oauth)
    }

    async fn begin_session(&self, session: BrowserSession, replaces: Option<&SecretSha256>) -> Result<(), StoreError> {
        retry_on_contention(|| sessions::begin(self, &session, replaces)).await.map_err(oauth)
    }

    async fn end_session(&self, hash: &SecretSha256) -> Result<(), StoreError> {
        retry_on_contention(|| sessions::end(self, hash)).await.map_err(oauth)
    }

    async fn load_authorization_state(
        &self,
        of: &AuthorizationStateQuery<'_>,
    ) -> Result<AuthorizationState, StoreError> {
        // No id has the character NUL, and Postgres refuses it even as a parameter.
        let client_id = if has_nul(of.client_id) { "" } else { of.client_id };
        let visitor = Visitor { session: of.session.copied(), client_id: client_id.to_owned(), now_s: of.now_s };
        self.visits().ask(visitor).await
    }
}

#[async_trait]
impl AuthorizationCodeStore for AuthDatabase {
    async fn issue_code(
        &self,
        code: AuthorizationCodeRecord,
        given: Option<ConsentGrantDecision>,
        launch: Option<SingleUseLaunchContext>,
    ) -> Result<CodeIssueOutcome, StoreError> {
        codes::issue(self, codes::Issue { code, given, launch }).await
    }

    async fn store_refused_consent(&self, given: ConsentGrantDecision) -> Result<bool, StoreError> {
        grants::refuse(self, grants::Refuse(given)).await
    }

    async fn find_code(&self, hash: &SecretSha256) -> Result<Option<AuthorizationCodeState>, StoreError> {
        codes::find(self, hash).await.map_err(oauth)
    }

    async fn redeem_code(
        &self,
        hash: &SecretSha256,
        now_s: i64,
        tokens: FirstFamilyTokens,
    ) -> Result<CodeRedemptionOutcome, StoreError> {
        codes::redeem(self, codes::Redeem { hash: *hash, now_s, tokens }).await
    }
}

#[async_trait]
impl TokenFamilyStore for AuthDatabase {
    async fn store_grantless_family(&self, tokens: FirstFamilyTokens) -> Result<(), StoreError> {
        retry_on_contention(|| families::begin(self, &tokens)).await.map_err(oauth)
    }

    async fn find_refresh_token(&self, hash: &SecretSha256) -> Result<Option<RefreshTokenState>, StoreError> {
        families::find(self, hash).await.map_err(oauth)
    }

    async fn rotate_refresh_token(
        &self,
        rotation: RefreshTokenRotation,
    ) -> Result<RefreshTokenRotationOutcome, StoreError> {
        families::rotate(self, families::Rotate(rotation)).await
    }

    async fn revoke_family(&self, family_id: &str, now_s: i64) -> Result<bool, StoreError> {
        if has_nul(family_id) {
            return Ok(false);
        }
        retry_on_contention(|| families::revoke(self, family_id, now_s)).await.map_err(oauth)
    }

    async fn grantless_families_of_user(&self, user_id: &str, now_s: i64) -> Result<Vec<TokenFamily>, StoreError> {
        if has_nul(user_id) {
            return Ok(Vec::new());
        }
        families::direct(self, user_id, now_s).await.map_err(oauth)
    }

    async fn revoke_grantless_families(&self, user_id: &str, client_id: &str, now_s: i64) -> Result<bool, StoreError> {
        if has_nul(user_id) || has_nul(client_id) {
            return Ok(false);
        }
        retry_on_contention(|| families::revoke_direct(self, user_id, client_id, now_s)).await.map_err(oauth)
    }
}

#[async_trait]
impl ConsentGrantStore for AuthDatabase {
    async fn active_grants_of_user(&self, user_id: &str) -> Result<Vec<ConsentGrant>, StoreError> {
        if has_nul(user_id) {
            return Ok(Vec::new());
        }
        grants::of_user(self, user_id).await.map_err(oauth)
    }

    async fn revoke_grant(&self, user_id: &str, grant_id: &str, rest_id: &str) -> Result<bool, StoreError> {
        if has_nul(user_id) || has_nul(grant_id) {
            return Ok(false);
        }
        let [user, grant, rest] = [user_id, grant_id, rest_id].map(str::to_owned);
        grants::revoke(self, grants::Revoke { user, grant, rest }).await
    }
}

impl AuthDatabase {
    /// Deletes the sessions, codes, launches, refresh tokens and token families that ended before `now_s`, UNIX
    /// seconds, and returns the number of rows.
    ///
    /// # Errors
    /// [`StoreError`]; rows that are deleted by then stay deleted.
    pub async fn delete_authorizations_ended_before(&self, now_s: i64) -> Result<u64, StoreError> {
        let mut forgotten: u64 = 0;
        for sql in &FORGET {
            let rows = forget(self, sql, now_s).await.map_err(oauth)?;
            forgotten = forgotten.saturating_add(rows);
        }
        Ok(forgotten)
    }
}

fn has_nul(text: &str) -> bool {
    text.contains('\0')
}

/// A hash as read from a column.
pub(crate) fn hash_of(bytes: &[u8]) -> Result<SecretSha256, sqlx::Error> {
    bytes.try_into().map_err(|_| sqlx::Error::Decode("a stored hash is not 32 bytes long".into()))
}

/// A document as read from a column of text.
fn document_of(text: &str) -> Result<serde_json::Value, sqlx::Error> {
    serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(Box::new(error)))
}
