//! The realm's state: read as a whole at start, written by changes.

use std::sync::Arc;

use async_trait::async_trait;
use chat_core::StoreError;
use chat_core::event_log::realm_commit::{CommitOutcome, CredentialChange, RealmCommit};
use chat_core::event_log::store::{Credentials, RealmStore};
use chat_core::id::{ChannelId, EventId, UserId};
use chat_core::model::channel::{SubscriptionPeriod, channel_name_key};
use chat_core::model::realm_change::{RealmChange, RealmItemKind, UserItemKind};
use chat_core::model::realm_snapshot::{RealmSnapshot, StoredRealmState};
use chat_core::model::user::{ApiKey, KeyHasher, PasswordHash};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::db::ChatDatabase;
use crate::draft;
use crate::encryption::{SecretCipher, SecretLocation, hash_text, parse_hash};
use crate::engine::{Tx, run};
use crate::fault::failed;
use crate::log_transaction::LogTransaction;
use crate::store::ChatStore;
use crate::{invitation_links, mail, newcomer_history, subscription};

const HEAD: &str = "SELECT last_event, last_change, last_id FROM log_head WHERE one = 1";
const REALM: &str = "SELECT document FROM realm";
const ACCOUNTS: &str = "SELECT document FROM account";
const KEYS: &str = "SELECT user_id, key_hash FROM credential WHERE key_hash IS NOT NULL";
const CHANNELS: &str = "SELECT document FROM channel";
const SUBSCRIPTIONS: &str = "SELECT document FROM subscription";
const SPANS: &str = "SELECT channel_id, user_id, after_event, until_event FROM subscription_span
ORDER BY channel_id, user_id, after_event";
const GROUPS: &str = "SELECT document FROM user_group";
const ITEMS: &str = "SELECT kind, id, document FROM item";
const USER_ITEMS: &str = "SELECT user_id, kind, item_key, document FROM user_item";

const PUT_REALM: &str = "INSERT INTO realm (one, document) VALUES (1, $1)
ON CONFLICT (one) DO UPDATE SET document = excluded.document";
const PUT_ACCOUNT: &str = "INSERT INTO account (id, email_key, document) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET email_key = excluded.email_key, document = excluded.document";
const PUT_CHANNEL: &str = "INSERT INTO channel (id, name_key, document) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET name_key = excluded.name_key, document = excluded.document";
const PUT_GROUP: &str = "INSERT INTO user_group (id, name, document) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, document = excluded.document";
const DELETE_GROUP: &str = "DELETE FROM user_group WHERE id = $1";
const PUT_ITEM: &str = "INSERT INTO item (kind, id, document) VALUES ($1, $2, $3)
ON CONFLICT (kind, id) DO UPDATE SET document = excluded.document";
const DELETE_ITEM: &str = "DELETE FROM item WHERE kind = $1 AND id = $2";
const PUT_USER_ITEM: &str = "INSERT INTO user_item (user_id, kind, item_key, document) VALUES ($1, $2, $3, $4)
ON CONFLICT (user_id, kind, item_key) DO UPDATE SET document = excluded.document";
const DELETE_USER_ITEM: &str = "DELETE FROM user_item WHERE user_id = $1 AND kind = $2 AND item_key = $3";
const PUT_KEY: &str = "INSERT INTO credential (user_id, encrypted_key, key_hash) VALUES ($1, $2, $3)
ON CONFLICT (user_id) DO UPDATE SET encrypted_key = excluded.encrypted_key, key_hash = excluded.key_hash";
const PUT_PASSWORD: &str = "INSERT INTO credential (user_id, password_hash) VALUES ($1, $2)
ON CONFLICT (user_id) DO UPDATE SET password_hash = excluded.password_hash";
const CREDENTIALS: &str = "SELECT encrypted_key, password_hash FROM credential WHERE user_id = $1";

