//! The picture a user gives themselves.

use serde_json::json;

use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::model::realm_change::RealmChange;
use crate::model::user::User;
use crate::wire_format;

/// The folder of user avatars, relative to the realm's URL.
pub const AVATAR_IMAGE_FOLDER: &str = "/user_avatars/1";

/// Replaces a user's avatar, or with `None` restores the default one, and notifies all users. An avatar that is theirs
/// already changes nothing.
pub fn change_avatar(user: &User, url: Option<String>, commit: &mut RealmCommit) {
    if user.avatar_url == url {
        return;
    }
    let user = User { avatar_url: url, avatar_version: user.avatar_version.saturating_add(1), ..user.clone() };
    commit.events.push(avatar_event(&user));
    commit.changes.push(RealmChange::User(Box::new(user)));
}

/// Notifies all users of the user's new picture.
pub(crate) fn avatar_event(user: &User) -> NewEvent {
    let avatar = wire_format::avatar_urls(user);
    let person = json!({
        "user_id": user.id,
        "avatar_source": if avatar.is_gravatar { "G" } else { "U" },
        "avatar_url": avatar.url,
        "avatar_url_medium": avatar.medium_url,
        "avatar_version": user.avatar_version,
    });
    NewEvent::same_for_everyone(
        EventAudience::Everyone,
        json!({"type": "realm_user", "op": "update", "person": person}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::role::Role;
    use crate::testing;

    #[test]
    fn a_new_picture_is_told_in_both_sizes_with_a_new_version() {
        let user = testing::user(4, Role::Member);
        let mut commit = RealmCommit::default();
        change_avatar(&user, Some("/user_avatars/1/a.png".to_owned()), &mut commit);
        let body = serde_json::to_value(&commit.events[0].body).unwrap();
        let person = json!({
            "user_id": 4,
            "avatar_source": "U",
            "avatar_url": "/user_avatars/1/a.png",
            "avatar_url_medium": "/user_avatars/1/a-medium.png",
            "avatar_version": 2,
        });
        assert_eq!(body["plain"]["event"]["person"], person);
        let [RealmChange::User(after)] = commit.changes.as_slice() else { panic!("{:?}", commit.changes) };
        let mut back = RealmCommit::default();
        change_avatar(after, None, &mut back);
        let body = serde_json::to_value(&back.events[0].body).unwrap();
        assert_eq!(body["plain"]["event"]["person"]["avatar_source"], "G");
        assert_eq!(body["plain"]["event"]["person"]["avatar_version"], 3);
    }

    #[test]
    fn who_has_the_usual_picture_keeps_it_in_silence() {
        let mut commit = RealmCommit::default();
        change_avatar(&testing::user(4, Role::Member), None, &mut commit);
        assert!(commit.changes.is_empty() && commit.events.is_empty());
    }
}
