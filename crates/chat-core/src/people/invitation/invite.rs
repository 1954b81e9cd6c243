//! Inviting people by their addresses, and making links that anybody may use.

use std::collections::BTreeSet;

use super::letter;
use super::{Invitation, InvitationContext, InvitationError, InvitationLink, Invitee};
use super::{changed, forget_old, letters_left, may_invite, may_invite_to, next_number};
use crate::event_log::realm_commit::{CredentialChange, RealmCommit};
use crate::id::{ChannelId, UserGroupId};
use crate::model::realm_permission::RealmPermission;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::InvitationSecret;
use crate::model::user::{self, User};
use crate::organization::email_domains::{self, EmailNotAllowedError};
use crate::people::groups;
use crate::permission::channel_membership::{may_add_subscribers_anywhere, may_subscribe};

/// The role, channels and lifetime of an invitation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationTerms {
    /// Minutes for which it holds; `None` for ever.
    pub minutes: Option<i64>,
    /// What those who join will be.
    pub role: Role,
    /// The channels they will be in.
    pub channels: Vec<ChannelId>,
    /// Whether they will be in the default channels too.
    pub default_channels: bool,
    /// The user groups they will be in.
    pub groups: Vec<UserGroupId>,
    /// Whether the inviter hears of it when they join.
    pub notifies_inviter: bool,
}

/// A request to invite people by e-mail.
#[derive(Debug, Clone)]
pub struct InviteRequest {
    /// Their addresses, as [`super::parse_invitee_emails`] reads them.
    pub addresses: Vec<String>,
    /// Secrets of links: one for each address, but no more than letters may be sent in a day.
    pub secrets: Vec<InvitationSecret>,
    /// What they are given.
    pub terms: InvitationTerms,
}

/// An invitee who was not invited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedInvitee {
    /// The address, as typed.
    pub address: String,
    /// Why.
    pub because: InviteeSkipReason,
}

/// The reason why an invitee was not invited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InviteeSkipReason {
    /// There is an account of that address.
    #[error("Already has an account.")]
    HasAccount,
    /// There is one, and it is closed.
    #[error("Account has been deactivated.")]
    Deactivated,
    /// It is no address.
    #[error("Invalid address.")]
    Malformed,
    /// The realm takes only people of its domains, and it is of none.
    #[error("Outside your domain.")]
    OutsideDomains,
    /// The realm takes only people of its domains, and it is another way to write one.
    #[error("Email addresses containing + are not allowed.")]
    PlusSign,
    /// The realm takes no address that is thrown away.
    #[error("Please use your real email address.")]
    Disposable,
}

impl InviteeSkipReason {
    /// Returns whether nobody of the address could ever join, so that whoever typed it is asked again.
    fn is_invalid(self) -> bool {
        matches!(self, Self::Malformed | Self::OutsideDomains | Self::PlusSign | Self::Disposable)
    }
}

/// The failure of a request in which not all invitees were invited.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{because}")]
pub struct InvitationsNotSent {
    /// Why.
    pub because: InvitationsNotSentReason,
    /// Who, and why each.
    pub skipped: Vec<SkippedInvitee>,
}

/// The reason why not all invitees were invited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvitationsNotSentReason {
    /// Some addresses are none, or none of the realm's; nobody was invited.
    #[error("Some emails did not validate, so we didn't send any invitations.")]
    Malformed,
    /// All have accounts.
    #[error("We weren't able to invite anyone.")]
    AllSkipped,
    /// Some have accounts; the others are invited.
    #[error(
        "Some of those addresses already have an account here, so we didn't send them an invitation. We did send \
         invitations to everyone else!"
    )]
    SomeSkipped,
    /// The realm would send more letters than it may within a day; nobody was invited.
    #[error(
        "To protect users, the number of invitations that can be sent in one day is limited. Please try again tomorrow."
    )]
    DailyLimit,
}

/// The outcome of inviting several people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InviteOutcome {
    /// Who was not invited, and why.
    pub skipped: Vec<SkippedInvitee>,
    /// How many were.
    pub count: usize,
}

impl InviteOutcome {
    /// Fails when not all invitees were invited.
    ///
    /// # Errors
    /// When a user was skipped.
    pub fn require_all_invited(self) -> Result<(), InvitationsNotSent> {
        let because =
            if self.count == 0 { InvitationsNotSentReason::AllSkipped } else { InvitationsNotSentReason::SomeSkipped };
        if self.skipped.is_empty() { Ok(()) } else { Err(InvitationsNotSent { because, skipped: self.skipped }) }
    }
}

/// Invites people by an e-mail to each address, skipping those who have accounts, and reports that the list of
/// invitations changed.
///
/// # Errors
/// See [`InvitationError`]; no one is invited then.
///
/// # Source
/// Specification, `POST /invites`. Not specified: who is invited already is invited again, and either link works until
/// one is used; an invitation that ends before it begins is none, because nobody could use its link.
pub fn invite_by_email(
    env: &InvitationContext<'_>,
    request: &InviteRequest,
    commit: &mut RealmCommit,
) -> Result<InviteOutcome, InvitationError> {
    may_invite(env, RealmPermission::Invite, commit.at_s)?;
    may_invite_to(env.caller, request.terms.role)?;
    if request.addresses.is_empty() {
        return Err(InvitationError::NoAddress);
    }
    check_channels(env, &request.terms, commit.at_s)?;
    check_groups(env, &request.terms, commit.at_s)?;
    let (skipped, invited) = sorted(env.realm, &request.addresses)?;
    if invited.len() > letters_left(env.realm, env.daily_limit, commit.at_s) {
        return Err(InvitationsNotSent { because: InvitationsNotSentReason::DailyLimit, skipped: Vec::new() }.into());
    }
    let begun = InviteOutcome { skipped, count: invited.len() };
    if begun.count == 0 || expires_s(&request.terms, commit.at_s).is_some_and(|expires_s| expires_s <= commit.at_s) {
        return Ok(begun);
    }
    forget_old(env.realm, commit);
    for (number, (address, secret)) in (next_number(env.realm)..).zip(invited.into_iter().zip(&request.secrets)) {
        let to = Invitee::Address(address.to_owned());
        let invitation =
            Invitation { sent_s: vec![commit.at_s], ..fresh(env, to, (&request.terms, secret), commit.at_s) };
        let link = InvitationLink { number, secret: secret.clone() }.url(env.base_url);
        commit.mail.push(letter::of_invitation(env.realm, &invitation, address, &link));
        invitation.put(number, commit);
    }
    commit.events.push(changed(env.realm, [env.caller.id]));
    Ok(begun)
}

