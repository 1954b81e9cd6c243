//! End users, parsed from stored User resources once per version.

use serde_json::Value;

use crate::jose::sha256;
use crate::ports::{SecretSha256, VersionedDocument};
use crate::secret_hash::SecretHash;

/// A user who can sign in.
#[derive(Debug, Clone)]
pub struct EndUser {
    /// The id of the User, the `sub` of its tokens.
    pub id: String,
    /// The version this was read at.
    pub version: i64,
    /// Whether the person may sign in and its tokens are good. Not specified for an absent `active`; we
    /// take it as true, as for a Client. `inactive: true`, the newer spelling, wins over it.
    pub active: bool,
    /// `userName`.
    pub user_name: Option<String>,
    /// `email`.
    pub email: Option<String>,
    /// What pages call the person: its name, else `userName`, else `email`, else the id.
    pub display_name: String,
    /// Which resource the person is.
    pub fhir_user: Option<FhirUser>,
    /// Whether the User has a `fhirUser` that is nobody here. Then it is known that the person is somebody, and not
    /// who: it acts for nobody, and does not count as staff.
    pub misplaced: bool,
    /// Whether the User is registered with a second factor. This server asks for none, so such a person does not
    /// sign in: with the password alone, the second factor would be lost without a word.
    pub second_factor: bool,
    /// The hash of its password; without one nobody signs in as this person.
    pub password: Option<SecretHash>,
    /// SHA-256 of the stored text of the password's hash. Sessions and token families carry it: with
    /// another password it is another one, and they are over.
    pub credential: SecretSha256,
    /// The names of its roles, for policies that are limited to one.
    pub roles: Vec<String>,
    /// The resource as policies and userinfo may see it: with `id` and `resourceType`, without the
    /// password and the second factor's key.
    pub document: Value,
}

/// The FHIR resource that represents a user: a Patient, Practitioner or `RelatedPerson`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FhirUser {
    /// `Patient`, `RelatedPerson`, `Practitioner`, `PractitionerRole` or `Person`.
    pub resource_type: String,
    /// Its id.
    pub id: String,
}

impl EndUser {
    /// Reads a stored User. Reading never fails: what a stored document gets wrong counts as absent, and
    /// an `active` that is neither true nor false as false, so the person can do less, not more.
    ///
    /// A `fhirUser` is of the server at `base_url`, or it is nobody here.
    #[must_use]
    pub fn from_stored(id: &str, stored: &VersionedDocument, base_url: &str) -> Self {
        let resource = &stored.resource;
        let text = |member: &str| resource.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
        let password = text("password");
        let is_active = resource.get("active").is_none_or(|active| active.as_bool() == Some(true));
        let is_inactive = resource.get("inactive").is_some_and(|inactive| inactive.as_bool() != Some(false));
        let name = resource.get("name").and_then(full_name);
        let own = resource.get("fhirUser");
        let fhir_user = own.and_then(|own| FhirUser::read(own, base_url));
        let called = name.or_else(|| text("userName").or(text("email")).map(str::to_owned));
        Self {
            id: id.to_owned(),
            version: stored.version,
            active: is_active && !is_inactive,
            user_name: text("userName").map(str::to_owned),
            email: text("email").map(str::to_owned),
            display_name: called.unwrap_or_else(|| id.to_owned()),
            misplaced: own.is_some() && fhir_user.is_none(),
            fhir_user,
            second_factor: resource.pointer("/twoFactor/enabled").is_some_and(|value| value.as_bool() != Some(false)),
            password: password.and_then(|hash| SecretHash::parse(hash).ok()),
            credential: sha256(password.unwrap_or_default().as_bytes()),
            roles: roles(resource),
            document: document(id, resource),
        }
    }
}

impl EndUser {
    /// Returns whether the user is a patient, and so acts for themselves.
    #[must_use]
    pub fn is_patient(&self) -> bool {
        self.own_patient_id().is_some()
    }

    /// Returns the id of the patient whom the person is.
    #[must_use]
    pub fn own_patient_id(&self) -> Option<&str> {
        self.fhir_user.as_ref().filter(|own| own.resource_type == "Patient").map(|own| own.id.as_str())
    }

    /// Returns whether the user works with the records of others. Not specified for a User without `fhirUser`, such as
    /// an administrator's; it counts as staff, because it is in no record.
    #[must_use]
    pub fn is_staff(&self) -> bool {
        let kind = self.fhir_user.as_ref().map(|own| own.resource_type.as_str());
        !self.misplaced && matches!(kind, None | Some("Practitioner" | "PractitionerRole"))
    }
}

impl FhirUser {
    /// Reads `{"reference": "Patient/1"}` (relative, or absolute below `base_url`) or
    /// `{"resourceType": "Patient", "id": "1"}`. An address of another server is nobody's here, whatever its last
    /// two parts are.
    pub(crate) fn read(value: &Value, base_url: &str) -> Option<Self> {
        let text = |member: &str| value.get(member).and_then(Value::as_str);
        let (resource_type, id) = match text("reference") {
            Some(reference) => below(reference, base_url).split_once('/')?,
            None => text("resourceType").zip(text("id"))?,
        };
        let is_person =
            crate::security_resource_rules::PERSONS.contains(&resource_type) && !id.is_empty() && !id.contains('/');
        is_person.then(|| Self { resource_type: resource_type.to_owned(), id: id.to_owned() })
    }

    /// Returns the FHIR reference of the resource, such as `Patient/1`.
    #[must_use]
    pub fn reference(&self) -> String {
        format!("{}/{}", self.resource_type, self.id)
    }
}

