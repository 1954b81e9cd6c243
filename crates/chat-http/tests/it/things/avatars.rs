//! `/users/me/avatar`, and `/avatar`.

use serde_json::{Value, json};

use super::{heard, listen, people};
use crate::cellar::{form, gif, png};
use crate::town::{Person, Told, Town};

async fn show(town: &Town, who: &Person, file: &[u8]) -> Told {
    let form = form(&[("file", "me.png", "image/png", file)]);
    town.call_with_files(who, "POST /users/me/avatar", form).await
}

async fn user(town: &Town, id: i64) -> Value {
    let parameters = [("client_gravatar", "false")];
    town.call(&town.ada, &format!("GET /users/{id}"), &parameters).await.success()["user"].take()
}

#[tokio::test]
async fn a_new_avatar_is_shown_in_both_sizes_and_told_to_everybody() {
    let town = Town::found().await;
    let [_, _, sam, gus] = people(&town).await;
    let ear = listen(&town, &gus, (r#"["realm_user"]"#, r#"{"notification_settings_null":true}"#)).await;
    let url = show(&town, &sam, &png(800, 600)).await.success()["avatar_url"].as_str().unwrap().to_owned();
    let medium = url.replace(".png", "-medium.png");
    assert_eq!(user(&town, sam.id).await["avatar_url"], json!(url));
    let person = json!({
        "user_id": sam.id,
        "avatar_source": "U",
        "avatar_url": url,
        "avatar_url_medium": medium,
        "avatar_version": 2,
    });
    assert_eq!(heard(&town, &ear).await, [json!({"type": "realm_user", "op": "update", "person": person})]);
    for (url, side) in [(&url, 100), (&medium, 500)] {
        let (status, headers, picture) = town.fetch_bytes(url, &[]).await;
        assert_eq!((status, headers["content-type"].to_str().unwrap()), (200, "image/png"));
        let facts = chat_pictures::facts(std::io::Cursor::new(&picture)).unwrap();
        assert_eq!((facts.width, facts.height), (side, side));
    }
}

#[tokio::test]
async fn an_avatar_that_is_replaced_or_taken_back_is_gone() {
    let town = Town::found().await;
    let first = show(&town, &town.ada, &png(64, 64)).await.success()["avatar_url"].as_str().unwrap().to_owned();
    let second = show(&town, &town.ada, &gif(2)).await.success()["avatar_url"].as_str().unwrap().to_owned();
    assert_eq!((town.fetch_bytes(&first, &[]).await.0, town.fetch_bytes(&second, &[]).await.0), (404, 200));
    let told = town.call(&town.ada, "DELETE /users/me/avatar", &[]).await.success();
    assert!(told["avatar_url"].as_str().unwrap().starts_with("https://secure.gravatar.com/avatar/"), "{told}");
    assert_eq!((town.fetch_bytes(&second, &[]).await.0, town.files.keys().len()), (404, 0));
    let again = town.call(&town.ada, "DELETE /users/me/avatar", &[]).await.success();
    assert_eq!(again["avatar_url"], told["avatar_url"]);
}

#[tokio::test]
async fn what_is_no_picture_is_no_avatar() {
    let town = Town::found().await;
    let before = town.realm().at();
    let told = show(&town, &town.ada, b"<html>").await;
    assert_eq!(told.error(), (400, "BAD_IMAGE", "Invalid image format"));
    let large = vec![0; 5 * 1024 * 1024 + 1];
    show(&town, &town.ada, &large).await.refused("Uploaded file is larger than the allowed limit of 5 MiB");
    let told = town.call_with_files(&town.ada, "POST /users/me/avatar", form(&[])).await;
    told.refused("You must upload exactly one avatar.");
    assert_eq!((town.realm().at(), town.files.keys().len()), (before, 0));
}

#[tokio::test]
async fn an_avatar_is_found_by_the_number_or_address_of_its_user() {
    let town = Town::found().await;
    let [_, _, sam, _] = people(&town).await;
    let url = show(&town, &sam, &png(64, 64)).await.success()["avatar_url"].as_str().unwrap().to_owned();
    let lead = async |path: &str| {
        let (status, headers, _) = town.fetch_as(&town.ada, path).await;
        (status, headers.get("location").map(|location| location.to_str().unwrap().to_owned()))
    };
    assert_eq!(lead(&format!("/avatar/{}", sam.id)).await, (302, Some(url.clone())));
    assert_eq!(lead("/avatar/sam@example.org").await, (302, Some(url.clone())));
    let medium = url.replace(".png", "-medium.png");
    assert_eq!(lead(&format!("/avatar/{}/medium", sam.id)).await, (302, Some(medium)));
    let (status, usual) = lead(&format!("/avatar/{}", town.ada.id)).await;
    assert!(status == 302 && usual.unwrap().starts_with("https://secure.gravatar.com/"));
    assert_eq!(lead("/avatar/999").await, (404, None));
    assert_eq!(town.fetch_bytes(&format!("/avatar/{}", sam.id), &[]).await.0, 401);
}
