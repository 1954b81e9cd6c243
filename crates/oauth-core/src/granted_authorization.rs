//! The authorization that a user granted: the contents of a code and of its tokens.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::GrantType;
use crate::ports::SecretSha256;

/// The scopes, end user and patient of one authorization, and the values that its code is bound to.
///
/// Made when a code is issued, stored with it and with the family of tokens it is redeemed for
/// ([`AuthorizationCodeRecord`](crate::ports::AuthorizationCodeRecord), [`TokenFamily`](crate::ports::TokenFamily)),
/// and never changed: a refresh gives at most this again.
///
/// # Source
/// RFC 6749, section 4.1.2; RFC 7636, section 4.4; SMART App Launch 2.2.0, launch context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrantedAuthorization {
    /// Whose settings under `Client.auth` the tokens follow: where the authorization came from.
    pub grant: GrantType,
    /// The app.
    pub client_id: String,
    /// The person; `sub` of every token.
    pub user_id: String,
    /// The stamp of the password the person signed in with: with another password, codes and tokens
    /// are over.
    #[serde(with = "hash_as_text")]
    pub credential: SecretSha256,
    /// The address the code was sent to; the request that redeems it repeats it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_uri: Option<String>,
    /// The S256 challenge of the authorization request, 43 characters of base64url.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_challenge: Option<String>,
    /// The granted scopes, space-separated, in the words of the request.
    pub scope: String,
    /// The `nonce` of the authorization request, for the id token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// When the person gave the password, in seconds since the UNIX epoch.
    pub auth_time_s: i64,
    /// Who the person is, as `Type/id`; `None` for a User without `fhirUser`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fhir_user: Option<String>,
    /// Whether an EHR that launched the app vouched for the patient, so that no policy is asked whether a person of
    /// its staff may act for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vouched: bool,
    /// What the app is told of the launch.
    #[serde(default)]
    pub context: LaunchContext,
}

/// The launch context that an app receives with its token (SMART App Launch 2.2.0, "Launch context arrives with your
/// `access_token`").
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LaunchContext {
    /// The patient's bare id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patient: Option<String>,
    /// The encounter's bare id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encounter: Option<String>,
    /// Whether the app must show whose data it shows; known where there is a patient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub need_patient_banner: Option<bool>,
    /// Further resources in context; each an object with `reference`, `canonical` or `identifier`.
    #[serde(default, rename = "fhirContext", skip_serializing_if = "Vec::is_empty")]
    pub fhir_context: Vec<Value>,
    /// What the person set out to do, in words of the EHR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
    /// The organization within the EHR, in words of the EHR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Where the app finds colours and sizes to look like its surroundings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smart_style_url: Option<String>,
}

impl LaunchContext {
    /// Returns whether the launch context has no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl GrantedAuthorization {
    /// Returns whether a scope with exactly this text was granted.
    #[must_use]
    pub fn grants_scope(&self, scope: &str) -> bool {
        self.scope.split(' ').any(|granted| granted == scope)
    }

    /// Reads a stored authorization.
    ///
    /// # Errors
    /// The fault of a value that is none.
    pub fn from_stored(stored: &Value) -> Result<Self, serde_json::Error> {
        Self::deserialize(stored)
    }

    /// Returns the value to store.
    ///
    /// # Errors
    /// None that a value of this type can cause; the serialiser's signature has one.
    pub fn to_stored(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self)
    }
}

/// A hash as base64url text instead of 32 numbers.
pub(crate) mod hash_as_text {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    use crate::jose::{decode_base64url, encode_base64url};
    use crate::ports::SecretSha256;

    pub(crate) fn serialize<S: Serializer>(hash: &SecretSha256, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&encode_base64url(hash))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SecretSha256, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = decode_base64url(&text).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| de::Error::custom("not 32 bytes of base64url"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn authorization() -> GrantedAuthorization {
        GrantedAuthorization {
            grant: GrantType::AuthorizationCode,
            client_id: "app".to_owned(),
            user_id: "ada".to_owned(),
            credential: [7; 32],
            redirect_uri: Some("https://app.example/cb".to_owned()),
            code_challenge: None,
            scope: "openid patient/*.rs offline_access".to_owned(),
            nonce: Some("n".to_owned()),
            auth_time_s: 1,
            fhir_user: Some("Patient/1".to_owned()),
            vouched: true,
            context: LaunchContext { patient: Some("1".to_owned()), ..LaunchContext::default() },
        }
    }

    #[test]
    fn what_is_stored_is_read_back() {
        let full = LaunchContext {
            encounter: Some("e".to_owned()),
            need_patient_banner: Some(true),
            fhir_context: vec![json!({ "reference": "ImagingStudy/1" })],
            intent: Some("review".to_owned()),
            ..LaunchContext::default()
        };
        for context in [full, LaunchContext::default()] {
            let authorization = GrantedAuthorization { context, ..authorization() };
            let stored = authorization.to_stored().unwrap();
            assert_eq!(GrantedAuthorization::from_stored(&stored).unwrap(), authorization);
        }
    }

    #[test]
    fn a_damaged_value_is_no_authorization() {
        let mut stored = authorization().to_stored().unwrap();
        stored["credential"] = json!("short");
        assert!(GrantedAuthorization::from_stored(&stored).is_err());
        assert!(GrantedAuthorization::from_stored(&json!({})).is_err());
    }

    #[test]
    fn a_scope_is_granted_by_its_whole_spelling() {
        let authorization = authorization();
        assert!(authorization.grants_scope("openid") && authorization.grants_scope("offline_access"));
        assert!(
            !authorization.grants_scope("patient/*.r")
                && !authorization.grants_scope("")
                && !authorization.grants_scope("open")
        );
    }
}
