//! The commands `keys list`, `keys rotate` and `keys retire`. A running server sees what they did
//! within seconds.

use anyhow::{Context as _, bail};
use auth_storage::Db;
use jiff::Timestamp;
use oauth_core::env::Env;
use oauth_core::jose::SigningAlg;
use oauth_core::keys::{self, KeyRecord};
use oauth_core::ports::KeyStore;
use oauth_core::seal::Sealer;

use crate::config::{Config, KeysCommand, RotateArgs};
use crate::{clock, database};

/// Runs one command and prints its result on stdout.
///
/// # Errors
/// When storage fails, or the command would leave the server without a key that signs.
pub(crate) async fn run(config: &Config, command: &KeysCommand) -> anyhow::Result<()> {
    let db = database::open(&config.database).await?;
    let sealer = config.trust.key_encryption_secret().cloned().map(Sealer::new);
    let done = execute(&clock::env(), &db, sealer.as_ref(), command).await;
    db.close().await;
    for line in done? {
        println!("{line}");
    }
    Ok(())
}

async fn execute(
    env: &Env<'_>,
    db: &Db,
    sealer: Option<&Sealer>,
    command: &KeysCommand,
) -> anyhow::Result<Vec<String>> {
    match command {
        KeysCommand::List => list(env, db).await,
        KeysCommand::Rotate(how) => rotate(env, db, sealer, how).await,
        KeysCommand::Retire { kid } => retire(env, db, kid).await,
    }
}

async fn list(env: &Env<'_>, store: &dyn KeyStore) -> anyhow::Result<Vec<String>> {
    let keys = store.keys().await?;
    let head = line("KID", "ALG", "CREATED", "STATE", "STORED");
    let rows = keys.iter().map(|key| {
        let stored = if key.sealed { "encrypted" } else { "open" };
        line(&key.kid, key.alg.name(), &time(key.created_s), &state(env, &keys, key), stored)
    });
    Ok(std::iter::once(head).chain(rows).collect())
}

async fn rotate(
    env: &Env<'_>,
    store: &dyn KeyStore,
    sealer: Option<&Sealer>,
    how: &RotateArgs,
) -> anyhow::Result<Vec<String>> {
    let held = store.keys().await?;
    if held.is_empty() {
        bail!("there are no keys yet: the server makes them at its first start");
    }
    let asked_s = env.now_s().saturating_add_unsigned(how.activate_after);
    let mut lines = Vec::new();
    for alg in SigningAlg::ALL.into_iter().filter(|alg| how.alg.is_none_or(|only| only == *alg)) {
        let signs_from_s = keys::signs_from(&held, alg, asked_s);
        let key = KeyRecord::generate(env, alg, sealer, signs_from_s)?;
        let (kid, name) = (key.kid.clone(), alg.name());
        store.insert(key).await?;
        lines.push(format!("{name} {kid} signs from {}", time(signs_from_s)));
    }
    Ok(lines)
}

async fn retire(env: &Env<'_>, store: &dyn KeyStore, kid: &str) -> anyhow::Result<Vec<String>> {
    let keys = store.keys().await?;
    let key = keys.iter().find(|key| key.kid == kid);
    let key = key.with_context(|| format!("there is no key '{kid}': see `keys list`"))?;
    let others = keys.iter().filter(|other| other.kid != kid && other.alg == key.alg);
    if !others.into_iter().any(|other| other.signs_from_s <= env.now_s()) {
        bail!("no other key signs {} yet: `keys rotate` first, and wait until the new key signs", key.alg.name());
    }
    store.retire(kid, env.now_s()).await?;
    Ok(vec![format!("{} {kid} is retired", key.alg.name())])
}

/// The key of its algorithm that began to sign last signs; those before it only verify.
fn state(env: &Env<'_>, keys: &[KeyRecord], key: &KeyRecord) -> String {
    if key.signs_from_s > env.now_s() {
        return format!("signs from {}", time(key.signs_from_s));
    }
    let begun = keys.iter().filter(|other| other.alg == key.alg && other.signs_from_s <= env.now_s());
    let signer = begun.max_by_key(|other| other.signs_from_s);
    if signer.is_some_and(|signer| signer.kid == key.kid) { "signs" } else { "verifies" }.to_owned()
}

fn time(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| seconds.to_string(), |time| time.to_string())
}

fn line(kid: &str, alg: &str, created: &str, state: &str, stored: &str) -> String {
    format!("{kid:<43}  {alg:<5}  {created:<20}  {state:<31}  {stored}")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use oauth_core::env::Random;
    use oauth_core::keys::KeyRing;
    use tempfile::TempDir;

    use super::*;
    use crate::clock::SystemRandom;

    const NOW_S: i64 = 1_700_000_000;

    async fn started() -> (TempDir, Db) {
        let dir = tempfile::tempdir().unwrap();
        let db = Db::open(None, dir.path(), 1).await.unwrap();
        (dir, db)
    }

    fn at(now_s: i64) -> Env<'static> {
        let random: &'static dyn Random = &SystemRandom;
        Env { now_us: now_s * 1_000_000, random }
    }

    async fn ring(db: &Db) -> KeyRing {
        KeyRing::open(&at(NOW_S), Arc::new(db.clone()), None).await.unwrap()
    }

    fn signer(ring: &KeyRing, now_s: i64) -> String {
        ring.snapshot().signer(SigningAlg::ES256, now_s).unwrap().kid().to_owned()
    }

    async fn rotate_es256(db: &Db, activate_after: u64) -> anyhow::Result<Vec<String>> {
        rotate(&at(NOW_S), db, None, &RotateArgs { activate_after, alg: Some(SigningAlg::ES256) }).await
    }

    #[tokio::test]
    async fn a_new_key_is_published_at_once_and_signs_later() {
        let (_dir, db) = started().await;
        let ring = ring(&db).await;
        let old = signer(&ring, NOW_S);
        rotate_es256(&db, 600).await.unwrap();
        ring.refresh().await.unwrap();
        assert_eq!(signer(&ring, NOW_S + 599), old);
        let new = signer(&ring, NOW_S + 600);
        assert_ne!(new, old);
        let published = String::from_utf8(ring.snapshot().jwks().body.to_vec()).unwrap();
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
        assert_eq!(db.keys().await.unwrap().len(), 5);
        retire(&at(NOW_S + 600), &db, &old).await.unwrap();
        assert!(db.keys().await.unwrap().iter().all(|key| key.kid != old));
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
        assert!(db.keys().await.unwrap().is_empty());
    }
}
