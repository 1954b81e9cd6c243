//! API keys, secrets of links and letters: none stands in clear in the database.

use aws_lc_rs::digest::{SHA256, digest};
use chat_core::event_log::email_queue::EmailQueueStore as _;
use chat_core::event_log::realm_commit::{CommitOutcome, RealmCommit};
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::UserId;
use chat_core::model::realm_snapshot::RealmSnapshot;
use chat_core::model::role::Role;
use chat_core::model::user::{ApiKey, InvitationSecret, PasswordHash, User};
use chat_core::people::account::{self, NewUser};
use chat_core::people::bots::{self, NewBot};
use chat_core::people::email_change::{self, EmailChangeRequest};
use chat_core::people::invitation::{
    self, InvitationContext, InvitationLink, InvitationTerms, InviteRequest, ReusableInvitationStore as _,
    ReusableLinkJoinRequest,
};
use chat_storage::{ChatStore, StoredSecretsError};
use secrecy::SecretString;
use tokio::task::JoinSet;

use crate::home::{Home, NOW_S, on_each_engine};
use crate::people::found;

const URL: &str = "https://chat.example.org";
/// The link that anybody may use is of this invitation.
const OPEN_LINK: i64 = 1;

fn key(number: u8) -> ApiKey {
    ApiKey::from_random(&[number; 64]).unwrap()
}

fn link_secret(number: u8) -> InvitationSecret {
    InvitationSecret::new(key(number))
}

/// The secrets of a session, those included that were replaced.
fn secrets() -> Vec<String> {
    (10..19).map(|number| key(number).expose().to_owned()).collect()
}

async fn commit<T>(store: &ChatStore, decide: impl FnOnce(&RealmSnapshot, &mut RealmCommit) -> T) -> T {
    let realm = store.snapshot();
    let mut commit = RealmCommit { decided_at: realm.changed_at(), at_s: NOW_S, ..RealmCommit::default() };
    let decided = decide(&realm, &mut commit);
    assert!(matches!(store.commit(commit).await.unwrap(), CommitOutcome::Done { .. }));
    decided
}

fn owner(realm: &RealmSnapshot) -> &User {
    realm.user(UserId(1)).unwrap()
}

fn env(realm: &RealmSnapshot) -> InvitationContext<'_> {
    InvitationContext { realm, caller: owner(realm), base_url: URL, daily_limit: 10 }
}

/// A user and a bot whose keys were replaced, an open link and a person who used it, two who were invited, and an
/// address to confirm. Returns the numbers of the user and the bot.
async fn session(store: &ChatStore) -> (UserId, UserId) {
    found(store).await;
    let new = NewUser {
        email: "eve@example.org".to_owned(),
        full_name: "Eve".to_owned(),
        role: Role::Member,
        password_hash: Some(PasswordHash("$argon2id$x".to_owned())),
        api_key: key(10),
    };
    let eve = commit(store, |realm, commit| account::create_account(realm, &new, commit).unwrap()).await;
    commit(store, |realm, commit| commit.set_api_key(realm, eve, key(11))).await;
    let new = NewBot {
        full_name: "Clock".to_owned(),
        short_name: "clock".to_owned(),
        domain: "example.org".to_owned(),
        kind: 1,
        api_key: key(12),
    };
    let bot = commit(store, |realm, commit| bots::create_bot(realm, owner(realm), &new, commit).unwrap()).await;
    commit(store, |realm, commit| commit.set_api_key(realm, bot, key(13))).await;
    let terms = InvitationTerms {
        minutes: None,
        role: Role::Member,
        channels: Vec::new(),
        default_channels: false,
        groups: Vec::new(),
        notifies_inviter: false,
    };
    let made = |realm: &RealmSnapshot, commit: &mut RealmCommit| {
        invitation::create_reusable_invitation_link(&env(realm), &terms, &link_secret(14), commit).unwrap()
    };
    assert_eq!(commit(store, made).await, link(OPEN_LINK, 14).url(URL));
    let inviting = InviteRequest {
        addresses: vec!["ada@example.org".to_owned(), "bob@example.org".to_owned()],
        secrets: vec![link_secret(15), link_secret(16)],
        terms,
    };
    commit(store, |realm, commit| invitation::invite_by_email(&env(realm), &inviting, commit).unwrap()).await;
    let (of_link, secret) = (link(OPEN_LINK, 14), link_secret(17));
    let asked = ReusableLinkJoinRequest {
        link: &of_link,
        address: "cid@example.org",
        secret: &secret,
        base_url: URL,
        daily_limit: 10,
    };
    commit(store, |realm, commit| invitation::send_personal_join_link(realm, &asked, commit).unwrap()).await;
    let wanted = EmailChangeRequest { address: "one@example.org", secret: &link_secret(18), base_url: URL };
    commit(store, |realm, commit| email_change::request_email_change(realm, owner(realm), &wanted, commit).unwrap())
        .await;
    (eve, bot)
}

