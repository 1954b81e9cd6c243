//! Custom profile fields: what is asked, who may ask it, and what people answer.

use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::town::{Person, Town};
use crate::users::{assert_nothing_written, everybody, told_after};

const CREATE: &str = "POST /realm/profile_fields";

/// Parameters of a call.
type Sent<'a> = &'a [(&'a str, &'a str)];

async fn made(town: &Town, name: &str, parameters: Sent<'_>) -> i64 {
    let all: Vec<_> = [("name", name)].into_iter().chain(parameters.iter().copied()).collect();
    town.call(&town.ada, CREATE, &all).await.success()["id"].as_i64().unwrap()
}

async fn fields(town: &Town) -> Vec<Value> {
    let told = town.call(&town.ada, "GET /realm/profile_fields", &[]).await.success();
    told["custom_fields"].as_array().unwrap().clone()
}

/// What somebody answers, as another is shown it.
async fn profile(town: &Town, who: &Person) -> Value {
    let parameters = [("include_custom_profile_fields", "true")];
    let told = town.call(&town.ada, &format!("GET /users/{}", who.id), &parameters).await.success();
    told["user"]["profile_data"].clone()
}

#[tokio::test]
async fn a_field_of_each_type_from_1_to_8_is_made_and_listed() {
    let town = Town::found().await;
    let options = json!({"k1": {"text": "One", "order": "1"}, "k0": {"text": "Two", "order": "2"}}).to_string();
    let account = json!({"subtype": "custom", "url_pattern": "https://x.example/%(username)s"}).to_string();
    let mut ids = Vec::new();
    for kind in 1..=8 {
        let data = [("3", options.as_str()), ("7", account.as_str())];
        let number = kind.to_string();
        let data = data.into_iter().find(|(of, _)| *of == number).map_or("{}", |(_, data)| data);
        let parameters = [("field_type", number.as_str()), ("hint", " help "), ("field_data", data)];
        ids.push(made(&town, &format!(" F{kind} "), &parameters).await);
    }
    let listed = fields(&town).await;
    assert_eq!(listed.iter().map(|field| field["id"].as_i64().unwrap()).collect::<Vec<_>>(), ids);
    for (field, kind) in listed.iter().zip(1..) {
        let mut expected = json!({
            "id": field["id"], "name": format!("F{kind}"), "hint": "help", "order": field["order"], "required": false,
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
    let state = town.call(&town.ada, "POST /register", &[]).await.success();
    let started = state["custom_profile_fields"].as_array().unwrap();
    assert!(started.iter().all(|field| field["field_data"].is_string()), "{started:?}");
}

#[tokio::test]
async fn the_answer_to_a_new_field_is_its_id_and_everybody_hears_of_all_fields() {
    let town = Town::found().await;
    made(&town, "One", &[("field_type", "1")]).await;
    let before = town.realm().at();
    let parameters = [("field_type", "4"), ("required", "true"), ("display_in_profile_summary", "true")];
    let id = made(&town, "Two", &parameters).await;
    let told = told_after(&town, before).await;
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["type"], told[0]["fields"].as_array().unwrap().len()), (&json!("custom_profile_fields"), 2));
    let field = json!({
        "id": id, "name": "Two", "hint": "", "order": id, "required": true, "type": 4, "field_data": "",
        "display_in_profile_summary": true,
    });
    assert_eq!(told[0]["fields"][1], field);
    assert_eq!(fields(&town).await[1], field);
}

#[tokio::test]
async fn field_type_is_required_and_a_number_from_1_to_8() {
    let town = Town::found().await;
    let before = town.realm().at();
    town.call(&town.ada, CREATE, &[("name", "x")]).await.refused("Missing 'field_type' argument");
    for (kind, text) in [
        ("0", "Invalid field type."),
        ("9", "Invalid field type."),
        ("-1", "Invalid field type."),
        ("\"1\"", "field_type is not an integer"),
        ("x", "field_type is not valid JSON"),
    ] {
        town.call(&town.ada, CREATE, &[("name", "x"), ("field_type", kind)]).await.refused(text);
        assert_nothing_written(&town, before, kind);
    }
}

#[tokio::test]
async fn a_field_that_is_not_as_it_should_be_is_refused() {
    let town = Town::found().await;
    made(&town, "Taken", &[("field_type", "1")]).await;
    let before = town.realm().at();
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
        town.call(&town.ada, CREATE, parameters).await.refused(text);
        assert_nothing_written(&town, before, text);
    }
    made(&town, &"x".repeat(40), &[("field_type", "1"), ("hint", &"x".repeat(80))]).await;
}

