//! A user as clients see them, and their picture.

use jiff::Timestamp;
use md5::{Digest as _, Md5};
use serde_json::{Map, Value, json};

use crate::model::email_address_visibility::EmailAddressVisibility;
use crate::model::realm_change::UserItemKind;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::role::Role;
use crate::model::user::{BotKind, User, fold_case};
use crate::wire_format::MessageSender;

/// The fields of a user object that are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a part of the object that is there or not")]
pub struct UserObjectFields {
    /// Whether the reader works out the usual pictures from addresses: `avatar_url` is null for those.
    pub client_gravatar: bool,
    /// Whether the answers to profile fields are shown, as `profile_data`. Bots have none.
    pub profile_data: bool,
    /// Whether `is_active` is told. Not where being listed says it already (`realm_users`).
    pub is_active: bool,
    /// Whether the user's own address is told, as `delivery_email`; null otherwise.
    pub address: bool,
}

impl UserObjectFields {
    /// Returns the fields for a reader, with the user's real e-mail address only if the reader may see it.
    #[must_use]
    pub fn visible_to(self, reader: &User, user: &User) -> Self {
        Self { address: user.shows_email_to(reader), ..self }
    }
}

/// Returns the user object of the wire.
///
/// A bot of the server itself is marked with `is_system_bot`; others do not have the member.
///
/// # Source
/// Not specified; the keys are those existing clients know. `avatar_url` is always there: leaving it out, which a
/// client can allow, saves nothing where no database is asked for it.
#[must_use]
pub fn user_object(realm: &RealmSnapshot, user: &User, form: UserObjectFields) -> Value {
    let mut shown = json!({
        "user_id": user.id,
        "email": user.public_email(),
        "delivery_email": form.address.then_some(&user.email),
        "full_name": user.full_name,
        "date_joined": date_joined(user.joined_s),
        "is_owner": user.role == Role::Owner,
        "is_admin": user.is_administrator(),
        "is_guest": user.is_guest(),
        "is_billing_admin": false,
        "is_bot": user.bot.is_some(),
        "bot_type": user.bot.as_ref().map(|bot| bot_type_number(bot.kind)),
        "bot_owner_id": user.bot.as_ref().and_then(|bot| bot.owner_id),
        "role": i64::from(user.role),
        "timezone": user.timezone,
        "avatar_url": shown_avatar(user, form.client_gravatar),
        "avatar_version": user.avatar_version,
    });
    if let Value::Object(members) = &mut shown {
        if form.is_active {
            members.insert("is_active".to_owned(), user.is_active.into());
        }
        if user.is_system_bot() {
            members.insert("is_system_bot".to_owned(), true.into());
        }
        if form.profile_data && user.bot.is_none() {
            members.insert("profile_data".to_owned(), profile_data(realm, user).into());
        }
    }
    shown
}

/// The addresses of a user's avatar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AvatarUrls {
    /// Where it is.
    pub url: String,
    /// Where it is in a size of 500 pixels.
    pub medium_url: String,
    /// Whether clients can work it out from the address: the wire's `avatar_source` `G`, and not `U`.
    pub is_gravatar: bool,
}

/// Returns the URLs of the user's avatar: the uploaded one, or the avatar service's.
///
/// Not specified. With `client_gravatar`, which existing clients send, they take null for "compute the service's
/// address from the e-mail address"; so no picture of our own making could be the usual one, or each user would have
/// two faces.
#[must_use]
pub fn avatar_urls(user: &User) -> AvatarUrls {
    let url = avatar_url(user);
    let is_gravatar = user.avatar_url.is_none();
    let medium_url = if is_gravatar { format!("{url}&s=500") } else { medium_avatar_url(&url) };
    AvatarUrls { url, medium_url, is_gravatar }
}

/// Returns the URL of the user's avatar. See [`avatar_urls`].
#[must_use]
pub fn avatar_url(user: &User) -> String {
    user.avatar_url.clone().unwrap_or_else(|| gravatar_url(user))
}

/// Returns the sender's data that message objects contain.
#[must_use]
pub fn message_sender(user: &User) -> MessageSender {
    MessageSender {
        email: user.public_email().into_owned(),
        full_name: user.full_name.clone(),
        avatar_url: avatar_url(user),
        has_gravatar: is_computed(user),
    }
}

fn shown_avatar(user: &User, client_gravatar: bool) -> Option<String> {
    (!client_gravatar || !is_computed(user)).then(|| avatar_url(user))
}

/// Returns whether every client can work the picture out from an address it knows.
fn is_computed(user: &User) -> bool {
    user.avatar_url.is_none() && user.email_address_visibility() == EmailAddressVisibility::Everyone
}

/// The service finds a picture by the MD5 of the address in lower case, and draws one where it has none. It is the
/// address that everybody knows: who hides theirs hides what it could be guessed by.
fn gravatar_url(user: &User) -> String {
    let digest = Md5::digest(fold_case(&user.public_email()));
    let name = u128::from_be_bytes(digest.into());
    format!("https://secure.gravatar.com/avatar/{name:032x}?d=identicon&version={}", user.avatar_version)
}

