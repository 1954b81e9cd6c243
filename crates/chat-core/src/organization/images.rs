//! The pictures of the organization itself: its icon, and its logos.

use serde_json::{Value, json};

use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::model::organization_image::OrganizationImage;
use crate::model::realm::Realm;
use crate::model::realm_change::RealmChange;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::organization::settings::OrganizationError;
use crate::permission::access::require_administrator;

/// The folder of organization images, relative to the realm's URL.
pub const ORGANIZATION_IMAGE_FOLDER: &str = "/user_avatars/1/realm";

/// Replaces an image of the organization, or with `None` restores the default one at `usual_url`, and notifies all
/// users. Returns the URL of the previous image; the same image changes nothing.
///
/// # Errors
/// When the caller is no administrator, or there is no organization.
///
/// # Source
/// Not specified; who may, and the event, as existing servers have it.
pub fn change_organization_image(
    realm: &RealmSnapshot,
    caller: &User,
    (image, url): (OrganizationImage, Option<&str>),
    usual_url: &str,
    commit: &mut RealmCommit,
) -> Result<Option<String>, OrganizationError> {
    require_administrator(caller)?;
    let before = realm.realm().ok_or(OrganizationError::NoRealm)?;
    let last = before.images.uploaded_url(image).map(str::to_owned);
    if last.as_deref() == url {
        return Ok(last);
    }
    let images = before.images.clone().with_image_url(image, url.map(str::to_owned));
    let name = image.wire_name();
    let data: Value = [
        (format!("{name}_url"), Value::from(url.unwrap_or(usual_url))),
        (format!("{name}_source"), images.wire_source(image).into()),
    ]
    .into_iter()
    .collect();
    let event = json!({"type": "realm", "op": "update_dict", "property": name, "data": data});
    commit.events.push(NewEvent::same_for_everyone(EventAudience::Everyone, event));
    commit.changes.push(RealmChange::Realm(Box::new(Realm { images, ..before.clone() })));
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::event::{EventBody, LogRecord};
    use crate::id::{EventId, UserId};
    use crate::model::organization_image::OrganizationImageUrls;
    use crate::model::realm::RealmPermissionSettings;
    use crate::permission::access::PermissionError;
    use crate::testing;

    const USUAL: &str = "https://chat.example/usual.png";

    fn after(
        realm: &RealmSnapshot,
        requested: (OrganizationImage, Option<&str>),
    ) -> (RealmSnapshot, Option<Value>, Option<String>) {
        let mut commit = RealmCommit::default();
        let owner = realm.user(UserId(1)).unwrap();
        let last = change_organization_image(realm, owner, requested, USUAL, &mut commit).unwrap();
        let event_json = commit.events.pop().map(|event| match event.body {
            EventBody::Plain { event, .. } => event,
            other => unreachable!("{other:?}"),
        });
        let at = EventId(realm.log_position().0 + 1);
        (realm.after_record(&LogRecord::new(at, 0, commit.changes, None)), event_json, last)
    }

    #[test]
    fn a_picture_is_told_with_where_it_comes_from_and_the_others_stay() {
        let mut realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        for (image, usual) in
            [(OrganizationImage::Icon, "G"), (OrganizationImage::Logo, "D"), (OrganizationImage::NightLogo, "D")]
        {
            let name = image.wire_name();
            let event = |url: &str, source: &str| {
                let data = json!({(format!("{name}_url")): url, (format!("{name}_source")): source});
                Some(json!({"type": "realm", "op": "update_dict", "property": name, "data": data}))
            };
            let (with_own, event_json, last) = after(&realm, (image, Some("/a.png")));
            assert_eq!((event_json, last), (event("/a.png", "U"), None));
            let (without, event_json, last) = after(&with_own, (image, None));
            assert_eq!((event_json, last), (event(USUAL, usual), Some("/a.png".to_owned())));
            assert_eq!(without.realm(), realm.realm());
            realm = with_own;
        }
        let images = &realm.realm().unwrap().images;
        assert!(
            OrganizationImage::ALL.into_iter().all(|image| images.uploaded_url(image) == Some("/a.png")),
            "{images:?}"
        );
    }

    #[test]
    fn who_is_no_administrator_changes_no_picture_and_the_same_one_is_no_change() {
        let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
        let mut commit = RealmCommit::default();
        for id in [3, 4, 6] {
            let caller = realm.user(UserId(id)).unwrap();
            let refused = change_organization_image(
                &realm,
                caller,
                (OrganizationImage::Icon, Some("/a.png")),
                USUAL,
                &mut commit,
            );
            assert_eq!(refused, Err(PermissionError::AdministratorRequired.into()));
        }
        let administrator = realm.user(UserId(2)).unwrap();
        assert_eq!(
            change_organization_image(&realm, administrator, (OrganizationImage::Logo, None), USUAL, &mut commit),
            Ok(None)
        );
        assert!(commit.changes.is_empty() && commit.events.is_empty());
    }

    #[test]
    fn an_organization_that_was_kept_before_it_could_have_pictures_has_the_usual_ones() {
        let mut kept = serde_json::to_value(testing::realm_of(RealmPermissionSettings::default())).unwrap();
        kept.as_object_mut().unwrap().remove("emblems").unwrap();
        let realm: Realm = serde_json::from_value(kept).unwrap();
        assert_eq!(realm.images, OrganizationImageUrls::default());
    }
}
