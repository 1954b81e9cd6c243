//! What it costs to render a message, over the messages of `fixtures/chat/messages.txt`.
//!
//! Prints three numbers: the median of all messages, the dearest of them, both in microseconds, and how many messages
//! there are. On the clock, the quickest of several slices: one takes a millisecond and is disturbed or is not, and the
//! kernel counts CPU no finer than that while a thread runs. `cargo xtask bench everyday` starts it. In process,
//! because over HTTP a message of 60 µs stands beside a request of twenty.

use std::error::Error;
use std::hint::black_box;
use std::time::{Duration, Instant};

use chat_core::event_log::event::LogRecord;
use chat_core::id::{ChannelId, EventId, UserGroupId, UserId};
use chat_core::model::channel::{Channel, ChannelPostPolicy, ChannelPrivacy};
use chat_core::model::email_address_visibility::EmailAddressVisibility;
use chat_core::model::realm_change::RealmChange;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::render_context::{RenderContext, RenderSettings};
use chat_core::model::role::Role;
use chat_core::model::user::User;

const MESSAGES: &str = include_str!("../../../fixtures/chat/messages.txt");
/// What stands between two of them.
const BETWEEN: &str = "\n%%\n";
/// Each is rendered so often in a slice, and as many slices are taken.
const TIMES: u32 = 100;
const SLICES: usize = 21;
/// Users of the realm.
const USERS: i64 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let realm = realm();
    let render_context = RenderContext::from_realm(&realm);
    let setting =
        RenderSettings { realm_url: "https://chat.example", render_context: &render_context, uploads: None, now_s: 0 };
    let writer = realm.user(UserId(1)).ok_or("there is no user")?;
    let messages: Vec<&str> = MESSAGES.trim_end().split(BETWEEN).collect();
    let mut each_us = Vec::new();
    for message in &messages {
        let mut quickest = Duration::MAX;
        for _ in 0..SLICES {
            let began = Instant::now();
            for _ in 0..TIMES {
                black_box(setting.render_message(&realm, writer, black_box(message)));
            }
            quickest = quickest.min(began.elapsed());
        }
        each_us.push(quickest.as_secs_f64() * 1e6 / f64::from(TIMES));
    }
    let dearest = each_us.iter().copied().fold(0.0, f64::max);
    println!("{:.3} {dearest:.3} {}", middle(each_us)?, messages.len());
    Ok(())
}

fn middle(mut values: Vec<f64>) -> Result<f64, &'static str> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().ok_or("nothing was measured")
}

/// A realm with names that messages mention.
fn realm() -> RealmSnapshot {
    let user = |id: i64| {
        RealmChange::User(Box::new(User {
            id: UserId(id),
            email: format!("member{id}@example.org"),
            full_name: format!("Member {id}"),
            role: Role::Member,
            is_active: true,
            joined_s: 0,
            bot: None,
            timezone: String::new(),
            avatar_url: None,
            avatar_version: 1,
            address_visibility: EmailAddressVisibility::default(),
        }))
    };
    let channel = RealmChange::Channel(Box::new(Channel {
        id: ChannelId(USERS + 1),
        name: "bench".to_owned(),
        description: String::new(),
        rendered_description: String::new(),
        created_s: 0,
        creator_id: None,
        privacy: ChannelPrivacy::Public,
        post_policy: ChannelPostPolicy::Everyone,
        message_retention_days: None,
        can_remove_subscribers_group: UserGroupId(1),
        is_archived: false,
        folder_id: None,
        is_recently_active: true,
    }));
    let changes = (1..=USERS).map(user).chain([channel]).collect();
    RealmSnapshot::default().after_record(&LogRecord::new(EventId(1), 0, changes, None))
}
