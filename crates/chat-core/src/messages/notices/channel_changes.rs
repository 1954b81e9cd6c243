//! Notices about channels: created, announced, renamed, described or opened otherwise, and whom others subscribed.

use std::collections::BTreeMap;

use super::markup::{bold, channel_link, quote, silent_mention};
use super::{CHANNEL_EVENTS_TOPIC, MAX_NOTICES_PER_REQUEST, Notice, send_all};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::{ChannelId, UserId};
use crate::messages::workflow_context::MessageWorkflowContext;
use crate::model::channel::{Channel, ChannelPrivacy};
use crate::model::realm_change::RealmChange;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::organization::system_bots::SystemBot;

/// The topic of announcements of new channels.
const NEW_CHANNELS_TOPIC: &str = "new channels";

/// The changes of channels that a commit makes and notices report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelChanges {
    created: Vec<Channel>,
    /// Each channel before and after.
    changed: Vec<(Channel, Channel)>,
    /// The channels that users are newly subscribed to, without those that are new themselves.
    subscribed: BTreeMap<UserId, Vec<ChannelId>>,
}

impl ChannelChanges {
    /// Returns the changes of channels that a commit makes to the realm.
    #[must_use]
    pub fn of_commit(realm: &RealmSnapshot, commit: &RealmCommit) -> Self {
        let mut found = Self::default();
        for change in &commit.changes {
            match change {
                RealmChange::Channel(channel) => match realm.channel(channel.id) {
                    None => found.created.push(Channel::clone(channel)),
                    Some(before) => found.changed.push((Channel::clone(before), Channel::clone(channel))),
                },
                RealmChange::Subscription(subscription)
                    if realm.channel(subscription.channel_id).is_some()
                        && realm.subscription(subscription.channel_id, subscription.user_id).is_none() =>
                {
                    found.subscribed.entry(subscription.user_id).or_default().push(subscription.channel_id);
                }
                _ => {}
            }
        }
        found
    }
}

/// The notices about channels that a request wants, besides those inside the channels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChannelNoticeOptions {
    /// Whether new channels are announced where the organization announces them: `announce`.
    pub announces: bool,
    /// Whether subscribed users get a message: `send_new_subscription_messages` (level 397).
    pub tells_subscribers: bool,
}

/// The notices that were sent about channels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SentNotices {
    /// Whether messages to subscribed users were wanted, and not more than [`MAX_NOTICES_PER_REQUEST`] users were
    /// subscribed.
    pub told_subscribers: bool,
}

/// Sends the notices about what `actor` changed.
pub async fn report_channel_changes(
    ports: &MessageWorkflowContext<'_>,
    actor: &User,
    changes: &ChannelChanges,
    options: ChannelNoticeOptions,
) -> SentNotices {
    let told_subscribers = options.tells_subscribers && changes.subscribed.len() <= MAX_NOTICES_PER_REQUEST;
    let realm = ports.snapshot();
    if SystemBot::Notification.find(&realm).is_some() {
        let mut notices = about_created(&realm, actor, &changes.created, options.announces);
        notices.extend(changes.changed.iter().flat_map(|(before, after)| about_changed(actor, before, after)));
        if told_subscribers {
            notices.extend(to_subscribers(&realm, actor, &changes.subscribed));
        }
        send_all(ports, &notices).await;
    }
    SentNotices { told_subscribers }
}

fn about_created(realm: &RealmSnapshot, actor: &User, created: &[Channel], announces: bool) -> Vec<Notice> {
    if created.len() > MAX_NOTICES_PER_REQUEST {
        return Vec::new();
    }
    let there = realm.realm().and_then(|realm| realm.rules.new_channel_announcements).filter(|_| announces);
    let mut notices: Vec<_> = created.iter().map(|channel| created_notice(actor, channel)).collect();
    let open = || created.iter().filter(|channel| !channel.privacy.is_invite_only());
    notices.extend(there.into_iter().flat_map(|there| {
        let announcement =
            move |channel| format!("{} created a new channel {}.", silent_mention(actor), channel_link(channel));
        open().map(move |channel| Notice::in_topic(there, NEW_CHANNELS_TOPIC, announcement(channel)))
    }));
    notices
}

fn created_notice(actor: &User, channel: &Channel) -> Notice {
    let mut content = format!("{} created this channel: **{}**.", silent_mention(actor), privacy_name(channel.privacy));
    if !channel.description.is_empty() {
        content.push_str(" Its description:\n");
        content.push_str(&quote(&channel.description));
    }
    Notice::in_topic(channel.id, CHANNEL_EVENTS_TOPIC, content)
}

fn about_changed(actor: &User, before: &Channel, after: &Channel) -> Vec<Notice> {
    let (actor, mut texts) = (silent_mention(actor), Vec::new());
    if after.is_archived {
        return Vec::new();
    }
    if before.name != after.name {
        texts.push(format!("{actor} renamed this channel from {} to {}.", bold(&before.name), bold(&after.name)));
    }
    if before.privacy != after.privacy {
        let [old, new] = [before, after].map(|channel| privacy_name(channel.privacy));
        texts.push(format!("{actor} changed who can read this channel from **{old}** to **{new}**."));
    }
    if before.description != after.description {
        let [old, new] = [before, after].map(|channel| described(&channel.description));
        texts.push(format!("{actor} changed the description of this channel.\n\nBefore:\n{old}\n\nNow:\n{new}"));
    }
    texts.into_iter().map(|text| Notice::in_topic(after.id, CHANNEL_EVENTS_TOPIC, text)).collect()
}

fn described(description: &str) -> String {
    if description.is_empty() { "*No description.*".to_owned() } else { quote(description) }
}

