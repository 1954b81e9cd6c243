//! Messages when a user joins: one to the user, and one where the organization announces it.

use super::markup::silent_mention;
use super::{Notice, send_notice};
use crate::id::UserId;
use crate::messages::workflow_context::MessageWorkflowContext;
use crate::model::realm_snapshot::RealmSnapshot;
use crate::model::user::User;
use crate::organization::system_bots::SystemBot;

/// The topic of announcements of new users.
const SIGNUPS_TOPIC: &str = "signups";

/// Welcomes a new user, and announces them where the organization announces new users.
pub async fn welcome_newcomer(ports: &MessageWorkflowContext<'_>, user_id: UserId) {
    let realm = ports.snapshot();
    let Some(user) = realm.user(user_id).filter(|user| user.is_active && user.bot.is_none()) else { return };
    send_notice(ports, SystemBot::Welcome, &Notice::to_user(user_id, welcome(&realm))).await;
    if let Some(notice) = signup_notice(&realm, user) {
        send_notice(ports, SystemBot::Notification, &notice).await;
    }
}

fn welcome(realm: &RealmSnapshot) -> String {
    let name = realm.realm().map_or("", |realm| &realm.name);
    format!(
        "Hello, and welcome to {name}!\n\nConversations here are in channels, and each has a topic. Open a channel, pick a \
         topic that interests you and answer, or start a topic of your own. To write to one person or a few, send a direct \
         message.\n\nYou can practice here: only you read what you write to this bot."
    )
}

fn signup_notice(realm: &RealmSnapshot, user: &User) -> Option<Notice> {
    let there = realm.realm()?.rules.signup_announcements?;
    Some(Notice::in_topic(there, SIGNUPS_TOPIC, format!("{} joined the organization.", silent_mention(user))))
}