/// Returns what follows the base in an address of this server, at either of its endpoints; any other text as it is.
fn below<'r>(reference: &'r str, base_url: &str) -> &'r str {
    let own = reference.strip_prefix(base_url).and_then(|rest| rest.strip_prefix('/'));
    own.map_or(reference, |own| own.strip_prefix("fhir/").unwrap_or(own))
}

/// Returns the name as people write it (SCIM, RFC 7643, section 4.1.1): `formatted`, else its parts in order.
fn full_name(name: &Value) -> Option<String> {
    let text = |member: &str| name.get(member).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    if let Some(formatted) = text("formatted") {
        return Some(formatted.to_owned());
    }
    let parts: Vec<_> = ["givenName", "middleName", "familyName"].into_iter().filter_map(text).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// `roles[].value`, and the role's name where it has no value.
fn roles(resource: &Value) -> Vec<String> {
    let roles = resource.get("roles").and_then(Value::as_array).into_iter().flatten();
    let name =
        |role: &Value| role.get("value").or_else(|| role.get("display")).and_then(Value::as_str).map(str::to_owned);
    roles.filter_map(name).collect()
}

fn document(id: &str, resource: &Value) -> Value {
    let head = [("resourceType".to_owned(), Value::from("User")), ("id".to_owned(), Value::from(id))];
    let members = resource.as_object().into_iter().flatten();
    let mut document = head.into_iter().chain(members.map(|(name, value)| (name.clone(), value.clone()))).collect();
    crate::security_resource_rules::redact_secrets("User", &mut document);
    document
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn person(resource: Value) -> EndUser {
        EndUser::from_stored("u-1", &VersionedDocument { version: 7, resource }, "https://payer.example")
    }

    #[test]
    fn a_person_is_active_unless_one_of_both_spellings_says_no() {
        for resource in [json!({}), json!({"active": true}), json!({"inactive": false, "active": true})] {
            assert!(person(resource).active);
        }
        for resource in [
            json!({"active": false}),
            json!({"inactive": true}),
            json!({"active": true, "inactive": true}),
            json!({"active": "true"}),
            json!({"inactive": "no"}),
        ] {
            assert!(!person(resource.clone()).active, "{resource}");
        }
    }

    #[test]
    fn a_person_is_called_by_the_best_name_there_is() {
        let called = |resource| person(resource).display_name;
        assert_eq!(called(json!({"name": {"formatted": "Dr Ada L", "givenName": "Ada"}})), "Dr Ada L");
        assert_eq!(called(json!({"name": {"familyName": "Lovelace", "givenName": "Ada"}})), "Ada Lovelace");
        assert_eq!(called(json!({"name": {"givenName": " "}, "userName": "ada"})), "ada");
        assert_eq!(called(json!({"email": "ada@example.org"})), "ada@example.org");
        assert_eq!(called(json!({"name": "Ada"})), "u-1");
    }

    #[test]
    fn the_person_behind_a_user_is_read_in_both_spellings() {
        let patient = Some(FhirUser { resource_type: "Patient".to_owned(), id: "p".to_owned() });
        for spelling in [
            json!({"reference": "Patient/p"}),
            json!({"reference": "https://payer.example/fhir/Patient/p"}),
            json!({"reference": "https://payer.example/Patient/p"}),
            json!({"resourceType": "Patient", "id": "p"}),
        ] {
            assert_eq!(person(json!({"fhirUser": spelling})).fhir_user, patient);
        }
        for nobody in
            [json!({"reference": "Organization/o"}), json!({"reference": "p"}), json!({"reference": "Patient/"})]
        {
            assert_eq!(person(json!({"fhirUser": nobody})).fhir_user, None);
        }
    }

    #[test]
    fn a_person_of_another_server_is_nobody_here() {
        for reference in [
            "https://other.example/fhir/Patient/p",
            "https://payer.example.evil.example/fhir/Patient/p",
            "https://payer.example:8443/fhir/Patient/p",
            "https://payer.example/tenant/fhir/Patient/p",
            "http://payer.example/fhir/Patient/p",
            "urn:x/Patient/p",
            "other/Patient/p",
            "Patient/p/_history/1",
        ] {
            let read = person(json!({"fhirUser": {"reference": reference}}));
            assert_eq!((read.fhir_user.as_ref(), read.is_staff()), (None, false), "{reference}");
        }
        assert!(person(json!({})).is_staff());
        assert!(!person(json!({"fhirUser": "Practitioner/1"})).is_staff());
    }

    #[test]
    fn another_password_is_another_credential() {
        let stamp = |hash: &str| person(json!({"password": hash})).credential;
        assert_eq!(stamp("$argon2id$a"), stamp("$argon2id$a"));
        assert_ne!(stamp("$argon2id$a"), stamp("$argon2id$b"));
        assert_eq!(stamp(""), person(json!({})).credential);
    }

    #[test]
    fn what_policies_see_of_a_person_holds_no_secret() {
        let read =
            person(json!({"password": "$x", "twoFactor": {"secretKey": "k", "enabled": true}, "data": {"a": 1}}));
        let expected = json!({"resourceType": "User", "id": "u-1", "twoFactor": {"enabled": true}, "data": {"a": 1}});
        assert_eq!(read.document, expected);
    }

    #[test]
    fn roles_are_known_by_value_or_by_name() {
        let read = person(json!({"roles": [{"value": "nurse"}, {"display": "clerk"}, {"type": "x"}, "text"]}));
        assert_eq!(read.roles, ["nurse", "clerk"]);
    }
}
