//! The commands `keys list`, `keys rotate`, `keys retire` and `keys reseal`. A running server sees what they did
//! within seconds.

use anyhow::{Context as _, bail};
use auth_storage::AuthDatabase;
use jiff::Timestamp;
use oauth_core::jose::SigningAlg;
use oauth_core::ports::SigningKeyStore;
use oauth_core::signing_key_encryption::SigningKeyEncryption;
use oauth_core::signing_keys::{self, SigningKeyError, StoredSigningKey};
use oauth_core::time_and_randomness::TimeAndRandomness;

use crate::config::{Config, KeysCommand, ResealArgs, RotateArgs};
use crate::{clock, database};

/// Said when the keys changed between reading them and storing what was made of them.
const CHANGED: &str = "the keys have changed in the meantime and nothing was stored: run the command again";

/// Runs one command and prints its result on stdout.
///
/// # Errors
/// When storage fails, when there is no database, or when the command would leave the server without a key that
/// signs or with keys that it cannot read at its next start.
pub(crate) async fn run(config: &Config, command: &KeysCommand) -> anyhow::Result<()> {
    let db = database::open_existing_and_migrate(&config.database).await?;
    let sealer = config.trust.key_encryption_secret().cloned().map(SigningKeyEncryption::new);
    let done = execute(&clock::env(), &db, sealer.as_ref(), command).await;
    db.close().await;
    for line in done? {
        println!("{line}");
    }
    Ok(())
}

async fn execute(
    env: &TimeAndRandomness<'_>,
    db: &AuthDatabase,
    sealer: Option<&SigningKeyEncryption>,
    command: &KeysCommand,
) -> anyhow::Result<Vec<String>> {
    match command {
        KeysCommand::List => list(env, db).await,
        KeysCommand::Rotate(how) => rotate(env, db, sealer, how).await,
        KeysCommand::Retire { kid } => retire(env, db, kid).await,
        KeysCommand::Reseal(how) => reseal(env, db, sealer, how).await,
    }
}

async fn list(env: &TimeAndRandomness<'_>, store: &dyn SigningKeyStore) -> anyhow::Result<Vec<String>> {
    let keys = store.unretired_keys().await?;
    let head = line("KID", "ALG", "CREATED", "STATE", "STORED");
    let rows = keys.iter().map(|key| {
        let stored = if key.sealed { "encrypted" } else { "open" };
        line(&key.kid, key.alg.name(), &time(key.created_s), &state(env, &keys, key), stored)
    });
    Ok(std::iter::once(head).chain(rows).collect())
}

async fn rotate(
    env: &TimeAndRandomness<'_>,
    store: &dyn SigningKeyStore,
    sealer: Option<&SigningKeyEncryption>,
    how: &RotateArgs,
) -> anyhow::Result<Vec<String>> {
    let held = store.unretired_keys().await?;
    if held.is_empty() {
        bail!("there are no keys yet: the server makes them at its first start");
    }
    signing_keys::check_encryption_secret(&held, sealer).map_err(explain)?;
    let asked_s = env.now_s().saturating_add_unsigned(how.activate_after);
    let (mut lines, mut added) = (Vec::new(), Vec::new());
    for alg in SigningAlg::ALL.into_iter().filter(|alg| how.alg.is_none_or(|only| only == *alg)) {
        let signs_from_s = signing_keys::next_free_signing_start(&held, alg, asked_s);
        let key = StoredSigningKey::generate(env, alg, sealer, signs_from_s)?;
        lines.push(format!("{} {} signs from {}", alg.name(), key.kid, time(signs_from_s)));
        added.push(key);
    }
    if !store.save_keys_if_unchanged(&held, added).await? {
        bail!(CHANGED);
    }
    Ok(lines)
}

async fn reseal(
    env: &TimeAndRandomness<'_>,
    store: &dyn SigningKeyStore,
    sealer: Option<&SigningKeyEncryption>,
    how: &ResealArgs,
) -> anyhow::Result<Vec<String>> {
    let held = store.unretired_keys().await?;
    if held.is_empty() {
        bail!("there are no keys yet: the server makes them at its first start");
    }
    let new = SigningKeyEncryption::new(how.secret().clone());
    let resealed = signing_keys::reencrypt_private_keys(env, &held, sealer, &new).map_err(explain)?;
    if !store.save_keys_if_unchanged(&held, resealed).await? {
        bail!(CHANGED);
    }
    let done = held.iter().map(|key| format!("{} {} is encrypted under the new secret", key.alg.name(), key.kid));
    let next = "start every node with the new secret as --key-encryption-secret (BOX_KEY_ENCRYPTION_SECRET) from now \
                on, and rotate keys when all of them have it";
    Ok(done.chain([next.to_owned()]).collect())
}

