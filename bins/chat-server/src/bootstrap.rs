//! What has to exist before the first request: the realm and its owner.

use anyhow::Context as _;
use chat_core::event_log::decision_queue::RealmDecisionQueue;
use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::RealmStore;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::user::ApiKey;
use chat_core::organization::founding::{NewRealm, found_realm};
use chat_core::organization::system_bots::add_missing_system_bots;
use chat_http::{ClockAndRandomness as _, OrganizationSetupCode, PasswordHashing};
use secrecy::ExposeSecret as _;

use crate::config::RealmConfig;
use crate::system_runtime::SystemRuntime;

/// The realm after the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Founded {
    /// There is one.
    Realm,
    /// There is none, and no owner is configured.
    Nothing,
}

/// Founds the realm with the owner of the configuration, unless there is a realm: that one only gets the system bots
/// that it lacks, and keeps the owner's password.
///
/// # Errors
/// When the password cannot be hashed, or storage fails.
pub(crate) async fn establish_realm(
    store: &dyn RealmStore,
    passwords: &dyn PasswordHashing,
    config: &RealmConfig,
) -> anyhow::Result<Founded> {
    if store.snapshot().realm().is_some() {
        add_system_bots(store).await?;
        return Ok(Founded::Realm);
    }
    let Some(owner) = config.owner() else { return Ok(Founded::Nothing) };
    let password_hash = passwords.hash(owner.password.expose_secret().to_owned()).await?;
    let founding = NewRealm {
        realm_name: config.realm_name().to_owned(),
        email: owner.email.to_owned(),
        full_name: owner.name.to_owned(),
        password_hash: Some(password_hash),
        api_key: fresh_key()?,
        now_s: SystemRuntime.now_s(),
    };
    match store.commit(found_realm(&store.snapshot(), founding)).await? {
        CommitOutcome::Done { .. } => tracing::info!(owner = owner.email, "the organization was created"),
        // Another node was faster.
        CommitOutcome::Stale(_) => {}
    }
    Ok(Founded::Realm)
}

/// Adds the system bots to a realm that an earlier version founded, or that was imported.
async fn add_system_bots(store: &dyn RealmStore) -> anyhow::Result<()> {
    let decisions = RealmDecisionQueue::default();
    let decide = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        add_missing_system_bots(realm, commit);
        anyhow::Ok(())
    };
    if decisions.decide_and_commit(store, SystemRuntime.now_s(), decide).await?.is_written {
        tracing::info!("system bots added to the organization");
    }
    Ok(())
}

/// Makes the code of the page that makes the organization, and logs it: who reads the log is the operator. It opens
/// nothing once there is an organization, and another start makes another one.
///
/// # Errors
/// As [`fresh_key`].
pub(crate) fn setup_code(base_url: &str) -> anyhow::Result<OrganizationSetupCode> {
    let code = OrganizationSetupCode::from_random_letters(&fresh_key()?);
    tracing::warn!(
        code = code.expose(),
        "there is no organization yet: open {base_url}/ and type this code there to create one, or start once with \
         --owner-email and --owner-password (CHAT_OWNER_EMAIL, CHAT_OWNER_PASSWORD)"
    );
    Ok(code)
}

/// A key nobody has.
///
/// # Errors
/// Once in 10²² times three.
pub(crate) fn fresh_key() -> anyhow::Result<ApiKey> {
    let key = (0..3).find_map(|_| ApiKey::from_random(&SystemRuntime.random_bytes()));
    key.context("no key could be made of the random bytes")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use chat_core::model::role::Role;
    use chat_core::organization::system_bots::SystemBot;
    use chat_storage::{ChatDatabase, ChatStore};

    use super::*;
    use crate::config;
    use crate::passwords::Argon2id;

    fn realm_config(flags: &[&str]) -> RealmConfig {
        config::read(std::iter::once("chat-server").chain(flags.iter().copied()).map(OsString::from)).unwrap().realm
    }

    #[tokio::test]
    async fn the_realm_is_founded_once_and_never_changed() {
        let dir = tempfile::tempdir().unwrap();
        let store = ChatStore::start_without_secret(ChatDatabase::open_and_migrate(None, dir.path(), 4).await.unwrap())
            .await
            .unwrap();
        let passwords = Argon2id::new();
        let founded = establish_realm(&store, &passwords, &realm_config(&[])).await.unwrap();
        assert_eq!(founded, Founded::Nothing);
        assert!(store.snapshot().realm().is_none(), "without an owner there is no realm");
        for (name, password) in [("Acme", "correct horse"), ("Other", "another one")] {
            let flags = ["--realm-name", name, "--owner-email", "ada@example.org", "--owner-password", password];
            let founded = establish_realm(&store, &passwords, &realm_config(&flags)).await.unwrap();
            assert_eq!(founded, Founded::Realm);
            let realm = store.snapshot();
            assert!(SystemBot::ALL.iter().all(|bot| bot.find(&realm).is_some()));
            assert_eq!(realm.realm().unwrap().name, "Acme");
            let owner = realm.user_by_email("ada@example.org").unwrap();
            assert_eq!((owner.role, owner.full_name.as_str()), (Role::Owner, "Owner"));
            let hash = store.load_credentials(owner.id).await.unwrap().unwrap().password_hash;
            assert!(passwords.verify_password("correct horse".to_owned(), hash).await.unwrap());
        }
        store.flush_and_close().await;
    }
}
