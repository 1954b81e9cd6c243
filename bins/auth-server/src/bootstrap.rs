//! What has to exist before the first request: the administrator of the environment.

use anyhow::Context as _;
use fhir_resource::ResourceKey;
use fhir_search::limits::MAX_PAGE_SIZE;
use fhir_store::{
    ListQuery, ResourceLookup, ResourceStore, ResourceWrite, WriteError, WriteOperation, WritePrecondition,
};
use oauth_core::ports::SigningKeyStore;
use oauth_core::secret_hash::hash_password;
use oauth_core::security_resource_rules;
use oauth_core::time_and_randomness::TimeAndRandomness;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;

/// Creates the User `id` with this password, and the policy that lets it do everything, unless
/// there is such a User. Of an existing one nothing is changed, its password neither.
///
/// # Errors
/// When the password cannot be stored, or storage fails.
pub(crate) async fn establish_admin(
    env: &TimeAndRandomness<'_>,
    store: &dyn ResourceStore,
    id: &str,
    password: &SecretString,
) -> anyhow::Result<()> {
    let key = ResourceKey { resource_type: "User".parse()?, id: id.parse()? };
    if matches!(store.read(&key).await?, ResourceLookup::Found(_)) {
        return Ok(());
    }
    let hash = hash_password(env, password.expose_secret().as_bytes()).context("cannot use --admin-password")?;
    let user = json!({"userName": id, "active": true, "password": hash.to_text()});
    let link = json!([{"reference": key.to_string()}]);
    let policy = json!({"description": "The administrator of the configuration", "engine": "allow", "link": link});
    let writes = vec![
        ResourceWrite::unconditional(key, WriteOperation::Create(user)),
        ResourceWrite::conditional(
            "AccessPolicy".parse()?,
            WriteOperation::Create(policy),
            WritePrecondition::default(),
        ),
    ];
    match store.transact_writes(writes, env.now_us).await? {
        Ok(_) => tracing::info!(user = id, "the administrator was created"),
        // Another node was faster.
        Err(refusal) if matches!(refusal.cause, WriteError::AlreadyExists(_)) => {}
        Err(refusal) => return Err(refusal).context("cannot create the administrator"),
    }
    Ok(())
}

/// Says loudly which private keys lie open in the database.
///
/// # Errors
/// When storage fails.
pub(crate) async fn warn_of_open_keys(store: &dyn SigningKeyStore, sealing: bool) -> anyhow::Result<()> {
    let keys = store.unretired_keys().await?;
    let open = keys.iter().filter(|key| !key.sealed).count();
    match (open, sealing) {
        (0, _) => {}
        (_, false) => tracing::warn!(
            keys = open,
            "PRIVATE SIGNING KEYS ARE STORED UNENCRYPTED: encrypt them with `keys reseal`, and set \
             --key-encryption-secret (BOX_KEY_ENCRYPTION_SECRET)"
        ),
        (_, true) => tracing::warn!(
            keys = open,
            "PRIVATE SIGNING KEYS FROM BEFORE --key-encryption-secret ARE STORED UNENCRYPTED: \
             encrypt them with `keys reseal`"
        ),
    }
    Ok(())
}

/// Says which issuers' tokens are exchanged whatever application they were made for.
///
/// # Errors
/// When storage fails.
pub(crate) async fn warn_of_open_audiences(store: &dyn ResourceStore) -> anyhow::Result<()> {
    let every = ListQuery { count: MAX_PAGE_SIZE, ..ListQuery::all_of_type("TokenIntrospector".parse()?) };
    for stored in store.list(&every).await?.entries {
        for warning in security_resource_rules::find_write_warnings("TokenIntrospector", &stored.resource, "") {
            tracing::warn!(introspector = %stored.key, "{} {}", warning.expression, warning.diagnostics);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use auth_storage::AuthDatabase;
    use fhir_resource::StoredResource;
    use fhir_store::{ResourceWrite, WriteOperation};
    use oauth_core::secret_hash::{Pepper, SecretHash};

    use super::*;
    use crate::clock::SystemRandom;

    fn env() -> TimeAndRandomness<'static> {
        TimeAndRandomness { now_us: 1_700_000_000_000_000, random: &SystemRandom }
    }

    async fn all(db: &AuthDatabase, kind: &str) -> Vec<StoredResource> {
        db.list(&ListQuery::all_of_type(kind.parse().unwrap())).await.unwrap().entries
    }

    fn accepts(user: &StoredResource, password: &str) -> bool {
        let hash = SecretHash::parse(user.resource["password"].as_str().unwrap()).unwrap();
        hash.verify(&Pepper::new([0; 32]), password.as_bytes())
    }

    #[tokio::test]
    async fn the_administrator_is_created_once_with_a_policy_and_never_changed() {
        let dir = tempfile::tempdir().unwrap();
        let db = AuthDatabase::open(None, dir.path(), 1).await.unwrap();
        for password in ["correct horse", "another one"] {
            establish_admin(&env(), &db, "admin", &SecretString::from(password)).await.unwrap();
            let [user] = all(&db, "User").await.try_into().unwrap();
            assert_eq!(user.key.to_string(), "User/admin");
            assert!(accepts(&user, "correct horse"));
            assert!(!accepts(&user, "another one"));
            let [policy] = all(&db, "AccessPolicy").await.try_into().unwrap();
            assert_eq!(policy.resource["engine"], "allow");
            assert_eq!(policy.resource["link"], json!([{"reference": "User/admin"}]));
        }
    }

    #[tokio::test]
    async fn a_password_that_cannot_be_stored_creates_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let db = AuthDatabase::open(None, dir.path(), 1).await.unwrap();
        let long = SecretString::from("x".repeat(1025));
        let refusal = establish_admin(&env(), &db, "admin", &long).await.unwrap_err();
        assert!(refusal.to_string().contains("--admin-password"), "{refusal}");
        assert!(all(&db, "User").await.is_empty() && all(&db, "AccessPolicy").await.is_empty());
    }

    #[tokio::test]
    async fn a_start_warns_of_issuers_whose_tokens_are_exchanged_for_any_audience() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        let file = Arc::new(File::create(&log).unwrap());
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(file).finish();
        let _logging = tracing::subscriber::set_default(subscriber);
        let db = AuthDatabase::open(None, dir.path(), 1).await.unwrap();
        for (id, audience) in [("open", json!(null)), ("closed", json!(["https://fhir.example"]))] {
            let mut jwt = json!({"iss": format!("https://{id}.example"), "secret": "s".repeat(43)});
            if !audience.is_null() {
                jwt["audience"] = audience;
            }
            let body = json!({"resourceType": "TokenIntrospector", "type": "jwt", "jwt": jwt});
            let write = ResourceWrite::unconditional(
                format!("TokenIntrospector/{id}").parse().unwrap(),
                WriteOperation::Put(body),
            );
            db.transact_writes(vec![write], env().now_us).await.unwrap().unwrap();
        }
        warn_of_open_audiences(&db).await.unwrap();
        let logged = std::fs::read_to_string(&log).unwrap();
        let warnings: Vec<&str> = logged.lines().filter(|line| line.contains(" WARN ")).collect();
        let [warning] = warnings.as_slice() else { panic!("{logged}") };
        assert!(warning.contains("introspector=TokenIntrospector/open"), "{warning}");
        assert!(warning.contains("jwt.audience is not set: a token that the issuer made for any other"), "{warning}");
    }
}
