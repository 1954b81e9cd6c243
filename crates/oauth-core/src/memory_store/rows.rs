//! The rows of the stores in memory, and the changes that are made to several of them at once.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::ports::{
    AuditRecord, AuthorizationCodeRecord, BrowserSession, CallerStatus, CallerStatusQuery, CodeRedemptionOutcome,
    ConsentGrant, ConsentGrantDecision, FirstFamilyTokens, OpaqueTokenRecord, PatientSummary, RefreshTokenRecord,
    RefreshTokenRotation, RefreshTokenRotationOutcome, SecretSha256, StoredAccessPolicies, TokenFamily,
    VersionedDocument,
};
use crate::signing_keys::StoredSigningKey;

/// The rows of a [`MemoryAuthorizationStore`](super::MemoryAuthorizationStore).
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MemoryStoreRows {
    /// Sessions by the hash of their cookie.
    pub sessions: HashMap<SecretSha256, BrowserSession>,
    /// What members let apps do, in the order of the decisions.
    pub grants: Vec<ConsentGrant>,
    /// Authorization codes by their hash.
    pub codes: HashMap<SecretSha256, AuthorizationCodeRow>,
    /// Token families by their id.
    pub families: HashMap<String, TokenFamilyRow>,
    /// Refresh tokens by their hash.
    pub refresh_tokens: HashMap<SecretSha256, RefreshTokenRow>,
    /// Opaque access tokens by their hash.
    pub opaque_tokens: HashMap<SecretSha256, OpaqueTokenRecord>,
    /// The ids of revoked access tokens, each with the second since the UNIX epoch at which it may be forgotten.
    pub revoked_tokens: HashMap<String, i64>,
    /// Signing keys, oldest first.
    pub keys: Vec<StoredSigningKey>,
    /// The patients that members may act for.
    pub patients: Vec<PatientSummary>,
    /// Audit records, oldest first.
    pub audit: Vec<AuditRecord>,
    pub(super) policies: StoredAccessPolicies,
    pub(super) secrets: HashMap<String, Vec<u8>>,
    /// The nonces of each Client that were claimed, with the end of their claims.
    pub(super) nonces: HashMap<String, HashMap<String, i64>>,
    pub(super) launches: HashMap<String, i64>,
    /// By type and id.
    resources: HashMap<String, BTreeMap<String, VersionedDocument>>,
    deleted_clients_us: HashMap<String, i64>,
    version: i64,
}

/// An authorization code.
#[derive(Debug, Clone)]
pub struct AuthorizationCodeRow {
    /// As issued.
    pub code: AuthorizationCodeRecord,
    /// Whether it was redeemed.
    pub used: bool,
}

/// A token family.
#[derive(Debug, Clone)]
pub struct TokenFamilyRow {
    /// As it began.
    pub family: TokenFamily,
    /// Whether it was revoked.
    pub revoked: bool,
}

/// A refresh token.
#[derive(Debug, Clone)]
pub struct RefreshTokenRow {
    /// As issued.
    pub token: RefreshTokenRecord,
    /// When it was first used, in seconds since the UNIX epoch.
    pub used_s: Option<i64>,
}

impl MemoryStoreRows {
    pub(super) fn put(&mut self, resource_type: &str, id: &str, resource: Value) {
        self.version += 1;
        let document = VersionedDocument { version: self.version, resource };
        self.resources.entry(resource_type.to_owned()).or_default().insert(id.to_owned(), document);
    }

    pub(super) fn get(&self, resource_type: &str, id: &str) -> Option<&VersionedDocument> {
        self.resources.get(resource_type)?.get(id)
    }

    pub(super) fn version(&self, resource_type: &str, id: &str) -> Option<i64> {
        self.get(resource_type, id).map(|document| document.version)
    }

    /// Returns the resources of a type in the order of their ids.
    pub(super) fn of_type(&self, resource_type: &str) -> impl Iterator<Item = (&String, &VersionedDocument)> {
        self.resources.get(resource_type).into_iter().flatten()
    }

    pub(super) fn put_policy(&mut self, id: &str, policy: Value) {
        self.policies.revision += 1;
        self.policies.policies.retain(|(stored, _)| stored != id);
        self.policies.policies.push((id.to_owned(), policy));
    }

    pub(super) fn delete(&mut self, resource_type: &str, id: &str, at_us: i64) {
        if resource_type == "Client" {
            self.deleted_clients_us.insert(id.to_owned(), at_us);
        }
        let is_owner = |client: &str, user: &str| match resource_type {
            "Client" => client == id,
            "User" => user == id,
            _ => false,
        };
        self.sessions.retain(|_, session| !is_owner("", &session.user_id));
        self.grants.retain(|grant| !is_owner(&grant.client_id, &grant.user_id));
        self.families.retain(|_, row| !is_owner(&row.family.client_id, &row.family.user_id));
        if let Some(resources) = self.resources.get_mut(resource_type) {
            resources.remove(id);
        }
    }