/// Returns the error with the flag that mends it.
pub(crate) fn explain(error: SigningKeyError) -> anyhow::Error {
    let advice = match &error {
        SigningKeyError::WrongSecret { .. } => {
            "--key-encryption-secret (BOX_KEY_ENCRYPTION_SECRET) is not the secret of the keys in this database"
        }
        SigningKeyError::SecretMissing => {
            "--key-encryption-secret (BOX_KEY_ENCRYPTION_SECRET) is not set and the keys in this database need it"
        }
        SigningKeyError::NotEncrypted => "encrypt the stored keys first, with `keys reseal`",
        _ => "cannot use the signing keys",
    };
    anyhow::Error::new(error).context(advice)
}

async fn retire(env: &TimeAndRandomness<'_>, store: &dyn SigningKeyStore, kid: &str) -> anyhow::Result<Vec<String>> {
    let keys = store.unretired_keys().await?;
    let key = keys.iter().find(|key| key.kid == kid);
    let key = key.with_context(|| format!("there is no key '{kid}': see `keys list`"))?;
    let others = keys.iter().filter(|other| other.kid != kid && other.alg == key.alg);
    if !others.into_iter().any(|other| other.signs_from_s <= env.now_s()) {
        bail!("no other key signs {} yet: `keys rotate` first, and wait until the new key signs", key.alg.name());
    }
    store.retire_key(kid, env.now_s()).await?;
    Ok(vec![format!("{} {kid} is retired", key.alg.name())])
}

/// Returns the key of its algorithm that began to sign last signs; those before it only verify.
fn state(env: &TimeAndRandomness<'_>, keys: &[StoredSigningKey], key: &StoredSigningKey) -> String {
    let signer = signing_keys::current_signing_key(keys, key.alg, env.now_s());
    if signer.is_some_and(|signer| signer.kid == key.kid) {
        return "signs".to_owned();
    }
    if key.signs_from_s > env.now_s() {
        return format!("signs from {}", time(key.signs_from_s));
    }
    "verifies".to_owned()
}

fn time(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |time| time.to_string())
}

