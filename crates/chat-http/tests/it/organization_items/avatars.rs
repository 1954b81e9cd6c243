//! `/users/me/avatar`, and `/avatar`.

use serde_json::{Value, json};

use super::{heard, listen, people};
use crate::file_store::{form, gif, png};
use crate::test_app::{Person, TestApp, TestResponse};

async fn show(app: &TestApp, who: &Person, file: &[u8]) -> TestResponse {
    let form = form(&[("file", "me.png", "image/png", file)]);
    app.call_with_files(who, "POST /users/me/avatar", form).await
}

async fn user(app: &TestApp, id: i64) -> Value {
    let parameters = [("client_gravatar", "false")];
    app.call(&app.ada, &format!("GET /users/{id}"), &parameters).await.success()["user"].take()
}

#[tokio::test]
async fn a_new_avatar_is_shown_in_both_sizes_and_told_to_everybody() {
    let app = TestApp::found().await;
    let [_, _, sam, gus] = people(&app).await;
    let queue = listen(&app, &gus, (r#"["realm_user"]"#, r#"{"notification_settings_null":true}"#)).await;
    let url = show(&app, &sam, &png(800, 600)).await.success()["avatar_url"].as_str().unwrap().to_owned();
    let medium = url.replace(".png", "-medium.png");
    assert_eq!(user(&app, sam.id).await["avatar_url"], json!(url));
    let person = json!({
        "user_id": sam.id,
        "avatar_source": "U",
        "avatar_url": url,
        "avatar_url_medium": medium,
        "avatar_version": 2,
    });
    assert_eq!(heard(&app, &queue).await, [json!({"type": "realm_user", "op": "update", "person": person})]);
    for (url, side) in [(&url, 100), (&medium, 500)] {
        let (status, headers, picture) = app.fetch_bytes(url, &[]).await;
        assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "image/png"));
        let read_picture_metadata = chat_pictures::read_picture_metadata(std::io::Cursor::new(&picture)).unwrap();
        assert_eq!((read_picture_metadata.width, read_picture_metadata.height), (side, side));
    }
}

#[tokio::test]
async fn an_avatar_that_is_replaced_or_taken_back_is_gone() {
    let app = TestApp::found().await;
    let first = show(&app, &app.ada, &png(64, 64)).await.success()["avatar_url"].as_str().unwrap().to_owned();
    let second = show(&app, &app.ada, &gif(2)).await.success()["avatar_url"].as_str().unwrap().to_owned();
    assert_eq!((app.fetch_bytes(&first, &[]).await.0, app.fetch_bytes(&second, &[]).await.0), (404, 200));
    let response = app.call(&app.ada, "DELETE /users/me/avatar", &[]).await.success();
    assert!(response["avatar_url"].as_str().unwrap().starts_with("https://secure.gravatar.com/avatar/"), "{response}");
    assert_eq!((app.fetch_bytes(&second, &[]).await.0, app.files.keys().len()), (404, 0));
    let again = app.call(&app.ada, "DELETE /users/me/avatar", &[]).await.success();
    assert_eq!(again["avatar_url"], response["avatar_url"]);
}

#[tokio::test]
async fn what_is_no_picture_is_no_avatar() {
    let app = TestApp::found().await;
    let before = app.realm().log_position();
    let response = show(&app, &app.ada, b"<html>").await;
    assert_eq!(response.error(), (400, "BAD_IMAGE", "Invalid image format"));
    let large = vec![0; 5 * 1024 * 1024 + 1];
    show(&app, &app.ada, &large).await.refused("Uploaded file is larger than the allowed limit of 5 MiB");
    let response = app.call_with_files(&app.ada, "POST /users/me/avatar", form(&[])).await;
    response.refused("You must upload exactly one avatar.");
    assert_eq!((app.realm().log_position(), app.files.keys().len()), (before, 0));
}

#[tokio::test]
async fn an_avatar_is_found_by_the_number_or_address_of_its_user() {
    let app = TestApp::found().await;
    let [_, _, sam, _] = people(&app).await;
    let url = show(&app, &sam, &png(64, 64)).await.success()["avatar_url"].as_str().unwrap().to_owned();
    let lead = async |path: &str| {
        let (status, headers, _) = app.fetch_as(&app.ada, path).await;
        (status, headers.get("location").map(|location| location.to_str().unwrap().to_owned()))
    };
    assert_eq!(lead(&format!("/avatar/{}", sam.id)).await, (302, Some(url.clone())));
    assert_eq!(lead("/avatar/sam@example.org").await, (302, Some(url.clone())));
    let medium = url.replace(".png", "-medium.png");
    assert_eq!(lead(&format!("/avatar/{}/medium", sam.id)).await, (302, Some(medium)));
    let (status, usual) = lead(&format!("/avatar/{}", app.ada.id)).await;
    assert!(status == 302 && usual.unwrap().starts_with("https://secure.gravatar.com/"));
    assert_eq!(lead("/avatar/999").await, (404, None));
    assert_eq!(app.fetch_bytes(&format!("/avatar/{}", sam.id), &[]).await.0, 401);
}