/// Returns the realm at the head of the log.
pub(crate) async fn load(db: &ChatDatabase, key_hasher: &KeyHasher) -> Result<RealmSnapshot, StoreError> {
    let mut tx = db.begin_reading().await.map_err(failed)?;
    let realm = load_in(&mut tx, key_hasher).await?;
    tx.commit().await.map_err(failed)?;
    Ok(realm)
}

/// The same inside a transaction that sees one state.
pub(crate) async fn load_in(tx: &mut Tx, key_hasher: &KeyHasher) -> Result<RealmSnapshot, StoreError> {
    let (at, last_change, last_id): (i64, i64, i64) = run!(tx.on(), fetch_one: sqlx::query_as(HEAD)).map_err(failed)?;
    let mut changes = Vec::new();
    changes.extend(documents(tx, REALM).await?.into_iter().map(|realm| RealmChange::Realm(Box::new(realm))));
    changes.extend(documents(tx, ACCOUNTS).await?.into_iter().map(|user| RealmChange::User(Box::new(user))));
    changes.extend(documents(tx, CHANNELS).await?.into_iter().map(|channel| RealmChange::Channel(Box::new(channel))));
    let subscriptions = documents(tx, SUBSCRIPTIONS).await?;
    changes.extend(subscriptions.into_iter().map(|subscription| RealmChange::Subscription(Box::new(subscription))));
    changes.extend(documents(tx, GROUPS).await?.into_iter().map(|group| RealmChange::Group(Box::new(group))));
    changes.extend(keys(tx).await?);
    changes.extend(items(tx).await?);
    let spans = spans(tx).await?;
    Ok(RealmSnapshot::from_stored_state(StoredRealmState {
        at: EventId(at),
        changed: EventId(last_change),
        last_id,
        changes,
        spans,
        key_hasher: key_hasher.clone(),
    }))
}

async fn documents<T: DeserializeOwned>(tx: &mut Tx, sql: &'static str) -> Result<Vec<T>, StoreError> {
    let texts: Vec<String> = run!(tx.on(), fetch_all: sqlx::query_scalar(sql)).map_err(failed)?;
    texts.iter().map(|text| serde_json::from_str(text).map_err(failed)).collect()
}

async fn keys(tx: &mut Tx) -> Result<Vec<RealmChange>, StoreError> {
    let rows: Vec<(i64, String)> = run!(tx.on(), fetch_all: sqlx::query_as(KEYS)).map_err(failed)?;
    let change =
        |(user_id, hash): (i64, String)| Ok(RealmChange::Key { user_id: UserId(user_id), hash: parse_hash(&hash)? });
    rows.into_iter().map(change).collect()
}

async fn items(tx: &mut Tx) -> Result<Vec<RealmChange>, StoreError> {
    let mut changes = Vec::new();
    let rows: Vec<(String, i64, String)> = run!(tx.on(), fetch_all: sqlx::query_as(ITEMS)).map_err(failed)?;
    for (kind, id, document) in rows {
        let document = Some(serde_json::from_str(&document).map_err(failed)?);
        let kind = RealmItemKind::named(&kind).ok_or_else(|| failed(format!("unknown kind of item {kind:?}")))?;
        changes.push(RealmChange::Item { kind, id, document });
    }
    let rows: Vec<(i64, String, String, String)> =
        run!(tx.on(), fetch_all: sqlx::query_as(USER_ITEMS)).map_err(failed)?;
    for (user_id, kind, key, document) in rows {
        let document = Some(serde_json::from_str(&document).map_err(failed)?);
        let kind = UserItemKind::named(&kind).ok_or_else(|| failed(format!("unknown kind of item {kind:?}")))?;
        changes.push(RealmChange::UserItem { user_id: UserId(user_id), kind, key, document });
    }
    Ok(changes)
}

async fn spans(tx: &mut Tx) -> Result<Vec<(ChannelId, UserId, SubscriptionPeriod)>, StoreError> {
    let rows: Vec<(i64, i64, i64, Option<i64>)> = run!(tx.on(), fetch_all: sqlx::query_as(SPANS)).map_err(failed)?;
    let span = |(channel, user, after, until): (i64, i64, i64, Option<i64>)| {
        (ChannelId(channel), UserId(user), SubscriptionPeriod { after: EventId(after), until: until.map(EventId) })
    };
    Ok(rows.into_iter().map(span).collect())
}

