//! The commands `user create`, `user deactivate`, `user set-role`, `user set-password`, `user sign-in-link`,
//! `user permit-email-changes` and `user reset-api-key`. They go through the log, so servers on the same database know
//! within a second what was done.

use std::io::Read as _;

use anyhow::{Context as _, bail};
use chat_core::event_log::decision_queue::RealmDecisionQueue;
use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::UserId;
use chat_core::messages::store::MessageStore as _;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::role::Role;
use chat_core::model::user::{InvitationSecret, PasswordHash, User, check_password_strength};
use chat_core::people::account::{self, NewUser};
use chat_core::people::email_change::{self, AddressPermission};
use chat_core::people::{password_reset, sign_in_link};
use chat_core::permission::account_administration::{self, AccountChangeError};
use chat_core::wire_format::channel::ChannelStatistics;
use chat_http::PasswordHashing as _;
use chat_storage::ChatStore;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};

use crate::bootstrap::fresh_key;
use crate::config::{Config, CreateUser, SetPassword, UserCommand};
use crate::database;
use crate::import;
use crate::passwords::{Argon2id, PASSWORD_MAX_BYTES};
use crate::system_runtime::SystemRuntime;

/// Runs one command and prints its result on stdout, as JSON.
///
/// # Errors
/// When storage fails, there is no such user, or the rules refuse: nothing was changed then.
pub(crate) async fn run(config: &Config, command: &UserCommand) -> anyhow::Result<()> {
    let store = database::start_existing(config).await?;
    let done = match import::check(&store).await {
        Ok(()) => execute(&store, command).await,
        Err(error) => Err(error),
    };
    store.flush_and_close().await;
    println!("{}", done?);
    Ok(())
}

async fn execute(store: &ChatStore, command: &UserCommand) -> anyhow::Result<Value> {
    if store.snapshot().realm().is_none() {
        bail!("there is no organization yet: start chat-server once with --owner-email and --owner-password");
    }
    match command {
        UserCommand::Create(arguments) => create(store, arguments).await,
        UserCommand::Deactivate { email } => deactivate(store, email).await,
        UserCommand::SetRole { email, role } => set_role(store, email, *role).await,
        UserCommand::SetPassword(arguments) => set_password(store, arguments).await,
        UserCommand::SignInLink { email } => sign_in_link(store, email).await,
        UserCommand::PermitEmailChanges { email, revoke } => {
            let permission = if *revoke { AddressPermission::Revoked } else { AddressPermission::Granted };
            permit_email_changes(store, email, permission).await
        }
        UserCommand::ResetApiKey { email } => reset_api_key(store, email).await,
    }
}

async fn create(store: &ChatStore, arguments: &CreateUser) -> anyhow::Result<Value> {
    account::check_new_account(&store.snapshot(), &arguments.name, &arguments.email)?;
    let api_key = fresh_key()?;
    let new = NewUser {
        email: arguments.email.clone(),
        full_name: arguments.name.clone(),
        role: arguments.role,
        password_hash: password_hash(arguments.password.as_ref(), arguments.password_stdin).await?,
        api_key: api_key.clone(),
    };
    let user_id = commit(store, |realm, commit| Ok(account::create_account(realm, &new, commit)?)).await?;
    Ok(json!({"user_id": user_id, "email": arguments.email, "api_key": api_key.expose()}))
}

async fn password_hash(given: Option<&SecretString>, from_stdin: bool) -> anyhow::Result<Option<PasswordHash>> {
    let password = match given {
        Some(password) => password.expose_secret().to_owned(),
        None if from_stdin => {
            let (mut line, most) = (String::new(), u64::try_from(PASSWORD_MAX_BYTES)? + 2);
            std::io::stdin().take(most).read_to_string(&mut line).context("cannot read the password")?;
            line.trim_end_matches(['\r', '\n']).to_owned()
        }
        None => return Ok(None),
    };
    check_password_strength(&password).map_err(AccountChangeError::from)?;
    Ok(Some(Argon2id::new().hash(password).await?))
}

async fn deactivate(store: &ChatStore, email: &str) -> anyhow::Result<Value> {
    let user_id = commit(store, |realm, commit| {
        let user = person(realm, email)?;
        account_administration::may_deactivate_account(realm, &operator(user), user)?;
        account::deactivate_account(realm, user, commit);
        Ok(user.id)
    });
    Ok(json!({"user_id": user_id.await?, "email": email, "is_active": false}))
}

