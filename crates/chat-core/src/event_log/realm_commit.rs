//! Changes of a realm together with what is written down beside them in one transaction.

use crate::event_log::email_queue::OutgoingEmail;
use crate::event_log::event::NewEvent;
use crate::event_log::newcomer_backlog::Newcomer;
use crate::id::{EventId, UserId};
use crate::model::realm_change::{RealmChange, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::{ApiKey, InvitationSecret, PasswordHash};

/// Realm changes and events that are committed together.
#[derive(Debug, Clone, Default)]
pub struct RealmCommit {
    /// [`RealmSnapshot::changed_at`] of the state the decision was taken on. When the realm has
    /// changed since, nothing is written and the decision has to be taken again.
    pub decided_at: EventId,
    /// When, in unix seconds.
    pub at_s: i64,
    /// What changes, in order.
    pub changes: Vec<RealmChange>,
    /// Secrets that change with it. They reach neither log nor memory.
    pub credentials: Vec<CredentialChange>,
    /// Whose drafts go with it.
    pub drafts_gone: Vec<UserId>,
    /// Who hears what, in order.
    pub events: Vec<NewEvent>,
    /// A user whom it makes, and who is given recent messages of their channels; the store adds the changes to that.
    pub newcomer: Option<Newcomer>,
    /// Letters that are sent once it is true.
    pub mail: Vec<OutgoingEmail>,
}

/// A new value of a stored secret: an API key, a password hash or an invitation link.
#[derive(Debug, Clone)]
pub enum CredentialChange {
    /// The API key; goes together with [`RealmChange::Key`].
    ApiKey(UserId, ApiKey),
    /// What the password is compared with; `None` when they have none.
    PasswordHash(UserId, Option<PasswordHash>),
    /// The secret of the link of the invitation of that number, which is shown again; `None` when it opens nothing.
    InvitationLink(i64, Option<InvitationSecret>),
}

impl RealmCommit {
    /// Sets the user's API key, in memory and in the table of credentials.
    pub fn set_api_key(&mut self, realm: &RealmSnapshot, user_id: UserId, key: ApiKey) {
        self.changes.push(RealmChange::Key { user_id, hash: realm.key_hasher().hash(&key) });
        self.credentials.push(CredentialChange::ApiKey(user_id, key));
    }

    /// Returns whether nothing would be written.
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.credentials.is_empty() && self.events.is_empty()
    }

    /// Returns whether the commit ends the access of a valid API key or session, by replacing the key, ending the
    /// session, or deactivating the account or organization.
    #[must_use]
    pub fn revokes_access(&self, realm: &RealmSnapshot) -> bool {
        self.changes.iter().any(|change| match change {
            RealmChange::Key { user_id, hash } => realm.key_hash_of_user(*user_id).is_some_and(|known| known != *hash),
            RealmChange::User(user) => !user.is_active && realm.user(user.id).is_some_and(|known| known.is_active),
            RealmChange::Realm(changed) => {
                changed.is_deactivated && realm.realm().is_some_and(|known| !known.is_deactivated)
            }
            RealmChange::UserItem { user_id, kind: kind @ UserItemKind::Session, key, document: None } => {
                realm.user_item(*user_id, *kind, key).is_some()
            }
            _ => false,
        })
    }
}

/// The outcome of a realm commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It is durable. The changes stand at `first`, the last event at `last`.
    Done {
        /// The first place in the log it took.
        first: EventId,
        /// The last place in the log it took.
        last: EventId,
    },
    /// The realm had changed at this place since the decision; nothing was written.
    Stale(EventId),
}
