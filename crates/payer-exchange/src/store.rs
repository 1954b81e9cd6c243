//! The port to the records that member matching needs.

use async_trait::async_trait;
use fhir_store::StoreError;
use serde_json::Value;

use crate::member_match::{MemberRecords, RequiredDemographics};

/// The store operations of member matching.
#[async_trait]
pub trait PayerStore: Send + Sync {
    /// Returns what is stored about these people, in two statements however many there are.
    ///
    /// # Errors
    /// When the store fails.
    async fn known(&self, asked: &[&RequiredDemographics]) -> Result<MemberRecords, StoreError>;

    /// Returns the Consents of these patients with their ids; `fhir_base` is the address of our FHIR endpoint
    /// without a slash at the end.
    ///
    /// # Errors
    /// When the store fails.
    async fn consents(&self, patients: &[&str], fhir_base: &str) -> Result<Vec<(String, Value)>, StoreError>;

    /// Returns the ids of the Organizations with this identifier.
    ///
    /// # Errors
    /// When the store fails.
    async fn organizations(&self, system: &str, value: &str) -> Result<Vec<String>, StoreError>;
}
