//! Tokens that a person authorized, from the code to their end, over the databases.

use oauth_core::client::GrantType;
use oauth_core::end_user::EndUser;
use oauth_core::granted_authorization::{GrantedAuthorization, LaunchContext};
use oauth_core::jose::sha256;
use oauth_core::ports::{
    AuthorizationCodeRecord, AuthorizationCodeStore as _, ConsentGrant, ConsentGrantDecision, ConsentGrantStore as _,
    RegistrationStore as _,
};
use serde_json::{Value, json};

use crate::world::{Answer, BASE, NOW_S, World, claims, on_every_engine};

const CALLBACK: &str = "https://app.example/cb";
/// RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const SCOPE: &str = "launch/patient openid fhirUser offline_access patient/*.rs";

/// Registers the public app and its member.
async fn register(world: &World, token_format: &str) {
    let app = json!({"type": "smart-app", "grant_types": ["code"], "auth": {"authorization_code": {
        "redirect_uri": CALLBACK, "token_format": token_format, "pkce": true, "refresh_token": true,
    }}});
    world.put("/Client/app", &app).await;
    let ada = json!({"userName": "ada", "password": "correct horse", "fhirUser": {"reference": "Patient/p-1"}});
    world.put("/User/ada", &ada).await;
}

/// Stores a code as the authorization endpoint does.
async fn code(world: &World, name: &str) -> String {
    let db = world.db();
    let stored = db.user("ada").await.unwrap().unwrap();
    let context = LaunchContext {
        patient: Some("p-1".to_owned()),
        encounter: Some("e-1".to_owned()),
        need_patient_banner: Some(true),
        ..LaunchContext::default()
    };
    let authorization = GrantedAuthorization {
        grant: GrantType::AuthorizationCode,
        client_id: "app".to_owned(),
        user_id: "ada".to_owned(),
        credential: EndUser::from_stored("ada", &stored, "").credential,
        redirect_uri: Some(CALLBACK.to_owned()),
        code_challenge: Some(CHALLENGE.to_owned()),
        scope: SCOPE.to_owned(),
        nonce: None,
        auth_time_s: NOW_S,
        fhir_user: Some("Patient/p-1".to_owned()),
        vouched: false,
        context,
    };
    let grant = ConsentGrant {
        id: "grant-1".to_owned(),
        user_id: "ada".to_owned(),
        client_id: "app".to_owned(),
        patient_id: Some("p-1".to_owned()),
        requested: SCOPE.to_owned(),
        granted: SCOPE.to_owned(),
        refused: String::new(),
        created_s: NOW_S,
        used_s: None,
    };
    let issued = AuthorizationCodeRecord {
        hash: sha256(name.as_bytes()),
        client_id: "app".to_owned(),
        family_id: format!("family-{name}"),
        grant_id: "grant-1".to_owned(),
        authorization: authorization.to_stored().unwrap(),
        expires_s: NOW_S + 60,
    };
    let replaces = db.active_grants_of_user("ada").await.unwrap().into_iter().find(|held| held.id == grant.id);
    db.issue_code(issued, Some(ConsentGrantDecision { grant, replaces }), None).await.unwrap();
    name.to_owned()
}

