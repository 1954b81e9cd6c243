//! What people leave behind when they let apps in: browser sessions, grants, codes and families of
//! tokens.
//!
//! A *grant* is what one person lets one app do for one patient; it lasts until it is taken back. A
//! *family* is what one authorization code gave: its access tokens and the chain of its refresh tokens.
//! Whoever takes back a grant ends its families, and a family that has ended is good for nothing at
//! once, because the one statement that every request with a token makes asks for it
//! (a `CallerStatusQuery`).

use async_trait::async_trait;
use serde_json::Value;

use super::{OpaqueTokenRecord, StoreError, VersionedDocument};

/// The SHA-256 digest of a secret value; the value itself is never stored.
pub type SecretSha256 = [u8; 32];

/// A person signed in with a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserSession {
    /// Of the cookie's value.
    pub hash: SecretSha256,
    /// Who signed in.
    pub user_id: String,
    /// The stamp of the password the person signed in with (see `EndUser::credential`):
    /// with another password, the session is over.
    pub credential: SecretSha256,
    /// When the person gave the password, in seconds since the UNIX epoch (`auth_time`).
    pub signed_in_s: i64,
    /// Seconds since the UNIX epoch.
    pub expires_s: i64,
}

/// The scopes that an end user granted an app for a patient, and those that the user refused.
///
/// Of a person who refused everything, or took the grant back, it keeps the refusals alone: `granted` is empty then,
/// and nothing can be issued under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentGrant {
    /// Random.
    pub id: String,
    /// Who granted.
    pub user_id: String,
    /// To which app.
    pub client_id: String,
    /// For which patient; `None` when the app asked for none.
    pub patient_id: Option<String>,
    /// The scopes the person was asked for, space-separated.
    pub requested: String,
    /// The scopes the person allowed, space-separated.
    pub granted: String,
    /// The lines of the consent page that the person did not tick, as scopes, space-separated.
    pub refused: String,
    /// When the person first allowed it, in seconds since the UNIX epoch.
    pub created_s: i64,
    /// When a token was last issued under it, in seconds since the UNIX epoch. Noted once a minute, so the
    /// last one may be up to a minute younger.
    pub used_s: Option<i64>,
}

impl ConsentGrant {
    /// Returns whether the grant has granted scopes, and not only refusals.
    #[must_use]
    pub const fn grants_anything(&self) -> bool {
        !self.granted.is_empty()
    }
}

/// The state of an authorization request: session, user, Client version and grants, read in one statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthorizationState {
    /// The session of the cookie, unless it expired.
    pub session: Option<BrowserSession>,
    /// Current version of the session's User, `None` when it does not exist.
    pub user_version: Option<i64>,
    /// Current version of the app's Client, `None` when it does not exist.
    pub client_version: Option<i64>,
    /// What the session's User lets this app do, and what the User refused it: also grants that give nothing.
    pub grants: Vec<ConsentGrant>,
}

/// The keys of an authorization state to load.
#[derive(Debug, Clone, Copy)]
pub struct AuthorizationStateQuery<'a> {
    /// Of the session cookie's value, when there is one.
    pub session: Option<&'a SecretSha256>,
    /// The app.
    pub client_id: &'a str,
    /// Seconds since the UNIX epoch.
    pub now_s: i64,
}

/// The stored record of an authorization code.
#[derive(Debug, Clone, PartialEq)]
pub struct AuthorizationCodeRecord {
    /// Of the code.
    pub hash: SecretSha256,
    /// The app it was issued to.
    pub client_id: String,
    /// The family its tokens will belong to, so that a second use can end them.
    pub family_id: String,
    /// The grant it was issued under.
    pub grant_id: String,
    /// Everything else it is bound to, as the rules wrote it (an `Authorization`).
    pub authorization: Value,
    /// Seconds since the UNIX epoch.
    pub expires_s: i64,
}

/// A launch context that can be used once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleUseLaunchContext {
    /// The `jti` of the launch JWT.
    pub jti: String,
    /// Until when it must be remembered, in seconds since the UNIX epoch.
    pub expires_s: i64,
}

