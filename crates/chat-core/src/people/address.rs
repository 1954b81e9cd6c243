//! What is notified of a new address of a user, and of others being shown one ([`AddressVisibility`]).

mod replace;

pub use replace::{EmailChangeError, EmailChangeRequest, ask, confirm, opened};

use std::sync::Arc;

use serde_json::{Value, json};

use crate::log::commit::RealmCommit;
use crate::log::event::{EventAudience, NewEvent};
use crate::model::address_visibility::AddressVisibility;
use crate::model::snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::people::account::update;
use crate::wire::{self, UserFields};

/// Notifies all users of a new user: those who are shown the address with it, the others without.
pub(crate) fn added(realm: &RealmSnapshot, user: &User) -> Vec<NewEvent> {
    let event = |audience: EventAudience, address: bool| {
        let form = UserFields { client_gravatar: false, profile_data: true, is_active: true, address };
        let person = wire::user(realm, user, form);
        NewEvent::plain(audience, json!({"type": "realm_user", "op": "add", "person": person}))
    };
    if user.address_visibility() == AddressVisibility::Everyone {
        return vec![event(EventAudience::Everyone, true)];
    }
    let (shown, others): (Vec<_>, Vec<_>) = realm.users().partition(|reader| user.shows_address_to(reader));
    let ids = |users: Vec<&Arc<User>>| EventAudience::users(users.into_iter().map(|user| user.id));
    vec![event(ids(shown), true), event(ids(others), false)]
}

/// Notifies the users concerned that other users are shown the address now.
pub(crate) fn changed(realm: &RealmSnapshot, user: &User, number: i64, commit: &mut RealmCommit) {
    let after = User { address_visibility: AddressVisibility::of_number(number), ..user.clone() };
    if user.shown_email() != after.shown_email() {
        commit.events.push(update(user.id, "new_email", after.shown_email().into()));
        // The usual picture is drawn from the address.
        if user.avatar_url.is_none() {
            commit.events.push(crate::people::avatar::avatar_event(&after));
        }
    }
    for (address, is_shown) in [(json!(user.email), true), (Value::Null, false)] {
        let learn = |reader: &&Arc<User>| {
            let (knew, knows) = (user.shows_address_to(reader), after.shows_address_to(reader));
            knew != knows && knows == is_shown
        };
        let audience = EventAudience::users(realm.users().filter(learn).map(|reader| reader.id));
        if audience != EventAudience::Users(Vec::new()) {
            let event = update(user.id, "delivery_email", address);
            commit.events.push(NewEvent { audience, ..event });
        }
    }
}