/// To the minute, as existing clients know it.
fn date_joined(joined_s: i64) -> String {
    let joined = Timestamp::from_second(joined_s).unwrap_or_default();
    joined.strftime("%Y-%m-%dT%H:%M+00:00").to_string()
}

/// Returns the wire number of a bot kind.
#[must_use]
pub fn bot_type_number(kind: BotKind) -> i64 {
    match kind {
        BotKind::Generic | BotKind::System => 1,
        BotKind::IncomingWebhook => 2,
        BotKind::OutgoingWebhook => 3,
    }
}

/// Each answer by the number of its field. It is kept as it is shown: `value`, and `rendered_value` where the field
/// has one.
fn profile_data(realm: &RealmSnapshot, user: &User) -> Map<String, Value> {
    let answers = realm.user_items(user.id, UserItemKind::ProfileValue);
    answers.map(|(field, answer)| (field.to_owned(), answer.clone())).collect()
}

/// What the address of an avatar ends in, and what that of the same one in its larger size ends in.
const ENDINGS: [&str; 2] = [".png", "-medium.png"];

/// Returns the URL of the larger size of an avatar.
#[must_use]
pub fn medium_avatar_url(url: &str) -> String {
    let [small, medium] = ENDINGS;
    url.strip_suffix(small).map_or_else(|| url.to_owned(), |start| format!("{start}{medium}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::UserId;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::realm_change::RealmChange;
    use crate::model::user::BotProperties;
    use crate::testing;

    fn realm() -> RealmSnapshot {
        let answer = RealmChange::UserItem {
            user_id: UserId(4),
            kind: UserItemKind::ProfileValue,
            key: "3".to_owned(),
            document: Some(json!({"value": "*she*", "rendered_value": "<p><em>she</em></p>"})),
        };
        testing::realm(RealmPermissionSettings::default(), vec![answer])
    }

    #[test]
    fn a_user_has_every_key_clients_know() {
        let realm = realm();
        let form = UserObjectFields { client_gravatar: false, profile_data: true, is_active: true, address: true };
        assert_eq!(
            user_object(&realm, realm.user(UserId(4)).unwrap(), form),
            json!({
                "user_id": 4,
                "email": "User4@example.org",
                "delivery_email": "User4@example.org",
                "full_name": "User 4",
                "date_joined": "2027-01-15T07:43+00:00",
                "is_owner": false,
                "is_admin": false,
                "is_guest": false,
                "is_billing_admin": false,
                "is_bot": false,
                "bot_type": null,
                "bot_owner_id": null,
                "role": 400,
                "timezone": "",
                "avatar_url":
                    "https://secure.gravatar.com/avatar/82797019f038ab535a84c6591e7bc936?d=identicon&version=1",
                "avatar_version": 1,
                "is_active": true,
                "profile_data": {"3": {"value": "*she*", "rendered_value": "<p><em>she</em></p>"}},
            })
        );
    }

    #[test]
    fn each_role_has_its_words() {
        let realm = realm();
        let shown = Role::ALL.map(|role| {
            let shown = user_object(&realm, &testing::user(1, role), UserObjectFields::default());
            (shown["role"].clone(), ["is_owner", "is_admin", "is_guest"].map(|key| shown[key] == true))
        });
        assert_eq!(
            shown,
            [
                (json!(100), [true, true, false]),
                (json!(200), [false, true, false]),
                (json!(300), [false, false, false]),
                (json!(400), [false, false, false]),
                (json!(600), [false, false, true]),
            ]
        );
    }

    #[test]
    fn a_bot_names_its_kind_and_owner_and_answers_no_profile_field() {
        let realm = realm();
        let mut bot = testing::user(4, Role::Member);
        bot.bot = Some(BotProperties { kind: BotKind::OutgoingWebhook, owner_id: Some(UserId(2)) });
        let shown = user_object(&realm, &bot, UserObjectFields { profile_data: true, ..UserObjectFields::default() });
        assert_eq!(
            (&shown["is_bot"], &shown["bot_type"], &shown["bot_owner_id"]),
            (&json!(true), &json!(3), &json!(2))
        );
        assert_eq!((shown.get("profile_data"), shown.get("is_active")), (None, None));
    }

    #[test]
    fn a_client_works_out_the_usual_picture_but_not_an_uploaded_one() {
        let realm = realm();
        let mut ada = testing::user(4, Role::Member);
        let form = UserObjectFields { client_gravatar: true, ..UserObjectFields::default() };
        assert_eq!(user_object(&realm, &ada, form)["avatar_url"], Value::Null);
        assert!(avatar_urls(&ada).is_gravatar && message_sender(&ada).has_gravatar);
        ada.avatar_url = Some("/user_avatars/4.png".to_owned());
        assert_eq!(user_object(&realm, &ada, form)["avatar_url"], "/user_avatars/4.png");
        assert!(!avatar_urls(&ada).is_gravatar && !message_sender(&ada).has_gravatar);
    }

    #[test]
    fn the_case_of_an_address_does_not_change_the_picture() {
        let (mut lower, mut upper) = (testing::user(4, Role::Member), testing::user(4, Role::Member));
        lower.email = "ada@example.org".to_owned();
        upper.email = "ADA@Example.org".to_owned();
        assert_eq!(avatar_url(&lower), avatar_url(&upper));
    }
}
