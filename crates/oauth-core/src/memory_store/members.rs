//! Sessions, codes, families, grants and patients in memory.

use std::cmp::Reverse;

use async_trait::async_trait;
use serde_json::Value;

use super::rows::{AuthorizationCodeRow, RefreshTokenRow, TokenFamilyRow};
use super::{MemoryAuthorizationStore, MemoryStoreRows};
use crate::ports::{
    AuthorizationCodeRecord, AuthorizationCodeState, AuthorizationCodeStore, AuthorizationState,
    AuthorizationStateQuery, BrowserSession, CodeIssueOutcome, CodeRedemptionOutcome, ConsentGrant,
    ConsentGrantDecision, ConsentGrantStore, FirstFamilyTokens, GRANTLESS_FAMILIES_PER_APP_MAX,
    PATIENT_SEARCH_RESULTS_MAX, PatientStore, PatientSummary, RefreshTokenRotation, RefreshTokenRotationOutcome,
    RefreshTokenState, SecretSha256, SessionStore, SingleUseLaunchContext, StoreError, TokenFamily, TokenFamilyStore,
    VersionedDocument,
};

fn newest_first<'g>(grants: impl Iterator<Item = &'g ConsentGrant>) -> Vec<ConsentGrant> {
    let mut grants: Vec<_> = grants.cloned().collect();
    grants.sort_by_cached_key(|grant| (Reverse(grant.created_s), grant.id.clone()));
    grants
}

#[async_trait]
impl SessionStore for MemoryAuthorizationStore {
    async fn users_by_login(&self, login: &str) -> Result<Vec<(String, VersionedDocument)>, StoreError> {
        let rows = self.lock_rows();
        let is_named = |stored: &VersionedDocument| {
            let texts = ["userName", "email"].map(|name| stored.resource.get(name).and_then(Value::as_str));
            texts.into_iter().flatten().any(|text| text.eq_ignore_ascii_case(login))
        };
        let users = rows.of_type("User").filter(|(_, stored)| is_named(stored)).take(2);
        Ok(users.map(|(id, stored)| (id.clone(), stored.clone())).collect())
    }

    async fn begin_session(&self, session: BrowserSession, replaces: Option<&SecretSha256>) -> Result<(), StoreError> {
        let mut rows = self.lock_rows();
        if let Some(replaced) = replaces {
            rows.sessions.remove(replaced);
        }
        rows.sessions.insert(session.hash, session);
        Ok(())
    }

    async fn end_session(&self, hash: &SecretSha256) -> Result<(), StoreError> {
        self.lock_rows().sessions.remove(hash);
        Ok(())
    }

    async fn load_authorization_state(
        &self,
        of: &AuthorizationStateQuery<'_>,
    ) -> Result<AuthorizationState, StoreError> {
        let mut rows = self.lock_rows();
        let session = of.session.and_then(|hash| rows.sessions.get(hash));
        let session = session.filter(|session| session.expires_s > of.now_s).cloned();
        let user_id = session.as_ref().map(|session| session.user_id.as_str());
        let is_asked_for = |grant: &&ConsentGrant| Some(&*grant.user_id) == user_id && grant.client_id == of.client_id;
        let state = AuthorizationState {
            grants: newest_first(rows.grants.iter().filter(is_asked_for)),
            user_version: user_id.and_then(|id| rows.version("User", id)),
            client_version: rows.version("Client", of.client_id),
            session,
        };
        if let Some(change) = self.take_concurrent_change() {
            change(&mut rows);
        }
        Ok(state)
    }
}

#[async_trait]
impl AuthorizationCodeStore for MemoryAuthorizationStore {
    async fn issue_code(
        &self,
        code: AuthorizationCodeRecord,
        given: Option<ConsentGrantDecision>,
        launch: Option<SingleUseLaunchContext>,
    ) -> Result<CodeIssueOutcome, StoreError> {
        let mut rows = self.lock_rows();
        if launch.as_ref().is_some_and(|launch| rows.launches.contains_key(&launch.jti)) {
            return Ok(CodeIssueOutcome::LaunchUsed);
        }
        let is_granted = match given {
            Some(given) => rows.decide(given),
            None => rows.grants.iter().any(|grant| grant.id == code.grant_id),
        };
        if !is_granted {
            return Ok(CodeIssueOutcome::GrantChanged);
        }
        rows.launches.extend(launch.map(|launch| (launch.jti, launch.expires_s)));
        rows.codes.insert(code.hash, AuthorizationCodeRow { code, used: false });
        Ok(CodeIssueOutcome::Issued)
    }

    async fn store_refused_consent(&self, given: ConsentGrantDecision) -> Result<bool, StoreError> {
        Ok(self.lock_rows().decide(given))
    }

    async fn find_code(&self, hash: &SecretSha256) -> Result<Option<AuthorizationCodeState>, StoreError> {
        let rows = self.lock_rows();
        let Some(AuthorizationCodeRow { code, used }) = rows.codes.get(hash).cloned() else { return Ok(None) };
        let grant = rows.grants.iter().find(|grant| grant.id == code.grant_id);
        let user_version = grant.and_then(|grant| rows.version("User", &grant.user_id));
        Ok(Some(AuthorizationCodeState {
            client_version: rows.version("Client", &code.client_id),
            code,
            used,
            user_version,
        }))
    }

    async fn redeem_code(
        &self,
        hash: &SecretSha256,
        now_s: i64,
        tokens: FirstFamilyTokens,
    ) -> Result<CodeRedemptionOutcome, StoreError> {
        Ok(self.lock_rows().redeem(hash, now_s, tokens))
    }
}

