use std::cell::Cell;

use serde_json::json;

use super::*;
use crate::event_log::event::{EventBody, LogRecord};
use crate::id::EventId;
use crate::model::realm::RealmPermissionSettings;
use crate::model::realm_change::RealmChange;
use crate::model::role::Role;
use crate::model::user::{BotKind, BotProperties};
use crate::people::presence::ChangedPresences;
use crate::testing::{self, NOW_S};

/// People of whom something is known, and how often something was noted.
#[derive(Default)]
struct Memory {
    known: Vec<(UserId, Presence)>,
    last: i64,
    noted: std::sync::Mutex<Cell<u32>>,
}

impl PresenceStore for Memory {
    fn record_presence(&self, _: UserId, _: PresenceStatus, _: i64) {
        let noted = self.noted.lock().unwrap();
        noted.set(noted.get() + 1);
    }

    fn presence_of_user(&self, user_id: UserId) -> Option<Presence> {
        self.known.iter().find(|(id, _)| *id == user_id).map(|(_, presence)| *presence)
    }

    fn presences_since(&self, _: i64) -> ChangedPresences {
        ChangedPresences { presences: self.known.clone(), last: self.last }
    }
}

impl Memory {
    fn noted(&self) -> u32 {
        self.noted.lock().unwrap().get()
    }
}

const fn at(active_s: i64, connected_s: i64) -> Presence {
    Presence { active_s, connected_s }
}

/// Returns the realm of the tests with a bot (7), and without the presence of the member (4).
fn realm() -> RealmSnapshot {
    let bot = Some(BotProperties { kind: BotKind::Generic, owner_id: Some(UserId(1)) });
    let settings = RealmChange::UserItem {
        user_id: UserId(4),
        kind: UserItemKind::Settings,
        key: String::new(),
        document: Some(json!({"presence_enabled": false})),
    };
    let bot = RealmChange::User(Box::new(User { bot, ..testing::user(7, Role::Member) }));
    testing::realm(RealmPermissionSettings::default(), vec![bot, settings])
}

fn user(realm: &RealmSnapshot, id: i64) -> &User {
    realm.user(UserId(id)).unwrap()
}

fn full(form: PresenceFormat) -> PresenceQuery {
    PresenceQuery { form, after: None, history_limit_days: None }
}

#[test]
fn a_sign_of_life_moves_the_times_it_is_about() {
    let never = Presence::default();
    assert_eq!(never.after_ping(PresenceStatus::Idle, NOW_S), Some(at(0, NOW_S)));
    assert_eq!(never.after_ping(PresenceStatus::Active, NOW_S), Some(at(NOW_S, NOW_S)));
    let idle = at(NOW_S - 600, NOW_S);
    assert_eq!(idle.after_ping(PresenceStatus::Active, NOW_S + 10), Some(at(NOW_S + 10, NOW_S + 10)));
    assert_eq!(idle.after_ping(PresenceStatus::Idle, NOW_S + 56), Some(at(NOW_S - 600, NOW_S + 56)));
}

#[test]
fn a_second_window_and_a_clock_that_is_behind_change_nothing() {
    let active = at(NOW_S, NOW_S);
    for (status, now_s) in [
        (PresenceStatus::Active, NOW_S + 55),
        (PresenceStatus::Idle, NOW_S + 55),
        (PresenceStatus::Active, NOW_S - 1_000),
    ] {
        assert_eq!(active.after_ping(status, now_s), None, "{status:?} {now_s}");
    }
    assert_eq!(active.after_ping(PresenceStatus::Active, NOW_S + 56), Some(at(NOW_S + 56, NOW_S + 56)));
    assert_eq!(at(5, 9).merged_with(at(7, 8)), at(7, 9));
}