#[tokio::test]
async fn at_most_two_fields_organization_wide_are_displayed_in_the_profile_summary() {
    let town = Town::found().await;
    let parameters = [("field_type", "1"), ("display_in_profile_summary", "true")];
    let first = made(&town, "One", &parameters).await;
    made(&town, "Two", &parameters).await;
    let third = made(&town, "Three", &[("field_type", "1")]).await;
    let before = town.realm().at();
    let text = "Only 2 custom profile fields can be displayed in the profile summary.";
    let four = [("name", "Four"), parameters[0], parameters[1]];
    town.call(&town.ada, CREATE, &four).await.refused(text);
    let path = format!("PATCH /realm/profile_fields/{third}");
    town.call(&town.ada, &path, &[parameters[1]]).await.refused(text);
    assert_nothing_written(&town, before, "a third field in the summary");
    // What stands there already stays.
    town.call(&town.ada, &format!("PATCH /realm/profile_fields/{first}"), &[parameters[1]]).await.success();
    let off = [("display_in_profile_summary", "false")];
    town.call(&town.ada, &format!("PATCH /realm/profile_fields/{first}"), &off).await.success();
    town.call(&town.ada, &path, &[parameters[1]]).await.success();
    let listed = fields(&town).await;
    assert_eq!(listed[0].get("display_in_profile_summary"), None);
    assert_eq!(listed[2]["display_in_profile_summary"], json!(true));
}

#[tokio::test]
async fn long_text_and_the_person_picker_are_not_displayed_in_the_profile_summary() {
    let town = Town::found().await;
    let text = "Field type not supported for display in profile summary.";
    for kind in ["2", "6"] {
        let parameters = [("name", "x"), ("field_type", kind), ("display_in_profile_summary", "true")];
        town.call(&town.ada, CREATE, &parameters).await.refused(text);
        let id = made(&town, kind, &[("field_type", kind)]).await;
        let path = format!("PATCH /realm/profile_fields/{id}");
        town.call(&town.ada, &path, &[parameters[2]]).await.refused(text);
    }
}

#[tokio::test]
async fn only_administrators_make_change_order_and_remove_fields() {
    let town = Town::found().await;
    let id = made(&town, "One", &[("field_type", "1")]).await;
    let [ada, adam, people @ ..] = everybody(&town).await;
    let order = json!([id]).to_string();
    let calls: [(String, &str, &str); 4] = [
        (CREATE.to_owned(), "field_type", "1"),
        (format!("PATCH /realm/profile_fields/{id}"), "name", "x"),
        ("PATCH /realm/profile_fields".to_owned(), "order", &order),
        (format!("DELETE /realm/profile_fields/{id}"), "x", ""),
    ];
    let before = town.realm().at();
    for (call, name, value) in &calls {
        for person in &people {
            let told = town.call(person, call, &[(name, value)]).await;
            told.refused("Must be an organization administrator");
        }
        assert_eq!(town.call_as_nobody(call, &[(name, value)]).await.status, 401, "{call}");
        assert_nothing_written(&town, before, call);
    }
    for person in [&ada, &adam] {
        let name = person.email.as_str();
        town.call(person, CREATE, &[("name", name), ("field_type", "1")]).await.success();
    }
    for person in &people {
        town.call(person, "GET /realm/profile_fields", &[]).await.success();
    }
    assert_eq!(town.call_as_nobody("GET /realm/profile_fields", &[]).await.status, 401);
}

#[tokio::test]
async fn a_field_of_a_known_account_is_named_and_kept_as_that_account_is() {
    let town = Town::found().await;
    let data = json!({"subtype": "github"}).to_string();
    let id = made(&town, "", &[("field_type", "7"), ("field_data", &data)]).await;
    assert_eq!(fields(&town).await[0]["name"], json!("GitHub username"));
    let state = town.call(&town.ada, "POST /register", &[]).await.success();
    let known = &state["realm_default_external_accounts"]["github"];
    assert_eq!(known["url_pattern"], json!("https://github.com/%(username)s"));
    let path = format!("PATCH /realm/profile_fields/{id}");
    town.call(&town.ada, &path, &[("name", "x")]).await.refused("Default custom field cannot be updated.");
    town.call(&town.ada, &path, &[("display_in_profile_summary", "true")]).await.success();
    let twice = [("field_type", "7"), ("field_data", data.as_str())];
    town.call(&town.ada, CREATE, &twice).await.refused("A field with that label already exists.");
}

