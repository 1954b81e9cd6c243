//! The realm as a node knows it: everything that permission checks need, in memory, changed only by the log.
//!
//! A snapshot is never written to. [`RealmSnapshot::after_record`] makes the next one; it shares with the one before
//! what did not change, so a change costs a copy of one map of pointers, and a reader of the older one is
//! undisturbed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::id::{ChannelId, EventId, UserGroupId, UserId};
use crate::model::channel::{Channel, ChannelMembership, Subscription, SubscriptionPeriod, channel_name_key};
use crate::model::group::UserGroup;
use crate::model::group_resolution::GroupResolution;
use crate::model::realm::{EditHistoryVisibility, Realm};
use crate::model::realm_change::{RealmChange, RealmItemKind, UserItemKind};
use crate::model::user::{KeyHash, KeyHasher, User, fold_case};

mod apply;
mod groups;
mod muting;
mod names;

type Map<K, V> = Arc<HashMap<K, V>>;
type ItemKey = (RealmItemKind, i64);
type UserItemKey = (UserItemKind, String);

/// The state of the realm at one log position, in memory.
#[derive(Debug, Clone, Default)]
pub struct RealmSnapshot {
    at: EventId,
    key_hasher: KeyHasher,
    changed: EventId,
    names_changed: EventId,
    words_changed: EventId,
    rules_changed: EventId,
    last_id: i64,
    realm: Option<Arc<Realm>>,
    users: Map<UserId, Arc<User>>,
    users_by_email: Map<String, UserId>,
    users_by_name: Map<String, BTreeSet<UserId>>,
    users_by_key: Map<KeyHash, UserId>,
    keys: Map<UserId, KeyHash>,
    channels: Map<ChannelId, Arc<Channel>>,
    channels_by_name: Map<String, ChannelId>,
    /// Channels that earlier versions archived may share a name.
    archived_by_name: Map<String, BTreeSet<ChannelId>>,
    memberships: Map<UserId, Arc<BTreeMap<ChannelId, ChannelMembership>>>,
    subscribers: Map<ChannelId, Arc<BTreeSet<UserId>>>,
    /// How many of them have an active account.
    active_subscribers: Map<ChannelId, usize>,
    groups: Map<UserGroupId, Arc<UserGroup>>,
    /// What follows from `groups`, once a decision needed it.
    group_resolution: Arc<OnceLock<GroupResolution>>,
    items: Arc<BTreeMap<ItemKey, Arc<Value>>>,
    user_items: Map<UserId, Arc<BTreeMap<UserItemKey, Arc<Value>>>>,
    /// By the key of [`UserItemKind::MutedUser`].
    muted_by: Map<String, BTreeSet<UserId>>,
}

/// The state that a store read, from which a snapshot is made.
#[derive(Debug, Default)]
pub struct StoredRealmState {
    /// The last place of the log that is in it.
    pub at: EventId,
    /// The last place of the log that changed the realm.
    pub changed: EventId,
    /// The largest number given to a user, channel or group.
    pub last_id: i64,
    /// Everything there is, in any order, but without [`RealmChange::Subscription`]s of users who left.
    pub changes: Vec<RealmChange>,
    /// When users were in channels.
    pub spans: Vec<(ChannelId, UserId, SubscriptionPeriod)>,
    /// Makes the hashes of keys and of links that `changes` has.
    pub key_hasher: KeyHasher,
}

impl RealmSnapshot {
    /// Makes the snapshot from the state that a store read.
    #[must_use]
    pub fn from_stored_state(loaded: StoredRealmState) -> Self {
        let mut realm = Self::default();
        for change in loaded.changes {
            realm.apply(EventId::BEFORE_FIRST, change);
        }
        let memberships = Arc::make_mut(&mut realm.memberships);
        for map in memberships.values_mut() {
            for membership in Arc::make_mut(map).values_mut() {
                membership.spans.clear();
            }
        }
        for (channel_id, user_id, span) in loaded.spans {
            let map = Arc::make_mut(memberships.entry(user_id).or_default());
            map.entry(channel_id).or_default().spans.push(span);
        }
        let StoredRealmState { at, changed, last_id, key_hasher, .. } = loaded;
        let (names_changed, words_changed, rules_changed) = (changed, changed, changed);
        Self { at, key_hasher, changed, names_changed, words_changed, rules_changed, last_id, ..realm }
    }