/// A user's new consent grant, and the grant it replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentGrantDecision {
    /// What is to be stored.
    pub grant: ConsentGrant,
    /// The grant of the same person, app and patient that the decision was made from; `None` when there was
    /// none. Of the same id, it is changed; of another, it ends, and everything that came of it.
    pub replaces: Option<ConsentGrant>,
}

impl ConsentGrantDecision {
    /// Returns the earlier grant that this decision ends, with everything issued under it; `None` when there is none
    /// that granted anything, or when the grant keeps its id.
    #[must_use]
    pub fn superseded_grant(&self) -> Option<&ConsentGrant> {
        self.replaces.as_ref().filter(|before| before.grants_anything() && before.id != self.grant.id)
    }
}

/// The outcome of [`AuthorizationCodeStore::issue_code`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeIssueOutcome {
    /// The code, the grant and the use of the launch are durable.
    Issued,
    /// The launch context was used before; nothing was stored.
    LaunchUsed,
    /// The grant is not what it was when it was read: taken back, or decided anew; nothing was stored.
    GrantChanged,
}

/// The family of tokens that one authorization gave.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenFamily {
    /// Random; the `sid` claim of its access tokens.
    pub id: String,
    /// The app.
    pub client_id: String,
    /// The person.
    pub user_id: String,
    /// The grant behind it; `None` where the person was not asked (`password`, token exchange).
    pub grant_id: Option<String>,
    /// The stamp of the person's password at that time: with another password, the family is over.
    pub credential: SecretSha256,
    /// What was authorized, for the tokens to come (an `Authorization`).
    pub authorization: Value,
    /// Seconds since the UNIX epoch.
    pub created_s: i64,
    /// When the family ends whatever happens, in seconds since the UNIX epoch. Its access tokens are good
    /// for nothing once it has been forgotten, so none may live longer.
    pub expires_s: i64,
}

/// A refresh token as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshTokenRecord {
    /// Of the token.
    pub hash: SecretSha256,
    /// Its family.
    pub family_id: String,
    /// Seconds since the UNIX epoch.
    pub issued_s: i64,
    /// When it ends unused, in seconds since the UNIX epoch.
    pub expires_s: i64,
}

/// Most token families without a grant that are listed for one app.
pub const GRANTLESS_FAMILIES_PER_APP_MAX: usize = 100;

/// The first tokens of a family.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstFamilyTokens {
    /// The family.
    pub family: TokenFamily,
    /// The access token, when it is opaque.
    pub access: Option<OpaqueTokenRecord>,
    /// The refresh token, when there is one.
    pub refresh: Option<RefreshTokenRecord>,
}

/// An authorization code with its current state: used or not, and the versions of its Client and User.
#[derive(Debug, Clone, PartialEq)]
pub struct AuthorizationCodeState {
    /// As issued.
    pub code: AuthorizationCodeRecord,
    /// Whether it was redeemed.
    pub used: bool,
    /// Current version of its Client, `None` when it does not exist.
    pub client_version: Option<i64>,
    /// Current version of the User of its grant, `None` when it does not exist or the grant was taken
    /// back.
    pub user_version: Option<i64>,
}

/// The outcome of [`AuthorizationCodeStore::redeem_code`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeRedemptionOutcome {
    /// The tokens are stored, and the code is used.
    Granted,
    /// The code was used before. Its family has been revoked by now (RFC 6749, section 4.1.2).
    AlreadyUsed {
        /// Whether it was this use that ended the family.
        ended: bool,
    },
    /// Its time is over; nothing was stored.
    Expired,
    /// The person took the grant back meanwhile; nothing was stored.
    Withdrawn,
    /// There is no such code.
    Unknown,
}

