//! A link that signs a browser in, once: made by the operator for a user, on the machine of the server.

use serde::{Deserialize, Serialize};

use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserId;
use crate::model::realm_change::{RealmChange, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::{InvitationSecret, KeyHash, User};
use crate::people::invitation::InvitationLink;

/// The validity of a sign-in link, in seconds.
///
/// Not specified; the operator opens it at once, or passes it on to a person who waits for it.
pub const SIGN_IN_LINK_VALIDITY_S: i64 = 900;

/// The reason why a sign-in link cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no such link to sign in, or it was used, or it has expired")]
pub struct SignInLinkError;

/// A link that was not used yet.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct OpenLink {
    secret: KeyHash,
    expires_s: i64,
}

/// Creates a sign-in link for a user and returns its URL path. Of several links only the last one is valid.
///
/// # Errors
/// When the account is not an open one of a person.
pub fn create_sign_in_link(
    realm: &RealmSnapshot,
    user: &User,
    secret: &InvitationSecret,
    commit: &mut RealmCommit,
) -> Result<String, SignInLinkError> {
    if !may_sign_in(realm, user) {
        return Err(SignInLinkError);
    }
    let link = OpenLink {
        secret: secret.hash(realm.key_hasher()),
        expires_s: commit.at_s.saturating_add(SIGN_IN_LINK_VALIDITY_S),
    };
    put(user.id, Some(&link), commit);
    Ok(format!("/sign-in/{}", InvitationLink { number: user.id.0, secret: secret.clone() }.url_suffix()))
}

/// Returns the user whom a link signs in.
///
/// # Errors
/// When it signs in no user.
pub fn find_sign_in_link_user<'a>(
    realm: &'a RealmSnapshot,
    link: &InvitationLink,
    now_s: i64,
) -> Result<&'a User, SignInLinkError> {
    let user = realm.user(UserId(link.number)).filter(|user| may_sign_in(realm, user)).ok_or(SignInLinkError)?;
    let document = realm.user_item(user.id, UserItemKind::SignInLink, "").ok_or(SignInLinkError)?;
    let open: OpenLink = serde_json::from_value(document.clone()).map_err(|_| SignInLinkError)?;
    let is_valid = open.secret == link.secret.hash(realm.key_hasher()) && now_s < open.expires_s;
    if is_valid { Ok(user) } else { Err(SignInLinkError) }
}

/// Redeems a sign-in link, once, and returns the user whom it signs in.
///
/// # Errors
/// As [`find_sign_in_link_user`]; nothing is to be written then.
pub fn redeem_sign_in_link(
    realm: &RealmSnapshot,
    link: &InvitationLink,
    commit: &mut RealmCommit,
) -> Result<UserId, SignInLinkError> {
    let user_id = find_sign_in_link_user(realm, link, commit.at_s)?.id;
    put(user_id, None, commit);
    Ok(user_id)
}

/// Revokes a user's unused sign-in link, as everything else that was given out ends when a password changes.
pub fn revoke_sign_in_link(realm: &RealmSnapshot, user_id: UserId, commit: &mut RealmCommit) {
    if realm.user_item(user_id, UserItemKind::SignInLink, "").is_some() {
        put(user_id, None, commit);
    }
}

fn put(user_id: UserId, link: Option<&OpenLink>, commit: &mut RealmCommit) {
    let document = link.and_then(|link| serde_json::to_value(link).ok());
    let (kind, key) = (UserItemKind::SignInLink, String::new());
    commit.changes.push(RealmChange::UserItem { user_id, kind, key, document });
}

fn may_sign_in(realm: &RealmSnapshot, user: &User) -> bool {
    user.is_active && user.bot.is_none() && realm.realm().is_some_and(|realm| !realm.is_deactivated)
}

#[cfg(test)]
mod tests;
