//! The realm as a node knows it: everything permission checks ask for, in memory, changed only by the log.
//!
//! A snapshot is never written to. [`RealmSnapshot::after_record`] makes the next one; it shares with the one before
//! what did not change, so a change costs a copy of one map of pointers, and whoever reads the older one is
//! undisturbed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use crate::id::{ChannelId, EventId, UserGroupId, UserId};
use crate::markdown::NameDirectory;
use crate::model::channel::{Channel, ChannelMembership, Subscription, SubscriptionPeriod, channel_name_key};
use crate::model::email_address_visibility::EmailAddressVisibility;
use crate::model::group::{SystemGroup, UserGroup};
use crate::model::group_resolution::GroupResolution;
use crate::model::realm::{EditHistoryVisibility, Realm};
use crate::model::realm_change::{RealmChange, RealmItemKind, UserItemKind};
use crate::model::user::{KeyHash, KeyHasher, User, fold_case};

mod groups;
mod muting;

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
    /// given again: whoever still knows it means no other thing.
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

    fn apply(&mut self, at: EventId, change: RealmChange) {
        match change {
            RealmChange::Realm(realm) => self.realm = Some(Arc::from(realm)),
            RealmChange::User(user) => self.put_user(*user),
            RealmChange::Key { user_id, hash } => self.put_key(user_id, hash),
            RealmChange::Channel(channel) => self.put_channel(*channel),
            RealmChange::Subscription(subscription) => self.put_subscription(at, *subscription),
            RealmChange::Unsubscription { channel_id, user_id } => self.end_subscription(at, channel_id, user_id),
            RealmChange::ReceivedSince { channel_id, user_id, after } => self.begin_earlier(channel_id, user_id, after),
            RealmChange::Group(group) => {
                self.last_id = self.last_id.max(group.id.0);
                Arc::make_mut(&mut self.groups).insert(group.id, Arc::from(group));
                self.group_resolution = Arc::default();
            }
            RealmChange::GroupRemoved(id) => {
                Arc::make_mut(&mut self.groups).remove(&id);
                self.group_resolution = Arc::default();
            }
            RealmChange::Item { kind, id, document } => {
                let items = Arc::make_mut(&mut self.items);
                match document {
                    Some(document) => drop(items.insert((kind, id), Arc::new(document))),
                    None => drop(items.remove(&(kind, id))),
                }
            }
            RealmChange::UserItem { user_id, kind, key, document } => {
                if kind == UserItemKind::MutedUser {
                    let by = Arc::make_mut(&mut self.muted_by).entry(key.clone()).or_default();
                    if document.is_some() {
                        by.insert(user_id)
                    } else {
                        by.remove(&user_id)
                    };
                }
                let items = Arc::make_mut(Arc::make_mut(&mut self.user_items).entry(user_id).or_default());
                match document {
                    Some(document) => drop(items.insert((kind, key), Arc::new(document))),
                    None => drop(items.remove(&(kind, key))),
                }
                if kind == UserItemKind::Settings {
                    self.show_address(user_id);
                }
            }
        }
    }

    /// Takes from a user's preferences who is shown their address.
    fn show_address(&mut self, user_id: UserId) {
        let chosen = EmailAddressVisibility::of_user(self, user_id);
        let user = self.users.get(&user_id).filter(|user| user.address_visibility != chosen);
        if let Some(user) = user.map(|user| User { address_visibility: chosen, ..User::clone(user) }) {
            Arc::make_mut(&mut self.users).insert(user_id, Arc::new(user));
            // Messages name their senders by address.
            self.names_changed = self.at;
        }
    }

    fn put_user(&mut self, user: User) {
        let user = User { address_visibility: EmailAddressVisibility::of_user(self, user.id), ..user };
        self.last_id = self.last_id.max(user.id.0);
        let by_email = Arc::make_mut(&mut self.users_by_email);
        let by_name = Arc::make_mut(&mut self.users_by_name);
        if let Some(before) = self.users.get(&user.id) {
            by_email.remove(&before.email_key());
            if let Some(ids) = by_name.get_mut(&fold_case(&before.full_name)) {
                ids.remove(&user.id);
            }
        }
        by_email.insert(user.email_key(), user.id);
        by_name.entry(fold_case(&user.full_name)).or_default().insert(user.id);
        let (id, is_active) = (user.id, user.is_active);
        let was_active = self.is_active(id);
        Arc::make_mut(&mut self.users).insert(user.id, Arc::new(user));
        if was_active != is_active {
            self.count_subscriptions_of(id, is_active);
        }
    }

    fn is_active(&self, id: UserId) -> bool {
        self.users.get(&id).is_some_and(|user| user.is_active)
    }

    /// Adds the user to the counts of active subscribers of their channels, or takes them out.
    fn count_subscriptions_of(&mut self, user_id: UserId, is_active: bool) {
        let current = self.memberships_of_user(user_id).filter(|(_, membership)| membership.subscription.is_some());
        let channels: Vec<ChannelId> = current.map(|(id, _)| id).collect();
        for id in channels {
            self.count_active_subscriber(id, is_active);
        }
    }

    fn count_active_subscriber(&mut self, channel_id: ChannelId, is_more: bool) {
        let count = Arc::make_mut(&mut self.active_subscribers).entry(channel_id).or_default();
        *count = if is_more { count.saturating_add(1) } else { count.saturating_sub(1) };
    }

    fn put_key(&mut self, user_id: UserId, hash: KeyHash) {
        let before = Arc::make_mut(&mut self.keys).insert(user_id, hash);
        let by_key = Arc::make_mut(&mut self.users_by_key);
        if let Some(before) = before {
            by_key.remove(&before);
        }
        by_key.insert(hash, user_id);
    }

    fn put_channel(&mut self, channel: Channel) {
        self.last_id = self.last_id.max(channel.id.0);
        let by_name = Arc::make_mut(&mut self.channels_by_name);
        let archived_by_name = Arc::make_mut(&mut self.archived_by_name);
        if let Some(before) = self.channels.get(&channel.id) {
            let key = channel_name_key(&before.name);
            if by_name.get(&key) == Some(&channel.id) {
                by_name.remove(&key);
            }
            if let Some(ids) = archived_by_name.get_mut(&key) {
                ids.remove(&channel.id);
            }
        }
        let key = channel_name_key(&channel.name);
        if channel.is_archived {
            archived_by_name.entry(key).or_default().insert(channel.id);
        } else {
            by_name.insert(key, channel.id);
        }
        Arc::make_mut(&mut self.channels).insert(channel.id, Arc::new(channel));
    }

    fn put_subscription(&mut self, at: EventId, subscription: Subscription) {
        let (channel_id, user_id) = (subscription.channel_id, subscription.user_id);
        let map = Arc::make_mut(Arc::make_mut(&mut self.memberships).entry(user_id).or_default());
        let membership = map.entry(channel_id).or_default();
        if membership.spans.last().is_none_or(|span| span.until.is_some()) {
            membership.spans.push(SubscriptionPeriod { after: at, until: None });
        }
        let is_new = membership.subscription.replace(subscription).is_none();
        Arc::make_mut(Arc::make_mut(&mut self.subscribers).entry(channel_id).or_default()).insert(user_id);
        if is_new && self.is_active(user_id) {
            self.count_active_subscriber(channel_id, true);
        }
    }

    fn begin_earlier(&mut self, channel_id: ChannelId, user_id: UserId, after: EventId) {
        if let Some(map) = Arc::make_mut(&mut self.memberships).get_mut(&user_id)
            && let Some(membership) = Arc::make_mut(map).get_mut(&channel_id)
            && let Some(span) = membership.spans.last_mut().filter(|span| span.until.is_none())
        {
            span.after = span.after.min(after);
        }
    }

    fn end_subscription(&mut self, at: EventId, channel_id: ChannelId, user_id: UserId) {
        let mut was_subscribed = false;
        if let Some(map) = Arc::make_mut(&mut self.memberships).get_mut(&user_id)
            && let Some(membership) = Arc::make_mut(map).get_mut(&channel_id)
        {
            if let Some(span) = membership.spans.last_mut().filter(|span| span.until.is_none()) {
                span.until = Some(at);
            }
            was_subscribed = membership.subscription.take().is_some();
        }
        if was_subscribed && self.is_active(user_id) {
            self.count_active_subscriber(channel_id, false);
        }
        if let Some(users) = Arc::make_mut(&mut self.subscribers).get_mut(&channel_id) {
            Arc::make_mut(users).remove(&user_id);
        }
    }
}

