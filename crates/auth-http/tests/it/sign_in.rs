//! Signing in and out.

use serde_json::json;

use crate::browser::Browser;
use crate::members::{PASSWORD, request, request_with};
use crate::world::{World, on_every_engine};

#[tokio::test]
async fn who_signs_in_has_a_session_until_signing_out() {
    on_every_engine(async |world| {
        world.member("amy", ("Amy", "Shaw")).await;
        let browser = Browser::new(world);
        let form = browser.open("/auth/apps").await.form("/auth/login");
        let answer = browser.post(&form.with("username", "amy").with("password", PASSWORD)).await;
        assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/auth/apps"));
        let set = answer.header("set-cookie").to_owned();
        assert!(set.starts_with("__Host-asid="), "{set}");
        for attribute in ["HttpOnly", "SameSite=Lax", "Secure", "Path=/", "Max-Age=432000"] {
            assert!(set.contains(attribute), "{set}");
        }
        let page = browser.open("/auth/apps").await;
        assert!(page.html().contains("Amy Shaw"));
        let stolen = browser.cookies.borrow()["__Host-asid"].clone();

        let out = browser.submit(&page.form("/auth/logout")).await;
        assert_eq!(out.path(), "/auth/login");
        assert!(out.html().contains("You are signed out."));
        assert!(!browser.cookies.borrow().contains_key("__Host-asid"));
        browser.cookies.borrow_mut().insert("__Host-asid".to_owned(), stolen);
        assert_eq!(browser.open("/auth/apps").await.path(), "/auth/login", "the session is over, not the cookie alone");
    })
    .await;
}

#[tokio::test]
async fn blanks_around_a_user_name_or_an_address_are_no_part_of_it_at_sign_in() {
    on_every_engine(async |world| {
        let user = json!({
            "userName": "amy",
            "email": "amy@member.example",
            "password": PASSWORD,
            "name": {"givenName": "Amy", "familyName": "Shaw"},
        });
        world.put("/User/amy", &user).await;
        for login in ["amy ", " amy", "\tamy\u{a0}", " amy@member.example ", "AMY@member.example  "] {
            let browser = Browser::new(world);
            let form = browser.open("/auth/apps").await.form("/auth/login");
            let answer = browser.post(&form.with("username", login).with("password", PASSWORD)).await;
            assert_eq!((answer.status.as_u16(), answer.header("location")), (303, "/auth/apps"), "{login:?}");
        }
        // A password is taken as it is.
        let browser = Browser::new(world);
        let form = browser.open("/auth/apps").await.form("/auth/login");
        let answer = browser.post(&form.with("username", "amy").with("password", &format!("{PASSWORD} "))).await;
        assert_eq!(answer.status, 403);
    })
    .await;
}

#[tokio::test]
async fn the_session_cookie_is_another_one_after_each_sign_in_and_the_old_one_is_worth_nothing() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    let browser = Browser::new(&world);
    browser.open_as("amy", "/auth/login").await;
    let first = browser.cookies.borrow()["__Host-asid"].clone();
    browser.open_as("amy", "/auth/login").await;
    let second = browser.cookies.borrow()["__Host-asid"].clone();
    assert_ne!(first, second);
    browser.cookies.borrow_mut().insert("__Host-asid".to_owned(), first);
    assert_eq!(browser.open("/auth/apps").await.path(), "/auth/login");
    world.end().await;
}

#[tokio::test]
async fn a_cookie_that_somebody_planted_is_not_the_session_that_begins() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    let browser = Browser::new(&world);
    browser.cookies.borrow_mut().insert("__Host-asid".to_owned(), "planted".to_owned());
    browser.open_as("amy", "/auth/login").await;
    assert_ne!(browser.cookies.borrow()["__Host-asid"], "planted");
    world.end().await;
}

#[tokio::test]
async fn an_unknown_name_and_a_wrong_password_get_one_page() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    world.member("ina", ("Ina", "Roe")).await;
    world.call("PATCH", "/User/ina").by_root().json(&serde_json::json!({"active": false})).send().await;
    let mut pages = Vec::new();
    for (user, password) in [("amy", "wrong"), ("nobody", PASSWORD), ("ina", "wrong")] {
        let browser = Browser::new(&world);
        let form = browser.open("/auth/login").await.form("/auth/login");
        let page = browser.submit(&form.with("username", user).with("password", password)).await;
        assert_eq!(page.answer.status, 403, "{user}");
        assert!(!browser.cookies.borrow().contains_key("__Host-asid"), "{user}");
        let form = page.form("/auth/login");
        assert_eq!(
            (form.value("username"), form.value("password")),
            (user, ""),
            "the name stays, the password does not"
        );
        assert!(page.title().starts_with("Problem: "));
        pages.push(page.html().replace(form.value("csrf"), "").replace(&format!("value=\"{user}\""), ""));
    }
    assert!(pages.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(pages[0].contains("role=\"alert\"") && pages[0].contains("aria-describedby=\"problem\""));
    world.end().await;
}