/// Returns the families of a person that have no grant and go on at `now_s`.
fn direct<'r>(
    rows: &'r mut MemoryStoreRows,
    user_id: &str,
    now_s: i64,
) -> impl Iterator<Item = &'r mut TokenFamilyRow> {
    let is_direct = move |TokenFamilyRow { family, revoked }: &TokenFamilyRow| {
        family.grant_id.is_none() && family.user_id == user_id && !revoked && family.expires_s > now_s
    };
    rows.families.values_mut().filter(move |row| is_direct(row))
}

#[async_trait]
impl TokenFamilyStore for MemoryAuthorizationStore {
    async fn store_grantless_family(&self, tokens: FirstFamilyTokens) -> Result<(), StoreError> {
        self.lock_rows().insert_tokens(tokens);
        Ok(())
    }

    async fn grantless_families_of_user(&self, user_id: &str, now_s: i64) -> Result<Vec<TokenFamily>, StoreError> {
        let mut rows = self.lock_rows();
        let mut families: Vec<TokenFamily> = direct(&mut rows, user_id, now_s).map(|row| row.family.clone()).collect();
        families.sort_by_cached_key(|family| (Reverse(family.created_s), family.id.clone()));
        let mut counts = std::collections::HashMap::new();
        families.retain(|family| {
            let count: &mut usize = counts.entry(family.client_id.clone()).or_default();
            *count += 1;
            *count <= GRANTLESS_FAMILIES_PER_APP_MAX
        });
        Ok(families)
    }

    async fn revoke_grantless_families(&self, user_id: &str, client_id: &str, now_s: i64) -> Result<bool, StoreError> {
        let mut rows = self.lock_rows();
        let of_client = direct(&mut rows, user_id, now_s).filter(|row| row.family.client_id == client_id);
        Ok(of_client.map(|row| row.revoked = true).count() > 0)
    }

    async fn find_refresh_token(&self, hash: &SecretSha256) -> Result<Option<RefreshTokenState>, StoreError> {
        let rows = self.lock_rows();
        let Some(RefreshTokenRow { token, used_s }) = rows.refresh_tokens.get(hash).cloned() else {
            return Ok(None);
        };
        let Some(TokenFamilyRow { family, revoked }) = rows.families.get(&token.family_id).cloned() else {
            return Ok(None);
        };
        Ok(Some(RefreshTokenState {
            token,
            used_s,
            revoked,
            client_version: rows.version("Client", &family.client_id),
            user_version: rows.version("User", &family.user_id),
            policy_revision: rows.policies.revision,
            family,
        }))
    }

    async fn rotate_refresh_token(
        &self,
        rotation: RefreshTokenRotation,
    ) -> Result<RefreshTokenRotationOutcome, StoreError> {
        Ok(self.lock_rows().rotate(rotation))
    }

    async fn revoke_family(&self, family_id: &str, _now_s: i64) -> Result<bool, StoreError> {
        Ok(self.lock_rows().revoke_family(family_id))
    }
}

#[async_trait]
impl ConsentGrantStore for MemoryAuthorizationStore {
    async fn active_grants_of_user(&self, user_id: &str) -> Result<Vec<ConsentGrant>, StoreError> {
        let rows = self.lock_rows();
        Ok(newest_first(rows.grants.iter().filter(|grant| grant.user_id == user_id && grant.grants_anything())))
    }

    async fn revoke_grant(&self, user_id: &str, grant_id: &str, rest_id: &str) -> Result<bool, StoreError> {
        let mut rows = self.lock_rows();
        let is_meant =
            |grant: &ConsentGrant| grant.user_id == user_id && grant.id == grant_id && grant.grants_anything();
        let Some(at) = rows.grants.iter().position(is_meant) else { return Ok(false) };
        let ended = rows.grants.remove(at);
        rows.families.retain(|_, row| row.family.grant_id.as_deref() != Some(grant_id));
        if !ended.refused.is_empty() {
            let (id, nothing) = (rest_id.to_owned(), String::new());
            let rest = ConsentGrant { id, requested: nothing.clone(), granted: nothing, used_s: None, ..ended };
            rows.grants.push(rest);
        }
        Ok(true)
    }
}

#[async_trait]
impl PatientStore for MemoryAuthorizationStore {
    async fn patient_by_id(&self, id: &str) -> Result<Option<PatientSummary>, StoreError> {
        Ok(self.lock_rows().patients.iter().find(|patient| patient.id == id).cloned())
    }

    async fn related_person_or_person(&self, resource_type: &str, id: &str) -> Result<Option<Value>, StoreError> {
        Ok(self.lock_rows().get(resource_type, id).map(|stored| stored.resource.clone()))
    }

    async fn search_patients_by_words(&self, text: &str, limit: u32) -> Result<Vec<PatientSummary>, StoreError> {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let is_found = |patient: &&PatientSummary| {
            let number = patient.number.as_ref().map(|number| number.value.as_str());
            let texts = patient.name.split_whitespace().chain([&*patient.id]).chain(number);
            let texts: Vec<String> = texts.map(str::to_lowercase).collect();
            !words.is_empty() && words.iter().all(|word| texts.iter().any(|text| text.starts_with(word)))
        };
        let mut found: Vec<_> = self.lock_rows().patients.iter().filter(is_found).cloned().collect();
        found.sort_by_cached_key(|patient| (patient.name.to_lowercase(), patient.id.clone()));
        found.truncate(usize::try_from(limit.min(PATIENT_SEARCH_RESULTS_MAX)).unwrap_or(usize::MAX));
        Ok(found)
    }
}
