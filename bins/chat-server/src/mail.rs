//! The task that sends letters: to an SMTP server, or into a folder where there is none.
//!
//! A letter waits in the database until it is sent, so a server that is killed loses none. Any node may send it, and
//! one at a time does: who takes a letter up has it for longer than sending can take. A node that is killed between
//! sending a letter and forgetting it leaves one that is sent twice; the other way, to forget first, would lose it.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use chat_core::event_log::email_queue::{
    ClaimedEmail, EmailQueueStore, OutgoingEmail, OutgoingEmailId, email_retry_delay_s,
};
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use percent_encoding::percent_decode_str;
use tokio::io::AsyncWriteExt as _;
use url::{Host, Url};

use crate::config::MailConfig;
use crate::system_runtime::SystemRuntime;

/// How often a node looks for letters that it was not told of.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Letters that a node takes up at once.
const TAKEN_AT_ONCE: i64 = 10;
/// How long the sending of a letter may take.
const SENDING_MAX: Duration = Duration::from_secs(30);
/// Seconds for which a node has the letters it took up: longer than it can take to send them all.
const TAKEN_FOR_S: i64 = 360;

type Smtp = AsyncSmtpTransport<Tokio1Executor>;

/// Sends letters.
pub(crate) struct Mailer {
    from: Mailbox,
    way: MailTransport,
}

enum MailTransport {
    Smtp(Smtp),
    Folder(PathBuf),
}

/// The reason why a letter was not sent.
enum MailError {
    /// It may be the next time.
    Yet(anyhow::Error),
    /// It never will be.
    Ever(anyhow::Error),
}

impl Mailer {
    /// Returns the way the configuration says; `folder` is where letters go without an SMTP server.
    ///
    /// # Errors
    /// When the server cannot be spoken to as configured.
    pub(crate) fn new(config: &MailConfig, folder: PathBuf) -> anyhow::Result<Self> {
        let way = match config.smtp_url() {
            Some(url) => MailTransport::Smtp(smtp(url)?),
            None => MailTransport::Folder(folder),
        };
        match &way {
            MailTransport::Smtp(_) => tracing::info!("letters go to the SMTP server of --smtp-url"),
            MailTransport::Folder(folder) => {
                tracing::info!("letters go into {}: set --smtp-url to send them", folder.display());
            }
        }
        Ok(Self { from: config.from.clone(), way })
    }

    /// Sends what is to be sent, for as long as it is let.
    pub(crate) async fn deliver(self, store: Arc<dyn EmailQueueStore>) {
        loop {
            while self.round(store.as_ref(), SystemRuntime.now_s()).await {}
            // Nothing is missed when both happen: the next round finds everything that is due.
            let _ = tokio::time::timeout(LOOK_EVERY, store.wait_for_new_email()).await;
        }
    }

    /// Takes up letters and sends them. Says whether there may be more.
    async fn round(&self, store: &dyn EmailQueueStore, now_s: i64) -> bool {
        let taken = match store.claim_due_emails(now_s, now_s + TAKEN_FOR_S, TAKEN_AT_ONCE).await {
            Ok(taken) => taken,
            Err(error) => {
                tracing::error!(%error, "letters that wait cannot be read");
                return false;
            }
        };
        let is_full = i64::try_from(taken.len()).is_ok_and(|taken| taken == TAKEN_AT_ONCE);
        for waiting in taken {
            if let Err(error) = self.settle(store, &waiting, now_s).await {
                tracing::error!(%error, "a letter was not written off; it may be sent again");
            }
        }
        is_full
    }

    /// Sends a letter, and writes down what became of it.
    async fn settle(&self, store: &dyn EmailQueueStore, waiting: &ClaimedEmail, now_s: i64) -> anyhow::Result<()> {
        let ClaimedEmail { id, tries, mail } = waiting;
        match self.send(*id, mail).await {
            Ok(()) => store.remove_email(*id).await?,
            Err(MailError::Ever(why)) => {
                tracing::warn!(why = format!("{why:#}"), "a letter is refused for good, and forgotten");
                store.remove_email(*id).await?;
            }
            Err(MailError::Yet(why)) => {
                let again_in_s = email_retry_delay_s(*tries);
                tracing::error!(why = format!("{why:#}"), tries, again_in_s, "a letter was not sent");
                match again_in_s {
                    Some(seconds) => store.postpone_email(*id, now_s + seconds).await?,
                    None => store.remove_email(*id).await?,
                }
            }
        }
        Ok(())
    }

