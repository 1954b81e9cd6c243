//! `/realm/icon` and `/realm/logo`.

use serde_json::{Value, json};

use super::{ADMINISTRATOR, heard, listen, people};
use crate::file_store::{form, gif, png};
use crate::test_app::{Person, TestApp, TestResponse, with_query};

/// Where the picture is of an organization without one of its own.
const USUAL: &str = "https://chat.example.org/static/icon.png";
/// A path, the parameters of its calls, and the picture's name.
type Picture = (&'static str, &'static [(&'static str, &'static str)], &'static str);
const PICTURES: [Picture; 3] = [
    ("/realm/icon", &[], "icon"),
    ("/realm/logo", &[("night", "false")], "logo"),
    ("/realm/logo", &[("night", "true")], "night_logo"),
];

async fn give(app: &TestApp, who: &Person, (path, parameters): (&str, &[(&str, &str)]), file: &[u8]) -> TestResponse {
    let form = form(&[("file", "ours.png", "image/png", file)]);
    app.call_with_files(who, &with_query(&format!("POST {path}"), parameters), form).await
}

/// What newcomers are told: where the picture is, and where it comes from.
async fn shown_image(app: &TestApp, name: &str) -> (Value, Value) {
    let parameters = [("fetch_event_types", r#"["realm"]"#)];
    let mut state = app.call(&app.ada, "POST /register", &parameters).await.success();
    (state[format!("realm_{name}_url")].take(), state[format!("realm_{name}_source")].take())
}

async fn icon_of_strangers(app: &TestApp) -> Value {
    app.call_as_nobody("GET /server_settings", &[]).await.success()["realm_icon"].take()
}

/// Width and height of the picture there, which needs no account.
async fn sides(app: &TestApp, url: &str) -> (u32, u32) {
    let (status, headers, picture) = app.fetch_bytes(url, &[]).await;
    assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "image/png"));
    let read_picture_metadata = chat_pictures::read_picture_metadata(std::io::Cursor::new(&picture)).unwrap();
    (read_picture_metadata.width, read_picture_metadata.height)
}

#[tokio::test]
async fn a_picture_of_the_organization_is_told_to_everybody_shown_to_newcomers_and_taken_back() {
    let app = TestApp::found().await;
    let [amy, _, _, gus] = people(&app).await;
    for ((path, parameters, name), usual) in PICTURES.into_iter().zip(["G", "D", "D"]) {
        assert_eq!(shown_image(&app, name).await, (json!(USUAL), json!(usual)));
        let queue = listen(&app, &gus, (r#"["realm"]"#, r#"{"notification_settings_null":true}"#)).await;
        let event = |url: &Value, source: &str| {
            let data = json!({(format!("{name}_url")): url, (format!("{name}_source")): source});
            json!({"type": "realm", "op": "update_dict", "property": name, "data": data})
        };
        let answer = give(&app, &amy, (path, parameters), &png(800, 400)).await.success();
        let (url, source) = shown_image(&app, name).await;
        assert_eq!((source, heard(&app, &queue).await), (json!("U"), vec![event(&url, "U")]));
        let is_icon = name == "icon";
        let shown = if is_icon { url.clone() } else { Value::Null };
        assert_eq!(answer.get("icon_url").cloned().unwrap_or_default(), shown);
        let path_of_it = url.as_str().unwrap();
        assert!(path_of_it.starts_with("/user_avatars/1/realm/"), "{path_of_it}");
        assert_eq!(sides(&app, path_of_it).await, if is_icon { (100, 100) } else { (200, 100) });
        if is_icon {
            assert_eq!(icon_of_strangers(&app).await, url);
        }
        for _ in 0..2 {
            let answer = app.call(&amy, &format!("DELETE {path}"), parameters).await.success();
            assert_eq!(answer.get("icon_url"), is_icon.then_some(&json!(USUAL)));
        }
        assert_eq!(shown_image(&app, name).await, (json!(USUAL), json!(usual)));
        assert_eq!(heard(&app, &queue).await, [event(&url, "U"), event(&json!(USUAL), usual)]);
        assert_eq!((app.fetch_bytes(path_of_it, &[]).await.0, app.files.keys().len()), (404, 0));
    }
    assert_eq!(icon_of_strangers(&app).await, json!(USUAL));
}

#[tokio::test]
async fn one_picture_is_replaced_and_the_others_stay() {
    let app = TestApp::found().await;
    let mut urls = Vec::new();
    for (path, parameters, name) in PICTURES {
        give(&app, &app.ada, (path, parameters), &png(30, 20)).await.success();
        urls.push(shown_image(&app, name).await.0);
    }
    // Smaller than it may be, it is as large as it came.
    assert_eq!(sides(&app, urls[1].as_str().unwrap()).await, (30, 20));
    let (path, parameters, name) = PICTURES[1];
    give(&app, &app.ada, (path, parameters), &gif(2)).await.success();
    assert_eq!(app.fetch_bytes(urls[1].as_str().unwrap(), &[]).await.0, 404);
    assert_ne!(shown_image(&app, name).await.0, urls[1]);
    for place in [0, 2] {
        assert_eq!(shown_image(&app, PICTURES[place].2).await.0, urls[place]);
        assert_eq!(app.fetch_bytes(urls[place].as_str().unwrap(), &[]).await.0, 200);
    }
    assert_eq!(app.files.keys().len(), 3);
}

#[tokio::test]
async fn what_is_no_picture_or_from_no_administrator_is_none_of_the_organization() {
    let app = TestApp::found().await;
    let [_, max, ..] = people(&app).await;
    let before = app.realm().log_position();
    let large = vec![0; 5 * 1024 * 1024 + 1];
    for (path, parameters, name) in PICTURES {
        let call = (path, parameters);
        assert_eq!(give(&app, &app.ada, call, b"<html>").await.error(), (400, "BAD_IMAGE", "Invalid image format"));
        let said = "Uploaded file is larger than the allowed limit of 5 MiB";
        give(&app, &app.ada, call, &large).await.refused(said);
        let picture = png(8, 8);
        let one = ("a", "a.png", "image/png", picture.as_slice());
        for files in [&[] as &[_], &[one, ("b", "b.png", "image/png", picture.as_slice())]] {
            let post = with_query(&format!("POST {path}"), parameters);
            let response = app.call_with_files(&app.ada, &post, form(files)).await;
            response.refused(&format!("You must upload exactly one {}.", name.trim_start_matches("night_")));
        }
        give(&app, &max, call, &picture).await.refused(ADMINISTRATOR);
        app.call(&max, &format!("DELETE {path}"), parameters).await.refused(ADMINISTRATOR);
    }
    give(&app, &app.ada, ("/realm/logo", &[]), &png(8, 8)).await.refused("Missing 'night' argument");
    assert_eq!((app.realm().log_position(), app.files.keys().len()), (before, 0));
}