    pub(super) fn caller_status(&self, of: &CallerStatusQuery<'_>) -> CallerStatus {
        CallerStatus {
            client_version: of.client_id.and_then(|id| self.version("Client", id)),
            client_deleted_us: of.client_id.and_then(|id| self.deleted_clients_us.get(id).copied()),
            user_version: of.user_id.and_then(|id| self.version("User", id)),
            token_revoked: of.token_id.is_some_and(|id| self.revoked_tokens.contains_key(id)),
            family_credential: of.family_id.and_then(|id| self.credential_of(id)),
            policy_revision: self.policies.revision,
        }
    }

    /// Returns the stamp of the password that a family began with, unless the family was revoked.
    fn credential_of(&self, family_id: &str) -> Option<SecretSha256> {
        self.families.get(family_id).filter(|row| !row.revoked).map(|row| row.family.credential)
    }

    pub(super) fn revoke_family(&mut self, family_id: &str) -> bool {
        let row = self.families.get_mut(family_id);
        row.is_some_and(|row| !std::mem::replace(&mut row.revoked, true))
    }

    /// Notes the use of a grant; returns whether the grant is there.
    fn note_use(&mut self, grant_id: Option<&str>, now_s: i64) -> bool {
        let grant = self.grants.iter_mut().find(|grant| Some(grant.id.as_str()) == grant_id);
        grant.map(|grant| grant.used_s = Some(now_s)).is_some()
    }

    pub(super) fn insert_tokens(&mut self, FirstFamilyTokens { family, access, refresh }: FirstFamilyTokens) {
        self.opaque_tokens.extend(access.map(|access| (access.hash, access)));
        self.refresh_tokens.extend(refresh.map(|token| (token.hash, RefreshTokenRow { token, used_s: None })));
        self.families.insert(family.id.clone(), TokenFamilyRow { family, revoked: false });
    }

    /// Stores a decision; returns whether the grant was still what the decision was made from.
    pub(super) fn decide(&mut self, ConsentGrantDecision { grant, replaces }: ConsentGrantDecision) -> bool {
        let is_of_same = |other: &ConsentGrant| {
            let ConsentGrant { user_id, client_id, patient_id, .. } = other;
            *user_id == grant.user_id && *client_id == grant.client_id && *patient_id == grant.patient_id
        };
        let is_same_text = |one: &ConsentGrant, other: &ConsentGrant| {
            let texts = |grant: &ConsentGrant| {
                let ConsentGrant { id, requested, granted, refused, .. } = grant;
                [id, requested, granted, refused].map(String::clone)
            };
            texts(one) == texts(other)
        };
        match (self.grants.iter_mut().find(|grant| is_of_same(grant)), replaces) {
            (None, None) => self.grants.push(grant),
            (Some(stored), Some(before)) if is_same_text(stored, &before) => {
                if before.id != grant.id {
                    self.families.retain(|_, row| row.family.grant_id.as_ref() != Some(&before.id));
                }
                *stored = ConsentGrant { used_s: stored.used_s, ..grant };
            }
            _ => return false,
        }
        true
    }

    pub(super) fn redeem(
        &mut self,
        hash: &SecretSha256,
        now_s: i64,
        tokens: FirstFamilyTokens,
    ) -> CodeRedemptionOutcome {
        let Some(AuthorizationCodeRow { code, used }) = self.codes.get(hash).cloned() else {
            return CodeRedemptionOutcome::Unknown;
        };
        if used {
            return CodeRedemptionOutcome::AlreadyUsed { ended: self.revoke_family(&code.family_id) };
        }
        if code.expires_s <= now_s {
            return CodeRedemptionOutcome::Expired;
        }
        if !self.note_use(Some(&code.grant_id), now_s) {
            return CodeRedemptionOutcome::Withdrawn;
        }
        self.codes.insert(*hash, AuthorizationCodeRow { code, used: true });
        self.insert_tokens(tokens);
        CodeRedemptionOutcome::Granted
    }

    pub(super) fn rotate(&mut self, rotation: RefreshTokenRotation) -> RefreshTokenRotationOutcome {
        let RefreshTokenRotation { hash, now_s, grace_s, successor, access } = rotation;
        let Some(RefreshTokenRow { token, used_s }) = self.refresh_tokens.get(&hash).cloned() else {
            return RefreshTokenRotationOutcome::Unknown;
        };
        let Some(TokenFamilyRow { family, revoked }) = self.families.get(&token.family_id) else {
            return RefreshTokenRotationOutcome::Unknown;
        };
        if *revoked || family.expires_s <= now_s || token.expires_s <= now_s {
            return RefreshTokenRotationOutcome::Ended;
        }
        let grant_id = family.grant_id.clone();
        let is_successor_used = self.refresh_tokens.get(&successor.hash).is_some_and(|row| row.used_s.is_some());
        if used_s.is_some_and(|used_s| is_successor_used || now_s > used_s + grace_s) {
            self.revoke_family(&token.family_id);
            return RefreshTokenRotationOutcome::Reused;
        }
        self.note_use(grant_id.as_deref(), now_s);
        self.opaque_tokens.extend(access.map(|access| (access.hash, access)));
        if used_s.is_some() {
            return RefreshTokenRotationOutcome::Repeated;
        }
        self.refresh_tokens.insert(hash, RefreshTokenRow { token, used_s: Some(now_s) });
        self.refresh_tokens.insert(successor.hash, RefreshTokenRow { token: successor, used_s: None });
        RefreshTokenRotationOutcome::Rotated
    }
}