    async fn send(&self, id: OutgoingEmailId, mail: &OutgoingEmail) -> Result<(), MailError> {
        let message = self.message(id, mail).map_err(MailError::Ever)?;
        match &self.way {
            MailTransport::Smtp(smtp) => by_smtp(smtp, message).await,
            MailTransport::Folder(folder) => into_folder(folder, id, &message).await.map_err(MailError::Yet),
        }
    }

    fn message(&self, id: OutgoingEmailId, mail: &OutgoingEmail) -> anyhow::Result<Message> {
        let to = Mailbox::new(None, mail.to.parse().context("the address is none")?);
        let name = format!("<{}.{}.{}>", id.event_id, id.place, self.from.email);
        // RFC 3834: nobody's machine shall answer it.
        let automatic = HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_owned());
        let message = Message::builder().from(self.from.clone()).to(to).subject(&mail.subject).message_id(Some(name));
        let message = message.raw_header(automatic).header(ContentType::TEXT_PLAIN);
        message.body(mail.text.clone()).context("the letter cannot be written")
    }
}

/// Returns the SMTP server of that URL.
fn smtp(url: &str) -> anyhow::Result<Smtp> {
    let url = Url::parse(url).context("--smtp-url is no URL")?;
    let host = url.host().ok_or_else(|| anyhow!("--smtp-url names no host"))?;
    let name = host.to_string();
    let parameters = || TlsParameters::new(name.clone()).context("TLS to the SMTP server cannot be set up");
    let is_opportunistic = url.query_pairs().any(|(key, value)| key == "tls" && value == "opportunistic");
    let (tls, port) = match url.scheme() {
        "smtps" => (Tls::Wrapper(parameters()?), 465),
        _ if is_opportunistic => (Tls::Opportunistic(parameters()?), 587),
        _ if is_here(&host) => (Tls::None, 25),
        _ => (Tls::Required(parameters()?), 587),
    };
    let builder = Smtp::builder_dangerous(name.trim_matches(['[', ']'])).port(url.port().unwrap_or(port)).tls(tls);
    let builder = builder.timeout(Some(SENDING_MAX));
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    Ok(match (url.username(), url.password()) {
        ("", _) => builder.build(),
        (name, password) => {
            builder.credentials(Credentials::new(decoded(name), decoded(password.unwrap_or_default()))).build()
        }
    })
}

/// Returns whether nothing leaves this machine. In a URL of a scheme that is none of the web's, an IPv4 address is a
/// name.
fn is_here(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback()),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

async fn by_smtp(smtp: &Smtp, message: Message) -> Result<(), MailError> {
    let sent = tokio::time::timeout(SENDING_MAX, smtp.send(message)).await;
    let error = match sent {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(error)) => error,
        Err(elapsed) => return Err(MailError::Yet(elapsed.into())),
    };
    let code = error.status().map(u16::from);
    // 53x is about our own login, which an operator can put right.
    match code {
        Some(500..=529 | 540..=599) => Err(MailError::Ever(error.into())),
        _ => Err(MailError::Yet(error.into())),
    }
}

/// Writes a letter into the folder: whole or not at all, and once however often it is tried.
async fn into_folder(folder: &PathBuf, id: OutgoingEmailId, message: &Message) -> anyhow::Result<()> {
    // Letters hold links that open accounts.
    let mut builder = tokio::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(folder).await.with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let name = format!("{:012}-{}.eml", id.event_id, id.place);
    let draft = folder.join(format!(".{name}"));
    // The folder may have been there, open to others.
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&draft).await.context("cannot make the letter")?;
    file.write_all(&message.formatted()).await.context("cannot write the letter")?;
    file.flush().await.context("cannot write the letter")?;
    tokio::fs::rename(&draft, folder.join(name)).await.context("cannot name the letter")
}

#[cfg(test)]
mod tests;