    /// Returns the realm after the changes at this log position. A position that it includes already changes nothing.
    #[must_use]
    pub fn after_changes(&self, at: EventId, changes: &[RealmChange]) -> Self {
        let mut next = self.clone();
        if at > self.at {
            next.at = at;
            if !changes.is_empty() {
                next.changed = at;
            }
            if changes.iter().any(RealmChange::is_of_names) {
                next.names_changed = at;
            }
            if changes.iter().any(RealmChange::is_of_words) {
                next.words_changed = at;
            }
            if changes.iter().any(RealmChange::is_of_rules) {
                next.rules_changed = at;
            }
            for change in changes {
                next.apply(at, change.clone());
            }
        }
        next
    }

    /// Returns the log position of the snapshot: the last event included.
    #[must_use]
    pub fn log_position(&self) -> EventId {
        self.at
    }

    /// Returns the log position of the last change of the realm, on which decisions are based.
    #[must_use]
    pub fn changed_at(&self) -> EventId {
        self.changed
    }

    /// Returns the log position of the last change of how existing messages look: names and avatars of users, names of
    /// channels, links in topics. May be later than that change, never earlier.
    #[must_use]
    pub fn names_changed_at(&self) -> EventId {
        self.names_changed
    }

    /// Returns the log position of the last change of linkifiers or alert words, which every text is searched for. May
    /// be later than that change, never earlier.
    #[must_use]
    pub fn text_patterns_changed_at(&self) -> EventId {
        self.words_changed
    }

    /// Returns the log position of the last change of what users may do to messages; a decision on an older state is
    /// taken again. May be later than that change, never earlier.
    #[must_use]
    pub fn message_rules_changed_at(&self) -> EventId {
        self.rules_changed
    }

    /// Returns the `place`-th id (from 1) that no user, channel or group has had.
    #[must_use]
    pub fn nth_unused_id(&self, place: i64) -> i64 {
        self.last_id.saturating_add(place)
    }

    /// Returns the realm's own data; `None` before the realm was founded.
    #[must_use]
    pub fn realm(&self) -> Option<&Realm> {
        self.realm.as_deref()
    }

    /// Returns which earlier states of messages the organization shows.
    #[must_use]
    pub fn edit_history_visibility(&self) -> EditHistoryVisibility {
        self.realm().map_or(EditHistoryVisibility::All, |realm| realm.rules.edit_history_visibility)
    }

    /// Returns the user of that id, active or not.
    #[must_use]
    pub fn user(&self, id: UserId) -> Option<&Arc<User>> {
        self.users.get(&id)
    }

    /// Returns all users in no order.
    pub fn users(&self) -> impl Iterator<Item = &Arc<User>> {
        self.users.values()
    }

    /// Returns the user of that e-mail address, compared case-insensitively.
    #[must_use]
    pub fn user_by_email(&self, email: &str) -> Option<&Arc<User>> {
        self.user(*self.users_by_email.get(&fold_case(email))?)
    }

    /// Returns the hasher for API keys and link secrets of this realm.
    #[must_use]
    pub fn key_hasher(&self) -> &KeyHasher {
        &self.key_hasher
    }

    /// Returns the user whose API key has that hash.
    #[must_use]
    pub fn user_by_key_hash(&self, key: &KeyHash) -> Option<&Arc<User>> {
        self.user(*self.users_by_key.get(key)?)
    }

    /// Returns the channel of that id, archived or not.
    #[must_use]
    pub fn channel(&self, id: ChannelId) -> Option<&Arc<Channel>> {
        self.channels.get(&id)
    }

    /// Returns all channels in no order.
    pub fn channels(&self) -> impl Iterator<Item = &Arc<Channel>> {
        self.channels.values()
    }

    /// Returns the hash of a user's API key.
    #[must_use]
    pub fn key_hash_of_user(&self, user_id: UserId) -> Option<KeyHash> {
        self.keys.get(&user_id).copied()
    }

    /// Returns the active channel of that name, compared case-insensitively.
    #[must_use]
    pub fn channel_by_name(&self, name: &str) -> Option<&Arc<Channel>> {
        self.channel(*self.channels_by_name.get(&channel_name_key(name))?)
    }

    /// Returns the channel of that name, compared case-insensitively: the active one, else the archived one that was
    /// created last.
    #[must_use]
    pub fn channel_by_name_even_archived(&self, name: &str) -> Option<&Arc<Channel>> {
        let archived = || self.channel(*self.archived_by_name.get(&channel_name_key(name))?.last()?);
        self.channel_by_name(name).or_else(archived)
    }

