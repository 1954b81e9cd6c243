//! Accepting an invitation.

use super::letter;
use super::{Invitation, InvitationEnd, InvitationLink, Invitee};
use super::{changed, forget_old, letters_left, next_number};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserId;
use crate::limits::SECONDS_PER_DAY;
use crate::model::channel::Channel;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::InvitationSecret;
use crate::model::user::{self, ApiKey, PasswordHash, fold_case};
use crate::people::account::{self, NewUser, default_channels};
use crate::people::groups;
use crate::permission::account_administration::AccountChangeError;

/// Seconds in which a confirmation that is asked for again is not sent again: two clicks are one wish.
const SAME_WISH_S: i64 = 60;

/// The reason why an invitation link cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    /// There is none of that number and secret.
    #[error("there is no such invitation")]
    Unknown,
    /// It was taken back, or the account or the role of who gave it was.
    #[error("the invitation was taken back")]
    Revoked,
    /// A user has joined by it.
    #[error("the invitation was used before")]
    Used,
    /// Its time is over.
    #[error("the invitation has expired")]
    Expired,
    /// The organization is closed.
    #[error("the organization is closed")]
    RealmClosed,
    /// It is for whoever has the link, who has to confirm an address first; or it is not, and there is nothing to
    /// confirm.
    #[error("the invitation is of another kind")]
    OtherKind,
    /// The realm would send more letters than it may within a day.
    #[error("too many letters were sent today")]
    DailyLimit,
    /// The account cannot be made.
    #[error(transparent)]
    Account(#[from] AccountChangeError),
}

/// The data of a person who joins by an invitation.
#[derive(Debug, Clone)]
pub struct JoinRequest {
    /// The link they have.
    pub link: InvitationLink,
    /// Their name, as typed.
    pub full_name: String,
    /// What their password is compared with.
    pub password_hash: Option<PasswordHash>,
    /// Their key.
    pub api_key: ApiKey,
}

/// A request to join by a reusable link, with the e-mail address to join with.
#[derive(Debug, Clone)]
pub struct ReusableLinkJoinRequest<'a> {
    /// The link they have, which is for anybody.
    pub link: &'a InvitationLink,
    /// The address, as typed.
    pub address: &'a str,
    /// The secret of the link they are sent.
    pub secret: &'a InvitationSecret,
    /// The server's own address, without a slash at the end.
    pub base_url: &'a str,
    /// Letters of invitation that the realm may send in 24 hours.
    pub daily_limit: usize,
}

/// Returns the open invitation that a link belongs to.
///
/// # Errors
/// When it opens none.
pub fn find_invitation_by_link(
    realm: &RealmSnapshot,
    link: &InvitationLink,
    now_s: i64,
) -> Result<Invitation, JoinError> {
    if realm.realm().is_none_or(|realm| realm.is_deactivated) {
        return Err(JoinError::RealmClosed);
    }
    let secret = link.secret.hash(realm.key_hasher());
    let invitation = Invitation::find(realm, link.number).filter(|found| found.secret == secret);
    let invitation = invitation.ok_or(JoinError::Unknown)?;
    // Who takes a link back means those too who are on their way.
    let of_link = match invitation.to {
        Invitee::Confirmation { link, .. } => Invitation::find(realm, link).and_then(|link| link.ended),
        Invitee::Address(_) | Invitee::Anybody => None,
    };
    match invitation.ended.or(of_link) {
        Some((InvitationEnd::Used, _)) => Err(JoinError::Used),
        None if invitation.is_open(realm, now_s) => Ok(invitation),
        None if invitation.expires_s.is_some_and(|expires_s| expires_s <= now_s) => Err(JoinError::Expired),
        Some((InvitationEnd::Revoked, _)) | None => Err(JoinError::Revoked),
    }
}

