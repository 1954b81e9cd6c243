//! Letters the server writes: data here, sent elsewhere.
//!
//! A letter is written down in the transaction of what it tells of
//! ([`crate::event_log::realm_commit::RealmCommit::mail`]), and a task takes it up from there. So no letter is lost
//! with a server that is killed, and none tells of what did not happen.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// An e-mail to one address.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutgoingEmail {
    /// Whom it is for: an address that [`crate::model::user::parse_email`] takes.
    pub to: String,
    /// What it is about, on one line.
    pub subject: String,
    /// What it says, as plain text. It may hold secrets.
    pub text: String,
}

impl fmt::Debug for OutgoingEmail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Mail").field("subject", &self.subject).finish_non_exhaustive()
    }
}

/// The id of a queued e-mail: the log position of the commit that it belongs to, and its index in that commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutgoingEmailId {
    /// The place in the log.
    pub event_id: i64,
    /// The place among the letters, from 0.
    pub place: i64,
}

/// A queued e-mail that a worker has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedEmail {
    /// Its name.
    pub id: OutgoingEmailId,
    /// How often it was taken up, this time included.
    pub tries: i64,
    /// The letter.
    pub mail: OutgoingEmail,
}

/// The queue of e-mails to send.
#[async_trait]
pub trait EmailQueueStore: Send + Sync {
    /// Waits until this node has queued an e-mail since the last call. E-mails of other nodes, and earlier ones, are
    /// found only by looking. A letter of another node, or of a time before, is found by looking.
    async fn wait_for_new_email(&self);

    /// Claims e-mails that are due, the oldest first, at most `limit`. No other worker gets them before `until_s`, in
    /// unix seconds, by when the claimant has sent them or is gone.
    async fn claim_due_emails(&self, now_s: i64, until_s: i64, limit: i64) -> Result<Vec<ClaimedEmail>, StoreError>;

    /// Removes an e-mail from the queue after it was sent or given up.
    async fn remove_email(&self, id: OutgoingEmailId) -> Result<(), StoreError>;

    /// Returns an e-mail to the queue until that time, in unix seconds.
    async fn postpone_email(&self, id: OutgoingEmailId, due_s: i64) -> Result<(), StoreError>;
}

/// Returns the seconds until an e-mail is tried again after a temporary failure: a minute, doubling up to an hour.
/// `None` after about three days of tries.
///
/// # Source
/// RFC 5321, section 4.5.4.1: a sender tries again at growing distances, and gives up after four or five days at the
/// latest.
#[must_use]
pub fn email_retry_delay_s(tries: i64) -> Option<i64> {
    const TRIES_MAX: i64 = 78;
    let doublings = u32::try_from(tries.saturating_sub(1).clamp(0, 6)).unwrap_or_default();
    (tries < TRIES_MAX).then(|| (60 << doublings).min(3_600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_tried_again_at_growing_distances_for_three_days() {
        let distances: Vec<_> = (1..).map_while(email_retry_delay_s).collect();
        assert_eq!(distances.get(..8), Some(&[60, 120, 240, 480, 960, 1_920, 3_600, 3_600][..]));
        let days = distances.iter().sum::<i64>() / 86_400;
        assert_eq!(days, 3);
    }

    #[test]
    fn what_a_letter_says_does_not_print() {
        let mail =
            OutgoingEmail { to: "a@example.org".to_owned(), subject: "Hi".to_owned(), text: "secret".to_owned() };
        assert_eq!(format!("{mail:?}"), "Mail { subject: \"Hi\", .. }");
    }
}