#[async_trait]
impl RealmStore for ChatStore {
    fn snapshot(&self) -> Arc<RealmSnapshot> {
        self.shared.memory.realm.current()
    }

    async fn commit(&self, commit: RealmCommit) -> Result<CommitOutcome, StoreError> {
        let mut writing = LogTransaction::begin(&self.shared).await?;
        if !commit.changes.is_empty() && commit.decided_at < writing.changed {
            let changed = writing.changed;
            writing.roll_back().await?;
            self.shared.catch_up().await?;
            return Ok(CommitOutcome::Stale(changed));
        }
        let first = writing.next();
        let mut changes = commit.changes;
        put_all(&mut writing, first, &changes).await?;
        if let Some(newcomer) = &commit.newcomer {
            // What is written of a user refers to the account.
            let given = newcomer_history::welcome(&mut writing.tx, newcomer, commit.at_s).await?;
            put_all(&mut writing, first, &given).await?;
            changes.extend(given);
        }
        for credential in &commit.credentials {
            put_credential(&mut writing.tx, &self.shared.cipher, credential).await?;
        }
        for user_id in commit.drafts_gone {
            draft::delete_all(&mut writing.tx, user_id).await?;
        }
        mail::put(&mut writing.tx, &self.shared.cipher, (first.0, commit.at_s), &commit.mail).await?;
        let mut events = commit.events.into_iter();
        let mut last = writing.push(commit.at_s, changes, events.next());
        for event in events {
            last = writing.push(commit.at_s, Vec::new(), Some(event));
        }
        let records = writing.commit().await?;
        self.shared.publish(records).await;
        if !commit.mail.is_empty() {
            self.shared.mail_written.notify_one();
        }
        Ok(CommitOutcome::Done { first, last })
    }

    async fn load_credentials(&self, user_id: UserId) -> Result<Option<Credentials>, StoreError> {
        let row: Option<(Option<String>, Option<String>)> =
            run!(self.shared.db.reader(), fetch_optional: sqlx::query_as(CREDENTIALS).bind(user_id.0))
                .map_err(failed)?;
        let Some((key, password_hash)) = row else { return Ok(None) };
        let decrypt = |key: String| {
            let key = self.shared.cipher.decrypt(SecretLocation::ApiKey(user_id.0), &key)?;
            ApiKey::parse(&key).map_err(failed)
        };
        let api_key = key.map(decrypt).transpose()?;
        Ok(Some(Credentials { api_key, password_hash: password_hash.map(PasswordHash) }))
    }

    fn is_realm_current(&self) -> bool {
        self.shared.is_current()
    }

    async fn refresh_realm(&self) -> Result<(), StoreError> {
        self.shared.refresh().await
    }

    async fn wait_for_all_nodes(&self) {
        self.shared.known_everywhere().await;
    }
}

/// Writes changes that stand at a place of the log, in their order; subscriptions beside each other in one statement.
pub(crate) async fn put_all(
    writing: &mut LogTransaction,
    at: EventId,
    changes: &[RealmChange],
) -> Result<(), StoreError> {
    for alike in changes.chunk_by(subscription::are_alike) {
        match alike {
            [RealmChange::Subscription(_) | RealmChange::Unsubscription { .. }, ..] => {
                subscription::put(&mut writing.tx, at, alike).await?;
            }
            _ => {
                for change in alike {
                    put(writing, at, change).await?;
                }
            }
        }
    }
    Ok(())
}

