//! What an app gets for a person: the part that all grants with a person have in common.

use serde_json::json;

use super::access_token_claims::{AccessTokenClaims, AccessTokenExtensions};
use super::id_token::id_token;
use super::issue::{SignedToken, b2b_now, mint, random_token};
use super::{InvalidGrantError, TokenError, TokenResponse, TokenService};
use crate::client::{Client, EndUserGrantSettings, GrantType};
use crate::discovery::DiscoveryDocuments;
use crate::end_user::EndUser;
use crate::granted_authorization::{GrantedAuthorization, LaunchContext};
use crate::jose::{SigningError, sha256};
use crate::limits::{REFRESH_TOKEN_DEFAULT_IDLE_S, REFRESH_TOKEN_DEFAULT_LIFETIME_S, USER_TOKEN_DEFAULT_LIFETIME_S};
use crate::ports::{FirstFamilyTokens, OpaqueTokenRecord, RefreshTokenRecord, SecretSha256, TokenFamily};
use crate::time_and_randomness::TimeAndRandomness;

/// Who gets tokens, for whom, of what.
#[derive(Clone, Copy)]
pub(super) struct MemberTokenRequest<'a> {
    pub(super) client: &'a Client,
    pub(super) settings: &'a EndUserGrantSettings,
    pub(super) person: &'a EndUser,
    pub(super) authorization: &'a GrantedAuthorization,
}

/// Which family an access token belongs to, and what it may be used for.
#[derive(Clone, Copy)]
pub(super) struct GrantLimits<'a> {
    pub(super) family_id: &'a str,
    /// When the family ends, in seconds since the UNIX epoch.
    pub(super) ends_s: i64,
    /// The scopes of this access token, space-separated; a refresh may have narrowed them.
    pub(super) scope: &'a str,
}

/// An answer and the row its access token needs. Nothing is stored yet.
pub(super) struct IssuedTokens {
    pub(super) response: TokenResponse,
    pub(super) access: Option<OpaqueTokenRecord>,
}

impl<'a> MemberTokenRequest<'a> {
    /// Checks that the person may still be given tokens under `authorization`.
    pub(super) fn of(
        client: &'a Client,
        person: Option<&'a EndUser>,
        authorization: &'a GrantedAuthorization,
        credential: &SecretSha256,
    ) -> Result<Self, TokenError> {
        let settings = client.end_user_grant_settings(authorization.grant).ok_or(TokenError::UnauthorizedClient)?;
        let person = person.filter(|person| person.id == authorization.user_id).ok_or(InvalidGrantError::PersonGone)?;
        if !person.active {
            return Err(InvalidGrantError::PersonInactive.into());
        }
        if person.credential != *credential {
            return Err(InvalidGrantError::OtherPassword.into());
        }
        Ok(Self { client, settings, person, authorization })
    }

    fn lifetime_s(&self) -> i64 {
        self.settings.profile.lifetime_s.unwrap_or(USER_TOKEN_DEFAULT_LIFETIME_S)
    }

    /// Only a person who was asked for it gives access beyond the visit, and only to an app that is registered for it
    /// (`docs/decisions.md`, "Scopes"). What comes through the browser is never accompanied by a refresh token (RFC
    /// 6749, section 4.2.2).
    fn gets_refresh_token(&self) -> bool {
        let grant = self.authorization.grant;
        grant != GrantType::Implicit && self.settings.refresh_token && self.authorization.grants_scope("offline_access")
    }

    /// When a refresh token used or issued now ends unused, in a family that ends at `ends_s`.
    pub(super) fn refresh_expires_s(&self, now_s: i64, ends_s: i64) -> i64 {
        ends_s.min(now_s.saturating_add(self.settings.refresh_idle_s.unwrap_or(REFRESH_TOKEN_DEFAULT_IDLE_S)))
    }
}