fn link(number: i64, secret: u8) -> InvitationLink {
    InvitationLink { number, secret: link_secret(secret) }
}

/// That everything of a session is shown, and opens what it opened.
async fn works(store: &ChatStore, (eve, bot): (UserId, UserId)) {
    let realm = store.snapshot();
    for (id, now, before) in [(eve, 11, 10), (bot, 13, 12)] {
        let holder = |number| realm.user_by_key_hash(&realm.key_hasher().hash(&key(number))).map(|user| user.id);
        assert_eq!((holder(now), holder(before)), (Some(id), None));
        assert_eq!(store.load_credentials(id).await.unwrap().unwrap().api_key, Some(key(now)));
    }
    assert_eq!(store.reusable_link_secrets().await.unwrap(), [(OPEN_LINK, link_secret(14))]);
    for (number, secret) in [(OPEN_LINK, 14), (2, 15), (3, 16), (4, 17)] {
        assert!(invitation::find_invitation_by_link(&realm, &link(number, secret), NOW_S).is_ok(), "{number}");
        assert!(invitation::find_invitation_by_link(&realm, &link(number, 10), NOW_S).is_err(), "{number}");
    }
    assert_eq!(email_change::find_email_change_by_link(&realm, &link(1, 18), NOW_S).unwrap().1, "one@example.org");
}

/// That the letters of a session are there, and takes them.
async fn letters_have_links(store: &ChatStore) {
    let letters = store.claim_due_emails(NOW_S, NOW_S + 60, 10).await.unwrap();
    let links: Vec<_> = letters.iter().filter_map(|waiting| waiting.mail.text.split_once(URL)).collect();
    assert_eq!((letters.len(), links.len()), (4, 4));
    for ((_, after), secret) in links.iter().zip(15..) {
        assert!(after.contains(key(secret).expose()), "{secret}");
    }
}

/// That no table, and on SQLite no byte of the files, has a secret in clear.
async fn nothing_is_in_clear(home: &Home) {
    let dump = home.dump().await;
    assert!(dump.contains("user3@example.org"), "the dump has nothing of the database");
    for (place, secret) in secrets().into_iter().enumerate() {
        assert!(!dump.contains(&secret), "secret {place} of the session stands in the database");
    }
}

/// Turns the database into what an earlier version left, with its schema brought up to date.
async fn store_in_clear(home: &Home, (eve, bot): (UserId, UserId), letters: &[(i64, i64, String)]) {
    let mut statements = vec!["DELETE FROM data_key".to_owned()];
    for (id, number) in [(eve, 11), (bot, 13)] {
        let key = key(number);
        let key = key.expose();
        statements.push(format!("UPDATE credential SET key_hash = NULL, encrypted_key = '{key}' WHERE user_id = {id}"));
    }
    statements.push(format!("UPDATE invitation_link SET encrypted_secret = '{}'", key(14).expose()));
    for (event, place, document) in letters {
        let document = document.replace('\'', "''");
        statements.push(format!(
            "UPDATE outgoing_mail SET encrypted_document = '{document}' WHERE event_id = {event} AND place = {place}"
        ));
    }
    let hashes = [(OPEN_LINK, 14), (2, 15), (3, 16), (4, 17)].map(|(id, secret)| (format!("id = {id}"), secret));
    let documents = home.ask("SELECT document FROM item WHERE kind = 'invitation' ORDER BY id").await;
    for ((row, secret), document) in hashes.into_iter().zip(documents) {
        let document = with_digest(&document, secret);
        statements.push(format!("UPDATE item SET document = '{document}' WHERE kind = 'invitation' AND {row}"));
    }
    let document = home.ask("SELECT document FROM user_item WHERE kind = 'new_address'").await.remove(0);
    let document = with_digest(&document, 18);
    statements.push(format!("UPDATE user_item SET document = '{document}' WHERE kind = 'new_address'"));
    home.execute(statements.join(";")).await;
}

fn with_digest(document: &str, secret: u8) -> String {
    let mut document: serde_json::Value = serde_json::from_str(document).unwrap();
    document["secret"] = serde_json::json!(digest(&SHA256, key(secret).expose().as_bytes()).as_ref());
    document.to_string()
}

/// Leaves what an earlier version would have: see [`store_in_clear`].
async fn earlier(home: &Home) -> (UserId, UserId) {
    let store = home.open().await;
    let users = session(&store).await;
    let letters = store.claim_due_emails(NOW_S, NOW_S, 10).await.unwrap().into_iter();
    let letters: Vec<_> = letters
        .map(|waiting| (waiting.id.event_id, waiting.id.place, serde_json::to_string(&waiting.mail).unwrap()))
        .collect();
    store.flush_and_close().await;
    store_in_clear(home, users, &letters).await;
    let dump = home.dump().await;
    let in_clear = secrets().iter().filter(|secret| dump.contains(*secret)).count();
    assert_eq!(in_clear, 7, "two of the nine were replaced");
    users
}

