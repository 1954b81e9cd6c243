//! Whom a person may act for: asked when an app is let in, and again whenever it refreshes its tokens.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::access_policies::{CombinedPolicyDecision, PolicyEvaluationSubject};
use crate::end_user::{EndUser, FhirUser};
use crate::granted_authorization::GrantedAuthorization;
use crate::period;
use crate::ports::{PatientStore, StoreError};
use crate::registration_cache::RegistrationCache;
use crate::time_and_randomness::TimeAndRandomness;

/// Most entries of a Person that are followed.
const LINKS_MAX: usize = 100;
/// Most patients one person acts for, as far as this server goes: they fit on a page.
pub(crate) const PATIENTS_MAX: usize = 50;

/// Whom a person may act for.
pub(crate) enum PatientAccess {
    /// These, whatever policies say: it is their own record, or they are registered as somebody's relative.
    These(Vec<String>),
    /// Whomever a policy lets them read.
    ByPolicy,
}

/// Decides for which patients people may act.
pub(crate) struct PatientAccessRules {
    pub(crate) directory: Arc<RegistrationCache>,
    pub(crate) patients: Arc<dyn PatientStore>,
}

impl PatientAccessRules {
    /// Returns whom `person` may act for now. Costs nothing but for relatives, whose relation is read.
    pub(crate) async fn patients_of(
        &self,
        env: &TimeAndRandomness<'_>,
        person: &EndUser,
    ) -> Result<PatientAccess, StoreError> {
        let Some(own) = &person.fhir_user else {
            return Ok(if person.misplaced { PatientAccess::These(Vec::new()) } else { PatientAccess::ByPolicy });
        };
        match own.resource_type.as_str() {
            "Patient" => Ok(PatientAccess::These(vec![own.id.clone()])),
            "RelatedPerson" | "Person" => Ok(PatientAccess::These(self.related(env, own).await?)),
            _ => Ok(PatientAccess::ByPolicy),
        }
    }

    /// Returns whether `person` may act now for the patient of what it authorized, by the policies of `revision`. Where
    /// an EHR vouched for the patient when it launched the app, policies are not asked, then as now.
    pub(crate) async fn may_still_act(
        &self,
        env: &TimeAndRandomness<'_>,
        (person, authorization): (&EndUser, &GrantedAuthorization),
        revision: i64,
    ) -> Result<bool, StoreError> {
        let Some(patient) = authorization.context.patient.as_deref() else { return Ok(true) };
        match self.patients_of(env, person).await? {
            PatientAccess::These(ids) => Ok(ids.iter().any(|id| id == patient)),
            PatientAccess::ByPolicy if authorization.vouched => Ok(true),
            PatientAccess::ByPolicy => Ok(!self.readable(person, vec![patient], revision).await?.is_empty()),
        }
    }

    /// Those of the patients whom a policy of `revision` lets the person read. The app is not part of the question:
    /// what the app may do is asked at every request it makes later.
    pub(crate) async fn readable<'a>(
        &self,
        person: &EndUser,
        ids: Vec<&'a str>,
        revision: i64,
    ) -> Result<Vec<&'a str>, StoreError> {
        let book = self.directory.policies_at_revision(revision).await?;
        let subject = PolicyEvaluationSubject {
            user_id: Some(&person.id),
            roles: &person.roles,
            operation: Some("FhirRead"),
            ..PolicyEvaluationSubject::default()
        };
        let mut found = Vec::new();
        for id in ids {
            let verdict = self.directory.judge(&book, &subject, &|| read_of(person, id)).await;
            found.extend(matches!(verdict, CombinedPolicyDecision::Allowed { .. }).then_some(id));
        }
        Ok(found)
    }

    /// Returns the patients a relative is related to, existing or not; of a Person, also those of each `RelatedPerson`
    /// it is linked to.
    async fn related(&self, env: &TimeAndRandomness<'_>, own: &FhirUser) -> Result<Vec<String>, StoreError> {
        let mut patients = Vec::new();
        for target in self.targets(env, own).await? {
            match target.resource_type.as_str() {
                "Patient" => patients.push(target.id),
                "RelatedPerson" if own.resource_type == "Person" => {
                    let further = self.targets(env, &target).await?;
                    let further = further.into_iter().filter(|target| target.resource_type == "Patient");
                    patients.extend(further.map(|target| target.id));
                }
                _ => {}
            }
        }
        let mut seen = HashSet::new();
        patients.retain(|id| seen.insert(id.clone()));
        patients.truncate(PATIENTS_MAX);
        Ok(patients)
    }

    async fn targets(&self, env: &TimeAndRandomness<'_>, own: &FhirUser) -> Result<Vec<FhirUser>, StoreError> {
        let stored = self.patients.related_person_or_person(&own.resource_type, &own.id).await?;
        let read = |stored: Value| named(&own.resource_type, &stored, self.directory.base_url(), env.now_us);
        Ok(stored.map(read).unwrap_or_default())
    }
}