/// Writes a change that stands at a place of the log.
pub(crate) async fn put(writing: &mut LogTransaction, at: EventId, change: &RealmChange) -> Result<(), StoreError> {
    match change {
        RealmChange::Realm(realm) => {
            let document = text(realm)?;
            run!(writing.tx.on(), execute: sqlx::query(PUT_REALM).bind(&document)).map_err(failed)?;
        }
        RealmChange::User(user) => {
            put_named(writing, PUT_ACCOUNT, (user.id.0, Some(user.email_key())), text(user)?).await?;
        }
        // The key itself comes with the credentials.
        RealmChange::Key { .. } => {}
        RealmChange::Channel(channel) => {
            let key = (!channel.is_archived).then(|| channel_name_key(&channel.name));
            put_named(writing, PUT_CHANNEL, (channel.id.0, key), text(channel)?).await?;
        }
        RealmChange::Group(group) => {
            put_named(writing, PUT_GROUP, (group.id.0, Some(group.name.clone())), text(group)?).await?;
        }
        RealmChange::GroupRemoved(id) => {
            run!(writing.tx.on(), execute: sqlx::query(DELETE_GROUP).bind(id.0)).map_err(failed)?;
        }
        RealmChange::Subscription(_) | RealmChange::Unsubscription { .. } => {
            subscription::put(&mut writing.tx, at, std::slice::from_ref(change)).await?;
        }
        RealmChange::ReceivedSince { channel_id, user_id, after } => {
            subscription::begin_earlier(&mut writing.tx, (*channel_id, *user_id), *after).await?;
        }
        RealmChange::Item { .. } | RealmChange::UserItem { .. } => put_item(&mut writing.tx, change).await?,
    }
    Ok(())
}

async fn put_named(
    writing: &mut LogTransaction,
    sql: &'static str,
    (id, key): (i64, Option<String>),
    document: String,
) -> Result<(), StoreError> {
    writing.last_id = writing.last_id.max(id);
    run!(writing.tx.on(), execute: sqlx::query(sql).bind(id).bind(key.as_deref()).bind(&document)).map_err(failed)?;
    Ok(())
}

async fn put_item(tx: &mut Tx, change: &RealmChange) -> Result<(), StoreError> {
    match change {
        RealmChange::Item { kind, id, document: Some(document) } => {
            let document = document.to_string();
            run!(tx.on(), execute: sqlx::query(PUT_ITEM).bind(kind.name()).bind(*id).bind(&document))
        }
        RealmChange::Item { kind, id, document: None } => {
            run!(tx.on(), execute: sqlx::query(DELETE_ITEM).bind(kind.name()).bind(*id))
        }
        RealmChange::UserItem { user_id, kind, key, document: Some(document) } => {
            let document = document.to_string();
            run!(tx.on(), execute: sqlx::query(PUT_USER_ITEM)
                .bind(user_id.0).bind(kind.name()).bind(key).bind(&document))
        }
        RealmChange::UserItem { user_id, kind, key, document: None } => {
            run!(tx.on(), execute: sqlx::query(DELETE_USER_ITEM).bind(user_id.0).bind(kind.name()).bind(key))
        }
        _ => Ok(0),
    }
    .map_err(failed)?;
    Ok(())
}

pub(crate) async fn put_credential(
    tx: &mut Tx,
    cipher: &SecretCipher,
    credential: &CredentialChange,
) -> Result<(), StoreError> {
    match credential {
        CredentialChange::ApiKey(user_id, key) => {
            let encrypted = cipher.encrypt(SecretLocation::ApiKey(user_id.0), key.expose())?;
            let hash = hash_text(cipher.hasher().hash(key));
            run!(tx.on(), execute: sqlx::query(PUT_KEY).bind(user_id.0).bind(&encrypted).bind(&hash))
        }
        CredentialChange::PasswordHash(user_id, hash) => {
            run!(tx.on(), execute: sqlx::query(PUT_PASSWORD).bind(user_id.0).bind(hash.as_ref().map(|hash| hash.0.as_str())))
        }
        CredentialChange::InvitationLink(number, secret) => return invitation_links::put(tx, cipher, *number, secret.as_ref()).await,
    }
    .map_err(failed)?;
    Ok(())
}

fn text(document: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(document).map_err(failed)
}
