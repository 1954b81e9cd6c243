//! Sessions of browsers: who is signed in where, and when that ends.
//!
//! A browser holds a [`SessionToken`]; the realm holds its keyed hash, as it does of API keys. A session is a small
//! document of its user ([`UserItemKind::Session`]), so it is in the memory of every node, costs a request no
//! statement, and ends through the log: [`RealmCommit::revokes_access`] includes it, and no node accepts a session
//! after the answer that ended it.
//!
//! The road not taken is a table of sessions that each request asks: one statement more for each request, or a copy in
//! memory that needs the same care as the log already takes.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserId;
use crate::model::realm_change::{RealmChange, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::{ApiKey, KeyHash, KeyHasher};

/// The maximum number of sessions of one user; the least recently used one ends for a further one. Signing in once more
/// ends the one that was used longest ago.
///
/// Not specified; enough for every device of a person, and a bound for what a password holder can store.
pub const MAX_SESSIONS_PER_USER: usize = 50;
/// Seconds after which the use of a session is noted again. Shorter times would write more and say no more to the
/// person who reads the list.
const NOTE_USE_AFTER_S: i64 = 3_600;
/// Longest stored name of a program, in characters.
const USER_AGENT_MAX_CHARS: usize = 200;
/// Characters of the public id of a session: 64 bits of its hash.
const ID_CHARS: usize = 16;

/// The token of a browser session in its cookie: a secret and the user's id, so that no table is searched by a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionToken {
    /// The user.
    pub user_id: UserId,
    secret: ApiKey,
}

/// A text that does not have the form of a session token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed session token")]
pub struct MalformedSessionToken;

impl SessionToken {
    /// Makes a token from random letters and digits.
    #[must_use]
    pub fn new(user_id: UserId, letters: ApiKey) -> Self {
        Self { user_id, secret: letters }
    }

    /// Parses the value of the session cookie: the user's id, a hyphen, the secret.
    ///
    /// # Errors
    /// When it has another form.
    pub fn parse(written: &str) -> Result<Self, MalformedSessionToken> {
        let (number, secret) = written.split_once('-').ok_or(MalformedSessionToken)?;
        let digits = !number.is_empty() && number.len() <= 18 && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.then(|| number.parse().ok()).flatten().ok_or(MalformedSessionToken)?;
        let secret = ApiKey::parse(secret).map_err(|_| MalformedSessionToken)?;
        Ok(Self { user_id: UserId(number), secret })
    }

    /// Returns the secret value of the session cookie.
    #[must_use]
    pub fn expose(&self) -> String {
        format!("{}-{}", self.user_id.0, self.secret.expose())
    }

    /// Returns the keyed hash by which the realm of that hasher finds the session.
    #[must_use]
    pub fn hash(&self, hasher: &KeyHasher) -> KeyHash {
        hasher.hash(&self.secret)
    }

    /// Returns the CSRF token of the session: a hash of its secret, so it needs no storage, ends with the session, and
    /// cannot be replaced by one that another site obtained. The secret has 190 bits and does not follow from it.
    #[must_use]
    pub fn csrf_token(&self) -> String {
        let digest = Sha256::new().chain_update(b"csrf token of a session\0").chain_update(self.secret.expose());
        hex::encode(digest.finalize())
    }
}

impl fmt::Debug for SessionToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SessionToken").field("user_id", &self.user_id).finish_non_exhaustive()
    }
}

/// A browser session as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// When the user signed in, in unix seconds.
    pub created_s: i64,
    /// When it was last used, in unix seconds, an hour late at most.
    pub used_s: i64,
    /// The `User-Agent` header of the sign-in, shortened.
    pub user_agent: String,
}

/// A browser session in the list that its user sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedSession {
    /// Its public id, which opens nothing.
    pub id: String,
    /// The session.
    pub session: Session,
}

impl Session {
    /// Returns the session of that token hash, expired or not.
    #[must_use]
    pub fn find_by_hash(realm: &RealmSnapshot, user_id: UserId, hash: KeyHash) -> Option<Self> {
        Self::of_key(realm, user_id, &hex::encode(hash.0))
    }

    fn of_key(realm: &RealmSnapshot, user_id: UserId, key: &str) -> Option<Self> {
        serde_json::from_value(realm.user_item(user_id, UserItemKind::Session, key)?.clone()).ok()
    }

    /// Returns whether the session was unused for `lifetime_s` seconds or longer.
    #[must_use]
    pub fn is_expired(&self, now_s: i64, lifetime_s: i64) -> bool {
        now_s.saturating_sub(self.used_s) >= lifetime_s
    }

    /// Returns whether the last recorded use is so old that a use must be recorded again.
    #[must_use]
    pub fn needs_use_recorded(&self, now_s: i64) -> bool {
        now_s.saturating_sub(self.used_s) >= NOTE_USE_AFTER_S
    }