    /// Returns a user's current and past subscriptions to a channel.
    #[must_use]
    pub fn membership(&self, channel_id: ChannelId, user_id: UserId) -> Option<&ChannelMembership> {
        self.memberships.get(&user_id)?.get(&channel_id)
    }

    /// Returns the channels that a user is or was subscribed to, with the membership, in ascending order.
    pub fn memberships_of_user(&self, user_id: UserId) -> impl Iterator<Item = (ChannelId, &ChannelMembership)> {
        self.memberships.get(&user_id).into_iter().flat_map(|map| map.iter().map(|(id, membership)| (*id, membership)))
    }

    /// Returns the user's current subscription to the channel.
    #[must_use]
    pub fn subscription(&self, channel_id: ChannelId, user_id: UserId) -> Option<&Subscription> {
        self.membership(channel_id, user_id)?.subscription.as_ref()
    }

    /// Returns whether the user is subscribed to the channel and it is not archived. Otherwise, what they received in
    /// it counts as read.
    #[must_use]
    pub fn can_have_unread(&self, channel_id: ChannelId, user_id: UserId) -> bool {
        self.channel(channel_id).is_some_and(|channel| !channel.is_archived)
            && self.subscription(channel_id, user_id).is_some()
    }

    /// Returns the subscribers of the channel, active or not, in ascending order.
    pub fn subscribers(&self, channel_id: ChannelId) -> impl Iterator<Item = UserId> {
        self.subscribers.get(&channel_id).into_iter().flat_map(|users| users.iter().copied())
    }

    /// Returns the number of subscribers of the channel.
    #[must_use]
    pub fn subscriber_count(&self, channel_id: ChannelId) -> usize {
        self.subscribers.get(&channel_id).map_or(0, |users| users.len())
    }

    /// Returns the number of subscribers of the channel whose accounts are active, bots included.
    #[must_use]
    pub fn active_subscriber_count(&self, channel_id: ChannelId) -> usize {
        self.active_subscribers.get(&channel_id).copied().unwrap_or(0)
    }

    /// Returns the document of a realm item of that kind and id.
    #[must_use]
    pub fn realm_item(&self, kind: RealmItemKind, id: i64) -> Option<&Value> {
        self.items.get(&(kind, id)).map(AsRef::as_ref)
    }

    /// Returns the documents of all realm items of a kind, with their ids in ascending order.
    pub fn realm_items(&self, kind: RealmItemKind) -> impl Iterator<Item = (i64, &Value)> {
        let range = self.items.range((kind, i64::MIN)..=(kind, i64::MAX));
        range.map(|((_, id), document)| (*id, document.as_ref()))
    }

    /// Returns an id that no realm item of the kind has had. Ids follow the log, so the id of a removed item is not
    /// reused and never means another item. Numbers follow the log, so that the number of one that was removed is not
    /// given again: an old reference to it means no other item.
    #[must_use]
    pub fn new_realm_item_id(&self, kind: RealmItemKind) -> i64 {
        let largest = self.realm_items(kind).map(|(id, _)| id).last().unwrap_or(0);
        largest.max(self.changed.0).saturating_add(1)
    }

    /// Returns the realm as it would be after uncommitted changes; it has no log position.
    #[must_use]
    pub fn preview_changes(&self, changes: &[RealmChange]) -> Self {
        let mut next = self.clone();
        for change in changes {
            next.apply(self.at, change.clone());
        }
        next
    }

    /// Returns the document of a user item of that kind and key.
    #[must_use]
    pub fn user_item(&self, user_id: UserId, kind: UserItemKind, key: &str) -> Option<&Value> {
        self.user_items.get(&user_id)?.get(&(kind, key.to_owned())).map(AsRef::as_ref)
    }

    /// Returns the documents of all user items of a kind, in the order of their keys.
    pub fn user_items(&self, user_id: UserId, kind: UserItemKind) -> impl Iterator<Item = (&str, &Value)> {
        let items = self.user_items.get(&user_id).into_iter();
        let items = items.flat_map(move |items| items.range((kind, String::new())..));
        items
            .take_while(move |((found, _), _)| *found == kind)
            .map(|((_, key), document)| (key.as_str(), document.as_ref()))
    }
}

#[cfg(test)]
mod tests;
