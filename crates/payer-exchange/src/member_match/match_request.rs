//! The members of a request.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::REQUEST_MEMBERS_MAX;
use crate::elements::{each, text};
use crate::member_identifier::{HREX_CODE_SYSTEM, MemberIdentifier, UNIQUE_MEMBER_CODE};

/// A member in a match request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubmittedMember {
    /// `MemberPatient`.
    pub patient: Value,
    /// `CoverageToMatch`.
    pub coverage: Value,
    /// `Consent`; of a provider's request its attestation of treatment.
    pub consent: Option<Value>,
}

/// The reason why a request does not contain a valid list of members.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatchRequestError {
    /// The body is not a `Parameters` resource.
    #[error("Request body must be a FHIR Parameters resource")]
    NotParameters,
    /// A parameter that the operation does not have.
    #[error("{place}: unsupported parameter {name}")]
    Unsupported {
        /// The position as a `FHIRPath` expression.
        place: String,
        /// Its name.
        name: String,
    },
    /// A required part is missing.
    #[error("{place}: {name} is required, with a resource of type {resource_type}")]
    Missing {
        /// The position as a `FHIRPath` expression.
        place: String,
        /// The name of the part.
        name: &'static str,
        /// The type of the resource that the part must have.
        resource_type: &'static str,
    },
    /// A part occurs more than once.
    #[error("{place}: {name} must appear at most once")]
    Repeated {
        /// The position as a `FHIRPath` expression.
        place: String,
        /// The name of the part.
        name: &'static str,
    },
    /// The request has no member.
    #[error("Parameters.parameter: at least one MemberBundle is required")]
    NoMembers,
    /// More members than one request may have.
    #[error("Parameters.parameter: at most {REQUEST_MEMBERS_MAX} MemberBundle; send several requests")]
    TooMany,
}

/// The parts of a member, with the type each has to be of.
const PARTS: [(&str, &str); 4] = [
    ("MemberPatient", "Patient"),
    ("CoverageToMatch", "Coverage"),
    ("CoverageToLink", "Coverage"),
    ("Consent", "Consent"),
];

/// Parses the members of a bulk match request.
///
/// # Errors
/// [`MatchRequestError`], which names the position.
///
/// # Source
/// `PDex`, `pdex-parameters-multi-member-match-bundle-in`.
pub fn parse_members(body: &Value) -> Result<Vec<SubmittedMember>, MatchRequestError> {
    let parameters = parameters(body)?;
    if parameters.len() > REQUEST_MEMBERS_MAX {
        return Err(MatchRequestError::TooMany);
    }
    let mut members = Vec::with_capacity(parameters.len());
    for (index, parameter) in parameters.iter().enumerate() {
        let place = format!("Parameters.parameter[{index}]");
        match text(parameter, "name") {
            Some("MemberBundle") => members.push(member(each(parameter, "part"), &place, true)?),
            other => {
                let name = other.unwrap_or("without a name").to_owned();
                return Err(MatchRequestError::Unsupported { place, name });
            }
        }
    }
    if members.is_empty() { Err(MatchRequestError::NoMembers) } else { Ok(members) }
}

/// Parses the member of a `$member-match` request.
///
/// # Errors
/// [`MatchRequestError`], which names the position.
///
/// # Source
/// `HRex`, `$member-match`: the Consent may be absent.
pub fn parse_single_member(body: &Value) -> Result<SubmittedMember, MatchRequestError> {
    member(parameters(body)?, "Parameters", false)
}

fn parameters(body: &Value) -> Result<&[Value], MatchRequestError> {
    let is_parameters = text(body, "resourceType") == Some("Parameters");
    if is_parameters { Ok(each(body, "parameter")) } else { Err(MatchRequestError::NotParameters) }
}

