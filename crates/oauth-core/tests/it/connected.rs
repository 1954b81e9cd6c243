//! The apps a person has let in, and taking that back.

use oauth_core::connected::{self, ConnectedApp};
use oauth_core::person::Person;
use serde_json::json;

use crate::people::{clinic, consent, user};
use crate::world::{BASE, NOW_S, World};

fn person(world: &World, id: &str) -> Person {
    Person::read(id, &world.memory.resources.lock().unwrap()[&("User", id.to_owned())], BASE)
}

async fn list(world: &World, id: &str) -> Vec<ConnectedApp> {
    connected::list(&world.env(), &world.authority, &person(world, id)).await.unwrap()
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
    let grant = list(&world, "ada").await.remove(0).grant_id;
    let revoke = |id: &'static str, grant: String| {
        let world = &world;
        async move { connected::revoke(&world.env(), &world.authority, (&person(world, id), None), &grant).await.unwrap() }
    };
    assert!(!revoke("bob", grant.clone()).await);
    assert_eq!(list(&world, "ada").await.len(), 1);
    assert!(revoke("ada", grant.clone()).await);
    assert_eq!(list(&world, "ada").await, []);
    assert!(!revoke("ada", grant).await);
    let audit = world.memory.audit.lock().unwrap();
    let revocations = audit.iter().filter(|record| record.action == oauth_core::ports::AuditAction::Revocation);
    assert_eq!(revocations.count(), 1);
}
