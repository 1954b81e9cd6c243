//! The claims about an end user that each scope releases, in the id token and at the userinfo endpoint.
//!
//! # Source
//! OpenID Connect Core 1.0, sections 5.1 and 5.4; SMART App Launch 2.2.0, "Scopes for requesting identity
//! data".

use serde::Serialize;
use serde_json::Value;

use crate::end_user::EndUser;

/// The OIDC claims about an end user that the granted scopes release. `sub` is not among them: every token has one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct EndUserClaims {
    /// The person's own resource as an absolute URL; scope `fhirUser`.
    #[serde(rename = "fhirUser", skip_serializing_if = "Option::is_none")]
    pub fhir_user: Option<String>,
    /// As people write the name; scope `profile`, like all that follow but `email`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// First name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_name: Option<String>,
    /// Further names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub middle_name: Option<String>,
    /// Last name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family_name: Option<String>,
    /// The name the person signs in with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_username: Option<String>,
    /// The address of a picture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
    /// The person's language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// The person's time zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zoneinfo: Option<String>,
    /// Scope `email`. Whether the person can read what is sent there is known to nobody here, so nothing
    /// is said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

impl EndUserClaims {
    /// Returns the claims about `person` that `scope` releases; resources are below `fhir_base`.
    #[must_use]
    pub fn for_scope(person: &EndUser, scope: &str, fhir_base: &str) -> Self {
        let has = |wanted: &str| scope.split(' ').any(|granted| granted == wanted);
        let mut identity = if has("profile") { Self::profile(&person.document) } else { Self::default() };
        if has("fhirUser") {
            let reference = person.fhir_user.as_ref().map(crate::end_user::FhirUser::reference);
            identity.fhir_user = reference.map(|reference| format!("{fhir_base}/{reference}"));
        }
        if has("email") {
            identity.email.clone_from(&person.email);
        }
        identity
    }

    /// Returns the names of SCIM (RFC 7643, section 4.1.1), in which a User is written, in those of OpenID Connect.
    fn profile(user: &Value) -> Self {
        let text = |object: Option<&Value>, member: &str| {
            let text = object.and_then(|object| object.get(member)).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let (user, name) = (Some(user), user.get("name"));
        let (given_name, middle_name) = (text(name, "givenName"), text(name, "middleName"));
        let family_name = text(name, "familyName");
        let parts: Vec<&str> =
            [&given_name, &middle_name, &family_name].into_iter().flatten().map(String::as_str).collect();
        let joined = (!parts.is_empty()).then(|| parts.join(" "));
        Self {
            name: text(name, "formatted").or(joined),
            preferred_username: text(user, "userName"),
            picture: text(user, "picture").or_else(|| text(user, "photo")),
            locale: text(user, "locale"),
            zoneinfo: text(user, "timezone"),
            given_name,
            middle_name,
            family_name,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ports::VersionedDocument;

    fn ada() -> EndUser {
        let resource = json!({
            "userName": "ada", "email": "ada@example.org", "password": "x", "locale": "en-GB",
            "name": {"givenName": "Ada", "familyName": "Lovelace"}, "fhirUser": {"reference": "Patient/1"},
        });
        EndUser::from_stored("u-1", &VersionedDocument { version: 1, resource }, "https://payer.example")
    }

    fn told(scope: &str) -> Value {
        json!(EndUserClaims::for_scope(&ada(), scope, "https://payer.example/fhir"))
    }

    #[test]
    fn each_scope_opens_its_own_claims_and_no_other() {
        assert_eq!(told("openid"), json!({}));
        assert_eq!(told("openid fhirUser"), json!({"fhirUser": "https://payer.example/fhir/Patient/1"}));
        assert_eq!(told("email"), json!({"email": "ada@example.org"}));
        assert_eq!(
            told("profile"),
            json!({
                "name": "Ada Lovelace", "given_name": "Ada", "family_name": "Lovelace",
                "preferred_username": "ada", "locale": "en-GB",
            })
        );
        assert_eq!(told("profiles emails fhiruser"), json!({}));
    }

    #[test]
    fn a_user_who_is_no_resource_has_no_fhir_user() {
        let person = EndUser::from_stored("u-2", &VersionedDocument { version: 1, resource: json!({}) }, "");
        assert_eq!(json!(EndUserClaims::for_scope(&person, "fhirUser profile email", "https://x/fhir")), json!({}));
    }
}