fn member(parts: &[Value], place: &str, consents: bool) -> Result<SubmittedMember, MatchRequestError> {
    let place = || place.to_owned();
    let mut found: [Option<&Value>; PARTS.len()] = [None; PARTS.len()];
    for part in parts {
        let name = text(part, "name").unwrap_or("without a name");
        let known = PARTS.iter().zip(&mut found).find(|((known, _), _)| *known == name);
        let Some((&(name, resource_type), found)) = known else {
            return Err(MatchRequestError::Unsupported { place: place(), name: name.to_owned() });
        };
        if found.is_some() {
            return Err(MatchRequestError::Repeated { place: place(), name });
        }
        let resource = part.get("resource").filter(|resource| text(resource, "resourceType") == Some(resource_type));
        *found = Some(resource.ok_or_else(|| MatchRequestError::Missing { place: place(), name, resource_type })?);
    }
    let [patient, coverage, _, consent] = found;
    let missing = |name, resource_type| MatchRequestError::Missing { place: place(), name, resource_type };
    if consents && consent.is_none() {
        return Err(missing("Consent", "Consent"));
    }
    Ok(SubmittedMember {
        patient: patient.ok_or_else(|| missing("MemberPatient", "Patient"))?.clone(),
        coverage: coverage.ok_or_else(|| missing("CoverageToMatch", "Coverage"))?.clone(),
        consent: consent.cloned(),
    })
}

/// Returns the first payer that the coverage of the first member names (`payor`).
#[must_use]
pub fn first_member_payer(members: &[SubmittedMember]) -> Option<&Value> {
    each(&members.first()?.coverage, "payor").first()
}

/// Returns the response to a `$member-match` request that found the member, with its identifier and its Patient.
///
/// # Source
/// `HRex`, `$member-match`; the code `UMB` of `hrex-temp`.
#[must_use]
pub fn matched_member_response(patient: &str, identifier: &MemberIdentifier) -> Value {
    let identifier_type = json!({"coding": [{"system": HREX_CODE_SYSTEM, "code": UNIQUE_MEMBER_CODE}]});
    let MemberIdentifier { system, value } = identifier;
    json!({
        "resourceType": "Parameters",
        "parameter": [
            {"name": "MemberIdentifier", "valueIdentifier": {"type": identifier_type, "system": system, "value": value}},
            {"name": "MemberId", "valueReference": {"reference": format!("Patient/{patient}")}},
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, resource_type: &str) -> Value {
        json!({"name": name, "resource": {"resourceType": resource_type}})
    }

    fn bundle(parts: &[Value]) -> Value {
        json!({"name": "MemberBundle", "part": parts})
    }

    fn read(parameters: &[Value]) -> Result<Vec<SubmittedMember>, MatchRequestError> {
        parse_members(&json!({"resourceType": "Parameters", "parameter": parameters}))
    }

    #[test]
    fn every_part_has_its_place_and_what_is_wrong_is_named() {
        let whole = [part("MemberPatient", "Patient"), part("CoverageToMatch", "Coverage"), part("Consent", "Consent")];
        assert_eq!(read(&[bundle(&whole)]).unwrap().len(), 1);
        let place = "Parameters.parameter[0]";
        for (parts, told) in [
            (whole[..2].to_vec(), "Consent is required, with a resource of type Consent"),
            (whole[1..].to_vec(), "MemberPatient is required, with a resource of type Patient"),
            (vec![part("MemberPatient", "Person")], "MemberPatient is required, with a resource of type Patient"),
            (vec![whole[0].clone(), whole[0].clone()], "MemberPatient must appear at most once"),
            (vec![part("Other", "Patient")], "unsupported parameter Other"),
        ] {
            assert_eq!(read(&[bundle(&parts)]).unwrap_err().to_string(), format!("{place}: {told}"));
        }
        assert_eq!(read(&[]), Err(MatchRequestError::NoMembers));
        assert_eq!(
            read(&[part("Member", "Patient")]).unwrap_err().to_string(),
            format!("{place}: unsupported parameter Member")
        );
        assert_eq!(parse_members(&json!({"resourceType": "Bundle"})), Err(MatchRequestError::NotParameters));
        assert_eq!(read(&vec![bundle(&whole); REQUEST_MEMBERS_MAX + 1]), Err(MatchRequestError::TooMany));
    }

    #[test]
    fn a_request_for_one_needs_no_consent() {
        let parts = [part("MemberPatient", "Patient"), part("CoverageToMatch", "Coverage")];
        let member = parse_single_member(&json!({"resourceType": "Parameters", "parameter": parts})).unwrap();
        assert_eq!(member.consent, None);
    }
}