#[tokio::test]
async fn a_field_is_changed_and_what_is_not_named_stays() {
    let town = Town::found().await;
    let id = made(&town, "One", &[("field_type", "1"), ("hint", "help")]).await;
    made(&town, "Two", &[("field_type", "1")]).await;
    let path = format!("PATCH /realm/profile_fields/{id}");
    let before = town.realm().at();
    town.call(&town.ada, &path, &[("name", " Uno "), ("required", "true")]).await.success();
    let told = told_after(&town, before).await;
    let field = json!({
        "id": id, "name": "Uno", "hint": "help", "order": id, "required": true, "type": 1, "field_data": "",
    });
    assert_eq!((told.len(), &told[0]["fields"][0]), (1, &field));
    let before = town.realm().at();
    town.call(&town.ada, &path, &[("name", "Uno"), ("hint", "help")]).await.success();
    town.call(&town.ada, &path, &[]).await.success();
    town.call(&town.ada, &path, &[("name", "Two")]).await.refused("A field with that label already exists.");
    town.call(&town.ada, &path, &[("name", "")]).await.refused("Label cannot be blank.");
    town.call(&town.ada, "PATCH /realm/profile_fields/999", &[("name", "x")]).await.refused("Field id 999 not found.");
    assert_nothing_written(&town, before, "no change");
}

#[tokio::test]
async fn fields_are_put_into_another_order_only_as_a_whole() {
    let town = Town::found().await;
    let mut ids = Vec::new();
    for name in ["One", "Two", "Three"] {
        ids.push(made(&town, name, &[("field_type", "1")]).await);
    }
    let order = [ids[2], ids[0], ids[1]];
    let before = town.realm().at();
    for wrong in [vec![ids[0]], vec![ids[0], ids[1], ids[2], 999], vec![ids[0], ids[1], ids[1]], vec![ids[0]; 3]] {
        let sent = json!(wrong).to_string();
        let told = town.call(&town.ada, "PATCH /realm/profile_fields", &[("order", &sent)]).await;
        told.refused("Invalid order mapping.");
        assert_nothing_written(&town, before, &sent);
    }
    town.call(&town.ada, "PATCH /realm/profile_fields", &[]).await.refused("Missing 'order' argument");
    let sent = json!(order).to_string();
    town.call(&town.ada, "PATCH /realm/profile_fields", &[("order", &sent)]).await.success();
    let told = told_after(&town, before).await;
    let numbers = |fields: &[Value]| fields.iter().map(|field| field["id"].as_i64().unwrap()).collect::<Vec<_>>();
    assert_eq!((told.len(), numbers(told[0]["fields"].as_array().unwrap())), (1, order.to_vec()));
    assert_eq!(numbers(&fields(&town).await), order);
    let last = made(&town, "Four", &[("field_type", "1")]).await;
    assert_eq!(numbers(&fields(&town).await).last(), Some(&last));
    let before = town.realm().at();
    let sent = json!([order[0], order[1], order[2], last]).to_string();
    town.call(&town.ada, "PATCH /realm/profile_fields", &[("order", &sent)]).await.success();
    let first = town.realm().at();
    assert_ne!(first, before, "the new field has its place now");
    town.call(&town.ada, "PATCH /realm/profile_fields", &[("order", &sent)]).await.success();
    assert_nothing_written(&town, first, "the order that is");
}

#[tokio::test]
async fn a_removed_field_takes_its_answers_with_it() {
    let town = Town::found().await;
    let sam = town.person("sam", Role::Guest).await;
    let id = made(&town, "One", &[("field_type", "1")]).await;
    let data = json!([{"id": id, "value": "x"}]).to_string();
    town.call(&sam, "PATCH /users/me/profile_data", &[("data", &data)]).await.success();
    let before = town.realm().at();
    town.call(&town.ada, &format!("DELETE /realm/profile_fields/{id}"), &[]).await.success();
    assert_eq!(told_after(&town, before).await, [json!({"type": "custom_profile_fields", "fields": []})]);
    assert_eq!(profile(&town, &sam).await, json!({}));
    let gone = format!("Field id {id} not found.");
    town.call(&town.ada, &format!("DELETE /realm/profile_fields/{id}"), &[]).await.refused(&gone);
    town.call(&sam, "PATCH /users/me/profile_data", &[("data", &data)]).await.refused(&gone);
}

