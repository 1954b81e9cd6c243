use super::*;
use crate::event_log::event::{EventBody, LogRecord};
use crate::id::EventId;
use crate::model::realm::RealmPermissionSettings;
use crate::testing::{self, NOW_S};

fn new(place: usize) -> NewBot {
    NewBot {
        full_name: format!("Bot {place}"),
        short_name: format!("b{place}"),
        domain: "chat.example".to_owned(),
        kind: 1,
        api_key: ApiKey::from_random(&[5; 64]).unwrap(),
    }
}

fn begun() -> RealmCommit {
    RealmCommit { at_s: NOW_S, ..RealmCommit::default() }
}

/// Returns the realm with a bot (7) of the member 4.
fn with_bot() -> RealmSnapshot {
    let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
    let mut commit = begun();
    assert_eq!(create_bot(&realm, realm.user(UserId(4)).unwrap(), &new(1), &mut commit), Ok(UserId(7)));
    realm.after_record(&LogRecord::new(EventId(20), NOW_S, commit.changes, None))
}

/// Returns the `realm_bot` events: what is done, and who hears it.
fn heard(commit: &RealmCommit) -> Vec<(String, Vec<i64>)> {
    let heard = commit.events.iter().filter_map(|event| match (&event.body, &event.audience) {
        (EventBody::Plain { kind, event }, EventAudience::Users(users)) if kind == "realm_bot" => {
            Some((event["op"].as_str().unwrap().to_owned(), users.iter().map(|user| user.0).collect()))
        }
        _ => None,
    });
    heard.collect()
}

#[test]
fn a_bot_is_a_member_of_its_own_address_and_told_to_those_who_keep_it() {
    let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
    let mut commit = begun();
    create_bot(&realm, realm.user(UserId(4)).unwrap(), &new(1), &mut commit).unwrap();
    let RealmChange::User(bot) = &commit.changes[0] else { panic!("{:?}", commit.changes) };
    assert_eq!((bot.email.as_str(), bot.role), ("b1-bot@chat.example", Role::Member));
    assert_eq!(heard(&commit), [("add".to_owned(), vec![1, 2, 4])]);
    let events = serde_json::to_string(&commit.events).unwrap();
    assert!(!events.contains(new(1).api_key.expose()), "the key is in the log");
}

#[test]
fn a_bot_that_is_handed_over_goes_from_one_owner_to_the_other() {
    let realm = with_bot();
    let mut commit = begun();
    let changes = BotUpdate { owner_id: Some(UserId(3)), ..BotUpdate::default() };
    update_bot(&realm, realm.user(UserId(4)).unwrap(), (UserId(7), &changes), &mut commit).unwrap();
    let expected = [("delete", vec![4]), ("add", vec![3]), ("update", vec![1, 2])];
    assert_eq!(heard(&commit), expected.map(|(op, users)| (op.to_owned(), users)));
}

#[test]
fn a_bot_with_an_owners_rights_is_not_an_administrators_to_take() {
    let realm = with_bot();
    let mighty = User { role: Role::Owner, ..User::clone(realm.user(UserId(7)).unwrap()) };
    let change = vec![RealmChange::User(Box::new(mighty))];
    let realm = realm.after_record(&LogRecord::new(EventId(30), NOW_S, change, None));
    let kept = |who| find_manageable_bot(&realm, realm.user(UserId(who)).unwrap(), UserId(7)).map(|bot| bot.id);
    assert_eq!(kept(2), Err(PermissionError::OwnerRequired.into()));
    assert_eq!((kept(1), kept(4)), (Ok(UserId(7)), Ok(UserId(7))));
    assert_eq!(kept(3), Err(PermissionError::Insufficient.into()));
    assert_eq!(kept(6), Err(PermissionError::GuestRefused.into()));
}

#[test]
fn somebody_owns_as_many_bots_as_they_can_answer_for() {
    let mut realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
    for place in 0..MAX_BOTS_PER_OWNER {
        let mut commit = begun();
        create_bot(&realm, realm.user(UserId(4)).unwrap(), &new(place), &mut commit).unwrap();
        let at = EventId(realm.log_position().0 + 1);
        realm = realm.after_record(&LogRecord::new(at, NOW_S, commit.changes, None));
    }
    let member = realm.user(UserId(4)).unwrap();
    assert_eq!(create_bot(&realm, member, &new(MAX_BOTS_PER_OWNER), &mut begun()), Err(BotError::TooMany));
    assert!(create_bot(&realm, realm.user(UserId(3)).unwrap(), &new(MAX_BOTS_PER_OWNER), &mut begun()).is_ok());
}
