//! What people leave behind when they let apps in.

mod codes;
mod refresh;
mod refusals;
mod sessions;

use auth_storage::AuthDatabase;
use fhir_store::{ResourceStore as _, ResourceWrite, WriteOperation};
use oauth_core::ports::{
    AccessTokenStore as _, AuthorizationCodeRecord, AuthorizationCodeStore as _, CallerStatusQuery, ConsentGrant,
    ConsentGrantDecision, FirstFamilyTokens, OpaqueTokenRecord, RefreshTokenRecord, RegistrationStore as _,
    SecretSha256, TokenFamily,
};
use serde_json::{Value, json};

use crate::home::{NOW_S, NOW_US};

/// A hash that differs from any other of these tests.
fn hash(name: &str) -> SecretSha256 {
    let mut hash = [7; 32];
    hash[..name.len()].copy_from_slice(name.as_bytes());
    hash
}

async fn found_opaque(db: &AuthDatabase, name: &str) -> Option<OpaqueTokenRecord> {
    db.find_opaque_token(&hash(name)).await.unwrap().map(|(token, _)| token)
}

async fn put(db: &AuthDatabase, key: &str, body: Value) -> i64 {
    let write = ResourceWrite::unconditional(key.parse().unwrap(), WriteOperation::Put(body));
    let written = db.transact_writes(vec![write], NOW_US).await.unwrap().unwrap();
    written[0].stored_resource().unwrap().version
}

async fn delete(db: &AuthDatabase, key: &str) {
    let write = ResourceWrite::unconditional(key.parse().unwrap(), WriteOperation::Delete);
    db.transact_writes(vec![write], NOW_US).await.unwrap().unwrap();
}

/// What the User `u` lets the app `app` do for the patient `p`.
fn grant(id: &str) -> ConsentGrant {
    ConsentGrant {
        id: id.to_owned(),
        user_id: "u".to_owned(),
        client_id: "app".to_owned(),
        patient_id: Some("p".to_owned()),
        requested: "openid patient/*.rs".to_owned(),
        granted: "patient/*.rs".to_owned(),
        refused: String::new(),
        created_s: NOW_S,
        used_s: None,
    }
}

/// What is given where nothing was given before.
fn given(grant: ConsentGrant) -> ConsentGrantDecision {
    ConsentGrantDecision { grant, replaces: None }
}

/// The code `name`, good for a minute.
fn code(name: &str, family_id: &str, grant_id: &str) -> AuthorizationCodeRecord {
    AuthorizationCodeRecord {
        hash: hash(name),
        client_id: "app".to_owned(),
        family_id: family_id.to_owned(),
        grant_id: grant_id.to_owned(),
        authorization: json!({"z": 1, "a": ["x", null]}),
        expires_s: NOW_S + 60,
    }
}

fn family(id: &str, grant_id: Option<&str>) -> TokenFamily {
    TokenFamily {
        id: id.to_owned(),
        client_id: "app".to_owned(),
        user_id: "u".to_owned(),
        grant_id: grant_id.map(str::to_owned),
        credential: [9; 32],
        authorization: json!({"z": 1, "a": ["x", null]}),
        created_s: NOW_S,
        expires_s: NOW_S + 1000,
    }
}

fn refresh(name: &str, family_id: &str) -> RefreshTokenRecord {
    RefreshTokenRecord { hash: hash(name), family_id: family_id.to_owned(), issued_s: NOW_S, expires_s: NOW_S + 500 }
}

fn opaque(name: &str) -> OpaqueTokenRecord {
    OpaqueTokenRecord {
        hash: hash(name),
        token_id: name.to_owned(),
        client_id: "app".to_owned(),
        claims: json!({"sid": "f"}),
        expires_s: NOW_S + 300,
    }
}

/// What the code of a grant gives: a family with a refresh token `r-{family}`.
fn first(family_id: &str, grant_id: &str) -> FirstFamilyTokens {
    FirstFamilyTokens {
        family: family(family_id, Some(grant_id)),
        access: None,
        refresh: Some(refresh(&format!("r-{family_id}"), family_id)),
    }
}

/// Whether tokens of a family are good.
async fn lives(db: &AuthDatabase, family_id: &str) -> bool {
    let of = CallerStatusQuery { family_id: Some(family_id), ..CallerStatusQuery::default() };
    db.caller_status(&of).await.unwrap().family_credential.is_some()
}

/// A family `f` under the grant `g`, by a redeemed code `c`.
async fn with_family(db: &AuthDatabase) {
    db.issue_code(code("c", "f", "g"), Some(given(grant("g"))), None).await.unwrap();
    db.redeem_code(&hash("c"), NOW_S, first("f", "g")).await.unwrap();
}
