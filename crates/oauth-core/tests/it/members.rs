//! What people leave behind, in memory: it answers as the database does, case by case.

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use oauth_core::ports::{
    AuditRecord, AuditSink, AuthorizationCodeStore, AuthorizationState, AuthorizationStateQuery, BrowserSession,
    CodeIssue, CodeRedemption, FirstTokens, GrantDecision, GrantStore, IssuedCode, LaunchUse, MemberGrant, OpaqueToken,
    PatientStore, PatientSummary, RefreshToken, RotationOutcome, SessionStore, StoreError, StoredCode,
    StoredRefreshToken, TokenFamily, TokenFamilyStore, TokenHash, TokenRotation, VersionedDocument,
};
use serde_json::Value;

use crate::world::Memory;

/// The rows.
#[derive(Default)]
pub(crate) struct Members {
    pub(crate) sessions: HashMap<TokenHash, BrowserSession>,
    pub(crate) grants: Vec<MemberGrant>,
    pub(crate) codes: HashMap<TokenHash, (IssuedCode, bool)>,
    pub(crate) launches: HashMap<String, i64>,
    pub(crate) families: HashMap<String, Family>,
    pub(crate) refresh: HashMap<TokenHash, (RefreshToken, Option<i64>)>,
}

/// A family as kept.
pub(crate) struct Family {
    pub(crate) family: TokenFamily,
    pub(crate) revoked: bool,
}

impl Members {
    /// What belongs to a Client or User goes with it.
    pub(crate) fn forget_party(&mut self, kind: &str, id: &str) {
        let owner = |client: &str, user: &str| match kind {
            "Client" => client == id,
            "User" => user == id,
            _ => false,
        };
        self.sessions.retain(|_, session| !owner("", &session.user_id));
        self.grants.retain(|grant| !owner(&grant.client_id, &grant.user_id));
        self.families.retain(|_, held| !owner(&held.family.client_id, &held.family.user_id));
    }

    /// The stamp of a family that was not revoked.
    pub(crate) fn living(&self, family_id: &str) -> Option<TokenHash> {
        self.families.get(family_id).filter(|held| !held.revoked).map(|held| held.family.credential)
    }

    fn revoke(&mut self, family_id: &str) -> bool {
        let held = self.families.get_mut(family_id);
        held.is_some_and(|held| !std::mem::replace(&mut held.revoked, true))
    }

    fn note_use(&mut self, grant_id: Option<&str>, now_s: i64) -> bool {
        let grant = self.grants.iter_mut().find(|grant| Some(grant.id.as_str()) == grant_id);
        grant.map(|grant| grant.used_s = Some(now_s)).is_some()
    }

    fn store(&mut self, family: TokenFamily, refresh: Option<RefreshToken>) {
        if let Some(refresh) = refresh {
            self.refresh.insert(refresh.hash, (refresh, None));
        }
        self.families.insert(family.id.clone(), Family { family, revoked: false });
    }

    /// Whether what was decided still stood as it was decided from.
    fn give(&mut self, GrantDecision { grant, replaces }: GrantDecision) -> bool {
        let key = |grant: &MemberGrant| (grant.user_id.clone(), grant.client_id.clone(), grant.patient_id.clone());
        let held = self.grants.iter().position(|held| key(held) == key(&grant));
        let texts = |MemberGrant { id, requested, granted, refused, .. }: &MemberGrant| {
            [id, requested, granted, refused].map(String::clone)
        };
        match (held, replaces) {
            (None, None) => self.grants.push(grant),
            (Some(at), Some(before)) if texts(&self.grants[at]) == texts(&before) => {
                if before.id != grant.id {
                    self.families.retain(|_, held| held.family.grant_id.as_ref() != Some(&before.id));
                }
                let used_s = self.grants[at].used_s;
                self.grants[at] = MemberGrant { used_s, ..grant };
            }
            _ => return false,
        }
        true
    }