/// A refresh token with everything that decides on its use, read at one moment: the state of its family, Client and
/// User.
#[derive(Debug, Clone, PartialEq)]
pub struct RefreshTokenState {
    /// As issued.
    pub token: RefreshTokenRecord,
    /// When it was first used, in seconds since the UNIX epoch.
    pub used_s: Option<i64>,
    /// Its family.
    pub family: TokenFamily,
    /// Whether the family was revoked.
    pub revoked: bool,
    /// Current version of the Client, `None` when it does not exist.
    pub client_version: Option<i64>,
    /// Current version of the User, `None` when it does not exist.
    pub user_version: Option<i64>,
    /// Current revision of the access policies (see `StoredAccessPolicies::revision`).
    pub policy_revision: i64,
}

/// The rotation of a refresh token: the token used and its successor.
#[derive(Debug, Clone, PartialEq)]
pub struct RefreshTokenRotation {
    /// Of the presented token.
    pub hash: SecretSha256,
    /// Seconds since the UNIX epoch.
    pub now_s: i64,
    /// For how many seconds after its first use the token may be presented again and gives the same
    /// successor, unless that was used in the meantime.
    pub grace_s: i64,
    /// What follows it. It is derived from the presented token, so a repeated request makes the same.
    pub successor: RefreshTokenRecord,
    /// The access token, when it is opaque.
    pub access: Option<OpaqueTokenRecord>,
}

/// The outcome of [`TokenFamilyStore::rotate_refresh_token`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefreshTokenRotationOutcome {
    /// The first use: the successor is stored.
    Rotated,
    /// Used again within the grace time: the successor was there, only the access token is new.
    Repeated,
    /// Used again after it, or after its successor was used: the family has been revoked by now.
    Reused,
    /// The family was revoked, or its time is over, or the token's; nothing was stored.
    Ended,
    /// There is no such token.
    Unknown,
}

/// The store of browser sessions, and of what the authorization page needs to know about its user. One method is one
/// transaction.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Returns the Users whose `userName` or `email` is `login`, whatever the case of its ASCII letters; two at most,
    /// which is enough to see that it is not one.
    async fn users_by_login(&self, login: &str) -> Result<Vec<(String, VersionedDocument)>, StoreError>;
    /// Begins a session and ends the one of the cookie that it replaces.
    async fn begin_session(&self, session: BrowserSession, replaces: Option<&SecretSha256>) -> Result<(), StoreError>;
    /// Ends a session. One that is over already is no error.
    async fn end_session(&self, hash: &SecretSha256) -> Result<(), StoreError>;
    /// Loads what the authorization page has to know (session, User and Client versions, grants), in one statement.
    async fn load_authorization_state(
        &self,
        of: &AuthorizationStateQuery<'_>,
    ) -> Result<AuthorizationState, StoreError>;
}

/// The store of authorization codes. One method is one transaction.
#[async_trait]
pub trait AuthorizationCodeStore: Send + Sync {
    /// Stores an authorization code, the grant that was given for it and the use of its launch, or nothing of them.
    ///
    /// Without `given` the code is issued under the grant of its id, of which nothing is written, so any
    /// number of visits at once are in nobody's way. A grant is never made again from what was read of it
    /// before: that is [`CodeIssueOutcome::GrantChanged`].
    async fn issue_code(
        &self,
        code: AuthorizationCodeRecord,
        given: Option<ConsentGrantDecision>,
        launch: Option<SingleUseLaunchContext>,
    ) -> Result<CodeIssueOutcome, StoreError>;
    /// Stores the decision of a user who refused, which gives the app no code. Returns whether the grant was still what
    /// the decision was made from; nothing is stored otherwise.
    async fn store_refused_consent(&self, given: ConsentGrantDecision) -> Result<bool, StoreError>;
    /// Returns the code with this hash, used or not, expired or not.
    async fn find_code(&self, hash: &SecretSha256) -> Result<Option<AuthorizationCodeState>, StoreError>;
    /// Redeems the code and stores its first tokens, which are of the code's family and under its grant. Of any number
    /// of simultaneous calls, on any number of nodes, one is told [`CodeRedemptionOutcome::Granted`]; every other one
    /// revokes what that one stored.
    async fn redeem_code(
        &self,
        hash: &SecretSha256,
        now_s: i64,
        tokens: FirstFamilyTokens,
    ) -> Result<CodeRedemptionOutcome, StoreError>;
}

