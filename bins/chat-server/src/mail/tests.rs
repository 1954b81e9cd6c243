use std::ffi::OsString;
use std::path::Path;

use chat_core::event_log::realm_commit::RealmCommit;
use chat_core::event_log::store::RealmStore as _;
use chat_core::id::EventId;
use chat_core::model::realm::{Realm, RealmPermissionSettings};
use chat_core::model::realm_change::RealmChange;
use chat_storage::{ChatDatabase, ChatStore};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;
use crate::config::{self, Config};

const NOW_S: i64 = 1_800_000_000;

fn config(flags: &[&str]) -> Config {
    config::read(std::iter::once("chat-server").chain(flags.iter().copied()).map(OsString::from)).unwrap()
}

fn letter(to: &str) -> OutgoingEmail {
    let text = "Open https://chat.example.org/join/1-secret\nnow: ä.\n".to_owned();
    OutgoingEmail { to: to.to_owned(), subject: "Ada invites you to Ünion".to_owned(), text }
}

/// A store in which these letters wait.
async fn with_letters(letters: &[&str]) -> (TempDir, ChatStore) {
    let dir = tempfile::tempdir().unwrap();
    let store = ChatStore::start_without_secret(ChatDatabase::open_and_migrate(None, dir.path(), 4).await.unwrap())
        .await
        .unwrap();
    let realm = Realm {
        name: "Ünion".to_owned(),
        description: String::new(),
        created_s: NOW_S,
        is_deactivated: false,
        rules: RealmPermissionSettings::default(),
        images: chat_core::model::organization_image::OrganizationImageUrls::default(),
    };
    let commit = RealmCommit {
        decided_at: EventId::BEFORE_FIRST,
        at_s: NOW_S,
        changes: vec![RealmChange::Realm(Box::new(realm))],
        mail: letters.iter().map(|to| letter(to)).collect(),
        ..RealmCommit::default()
    };
    store.commit(commit).await.unwrap();
    (dir, store)
}