    fn redeem(
        &mut self,
        hash: &TokenHash,
        now_s: i64,
        family: TokenFamily,
        refresh: Option<RefreshToken>,
    ) -> CodeRedemption {
        let Some((code, used)) = self.codes.get(hash).cloned() else {
            return CodeRedemption::Unknown;
        };
        if used {
            return CodeRedemption::AlreadyUsed { ended: self.revoke(&code.family_id) };
        }
        if code.expires_s <= now_s {
            return CodeRedemption::Expired;
        }
        assert_eq!((&code.family_id, Some(&code.grant_id)), (&family.id, family.grant_id.as_ref()));
        if !self.note_use(Some(&code.grant_id), now_s) {
            return CodeRedemption::Withdrawn;
        }
        self.codes.insert(*hash, (code, true));
        self.store(family, refresh);
        CodeRedemption::Granted
    }

    fn rotate(&mut self, rotation: &TokenRotation) -> RotationOutcome {
        let now_s = rotation.now_s;
        let Some((token, used_s)) = self.refresh.get(&rotation.hash).cloned() else {
            return RotationOutcome::Unknown;
        };
        let Some(held) = self.families.get(&token.family_id) else {
            return RotationOutcome::Unknown;
        };
        if held.revoked || held.family.expires_s <= now_s || token.expires_s <= now_s {
            return RotationOutcome::Ended;
        }
        let grant_id = held.family.grant_id.clone();
        let is_successor_used = self.refresh.get(&rotation.successor.hash).is_some_and(|(_, used_s)| used_s.is_some());
        match used_s {
            Some(used_s) if is_successor_used || now_s > used_s + rotation.grace_s => {
                self.revoke(&token.family_id);
                return RotationOutcome::Reused;
            }
            Some(_) => {
                self.note_use(grant_id.as_deref(), now_s);
                return RotationOutcome::Repeated;
            }
            None => {}
        }
        self.note_use(grant_id.as_deref(), now_s);
        self.refresh.insert(rotation.hash, (token, Some(now_s)));
        self.refresh.insert(rotation.successor.hash, (rotation.successor.clone(), None));
        RotationOutcome::Rotated
    }
}

impl Memory {
    fn version(&self, kind: &'static str, id: &str) -> Option<i64> {
        self.get(kind, id).map(|held| held.version)
    }

    fn keep(&self, access: Option<OpaqueToken>) {
        if let Some(access) = access {
            self.insert_opaque(access);
        }
    }
}

fn newest_first<'g>(grants: impl Iterator<Item = &'g MemberGrant>) -> Vec<MemberGrant> {
    let mut grants: Vec<_> = grants.cloned().collect();
    grants.sort_by(|one, other| (other.created_s, &one.id).cmp(&(one.created_s, &other.id)));
    grants
}

#[async_trait]
impl SessionStore for Memory {
    async fn users_by_login(&self, login: &str) -> Result<Vec<(String, VersionedDocument)>, StoreError> {
        let resources = self.resources.lock().unwrap();
        let named = |held: &VersionedDocument| {
            let texts = ["userName", "email"].map(|name| held.resource[name].as_str());
            texts.into_iter().flatten().any(|text| text.eq_ignore_ascii_case(login))
        };
        let users = resources.iter().filter(|((kind, _), held)| *kind == "User" && named(held));
        let users: BTreeMap<String, VersionedDocument> =
            users.map(|((_, id), held)| (id.clone(), held.clone())).collect();
        Ok(users.into_iter().take(2).collect())
    }

    async fn begin_session(&self, session: BrowserSession, replaces: Option<&TokenHash>) -> Result<(), StoreError> {
        let mut members = self.members.lock().unwrap();
        if let Some(replaced) = replaces {
            members.sessions.remove(replaced);
        }
        members.sessions.insert(session.hash, session);
        Ok(())
    }

    async fn end_session(&self, hash: &TokenHash) -> Result<(), StoreError> {
        self.members.lock().unwrap().sessions.remove(hash);
        Ok(())
    }

