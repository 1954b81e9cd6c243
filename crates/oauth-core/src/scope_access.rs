//! The access that the scopes of a token give to resources.
//!
//! Scopes say it in words of three contexts: `patient/` is the one patient the token is for, `user/`
//! what the person may see, `system/` what the client may see on its own. This module says which of
//! them speak for a token and what each leaves open; applying it to resources is the resource
//! server's.
//!
//! # Source
//! Specification, Scopes; `docs/decisions.md`, "Scopes".

use smart_scopes::{Context, Interaction, Permission, ScopeQuery, ScopeSet};

/// The part of a resource type that scopes open to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeAccess {
    /// Everything, as far as scopes are concerned: the caller has none, or one of them leaves nothing
    /// out.
    Everything,
    /// The union of these parts; never empty.
    Parts(Vec<SingleScopeFilter>),
}

/// The restriction that one scope puts on a resource type: a compartment, a search, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SingleScopeFilter {
    /// The id of the patient whose compartment it is confined to.
    pub patient: Option<String>,
    /// The search that a resource has to meet.
    pub query: Option<ScopeQuery>,
}

/// The bearer of scopes, as far as it decides which of them speak.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScopeHolder<'a> {
    /// The patient in the token's context.
    pub(crate) patient: Option<&'a str>,
    /// Who stands behind the token.
    pub(crate) speaker: SubjectKind<'a>,
}

/// Who stands behind a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubjectKind<'a> {
    /// The client alone.
    Client,
    /// Somebody who works with records of others: a practitioner, or a User that is no person of a record.
    Staff,
    /// Somebody whose record it is, or who is related to whose it is: never more than that record. With the id of
    /// the patient, where there is one.
    Member(Option<&'a str>),
}

impl ScopeAccess {
    /// Returns whether it goes beyond single patients.
    pub(crate) fn is_wide(&self) -> bool {
        match self {
            Self::Everything => true,
            Self::Parts(parts) => parts.iter().any(|part| part.patient.is_none()),
        }
    }
}

impl<'a> ScopeHolder<'a> {
    /// Returns what `scopes` leave open of an interaction, or nothing when none of those that speak permits it.
    ///
    /// A `patient/` scope says nothing without a patient, `user/` nothing without a person and `system/`
    /// nothing with one: a person's token never reaches what the client could on its own. To a member `user/` opens
    /// what `patient/` does: what the person may see is that record.
    pub(crate) fn reach(self, scopes: &ScopeSet, resource_type: &str, interaction: Interaction) -> Option<ScopeAccess> {
        opened(self.contexts(), scopes, (resource_type, interaction))
    }

    /// The same without what goes beyond single patients.
    pub(crate) fn reach_of_patients(
        self,
        scopes: &ScopeSet,
        resource_type: &str,
        interaction: Interaction,
    ) -> Option<ScopeAccess> {
        let of_patients = self.contexts().filter(|(_, patient)| patient.is_some());
        opened(of_patients, scopes, (resource_type, interaction))
    }

    /// Returns the contexts that speak, and the patient each of them is confined to.
    fn contexts(self) -> impl Iterator<Item = (Context, Option<&'a str>)> {
        let own = match self.speaker {
            SubjectKind::Client => Some((Context::System, None)),
            SubjectKind::Staff => Some((Context::User, None)),
            SubjectKind::Member(own) => self.patient.or(own).map(|patient| (Context::User, Some(patient))),
        };
        let launched = self.patient.map(|patient| (Context::Patient, Some(patient)));
        launched.into_iter().chain(own)
    }

    /// A scope that would permit the interaction.
    pub(crate) fn needed(self, resource_type: &str, interaction: Interaction) -> String {
        let context = match (self.patient, self.speaker) {
            (Some(_), _) => Context::Patient,
            (None, SubjectKind::Client) => Context::System,
            (None, SubjectKind::Staff | SubjectKind::Member(_)) => Context::User,
        };
        format!("{context}/{resource_type}.{}", interaction.letter())
    }
}

