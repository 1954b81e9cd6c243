//! A bot as those who keep it see it.

use serde_json::{Value, json};

use super::avatar_url;
use super::user::bot_type_number;
use crate::model::user::User;

/// Returns the bot object of the wire. The API key is left out: a secret in every client's initial state would be in
/// every client's log.
///
/// # Source
/// Not specified; the keys are those existing clients know. Bots have no channels of their own to send to or to
/// register for, so those keys are null.
#[must_use]
pub fn bot_object(user: &User) -> Value {
    let bot = user.bot.as_ref();
    json!({
        "user_id": user.id,
        "full_name": user.full_name,
        "email": user.email,
        "bot_type": bot.map(|bot| bot_type_number(bot.kind)),
        "is_active": user.is_active,
        "avatar_url": avatar_url(user),
        "owner_id": bot.and_then(|bot| bot.owner_id),
        "default_sending_stream": null,
        "default_events_register_stream": null,
        "default_all_public_streams": false,
        "services": [],
    })
}
