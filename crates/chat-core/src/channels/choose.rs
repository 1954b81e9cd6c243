//! What a user chooses for a channel they are in.

use std::collections::BTreeMap;

use super::{ChannelContext, ChannelError, add_channel_changes_with_events};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::ChannelId;
use crate::model::channel::Subscription;
use crate::model::realm_change::RealmChange;
use crate::permission::access;

/// One change of a subscription's property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubscriptionPropertyChange {
    /// The color, as written.
    Color(String),
    /// Whether it is muted.
    Muted(bool),
    /// Whether it stands above the others.
    Pinned(bool),
    /// Notifications on the desktop. `None` here and in the following follows the user's own settings.
    Desktop(Option<bool>),
    /// Notifications with a sound.
    Audible(Option<bool>),
    /// Notifications on the telephone.
    Push(Option<bool>),
    /// Notifications by mail.
    Email(Option<bool>),
    /// Notifications when everybody is mentioned.
    WildcardMentions(Option<bool>),
}

impl SubscriptionPropertyChange {
    fn apply(&self, subscription: &mut Subscription) {
        let notifications = &mut subscription.notifications;
        match self {
            Self::Color(color) => subscription.color.clone_from(color),
            Self::Muted(muted) => subscription.is_muted = *muted,
            Self::Pinned(pinned) => subscription.pin_to_top = *pinned,
            Self::Desktop(on) => notifications.desktop = *on,
            Self::Audible(on) => notifications.audible = *on,
            Self::Push(on) => notifications.push = *on,
            Self::Email(on) => notifications.email = *on,
            Self::WildcardMentions(on) => notifications.wildcard_mentions = *on,
        }
    }
}

/// Changes properties of the caller's subscriptions, in the given order. Values that are set already change nothing.
///
/// # Errors
/// When the caller is not in one of the channels; nothing is to be written then.
pub fn change_subscription_properties(
    env: &ChannelContext<'_>,
    choices: &[(ChannelId, SubscriptionPropertyChange)],
    commit: &mut RealmCommit,
) -> Result<(), ChannelError> {
    let mut chosen: BTreeMap<ChannelId, Subscription> = BTreeMap::new();
    for (id, choice) in choices {
        let channel = access::find_visible_channel(env.realm, env.caller, *id)?;
        let before = env.realm.subscription(channel.id, env.caller.id).ok_or(ChannelError::NotSubscribed(*id))?;
        choice.apply(chosen.entry(*id).or_insert_with(|| before.clone()));
    }
    let differs = |subscription: &Subscription| {
        env.realm.subscription(subscription.channel_id, env.caller.id) != Some(subscription)
    };
    let changes =
        chosen.into_values().filter(differs).map(|chosen| RealmChange::Subscription(Box::new(chosen))).collect();
    add_channel_changes_with_events(env.realm, env.figures, changes, commit);
    Ok(())
}