fn operator(secret: &str) -> SecretString {
    secret.to_owned().into()
}

on_each_engine! {
    async fn no_secret_of_a_session_stands_in_clear_in_the_database(home) {
        let store = home.open().await;
        let users = session(&store).await;
        works(&store, users).await;
        store.flush_and_close().await;
        nothing_is_in_clear(&home).await;
        let store = home.open().await;
        works(&store, users).await;
        letters_have_links(&store).await;
        store.flush_and_close().await;
    }

    async fn secrets_that_an_earlier_version_stored_are_encrypted_by_nodes_that_start_at_once(home) {
        let users = earlier(&home).await;
        let mut starting = JoinSet::new();
        for _ in 0..4 {
            let home = home.clone();
            starting.spawn(async move { home.open().await });
        }
        let stores = starting.join_all().await;
        for store in &stores {
            works(store, users).await;
        }
        for store in stores {
            store.flush_and_close().await;
        }
        nothing_is_in_clear(&home).await;
        let store = home.open().await;
        works(&store, users).await;
        letters_have_links(&store).await;
        store.flush_and_close().await;
    }

    async fn a_start_that_cannot_encrypt_everything_leaves_everything_as_it_was(home) {
        let users = earlier(&home).await;
        home.execute("INSERT INTO credential (user_id, encrypted_key) VALUES (2, 'no key')".to_owned()).await;
        assert!(matches!(ChatStore::start_without_secret(home.try_open().await.unwrap()).await, Err(StoredSecretsError::Storage(_))));
        let keys = home.ask("SELECT encrypted_key FROM credential ORDER BY user_id").await;
        assert_eq!(keys, ["no key", key(11).expose(), key(13).expose()]);
        home.execute("DELETE FROM credential WHERE user_id = 2".to_owned()).await;
        let store = home.open().await;
        works(&store, users).await;
        store.flush_and_close().await;
    }

    async fn the_key_of_the_secrets_is_changed_and_given_up(home) {
        let [first, second] = ["the first secret", "the second secret"].map(operator);
        let store = home.open().await;
        let users = session(&store).await;
        let in_clear = home.ask("SELECT key_data FROM data_key").await.remove(0);
        store.flush_and_close().await;

        let store = home.open_with(&first).await.unwrap();
        works(&store, users).await;
        // A command beside a running server: that goes on.
        let db = home.try_open().await.unwrap();
        assert!(matches!(db.reencrypt_data_key(Some(&second), &second).await, Err(StoredSecretsError::Wrong)));
        assert!(matches!(db.reencrypt_data_key(None, &second).await, Err(StoredSecretsError::Missing)));
        db.reencrypt_data_key(Some(&first), &second).await.unwrap();
        works(&store, users).await;
        store.flush_and_close().await;
        assert!(!home.dump().await.contains(&in_clear), "the key is still in the database");
        assert!(matches!(home.open_with(&first).await.err(), Some(StoredSecretsError::Wrong)));
        assert!(matches!(ChatStore::start_without_secret(home.try_open().await.unwrap()).await.err(), Some(StoredSecretsError::Missing)));
        let store = home.open_with(&second).await.unwrap();
        works(&store, users).await;
        store.flush_and_close().await;

        let given_up = db.discard_secrets_and_rekey(Some(&first)).await.unwrap();
        assert_eq!((given_up.api_keys, given_up.links, given_up.letters), (2, 1, 4));
        db.close().await;
        let store = home.open_with(&first).await.unwrap();
        let credentials = store.load_credentials(users.0).await.unwrap().unwrap();
        assert!(credentials.api_key.is_none() && credentials.password_hash.is_some());
        assert!(store.snapshot().key_hash_of_user(users.0).is_none() && store.reusable_link_secrets().await.unwrap().is_empty());
        commit(&store, |realm, commit| commit.set_api_key(realm, users.0, key(20))).await;
        assert_eq!(store.load_credentials(users.0).await.unwrap().unwrap().api_key, Some(key(20)));
        store.flush_and_close().await;
    }

    async fn a_damaged_key_of_the_secrets_stops_the_start(home) {
        home.open().await.flush_and_close().await;
        home.execute("UPDATE data_key SET key_data = 'AAAA'".to_owned()).await;
        assert!(matches!(ChatStore::start_without_secret(home.try_open().await.unwrap()).await.err(), Some(StoredSecretsError::Damaged)));
        assert_eq!(home.ask("SELECT key_data FROM data_key").await, ["AAAA"]);
    }
}
