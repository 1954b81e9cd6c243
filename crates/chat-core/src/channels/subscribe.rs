//! Entering channels, and putting others into them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::create::{make, may_make};
use super::{ChannelContext, ChannelError, NewChannelSettings, add_channel_changes_with_events};
use crate::event_log::realm_commit::RealmCommit;
use crate::feature_level::FEATURE_LEVEL;
use crate::id::{ChannelId, UserId};
use crate::limits::MAX_SUBSCRIPTION_CHANGES_PER_REQUEST;
use crate::model::channel::{Channel, Subscription, channel_name_key, parse_channel_name};
use crate::model::email_address_visibility;
use crate::model::realm_change::RealmChange;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::permission::access;
use crate::permission::channel_membership::{
    MembershipChangeError, may_add_subscribers, may_add_subscribers_anywhere, may_subscribe,
};
use crate::wire_format::subscription::{default_subscription, subscriber_key};

/// A channel to subscribe to, created when it does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelToSubscribe {
    /// Its name.
    pub name: String,
    /// The color of the subscription; one not used yet when nothing is said.
    pub color: Option<String>,
    /// What it is for, if it has to be made.
    pub description: String,
}

/// The users whose subscriptions change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principals {
    /// The caller's.
    Caller,
    /// Those of these users.
    Ids(Vec<UserId>),
    /// Those of the users of these addresses.
    Emails(Vec<String>),
}

impl Principals {
    /// Returns the users, each once; the caller where none is named.
    ///
    /// # Errors
    /// When one is not there, or closed their account.
    pub fn resolve_users<'a>(&self, env: &ChannelContext<'a>) -> Result<Vec<&'a Arc<User>>, ChannelError> {
        let found: Vec<Option<&Arc<User>>> = match self {
            Self::Caller => vec![env.realm.user(env.caller.id)],
            Self::Ids(ids) => ids.iter().map(|id| env.realm.user(*id)).collect(),
            Self::Emails(emails) => emails
                .iter()
                .map(|email| email_address_visibility::find_user_by_visible_email(env.realm, env.caller, email))
                .collect(),
        };
        let mut seen = BTreeSet::new();
        let mut users = Vec::new();
        for user in found {
            let user = user.filter(|user| !user.is_system_bot()).ok_or(ChannelError::NoSuchUser)?;
            if !user.is_active {
                return Err(ChannelError::UserDeactivated);
            }
            if seen.insert(user.id) {
                users.push(user);
            }
        }
        Ok(users)
    }
}

/// A request to subscribe users to channels.
#[derive(Debug, Clone)]
pub struct SubscribeRequest {
    /// The channels; those that do not exist are made.
    pub channels: Vec<ChannelToSubscribe>,
    /// Who shall be in them.
    pub principals: Principals,
    /// What those are like that have to be made.
    pub manner: NewChannelSettings,
    /// Whether one channel that may not be entered refuses all.
    pub all_or_nothing: bool,
}

/// The outcome of a request to subscribe. Users are named as the reported level does ([`subscriber_key`]).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SubscribeOutcome {
    /// The channels each user is newly in.
    pub subscribed: BTreeMap<String, Vec<String>>,
    /// The channels each user was in already.
    pub already_subscribed: BTreeMap<String, Vec<String>>,
    /// The channels that may not be entered.
    pub unauthorized: Vec<String>,
}

/// Subscribes the caller or other users to channels, and creates the channels that do not exist.
///
/// # Errors
/// See [`ChannelError`]; nothing is to be written then.
pub fn subscribe_users(
    env: &ChannelContext<'_>,
    request: &SubscribeRequest,
    commit: &mut RealmCommit,
) -> Result<SubscribeOutcome, ChannelError> {
    access::require_member(env.caller)?;
    let users = request.principals.resolve_users(env)?;
    if users.len().saturating_mul(request.channels.len()) > MAX_SUBSCRIPTION_CHANGES_PER_REQUEST {
        return Err(ChannelError::TooMany);
    }
    let mut done = SubscribeOutcome::default();
    let mut changes = Vec::new();
    let permitted = permitted(env, request, &mut done, (&mut changes, commit))?;
    if users.iter().any(|user| user.id != env.caller.id) {
        may_add_subscribers_anywhere(env.realm, env.caller, commit.at_s)?;
        for door in permitted.iter().filter(|door| !door.is_new) {
            may_add_subscribers(env.realm, env.caller, &door.channel, commit.at_s)?;
        }
    }
    for user in users {
        enter(env.realm, user, &permitted, (&mut done, &mut changes));
    }
    add_channel_changes_with_events(env.realm, env.figures, changes, commit);
    Ok(done)
}

