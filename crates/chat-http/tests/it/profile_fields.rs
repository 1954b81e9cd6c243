//! Custom profile fields: what is asked, who may ask it, and what people answer.

use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::test_app::{Person, TestApp};
use crate::users::{assert_nothing_written, events_after, everybody};

const CREATE: &str = "POST /realm/profile_fields";

/// Parameters of a call.
type Sent<'a> = &'a [(&'a str, &'a str)];

async fn made(app: &TestApp, name: &str, parameters: Sent<'_>) -> i64 {
    let all: Vec<_> = [("name", name)].into_iter().chain(parameters.iter().copied()).collect();
    app.call(&app.ada, CREATE, &all).await.success()["id"].as_i64().unwrap()
}

async fn fields(app: &TestApp) -> Vec<Value> {
    let response = app.call(&app.ada, "GET /realm/profile_fields", &[]).await.success();
    response["custom_fields"].as_array().unwrap().clone()
}

/// What a user answers, as another is shown it.
async fn profile(app: &TestApp, who: &Person) -> Value {
    let parameters = [("include_custom_profile_fields", "true")];
    let response = app.call(&app.ada, &format!("GET /users/{}", who.id), &parameters).await.success();
    response["user"]["profile_data"].clone()
}

#[tokio::test]
async fn a_field_of_each_type_from_1_to_8_is_made_and_listed() {
    let app = TestApp::found().await;
    let options = json!({"k1": {"text": "One", "order": "1"}, "k0": {"text": "Two", "order": "2"}}).to_string();
    let account = json!({"subtype": "custom", "url_pattern": "https://x.example/%(username)s"}).to_string();
    let mut ids = Vec::new();
    for kind in 1..=8 {
        let data = [("3", options.as_str()), ("7", account.as_str())];
        let number = kind.to_string();
        let data = data.into_iter().find(|(of, _)| *of == number).map_or("{}", |(_, data)| data);
        let parameters = [("field_type", number.as_str()), ("hint", " help "), ("field_data", data)];
        ids.push(made(&app, &format!(" F{kind} "), &parameters).await);
    }
    let listed = fields(&app).await;
    assert_eq!(listed.iter().map(|field| field["id"].as_i64().unwrap()).collect::<Vec<_>>(), ids);
    for (field, kind) in listed.iter().zip(1..) {
        let mut expected = json!({
            "id": field["id"], "name": format!("F{kind}"), "hint": "help", "order": field["order"], "required": false,
            "editable_by_user": true,
            "type": kind, "field_data": "",
        });
        match kind {
            3 => expected["field_data"] = options.as_str().into(),
            7 => expected["field_data"] = account.as_str().into(),
            8 => drop(expected.as_object_mut().unwrap().remove("field_data")),
            _ => {}
        }
        assert_eq!(*field, expected);
    }
    // Existing clients do not start without `field_data`, whatever the type.
    let state = app.call(&app.ada, "POST /register", &[]).await.success();
    let started = state["custom_profile_fields"].as_array().unwrap();
    assert!(started.iter().all(|field| field["field_data"].is_string()), "{started:?}");
}

#[tokio::test]
async fn the_answer_to_a_new_field_is_its_id_and_everybody_hears_of_all_fields() {
    let app = TestApp::found().await;
    made(&app, "One", &[("field_type", "1")]).await;
    let before = app.realm().log_position();
    let parameters = [("field_type", "4"), ("required", "true"), ("display_in_profile_summary", "true")];
    let id = made(&app, "Two", &parameters).await;
    let events = events_after(&app, before).await;
    assert_eq!(events.len(), 1);
    assert_eq!(
        (&events[0]["type"], events[0]["fields"].as_array().unwrap().len()),
        (&json!("custom_profile_fields"), 2)
    );
    let field = json!({
        "id": id, "name": "Two", "hint": "", "order": id, "required": true, "type": 4, "field_data": "",
        "display_in_profile_summary": true, "editable_by_user": true,
    });
    assert_eq!(events[0]["fields"][1], field);
    assert_eq!(fields(&app).await[1], field);
}