#[test]
fn only_who_was_away_is_back() {
    let back = |before: Presence| at(NOW_S, NOW_S).has_come_back_since(before);
    assert!(back(Presence::default()) && back(at(NOW_S - 131, NOW_S - 10)));
    assert!(!back(at(NOW_S - 130, NOW_S - 130)) && !back(at(NOW_S, NOW_S)));
    assert!(!at(0, NOW_S).has_come_back_since(Presence::default()));
}

#[test]
fn bots_and_who_wants_it_not_known_leave_no_trace() {
    let (realm, store) = (realm(), Memory::default());
    let note = |id: i64| record_presence_if_shared(&store, &realm, user(&realm, id), (PresenceStatus::Active, NOW_S));
    assert_eq!(note(7).unwrap_err().to_string(), "This endpoint does not accept bot requests.");
    note(4).unwrap();
    assert_eq!(store.noted(), 0);
    note(6).unwrap();
    assert_eq!(store.noted(), 1);
}

#[test]
fn a_full_list_has_people_of_two_weeks_who_let_it_be_known() {
    let realm = realm();
    let here = at(NOW_S - 100, NOW_S - 5);
    let known =
        [(1, here), (2, at(0, NOW_S - LISTED_S)), (3, at(0, NOW_S - LISTED_S - 1)), (4, here), (7, here), (99, here)];
    let store = Memory { known: known.map(|(id, seen)| (UserId(id), seen)).to_vec(), last: 8, ..Memory::default() };
    let now_us = NOW_S * 1_000_000 + 500_000;
    let joined_s = NOW_S - 1_000;
    let slim = json!({
        "presences": {
            "1": {"active_timestamp": NOW_S - 100, "idle_timestamp": NOW_S - 5},
            "2": {"active_timestamp": joined_s, "idle_timestamp": NOW_S - LISTED_S},
        },
        "server_timestamp": 1_800_000_000.5,
        "presence_last_update_id": 8,
    });
    assert_eq!(json!(report_presences(&store, &realm, full(PresenceFormat::Slim), now_us)), slim);
    let idle = |at_s: i64| {
        json!({
            "aggregated": {"client": "website", "status": "idle", "timestamp": at_s},
            "website": {"client": "website", "status": "idle", "timestamp": at_s, "pushable": false},
        })
    };
    let legacy = json!(report_presences(&store, &realm, full(PresenceFormat::Legacy), now_us));
    assert_eq!(legacy["presences"]["User1@example.org"], idle(NOW_S - 5));
    assert_eq!(legacy["presences"].as_object().unwrap().len(), 2);
    let store = Memory { known: vec![(UserId(2), at(0, joined_s))], ..store };
    let legacy = json!(report_presences(&store, &realm, full(PresenceFormat::Legacy), now_us));
    assert_eq!(legacy["presences"]["User2@example.org"], idle(joined_s));
    let store = Memory { known: known.map(|(id, seen)| (UserId(id), seen)).to_vec(), ..store };
    // Of changes the old ones are events too: someone may have been written down late.
    let changes =
        json!(report_presences(&store, &realm, PresenceQuery { after: Some(3), ..full(PresenceFormat::Slim) }, now_us));
    assert_eq!(changes["presences"]["3"]["idle_timestamp"], NOW_S - LISTED_S - 1);
}

#[test]
fn the_number_to_ask_with_next_never_goes_back() {
    let realm = realm();
    let last_id = |last: i64, after: Option<i64>| {
        let store = Memory { last, ..Memory::default() };
        report_presences(&store, &realm, PresenceQuery { after, ..full(PresenceFormat::Slim) }, 0)
            .presence_last_update_id
    };
    assert_eq!([last_id(0, None), last_id(0, Some(-1)), last_id(0, Some(5))], [Some(-1), Some(-1), Some(5)]);
    assert_eq!([last_id(8, None), last_id(8, Some(5)), last_id(8, Some(9))], [Some(8), Some(8), Some(9)]);
}