    async fn load_authorization_state(
        &self,
        of: &AuthorizationStateQuery<'_>,
    ) -> Result<AuthorizationState, StoreError> {
        let mut members = self.members.lock().unwrap();
        let session = of.session.and_then(|hash| members.sessions.get(hash));
        let session = session.filter(|session| session.expires_s > of.now_s).cloned();
        let user_id = session.as_ref().map(|session| session.user_id.clone());
        let grants = members.grants.iter().filter(|grant| Some(&grant.user_id) == user_id.as_ref());
        let visit = AuthorizationState {
            grants: newest_first(grants.filter(|grant| grant.client_id == of.client_id)),
            session,
            user_version: user_id.and_then(|id| self.version("User", &id)),
            client_version: self.version("Client", of.client_id),
        };
        if let Some(meanwhile) = self.meanwhile.lock().unwrap().take() {
            meanwhile(&mut members);
        }
        Ok(visit)
    }
}

#[async_trait]
impl AuthorizationCodeStore for Memory {
    async fn issue_code(
        &self,
        code: IssuedCode,
        given: Option<GrantDecision>,
        launch: Option<LaunchUse>,
    ) -> Result<CodeIssue, StoreError> {
        let mut members = self.members.lock().unwrap();
        if launch.as_ref().is_some_and(|launch| members.launches.contains_key(&launch.jti)) {
            return Ok(CodeIssue::LaunchUsed);
        }
        let holds = match given {
            Some(given) => members.give(given),
            None => members.grants.iter().any(|grant| grant.id == code.grant_id),
        };
        if !holds {
            return Ok(CodeIssue::GrantChanged);
        }
        members.launches.extend(launch.map(|launch| (launch.jti, launch.expires_s)));
        members.codes.insert(code.hash, (code, false));
        Ok(CodeIssue::Issued)
    }

    async fn keep_refusal(&self, given: GrantDecision) -> Result<bool, StoreError> {
        Ok(self.members.lock().unwrap().give(given))
    }

    async fn find_code(&self, hash: &TokenHash) -> Result<Option<StoredCode>, StoreError> {
        let members = self.members.lock().unwrap();
        let Some((code, used)) = members.codes.get(hash).cloned() else {
            return Ok(None);
        };
        let grant = members.grants.iter().find(|grant| grant.id == code.grant_id);
        let user_version = grant.and_then(|grant| self.version("User", &grant.user_id));
        Ok(Some(StoredCode { client_version: self.version("Client", &code.client_id), code, used, user_version }))
    }

    async fn redeem_code(
        &self,
        hash: &TokenHash,
        now_s: i64,
        tokens: FirstTokens,
    ) -> Result<CodeRedemption, StoreError> {
        let outcome = self.members.lock().unwrap().redeem(hash, now_s, tokens.family, tokens.refresh);
        if outcome == CodeRedemption::Granted {
            self.keep(tokens.access);
        }
        Ok(outcome)
    }
}

#[async_trait]
impl TokenFamilyStore for Memory {
    async fn begin_family(&self, tokens: FirstTokens) -> Result<(), StoreError> {
        self.members.lock().unwrap().store(tokens.family, tokens.refresh);
        self.keep(tokens.access);
        Ok(())
    }

    async fn find_refresh_token(&self, hash: &TokenHash) -> Result<Option<StoredRefreshToken>, StoreError> {
        let members = self.members.lock().unwrap();
        let Some((token, used_s)) = members.refresh.get(hash).cloned() else {
            return Ok(None);
        };
        let Some(Family { family, revoked }) = members.families.get(&token.family_id) else {
            return Ok(None);
        };
        Ok(Some(StoredRefreshToken {
            token,
            used_s,
            family: family.clone(),
            revoked: *revoked,
            client_version: self.version("Client", &family.client_id),
            user_version: self.version("User", &family.user_id),
            policy_revision: self.policies.lock().unwrap().0,
        }))
    }

    async fn rotate_refresh_token(&self, rotation: TokenRotation) -> Result<RotationOutcome, StoreError> {
        let outcome = self.members.lock().unwrap().rotate(&rotation);
        if matches!(outcome, RotationOutcome::Rotated | RotationOutcome::Repeated) {
            self.keep(rotation.access);
        }
        Ok(outcome)
    }

