//! A new password for a user who forgot theirs, by a link in a letter.

use serde::{Deserialize, Serialize};

use crate::event_log::email_queue::OutgoingEmail;
use crate::event_log::realm_commit::{CredentialChange, RealmCommit};
use crate::id::UserId;
use crate::limits::SECONDS_PER_DAY;
use crate::model::realm_change::{RealmChange, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::{InvitationSecret, KeyHash, PasswordHash, User};
use crate::people::invitation::InvitationLink;
use crate::people::{session, sign_in_link};

/// Seconds for which a link is valid.
const VALID_S: i64 = 3_600;
/// Letters that one user is sent in a day.
///
/// Not specified; anyone may ask for letters to an address, and its owner should not have to delete many.
const LETTERS_PER_DAY: usize = 5;
/// Seconds within which a second request sends no second letter: two clicks are one.
const SAME_REQUEST_S: i64 = 60;

/// The reason why a link cannot reset a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordResetError {
    /// The link has another form, was used, or a newer one was sent since.
    #[error("there is no such link to set a password")]
    Unknown,
    /// The link was not opened in time.
    #[error("the link to set a password has expired")]
    Expired,
}

/// A request that waits for its link to be opened.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PendingReset {
    /// `None` when the link was used: the letters still count.
    secret: Option<KeyHash>,
    expires_s: i64,
    /// When letters were sent, in unix seconds.
    sent_s: Vec<i64>,
}

impl PendingReset {
    fn of(realm: &RealmSnapshot, user_id: UserId) -> Option<Self> {
        let document = realm.user_item(user_id, UserItemKind::PasswordReset, "")?;
        serde_json::from_value(document.clone()).ok()
    }

    fn put(&self, user_id: UserId, commit: &mut RealmCommit) {
        let document = serde_json::to_value(self).ok();
        let (kind, key) = (UserItemKind::PasswordReset, String::new());
        commit.changes.push(RealmChange::UserItem { user_id, kind, key, document });
    }
}

/// Sends a password-reset link to the user of that e-mail address; only the last link sent is valid, for an hour and
/// once. Nothing happens, and the caller must answer the same, when no active person has the address or enough e-mails
/// were sent.
///
/// # Source
/// Not specified; as existing servers have it.
pub fn request_password_reset(
    realm: &RealmSnapshot,
    address: &str,
    (secret, base_url): (&InvitationSecret, &str),
    commit: &mut RealmCommit,
) {
    let Some(user) = realm.user_by_email(address).filter(|user| may_reset(realm, user)) else { return };
    let mut sent_s = PendingReset::of(realm, user.id).map(|before| before.sent_s).unwrap_or_default();
    sent_s.retain(|sent_s| commit.at_s.saturating_sub(*sent_s) < SECONDS_PER_DAY);
    let is_repeated = sent_s.last().is_some_and(|last| commit.at_s.saturating_sub(*last) < SAME_REQUEST_S);
    if is_repeated || sent_s.len() >= LETTERS_PER_DAY {
        return;
    }
    sent_s.push(commit.at_s);
    let (hash, expires_s) = (secret.hash(realm.key_hasher()), commit.at_s.saturating_add(VALID_S));
    PendingReset { secret: Some(hash), expires_s, sent_s }.put(user.id, commit);
    let link = InvitationLink { number: user.id.0, secret: secret.clone() };
    commit.mail.push(letter(realm, user, &format!("{base_url}/password-reset/{}", link.url_suffix())));
}

/// Returns the user whose password a reset link sets.
///
/// # Errors
/// When it sets none.
pub fn find_password_reset_user<'a>(
    realm: &'a RealmSnapshot,
    link: &InvitationLink,
    now_s: i64,
) -> Result<&'a User, PasswordResetError> {
    let user = realm.user(UserId(link.number)).filter(|user| may_reset(realm, user));
    let user = user.ok_or(PasswordResetError::Unknown)?;
    let secret = Some(link.secret.hash(realm.key_hasher()));
    let pending = PendingReset::of(realm, user.id).filter(|pending| pending.secret == secret);
    let pending = pending.ok_or(PasswordResetError::Unknown)?;
    if pending.expires_s <= now_s { Err(PasswordResetError::Expired) } else { Ok(user) }
}

/// Sets the password by a reset link, ends all sessions of the user, and notifies them by e-mail. The API key stays.
///
/// # Errors
/// As [`find_password_reset_user`]; nothing is to be written then.
pub fn complete_password_reset(
    realm: &RealmSnapshot,
    link: &InvitationLink,
    hash: &PasswordHash,
    commit: &mut RealmCommit,
) -> Result<(), PasswordResetError> {
    let user = find_password_reset_user(realm, link, commit.at_s)?;
    set_password(realm, user.id, Some(hash.clone()), None, commit);
    commit.mail.push(notice(realm, user));
    Ok(())
}

/// Sets a user's password, ends their sessions except the one named, and invalidates a reset link sent before.
///
/// The request that waits is always written, also where none waited: so the commit is refused when the realm changed
/// since the decision, and a session that began in the meantime is ended too.
pub fn set_password(
    realm: &RealmSnapshot,
    user_id: UserId,
    hash: Option<PasswordHash>,
    except: Option<KeyHash>,
    commit: &mut RealmCommit,
) {
    let sent_s = PendingReset::of(realm, user_id).map(|before| before.sent_s).unwrap_or_default();
    PendingReset { secret: None, expires_s: 0, sent_s }.put(user_id, commit);
    session::end_user_sessions(realm, user_id, except, commit);
    sign_in_link::revoke_sign_in_link(realm, user_id, commit);
    commit.credentials.push(CredentialChange::PasswordHash(user_id, hash));
}

/// Returns whether the account is an open one of a person in an open organization.
fn may_reset(realm: &RealmSnapshot, user: &User) -> bool {
    user.is_active && user.bot.is_none() && realm.realm().is_some_and(|realm| !realm.is_deactivated)
}

fn letter(realm: &RealmSnapshot, user: &User, link: &str) -> OutgoingEmail {
    let name = name_of(realm);
    OutgoingEmail {
        to: user.email.clone(),
        subject: format!("Set a new password for {name}"),
        text: format!(
            "A new password was asked for your account in the team chat of {name}.\n\nIf it was you, open this link to \
             set it:\n\n{link}\n\nThe link works once, and for an hour. Do not pass it on.\n\nIf it was not you, you \
             need not do anything: your password stays the same.\n"
        ),
    }
}

fn notice(realm: &RealmSnapshot, user: &User) -> OutgoingEmail {
    let name = name_of(realm);
    OutgoingEmail {
        to: user.email.clone(),
        subject: format!("Your password for {name} was changed"),
        text: format!(
            "The password of your account in the team chat of {name} was changed by a link in a letter, and all \
             browsers were signed out.\n\nIf it was not you, set a new password at once, and write to an \
             administrator of {name}.\n"
        ),
    }
}

/// Returns the realm's name on one line.
fn name_of(realm: &RealmSnapshot) -> String {
    let name = realm.realm().map_or("", |realm| realm.name.as_str());
    name.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

#[cfg(test)]
mod tests;
