//! Taking invitations back, and sending them again.

use super::letter;
use super::{
    Invitation, InvitationEnd, InvitationEnv, InvitationLink, InvitationsNotSent, InviteError, Invitee, NotSentReason,
    SkipReason, SkippedInvitee,
};
use super::{changed, letters_left, listed};
use crate::log::commit::{CredentialChange, RealmCommit};
use crate::model::role::Role;
use crate::model::user::InvitationSecret;
use crate::permission::access;

/// Takes back an invitation that was sent to an address. One that is over is not there.
///
/// # Errors
/// See [`InviteError`].
///
/// # Source
/// Not specified; who invited may, and administrators.
pub fn revoke(env: &InvitationEnv<'_>, number: i64, commit: &mut RealmCommit) -> Result<(), InviteError> {
    let invitation = pending(env, number, commit.at_s)?;
    end(env, number, invitation, commit);
    Ok(())
}

/// Takes back a link that anybody may use who has it, and with it the confirmations that were asked for by it.
///
/// # Errors
/// See [`InviteError`].
pub fn revoke_link(env: &InvitationEnv<'_>, number: i64, commit: &mut RealmCommit) -> Result<(), InviteError> {
    listed(env)?;
    let found = Invitation::find(env.realm, number).filter(|found| found.to == Invitee::Anybody);
    let invitation = found.ok_or(InviteError::NoSuchInvitation)?;
    may_manage(env, &invitation)?;
    if invitation.ended.is_some() {
        return Err(InviteError::AlreadyRevoked);
    }
    commit.credentials.push(CredentialChange::InvitationLink(number, None));
    end(env, number, invitation, commit);
    Ok(())
}

/// Sends an invitation again, with another link: the one before opens nothing any more. It holds as long as it did.
///
/// # Errors
/// See [`InviteError`].
pub fn resend(
    env: &InvitationEnv<'_>,
    number: i64,
    secret: &InvitationSecret,
    commit: &mut RealmCommit,
) -> Result<(), InviteError> {
    let mut invitation = pending(env, number, commit.at_s)?;
    let address = invitation.address().unwrap_or_default().to_owned();
    if env.realm.user_by_email(&address).is_some() {
        let skipped = vec![SkippedInvitee { address, because: SkipReason::HasAccount }];
        return Err(InvitationsNotSent { because: NotSentReason::AllSkipped, skipped }.into());
    }
    if letters_left(env.realm, env.daily_limit, commit.at_s) == 0 {
        return Err(InvitationsNotSent { because: NotSentReason::DailyLimit, skipped: Vec::new() }.into());
    }
    invitation.is_sent(secret.hash(env.realm.key_hasher()), commit.at_s);
    let link = InvitationLink { number, secret: secret.clone() }.url(env.base_url);
    commit.mail.push(letter::of_invitation(env.realm, &invitation, &address, &link));
    commit.events.push(changed(env.realm, [invitation.inviter_id]));
    invitation.put(number, commit);
    Ok(())
}

/// An invitation to an address that is open, if the caller may do something to it.
fn pending(env: &InvitationEnv<'_>, number: i64, now_s: i64) -> Result<Invitation, InviteError> {
    listed(env)?;
    let found = Invitation::find(env.realm, number);
    let found = found.filter(|found| matches!(found.to, Invitee::Address(_)) && found.is_open(env.realm, now_s));
    let invitation = found.ok_or(InviteError::NoSuchInvitation)?;
    may_manage(env, &invitation)?;
    Ok(invitation)
}

fn may_manage(env: &InvitationEnv<'_>, invitation: &Invitation) -> Result<(), InviteError> {
    if invitation.inviter_id != env.caller.id {
        access::require_administrator(env.caller)?;
    }
    if invitation.role == Role::Owner {
        access::require_owner(env.caller)?;
    }
    Ok(())
}

fn end(env: &InvitationEnv<'_>, number: i64, invitation: Invitation, commit: &mut RealmCommit) {
    commit.events.push(changed(env.realm, [invitation.inviter_id]));
    Invitation { ended: Some((InvitationEnd::Revoked, commit.at_s)), ..invitation }.put(number, commit);
}