#[tokio::test]
async fn field_type_is_required_and_a_number_from_1_to_8() {
    let app = TestApp::found().await;
    let before = app.realm().log_position();
    app.call(&app.ada, CREATE, &[("name", "x")]).await.refused("Missing 'field_type' argument");
    for (kind, text) in [
        ("0", "Invalid field type."),
        ("9", "Invalid field type."),
        ("-1", "Invalid field type."),
        ("\"1\"", "field_type is not an integer"),
        ("x", "field_type is not valid JSON"),
    ] {
        app.call(&app.ada, CREATE, &[("name", "x"), ("field_type", kind)]).await.refused(text);
        assert_nothing_written(&app, before, kind);
    }
}

#[tokio::test]
async fn a_field_that_is_not_as_it_should_be_is_refused() {
    let app = TestApp::found().await;
    made(&app, "Taken", &[("field_type", "1")]).await;
    let before = app.realm().log_position();
    let (long_name, long_hint) = ("x".repeat(41), "x".repeat(81));
    let cases: [(Sent<'_>, &str); 12] = [
        (&[("field_type", "1")], "Label cannot be blank."),
        (&[("field_type", "1"), ("name", " ")], "Label cannot be blank."),
        (&[("field_type", "1"), ("name", &long_name)], "name is too long (limit: 40 characters)"),
        (&[("field_type", "1"), ("name", "x"), ("hint", &long_hint)], "hint is too long (limit: 80 characters)"),
        (&[("field_type", "1"), ("name", "Taken")], "A field with that label already exists."),
        (&[("field_type", "3"), ("name", "x")], "Field must have at least one choice."),
        (&[("field_type", "3"), ("name", "x"), ("field_data", "[]")], "field_data is not a dict"),
        (
            &[("field_type", "3"), ("name", "x"), ("field_data", r#"{"a": 1}"#)],
            r#"field_data["a"]["str"] is not a string"#,
        ),
        (
            &[("field_type", "3"), ("name", "x"), ("field_data", r#"{"a": {"text": "A", "order": 1}}"#)],
            r#"field_data["a"]["dict[str,str]"]["order"] is not a string"#,
        ),
        (&[("field_type", "7"), ("name", "x")], "subtype key is missing from field_data"),
        (&[("field_type", "1"), ("name", "x"), ("required", "1")], "required is not a boolean"),
        (
            &[("field_type", "1"), ("name", "x"), ("display_in_profile_summary", "1")],
            "display_in_profile_summary is not a boolean",
        ),
    ];
    for (parameters, text) in cases {
        app.call(&app.ada, CREATE, parameters).await.refused(text);
        assert_nothing_written(&app, before, text);
    }
    made(&app, &"x".repeat(40), &[("field_type", "1"), ("hint", &"x".repeat(80))]).await;
}

#[tokio::test]
async fn at_most_two_fields_organization_wide_are_displayed_in_the_profile_summary() {
    let app = TestApp::found().await;
    let parameters = [("field_type", "1"), ("display_in_profile_summary", "true")];
    let first = made(&app, "One", &parameters).await;
    made(&app, "Two", &parameters).await;
    let third = made(&app, "Three", &[("field_type", "1")]).await;
    let before = app.realm().log_position();
    let text = "Only 2 custom profile fields can be displayed in the profile summary.";
    let four = [("name", "Four"), parameters[0], parameters[1]];
    app.call(&app.ada, CREATE, &four).await.refused(text);
    let path = format!("PATCH /realm/profile_fields/{third}");
    app.call(&app.ada, &path, &[parameters[1]]).await.refused(text);
    assert_nothing_written(&app, before, "a third field in the summary");
    // What stands there already stays.
    app.call(&app.ada, &format!("PATCH /realm/profile_fields/{first}"), &[parameters[1]]).await.success();
    let off = [("display_in_profile_summary", "false")];
    app.call(&app.ada, &format!("PATCH /realm/profile_fields/{first}"), &off).await.success();
    app.call(&app.ada, &path, &[parameters[1]]).await.success();
    let listed = fields(&app).await;
    assert_eq!(listed[0].get("display_in_profile_summary"), None);
    assert_eq!(listed[2]["display_in_profile_summary"], json!(true));
}

#[tokio::test]
async fn long_text_and_the_person_picker_are_not_displayed_in_the_profile_summary() {
    let app = TestApp::found().await;
    let text = "Field type not supported for display in profile summary.";
    for kind in ["2", "6"] {
        let parameters = [("name", "x"), ("field_type", kind), ("display_in_profile_summary", "true")];
        app.call(&app.ada, CREATE, &parameters).await.refused(text);
        let id = made(&app, kind, &[("field_type", kind)]).await;
        let path = format!("PATCH /realm/profile_fields/{id}");
        app.call(&app.ada, &path, &[parameters[2]]).await.refused(text);
    }
}

#[tokio::test]
async fn only_administrators_make_change_order_and_remove_fields() {
    let app = TestApp::found().await;
    let id = made(&app, "One", &[("field_type", "1")]).await;
    let [ada, adam, people @ ..] = everybody(&app).await;
    let order = json!([id]).to_string();
    let calls: [(String, &str, &str); 4] = [
        (CREATE.to_owned(), "field_type", "1"),
        (format!("PATCH /realm/profile_fields/{id}"), "name", "x"),
        ("PATCH /realm/profile_fields".to_owned(), "order", &order),
        (format!("DELETE /realm/profile_fields/{id}"), "x", ""),
    ];
    let before = app.realm().log_position();
    for (call, name, value) in &calls {
        for person in &people {
            let response = app.call(person, call, &[(name, value)]).await;
            response.refused("Must be an organization administrator");
        }
        assert_eq!(app.call_as_nobody(call, &[(name, value)]).await.status, 401, "{call}");
        assert_nothing_written(&app, before, call);
    }
    for person in [&ada, &adam] {
        let name = person.email.as_str();
        app.call(person, CREATE, &[("name", name), ("field_type", "1")]).await.success();
    }
    for person in &people {
        app.call(person, "GET /realm/profile_fields", &[]).await.success();
    }
    assert_eq!(app.call_as_nobody("GET /realm/profile_fields", &[]).await.status, 401);
}

#[tokio::test]
async fn a_field_of_a_known_account_is_named_and_kept_as_that_account_is() {
    let app = TestApp::found().await;
    let data = json!({"subtype": "github"}).to_string();
    let id = made(&app, "", &[("field_type", "7"), ("field_data", &data)]).await;
    assert_eq!(fields(&app).await[0]["name"], json!("GitHub username"));
    let state = app.call(&app.ada, "POST /register", &[]).await.success();
    let known = &state["realm_default_external_accounts"]["github"];
    assert_eq!(known["url_pattern"], json!("https://github.com/%(username)s"));
    let path = format!("PATCH /realm/profile_fields/{id}");
    app.call(&app.ada, &path, &[("name", "x")]).await.refused("Default custom field cannot be updated.");
    app.call(&app.ada, &path, &[("display_in_profile_summary", "true")]).await.success();
    let twice = [("field_type", "7"), ("field_data", data.as_str())];
    app.call(&app.ada, CREATE, &twice).await.refused("A field with that label already exists.");
}

#[tokio::test]
async fn a_field_is_changed_and_what_is_not_named_stays() {
    let app = TestApp::found().await;
    let id = made(&app, "One", &[("field_type", "1"), ("hint", "help")]).await;
    made(&app, "Two", &[("field_type", "1")]).await;
    let path = format!("PATCH /realm/profile_fields/{id}");
    let before = app.realm().log_position();
    app.call(&app.ada, &path, &[("name", " Uno "), ("required", "true")]).await.success();
    let events = events_after(&app, before).await;
    let field = json!({
        "id": id, "name": "Uno", "hint": "help", "order": id, "required": true, "type": 1, "field_data": "",
        "editable_by_user": true,
    });
    assert_eq!((events.len(), &events[0]["fields"][0]), (1, &field));
    let before = app.realm().log_position();
    app.call(&app.ada, &path, &[("name", "Uno"), ("hint", "help")]).await.success();
    app.call(&app.ada, &path, &[]).await.success();
    app.call(&app.ada, &path, &[("name", "Two")]).await.refused("A field with that label already exists.");
    app.call(&app.ada, &path, &[("name", "")]).await.refused("Label cannot be blank.");
    app.call(&app.ada, "PATCH /realm/profile_fields/999", &[("name", "x")]).await.refused("Field id 999 not found.");
    assert_nothing_written(&app, before, "no change");
}

#[tokio::test]
async fn fields_are_put_into_another_order_only_as_a_whole() {
    let app = TestApp::found().await;
    let mut ids = Vec::new();
    for name in ["One", "Two", "Three"] {
        ids.push(made(&app, name, &[("field_type", "1")]).await);
    }
    let order = [ids[2], ids[0], ids[1]];
    let before = app.realm().log_position();
    for wrong in [vec![ids[0]], vec![ids[0], ids[1], ids[2], 999], vec![ids[0], ids[1], ids[1]], vec![ids[0]; 3]] {
        let sent = json!(wrong).to_string();
        let response = app.call(&app.ada, "PATCH /realm/profile_fields", &[("order", &sent)]).await;
        response.refused("Invalid order mapping.");
        assert_nothing_written(&app, before, &sent);
    }
    app.call(&app.ada, "PATCH /realm/profile_fields", &[]).await.refused("Missing 'order' argument");
    let sent = json!(order).to_string();
    app.call(&app.ada, "PATCH /realm/profile_fields", &[("order", &sent)]).await.success();
    let events = events_after(&app, before).await;
    let numbers = |fields: &[Value]| fields.iter().map(|field| field["id"].as_i64().unwrap()).collect::<Vec<_>>();
    assert_eq!((events.len(), numbers(events[0]["fields"].as_array().unwrap())), (1, order.to_vec()));
    assert_eq!(numbers(&fields(&app).await), order);
    let last = made(&app, "Four", &[("field_type", "1")]).await;
    assert_eq!(numbers(&fields(&app).await).last(), Some(&last));
    let before = app.realm().log_position();
    let sent = json!([order[0], order[1], order[2], last]).to_string();
    app.call(&app.ada, "PATCH /realm/profile_fields", &[("order", &sent)]).await.success();
    let first = app.realm().log_position();
    assert_ne!(first, before, "the new field has its place now");
    app.call(&app.ada, "PATCH /realm/profile_fields", &[("order", &sent)]).await.success();
    assert_nothing_written(&app, first, "the order that is");
}

#[tokio::test]
async fn a_removed_field_takes_its_answers_with_it() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Guest).await;
    let id = made(&app, "One", &[("field_type", "1")]).await;
    let data = json!([{"id": id, "value": "x"}]).to_string();
    app.call(&sam, "PATCH /users/me/profile_data", &[("data", &data)]).await.success();
    let before = app.realm().log_position();
    app.call(&app.ada, &format!("DELETE /realm/profile_fields/{id}"), &[]).await.success();
    assert_eq!(events_after(&app, before).await, [json!({"type": "custom_profile_fields", "fields": []})]);
    assert_eq!(profile(&app, &sam).await, json!({}));
    let gone = format!("Field id {id} not found.");
    app.call(&app.ada, &format!("DELETE /realm/profile_fields/{id}"), &[]).await.refused(&gone);
    app.call(&sam, "PATCH /users/me/profile_data", &[("data", &data)]).await.refused(&gone);
}

#[tokio::test]
async fn people_answer_and_take_back_and_everybody_hears_it() {
    let app = TestApp::found().await;
    let gus = app.person("gus", Role::Guest).await;
    let words = made(&app, "Words", &[("field_type", "1")]).await;
    let mentor = made(&app, "Mentor", &[("field_type", "6")]).await;
    let before = app.realm().log_position();
    let data = json!([{"id": words, "value": "*hi*"}, {"id": mentor, "value": [app.ada.id]}]).to_string();
    app.call(&gus, "PATCH /users/me/profile_data", &[("data", &data)]).await.success();
    let expected = |field: Value| {
        let person = json!({"user_id": gus.id, "custom_profile_field": field});
        json!({"type": "realm_user", "op": "update", "person": person})
    };
    let rendered = "<p><em>hi</em></p>";
    assert_eq!(
        events_after(&app, before).await,
        [
            expected(json!({"id": words, "value": "*hi*", "rendered_value": rendered})),
            expected(json!({"id": mentor, "value": "[9]"})),
        ]
    );
    let answers = json!({
        words.to_string(): {"value": "*hi*", "rendered_value": rendered},
        mentor.to_string(): {"value": "[9]"},
    });
    assert_eq!(profile(&app, &gus).await, answers);

    let before = app.realm().log_position();
    app.call(&gus, "PATCH /users/me/profile_data", &[("data", &data)]).await.success();
    assert_nothing_written(&app, before, "the same answers");
    let sent = json!([words]).to_string();
    app.call(&gus, "DELETE /users/me/profile_data", &[("data", &sent)]).await.success();
    assert_eq!(events_after(&app, before).await, [expected(json!({"id": words, "value": null}))]);
    let before = app.realm().log_position();
    app.call(&gus, "DELETE /users/me/profile_data", &[("data", &sent)]).await.success();
    assert_nothing_written(&app, before, "an answer that is not there");
    let empty = json!([{"id": mentor, "value": []}]).to_string();
    app.call(&gus, "PATCH /users/me/profile_data", &[("data", &empty)]).await.success();
    assert_eq!(profile(&app, &gus).await, json!({}));
}

#[tokio::test]
async fn of_many_answers_one_that_is_none_keeps_all_as_they_were() {
    let app = TestApp::found().await;
    let one = made(&app, "One", &[("field_type", "1")]).await;
    let day = made(&app, "Day", &[("field_type", "4")]).await;
    let before = app.realm().log_position();
    let path = "PATCH /users/me/profile_data";
    let of_one = |value: Value| json!([{"id": one, "value": value}]);
    let cases = [
        (json!([{"id": one, "value": "x"}, {"id": day, "value": "x"}]), "Day is not a date"),
        (json!([{"id": one, "value": "x"}, {"id": 999, "value": "x"}]), "Field id 999 not found."),
        (of_one("x".repeat(51).into()), "One is too long (limit: 50 characters)"),
        (of_one(json!([9])), "One is not a string"),
        (of_one(json!(5)), r#"data[0]["value"]["str"] is not a string"#),
        (of_one(json!(["9"])), r#"data[0]["value"]["list[int]"][0] is not an integer"#),
        (json!([{"id": "1", "value": "x"}]), r#"data[0]["id"] is not an integer"#),
        (json!([{"value": "x"}]), r#"data[0]["id"] field is missing: Field required"#),
        (json!([{"id": one}]), r#"data[0]["value"] field is missing: Field required"#),
        (json!([1]), "data[0] is not a dict"),
        (json!({}), "data is not a list"),
    ];
    for (data, text) in cases {
        app.call(&app.ada, path, &[("data", &data.to_string())]).await.refused(text);
        assert_nothing_written(&app, before, text);
    }
    app.call(&app.ada, path, &[]).await.refused("Missing 'data' argument");
    app.call(&app.ada, "DELETE /users/me/profile_data", &[]).await.refused("Missing 'data' argument");
    app.call(&app.ada, "DELETE /users/me/profile_data", &[("data", "[999]")]).await.refused("Field id 999 not found.");
    for call in [path, "DELETE /users/me/profile_data"] {
        assert_eq!(app.call_as_nobody(call, &[("data", "[]")]).await.status, 401, "{call}");
    }
}

#[tokio::test]
async fn administrators_answer_for_others_and_nobody_else_does() {
    let app = TestApp::found().await;
    let [ada, adam, mona, mel, _] = everybody(&app).await;
    let id = made(&app, "One", &[("field_type", "8")]).await;
    let path = format!("PATCH /users/{}", mel.id);
    let data = json!([{"id": id, "value": "she"}]).to_string();
    app.call(&adam, &path, &[("profile_data", &data), ("full_name", "Melanie")]).await.success();
    assert_eq!(profile(&app, &mel).await, json!({id.to_string(): {"value": "she"}}));
    let before = app.realm().log_position();
    for who in [&mona, &mel] {
        app.call(who, &path, &[("profile_data", &data)]).await.refused("Insufficient permission");
    }
    let wrong = json!([{"id": 999, "value": "she"}]).to_string();
    let half = [("profile_data", wrong.as_str()), ("full_name", "Mel")];
    app.call(&ada, &path, &half).await.refused("Field id 999 not found.");
    assert_nothing_written(&app, before, "answers for others");
    let back = json!([{"id": id, "value": ""}]).to_string();
    app.call(&ada, &path, &[("profile_data", &back)]).await.success();
    assert_eq!(profile(&app, &mel).await, json!({}));
}
