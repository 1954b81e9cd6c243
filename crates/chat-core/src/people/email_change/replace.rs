//! Another address for a user, once they have shown that it is theirs.

use serde::{Deserialize, Serialize};

use super::EmailAddressVisibility;
use crate::event_log::email_queue::OutgoingEmail;
use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserId;
use crate::limits::SECONDS_PER_DAY;
use crate::model::realm_change::{RealmChange, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::{self, InvitationSecret, KeyHash, User, fold_case};
use crate::people::account::{self, update};
use crate::people::invitation::InvitationLink;
use crate::permission::account_administration::AccountChangeError;

/// Letters that one user may have sent to addresses in a day.
///
/// Not specified; whoever has an account could otherwise have strangers sent as many letters as they like.
const LETTERS_PER_DAY: usize = 5;
/// Seconds in which the same wish is not written of again: two clicks are one.
const SAME_WISH_S: i64 = 60;

/// The reason why an e-mail address is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmailChangeError {
    /// It cannot be the user's.
    #[error(transparent)]
    Account(#[from] AccountChangeError),
    /// The realm takes no address that is thrown away.
    #[error("Please use your real email address.")]
    Disposable,
    /// The user has had as many letters sent as one may.
    #[error("Too many letters were sent to confirm addresses. Please try again tomorrow.")]
    TooManyLetters,
    /// There is no such wish: the link is none, or was used, or another was asked for since.
    #[error("there is no such address to confirm")]
    Unknown,
    /// The link was not opened in time.
    #[error("the address was not confirmed in time")]
    Expired,
}

/// A request to change a user's e-mail address.
#[derive(Debug, Clone)]
pub struct EmailChangeRequest<'a> {
    /// The address, as typed.
    pub address: &'a str,
    /// The secret of the link that is sent there.
    pub secret: &'a InvitationSecret,
    /// The server's own address, without a slash at the end.
    pub base_url: &'a str,
}

/// A wish that waits for its link to be opened.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pending {
    address: String,
    secret: KeyHash,
    expires_s: i64,
    /// When letters were sent, in unix seconds.
    sent_s: Vec<i64>,
}

impl Pending {
    fn of(realm: &RealmSnapshot, user_id: UserId) -> Option<Self> {
        let document = realm.user_item(user_id, UserItemKind::NewAddress, "")?;
        serde_json::from_value(document.clone()).ok()
    }

    fn put(&self, user_id: UserId, commit: &mut RealmCommit) {
        let document = serde_json::to_value(self).ok();
        let kind = UserItemKind::NewAddress;
        commit.changes.push(RealmChange::UserItem { user_id, kind, key: String::new(), document });
    }
}

/// Sends a confirmation link to the new e-mail address, which becomes the user's when the link is opened within a day;
/// only the last link sent works. Nothing happens when the address is theirs already.
///
/// # Errors
/// See [`EmailChangeError`]; nothing is to be written then.
///
/// # Source
/// Not specified; as existing servers have it.
pub fn request_email_change(
    realm: &RealmSnapshot,
    user: &User,
    request: &EmailChangeRequest<'_>,
    commit: &mut RealmCommit,
) -> Result<(), EmailChangeError> {
    let address = user::parse_email(request.address).map_err(AccountChangeError::from)?;
    if fold_case(address) == user.email_key() {
        return Ok(());
    }
    check(realm, address)?;
    let before = Pending::of(realm, user.id);
    let mut sent_s = before.as_ref().map(|before| before.sent_s.clone()).unwrap_or_default();
    let age = |sent_s: &i64| commit.at_s.saturating_sub(*sent_s);
    let is_same = before.is_some_and(|before| fold_case(&before.address) == fold_case(address));
    if is_same && sent_s.last().is_some_and(|last| age(last) < SAME_WISH_S) {
        return Ok(());
    }
    sent_s.retain(|sent_s| age(sent_s) < SECONDS_PER_DAY);
    if sent_s.len() >= LETTERS_PER_DAY {
        return Err(EmailChangeError::TooManyLetters);
    }
    sent_s.push(commit.at_s);
    let expires_s = commit.at_s.saturating_add(SECONDS_PER_DAY);
    let secret = request.secret.hash(realm.key_hasher());
    let pending = Pending { address: address.to_owned(), secret, expires_s, sent_s };
    pending.put(user.id, commit);
    let link = InvitationLink { number: user.id.0, secret: request.secret.clone() };
    commit.mail.push(letter(
        realm,
        user,
        address,
        &format!("{}/confirm-address/{}", request.base_url, link.url_suffix()),
    ));
    Ok(())
}