/// A channel that the users may be subscribed to.
struct PermittedChannel {
    channel: Channel,
    color: Option<String>,
    is_new: bool,
}

/// Returns the channels of the request that may be entered, each once. Those that are created are among the changes.
fn permitted(
    env: &ChannelContext<'_>,
    request: &SubscribeRequest,
    done: &mut SubscribeOutcome,
    (changes, commit): (&mut Vec<RealmChange>, &RealmCommit),
) -> Result<Vec<PermittedChannel>, ChannelError> {
    let mut permitted = Vec::new();
    let mut seen = BTreeSet::new();
    let mut place = 0;
    for target in &request.channels {
        let name = parse_channel_name(&target.name)?;
        if !seen.insert(channel_name_key(name)) {
            continue;
        }
        let color = target.color.clone();
        if let Some(channel) = named(env, name) {
            match may_subscribe(env.realm, env.caller, channel) {
                Ok(()) => permitted.push(PermittedChannel { channel: Channel::clone(channel), color, is_new: false }),
                // What is said of a channel that may not be seen is what the caller typed.
                Err(_) if request.all_or_nothing => {
                    return Err(MembershipChangeError::NotAccessible(name.to_owned()).into());
                }
                Err(_) => done.unauthorized.push(name.to_owned()),
            }
            continue;
        }
        let privacy = may_make(env, &request.manner, commit.at_s)?;
        place += 1;
        let id = ChannelId(env.realm.nth_unused_id(place));
        let (channel, made) = make(env, (id, privacy), (name, &target.description), &request.manner, commit)?;
        changes.extend(made);
        permitted.push(PermittedChannel { channel, color, is_new: true });
    }
    Ok(permitted)
}

/// Returns the channel of that name: the active one, else an archived one that the caller may subscribe to. The name of
/// another archived channel is free, as it was before archived channels could be subscribed to.
fn named<'a>(env: &ChannelContext<'a>, name: &str) -> Option<&'a Arc<Channel>> {
    let channel = env.realm.channel_by_name_even_archived(name)?;
    let is_open = !channel.is_archived || may_subscribe(env.realm, env.caller, channel).is_ok();
    is_open.then_some(channel)
}

fn enter(
    realm: &RealmSnapshot,
    user: &User,
    permitted: &[PermittedChannel],
    (done, changes): (&mut SubscribeOutcome, &mut Vec<RealmChange>),
) {
    let mut colors = ChannelColors::of(realm, user.id);
    for PermittedChannel { channel, color, .. } in permitted {
        let inside = realm.subscription(channel.id, user.id).is_some();
        let list = if inside { &mut done.already_subscribed } else { &mut done.subscribed };
        list.entry(subscriber_key(FEATURE_LEVEL, user)).or_default().push(channel.name.clone());
        if !inside {
            let color = color.clone().unwrap_or_else(|| colors.next());
            changes.push(RealmChange::Subscription(Box::new(Subscription {
                color,
                ..default_subscription(channel, user.id)
            })));
        }
    }
}

/// Returns the subscription of a user to a new channel, with a color that they have not seen yet.
pub(super) fn new_subscription(realm: &RealmSnapshot, user: &User, channel: &Channel) -> RealmChange {
    let color = ChannelColors::of(realm, user.id).next();
    RealmChange::Subscription(Box::new(Subscription { color, ..default_subscription(channel, user.id) }))
}

/// Colors for subscriptions, those first that the user has not seen yet.
struct ChannelColors {
    used: BTreeSet<String>,
    given: usize,
}

/// Not specified; colors that are distinguished beside each other, on light and on dark ground.
const COLORS: [&str; 16] = [
    "#4f8de4", "#e0803c", "#58a866", "#c95f9e", "#8a6fd1", "#c4a93a", "#3fa7a3", "#d2605a", "#7f9f3f", "#5c6fc4",
    "#b5774a", "#4a9cc9", "#a34fb0", "#6b8e7d", "#cf8fb4", "#8c8c8c",
];

impl ChannelColors {
    fn of(realm: &RealmSnapshot, user_id: UserId) -> Self {
        let subscriptions =
            realm.memberships_of_user(user_id).filter_map(|(_, membership)| membership.subscription.as_ref());
        let used: BTreeSet<_> = subscriptions.map(|subscription| subscription.color.to_lowercase()).collect();
        let given = used.len();
        Self { used, given }
    }

    fn next(&mut self) -> String {
        let free = COLORS.into_iter().find(|color| !self.used.contains(*color));
        let color = free.or_else(|| COLORS.get(self.given % COLORS.len()).copied()).unwrap_or_default();
        self.given += 1;
        self.used.insert(color.to_owned());
        color.to_owned()
    }
}

#[cfg(test)]
mod tests;
