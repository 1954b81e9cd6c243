//! Letters the server writes: data here, sent elsewhere.
//!
//! A letter is written down in the transaction of what it tells of ([`crate::log::commit::RealmCommit::mail`]), and a task takes
//! it up from there. So no letter is lost with a server that is killed, and none tells of what did not happen.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// A letter to one e-mail address.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// Whom it is for: an address that [`crate::model::user::email`] takes.
    pub to: String,
    /// What it is about, on one line.
    pub subject: String,
    /// What it says, as plain text. It may hold secrets.
    pub text: String,
}

impl fmt::Debug for Letter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Mail").field("subject", &self.subject).finish_non_exhaustive()
    }
}

/// The name of a letter that waits: the place in the log of what it tells of, and its place among the letters of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LetterId {
    /// The place in the log.
    pub event_id: i64,
    /// The place among the letters, from 0.
    pub place: i64,
}

/// A queued letter that a worker has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedLetter {
    /// Its name.
    pub id: LetterId,
    /// How often it was taken up, this time included.
    pub tries: i64,
    /// The letter.
    pub mail: Letter,
}

/// The queue of letters to send.
#[async_trait]
pub trait MailStore: Send + Sync {
    /// Returns when this node wrote down a letter since it was last asked. A letter of another node, or of a time
    /// before, is found by looking.
    async fn mail_written(&self);

    /// Takes up letters that are due, the oldest first, at most `limit`. Nobody else gets them before `until_s`, in
    /// unix seconds: whoever took them has sent them by then, or is gone.
    async fn take_mail(&self, now_s: i64, until_s: i64, limit: i64) -> Result<Vec<QueuedLetter>, StoreError>;

    /// Forgets a letter: it is sent, or never will be.
    async fn finish_mail(&self, id: LetterId) -> Result<(), StoreError>;

    /// Puts a letter back until that time, in unix seconds.
    async fn postpone_mail(&self, id: LetterId, due_s: i64) -> Result<(), StoreError>;
}

/// Seconds until a letter is tried again after it was refused for now: a minute, twice that, and so on up to an hour.
/// `None` when it has been tried often enough: for three days or so.
///
/// # Source
/// RFC 5321, section 4.5.4.1: a sender tries again at growing distances, and gives up after four or five days at the
/// latest.
#[must_use]
pub fn next_try_in_s(tries: i64) -> Option<i64> {
    const TRIES_MAX: i64 = 78;
    let doublings = u32::try_from(tries.saturating_sub(1).clamp(0, 6)).unwrap_or_default();
    (tries < TRIES_MAX).then(|| (60 << doublings).min(3_600))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_tried_again_at_growing_distances_for_three_days() {
        let distances: Vec<_> = (1..).map_while(next_try_in_s).collect();
        assert_eq!(distances.get(..8), Some(&[60, 120, 240, 480, 960, 1_920, 3_600, 3_600][..]));
        let days = distances.iter().sum::<i64>() / 86_400;
        assert_eq!(days, 3);
    }

    #[test]
    fn what_a_letter_says_does_not_print() {
        let mail = Letter { to: "a@example.org".to_owned(), subject: "Hi".to_owned(), text: "secret".to_owned() };
        assert_eq!(format!("{mail:?}"), "Mail { subject: \"Hi\", .. }");
    }
}