/// Whether the address could be a user's. One that is thrown away has other words here than where an account is made.
pub(super) fn check(realm: &RealmSnapshot, address: &str) -> Result<(), EmailChangeError> {
    account::check_signup_email(realm, address).map_err(|refused| match refused {
        AccountChangeError::Disposable => EmailChangeError::Disposable,
        other => other.into(),
    })
}

/// Returns the user and the new e-mail address that a confirmation link is for.
///
/// # Errors
/// When it confirms none.
pub fn find_email_change_by_link<'a>(
    realm: &'a RealmSnapshot,
    link: &InvitationLink,
    now_s: i64,
) -> Result<(&'a User, String), EmailChangeError> {
    let user = realm.user(UserId(link.number)).filter(|user| user.is_active).ok_or(EmailChangeError::Unknown)?;
    let secret = link.secret.hash(realm.key_hasher());
    let pending = Pending::of(realm, user.id).filter(|pending| pending.secret == secret);
    let pending = pending.ok_or(EmailChangeError::Unknown)?;
    if pending.expires_s <= now_s {
        return Err(EmailChangeError::Expired);
    }
    Ok((user, pending.address))
}

/// Changes the user's e-mail address by a confirmation link, notifies users who may see it, and writes to the old
/// address.
///
/// # Errors
/// See [`EmailChangeError`]; nothing is to be written then.
pub fn confirm_email_change(
    realm: &RealmSnapshot,
    link: &InvitationLink,
    commit: &mut RealmCommit,
) -> Result<(), EmailChangeError> {
    let (user, address) = find_email_change_by_link(realm, link, commit.at_s)?;
    check(realm, &address)?;
    replace_email(realm, user, &address, commit);
    let (kind, key) = (UserItemKind::NewAddress, String::new());
    commit.changes.push(RealmChange::UserItem { user_id: user.id, kind, key, document: None });
    Ok(())
}

/// Gives the user the address, notifies users who may see it, and writes to the old address.
pub(super) fn replace_email(realm: &RealmSnapshot, user: &User, address: &str, commit: &mut RealmCommit) -> User {
    let after = User { email: address.to_owned(), ..user.clone() };
    let readers = realm.users().filter(|reader| after.shows_email_to(reader)).map(|reader| reader.id);
    let event = update(user.id, "delivery_email", after.email.as_str().into());
    commit.events.push(NewEvent { audience: EventAudience::from_users(readers), ..event });
    if after.email_address_visibility() == EmailAddressVisibility::Everyone {
        commit.events.push(update(user.id, "new_email", after.email.as_str().into()));
        if user.avatar_url.is_none() {
            commit.events.push(crate::people::avatar::avatar_event(&after));
        }
    }
    commit.mail.push(farewell(realm, user, &after.email));
    commit.changes.push(RealmChange::User(Box::new(after.clone())));
    after
}

fn letter(realm: &RealmSnapshot, user: &User, address: &str, link: &str) -> OutgoingEmail {
    let realm = name_of(realm);
    OutgoingEmail {
        to: address.to_owned(),
        subject: format!("Confirm your new address for {realm}"),
        text: format!(
            "{} would have this address for their account in the team chat of {realm}.\n\nIf it was you, open this link \
             to confirm it:\n\n{link}\n\nThe link works once, and for a day.\n\nIf it was not you, you need not do \
             anything: without the link the account keeps the address it has.\n",
            user.full_name
        ),
    }
}

fn farewell(realm: &RealmSnapshot, user: &User, address: &str) -> OutgoingEmail {
    let realm = name_of(realm);
    OutgoingEmail {
        to: user.email.clone(),
        subject: format!("Your address for {realm} has changed"),
        text: format!(
            "Your account in the team chat of {realm} has another address now: {address}\n\nLog in with that one. If it \
             was not you who changed it, tell an administrator of the organization.\n"
        ),
    }
}

