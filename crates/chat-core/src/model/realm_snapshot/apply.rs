//! Applying one change to a snapshot that is being made.

use std::sync::Arc;

use super::RealmSnapshot;
use crate::id::{ChannelId, EventId, UserId};
use crate::model::channel::{Channel, Subscription, SubscriptionPeriod, channel_name_key};
use crate::model::email_address_visibility::EmailAddressVisibility;
use crate::model::realm_change::{RealmChange, UserItemKind};
use crate::model::user::{KeyHash, User, fold_case};

impl RealmSnapshot {
    /// Applies one change, which is at this log position.
    pub(super) fn apply(&mut self, at: EventId, change: RealmChange) {
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
