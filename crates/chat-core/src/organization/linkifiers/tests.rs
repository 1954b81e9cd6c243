use super::*;
use crate::id::{EventId, UserId};
use crate::model::realm::RealmPermissionSettings;
use crate::testing;

const TICKETS: LinkifierRequest<'static> =
    LinkifierRequest { pattern: r"#(?P<id>\d+)", url_template: "https://t.example/{id}" };

fn realm(patterns: &[(i64, &str, i64)]) -> RealmSnapshot {
    let changes = patterns.iter().map(|(id, pattern, order)| {
        let document = json!({"pattern": pattern, "url_template": "https://x.example", "order": order});
        RealmChange::Item { kind: RealmItemKind::Linkifier, id: *id, document: Some(document) }
    });
    testing::realm(RealmPermissionSettings::default(), changes.collect())
}

fn admin(realm: &RealmSnapshot) -> &User {
    realm.user(UserId(2)).unwrap()
}

fn unfit(realm: &RealmSnapshot, pattern: &str, url_template: &str) -> Vec<(Option<&'static str>, String)> {
    let mut commit = RealmCommit::default();
    match add_linkifier(realm, admin(realm), LinkifierRequest { pattern, url_template }, &mut commit) {
        Err(RealmLinkifierError::Unfit(problems)) => {
            assert!(commit.changes.is_empty() && commit.events.is_empty());
            problems.iter().map(|problem| (problem.field, problem.text.clone())).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_new_linkifier_comes_behind_the_others_and_is_told_with_them() {
    let realm = realm(&[(3, "a", 7), (5, "b", 2)]);
    let mut commit = RealmCommit::default();
    let id = add_linkifier(&realm, admin(&realm), TICKETS, &mut commit).unwrap();
    assert!(id > 5);
    let document = json!({"pattern": TICKETS.pattern, "url_template": TICKETS.url_template, "order": 8});
    assert_eq!(commit.changes, [RealmChange::Item { kind: RealmItemKind::Linkifier, id, document: Some(document) }]);
    let [event] = commit.events.as_slice() else { panic!("{:?}", commit.events) };
    assert_eq!(event.gate, QueueCondition::With(ClientCapability::LinkifierUrlTemplate));
    let body = serde_json::to_value(&event.body).unwrap();
    let patterns: Vec<_> = body["plain"]["event"]["realm_linkifiers"].as_array().unwrap().iter().collect();
    assert_eq!(
        patterns.iter().map(|linkifier| linkifier["pattern"].clone()).collect::<Vec<_>>(),
        ["b", "a", TICKETS.pattern]
    );
}

#[test]
fn only_administrators_decide() {
    let realm = realm(&[(3, "a", 1)]);
    for id in [3, 4, 6] {
        let user = realm.user(UserId(id)).unwrap();
        let mut commit = RealmCommit::default();
        let refused = RealmLinkifierError::NotAllowed(PermissionError::AdministratorRequired);
        assert_eq!(add_linkifier(&realm, user, TICKETS, &mut commit), Err(refused.clone()));
        assert_eq!(update_linkifier(&realm, user, (3, TICKETS), &mut commit), Err(refused.clone()));
        assert_eq!(remove_linkifier(&realm, user, 3, &mut commit), Err(refused.clone()));
        assert_eq!(reorder_linkifiers(&realm, user, &[3], &mut commit), Err(refused));
        assert!(commit.changes.is_empty());
    }
}

#[test]
fn what_is_wrong_is_said_field_by_field() {
    let realm = realm(&[(3, "a", 1)]);
    let long = "x".repeat(MAX_LINKIFIER_CHARS + 1);
    let text = |text: &str| text.to_owned();
    let blank = text("This field cannot be blank.");
    assert_eq!(unfit(&realm, "", ""), [(Some("pattern"), blank.clone()), (Some("url_template"), blank)]);
    assert_eq!(unfit(&realm, &long, "x").first().unwrap().1, "pattern is too long (limit: 1000 characters)");
    assert_eq!(unfit(&realm, "(?=a)", "x").first().unwrap().0, Some("pattern"));
    assert_eq!(unfit(&realm, "b", "{").first().unwrap(), &(Some("url_template"), text("Invalid URL template.")));
    assert_eq!(
        unfit(&realm, "(?P<id>b)", "x"),
        [(None, text("Group 'id' in linkifier pattern is not present in URL template."))]
    );
    assert_eq!(
        unfit(&realm, "b", "x/{id}"),
        [(None, text("Group 'id' in URL template is not present in linkifier pattern."))]
    );
    assert_eq!(unfit(&realm, "a", "x"), [(None, text("Realm filter with this Realm and Pattern already exists."))]);
}

#[test]
fn a_linkifier_may_keep_its_pattern_and_not_take_anothers() {
    let realm = realm(&[(3, "a", 7), (5, "b", 2)]);
    let mut commit = RealmCommit::default();
    let same = LinkifierRequest { pattern: "a", url_template: "https://x.example" };
    update_linkifier(&realm, admin(&realm), (3, same), &mut commit).unwrap();
    assert!(commit.changes.is_empty() && commit.events.is_empty());
    update_linkifier(
        &realm,
        admin(&realm),
        (3, LinkifierRequest { url_template: "https://y.example", ..same }),
        &mut commit,
    )
    .unwrap();
    let document = json!({"pattern": "a", "url_template": "https://y.example", "order": 7});
    assert_eq!(commit.changes, [RealmChange::Item { kind: RealmItemKind::Linkifier, id: 3, document: Some(document) }]);
    let taken = update_linkifier(&realm, admin(&realm), (5, same), &mut RealmCommit::default()).unwrap_err();
    assert_eq!(taken.to_string(), "Realm filter with this Realm and Pattern already exists.");
    let gone = update_linkifier(&realm, admin(&realm), (4, TICKETS), &mut RealmCommit::default());
    assert_eq!(gone, Err(RealmLinkifierError::NotFound));
    assert_eq!(
        remove_linkifier(&realm, admin(&realm), 4, &mut RealmCommit::default()),
        Err(RealmLinkifierError::NotFound)
    );
}

#[test]
fn an_order_names_each_linkifier_once() {
    let realm = realm(&[(3, "a", 1), (5, "b", 2), (8, "c", 3)]);
    for ids in [&[][..], &[3, 5], &[3, 5, 5], &[3, 5, 9], &[3, 5, 8, 8]] {
        let refused = reorder_linkifiers(&realm, admin(&realm), ids, &mut RealmCommit::default());
        assert_eq!(refused, Err(RealmLinkifierError::NotAnOrder), "{ids:?}");
    }
    let mut commit = RealmCommit::default();
    reorder_linkifiers(&realm, admin(&realm), &[8, 5, 3], &mut commit).unwrap();
    let after = realm.preview_changes(&commit.changes);
    let patterns: Vec<_> =
        realm_and_user_items::linkifier_objects(&after).iter().map(|linkifier| linkifier["pattern"].clone()).collect();
    assert_eq!((patterns, commit.changes.len()), (vec![json!("c"), json!("b"), json!("a")], 2));
}

#[test]
fn a_number_is_not_given_twice() {
    let realm = realm(&[(3, "a", 1)]);
    let mut commit = RealmCommit { decided_at: realm.changed_at(), ..RealmCommit::default() };
    let id = add_linkifier(&realm, admin(&realm), TICKETS, &mut commit).unwrap();
    let with = |realm: &RealmSnapshot, at: i64, changes: Vec<RealmChange>| {
        realm.after_record(&crate::event_log::event::LogRecord::new(EventId(at), 0, changes, None))
    };
    let added = with(&realm, 11, commit.changes);
    let mut commit = RealmCommit::default();
    remove_linkifier(&added, admin(&added), id, &mut commit).unwrap();
    let removed = with(&added, 12, commit.changes);
    assert_ne!(add_linkifier(&removed, admin(&removed), TICKETS, &mut RealmCommit::default()), Ok(id));
}
