//! What people leave behind when they let apps in.

mod sessions;

use auth_storage::Db;
use fhir_store::{Operation, ResourceStore as _, Write};
use oauth_core::ports::{Hash, IssuedCode, MemberGrant};
use serde_json::{Value, json};

use crate::home::{NOW_S, NOW_US};

/// A hash that differs from any other of these tests.
fn hash(name: &str) -> Hash {
    let mut hash = [7; 32];
    hash[..name.len()].copy_from_slice(name.as_bytes());
    hash
}

async fn put(db: &Db, key: &str, body: Value) -> i64 {
    let write = Write::to(key.parse().unwrap(), Operation::Put(body));
    let written = db.transact(vec![write], NOW_US).await.unwrap().unwrap();
    written[0].stored().unwrap().version
}

async fn delete(db: &Db, key: &str) {
    let write = Write::to(key.parse().unwrap(), Operation::Delete);
    db.transact(vec![write], NOW_US).await.unwrap().unwrap();
}

/// What the User `u` lets the app `app` do for the patient `p`.
fn grant(id: &str) -> MemberGrant {
    MemberGrant {
        id: id.to_owned(),
        user_id: "u".to_owned(),
        client_id: "app".to_owned(),
        patient_id: Some("p".to_owned()),
        requested: "openid patient/*.rs".to_owned(),
        granted: "patient/*.rs".to_owned(),
        created_s: NOW_S,
        used_s: None,
    }
}

/// The code `name`, good for a minute.
fn code(name: &str, family_id: &str, grant_id: &str) -> IssuedCode {
    IssuedCode {
        hash: hash(name),
        client_id: "app".to_owned(),
        family_id: family_id.to_owned(),
        grant_id: grant_id.to_owned(),
        authorization: json!({"z": 1, "a": ["x", null]}),
        expires_s: NOW_S + 60,
    }
}
