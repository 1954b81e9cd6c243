use serde_json::json;

use super::*;
use crate::event_log::event::{EventBody, LogRecord};
use crate::event_log::realm_commit::RealmCommit;
use crate::id::{EventId, UserId};
use crate::model::realm::RealmPermissionSettings;
use crate::model::realm_change::{RealmChange, UserItemKind};
use crate::model::render_context::{RenderContext, RenderSettings};
use crate::model::role::Role;
use crate::model::user::User;
use crate::testing::{self, NOW_S};

fn begun() -> RealmCommit {
    RealmCommit { at_s: NOW_S, ..RealmCommit::default() }
}

fn field(name: &str, kind: ProfileFieldType, data: Value) -> NewProfileField {
    let Value::Object(data) = data else { panic!("{data} is no object") };
    NewProfileField { name: name.to_owned(), kind: kind.into(), data, ..NewProfileField::default() }
}

/// Returns the realm after the commit, and what was told.
fn after(realm: &RealmSnapshot, commit: RealmCommit) -> (RealmSnapshot, Vec<Value>) {
    let at = EventId(realm.log_position().0 + 1);
    let events = commit.events.into_iter().map(|event| match event.body {
        EventBody::Plain { event, .. } => event,
        EventBody::Message(_) | EventBody::Edit { .. } | EventBody::Flagged(_) => Value::Null,
    });
    let events = events.collect();
    (realm.after_record(&LogRecord::new(at, NOW_S, commit.changes, None)), events)
}

fn owner(realm: &RealmSnapshot) -> &User {
    realm.user(UserId(1)).unwrap()
}

/// Returns the realm with these fields, and their numbers.
fn with(fields: &[NewProfileField]) -> (RealmSnapshot, Vec<i64>) {
    let mut realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
    let mut ids = Vec::new();
    for field in fields {
        let mut commit = begun();
        ids.push(create_profile_field(&realm, owner(&realm), field, &mut commit).unwrap());
        (realm, _) = after(&realm, commit);
    }
    (realm, ids)
}

fn given(
    realm: &RealmSnapshot,
    user: i64,
    id: i64,
    sent: ProfileFieldValue,
) -> Result<RealmCommit, ProfileFieldValueError> {
    let render_context = RenderContext::from_realm(realm);
    let setting = RenderSettings {
        realm_url: "https://chat.example",
        render_context: &render_context,
        uploads: None,
        now_s: NOW_S,
    };
    let mut commit = begun();
    set_profile_values(realm, realm.user(UserId(user)).unwrap(), &[(id, Some(sent))], &setting, &mut commit)?;
    Ok(commit)
}

fn text(text: &str) -> ProfileFieldValue {
    ProfileFieldValue::Text(text.to_owned())
}

#[test]
fn a_number_is_never_given_to_a_second_field() {
    let (realm, ids) = with(&[field("a", ProfileFieldType::ShortText, json!({}))]);
    let mut commit = begun();
    remove_profile_field(&realm, owner(&realm), ids[0], &mut commit).unwrap();
    let (realm, _) = after(&realm, commit);
    let id =
        create_profile_field(&realm, owner(&realm), &field("a", ProfileFieldType::ShortText, json!({})), &mut begun())
            .unwrap();
    assert!(id > ids[0]);
}