    async fn revoke_family(&self, family_id: &str, _now_s: i64) -> Result<bool, StoreError> {
        Ok(self.members.lock().unwrap().revoke(family_id))
    }

    async fn direct_families(&self, user_id: &str, now_s: i64) -> Result<Vec<TokenFamily>, StoreError> {
        let members = self.members.lock().unwrap();
        let held = members.families.values().filter(|held| !held.revoked && held.family.expires_s > now_s);
        let direct = held.map(|held| held.family.clone());
        let mut direct: Vec<_> =
            direct.filter(|family| family.grant_id.is_none() && family.user_id == user_id).collect();
        direct.sort_by(|one, other| (other.created_s, &one.id).cmp(&(one.created_s, &other.id)));
        Ok(direct)
    }

    async fn revoke_direct_families(&self, user_id: &str, client_id: &str, now_s: i64) -> Result<bool, StoreError> {
        let mut members = self.members.lock().unwrap();
        let is_meant = |held: &&mut Family| {
            let family = &held.family;
            family.grant_id.is_none() && family.user_id == user_id && family.client_id == client_id
        };
        let goes_on = |held: &&mut Family| !held.revoked && held.family.expires_s > now_s;
        let ended = members.families.values_mut().filter(is_meant).filter(goes_on);
        Ok(ended.map(|held| held.revoked = true).count() > 0)
    }
}

#[async_trait]
impl GrantStore for Memory {
    async fn grants_of(&self, user_id: &str) -> Result<Vec<MemberGrant>, StoreError> {
        let members = self.members.lock().unwrap();
        let held = members.grants.iter().filter(|grant| grant.user_id == user_id && grant.gives_something());
        Ok(newest_first(held))
    }

    async fn revoke_grant(&self, user_id: &str, grant_id: &str, rest_id: &str) -> Result<bool, StoreError> {
        let mut members = self.members.lock().unwrap();
        let is_meant =
            |grant: &MemberGrant| grant.user_id == user_id && grant.id == grant_id && grant.gives_something();
        let Some(at) = members.grants.iter().position(is_meant) else { return Ok(false) };
        let ended = members.grants.remove(at);
        members.families.retain(|_, held| held.family.grant_id.as_deref() != Some(grant_id));
        if !ended.refused.is_empty() {
            let nothing = String::new;
            let id = rest_id.to_owned();
            members.grants.push(MemberGrant { id, requested: nothing(), granted: nothing(), used_s: None, ..ended });
        }
        Ok(true)
    }
}

/// The patients of the deployment.
#[derive(Default)]
pub(crate) struct Patients {
    pub(crate) patients: Vec<PatientSummary>,
}

#[async_trait]
impl PatientStore for Memory {
    async fn patient(&self, id: &str) -> Result<Option<PatientSummary>, StoreError> {
        Ok(self.patients.lock().unwrap().patients.iter().find(|patient| patient.id == id).cloned())
    }

    async fn relation(&self, resource_type: &str, id: &str) -> Result<Option<Value>, StoreError> {
        let resources = self.resources.lock().unwrap();
        let held = resources.iter().find(|((kind, held), _)| *kind == resource_type && held == id);
        Ok(held.map(|(_, held)| held.resource.clone()))
    }

    async fn find_patients(&self, text: &str, limit: u32) -> Result<Vec<PatientSummary>, StoreError> {
        let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
        let matches = |patient: &&PatientSummary| {
            let held: Vec<String> =
                patient.name.split_whitespace().chain([&*patient.id]).map(str::to_lowercase).collect();
            !words.is_empty() && words.iter().all(|word| held.iter().any(|held| held.starts_with(word)))
        };
        let mut found: Vec<_> = self.patients.lock().unwrap().patients.iter().filter(matches).cloned().collect();
        found.sort_by_key(|patient| (patient.name.to_lowercase(), patient.id.clone()));
        found.truncate(usize::try_from(limit).unwrap());
        Ok(found)
    }
}

impl AuditSink for Memory {
    fn record(&self, record: AuditRecord) {
        self.audit.lock().unwrap().push(record);
    }
}
