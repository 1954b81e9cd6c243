//! The commands `keys reseal` and `keys discard`.

use anyhow::Context as _;
use chat_storage::ChatDatabase;

use crate::config::{Config, KeysCommand};
use crate::database;

/// Runs one command and prints its result on stdout.
///
/// # Errors
/// When there is no database, the secret is not the one, or storage fails: nothing was changed then.
pub(crate) async fn run(config: &Config, command: &KeysCommand) -> anyhow::Result<()> {
    let db = database::open_existing_and_migrate(&config.database).await?;
    let done = execute(config, &db, command).await;
    db.close().await;
    println!("{}", done?);
    Ok(())
}

async fn execute(config: &Config, db: &ChatDatabase, command: &KeysCommand) -> anyhow::Result<String> {
    match command {
        KeysCommand::Reseal(how) => {
            let changed = db.reencrypt_data_key(config.keys.secret(), &how.new_key_encryption_secret).await;
            changed.map_err(database::explain)?;
            Ok("start every server with the new secret as --key-encryption-secret (CHAT_KEY_ENCRYPTION_SECRET) from now on"
                .to_owned())
        }
        KeysCommand::Discard => {
            let _instance_lock = database::instance_lock(&config.database)?;
            let given_up = db.discard_secrets_and_rekey(config.keys.secret()).await.context("nothing was given up")?;
            Ok(format!(
                "given up: {} API keys, {} links of invitations, {} letters",
                given_up.api_keys, given_up.links, given_up.letters
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::path::Path;

    use chat_core::event_log::store::RealmStore as _;
    use chat_core::id::UserId;

    use super::*;
    use crate::bootstrap::establish_realm;
    use crate::config::{self, Command};
    use crate::passwords::Argon2id;

    const FIRST: &str = "the first secret of it";
    const SECOND: &str = "the second secret of it";

    fn config(dir: &Path, secret: &str, command: &[&str]) -> Config {
        let fixed = ["--owner-email=ada@example.org", "--owner-password=correct horse", "--key-encryption-secret"];
        let line = ["chat-server"].iter().chain(command).chain(&fixed).chain([&secret]);
        let dir = [OsString::from("--data-dir"), dir.as_os_str().to_owned()];
        config::read(line.map(OsString::from).chain(dir)).unwrap()
    }

    /// Starts with that secret, and returns the key of the owner, when there is one.
    async fn started(dir: &Path, secret: &str) -> anyhow::Result<Option<String>> {
        let config = config(dir, secret, &[]);
        let store = database::start(&config).await?;
        establish_realm(&store, &Argon2id::new(), &config.realm).await?;
        let owner: UserId = store.snapshot().user_by_email("ada@example.org").unwrap().id;
        let key = store.load_credentials(owner).await?.and_then(|credentials| credentials.api_key);
        store.flush_and_close().await;
        Ok(key.map(|key| key.expose().to_owned()))
    }

    async fn command(dir: &Path, secret: &str, line: &[&str]) -> anyhow::Result<String> {
        let config = config(dir, secret, line);
        let Command::Keys(command) = config.task() else { panic!("{line:?} is no keys command") };
        let db = database::open_existing_and_migrate(&config.database).await?;
        let done = execute(&config, &db, command).await;
        db.close().await;
        done
    }

    #[tokio::test]
    async fn a_secret_is_needed_from_its_first_start_until_it_is_changed() {
        let dir = tempfile::tempdir().unwrap();
        let key = started(dir.path(), "").await.unwrap();
        assert!(key.is_some());
        assert_eq!(started(dir.path(), FIRST).await.unwrap(), key, "the key is shown as before");
        for (secret, why) in [("", "is not set, and"), (SECOND, "is not the secret")] {
            let refused = format!("{:#}", started(dir.path(), secret).await.unwrap_err());
            assert!(refused.contains("--key-encryption-secret (CHAT_KEY_ENCRYPTION_SECRET)"), "{refused}");
            assert!(refused.contains(why) && !refused.contains(SECOND), "{refused}");
        }
        let reseal = ["keys", "reseal", "--new-key-encryption-secret", SECOND];
        assert!(command(dir.path(), SECOND, &reseal).await.is_err());
        assert_eq!(started(dir.path(), FIRST).await.unwrap(), key, "a refused command changed something");
        command(dir.path(), FIRST, &reseal).await.unwrap();
        assert!(started(dir.path(), FIRST).await.is_err());
        assert_eq!(started(dir.path(), SECOND).await.unwrap(), key);
    }

    #[tokio::test]
    async fn a_database_whose_secret_is_lost_serves_again_without_its_keys() {
        let dir = tempfile::tempdir().unwrap();
        started(dir.path(), FIRST).await.unwrap();
        let line = command(dir.path(), SECOND, &["keys", "discard"]).await.unwrap();
        assert_eq!(line, "given up: 1 API keys, 0 links of invitations, 0 letters");
        assert!(started(dir.path(), FIRST).await.is_err());
        assert_eq!(started(dir.path(), SECOND).await.unwrap(), None);
    }

    #[tokio::test]
    async fn keys_are_not_given_up_under_a_running_server() {
        let dir = tempfile::tempdir().unwrap();
        let key = started(dir.path(), FIRST).await.unwrap();
        let instance_lock = database::instance_lock(&config(dir.path(), FIRST, &[]).database).unwrap();
        assert!(command(dir.path(), FIRST, &["keys", "discard"]).await.is_err());
        drop(instance_lock);
        assert_eq!(started(dir.path(), FIRST).await.unwrap(), key);
    }
}
