//! Smaller pictures of uploads.

use chat_core::model::role::Role;
use serde_json::json;

use super::{link, status, upload};
use crate::file_store::{gif, png};
use crate::test_app::TestApp;

fn facts(picture: &[u8]) -> chat_pictures::PictureMetadata {
    chat_pictures::read_picture_metadata(std::io::Cursor::new(picture)).unwrap()
}

/// The HTML of a message.
async fn html(app: &TestApp, id: i64) -> String {
    let response = app.call(&app.ada, &format!("GET /messages/{id}"), &[]).await.success();
    response["message"]["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_message_shows_a_smaller_picture_and_the_size_of_the_original() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let url = upload(&app, &app.ada, ("a.png", &png(1680, 560))).await;
    let message = link(&app, &app.ada, (&sam, &url)).await;
    let small = format!("{}/840x560.webp", url.replace("/user_uploads/", "/user_uploads/thumbnail/"));
    let expected = format!(
        "<p>look: <a href=\"{url}\">it</a></p>\n<div class=\"message_inline_image\"><a href=\"{url}\" \
         title=\"it\"><img data-original-dimensions=\"1680x560\" data-original-content-type=\"image/png\" \
         src=\"{small}\"></a></div>"
    );
    assert_eq!(html(&app, message).await, expected);
    let (code, headers, picture) = app.fetch_as(&sam, &small).await;
    assert_eq!((code, headers["content-type"].to_str().unwrap()), (200, "image/webp"));
    assert_eq!((facts(&picture).width, facts(&picture).height), (840, 280));
    assert_eq!(headers["x-content-type-options"], "nosniff");
}

#[tokio::test]
async fn a_picture_that_moves_says_so_and_its_smaller_one_does_not_move() {
    let app = TestApp::found().await;
    let url = upload(&app, &app.ada, ("a.gif", &gif(3))).await;
    let message = link(&app, &app.ada, (&app.ada, &url)).await;
    let html = html(&app, message).await;
    let picture =
        "<img data-animated=\"true\" data-original-dimensions=\"40x30\" data-original-content-type=\"image/gif\" src=";
    assert!(html.contains(picture), "{html}");
    let small = format!("{}/840x560.webp", url.replace("/user_uploads/", "/user_uploads/thumbnail/"));
    let picture = app.fetch_as(&app.ada, &small).await.2;
    assert!(!facts(&picture).is_animated);
}

#[tokio::test]
async fn every_kind_that_clients_are_told_of_is_there() {
    let app = TestApp::found().await;
    let types = [("fetch_event_types", r#"["realm"]"#)];
    let response = app.call(&app.ada, "POST /register", &types).await.success();
    let url = upload(&app, &app.ada, ("a.png", &png(900, 900))).await;
    let folder = url.replace("/user_uploads/", "/user_uploads/thumbnail/");
    for kind in response["server_thumbnail_formats"].as_array().unwrap() {
        let name = kind["name"].as_str().unwrap();
        let (code, headers, picture) = app.fetch_as(&app.ada, &format!("{folder}/{name}")).await;
        let media_type = format!("image/{}", kind["format"].as_str().unwrap());
        assert_eq!((code, headers["content-type"].to_str().unwrap()), (200, media_type.as_str()), "{name}");
        assert_eq!((facts(&picture).width, &kind["max_height"]), (560, &json!(560)));
    }
    assert_eq!(response["max_file_upload_size_mib"], 2);
    assert_eq!(status(&app, &app.ada, &format!("{folder}/1x1.png")).await, 404);
}

#[tokio::test]
async fn who_may_not_read_an_upload_sees_nothing_of_it() {
    let app = TestApp::found().await;
    let sam = app.person("sam", Role::Member).await;
    let url = upload(&app, &app.ada, ("a.png", &png(900, 900))).await;
    let small = format!("{}/840x560.webp", url.replace("/user_uploads/", "/user_uploads/thumbnail/"));
    assert_eq!(status(&app, &sam, &small).await, 404);
    assert_eq!(app.fetch_bytes(&small, &[]).await.0, 401);
    // Nor how large it is.
    let content = format!("[a]({url})");
    let response = app.call(&sam, "POST /messages/render", &[("content", &content)]).await.success();
    assert!(!response["rendered"].as_str().unwrap().contains("dimensions"), "{response}");
    link(&app, &app.ada, (&sam, &url)).await;
    assert_eq!(status(&app, &sam, &small).await, 200);
}

#[tokio::test]
async fn what_only_begins_like_a_picture_has_no_smaller_one() {
    let app = TestApp::found().await;
    for (name, content) in [("a.png", &png(64, 64)[..50]), ("b.png", b"\x89PNG\r\n\x1a\n"), ("c.png", b"hello")] {
        let url = upload(&app, &app.ada, (name, content)).await;
        let small = format!("{}/840x560.webp", url.replace("/user_uploads/", "/user_uploads/thumbnail/"));
        assert_eq!((status(&app, &app.ada, &url).await, status(&app, &app.ada, &small).await), (200, 404), "{name}");
    }
}

#[tokio::test]
async fn the_smaller_pictures_go_with_the_upload() {
    let app = TestApp::found().await;
    let url = upload(&app, &app.ada, ("a.png", &png(64, 64))).await;
    let folder = url.replace("/user_uploads/", "/user_uploads/thumbnail/");
    assert_eq!(status(&app, &app.ada, &format!("{folder}/840x560.jpg")).await, 200);
    assert_eq!(app.files.keys().len(), 3);
    let response = app.call(&app.ada, "GET /attachments", &[]).await.success();
    let id = &response["attachments"][0]["id"];
    app.call(&app.ada, &format!("DELETE /attachments/{id}"), &[]).await.success();
    assert_eq!(app.files.keys(), Vec::<String>::new());
}