/// Creates the account of an invited user in the channels of the invitation, ends all invitations of that address, and
/// notifies the inviter if they wished so. Of several who use one link at once, only the first succeeds.
///
/// # Errors
/// See [`JoinError`]; nothing is to be written then.
///
/// # Source
/// Specification, `POST /invites`. Not specified: the inviter is told by mail, because the organization has no account
/// of its own that could write to them.
pub fn join_by_invitation(
    realm: &RealmSnapshot,
    joining: &JoinRequest,
    commit: &mut RealmCommit,
) -> Result<UserId, JoinError> {
    let invitation = find_invitation_by_link(realm, &joining.link, commit.at_s)?;
    let address = invitation.invitee_email().ok_or(JoinError::OtherKind)?;
    let new = NewUser {
        email: address.to_owned(),
        full_name: joining.full_name.clone(),
        role: invitation.role,
        password_hash: joining.password_hash.clone(),
        api_key: joining.api_key.clone(),
    };
    let id = account::create_account_in_channels(realm, &new, &channels(realm, &invitation), commit)?;
    join_groups(realm, &invitation, id, commit);
    let key = fold_case(address);
    let of_address =
        |invitation: &Invitation| invitation.invitee_email().is_some_and(|address| fold_case(address) == key);
    let ending = Invitation::all(realm).filter(|(_, other)| other.ended.is_none() && of_address(other));
    let mut inviters = Vec::new();
    for (number, other) in ending {
        inviters.push(other.inviter_id);
        Invitation { ended: Some((InvitationEnd::Used, commit.at_s)), ..other }.put(number, commit);
    }
    commit.events.push(changed(realm, inviters));
    if invitation.notifies_inviter
        && let Some(inviter) = realm.user(invitation.inviter_id)
        && let Ok(full_name) = user::parse_full_name(&joining.full_name)
    {
        commit.mail.push(letter::of_joining(realm, inviter, full_name));
    }
    Ok(id)
}

/// Puts a user who joins into the groups of the invitation that are still in use.
fn join_groups(realm: &RealmSnapshot, invitation: &Invitation, user_id: UserId, commit: &mut RealmCommit) {
    let named = invitation.groups.iter().filter_map(|id| realm.group(*id));
    for group in named.filter(|group| group.system.is_none() && !group.is_deactivated) {
        groups::add_member(group, user_id, commit);
    }
}

/// Returns the channels that are still in use, each once.
fn channels<'a>(realm: &'a RealmSnapshot, invitation: &Invitation) -> Vec<&'a Channel> {
    let named = invitation.channels.iter().filter_map(|id| realm.channel(*id)).map(AsRef::as_ref);
    let mut channels: Vec<&Channel> = named.filter(|channel| !channel.is_archived).collect();
    if invitation.default_channels {
        channels.extend(default_channels(realm));
    }
    channels.sort_unstable_by_key(|channel| channel.id);
    channels.dedup_by_key(|channel| channel.id);
    channels
}

/// Sends a user of a reusable link a personal link to their e-mail address.
///
/// # Errors
/// See [`JoinError`]; nothing is to be written then.
///
/// # Source
/// Not specified; a link alone makes no account, because whoever has it could take the address of another.
pub fn send_personal_join_link(
    realm: &RealmSnapshot,
    asked: &ReusableLinkJoinRequest<'_>,
    commit: &mut RealmCommit,
) -> Result<(), JoinError> {
    let invitation = find_invitation_by_link(realm, asked.link, commit.at_s)?;
    if invitation.to != Invitee::Anybody {
        return Err(JoinError::OtherKind);
    }
    let address = user::parse_email(asked.address).map_err(AccountChangeError::from)?;
    account::check_signup_email(realm, address)?;
    let (number, mut confirmation) = match confirmation(realm, asked.link.number, address) {
        Some((number, before)) if before.is_open(realm, commit.at_s) => (number, before),
        _ => (next_number(realm), Invitation { sent_s: Vec::new(), ..invitation }),
    };
    let is_fresh = |sent_s: &i64| commit.at_s.saturating_sub(*sent_s) < SAME_WISH_S;
    if confirmation.sent_s.last().is_some_and(is_fresh) {
        return Ok(());
    }
    if letters_left(realm, asked.daily_limit, commit.at_s) == 0 {
        return Err(JoinError::DailyLimit);
    }
    forget_old(realm, commit);
    confirmation.to = Invitee::Confirmation { address: address.to_owned(), link: asked.link.number };
    confirmation.expires_s = Some(commit.at_s.saturating_add(SECONDS_PER_DAY));
    let link = InvitationLink { number, secret: asked.secret.clone() };
    confirmation.is_sent(link.secret.hash(realm.key_hasher()), commit.at_s);
    commit.mail.push(letter::of_confirmation(realm, address, &link.url(asked.base_url)));
    confirmation.put(number, commit);
    Ok(())
}

/// Returns the confirmation of that address for that link.
fn confirmation(realm: &RealmSnapshot, of_link: i64, of_address: &str) -> Option<(i64, Invitation)> {
    let key = fold_case(of_address);
    let is_it = |invitation: &Invitation| match &invitation.to {
        Invitee::Confirmation { address, link } => *link == of_link && fold_case(address) == key,
        Invitee::Address(_) | Invitee::Anybody => false,
    };
    Invitation::all(realm).filter(|(_, invitation)| is_it(invitation)).last()
}