/// Returns the realm's name on one line.
fn name_of(realm: &RealmSnapshot) -> String {
    let name = realm.realm().map_or("", |realm| realm.name.as_str());
    name.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::user::ApiKey;
    use crate::testing::{self, NOW_S};

    fn secret(seed: u8) -> InvitationSecret {
        InvitationSecret::new(ApiKey::from_random(&[seed; 64]).unwrap())
    }

    /// Returns what is asked at that time, and the realm then.
    fn asked(
        realm: &RealmSnapshot,
        (address, seed, at_s): (&str, u8, i64),
    ) -> Result<(RealmSnapshot, RealmCommit), EmailChangeError> {
        let mut commit = RealmCommit { at_s, ..RealmCommit::default() };
        let request = EmailChangeRequest { address, secret: &secret(seed), base_url: "https://chat.example.org" };
        request_email_change(realm, realm.user(UserId(4)).unwrap(), &request, &mut commit)?;
        Ok((realm.preview_changes(&commit.changes), commit))
    }

    fn link(seed: u8) -> InvitationLink {
        InvitationLink { number: 4, secret: secret(seed) }
    }

    #[test]
    fn the_last_link_alone_confirms_and_for_a_day() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let (realm, first) = asked(&realm, ("a@example.org", 1, NOW_S)).unwrap();
        assert_eq!((first.mail.len(), first.mail[0].to.as_str()), (1, "a@example.org"));
        assert!(first.events.is_empty());
        let (realm, _) = asked(&realm, ("b@example.org", 2, NOW_S)).unwrap();
        let outcome = |link: &InvitationLink, now_s| {
            find_email_change_by_link(&realm, link, now_s).map(|(user, address)| (user.id.0, address))
        };
        assert_eq!(outcome(&link(1), NOW_S), Err(EmailChangeError::Unknown));
        assert_eq!(outcome(&link(2), NOW_S + SECONDS_PER_DAY - 1), Ok((4, "b@example.org".to_owned())));
        assert_eq!(outcome(&link(2), NOW_S + SECONDS_PER_DAY), Err(EmailChangeError::Expired));
        assert_eq!(outcome(&InvitationLink { number: 3, ..link(2) }, NOW_S), Err(EmailChangeError::Unknown));
    }

    #[test]
    fn two_clicks_are_one_letter_and_there_are_few_a_day() {
        let mut realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let mut letters = 0;
        for (place, at_s) in
            [(1, NOW_S), (2, NOW_S + 59), (3, NOW_S + 120), (4, NOW_S + 240), (5, NOW_S + 360), (6, NOW_S + 480)]
        {
            let (after, commit) = asked(&realm, ("a@example.org", place, at_s)).unwrap();
            letters += commit.mail.len();
            realm = after;
        }
        assert_eq!(letters, LETTERS_PER_DAY);
        assert_eq!(asked(&realm, ("c@example.org", 7, NOW_S + 600)).unwrap_err(), EmailChangeError::TooManyLetters);
        assert!(asked(&realm, ("c@example.org", 7, NOW_S + SECONDS_PER_DAY)).is_ok());
    }

    #[test]
    fn an_address_that_is_none_or_anothers_is_refused_and_ones_own_changes_nothing() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let refused = |address: &str| asked(&realm, (address, 1, NOW_S)).unwrap_err().to_string();
        assert_eq!(refused("no address"), "Bad name or username");
        assert_eq!(refused("uSER3@example.org"), "Email 'uSER3@example.org' already in use");
        let (_, commit) = asked(&realm, ("USER4@example.org", 1, NOW_S)).unwrap();
        assert!(commit.mail.is_empty() && commit.changes.is_empty());
    }

    #[test]
    fn an_address_that_somebody_took_meanwhile_is_not_confirmed() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let (realm, _) = asked(&realm, ("a@example.org", 1, NOW_S)).unwrap();
        let taken = User { email: "A@example.org".to_owned(), ..testing::user(30, crate::model::role::Role::Member) };
        let realm = realm.preview_changes(&[RealmChange::User(Box::new(taken))]);
        let mut commit = RealmCommit { at_s: NOW_S, ..RealmCommit::default() };
        let refused = confirm_email_change(&realm, &link(1), &mut commit).unwrap_err();
        assert_eq!(refused, AccountChangeError::EmailTaken("a@example.org".to_owned()).into());
        assert!(commit.changes.is_empty() && commit.mail.is_empty());
    }

    #[test]
    fn a_confirmed_address_is_told_to_whom_it_is_shown_and_the_old_one_is_written_to() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let (realm, _) = asked(&realm, ("a@example.org", 1, NOW_S)).unwrap();
        let mut commit = RealmCommit { at_s: NOW_S, ..RealmCommit::default() };
        confirm_email_change(&realm, &link(1), &mut commit).unwrap();
        let events: Vec<_> = commit.events.iter().map(|event| serde_json::to_value(&event.body).unwrap()).collect();
        assert_eq!(events[0]["plain"]["event"]["person"], json!({"user_id": 4, "delivery_email": "a@example.org"}));
        assert_eq!(events[1]["plain"]["event"]["person"], json!({"user_id": 4, "new_email": "a@example.org"}));
        assert_eq!((events.len(), commit.mail[0].to.as_str()), (3, "User4@example.org"));
        let after = realm.preview_changes(&commit.changes);
        assert_eq!(after.user(UserId(4)).unwrap().email, "a@example.org");
        assert_eq!(find_email_change_by_link(&after, &link(1), NOW_S).map(|_| ()), Err(EmailChangeError::Unknown));
    }
}
