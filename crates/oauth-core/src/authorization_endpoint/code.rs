//! What the app gets in the end: a code, or a token where it is registered for that.

use smart_scopes::ScopeSet;

use super::consent;
use super::declined::{self, DecidedScopes};
use super::fault::AuthorizationRedirectError;
use super::limits::CODE_LIFETIME_S;
use super::request::ResponseType;
use super::scene::{AuthorizationFlow, ConsentOutcome, FlowError};
use super::target::ClientRedirect;
use crate::audit::AuditActor;
use crate::client::GrantType;
use crate::end_user::EndUser;
use crate::granted_authorization::{GrantedAuthorization, LaunchContext};
use crate::jose::{SigningError, decode_base64url, encode_base64url, sha256};
use crate::launch::LaunchContextError;
use crate::ports::{
    AuditAction, AuditRecord, AuthorizationCodeRecord, BrowserSession, CodeIssueOutcome, ConsentGrant,
    ConsentGrantDecision, SecretSha256, SingleUseLaunchContext,
};
use crate::time_and_randomness::TimeAndRandomness;

/// Bytes of a code: the moment it was made at, in microseconds, and 256 random bits.
const CODE_BYTES: usize = MOMENT_BYTES + 32;
const MOMENT_BYTES: usize = size_of::<i64>();

/// A code nobody else has.
fn fresh(env: &TimeAndRandomness<'_>) -> String {
    encode_base64url(&[env.now_us.to_be_bytes().as_slice(), &env.random_bytes::<32>()].concat())
}

/// Returns what is stored and looked up for a code: its SHA-256, of which the first bytes give way to the moment the
/// code was made at. So codes are stored in the order they are made in, beside each other, and a commit writes the few
/// pages at the end where at random it would write one for each. Of what is hashed 192 bits are left.
pub(crate) fn hash_of(code: &str) -> SecretSha256 {
    let mut hash = sha256(code.as_bytes());
    if let Some(bytes) = decode_base64url(code).filter(|bytes| bytes.len() == CODE_BYTES) {
        hash.iter_mut().zip(bytes).take(MOMENT_BYTES).for_each(|(place, byte)| *place = byte);
    }
    hash
}

/// Everything that was decided.
pub(super) struct DecidedAuthorization<'a> {
    pub(super) person: &'a EndUser,
    pub(super) session: &'a BrowserSession,
    pub(super) patient: Option<String>,
    pub(super) requested: ScopeSet,
    pub(super) consent: ConsentOutcome,
    /// What the person lets this app do for this patient already.
    pub(super) before: Option<&'a ConsentGrant>,
}

/// Stores what was decided and sends the browser to the app.
pub(super) async fn leave(
    scene: &AuthorizationFlow<'_>,
    decided: &DecidedAuthorization<'_>,
) -> Result<ClientRedirect, FlowError> {
    let env = scene.env;
    let code = fresh(env);
    let hash = hash_of(&code);
    let authorization = authorization(scene, decided);
    let lifetime_s = match scene.request.response {
        ResponseType::Code => CODE_LIFETIME_S,
        // Nobody is told this code; it is how the grant and the use of the launch are stored as one.
        ResponseType::Token => 0,
    };
    let given = given(scene, decided);
    let ended = given.as_ref().and_then(ConsentGrantDecision::superseded_grant).cloned();
    let granted = given.as_ref().map(|given| &given.grant).or(decided.before).ok_or(FlowError::Stale)?;
    let grant_id = granted.id.clone();
    let issued = AuthorizationCodeRecord {
        hash,
        client_id: scene.client.id.clone(),
        family_id: env.random_identifier(),
        grant_id: grant_id.clone(),
        authorization: authorization.to_stored().map_err(|_| AuthorizationRedirectError::Sign(SigningError::Claims))?,
        expires_s: env.now_s() + lifetime_s,
    };
    let launch = scene.launch.as_ref();
    let launch =
        launch.map(|launch| SingleUseLaunchContext { jti: launch.jti.clone(), expires_s: launch.used_until_s() });
    match scene.service.codes.issue_code(issued, given, launch).await? {
        CodeIssueOutcome::Issued => {}
        CodeIssueOutcome::LaunchUsed => return Err(AuthorizationRedirectError::Launch(LaunchContextError::Used).into()),
        CodeIssueOutcome::GrantChanged => return Err(FlowError::Stale),
    }
    if let Some(ended) = ended {
        scene.record_end(&ended);
    }
    scene.record_code(decided, grant_id);
    match scene.request.response {
        ResponseType::Code => Ok(scene.request.target.departure(&[("code", &code)])),
        ResponseType::Token => leave_with_token(scene, decided.person, &authorization, &hash).await,
    }
}

/// Returns the token in the fragment, under the grant that was stored.
///
/// # Source
/// RFC 6749, section 4.2.2.
async fn leave_with_token(
    scene: &AuthorizationFlow<'_>,
    person: &EndUser,
    authorization: &GrantedAuthorization,
    code: &SecretSha256,
) -> Result<ClientRedirect, FlowError> {
    let (env, service, client) = (scene.env, scene.service, &scene.client);
    // A grant that another request stored in the same moment kept its own id.
    let stored = service.codes.find_code(code).await?.ok_or(AuthorizationRedirectError::Unsettled)?;
    let grant_id = Some(stored.code.grant_id);
    let outcome = service.tokens.issue_implicit_token(env, (client, person), authorization, grant_id).await;
    let asking = AuditActor { client_id: Some(&client.id), user_id: Some(&person.id), address: scene.browser.address };
    service.audit.token(env, asking, &outcome);
    let response = outcome.map_err(|error| AuthorizationRedirectError::Token(Box::new(error)))?;
    let expires_in = response.expires_in.to_string();
    let mut members = vec![
        ("access_token", response.access_token.as_str()),
        ("token_type", response.token_type),
        ("expires_in", &expires_in),
    ];
    members.extend(response.scope.as_deref().map(|scope| ("scope", scope)));
    members.extend(response.context.patient.as_deref().map(|patient| ("patient", patient)));
    Ok(scene.request.target.departure(&members))
}