/// The names messages are read against.
impl NameDirectory for RealmSnapshot {
    fn user_full_name(&self, id: UserId) -> Option<&str> {
        self.users.get(&id).map(|user| user.full_name.as_str())
    }

    fn receives_mention_notifications(&self, id: UserId) -> bool {
        self.users.get(&id).is_some_and(|user| user.is_active)
    }

    /// One in use, or where there is none one out of use.
    fn user_by_full_name(&self, full_name: &str) -> Option<(UserId, &str)> {
        let users =
            || self.users_by_name.get(&fold_case(full_name)).into_iter().flatten().filter_map(|id| self.users.get(id));
        let in_use = users().any(|user| user.is_active);
        let mut found = users().filter(|user| user.is_active == in_use);
        let user = found.next()?;
        found.next().is_none().then_some((user.id, user.full_name.as_str()))
    }

    fn group_by_name(&self, name: &str) -> Option<(UserGroupId, &str)> {
        let key = fold_case(name);
        let group = self
            .groups
            .values()
            .find(|group| group.system.is_none() && !group.is_deactivated && fold_case(&group.name) == key)?;
        Some((group.id, &group.name))
    }

    fn system_group_by_name(&self, name: &str) -> Option<UserGroupId> {
        Some(self.system_group(SystemGroup::from_wire_name(name)?)?.id)
    }

