//! What auditors will ask about, and where it is told.

/// An event for the audit log. None of it is a secret, a token or a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Microseconds since the UNIX epoch.
    pub at_us: i64,
    /// What happened.
    pub action: AuditAction,
    /// `None` when it was done, else why not: a text of ours, without anything that came from outside,
    /// so that refusals alike have one text.
    pub refused: Option<String>,
    /// The app, when it is registered.
    pub client_id: Option<String>,
    /// Who the app said to be, when nobody of that name is registered.
    pub claimed_id: Option<String>,
    /// The person.
    pub user_id: Option<String>,
    /// Who asked, where it was neither the person nor the app: the EHR of a launch, an administrator.
    pub asked_by: Option<String>,
    /// The patient it was about.
    pub patient_id: Option<String>,
    /// The grant it was about.
    pub grant_id: Option<String>,
    /// The launch it was about: the `jti` of its JWT, which opens nothing.
    pub launch_id: Option<String>,
    /// From where, as far as the wire knows.
    pub address: Option<String>,
    /// The scopes it was about.
    pub scope: Option<String>,
    /// The operation it was about, where it was one of those of payers.
    pub operation: Option<Box<AuditedPayerOperation>>,
}

/// A payer operation as the audit log records it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditedPayerOperation {
    /// Its name.
    pub name: String,
    /// The organization that asked: system and value of its identifier.
    pub organization: Option<(String, String)>,
    /// What it says to need the answer for: `system#code` each.
    pub purposes: Vec<String>,
    /// The id of the Group it was about.
    pub group_id: Option<String>,
    /// The id of its job.
    pub job_id: Option<String>,
    /// How many of what, as far as it is known.
    pub counts: Vec<(&'static str, u64)>,
}

/// The kinds of [`AuditRecord`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuditAction {
    /// A person signed in, or tried to.
    SignIn,
    /// A person signed out.
    SignOut,
    /// A person allowed or denied what an app asked for.
    Consent,
    /// An app got a code without a page, by what the person allowed before or because it is the payer's own;
    /// or it got none for a reason other than the person's word.
    Authorization,
    /// An EHR asked for the address that launches an app.
    Launch,
    /// A token was issued or refused.
    Token,
    /// A token, a family or a grant was taken back.
    Revocation,
    /// An organization asked who of others is a member, or was answered.
    Match,
    /// Resources were asked for in bulk, or were written for whoever asked.
    Export,
}

impl AuditRecord {
    /// Creates a record of `action` at `at_us`, with all other fields empty.
    #[must_use]
    pub const fn new(at_us: i64, action: AuditAction) -> Self {
        Self {
            at_us,
            action,
            refused: None,
            client_id: None,
            claimed_id: None,
            user_id: None,
            asked_by: None,
            patient_id: None,
            grant_id: None,
            launch_id: None,
            address: None,
            scope: None,
            operation: None,
        }
    }

    /// Returns whether anyone can cause this record, as often as they like: a refusal, unless it is the decision of a
    /// signed-in user. A store may sum such records up.
    #[must_use]
    pub fn is_refusal_anyone_can_cause(&self) -> bool {
        let is_word = self.action == AuditAction::Consent && self.user_id.is_some();
        self.refused.is_some() && !is_word
    }
}

/// The receiver of audit records. Recording never waits and never fails: what cannot be kept is counted and logged by
/// whoever implements this.
pub trait AuditSink: Send + Sync {
    /// Takes an audit record.
    fn record(&self, record: AuditRecord);
}
