//! Navigation views: the entries a user shows or hides in the list of views of their clients.
//!
//! # Source
//! Not specified; feature level 390 of the API, as existing clients know it.

use serde_json::{Value, json};

use crate::event_log::event::{EventAudience, NewEvent};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::UserId;
use crate::limits::MAX_NAVIGATION_VIEWS;
use crate::model::realm_change::{RealmChange, UserItemKind};
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::wire_format::add;

/// Fragments of the views that every client has and names itself.
const BUILT_IN: [&str; 9] = [
    "inbox",
    "recent",
    "feed",
    "drafts",
    "narrow/has/reaction/sender/me",
    "narrow/is/mentioned",
    "narrow/is/starred",
    "scheduled",
    "reminders",
];

/// The reason why a navigation view stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NavigationViewError {
    /// A name for a view that clients name themselves.
    #[error("Built-in views cannot have a custom name.")]
    NameOfBuiltIn,
    /// No name for a view of the user's own.
    #[error("Custom views must have a valid name.")]
    Nameless,
    /// Another view of the user has the fragment or the name.
    #[error("Navigation view already exists.")]
    Taken,
    /// The user has no view of that fragment.
    #[error("Navigation view does not exist.")]
    NotFound,
    /// The user has [`MAX_NAVIGATION_VIEWS`] already.
    #[error("Too many navigation views (maximum {MAX_NAVIGATION_VIEWS}).")]
    TooMany,
}

/// A navigation view as a request describes it.
#[derive(Debug, Clone, Copy)]
pub struct NewNavigationView<'a> {
    /// The part of the address behind `#`.
    pub fragment: &'a str,
    /// Whether the view is shown first.
    pub is_pinned: bool,
    /// Its name, for a view of the user's own.
    pub name: Option<&'a str>,
}

/// The parts of a navigation view that a request changes. What is `None` stays.
#[derive(Debug, Clone, Copy, Default)]
pub struct NavigationViewUpdate<'a> {
    /// Whether the view is shown first.
    pub is_pinned: Option<bool>,
    /// Its name.
    pub name: Option<&'a str>,
}

/// Returns the navigation views of a user as clients see them, in the order of their fragments.
#[must_use]
pub fn list(realm: &RealmSnapshot, user_id: UserId) -> Vec<Value> {
    let views = realm.user_items(user_id, UserItemKind::NavigationView);
    views.map(|(fragment, document)| object(fragment, document)).collect()
}

/// Adds a navigation view.
///
/// # Errors
/// See [`NavigationViewError`].
pub fn create(
    realm: &RealmSnapshot,
    user: &User,
    view: NewNavigationView<'_>,
    commit: &mut RealmCommit,
) -> Result<(), NavigationViewError> {
    let NewNavigationView { fragment, is_pinned, name } = view;
    check_name(fragment, name)?;
    let mut views = realm.user_items(user.id, UserItemKind::NavigationView);
    let is_taken = views.any(|(other, _)| other == fragment) || is_name_taken(realm, user, fragment, name);
    if is_taken {
        return Err(NavigationViewError::Taken);
    }
    if realm.user_items(user.id, UserItemKind::NavigationView).count() >= MAX_NAVIGATION_VIEWS {
        return Err(NavigationViewError::TooMany);
    }
    let document = json!({"is_pinned": is_pinned, "name": name});
    let event = json!({"type": "navigation_view", "op": "add", "navigation_view": object(fragment, &document)});
    put(user, fragment, (Some(document), event), commit);
    Ok(())
}

/// Changes a navigation view. An update that changes nothing is reported to no client.
///
/// # Errors
/// See [`NavigationViewError`].
pub fn update(
    realm: &RealmSnapshot,
    user: &User,
    (fragment, update): (&str, NavigationViewUpdate<'_>),
    commit: &mut RealmCommit,
) -> Result<(), NavigationViewError> {
    let before = find(realm, user, fragment)?;
    let mut data = json!({});
    if let Some(name) = update.name {
        check_name(fragment, Some(name))?;
        if is_name_taken(realm, user, fragment, Some(name)) {
            return Err(NavigationViewError::Taken);
        }
        add(&mut data, json!({"name": name}));
    }
    if let Some(is_pinned) = update.is_pinned {
        add(&mut data, json!({"is_pinned": is_pinned}));
    }
    let mut after = before.clone();
    add(&mut after, data.clone());
    if after != *before {
        let event = json!({"type": "navigation_view", "op": "update", "fragment": fragment, "data": data});
        put(user, fragment, (Some(after), event), commit);
    }
    Ok(())
}

/// Removes a navigation view.
///
/// # Errors
/// [`NavigationViewError::NotFound`].
pub fn remove(
    realm: &RealmSnapshot,
    user: &User,
    fragment: &str,
    commit: &mut RealmCommit,
) -> Result<(), NavigationViewError> {
    find(realm, user, fragment)?;
    put(user, fragment, (None, json!({"type": "navigation_view", "op": "remove", "fragment": fragment})), commit);
    Ok(())
}

fn check_name(fragment: &str, name: Option<&str>) -> Result<(), NavigationViewError> {
    let is_blank = name.is_none_or(|name| name.trim().is_empty());
    match (BUILT_IN.contains(&fragment), name.is_some()) {
        (true, true) => Err(NavigationViewError::NameOfBuiltIn),
        (false, _) if is_blank => Err(NavigationViewError::Nameless),
        _ => Ok(()),
    }
}

fn is_name_taken(realm: &RealmSnapshot, user: &User, fragment: &str, name: Option<&str>) -> bool {
    let mut others = realm.user_items(user.id, UserItemKind::NavigationView).filter(|(other, _)| *other != fragment);
    name.is_some() && others.any(|(_, document)| document.get("name").and_then(Value::as_str) == name)
}

fn find<'a>(realm: &'a RealmSnapshot, user: &User, fragment: &str) -> Result<&'a Value, NavigationViewError> {
    realm.user_item(user.id, UserItemKind::NavigationView, fragment).ok_or(NavigationViewError::NotFound)
}

/// Writes the view down and notifies the user's own clients.
fn put(user: &User, fragment: &str, (document, event): (Option<Value>, Value), commit: &mut RealmCommit) {
    let (kind, key) = (UserItemKind::NavigationView, fragment.to_owned());
    commit.changes.push(RealmChange::UserItem { user_id: user.id, kind, key, document });
    commit.events.push(NewEvent::same_for_everyone(EventAudience::from_users([user.id]), event));
}

fn object(fragment: &str, document: &Value) -> Value {
    let mut object = json!({"fragment": fragment});
    add(&mut object, document.clone());
    object
}
