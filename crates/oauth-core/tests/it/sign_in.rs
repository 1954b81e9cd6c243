//! A person gives a name and a password.

use oauth_core::authorization_endpoint::BrowserSessionContext;
use oauth_core::sign_in::{SignInAttempt, SignInError};
use secrecy::ExposeSecret as _;
use serde_json::json;

use crate::people::{PASSWORD, clinic, user};
use crate::world::{NOW_S, World};

async fn who(world: &World, cookie: &str) -> Option<String> {
    let browser = BrowserSessionContext { session: Some(cookie), address: None };
    world.server.sessions.signed_in_user(&world.env(), browser).await.unwrap().map(|person| person.id.clone())
}

#[tokio::test]
async fn a_person_signs_in_by_name_or_address_whatever_the_case() {
    let world = clinic().await;
    for login in ["ada", "ADA", "ada ", "ada@example.org", " Ada@Example.ORG\t"] {
        let signed_in = world.try_password(login, PASSWORD).await.unwrap();
        assert_eq!((signed_in.user_id.as_str(), signed_in.lifetime_s), ("ada", 432_000));
        assert_eq!(who(&world, signed_in.cookie.expose_secret()).await.as_deref(), Some("ada"));
    }
    let members = world.memory.lock_rows();
    assert_eq!(members.sessions.len(), 5);
    assert!(members.sessions.values().all(|session| session.expires_s == NOW_S + 432_000));
}

#[tokio::test]
async fn a_caller_without_the_password_does_not_learn_why_it_was_refused() {
    let world = clinic().await;
    user(&world, "gone", json!({"active": false}));
    user(&world, "two-step", json!({"twoFactor": {"enabled": true}}));
    user(&world, "keyless", json!({"password": null}));
    user(&world, "twin-1", json!({"email": "twin@example.org"}));
    user(&world, "twin-2", json!({"userName": "twin@example.org"}));
    let long = "a".repeat(321);
    let blank = format!("{PASSWORD} ");
    for (login, password) in [
        ("ada", "wrong"),
        ("ada", &blank),
        ("ada", ""),
        ("nobody", PASSWORD),
        ("", PASSWORD),
        (long.as_str(), PASSWORD),
        ("gone", "wrong"),
        ("two-step", "wrong"),
        ("keyless", PASSWORD),
        ("keyless", ""),
        ("twin@example.org", PASSWORD),
    ] {
        let refused = world.try_password(login, password).await;
        assert!(matches!(refused, Err(SignInError::Wrong)), "{login}: {refused:?}");
    }
    assert!(world.memory.lock_rows().sessions.is_empty());
    let audit = world.memory.lock_rows().audit.clone();
    let reasons: Vec<_> = audit.iter().filter_map(|record| record.refused.as_deref()).collect();
    assert_eq!(reasons.len(), 11);
    assert!(reasons.contains(&"wrong password") && reasons.contains(&"unknown user"));
}

#[tokio::test]
async fn the_right_password_of_a_person_who_may_not_sign_in_is_answered_with_the_reason() {
    let world = clinic().await;
    user(&world, "gone", json!({"active": false, "twoFactor": {"enabled": true}}));
    user(&world, "two-step", json!({"twoFactor": {"enabled": true}}));
    assert!(matches!(world.try_password("gone", PASSWORD).await, Err(SignInError::Inactive)));
    assert!(matches!(world.try_password("two-step", PASSWORD).await, Err(SignInError::SecondFactor)));
    assert!(world.memory.lock_rows().sessions.is_empty());
    let audit = world.memory.lock_rows().audit.clone();
    let reasons: Vec<_> = audit.iter().filter_map(|record| record.refused.as_deref()).collect();
    assert_eq!(reasons, ["the user is inactive", "a second factor is required, and not supported"]);
}