#[test]
fn what_belongs_to_a_kind_is_checked_and_kept_as_it_was_sent() {
    let choice = |text: &str| json!({"text": text, "order": "1"});
    let choices = json!({"z": choice("Z"), "a": choice("A")});
    let custom = |pattern: &str| json!({"subtype": "custom", "url_pattern": pattern});
    let realm = testing::realm(RealmPermissionSettings::default(), Vec::new());
    let made = |kind, data| {
        create_profile_field(&realm, owner(&realm), &field("f", kind, data), &mut begun()).map_err(|e| e.to_string())
    };
    let refused = |kind, data: Value| made(kind, data).unwrap_err();
    let (kept, ids) = with(&[field("f", ProfileFieldType::Choice, choices.clone())]);
    assert_eq!(find_profile_field(&kept, ids[0]).unwrap().field_data, choices.to_string());
    for (data, refusal) in [
        (json!({}), "Field must have at least one choice."),
        (json!({"a": "A"}), "field_data is not a dict"),
        (json!({" ": choice("A")}), "'value' cannot be blank."),
        (json!({"a": {"order": "1"}}), "text key is missing from field_data"),
        (json!({"a": {"text": "A"}}), "order key is missing from field_data"),
        (json!({"a": {"text": " ", "order": "1"}}), "field_data[\"text\"] cannot be blank."),
        (json!({"a": {"text": "A", "order": ""}}), "field_data[\"order\"] cannot be blank."),
        (json!({"a": {"text": "A", "order": "1", "x": ""}}), "Unexpected arguments: x"),
        (json!({"a": choice("A"), "b": choice("A")}), "Field must not have duplicate choices."),
        (json!({"a": choice(&"x".repeat(50_000))}), "field_data is too long (limit: 50000 characters)"),
    ] {
        assert_eq!(refused(ProfileFieldType::Choice, data), refusal);
    }
    for (data, refusal) in [
        (json!({}), "subtype key is missing from field_data"),
        (json!({"subtype": ""}), "field_data[\"subtype\"] cannot be blank."),
        (json!({"subtype": "x"}), "Invalid external account type"),
        (json!({"subtype": "custom"}), "Custom external account must define URL pattern"),
        (custom("https://x.example"), "URL pattern must contain '%(username)s'."),
        (custom("https://x.example/%(username)s/%(username)s"), "URL pattern must contain '%(username)s'."),
        (custom("javascript:%(username)s"), "url_pattern is not a URL"),
        (custom("https:// %(username)s"), "url_pattern is not a URL"),
        (json!({"subtype": "github", "x": "y"}), "Unexpected arguments: x"),
    ] {
        assert_eq!(refused(ProfileFieldType::ExternalAccount, data), refusal);
    }
    assert!(made(ProfileFieldType::ExternalAccount, custom("https://x.example/%(username)s")).is_ok());
    assert!(made(ProfileFieldType::ShortText, json!({"x": "y"})).is_ok());
}