#[tokio::test]
async fn people_answer_and_take_back_and_everybody_hears_it() {
    let town = Town::found().await;
    let gus = town.person("gus", Role::Guest).await;
    let words = made(&town, "Words", &[("field_type", "1")]).await;
    let mentor = made(&town, "Mentor", &[("field_type", "6")]).await;
    let before = town.realm().at();
    let data = json!([{"id": words, "value": "*hi*"}, {"id": mentor, "value": [town.ada.id]}]).to_string();
    town.call(&gus, "PATCH /users/me/profile_data", &[("data", &data)]).await.success();
    let told = |field: Value| {
        let person = json!({"user_id": gus.id, "custom_profile_field": field});
        json!({"type": "realm_user", "op": "update", "person": person})
    };
    let rendered = "<p><em>hi</em></p>";
    assert_eq!(
        told_after(&town, before).await,
        [
            told(json!({"id": words, "value": "*hi*", "rendered_value": rendered})),
            told(json!({"id": mentor, "value": "[9]"})),
        ]
    );
    let answers = json!({
        words.to_string(): {"value": "*hi*", "rendered_value": rendered},
        mentor.to_string(): {"value": "[9]"},
    });
    assert_eq!(profile(&town, &gus).await, answers);

    let before = town.realm().at();
    town.call(&gus, "PATCH /users/me/profile_data", &[("data", &data)]).await.success();
    assert_nothing_written(&town, before, "the same answers");
    let sent = json!([words]).to_string();
    town.call(&gus, "DELETE /users/me/profile_data", &[("data", &sent)]).await.success();
    assert_eq!(told_after(&town, before).await, [told(json!({"id": words, "value": null}))]);
    let before = town.realm().at();
    town.call(&gus, "DELETE /users/me/profile_data", &[("data", &sent)]).await.success();
    assert_nothing_written(&town, before, "an answer that is not there");
    let empty = json!([{"id": mentor, "value": []}]).to_string();
    town.call(&gus, "PATCH /users/me/profile_data", &[("data", &empty)]).await.success();
    assert_eq!(profile(&town, &gus).await, json!({}));
}

#[tokio::test]
async fn of_many_answers_one_that_is_none_keeps_all_as_they_were() {
    let town = Town::found().await;
    let one = made(&town, "One", &[("field_type", "1")]).await;
    let day = made(&town, "Day", &[("field_type", "4")]).await;
    let before = town.realm().at();
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
        town.call(&town.ada, path, &[("data", &data.to_string())]).await.refused(text);
        assert_nothing_written(&town, before, text);
    }
    town.call(&town.ada, path, &[]).await.refused("Missing 'data' argument");
    town.call(&town.ada, "DELETE /users/me/profile_data", &[]).await.refused("Missing 'data' argument");
    town.call(&town.ada, "DELETE /users/me/profile_data", &[("data", "[999]")])
        .await
        .refused("Field id 999 not found.");
    for call in [path, "DELETE /users/me/profile_data"] {
        assert_eq!(town.call_as_nobody(call, &[("data", "[]")]).await.status, 401, "{call}");
    }
}

#[tokio::test]
async fn administrators_answer_for_others_and_nobody_else_does() {
    let town = Town::found().await;
    let [ada, adam, mona, mel, _] = everybody(&town).await;
    let id = made(&town, "One", &[("field_type", "8")]).await;
    let path = format!("PATCH /users/{}", mel.id);
    let data = json!([{"id": id, "value": "she"}]).to_string();
    town.call(&adam, &path, &[("profile_data", &data), ("full_name", "Melanie")]).await.success();
    assert_eq!(profile(&town, &mel).await, json!({id.to_string(): {"value": "she"}}));
    let before = town.realm().at();
    for who in [&mona, &mel] {
        town.call(who, &path, &[("profile_data", &data)]).await.refused("Insufficient permission");
    }
    let wrong = json!([{"id": 999, "value": "she"}]).to_string();
    let half = [("profile_data", wrong.as_str()), ("full_name", "Mel")];
    town.call(&ada, &path, &half).await.refused("Field id 999 not found.");
    assert_nothing_written(&town, before, "answers for others");
    let back = json!([{"id": id, "value": ""}]).to_string();
    town.call(&ada, &path, &[("profile_data", &back)]).await.success();
    assert_eq!(profile(&town, &mel).await, json!({}));
}
