//! Sessions, codes, families, grants and patients in memory.

use std::cmp::Reverse;

use async_trait::async_trait;
use serde_json::Value;

use super::rows::{RowOfCode, RowOfFamily, RowOfRefreshToken};
use super::{AuthorizationRows, MemoryAuthorizationStore};
use crate::ports::{
    AuthorizationCodeStore, AuthorizationState, AuthorizationStateQuery, BrowserSession, CodeIssue, CodeRedemption,
    DIRECT_FAMILIES_MAX, FirstTokens, GrantDecision, GrantStore, IssuedCode, LaunchUse, MemberGrant,
    PATIENTS_FOUND_MAX, PatientStore, PatientSummary, RotationOutcome, SessionStore, StoreError, StoredCode,
    StoredRefreshToken, TokenFamily, TokenFamilyStore, TokenHash, TokenRotation, VersionedDocument,
};

fn newest_first<'g>(grants: impl Iterator<Item = &'g MemberGrant>) -> Vec<MemberGrant> {
    let mut grants: Vec<_> = grants.cloned().collect();
    grants.sort_by_cached_key(|grant| (Reverse(grant.created_s), grant.id.clone()));
    grants
}

#[async_trait]
impl SessionStore for MemoryAuthorizationStore {
    async fn users_by_login(&self, login: &str) -> Result<Vec<(String, VersionedDocument)>, StoreError> {
        let rows = self.rows();
        let is_named = |stored: &VersionedDocument| {
            let texts = ["userName", "email"].map(|name| stored.resource.get(name).and_then(Value::as_str));
            texts.into_iter().flatten().any(|text| text.eq_ignore_ascii_case(login))
        };
        let users = rows.of_type("User").filter(|(_, stored)| is_named(stored)).take(2);
        Ok(users.map(|(id, stored)| (id.clone(), stored.clone())).collect())
    }

    async fn begin_session(&self, session: BrowserSession, replaces: Option<&TokenHash>) -> Result<(), StoreError> {
        let mut rows = self.rows();
        if let Some(replaced) = replaces {
            rows.sessions.remove(replaced);
        }
        rows.sessions.insert(session.hash, session);
        Ok(())
    }

    async fn end_session(&self, hash: &TokenHash) -> Result<(), StoreError> {
        self.rows().sessions.remove(hash);
        Ok(())
    }

    async fn load_authorization_state(
        &self,
        of: &AuthorizationStateQuery<'_>,
    ) -> Result<AuthorizationState, StoreError> {
        let mut rows = self.rows();
        let session = of.session.and_then(|hash| rows.sessions.get(hash));
        let session = session.filter(|session| session.expires_s > of.now_s).cloned();
        let user_id = session.as_ref().map(|session| session.user_id.as_str());
        let is_asked_for = |grant: &&MemberGrant| Some(&*grant.user_id) == user_id && grant.client_id == of.client_id;
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
        code: IssuedCode,
        given: Option<GrantDecision>,
        launch: Option<LaunchUse>,
    ) -> Result<CodeIssue, StoreError> {
        let mut rows = self.rows();
        if launch.as_ref().is_some_and(|launch| rows.launches.contains_key(&launch.jti)) {
            return Ok(CodeIssue::LaunchUsed);
        }
        let is_granted = match given {
            Some(given) => rows.decide(given),
            None => rows.grants.iter().any(|grant| grant.id == code.grant_id),
        };
        if !is_granted {
            return Ok(CodeIssue::GrantChanged);
        }
        rows.launches.extend(launch.map(|launch| (launch.jti, launch.expires_s)));
        rows.codes.insert(code.hash, RowOfCode { code, used: false });
        Ok(CodeIssue::Issued)
    }

    async fn keep_refusal(&self, given: GrantDecision) -> Result<bool, StoreError> {
        Ok(self.rows().decide(given))
    }

    async fn find_code(&self, hash: &TokenHash) -> Result<Option<StoredCode>, StoreError> {
        let rows = self.rows();
        let Some(RowOfCode { code, used }) = rows.codes.get(hash).cloned() else { return Ok(None) };
        let grant = rows.grants.iter().find(|grant| grant.id == code.grant_id);
        let user_version = grant.and_then(|grant| rows.version("User", &grant.user_id));
        Ok(Some(StoredCode { client_version: rows.version("Client", &code.client_id), code, used, user_version }))
    }

    async fn redeem_code(
        &self,
        hash: &TokenHash,
        now_s: i64,
        tokens: FirstTokens,
    ) -> Result<CodeRedemption, StoreError> {
        Ok(self.rows().redeem(hash, now_s, tokens))
    }
}

/// Returns the families of a person that have no grant and go on at `now_s`.
fn direct<'r>(rows: &'r mut AuthorizationRows, user_id: &str, now_s: i64) -> impl Iterator<Item = &'r mut RowOfFamily> {
    let is_direct = move |RowOfFamily { family, revoked }: &RowOfFamily| {
        family.grant_id.is_none() && family.user_id == user_id && !revoked && family.expires_s > now_s
    };
    rows.families.values_mut().filter(move |row| is_direct(row))
}

