//! What is notified of a new address of a user, and of others being shown one ([`EmailAddressVisibility`]).

mod by_administrator;
mod replace;

pub use by_administrator::{
    AddressPermission, AddressReplacementError, may_replace_addresses, permit_address_replacement, replace_address,
};
pub use replace::{
    EmailChangeError, EmailChangeRequest, confirm_email_change, find_email_change_by_link, request_email_change,
};

use std::sync::Arc;

use serde_json::{Value, json};

use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::model::email_address_visibility::EmailAddressVisibility;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::people::account::update;
use crate::wire_format::{self, UserObjectFields};

/// Notifies all users of a new user: those who are shown the address with it, the others without.
pub(crate) fn added(realm: &RealmSnapshot, user: &User) -> Vec<NewEvent> {
    let event = |audience: EventAudience, address: bool| {
        let form = UserObjectFields { client_gravatar: false, profile_data: true, is_active: true, address };
        let person = wire_format::user_object(realm, user, form);
        NewEvent::same_for_everyone(audience, json!({"type": "realm_user", "op": "add", "person": person}))
    };
    if user.email_address_visibility() == EmailAddressVisibility::Everyone {
        return vec![event(EventAudience::Everyone, true)];
    }
    let (shown, others): (Vec<_>, Vec<_>) = realm.users().partition(|reader| user.shows_email_to(reader));
    let ids = |users: Vec<&Arc<User>>| EventAudience::from_users(users.into_iter().map(|user| user.id));
    vec![event(ids(shown), true), event(ids(others), false)]
}

/// Notifies the users concerned that other users are shown the address now.
pub(crate) fn changed(realm: &RealmSnapshot, user: &User, number: i64, commit: &mut RealmCommit) {
    let after = User { address_visibility: EmailAddressVisibility::from_wire_number(number), ..user.clone() };
    if user.public_email() != after.public_email() {
        commit.events.push(update(user.id, "new_email", after.public_email().into()));
        // The usual picture is drawn from the address.
        if user.avatar_url.is_none() {
            commit.events.push(crate::people::avatar::avatar_event(&after));
        }
    }
    for (address, is_shown) in [(json!(user.email), true), (Value::Null, false)] {
        let learn = |reader: &&Arc<User>| {
            let (knew, knows) = (user.shows_email_to(reader), after.shows_email_to(reader));
            knew != knows && knows == is_shown
        };
        let audience = EventAudience::from_users(realm.users().filter(learn).map(|reader| reader.id));
        if audience != EventAudience::Users(Vec::new()) {
            let event = update(user.id, "delivery_email", address);
            commit.events.push(NewEvent { audience, ..event });
        }
    }
}