/// Creates an invitation link that anyone who has it may use. Returns the link.
///
/// # Errors
/// See [`InvitationError`].
///
/// # Source
/// Not specified; the group of `create_multiuse_invite_group` may, as on existing servers.
pub fn create_reusable_invitation_link(
    env: &InvitationContext<'_>,
    terms: &InvitationTerms,
    secret: &InvitationSecret,
    commit: &mut RealmCommit,
) -> Result<String, InvitationError> {
    may_invite(env, RealmPermission::CreateReusableInvitation, commit.at_s)?;
    may_invite_to(env.caller, terms.role)?;
    check_channels(env, terms, commit.at_s)?;
    check_groups(env, terms, commit.at_s)?;
    forget_old(env.realm, commit);
    let number = next_number(env.realm);
    fresh(env, Invitee::Anybody, (terms, secret), commit.at_s).put(number, commit);
    commit.credentials.push(CredentialChange::InvitationLink(number, Some(secret.clone())));
    commit.events.push(changed(env.realm, [env.caller.id]));
    Ok(InvitationLink { number, secret: secret.clone() }.url(env.base_url))
}

/// Whether the caller could put others into these channels. What may not be seen and what is not there give one answer.
fn check_channels(env: &InvitationContext<'_>, terms: &InvitationTerms, now_s: i64) -> Result<(), InvitationError> {
    for id in &terms.channels {
        let channel = env.realm.channel(*id).filter(|channel| !channel.is_archived);
        let open = channel.filter(|channel| may_subscribe(env.realm, env.caller, channel).is_ok());
        open.ok_or(InvitationError::NoSuchChannel(*id))?;
    }
    let may = terms.channels.is_empty() || may_add_subscribers_anywhere(env.realm, env.caller, now_s).is_ok();
    if may { Ok(()) } else { Err(InvitationError::MayNotSubscribeOthers) }
}

/// Whether the caller could put others into these groups.
fn check_groups(env: &InvitationContext<'_>, terms: &InvitationTerms, now_s: i64) -> Result<(), InvitationError> {
    for id in &terms.groups {
        groups::may_add_members(env.realm, env.caller, *id, now_s)?;
    }
    Ok(())
}

/// Those who are skipped, and those who are invited.
fn sorted<'a>(
    realm: &RealmSnapshot,
    addresses: &'a [String],
) -> Result<(Vec<SkippedInvitee>, Vec<&'a str>), InvitationsNotSent> {
    let (mut skipped, mut invited) = (Vec::new(), Vec::new());
    for typed in addresses {
        match invitable(realm, typed) {
            Ok(address) => invited.push(address),
            Err(because) => skipped.push(SkippedInvitee { address: typed.clone(), because }),
        }
    }
    if skipped.iter().any(|skipped| skipped.because.is_invalid()) {
        // Those come first.
        skipped.sort_by_key(|skipped| !skipped.because.is_invalid());
        return Err(InvitationsNotSent { because: InvitationsNotSentReason::Malformed, skipped });
    }
    Ok((skipped, invited))
}

/// Returns the address, if a user can be invited by it.
fn invitable<'a>(realm: &RealmSnapshot, typed: &'a str) -> Result<&'a str, InviteeSkipReason> {
    let address = user::parse_email(typed).map_err(|_| InviteeSkipReason::Malformed)?;
    match realm.user_by_email(address).map(AsRef::as_ref) {
        Some(User { is_active: true, .. }) => Err(InviteeSkipReason::HasAccount),
        Some(_) => Err(InviteeSkipReason::Deactivated),
        None => email_domains::check_email_allowed(realm, address).map(|()| address).map_err(|outside| match outside {
            EmailNotAllowedError::Domain => InviteeSkipReason::OutsideDomains,
            EmailNotAllowedError::PlusSign => InviteeSkipReason::PlusSign,
            EmailNotAllowedError::Disposable => InviteeSkipReason::Disposable,
        }),
    }
}

fn expires_s(terms: &InvitationTerms, now_s: i64) -> Option<i64> {
    terms.minutes.map(|minutes| now_s.saturating_add(minutes.saturating_mul(60)))
}

fn fresh(
    env: &InvitationContext<'_>,
    to: Invitee,
    (terms, secret): (&InvitationTerms, &InvitationSecret),
    now_s: i64,
) -> Invitation {
    let channels: BTreeSet<_> = terms.channels.iter().copied().collect();
    let groups: BTreeSet<_> = terms.groups.iter().copied().collect();
    Invitation {
        inviter_id: env.caller.id,
        to,
        role: terms.role,
        channels: channels.into_iter().collect(),
        default_channels: terms.default_channels,
        groups: groups.into_iter().collect(),
        notifies_inviter: terms.notifies_inviter,
        invited_s: now_s,
        expires_s: expires_s(terms, now_s),
        secret: secret.hash(env.realm.key_hasher()),
        sent_s: Vec::new(),
        ended: None,
    }
}
