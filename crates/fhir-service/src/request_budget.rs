//! The budget of one request: how much its answer may hold, and how long its searches may take together.

use std::future::Future;
use std::time::{Duration, Instant};

use fhir_store::{StoreError, body_validation};
use serde_json::Value;

use crate::error::ServiceError;

/// Bytes of JSON that the entries of one Bundle are answered with before further reads are refused.
/// Not specified; three times what one request may send, and the answer is made in memory.
const ANSWER_MAX_BYTES: usize = 64 * 1024 * 1024;

/// The time of each search or write that is not counted: a Bundle of thousands of quick ones is as it should be.
const FREE: Duration = Duration::from_millis(50);

/// The rest of the bytes of one answer, and of the time of its searches.
pub(crate) struct RequestBudget {
    left_bytes: usize,
    left_time: Duration,
}

impl RequestBudget {
    /// Returns a budget of all bytes and this time.
    pub(crate) const fn new(searches: Duration) -> Self {
        Self { left_bytes: ANSWER_MAX_BYTES, left_time: searches }
    }

    /// Searches, for no longer than the time that is left. A search that is given up then ends in the database as well.
    ///
    /// # Errors
    /// [`StoreError::TooCostly`] when the time is over, and those of the search.
    pub(crate) async fn search<T>(
        &mut self,
        search: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, ServiceError> {
        let began = Instant::now();
        let found = tokio::time::timeout(self.left_time, search).await;
        self.spend_time(began);
        found.unwrap_or_else(|elapsed| Err(StoreError::TooCostly(Box::new(elapsed)).into()))
    }

    /// Does a write that searches for its target, which has a limit where it is done: begun, it is not given up, so
    /// that its answer is true.
    ///
    /// # Errors
    /// [`StoreError::TooCostly`] when the time is over before it begins, and those of the write.
    pub(crate) async fn write<T>(
        &mut self,
        write: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, ServiceError> {
        if self.left_time.is_zero() {
            return Err(StoreError::TooCostly("the searches before it took all the time".into()).into());
        }
        let began = Instant::now();
        let written = write.await;
        self.spend_time(began);
        written
    }

    fn spend_time(&mut self, began: Instant) {
        self.left_time = self.left_time.saturating_sub(began.elapsed().saturating_sub(FREE));
    }

    /// Counts an entry of the answer.
    pub(crate) fn spend(&mut self, entry: &Value) {
        self.left_bytes = self.left_bytes.saturating_sub(body_validation::approximate_json_bytes(entry));
    }

    /// Checks that one more read may be done.
    ///
    /// # Errors
    /// When the answer is full.
    pub(crate) const fn check(&self) -> Result<(), ServiceError> {
        if self.left_bytes == 0 { Err(ServiceError::TooCostly) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_once() {
        let mut budget = RequestBudget::new(Duration::MAX);
        let half = Value::from("x".repeat(ANSWER_MAX_BYTES / 2));
        budget.spend(&half);
        assert!(budget.check().is_ok());
        budget.spend(&half);
        assert!(budget.check().is_err());
        budget.spend(&half);
        assert!(budget.check().is_err());
    }

    #[tokio::test]
    async fn time_is_spent_by_all_searches_together() {
        let mut budget = RequestBudget::new(FREE * 2);
        assert_eq!(budget.search(async { Ok(1) }).await.ok(), Some(1));
        let endless = budget.search(std::future::pending::<Result<(), ServiceError>>()).await;
        assert!(matches!(endless, Err(ServiceError::Resources(StoreError::TooCostly(_)))));
        // Of each the first moments are free, so the first two leave some time.
        for _ in 0..2 {
            let endless = budget.search(std::future::pending::<Result<(), ServiceError>>()).await;
            assert!(matches!(endless, Err(ServiceError::Resources(StoreError::TooCostly(_)))));
        }
        budget.left_time = Duration::ZERO;
        assert!(matches!(budget.write(async { Ok(1) }).await, Err(ServiceError::Resources(StoreError::TooCostly(_)))));
    }
}
