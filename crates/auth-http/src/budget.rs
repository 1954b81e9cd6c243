//! How much one answer may hold.

use fhir_store::shape;
use serde_json::Value;

use crate::error::Fault;

/// Bytes of JSON that the entries of one Bundle are answered with before further reads are refused.
/// Not specified; three times what one request may send, and the answer is made in memory.
const ANSWER_MAX_BYTES: usize = 64 * 1024 * 1024;

/// What is left of the bytes of one answer.
pub(crate) struct Budget {
    left_bytes: usize,
}

impl Budget {
    /// All of them.
    pub(crate) const fn new() -> Self {
        Self { left_bytes: ANSWER_MAX_BYTES }
    }

    /// Counts an entry of the answer.
    pub(crate) fn spend(&mut self, entry: &Value) {
        self.left_bytes = self.left_bytes.saturating_sub(shape::weight_bytes(entry));
    }

    /// Whether one more read may be done.
    ///
    /// # Errors
    /// When the answer is full.
    pub(crate) const fn check(&self) -> Result<(), Fault> {
        if self.left_bytes == 0 { Err(Fault::TooCostly) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_once() {
        let mut budget = Budget::new();
        let half = Value::from("x".repeat(ANSWER_MAX_BYTES / 2));
        budget.spend(&half);
        assert!(budget.check().is_ok());
        budget.spend(&half);
        assert!(budget.check().is_err());
        budget.spend(&half);
        assert!(budget.check().is_err());
    }
}