/// Returns the request a policy is asked about: the person reads this patient.
fn read_of(person: &EndUser, id: &str) -> Value {
    json!({
        "request-method": "get",
        "uri": format!("/fhir/Patient/{id}"),
        "params": {"resource/type": "Patient", "resource/id": id},
        "operation": {"id": "FhirRead"},
        "user": person.document,
    })
}

/// Returns whom a `RelatedPerson` or Person names, while the relation is in force: `active`, where it is said, is true,
/// and `period` has begun and is not over.
///
/// # Source
/// FHIR R4, `RelatedPerson` and Person.
fn named(kind: &str, stored: &Value, base_url: &str, now_us: i64) -> Vec<FhirUser> {
    let is_active = stored.get("active").is_none_or(|active| active.as_bool() == Some(true));
    if !is_active || !period::is_now(stored.get("period"), now_us) {
        return Vec::new();
    }
    let references: Vec<&Value> = match kind {
        "RelatedPerson" => stored.get("patient").into_iter().collect(),
        "Person" => {
            let links = stored.get("link").and_then(Value::as_array);
            links.into_iter().flatten().take(LINKS_MAX).filter_map(|link| link.get("target")).collect()
        }
        _ => Vec::new(),
    };
    references.into_iter().filter_map(|reference| FhirUser::read(reference, base_url)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "https://payer.example";
    /// 2026-01-01T00:00:00Z.
    const NOW_US: i64 = 1_767_225_600_000_000;

    fn of(kind: &str, stored: &Value) -> Vec<String> {
        named(kind, stored, BASE, NOW_US).iter().map(FhirUser::reference).collect()
    }

    #[test]
    fn a_relation_names_its_patient_in_either_spelling() {
        for patient in [
            json!({"resourceType": "Patient", "id": "p"}),
            json!({"reference": "Patient/p"}),
            json!({"reference": "https://payer.example/fhir/Patient/p"}),
        ] {
            assert_eq!(of("RelatedPerson", &json!({"patient": patient})), ["Patient/p"]);
        }
        for nobody in [json!({"reference": "Group/g"}), json!("p"), json!({"reference": "https://o.example/Patient/p"})]
        {
            assert_eq!(of("RelatedPerson", &json!({"patient": nobody})), [""; 0]);
        }
        let links = json!([{"target": {"reference": "Patient/p"}}, {}, {"target": {"reference": "RelatedPerson/r"}}]);
        assert_eq!(of("Person", &json!({"link": links})), ["Patient/p", "RelatedPerson/r"]);
        assert_eq!(of("Practitioner", &json!({"patient": {"reference": "Patient/p"}})), [""; 0]);
    }

    #[test]
    fn a_relation_that_is_not_in_force_gives_no_right() {
        let with = |name: &str, value: Value| {
            let mut relation = json!({"patient": {"reference": "Patient/p"}});
            relation[name] = value;
            of("RelatedPerson", &relation)
        };
        assert_eq!(with("active", json!(true)), ["Patient/p"]);
        assert_eq!(with("period", json!({"start": "2025", "end": "2026"})), ["Patient/p"]);
        for (name, value) in [
            ("active", json!(false)),
            ("active", json!("true")),
            ("period", json!({"end": "2025"})),
            ("period", json!({"start": "2026-01-02"})),
            ("period", json!({"end": "some day"})),
        ] {
            assert_eq!(with(name, value.clone()), [""; 0], "{name} {value}");
        }
    }
}