#[test]
fn one_user_is_told_as_offline_after_a_while_and_who_is_unknown_by_name() {
    let realm = realm();
    let store =
        Memory { known: vec![(UserId(1), at(NOW_S, NOW_S)), (UserId(4), at(NOW_S, NOW_S))], ..Memory::default() };
    let reader = user(&realm, 4);
    let of = |named: &str, now_s: i64| {
        find_user_presence(&store, &realm, (reader, named), now_s).map(|single| json!(single))
    };
    let report = |status: &str| {
        json!({
            "aggregated": {"status": status, "timestamp": NOW_S}, "website": {"status": "active", "timestamp": NOW_S},
        })
    };
    assert_eq!(of("1", NOW_S + OFFLINE_THRESHOLD_S), Ok(report("active")));
    assert_eq!(of("uSER1@example.org", NOW_S + OFFLINE_THRESHOLD_S + 1), Ok(report("offline")));
    let refused = |named: &str| of(named, NOW_S).unwrap_err().to_string();
    assert_eq!(refused("99"), "No such user");
    assert_eq!(refused("me"), "No such user");
    assert_eq!(refused("7"), "Presence is not supported for bot users.");
    assert_eq!(refused("User2@example.org"), "No presence data for User2@example.org");
    assert_eq!(refused("4"), "No presence data for 4");
    let closed = RealmChange::User(Box::new(User { is_active: false, ..user(&realm, 1).clone() }));
    let after = realm.after_record(&LogRecord::new(EventId(11), 0, vec![closed], None));
    assert_eq!(find_user_presence(&store, &after, (reader, "1"), NOW_S), Err(PresenceError::NoSuchUser));
}

#[test]
fn a_return_is_told_to_each_queue_in_the_form_it_understands() {
    let realm = realm();
    let (away, here) = (at(NOW_S - 900, NOW_S - 900), at(NOW_S, NOW_S));
    let changed = [(UserId(1), away, here), (UserId(2), at(NOW_S - 60, NOW_S - 60), here), (UserId(4), away, here)];
    let news = came_back_events(&realm, &changed);
    let gates: Vec<_> = news.iter().map(|(at_s, event)| (*at_s, event.gate)).collect();
    let (slim, simplified) = (ClientCapability::SlimPresence, ClientCapability::SimplifiedPresenceEvents);
    let older = |is_slim| (NOW_S, QueueCondition::Both([(simplified, false), (slim, is_slim)]));
    assert_eq!(gates, [older(true), older(false), (NOW_S, QueueCondition::With(simplified))]);
    let events: Vec<_> = news.iter().map(|(_, event)| (&event.audience, &event.body)).collect();
    let [
        (EventAudience::Everyone, EventBody::Plain { event: slim, .. }),
        (EventAudience::Everyone, EventBody::Plain { event: legacy, .. }),
        (EventAudience::Everyone, EventBody::Plain { event: simplified, .. }),
    ] = events.as_slice()
    else {
        panic!("{events:?}")
    };
    let presence = json!({"website": {"client": "website", "status": "active", "timestamp": NOW_S, "pushable": false}});
    let mut expected =
        json!({"type": "presence", "user_id": 1, "server_timestamp": 1_800_000_000.0, "presence": presence});
    assert_eq!(slim, &expected);
    expected["email"] = json!("User1@example.org");
    assert_eq!(legacy, &expected);
    let times = json!({"1": {"active_timestamp": NOW_S, "idle_timestamp": NOW_S}});
    assert_eq!(simplified, &json!({"type": "presence", "presences": times}));
}

#[test]
fn nobodys_return_is_told_among_more_than_a_hundred() {
    let more = |count: i64| {
        (0..count).map(|id| RealmChange::User(Box::new(testing::user(1_000 + id, Role::Member)))).collect()
    };
    let listed = |count: i64| {
        let realm = testing::realm(RealmPermissionSettings::default(), more(count));
        came_back_events(&realm, &[(UserId(1), Presence::default(), at(NOW_S, NOW_S))]).len()
    };
    assert_eq!((listed(95), listed(96)), (3, 0));
}