/// The store of token families and their refresh tokens. One method is one transaction.
#[async_trait]
pub trait TokenFamilyStore: Send + Sync {
    /// Stores a token family that came without an authorization code (`password`, token exchange).
    async fn store_grantless_family(&self, tokens: FirstFamilyTokens) -> Result<(), StoreError>;
    /// Returns the token families without a grant that apps have for a user and that are active at `now_s`: of each app
    /// the newest [`GRANTLESS_FAMILIES_PER_APP_MAX`], newest first.
    async fn grantless_families_of_user(&self, user_id: &str, now_s: i64) -> Result<Vec<TokenFamily>, StoreError>;
    /// Revokes every token family without a grant that an app has for a user. Returns whether there was any.
    async fn revoke_grantless_families(&self, user_id: &str, client_id: &str, now_s: i64) -> Result<bool, StoreError>;
    /// Returns the refresh token with this hash, in one statement; `None` also when its family is gone, because its
    /// grant was taken back or its Client or User deleted.
    async fn find_refresh_token(&self, hash: &SecretSha256) -> Result<Option<RefreshTokenState>, StoreError>;
    /// Uses a refresh token. Of any number of simultaneous calls one is told [`RefreshTokenRotationOutcome::Rotated`]
    /// and the others [`RefreshTokenRotationOutcome::Repeated`] within the grace time, as long as the successor is
    /// unused.
    async fn rotate_refresh_token(
        &self,
        rotation: RefreshTokenRotation,
    ) -> Result<RefreshTokenRotationOutcome, StoreError>;
    /// Revokes a token family. One that is not there, or was revoked already, is no error: returns whether it was
    /// revoked by this call.
    async fn revoke_family(&self, family_id: &str, now_s: i64) -> Result<bool, StoreError>;
}

/// The store of users' consent grants. One method is one transaction.
#[async_trait]
pub trait ConsentGrantStore: Send + Sync {
    /// Returns a user's grants, newest first, without those that grant nothing.
    async fn active_grants_of_user(&self, user_id: &str) -> Result<Vec<ConsentGrant>, StoreError>;
    /// Revokes a grant, and with it every family and unused code under it. What the user refused stays, in a grant of
    /// the id `rest_id` that grants nothing; returns whether this user had such a grant.
    async fn revoke_grant(&self, user_id: &str, grant_id: &str, rest_id: &str) -> Result<bool, StoreError>;
}

/// The fields of a patient that pages show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatientSummary {
    /// The Patient's id.
    pub id: String,
    /// As people write it; the id where the resource has no name.
    pub name: String,
    /// `Patient.birthDate`, as stored.
    pub birth_date: Option<String>,
    /// `Patient.gender`, as stored.
    pub gender: Option<String>,
    /// The number people know the patient by.
    pub number: Option<PatientIdentifier>,
    /// The first line of the address, and the city.
    pub address: Option<String>,
}

/// An identifier of a patient that pages show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatientIdentifier {
    /// Whether it is of a type that payers give to members.
    pub is_members: bool,
    /// `Identifier.value`.
    pub value: String,
}

/// Most patients that a search finds: past it, the text has to say more.
pub const PATIENT_SEARCH_RESULTS_MAX: u32 = 500;

/// The store of patients for which a user may act.
#[async_trait]
pub trait PatientStore: Send + Sync {
    /// Returns the Patient of this id.
    async fn patient_by_id(&self, id: &str) -> Result<Option<PatientSummary>, StoreError>;
    /// Returns the `RelatedPerson` or Person of this id, as stored.
    async fn related_person_or_person(&self, resource_type: &str, id: &str) -> Result<Option<Value>, StoreError>;
    /// Returns patients of whom every word of `text` begins a word of a name, the id or an identifier, whatever the
    /// case. At most `limit` and not more than [`PATIENT_SEARCH_RESULTS_MAX`] are returned, ordered by name; no word
    /// finds nobody.
    async fn search_patients_by_words(&self, text: &str, limit: u32) -> Result<Vec<PatientSummary>, StoreError>;
}