#[tokio::test]
async fn a_password_is_hashed_for_whoever_tries_known_or_not() {
    let world = clinic().await;
    user(&world, "gone", json!({"active": false}));
    user(&world, "keyless", json!({"password": null}));
    for login in ["ada", "nobody", "gone", "keyless", ""] {
        let attempt = world.try_password(login, "wrong");
        // The stores answer at once here, so all there is to wait for is the hash.
        assert!(is_waiting(&mut Box::pin(attempt)).await, "{login}");
    }
    for _ in 0..10 {
        world.try_password("bob", "wrong").await.unwrap_err();
    }
    assert!(!is_waiting(&mut Box::pin(world.try_password("bob", "wrong"))).await, "a refused attempt costs no hash");
}

/// Whether a future that is asked for the first time is not done.
async fn is_waiting<F: Future>(future: &mut std::pin::Pin<Box<F>>) -> bool {
    std::future::poll_fn(|context| std::task::Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

#[tokio::test]
async fn signing_in_ends_the_session_before() {
    let world = clinic().await;
    let before = world.cookie_of("ada").await;
    let (login, password) = ("ada", PASSWORD.to_owned().into());
    let attempt = SignInAttempt { login, password: &password, session: Some(&before), address: None, app: None };
    let after = world.server.sign_in.sign_in(&world.env(), &attempt).await.unwrap();
    assert_ne!(after.cookie.expose_secret(), before);
    assert_eq!(who(&world, &before).await, None);
    assert_eq!(who(&world, after.cookie.expose_secret()).await.as_deref(), Some("ada"));
}

#[tokio::test]
async fn signing_out_ends_the_session() {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    world
        .server
        .sessions
        .end_browser_session(&world.env(), BrowserSessionContext { session: Some(&cookie), address: None })
        .await
        .unwrap();
    assert_eq!(who(&world, &cookie).await, None);
    world
        .server
        .sessions
        .end_browser_session(&world.env(), BrowserSessionContext { session: Some(&cookie), address: None })
        .await
        .unwrap();
}

/// What becomes of an attempt, as the browser at `address` sees it.
async fn tried(world: &World, login: &str, password: &str, address: &str) -> String {
    let password = password.to_owned().into();
    let attempt = SignInAttempt { login, password: &password, session: None, address: Some(address), app: None };
    match world.server.sign_in.sign_in(&world.env(), &attempt).await {
        Ok(signed_in) => signed_in.user_id,
        Err(fault) => fault.to_string(),
    }
}

const WRONG: &str = "the name or the password is wrong";

#[tokio::test]
async fn who_guesses_waits_and_locks_nobody_out() {
    let mut world = clinic().await;
    user(&world, "bob", json!({}));
    for _ in 0..10 {
        assert_eq!(tried(&world, "ada", "wrong", "203.0.113.9").await, WRONG);
    }
    let wait = "too many attempts; try again in 30 s";
    assert_eq!(tried(&world, "ada", PASSWORD, "203.0.113.9").await, wait, "the right password is not told apart");
    assert_eq!(tried(&world, "ada", PASSWORD, "198.51.100.7").await, "ada", "she is elsewhere");
    assert_eq!(tried(&world, "bob", PASSWORD, "203.0.113.9").await, "bob");
    world.now_s += 30;
    assert_eq!(tried(&world, "ada", PASSWORD, "203.0.113.9").await, "ada");
}

#[tokio::test]
async fn no_number_of_attempts_tells_whether_there_is_such_a_person() {
    let world = clinic().await;
    user(&world, "gone", json!({"active": false}));
    let answers = async |login: &str, other: &str, address: &str| {
        let mut answers = Vec::new();
        for login in [login, other] {
            for _ in 0..12 {
                answers.push(tried(&world, login, "wrong", address).await);
            }
        }
        answers
    };
    let of_one_person = answers("ada", "ada@example.org", "192.0.2.1").await;
    assert_eq!(of_one_person.iter().filter(|answer| *answer == WRONG).count(), 20, "two names are two accounts");
    assert_eq!(answers("nobody", "no-one@example.org", "198.51.100.1").await, of_one_person);
    assert_eq!(answers("gone", "nobody-else", "203.0.113.1").await, of_one_person);
}

#[tokio::test]
async fn signing_in_uses_up_no_attempts() {
    let world = clinic().await;
    for _ in 0..9 {
        assert_eq!(tried(&world, "ada", "wrong", "192.0.2.1").await, WRONG);
    }
    for _ in 0..61 {
        assert_eq!(tried(&world, "ada", PASSWORD, "192.0.2.1").await, "ada");
    }
    assert_eq!(tried(&world, "ada", "wrong", "192.0.2.1").await, WRONG);
}

#[tokio::test]
async fn an_attempt_that_nobody_waited_for_counts() {
    let world = clinic().await;
    for _ in 0..10 {
        let mut abandoned = Box::pin(tried(&world, "ada", "wrong", "192.0.2.1"));
        assert!(is_waiting(&mut abandoned).await);
    }
    assert_eq!(tried(&world, "ada", PASSWORD, "192.0.2.1").await, "too many attempts; try again in 30 s");
}

#[tokio::test]
async fn the_right_password_of_an_inactive_person_counts_as_a_wrong_one() {
    let world = clinic().await;
    user(&world, "gone", json!({"active": false}));
    for _ in 0..10 {
        assert_eq!(tried(&world, "gone", PASSWORD, "192.0.2.1").await, "User is inactive");
    }
    assert_eq!(tried(&world, "gone", PASSWORD, "192.0.2.1").await, "too many attempts; try again in 30 s");
}

#[tokio::test]
async fn an_address_waits_after_sixty_attempts_and_another_does_not() {
    let world = clinic().await;
    for number in 0..60 {
        assert_eq!(tried(&world, &format!("somebody-{number}"), "wrong", "192.0.2.7").await, WRONG);
    }
    assert_eq!(tried(&world, "ada", PASSWORD, "192.0.2.7").await, "too many attempts; try again in 1 s");
    assert_eq!(tried(&world, "ada", PASSWORD, "192.0.2.8").await, "ada");
    let audit = world.memory.lock_rows().audit.clone();
    let reasons: Vec<_> = audit.iter().filter_map(|record| record.refused.as_deref()).collect();
    assert_eq!((reasons.len(), reasons.last()), (61, Some(&"too many attempts from this address")));
}

#[tokio::test]
async fn a_crowd_at_the_page_is_bounded_and_delays_no_client() {
    let world = clinic().await;
    world.memory.put_resource(
        "Client",
        "short",
        json!({
            "grant_types": ["client_credentials"], "scope": ["system/*.rs"],
            "secret": oauth_core::secret_hash::hash_password(&world.env(), b"short").unwrap().to_text(),
        }),
    );
    let password = "wrong".to_owned().into();
    let logins: Vec<String> = (0..1_010).map(|number| format!("member-{number}")).collect();
    let mut crowd: Vec<_> = logins
        .iter()
        .map(|login| {
            let (world, password) = (&world, &password);
            Box::pin(async move {
                let attempt = SignInAttempt { login, password, session: None, address: None, app: None };
                world.server.sign_in.sign_in(&world.env(), &attempt).await
            })
        })
        .collect();
    // Each is polled once: all stand in the lane, one is being served.
    let mut refused = 0;
    for person in &mut crowd {
        let polled = std::future::poll_fn(|context| std::task::Poll::Ready(Future::poll(person.as_mut(), context)));
        if let std::task::Poll::Ready(Err(SignInError::Crowded { .. })) = polled.await {
            refused += 1;
        }
    }
    assert_eq!(refused, 9, "one is served, a thousand wait");
    let form = [("grant_type", "client_credentials"), ("client_id", "short"), ("client_secret", "short")];
    world.token(&form).await.unwrap();
}
