//! Searches that cost much: what they are answered with, and what they do not hold up.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::members::PASSWORD;
use crate::world::{Choice, SECRET, World, on_every_engine, on_every_engine_with};

const PATIENTS: usize = 600;
/// More than there are connections for, on any engine.
const SEARCHES: usize = 24;

/// Patients with long names.
async fn crowd(world: &World) {
    let entry = |n: usize| {
        json!({
            "request": {"method": "PUT", "url": format!("Patient/p{n}")},
            "resource": {"resourceType": "Patient", "id": format!("p{n}"), "name": [{"family": format!("{n} {}", "abc ".repeat(200))}]},
        })
    };
    let entries: Vec<Value> = (0..PATIENTS).map(entry).collect();
    let bundle = json!({"resourceType": "Bundle", "type": "transaction", "entry": entries});
    let answer = world.post("/fhir").by_root().fhir(&bundle).send().await;
    assert_eq!(answer.status, 200);
}

/// Values that no name has, `count` of them from a number on.
fn values(from: usize, count: usize) -> String {
    (from..from + count).map(|n| format!("z{n}")).collect::<Vec<_>>().join(",")
}

fn expensive(seed: usize) -> String {
    format!("family:contains={}&name:contains={}", values(seed * 1000, 500), values(seed * 1000 + 500, 500))
}

#[tokio::test(flavor = "multi_thread")]
async fn many_expensive_searches_hold_up_neither_health_nor_tokens_nor_sign_in() {
    on_every_engine(async |world| {
        crowd(world).await;
        world.token_with_scope("partner", "system/*.rs").await;
        world.member("amy", ("Amy", "Shaw")).await;
        let paths: Vec<String> = (0..SEARCHES).map(|n| format!("/fhir/Patient?{}", expensive(n))).collect();
        let mut searches: FuturesUnordered<_> = paths.iter().map(|path| world.get(path).by_root().send()).collect();
        let others = async {
            // The searches have begun by then.
            tokio::time::sleep(Duration::from_millis(50)).await;
            world.db().ping().await.unwrap();
            let form = [("grant_type", "client_credentials"), ("client_id", "partner"), ("client_secret", SECRET)];
            let token = world.post("/auth/token").form(&form).send().await;
            assert_eq!(token.status, 200, "{token:?}");
            let token = token.body["access_token"].as_str().unwrap().to_owned();
            let read = world.get("/fhir/Patient/p1").bearer(&token).send().await;
            assert_eq!(read.status, 200, "{read:?}");
            let browser = Browser::new(world);
            let form = browser.open("/auth/apps").await.form("/auth/login");
            let signed_in = browser.post(&form.with("username", "amy").with("password", PASSWORD)).await;
            assert_eq!((signed_in.status.as_u16(), signed_in.header("location")), (303, "/auth/apps"));
            assert_eq!(world.get("/health").send().await.status, 200);
        };
        let mut others = std::pin::pin!(others);
        let mut ended = 0;
        loop {
            tokio::select! {
                () = &mut others => break,
                answer = searches.next() => {
                    let answer = answer.unwrap();
                    // Each is answered, ended for its time, or not begun for want of a connection.
                    assert!([200, 400, 503].contains(&answer.status.as_u16()), "{answer:?}");
                    ended += 1;
                }
            }
        }
        assert!(ended < SEARCHES, "what is no search waited for all of them");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_that_takes_too_long_is_too_costly_wherever_it_stands() {
    let choice = Choice { search_time: Duration::from_millis(2), ..Choice::default() };
    on_every_engine_with(choice, async |world| {
        crowd(world).await;
        let query = expensive(1);
        let alone = world.get(&format!("/fhir/Patient?{query}")).by_root().send().await;
        assert_eq!(alone.outcome(), (400, "too-costly"), "{alone:?}");
        let text = "The search took longer than a search may; narrow it, or ask for fewer values";
        assert_eq!(alone.body["issue"][0]["diagnostics"], text);
        let entries = [
            json!({"request": {"method": "GET", "url": format!("Patient?{query}")}}),
            json!({"request": {"method": "POST", "url": "Patient", "ifNoneExist": query}, "resource": {"resourceType": "Patient"}}),
        ];
        for entry in entries {
            let bundle = json!({"resourceType": "Bundle", "type": "batch", "entry": [entry]});
            let answer = world.post("/fhir").by_root().fhir(&bundle).send().await;
            let entry = &answer.body["entry"][0]["response"];
            assert_eq!((&entry["status"], &entry["outcome"]["issue"][0]["code"]), (&json!("400"), &json!("too-costly")));
        }
        let write = world.post("/fhir/Basic").by_root().fhir(&json!({"resourceType": "Basic", "code": {"text": "x"}}));
        assert_eq!(write.send().await.status, 201, "what does not search is not limited");
    })
    .await;
}

#[tokio::test]
async fn too_many_values_are_refused_by_the_name_that_is_one_too_many() {
    on_every_engine(async |world| {
        world.put("/fhir/Patient/p1", &json!({"resourceType": "Patient", "name": [{"family": "Z7x"}]})).await;
        let five_hundred =
            world.get(&format!("/fhir/Patient?family:contains={}", values(0, 500))).by_root().send().await;
        assert_eq!((five_hundred.status.as_u16(), &five_hundred.body["total"]), (200, &json!(1)));
        let more = world.get(&format!("/fhir/Patient?{}&gender=male", expensive(0))).by_root().send().await;
        assert_eq!(more.status, 400);
        let text = more.body["issue"][0]["diagnostics"].as_str().unwrap();
        assert!(text.starts_with("with gender the search has more than 1000 values"), "{text}");
    })
    .await;
}
