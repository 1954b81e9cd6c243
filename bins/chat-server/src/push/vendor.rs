//! The parts that the push services of all vendors share.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use chat_core::push_notifications::PushError;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Response, StatusCode};
use serde_json::Value;

/// How long a service may take for one request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Largest key file, in bytes.
const KEY_FILE_MAX_BYTES: u64 = 64 * 1024;
/// Largest answer that is read, in bytes.
const ANSWER_MAX_BYTES: usize = 64 * 1024;
/// Characters of the reason for a refusal that an error message has, at most.
const REASON_MAX_CHARS: usize = 64;

/// The result of a notification to one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeliveryOutcome {
    /// The service accepted it.
    Accepted,
    /// The app is no longer on the device, or its token was never valid.
    UnknownDevice,
}

/// A client that goes where it is sent, and waits so long.
pub(super) fn client() -> ClientBuilder {
    Client::builder().redirect(Policy::none()).referer(false).timeout(PATIENCE)
}

/// Returns the text of a key file.
///
/// # Errors
/// When it cannot be read; the error holds nothing of what is in it.
pub(super) fn key_file(flag: &str, path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let file = File::open(path).with_context(|| format!("cannot read {flag} {}", path.display()))?;
    let read = file.take(KEY_FILE_MAX_BYTES + 1).read_to_string(&mut text);
    read.with_context(|| format!("cannot read {flag} {}", path.display()))?;
    if text.len() as u64 > KEY_FILE_MAX_BYTES {
        bail!("{flag} {} is longer than a key file", path.display());
    }
    Ok(text)
}

/// Returns the JSON of a response; null when it is no JSON, too long, or breaks off.
pub(super) async fn response_json(mut answer: Response) -> Value {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = answer.chunk().await {
        body.extend_from_slice(&piece);
        if body.len() > ANSWER_MAX_BYTES {
            return Value::Null;
        }
    }
    serde_json::from_slice(&body).unwrap_or_default()
}

/// A failure that does not name the device: addresses may hold its token.
pub(super) fn unreached(error: reqwest::Error) -> PushError {
    PushError::Bouncer(error.without_url().into())
}

/// A refusal, with as much of its reason as is a word.
pub(super) fn refused(service: &str, status: StatusCode, reason: &str) -> PushError {
    let named = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_';
    let reason: String = reason.chars().filter(named).take(REASON_MAX_CHARS).collect();
    PushError::Bouncer(format!("{service} answers {} {reason}", status.as_u16()).into())
}