#[tokio::test]
async fn a_person_who_may_not_sign_in_sees_what_to_do_after_the_right_password_alone() {
    on_every_engine(async |world| {
        let off = serde_json::json!({"active": false});
        let two_steps = serde_json::json!({"twoFactor": {"enabled": true}});
        for (user, change, heading) in
            [("ina", off, "This account is turned off"), ("tom", two_steps, "This account cannot sign in here")]
        {
            world.member(user, (user, "Roe")).await;
            world.call("PATCH", &format!("/User/{user}")).by_root().json(&change).send().await;
            let browser = Browser::new(world);
            let form = browser.open("/auth/login").await.form("/auth/login").with("username", user);
            let wrong = browser.submit(&form.clone().with("password", "wrong")).await;
            assert!(wrong.html().contains("That did not work") && !wrong.html().contains(heading), "{user}");
            let right = browser.submit(&form.with("password", PASSWORD)).await;
            assert_eq!(right.answer.status, 403, "{user}");
            assert!(right.html().contains(heading) && !right.html().contains("is wrong"), "{user}");
            assert!(right.html().contains("Contact Health Account to"), "{user}");
            assert!(!browser.cookies.borrow().contains_key("__Host-asid"), "{user}");
        }
    })
    .await;
}

#[tokio::test]
async fn who_tries_too_often_has_to_wait_and_is_told_how_long() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    let browser = Browser::new(&world);
    let form = browser.open("/auth/login").await.form("/auth/login").with("username", "amy");
    let mut tries = 0;
    let refused = loop {
        let page = browser.submit(&form.clone().with("password", "wrong")).await;
        if page.answer.status == 429 {
            break page;
        }
        tries += 1;
        assert!(tries < 100, "nobody is stopped");
    };
    assert!(tries >= 3, "{tries} mistypings are human");
    let wait_s: i64 = refused.answer.header("retry-after").parse().unwrap();
    assert!(refused.html().contains("Please wait a moment"));
    let right = browser.submit(&form.clone().with("password", PASSWORD)).await;
    assert_eq!(right.answer.status, 429, "the right password too");
    world.wait_s(wait_s);
    let after = browser.submit(&form.with("password", PASSWORD)).await;
    assert_eq!((after.answer.status.as_u16(), after.path()), (200, "/auth/apps"));
    world.end().await;
}

#[tokio::test]
async fn a_form_that_was_open_in_another_tab_still_signs_in() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    let browser = Browser::new(&world);
    let (first, second) = (browser.open("/auth/login").await, browser.open("/auth/login").await);
    browser.sign_in(&first, "amy").await;
    assert_eq!(browser.sign_in(&second, "amy").await.path(), "/auth/apps");
    world.end().await;
}

#[tokio::test]
async fn what_an_app_says_of_itself_or_asks_with_is_text_on_every_page() {
    let world = World::new().await;
    let script = "<script>alert(1)</script>\"><img src=x onerror=alert(1)>'";
    world.member("amy", ("Amy", script)).await;
    let smart =
        serde_json::json!({"name": script, "description": script, "launch_uri": "https://diary.example/launch"});
    world.public_app_with("diary", &serde_json::json!({"smart": smart})).await;
    let browser = Browser::new(&world);
    let asked =
        request_with("diary", "launch/patient openid patient/Patient.rs", &[("login_hint", script), ("state", script)]);
    let login = browser.open(&asked).await;
    assert_eq!(login.form("/auth/login").value("username"), script);
    let consent = browser.sign_in(&login, "amy").await;
    assert_eq!(consent.path(), "/auth/grant");
    let left = browser.allow(&consent).await;
    assert_eq!(left.told("state").as_deref(), Some(script));
    let apps = browser.open("/auth/apps").await;
    for page in [&login, &consent, &apps] {
        let tags = crate::browser::tags(page.html());
        assert!(tags.iter().all(|(name, _)| name != "script"), "{page:?}");
        assert!(tags.iter().all(|(_, attributes)| !attributes.contains_key("onerror")), "{page:?}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_person_who_is_not_the_one_signed_in_can_say_so_in_the_middle() {
    let world = World::new().await;
    world.member("amy", ("Amy", "Shaw")).await;
    world.member("bob", ("Bob", "Ross")).await;
    world.public_app("diary").await;
    let browser = Browser::new(&world);
    let consent = browser.open_as("amy", &request("diary", "launch/patient patient/Patient.rs")).await;
    assert!(consent.html().contains("Amy Shaw"));
    let login = browser.submit(&consent.form("/auth/logout")).await;
    let consent = browser.sign_in(&login, "bob").await;
    assert_eq!(consent.path(), "/auth/grant");
    assert!(consent.html().contains("Bob Ross") && !consent.html().contains("Amy Shaw"));
    world.end().await;
}
