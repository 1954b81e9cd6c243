//! Whose record it is about.

use serde_json::{Value, json};

use super::fault::{PageFault, Refusal};
use super::limits::{CANDIDATES_MAX, SEARCH_MAX_BYTES};
use super::scene::{Intent, Scene, Stop};
use crate::person::{FhirUser, Person};
use crate::policy::{Subject, Verdict};
use crate::ports::{PatientSummary, StandingQuery, StoreError};

/// What is known of the patient so far.
pub(super) enum Patient {
    /// The app asks for none.
    NotNeeded,
    /// This one: the id, and what pages show where it was read already.
    Chosen(String, Option<PatientSummary>),
    /// The person chooses among these.
    Choice(Vec<PatientSummary>),
    /// The person searches; what the text found.
    Search(String, Vec<PatientSummary>),
}

/// Whom a person may act for.
enum Reach {
    /// These, whatever policies say: it is their own record, or they are registered as somebody's relative.
    These(Vec<String>),
    /// Whomever a policy lets them read.
    ByPolicy,
}

impl Scene<'_> {
    /// Establishes the patient, or says what the person must do for it.
    ///
    /// Of an EHR launch the context counts, and nobody chooses. Who launched vouches for it where the person
    /// is staff; a member's own record, or that of somebody the member acts for, it must be all the same.
    pub(super) async fn patient(&self, person: &Person, intent: &Intent<'_>) -> Result<Patient, Stop> {
        let launched = self.launch.as_ref().and_then(|launch| launch.patient.as_deref());
        if launched.is_none() && !self.needs_patient() {
            return Ok(Patient::NotNeeded);
        }
        let reach = self.reach(person).await?;
        if let Some(id) = launched {
            let is_allowed = match &reach {
                Reach::These(ids) => ids.iter().any(|own| own == id),
                Reach::ByPolicy => true,
            };
            return if is_allowed { Ok(Patient::Chosen(id.to_owned(), None)) } else { Err(Refusal::NoPatient.into()) };
        }
        match (intent, self.pending.patient.as_deref()) {
            (Intent::Pick(id), _) if self.reaches(person, &reach, id).await? => {
                self.existing(id).await.map_err(|_| PageFault::Patient.into())
            }
            (Intent::Pick(_), _) => Err(PageFault::Patient.into()),
            (_, Some(id)) if self.reaches(person, &reach, id).await? => Ok(Patient::Chosen(id.to_owned(), None)),
            // What was decided is about that patient and no other.
            (Intent::Decide(_), Some(_)) => Err(Refusal::NoPatient.into()),
            // Nobody has chosen yet, or somebody else did before this person signed in.
            (_, Some(_) | None) => self.choice(person, reach, intent).await,
        }
    }

    async fn choice(&self, person: &Person, reach: Reach, intent: &Intent<'_>) -> Result<Patient, Stop> {
        let ids = match reach {
            Reach::These(ids) => ids,
            Reach::ByPolicy => {
                let text = if let Intent::Search(text) = intent { *text } else { "" };
                return Ok(Patient::Search(text.to_owned(), self.found(person, text).await?));
            }
        };
        // Whether one's own record is there is not asked: it opens nothing until it is.
        if let ([own], true) = (ids.as_slice(), person.is_patient()) {
            return Ok(Patient::Chosen(own.clone(), None));
        }
        let mut candidates = Vec::new();
        for id in &ids {
            candidates.extend(self.authority.patients.patient(id).await?);
        }
        match candidates.as_slice() {
            [] => Err(Refusal::NoPatient.into()),
            [only] => Ok(Patient::Chosen(only.id.clone(), Some(only.clone()))),
            _ => Ok(Patient::Choice(candidates)),
        }
    }

    /// The patient of this id, who was there when a grant for it was given, else must be there now.
    async fn existing(&self, id: &str) -> Result<Patient, Stop> {
        if self.visit.grants.iter().any(|grant| grant.patient_id.as_deref() == Some(id)) {
            return Ok(Patient::Chosen(id.to_owned(), None));
        }
        let found = self.authority.patients.patient(id).await?.ok_or(Refusal::NoPatient)?;
        Ok(Patient::Chosen(id.to_owned(), Some(found)))
    }

    async fn reach(&self, person: &Person) -> Result<Reach, StoreError> {
        let Some(FhirUser { resource_type, id }) = &person.fhir_user else { return Ok(Reach::ByPolicy) };
        match resource_type.as_str() {
            "Patient" => Ok(Reach::These(vec![id.clone()])),
            "RelatedPerson" | "Person" => {
                let mut ids = self.authority.patients.patients_of(resource_type, id).await?;
                ids.truncate(CANDIDATES_MAX);
                Ok(Reach::These(ids))
            }
            _ => Ok(Reach::ByPolicy),
        }
    }

    async fn reaches(&self, person: &Person, reach: &Reach, id: &str) -> Result<bool, StoreError> {
        match reach {
            Reach::These(ids) => Ok(ids.iter().any(|own| own == id)),
            Reach::ByPolicy => Ok(!self.readable(person, vec![id]).await?.is_empty()),
        }
    }

    async fn found(&self, person: &Person, text: &str) -> Result<Vec<PatientSummary>, StoreError> {
        let text = text.trim();
        if text.is_empty() || text.len() > SEARCH_MAX_BYTES {
            return Ok(Vec::new());
        }
        let limit = u32::try_from(CANDIDATES_MAX).unwrap_or(u32::MAX);
        let found = self.authority.patients.find_patients(text, limit).await?;
        let readable = self.readable(person, found.iter().map(|patient| patient.id.as_str()).collect()).await?;
        let readable: Vec<String> = readable.into_iter().map(str::to_owned).collect();
        Ok(found.into_iter().filter(|patient| readable.contains(&patient.id)).collect())
    }

    /// Those of the patients whom a policy lets the person read. The app is not part of the question: what
    /// the app may do is asked at every request it makes later.
    async fn readable<'a>(&self, person: &Person, ids: Vec<&'a str>) -> Result<Vec<&'a str>, StoreError> {
        let directory = &self.authority.directory;
        let standing = directory.store().standing(&StandingQuery::default()).await?;
        let book = directory.policies_at(standing.policy_revision).await?;
        let subject = Subject {
            user_id: Some(&person.id),
            roles: &person.roles,
            operation: Some("FhirRead"),
            ..Subject::default()
        };
        let is_readable = |id: &&str| {
            let verdict = book.judge(&subject, || read_of(person, id));
            matches!(verdict, Verdict::Allowed { .. })
        };
        Ok(ids.into_iter().filter(is_readable).collect())
    }
}

/// The request a policy is asked about: the person reads this patient.
fn read_of(person: &Person, id: &str) -> Value {
    json!({
        "request-method": "get",
        "uri": format!("/fhir/Patient/{id}"),
        "params": {"resource/type": "Patient", "resource/id": id},
        "operation": {"id": "FhirRead"},
        "user": person.document,
    })
}
