//! `/invites`: asking people in.

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::id::{ChannelId, UserGroupId};
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::role::Role;
use chat_core::model::user::InvitationSecret;
use chat_core::people::invitation::{self, InvitationContext, InvitationTerms, InviteRequest};
use serde_json::json;

use crate::api_call::{ApiCall, endpoint};
use crate::api_response::ApiResponsePayload;
use crate::authentication::AuthenticatedCaller;
use crate::error::ApiError;
use crate::json_schema::{JsonSchema, SchemaMember, required_schema_member};
use crate::params::{EndpointParams, EnumNumberJson, JsonParam, ParamError, ParamReader, TextParam};
use crate::routes::{Routes, delete, get, no_members, post};
use crate::state::AppState;

pub(crate) fn routes() -> Routes {
    let all = get(endpoint(list).documented("List the open invitations.", listed))
        .post(endpoint(send).documented("Invite people by their addresses.", no_members));
    let link = post(endpoint(make_link).documented("Make a link that invites whoever has it.", linked));
    Routes::of("invitations")
        .api("/invites", all)
        .api("/invites/{number}", delete(endpoint(revoke).documented("Take back an invitation.", no_members)))
        .api("/invites/{number}/resend", post(endpoint(resend).documented("Send an invitation again.", no_members)))
        .api("/invites/multiuse", link)
        .api("/invites/multiuse/{number}", delete(endpoint(revoke_link).documented("Take back a link.", no_members)))
}

/// A secret nobody has.
pub(super) fn fresh_secret(app: &AppState) -> Result<InvitationSecret, ApiError> {
    app.fresh_key().map(InvitationSecret::new)
}

fn env<'a>(
    call: &'a ApiCall<AuthenticatedCaller>,
    realm: &'a RealmSnapshot,
) -> Result<InvitationContext<'a>, ApiError> {
    let caller = call.caller.account_in_realm(realm)?;
    let settings = &call.app.settings;
    Ok(InvitationContext { realm, caller, base_url: &settings.base_url, daily_limit: call.app.invitations.per_day })
}

/// Returns the open invitations.
async fn list(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let env = env(&call, &call.caller.realm)?;
    invitation::may_list_invitations(&env)?;
    let secrets = call.app.invitations.links.reusable_link_secrets().await?;
    ApiResponsePayload::from_payload(
        &json!({"invites": invitation::list_invitations(&env, &secrets, call.app.now_s())}),
    )
}

/// Returns the members of the response.
fn listed() -> Vec<SchemaMember> {
    vec![required_schema_member("invites", JsonSchema::list(JsonSchema::reference_to("Invitation")))]
}

/// The time for which an invitation is valid.
enum InvitationValidity {
    /// As long as the deployment chose.
    Usual,
    /// So many minutes; `None` for ever.
    Minutes(Option<i64>),
}

/// The parameters that invitations by letter and by link share.
struct InvitationParams {
    validity: InvitationValidity,
    role: Role,
    default_channels: bool,
    groups: Vec<UserGroupId>,
}

impl InvitationParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            validity: reader
                .optional::<JsonParam<Option<i64>>>("invite_expires_in_minutes")?
                .map_or(InvitationValidity::Usual, InvitationValidity::Minutes),
            role: reader.optional_or::<JsonParam<EnumNumberJson<Role>>>("invite_as", EnumNumberJson(Role::Member))?.0,
            default_channels: reader.optional_or::<JsonParam<bool>>("include_realm_default_subscriptions", false)?,
            groups: reader.optional_or::<JsonParam<Vec<UserGroupId>>>("group_ids", Vec::new())?,
        })
    }

    fn terms(self, app: &AppState, channels: Vec<ChannelId>, notifies_inviter: bool) -> InvitationTerms {
        let Self { validity, role, default_channels, groups } = self;
        let minutes = match validity {
            InvitationValidity::Usual => Some(app.invitations.validity_min),
            InvitationValidity::Minutes(minutes) => minutes,
        };
        InvitationTerms { minutes, role, channels, default_channels, groups, notifies_inviter }
    }
}

/// The parameters of `POST /invites`.
struct SendInvitationsParams {
    emails: String,
    invitation: InvitationParams,
    channels: Vec<ChannelId>,
    notifies_inviter: bool,
}

impl EndpointParams for SendInvitationsParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        Ok(Self {
            emails: reader.required::<TextParam>("invitee_emails")?,
            channels: reader.required::<JsonParam<Vec<ChannelId>>>("stream_ids")?,
            notifies_inviter: reader.optional_or::<JsonParam<bool>>("notify_referrer_on_join", true)?,
            invitation: InvitationParams::from_reader(reader)?,
        })
    }
}

/// Invites people by their addresses. When some have accounts the others are invited all the same, and the answer is a
/// refusal that says who is not.
async fn send(
    call: ApiCall<AuthenticatedCaller>,
    params: SendInvitationsParams,
) -> Result<ApiResponsePayload, ApiError> {
    let app = &call.app;
    let addresses = invitation::parse_invitee_emails(&params.emails);
    let secrets = addresses.iter().take(app.invitations.per_day).map(|_| fresh_secret(app));
    let inviting = InviteRequest {
        secrets: secrets.collect::<Result<_, _>>()?,
        addresses,
        terms: params.invitation.terms(app, params.channels, params.notifies_inviter),
    };
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(invitation::invite_by_email(&env(&call, realm)?, &inviting, commit)?)
    };
    app.commit(decide).await?.require_all_invited().map_err(invitation::InvitationError::from)?;
    Ok(ApiResponsePayload::empty())
}

/// Takes back an invitation that was sent to an address.
async fn revoke(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let number = call.path_id("number")?;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(invitation::revoke_email_invitation(&env(&call, realm)?, number, commit)?)
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}

/// Sends an invitation again.
async fn resend(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let (number, secret) = (call.path_id("number")?, fresh_secret(&call.app)?);
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(invitation::resend_invitation(&env(&call, realm)?, number, &secret, commit)?)
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}

/// The parameters of `POST /invites/multiuse`.
struct CreateLinkParams {
    invitation: InvitationParams,
    channels: Vec<ChannelId>,
}

impl EndpointParams for CreateLinkParams {
    fn from_reader(reader: &mut ParamReader<'_>) -> Result<Self, ParamError> {
        let channels = reader.optional_or::<JsonParam<Vec<ChannelId>>>("stream_ids", Vec::new())?;
        Ok(Self { channels, invitation: InvitationParams::from_reader(reader)? })
    }
}

/// Makes a link that anybody may use who has it.
async fn make_link(
    call: ApiCall<AuthenticatedCaller>,
    params: CreateLinkParams,
) -> Result<ApiResponsePayload, ApiError> {
    let (app, secret) = (&call.app, fresh_secret(&call.app)?);
    let terms = params.invitation.terms(app, params.channels, true);
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(invitation::create_reusable_invitation_link(&env(&call, realm)?, &terms, &secret, commit)?)
    };
    ApiResponsePayload::from_payload(&json!({"invite_link": app.commit(decide).await?}))
}

/// Returns the members of the response.
fn linked() -> Vec<SchemaMember> {
    vec![required_schema_member("invite_link", JsonSchema::string())]
}

/// Takes such a link back.
async fn revoke_link(call: ApiCall<AuthenticatedCaller>, (): ()) -> Result<ApiResponsePayload, ApiError> {
    let number = call.path_id("number")?;
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        Ok(invitation::revoke_reusable_link(&env(&call, realm)?, number, commit)?)
    };
    call.app.commit(decide).await?;
    Ok(ApiResponsePayload::empty())
}
