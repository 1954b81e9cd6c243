//! `/invites`: asking people in.

use chat_core::id::ChannelId;
use chat_core::log::commit::RealmCommit;
use chat_core::model::role::Role;
use chat_core::model::snapshot::RealmSnapshot;
use chat_core::model::user::InvitationSecret;
use chat_core::people::invitation::{self, InvitationEnv, InvitationTerms, InviteRequest};
use serde_json::json;

use crate::answer::Answer;
use crate::auth::Caller;
use crate::call::{Call, endpoint};
use crate::error::Fault;
use crate::params::{Json, Listed, ParamFault, Params, Reader, Text};
use crate::routes::{Routes, delete, get, nothing, post};
use crate::schema::{Member, Schema, has};
use crate::state::Site;

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).says("List the open invitations.", listed))
        .post(endpoint(send).says("Invite people by their addresses.", nothing));
    let link = post(endpoint(make_link).says("Make a link that invites whoever has it.", linked));
    Routes::of("invitations")
        .api("/invites", all)
        .api("/invites/{number}", delete(endpoint(revoke).says("Take back an invitation.", nothing)))
        .api("/invites/{number}/resend", post(endpoint(resend).says("Send an invitation again.", nothing)))
        .api("/invites/multiuse", link)
        .api("/invites/multiuse/{number}", delete(endpoint(revoke_link).says("Take back a link.", nothing)))
}

/// A secret nobody has.
pub(super) fn fresh_secret(app: &Site) -> Result<InvitationSecret, Fault> {
    app.fresh_key().map(InvitationSecret::new)
}

fn env<'a>(call: &'a Call<Caller>, realm: &'a RealmSnapshot) -> Result<InvitationEnv<'a>, Fault> {
    let caller = call.who.again(realm)?;
    let settings = &call.app.settings;
    Ok(InvitationEnv { realm, caller, base_url: &settings.base_url, daily_limit: call.app.invitations.per_day })
}

/// Returns the open invitations.
async fn list(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let env = env(&call, &call.who.realm)?;
    invitation::listed(&env)?;
    let secrets = call.app.invitations.links.link_secrets().await?;
    Answer::of(&json!({"invites": invitation::list(&env, &secrets, call.app.now_s())}))
}

/// Returns the members of the response.
fn listed() -> Vec<Member> {
    vec![has("invites", Schema::list(Schema::named("Invitation")))]
}

/// How long an invitation shall hold.
enum Validity {
    /// As long as the deployment chose.
    Usual,
    /// So many minutes; `None` for ever.
    Minutes(Option<i64>),
}

/// What an invitation shall give.
struct Given {
    validity: Validity,
    role: Role,
    default_channels: bool,
}

impl Given {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            validity: given
                .optional::<Json<Option<i64>>>("invite_expires_in_minutes")?
                .map_or(Validity::Usual, Validity::Minutes),
            role: given.or::<Json<Listed<Role>>>("invite_as", Listed(Role::Member))?.0,
            default_channels: given.or::<Json<bool>>("include_realm_default_subscriptions", false)?,
        })
    }

    fn terms(self, app: &Site, channels: Vec<ChannelId>, notifies_inviter: bool) -> InvitationTerms {
        let Self { validity, role, default_channels } = self;
        let minutes = match validity {
            Validity::Usual => Some(app.invitations.validity_min),
            Validity::Minutes(minutes) => minutes,
        };
        InvitationTerms { minutes, role, channels, default_channels, notifies_inviter }
    }
}

/// Who is to be invited, and to what.
struct Sending {
    emails: String,
    given: Given,
    channels: Vec<ChannelId>,
    notifies_inviter: bool,
}

impl Params for Sending {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        Ok(Self {
            emails: given.required::<Text>("invitee_emails")?,
            channels: given.required::<Json<Vec<ChannelId>>>("stream_ids")?,
            notifies_inviter: given.or::<Json<bool>>("notify_referrer_on_join", true)?,
            given: Given::read(given)?,
        })
    }
}

/// Invites people by their addresses. When some have accounts the others are invited all the same, and the answer is a
/// refusal that says who is not.
async fn send(call: Call<Caller>, wish: Sending) -> Result<Answer, Fault> {
    let app = &call.app;
    let addresses = invitation::addresses(&wish.emails);
    let secrets = addresses.iter().take(app.invitations.per_day).map(|_| fresh_secret(app));
    let inviting = InviteRequest {
        secrets: secrets.collect::<Result<_, _>>()?,
        addresses,
        terms: wish.given.terms(app, wish.channels, wish.notifies_inviter),
    };
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(invitation::invite(&env(&call, realm)?, &inviting, commit)?)
    };
    app.commit(decide).await?.complete().map_err(invitation::InviteError::from)?;
    Ok(Answer::empty())
}

/// Takes back an invitation that was sent to an address.
async fn revoke(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let number = call.path_id("number")?;
    let decide =
        |realm: &RealmSnapshot, commit: &mut RealmCommit| Ok(invitation::revoke(&env(&call, realm)?, number, commit)?);
    call.app.commit(decide).await?;
    Ok(Answer::empty())
}

/// Sends an invitation again.
async fn resend(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let (number, secret) = (call.path_id("number")?, fresh_secret(&call.app)?);
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(invitation::resend(&env(&call, realm)?, number, &secret, commit)?)
    };
    call.app.commit(decide).await?;
    Ok(Answer::empty())
}

/// What a link shall give.
struct Linking {
    given: Given,
    channels: Vec<ChannelId>,
}

impl Params for Linking {
    fn read(given: &mut Reader<'_>) -> Result<Self, ParamFault> {
        let channels = given.or::<Json<Vec<ChannelId>>>("stream_ids", Vec::new())?;
        Ok(Self { channels, given: Given::read(given)? })
    }
}

/// Makes a link that anybody may use who has it.
async fn make_link(call: Call<Caller>, wish: Linking) -> Result<Answer, Fault> {
    let (app, secret) = (&call.app, fresh_secret(&call.app)?);
    let terms = wish.given.terms(app, wish.channels, true);
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(invitation::make_link(&env(&call, realm)?, &terms, &secret, commit)?)
    };
    Answer::of(&json!({"invite_link": app.commit(decide).await?}))
}

/// Returns the members of the response.
fn linked() -> Vec<Member> {
    vec![has("invite_link", Schema::string())]
}

/// Takes such a link back.
async fn revoke_link(call: Call<Caller>, (): ()) -> Result<Answer, Fault> {
    let number = call.path_id("number")?;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(invitation::revoke_link(&env(&call, realm)?, number, commit)?)
    };
    call.app.commit(decide).await?;
    Ok(Answer::empty())
}
