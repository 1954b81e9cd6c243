//! What is stored of a decision, whether it gives the app a code or not.

use std::sync::Arc;

use smart_scopes::ScopeSet;

use super::consent;
use super::declined::{self, DecidedScopes};
use super::patient::PatientChoice;
use super::scene::{AuthorizationFlow, FlowError, UserAction};
use crate::end_user::EndUser;
use crate::ports::{ConsentGrant, ConsentGrantDecision};

impl AuthorizationFlow<'_> {
    /// Returns the grant to be stored after a decision.
    ///
    /// Not specified what becomes of what an app got before when the person allows less the next time; we end all of
    /// it, as if the person had taken the grant back and given a smaller one. To narrow the older tokens one by one
    /// would leave those that are out as they are until they expire, and a person who says less means now. The app
    /// goes on with the code it gets for the decision; where it holds tokens elsewhere, it asks again there.
    pub(super) fn changed(
        &self,
        person: &EndUser,
        patient: Option<String>,
        scopes: &DecidedScopes,
    ) -> ConsentGrantDecision {
        let before = self.before(patient.as_deref());
        let given = before.filter(|before| before.grants_anything());
        let kept = given.filter(|given| consent::covers_all_of(&scopes.granted, given));
        let grant = ConsentGrant {
            id: kept.map_or_else(|| self.env.random_identifier(), |kept| kept.id.clone()),
            user_id: person.id.clone(),
            client_id: self.client.id.clone(),
            patient_id: patient,
            requested: scopes.requested.to_string(),
            granted: scopes.granted.to_string(),
            refused: scopes.refused.to_string(),
            created_s: given.map_or(self.env.now_s(), |given| given.created_s),
            used_s: given.and_then(|given| given.used_s),
        };
        ConsentGrantDecision { grant, replaces: before.cloned() }
    }

    /// Stores that the person denied, so far as it is known who and about whom.
    pub(super) async fn keep_denial(&self, person: Option<Arc<EndUser>>) -> Result<(), FlowError> {
        // The app gets the denial also where it cannot be kept.
        let Ok(Some((person, _))) = self.signed_in(person) else { return Ok(()) };
        if !self.was_shown_to(&person) {
            return Ok(());
        }
        let patient = match self.patient(&person, &UserAction::GoOn).await {
            Ok(PatientChoice::NotNeeded) => None,
            Ok(PatientChoice::Chosen(id, _)) => Some(id),
            _ => return Ok(()),
        };
        let requested = self.requested(patient.as_deref());
        let scopes = declined::denied(self.before(patient.as_deref()), &requested);
        self.keep(self.changed(&person, patient, &scopes)).await
    }

    /// Stores that the person allowed nothing of what was requested.
    pub(super) async fn keep_nothing_allowed(
        &self,
        person: &EndUser,
        patient: Option<String>,
        requested: &ScopeSet,
        ticked: &[String],
    ) -> Result<(), FlowError> {
        let scopes = declined::nothing_allowed(self.before(patient.as_deref()), requested, ticked);
        self.keep(self.changed(person, patient, &scopes)).await
    }

    async fn keep(&self, given: ConsentGrantDecision) -> Result<(), FlowError> {
        let ended = given.superseded_grant().cloned();
        if !self.service.codes.store_refused_consent(given).await? {
            return Err(FlowError::Stale);
        }
        if let Some(ended) = ended {
            self.record_end(&ended);
        }
        Ok(())
    }
}