async fn redeem(world: &World, code: &str) -> Answer {
    let form = [
        ("grant_type", "authorization_code"),
        ("client_id", "app"),
        ("code", code),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    world.post("/auth/token").form(&form).send().await
}

async fn refresh(world: &World, token: &Value) -> Answer {
    let token = token.as_str().unwrap();
    let form = [("grant_type", "refresh_token"), ("client_id", "app"), ("refresh_token", token)];
    world.post("/auth/token").form(&form).send().await
}

async fn introspected(world: &World, token: &Value) -> Value {
    let form = [("token", token.as_str().unwrap())];
    world.post("/auth/introspect").by_root().form(&form).send().await.body
}

#[tokio::test]
async fn a_code_gives_tokens_whose_context_introspection_repeats() {
    for token_format in ["jwt", "opaque"] {
        on_every_engine(async |world| {
            register(world, token_format).await;
            let answer = redeem(world, &code(world, "one").await).await;
            assert_eq!(answer.status, 200, "{answer:?}");
            assert_eq!((answer.header("cache-control"), answer.header("pragma")), ("no-store", "no-cache"));
            let tokens = answer.body;
            assert_eq!((&tokens["token_type"], &tokens["expires_in"]), (&json!("Bearer"), &json!(3600)));
            assert_eq!((&tokens["patient"], &tokens["encounter"]), (&json!("p-1"), &json!("e-1")));
            let id = claims(tokens["id_token"].as_str().unwrap());
            assert_eq!((&id["iss"], &id["aud"], &id["sub"]), (&json!(BASE), &json!("app"), &json!("ada")));
            assert_eq!(id["fhirUser"], format!("{BASE}/fhir/Patient/p-1"));
            let told = introspected(world, &tokens["access_token"]).await;
            for name in ["patient", "encounter", "need_patient_banner", "scope"] {
                assert_eq!(told[name], tokens[name], "{name}");
            }
            assert_eq!((&told["iss"], &told["sub"], &told["username"]), (&id["iss"], &id["sub"], &json!("ada")));
        })
        .await;
    }
}

#[tokio::test]
async fn a_second_use_of_a_code_ends_what_the_first_gave() {
    on_every_engine(async |world| {
        register(world, "jwt").await;
        let code = code(world, "one").await;
        let tokens = redeem(world, &code).await.body;
        assert_eq!(introspected(world, &tokens["access_token"]).await["active"], true);
        assert_eq!(redeem(world, &code).await.oauth_error(), (400, "invalid_grant"));
        assert_eq!(introspected(world, &tokens["access_token"]).await, json!({"active": false}));
        assert_eq!(refresh(world, &tokens["refresh_token"]).await.oauth_error(), (400, "invalid_grant"));
    })
    .await;
}

#[tokio::test]
async fn a_refresh_repeated_soon_has_one_successor_and_later_ends_the_family() {
    on_every_engine(async |world| {
        register(world, "opaque").await;
        let tokens = redeem(world, &code(world, "one").await).await.body;
        let first = refresh(world, &tokens["refresh_token"]).await.body;
        let second = refresh(world, &tokens["refresh_token"]).await.body;
        assert_eq!(first["refresh_token"], second["refresh_token"]);
        assert_ne!(first["access_token"], second["access_token"]);
        world.wait_s(31);
        assert_eq!(refresh(world, &tokens["refresh_token"]).await.oauth_error(), (400, "invalid_grant"));
        for dead in [&tokens, &first, &second] {
            assert_eq!(introspected(world, &dead["access_token"]).await, json!({"active": false}));
        }
        assert_eq!(refresh(world, &first["refresh_token"]).await.oauth_error(), (400, "invalid_grant"));
    })
    .await;
}

#[tokio::test]
async fn a_user_written_again_with_the_same_password_keeps_every_token() {
    on_every_engine(async |world| {
        register(world, "jwt").await;
        let tokens = redeem(world, &code(world, "one").await).await.body;
        register(world, "jwt").await;
        assert_eq!(introspected(world, &tokens["access_token"]).await["active"], true);
        assert_eq!(refresh(world, &tokens["refresh_token"]).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn another_password_or_an_inactive_user_ends_every_token_at_ask() {
    on_every_engine(async |world| {
        let changes = [json!({"userName": "ada", "password": "another horse"}), json!({"active": false})];
        for (change, name) in changes.into_iter().zip(["one", "two"]) {
            register(world, "jwt").await;
            let tokens = redeem(world, &code(world, name).await).await.body;
            assert_eq!(introspected(world, &tokens["access_token"]).await["active"], true);
            world.put("/User/ada", &change).await;
            assert_eq!(introspected(world, &tokens["access_token"]).await, json!({"active": false}));
            assert_eq!(refresh(world, &tokens["refresh_token"]).await.oauth_error(), (400, "invalid_grant"));
            let read = world.get("/fhir/Patient/p-1").bearer(tokens["access_token"].as_str().unwrap()).send().await;
            assert_eq!(read.status, 401, "{read:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_public_app_gives_a_refresh_token_back_with_all_that_followed() {
    on_every_engine(async |world| {
        register(world, "jwt").await;
        let tokens = redeem(world, &code(world, "one").await).await.body;
        let form = [("client_id", "app"), ("token", tokens["refresh_token"].as_str().unwrap())];
        let answer = world.post("/auth/revoke").form(&form).send().await;
        assert_eq!((answer.status.as_u16(), answer.length), (200, 0));
        assert_eq!(introspected(world, &tokens["access_token"]).await, json!({"active": false}));
        assert_eq!(introspected(world, &tokens["refresh_token"]).await, json!({"active": false}));
    })
    .await;
}

#[tokio::test]
async fn of_five_redemptions_at_once_one_is_answered_with_tokens() {
    on_every_engine(async |world| {
        register(world, "jwt").await;
        let code = code(world, "one").await;
        let ask = || redeem(world, &code);
        let (one, two, three, four, five) = tokio::join!(ask(), ask(), ask(), ask(), ask());
        let (granted, refused): (Vec<_>, Vec<_>) =
            [one, two, three, four, five].into_iter().partition(|answer| answer.status == 200);
        assert_eq!((granted.len(), refused.len()), (1, 4));
        for refused in refused {
            assert_eq!(refused.oauth_error(), (400, "invalid_grant"));
        }
    })
    .await;
}

#[tokio::test]
async fn of_five_refreshes_at_once_all_are_answered_with_one_successor() {
    on_every_engine(async |world| {
        register(world, "jwt").await;
        let tokens = redeem(world, &code(world, "one").await).await.body;
        let ask = || refresh(world, &tokens["refresh_token"]);
        let (one, two, three, four, five) = tokio::join!(ask(), ask(), ask(), ask(), ask());
        for answer in [&one, &two, &three, &four, &five] {
            assert_eq!(answer.status, 200, "{answer:?}");
            assert_eq!(answer.body["refresh_token"], one.body["refresh_token"]);
        }
        assert_eq!(refresh(world, &one.body["refresh_token"]).await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn userinfo_is_answered_to_the_bearer_by_both_methods_and_to_nobody_else() {
    on_every_engine(async |world| {
        register(world, "jwt").await;
        let tokens = redeem(world, &code(world, "one").await).await.body;
        let token = tokens["access_token"].as_str().unwrap();
        for method in ["GET", "POST"] {
            let answer = world.call(method, "/auth/userinfo").bearer(token).send().await;
            assert_eq!((answer.status.as_u16(), answer.header("cache-control")), (200, "no-store"), "{answer:?}");
            assert_eq!(answer.body, json!({"sub": "ada", "fhirUser": format!("{BASE}/fhir/Patient/p-1")}));
        }
        let nobody = world.get("/auth/userinfo").send().await;
        assert_eq!(nobody.status, 401);
        assert!(nobody.header("www-authenticate").starts_with("Bearer "), "{nobody:?}");
        let wrong = world.get("/auth/userinfo").bearer("nonsense").send().await;
        assert_eq!(wrong.oauth_error(), (401, "invalid_token"));
        let backend = world.token_with_scope("service", "system/Patient.rs").await;
        let refused = world.get("/auth/userinfo").bearer(&backend).send().await;
        assert_eq!(refused.oauth_error(), (403, "insufficient_scope"));
    })
    .await;
}

#[tokio::test]
async fn the_style_that_tokens_name_is_there_for_every_origin() {
    let world = World::new().await;
    register(&world, "jwt").await;
    let tokens = redeem(&world, &code(&world, "one").await).await.body;
    let path = tokens["smart_style_url"].as_str().unwrap().strip_prefix(BASE).unwrap();
    let answer = world.get(path).header("origin", "https://app.example").send().await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/json"));
    assert_eq!(answer.header("access-control-allow-origin"), "*");
    assert_eq!(answer.body.as_object().unwrap().len(), 11);
    world.end().await;
}

#[tokio::test]
async fn who_guesses_through_a_public_app_is_told_to_wait_where_it_comes_from() {
    let world = World::new().await;
    let app = json!({"type": "smart-app", "grant_types": ["password"], "auth": {"password": {"token_format": "jwt"}}});
    world.put("/Client/app", &app).await;
    let guess = async |name: &str, address: [u8; 4]| {
        let form = [("grant_type", "password"), ("client_id", "app"), ("username", name), ("password", "wrong")];
        world.post("/auth/token").from(address).form(&form).send().await
    };
    for number in 0..60 {
        let answer = guess(&format!("name-{number}"), [192, 0, 2, 1]).await;
        assert_eq!(answer.oauth_error(), (400, "invalid_grant"));
    }
    let refused = guess("another", [192, 0, 2, 1]).await;
    assert_eq!((refused.oauth_error(), refused.header("retry-after")), ((429, "temporarily_unavailable"), "1"));
    assert_eq!(guess("another", [192, 0, 2, 2]).await.oauth_error(), (400, "invalid_grant"));
    world.end().await;
}