/// Returns what `scopes` leave open of an interaction in these contexts.
fn opened<'a>(
    contexts: impl Iterator<Item = (Context, Option<&'a str>)>,
    scopes: &ScopeSet,
    (resource_type, interaction): (&str, Interaction),
) -> Option<ScopeAccess> {
    let mut parts = Vec::new();
    for (context, patient) in contexts {
        let part = |query: Option<&ScopeQuery>| SingleScopeFilter {
            patient: patient.map(str::to_owned),
            query: query.cloned(),
        };
        match scopes.permits(context, resource_type, interaction) {
            Permission::Denied => {}
            Permission::Allowed if patient.is_none() => return Some(ScopeAccess::Everything),
            Permission::Allowed => parts.push(part(None)),
            Permission::AllowedWithQueries(queries) => {
                parts.extend(queries.into_iter().map(|query| part(Some(query))));
            }
        }
    }
    parts.dedup();
    (!parts.is_empty()).then_some(ScopeAccess::Parts(parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBER: ScopeHolder<'_> = ScopeHolder { patient: Some("p"), speaker: SubjectKind::Member(Some("own")) };
    const DOCTOR: ScopeHolder<'_> = ScopeHolder { patient: Some("p"), speaker: SubjectKind::Staff };
    const NURSE: ScopeHolder<'_> = ScopeHolder { patient: None, speaker: SubjectKind::Staff };
    const SERVICE: ScopeHolder<'_> = ScopeHolder { patient: None, speaker: SubjectKind::Client };

    #[test]
    fn a_members_user_scopes_open_the_members_record_and_no_more() {
        let own = |patient| parts(&[(Some(patient), None)]);
        let member = |patient, own| ScopeHolder { patient, speaker: SubjectKind::Member(own) };
        assert_eq!(reach(member(Some("p"), Some("own")), "user/*.cruds"), Some(own("p")));
        assert_eq!(reach(member(None, Some("own")), "user/*.cruds"), Some(own("own")));
        assert_eq!(reach(member(None, None), "user/*.cruds"), None, "there is no record");
        assert_eq!(reach(MEMBER, "user/*.cruds patient/*.rs"), Some(own("p")));
    }

    fn reach(bearer: ScopeHolder<'_>, scopes: &str) -> Option<ScopeAccess> {
        bearer.reach(&ScopeSet::parse(scopes).unwrap(), "Observation", Interaction::Read)
    }

    fn parts(of: &[(Option<&str>, Option<&str>)]) -> ScopeAccess {
        let part = |(patient, query): &(Option<&str>, Option<&str>)| SingleScopeFilter {
            patient: patient.map(str::to_owned),
            query: query.map(|query| query.parse().unwrap()),
        };
        ScopeAccess::Parts(of.iter().map(part).collect())
    }

    #[test]
    fn each_context_speaks_for_the_tokens_it_is_meant_for() {
        for bearer in [DOCTOR, NURSE] {
            assert_eq!(reach(bearer, "user/Observation.r"), Some(ScopeAccess::Everything));
            assert_eq!(reach(bearer, "system/*.*"), None, "a person's token is not the client's own");
        }
        assert_eq!(reach(SERVICE, "system/Observation.read"), Some(ScopeAccess::Everything));
        assert_eq!(reach(SERVICE, "user/*.* patient/*.*"), None);
        assert_eq!(reach(NURSE, "patient/*.*"), None, "there is no patient");
        assert_eq!(reach(MEMBER, "patient/Observation.r"), Some(parts(&[(Some("p"), None)])));
        assert_eq!(reach(MEMBER, "patient/Observation.cuds patient/Patient.r openid"), None);
    }

    #[test]
    fn several_scopes_are_a_union() {
        assert_eq!(reach(DOCTOR, "patient/*.r user/Observation.read"), Some(ScopeAccess::Everything));
        assert_eq!(
            reach(DOCTOR, "patient/Observation.rs?category=a patient/Observation.r?category=b user/*.s"),
            Some(parts(&[(Some("p"), Some("category=a")), (Some("p"), Some("category=b"))]))
        );
        assert_eq!(
            reach(DOCTOR, "patient/Observation.rs?category=a patient/*.read"),
            Some(parts(&[(Some("p"), None)])),
            "a plain scope makes a granular one redundant"
        );
        assert_eq!(
            reach(DOCTOR, "patient/*.read user/Observation.rs?category=b"),
            Some(parts(&[(Some("p"), None), (None, Some("category=b"))]))
        );
    }

    #[test]
    fn the_needed_scope_is_of_the_context_that_speaks() {
        let needed = |bearer: ScopeHolder<'_>| bearer.needed("Claim", Interaction::Search);
        assert_eq!([MEMBER, NURSE, SERVICE].map(needed), ["patient/Claim.s", "user/Claim.s", "system/Claim.s"]);
    }
}