/// Everything a new family begins with, and the answer that tells of it.
pub(super) async fn begin(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    member: &MemberTokenRequest<'_>,
    family_id: String,
    grant_id: Option<String>,
) -> Result<(TokenResponse, FirstFamilyTokens), TokenError> {
    let (now_s, authorization) = (env.now_s(), member.authorization);
    let with_refresh = member.gets_refresh_token();
    let refresh_lifetime_s = member.settings.refresh_lifetime_s.unwrap_or(REFRESH_TOKEN_DEFAULT_LIFETIME_S);
    let lifetime_s = if with_refresh { member.lifetime_s().max(refresh_lifetime_s) } else { member.lifetime_s() };
    let ends_s = now_s.saturating_add(lifetime_s);
    let within = GrantLimits { family_id: &family_id, ends_s, scope: &authorization.scope };
    let IssuedTokens { mut response, access } = issue(env, service, member, within).await?;
    response.grant_id.clone_from(&grant_id);
    // The specification gives id tokens to the code flow.
    if authorization.grant == GrantType::AuthorizationCode && authorization.grants_scope("openid") {
        let exp = now_s + response.expires_in;
        response.id_token = Some(id_token(env, &service.issuer, member, &response.access_token, exp)?);
    }
    let refresh = with_refresh.then(|| random_token(env));
    let refresh_row = refresh.as_ref().map(|token| RefreshTokenRecord {
        hash: sha256(token.as_bytes()),
        family_id: family_id.clone(),
        issued_s: now_s,
        expires_s: member.refresh_expires_s(now_s, ends_s),
    });
    response.refresh_token = refresh;
    let family = TokenFamily {
        id: family_id,
        client_id: member.client.id.clone(),
        user_id: member.person.id.clone(),
        grant_id,
        credential: authorization.credential,
        authorization: authorization.to_stored().map_err(|_| SigningError::Claims)?,
        created_s: now_s,
        expires_s: ends_s,
    };
    Ok((response, FirstFamilyTokens { family, access, refresh: refresh_row }))
}

/// An access token within a family, with what the app is told of the launch.
pub(super) async fn issue(
    env: &TimeAndRandomness<'_>,
    service: &TokenService,
    member: &MemberTokenRequest<'_>,
    within: GrantLimits<'_>,
) -> Result<IssuedTokens, TokenError> {
    let (client, authorization, now_s) = (member.client, member.authorization, env.now_s());
    let exp = within.ends_s.min(now_s + member.lifetime_s());
    let b2b = b2b_now(&service.directory, &member.settings.b2b).await?;
    let scope = Some(within.scope).filter(|scope| !scope.is_empty()).map(str::to_owned);
    let claims = AccessTokenClaims {
        iss: service.issuer.settings.base_url.clone(),
        sub: member.person.id.clone(),
        aud: service.issuer.documents.fhir_base_url().to_owned(),
        iat: now_s,
        exp,
        jti: env.random_identifier(),
        client_id: client.id.clone(),
        sid: Some(within.family_id.to_owned()),
        scope: scope.clone(),
        atv: client.is_smart_app().then_some(2),
        context: (!authorization.context.is_empty()).then(|| json!(authorization.context)),
        extensions: b2b.as_ref().ok().map(|claim| AccessTokenExtensions { hl7_b2b: claim.clone() }),
    };
    let SignedToken { text, row } = mint(env, &service.issuer, member.settings.profile, &claims)?;
    let response = TokenResponse {
        access_token: text,
        token_type: "Bearer",
        expires_in: exp - now_s,
        scope,
        id_token: None,
        refresh_token: None,
        issued_token_type: None,
        context: with_style(&service.issuer.documents, &authorization.context),
        b2b: b2b.map(drop),
        client_id: client.id.clone(),
        user_id: Some(member.person.id.clone()),
        grant_id: None,
    };
    Ok(IssuedTokens { response, access: row })
}

/// Returns the launch context as it is answered: with the look of this server where the EHR named no other.
pub(crate) fn with_style(documents: &DiscoveryDocuments, context: &LaunchContext) -> LaunchContext {
    let own_style = || documents.smart_style_url().to_owned();
    let style = context.smart_style_url.clone().unwrap_or_else(own_style);
    LaunchContext { smart_style_url: Some(style), ..context.clone() }
}
