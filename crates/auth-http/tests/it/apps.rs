//! The apps one let in, and taking that back.

use crate::browser::Browser;
use crate::members::request;
use crate::world::{World, on_every_engine};

const SCOPE: &str = "launch/patient openid patient/Patient.rs patient/AllergyIntolerance.rs offline_access";

#[tokio::test]
async fn a_member_sees_what_was_allowed_and_takes_it_back() {
    on_every_engine(async |world| {
        world.member("amy", ("Amy", "Shaw")).await;
        world.public_app("diary").await;
        let browser = Browser::new(world);
        let consent = browser.open_as("amy", &request("diary", SCOPE)).await;
        browser.allow(&consent).await.told("code").unwrap();

        let apps = browser.open("/auth/apps").await;
        assert_eq!(apps.title(), "Connected apps");
        for shown in ["Health Diary", "Amy Shaw", "1 January 2026", "Allergies"] {
            assert!(apps.html().contains(shown), "{shown}");
        }
        let removed = browser.submit(&apps.form("/auth/apps/revoke")).await;
        assert_eq!((removed.answer.status.as_u16(), removed.path()), (200, "/auth/apps"));
        assert!(removed.html().contains("The app has no access any more."));
        assert!(removed.html().contains("No app has access."));
        let asked = browser.open(&request("diary", SCOPE)).await;
        assert_eq!(asked.path(), "/auth/grant", "the app has to ask again");
    })
    .await;
}

#[tokio::test]
async fn nobody_takes_back_what_another_person_allowed() {
    let world = World::new().await;
    for (id, name) in [("amy", ("Amy", "Shaw")), ("bob", ("Bob", "Ross"))] {
        world.member(id, name).await;
    }
    world.public_app("diary").await;
    let (amy, bob) = (Browser::new(&world), Browser::new(&world));
    for (browser, user) in [(&amy, "amy"), (&bob, "bob")] {
        let consent = browser.open_as(user, &request("diary", SCOPE)).await;
        browser.allow(&consent).await.told("code").unwrap();
    }
    let others = bob.open("/auth/apps").await.form("/auth/apps/revoke").value("grant").to_owned();
    let form = amy.open("/auth/apps").await.form("/auth/apps/revoke");
    amy.submit(&form.clone().with("grant", &others)).await;
    assert!(bob.open("/auth/apps").await.html().contains("Health Diary"));
    let unmarked = amy.submit(&form.without("csrf")).await;
    assert_eq!(unmarked.answer.status, 403);
    assert!(amy.open("/auth/apps").await.html().contains("Health Diary"), "nothing changed");
    world.end().await;
}

#[tokio::test]
async fn who_is_not_signed_in_sees_no_apps_and_removes_none() {
    let world = World::new().await;
    let browser = Browser::new(&world);
    let page = browser.open("/auth/apps").await;
    assert_eq!(page.path(), "/auth/login");
    let form = page.form("/auth/login").to("/auth/apps/revoke");
    assert_eq!(browser.submit(&form).await.answer.status, 403);
    assert_eq!(browser.get("/auth/apps/revoke").await.status, 405);
    world.end().await;
}