    fn system_group_display_name(&self, name: &str) -> Option<&'static str> {
        SystemGroup::from_wire_name(name).map(SystemGroup::display_name)
    }

    fn channel_id_by_name(&self, name: &str) -> Option<ChannelId> {
        self.channel_by_name(name).filter(|channel| channel.name == name).map(|channel| channel.id)
    }

    fn custom_emoji_url(&self, name: &str) -> Option<&str> {
        let text = |document: &Value, key: &str| document.get(key).and_then(Value::as_str).map(str::to_owned);
        let mut emoji =
            self.realm_items(RealmItemKind::Emoji).filter(|(_, emoji)| text(emoji, "name").as_deref() == Some(name));
        let (_, emoji) = emoji.find(|(_, emoji)| emoji.get("deactivated").and_then(Value::as_bool) != Some(true))?;
        emoji.get("source_url").and_then(Value::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_log::event::LogRecord;
    use crate::id::MessageId;
    use crate::model::channel::ChannelPrivacy;
    use crate::model::role::Role;
    use crate::testing;

    fn record(id: i64, changes: Vec<RealmChange>) -> LogRecord {
        LogRecord::new(EventId(id), 0, changes, None)
    }

    #[test]
    fn a_renamed_user_is_found_by_the_new_address_alone() {
        let user = testing::user(3, Role::Member);
        let before = RealmSnapshot::default().after_record(&record(1, vec![RealmChange::User(Box::new(user.clone()))]));
        let renamed = User { email: "New@x.org".to_owned(), ..user.clone() };
        let after = before.after_record(&record(2, vec![RealmChange::User(Box::new(renamed))]));
        assert!(after.user_by_email(&user.email).is_none());
        assert_eq!(after.user_by_email("nEW@X.org").map(|user| user.id), Some(UserId(3)));
        // The older snapshot is as it was.
        assert!(before.user_by_email(&user.email).is_some());
        assert_eq!((after.log_position(), after.changed_at(), after.nth_unused_id(1)), (EventId(2), EventId(2), 4));
    }

    #[test]
    fn a_record_is_applied_once() {
        let user = RealmChange::User(Box::new(testing::user(3, Role::Member)));
        let at_five = RealmSnapshot::default().after_record(&record(5, vec![user]));
        let later = at_five
            .after_record(&record(4, vec![RealmChange::GroupRemoved(UserGroupId(1))]))
            .after_record(&record(6, Vec::new()));
        assert_eq!((later.log_position(), later.changed_at()), (EventId(6), EventId(5)));
    }

    #[test]
    fn what_old_messages_show_changes_with_users_channels_and_linkifiers_alone() {
        let mut realm = RealmSnapshot::default();
        let linkifier = |kind| RealmChange::Item { kind, id: 1, document: None };
        for (id, change, is_of_names) in [
            (1, RealmChange::User(Box::new(testing::user(3, Role::Member))), true),
            (2, RealmChange::Channel(Box::new(testing::channel(8, ChannelPrivacy::Public))), true),
            (3, RealmChange::Subscription(Box::new(testing::subscription(8, 3))), false),
            (4, linkifier(RealmItemKind::Linkifier), true),
            (5, linkifier(RealmItemKind::Emoji), false),
            (6, RealmChange::GroupRemoved(UserGroupId(1)), false),
        ] {
            let before = realm.names_changed_at();
            realm = realm.after_record(&record(id, vec![change]));
            assert_eq!(realm.names_changed_at(), if is_of_names { EventId(id) } else { before }, "{id}");
        }
        let loaded = RealmSnapshot::from_stored_state(StoredRealmState {
            at: EventId(9),
            changed: EventId(6),
            ..StoredRealmState::default()
        });
        assert_eq!(loaded.names_changed_at(), EventId(6));
    }

    #[test]
    fn a_new_key_ends_the_one_before() {
        let keys = [KeyHash([1; 32]), KeyHash([2; 32])];
        let change = |key: &KeyHash| RealmChange::Key { user_id: UserId(3), hash: *key };
        let user = RealmChange::User(Box::new(testing::user(3, Role::Member)));
        let realm = RealmSnapshot::default().after_record(&record(1, vec![user, change(&keys[0])]));
        assert_eq!(realm.user_by_key_hash(&keys[0]).map(|user| user.id), Some(UserId(3)));
        let realm = realm.after_record(&record(2, vec![change(&keys[1])]));
        assert!(realm.user_by_key_hash(&keys[0]).is_none());
        assert_eq!(realm.user_by_key_hash(&keys[1]).map(|user| user.id), Some(UserId(3)));
    }

    #[test]
    fn who_leaves_and_comes_back_received_what_lay_between_not() {
        let join = || RealmChange::Subscription(Box::new(testing::subscription(8, 3)));
        let leave = RealmChange::Unsubscription { channel_id: ChannelId(8), user_id: UserId(3) };
        let mut realm = RealmSnapshot::default();
        for (id, change) in [(2, join()), (4, join()), (6, leave), (9, join())] {
            realm = realm.after_record(&record(id, vec![change]));
        }
        let membership = realm.membership(ChannelId(8), UserId(3)).unwrap();
        let received: Vec<i64> = (1..12).filter(|id| membership.was_subscribed_at(MessageId(*id))).collect();
        assert_eq!(received, [3, 4, 5, 6, 10, 11]);
        assert_eq!(realm.subscribers(ChannelId(8)).collect::<Vec<_>>(), [UserId(3)]);
    }

    #[test]
    fn a_name_two_users_share_names_nobody() {
        let named = |id| User { full_name: "Sam".to_owned(), ..testing::user(id, Role::Member) };
        let realm = RealmSnapshot::default().after_record(&record(1, vec![RealmChange::User(Box::new(named(3)))]));
        assert_eq!(realm.user_by_full_name("sam"), Some((UserId(3), "Sam")));
        let realm = realm.after_record(&record(2, vec![RealmChange::User(Box::new(named(4)))]));
        assert_eq!(realm.user_by_full_name("sam"), None);
    }
}