fn line(kid: &str, alg: &str, created: &str, state: &str, stored: &str) -> String {
    format!("{kid:<43}  {alg:<5}  {created:<20}  {state:<31}  {stored}")
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::sync::Arc;

    use oauth_core::signing_keys::SigningKeyRing;
    use oauth_core::time_and_randomness::RandomSource;
    use tempfile::TempDir;

    use super::*;
    use crate::clock::SystemRandom;

    const NOW_S: i64 = 1_700_000_000;

    async fn started() -> (TempDir, AuthDatabase) {
        let dir = tempfile::tempdir().unwrap();
        let db = AuthDatabase::open(None, dir.path(), 1).await.unwrap();
        (dir, db)
    }

    fn at(now_s: i64) -> TimeAndRandomness<'static> {
        let random: &'static dyn RandomSource = &SystemRandom;
        TimeAndRandomness { now_us: now_s * 1_000_000, random }
    }

    async fn ring(db: &AuthDatabase) -> SigningKeyRing {
        SigningKeyRing::load_or_generate(&at(NOW_S), Arc::new(db.clone()), None).await.unwrap()
    }

    fn signer(ring: &SigningKeyRing, now_s: i64) -> String {
        ring.snapshot().signing_key(SigningAlg::ES256, now_s).unwrap().kid().to_owned()
    }

    async fn rotate_es256(db: &AuthDatabase, activate_after: u64) -> anyhow::Result<Vec<String>> {
        rotate(&at(NOW_S), db, None, &RotateArgs { activate_after, alg: Some(SigningAlg::ES256) }).await
    }

    #[tokio::test]
    async fn a_new_key_is_published_at_once_and_signs_later() {
        let (_dir, db) = started().await;
        let ring = ring(&db).await;
        let old = signer(&ring, NOW_S);
        rotate_es256(&db, 600).await.unwrap();
        ring.reload_keys().await.unwrap();
        assert_eq!(signer(&ring, NOW_S + 599), old);
        let new = signer(&ring, NOW_S + 600);
        assert_ne!(new, old);
        let published = String::from_utf8(ring.snapshot().published_jwks().body.to_vec()).unwrap();
        assert!(published.contains(&new) && published.contains(&old), "{published}");
        let listed = list(&at(NOW_S), &db).await.unwrap();
        let line = listed.iter().find(|line| line.starts_with(&new)).unwrap();
        assert!(line.contains("signs from 2023-11-14T22:23:20Z"), "{line}");
        let listed = list(&at(NOW_S + 600), &db).await.unwrap();
        let line = listed.iter().find(|line| line.starts_with(&old)).unwrap();
        assert!(line.contains(" verifies "), "{line}");
    }

    #[tokio::test]
    async fn the_only_key_that_signs_is_not_retired() {
        let (_dir, db) = started().await;
        let old = signer(&ring(&db).await, NOW_S);
        rotate_es256(&db, 600).await.unwrap();
        let refusal = retire(&at(NOW_S), &db, &old).await.unwrap_err();
        assert!(refusal.to_string().contains("no other key signs ES256 yet"), "{refusal}");
        assert_eq!(db.unretired_keys().await.unwrap().len(), 5);
        retire(&at(NOW_S + 600), &db, &old).await.unwrap();
        assert!(db.unretired_keys().await.unwrap().iter().all(|key| key.kid != old));
    }

    #[tokio::test]
    async fn rotation_without_an_algorithm_replaces_every_key() {
        let (_dir, db) = started().await;
        ring(&db).await;
        rotate(&at(NOW_S), &db, None, &RotateArgs { activate_after: 0, alg: None }).await.unwrap();
        // The old ones began in this very second, so the new ones follow in the next.
        let listed = list(&at(NOW_S + 1), &db).await.unwrap();
        assert_eq!(listed.iter().filter(|line| line.contains(" signs ")).count(), 4);
        assert_eq!(listed.len(), 9);
    }

    #[tokio::test]
    async fn without_keys_there_is_nothing_to_rotate_or_retire() {
        let (_dir, db) = started().await;
        assert!(rotate_es256(&db, 0).await.is_err());
        assert!(retire(&at(NOW_S), &db, "nope").await.is_err());
        assert!(db.unretired_keys().await.unwrap().is_empty());
    }

    fn sealer(secret: &str) -> SigningKeyEncryption {
        SigningKeyEncryption::new(secret.to_owned().into())
    }

    async fn sealed(secret: &str) -> (TempDir, AuthDatabase) {
        let (dir, db) = started().await;
        SigningKeyRing::load_or_generate(&at(NOW_S), Arc::new(db.clone()), Some(sealer(secret))).await.unwrap();
        (dir, db)
    }

    async fn opens(db: &AuthDatabase, secret: &str) -> bool {
        SigningKeyRing::load_or_generate(&at(NOW_S), Arc::new(db.clone()), Some(sealer(secret))).await.is_ok()
    }

    const ALL_AT_ONCE: RotateArgs = RotateArgs { activate_after: 0, alg: None };

    #[tokio::test]
    async fn rotation_without_the_secret_or_with_a_wrong_one_is_refused_and_stores_nothing() {
        let (_dir, db) = sealed("the secret of the keys").await;
        let before = db.unretired_keys().await.unwrap();
        let missing = rotate(&at(NOW_S), &db, None, &ALL_AT_ONCE).await.unwrap_err();
        assert!(missing.to_string().contains("is not set and the keys in this database need it"), "{missing}");
        let wrong = sealer("another secret of keys");
        let wrong = rotate(&at(NOW_S), &db, Some(&wrong), &ALL_AT_ONCE).await.unwrap_err();
        assert!(wrong.to_string().contains("is not the secret of the keys in this database"), "{wrong}");
        assert_eq!(db.unretired_keys().await.unwrap(), before);
        rotate(&at(NOW_S), &db, Some(&sealer("the secret of the keys")), &ALL_AT_ONCE).await.unwrap();
        let after = db.unretired_keys().await.unwrap();
        assert_eq!(after.len(), 8);
        assert!(after.iter().all(|key| key.sealed));
        assert!(opens(&db, "the secret of the keys").await);
    }

    #[tokio::test]
    async fn rotation_with_a_secret_is_refused_while_the_keys_are_not_encrypted() {
        let (_dir, db) = started().await;
        ring(&db).await;
        let refused = rotate(&at(NOW_S), &db, Some(&sealer("a secret of keys")), &ALL_AT_ONCE).await.unwrap_err();
        assert!(format!("{refused:#}").contains("`keys reseal`"), "{refused:#}");
        assert_eq!(db.unretired_keys().await.unwrap().len(), 4);
    }

    #[tokio::test]
    async fn resealing_changes_the_secret_of_every_key_and_the_keys_stay_the_same() {
        let (_dir, db) = sealed("the old secret of keys").await;
        let published =
            |keys: Vec<StoredSigningKey>| -> Vec<_> { keys.into_iter().map(|key| key.public_jwk).collect() };
        let before = published(db.unretired_keys().await.unwrap());
        let how = ResealArgs::to("the new secret of keys");
        let wrong = reseal(&at(NOW_S), &db, Some(&sealer("no secret of the keys")), &how).await.unwrap_err();
        assert!(wrong.to_string().contains("is not the secret of the keys in this database"), "{wrong}");
        assert!(reseal(&at(NOW_S), &db, None, &how).await.is_err());
        assert!(opens(&db, "the old secret of keys").await);
        let said = reseal(&at(NOW_S), &db, Some(&sealer("the old secret of keys")), &how).await.unwrap();
        assert_eq!(said.len(), 5, "{said:?}");
        assert!(!opens(&db, "the old secret of keys").await);
        assert!(opens(&db, "the new secret of keys").await);
        assert_eq!(published(db.unretired_keys().await.unwrap()), before);
    }

    #[tokio::test]
    async fn resealing_encrypts_keys_that_were_stored_in_clear() {
        let (_dir, db) = started().await;
        let ring = ring(&db).await;
        let signer = signer(&ring, NOW_S);
        let clear = db.unretired_keys().await.unwrap();
        reseal(&at(NOW_S), &db, None, &ResealArgs::to("the new secret of keys")).await.unwrap();
        let stored = db.unretired_keys().await.unwrap();
        assert!(stored.iter().all(|key| key.sealed));
        for key in &stored {
            let was = clear.iter().find(|was| was.kid == key.kid).unwrap();
            assert!(!key.private_key.windows(32).any(|part| was.private_key.windows(32).any(|clear| clear == part)));
        }
        assert!(opens(&db, "the new secret of keys").await);
        // A node that was started before goes on.
        ring.reload_keys().await.unwrap();
        assert_eq!(ring.snapshot().signing_key(SigningAlg::ES256, NOW_S).unwrap().kid(), signer);
    }

    #[tokio::test]
    async fn a_clock_set_back_is_named_in_the_log_when_the_oldest_key_signs_all_the_same() {
        let (dir, db) = started().await;
        let ring = ring(&db).await;
        let log = dir.path().join("log");
        let file = Arc::new(File::create(&log).unwrap());
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(file).finish();
        let _logging = tracing::subscriber::set_default(subscriber);
        signer(&ring, NOW_S);
        let kid = signer(&ring, NOW_S - 3_600);
        let logged = std::fs::read_to_string(&log).unwrap();
        let lines: Vec<&str> = logged.lines().collect();
        let [line] = lines.as_slice() else { panic!("{logged}") };
        assert!(line.contains(" WARN ") && line.contains("clock of this machine is set back"), "{line}");
        let fields = format!("now_s={}", NOW_S - 3_600);
        assert!(line.contains(&fields) && line.contains(&kid), "{line}");
    }

    #[tokio::test]
    async fn with_the_clock_set_back_the_list_shows_that_the_oldest_key_signs() {
        let (_dir, db) = started().await;
        let old = signer(&ring(&db).await, NOW_S);
        rotate_es256(&db, 0).await.unwrap();
        let listed = list(&at(NOW_S - 3600), &db).await.unwrap();
        let line = listed.iter().find(|line| line.starts_with(&old)).unwrap();
        assert!(line.contains(" signs ") && !line.contains("signs from"), "{line}");
    }
}
