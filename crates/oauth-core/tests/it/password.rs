//! The `password` grant, and the token of the `implicit` one.

use oauth_core::client::GrantType;
use oauth_core::end_user::EndUser;
use oauth_core::granted_authorization::GrantedAuthorization;
use oauth_core::secret_hash::hash_password;
use oauth_core::token_endpoint::TokenError;
use serde_json::{Value, json};

use crate::app::{ada, authorization, but, refresh, rows, with_app};
use crate::world::{BASE, GENERATED, World, basic};

const PASSWORD: &str = "correct horse battery staple";

fn app() -> Value {
    json!({
        "grant_types": ["password", "implicit"], "scope": ["openid", "offline_access", "patient/*.rs", "system/*.rs"],
        "auth": {
            "password": {"token_format": "jwt", "refresh_token": true},
            "implicit": {"token_format": "jwt", "refresh_token": true, "access_token_expiration": 300},
        },
    })
}

/// A deployment whose app may ask for ada's password.
async fn with_password() -> World {
    let world = with_app().await;
    world.memory.put_resource("Client", "app", app());
    let mut user = ada();
    user["password"] = json!(hash_password(&world.env(), PASSWORD.as_bytes()).unwrap().to_text());
    world.memory.put_resource("User", "ada", user);
    world
}

const FORM: [(&str, &str); 4] =
    [("grant_type", "password"), ("client_id", "app"), ("username", "ada"), ("password", PASSWORD)];

/// Asks and is refused; nothing may be stored by that.
async fn refused(world: &World, form: &[(&str, &str)]) -> &'static str {
    let before = rows(world);
    let error = world.token(form).await.unwrap_err();
    assert_eq!(rows(world), before, "{form:?}");
    error.error_code()
}

#[tokio::test]
async fn the_right_password_gives_what_the_app_is_registered_for() {
    let world = with_password().await;
    let response = world.token(&FORM).await.unwrap();
    assert_eq!(response.scope.as_deref(), Some("openid offline_access patient/*.rs"));
    assert_eq!((response.context.patient.as_deref(), response.id_token.as_deref()), (Some("p-1"), None));
    let claims = world.claims(&response.access_token);
    assert_eq!((&claims["sub"], &claims["context"]["patient"]), (&json!("ada"), &json!("p-1")));
    let again = refresh(&world, response.refresh_token.as_deref().unwrap()).await.unwrap();
    assert_eq!(again.scope, response.scope);
    let by_email = [("grant_type", "password"), ("client_id", "app"), ("email", "ada@example.org"), FORM[3]];
    assert!(world.token(&by_email).await.is_ok());
}

#[tokio::test]
async fn a_narrower_scope_is_what_was_asked_for_and_system_scopes_are_nobodys() {
    let world = with_password().await;
    let asked = async |scope: &str| {
        let mut form = FORM.to_vec();
        form.push(("scope", scope));
        world.token(&form).await.map(|response| response.scope).map_err(|error| error.error_code())
    };
    assert_eq!(asked("patient/Observation.rs system/*.rs email").await, Ok(Some("patient/Observation.rs".to_owned())));
    assert_eq!(asked("system/*.rs").await, Err("invalid_scope"));
    assert_eq!(asked("email").await, Err("invalid_scope"));
    assert_eq!(asked("patient/.rs").await, Err("invalid_scope"));
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_name_are_refused_in_one_text_and_the_right_one_with_the_reason() {
    let world = with_password().await;
    let mut idle = world.memory.get_resource("User", "ada").unwrap().resource;
    idle["userName"] = json!("idle");
    idle["email"] = json!("idle@example.org");
    idle["active"] = json!(false);
    world.memory.put_resource("User", "idle", idle);
    let mut texts = Vec::new();
    let idle_and_wrong = but(&but(&FORM, "username", "idle"), "password", "wrong");
    for form in [but(&FORM, "password", "wrong"), but(&FORM, "username", "nobody"), idle_and_wrong] {
        let before = rows(&world);
        let error = world.token(&form).await.unwrap_err();
        assert_eq!((error.error_code(), rows(&world)), ("invalid_grant", before), "{form:?}");
        texts.push(error.to_string());
    }
    texts.dedup();
    assert_eq!(texts.len(), 1);
    let mut two_steps = world.memory.get_resource("User", "ada").unwrap().resource;
    two_steps["userName"] = json!("two-steps");
    two_steps["email"] = json!("two-steps@example.org");
    two_steps["twoFactor"] = json!({"enabled": true});
    world.memory.put_resource("User", "two-steps", two_steps);
    for (name, reason) in [
        ("idle", "User is inactive"),
        ("two-steps", "the user needs a second factor, which this server does not support"),
    ] {
        let error = world.token(&but(&FORM, "username", name)).await.unwrap_err();
        assert_eq!((error.error_code(), error.to_string().as_str()), ("invalid_grant", reason));
    }
}

#[tokio::test]
async fn what_is_missing_is_an_invalid_request_and_other_clients_may_not_ask() {
    let world = with_password().await;
    for name in ["username", "password"] {
        assert_eq!(refused(&world, &but(&FORM, name, "")).await, "invalid_request", "{name}");
    }
    let mut other = app();
    other["grant_types"] = json!(["code"]);
    world.memory.put_resource("Client", "app", other);
    assert_eq!(refused(&world, &FORM).await, "unauthorized_client");
    let mut confidential = app();
    confidential["auth"]["password"]["secret_required"] = json!(true);
    world.memory.put_resource("Client", "app", confidential.clone());
    assert_eq!(refused(&world, &FORM).await, "invalid_client");
    confidential["secret"] = json!(world.sealed_secret(GENERATED));
    world.memory.put_resource("Client", "app", confidential);
    assert_eq!(refused(&world, &FORM).await, "invalid_client");
    let form = but(&FORM, "client_id", "");
    assert!(world.token_with(Some(&basic("app", GENERATED)), &form).await.is_ok());
}

#[tokio::test]
async fn a_guesser_is_stopped_by_the_limits_of_the_sign_in_page() {
    let world = with_password().await;
    let wrong = but(&FORM, "password", "wrong");
    let mut stopped = None;
    for _ in 0..200 {
        if let Err(error @ TokenError::TooManyAttempts { .. }) = world.token(&wrong).await {
            stopped = Some(error);
            break;
        }
    }
    assert_eq!(stopped.unwrap().error_code(), "temporarily_unavailable");
    assert!(world.token(&FORM).await.is_err(), "the right password is not let through either");
}

/// What becomes of a wrong password for `username`.
async fn guessed(world: &World, username: &str, address: &str, authorization: Option<&str>) -> &'static str {
    let mut form = but(&but(&FORM, "username", username), "password", "wrong");
    if authorization.is_some() {
        form.retain(|(name, _)| *name != "client_id");
    }
    world.token_from(address, authorization, &form).await.unwrap_err().error_code()
}

