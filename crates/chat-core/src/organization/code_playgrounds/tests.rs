use super::*;
use crate::id::UserId;
use crate::model::realm::RealmPermissionSettings;
use crate::testing;

const RUST: PlaygroundRequest<'static> = PlaygroundRequest {
    name: "Rust playground",
    pygments_language: "Rust",
    url_template: "https://play.example/?code={code}",
};

fn realm(more: Vec<RealmChange>) -> RealmSnapshot {
    testing::realm(RealmPermissionSettings::default(), more)
}

fn added(realm: &RealmSnapshot, request: PlaygroundRequest<'_>) -> (Result<i64, PlaygroundError>, RealmCommit) {
    let mut commit = RealmCommit::default();
    let id = add_playground(realm, realm.user(UserId(2)).unwrap(), request, &mut commit);
    (id, commit)
}

fn unfit(request: PlaygroundRequest<'_>) -> Vec<(Option<&'static str>, String)> {
    let (refused, commit) = added(&realm(Vec::new()), request);
    assert!(commit.changes.is_empty() && commit.events.is_empty());
    match refused {
        Err(PlaygroundError::Unfit(problems)) => {
            problems.iter().map(|problem| (problem.field, problem.text.clone())).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_playground_is_told_to_everybody_with_all_others() {
    let realm = realm(Vec::new());
    let (id, commit) = added(&realm, RUST);
    let after = realm.preview_changes(&commit.changes);
    let (_, more) = added(&after, PlaygroundRequest { name: "Another", ..RUST });
    let body = serde_json::to_value(&more.events[0].body).unwrap();
    let [first, second] = body["plain"]["event"]["realm_playgrounds"].as_array().unwrap().as_slice() else {
        panic!("{body}")
    };
    assert_eq!(
        (&first["id"], &first["name"], &first["pygments_language"], &first["url_template"]),
        (&json!(id.unwrap()), &json!(RUST.name), &json!("Rust"), &json!(RUST.url_template))
    );
    assert_eq!(second["name"], "Another");
    assert_eq!(more.events[0].audience, EventAudience::Everyone);
}

#[test]
fn the_template_has_exactly_the_variable_code() {
    let template = |url_template| PlaygroundRequest { url_template, ..RUST };
    let missing = "Missing the required variable \"code\" in the URL template".to_owned();
    assert_eq!(unfit(template("https://play.example")), [(None, missing.clone())]);
    assert_eq!(unfit(template("https://play.example/{lang}")), [(None, missing.clone())]);
    let not_alone = "\"code\" should be the only variable present in the URL template".to_owned();
    assert_eq!(unfit(template("https://play.example/{code}/{lang}")), [(None, not_alone)]);
    assert_eq!(unfit(template("https://{")), [(Some("url_template"), "Invalid URL template.".to_owned())]);
    let blank = "This field cannot be blank.".to_owned();
    assert_eq!(unfit(template("")), [(Some("url_template"), blank), (None, missing)]);
    for fitting in ["https://play.example/{?code}", "https://play.example/{code}#{code}"] {
        assert!(added(&realm(Vec::new()), template(fitting)).0.is_ok(), "{fitting}");
    }
}

#[test]
fn a_playground_that_leads_to_a_script_is_refused() {
    for url_template in
        ["javascript:alert({code})", "JAVASCRIPT:{code}", "data:text/html,{code}", "{+code}", "java{+code}"]
    {
        let refused = unfit(PlaygroundRequest { url_template, ..RUST });
        assert_eq!(refused, [(Some("url_template"), "Invalid URL template.".to_owned())], "{url_template}");
    }
}

#[test]
fn a_language_has_the_characters_of_language_names() {
    for language in ["C++", "C#", "objective-c", "Visual Basic", "a/b.c_d"] {
        assert!(
            added(&realm(Vec::new()), PlaygroundRequest { pygments_language: language, ..RUST }).0.is_ok(),
            "{language}"
        );
    }
    for language in ["py$thon", "ñ", "<b>"] {
        let refused = added(&realm(Vec::new()), PlaygroundRequest { pygments_language: language, ..RUST }).0;
        assert_eq!(refused, Err(PlaygroundError::Language), "{language}");
    }
    let long = unfit(PlaygroundRequest { pygments_language: &"x".repeat(41), ..RUST });
    let text = "pygments_language is too long (limit: 40 characters)".to_owned();
    assert_eq!(long, [(Some("pygments_language"), text)]);
}

#[test]
fn name_and_language_together_are_taken_once() {
    let first = added(&realm(Vec::new()), RUST).1;
    let realm = realm(Vec::new()).preview_changes(&first.changes);
    let (refused, commit) = added(&realm, PlaygroundRequest { url_template: "https://other.example/{code}", ..RUST });
    assert_eq!(
        refused.unwrap_err().to_string(),
        "Realm playground with this Realm, Pygments language and Name already exists."
    );
    assert!(commit.changes.is_empty());
    assert!(added(&realm, PlaygroundRequest { pygments_language: "rust", ..RUST }).0.is_ok());
}

#[test]
fn only_administrators_decide_and_what_is_not_there_is_not_removed() {
    let realm = realm(added(&realm(Vec::new()), RUST).1.changes);
    let (id, _) = realm.realm_items(RealmItemKind::Playground).next().unwrap();
    let user = |id| realm.user(UserId(id)).unwrap();
    let mut commit = RealmCommit::default();
    for refused in [3, 4, 6].map(|user_id| remove_playground(&realm, user(user_id), id, &mut RealmCommit::default())) {
        assert_eq!(refused, Err(PlaygroundError::NotAllowed(PermissionError::AdministratorRequired)));
    }
    assert_eq!(remove_playground(&realm, user(2), id + 1, &mut commit), Err(PlaygroundError::NotFound));
    assert!(commit.changes.is_empty());
    remove_playground(&realm, user(2), id, &mut commit).unwrap();
    assert_eq!(realm.preview_changes(&commit.changes).realm_items(RealmItemKind::Playground).count(), 0);
}
