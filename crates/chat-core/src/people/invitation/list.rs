//! The invitations that are open, as clients see them.

use serde_json::{Value, json};

use super::{Invitation, InvitationContext, InvitationLink, Invitee, may_invite_to};
use crate::model::user::InvitationSecret;
use crate::permission::access::{self, PermissionError};

/// Checks whether the caller may list invitations.
///
/// # Errors
/// For guests and bots.
pub fn may_list_invitations(env: &InvitationContext<'_>) -> Result<(), PermissionError> {
    access::require_member(env.caller)?;
    access::require_human(env.caller)
}

/// Returns the open invitations in ascending order of ids: all for administrators, their own for others; `secrets` are
/// those of reusable links. The link of an invitation to a role that the caller may not give is left out, as it would
/// give the caller that role.
///
/// # Source
/// Not specified; the objects are those existing clients know. The confirmation of an address that was given by the
/// user of a link is not among them, because it has no inviter.
#[must_use]
pub fn list_invitations(env: &InvitationContext<'_>, secrets: &[(i64, InvitationSecret)], now_s: i64) -> Vec<Value> {
    let is_shown = |invitation: &Invitation| {
        let may_see = env.caller.is_administrator() || invitation.inviter_id == env.caller.id;
        may_see && invitation.is_open(env.realm, now_s)
    };
    let shown = Invitation::all(env.realm).filter(|(_, invitation)| is_shown(invitation));
    shown.filter_map(|(number, invitation)| object(env, number, &invitation, secrets)).collect()
}

fn object(
    env: &InvitationContext<'_>,
    number: i64,
    invitation: &Invitation,
    secrets: &[(i64, InvitationSecret)],
) -> Option<Value> {
    let shown = match &invitation.to {
        Invitee::Address(address) => Some(("email", address.clone())),
        Invitee::Anybody => {
            let (_, secret) = secrets.iter().find(|(of, _)| *of == number)?;
            let may_use = may_invite_to(env.caller, invitation.role).is_ok();
            may_use.then(|| ("link_url", InvitationLink { number, secret: secret.clone() }.url(env.base_url)))
        }
        Invitee::Confirmation { .. } => return None,
    };
    let mut object = json!({
        "id": number,
        "invited_by_user_id": invitation.inviter_id,
        "invited": invitation.invited_s,
        "expiry_date": invitation.expires_s,
        "invited_as": i64::from(invitation.role),
        "is_multiuse": invitation.to == Invitee::Anybody,
        "notify_referrer_on_join": invitation.notifies_inviter,
    });
    if let (Value::Object(members), Some((key, value))) = (&mut object, shown) {
        members.insert(key.to_owned(), value.into());
    }
    Some(object)
}
