//! What invitations say in letters.

use jiff::Timestamp;

use super::Invitation;
use crate::event_log::email_queue::OutgoingEmail;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;

/// To a user who is invited.
pub(super) fn of_invitation(
    realm: &RealmSnapshot,
    invitation: &Invitation,
    address: &str,
    link: &str,
) -> OutgoingEmail {
    let inviter = realm.user(invitation.inviter_id).map_or("Somebody", |inviter| &inviter.full_name);
    let name = name_of(realm);
    OutgoingEmail {
        to: address.to_owned(),
        subject: format!("{inviter} invites you to {name}"),
        text: format!(
            "{inviter} invites you to the team chat of {name}.\n\nOpen this link to make your account:\n\n{link}\n\n\
             The link works once{}. Do not pass it on: whoever has it can join in your place.\n\nIf you do not know \
             what this is about, you need not do anything.\n",
            until(invitation.expires_s)
        ),
    }
}

/// To a user who gave their address.
pub(super) fn of_confirmation(realm: &RealmSnapshot, address: &str, link: &str) -> OutgoingEmail {
    let name = name_of(realm);
    OutgoingEmail {
        to: address.to_owned(),
        subject: format!("Confirm your address for {name}"),
        text: format!(
            "Somebody gave this address to join the team chat of {name}.\n\nIf it was you, open this link to make your \
             account:\n\n{link}\n\nThe link works once, and for a day.\n\nIf it was not you, you need not do anything: \
             without the link nobody gets an account with your address.\n"
        ),
    }
}

/// To the inviter.
pub(super) fn of_joining(realm: &RealmSnapshot, inviter: &User, full_name: &str) -> OutgoingEmail {
    let name = name_of(realm);
    OutgoingEmail {
        to: inviter.email.clone(),
        subject: format!("{full_name} accepted your invitation to {name}"),
        text: format!("{full_name} accepted your invitation and is now in the team chat of {name}.\n"),
    }
}

/// Returns the realm's name on one line.
fn name_of(realm: &RealmSnapshot) -> String {
    let name = realm.realm().map_or("", |realm| realm.name.as_str());
    name.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

fn until(expires_s: Option<i64>) -> String {
    let end = expires_s.and_then(|expires_s| Timestamp::from_second(expires_s).ok());
    end.map_or_else(String::new, |end| end.strftime(", and until %-d %B %Y, %H:%M UTC").to_string())
}