fn files(folder: &Path) -> Vec<String> {
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

async fn waiting(store: &ChatStore, now_s: i64) -> Vec<ClaimedEmail> {
    store.claim_due_emails(now_s, now_s, 100).await.unwrap()
}

#[tokio::test]
async fn without_a_server_each_letter_is_a_file_that_only_we_may_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let (dir, store) = with_letters(&["a@example.org", "b@example.org"]).await;
    let folder = dir.path().join("mail");
    let post = Mailer::new(&config(&[]).mail, folder.clone()).unwrap();
    assert!(!post.round(&store, NOW_S).await);
    let letters = files(&folder);
    assert_eq!(letters.len(), 2);
    for (letter, to) in letters.iter().zip(["a@example.org", "b@example.org"]) {
        assert!(letter.contains(&format!("To: {to}")) && letter.contains("From: noreply@localhost"), "{letter}");
        assert!(letter.contains("Auto-Submitted: auto-generated") && letter.contains("/join/1-secret"), "{letter}");
    }
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    for letter in std::fs::read_dir(&folder).unwrap() {
        assert_eq!(letter.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(waiting(&store, i64::MAX).await.is_empty());
    store.flush_and_close().await;
}

/// How a server answers `RCPT TO`.
#[derive(Clone, Copy)]
enum Mood {
    Takes,
    Later,
    Never,
}

/// An SMTP server for one connection, which returns what it was told.
async fn server(mood: Mood) -> (u16, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (reader, mut writer) = stream.into_split();
        let mut lines = BufReader::new(reader).lines();
        let mut conversation = String::new();
        writer.write_all(b"220 mail.example.org\r\n").await.unwrap();
        let mut is_data = false;
        while let Ok(Some(line)) = lines.next_line().await {
            conversation.push_str(&line);
            conversation.push('\n');
            let answer = match (is_data, line.split([' ', ':']).next().unwrap_or_default()) {
                (true, _) if line != "." => continue,
                (true, _) => {
                    is_data = false;
                    "250 taken"
                }
                (false, "RCPT") => match mood {
                    Mood::Takes => "250 go on",
                    Mood::Later => "451 come back",
                    Mood::Never => "550 nobody of that name",
                },
                (false, "DATA") => {
                    is_data = true;
                    "354 go on"
                }
                (false, "QUIT") => "221 bye",
                (false, _) => "250 go on",
            };
            if writer.write_all(format!("{answer}\r\n").as_bytes()).await.is_err() || line == "." || line == "QUIT" {
                break;
            }
        }
        conversation
    };
    #[expect(clippy::disallowed_methods, reason = "the test awaits it")]
    let task = tokio::spawn(serving);
    (port, task)
}

fn by_server(port: u16) -> Mailer {
    let url = format!("smtp://127.0.0.1:{port}");
    Mailer::new(&config(&["--smtp-url", &url, "--mail-from", "Chat <chat@example.org>"]).mail, PathBuf::new()).unwrap()
}

#[tokio::test]
async fn a_server_is_given_the_letter_once() {
    let (_dir, store) = with_letters(&["a@example.org"]).await;
    let (port, server) = server(Mood::Takes).await;
    by_server(port).round(&store, NOW_S).await;
    let conversation = server.await.unwrap();
    for part in ["MAIL FROM:<chat@example.org>", "RCPT TO:<a@example.org>", "To: a@example.org", "/join/1-secret"] {
        assert!(conversation.contains(part), "{part}: {conversation}");
    }
    assert!(waiting(&store, i64::MAX).await.is_empty());
    store.flush_and_close().await;
}

#[tokio::test]
async fn a_letter_that_is_not_taken_yet_waits_a_minute() {
    let (_dir, store) = with_letters(&["a@example.org"]).await;
    let (port, server) = server(Mood::Later).await;
    by_server(port).round(&store, NOW_S).await;
    assert!(server.await.unwrap().contains("RCPT TO:<a@example.org>"));
    assert!(waiting(&store, NOW_S + 59).await.is_empty());
    assert_eq!(waiting(&store, NOW_S + 60).await.len(), 1);
    store.flush_and_close().await;
}

#[tokio::test]
async fn a_letter_waits_while_nobody_listens() {
    let (_dir, store) = with_letters(&["a@example.org"]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    by_server(port).round(&store, NOW_S).await;
    assert_eq!(waiting(&store, NOW_S + 60).await.len(), 1);
    store.flush_and_close().await;
}

#[tokio::test]
async fn a_letter_refused_for_good_is_forgotten() {
    let (_dir, store) = with_letters(&["a@example.org"]).await;
    let (port, server) = server(Mood::Never).await;
    by_server(port).round(&store, NOW_S).await;
    assert!(!server.await.unwrap().contains("secret"));
    assert!(waiting(&store, i64::MAX).await.is_empty());
    store.flush_and_close().await;
}

#[tokio::test]
async fn more_letters_than_are_taken_at_once_are_sent_round_by_round() {
    let (dir, store) = with_letters(&["a@example.org"; 11]).await;
    let folder = dir.path().join("mail");
    let post = Mailer::new(&config(&[]).mail, folder.clone()).unwrap();
    assert!(post.round(&store, NOW_S).await);
    assert_eq!(files(&folder).len(), 10);
    assert!(!post.round(&store, NOW_S).await);
    assert_eq!(files(&folder).len(), 11);
    store.flush_and_close().await;
}

#[tokio::test]
async fn passwords_go_to_other_machines_in_tls_alone() {
    for (url, is_plain) in [
        ("smtp://chat:p%40ss@mail.example.org", false),
        ("smtps://chat@mail.example.org:4465", false),
        ("smtp://localhost", true),
        ("smtp://[::1]:2525", true),
        ("smtp://127.0.0.1:2525", true),
        ("smtp://198.51.100.7", false),
        ("smtp://localhost?tls=opportunistic", false),
    ] {
        assert_eq!(format!("{:?}", smtp(url).unwrap()).contains("tls: None"), is_plain, "{url}");
    }
    assert!(smtp("smtp:").is_err());
}
