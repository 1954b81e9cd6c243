//! The omissions of the B2B claim that were logged, so that each is logged once.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

/// Clients whose omissions are remembered; all are forgotten when there are more.
const CLIENTS_MAX: usize = 10_000;

/// For which reasons the tokens of each Client were logged to carry no B2B claim.
#[derive(Debug, Default)]
pub(crate) struct LoggedOmissions(Mutex<HashMap<String, HashSet<&'static str>>>);

impl LoggedOmissions {
    /// Returns whether no omission of this Client for this reason was logged yet; from now on one was.
    pub(crate) fn is_first(&self, client: &str, reason: &'static str) -> bool {
        let mut logged = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reasons) = logged.get_mut(client) {
            return reasons.insert(reason);
        }
        if logged.len() >= CLIENTS_MAX {
            logged.clear();
        }
        logged.insert(client.to_owned(), HashSet::from([reason]));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_of_each_client_is_logged_once() {
        let logged = LoggedOmissions::default();
        assert!(logged.is_first("a", "not_jwt"));
        assert!(!logged.is_first("a", "not_jwt"));
        assert!(logged.is_first("a", "union_form") && logged.is_first("b", "not_jwt"));
        assert!(!logged.is_first("a", "union_form") && !logged.is_first("b", "not_jwt"));
    }

    #[test]
    fn clients_beyond_the_limit_make_room() {
        let logged = LoggedOmissions::default();
        for n in 0..=CLIENTS_MAX {
            assert!(logged.is_first(&n.to_string(), "not_jwt"));
        }
        assert_eq!(logged.0.lock().unwrap().len(), 1);
        assert!(logged.is_first("0", "not_jwt"));
    }
}