#[tokio::test]
async fn through_a_public_app_the_address_of_the_person_waits() {
    let world = with_password().await;
    for number in 0..60 {
        assert_eq!(guessed(&world, &format!("name-{number}"), "192.0.2.1", None).await, "invalid_grant");
    }
    assert_eq!(guessed(&world, "another", "192.0.2.1", None).await, "temporarily_unavailable");
    assert_eq!(guessed(&world, "another", "192.0.2.2", None).await, "invalid_grant");
    let before = rows(&world);
    assert!(world.token_from("192.0.2.1", None, &FORM).await.is_err(), "nor is the right password let through");
    assert_eq!(rows(&world), before);
    assert!(world.token_from("192.0.2.2", None, &FORM).await.is_ok());
}

#[tokio::test]
async fn through_an_app_that_proves_itself_an_account_waits_and_nobody_else() {
    let world = with_password().await;
    let mut confidential = app();
    confidential["auth"]["password"]["secret_required"] = json!(true);
    confidential["secret"] = json!(world.sealed_secret(GENERATED));
    world.memory.put_resource("Client", "app", confidential);
    let header = basic("app", GENERATED);
    for number in 0..61 {
        let name = format!("name-{number}");
        assert_eq!(guessed(&world, &name, "192.0.2.1", Some(&header)).await, "invalid_grant", "{name}");
    }
    for _ in 0..10 {
        assert_eq!(guessed(&world, "ada", "192.0.2.1", Some(&header)).await, "invalid_grant");
    }
    assert_eq!(guessed(&world, "ada", "192.0.2.1", Some(&header)).await, "temporarily_unavailable");
    assert!(world.try_password("ada", PASSWORD).await.is_ok(), "on the page she signs in");
}

#[tokio::test]
async fn the_implicit_grant_gives_an_access_token_alone() {
    let world = with_password().await;
    let stored = world.memory.get_resource("User", "ada").unwrap();
    let person = EndUser::from_stored("ada", &stored, BASE);
    let client = world.server.directory.cached_or_loaded_client("app").await.unwrap().unwrap();
    let authorization = GrantedAuthorization { grant: GrantType::Implicit, ..authorization(&world) };
    let both = (client.as_ref(), &person);
    let response = world.server.tokens.issue_implicit_token(&world.env(), both, &authorization, None).await.unwrap();
    assert_eq!((response.refresh_token, response.id_token, response.expires_in), (None, None, 300));
    assert_eq!(world.claims(&response.access_token)["sub"], "ada");
    let bearer = format!("Bearer {}", response.access_token);
    let caller = world.server.callers.authenticate_without_address(&world.env(), Some(&bearer)).await.unwrap();
    assert_eq!(caller.represented_end_user().unwrap().id, "ada");
    let changed = GrantedAuthorization { credential: [0; 32], ..authorization };
    let before = rows(&world);
    let refusal = world.server.tokens.issue_implicit_token(&world.env(), both, &changed, None).await.unwrap_err();
    assert_eq!((refusal.error_code(), rows(&world)), ("invalid_grant", before));
}