async fn set_role(store: &ChatStore, email: &str, role: Role) -> anyhow::Result<Value> {
    let channels: Vec<_> = store.snapshot().channels().map(|channel| channel.id).collect();
    let figures = ChannelStatistics::from_first_messages(store.first_channel_messages(&channels).await?);
    let user_id = commit(store, |realm, commit| {
        let user = person(realm, email)?;
        account_administration::may_set_role(realm, &operator(user), user, role)?;
        account::set_user_role(realm, user, role, &figures, commit);
        Ok(user.id)
    });
    Ok(json!({"user_id": user_id.await?, "email": email, "role": i64::from(role)}))
}

async fn set_password(store: &ChatStore, arguments: &SetPassword) -> anyhow::Result<Value> {
    let hash = password_hash(arguments.password.as_ref(), arguments.password_stdin).await?;
    let user_id = commit(store, |realm, commit| {
        let user = person(realm, &arguments.email)?;
        password_reset::set_password(realm, user.id, hash.clone(), None, commit);
        Ok(user.id)
    });
    Ok(json!({"user_id": user_id.await?, "email": arguments.email}))
}

async fn sign_in_link(store: &ChatStore, email: &str) -> anyhow::Result<Value> {
    let secret = InvitationSecret::new(fresh_key()?);
    let path = commit(store, |realm, commit| {
        let user = person(realm, email)?;
        sign_in_link::create_sign_in_link(realm, user, &secret, commit)
            .map_err(|_| anyhow::anyhow!("'{email}' is a bot, or the account is closed"))
    });
    Ok(json!({"email": email, "path": path.await?, "valid_for_s": sign_in_link::SIGN_IN_LINK_VALIDITY_S}))
}

async fn permit_email_changes(store: &ChatStore, email: &str, permission: AddressPermission) -> anyhow::Result<Value> {
    let user_id = commit(store, |realm, commit| {
        let user = person(realm, email)?;
        email_change::permit_address_replacement(user.id, permission, commit);
        Ok(user.id)
    });
    let can_change = permission == AddressPermission::Granted;
    Ok(json!({"user_id": user_id.await?, "email": email, "can_change_user_emails": can_change}))
}

async fn reset_api_key(store: &ChatStore, email: &str) -> anyhow::Result<Value> {
    let api_key = fresh_key()?;
    let user_id = commit(store, |realm, commit| {
        let user = person(realm, email)?;
        commit.set_api_key(realm, user.id, api_key.clone());
        Ok(user.id)
    });
    Ok(json!({"user_id": user_id.await?, "email": email, "api_key": api_key.expose()}))
}

fn person<'a>(realm: &'a RealmSnapshot, email: &str) -> anyhow::Result<&'a User> {
    let found = realm.user_by_email(email).map(AsRef::as_ref).filter(|user| !user.is_system_bot());
    found.with_context(|| format!("there is no user '{email}'"))
}

/// Whoever may run the command may do what an owner may; the rules for owners hold all the same.
fn operator(like: &User) -> User {
    User { id: UserId(0), role: Role::Owner, ..like.clone() }
}