    fn put(&self, user_id: UserId, key: String, commit: &mut RealmCommit) {
        let document = serde_json::to_value(self).ok();
        commit.changes.push(RealmChange::UserItem { user_id, kind: UserItemKind::Session, key, document });
    }
}

/// Begins a session, and ends those of the user that have expired or are one too many.
pub fn begin_session(
    realm: &RealmSnapshot,
    token: &SessionToken,
    user_agent: &str,
    lifetime_s: i64,
    commit: &mut RealmCommit,
) {
    let user_id = token.user_id;
    let mut stored = all(realm, user_id);
    stored.sort_unstable_by_key(|(_, session)| std::cmp::Reverse(session.used_s));
    let ends = |place: usize, session: &Session| {
        place >= MAX_SESSIONS_PER_USER.saturating_sub(1) || session.is_expired(commit.at_s, lifetime_s)
    };
    let ending = stored.into_iter().enumerate().filter(|(place, (_, session))| ends(*place, session));
    let ending: Vec<String> = ending.map(|(_, (key, _))| key).collect();
    for key in ending {
        remove(user_id, key, commit);
    }
    let printable = user_agent.chars().filter(|character| !character.is_control());
    let user_agent = printable.take(USER_AGENT_MAX_CHARS).collect();
    let session = Session { created_s: commit.at_s, used_s: commit.at_s, user_agent };
    session.put(user_id, hex::encode(token.hash(realm.key_hasher()).0), commit);
}

/// Records that a session is used. Nothing happens when it has ended, or a use was recorded less than an hour ago.
pub fn record_session_use(realm: &RealmSnapshot, user_id: UserId, hash: KeyHash, commit: &mut RealmCommit) {
    let found = Session::find_by_hash(realm, user_id, hash).filter(|session| session.needs_use_recorded(commit.at_s));
    if let Some(session) = found {
        Session { used_s: commit.at_s, ..session }.put(user_id, hex::encode(hash.0), commit);
    }
}

/// Ends a session. Nothing happens when it has ended.
pub fn end_session(realm: &RealmSnapshot, user_id: UserId, hash: KeyHash, commit: &mut RealmCommit) {
    let key = hex::encode(hash.0);
    if realm.user_item(user_id, UserItemKind::Session, &key).is_some() {
        remove(user_id, key, commit);
    }
}

/// Ends the session of that public id. Returns whether there was one.
pub fn end_session_by_id(realm: &RealmSnapshot, user_id: UserId, id: &str, commit: &mut RealmCommit) -> bool {
    let found = all(realm, user_id).into_iter().find(|(key, _)| public_id(key) == id);
    let is_found = found.is_some();
    if let Some((key, _)) = found {
        remove(user_id, key, commit);
    }
    is_found
}

/// Ends all sessions of a user, except an optional one.
pub fn end_user_sessions(realm: &RealmSnapshot, user_id: UserId, except: Option<KeyHash>, commit: &mut RealmCommit) {
    let spared = except.map(|hash| hex::encode(hash.0));
    let stored = realm.user_items(user_id, UserItemKind::Session).map(|(key, _)| key.to_owned());
    for key in stored.filter(|key| Some(key) != spared.as_ref()).collect::<Vec<_>>() {
        remove(user_id, key, commit);
    }
}

/// Returns a user's sessions that have not expired, the most recently used first.
#[must_use]
pub fn list_sessions(realm: &RealmSnapshot, user_id: UserId, now_s: i64, lifetime_s: i64) -> Vec<ListedSession> {
    let mut stored = all(realm, user_id);
    stored.retain(|(_, session)| !session.is_expired(now_s, lifetime_s));
    stored.sort_unstable_by_key(|(_, session)| std::cmp::Reverse((session.used_s, session.created_s)));
    let listed = |(key, session): (String, Session)| ListedSession { id: public_id(&key).to_owned(), session };
    stored.into_iter().map(listed).collect()
}

/// Returns the public id of the session with that token hash.
#[must_use]
pub fn public_session_id(hash: KeyHash) -> String {
    public_id(&hex::encode(hash.0)).to_owned()
}

fn public_id(key: &str) -> &str {
    key.get(..ID_CHARS).unwrap_or(key)
}

fn all(realm: &RealmSnapshot, user_id: UserId) -> Vec<(String, Session)> {
    let stored = realm.user_items(user_id, UserItemKind::Session);
    let read = |(key, document): (&str, &serde_json::Value)| {
        Some((key.to_owned(), serde_json::from_value(document.clone()).ok()?))
    };
    stored.filter_map(read).collect()
}

fn remove(user_id: UserId, key: String, commit: &mut RealmCommit) {
    commit.changes.push(RealmChange::UserItem { user_id, kind: UserItemKind::Session, key, document: None });
}

#[cfg(test)]
mod tests;