#[async_trait]
impl TokenFamilyStore for MemoryAuthorizationStore {
    async fn begin_family(&self, tokens: FirstTokens) -> Result<(), StoreError> {
        self.rows().insert_tokens(tokens);
        Ok(())
    }

    async fn direct_families(&self, user_id: &str, now_s: i64) -> Result<Vec<TokenFamily>, StoreError> {
        let mut rows = self.rows();
        let mut families: Vec<TokenFamily> = direct(&mut rows, user_id, now_s).map(|row| row.family.clone()).collect();
        families.sort_by_cached_key(|family| (Reverse(family.created_s), family.id.clone()));
        let mut counts = std::collections::HashMap::new();
        families.retain(|family| {
            let count: &mut usize = counts.entry(family.client_id.clone()).or_default();
            *count += 1;
            *count <= DIRECT_FAMILIES_MAX
        });
        Ok(families)
    }

    async fn revoke_direct_families(&self, user_id: &str, client_id: &str, now_s: i64) -> Result<bool, StoreError> {
        let mut rows = self.rows();
        let of_client = direct(&mut rows, user_id, now_s).filter(|row| row.family.client_id == client_id);
        Ok(of_client.map(|row| row.revoked = true).count() > 0)
    }

    async fn find_refresh_token(&self, hash: &TokenHash) -> Result<Option<StoredRefreshToken>, StoreError> {
        let rows = self.rows();
        let Some(RowOfRefreshToken { token, used_s }) = rows.refresh_tokens.get(hash).cloned() else {
            return Ok(None);
        };
        let Some(RowOfFamily { family, revoked }) = rows.families.get(&token.family_id).cloned() else {
            return Ok(None);
        };
        Ok(Some(StoredRefreshToken {
            token,
            used_s,
            revoked,
            client_version: rows.version("Client", &family.client_id),
            user_version: rows.version("User", &family.user_id),
            policy_revision: rows.policies.revision,
            family,
        }))
    }

    async fn rotate_refresh_token(&self, rotation: TokenRotation) -> Result<RotationOutcome, StoreError> {
        Ok(self.rows().rotate(rotation))
    }

    async fn revoke_family(&self, family_id: &str, _now_s: i64) -> Result<bool, StoreError> {
        Ok(self.rows().revoke_family(family_id))
    }
}

#[async_trait]
impl GrantStore for MemoryAuthorizationStore {
    async fn grants_of(&self, user_id: &str) -> Result<Vec<MemberGrant>, StoreError> {
        let rows = self.rows();
        Ok(newest_first(rows.grants.iter().filter(|grant| grant.user_id == user_id && grant.gives_something())))
    }

    async fn revoke_grant(&self, user_id: &str, grant_id: &str, rest_id: &str) -> Result<bool, StoreError> {
        let mut rows = self.rows();
        let is_meant =
            |grant: &MemberGrant| grant.user_id == user_id && grant.id == grant_id && grant.gives_something();
        let Some(at) = rows.grants.iter().position(is_meant) else { return Ok(false) };
        let ended = rows.grants.remove(at);
        rows.families.retain(|_, row| row.family.grant_id.as_deref() != Some(grant_id));
        if !ended.refused.is_empty() {
            let (id, nothing) = (rest_id.to_owned(), String::new());
            let rest = MemberGrant { id, requested: nothing.clone(), granted: nothing, used_s: None, ..ended };
            rows.grants.push(rest);
        }
        Ok(true)
    }
}

#[async_trait]
impl PatientStore for MemoryAuthorizationStore {
    async fn patient(&self, id: &str) -> Result<Option<PatientSummary>, StoreError> {
        Ok(self.rows().patients.iter().find(|patient| patient.id == id).cloned())
    }

    async fn relation(&self, resource_type: &str, id: &str) -> Result<Option<Value>, StoreError> {
        Ok(self.rows().get(resource_type, id).map(|stored| stored.resource.clone()))
    }

    async fn find_patients(&self, text: &str, limit: u32) -> Result<Vec<PatientSummary>, StoreError> {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let is_found = |patient: &&PatientSummary| {
            let number = patient.number.as_ref().map(|number| number.value.as_str());
            let texts = patient.name.split_whitespace().chain([&*patient.id]).chain(number);
            let texts: Vec<String> = texts.map(str::to_lowercase).collect();
            !words.is_empty() && words.iter().all(|word| texts.iter().any(|text| text.starts_with(word)))
        };
        let mut found: Vec<_> = self.rows().patients.iter().filter(is_found).cloned().collect();
        found.sort_by_cached_key(|patient| (patient.name.to_lowercase(), patient.id.clone()));
        found.truncate(usize::try_from(limit.min(PATIENTS_FOUND_MAX)).unwrap_or(usize::MAX));
        Ok(found)
    }
}
