//! The port to the records that member matching needs.

use async_trait::async_trait;
use fhir_store::StoreError;
use serde_json::Value;

use crate::member_match::{MemberRecords, RequiredDemographics};

/// The store operations of member matching.
#[async_trait]
pub trait MemberMatchStore: Send + Sync {
    /// Returns the stored Patients who may be these members, by birth date and family name, and the Coverages with
    /// their subscriber ids, in two statements.
    ///
    /// # Errors
    /// When the store fails.
    async fn load_member_records(&self, asked: &[&RequiredDemographics]) -> Result<MemberRecords, StoreError>;

    /// Returns the stored Consents of these patients, each with its id.
    ///
    /// # Errors
    /// When the store fails.
    async fn consents_of_patients(
        &self,
        patients: &[&str],
        fhir_base: &str,
    ) -> Result<Vec<(String, Value)>, StoreError>;

    /// Returns the ids of the Organizations with this identifier.
    ///
    /// # Errors
    /// When the store fails.
    async fn organization_ids_by_identifier(&self, system: &str, value: &str) -> Result<Vec<String>, StoreError>;
}
