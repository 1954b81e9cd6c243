//! Invitations: who may ask whom in, what an invitation gives, and how it is accepted.
//!
//! An invitation is a small thing of the realm ([`crate::model::realm_change::RealmItemKind::Invitation`]). It is
//! opened by a link with a secret, of which memory, the log and the table of invitations hold the hash alone. There are
//! three kinds: one that was sent to an address; a link that anybody may use who has it; and the confirmation of an
//! address that a user gave who used such a link. An account is made of the first and the last only, so an account's
//! address is always one at which its owner gets mail.
//!
//! An invitation gives what its inviter could give: while their account is closed, or their role is less than the one
//! they invited to, it is not there.

mod address;
mod invite;
mod join;
mod letter;
mod link;
mod list;
mod revoke;

pub use address::parse_invitee_emails;
pub use invite::{
    InvitationTerms, InvitationsNotSent, InvitationsNotSentReason, InviteOutcome, InviteRequest, InviteeSkipReason,
    SkippedInvitee, create_reusable_invitation_link, invite_by_email,
};
pub use join::{
    JoinError, JoinRequest, ReusableLinkJoinRequest, find_invitation_by_link, join_by_invitation,
    send_personal_join_link,
};
pub use link::{InvitationLink, ReusableInvitationStore};
pub use list::{list_invitations, may_list_invitations};
pub use revoke::{resend_invitation, revoke_email_invitation, revoke_reusable_link};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::{CredentialChange, RealmCommit};
use crate::id::{ChannelId, UserGroupId, UserId};
use crate::limits::SECONDS_PER_DAY;
use crate::model::realm_change::{RealmChange, RealmItemKind};
use crate::model::realm_permission::RealmPermission;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::{KeyHash, User};
use crate::people::groups::UserGroupError;
use crate::permission::access::{self, PermissionError};
use crate::permission::group_settings::has_realm_permission;

/// The default validity of an invitation, in minutes: ten days.
///
/// # Source
/// Specification, "Limits".
pub const DEFAULT_INVITATION_VALIDITY_MINUTES: i64 = 14_400;
/// Seconds for which an invitation is remembered that is over, so that whoever comes late is told why.
const REMEMBERED_S: i64 = 30 * SECONDS_PER_DAY;
/// Most invitations that one commit forgets.
const FORGOTTEN_AT_ONCE: usize = 100;

/// The realm, the caller, the address and the limit that decisions about invitations use.
#[derive(Debug, Clone, Copy)]
pub struct InvitationContext<'a> {
    /// The realm.
    pub realm: &'a RealmSnapshot,
    /// Who decides.
    pub caller: &'a User,
    /// The server's own address, without a slash at the end.
    pub base_url: &'a str,
    /// Letters of invitation that the realm may send in 24 hours.
    pub daily_limit: usize,
}

/// An invitation, open or ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// Who invites.
    pub inviter_id: UserId,
    /// Who is invited.
    pub to: Invitee,
    /// What they will be.
    pub role: Role,
    /// The channels they will be in.
    pub channels: Vec<ChannelId>,
    /// Whether they will be in the default channels too.
    pub default_channels: bool,
    /// The user groups they will be in.
    #[serde(default)]
    pub groups: Vec<UserGroupId>,
    /// Whether the inviter hears of it when they join.
    pub notifies_inviter: bool,
    /// Since when it holds, in unix seconds.
    pub invited_s: i64,
    /// Until when it holds, in unix seconds; `None` for ever.
    pub expires_s: Option<i64>,
    /// What the secret of its link is recognised by.
    pub secret: KeyHash,
    /// When letters were sent for it, in unix seconds; those of the last 24 hours at least.
    pub sent_s: Vec<i64>,
    /// How and when it ended.
    pub ended: Option<(InvitationEnd, i64)>,
}

/// The person whom an invitation is for: an e-mail address, or anyone with the link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Invitee {
    /// Whoever reads mail at this address.
    Address(String),
    /// Whoever has the link.
    Anybody,
    /// Whoever reads mail at this address, which was given by a user who had that link.
    Confirmation {
        /// The address.
        address: String,
        /// The number of the link's invitation.
        link: i64,
    },
}

/// The way in which an invitation ended before it expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InvitationEnd {
    /// It was taken back.
    Revoked,
    /// A user joined.
    Used,
}