#[test]
fn a_field_of_a_known_account_is_called_as_the_account_is() {
    let account = field("x", ProfileFieldType::ExternalAccount, json!({"subtype": "github"}));
    let (realm, ids) = with(&[account]);
    let kept = find_profile_field(&realm, ids[0]).unwrap();
    assert_eq!((kept.name.as_str(), kept.field_data.as_str()), ("GitHub username", r#"{"subtype":"github"}"#));
    let change =
        |field: &ProfileFieldUpdate| update_profile_field(&realm, owner(&realm), (ids[0], field), &mut begun());
    let name = |name: &str| ProfileFieldUpdate { name: Some(name.to_owned()), ..ProfileFieldUpdate::default() };
    assert_eq!(change(&name("x")), Err(ProfileFieldError::DefaultUnchangeable));
    assert_eq!(
        change(&ProfileFieldUpdate { hint: Some("x".to_owned()), ..ProfileFieldUpdate::default() }),
        Err(ProfileFieldError::DefaultUnchangeable)
    );
    let same = ProfileFieldUpdate { in_summary: Some(true), required: Some(true), ..name("GitHub username") };
    assert_eq!(change(&same), Ok(()));
}

#[test]
fn each_kind_takes_its_own_answers() {
    let choices = json!({"a": {"text": "A", "order": "1"}});
    let kinds = ProfileFieldType::ALL.map(|kind| {
        let data = match kind {
            ProfileFieldType::Choice => choices.clone(),
            ProfileFieldType::ExternalAccount => json!({"subtype": "github"}),
            _ => json!({}),
        };
        field(&format!("F{}", i64::from(kind)), kind, data)
    });
    let (realm, ids) = with(&kinds);
    let kept = |place: usize, sent: ProfileFieldValue| {
        let (realm, _) = after(&realm, given(&realm, 4, ids[place], sent).unwrap());
        realm.user_item(UserId(4), UserItemKind::ProfileValue, &ids[place].to_string()).unwrap().clone()
    };
    let rendered = json!({"value": "*x*", "rendered_value": "<p><em>x</em></p>"});
    assert_eq!(kept(0, text("*x*")), rendered);
    assert_eq!(kept(1, text("*x*")), rendered);
    for (place, value) in [(2, "a"), (3, "2026-02-28"), (4, "https://x.example/y?z"), (6, "ada"), (7, "she")] {
        assert_eq!(kept(place, text(value)), json!({"value": value}));
    }
    assert_eq!(kept(5, ProfileFieldValue::People(vec![UserId(4), UserId(2), UserId(4)])), json!({"value": "[4,2]"}));

    let long = |count| text(&"x".repeat(count));
    for (place, sent, refusal) in [
        (0, long(51), "F1 is too long (limit: 50 characters)"),
        (1, long(501), "F2 is too long (limit: 500 characters)"),
        (2, text("b"), "'b' is not a valid choice for 'F3'."),
        (3, text("2026-02-30"), "F4 is not a date"),
        (3, text("2026-2-3"), "F4 is not a date"),
        (3, text(""), "F4 is not a date"),
        (4, text("x.example"), "F5 is not a URL"),
        (4, text("javascript://x"), "F5 is not a URL"),
        (4, text("https://"), "F5 is not a URL"),
        (4, text("https://x.example/ y"), "F5 is not a URL"),
        (5, text("[4]"), "User IDs is not a list"),
        (5, ProfileFieldValue::People(vec![UserId(4), UserId(999)]), "Invalid user ID: 999"),
        (5, ProfileFieldValue::People(vec![UserId(4); 101]), "F6 cannot name more than 100 users"),
        (6, long(51), "GitHub username is too long (limit: 50 characters)"),
        (7, long(51), "F8 is too long (limit: 50 characters)"),
        (7, ProfileFieldValue::People(vec![]), "F8 is not a string"),
    ] {
        assert_eq!(given(&realm, 4, ids[place], sent).unwrap_err().to_string(), refusal);
    }
    assert!(given(&realm, 4, ids[0], long(50)).is_ok() && given(&realm, 4, ids[1], long(500)).is_ok());
    assert_eq!(given(&realm, 4, 999, text("x")).unwrap_err().to_string(), "Field id 999 not found.");
}

#[test]
fn bots_and_closed_accounts_are_nobodys_answer() {
    let (realm, ids) = with(&[field("Mentor", ProfileFieldType::People, json!({}))]);
    let gone = User { is_active: false, ..testing::user(20, Role::Member) };
    let bot =
        crate::model::user::BotProperties { kind: crate::model::user::BotKind::Generic, owner_id: Some(UserId(4)) };
    let bot = User { bot: Some(bot), ..testing::user(21, Role::Member) };
    let more = [gone, bot].map(|user| RealmChange::User(Box::new(user)));
    let realm = realm.after_record(&LogRecord::new(EventId(40), NOW_S, more.into(), None));
    for (id, refusal) in [(20, "User with ID 20 is deactivated"), (21, "User with ID 21 is a bot")] {
        let sent = ProfileFieldValue::People(vec![UserId(id)]);
        assert_eq!(given(&realm, 4, ids[0], sent).unwrap_err().to_string(), refusal);
    }
}

#[test]
fn an_option_that_goes_takes_its_answers_with_it_and_leaves_the_others() {
    let option = |text: &str| json!({"text": text, "order": "1"});
    let both = json!({"a": option("A"), "b": option("B")});
    let (mut realm, ids) = with(&[field("Team", ProfileFieldType::Choice, both)]);
    for (user, choice) in [(2, "a"), (4, "b")] {
        let commit = given(&realm, user, ids[0], text(choice)).unwrap();
        (realm, _) = after(&realm, commit);
    }
    let Value::Object(data) = json!({"b": option("Best")}) else { unreachable!() };
    let mut commit = begun();
    update_profile_field(
        &realm,
        owner(&realm),
        (ids[0], &ProfileFieldUpdate { data: Some(data), ..ProfileFieldUpdate::default() }),
        &mut commit,
    )
    .unwrap();
    let (realm, events) = after(&realm, commit);
    let answered = |user| realm.user_item(UserId(user), UserItemKind::ProfileValue, &ids[0].to_string()).cloned();
    assert_eq!([answered(2), answered(4)], [None, Some(json!({"value": "b"}))]);
    assert_eq!(events[0]["type"], "custom_profile_fields");
    let person = json!({"user_id": 2, "custom_profile_field": {"id": ids[0], "value": null}});
    assert_eq!(events[1..], [json!({"type": "realm_user", "op": "update", "person": person})]);
}

#[test]
fn fields_are_as_many_as_the_realm_holds() {
    let many: Vec<_> =
        (0..100).map(|place| field(&format!("field {place}"), ProfileFieldType::ShortText, json!({}))).collect();
    let (realm, _) = with(&many);
    let refused = create_profile_field(
        &realm,
        owner(&realm),
        &field("more", ProfileFieldType::ShortText, json!({})),
        &mut begun(),
    );
    assert_eq!(refused, Err(ProfileFieldError::TooMany));
}
