//! What is taken in, and what is not.

use serde_json::json;

use super::{attachments, send, upload};
use crate::file_store::{BOUNDARY, form};
use crate::test_app::TestApp;

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn a_form_without_a_file_or_with_two_keeps_nothing() {
    let app = TestApp::found().await;
    let one = ("file", "a.txt", "text/plain", &b"hello"[..]);
    let response = app.call_with_files(&app.ada, "POST /user_uploads", form(&[one, one])).await;
    response.refused("You may only upload one file at a time");
    for body in [form(&[]), Vec::new()] {
        let response = app.call_with_files(&app.ada, "POST /user_uploads", body).await;
        response.refused("You must specify a file to upload");
    }
    let response = app.call(&app.ada, "POST /user_uploads", &[("file", "hello")]).await;
    response.refused("You must specify a file to upload");
    assert_eq!(app.call_as_nobody("POST /user_uploads", &[]).await.error().0, 401);
    assert_eq!((app.files.keys().len(), attachments(&app, &app.ada).await["attachments"].clone()), (0, json!([])));
}

#[tokio::test]
async fn a_file_of_the_limit_is_taken_and_a_byte_more_is_not() {
    let app = TestApp::found().await;
    send(&app, &app.ada, ("a.bin", &vec![7; 2 * MIB])).await.success();
    let response = send(&app, &app.ada, ("b.bin", &vec![7; 2 * MIB + 1])).await;
    response.refused("Uploaded file is larger than the allowed limit of 2 MiB");
    let response = send(&app, &app.ada, ("b.bin", &vec![7; 5 * MIB])).await;
    response.refused("Uploaded file is larger than the allowed limit of 2 MiB");
    assert_eq!((app.files.keys().len(), &attachments(&app, &app.ada).await["upload_space_used"]), (1, &json!(2 * MIB)));
}

#[tokio::test]
async fn a_form_that_breaks_off_keeps_nothing() {
    let app = TestApp::found().await;
    let whole = form(&[("file", "a.txt", "text/plain", b"hello")]);
    let cut = whole[..whole.len() - BOUNDARY.len() - 10].to_vec();
    let response = app.call_with_files(&app.ada, "POST /user_uploads", cut).await;
    response.refused("Malformed form data");
    assert_eq!(app.files.keys().len(), 0);
}

#[tokio::test]
async fn all_uploads_together_stay_within_the_quota() {
    let app = TestApp::with_quota(100).await;
    upload(&app, &app.ada, ("a.bin", &[1; 60])).await;
    let response = send(&app, &app.ada, ("b.bin", &[1; 41])).await;
    let refused = (400, "REALM_UPLOAD_QUOTA", "Upload would exceed your organization's upload quota.");
    assert_eq!(response.error(), refused);
    // What says itself that it is too large is not even read.
    assert_eq!(send(&app, &app.ada, ("b.bin", &vec![1; 100_000])).await.error(), refused);
    assert_eq!((app.files.keys().len(), &attachments(&app, &app.ada).await["upload_space_used"]), (1, &json!(60)));
    upload(&app, &app.ada, ("b.bin", &[1; 40])).await;
    let id = attachments(&app, &app.ada).await["attachments"][1]["id"].clone();
    app.call(&app.ada, &format!("DELETE /attachments/{id}"), &[]).await.success();
    upload(&app, &app.ada, ("c.bin", &[1; 60])).await;
}

#[tokio::test]
async fn twenty_at_once_stay_within_the_quota() {
    let app = std::sync::Arc::new(TestApp::with_quota(1_000).await);
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let app = std::sync::Arc::clone(&app);
        calls.spawn(async move { send(&app, &app.ada, ("a.bin", &[1; 100])).await.status.as_u16() });
    }
    let taken = calls.join_all().await.into_iter().filter(|status| *status == 200).count();
    assert_eq!((taken, app.files.keys().len()), (10, 10));
}
