//! The pictures of the organization itself: its icon, and its logos.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::require_administrator;
use crate::change::{Change, Commit};
use crate::event::{Audience, NewEvent};
use crate::organization::OrganizationError;
use crate::realm::Realm;
use crate::snapshot::RealmSnapshot;
use crate::user::User;

/// Where they are, relative to the realm's address.
pub const FOLDER: &str = "/user_avatars/1/realm";

/// An image of the organization: its icon or a logo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emblem {
    /// A square one, where there is little room.
    Icon,
    /// A wide one, where it stands on something light.
    Logo,
    /// The same where it stands on something dark.
    NightLogo,
}

impl Emblem {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Icon, Self::Logo, Self::NightLogo];

    /// Its name on the wire, and in the tables and files of an export.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Icon => "icon",
            Self::Logo => "logo",
            Self::NightLogo => "night_logo",
        }
    }
}

/// Addresses of the pictures an organization gave itself, relative to the realm's; `None` where it has the usual one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Emblems {
    /// Of [`Emblem::Icon`].
    pub icon: Option<String>,
    /// Of [`Emblem::Logo`].
    pub logo: Option<String>,
    /// Of [`Emblem::NightLogo`].
    pub night_logo: Option<String>,
}

impl Emblems {
    /// Returns where one is, if it is not the usual one.
    #[must_use]
    pub fn url(&self, emblem: Emblem) -> Option<&str> {
        match emblem {
            Emblem::Icon => self.icon.as_deref(),
            Emblem::Logo => self.logo.as_deref(),
            Emblem::NightLogo => self.night_logo.as_deref(),
        }
    }

    /// Returns where one comes from, in the letters of the wire: uploaded, generated, the server's.
    #[must_use]
    pub fn source(&self, emblem: Emblem) -> &'static str {
        match (self.url(emblem), emblem) {
            (Some(_), _) => "U",
            (None, Emblem::Icon) => "G",
            (None, Emblem::Logo | Emblem::NightLogo) => "D",
        }
    }

    /// These with another in place of one.
    #[must_use]
    pub fn with(self, emblem: Emblem, url: Option<String>) -> Self {
        match emblem {
            Emblem::Icon => Self { icon: url, ..self },
            Emblem::Logo => Self { logo: url, ..self },
            Emblem::NightLogo => Self { night_logo: url, ..self },
        }
    }
}

/// Gives the organization another picture, or with `None` the usual one, which is at `usual_url`, and tells everybody.
/// Returns where the one before was; nothing happens when it is the same.
///
/// # Errors
/// When the caller is no administrator, or there is no organization.
///
/// # Source
/// Not specified; who may, and what is told, as existing servers have it.
pub fn change(
    realm: &RealmSnapshot,
    caller: &User,
    (emblem, url): (Emblem, Option<&str>),
    usual_url: &str,
    commit: &mut Commit,
) -> Result<Option<String>, OrganizationError> {
    require_administrator(caller)?;
    let before = realm.realm().ok_or(OrganizationError::NoRealm)?;
    let last = before.emblems.url(emblem).map(str::to_owned);
    if last.as_deref() == url {
        return Ok(last);
    }
    let emblems = before.emblems.clone().with(emblem, url.map(str::to_owned));
    let name = emblem.name();
    let data: Value = [
        (format!("{name}_url"), Value::from(url.unwrap_or(usual_url))),
        (format!("{name}_source"), emblems.source(emblem).into()),
    ]
    .into_iter()
    .collect();
    let event = json!({"type": "realm", "op": "update_dict", "property": name, "data": data});
    commit.events.push(NewEvent::plain(Audience::Everyone, event));
    commit.changes.push(Change::Realm(Box::new(Realm { emblems, ..before.clone() })));
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::NotAllowed;
    use crate::event::{Body, EventRecord};
    use crate::id::{EventId, UserId};
    use crate::realm::Rules;
    use crate::testing;

    const USUAL: &str = "https://chat.example/usual.png";

    fn after(realm: &RealmSnapshot, wanted: (Emblem, Option<&str>)) -> (RealmSnapshot, Option<Value>, Option<String>) {
        let mut commit = Commit::default();
        let owner = realm.user(UserId(1)).unwrap();
        let last = change(realm, owner, wanted, USUAL, &mut commit).unwrap();
        let told = commit.events.pop().map(|event| match event.body {
            Body::Plain { event, .. } => event,
            other => unreachable!("{other:?}"),
        });
        let at = EventId(realm.at().0 + 1);
        (realm.with(&EventRecord::new(at, 0, commit.changes, None)), told, last)
    }

    #[test]
    fn a_picture_is_told_with_where_it_comes_from_and_the_others_stay() {
        let mut realm = testing::realm(Rules::default(), Vec::new());
        for (emblem, usual) in [(Emblem::Icon, "G"), (Emblem::Logo, "D"), (Emblem::NightLogo, "D")] {
            let name = emblem.name();
            let event = |url: &str, source: &str| {
                let data = json!({(format!("{name}_url")): url, (format!("{name}_source")): source});
                Some(json!({"type": "realm", "op": "update_dict", "property": name, "data": data}))
            };
            let (with_own, told, last) = after(&realm, (emblem, Some("/a.png")));
            assert_eq!((told, last), (event("/a.png", "U"), None));
            let (without, told, last) = after(&with_own, (emblem, None));
            assert_eq!((told, last), (event(USUAL, usual), Some("/a.png".to_owned())));
            assert_eq!(without.realm(), realm.realm());
            realm = with_own;
        }
        let emblems = &realm.realm().unwrap().emblems;
        assert!(Emblem::ALL.into_iter().all(|emblem| emblems.url(emblem) == Some("/a.png")), "{emblems:?}");
    }

    #[test]
    fn who_is_no_administrator_changes_no_picture_and_the_same_one_is_no_change() {
        let realm = testing::realm(Rules::default(), Vec::new());
        let mut commit = Commit::default();
        for id in [3, 4, 6] {
            let caller = realm.user(UserId(id)).unwrap();
            let refused = change(&realm, caller, (Emblem::Icon, Some("/a.png")), USUAL, &mut commit);
            assert_eq!(refused, Err(NotAllowed::AdministratorRequired.into()));
        }
        let administrator = realm.user(UserId(2)).unwrap();
        assert_eq!(change(&realm, administrator, (Emblem::Logo, None), USUAL, &mut commit), Ok(None));
        assert!(commit.changes.is_empty() && commit.events.is_empty());
    }

    #[test]
    fn an_organization_that_was_kept_before_it_could_have_pictures_has_the_usual_ones() {
        let mut kept = serde_json::to_value(testing::realm_of(Rules::default())).unwrap();
        kept.as_object_mut().unwrap().remove("emblems").unwrap();
        let realm: Realm = serde_json::from_value(kept).unwrap();
        assert_eq!(realm.emblems, Emblems::default());
    }
}
