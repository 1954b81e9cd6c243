//! The HTML of messages.

use chat_core::model::group::SystemGroup;

use crate::file_store::{form, png};
use crate::test_app::TestApp;

/// Returns the HTML of a message that says this.
async fn html(app: &TestApp, content: &str) -> String {
    let message = [("type", "channel"), ("to", "general"), ("topic", "lunch"), ("content", content)];
    let id = app.call(&app.ada, "POST /messages", &message).await.success()["id"].clone();
    let message = app.call(&app.ada, &format!("GET /messages/{id}"), &[]).await.success()["message"].clone();
    message["content"].as_str().unwrap().to_owned()
}

/// Uploads a file. Its address.
async fn upload(app: &TestApp, name: &str, content: &[u8]) -> String {
    let form = form(&[("file", name, "application/octet-stream", content)]);
    app.call_with_files(&app.ada, "POST /user_uploads", form).await.success()["url"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn level_319_a_message_is_linked_by_its_number_after_its_topic() {
    let app = TestApp::found().await;
    let general = app.realm().channel_by_name("general").unwrap().id;
    assert_eq!(
        html(&app, "#**general>lunch@7**").await,
        format!(
            "<p><a class=\"message-link\" href=\"/#narrow/stream/{general}-general/topic/lunch/near/7\">\
             #general &gt; lunch @ 💬</a></p>"
        )
    );
    let stays = format!("data-stream-id=\"{general}\"");
    assert!(
        html(&app, "#**general**").await.contains(&stays) && html(&app, "#**general>lunch**").await.contains(&stays)
    );
}

#[tokio::test]
async fn level_333_groups_of_the_system_are_named_silently_and_never_aloud() {
    let app = TestApp::found().await;
    let names = [
        "Nobody",
        "Owners",
        "Administrators",
        "Moderators",
        "Full members",
        "Members",
        "Everyone",
        "Everyone on the internet",
    ];
    for (system, shown) in SystemGroup::ALL.into_iter().zip(names) {
        let (id, name) = (app.realm().system_group(system).unwrap().id, system.wire_name());
        let mention = format!("<span class=\"user-group-mention silent\" data-user-group-id=\"{id}\">{shown}</span>");
        assert_eq!(html(&app, &format!("hi @_*{name}*")).await, format!("<p>hi {mention}</p>"));
        assert_eq!(html(&app, &format!("hi @*{name}*")).await, format!("<p>hi @<em>{name}</em></p>"));
    }
}

#[tokio::test]
async fn level_336_a_picture_says_what_the_one_it_stands_for_is() {
    let app = TestApp::found().await;
    let url = upload(&app, "a.png", &png(3, 2)).await;
    let path = url.trim_start_matches("/user_uploads/");
    assert_eq!(
        html(&app, &format!("[a.png]({url})")).await,
        format!(
            "<p><a href=\"{url}\">a.png</a></p>\n<div class=\"message_inline_image\"><a href=\"{url}\" title=\"a.png\">\
             <img data-original-dimensions=\"3x2\" data-original-content-type=\"image/png\" \
             src=\"/user_uploads/thumbnail/{path}/840x560.webp\"></a></div>"
        )
    );
}

/// A terminal client of today follows no link to a topic that goes on after the topic.
#[tokio::test]
async fn levels_347_and_400_a_link_to_a_topic_ends_with_the_topic() {
    let app = TestApp::found().await;
    html(&app, "here").await;
    let html = html(&app, "#**general>lunch**").await;
    assert!(html.contains("/topic/lunch\""), "{html}");
}

#[tokio::test]
async fn level_405_an_uploaded_sound_is_played_in_place_of_its_link() {
    let app = TestApp::found().await;
    let sounds: [(&str, &[u8]); 4] = [
        ("a.aac", b"\xFF\xF1\x50\x80\x00"),
        ("a.flac", b"fLaC\x00"),
        ("a.mp3", b"ID3\x04\x00"),
        ("a.wav", b"RIFF\x04\x00\x00\x00WAVEfmt "),
    ];
    for (name, content) in sounds {
        let url = upload(&app, name, content).await;
        let player = format!(
            "<audio controls preload=\"metadata\" src=\"{url}\" title=\"{name}\"><a href=\"{url}\">{name}</a></audio>"
        );
        assert_eq!(html(&app, &format!("listen: [{name}]({url})")).await, format!("<p>listen: {player}</p>"));
        let link = format!("<a href=\"{url}\">{name}</a>");
        assert_eq!(
            html(&app, &format!("> [{name}]({url})")).await,
            format!("<blockquote>\n<p>{link}</p>\n</blockquote>")
        );
        assert!(!html(&app, &format!("[]({url})")).await.contains("<audio"));
    }
    let other = upload(&app, "a.mp3", b"OggS").await;
    assert_eq!(html(&app, &format!("[a.mp3]({other})")).await, format!("<p><a href=\"{other}\">a.mp3</a></p>"));
    let message = app.call(&app.ada, "GET /attachments", &[]).await.success();
    let used = message["attachments"].as_array().unwrap().iter();
    assert!(used.clone().count() == 5 && used.clone().all(|upload| !upload["messages"].as_array().unwrap().is_empty()));
}
