//! What people choose for themselves: what others see of what they do, whom and what they hear of, and how.
//!
//! All of it is small and always read as a whole, so it is kept as documents of the user
//! ([`UserItemKind`](crate::model::realm_change::UserItemKind)), in memory like the rest of the realm.

pub mod alert_words;
mod language;
pub mod muted_users;
pub mod navigation_view;
pub mod preferences;
pub mod snippet;
pub mod user_status;

use serde_json::Value;

use crate::id::UserId;
use crate::model::realm_change::{RealmChange, UserItemKind};

/// Returns the one document of that kind that a user has is now this, or gone with `None`.
fn only(user_id: UserId, kind: UserItemKind, document: Option<Value>) -> RealmChange {
    RealmChange::UserItem { user_id, kind, key: String::new(), document }
}
