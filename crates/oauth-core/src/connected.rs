//! The apps a person has let in, and taking that back.

use crate::authorize::AppCard;
use crate::ports::PatientSummary;

/// One app that a person lets see something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedApp {
    /// What is taken back.
    pub grant_id: String,
    /// The app, as registered now; its id alone when its registration is gone.
    pub app: AppCard,
    /// Whose record it is about.
    pub patient: Option<PatientSummary>,
    /// When the person first allowed it, in seconds since the UNIX epoch.
    pub since_s: i64,
    /// When the app last got a token, in seconds since the UNIX epoch.
    pub last_used_s: Option<i64>,
    /// What it may see and do, in plain words.
    pub allowed: Vec<String>,
}
