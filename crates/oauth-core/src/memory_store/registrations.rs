//! Registrations, nonces, opaque tokens and keys in memory.

use async_trait::async_trait;
use serde_json::Value;

use super::MemoryAuthorizationStore;
use crate::access_policies::BoundSqlPolicyQuery;
use crate::ports::{
    AccessTokenStore, CallerStatus, CallerStatusQuery, ExpiringJti, JtiClaim, JtiClaimOutcome, JtiClaimResult,
    OpaqueTokenRecord, RegistrationStore, ReplayStore, SecretSha256, SigningKeyStore, StoreError, StoredAccessPolicies,
    VersionedDocument,
};
use crate::signing_keys::StoredSigningKey;

#[async_trait]
impl RegistrationStore for MemoryAuthorizationStore {
    async fn client(&self, id: &str) -> Result<Option<VersionedDocument>, StoreError> {
        Ok(self.get_resource("Client", id))
    }

    async fn user(&self, id: &str) -> Result<Option<VersionedDocument>, StoreError> {
        Ok(self.get_resource("User", id))
    }

    async fn organization(&self, id: &str) -> Result<Option<VersionedDocument>, StoreError> {
        Ok(self.get_resource("Organization", id))
    }

    async fn introspectors_of_issuer(&self, issuer: &str) -> Result<Vec<Value>, StoreError> {
        let rows = self.lock_rows();
        let stored = rows.of_type("TokenIntrospector").map(|(_, stored)| &stored.resource);
        Ok(stored.filter(|stored| stored.pointer("/jwt/iss").is_some_and(|iss| iss == issuer)).cloned().collect())
    }

    async fn stored_access_policies(&self) -> Result<StoredAccessPolicies, StoreError> {
        Ok(self.lock_rows().policies.clone())
    }

    async fn evaluate_sql_policy(&self, question: &BoundSqlPolicyQuery) -> Result<bool, StoreError> {
        match question.sql.as_str() {
            "SELECT true" => Ok(true),
            "SELECT false" => Ok(false),
            other => Err(StoreError(format!("no database to run {other}").into())),
        }
    }

    async fn caller_status(&self, of: &CallerStatusQuery<'_>) -> Result<CallerStatus, StoreError> {
        Ok(self.lock_rows().caller_status(of))
    }
}

#[async_trait]
impl ReplayStore for MemoryAuthorizationStore {
    async fn claim_jti(&self, admission: JtiClaim) -> Result<JtiClaimResult, StoreError> {
        let mut rows = self.lock_rows();
        let claim = match admission.nonce {
            None => JtiClaimOutcome::NotAsked,
            Some(ExpiringJti { jti, expires_s }) => {
                let nonces = rows.nonces.entry(admission.client_id.to_string()).or_default();
                nonces.retain(|_, expires_s| *expires_s >= admission.now_s);
                let before = nonces.insert(jti, expires_s);
                if before.is_none() { JtiClaimOutcome::Fresh } else { JtiClaimOutcome::Replayed }
            }
        };
        Ok(JtiClaimResult {
            claim,
            client_version: rows.version("Client", &admission.client_id),
            organization_version: admission.organization_id.and_then(|id| rows.version("Organization", &id)),
        })
    }
}

#[async_trait]
impl AccessTokenStore for MemoryAuthorizationStore {
    async fn store_opaque_token(&self, token: OpaqueTokenRecord, client_version: i64) -> Result<bool, StoreError> {
        let mut rows = self.lock_rows();
        let is_current = rows.version("Client", &token.client_id) == Some(client_version);
        if is_current {
            rows.opaque_tokens.insert(token.hash, token);
        }
        Ok(is_current)
    }

    async fn find_opaque_token(
        &self,
        hash: &SecretSha256,
    ) -> Result<Option<(OpaqueTokenRecord, CallerStatus)>, StoreError> {
        let rows = self.lock_rows();
        let Some(token) = rows.opaque_tokens.get(hash) else { return Ok(None) };
        let claim = |name| token.claims.get(name).and_then(Value::as_str);
        let status = rows.caller_status(&CallerStatusQuery {
            client_id: Some(&token.client_id),
            user_id: claim("sub"),
            token_id: Some(&token.token_id),
            family_id: claim("sid"),
        });
        Ok(Some((token.clone(), status)))
    }

    async fn revoke_token_id(&self, token_id: &str, expires_s: i64) -> Result<(), StoreError> {
        self.lock_rows().revoked_tokens.insert(token_id.to_owned(), expires_s);
        Ok(())
    }

    async fn delete_expired_tokens(&self, now_s: i64) -> Result<u64, StoreError> {
        let mut rows = self.lock_rows();
        let before = rows.opaque_tokens.len() + rows.revoked_tokens.len();
        rows.opaque_tokens.retain(|_, token| token.expires_s >= now_s);
        rows.revoked_tokens.retain(|_, expires_s| *expires_s >= now_s);
        let forgotten = before - rows.opaque_tokens.len() - rows.revoked_tokens.len();
        Ok(u64::try_from(forgotten).unwrap_or(u64::MAX))
    }
}

#[async_trait]
impl SigningKeyStore for MemoryAuthorizationStore {
    async fn unretired_keys(&self) -> Result<Vec<StoredSigningKey>, StoreError> {
        Ok(self.lock_rows().keys.clone())
    }

    async fn store_initial_keys(&self, candidates: Vec<StoredSigningKey>) -> Result<Vec<StoredSigningKey>, StoreError> {
        let keys = &mut self.lock_rows().keys;
        if keys.is_empty() {
            *keys = candidates;
        }
        Ok(keys.clone())
    }

    async fn save_keys_if_unchanged(
        &self,
        held: &[StoredSigningKey],
        changed: Vec<StoredSigningKey>,
    ) -> Result<bool, StoreError> {
        let keys = &mut self.lock_rows().keys;
        if *keys != held {
            return Ok(false);
        }
        for key in changed {
            match keys.iter_mut().find(|held| held.kid == key.kid) {
                Some(held) => *held = key,
                None => keys.push(key),
            }
        }
        Ok(true)
    }

    async fn retire_key(&self, kid: &str, _at_s: i64) -> Result<bool, StoreError> {
        let keys = &mut self.lock_rows().keys;
        let before = keys.len();
        keys.retain(|key| key.kid != kid);
        Ok(keys.len() < before)
    }

    async fn get_or_store_secret(&self, name: &str, candidate: Vec<u8>) -> Result<Vec<u8>, StoreError> {
        Ok(self.lock_rows().secrets.entry(name.to_owned()).or_insert(candidate).clone())
    }
}
