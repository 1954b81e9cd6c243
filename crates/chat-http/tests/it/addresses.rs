//! Who is shown the address of a user, and what the others are shown, wherever a user is named.

use chat_core::model::role::Role;
use serde_json::{Value, json};

use crate::invites::{letters, path_in};
use crate::personal::bot;
use crate::test_app::{Person, TestApp};

/// What everybody knows a user by who hides their address.
fn hidden(who: &Person) -> String {
    format!("user{}@hidden.invalid", who.id)
}

/// A test app with Sam, who shows his address to administrators, and Eve, a member.
async fn secretive() -> (TestApp, Person, Person) {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let eve = app.person("eve", Role::Member).await;
    for who in [&sam, &eve] {
        let parameters = [("subscriptions", r#"[{"name": "general"}]"#)];
        app.call(who, "POST /users/me/subscriptions", &parameters).await.success();
    }
    choose(&app, &sam, "3").await;
    (app, sam, eve)
}

async fn choose(app: &TestApp, who: &Person, number: &str) {
    app.call(who, "PATCH /settings", &[("email_address_visibility", number)]).await.success();
}

/// A queue of everything with the events in it so far.
async fn queue(app: &TestApp, who: &Person) -> Value {
    app.call(who, "POST /register", &[("slim_presence", "false")]).await.success()
}

async fn heard(app: &TestApp, who: &Person, queue: &Value) -> Vec<Value> {
    let last = queue["last_event_id"].to_string();
    let parameters =
        [("queue_id", queue["queue_id"].as_str().unwrap()), ("last_event_id", &last), ("dont_block", "true")];
    app.call(who, "GET /events", &parameters).await.success()["events"].as_array().unwrap().clone()
}

/// What the events of `realm_user` say of a person, without the number.
fn persons(events: &[Value]) -> Vec<Value> {
    let of_users = events.iter().filter(|event| event["type"] == "realm_user");
    let mut persons: Vec<Value> = of_users.map(|event| event["person"].clone()).collect();
    for person in &mut persons {
        person.as_object_mut().unwrap().remove("user_id");
    }
    persons
}

/// The user's object among others.
fn one_of(users: &Value, who: &Person) -> (Value, Value) {
    let user = users.as_array().unwrap().iter().find(|user| user["user_id"] == who.id).unwrap();
    (user["email"].clone(), user["delivery_email"].clone())
}

#[tokio::test]
async fn lists_tell_the_address_to_those_it_is_shown_to_and_null_to_the_others() {
    let (app, sam, eve) = secretive().await;
    let (known, own) = (json!(hidden(&sam)), json!(sam.email));
    for (reader, address) in [(&app.ada, &own), (&sam, &own), (&eve, &Value::Null)] {
        let expected = (known.clone(), address.clone());
        let members = app.call(reader, "GET /users", &[]).await.success()["members"].clone();
        assert_eq!(one_of(&members, &sam), expected, "{}", reader.email);
        assert_eq!(one_of(&members, &eve), (json!(eve.email), json!(eve.email)));
        let user = app.call(reader, &format!("GET /users/{}", sam.id), &[]).await.success()["user"].clone();
        assert_eq!((user["email"].clone(), user["delivery_email"].clone()), expected);
        let state = queue(&app, reader).await;
        assert_eq!(one_of(&state["realm_users"], &sam), expected);
    }
    let state = queue(&app, &sam).await;
    assert_eq!((&state["email"], &state["delivery_email"]), (&known, &own));
    let me = app.call(&sam, "GET /users/me", &[]).await.success();
    assert_eq!((&me["email"], &me["delivery_email"]), (&known, &own));
}

#[tokio::test]
async fn no_answer_and_no_event_tells_the_address_to_whom_it_is_not_shown() {
    let (app, sam, eve) = secretive().await;
    let general =
        app.call(&eve, "GET /get_stream_id", &[("stream", "general")]).await.success()["stream_id"].to_string();
    let before = queue(&app, &eve).await;
    let (to_eve, both) = (format!("[{}]", eve.id), format!("[{}, {}]", eve.id, app.ada.id));
    let sent = [("type", "channel"), ("to", "general"), ("topic", "t"), ("content", "one")];
    let id = app.call(&sam, "POST /messages", &sent).await.success()["id"].to_string();
    let direct = [("type", "direct"), ("to", &*both), ("content", "two")];
    app.call(&sam, "POST /messages", &direct).await.success();
    app.call(&sam, &format!("POST /messages/{id}/reactions"), &[("emoji_name", "tada")]).await.success();
    app.call(&sam, "POST /typing", &[("op", "start"), ("to", &to_eve)]).await.success();
    app.call(&sam, "POST /users/me/presence", &[("status", "active"), ("ping_only", "true")]).await.success();
    app.call(&sam, "PATCH /settings", &[("timezone", "Europe/Berlin"), ("full_name", "Sam Secret")]).await.success();
    app.call(&sam, "DELETE /users/me/avatar", &[]).await.success();
    let everything = [("anchor", "newest"), ("num_before", "100"), ("num_after", "0"), ("narrow", "[]")];
    let calls: [(&str, &[(&str, &str)]); 11] = [
        ("POST /register", &[("slim_presence", "false"), ("include_subscribers", "true")]),
        ("POST /register", &[("slim_presence", "true"), ("client_gravatar", "false")]),
        ("GET /messages", &everything),
        (&format!("GET /messages/{id}"), &[]),
        ("GET /realm/presence", &[]),
        ("POST /users/me/presence", &[("status", "active")]),
        ("GET /users", &[("client_gravatar", "false"), ("include_custom_profile_fields", "true")]),
        (&format!("GET /users/{}", sam.id), &[]),
        (&format!("GET /users/{}/presence", hidden(&sam)), &[]),
        (&format!("GET /streams/{general}/members"), &[]),
        ("GET /users/me/subscriptions", &[("include_subscribers", "true")]),
    ];
    let mut events = vec![json!(heard(&app, &eve, &before).await)];
    assert!(events[0].as_array().unwrap().len() >= 6, "{events:?}");
    for (call, parameters) in calls {
        events.push(app.call(&eve, call, parameters).await.success());
    }
    for response in events {
        assert!(!response.to_string().contains("sam@example.org"), "{response}");
        assert!(!response.to_string().contains("SAM@"), "{response}");
    }
    // The usual picture is found by a digest that the address could be guessed by, and no reader works it out.
    let picture = async || {
        let user = app.call(&eve, &format!("GET /users/{}", sam.id), &[("client_gravatar", "true")]).await.success();
        user["user"]["avatar_url"].clone()
    };
    let hidden = picture().await;
    choose(&app, &sam, "1").await;
    assert_eq!(picture().await, Value::Null);
    let user = app.call(&eve, &format!("GET /users/{}", sam.id), &[("client_gravatar", "false")]).await.success();
    let open = &user["user"]["avatar_url"];
    assert!(hidden.is_string() && open.is_string() && hidden != *open, "{hidden} {open}");
}

#[tokio::test]
async fn messages_that_were_there_before_name_their_sender_as_everybody_knows_them_now() {
    let (app, sam, eve) = secretive().await;
    let page = [("anchor", "newest"), ("num_before", "1"), ("num_after", "0")];
    let sent = [("type", "channel"), ("to", "general"), ("topic", "t"), ("content", "one")];
    app.call(&sam, "POST /messages", &sent).await.success();
    let mut shown = Vec::new();
    for number in ["1", "4", "1"] {
        choose(&app, &sam, number).await;
        let response = app.call(&eve, "GET /messages", &page).await.success();
        shown.push(response["messages"][0]["sender_email"].clone());
    }
    assert_eq!(shown, [json!(sam.email), json!(hidden(&sam)), json!(sam.email)]);
}

#[tokio::test]
async fn an_address_one_is_not_shown_finds_nobody_and_the_one_everybody_knows_does() {
    let (app, sam, eve) = secretive().await;
    let real = "sam@example.org";
    for path in [format!("GET /users/{real}"), format!("GET /users/{real}/presence")] {
        app.call(&eve, &path, &[]).await.refused("No such user");
    }
    let known = hidden(&sam);
    for (reader, address) in [(&eve, known.as_str()), (&app.ada, &known), (&app.ada, real), (&sam, real)] {
        let response = app.call(reader, &format!("GET /users/{address}"), &[]).await.success();
        assert_eq!(response["user"]["user_id"], sam.id, "{} {address}", reader.email);
    }
    let write = async |address: &str| {
        let to = json!([address]).to_string();
        app.call(&eve, "POST /messages", &[("type", "direct"), ("to", &to), ("content", "x")]).await
    };
    write(real).await.refused("Invalid email 'sam@example.org'");
    write(&known).await.success();
    for operator in ["sender", "dm", "dm-including"] {
        for (address, is_known) in [(real, false), (known.as_str(), true)] {
            let narrow = json!([{"operator": operator, "operand": address}]).to_string();
            let page = [("anchor", "newest"), ("num_before", "1"), ("num_after", "0"), ("narrow", narrow.as_str())];
            let response = app.call(&eve, "GET /messages", &page).await;
            assert_eq!(response.status == 200, is_known, "{operator} {address}: {}", response.body);
        }
    }
}

#[tokio::test]
async fn who_hides_an_address_tells_each_what_they_are_shown_from_then_on() {
    let (app, sam, eve) = secretive().await;
    choose(&app, &sam, "1").await;
    let guest = app.person("gus", Role::Guest).await;
    let readers = [&app.ada, &sam, &eve, &guest];
    let mut queues = Vec::new();
    for reader in readers {
        queues.push(queue(&app, reader).await);
    }
    choose(&app, &sam, "2").await;
    choose(&app, &sam, "2").await;
    choose(&app, &sam, "3").await;
    choose(&app, &sam, "1").await;
    let mut events = Vec::new();
    for (reader, queue) in readers.into_iter().zip(&queues) {
        let mut persons = persons(&heard(&app, reader, queue).await);
        persons.retain(|person| person.get("avatar_url").is_none());
        events.push(persons);
    }
    let (gone, back) = (json!({"new_email": hidden(&sam)}), json!({"new_email": sam.email}));
    let (lost, learnt) = (json!({"delivery_email": null}), json!({"delivery_email": sam.email}));
    let shown_always = vec![gone.clone(), back.clone()];
    assert_eq!(events[0], shown_always);
    assert_eq!(events[1], shown_always);
    assert_eq!(events[2], [gone.clone(), lost.clone(), back.clone(), learnt.clone()]);
    assert_eq!(events[3], [gone, lost, back, learnt]);
}

#[tokio::test]
async fn the_usual_picture_changes_with_the_address_and_ones_own_stays() {
    let (app, sam, eve) = secretive().await;
    let before = queue(&app, &eve).await;
    choose(&app, &sam, "1").await;
    let persons = persons(&heard(&app, &eve, &before).await);
    let pictures: Vec<&Value> = persons.iter().filter(|person| person.get("avatar_url").is_some()).collect();
    assert_eq!(pictures.len(), 1, "{persons:?}");
    let mut keys: Vec<&String> = pictures[0].as_object().unwrap().keys().collect();
    keys.sort_unstable();
    assert_eq!(keys, ["avatar_source", "avatar_url", "avatar_url_medium", "avatar_version"]);
}

#[tokio::test]
async fn who_joins_begins_with_what_the_organization_chose_and_each_is_told_what_they_are_shown() {
    let (app, _, eve) = secretive().await;
    let defaults = [("email_address_visibility", "3")];
    app.call(&app.ada, "PATCH /realm/user_settings_defaults", &defaults).await.success();
    let queues = [queue(&app, &app.ada).await, queue(&app, &eve).await];
    let parameters = [("email", "new@example.org"), ("password", "a long enough one"), ("full_name", "New")];
    let id = app.call(&app.ada, "POST /users", &parameters).await.success()["user_id"].clone();
    for (reader, queue, address) in [(&app.ada, &queues[0], json!("new@example.org")), (&eve, &queues[1], Value::Null)]
    {
        let persons = persons(&heard(&app, reader, queue).await);
        assert_eq!(persons.len(), 1, "{persons:?}");
        assert_eq!(persons[0]["email"], format!("user{id}@hidden.invalid"));
        assert_eq!(persons[0]["delivery_email"], address);
    }
}

#[tokio::test]
async fn one_signs_in_by_ones_own_address_whoever_is_shown_it() {
    let (app, ..) = secretive().await;
    choose(&app, &app.ada, "4").await;
    let sign_in = async |name: &str| {
        app.call_as_nobody("POST /fetch_api_key", &[("username", name), ("password", "ada's")]).await
    };
    let response = sign_in("ada@example.org").await.success();
    assert_eq!((&response["email"], &response["api_key"]), (&json!("ada@example.org"), &json!(app.ada.key)));
    assert_eq!(sign_in(&hidden(&app.ada)).await.status, 401);
}

#[tokio::test]
async fn a_new_address_is_ones_own_when_the_button_behind_the_link_in_its_letter_is_pressed() {
    let (app, sam, eve) = secretive().await;
    choose(&app, &sam, "1").await;
    let before = queue(&app, &eve).await;
    let values = [("email", "sammy@example.org"), ("full_name", "Sammy")];
    let response = app.call(&sam, "PATCH /settings", &values).await.success();
    assert_eq!(response.get("ignored_parameters_unsupported"), None);
    let sent = letters(&app).await;
    assert_eq!((sent.len(), sent[0].to.as_str()), (1, "sammy@example.org"));
    let page = path_in(&sent[0]);
    let (status, headers, text) = app.browse(&format!("GET {page}"), &[]).await;
    assert_eq!((status, &headers["cache-control"]), (200, &"no-store".parse().unwrap()));
    assert!(text.contains("<strong>sammy@example.org</strong>") && text.contains("<button"), "{text}");
    // Programs that look through mail open links too.
    assert_eq!(app.call(&sam, "GET /users/me", &[]).await.success()["delivery_email"], sam.email);
    let (status, _, text) = app.browse(&format!("POST {page}"), &[]).await;
    assert!(status == 200 && text.contains("sammy@example.org"), "{status} {text}");
    assert_eq!(app.call(&sam, "GET /users/me", &[]).await.status, 401);
    let renamed = Person { email: "sammy@example.org".to_owned(), ..sam.clone() };
    assert_eq!(app.call(&renamed, "GET /users/me", &[]).await.success()["delivery_email"], "sammy@example.org");
    let farewell = letters(&app).await;
    assert_eq!((farewell.len(), farewell[0].to.as_str()), (1, "sam@example.org"));
    let mut persons = persons(&heard(&app, &eve, &before).await);
    persons.retain(|person| person.get("avatar_url").is_none());
    let expected = ["full_name", "delivery_email", "new_email"]
        .map(|key| persons.iter().filter(|person| person.get(key).is_some()).count());
    assert_eq!(expected, [1, 1, 1], "{persons:?}");
    let (status, _, text) = app.browse(&format!("POST {page}"), &[]).await;
    assert!(status == 404 && text.contains("There is nothing to confirm"), "{status} {text}");
}

#[tokio::test]
async fn who_hides_an_address_tells_a_new_one_to_those_alone_who_are_shown_it() {
    let (app, sam, eve) = secretive().await;
    let queues = [queue(&app, &app.ada).await, queue(&app, &eve).await];
    app.call(&sam, "PATCH /settings", &[("email", "sammy@example.org")]).await.success();
    let page = path_in(&letters(&app).await[0]);
    assert_eq!(app.browse(&format!("POST {page}"), &[]).await.0, 200);
    let expected = json!({"delivery_email": "sammy@example.org"});
    assert_eq!(persons(&heard(&app, &app.ada, &queues[0]).await), [expected]);
    assert_eq!(persons(&heard(&app, &eve, &queues[1]).await), Vec::<Value>::new());
}

#[tokio::test]
async fn an_address_that_cannot_be_ones_own_is_refused_and_nothing_is_sent() {
    let (app, sam, _) = secretive().await;
    let before = app.realm().log_position();
    let ask = async |who: &Person, address: &str| {
        let values = [("email", address), ("full_name", "Other Name")];
        app.call(who, "PATCH /settings", &values).await
    };
    ask(&sam, "Eve@example.org").await.refused("Email 'Eve@example.org' already in use");
    ask(&sam, "no address").await.refused("Bad name or username");
    let robot = bot(&app, "robot").await;
    ask(&robot, "robot@example.org").await.refused("This endpoint does not accept bot requests.");
    assert!(letters(&app).await.is_empty());
    let of_people = |user: &chat_core::model::user::User| user.full_name == "Other Name";
    assert!(!app.realm().users().any(|user| of_people(user)));
    assert!(app.realm().log_position() >= before);
    // Existing clients send whole forms.
    app.call(&sam, "PATCH /settings", &[("email", "SAM@example.org")]).await.success();
    app.call(&sam, "PATCH /settings", &[("email", "")]).await.success();
    assert!(letters(&app).await.is_empty());
}

#[tokio::test]
async fn a_link_that_confirms_nothing_says_why() {
    let (app, sam, _) = secretive().await;
    app.call(&sam, "PATCH /settings", &[("email", "sammy@example.org")]).await.success();
    let page = path_in(&letters(&app).await[0]);
    for method in ["GET", "POST"] {
        let (status, _, text) = app.browse(&format!("{method} {}x", &page[..page.len() - 1]), &[]).await;
        assert!(status == 404 && text.contains("There is nothing to confirm"), "{status} {text}");
        assert_eq!(app.browse(&format!("{method} /confirm-address/nothing"), &[]).await.0, 404);
    }
    app.wait_s(86_400);
    for method in ["GET", "POST"] {
        let (status, _, text) = app.browse(&format!("{method} {page}"), &[]).await;
        assert!(status == 410 && text.contains("This link has expired"), "{status} {text}");
    }
    assert!(app.realm().user_by_email("sam@example.org").is_some());
}

#[tokio::test]
async fn who_hands_a_bot_over_is_told_the_address_everybody_knows_its_keeper_by() {
    let (app, sam, _) = secretive().await;
    let robot = [("full_name", "Robot"), ("short_name", "robot")];
    let id = app.call(&app.ada, "POST /bots", &robot).await.success()["user_id"].clone();
    let owner = [("bot_owner_id", &*sam.id.to_string())];
    let response = app.call(&app.ada, &format!("PATCH /bots/{id}"), &owner).await.success();
    assert_eq!(response["bot_owner"], hidden(&sam));
}