/// Takes a decision on the newest realm, and again when a server changed it in the meantime.
async fn commit<T>(
    store: &ChatStore,
    decide: impl Fn(&RealmSnapshot, &mut RealmCommit) -> anyhow::Result<T> + Send + Sync,
) -> anyhow::Result<T> {
    let committed = RealmDecisionQueue::default().decide_and_commit(store, SystemRuntime.now_s(), decide).await?;
    Ok(committed.outcome)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::sync::Arc;

    use chat_core::model::user::ApiKey;
    use tempfile::TempDir;

    use super::*;
    use crate::bootstrap::establish_realm;
    use crate::config::{self, Command};

    async fn founded() -> (TempDir, ChatStore) {
        let dir = tempfile::tempdir().unwrap();
        let store = ChatStore::start_without_secret(
            chat_storage::ChatDatabase::open_and_migrate(None, dir.path(), 4).await.unwrap(),
        )
        .await
        .unwrap();
        let flags = ["chat-server", "--owner-email", "ada@example.org", "--owner-password", "correct horse"];
        let config = config::read(flags.map(OsString::from)).unwrap();
        establish_realm(&store, &Argon2id::new(), &config.realm).await.unwrap();
        (dir, store)
    }

    fn holder(store: &ChatStore, key: &ApiKey) -> Option<Arc<User>> {
        let realm = store.snapshot();
        realm.user_by_key_hash(&realm.key_hasher().hash(key)).cloned()
    }

    async fn run_command(store: &ChatStore, line: &str) -> anyhow::Result<Value> {
        let config =
            config::read(["chat-server", "user"].into_iter().chain(line.split(' ')).map(OsString::from)).unwrap();
        let Command::User(command) = config.task() else { panic!("{line} is no user command") };
        execute(store, command).await
    }

    #[tokio::test]
    async fn an_account_is_made_promoted_rekeyed_and_closed() {
        let (_dir, store) = founded().await;
        let made = run_command(&store, "create --email sam@example.org --name Sam --password a-long-enough-one")
            .await
            .unwrap();
        let key = ApiKey::parse(made["api_key"].as_str().unwrap()).unwrap();
        let sam = holder(&store, &key).unwrap();
        assert_eq!((sam.email.as_str(), sam.role, sam.is_active), ("sam@example.org", Role::Member, true));
        assert_eq!(made["user_id"], sam.id.0);
        let hash = store.load_credentials(sam.id).await.unwrap().unwrap().password_hash;
        assert!(Argon2id::new().verify_password("a-long-enough-one".to_owned(), hash).await.unwrap());

        run_command(&store, "set-role --email SAM@example.org --role moderator").await.unwrap();
        assert_eq!(store.snapshot().user(sam.id).unwrap().role, Role::Moderator);
        run_command(&store, "set-password --email sam@example.org --password another-long-one").await.unwrap();
        let hash = store.load_credentials(sam.id).await.unwrap().unwrap().password_hash;
        assert!(Argon2id::new().verify_password("another-long-one".to_owned(), hash).await.unwrap());
        assert!(holder(&store, &key).is_some());
        let again = run_command(&store, "reset-api-key --email sam@example.org").await.unwrap();
        let next = ApiKey::parse(again["api_key"].as_str().unwrap()).unwrap();
        assert!(holder(&store, &key).is_none() && holder(&store, &next).is_some());
        let link = run_command(&store, "sign-in-link --email sam@example.org").await.unwrap();
        assert!(link["path"].as_str().unwrap().starts_with(&format!("/sign-in/{}-", sam.id.0)), "{link}");
        let may = || {
            let realm = store.snapshot();
            email_change::may_replace_addresses(&realm, realm.user_by_email("ada@example.org").unwrap())
        };
        let permitted = run_command(&store, "permit-email-changes --email ada@example.org").await.unwrap();
        assert_eq!((&permitted["can_change_user_emails"], may()), (&json!(true), true));
        run_command(&store, "permit-email-changes --email ada@example.org --revoke").await.unwrap();
        assert!(!may());
        run_command(&store, "deactivate --email sam@example.org").await.unwrap();
        assert!(!store.snapshot().user(sam.id).unwrap().is_active);
        store.flush_and_close().await;
    }

    #[tokio::test]
    async fn what_the_rules_refuse_changes_nothing() {
        let (_dir, store) = founded().await;
        let before = store.snapshot().changed_at();
        for (line, why) in [
            ("create --email ADA@example.org --name Other", "already in use"),
            ("create --email nobody --name Other", "Bad name or username"),
            ("deactivate --email ada@example.org", "only organization owner"),
            ("set-role --email ada@example.org --role member", "only organization owner"),
            ("set-password --email nobody@example.org --password a-long-enough-one", "there is no user"),
            ("set-password --email ada@example.org --password x", "too weak"),
            ("sign-in-link --email nobody@example.org", "there is no user 'nobody@example.org'"),
            ("reset-api-key --email nobody@example.org", "there is no user 'nobody@example.org'"),
        ] {
            let refusal = run_command(&store, line).await.unwrap_err().to_string();
            assert!(refusal.contains(why), "{line}: {refusal}");
        }
        assert_eq!(store.snapshot().changed_at(), before);
        store.flush_and_close().await;
    }

    #[tokio::test]
    async fn without_an_organization_there_are_no_users() {
        let dir = tempfile::tempdir().unwrap();
        let store = ChatStore::start_without_secret(
            chat_storage::ChatDatabase::open_and_migrate(None, dir.path(), 4).await.unwrap(),
        )
        .await
        .unwrap();
        let refusal = run_command(&store, "create --email sam@example.org --name Sam").await.unwrap_err().to_string();
        assert!(refusal.contains("--owner-email"), "{refusal}");
        assert!(store.snapshot().users().next().is_none());
        store.flush_and_close().await;
    }
}