/// Returns the grant to be stored, unless the one that is there says it all.
fn given(scene: &AuthorizationFlow<'_>, decided: &DecidedAuthorization<'_>) -> Option<ConsentGrantDecision> {
    let ConsentOutcome::Given { allowed, unticked } = &decided.consent else { return None };
    let (requested, granted) = consent::kept(decided.before, &decided.requested, allowed);
    let refused = declined::refused_after(decided.before, unticked, &granted);
    let scopes = DecidedScopes { requested, granted, refused };
    Some(scene.changed(decided.person, decided.patient.clone(), &scopes))
}

fn authorization(scene: &AuthorizationFlow<'_>, decided: &DecidedAuthorization<'_>) -> GrantedAuthorization {
    let launch = scene.launch.as_ref();
    let banner = launch.and_then(|launch| launch.need_patient_banner).unwrap_or(true);
    let request = &scene.request;
    GrantedAuthorization {
        grant: match request.response {
            ResponseType::Code => GrantType::AuthorizationCode,
            ResponseType::Token => GrantType::Implicit,
        },
        client_id: scene.client.id.clone(),
        user_id: decided.person.id.clone(),
        credential: decided.session.credential,
        redirect_uri: Some(request.target.redirect_uri.clone()),
        code_challenge: request.code_challenge.clone(),
        scope: decided.consent.allowed().to_string(),
        nonce: request.nonce.clone(),
        auth_time_s: decided.session.signed_in_s,
        fhir_user: decided.person.fhir_user.as_ref().map(crate::end_user::FhirUser::reference),
        vouched: launch.is_some_and(|launch| launch.patient.is_some()),
        context: LaunchContext {
            patient: decided.patient.clone(),
            encounter: launch.and_then(|launch| launch.encounter.clone()),
            need_patient_banner: decided.patient.is_some().then_some(banner),
            fhir_context: launch.map(|launch| launch.fhir_context.clone()).unwrap_or_default(),
            intent: launch.and_then(|launch| launch.intent.clone()),
            tenant: launch.and_then(|launch| launch.tenant.clone()),
            smart_style_url: launch.and_then(|launch| launch.smart_style_url.clone()),
        },
    }
}

impl AuthorizationFlow<'_> {
    /// Tells the audit that the person denied.
    pub(super) fn record_denial(&self, person: Option<&EndUser>) {
        self.service.audit.record(AuditRecord {
            refused: Some("denied".to_owned()),
            user_id: person.map(|person| person.id.clone()),
            scope: Some(self.request.scope.to_string()),
            ..self.record(AuditAction::Consent)
        });
    }

    /// Tells the audit what the app got a code for: by the person's word of this moment, or without a page.
    fn record_code(&self, decided: &DecidedAuthorization<'_>, grant_id: String) {
        let by_word = matches!(decided.consent, ConsentOutcome::Given { .. }) && !self.client.first_party;
        let action = if by_word { AuditAction::Consent } else { AuditAction::Authorization };
        self.service.audit.record(AuditRecord {
            user_id: Some(decided.person.id.clone()),
            patient_id: decided.patient.clone(),
            grant_id: Some(grant_id),
            scope: Some(decided.consent.allowed().to_string()),
            ..self.record(action)
        });
    }

    /// Tells the audit that a grant ended, because the person allowed less.
    pub(super) fn record_end(&self, grant: &ConsentGrant) {
        self.service.audit.record(AuditRecord {
            user_id: Some(grant.user_id.clone()),
            patient_id: grant.patient_id.clone(),
            grant_id: Some(grant.id.clone()),
            scope: Some(grant.granted.clone()),
            ..self.record(AuditAction::Revocation)
        });
    }

    fn record(&self, action: AuditAction) -> AuditRecord {
        AuditRecord {
            client_id: Some(self.client.id.clone()),
            launch_id: self.launch.as_ref().map(|launch| launch.jti.clone()),
            address: self.browser.address.map(str::to_owned),
            ..AuditRecord::new(self.env.now_us, action)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(moment_us: i64, random: u8) -> String {
        encode_base64url(&[moment_us.to_be_bytes().as_slice(), &[random; 32]].concat())
    }

    #[test]
    fn codes_are_stored_in_the_order_they_are_made_in_and_apart_by_what_is_random() {
        let made_us = 1_767_225_600_000_000;
        let [early, late, other] = [(made_us, 9), (made_us + 1, 1), (made_us, 8)].map(|(us, random)| code(us, random));
        assert!(hash_of(&early) < hash_of(&late));
        assert_ne!(hash_of(&early), hash_of(&other));
        assert_eq!(hash_of(&early)[..MOMENT_BYTES], hash_of(&other)[..MOMENT_BYTES]);
    }

    #[test]
    fn nothing_of_the_random_part_is_stored() {
        let hash = hash_of(&code(1, 0xab));
        assert!(hash.windows(2).all(|two| two != [0xab, 0xab]), "{hash:?}");
        assert_eq!(hash[MOMENT_BYTES..], sha256(code(1, 0xab).as_bytes())[MOMENT_BYTES..]);
    }

    #[test]
    fn what_is_no_code_of_ours_is_looked_up_by_its_digest() {
        for text in ["", "no code", &encode_base64url(&[7; 32]), &code(1, 2)[1..], &format!("{}=", code(1, 2))] {
            assert_eq!(hash_of(text), sha256(text.as_bytes()), "{text}");
        }
    }
}