fn privacy_name(privacy: ChannelPrivacy) -> &'static str {
    match privacy {
        ChannelPrivacy::WebPublic => "Web-public",
        ChannelPrivacy::Public => "Public",
        ChannelPrivacy::PrivateSharedHistory => "Private, shared history",
        ChannelPrivacy::PrivateProtectedHistory => "Private, protected history",
    }
}

/// Returns a message to each person whom the actor subscribed. Bots and the actor get none.
fn to_subscribers(realm: &RealmSnapshot, actor: &User, subscribed: &BTreeMap<UserId, Vec<ChannelId>>) -> Vec<Notice> {
    let people = subscribed.iter().filter(|(user_id, _)| {
        **user_id != actor.id && realm.user(**user_id).is_some_and(|user| user.is_active && user.bot.is_none())
    });
    let text = |channels: &[ChannelId]| {
        let links: Vec<_> =
            channels.iter().filter_map(|id| realm.channel(*id)).map(|channel| channel_link(channel)).collect();
        match &links[..] {
            [] => None,
            [one] => Some(format!("{} subscribed you to the channel {one}.", silent_mention(actor))),
            several => Some(format!(
                "{} subscribed you to these channels:\n\n* {}",
                silent_mention(actor),
                several.join("\n* ")
            )),
        }
    };
    people.filter_map(|(user_id, channels)| Some(Notice::to_user(*user_id, text(channels)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::realm::RealmPermissionSettings;
    use crate::model::role::Role;
    use crate::testing;

    fn realm() -> RealmSnapshot {
        let channel = |id| RealmChange::Channel(Box::new(testing::channel(id, ChannelPrivacy::Public)));
        let rules = RealmPermissionSettings {
            new_channel_announcements: Some(ChannelId(20)),
            ..RealmPermissionSettings::default()
        };
        testing::realm(rules, vec![channel(20), channel(21)])
    }

    fn texts(notices: &[Notice]) -> Vec<&str> {
        notices.iter().map(|notice| notice.content.as_str()).collect()
    }

    #[test]
    fn a_private_channel_is_not_announced() {
        let private = testing::channel(30, ChannelPrivacy::PrivateSharedHistory);
        let public = Channel { description: "all **news**".to_owned(), ..testing::channel(31, ChannelPrivacy::Public) };
        let actor = testing::user(4, Role::Member);
        let created = [private, public];
        let notices = about_created(&realm(), &actor, &created, true);
        let expected = [
            "@_**User 4|4** created this channel: **Private, shared history**.",
            "@_**User 4|4** created this channel: **Public**. Its description:\n````quote\nall **news**\n````",
            "@_**User 4|4** created a new channel #**Channel 31**.",
        ];
        assert_eq!(texts(&notices), expected);
        assert_eq!(texts(&about_created(&realm(), &actor, &created, false)), expected[..2]);
        let many = vec![testing::channel(30, ChannelPrivacy::Public); MAX_NOTICES_PER_REQUEST + 1];
        assert!(about_created(&realm(), &actor, &many, true).is_empty());
    }

    #[test]
    fn each_change_of_a_channel_has_its_notice() {
        let before = testing::channel(20, ChannelPrivacy::Public);
        let actor = testing::user(4, Role::Member);
        assert!(about_changed(&actor, &before, &Channel { folder_id: Some(1), ..before.clone() }).is_empty());
        let privacy = ChannelPrivacy::PrivateSharedHistory;
        let (name, description) = ("@**all**".to_owned(), "x".to_owned());
        let after = Channel { name, description, privacy, ..before.clone() };
        let expected = [
            "@_**User 4|4** renamed this channel from **Channel 20** to **@all**.",
            "@_**User 4|4** changed who can read this channel from **Public** to **Private, shared history**.",
            "@_**User 4|4** changed the description of this channel.\n\nBefore:\n*No description.*\n\nNow:\n````quote\nx\n````",
        ];
        assert_eq!(texts(&about_changed(&actor, &before, &after)), expected);
        assert!(about_changed(&actor, &before, &Channel { is_archived: true, ..after }).is_empty());
    }

    #[test]
    fn those_whom_others_subscribe_are_told_once() {
        let (realm, actor) = (realm(), testing::user(4, Role::Member));
        let both = vec![ChannelId(20), ChannelId(21)];
        let subscribed =
            BTreeMap::from([(UserId(1), both.clone()), (UserId(2), vec![ChannelId(20)]), (actor.id, both)]);
        let notices = to_subscribers(&realm, &actor, &subscribed);
        let expected = [
            "@_**User 4|4** subscribed you to these channels:\n\n* #**Channel 20**\n* #**Channel 21**",
            "@_**User 4|4** subscribed you to the channel #**Channel 20**.",
        ];
        assert_eq!(texts(&notices), expected);
    }

    #[test]
    fn a_commit_says_what_it_creates_changes_and_whom_it_subscribes() {
        let realm = realm();
        let mut commit = RealmCommit::default();
        let (new, renamed) =
            (testing::channel(30, ChannelPrivacy::Public), testing::channel(20, ChannelPrivacy::WebPublic));
        commit.changes.extend([new.clone(), renamed.clone()].map(|channel| RealmChange::Channel(Box::new(channel))));
        let subscribed = [(30, 1), (20, 1)].map(|(channel, user)| testing::subscription(channel, user));
        commit.changes.extend(subscribed.map(|subscription| RealmChange::Subscription(Box::new(subscription))));
        let before = realm.channel(ChannelId(20)).unwrap().as_ref().clone();
        let expected = ChannelChanges {
            created: vec![new],
            changed: vec![(before, renamed)],
            subscribed: BTreeMap::from([(UserId(1), vec![ChannelId(20)])]),
        };
        assert_eq!(ChannelChanges::of_commit(&realm, &commit), expected);
    }
}