/// The reason why no one is invited, or an invitation is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvitationError {
    /// The caller is not who may.
    #[error(transparent)]
    NotAllowed(#[from] PermissionError),
    /// Nobody is named.
    #[error("You must specify at least one email address.")]
    NoAddress,
    /// A channel is not one the caller could put others into.
    #[error("Invalid channel ID {0}. No invites were sent.")]
    NoSuchChannel(ChannelId),
    /// Channels are named by a user who may not put others into any.
    #[error("You do not have permission to subscribe other users to channels.")]
    MayNotSubscribeOthers,
    /// There is no such invitation, or no more.
    #[error("No such invitation")]
    NoSuchInvitation,
    /// The link was taken back before.
    #[error("Invitation has already been revoked")]
    AlreadyRevoked,
    /// A group is not one the caller could put others into.
    #[error(transparent)]
    Group(#[from] UserGroupError),
    /// Not everybody was invited.
    #[error(transparent)]
    Unsent(#[from] InvitationsNotSent),
}

impl Invitation {
    /// Returns the invitation of that id, open or ended.
    #[must_use]
    pub fn find(realm: &RealmSnapshot, number: i64) -> Option<Self> {
        realm.realm_item(RealmItemKind::Invitation, number).and_then(Self::read)
    }

    /// All of them, in the order of their numbers.
    pub(crate) fn all(realm: &RealmSnapshot) -> impl Iterator<Item = (i64, Self)> {
        realm
            .realm_items(RealmItemKind::Invitation)
            .filter_map(|(number, document)| Some((number, Self::read(document)?)))
    }

    fn read(document: &Value) -> Option<Self> {
        Self::deserialize(document).ok()
    }

    /// Returns the invitee's e-mail address; `None` for a reusable link.
    #[must_use]
    pub fn invitee_email(&self) -> Option<&str> {
        match &self.to {
            Invitee::Address(address) | Invitee::Confirmation { address, .. } => Some(address),
            Invitee::Anybody => None,
        }
    }

    /// Returns whether the invitation is open: a user can still join by it.
    #[must_use]
    pub fn is_open(&self, realm: &RealmSnapshot, now_s: i64) -> bool {
        let gives = |inviter: &User| inviter.is_active && may_invite_to(inviter, self.role).is_ok();
        self.ended.is_none()
            && self.expires_s.is_none_or(|expires_s| now_s < expires_s)
            && realm.user(self.inviter_id).is_some_and(|inviter| gives(inviter))
    }

    /// Since when it is over for good, in unix seconds.
    fn over_since_s(&self) -> Option<i64> {
        let expired = self.expires_s.into_iter();
        self.ended.map(|(_, at_s)| at_s).into_iter().chain(expired).min()
    }

    /// Notes that a letter with another secret is sent, which has that hash.
    fn is_sent(&mut self, secret: KeyHash, now_s: i64) {
        self.secret = secret;
        self.invited_s = now_s;
        self.sent_s.retain(|sent_s| is_recent(*sent_s, now_s));
        self.sent_s.push(now_s);
    }

    /// Writes it down.
    fn put(&self, number: i64, commit: &mut RealmCommit) {
        let document = Some(json!(self));
        commit.changes.push(RealmChange::Item { kind: RealmItemKind::Invitation, id: number, document });
    }
}

/// Checks whether the caller may invite in the way that the permission stands for.
fn may_invite(env: &InvitationContext<'_>, permission: RealmPermission, now_s: i64) -> Result<(), PermissionError> {
    access::require_member(env.caller)?;
    access::require_human(env.caller)?;
    let permitted = has_realm_permission(env.realm, env.caller, permission, now_s);
    if permitted { Ok(()) } else { Err(PermissionError::Insufficient) }
}

/// Whether the user may invite to that role.
///
/// # Source
/// Specification, `POST /invites`: callers may only invite to roles equal or more restricted than their own.
fn may_invite_to(user: &User, role: Role) -> Result<(), PermissionError> {
    match role {
        Role::Owner => access::require_owner(user),
        _ if user.role <= role => Ok(()),
        _ => Err(PermissionError::AdministratorRequired),
    }
}

/// Says that the list of invitations is another now: to administrators, and to those who invited.
fn changed(realm: &RealmSnapshot, inviters: impl IntoIterator<Item = UserId>) -> NewEvent {
    let administrators = realm.users().filter(|user| user.is_administrator()).map(|user| user.id);
    NewEvent::same_for_everyone(
        EventAudience::from_users(administrators.chain(inviters)),
        json!({"type": "invites_changed"}),
    )
}

/// Returns the number the next invitation gets. The last one is never forgotten, so none is given twice.
fn next_number(realm: &RealmSnapshot) -> i64 {
    realm.realm_items(RealmItemKind::Invitation).last().map_or(1, |(number, _)| number + 1)
}

/// Returns how many more letters may be sent now, of those the realm may send in 24 hours.
fn letters_left(realm: &RealmSnapshot, daily_limit: usize, now_s: i64) -> usize {
    let sent = Invitation::all(realm).map(|(_, invitation)| invitation.sent_s);
    let recent = sent.flatten().filter(|sent_s| is_recent(*sent_s, now_s)).count();
    daily_limit.saturating_sub(recent)
}

fn is_recent(at_s: i64, now_s: i64) -> bool {
    now_s.saturating_sub(at_s) < SECONDS_PER_DAY
}

/// Forgets invitations that are long over, but for the last one.
fn forget_old(realm: &RealmSnapshot, commit: &mut RealmCommit) {
    let last = next_number(realm) - 1;
    let is_old = |invitation: &Invitation| {
        invitation.over_since_s().is_some_and(|over_s| commit.at_s.saturating_sub(over_s) > REMEMBERED_S)
    };
    let old = Invitation::all(realm).filter(|(number, invitation)| *number != last && is_old(invitation));
    let old: Vec<_> = old.take(FORGOTTEN_AT_ONCE).collect();
    for (number, invitation) in old {
        commit.changes.push(RealmChange::Item { kind: RealmItemKind::Invitation, id: number, document: None });
        if invitation.to == Invitee::Anybody {
            commit.credentials.push(CredentialChange::InvitationLink(number, None));
        }
    }
}

#[cfg(test)]
mod tests;
