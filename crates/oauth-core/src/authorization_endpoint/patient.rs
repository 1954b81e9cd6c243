//! Whose record it is about.

use super::fault::{AuthorizationPageError, AuthorizationRedirectError};
use super::limits::{PATIENT_SEARCH_MAX_BYTES, PATIENTS_PER_PAGE_MAX};
use super::pages::{PatientSearchPagination, PatientSearchQuery};
use super::scene::{AuthorizationFlow, FlowError, UserAction};
use crate::acting::PatientAccess;
use crate::end_user::EndUser;
use crate::ports::{CallerStatusQuery, PATIENT_SEARCH_RESULTS_MAX, PatientSummary, StoreError};

/// What is known of the patient so far.
pub(super) enum PatientChoice {
    /// The app asks for none.
    NotNeeded,
    /// This one: the id, and what pages show where it was read already.
    Chosen(String, Option<PatientSummary>),
    /// The person chooses among these.
    Choice(Vec<PatientSummary>),
    /// The person searches; a page of what the text found.
    Search(Vec<PatientSummary>, PatientSearchPagination),
}

/// Patients that a text finds.
#[derive(Default)]
struct Found {
    patients: Vec<PatientSummary>,
    /// Whether there may be more.
    is_cut: bool,
}

impl AuthorizationFlow<'_> {
    /// Establishes the patient, or says what the person must do for it.
    ///
    /// Of an EHR launch the context counts, and nobody chooses. Who launched vouches for it where the person
    /// is staff; a member's own record, or that of somebody the member acts for, it must be all the same.
    pub(super) async fn patient(&self, person: &EndUser, intent: &UserAction<'_>) -> Result<PatientChoice, FlowError> {
        let launched = self.launch.as_ref().and_then(|launch| launch.patient.as_deref());
        if launched.is_none() && !self.needs_patient() {
            return Ok(PatientChoice::NotNeeded);
        }
        let acts_for = self.service.patient_access.patients_of(self.env, person).await?;
        if let Some(id) = launched {
            let is_allowed = match &acts_for {
                PatientAccess::These(ids) => ids.iter().any(|own| own == id),
                PatientAccess::ByPolicy => true,
            };
            return if is_allowed {
                Ok(PatientChoice::Chosen(id.to_owned(), None))
            } else {
                Err(AuthorizationRedirectError::NoPatient.into())
            };
        }
        match (intent, self.chosen_by(person)) {
            (UserAction::Pick(id), _) if self.reaches(person, &acts_for, id).await? => {
                self.existing(id).await.map_err(|_| AuthorizationPageError::Patient.into())
            }
            (UserAction::Pick(_), _) => Err(AuthorizationPageError::Patient.into()),
            (_, Some(id)) if self.reaches(person, &acts_for, id).await? => {
                Ok(PatientChoice::Chosen(id.to_owned(), None))
            }
            // What was decided is about that patient and no other.
            (UserAction::Decide(_), Some(_)) => Err(AuthorizationRedirectError::NoPatient.into()),
            // Nobody has chosen yet, or whom this person may not act for any more.
            (_, Some(_) | None) => self.choice(person, acts_for, intent).await,
        }
    }

    async fn choice(
        &self,
        person: &EndUser,
        acts_for: PatientAccess,
        intent: &UserAction<'_>,
    ) -> Result<PatientChoice, FlowError> {
        let ids = match acts_for {
            PatientAccess::These(ids) => ids,
            PatientAccess::ByPolicy => {
                let search =
                    if let UserAction::Search(search) = intent { *search } else { PatientSearchQuery::default() };
                return Ok(self.found(person, search).await?);
            }
        };
        // Whether one's own record is there is not asked: it opens nothing until it is.
        if let ([own], true) = (ids.as_slice(), person.is_patient()) {
            return Ok(PatientChoice::Chosen(own.clone(), None));
        }
        let mut candidates = Vec::new();
        for id in &ids {
            candidates.extend(self.service.patients.patient_by_id(id).await?);
        }
        match candidates.as_slice() {
            [] => Err(AuthorizationRedirectError::NoPatient.into()),
            [only] => Ok(PatientChoice::Chosen(only.id.clone(), Some(only.clone()))),
            _ => Ok(PatientChoice::Choice(candidates)),
        }
    }

    /// Returns the patient of this id, who was there when a grant for it was given, else must be there now.
    async fn existing(&self, id: &str) -> Result<PatientChoice, FlowError> {
        if self.visit.grants.iter().any(|grant| grant.patient_id.as_deref() == Some(id)) {
            return Ok(PatientChoice::Chosen(id.to_owned(), None));
        }
        let found = self.service.patients.patient_by_id(id).await?.ok_or(AuthorizationRedirectError::NoPatient)?;
        Ok(PatientChoice::Chosen(id.to_owned(), Some(found)))
    }

    async fn reaches(&self, person: &EndUser, acts_for: &PatientAccess, id: &str) -> Result<bool, StoreError> {
        match acts_for {
            PatientAccess::These(ids) => Ok(ids.iter().any(|own| own == id)),
            PatientAccess::ByPolicy => Ok(!self.readable(person, vec![id]).await?.is_empty()),
        }
    }

    /// Returns the page of what the text finds; a page behind the last one is the last one.
    async fn found(&self, person: &EndUser, search: PatientSearchQuery<'_>) -> Result<PatientChoice, StoreError> {
        let found = self.visible(person, search.text).await?;
        let (total, is_cut) = (found.patients.len(), found.is_cut);
        let pages = total.div_ceil(PATIENTS_PER_PAGE_MAX).max(1);
        let page = search.page.clamp(1, pages);
        let first = (page - 1) * PATIENTS_PER_PAGE_MAX;
        let shown = found.patients.into_iter().skip(first).take(PATIENTS_PER_PAGE_MAX).collect();
        Ok(PatientChoice::Search(
            shown,
            PatientSearchPagination { text: search.text.to_owned(), total, is_cut, page, pages, first },
        ))
    }

    /// Everybody the text finds whom the person may see.
    async fn visible(&self, person: &EndUser, text: &str) -> Result<Found, StoreError> {
        let text = text.trim();
        if text.is_empty() || text.len() > PATIENT_SEARCH_MAX_BYTES {
            return Ok(Found::default());
        }
        let found = self.service.patients.search_patients_by_words(text, PATIENT_SEARCH_RESULTS_MAX).await?;
        let is_cut = u32::try_from(found.len()).is_ok_and(|found| found >= PATIENT_SEARCH_RESULTS_MAX);
        let readable = self.readable(person, found.iter().map(|patient| patient.id.as_str()).collect()).await?;
        let readable: Vec<String> = readable.into_iter().map(str::to_owned).collect();
        let patients = found.into_iter().filter(|patient| readable.contains(&patient.id)).collect();
        Ok(Found { patients, is_cut })
    }

    async fn readable<'a>(&self, person: &EndUser, ids: Vec<&'a str>) -> Result<Vec<&'a str>, StoreError> {
        let standing = self.service.directory.store().caller_status(&CallerStatusQuery::default()).await?;
        self.service.patient_access.readable(person, ids, standing.policy_revision).await
    }
}
