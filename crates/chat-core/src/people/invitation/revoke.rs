//! Taking invitations back, and sending them again.

use super::letter;
use super::{
    Invitation, InvitationContext, InvitationEnd, InvitationError, InvitationLink, InvitationsNotSent,
    InvitationsNotSentReason, Invitee, InviteeSkipReason, SkippedInvitee,
};
use super::{changed, letters_left, may_list_invitations};
use crate::event_log::realm_commit::{CredentialChange, RealmCommit};
use crate::model::role::Role;
use crate::model::user::InvitationSecret;
use crate::permission::access;

/// Revokes an invitation that was sent to an e-mail address. One that has ended is not found. One that is over is not
/// there.
///
/// # Errors
/// See [`InvitationError`].
///
/// # Source
/// Not specified; who invited may, and administrators.
pub fn revoke_email_invitation(
    env: &InvitationContext<'_>,
    number: i64,
    commit: &mut RealmCommit,
) -> Result<(), InvitationError> {
    let invitation = pending(env, number, commit.at_s)?;
    end(env, number, invitation, commit);
    Ok(())
}

/// Revokes a reusable invitation link, and the personal links requested by it.
///
/// # Errors
/// See [`InvitationError`].
pub fn revoke_reusable_link(
    env: &InvitationContext<'_>,
    number: i64,
    commit: &mut RealmCommit,
) -> Result<(), InvitationError> {
    may_list_invitations(env)?;
    let found = Invitation::find(env.realm, number).filter(|found| found.to == Invitee::Anybody);
    let invitation = found.ok_or(InvitationError::NoSuchInvitation)?;
    may_manage(env, &invitation)?;
    if invitation.ended.is_some() {
        return Err(InvitationError::AlreadyRevoked);
    }
    commit.credentials.push(CredentialChange::InvitationLink(number, None));
    end(env, number, invitation, commit);
    Ok(())
}

/// Sends an invitation again with a new link, in place of the previous one, which no longer works. It expires when it
/// did before. It holds as long as it did.
///
/// # Errors
/// See [`InvitationError`].
pub fn resend_invitation(
    env: &InvitationContext<'_>,
    number: i64,
    secret: &InvitationSecret,
    commit: &mut RealmCommit,
) -> Result<(), InvitationError> {
    let mut invitation = pending(env, number, commit.at_s)?;
    let address = invitation.invitee_email().unwrap_or_default().to_owned();
    if env.realm.user_by_email(&address).is_some() {
        let skipped = vec![SkippedInvitee { address, because: InviteeSkipReason::HasAccount }];
        return Err(InvitationsNotSent { because: InvitationsNotSentReason::AllSkipped, skipped }.into());
    }
    if letters_left(env.realm, env.daily_limit, commit.at_s) == 0 {
        return Err(InvitationsNotSent { because: InvitationsNotSentReason::DailyLimit, skipped: Vec::new() }.into());
    }
    invitation.is_sent(secret.hash(env.realm.key_hasher()), commit.at_s);
    let link = InvitationLink { number, secret: secret.clone() }.url(env.base_url);
    commit.mail.push(letter::of_invitation(env.realm, &invitation, &address, &link));
    commit.events.push(changed(env.realm, [invitation.inviter_id]));
    invitation.put(number, commit);
    Ok(())
}

/// An invitation to an address that is open, if the caller may do something to it.
fn pending(env: &InvitationContext<'_>, number: i64, now_s: i64) -> Result<Invitation, InvitationError> {
    may_list_invitations(env)?;
    let found = Invitation::find(env.realm, number);
    let found = found.filter(|found| matches!(found.to, Invitee::Address(_)) && found.is_open(env.realm, now_s));
    let invitation = found.ok_or(InvitationError::NoSuchInvitation)?;
    may_manage(env, &invitation)?;
    Ok(invitation)
}

fn may_manage(env: &InvitationContext<'_>, invitation: &Invitation) -> Result<(), InvitationError> {
    if invitation.inviter_id != env.caller.id {
        access::require_administrator(env.caller)?;
    }
    if invitation.role == Role::Owner {
        access::require_owner(env.caller)?;
    }
    Ok(())
}

fn end(env: &InvitationContext<'_>, number: i64, invitation: Invitation, commit: &mut RealmCommit) {
    commit.events.push(changed(env.realm, [invitation.inviter_id]));
    Invitation { ended: Some((InvitationEnd::Revoked, commit.at_s)), ..invitation }.put(number, commit);
}
