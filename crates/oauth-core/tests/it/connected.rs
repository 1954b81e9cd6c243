//! The apps a person has let in, and taking that back.

use oauth_core::connected_apps::{AppAuthorizationMethod, AppConnectionId, ConnectedApp};
use oauth_core::end_user::EndUser;
use serde_json::json;

use crate::app::refresh;
use crate::people::{PASSWORD, app, clinic, consent, user};
use crate::world::{BASE, NOW_S, World};

fn person(world: &World, id: &str) -> EndUser {
    EndUser::from_stored(id, &world.memory.get_resource("User", id).unwrap(), BASE)
}

async fn list(world: &World, id: &str) -> Vec<ConnectedApp> {
    world.server.connected_apps.list_connected_apps(&world.env(), &person(world, id)).await.unwrap()
}

/// A world in which Ada has let the app in.
async fn let_in() -> World {
    let world = clinic().await;
    let cookie = world.cookie_of("ada").await;
    let page = consent(
        world.begin(&[("scope", "openid patient/Goal.cruds patient/Patient.rs offline_access")], Some(&cookie)).await,
    );
    world.allow(&page, &["patient/Goal.cruds", "patient/Patient.rs", "offline_access"], &cookie).await;
    world
}

#[tokio::test]
async fn a_person_sees_what_apps_may_in_plain_words() {
    let world = let_in().await;
    let [app] = list(&world, "ada").await.try_into().unwrap();
    assert_eq!((app.app.name.as_str(), app.patient.unwrap().name.as_str()), ("Heart Diary", "Ada Lovelace"));
    assert_eq!((app.since_s, app.last_used_s), (NOW_S, None));
    assert_eq!(
        app.allowed,
        [
            "Recognise you when you come back",
            "Goals \u{2013} see, add, change and delete entries",
            "Name and contact details",
            "Keep access when you are away \u{2013} until it is not used for 90 days, and for 365 days at most",
        ]
    );
    user(&world, "bob", json!({}));
    assert_eq!(list(&world, "bob").await, []);
}

#[tokio::test]
async fn a_person_takes_back_the_own_grants_and_nobody_elses() {
    let world = let_in().await;
    user(&world, "bob", json!({}));
    let grant = list(&world, "ada").await.remove(0).held;
    let revoke = |id: &'static str, grant: AppConnectionId| {
        let world = &world;
        async move {
            world
                .server
                .connected_apps
                .revoke_app_access(&world.env(), (&person(world, id), None), &grant)
                .await
                .unwrap()
        }
    };
    assert!(!revoke("bob", grant.clone()).await);
    assert_eq!(list(&world, "ada").await.len(), 1);
    assert!(revoke("ada", grant.clone()).await);
    assert_eq!(list(&world, "ada").await, []);
    assert!(!revoke("ada", grant).await);
    let audit = world.memory.lock_rows().audit.clone();
    let revocations = audit.iter().filter(|record| record.action == oauth_core::ports::AuditAction::Revocation);
    assert_eq!(revocations.count(), 1);
}

#[tokio::test]
async fn what_an_app_got_by_the_password_is_shown_and_taken_back() {
    let mut world = clinic().await;
    let mut client = app();
    client["grant_types"] = json!(["code", "password"]);
    client["auth"]["password"] = json!({"token_format": "jwt", "refresh_token": true, "secret_required": false});
    world.memory.put_resource("Client", "app", client);
    user(&world, "bob", json!({}));
    let form = |scope: &'static str| {
        [
            ("grant_type", "password"),
            ("client_id", "app"),
            ("username", "ada"),
            ("password", PASSWORD),
            ("scope", scope),
        ]
    };
    let first = world.token(&form("patient/Goal.rs offline_access")).await.unwrap();
    world.now_s += 60;
    let second = world.token(&form("patient/Goal.rs patient/Patient.rs")).await.unwrap();

    let [direct] = list(&world, "ada").await.try_into().unwrap();
    assert_eq!(
        (direct.held.clone(), direct.by),
        (AppConnectionId::Direct("app".to_owned()), AppAuthorizationMethod::Password)
    );
    assert_eq!((direct.since_s, direct.last_used_s), (NOW_S, Some(NOW_S + 60)));
    assert_eq!(direct.patient.unwrap().name, "Ada Lovelace");
    assert_eq!(direct.allowed.len(), 3, "{:?}", direct.allowed);
    assert_eq!(list(&world, "bob").await, []);

    let revoke = async |id| {
        let person = person(&world, id);
        world.server.connected_apps.revoke_app_access(&world.env(), (&person, None), &direct.held).await.unwrap()
    };
    assert!(!revoke("bob").await);
    assert!(revoke("ada").await);
    assert!(!revoke("ada").await);
    assert_eq!(list(&world, "ada").await, []);
    for token in [&first.access_token, &second.access_token] {
        let bearer = format!("Bearer {token}");
        assert!(world.server.callers.authenticate_without_address(&world.env(), Some(&bearer)).await.is_err());
    }
    let refused = refresh(&world, first.refresh_token.as_deref().unwrap()).await.unwrap_err();
    assert_eq!(refused.error_code(), "invalid_grant");
    let records = world.memory.lock_rows().audit.clone();
    let revocations = records.iter().filter(|record| record.action == oauth_core::ports::AuditAction::Revocation);
    let who: Vec<_> = revocations.map(|record| (record.client_id.as_deref(), record.user_id.as_deref())).collect();
    assert_eq!(who, [(Some("app"), Some("ada"))]);
}
